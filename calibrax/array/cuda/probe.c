/* The probe's order of work, its slices, and what they are worth; see probe.h. */
#include "calibrax/array/cuda/probe.h"

#include <math.h>

#include "calibrax/array/cuda/driver.h"
#include "calibrax/array/cuda/geometry.h"
#include "calibrax/base/clock.h"

enum { ATTRIBUTE_L2_BYTES = 38, BLOCKS_A_MULTIPROCESSOR = 4 };
#define TURNS_MAX    ((int64_t)1 << 30) /* of loops that take microseconds each */
#define CAPACITY_MAX ((size_t)1 << 30)
#define CAPACITY_MIN ((size_t)1 << 14)

static const struct {
    const char *type, *unit, *by;
    cbx__cuda_kernel kernel;
    double work; /* of a thread a round */
} rates[CBX_CUDA_RATE_COUNT] = {
#define ROW(name, type, unit, kernel, work, by) { type, unit, by, CBX__CUDA_cbx_probe_##kernel, work },
    CBX_CUDA_RATE_MAP(ROW)
#undef ROW
};

const char *cbx_cuda_rate_type(cbx_cuda_rate r) { return (unsigned)r < CBX_CUDA_RATE_COUNT ? rates[r].type : "?"; }
const char *cbx_cuda_rate_unit(cbx_cuda_rate r) { return (unsigned)r < CBX_CUDA_RATE_COUNT ? rates[r].unit : "?"; }

static const struct {
    const char *name;
    cbx__cuda_kernel kernel;
    unsigned arrays;
} traffics[CBX_CUDA_TRAFFICS] = {
    [CBX_CUDA_READ] = { "read", CBX__CUDA_cbx_probe_read, 1 },
    [CBX_CUDA_COPY] = { "copy", CBX__CUDA_cbx_probe_copy, 2 },
    [CBX_CUDA_TRIAD] = { "triad", CBX__CUDA_cbx_probe_triad, 3 },
    [CBX_CUDA_TRIAD_STREAM] = { "streaming triad", CBX__CUDA_cbx_probe_triad_stream, 3 },
};

const char *cbx_cuda_traffic_name(cbx_cuda_traffic t)
{
    return (unsigned)t < CBX_CUDA_TRAFFICS ? traffics[t].name : "?";
}

/* Products of cuBLAS that stand for a matrix unit: cudaDataType of operands and result,
 * cublasComputeType_t, largest n, bits of operands that are random and those that are set, by odd
 * and even word. */
typedef struct product {
    int in, out, compute, in_bytes, out_bytes, largest;
    uint32_t keep[2], put[2];
    const char *by;
} product;
#define PRODUCT(in, out, compute, in_bytes, out_bytes, largest, keep_0, keep_1, put_0, put_1, by)                      \
    {                                                                                                                  \
        in, out, compute, in_bytes, out_bytes, largest, { keep_0, keep_1 }, { put_0, put_1 }, "cublasGemmEx " by       \
    }
static const product products[CBX_CUDA_RATE_COUNT] = {
    [CBX_CUDA_RATE_F64_TILE] = PRODUCT(1, 1, 70, 8, 8, 4096, ~0u, 0x800fffffu, 0, 0x3ff00000u, "R_64F"),
    [CBX_CUDA_RATE_TF32_TILE] = PRODUCT(0, 0, 77, 4, 4, 8192, 0x807fffffu, 0x807fffffu, 0x3f800000u, 0x3f800000u,
                                        "FAST_TF32"),
    [CBX_CUDA_RATE_F16_TILE] = PRODUCT(2, 2, 68, 2, 2, 8192, 0x83ff83ffu, 0x83ff83ffu, 0x3c003c00u, 0x3c003c00u,
                                       "R_16F"),
    [CBX_CUDA_RATE_BF16_TILE] = PRODUCT(14, 14, 68, 2, 2, 8192, 0x807f807fu, 0x807f807fu, 0x3f803f80u, 0x3f803f80u,
                                        "R_16BF"),
    [CBX_CUDA_RATE_I8_TILE] = PRODUCT(3, 10, 72, 1, 4, 8192, ~0u, ~0u, 0, 0, "R_8I"),
};
#undef PRODUCT
/* In the order of probe.cu, with which loops of threads begin: 1's bits, and those that are
 * random. */
static const struct {
    uint64_t one, digits, minus_one, three;
} starts[] = {
    [CBX_CUDA_RATE_F64] = { 0x3ff0000000000000u, 0x000fffffffffffffu, 0xbff0000000000000u, 0x4008000000000000u },
    [CBX_CUDA_RATE_F32] = { 0x3f800000u, 0x007fffffu, 0xbf800000u, 0x40400000u },
    [CBX_CUDA_RATE_F16] = { 0x3c003c00u, 0x03ff03ffu, 0xbc00bc00u, 0x42004200u },
    [CBX_CUDA_RATE_BF16] = { 0x3f803f80u, 0x007f007fu, 0xbf80bf80u, 0x40404040u },
};

typedef struct bench {
    cbx_cuda *g;
    const cbx_cuda_probe_opts *o;
    size_t slices, nevents;
    double slice_s;
    void *event[CBX_CUDA_SLICES_MAX + 1];
    int64_t blocks;
    void *sums; /* 8 bytes a thread */
    void *scratch;
    size_t capacity_bytes, l2_bytes;
    double per_s[CBX_CUDA_SLICES_MAX];
} bench;

/* One figure: what a slice launches `turns` times, or with so many rounds, and what a turn is
 * worth. */
typedef struct task {
    cbx_cuda_slices s;
    double work;
    cbx_status (*launch)(bench *b, const struct task *t, int64_t turns, cbx_err *err);
    const product *product;
    int n;         /* of a product */
    int64_t runs;  /* of 16 bytes an array */
    int64_t turns; /* found */
} task;

/* --- slices --- */

/* So many slices behind each other, each between two events. */
static cbx_status take_slices(bench *b, const task *t, size_t count, double *ms, cbx_err *err)
{
    cbx_status st = cbx__cuda_fault("cuEventRecord", b->g->event_record(b->event[0], NULL), err);

    for (size_t i = 0; i < count && !st; i++) {
        st = t->launch(b, t, t->turns, err);
        if (!st) st = cbx__cuda_fault("cuEventRecord", b->g->event_record(b->event[i + 1], NULL), err);
    }
    if (!st && b->o->busy) b->o->busy(b->o->user);
    if (!st) st = cbx__cuda_fault("cuEventSynchronize", b->g->event_wait(b->event[count]), err);
    for (size_t i = 0; i < count && !st; i++) {
        float took = 0;
        st = cbx__cuda_fault("cuEventElapsedTime", b->g->event_elapsed(&took, b->event[i], b->event[i + 1]), err);
        ms[i] = (double)took;
    }
    return st;
}

/* As many turns as take a slice's time; not to get there means that the device has no clock. */
static cbx_status fit_turns(bench *b, task *t, cbx_err *err)
{
    const double wanted = 1e3 * b->slice_s;
    double ms = 0;

    for (t->turns = 1; t->turns < TURNS_MAX; t->turns = (int64_t)((double)t->turns * fmin(fmax(wanted / ms, 2), 16))) {
        const cbx_status st = take_slices(b, t, 1, &ms, err);
        if (st || ms >= wanted / 2) return st;
        if (!(ms > 0)) break;
    }
    return cbx_fail(err, CBX_EINTERNAL, "%lld rounds of '%s' took %g ms by the device's clock: the clock is stopped",
                    (long long)t->turns, t->s.by, ms);
}

static cbx_status measure(bench *b, task *t, cbx_err *err)
{
    cbx_status st = fit_turns(b, t, err);

    if (!st) st = take_slices(b, t, b->slices, b->per_s, err);
    for (size_t i = 0; i < b->slices && !st; i++) {
        if (!(b->per_s[i] > 0))
            st = cbx_fail(err, CBX_EINTERNAL, "a slice of '%s' took 0 ms by the device's clock", t->s.by);
        b->per_s[i] = t->work * (double)t->turns / (1e-3 * b->per_s[i]);
    }
    if (st) return st;
    t->s.per_s = b->per_s;
    t->s.n = b->slices;
    b->o->take(b->o->user, &t->s);
    return CBX_OK;
}

static void skip(bench *b, cbx_cuda_slices s, const char *why)
{
    s.why = why;
    b->o->take(b->o->user, &s);
}

/* --- loops --- */

static cbx_status launch_loop(bench *b, const task *t, int64_t turns, cbx_err *err)
{
    const cbx_cuda_rate r = t->s.rate;
    const bool threads = (size_t)r < CBX_LEN(starts);
    const cbx__cuda_loop a = { b->sums, turns, threads ? starts[r].minus_one : 17, threads ? starts[r].three : 71 };

    return cbx__cuda_launch(b->g, rates[r].kernel, b->blocks, CBX__CUDA_BLOCK, &a, NULL, err);
}

/* v = 3 - v an even number of times, all of it exact. */
static uint64_t sum_of(cbx_cuda_rate r, uint64_t thread)
{
    uint64_t bits = 0;
    for (uint64_t i = 0; i < CBX__CUDA_CHAINS; i++)
        bits ^= starts[r].one | (cbx__cuda_mix(thread * CBX__CUDA_CHAINS + i) & starts[r].digits);
    return bits;
}

static cbx_status probe_rate(bench *b, cbx_cuda_rate r, cbx_err *err)
{
    uint64_t got[CBX__CUDA_BLOCK];
    task t = { .s = { .is_rate = true, .rate = r, .by = rates[r].by }, .launch = launch_loop };

    t.work = rates[r].work * (double)b->blocks * CBX__CUDA_BLOCK;
    cbx_status st = measure(b, &t, err);
    if (!st) st = cbx_cuda_download(b->g, got, b->sums, sizeof got, NULL, err);
    if (!st) st = cbx_cuda_wait(b->g, NULL, err);
    for (uint64_t i = 0; i < CBX__CUDA_BLOCK && !st; i++)
        if ((size_t)r < CBX_LEN(starts) ? got[i] != sum_of(r, i) : got[i] == 0)
            st = cbx_fail(err, CBX_EINTERNAL, "the loop of '%s' computed a wrong result: its rate is meaningless",
                          rates[r].by);
    return st;
}

/* --- products --- */

static cbx_status launch_product(bench *b, const task *t, int64_t turns, cbx_err *err)
{
    static const float one_f32 = 1, zero_f32 = 0;
    static const double one_f64 = 1, zero_f64 = 0;
    static const int32_t one_i32 = 1, zero_i32 = 0;
    const product *p = t->product;
    const void *one = p->compute == 70   ? (const void *)&one_f64
                      : p->compute == 72 ? (const void *)&one_i32
                                         : &one_f32,
               *zero = p->compute == 70   ? (const void *)&zero_f64
                       : p->compute == 72 ? (const void *)&zero_i32
                                          : &zero_f32;
    const size_t each = (size_t)t->n * (size_t)t->n;
    char *x = b->scratch, *y = x + each * (size_t)p->in_bytes, *z = y + each * (size_t)p->in_bytes;
    int number = 0;

    for (int64_t i = 0; i < turns && !number; i++)
        number = b->g->blas.gemm(b->g->blas.handle, 1, 0, t->n, t->n, t->n, one, x, p->in, t->n, y, p->in, t->n, zero,
                                 z, p->out, t->n, p->compute, -1);
    return number ? cbx_fail(err, number == 3 ? CBX_ENOMEM : CBX_EUNSUPPORTED, "%s failed for n=%d with status %d",
                             p->by, t->n, number)
                  : CBX_OK;
}

static cbx_status fill(bench *b, const uint32_t keep[2], const uint32_t put[2], cbx_err *err)
{
    const cbx__cuda_fill f = { b->scratch, (int64_t)(b->capacity_bytes / 4), { keep[0], keep[1] }, { put[0], put[1] } };

    return cbx__cuda_launch(b->g, CBX__CUDA_cbx_probe_fill, cbx__cuda_parts(f.words, CBX__CUDA_BLOCK), CBX__CUDA_BLOCK,
                            &f, NULL, err);
}

static cbx_status probe_product(bench *b, cbx_cuda_rate r, cbx_err *err)
{
    const product *p = &products[r];
    task t = { .s = { .is_rate = true, .rate = r, .by = p->by }, .launch = launch_product, .product = p };
    cbx_err why = CBX_ERR_INIT;

    if (!b->g->blas.library) return skip(b, t.s, b->g->blas.why), CBX_OK;
    t.n = p->largest;
    while (t.n > 16 && (double)t.n * t.n * (2 * p->in_bytes + p->out_bytes) > (double)b->capacity_bytes) t.n /= 2;
    t.work = 2.0 * t.n * t.n * t.n;
    cbx_status st = fill(b, p->keep, p->put, err);
    if (st) return st;
    (void)b->g->blas.set_stream(b->g->blas.handle, NULL);
    (void)b->g->blas.set_math(b->g->blas.handle, 0); /* the default: GemmEx selects the type */
    st = measure(b, &t, &why);
    if (st != CBX_EUNSUPPORTED && st != CBX_ENOMEM) return st ? cbx_fail(err, st, "%s", why.message) : CBX_OK;
    skip(b, t.s, why.message);
    return CBX_OK;
}

/* --- bytes --- */

static cbx_status launch_traffic(bench *b, const task *t, int64_t turns, cbx_err *err)
{
    const size_t apart = (size_t)t->runs * 16;
    char *x = b->scratch;
    const bool reads = t->s.traffic == CBX_CUDA_READ;
    const cbx__cuda_traffic a = { .a = reads ? b->sums : (void *)x,
                                  .b = reads ? x : x + apart,
                                  .c = x + 2 * apart,
                                  .n = t->runs,
                                  .passes = turns,
                                  .threads = b->blocks * CBX__CUDA_BLOCK };

    return cbx__cuda_launch(b->g, traffics[t->s.traffic].kernel, b->blocks, CBX__CUDA_BLOCK, &a, NULL, err);
}

/* set: bytes of all arrays together */
static cbx_status probe_level(bench *b, const char *level, size_t level_bytes, size_t set, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (int k = 0; k < CBX_CUDA_TRAFFICS && !st; k++) {
        task t = { .s = { .traffic = (cbx_cuda_traffic)k, .level = level, .level_bytes = level_bytes },
                   .launch = launch_traffic };
        t.s.by = traffics[k].name;
        t.runs = (int64_t)(set / traffics[k].arrays / 16);
        t.work = 16.0 * (double)t.runs * traffics[k].arrays;
        st = measure(b, &t, err);
    }
    return st;
}

/* --- all of it --- */

static cbx_status take_scratch(bench *b, cbx_err *err)
{
    size_t available = 0, total = 0, bytes = b->o->capacity_bytes;
    int l2 = 0;
    cbx_status st = cbx__cuda_fault("cuMemGetInfo_v2", b->g->driver.memory(&available, &total), err);

    if (!st)
        st = cbx__cuda_fault("cuDeviceGetAttribute", b->g->driver.attribute(&l2, ATTRIBUTE_L2_BYTES, b->g->handle),
                             err);
    if (st) return st;
    if (!bytes) bytes = available / 4 < CAPACITY_MAX ? available / 4 : CAPACITY_MAX;
    if (bytes < CAPACITY_MIN)
        return cbx_fail(err, CBX_ENOMEM, "%zu bytes of memory on '%s' are free: the probe needs %zu at least",
                        available, b->g->device.name, 4 * CAPACITY_MIN);
    b->l2_bytes = l2 > 0 ? (size_t)l2 : 0;
    b->capacity_bytes = bytes / 4096 * 4096;
    b->blocks = (int64_t)b->g->multiprocessors * BLOCKS_A_MULTIPROCESSOR;
    st = cbx_cuda_alloc(b->g, (size_t)b->blocks * CBX__CUDA_BLOCK * 8, &b->sums, err);
    return st ? st : cbx_cuda_alloc(b->g, b->capacity_bytes, &b->scratch, err);
}

static cbx_status probe_all(bench *b, cbx_err *err)
{
    cbx_status st = CBX_OK;

    while (b->nevents <= b->slices && !st) {
        st = cbx__cuda_fault("cuEventCreate", b->g->event_create(&b->event[b->nevents], 0), err);
        if (!st) b->nevents++;
    }
    if (!st) st = take_scratch(b, err);
    if (!st) {
        /* Clocks rise with work; what is first measured should not be what is slow. */
        const double seconds = b->o->warm_up_s > 0 ? b->o->warm_up_s : 0.3;
        const uint64_t begin = cbx_clock_ns();
        task t = { .s = { .is_rate = true, .rate = CBX_CUDA_RATE_F32, .by = "warm-up" }, .launch = launch_loop };
        double ms;
        st = fit_turns(b, &t, err);

        while (!st && 1e-9 * (double)(cbx_clock_ns() - begin) < seconds) st = take_slices(b, &t, 1, &ms, err);
    }
    for (int r = 0; r < CBX_CUDA_RATE_COUNT && !st; r++) st = probe_rate(b, (cbx_cuda_rate)r, err);
    if (!st) {
        const product *numbers = &products[CBX_CUDA_RATE_F64_TILE]; /* as operands of sums, too */
        const size_t set = b->l2_bytes / 4 < b->capacity_bytes ? b->l2_bytes / 4 : b->capacity_bytes;
        st = fill(b, numbers->keep, numbers->put, err);

        if (!st && b->l2_bytes)
            st = probe_level(b, "L2", b->l2_bytes, set, err);
        else if (!st)
            skip(b, (cbx_cuda_slices){ .level = "L2" }, "the driver does not report its size");
        st = st ? st : probe_level(b, "memory", 0, b->capacity_bytes, err);
    }
    for (int r = 0; r < CBX_CUDA_RATE_COUNT && !st; r++)
        if (products[r].by) st = probe_product(b, (cbx_cuda_rate)r, err);
    return st;
}

cbx_status cbx_cuda_probe(cbx_cuda *g, const cbx_cuda_probe_opts *opts, cbx_err *err)
{
    bench b = { .g = g, .o = opts };

    if (opts->struct_size != sizeof *opts)
        return cbx_fail(err, CBX_EINVAL,
                        "cbx_cuda_probe_opts has %u bytes, not %zu: start from CBX_CUDA_PROBE_OPTS_INIT",
                        opts->struct_size, sizeof *opts);
    if (!opts->take || opts->slices > CBX_CUDA_SLICES_MAX)
        return cbx_fail(err, CBX_EINVAL, "a probe must take 1 to %d slices of each figure, and needs `take`",
                        CBX_CUDA_SLICES_MAX);
    b.slices = opts->slices ? opts->slices : 15;
    b.slice_s = opts->slice_s > 0 ? opts->slice_s : 0.004;
    cbx_status st = cbx__cuda_enter(g, err);
    if (st) return st;
    st = probe_all(&b, err);
    while (b.nevents) (void)g->event_destroy(b.event[--b.nevents]);
    cbx_cuda_free(g, b.scratch);
    cbx_cuda_free(g, b.sums);
    cbx__cuda_leave(g);
    return st;
}

cbx_status cbx_cuda_pci_address(cbx_cuda *g, char out[32], cbx_err *err)
{
    out[0] = '\0';
    return cbx__cuda_fault("cuDeviceGetPCIBusId", g->pci_address(out, 32, g->handle), err);
}

int cbx_cuda_multiprocessors(const cbx_cuda *g) { return g->multiprocessors; }
