/**
 * The nperf row record, schema version 2: one attempt (case, point, baseline, platform, variant) as
 * one JSON line.
 *
 * "Additive only": every key of version 1 is always written (null when absent), new keys are only
 * added, a reader ignores keys it does not know and keeps them on re-writing, and takes an unknown
 * status as failed.  Version 2 adds the estimates: every member below that is marked so; rows of
 * version 1 lack them, and are read as they are.  Non-finite numbers are the strings "NaN",
 * "Infinity", "-Infinity".  docs/reference/row-schema.json is the JSON schema.
 *
 * `err` may be NULL.  One thread uses a cbx_rows, and the ctx of a call, at a time.
 */
#ifndef CALIBRAX_STORAGE_ROW_H
#define CALIBRAX_STORAGE_ROW_H

#include "calibrax/base/arena.h"
#include "calibrax/base/ctx.h"
#include "calibrax/base/json.h"
#include "calibrax/base/text.h"

CBX_BEGIN_DECLS

#define CBX_ROW_SCHEMA_VERSION 2

/** A number with its interval; NaN where unknown. */
typedef struct cbx_row_interval {
    double value, lower, upper, level;
} cbx_row_interval;

/** A group of launch medians apart from the others (statistics/series.h). */
typedef struct cbx_row_mode {
    double center_s, low_s, high_s, share;
    uint64_t launches;
} cbx_row_mode;

/** A metric beside the time: its median over launches, with the order-statistic interval, and what
 * the launches said. */
typedef struct cbx_row_metric {
    cbx_row_interval over;  /* level 0: too few launches for an interval */
    const double *launches; /* in the order run; of launches that report it */
    size_t nlaunches;
    const char *reason; /* why there is no value; NULL: there is one, or the reason is unknown */
} cbx_row_metric;

/** Typed view of a row.  Strings and arrays live in the arena given to the reader.  Absent numbers
 * are NaN, absent strings NULL. */
typedef struct cbx_row {
    const char *run_id, *case_name, *baseline, *platform, *framework, *status;
    const char *variant;     /* "default", "tuned" ...; additive */
    bool strongest;          /* the variant that ratios against this baseline are quoted with; additive */
    const char *point_json;  /* param_point as compact JSON in the row's key order */
    const char *point_label; /* additive: "512x512x512 (log, f32)" */
    const char *machine;     /* machine fingerprint; additive */
    bool representative;     /* additive */

    /* metrics; has_metrics false: the block is null */
    bool has_metrics;
    double min_s, median_s, p95_s, iqr_s,
        mean_s;              /* steady_time over all epochs of all launches; median_s is the median of launch medians */
    double p99_s;            /* additive */
    uint64_t n;              /* epochs in all */
    cbx_row_interval steady; /* additive: median of launch medians with its interval [s] */
    const char *steady_reason;      /* additive: why there is no interval; NULL where there is one */
    const double *launch_medians_s; /* additive: one a launch, in the order run */
    size_t nlaunches;
    double compile_s, first_call_s; /* medians over launches; compile_time.value, additive first_call */
    double host_rss_mb;             /* VmHWM of the worker, max over launches [MB = 10^6 bytes] */
    double host_rss_increase_mb;    /* additive: growth over the loaded worker, max over launches */
    double peak_hbm_mb;
    double throughput_elem_per_s;                /* output elements / min */
    double gmac_per_s, gflop_per_s, gbyte_per_s; /* additive: declared work / median */
    double roofline_share;                       /* additive: bound / median, 0..1 */
    double bound_s;                              /* additive */
    double cpu_s;                                /* additive: CPU seconds per launch, median */

    /* metrics, since version 2 */
    const cbx_row_mode *modes; /* of the launch medians, fastest first; NULL: too few launches to decide */
    size_t nmodes;
    struct {
        uint64_t flat, warm_up, slowdown, none; /* launches by what their epochs do (statistics/steady.h) */
        uint64_t epochs, dropped; /* measured; of them before the steady state, which count for nothing else */
    } steady_state;
    struct {
        double relative;   /* least slow-down that a comparison would find ... */
        uint64_t launches; /* ... with so many launches a side */
        double alpha, power;
    } detectable;
    cbx_row_metric compile;                  /* [s] with an empty cache: of compile_s, which is its median */
    cbx_row_metric compile_warm;             /* [s] with a cache that an earlier process has filled */
    cbx_row_metric first_call;               /* [s] of first_call_s */
    cbx_row_metric memory;                   /* [MB] growth of VmHWM over what was resident before the first call */
    cbx_row_metric device_memory;            /* [MB] peak, as the framework says */
    cbx_row_metric call_overhead;            /* [s] of a call that does nothing, by the same loop and clock */
    cbx_row_metric energy;                   /* [J] a call */
    const char *energy_scope;                /* what the counters hold: "package + dram", "device" */
    double power_w;                          /* while it ran, the same scope */
    cbx_row_interval gflop, gbyte, roofline; /* intervals of the three rates above, from the time's; value as there */
    double flop_per_byte;                    /* declared */
    const char *bound_by;                    /* "fma", "memory": what the bound is derived from */
    const char *caches;                      /* "warm": calls follow each other; "cold": flushed before each */

    /* fidelity; NULL fidelity_status: the block is null */
    const char *fidelity_status; /* "ok", "failed", "inconclusive" */
    double rel_to_tol, max_abs, max_rel;
    uint64_t mismatched, checks;
    const char *oracle_kind;
    double margin;        /* since 2: 1 - rel_to_tol, the share of the bound that is left; negative: outside */
    cbx_row_metric error; /* since 2: largest error over its bound in a launch, over launches */

    /* ratio to the reference: v1 (min over min), and paired (additive); ratio_vs NULL: null */
    const char *ratio_vs;
    double ratio_value;
    const char *paired_vs;
    cbx_row_interval paired;
    const char *paired_reason; /* additive: why it has no interval; NULL where it has one */
    const char *verdict;       /* faster, slower, equivalent, undecided: this row alone, from its interval */
    uint64_t pairs;            /* launches behind it; 0 unknown */
    double margin_equal;       /* since 2: relative, of the equivalence test */
    double p_difference;       /* since 2: exact sign test that the median ratio is 1 */
    double p_equivalence;      /* since 2: two one-sided exact tests that it lies outside the margin */
    double paired_p;      /* exact p-value of the verdict's claim: sign test, or two one-sided ones for equivalent */
    double paired_p_holm; /* the same, corrected over the table that the row was written in */
    uint64_t holm_rows;   /* ratios of that table; 0: none was corrected */
    const char *
        verdict_holm; /* verdict that holds at 5 % over the whole table; NULL: so few launches cannot carry that many rows */

    /* additive: "limit" for a probe that gives no answer and is no rival, NULL for a rival; for a
     * rival, the limit that was launched in turn with it, and what share of its rate it reached:
     * the median over launches of limit's time / this one's */
    const char *role, *limit_vs;
    double limit_share;

    /* failure_detail; failure_reason NULL: null */
    const char *failure_reason, *failure_message, *failure_remedy;

    const cbx_json *provenance; /* borrowed from json */
    cbx_json *json; /* the row itself, unknown keys included; owned by the rows set, NULL in a row to be written */
} cbx_row;

/** Rows in file order. */
typedef struct cbx_rows {
    cbx_arena arena;
    cbx_row *rows;
    size_t count, capacity;
    size_t damaged;                          /* lines that were no row */
    char first_damage[CBX_ERR_MESSAGE_SIZE]; /* names file and line; "" */
} cbx_rows;

/** Allocates nothing yet; the allocator is copied. */
CBX_API void cbx_rows_init(cbx_rows *rows, const cbx_allocator *al);
/** Frees the rows and all that was read from them; usable again afterwards. */
CBX_API void cbx_rows_clear(cbx_rows *rows);

/**
 * Adds the rows of a file (JSON lines), or of all *.jsonl below a folder, sorted by path (files
 * ending in .raw.jsonl are left out).  A torn or corrupt line is counted and named, and costs
 * nothing else.
 * @return CBX_OK; CBX_ENOENT, CBX_EPERM, CBX_EIO, CBX_EOVERFLOW (a file above 1 GiB), CBX_ENOMEM.
 *   On failure no row is added
 */
CBX_API cbx_status cbx_rows_read(cbx_ctx *ctx, const char *path, cbx_rows *rows, cbx_err *err);
/** Adds one row from its JSON value (adds a reference of its own).  CBX_EFORMAT names the offending
 * member: "'what': `a.b`: expected ..."; CBX_ENOMEM; then no row and no reference is added. */
CBX_API cbx_status cbx_rows_add_json(cbx_rows *rows, cbx_json *value, const char *what, cbx_err *err);

/** All absent: NULL, NaN, 0, false; `strongest` is true (a baseline of one variant is its own
 * strongest).  Start every row with it. */
CBX_API void cbx_row_init(cbx_row *row);
/** JSON of a typed row: all v1 keys in v1 order, then the additive ones; members of row->json that
 * the typed view does not know are kept.  NULL: out of memory, or the row lacks a string that every
 * row has, or its point is no JSON object. */
CBX_API cbx_json *cbx_row_to_json(const cbx_row *row);
/** Writes rows as JSON lines, atomically.  @return as cbx_file_write_atomic; CBX_EINVAL or
 * CBX_EFORMAT (what cbx_row_to_json refuses) */
CBX_API cbx_status cbx_rows_write(cbx_ctx *ctx, const char *path, const cbx_row *rows, size_t count, cbx_err *err);

/**
 * Appends a head and a line for each row: a column for every word and number of the typed view,
 * named by its path in the JSON ("metrics.steady_time.median"); launches in one cell, with spaces
 * between them; no provenance.  Absent: empty.  RFC 4180, LF.  The one failure is memory, sticky in
 * out.
 */
CBX_API void cbx_rows_csv(const cbx_rows *rows, cbx_text *out);
/** True if status is "ok"; false for NULL. */
CBX_API bool cbx_row_is_good(const cbx_row *row);
/** False if the row was left out of its run ("skipped"): nothing was tried, and an older row of its
 * key still holds. */
CBX_API bool cbx_row_is_attempt(const cbx_row *row);
/** True if it is of a limit: shown, but neither ranked nor compared. */
CBX_API bool cbx_row_is_limit(const cbx_row *row);
/** Store key: case, machine, platform, point, baseline, variant as one string in the arena; absent
 * ones read as "", the variant as "default".  NULL: out of memory. */
CBX_API const char *cbx_row_key(cbx_arena *arena, const cbx_row *row);
/** YYYYMMDDTHHMMSS.ffffff+0000__<7 hex digits of revision or "nosha">, written to buf and returned;
 * revision NULL, or one that does not begin with 7 lower-case hex digits, is "nosha". */
#define CBX_RUN_ID_SIZE 64
CBX_API const char *cbx_row_run_id(int64_t us, const char *revision, char buf[CBX_RUN_ID_SIZE]);

/* --- the durable store: <root>/<case>/<run_id>.jsonl with <run_id>.raw.jsonl.gz beside it --- */

/**
 * Writes rows (and raw launch lines, raw_text may be NULL) of one run; a run id that exists already
 * gets a numeric suffix, in the rows too.  Folders are made; a lock keeps two writers apart, in
 * whatever processes.
 * @return CBX_OK; CBX_EINVAL: case_name or run_id is no safe file name; CBX_EEXIST: no suffix is
 *         left; CBX_EBUSY: the store stays locked; else as cbx_rows_write
 */
CBX_API cbx_status cbx_row_store_put(cbx_ctx *ctx, const char *root, const char *case_name, const char *run_id,
                                     const cbx_row *rows, size_t count, const char *raw_text, cbx_err *err);
/**
 * Appends the raw launch lines of a run, one JSON object a line; what earlier releases left
 * uncompressed is read, too.
 * @return CBX_OK; CBX_EINVAL: no safe names; CBX_ENOENT: the run has none; CBX_EFORMAT: torn; as
 *   cbx_file_read
 */
CBX_API cbx_status cbx_row_store_raw(cbx_ctx *ctx, const char *root, const char *case_name, const char *run_id,
                                     cbx_text *out, cbx_err *err);
/**
 * Removes all but the `keep` newest run files of a case, by name, with their raw launches; keep 0
 * removes nothing.
 * @param removed  may be NULL: files of rows that went, written also on failure
 * @return CBX_OK, also if the case is missing; CBX_EINVAL: no safe name; CBX_EBUSY: the store stays
 *   locked; CBX_EPERM, CBX_EIO
 */
CBX_API cbx_status cbx_row_store_prune(cbx_ctx *ctx, const char *root, const char *case_name, size_t keep,
                                       size_t *removed, cbx_err *err);

CBX_END_DECLS
#endif
