/**
 * What one sweep shares between its points, and what one point holds while it is measured.
 * Internal to perf.
 */
#ifndef CALIBRAX_PERF_SWEEP_SESSION_H
#define CALIBRAX_PERF_SWEEP_SESSION_H

#include <pthread.h>

#include "calibrax/base/hash.h"
#include "calibrax/perf/launch/energy_source.h"
#include "calibrax/perf/launch/policy.h"
#include "calibrax/perf/schedule/dispatch.h"
#include "calibrax/perf/sweep/plan.h"
#include "calibrax/statistics/looks.h"

/** What ends the launches of a point before its number does; all 0: nothing. */
typedef struct cbx__goal {
    double half_width; /* relative, of an interval that is good enough; 0: none is */
    bool decide;       /* a decided verdict is enough */
    size_t family;     /* comparisons whose verdicts are to hold together; 0: each alone */
} cbx__goal;

/** Final options and facts of a sweep; read-only while jobs run, except what `lock` guards. */
typedef struct cbx__session {
    const cbx_measure_opts *opts;
    size_t launches, warmup, epochs, slow_epochs;
    double slow_call_s, budget_s, epoch_target_s, timeout_s;
    int threads;
    cbx__goal goal; /* launches is then the most there may be */
    const char *platforms[CBX__MAX_PLATFORMS];
    size_t nplatforms;
    cbx__resources *resources; /* slots and devices; NULL until they are dealt; the sweep's */
    uint64_t memory_limit_bytes;
    const char *precision; /* a word of policy.h */
    char run_id[CBX_RUN_ID_SIZE];
    int64_t started_us;
    uint64_t started_ns;
    char machine_id[CBX_HASH_SIZE];
    cbx_json *machine;               /* facts fit to be published; owned */
    char worker_hash[CBX_HASH_SIZE]; /* of the native worker and its plug-ins; "" unknown */
    cbx_sandbox sandbox;             /* the caller's, and the rows and the store hidden as well */
    const char *hidden[32];
    struct cbx__grants_kept *kept; /* what was found for it; NULL: each launch looks for itself */
    bool hide_answers;             /* nothing else here keeps workers from reading the oracle's files */

    pthread_mutex_t lock; /* guards everything below, and JSON values shared between jobs */
    cbx_probe probe;
    bool have_probe, probe_repeated;
    cbx_energy_source energy;
    bool have_energy;
    size_t launches_done, launches_total;
} cbx__session;

/** One job: a point on one platform, while it is measured. */
typedef struct cbx__point {
    cbx_arena arena; /* attempts, launches, texts */
    cbx_params *params;
    const char *json, *platform;
    char label[128];
    bool representative;
    cbx__plan plan;
    cbx__counts counts;
    size_t rounds;   /* completed */
    size_t promised; /* launches that the session's total still counts for it */
    cbx_looks looks; /* count 0: none, the number of rounds is fixed */
    size_t looked;   /* looks taken */
    bool piloted;
    uint64_t began_ns;         /* when its inputs were begun */
    double share_s;            /* of the run's budget, from then on; INFINITY: no budget */
    const char *limit;         /* what the number of rounds was planned by: "asked", "precision", "budget", "most" */
    int cores[CBX__MAX_CORES]; /* that workers are pinned to */
    size_t ncores;
    const cbx__accelerator *device; /* NULL: none */
    char device_word[16];           /* its number */
    const cbx__hold *hold;          /* what is locked for it, while it is measured; NULL: nothing */
    /* held while inputs and answer are made: the point's jobs on other platforms wait;
     * NULL without such jobs */
    pthread_mutex_t *making;
    char workload_hash[CBX_HASH_SIZE];
    bool oracle_cached, resumed;
    char note[256]; /* about the plan, for provenance; "" */
} cbx__point;

void cbx__session_init(cbx__session *s, const cbx_measure_opts *opts);
void cbx__session_clear(cbx__session *s);
/** Reads the machine, its probe and the worker's content; what cannot be had is left out. */
void cbx__session_learn(cbx_ctx *ctx, cbx__session *s);
/** The policy of all launches.  @return CBX_EUNAVAILABLE: it is required, and cannot be had;
 * CBX_EINVAL */
cbx_status cbx__session_confine(cbx_ctx *ctx, cbx__session *s, cbx_err *err);
bool cbx__session_stopped(const cbx__session *s);
/** Sleeps; a stop ends it. */
void cbx__session_pause(const cbx__session *s, double seconds);
/** Calls the progress function under the lock.  `launches` are added to those done. */
void cbx__session_tell(cbx__session *s, cbx_measure_event event, size_t launches, const char *fmt, ...)
    CBX_PRINTF(4, 5);
/** Launches that the total counts for a point from now on. */
void cbx__session_promise(cbx__session *s, cbx__point *p, size_t launches);
/** Measures the probe again, keeping the faster reading of each roof; once a session.  The caller
 * holds the lock. */
void cbx__session_repeat_probe(cbx_ctx *ctx, cbx__session *s);

/** Measures all live attempts of a prepared point within its share_s.  Failures of attempts are in
 * the attempts. */
cbx_status cbx__point_measure(cbx_ctx *ctx, cbx__session *s, cbx__point *p, cbx_err *err);
/** Compile times with a cache that is filled, of the attempts that went well and can keep one:
 * launches that only compile. */
cbx_status cbx__point_warm(cbx_ctx *ctx, cbx__session *s, cbx__point *p, const cbx_workload *w, cbx_err *err);
/** Options of a launch, as the point and the attempt have them; l gives seed and layout. */
void cbx__point_launch_opts(const cbx__session *s, const cbx__point *p, const cbx__attempt *a, const cbx__launch *l,
                            cbx_launch_opts *o);
/** One launch in this process; a native baseline only. */
void cbx__launch_in_process(cbx_ctx *ctx, const cbx_case_ops *c, const cbx_params *point, const cbx_workload *w,
                            const cbx__attempt *a, const cbx_launch_opts *opts, cbx_launch_record *record);

/** Medians, refusals and strongest variants of a measured point. */
cbx_status cbx__rows_judge(cbx_ctx *ctx, cbx__session *s, cbx__point *p, cbx_err *err);
/** Rows of a judged point, in plan order, and its raw launch lines.  The caller holds the lock. */
cbx_status cbx__rows_make(cbx_ctx *ctx, cbx__session *s, cbx__point *p, cbx_rows *rows, cbx_text *raw, cbx_err *err);
/** Provenance of an attempt's row; NULL: out of memory.  Caller unrefs. */
cbx_json *cbx__provenance_make(const cbx__session *s, const cbx__point *p, const cbx__attempt *a);
/** One raw line, newline included. */
void cbx__raw_line(const cbx__session *s, const cbx__point *p, const cbx__attempt *a, const cbx__launch *l,
                   cbx_text *out);
/** Roofline bound of one call [s], NaN: unknown; work of one call is written to work.
 * @param by  the base of the bound: the name of a pipe ("fma") or of the level of memory ("L2");
 * lives as long as the session; NULL: unknown */
double cbx__attempt_bound(const cbx__session *s, const cbx__point *p, const cbx__attempt *a, cbx_work *work,
                          const char **by);

#endif
