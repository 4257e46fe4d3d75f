/* Any bytes as a list of waivers: what is accepted has every member, and an end behind its day's
 * beginning. */
#include <stdlib.h>
#include <string.h>

#include "calibrax/ci/waivers.h"
#include "fuzz.h"

FUZZ_ENTRY()
{
    static cbx_ctx *ctx;
    cbx_waivers *w = NULL;

    if (!ctx && cbx_ctx_create(NULL, &ctx, NULL)) abort();
    if (cbx_waivers_from_text(ctx, (const char *)data, size, "input", &w, NULL)) return 0;
    for (size_t i = 0; i < cbx_waivers_count(w); i++) {
        const cbx_waiver *x = cbx_waivers_at(w, i);
        if (!x->key[0] || !x->reason[0] || strlen(x->until) != 10 || x->end_us % 86400000000LL) abort();
    }
    cbx_waivers_free(w);
    return 0;
}
