/**
 * A C function measured in five lines:
 *
 *     #include <calibrax/bench.h>
 *     double x[1000], y[1000];
 *     CBX_BENCH(dot) {
 *         double s = 0;
 *         for (int i = 0; i < 1000; i++) s += x[i] * y[i];
 *         CBX_KEEP(s);
 *     }
 *
 *     $ cc -O2 -shared -fPIC $(pkg-config --cflags calibrax) dot.c -o dot.so
 *     $ calibrax run --plugin dot.so
 *
 * A file may hold any number of them, each with a name of its own.  Include it in one file of the
 * plug-in: it defines the table that the plug-in exports.  For set-up, configuration, datasets or
 * targets see calibrax/perf/case/plugin.h.
 */
#ifndef CALIBRAX_BENCH_H
#define CALIBRAX_BENCH_H

#include "calibrax/perf/case/plugin.h"

CBX_BEGIN_DECLS

/* The linker collects what CBX_BENCH defines between these two. */
extern const cbx_plugin_benchmark __start_cbx_bench[] __attribute__((weak, visibility("hidden")));
extern const cbx_plugin_benchmark __stop_cbx_bench[] __attribute__((weak, visibility("hidden")));

CBX_END_DECLS

CBX_PLUGIN_TABLE(0, 0, 0, __start_cbx_bench, __stop_cbx_bench);

/** Defines a benchmark; its body follows in braces, and is what one timed call runs. */
#define CBX_BENCH(name_)                                                                                               \
    static void cbx_bench_body_##name_(void);                                                                          \
    static cbx_status cbx_bench_work_##name_(cbx_ctx *ctx_, void *self_, cbx_err *err_)                                \
    {                                                                                                                  \
        (void)ctx_, (void)self_, (void)err_;                                                                           \
        cbx_bench_body_##name_();                                                                                      \
        return CBX_OK;                                                                                                 \
    }                                                                                                                  \
    static const cbx_benchmark_ops cbx_bench_ops_##name_ = {                                                           \
        sizeof(cbx_benchmark_ops), CBX_BENCHMARK_ABI, #name_, 0, 0, 0, 0, 0, 0, 0, 0, cbx_bench_work_##name_, 0, 0     \
    };                                                                                                                 \
    static const cbx_plugin_benchmark cbx_bench_entry_##name_                                                          \
        __attribute__((used, section("cbx_bench"), aligned(sizeof(void *)))) = { &cbx_bench_ops_##name_, 0, 0 };       \
    static void cbx_bench_body_##name_(void)

/** Makes the compiler believe that a value is used, so that the work for it is not removed. */
#define CBX_KEEP(value) __asm__ volatile("" : : "g"(value) : "memory")

#endif
