/*
 * Inside the library: steps that calls, transforms and control flow share.
 */
#ifndef CALIBRAX_ARRAY_FN_INTERNAL_H
#define CALIBRAX_ARRAY_FN_INTERNAL_H

#include "calibrax/array/reference/reference.h"
#include "calibrax/array/state.h"

/** Before anything else: the status of the pending failure; CBX_ENOMEM for a context without memory for its state. */
cbx_status cbx__begin(cbx_ctx *ctx, cbx_err *err);
/** CBX_EINVAL unless f has code; what: who got it. */
cbx_status cbx__fn_check(const char *what, const cbx_fn *f, cbx_err *err);
/** CBX_EINVAL if one of n operands is NULL or failed. */
cbx_status cbx__operands_check(const char *what, size_t n, cbx_array *const *in, cbx_err *err);

/**
 * The end of an operation with several results: a failure becomes the context's, out[] failed arrays; else the scope takes
 * the references in out[].  Returns what the operation returns.
 */
cbx_status cbx__settle(cbx_ctx *ctx, cbx_status st, const cbx_err *err, size_t nout, cbx_array **out);

/** Space for results apart from what the caller hands out, who may put them where the operands stand. */
typedef struct cbx__results {
    cbx_ctx *ctx;
    size_t n;
    cbx_array **at; /* failed arrays at first */
    cbx_array *small[8];
} cbx__results;
cbx_status cbx__results_init(cbx__results *r, cbx_ctx *ctx, size_t n, cbx_err *err);
void cbx__results_clear(cbx__results *r);
/** cbx__settle with the contents of r, which is cleared. */
cbx_status cbx__deliver(cbx__results *r, cbx_status st, const cbx_err *err, cbx_array **out);

/** Frees n references and forgets them. */
void cbx__arrays_free(size_t n, cbx_array **arrays);
/** n abstract arrays, the caller's; all or none. */
cbx_status cbx__abstract_all(cbx_ctx *ctx, size_t n, const cbx_array_desc *desc, cbx_array **out, cbx_err *err);
bool cbx__any_abstract(size_t n, cbx_array *const *in);

/** CBX_EDTYPE or CBX_ESHAPE unless a body gives value i of its loop as it took it. */
cbx_status cbx__carry_check(const char *what, const cbx_fn *body, size_t i, const cbx_array_desc *in,
                            const cbx_array_desc *out, cbx_err *err);
/** As cbx__carry_check: every branch must give what the known one gives; the others run for their shapes. */
cbx_status cbx__branches_check(const cbx_cond_call *call, size_t known, const cbx_array_desc *of_known, cbx_err *err);
/** CBX_ESHAPE unless what the test of a while_loop gives is a scalar. */
cbx_status cbx__test_check(const cbx_fn *test, const cbx_array_desc *d, cbx_err *err);
/** n times d on a new first axis; CBX_EINVAL if that is one axis too many. */
cbx_status cbx__stacked_desc(const char *what, size_t n, const cbx_array_desc *d, cbx_array_desc *out, cbx_err *err);

/** CBX_EUNSUPPORTED on a backend that records traces: its plain loop would record nothing, so it must bring the member. */
cbx_status cbx__untraced_check(cbx_ctx *ctx, const char *what, cbx_err *err);
/** Control flow of abstract operands: functions run once, for their shapes.  out[] are the caller's, abstract. */
cbx_status cbx__scan_shapes(const cbx_scan_call *call, cbx_array **out, cbx_err *err);
cbx_status cbx__loop_shapes(const cbx_loop_call *call, cbx_array **out, cbx_err *err);
cbx_status cbx__cond_shapes(const cbx_cond_call *call, cbx_array **out, cbx_err *err);
cbx_status cbx__vmap_shapes(const cbx_vmap_call *call, cbx_array **out, cbx_err *err);

/*
 * Who carries out a call that passed its checks (st): the backend's member; the reference's in its place; with abstract
 * operands, unless the member records them, a run for shapes.
 */
#define CBX__CARRY_OUT(st, member, abstract, shapes, call, out, err)                                                   \
    do {                                                                                                               \
        const cbx_backend *own = cbx_ctx_backend((call)->ctx), *b = own->member ? own : &cbx__reference_backend;       \
        if (!(st) && (abstract) && !(own->member && cbx__records(cbx__state_get((call)->ctx)))) {                      \
            (st) = cbx__untraced_check((call)->ctx, #member, (err));                                                   \
            if (!(st)) (st) = shapes((call), (out), (err));                                                            \
        } else if (!(st)) {                                                                                            \
            (st) = b->member(b, (call), (out), (err));                                                                 \
        }                                                                                                              \
    } while (0)

#endif
