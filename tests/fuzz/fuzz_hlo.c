/* Any bytes as HLO: what is accepted has shares between 0 and 1, and no more fused than
 * there is. */
#include <stdlib.h>

#include "calibrax/profiling/hlo.h"
#include "fuzz.h"

static int is_share(double x) { return x >= 0 && x <= 1; }

FUZZ_ENTRY()
{
    static cbx_ctx *ctx;
    cbx_hlo_report r;

    if (!ctx && cbx_ctx_create(NULL, &ctx, NULL)) abort();
    if (cbx_hlo_read(ctx, (const char *)data, size, "input", &r, NULL)) return 0;
    if (!r.instructions || !r.computations || r.fused > r.working || r.working + r.fusions > r.instructions) abort();
    if (!is_share(r.score) || !is_share(r.fusion_ratio) || !is_share(r.memory_ratio) || !is_share(r.arithmetic_ratio))
        abort();
    if (!is_share(r.fused_ratio) || r.nadvice > CBX_LEN(r.advice)) abort();
    return 0;
}
