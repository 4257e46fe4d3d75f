/*
 * What the commands over a store share: the options that choose runs and points, the store itself, and JSON of what they find.
 */
#ifndef CALIBRAX_PROGRAMS_SELECT_H
#define CALIBRAX_PROGRAMS_SELECT_H

#include "calibrax/storage/store.h"
#include "programs/common/options.h"

/* A member named `select` of each command's arguments. */
typedef struct select_args {
    const char *data;
    bool no_index, json;
    const char *branch, *commit, *machine, *since, *until, *point, *scenario, *metric;
    opt_list tags;
    size_t limit;
} select_args;

/* Rows of an option table, for the struct that holds a select_args named `select`. */
#define SELECT_ROW(type, name, kind, member, arg, help)                                                                \
    {                                                                                                                  \
        name, 0, kind, offsetof(type, select.member), arg, NULL, help                                                  \
    }
#define SELECT_STORE_ROWS(type)                                                                                        \
    SELECT_ROW(type, "data", OPT_STRING, data, "DIR",                                                                  \
               "the store; without it CALIBRAX_DATA, else .calibrax of the repository or working folder"),             \
        SELECT_ROW(type, "no-index", OPT_FLAG, no_index, NULL, "keep the index in memory: write no index.sqlite")
#define SELECT_JSON_ROW(type) SELECT_ROW(type, "json", OPT_FLAG, json, NULL, "print one JSON document")
#define SELECT_RUN_ROWS(type)                                                                                          \
    SELECT_ROW(type, "branch", OPT_STRING, branch, "NAME", "runs of this branch"),                                     \
        SELECT_ROW(type, "commit", OPT_STRING, commit, "HASH", "runs of this commit; its beginning will do"),          \
        SELECT_ROW(type, "machine", OPT_STRING, machine, "ID",                                                         \
                   "runs of this machine's fingerprint, or its beginning; -: runs that name none"),                    \
        SELECT_ROW(type, "since", OPT_STRING, since, "TIME",                                                           \
                   "runs from this date or time on (ISO 8601; a date alone is its midnight, UTC)"),                    \
        SELECT_ROW(type, "until", OPT_STRING, until, "TIME", "runs before this date or time")
/* --metrics where the word is --metric: others take a list of them. */
#define SELECT_METRICS_ROW(type) SELECT_ROW(type, "metrics", OPT_STRING, metric, "NAME", NULL)
#define SELECT_POINT_ROWS(type)                                                                                        \
    SELECT_ROW(type, "point", OPT_STRING, point, "NAME", "points of this name"),                                       \
        SELECT_ROW(type, "scenario", OPT_STRING, scenario, "NAME", "points of this scenario"),                         \
        SELECT_ROW(type, "metric", OPT_STRING, metric, "NAME", "points with this metric"), SELECT_METRICS_ROW(type),   \
        SELECT_ROW(type, "tag", OPT_EACH, tags, "KEY=VALUE", "points with this tag; may be repeated, all must hold")
#define SELECT_LIMIT_ROW(type) SELECT_ROW(type, "limit", OPT_POSITIVE, limit, "N", "the newest N runs only")

/* --- each returns 0, or 2 with a sentence said --- */

/* The store that --data names, made only if asked for. */
int select_open(const opt_run *run, const select_args *a, bool create, cbx_store **out);
int select_query(const opt_run *run, const select_args *a, cbx_store_query *out);
/* A run by what the user calls it: an id, the beginning of one, "latest", or "baseline:NAME". */
int select_run(const opt_run *run, cbx_store *store, const char *which, cbx_run **out);
/* Without samples, unless it is a baseline. */
int select_bare_run(const opt_run *run, cbx_store *store, const char *which, cbx_run **out);
/* The same without a word.  @param bare  without samples, of a run that is no baseline.  @return as cbx_store_load, cbx_store_baseline_get */
cbx_status select_load(cbx_store *store, const char *which, bool bare, cbx_run **out, cbx_err *err);
/* The definitions of the store's config.json, for runs that carry none; NULL: there are none. */
cbx_status select_defs(const opt_run *run, cbx_store *store, cbx_run **out, cbx_err *err);
/* The same where a file that cannot be read costs only what it would have told: it is named on standard error. */
cbx_run *select_defs_or_warn(const opt_run *run, cbx_store *store);
/* Gives a run those of them that its metrics lack.  @param defs  may be NULL.  @return CBX_OK; CBX_ENOMEM, *r is then freed and NULL */
cbx_status select_define(const opt_run *run, const cbx_run *defs, cbx_run **r, cbx_err *err);
/* A word "NAME=X" of an option with a number X; `name` is what the option calls its first part. */
int select_number(const opt_run *run, const char *option, const char *name, const char *word, const char **key,
                  double *x);
/* With X 0 or more. */
int select_pair(const opt_run *run, const char *option, const char *name, const char *word, const char **key,
                double *x);
/* Says for each file that cannot be read what is wrong, on standard error. */
void select_warn(const opt_run *run, cbx_store *store);
/* Refuses a store with files that cannot be read.  @param or_else  ends the sentence: ", or name a run with --run"; "" */
int select_need_readable(const opt_run *run, cbx_store *store, const char *or_else);
/*
 * Refuses, for what depends on the newest run, one that cannot be told: two are equally new, its time is still to come, or a file cannot be
 * read, which may be newer.
 * @param l  the newest run, or two
 */
int select_need_newest(const opt_run *run, cbx_store *store, const cbx_store_list *l, const char *or_else);
/* The same of all runs, where the word "latest" names one. */
int select_need_latest(const opt_run *run, cbx_store *store);

/*
 * Refuses a series whose values are of machines that differ, those of runs that name none among them, unless that is allowed: then it
 * says so on standard error.  Where no run names one, as with the Python package, it only says so.
 * @param what  names the series in the sentence
 * @param said  what it noted before, and does not note again; CBX_MACHINE_SAME to begin with
 */
int select_check_machines(const opt_run *run, const cbx_trend_series *s, const char *what, bool allowed,
                          cbx_same_machine *said);
/*
 * Refuses a series whose runs give its metric different units: seconds and milliseconds are no change of level.
 * @param what  names the series in the sentence
 */
int select_check_units(const opt_run *run, cbx_store *store, const cbx_trend_series *s, const char *what);
/* Whether one point has what the query asks of points. */
bool select_point(const cbx_store_query *q, const cbx_point *p);

/* --- output --- */

/* {"schema":name,"version":1}; NULL: out of memory. */
cbx_json *new_document(const char *schema);
cbx_json *tags_json(const cbx_tag *tags, size_t n);
cbx_json *metric_json(const cbx_metric *m);
/* {"a": {"value": ...}, ...} of a point */
cbx_json *metrics_json(const cbx_point *p);
/* id, timestamp, commit, branch */
void set_run_head(cbx_json *o, const cbx_run *run);
/* The fingerprint that a run names; NULL: none. */
const char *run_machine(const cbx_run *run);
/* "2026-02-20 11:34:24.346877+00:00", the ISO form with a blank */
const char *format_time(int64_t us, char *buf);
/* Four decimals, or four significant digits where decimals would hide the number. */
const char *format_value(double v, char buf[CBX_FORMAT_SIZE]);
/* "+18.8 %" of 0.188, "-" for NaN */
const char *format_percent(double share, char buf[CBX_FORMAT_SIZE]);
/* "point@scenario{batch=32,framework=flax}", tags by key and without the key `skip` (NULL: all), as verdicts and comparisons name points;
 * NULL: out of memory. */
const char *point_key(cbx_arena *arena, const cbx_point *p, const char *skip);
/* "point@scenario{batch=32}:metric", as changes and refusals name series; NULL: out of memory. */
const char *series_key(cbx_arena *arena, const cbx_trend_series *s);
/* Text for a terminal: control characters become \xNN; what has none is given back as it is. */
/* At most `most` bytes of a text, blanks up to a width, and one more: as "%-*.*s " does, but ten thousand times. */
#define LIST_PIECE 65536
/* What is written so far, to standard output. */
void pour_list(cbx_text *out);
void put_column(cbx_text *out, const char *s, size_t width, size_t most);
const char *plain_text(cbx_arena *arena, const char *s);
/* "batch=32, framework=flax" in the arena, without the key `skip` (NULL: all); "" for none. */
const char *format_tags(cbx_arena *arena, const cbx_tag *tags, size_t n, const char *skip);

#endif
