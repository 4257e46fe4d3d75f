/**
 * Benchmarks from a shared object.
 *
 * The object exports one symbol, `cbx_benchmark_plugin`, and may use every public function of this library:
 *
 *     static const cbx_benchmark_ops sum = { sizeof sum, CBX_BENCHMARK_ABI, "sum", "memory", .work = add_up, ... };
 *     static const cbx_plugin_benchmark list[] = { { &sum, make, unmake } };
 *     CBX_BENCHMARK_PLUGIN(list, 1);
 *
 * Build it with `cc -shared -fPIC $(pkg-config --cflags calibrax) sum.c -o sum.so`.  This header promises less than the others: its ABI
 * may grow, and an object that was compiled against another one is refused with a sentence.
 */
#ifndef CALIBRAX_PERF_CASE_BENCHMARK_PLUGIN_H
#define CALIBRAX_PERF_CASE_BENCHMARK_PLUGIN_H

#include "calibrax/base/json.h"
#include "calibrax/core/protocols.h"

CBX_BEGIN_DECLS

#define CBX_BENCHMARK_PLUGIN_ABI    1
#define CBX_BENCHMARK_PLUGIN_SYMBOL "cbx_benchmark_plugin"

typedef struct cbx_plugin_benchmark {
    const cbx_benchmark_ops *ops;
    /** Optional: makes what ops get as self.  config is an object of what the user said, perhaps empty; borrowed. */
    cbx_status (*create)(cbx_ctx *ctx, const cbx_json *config, void **self, cbx_err *err);
    void (*destroy)(void *self); /* optional */
} cbx_plugin_benchmark;

typedef struct cbx_plugin_ops {
    uint32_t struct_size, abi; /* CBX_BENCHMARK_PLUGIN_ABI */
    const cbx_plugin_benchmark *benchmarks;
    size_t nbenchmarks; /* at least 1, each with a name of its own */
} cbx_plugin_ops;

/** Defines the exported symbol. */
#define CBX_BENCHMARK_PLUGIN(list, n)                                                                                  \
    CBX_PLUGIN_C extern CBX_PLUGIN_EXPORT const cbx_plugin_ops cbx_benchmark_plugin;                                   \
    const cbx_plugin_ops cbx_benchmark_plugin = { sizeof(cbx_plugin_ops), CBX_BENCHMARK_PLUGIN_ABI, list, n }
#define CBX_PLUGIN_EXPORT __attribute__((visibility("default")))
#ifdef __cplusplus
#define CBX_PLUGIN_C extern "C"
#else
#define CBX_PLUGIN_C
#endif

typedef struct cbx_plugin cbx_plugin;

/**
 * Loads an object.  Its code runs in this process, and is never unmapped.
 * @param path  a name without '/' is a file of the current folder
 * @return CBX_OK; CBX_ENOENT (no such file); CBX_EUNAVAILABLE (the loader's words; no symbol); CBX_EVERSION, CBX_EINVAL (the plug-in or
 *         one of its benchmarks is of another version, or not complete); CBX_ENOMEM
 */
CBX_API cbx_status cbx_plugin_open(cbx_ctx *ctx, const char *path, cbx_plugin **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_plugin_close(cbx_plugin *p);
CBX_API size_t cbx_plugin_count(const cbx_plugin *p);
/** i-th benchmark; NULL past the end. */
CBX_API const cbx_plugin_benchmark *cbx_plugin_at(const cbx_plugin *p, size_t i);
/** @return CBX_OK; CBX_ENOENT, with what is nearest */
CBX_API cbx_status cbx_plugin_find(const cbx_plugin *p, const char *name, const cbx_plugin_benchmark **out,
                                   cbx_err *err);

CBX_END_DECLS
#endif
