/* Inside comparison: the table while it is made, what its rows are called, and what writes remarks
 * on it. */
#ifndef CALIBRAX_ANALYSIS_COMPARISON_PARTS_H
#define CALIBRAX_ANALYSIS_COMPARISON_PARTS_H

#include "calibrax/analysis/comparison.h"
#include "calibrax/base/arena.h"
#include "calibrax/base/table.h"
#include "calibrax/base/text.h"

typedef struct cbx__remark {
    int rule;
    const char *sentence;
} cbx__remark;

struct cbx_comparison {
    cbx_allocator al;
    cbx_arena arena;
    cbx_arena keys, names, texts; /* of rows; of competitors; of metrics and units */
    const char **labels;
    size_t nlabels, reference;
    cbx_comparison_row *rows;
    size_t nrows;
    cbx_winner *winners;
    size_t nwinners;
    cbx__remark *remarks;
    size_t nremarks;
};

/** Whose a point is: the value of its group tag, else its run. */
const char *cbx__competitor_of(const cbx_point *p, const char *group_tag, const char *run);
/** Adds the row of a point, "point@scenario{other tags}".  @param scratch  for a while.  false: out
 * of memory */
bool cbx__row_put(cbx_text *out, const cbx_point *p, const char *group_tag, const char *competitor, cbx_arena *scratch);
/** Whether a name is one of these; names NULL: every one is. */
bool cbx__among(const char *name, const char *const *names, size_t n);
/** CBX_OK or CBX_ENOMEM */
cbx_status cbx__comparison_remark(cbx_ctx *ctx, cbx_comparison *c, const cbx_run *const *runs, size_t nruns,
                                  cbx_err *err);

#endif
