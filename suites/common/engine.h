/* The plan of a baseline that calls the array engine as user code does.
 *
 * Each call opens a scope and makes a new result; the scope of the call before is closed first, so
 * that its memory goes back to the pool, as in a loop over frames.  Copying the result out belongs
 * to collect, which is not timed. */
#ifndef SUITES_COMMON_ENGINE_H
#define SUITES_COMMON_ENGINE_H

#include "calibrax/array/backend.h"
#include "calibrax/array/ops.h"
#include "calibrax/perf/case/case.h"

/* First member of a case's own plan, whose memory it comes with. */
typedef struct cbx__suite_engine {
    cbx_allocator al;
    size_t bytes; /* of the whole plan */
    cbx_ctx *ctx; /* of the worker's own; its open scope holds the last result */
    cbx_array *in[CBX_CASE_MAX_ARRAYS], *out;
    const cbx_array *result; /* set by run, between cbx__suite_engine_begin and the next call */
    size_t ninputs;
    cbx_scope scope;
    bool open, ran; /* ran: of mutants that answer from memory */
} cbx__suite_engine;

/* A zeroed plan of `bytes`, with a context that has backend b; NULL: the default one.  Freed with
 * cbx__suite_engine_finish. */
cbx_status cbx__suite_engine_create(cbx_ctx *ctx, const cbx_backend *b, size_t ninputs, size_t bytes, void **plan,
                                    cbx_err *err);
void cbx__suite_engine_bind(void *plan, cbx_array *const *in, cbx_array *const *out);
/* The scope of a call, in place of the one before. */
void cbx__suite_engine_begin(cbx__suite_engine *e);
/* The planted fault of an answer from memory: only the first call is made. */
void cbx__suite_engine_stale(void *plan, void (*run)(void *plan));
/* A failed call leaves the poison in place, which the check then finds. */
void cbx__suite_engine_collect(void *plan);
void cbx__suite_engine_finish(void *plan);

#endif
