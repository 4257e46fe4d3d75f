/* The toolkit's own convolution (calibrax/array/semiring.h), called as user code calls it, on all
 * threads that the worker is given. */
#include <string.h>

#include "calibrax/array/semiring.h"
#include "suites/common/engine.h"
#include "suites/common/params.h"
#include "suites/common/plan.h"
#include "suites/nitrix/semiring_conv/conv.h"

typedef struct engine {
    cbx__suite_engine call; /* first */
    const cbx_semiring *semiring;
    cbx_conv_options options;
} engine;

static cbx_status prepare(cbx_ctx *ctx, const cbx_params *given, void **plan, cbx_err *err)
{
    const cbx_status st = cbx__suite_engine_create(ctx, NULL, 2, sizeof(engine), plan, err);

    if (st) return st;
    engine *e = *plan;
    e->semiring = cbx__suite_algebra(given);
    const char *padding = cbx_params_word(given, "padding");
    cbx_conv_options o = CBX_CONV_INIT;

    o.padding = !strcmp(padding, "same")    ? CBX_CONV_SAME
                : !strcmp(padding, "valid") ? CBX_CONV_VALID
                                            : CBX_CONV_EXPLICIT;
    for (int i = 0; i < 2; i++) {
        o.stride[i] = cbx__suite_count(given, "stride");
        o.dilation[i] = cbx__suite_count(given, "dilation");
        o.low[i] = o.high[i] = o.padding == CBX_CONV_EXPLICIT ? cbx__suite_count(given, "pad") : 0;
    }
    e->options = o;
    return CBX_OK;
}

static void run(void *plan)
{
    engine *e = plan;

    cbx__suite_engine_begin(&e->call);
    e->call.result = cbx_semiring_conv(e->call.ctx, e->call.in[0], e->call.in[1], e->semiring, &e->options);
}

const cbx_baseline_ops cbx__conv_engine = CBX__SUITE_BASELINE(
    "calibrax", "native", "the tiled product on x in place; log and boolean on windows of a block of places",
    .work = cbx__conv_work, .prepare = prepare, .bind = cbx__suite_engine_bind, .run = run,
    .finish = cbx__suite_engine_finish, .collect = cbx__suite_engine_collect);
