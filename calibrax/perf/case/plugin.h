/**
 * Cases from shared objects: what a plug-in exports, and the set of cases that a program knows.
 *
 * A plug-in is one file that includes this header, defines a cbx_case_ops for each case, and ends with
 *
 *     CBX_CASE_PLUGIN("my cases", &first_case, &second_case);
 *
 * built with `cc -shared -fPIC $(pkg-config --cflags calibrax)`, and given to nperf with --plugin, or named in NPERF_PLUGINS.  nperf-worker
 * loads it too: native baselines and oracles run there.  Plug-ins see public headers only, and promise as little as they are promised:
 * a plug-in compiled against another CBX_CASE_ABI is refused.
 */
#ifndef CALIBRAX_PERF_CASE_PLUGIN_H
#define CALIBRAX_PERF_CASE_PLUGIN_H

#include "calibrax/perf/case/case.h"

CBX_BEGIN_DECLS

/** Name of the one symbol that is looked up. */
#define CBX_CASE_PLUGIN_SYMBOL "cbx_case_plugin_table"

typedef struct cbx_case_plugin {
    uint32_t struct_size, abi; /* sizeof, CBX_CASE_ABI */
    const char *name;          /* for messages */
    const cbx_case_ops *const *cases;
    size_t count;
} cbx_case_plugin;

#if defined(__GNUC__)
#define CBX_CASE_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define CBX_CASE_PLUGIN_EXPORT
#endif

/** Defines what a plug-in exports: a name, then the addresses of its cases. */
#define CBX_CASE_PLUGIN(name_, ...)                                                                                    \
    static const cbx_case_ops *const cbx_case_plugin_cases[] = { __VA_ARGS__ };                                        \
    extern CBX_CASE_PLUGIN_EXPORT const cbx_case_plugin cbx_case_plugin_table;                                         \
    const cbx_case_plugin cbx_case_plugin_table = { sizeof(cbx_case_plugin), CBX_CASE_ABI, name_,                      \
                                                    cbx_case_plugin_cases,                                             \
                                                    sizeof(cbx_case_plugin_cases) / sizeof(*cbx_case_plugin_cases) }

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
 * @return CBX_OK; CBX_EUNAVAILABLE: it cannot be loaded; CBX_EFORMAT: it exports no table; CBX_EVERSION: another ABI; CBX_EINVAL: a fault of
 *         a case, or a case of that name is there already; CBX_ENOMEM.  Messages name the file.
 */
CBX_API cbx_status cbx_case_set_add_plugin(cbx_ctx *ctx, cbx_case_set *set, const char *path, cbx_err *err);
/** Adds a case that the caller keeps until the set is gone; checked.  @return CBX_OK, CBX_EVERSION, CBX_EINVAL, CBX_ENOMEM */
CBX_API cbx_status cbx_case_set_add(cbx_ctx *ctx, cbx_case_set *set, const cbx_case_ops *c, const char *origin,
                                    cbx_err *err);

/** Paths of plug-ins, absolute, separated by colons: read by nperf and by its workers. */
#define CBX_CASE_PLUGINS_VARIABLE "NPERF_PLUGINS"
/** Adds the plug-ins that the variable names; nothing if it is unset or empty. */
CBX_API cbx_status cbx_case_set_add_environment(cbx_ctx *ctx, cbx_case_set *set, cbx_err *err);

CBX_END_DECLS
#endif
