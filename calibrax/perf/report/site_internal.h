/* What the parts of the page share. */
#ifndef CALIBRAX_PERF_REPORT_SITE_INTERNAL_H
#define CALIBRAX_PERF_REPORT_SITE_INTERNAL_H

#include "calibrax/perf/report/report_charts.h"

/* The page's script, as lines ending with NULL, and their hash; made of site/ by
 * scripts/embed_assets.py. */
extern const char *const cbx__site_script[];
extern const char cbx__site_script_hash[];

typedef struct cbx__page {
    const cbx__report_view *view;
    cbx_arena *arena;
    cbx_text *out;
    cbx_text cell;
    const char **names, **statuses; /* interned, for the data block and the filters */
    size_t nnames, nstatuses;
    const cbx_report_opts *opts;
    cbx__charts charts;
    bool *shown;     /* of each group: in tables and strips */
    size_t limit;    /* groups of a case that are shown; SIZE_MAX: all */
    bool times_only; /* no history of other metrics */
} cbx__page;

static inline void cbx__page_put(cbx__page *p, const char *s) { cbx_text_puts(p->out, s); }
/* The text collected in the cell, escaped. */
void cbx__page_flush_cell(cbx__page *p);
/* Words of rows, fit to be published and escaped, between two texts as they are; at most max bytes,
 * 0: all. */
void cbx__page_put_words(cbx__page *p, const char *before, const char *s, size_t max, const char *after);
/* Whether a group is of a case, and shown. */
static inline bool cbx__page_shows(const cbx__page *p, const cbx__report_group *g, size_t c)
{
    return g->case_index == c && p->shown[g - p->view->groups];
}
/* The groups of a case that are shown, or all of them. */
size_t cbx__page_groups(const cbx__page *p, size_t c, bool all);

/* The section of a case: times, table, launches, charts. */
void cbx__page_put_case(cbx__page *p, size_t c);
/* The record of the tool's own tests. */
void cbx__page_put_selftest(cbx__page *p);
/* What the operations can do. */
void cbx__page_put_capabilities(cbx__page *p);

#endif
