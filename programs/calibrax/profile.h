/*
 * What a profile says, as rows that the table, the JSON document and the run in a store are made of.
 */
#ifndef CALIBRAX_PROGRAMS_PROFILE_H
#define CALIBRAX_PROGRAMS_PROFILE_H

#include "calibrax/core/metric.h"
#include "calibrax/profiling/carbon.h"
#include "calibrax/profiling/profile.h"
#include "calibrax/profiling/timing.h"
#include "programs/common/options.h"

typedef struct profile_fact {
    const char *name, *unit, *label;
    cbx_direction direction;
    const char *group, *description;
    double value, lower, upper; /* NaN: no interval */
    double *samples;
    size_t nsamples;
} profile_fact;

enum { PROFILE_MAX_FACTS = 40, PROFILE_MAX_REMARKS = 8 };

typedef struct profile_facts {
    const char *subject, *kind; /* "sleep 1", "command" or "function" */
    profile_fact fact[PROFILE_MAX_FACTS];
    size_t count;
    char remark[PROFILE_MAX_REMARKS][320]; /* what could not be measured, and why */
    size_t nremarks;
    size_t samples, calls_per_sample;
    cbx_arena *arena;
    cbx_ctx *ctx;
} profile_facts;

/* Each fills f from what was measured.  false: out of memory. */
bool profile_see_command(profile_facts *f, const cbx_profile *p);
bool profile_see_function(profile_facts *f, const cbx_call_timing *t, const cbx_resource_report *r);
/* @param runs  the energy is told for one of so many  @param grid  NULL: no carbon dioxide */
bool profile_see_energy(profile_facts *f, const cbx_energy_report *e, double runs, const cbx_carbon_intensity *grid);

void profile_print(const profile_facts *f);
/* {"schema":"calibrax-profile","version":1,...}; NULL: out of memory. */
cbx_json *profile_json(const profile_facts *f);
/* A run with one point, its definitions, machine and commit, into the store (made if missing); its id on success. */
cbx_status profile_keep(const profile_facts *f, const char *store, const char *name, char id[64], cbx_err *err);

#endif
