/* What each instruction set's build of the tiled kernel offers to the dispatcher, and the sizes of
 * its blocks. */
#ifndef CALIBRAX_ARRAY_KERNELS_SEMIRING_KERNEL_H
#define CALIBRAX_ARRAY_KERNELS_SEMIRING_KERNEL_H

#include "calibrax/array/kernels/convolve.h"
#include "calibrax/array/kernels/semiring.h"
#include "calibrax/array/kernels/threads.h"

static inline size_t round_up(size_t x, size_t to) { return (x + to - 1) / to * to; }
static inline size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

/** Sizes of blocks, as in BLIS (Van Zee & van de Geijn, ACM TOMS 41 (2015) 14), with the operand
 * that is broadcast as its B: a panel of A, kc long, stays in the first-level cache while panels of
 * B pass; jc columns of B stay in the second-level one while the panels of mc rows of A pass; nc
 * columns of B are packed at a time.  Sums are split by kc, so it may depend on the machine, but
 * never on the number of threads. */
typedef struct cbx__semiring_blocks {
    size_t kc, mc, jc, nc;
} cbx__semiring_blocks;

typedef struct cbx__semiring_plan {
    const cbx_matmul *p;
    cbx_isa isa;
    const struct cbx__semiring_kernel *kernel; /* of that isa and the dtype */
    int threads;                               /* resolved: >= 1 */
    bool add_by_fma;                           /* tropical: a * 1 + b on the pipes of multiplication */
} cbx__semiring_plan;

/** A convolution, as each instruction set's build receives it. */
typedef struct cbx__conv_plan {
    const cbx__conv *v;
    int threads;     /* resolved: >= 1 */
    bool add_by_fma; /* tropical */
    const void *g;   /* cotangent: g and what comes of it */
    void *dw;
} cbx__conv_plan;

/** Derivatives of one product; every matrix dense and row-major. */
typedef struct cbx__grad {
    const cbx_semiring *semiring;
    cbx_dtype dtype;
    int threads; /* resolved: >= 1 */
    size_t m, k, n;
    const void *a, *b, *c; /* operands and product */
    const void *g;         /* backward: cotangent of C */
    void *da, *db;         /* and what comes of it */
    const void *ta, *tb;   /* forward: tangents of A and B */
    void *tc;              /* and what comes of them */
    void *scratch;         /* 64-byte aligned */
    size_t scratch_bytes;
    void *w, *scaled_a, *scaled_b; /* log: set before the products: dA = A' * (W B'^T), dB = B' * (A'^T W) */
} cbx__grad;

/** SIZE sets scratch_bytes.  Log goes backward by BEFORE, two products into da and db, and AFTER;
 * the others by BEFORE alone. */
typedef enum cbx__grad_phase { CBX__GRAD_SIZE, CBX__GRAD_BEFORE, CBX__GRAD_AFTER, CBX__GRAD_FORWARD } cbx__grad_phase;

/** Threads that are worth their start for one derivative of what q describes. */
int cbx__semiring_grad_threads(const cbx__grad *q);
/** Scratch for either direction of what q describes, threads set (scratch itself is set to
 * NULL). */
size_t cbx__semiring_grad_bytes(cbx__grad *q);
void cbx__semiring_backward(cbx__grad *q); /* m, k, n > 0 */
void cbx__semiring_forward(cbx__grad *q);

/** A product that may be done without blocks, by one thread: extents of any algebra, and extents
 * and steps of a real one. */
#define FEW_EXTENT      32
#define FEW_REAL_EXTENT 1024
#define MAX_FEW_STEPS   1000000
/* No extent is 0 or beyond `max`, a power of two. */
static inline bool cbx__semiring_is_within(const cbx_matmul *p, size_t max)
{
    return ((p->m - 1) | (p->k - 1) | (p->n - 1)) < max;
}

static inline bool cbx__semiring_is_small(const cbx_matmul *p)
{
    if (cbx__semiring_is_within(p, FEW_EXTENT)) return true;
    return p->semiring->id == CBX_ALGEBRA_REAL && cbx__semiring_is_within(p, FEW_REAL_EXTENT) &&
           p->m * p->k * p->n <= MAX_FEW_STEPS;
}

/** What a build has for one element type; booleans have no more than workspace and run. */
typedef struct cbx__semiring_kernel {
    size_t (*workspace)(const cbx__semiring_plan *plan);
    /** A product, checked, dense, without epilogue, few elements; false: it has
     * another way. */
    bool (*small)(const cbx_matmul *p);
    void (*run)(const cbx__semiring_plan *plan); /* arguments are checked and k > 0, m > 0, n > 0 */
    /** Runs one register tile of max-plus n times over a panel in the first-level cache, for the
     * choice of its addition. */
    void (*rehearse)(bool add_by_fma, size_t n);
    void (*limit)(const cbx__semiring_plan *plan, bool fed); /* cbx_matmul_limit_run, cbx_matmul_fed_limit_run */
    void (*grad)(cbx__grad *q, cbx__grad_phase phase);       /* of any but real and boolean */
    size_t (*conv_workspace)(const cbx__conv_plan *plan);
    void (*conv_run)(const cbx__conv_plan *plan);
    size_t (*vjp_workspace)(const cbx__conv_plan *plan);
    void (*vjp_run)(const cbx__conv_plan *plan); /* cbx__conv_vjp */
    /** out[j][i] = x[i][j] of dense matrices, by so many threads. */
    void (*transpose)(size_t rows, size_t columns, int threads, const void *x, void *out);
    bool has_fma;
} cbx__semiring_kernel;

/** What can be wrong with a product's arguments whatever computes it: algebra, dtype, sizes, memory
 * that overlaps. */
cbx_status cbx__semiring_check(const cbx_matmul *p, cbx_err *err);

/** The place of a dtype among the kernels of a build. */
enum { CBX__KERNEL_F32, CBX__KERNEL_F64, CBX__KERNEL_BOOL, CBX__KERNELS };
static inline size_t cbx__kernel_of(cbx_dtype t)
{
    return t == CBX_F32 ? CBX__KERNEL_F32 : t == CBX_F64 ? CBX__KERNEL_F64 : CBX__KERNEL_BOOL;
}

/** The best one of this machine for a dtype, and whether its tropical sums are made by
 * multiplication, of the same bits. */
const cbx__semiring_kernel *cbx__semiring_best(cbx_dtype dtype);
bool cbx__semiring_adds_by_fma(const cbx_semiring *s, cbx_dtype dtype);
/** Threads that are worth their start for so many steps of a float type; asked: those that the
 * caller allows, 0 for all. */
int cbx__semiring_threads(double steps, int asked);

/** A product by functions, in blocks of columns; any instruction set. */
size_t cbx__semiring_user_workspace(const cbx__semiring_plan *plan);
void cbx__semiring_user_run(const cbx__semiring_plan *plan);
/** The definition: what cbx_matmul_define does with checked arguments. */
void cbx__semiring_by_definition(const cbx_matmul *p);

/* Those of each instruction set that is built. */
#define CBX__SEMIRING_DECLARE(id, name, cpus) extern const cbx__semiring_kernel cbx__semiring_##name[CBX__KERNELS];
CBX_ISA_MAP(CBX__SEMIRING_DECLARE)
#undef CBX__SEMIRING_DECLARE

#endif
