/*
 * What a profile says, as rows that the table, the JSON document and the run in a store are made of.
 */
#ifndef CALIBRAX_PROGRAMS_PROFILE_H
#define CALIBRAX_PROGRAMS_PROFILE_H

#include "calibrax/array/trace/cost.h"
#include "calibrax/core/metric.h"
#include "calibrax/core/run.h"
#include "calibrax/profiling/carbon.h"
#include "calibrax/profiling/compilation.h"
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
    const char *trace, *data, *name, *plugin, *module, *python, *function, *country, *region, *cache_env, *dtype,
        *emissions;
    double intensity;
    opt_list sizes, shapes;
    int gpu;
    bool energy, json, show_output, ignore_failure, flops, roofline, compile, memory;
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

/* @return CBX_OK; CBX_EUNAVAILABLE, CBX_ENOENT: no such file or function */
cbx_status profile_plugin_load(const profile_args *a, profile_plugin *p, cbx_err *err);
/* Calls setup, if there is one. */
void profile_plugin_start(profile_plugin *p);
/* Calls teardown if it was started, and unloads. */
void profile_plugin_close(profile_plugin *p, bool started);

typedef struct profile_fact {
    const char *name, *unit, *label;
    cbx_direction direction;
    const char *group, *description;
    double value, lower, upper; /* NaN: no interval */
    double *samples;
    size_t nsamples;
} profile_fact;

enum { PROFILE_MAX_FACTS = 48, PROFILE_MAX_REMARKS = 16 };

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
    bool work_is_nominal, work_is_minimum, work_of_costliest; /* CBX_COST_... of a trace */
    cbx_arena *arena;
    cbx_ctx *ctx;
} profile_facts;

/* Each fills f from what was measured.  false: out of memory. */
bool profile_see_command(profile_facts *f, const cbx_profile *p);
bool profile_see_function(profile_facts *f, const cbx_call_timing *t, const cbx_resource_report *r);
/* @param runs  the energy is divided by them  @param grid  NULL: no carbon dioxide */
bool profile_see_energy(profile_facts *f, const cbx_energy_report *e, double runs, const cbx_carbon_intensity *grid);

/*
 * Work of a call that takes so many seconds.
 * @param roofs      NULL: not placed under them
 * @param last_axis  elements of the operands' innermost axis; 0: not known
 */
bool profile_see_work(profile_facts *f, const cbx_flops *w, double seconds, const cbx_roofs *roofs, size_t last_axis);
/* Peak and rest of a call. */
void profile_see_memory(profile_facts *f, const cbx_memory_of_call *m);
/* First and later calls over launches. */
bool profile_see_launches(profile_facts *f, const cbx_launches_report *r, bool is_command);
/* The device that is watched: its name in the results, and what slowed it down in a remark.  @param gpu  NULL: no device */
void profile_see_gpu(profile_facts *f, const cbx_gpu *gpu);
/* What the program says beside its numbers; cut to the length of a remark. */
void profile_remark(profile_facts *f, const char *fmt, ...) CBX_PRINTF(2, 3);
/* Another time among the facts already there: the first of this name; NaN if it is missing. */
double profile_fact_value(const profile_facts *f, const char *name);

void profile_print(const profile_facts *f);
/* {"schema":"calibrax-profile","version":1,...}; NULL: out of memory. */
cbx_json *profile_json(const profile_facts *f);
/* A run with one point, its definitions, machine and commit, into the store, which was there (keep.h); its id on success. */
cbx_status profile_keep(const opt_run *run, const profile_facts *f, const char *store, const char *name, char id[64],
                        cbx_err *err);
/* A run of a builder, likewise. */
cbx_status profile_keep_run(const opt_run *run, cbx_run_builder *b, const char *store, char id[64], cbx_err *err);

/* --- what calibrax profile does beside --- */

/* A function of arrays (--shapes): timed compiled, its work by trace. */
cbx_status profile_array_function(const opt_run *run, const profile_args *a, profile_facts *f, cbx_err *err);
/* --flops of any function of a plug-in that was started. */
cbx_status profile_work(const opt_run *run, const profile_args *a, const profile_plugin *p, profile_facts *f,
                        cbx_err *err);
/* --emissions: the lines that the file holds, before anything is measured; CBX_OK and n 0 if it is missing but can be made. */
cbx_status profile_see_emissions(const opt_run *run, const char *path, const cbx_emissions **lines, size_t *n,
                                 cbx_err *err);
/* Writes them and one more; CBX_EUNAVAILABLE where there is no energy to tell. */
cbx_status profile_add_emissions(const opt_run *run, const profile_args *a, const cbx_emissions *before, size_t n,
                                 const cbx_energy_report *e, const cbx_carbon_intensity *grid, const char *run_id,
                                 cbx_err *err);
/* --compile: fills f. */
cbx_status profile_compile(const opt_run *run, const profile_args *a, profile_facts *f, cbx_err *err);
/* --sizes: shows what it found and returns the exit status. */
int profile_sizes(const opt_run *run, const profile_args *a, const char *subject);

#endif
