/**
 * Metrics of shared objects, for `calibrax metrics --plugin` and for every context that loads them.
 *
 *     #include <calibrax/calibrax.h>
 *
 *     static cbx_array *cubic(cbx_ctx *ctx, const cbx_metric_call *c) { ... }
 *     static const cbx_metric_function rows[] = { { .name = "cubic", .items = cubic, ... } };
 *     CBX_METRIC_PLUGIN("my metrics", rows);
 *
 * Build it with `cc -shared -fPIC $(pkg-config --cflags calibrax)`.  Plug-ins see public headers
 * only, and the ABI may grow: one that was compiled against another is refused with a sentence.
 * Since 0.1.
 */
#ifndef CALIBRAX_METRICS_PLUGIN_H
#define CALIBRAX_METRICS_PLUGIN_H

#include "calibrax/metrics/metrics.h"

CBX_BEGIN_DECLS

#define CBX_METRIC_PLUGIN_ABI    3
#define CBX_METRIC_PLUGIN_SYMBOL "cbx_metric_plugin_table"

typedef struct cbx_metric_plugin {
    uint32_t struct_size, abi; /* CBX_METRIC_PLUGIN_ABI */
    const char *name;          /* for messages; may be NULL */
    size_t row_size;           /* sizeof(cbx_metric_function) */
    const cbx_metric_function *rows;
    size_t count;
} cbx_metric_plugin;

#if defined(__GNUC__)
#define CBX_METRIC_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define CBX_METRIC_PLUGIN_EXPORT
#endif
#ifdef __cplusplus
#define CBX_METRIC_PLUGIN_C extern "C"
#else
#define CBX_METRIC_PLUGIN_C extern
#endif

/** Defines the exported table of an array of rows. */
#define CBX_METRIC_PLUGIN(name_, rows_)                                                                                \
    CBX_METRIC_PLUGIN_C CBX_METRIC_PLUGIN_EXPORT const cbx_metric_plugin cbx_metric_plugin_table;                      \
    const cbx_metric_plugin cbx_metric_plugin_table = {                                                                \
        sizeof(cbx_metric_plugin),       CBX_METRIC_PLUGIN_ABI, name_, sizeof(cbx_metric_function), rows_,             \
        sizeof(rows_) / sizeof(*(rows_))                                                                               \
    }

/**
 * Loads an object and registers its metrics, all or none.  Its code runs in this process, and is
 * never unmapped.
 * @param path  a name without '/' is a file of the current folder
 * @return CBX_OK; CBX_EUNAVAILABLE (it cannot be loaded); CBX_EFORMAT (it exports no table);
 *         CBX_EVERSION (another ABI); CBX_EINVAL (a row that cbx_metric_row_check refuses);
 *         CBX_EEXIST (a name that is there already); CBX_ENOMEM.  Messages name the file.
 */
CBX_API cbx_status cbx_metric_plugin_load(cbx_ctx *ctx, const char *path, cbx_err *err);

CBX_END_DECLS
#endif
