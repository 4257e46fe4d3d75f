/**
 * Plug-ins: shared objects with cases for nperf, benchmarks for `calibrax run`, or both, and the
 * set of cases that a program has.
 *
 * A plug-in exports one table.  One file that includes this header defines its cases or benchmarks
 * and ends with
 *
 *     CBX_CASE_PLUGIN("my cases", &first_case, &second_case);
 *
 * or
 *
 *     static const cbx_benchmark_ops sum = { sizeof sum, CBX_BENCHMARK_ABI, "sum", "memory",
 *                                            .work = add_up, ... };
 *     static const cbx_plugin_benchmark list[] = { { &sum, make, destroy } };
 *     CBX_BENCHMARK_PLUGIN(list, 1);
 *
 * A function to be timed needs no table of its own: calibrax/bench.h.  Build with `cc -shared -fPIC
 * $(pkg-config --cflags calibrax)`; give it with --plugin, or name it in NPERF_PLUGINS.
 * nperf-worker loads it too: native baselines, oracles and benchmarks run there.
 *
 * Plug-ins see public headers only, and the ABI may grow: one that was compiled against another is
 * refused with a sentence.
 */
#ifndef CALIBRAX_PERF_CASE_PLUGIN_H
#define CALIBRAX_PERF_CASE_PLUGIN_H

#include "calibrax/base/json.h"
#include "calibrax/core/protocols.h"
#include "calibrax/perf/case/case.h"

CBX_BEGIN_DECLS

#define CBX_PLUGIN_ABI    1
#define CBX_PLUGIN_SYMBOL "cbx_plugin_table"

typedef struct cbx_plugin_benchmark {
    const cbx_benchmark_ops *ops;
    /** Optional: makes what ops get as self.  config is an object with the user's configuration,
     * perhaps empty; borrowed. */
    cbx_status (*create)(cbx_ctx *ctx, const cbx_json *config, void **self, cbx_err *err);
    void (*destroy)(void *self); /* optional */
} cbx_plugin_benchmark;

typedef struct cbx_plugin_ops {
    uint32_t struct_size, abi; /* CBX_PLUGIN_ABI */
    const char *name;          /* for messages; may be NULL */
    const cbx_case_ops *const *cases;
    size_t ncases;
    const cbx_plugin_benchmark *benchmarks, *benchmarks_end; /* each with a name of its own */
} cbx_plugin_ops;

#if defined(__GNUC__)
#define CBX_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define CBX_PLUGIN_EXPORT
#endif
#ifdef __cplusplus
#define CBX_PLUGIN_C extern "C"
#else
#define CBX_PLUGIN_C extern
#endif

/** Defines the exported table; a plug-in with cases and benchmarks writes it out. */
#define CBX_PLUGIN_TABLE(...)                                                                                          \
    CBX_PLUGIN_C CBX_PLUGIN_EXPORT const cbx_plugin_ops cbx_plugin_table;                                              \
    const cbx_plugin_ops cbx_plugin_table = { sizeof(cbx_plugin_ops), CBX_PLUGIN_ABI, __VA_ARGS__ }
/** A name, then the addresses of its cases. */
#define CBX_CASE_PLUGIN(name_, ...)                                                                                    \
    static const cbx_case_ops *const cbx_case_plugin_cases[] = { __VA_ARGS__ };                                        \
    CBX_PLUGIN_TABLE(name_, cbx_case_plugin_cases, sizeof(cbx_case_plugin_cases) / sizeof(*cbx_case_plugin_cases), 0, 0)
#define CBX_BENCHMARK_PLUGIN(list, n) CBX_PLUGIN_TABLE(0, 0, 0, list, (const cbx_plugin_benchmark *)(list) + (n))

/* --- benchmarks of a plug-in --- */

/**
 * Loads an object with benchmarks, and checks them.  Its code runs in this process, and is never
 * unmapped.
 * @param path  a name without '/' is a file of the current folder
 * @param out   its table
 * @return CBX_OK; CBX_EUNAVAILABLE (it cannot be loaded); CBX_EFORMAT (it exports no table);
 *         CBX_EVERSION, CBX_EINVAL, CBX_EEXIST (the plug-in or one of its benchmarks is of another
 *         version, not complete, or listed twice)
 */
CBX_API cbx_status cbx_plugin_open(const char *path, const cbx_plugin_ops **out, cbx_err *err);
/** A benchmark of a plug-in that was opened; NULL: it has none of that name. */
CBX_API const cbx_plugin_benchmark *cbx_plugin_find(const cbx_plugin_ops *p, const char *name);

/* --- sets of cases --- */

/** Built-in cases with those added to them.  One thread at a time. */
typedef struct cbx_case_set cbx_case_set;

/** @param builtin  borrowed; must outlive the set; NULL: none */
CBX_API cbx_status cbx_case_set_create(cbx_ctx *ctx, const cbx_case_list *builtin, cbx_case_set **out, cbx_err *err);
/** NULL is fine.  Plug-ins stay loaded: code of theirs may still be on a stack. */
CBX_API void cbx_case_set_free(cbx_case_set *set);
/** All cases; valid until the next change of the set. */
CBX_API const cbx_case_list *cbx_case_set_list(const cbx_case_set *set);

/**
 * Loads a shared object and adds its cases, each checked (cbx_case_check); all or none.
 * @param path  a name without a slash is looked for in the current folder
 * @return CBX_OK; CBX_EUNAVAILABLE: it cannot be loaded; CBX_EFORMAT: it exports no table;
 *         CBX_EVERSION: another ABI; CBX_EINVAL: a fault of a case, or a case of that name is there
 *         already; CBX_ENOMEM.  Messages name the file.
 */
CBX_API cbx_status cbx_case_set_add_plugin(cbx_ctx *ctx, cbx_case_set *set, const char *path, cbx_err *err);
/** Adds a case that the caller keeps until the set is gone; checked.  @return CBX_OK, CBX_EVERSION,
 * CBX_EINVAL, CBX_ENOMEM */
CBX_API cbx_status cbx_case_set_add(cbx_ctx *ctx, cbx_case_set *set, const cbx_case_ops *c, const char *origin,
                                    cbx_err *err);

/** Paths of plug-ins, absolute, separated by colons: read by nperf and by its workers. */
#define CBX_CASE_PLUGINS_VARIABLE "NPERF_PLUGINS"
/** Adds the plug-ins that the variable names; nothing if it is unset or empty. */
CBX_API cbx_status cbx_case_set_add_environment(cbx_ctx *ctx, cbx_case_set *set, cbx_err *err);

CBX_END_DECLS
#endif
