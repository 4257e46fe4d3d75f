/**
 * The protocol of backends: one const struct.  Every array operation of a context goes through its
 * backend.
 *
 * The reference backend is the definition of right; another one must give its results
 * (docs/reference/arrays.md states where to the bit).  Plug-in interface: new members go last,
 * behind a new abi.
 */
#ifndef CALIBRAX_ARRAY_BACKEND_H
#define CALIBRAX_ARRAY_BACKEND_H

#include "calibrax/array/primitive.h"
#include "calibrax/base/ctx.h"
#include "calibrax/base/settings.h"
#include "calibrax/base/text.h"

CBX_BEGIN_DECLS

#define CBX_BACKEND_ABI 5u

typedef struct cbx_backend cbx_backend;
struct cbx__graph;       /* calibrax/array/trace/graph.h */
struct cbx_cost_program; /* calibrax/array/trace/cost.h */

/** One operation, checked: operands and attributes have passed cbx_prim_infer, whose answers are
 * results. */
typedef struct cbx_call {
    cbx_ctx *ctx;
    cbx_prim prim;
    size_t nin;
    const cbx_array *const *in; /* with data */
    const cbx_attrs *attrs;     /* never NULL */
    size_t nout;
    const cbx_array_desc *results; /* what apply must return */
} cbx_call;

enum { CBX_BACKEND_JIT = 2, CBX_BACKEND_GPU = 8 };

struct cbx_backend {
    uint32_t struct_size, abi; /* sizeof(cbx_backend) and CBX_BACKEND_ABI of the header it was compiled with */
    const char *name;          /* "reference", "jit" */
    uint32_t flags;
    /**
     * Carries out one operation; out[] are the caller's, written on success only.  Values that only
     * the data can show to be wrong are found here: CBX_EINDEX (an index out of range), CBX_EDOM (a
     * negative power of an integer).  Required.
     */
    cbx_status (*apply)(const cbx_backend *self, const cbx_call *call, cbx_array **out, cbx_err *err);
    /** Waits until all results are there.  NULL: they always are. */
    cbx_status (*sync)(const cbx_backend *self, cbx_ctx *ctx, cbx_err *err);
    /**
     * Compiles a traced function, so that run does at once what apply would do of each operation,
     * with the same results.  NULL: it compiles nothing, and run and release are NULL, too.
     * @param executable  to be given to run, from any thread and context, and to release once;
     *   written on success only
     */
    cbx_status (*compile)(const cbx_backend *self, cbx_ctx *ctx, const struct cbx__graph *graph, void **executable,
                          cbx_err *err);
    /** in[]: an array with data for each input of the graph; out[] are the caller's, written on
     * success only. */
    cbx_status (*run)(const cbx_backend *self, cbx_ctx *ctx, const void *executable, cbx_array *const *in,
                      cbx_array **out, cbx_err *err);
    void (*release)(const cbx_backend *self, void *executable);
    /** Adds a stage behind the graph to a text.  NULL: it has none. */
    cbx_status (*show)(const cbx_backend *self, cbx_ctx *ctx, const void *executable, cbx_dump_kind kind, cbx_text *out,
                       cbx_err *err);
    /** What an executable does, step by step, and how long it took to compile; trace_s is the
     * caller's.  NULL: not known. */
    cbx_status (*cost)(const cbx_backend *self, cbx_ctx *ctx, const void *executable, struct cbx_cost_program *out,
                       cbx_err *err);
    /**
     * A copy of an array with data in the memory of another device, which is not the CPU; *out is
     * the caller's, written on success only.  NULL: there is no way there.
     */
    cbx_status (*to_device)(const cbx_backend *self, cbx_ctx *ctx, const cbx_array *x, cbx_device_id device,
                            cbx_array **out, cbx_err *err);
    /** Marks an array of foreign memory as one whose elements are on a device other than the CPU;
     * the caller has the only reference.  NULL where to_device is. */
    cbx_status (*adopt)(const cbx_backend *self, cbx_ctx *ctx, cbx_array *x, cbx_device_id device, cbx_err *err);
};

/** Plain strided C, the definition of right answers. */
CBX_API const cbx_backend *cbx_backend_reference(void);
/** The same operations, and functions of cbx_jit compiled to machine code (calibrax/array/jit/). */
CBX_API const cbx_backend *cbx_backend_jit(void);

/** The backends of this library, those first that "auto" prefers; NULL past the last. */
CBX_API const cbx_backend *cbx_backend_at(size_t i);
/**
 * By name.
 * @param out  written on success only
 * @return CBX_OK; CBX_EINVAL (there is no such name)
 */
CBX_API cbx_status cbx_backend_find(const char *name, const cbx_backend **out, cbx_err *err);
/**
 * The backend that settings ask for.  "auto" is the first of the list, which computes on GPUs, too.
 * @param out  written on success only
 * @return CBX_OK; CBX_EINVAL (as cbx_backend_find); CBX_EUNAVAILABLE (a GPU is wanted without
 *   fallback and the backend computes on none)
 */
CBX_API cbx_status cbx_backend_choose(const cbx_settings *settings, const cbx_backend **out, cbx_err *err);

/**
 * The backend of a context: what its settings ask for, until another is set.  Where no backend can
 * be what they ask for, it is called "unavailable", and every operation fails with the sentence of
 * cbx_backend_choose, CBX_EUNAVAILABLE.
 */
CBX_API const cbx_backend *cbx_ctx_backend(cbx_ctx *ctx);
/**
 * @param backend  lives as long as the context; NULL: what the context's settings ask for
 * @return CBX_OK; CBX_EVERSION (another abi, or another size); CBX_EINVAL (no apply, compile
 *   without run or release); CBX_ENOMEM
 */
CBX_API cbx_status cbx_ctx_set_backend(cbx_ctx *ctx, const cbx_backend *backend, cbx_err *err);

/**
 * One operation through the context's backend: checks, infers, applies; the current scope holds the
 * results.  With a traced operand it is recorded in the trace, and with an abstract one only
 * described: the results are abstract.
 * @param attrs  NULL: all zero
 * @param out    cbx_prim_results of them, failed arrays if an operand is failed or NULL, or if the
 *   operation fails
 */
CBX_API void cbx_apply_all(cbx_ctx *ctx, cbx_prim prim, size_t nin, const cbx_array *const *in, const cbx_attrs *attrs,
                           cbx_array **out);
/** The same of a primitive with one result. */
CBX_API cbx_array *cbx_apply(cbx_ctx *ctx, cbx_prim prim, size_t nin, const cbx_array *const *in,
                             const cbx_attrs *attrs);

CBX_END_DECLS
#endif
