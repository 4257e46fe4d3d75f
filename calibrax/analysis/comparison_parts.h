/* Inside comparison: the table while it is made, and what writes remarks on it. */
#ifndef CALIBRAX_ANALYSIS_COMPARISON_PARTS_H
#define CALIBRAX_ANALYSIS_COMPARISON_PARTS_H

#include "calibrax/analysis/comparison.h"
#include "calibrax/base/arena.h"

typedef struct cbx__remark {
    int rule;
    const char *sentence;
} cbx__remark;

struct cbx_comparison {
    cbx_allocator al;
    cbx_arena arena;
    const char **labels;
    size_t nlabels, reference;
    cbx_comparison_row *rows;
    size_t nrows;
    cbx_winner *winners;
    size_t nwinners;
    cbx__remark *remarks;
    size_t nremarks;
};

/** CBX_OK or CBX_ENOMEM */
cbx_status cbx__comparison_remark(cbx_ctx *ctx, cbx_comparison *c, const cbx_run *const *runs, size_t nruns,
                                  cbx_err *err);

#endif
