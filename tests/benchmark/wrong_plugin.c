/* A plug-in of another version, or without what it needs: one object a fault, chosen when it is
 * compiled; 0: without fault, and without need of the library, so that any program can load it. */
#include "calibrax/perf/case/plugin.h"

#if FAULT == 1 /* of a later header */
static const cbx_benchmark_ops b = { sizeof b, CBX_BENCHMARK_ABI, "b", "", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
static const cbx_plugin_benchmark list[] = { { &b, 0, 0 } };
extern CBX_PLUGIN_EXPORT const cbx_plugin_ops cbx_plugin_table;
const cbx_plugin_ops cbx_plugin_table = { sizeof(cbx_plugin_ops), 99, 0, 0, 0, list, list + 1 };
#elif FAULT == 2 /* a benchmark of a later header */
static const cbx_benchmark_ops b = { sizeof b, 77, "b", "", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
static const cbx_plugin_benchmark list[] = { { &b, 0, 0 } };
CBX_BENCHMARK_PLUGIN(list, 1);
#elif FAULT == 3 /* two of one name */
static cbx_status work(cbx_ctx *ctx, void *self, cbx_err *err) { return ctx || self || err ? CBX_OK : CBX_EDOM; }
static const cbx_benchmark_ops b = { sizeof b, CBX_BENCHMARK_ABI, "b", "", 0, 0, 0, 0, 0, 0, 0, work, 0, 0 };
static const cbx_plugin_benchmark list[] = { { &b, 0, 0 }, { &b, 0, 0 } };
CBX_BENCHMARK_PLUGIN(list, 2);
#elif FAULT == 0
static cbx_status work(cbx_ctx *ctx, void *self, cbx_err *err) { return ctx || self || err ? CBX_OK : CBX_EDOM; }
static const cbx_benchmark_ops b = { sizeof b, CBX_BENCHMARK_ABI, "b", "", 0, 0, 0, 0, 0, 0, 0, work, 0, 0 };
static const cbx_plugin_benchmark list[] = { { &b, 0, 0 } };
CBX_BENCHMARK_PLUGIN(list, 1);
#elif FAULT == 4 /* none */
static const cbx_plugin_benchmark list[1];
CBX_BENCHMARK_PLUGIN(list, 0);
#else            /* no symbol */
typedef int nothing_is_exported;
#endif
