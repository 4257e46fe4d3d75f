/**
 * Libraries loaded on first use.  A missing one is CBX_EUNAVAILABLE with a sentence that names the
 * package to install.
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
/** "apt-get install libzip4", or "install NVIDIA's driver" of what no Debian package has; written
 * to buf and returned. */
CBX_API const char *cbx_library_remedy(const cbx_library_spec *spec, char *buf, size_t size);
/** soname that was found. */
CBX_API const char *cbx_library_name(const cbx_library *lib);

/* number, name, what it is for, Debian package (with a blank: what else to install), sonames in the
 * order tried: every library that is loaded on first use. */
#define CBX_LIBRARY_MAP(X)                                                                                             \
    X(OPENBLAS, "OpenBLAS", "matrix products and linear algebra", "libopenblas0-pthread", "libopenblas.so.0",          \
      "libopenblas.so")                                                                                                \
    X(HDF5, "HDF5", "reading and writing HDF5 files", "libhdf5-103-1", "libhdf5_serial.so.103",                        \
      "libhdf5_serial.so.310", "libhdf5.so.103", "libhdf5.so.200", "libhdf5.so.310", "libhdf5.so")                     \
    X(LZF, "liblzf", "HDF5's LZF filter", "liblzf1", "liblzf.so.1", "liblzf.so")                                       \
    X(ZIP, "libzip", "reading and writing NPZ archives", "libzip4", "libzip.so.4", "libzip.so.5", "libzip.so")         \
    X(HWLOC, "hwloc", "packages, caches and memory nodes of this machine", "libhwloc15", "libhwloc.so.15")             \
    X(CUDA, "CUDA driver", "GPUs of NVIDIA", "NVIDIA's driver 525 or later", "libcuda.so.1")                           \
    X(CUBLAS, "cuBLAS", "matrix products by cuBLAS on NVIDIA's GPUs", "NVIDIA's CUDA toolkit", "libcublas.so.13",      \
      "libcublas.so.12", "libcublas.so.11", "libcublas.so")                                                            \
    X(NVML, "NVML", "memory, clocks, power and energy of NVIDIA's GPUs", "NVIDIA's driver", "libnvidia-ml.so.1",       \
      "libnvidia-ml.so")                                                                                               \
    X(LLVM, "LLVM", "compiling array functions", "libllvm19", "libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-19.so")   \
    X(PAPI, "PAPI", "hardware counters of arithmetic", "libpapi7.0", "libpapi.so.7.0", "libpapi.so.7.1",               \
      "libpapi.so.7.2", "libpapi.so.6.0", "libpapi.so")                                                                \
    X(CAIRO, "cairo", "drawing plots as PDF and PNG", "libcairo2", "libcairo.so.2", "libcairo.so")                     \
    X(CURL, "libcurl", "alerts to a webhook, exports to MLflow", "libcurl4", "libcurl.so.4", "libcurl.so")             \
    X(MICROHTTPD, "libmicrohttpd", "pages of a store in a browser", "libmicrohttpd12", "libmicrohttpd.so.12",          \
      "libmicrohttpd.so")                                                                                              \
    X(GIT2, "libgit2", "commit and branch of a work tree", "libgit2-1.5", "libgit2.so.1.5", "libgit2.so.1.7",          \
      "libgit2.so.1.8", "libgit2.so.1.9", "libgit2.so")

typedef enum cbx_library_id {
#define CBX_LIBRARY_ENUM(number, ...) CBX_LIBRARY_##number,
    CBX_LIBRARY_MAP(CBX_LIBRARY_ENUM)
#undef CBX_LIBRARY_ENUM
        CBX_LIBRARY_COUNT
} cbx_library_id;

/** @return "OpenBLAS"; "?" for an invalid number */
CBX_API const char *cbx_library_title(cbx_library_id id);
/** Sonames, purpose and package of a library of the list, no symbols.  The number must be one of
 * the list. */
CBX_API cbx_library_spec cbx_library_known(cbx_library_id id);
/**
 * As cbx_library_open, a library of the list.
 * @param path  soname or path to load in the place of the list's; NULL: the list's
 */
CBX_API cbx_status cbx_library_open_known(cbx_ctx *ctx, cbx_library_id id, const char *path,
                                          const cbx_library_symbol *symbols, size_t nsymbols, cbx_library **out,
                                          cbx_err *err);

/* The functions of a library that a file uses, as a list X(name, symbol, result, arguments): the
 * members of a struct, in this order, and the names for cbx_library_open_calls. */
#define CBX_CALL_MEMBER(name, symbol, result, arguments) result(*name) arguments;
#define CBX_CALL_NAME(name, symbol, result, arguments)   symbol,

/** As cbx_library_open_known.  @param functions a struct that begins with pointers to the functions
 * of these names; names of at most 64 */
CBX_API cbx_status cbx_library_open_calls(cbx_ctx *ctx, cbx_library_id id, const char *path, const char *const *names,
                                          size_t n, void *functions, cbx_library **out, cbx_err *err);

CBX_END_DECLS
#endif
