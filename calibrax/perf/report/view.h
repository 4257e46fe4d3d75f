/*
 * What every rendering of rows shares: the rows in the order they are shown, in groups that may be
 * compared, with the reference of each group; and the facts about machines and tools that may be
 * published.
 *
 * A group is one (case, machine, platform, point).  Groups are in the order in which they appear in
 * the file, cases together.  In a group the reference comes first, then what was measured by rising
 * median, then what was not, in the order of the file.
 */
#ifndef CALIBRAX_PERF_REPORT_VIEW_H
#define CALIBRAX_PERF_REPORT_VIEW_H

#include <string.h>

#include "calibrax/perf/report/report.h"

typedef enum cbx__report_class {
    CBX__REPORT_GOOD,
    CBX__REPORT_FAILED,  /* it ran, and its result is not good; also every unknown status */
    CBX__REPORT_MISSING, /* its environment is not here */
    CBX__REPORT_SKIPPED, /* not tried */
} cbx__report_class;

/* A row where it is shown. */
typedef struct cbx__report_item {
    const cbx_row *row;
    const struct cbx__report_group *group;
    size_t index; /* in the file */
    cbx__report_class class;
    bool reference; /* of its group; every variant of it */
    bool siblings;  /* the group holds other variants of this baseline */
    bool limit;     /* a probe: shown, but not ranked and not named as a rival */
    bool quoted;    /* the one variant of its baseline that sentences name */
    int series;     /* number of its baseline, from 0, in order of appearance */
} cbx__report_item;

typedef struct cbx__report_group {
    const cbx_row *head;     /* first row of the file in it: case, machine, platform, point */
    const char *label;       /* point_label, else made from point_json */
    cbx__report_item *items; /* [count] of the view's */
    size_t count;
    const char *reference_name;        /* NULL: no row of the case names one */
    const cbx__report_item *reference; /* quoted variant of the reference; NULL: not in this group */
    bool representative;
    size_t case_index;
} cbx__report_group;

/* Equal, NULL being "". */
static inline bool cbx__report_same(const char *a, const char *b) { return !strcmp(a ? a : "", b ? b : ""); }

/* An allocator that remembers a failed allocation, wherever, so that no caller needs to look. */
typedef struct cbx__report_memory {
    cbx_allocator base;
    bool failed;
} cbx__report_memory;

/* The allocator over m->base; m must not move. */
cbx_allocator cbx__report_allocator(cbx__report_memory *m);

typedef struct cbx__report_view {
    cbx_arena arena;
    cbx__report_memory memory; /* of the arena */
    cbx__report_item *items;
    size_t nitems;
    cbx__report_group *groups;
    size_t ngroups;
    const char **cases; /* names in order of appearance */
    size_t ncases;
    const char **machines; /* fingerprints in order of appearance; "" for rows without one */
    size_t nmachines;
    size_t nplatforms;
} cbx__report_view;

/* Fills *v, which must not move until it is closed.  false: out of memory, recorded in out->status;
 * nothing needs closing.  Borrows the rows; uses the allocator of out. */
bool cbx__report_view_open(const cbx_rows *rows, cbx__report_view *v, cbx_text *out);
/* Frees it; a failed allocation since it was opened becomes out->status. */
void cbx__report_view_close(cbx__report_view *v, cbx_text *out);

/* A baseline's name, with its variant where it has several: "openblas (tuned)". */
const char *cbx__report_name(cbx_arena *arena, const cbx__report_item *item);
/* What sets a group's rows apart from the other groups of the page: "512x512x512 (log, f32),
 * cuda12". */
const char *cbx__report_where(cbx_arena *arena, const cbx__report_view *v, const cbx__report_group *g);
/* The same behind another text than the group's label. */
const char *cbx__report_apart(cbx_arena *arena, const cbx__report_view *v, const cbx__report_group *g,
                              const char *label);

/* True if sentences and main charts are about the group: representative points; in a case without
 * any, its first. */
bool cbx__report_is_in_question(const cbx__report_view *v, size_t group);

/* A shape: the integer parameters of a point but the seed, in order. */
#define CBX__REPORT_MAX_DIMS 8
typedef struct cbx__report_shape {
    double dim[CBX__REPORT_MAX_DIMS];
    const char *name[CBX__REPORT_MAX_DIMS];
    size_t ndims;
    double size;         /* their product; NaN without any */
    const char *variety; /* the other parameters: "log, f32"; "" */
} cbx__report_shape;

void cbx__report_shape_of(const cbx_row *row, cbx_arena *arena, cbx__report_shape *out);

/* A published fact: "CPU", "AMD EPYC 7B13". */
typedef struct cbx__report_fact {
    const char *name, *value;
} cbx__report_fact;

/* Facts of one machine of the view, from the provenance of its rows; an allow-list, so that no
 * host, user, kernel or path is published.  NULL with *count 0 if there are none or memory is
 * out. */
const cbx__report_fact *cbx__report_facts(cbx_arena *arena, const cbx__report_view *v, size_t machine, size_t *count);

/* What rows of one outcome have in common, for notes: the baselines (each once), and what to do. */
typedef struct cbx__report_outcome {
    cbx__report_class class;
    const char *subject; /* framework of a missing environment, else the baseline */
    const char *what;    /* "is not installed", "failed its fidelity check", "was skipped (slow_skipped)" */
    const char *remedy;  /* "": unknown */
    size_t rows;
} cbx__report_outcome;

/* Outcomes of n items that are not good, equal ones once; missing ones first.  What was left out by
 * choice is not among them. */
const cbx__report_outcome *cbx__report_outcomes(cbx_arena *arena, const cbx__report_item *items, size_t n,
                                                size_t *count);

/* True if verdicts are shown that hold for their row alone, because some rows have too few launches
 * for a correction over the table.
 * @param launches  fewest pairs of such a row
 * @param rows      ratios of its table */
bool cbx__report_uncorrected(const cbx__report_view *v, size_t *launches, size_t *rows);

/* Notes on the launches of a row, as one clause: several modes with their shares, epochs before the
 * steady state, launches without one, an unhealthy machine, a budget or plan that ended before the
 * goal.  "": nothing. */
const char *cbx__report_launches(cbx_arena *arena, const cbx_row *row);
/* The same of a group's rows, said once where it is the same: the names of the item and of those
 * behind it of which it is true; NULL: nothing is to be said, or it was with an item before.
 * @param words  what is to be said */
const char *cbx__report_alike(cbx_arena *arena, const cbx__report_item *it, const char **words);
/* "14 launches were repeated (clocks_disagree 12, worker_killed 2), most of them of jax-stream
 * (9)"; false, and nothing, if none were. */
bool cbx__report_put_repeats(cbx_text *out, cbx_arena *arena, const cbx__report_view *v);

/* Baselines of n items that the user left out, one element for each way to do so. */
typedef struct cbx__report_left_out {
    const char *how, *remedy; /* "not chosen"; "" if unknown */
    size_t baselines;         /* different ones */
} cbx__report_left_out;

const cbx__report_left_out *cbx__report_left_outs(cbx_arena *arena, const cbx__report_item *items, size_t n,
                                                  size_t *count);
/* "8 baselines not chosen" */
void cbx__report_put_left_out(cbx_text *out, const cbx__report_left_out *l);

/* --- writing numbers ---
 *
 * How reports write times with intervals, ratios as people read them, memory, fidelity;
 * and the columns that the terminal table, the markdown report and the page share.
 */

/* Signs that a terminal may lack. */
typedef struct cbx__report_style {
    const char *times, *none, *percent;
} cbx__report_style;

extern const cbx__report_style cbx__report_ascii; /* x, -, 61% */
extern const cbx__report_style cbx__report_words; /* ASCII in a sentence: 61 % */
extern const cbx__report_style cbx__report_utf8;  /* ×, –, 61 % */

/* Class of a row's status; an unknown status is a failure. */
cbx__report_class cbx__report_status_class(const cbx_row *row);
/* The verdict to show: the one that holds over the table, where there are launches enough; else the
 * row's own.  NULL: none. */
const char *cbx__report_verdict(const cbx_row *row);
/* True for a row of a baseline that the user left out. */
bool cbx__report_is_left_out(const cbx_row *row);
/* What became of the row, to follow its name: "failed its fidelity check", "crashed", "failed
 * (weird)". */
void cbx__report_put_fate(cbx_text *out, const cbx_row *row);

/* Median of launch medians, or the median over all epochs where a row has no more. [s] */
double cbx__report_median(const cbx_row *row);
/* True where the interval has ends. */
bool cbx__report_has_interval(const cbx_row_interval *i);
/*
 * Every ratio of a report is the time over the reference's time, as the row stores it: below 1 is
 * faster (README.md).
 */
typedef struct cbx__report_ratio {
    cbx_row_interval x;
    const char *verdict; /* "faster", "slower", "equivalent", "undecided"; of the minima: the side of 1, "" at 1 */
    bool minimum_only;   /* from `ratio` (min over min): no interval, no verdict */
} cbx__report_ratio;

/* false: the row has no ratio. */
bool cbx__report_ratio_of(const cbx_row *row, cbx__report_ratio *out);
/* True if the ratio of minima lies more than a tenth outside the paired interval. */
bool cbx__report_minimum_disagrees(const cbx_row *row);

void cbx__report_put_seconds(cbx_text *out, double seconds, const cbx__report_style *s);
/* "3.21 ms [3.19, 3.25]", without brackets where no interval exists. */
void cbx__report_put_interval(cbx_text *out, const cbx_row *row, const cbx__report_style *s);
/* "0.124 [0.121, 0.127]"; without the interval if brief.  Three significant digits, four where the
 * interval needs them. */
void cbx__report_put_ratio(cbx_text *out, const cbx__report_ratio *ratio, bool brief);
/* Two or three significant digits, never an exponent below 10^6. */
void cbx__report_put_number(cbx_text *out, double v, const cbx__report_style *s);
/* 0.612 -> "61%"; below 0.1 one decimal. */
void cbx__report_put_share(cbx_text *out, double share, const cbx__report_style *s);

/*
 * Words from outside, made fit to print: control characters become spaces, words that are absolute
 * paths become "(path)", and what is longer than max bytes is cut (0: no limit).
 */
void cbx__report_put_public(cbx_text *out, const char *s, size_t max);
/* Why a row is not good: its reason, message and remedy, as far as there are; NULL leaves a part
 * out. */
void cbx__report_put_reason(cbx_text *out, const char *reason, const char *message, const char *remedy);

/* --- the columns --- */

typedef enum cbx__report_column_id {
    CBX__COLUMN_BASELINE,
    CBX__COLUMN_STATUS,
    CBX__COLUMN_TIME,
    CBX__COLUMN_MIN,
    CBX__COLUMN_P99,
    CBX__COLUMN_FINDS,
    CBX__COLUMN_COMPILE,
    CBX__COLUMN_MEMORY,
    CBX__COLUMN_GMAC,
    CBX__COLUMN_GFLOP,
    CBX__COLUMN_GBYTE,
    CBX__COLUMN_ROOFLINE,
    CBX__COLUMN_FIDELITY,
    CBX__COLUMN_RATIO,
    CBX__COLUMN_COUNT
} cbx__report_column_id;

typedef struct cbx__report_column {
    const char *title;
    const char *meaning; /* one line, for titles of the page and notes */
    const char *data;    /* name of the key in the page's data; NULL: sorts by text */
    bool number;         /* aligned right */
    void (*put)(cbx_text *out, const cbx__report_item *item, cbx_arena *arena, const cbx__report_style *s);
    void (*put_brief)(cbx_text *out, const cbx__report_item *item, cbx_arena *arena,
                      const cbx__report_style *s); /* may be NULL */
    double (*key)(const cbx__report_item *item);   /* what the page sorts by; NULL where data is */
} cbx__report_column;

extern const cbx__report_column cbx__report_columns[CBX__COLUMN_COUNT];
/* True if some measured row of a case has something in the column; case_index SIZE_MAX: of all
 * cases. */
bool cbx__report_column_is_used(const cbx__report_view *v, size_t case_index, cbx__report_column_id column,
                                cbx_arena *arena);

#endif
