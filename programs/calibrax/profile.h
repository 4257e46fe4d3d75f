/*
 * What a profile says, as rows that the table, the JSON document and the run in a store are made
 * of.
 */
#ifndef CALIBRAX_PROGRAMS_PROFILE_H
#define CALIBRAX_PROGRAMS_PROFILE_H

#include "calibrax/array/trace/cost.h"
#include "calibrax/core/metric.h"
#include "calibrax/core/run.h"
#include "calibrax/perf/sweep/cold_warm.h"
#include "calibrax/profiling/carbon.h"
#include "calibrax/profiling/complexity.h"
#include "calibrax/profiling/flops.h"
#include "calibrax/profiling/memory.h"
#include "calibrax/profiling/profile.h"
#include "calibrax/profiling/roofline.h"
#include "calibrax/profiling/timing.h"
#include "programs/common/options.h"

typedef struct profile_args {
    size_t warmup, iterations, results, launches;
    double sample_ms;
    const char *trace, *data, *name, *plugin, *module, *python, *function, *country, *region, *cache_env, *emissions;
    double intensity;
    opt_list sizes, shapes;
    int gpu, dtype; /* -1: not given */
    bool energy, json, show_output, ignore_failure, flops, roofline, compile, memory, graph;
} profile_args;

/* A function of a shared object.  What it lacks is NULL. */
typedef struct profile_plugin {
    void *handle, *state;
    cbx_timed_fn run;
    cbx_array_fn array_run; /* the same address, as it is called with --shapes */
    void *(*setup)(void);
    void *(*setup_size)(size_t size);
    void (*teardown)(void *state);
    void (*work)(void *state, double *flop, double *bytes);
} profile_plugin;

/* @return CBX_OK: the caller unloads the handle; CBX_EUNAVAILABLE, CBX_ENOENT: no such file or
 *   function */
cbx_status profile_plugin_load(const profile_args *a, profile_plugin *p, cbx_err *err);
/* The options of the run as the library expects them. */
cbx_profile_opts profile_command_opts(const opt_run *run);
cbx_timing_opts profile_timing_opts(const profile_args *a);

typedef struct profile_kind {
    const char *name, *label, *unit;
    cbx_direction direction;
    const char *group, *description;
} profile_kind;

typedef struct profile_fact {
    profile_kind kind;
    double value, lower, upper; /* NaN: no interval */
    double *samples;
    size_t nsamples;
} profile_fact;

enum { PROFILE_MAX_FACTS = 48, PROFILE_MAX_REMARKS = 16 };

/* A function of arrays as it was compiled. */
typedef struct profile_graph {
    const char *operations; /* a line each, as they are compiled */
    cbx_cost_report work;   /* as they were traced */
    cbx_cost_program program;
    double call_s, *predicted_s; /* of the call; of each step */
} profile_graph;

typedef struct profile_facts {
    const char *subject, *kind; /* "sleep 1", "command" or "function" */
    profile_fact fact[PROFILE_MAX_FACTS];
    size_t count;
    char remark[PROFILE_MAX_REMARKS][320]; /* what could not be measured, and why */
    size_t nremarks;
    size_t samples, calls_per_sample;
    const char *gpu;         /* name of the device that was watched; NULL: none, or never seen */
    uint64_t gpu_throttle;   /* reasons why it was slowed down, of all looks together */
    const char *trace;       /* the file that has the spans; NULL: no device */
    const char *work_source; /* as cbx_flops_source_name; NULL: no work was asked for */
    bool is_placed;          /* under the roofs, whose level outlives the rows: */
    cbx_roofline roofline;
    cbx_roof_level roof;
    double alignment; /* NaN: not known */
    cbx_roofline_hints hints;
    const profile_graph *graph; /* NULL: not asked for, or nothing is compiled */
    unsigned work_flags;        /* CBX_COST_... of a trace */
    const opt_run *run;
    bool failed; /* out of memory */
} profile_facts;

/* Each fills f from what was measured. */
void profile_see_command(profile_facts *f, const cbx_profile *p);
void profile_see_function(profile_facts *f, const cbx_call_timing *t, const cbx_resource_report *r);
/* @param runs  the energy is divided by them  @param grid  NULL: no carbon dioxide */
void profile_see_energy(profile_facts *f, const cbx_energy_report *e, double runs, const cbx_carbon_intensity *grid);
/*
 * Work of a call that takes so many seconds.
 * @param roofs      NULL: not placed under them
 * @param last_axis  elements of the operands' innermost axis; 0: not known
 */
void profile_see_work(profile_facts *f, const cbx_flops *w, double seconds, const cbx_roofs *roofs, size_t last_axis);
/* Peak and rest of a call. */
void profile_see_memory(profile_facts *f, const cbx_memory_of_call *m);
/* First and later calls over n launches of each kind.  @param warm  NULL: none */
void profile_see_launches(profile_facts *f, const cbx_launch_times *cold, const cbx_launch_times *warm, size_t n);
/*
 * --graph: what a function is made of and compiled to, with predicted times; to be called when it
 * was timed.
 * @param fast  of cbx_jit, which was called with such operands
 */
cbx_status profile_see_graph(profile_facts *f, const cbx_fn *plain, const cbx_fn *fast, const cbx_array_desc *in);
void profile_print_graph(const profile_graph *g);
cbx_json *profile_graph_json(const profile_graph *g);
/* A row without an interval; NaN: none. */
void profile_add(profile_facts *f, const char *name, const char *label, const char *unit, const char *group,
                 const char *description, double value);
/* The device that is watched: its name in the results, and what slowed it down in a remark.  @param
 * gpu  NULL: no device */
void profile_see_gpu(profile_facts *f, const cbx_gpu *gpu);
/* A note beside the numbers; cut to the length of a remark. */
void profile_remark(profile_facts *f, const char *fmt, ...) CBX_PRINTF(2, 3);
/* The value of the first row of this name; NaN if it is missing. */
double profile_fact_value(const profile_facts *f, const char *name);

void profile_print(const profile_facts *f);
/* {"schema":"calibrax-profile","version":1,...}; NULL: out of memory. */
cbx_json *profile_json(const profile_facts *f);
/* A run with one point, its definitions, machine and commit, into the store, which was there; its
 * id on success. */
cbx_status profile_keep(const profile_facts *f, const char *store, const char *name, char id[64]);
/* A run of a builder, likewise. */
cbx_status profile_keep_run(const opt_run *run, cbx_run_builder *b, const char *store, char id[64]);

/* --sizes: shows what it found and returns the exit status. */
int profile_sizes(const opt_run *run, const char *subject);

#endif
