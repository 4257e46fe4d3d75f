/*
 * A point made ready to measure, as the launch sees it.
 */
#ifndef CALIBRAX_PERF_LAUNCH_WORKLOAD_H
#define CALIBRAX_PERF_LAUNCH_WORKLOAD_H

#include "calibrax/base/hash.h"
#include "calibrax/perf/launch/launch.h"

#define CBX__ORACLE_PATH 4096
#define CBX__FRESH_MAX   4
#define CBX__SEEDS_MAX   16

/* Seeds of inputs that a worker may know. */
typedef struct cbx__seeds {
    int64_t taken[CBX__SEEDS_MAX];
    size_t n;
} cbx__seeds;

struct cbx_workload {
    cbx_allocator al;
    const cbx_case_ops *c;
    const cbx_params *point;
    cbx_params *own_point; /* freed with the workload; NULL: the caller's */
    size_t nsets;          /* 1 + rotations; set 0 is the point's own inputs */
    int *input_fds;        /* [set * ninputs + input]: sealed memory files that hold NPY */
    cbx_array_desc inputs[CBX_CASE_MAX_ARRAYS], outputs[CBX_CASE_MAX_ARRAYS];
    double set_bytes;              /* of the inputs of one set */
    cbx_array **answers, **bounds; /* [set * noutputs + output] */
    char hash[CBX_HASH_SIZE];
    bool oracle_cached;
    double oracle_s; /* that finding the answer took, when it was found */
    /* Other inputs of the same forms, with their answer, that workers get rotated, and only when
     * they are to be put to the test: what a worker learnt of the first ones, however it is turned,
     * helps it with none of these.  Each serves once in a launch.  None: rotations of the first
     * ones must do. */
    cbx_workload *fresh[CBX__FRESH_MAX];
    size_t nfresh;
    cbx__seeds seeds;                    /* of these and the point's own */
    cbx_workload_opts opts;              /* for more of them */
    char oracle_dir[CBX__ORACLE_PATH];   /* "": no cache */
    char oracle_entry[CBX__ORACLE_PATH]; /* to be given back when the workload is freed; "": none */
    cbx_ctx *ctx;                        /* for that */
};

/*
 * `load` and its descriptors, the same for every worker: inputs of sets 0..nsets-1 in order, then
 * the output files.  Input descriptors are opened again, read-only, so that no worker shares a file
 * offset with another.
 */
typedef struct cbx__load {
    cbx_json *message;
    int fds[128];
    size_t ninputs, nfds; /* the first ninputs are closed by cbx__load_clear; output files belong to the caller */
} cbx__load;

/* @param baseline  NULL for the oracle
 * @param opts      NULL for the oracle: platform, threads and heap pad are left at their least */
cbx_status cbx__load_make(const cbx_workload *w, size_t nsets, const cbx_baseline_ops *baseline,
                          const cbx_launch_opts *opts, const int *output_fds, size_t noutput_fds, cbx__load *out,
                          cbx_err *err);
void cbx__load_clear(cbx__load *load);

/* Inputs of the same forms with a seed that is not taken, and from now on is, and their answer by
 * the oracle, which runs for it.
 * @param out  the caller frees it; NULL: there are no others */
cbx_status cbx__workload_other(cbx_ctx *ctx, const cbx_workload *w, cbx__seeds *seeds, cbx_workload **out,
                               cbx_err *err);

/*
 * An input set that no worker has seen: a rotation drawn for one launch, its inputs as `inputs` and
 * descriptors, its answers for the parent alone.
 */
typedef struct cbx__held {
    size_t set; /* the number it goes by on the wire */
    cbx_json *message;
    int fds[CBX_CASE_MAX_ARRAYS];
    size_t nfds;
    cbx_array *answers[CBX_CASE_MAX_ARRAYS], *bounds[CBX_CASE_MAX_ARRAYS];
} cbx__held;

/* Only for a case that rotates.  @param w whose inputs are turned @param r number of the rotation
 * @param out  cleared with cbx__held_clear */
cbx_status cbx__held_make(cbx_ctx *ctx, const cbx_workload *w, uint64_t r, size_t set, cbx__held *out, cbx_err *err);
/* Fine on a zeroed struct, and twice. */
void cbx__held_clear(cbx__held *h);

/* Hash of all code that a native worker runs: the program, and the plug-ins that NPERF_PLUGINS
 * names (plugin.c).
 * @return CBX_OK; as cbx_hash_file */
cbx_status cbx__worker_hash(cbx_ctx *ctx, const char *worker, cbx_arena *arena, char out[CBX_HASH_SIZE], cbx_err *err);

/* Answers and bounds of set 0 by the case's oracle in a process of its own, or from the cache below
 * dir (NULL: the user's). */
cbx_status cbx__oracle_get(cbx_ctx *ctx, cbx_workload *w, const cbx_workload_opts *opts, cbx_err *err);
/* Writes the answer into the cache that opts->hide_answers kept out of it. */
void cbx__oracle_give_back(cbx_workload *w);

#endif
