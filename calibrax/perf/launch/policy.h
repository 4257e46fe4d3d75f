/**
 * How many threads a worker uses and what float32 means to it: one table of what each framework
 * receives, so that all are treated alike.  Internal to perf.
 *
 * A line is an environment variable, which the worker's process starts with, or a setting by call,
 * which travels in `load` as `policy` and is applied by the framework's provider in workers/python.
 * Either is recorded in the row as it was sent, with what the worker then said of itself; threads
 * are also counted by the parent (launch_judge.c), and arithmetic that is less exact than was asked
 * for shows in the comparison with the oracle.
 *
 * Words of precision:
 *   full   float32 is float32 everywhere: no TF32, no bfloat16 in its place (the default, and the
 *          only one of native, numpy, scipy)
 *   tf32   products of matrices may round their factors to 10 bits (TF32, or what the framework
 *          calls high)
 *   bf16   ... to 7 bits
 */
#ifndef CALIBRAX_PERF_LAUNCH_POLICY_H
#define CALIBRAX_PERF_LAUNCH_POLICY_H

#include "calibrax/base/environment.h"
#include "calibrax/base/json.h"
#include "calibrax/perf/launch/launch.h"

/** One setting that a framework receives. */
typedef struct cbx__policy_line {
    const char *provider;  /* NULL: every one */
    const char *precision; /* the word under which it is sent; NULL: every one */
    const char *only;      /* "cpu" or "device": told there only; NULL: everywhere */
    bool by_call;          /* name is a setting of the framework; else an environment variable */
    const char *name;
    const char *value; /* "%d": the number of threads */
    int threads;       /* told only with so many; 0: with any number */
} cbx__policy_line;

const cbx__policy_line *cbx__policy_lines(size_t *count);

/** The table's own word of precision, "full" for NULL.  @return CBX_OK; CBX_EINVAL: the message
 * begins with --matmul-precision */
cbx_status cbx__policy_precision(const char *word, const char **out, cbx_err *err);
/** What a provider makes of a word: "full" where it has no other. */
const char *cbx__policy_applied(const char *provider, const char *precision);
/** {"threads":1,"precision":"full","settings":{name:value}}, for `load`; with the variables as
 * "environment", for rows.  Caller unrefs; NULL: out of memory. */
cbx_json *cbx__policy_json(const char *provider, const char *platform, int threads, const char *precision,
                           bool with_environment);
/** True if a worker's own account of its pools ({"blas":1,"intra_op":2}) has one with more threads
 * than it was given.
 * @param pool  its name, written then */
bool cbx__policy_too_many(const cbx_json *reported, int threads, char pool[48], int *found);
/** True if a worker reads a setting back as something else than it received; what it leaves out, or
 * did not receive, is no contradiction.
 * @param reported, told  {name:value}; NULL is empty
 * @param name, found     the setting and what it was read back as, written then */
bool cbx__policy_contradicts(const cbx_json *reported, const cbx_json *asked, char name[48], char found[48]);

/* --- the environment a worker gets: the parent's, less what would make a measurement depend on a
 * user's shell --- */

/* This process's, without the variables that steer allocators, threads, BLAS and frameworks. */
void cbx__environment_clean(cbx__environment *e, cbx_arena *arena);
/* Everything a worker needs: protocol descriptor, threads, device, cores, then the variant's
 * settings. */
void cbx__environment_worker(cbx__environment *e, const cbx_launch_opts *opts, const char *provider);

#endif
