/*
 * How reports write numbers: times with intervals, ratios as people read them, memory, fidelity;
 * and the columns that the terminal table, the markdown report and the page share.
 */
#ifndef CALIBRAX_PERF_REPORT_FORMAT_H
#define CALIBRAX_PERF_REPORT_FORMAT_H

#include "calibrax/perf/report/view.h"

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
