/*
 * Inside the compiler: programs, graphs that are compiled.
 */
#ifndef CALIBRAX_ARRAY_JIT_PROGRAM_H
#define CALIBRAX_ARRAY_JIT_PROGRAM_H

#include <pthread.h>
#include <stdatomic.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/jit/buffers.h"
#include "calibrax/array/jit/emitter.h"
#include "calibrax/array/jit/gpu.h"
#include "calibrax/array/jit/nest.h"
#include "calibrax/array/trace/cost.h"

typedef struct cbx__step {
    uint32_t node; /* that the backend carries out; CBX__NO_INDEX: a nest */
    size_t nest;
    size_t nmade, ndone; /* values that are created before, and no longer needed after */
    const cbx__vid *made, *done;
    const cbx__vid
        *over; /* of each that is created: the one that is last read here, whose memory it takes if nothing else
                             has it; CBX__NO_VALUE: it has memory of its own */
} cbx__step;

enum {
    CBX__LONGEST = 192,    /* operations of one kernel, at most; of one that is refused fewer */
    CBX__SMALL_WORK = 1024 /* bytes that are on the stack; more are a block of the pool */
};

/** Read only once it is made, but for code and on_gpu; several threads may run it at once. */
typedef struct cbx__program {
    cbx_allocator al;
    cbx_arena arena;
    const cbx__graph *graph; /* borrowed */
    cbx__plan plan;
    size_t nsteps, nnests;
    cbx__step *steps;
    cbx__nest *nests;
    const cbx__kernel **kernels;    /* of nests */
    cbx__place *places;             /* of each value, where it runs on the CPU */
    size_t work_bytes;              /* of the workspace: places that are in no array */
    uint32_t work_first, work_last; /* steps that it is needed in */
    _Atomic(cbx__code *) code;      /* of each nest; NULL, of a program for GPUs: no nest has run on the CPU yet */
    const char *emitter;
    double plan_s, kernels_s, code_s; /* that making it took */
    pthread_mutex_t lock;             /* of code and on_gpu */
    cbx__gpu_nests *on_gpu[17];       /* its nests on devices, those that have run it first; NULL behind the last */
} cbx__program;

/**
 * Compiles a finished graph, which must live as long as the program, in as large kernels as the
 * emitter takes.
 * @param emitter  NULL: for GPUs, where nests also fold and copy what is in memory; their code for
 *                 the CPU is made when one of them runs there
 * @return CBX_OK; CBX_ENOMEM; CBX_EUNSUPPORTED; what the emitter returns
 */
cbx_status cbx__program_create(cbx_ctx *ctx, const cbx__graph *g, const cbx__emitter *emitter, cbx__program **out,
                               cbx_err *err);
/** NULL is fine. */
void cbx__program_free(cbx__program *p);

/** True of a value whose memory is the program's once it is dead: neither the caller's nor a
 * constant's. */
static inline bool cbx__program_owns(const cbx__program *p, cbx__vid v)
{
    return p->plan.maker[v] != CBX__NO_INDEX || p->graph->values.items[v].donated;
}
/** Bytes of a run besides arrays and the workspace, with so many threads at most. */
size_t cbx__program_bytes(const cbx__program *p, int threads);

/**
 * As cbx__graph_eval of operands with data.
 * @param gpu  NULL: on the CPU; else the nests that it takes run there, with the same results.
 *             Where an operand or constant is on a GPU, it is this one, and the results are
 *             there, too
 */
cbx_status cbx__program_run(cbx_ctx *ctx, cbx__program *p, cbx__gpu *gpu, cbx_array *const *in, cbx_array **out,
                            cbx_err *err);

/** Adds "kernel over (8, 3 folded)", and "%3 = sum %2", to a text. */
void cbx__nest_name(const cbx__nest *n, cbx_text *out);
void cbx__node_name(const cbx__node *node, cbx_text *out);
/** Adds a stage to a text. @return CBX_OK; CBX_EUNAVAILABLE, CBX_EUNSUPPORTED (no emitter
 * for it) */
cbx_status cbx__program_show(cbx_ctx *ctx, const cbx__program *p, cbx_dump_kind kind, cbx_text *out, cbx_err *err);

/** What its steps do; of the times those that the program knows.  @return CBX_OK; CBX_ENOMEM */
cbx_status cbx__program_cost(cbx_ctx *ctx, const cbx__program *p, cbx_cost_program *out, cbx_err *err);

#endif
