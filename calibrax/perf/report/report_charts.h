/*
 * The charts of the page that calibrax/plot draws: rows over time, and the roofline.  Their colours are turned into the page's own by its style
 * sheet, which knows each of the light theme.
 */
#ifndef CALIBRAX_PERF_REPORT_REPORT_CHARTS_H
#define CALIBRAX_PERF_REPORT_REPORT_CHARTS_H

#include "calibrax/perf/report/format.h"

/** What the charts of one page share. */
typedef struct cbx__charts {
    cbx_ctx *ctx; /* of its own, over the page's allocator */
    const cbx__report_view *view;
    cbx_arena *arena;
    const cbx_row_series **past; /* of each item of the view; NULL: no history */
    bool brief;                  /* the page is short of room: no marks but on times */
} cbx__charts;

/** false: out of memory. */
bool cbx__charts_open(cbx__charts *c, const cbx__report_view *v, cbx_arena *arena, const cbx_row_index *history);
void cbx__charts_close(cbx__charts *c);

/** What is followed over the runs; the time first, which has intervals. */
typedef enum cbx__followed {
    CBX__FOLLOW_TIME,
    CBX__FOLLOW_COMPILE,
    CBX__FOLLOW_MEMORY,
    CBX__FOLLOW_ENERGY,
    CBX__FOLLOW_GFLOP,
    CBX__FOLLOW_GBYTE,
    CBX__FOLLOW_COUNT
} cbx__followed;

/** True if some series of the group has two good rows or more that tell it. */
bool cbx__charts_has_history(const cbx__charts *c, const cbx__report_group *g, cbx__followed what);
/** A metric of a group's baselines over the runs, oldest first, and where it changed. */
void cbx__chart_history(const cbx__charts *c, const cbx__report_group *g, cbx__followed what, cbx_text *out);
/** The changes of all series of a case in words, the largest first, at most `most`.  Returns how many there are. */
size_t cbx__chart_changes(const cbx__charts *c, size_t case_index, size_t most, cbx_text *out);
/** Rates of the group's rows under the roofs that were measured on their machine; false: nothing to draw. */
bool cbx__chart_roofline(const cbx__charts *c, const cbx__report_group *g, cbx_text *out);

#endif
