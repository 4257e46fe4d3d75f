/*
 * Inside profiling: what measured programs tell on files, read.  Any bytes may stand there.
 */
#ifndef CALIBRAX_PROFILING_ANSWERS_H
#define CALIBRAX_PROFILING_ANSWERS_H

#include "calibrax/profiling/compilation.h"
#include "calibrax/profiling/python_call.h"

/* The document of `calibrax profile --json` that a launch printed; a metric that it does not tell is NaN.  @return CBX_OK; CBX_EFORMAT, CBX_ENOMEM */
cbx_status cbx__launch_times_read(const char *text, size_t len, const char *name, cbx_launch_times *out, cbx_err *err);
/*
 * What call.py wrote.
 * @param c  timing.al is set; cleared with cbx_python_call_clear whatever comes of it
 * @return CBX_OK; CBX_EFORMAT; CBX_ECHILD (the function failed, in the interpreter's words); CBX_ENOMEM
 */
cbx_status cbx__python_answer_read(cbx_ctx *ctx, const cbx_python_call_opts *o, const char *text, size_t len,
                                   cbx_python_call *c, cbx_err *err);

#endif
