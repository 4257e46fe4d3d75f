/**
 * One launch: a fresh worker process measures one baseline at one point, and the parent writes down
 * what it saw.
 *
 * The process launch is the sample; epochs inside it are sub-samples.  The parent clocks every
 * epoch from outside, reads memory and CPU time from /proc, rotates the inputs, poisons the
 * outputs, and checks outputs of randomly chosen epochs.  The protocol on the wire is described in
 * calibrax/perf/launch/PROTOCOL.md.
 */
#ifndef CALIBRAX_PERF_LAUNCH_LAUNCH_H
#define CALIBRAX_PERF_LAUNCH_LAUNCH_H

#include <signal.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/json.h"
#include "calibrax/perf/case/case.h"
#include "calibrax/perf/case/failure.h"
#include "calibrax/perf/case/provider.h"
#include "calibrax/perf/launch/sandbox.h"

CBX_BEGIN_DECLS

/** What measures the energy of a stretch of time; internal (perf/energy_source.h). */
typedef struct cbx_energy_source cbx_energy_source;

/** Set to non-zero by a signal handler to stop everything soon; launches then end with
 * CBX_FAILURE_INTERRUPTED. */
typedef volatile sig_atomic_t cbx_stop_flag;

/** A point made ready to measure: inputs (and their rotations) in sealed memory files, the oracle's
 * answer in the parent only. */
typedef struct cbx_workload cbx_workload;

typedef struct cbx_workload_opts {
    uint32_t struct_size;
    size_t rotations;          /* input sets besides the first; 0 if the case has no rotate function */
    const char *cache_dir;     /* oracle answers by content hash; NULL: the user's cache folder */
    double oracle_timeout_s;   /* 0: 3600 */
    const cbx_stop_flag *stop; /* may be NULL */
    const int *cores;          /* CPUs that the oracle keeps to; ncores 0: any */
    size_t ncores;
    /* The cached answer is not on the disk while this workload is there: where nothing else keeps
     * workers from reading it.  The context must then outlive the workload, which gives the answer
     * back to the cache when it is freed. */
    bool hide_answers;
    bool secret; /* the answer is neither looked up in the cache nor kept there */
} cbx_workload_opts;

#define CBX_WORKLOAD_OPTS_INIT CBX_OPTS(cbx_workload_opts, 1, 0, 0, 0, 0, 0, false, false)

/** Makes inputs and computes (or finds cached) the oracle's answer in a process of its own.
 * @param c, point  borrowed, as are the stop flag and the list of cores; must outlive the
 * workload */
CBX_API cbx_status cbx_workload_create(cbx_ctx *ctx, const cbx_case_ops *c, const cbx_params *point,
                                       const cbx_workload_opts *opts, cbx_workload **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_workload_free(cbx_workload *w);
/** Content hash of the inputs. */
CBX_API const char *cbx_workload_hash(const cbx_workload *w);
/** True if the oracle's answer came from the cache. */
CBX_API bool cbx_workload_oracle_cached(const cbx_workload *w);

/** How a fidelity check came out. */
typedef struct cbx_fidelity {
    bool checked; /* false: no output was compared */
    bool ok;      /* every element within its bound, specials equal */
    /* max of |error| / bound: <= 1 passes; INFINITY if a special value or an exact element
     * differs */
    double rel_to_tol;
    double max_abs, max_rel;
    uint64_t mismatched; /* elements outside */
    uint64_t checks;     /* outputs compared */
    char note[160];      /* shape mismatch and the like; "" */
} cbx_fidelity;

/** Compares an output with an answer; specials (NaN with NaN, equal infinities) match.  dtype and
 * shape must be those expected, else ok is false and note has the reason. */
CBX_API void cbx_fidelity_compare(const cbx_array *output, const cbx_array *answer, const cbx_array *bound,
                                  cbx_fidelity *io);

/**
 * From now on launches have their outputs compared in a process of its own, forked here: to be
 * called before a plug-in is loaded, whose code could change what judges it in this process, and
 * while the program has one thread.  The process ends with this one.
 * @return CBX_OK, also if it is there already; CBX_EIO
 */
CBX_API cbx_status cbx_fidelity_isolate(cbx_err *err);

typedef struct cbx_launch_opts {
    uint32_t struct_size;
    const char *platform; /* "cpu", "cuda12" */
    const int *cores;     /* CPUs to pin to; ncores 0: do not pin */
    size_t ncores;
    const int *held; /* descriptors of locks that the worker and what descends from it hold as well (cbx_lock_fd) */
    size_t nheld;
    const char *device;    /* for CUDA_VISIBLE_DEVICES; NULL: none on the CPU, whatever there is on a device platform */
    int threads;           /* policy told to every framework alike */
    const char *precision; /* the same of float32 arithmetic: "full", "tf32", "bf16"; NULL: "full" */
    size_t warmup;         /* untimed calls after the first (compile) call */
    size_t epochs;         /* timed epochs */
    uint64_t iterations;   /* calls an epoch; 0: so many that an epoch lasts epoch_target_s (first launch) */
    double epoch_target_s; /* 0: 0.020 */
    double slow_call_s;    /* a call longer than this gets 1 warm-up call at most and slow_epochs epochs; 0: never */
    size_t slow_epochs;
    double message_timeout_s;    /* for every message; 0: 3600 */
    uint64_t memory_limit_bytes; /* of the worker and all that descends from it, as launch_memory.c says; 0: 80 % of
                                    MemAvailable at launch; UINT64_MAX: none */
    size_t env_pad_bytes, stack_pad_bytes, heap_pad_bytes; /* layout factors, drawn by the caller and recorded by it */
    uint64_t seed;              /* for the choice of checked epochs and the order of input sets */
    const cbx_env_setting *env; /* the variant's settings, applied last */
    size_t nenv;
    const char *interpreter;         /* Python for a foreign baseline; NULL for a native one */
    const cbx_stop_flag *stop;       /* may be NULL */
    bool cold;                       /* caches are flushed before each timed call; an epoch is one call */
    uint64_t flush_bytes;            /* what the worker writes over for that; 0: 64 MiB */
    bool compile_only;               /* the launch ends after the first call and its check; no epochs are recorded */
    const char *jit_cache;           /* folder for what is compiled, in place of an empty one; NULL: nothing is kept */
    const cbx_energy_source *energy; /* borrowed; NULL: energy is not measured */
    const cbx_sandbox *sandbox;      /* NULL: as CBX_SANDBOX_INIT */
    /* what an invocation's launches looked up under that sandbox; NULL: nothing is kept */
    struct cbx__grants_kept *kept;
} cbx_launch_opts;

#define CBX_LAUNCH_MAX_EPOCHS 1024

/** What the parent saw.  Times in ns, memory in bytes.  Unknown numbers are NaN. */
typedef struct cbx_launch_record {
    cbx_failure failure;
    char message[CBX_ERR_MESSAGE_SIZE]; /* the worker's or the parent's sentence about the failure */
    char phase[16];                     /* "spawn", "import", "load", "compile", "inputs", "epoch", "outputs", "bye" */
    int exit_code, term_signal;         /* of the worker; -1 / 0 if it was still running or ended well */
    char stderr_tail[2048];

    size_t epochs;                          /* recorded below */
    double epoch_ns[CBX_LAUNCH_MAX_EPOCHS]; /* per call, by the worker's clock */
    double outer_ns[CBX_LAUNCH_MAX_EPOCHS]; /* per call, by the parent's clock less the empty epoch's */
    uint64_t iterations;
    double wait_ns[CBX_LAUNCH_MAX_EPOCHS]; /* of an epoch: worker or parent ready, without a CPU, as the kernel says */
    bool contended;             /* more than a twentieth of the epochs was waiting for a CPU that others had */
    size_t measured_again;      /* times that all epochs were made again, of other calls, because waits hid too much */
    uint64_t iterations_chosen; /* calls of an epoch before that: for the launches to come */
    double empty_epoch_ns;      /* parent's reading of an epoch of 0 calls: median of 5 */
    double first_call_ns;       /* first call, compile included */
    double compile_ns;  /* as the provider reports it (jax lower+compile); else first_call - steady median, >= 0 */
    double ready_ns;    /* spawn to the first call: when `compile` was sent */
    double overhead_ns; /* parent's own time for this launch: wall less what it waited for the worker */

    double hwm_bytes;            /* VmHWM at the end, as the kernel says; reset after load where the kernel allows */
    double hwm_start_bytes;      /* VmHWM after hello and import, before any array */
    double hwm_increase_bytes;   /* peak during compile and epochs less resident size after load */
    double device_peak_bytes;    /* as the framework says; NaN on the CPU */
    double memory_limit_bytes;   /* NaN: none */
    const char *memory_limit_by; /* "cgroup", "watch" (resident memory, RLIMIT_DATA); static */
    double tree_peak_bytes; /* most that worker and descendants held when looked at, or by their group; NaN: unknown */
    size_t threads_seen;    /* that the worker had after the epochs, sleeping ones included; 0: unknown */
    double cpu_user_s, cpu_system_s;                   /* of the worker's whole life, as the kernel says */
    uint64_t voluntary_switches, involuntary_switches; /* of all its threads */
    bool confined;                                     /* a filter of system calls is on, as /proc says */
    cbx_sandbox_facts sandbox;                         /* what was in force; all false with CBX_SANDBOX_OFF */
    size_t left_behind;      /* processes that the worker had started and not ended: killed before `bye` */
    double pressure_percent; /* of the last 10 s a task waited for a CPU, at the end of the launch */
    uint64_t throttles;      /* CPUs slowed down for heat while it ran; UINT64_MAX: nothing counts them */
    uint64_t steal_ticks;    /* growth of steal in /proc/stat while it ran */
    double load_1min;

    cbx_fidelity fidelity;
    cbx_json *versions; /* the worker's hello (framework, versions, threads, instruction set); owned */
    /* Median over epochs of worker's time / parent's time less the empty epoch; NaN if epochs last
     * < 1 ms.  A worker that lies a little in every launch shows in the median of this over
     * launches. */
    double clock_ratio;
    double clock_doubt;       /* share of the parent's time that may have been waiting outside the worker's reading */
    double call_overhead_ns;  /* of a call that does nothing, by the worker's loop and clock: median of 5 */
    double energy_call_j;     /* of one call: mean power in the epochs, less idle, times the time of a call */
    double power_w;           /* the mean power */
    const char *energy_scope; /* what it is of; static */
    char energy_why[256];     /* why energy_call_j is NaN; "" */
} cbx_launch_record;

/**
 * Runs one launch to its end and always leaves a record: a failing worker is data, not an error of
 * this call.
 * @return CBX_OK (look at record->failure); CBX_EINVAL, CBX_ENOMEM, CBX_EIO when the parent itself
 *   could not work
 */
CBX_API cbx_status cbx_launch_run(cbx_ctx *ctx, const cbx_workload *w, const cbx_baseline_ops *baseline,
                                  const cbx_launch_opts *opts, cbx_launch_record *record, cbx_err *err);
/** Frees what the record owns and zeroes it. */
CBX_API void cbx_launch_record_clear(cbx_launch_record *record);
/** Zeroed, its unknown numbers NaN. */
void cbx__launch_record_init(cbx_launch_record *r);

/* --- programs measured as they are (nperf exec) --- */

typedef struct cbx_command_opts {
    uint32_t struct_size;
    const int *cores;
    size_t ncores;
    double timeout_s; /* 0: 3600; the whole process group is killed */
    size_t env_pad_bytes, stack_pad_bytes;
    bool show_output; /* pass stdout and stderr through instead of discarding them */
    const cbx_stop_flag *stop;
    const struct cbx_claim *claim; /* cores held for it, calibrax/perf/schedule/claim.h; NULL: none are */
    const char *const *program; /* program and arguments, NULL-terminated, run without a shell; NULL: sh -c command */
    const char *folder;         /* to run in; NULL: ours */
    const cbx_env_setting *env; /* beside our environment */
    size_t nenv;
    int output;     /* descriptor of ours that gets its standard output; 0: show_output decides */
    double grace_s; /* when the time is out or the stop flag is set: from SIGTERM to SIGKILL; 0: it is killed at once */
} cbx_command_opts;

typedef struct cbx_command_record {
    cbx_failure failure;
    char message[CBX_ERR_MESSAGE_SIZE];
    int exit_code, term_signal;
    double wall_ns, cpu_user_s, cpu_system_s;
    double hwm_bytes;  /* largest resident process of the command's tree, not inflated by this program's own memory */
    double tree_bytes; /* maximum that all its processes held together when they were looked at; NaN: it ended before */
    char last_words[256]; /* last line of its standard error, if that is not shown; "" */
} cbx_command_record;

/** Runs `sh -c command`, or opts->program, once through the launcher.  @return as cbx_launch_run */
CBX_API cbx_status cbx_command_run(cbx_ctx *ctx, const char *command, const cbx_command_opts *opts,
                                   cbx_command_record *record, cbx_err *err);

CBX_END_DECLS
#endif
