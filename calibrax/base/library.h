/**
 * Libraries loaded on first use.  A missing one is CBX_EUNAVAILABLE with a sentence that names the package to install.
 */
#ifndef CALIBRAX_BASE_LIBRARY_H
#define CALIBRAX_BASE_LIBRARY_H

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

typedef struct cbx_library cbx_library;

/** One wanted symbol: where its address goes. */
typedef struct cbx_library_symbol {
    const char *name;
    void **address; /* address of the function pointer to fill */
} cbx_library_symbol;

typedef struct cbx_library_spec {
    const char *const *sonames; /* tried in order, NULL-terminated */
    const char *purpose;        /* "matrix products by OpenBLAS" */
    const char *package;        /* Debian package, for the sentence */
    const cbx_library_symbol *symbols;
    size_t nsymbols;
} cbx_library_spec;

/** Loads and resolves all symbols or none.  @return CBX_OK; CBX_EUNAVAILABLE; CBX_ENOMEM */
CBX_API cbx_status cbx_library_open(cbx_ctx *ctx, const cbx_library_spec *spec, cbx_library **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_library_close(cbx_library *lib);
/** soname that was found. */
CBX_API const char *cbx_library_name(const cbx_library *lib);

CBX_END_DECLS
#endif
