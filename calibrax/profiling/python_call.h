/**
 * A function of a Python module: time of a call, in a fresh interpreter that is monitored, and on
 * request XLA's analysis.
 *
 * The function is called without arguments.  A sample is the mean of the calls of a window, as in
 * timing.h, of a loop in Python: the time of an empty call is reported and not subtracted.  Results
 * on a device are waited for (jax, torch), so that a call ends when its work does.  Resources are
 * of the whole interpreter, imports included.
 */
#ifndef CALIBRAX_PROFILING_PYTHON_CALL_H
#define CALIBRAX_PROFILING_PYTHON_CALL_H

#include "calibrax/profiling/flops.h"
#include "calibrax/profiling/hlo.h"
#include "calibrax/profiling/profile.h"

CBX_BEGIN_DECLS

typedef struct cbx_python_call_opts {
    uint32_t struct_size;
    const char *python;   /* the interpreter; NULL: python3 in PATH */
    const char *module;   /* "package.module", or the path of a file; needed */
    const char *function; /* "f", or "Class.method"; needed */
    uint64_t warmup;      /* calls after the first one that are not counted, besides calibration */
    size_t samples;       /* 1..2^20 */
    double sample_s;      /* minimum duration of a window, which is also at least 200 readings of the clock */
    double level;         /* of the median's interval, in (0, 1) */
    bool flops;           /* XLA's own analysis of the function, if the interpreter has jax */
    bool show_output;     /* the function's output is that of this program, else discarded */
    cbx_gpu *gpu;         /* these three as in cbx_profile_opts */
    cbx_energy_meter *energy;
    cbx_timeline *trace;
    const volatile sig_atomic_t *stop;
} cbx_python_call_opts;

#define CBX_PYTHON_CALL_OPTS_INIT CBX_OPTS(cbx_python_call_opts, 0, 0, 0, 1, 10, 1e-3, 0.95, 0, 0, 0, 0, 0, 0)

/** Cleared with cbx_python_call_clear. */
typedef struct cbx_python_call {
    cbx_call_timing timing; /* percentiles 50, 90, 99 */
    cbx_profile process;    /* one run: the whole interpreter */
    cbx_flops work;         /* CBX_FLOPS_XLA, or CBX_FLOPS_NONE with a reason in why */
    bool has_compiled;
    cbx_hlo_report compiled; /* XLA's code */
} cbx_python_call;

/**
 * @param out  written on success only
 * @return CBX_OK; CBX_EINVAL (an option); CBX_ENOENT (no such interpreter); CBX_ECHILD: the module
 *         cannot be imported, has no such function, or the function raised: the message states
 *         which, with the place; CBX_EINTERRUPTED; CBX_EFORMAT; CBX_EIO; CBX_ENOMEM
 */
CBX_API cbx_status cbx_python_call_measure(cbx_ctx *ctx, const cbx_python_call_opts *opts, cbx_python_call *out,
                                           cbx_err *err);
/** NULL and a zeroed struct are fine. */
CBX_API void cbx_python_call_clear(cbx_python_call *c);
/**
 * Reads the answer of call.py, which may be any bytes.
 * @param c  timing.al is set; cleared with cbx_python_call_clear in any case
 * @return CBX_OK; CBX_EFORMAT; CBX_ECHILD (the function failed, with the interpreter's message);
 *   CBX_ENOMEM
 */
cbx_status cbx__python_answer_read(cbx_ctx *ctx, const cbx_python_call_opts *o, const char *text, size_t len,
                                   cbx_python_call *c, cbx_err *err);

CBX_END_DECLS
#endif
