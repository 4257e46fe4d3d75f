/*
 * Inside the page: what its parts share.
 */
#ifndef CALIBRAX_PERF_REPORT_SITE_INTERNAL_H
#define CALIBRAX_PERF_REPORT_SITE_INTERNAL_H

#include "calibrax/perf/report/report_charts.h"
#include "calibrax/perf/report/report_plot.h"

typedef struct cbx__page {
    const cbx__report_view *view;
    cbx_arena *arena;
    cbx_text *out;
    cbx_text cell;
    const char **names, **statuses; /* interned, for the data block and the filters */
    size_t nnames, nstatuses;
    const cbx_report_opts *opts;
    cbx__charts charts;
    bool *shown;       /* of each group: in tables and strips */
    size_t limit;      /* groups of a case that are shown; SIZE_MAX: all */
    size_t rows_shown; /* of all cases */
    bool times_only;   /* no history of other metrics */
    struct machine_facts {
        const cbx__report_fact *list;
        size_t n;
    } * facts; /* of each machine: a page may be written several times until it is small enough */
} cbx__page;

static inline void cbx__page_put(cbx__page *p, const char *s) { cbx_text_puts(p->out, s); }
/* The text collected in the cell, escaped. */
void cbx__page_flush_cell(cbx__page *p);
/* Words of rows, fit to be published and escaped; at most max bytes, 0: all. */
void cbx__page_put_words(cbx__page *p, const char *s, size_t max);
bool cbx__page_shows(const cbx__page *p, size_t c);
/* The groups of a case that are shown, or all of them. */
size_t cbx__page_groups(const cbx__page *p, size_t c, bool all);

/* The section of a case: plots, table, launches, charts. */
void cbx__page_put_case(cbx__page *p, size_t c);
/* The record of the tool's own tests. */
void cbx__page_put_selftest(cbx__page *p);
/* What the operations can do. */
void cbx__page_put_capabilities(cbx__page *p);
/* Names and statuses that the data block and the filters refer to by number. */
void cbx__page_intern_words(cbx__page *p);
/* The numbers that the script sorts by. */
void cbx__page_put_data(cbx__page *p);

#endif
