/*
 * What the commands over a store share: the options that choose runs and points, the store itself,
 * and JSON of what they find.
 */
#ifndef CALIBRAX_PROGRAMS_SELECT_H
#define CALIBRAX_PROGRAMS_SELECT_H

#include "calibrax/monitoring/tendency.h"
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

/* Rows of an option table, for a struct that holds a select_args named `select`. */
#define SELECT_STORE_ROWS                                                                                              \
    OPT("data", 0, STRING, select.data, "DIR", NULL,                                                                   \
        "the store (default: CALIBRAX_DATA, else .calibrax of the repository or working folder)"),                     \
        OPT_SWITCH("no-index", 0, select.no_index, "keep the index in memory instead of writing index.sqlite")
#define SELECT_JSON_ROW   OPT_SWITCH("json", 0, select.json, "print one JSON document")
#define SELECT_BRANCH_ROW OPT("branch", 0, STRING, select.branch, "NAME", NULL, "use runs of this branch")
#define SELECT_MACHINE_ROW                                                                                             \
    OPT("machine", 0, STRING, select.machine, "ID", NULL,                                                              \
        "use runs of machines whose fingerprint has this prefix; -: runs without a fingerprint")
#define SELECT_RUN_ROWS                                                                                                \
    SELECT_BRANCH_ROW,                                                                                                 \
        OPT("commit", 0, STRING, select.commit, "HASH", NULL,                                                          \
            "use runs of this commit, or of commits with this prefix"),                                                \
        SELECT_MACHINE_ROW,                                                                                            \
        OPT("since", 0, STRING, select.since, "TIME", NULL,                                                            \
            "use runs from this date or time on (ISO 8601; a date alone means midnight, UTC)"),                        \
        OPT("until", 0, STRING, select.until, "TIME", NULL, "use runs before this date or time")
/* A metric: --metric, or --metrics as in commands that take a list of them. */
#define SELECT_METRIC_ROWS(help)                                                                                       \
    OPT("metric", 0, STRING, select.metric, "NAME", NULL, help, "@metrics"),                                           \
        OPT("metrics", 0, STRING, select.metric, "NAME", NULL, NULL, "@metrics")
#define SELECT_SCENARIO_ROW OPT("scenario", 0, STRING, select.scenario, "NAME", NULL, "use points of this scenario")
#define SELECT_PLACE_ROWS                                                                                              \
    OPT("point", 0, STRING, select.point, "NAME", NULL, "use points of this name"), SELECT_SCENARIO_ROW
#define SELECT_TAG_ROW                                                                                                 \
    OPT("tag", 0, EACH, select.tags, "KEY=VALUE", NULL, "use points with this tag; may be repeated, all must match")
#define SELECT_POINT_ROWS SELECT_PLACE_ROWS, SELECT_METRIC_ROWS("use points with this metric"), SELECT_TAG_ROW
#define SELECT_LIMIT_ROW  OPT("limit", 0, POSITIVE, select.limit, "N", NULL, "use only the newest N runs")
/* The run of a command that shows one; its struct has a member `run`. */
#define SELECT_ONE_ROW                                                                                                 \
    OPT("run", 0, STRING, run, "ID", "latest", "the run: its id, a unique prefix of the id, latest, or baseline:NAME", \
        "@runs")

/* Members of a command whose arguments are runs. */
#define SELECT_RUN_WORDS .flags = OPT_TAKES_WORDS, .word = "RUN", .words = "@runs"

/* A line of a list of formats: an object of the JSON list, or a name of so many columns and its
 * summary. */
void list_format(cbx_json *list, bool json, int width, const char *name, const char *summary);

/* --- each returns 0, or 2 after a message --- */

/*
 * The path of the store: --data, else CALIBRAX_DATA, else .calibrax at the top of the repository
 * around the working folder, or in the working folder where there is no repository.  NULL after a
 * message: the working folder cannot be found.
 * @param data  the argument of --data; NULL: the option is absent
 */
const char *store_path(const opt_run *run, const char *data);
/* Opens that store, made only if asked for, and names it on standard error unless --data does. */
int select_open(const opt_run *run, const select_args *a, bool create, cbx_store **out);
int select_query(const opt_run *run, const select_args *a, cbx_store_query *out);
/* The run that an argument or --run names, "latest" without them; NULL after a message: there are
 * several arguments. */
const char *select_name(const opt_run *run, const char *option);
/* A run by an id, a unique prefix of an id, "latest", or "baseline:NAME". */
int select_run(const opt_run *run, cbx_store *store, const char *which, cbx_run **out);
/* The same with the store's definitions, unless it is shown as JSON.  @param bare  without samples,
 * of a run that is no baseline */
int select_defined_run(const opt_run *run, cbx_store *store, const char *which, bool bare, bool json, cbx_run **out);
/* The same without messages.  @return as cbx_store_load, cbx_store_baseline_get */
cbx_status select_load(cbx_store *store, const char *which, bool bare, cbx_run **out, cbx_err *err);
/* The definitions of the store's config.json, for runs that carry none; NULL: there are none. */
cbx_status select_defs(const opt_run *run, cbx_store *store, cbx_run **out, cbx_err *err);
/* The same where an unreadable file costs only its definitions: it is named on standard error. */
cbx_run *select_defs_or_warn(const opt_run *run, cbx_store *store);
/* Gives a run those of them that its metrics lack.  @param defs  may be NULL.  @return CBX_OK;
 * CBX_ENOMEM, *r is then freed and NULL */
cbx_status select_define(const opt_run *run, const cbx_run *defs, cbx_run **r, cbx_err *err);
/* An argument "NAME=X" of an option with a number X; `name` is how the option's help calls its
 * first part. */
int select_number(const opt_run *run, const char *option, const char *name, const char *word, const char **key,
                  double *x);
/* With X of at least 0. */
int select_pair(const opt_run *run, const char *option, const char *name, const char *word, const char **key,
                double *x);
/* Names each file that cannot be read, with the reason, on standard error. */
void select_warn(const opt_run *run, cbx_store *store);
/* Refuses a store with files that cannot be read.  @param or_else  ends the message: ", or name a
 * run with --run"; "" */
int select_need_readable(const opt_run *run, cbx_store *store, const char *or_else);
/*
 * Refuses, for what depends on the newest run, one that is ambiguous: two are equally new, its time
 * is in the future, or a file cannot be read, which may be newer.
 * @param l  the newest run, or two
 */
int select_need_newest(const opt_run *run, cbx_store *store, const cbx_store_list *l, const char *or_else);
/* The same of all runs, where "latest" names one. */
int select_need_latest(const opt_run *run, cbx_store *store);

/*
 * Refuses a series whose values are of different machines, of runs without a machine among them,
 * unless that is allowed: then it notes so on standard error.  Where no run names one, as with the
 * Python package, it only notes so.
 * @param what  names the series in the message
 * @param noted what it noted before, and does not note again; CBX_MACHINE_SAME to begin with
 */
int select_check_machines(const opt_run *run, const cbx_trend_series *s, const char *what, bool allowed,
                          cbx_same_machine *noted);
/* Refuses a series whose runs give its metric different units: from seconds to milliseconds is no
 * change of level. */
int select_check_units(const opt_run *run, cbx_store *store, const cbx_trend_series *s, const char *what,
                       bool direction_too);
/* Whether a point matches the filters of points. */
bool select_point(const cbx_store_query *q, const cbx_point *p);

/* --- output --- */

cbx_json *tags_json(const cbx_tag *tags, size_t n);
cbx_json *metric_json(const cbx_metric *m);
/* {"a": {"value": ...}, ...} of a point */
cbx_json *metrics_json(const cbx_point *p);
/* id, timestamp, commit, branch */
cbx_json *run_head(const cbx_run *run);
/* The fingerprint that a run names; NULL: none. */
const char *run_machine(const cbx_run *run);
/* "2026-02-20 11:34:24.346877+00:00", the ISO form with a blank */
const char *format_time(int64_t us, char *buf);
/* "+18.8 %" of 0.188, "-" for NaN */
const char *format_percent(double share, char buf[CBX_FORMAT_SIZE]);
/* "point@scenario{batch=32,framework=flax}", tags by key and without the key `skip` (NULL: all), as
 * verdicts and comparisons name points */
const char *point_key(cbx_arena *arena, const cbx_point *p, const char *skip);
/* "point@scenario{batch=32}:metric", as changes and refusals name series */
const char *series_key(cbx_arena *arena, const cbx_trend_series *s);
/* Text for a terminal: control characters become \xNN; a text without them is returned as it is. */
const char *plain_text(cbx_arena *arena, const char *s);
/* "batch=32, framework=flax" in the arena, without the key `skip` (NULL: all); "" for none. */
const char *format_tags(cbx_arena *arena, const cbx_tag *tags, size_t n, const char *skip);
/* Id, time, commit, branch, machine and number of points, a line each. */
void print_run_head(const opt_run *run, const cbx_run *r);

/* --- results that a command keeps --- */

/* Opens the store, made if missing, so that one that cannot be opened is reported before the work.
 * EXIT_PASS, or EXIT_ERROR after a message. */
int keep_prepare(const opt_run *run, const char *store);
/* Saves the run.  A store that was removed meanwhile is made again, with a warning. */
cbx_status keep_run(const opt_run *run, const char *store, const cbx_run *r, cbx_err *err);

/* --- the tendency of a series --- */

/* {"word": "degrading", "kind": "rising", "slope": 0.012, "lower": ..., "upper": ..., "values":
 * 100}; NULL: out of memory. */
cbx_json *tendency_json(const cbx_tendency *t, const char *word);
/* "Tendency: degrading, +1.2 % [+0.8 %, +1.6 %] a value" and the end of the line. */
void print_tendency(const cbx_tendency *t, const char *word);

#endif
