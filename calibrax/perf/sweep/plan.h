/**
 * Attempts of one point and the counts that fit a budget: everything decided before a worker
 * starts.  Internal to perf.
 */
#ifndef CALIBRAX_PERF_SWEEP_PLAN_H
#define CALIBRAX_PERF_SWEEP_PLAN_H

#include "calibrax/perf/sweep/measure_opts.h"
#include "calibrax/perf/sweep/order.h"
#include "calibrax/statistics/steady.h"
#include "calibrax/storage/row.h"

/** One launch of an attempt, as it was drawn and as it went. */
typedef struct cbx__launch {
    size_t round, position;
    size_t attempt;      /* of its round, from 1 */
    bool retry;          /* repeats another of the same round ... */
    cbx_failure repeats; /* ... that failed for this cause */
    cbx__layout layout;
    uint64_t seed;
    double wall_s;
    double median_s; /* median of its steady epochs; NaN if it failed */
    cbx_steady_class steady;
    size_t steady_from;    /* first epoch that counts */
    const char *unhealthy; /* what the machine did to it meanwhile (cbx__launch_complaint); NULL: nothing */
    cbx_launch_record record;
    struct cbx__launch *next;
} cbx__launch;

/** Forecasts by the first launches of an attempt; see stopping.h. */
typedef struct cbx__pilot {
    size_t launches;            /* looked at; 0: there was no pilot */
    double mean_s;              /* of launch means */
    double launch_cv, epoch_cv; /* standard deviations between launches and of epochs within one, over the mean */
    double launch_s, epoch_s;   /* [s] what a launch costs apart from its epochs, and an epoch */
    size_t best_epochs;         /* Kalibera & Jones */
    size_t needed;              /* launches for the goal; 0: none was set */
    size_t warmed;              /* launches that warmed up or slowed down */
} cbx__pilot;

/** One attempt: baseline x platform x variant at a point. */
typedef struct cbx__attempt {
    const cbx_baseline_ops *baseline;
    const char *platform;
    const char *variant;         /* name in the row */
    const cbx_variant *settings; /* NULL: no environment of its own */
    const cbx_row *kept;         /* row of an earlier run that replaces this attempt; NULL: none */
    bool idle; /* not launched: its kept row is enough (a kept attempt that is not idle serves others' ratios) */
    cbx_failure failure; /* not NONE before the first launch: a row without a launch */
    char message[CBX_ERR_MESSAGE_SIZE];
    const char *interpreter; /* NULL: native */
    const char *remedy;      /* NULL: the failure table's */
    uint64_t iterations;     /* calls of an epoch; 0 before the pilot */
    size_t epochs;           /* of the launches to come; 0: as many as the point's */
    cbx__pilot pilot;
    bool ended;                  /* its goal is reached (stopping.h): launched no more */
    size_t look;                 /* that its intervals are of */
    const char *stopped_because; /* NULL: it failed */
    size_t retries;              /* launches that were repeated */
    cbx__launch *first, *last;
    size_t nlaunches;
    double *warm_ns; /* [ns] compile times with a cache that was filled, one a launch of their own */
    size_t nwarm;
    const char *warm_reason; /* why there are none; NULL: it was not tried */
    /* --- what rows are made of, filled by cbx__rows_judge --- */
    bool good, strongest;
    double median_s, min_s;
} cbx__attempt;

typedef struct cbx__plan {
    cbx__attempt *attempts;
    size_t count;
} cbx__plan;

/** Checks names of opts against the case; messages name the nearest known one. */
cbx_status cbx__plan_check(const cbx_measure_opts *opts, cbx_err *err);
/** The same of the names of baselines alone. */
cbx_status cbx__plan_check_names(const cbx_measure_opts *opts, const cbx_case_ops *c, cbx_err *err);
/** Why the user's choice leaves a baseline out, with a message and maybe a remedy; NONE: it does
 * not. */
cbx_failure cbx__plan_selection(const cbx_measure_opts *opts, const cbx_baseline_ops *b,
                                char message[CBX_ERR_MESSAGE_SIZE], const char **remedy);
/** Attempts of a point in row order (baseline, variant), skipped ones included.  Lives in the
 * arena. */
cbx_status cbx__plan_make(cbx_arena *arena, const cbx_measure_opts *opts, const char *platform, const cbx_params *point,
                          cbx__plan *out, cbx_err *err);
/** True if the attempt is (still) to be launched: it has not failed, is not kept, and has not
 * ended. */
bool cbx__attempt_alive(const cbx__attempt *a);
/** Another launch at the end of its list, zeroed, its median NaN; in the arena.  NULL: out
 * of memory. */
cbx__launch *cbx__attempt_add(cbx_arena *arena, cbx__attempt *a);
/** Attempts that will be launched. */
size_t cbx__plan_live(const cbx__plan *plan);

/** The order in which those are launched in a round: a Williams square, and a new one when there
 * are fewer of them.  Zeroed at first. */
typedef struct cbx__square {
    size_t *order, n; /* attempts by place */
    size_t *live;
    size_t first; /* round at which it began */
} cbx__square;
/** @return false: out of memory */
bool cbx__square_order(cbx_arena *arena, const cbx__plan *plan, uint64_t seed, size_t round, cbx__square *q);
/** None of those will be: each fails with these words. */
void cbx__plan_fail(cbx__plan *plan, cbx_failure failure, const char *format, ...) CBX_PRINTF(3, 4);

/** [s] What the launches of an attempt that went well took, in order. */
typedef struct cbx__times {
    double *medians; /* of each launch */
    double *epochs;  /* per call, of the steady epochs of one launch after the other */
    size_t *sizes;   /* epochs of each launch */
    size_t launches, nepochs;
} cbx__times;

/** Lives in the arena.  @return CBX_OK; CBX_ENOMEM */
cbx_status cbx__attempt_times(cbx_arena *arena, const cbx__attempt *a, cbx__times *out, cbx_err *err);
/**
 * Finite values of a number of launches.
 * @param offset  of a double in cbx_launch_record  @param scale  of the values  @param timed  only
 *   of launches that went well
 * @param out     space for all launches
 * @return how many
 */
size_t cbx__attempt_numbers(const cbx__attempt *a, size_t offset, double scale, bool timed, double *out);

/** What the pilot saw of one attempt: time of a launch apart from its epochs and spare warm-up, and
 * of one epoch [s]. */
typedef struct cbx__cost {
    double fixed_s, warmup_s, epoch_s;
} cbx__cost;

typedef struct cbx__counts {
    size_t launches, epochs;
    bool warmup;  /* false: no warm-up beyond the first call */
    bool starved; /* fewer launches than an interval needs */
} cbx__counts;

/** Launches that a 95 % order-statistic interval needs. */
#define CBX__MIN_LAUNCHES 6

/**
 * Counts for the whole point, the pilot's launch included, that fit into left_s seconds after the
 * pilot: first fewer epochs (down to 1), then no spare warm-up, then fewer launches (not below 6),
 * and below 6 only when even those do not fit.  left_s infinite: what was asked for.
 */
cbx__counts cbx__plan_fit(const cbx__cost *costs, size_t n, double left_s, size_t launches, size_t epochs);

/* --- the state of a launch: its steady epochs, and whether the machine left it alone ---
 *
 * A launch during which the host took the CPU away for more than a tenth of the time, or a CPU was
 * slowed down for heat, is made again, once; what decides is never its time.  Both stay in the raw
 * lines, the row counts them (`retry_reasons`, `health`).  No more than a third of an attempt's
 * launches is repeated: on a machine that is always so, that is what it is like.
 */
/**
 * Sets class, first steady epoch and median of a launch that has epochs.
 *
 * Change points over its epochs (steady.h) separate a warm-up or a slow-down from the level that
 * lasts.  What came before that level is no part of the launch's median, nor of its row's times; it
 * stays in the raw lines, and the row records how many epochs were left out.  A launch without a
 * steady state keeps all of them, and is counted as such.  Fewer than 10 epochs are one level.
 * @return CBX_OK; CBX_ENOMEM; CBX_EDOM (a time that is not a number)
 */
cbx_status cbx__launch_settle(cbx_ctx *ctx, cbx__launch *l, cbx_err *err);
/** "stolen", "throttled"; NULL: nothing was seen. */
const char *cbx__launch_complaint(const cbx__launch *l);
/** True if a launch that is complained of is to be made again. */
bool cbx__launch_repeats(const cbx__attempt *a);

#endif
