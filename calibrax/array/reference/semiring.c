/*
 * Products and convolutions over an algebra, by the kernels in ../kernels: stacks of small matrices one a thread, large ones by all
 * threads together; convolutions in blocks of windows, each laid out as the rows of a matrix.
 */
#include <stdatomic.h>
#include <string.h>

#include "calibrax/array/kernels/semiring_isa.h"
#include "calibrax/array/reference/reference.h"
#include "calibrax/base/pool.h"

static size_t round_up(size_t x, size_t to) { return (x + to - 1) / to * to; }

/* --- stacks of matrices --- */

typedef struct stack {
    cbx_matmul one; /* the first product */
    size_t batch;
    ptrdiff_t a, b, c; /* from one matrix to the next [bytes] */
    size_t room;       /* workspace of one product */
} stack;

static cbx_status run_one(const stack *s, size_t at, void *room, cbx_err *err)
{
    cbx_matmul p = s->one;

    p.a = (const char *)p.a + (ptrdiff_t)at * s->a;
    p.b = (const char *)p.b + (ptrdiff_t)at * s->b;
    p.c = (char *)p.c + (ptrdiff_t)at * s->c;
    p.workspace = room;
    p.workspace_bytes = s->room;
    return cbx_matmul_run(&p, err);
}

/* Many small ones: the first argument error would have come from the first product, so the others cannot fail. */
static void run_team(const stack *s, char *room, int threads)
{
    atomic_size_t next = 1;

#if defined(_OPENMP)
#pragma omp parallel num_threads(threads)
    {
        char *mine = room + (size_t)omp_get_thread_num() * s->room;
        for (size_t i; (i = atomic_fetch_add(&next, 1)) < s->batch;) (void)run_one(s, i, mine, NULL);
    }
#else
    (void)threads;
    for (size_t i; (i = atomic_fetch_add(&next, 1)) < s->batch;) (void)run_one(s, i, room, NULL);
#endif
}

/* As many threads as share a stack between them; 1 if each product has work for all. */
static int team_of(const stack *s)
{
    const double steps = (double)s->one.m * (double)s->one.k * (double)s->one.n;
    const size_t most = (size_t)cbx__omp_threads();

    if (s->batch < 2 || steps > 1e8 || steps * (double)s->batch < 2e6) return 1;
    return (int)(s->batch < most ? s->batch : most);
}

static cbx_status run_stack(cbx_ctx *ctx, stack *s, cbx_err *err)
{
    const int team = team_of(s);
    cbx_block room = { 0 };
    cbx_status st;

    s->one.threads = team > 1 ? 1 : 0;
    st = cbx_matmul_workspace(&s->one, &s->room, err);
    s->room = round_up(s->room, 64);
    if (!st) st = cbx_pool_get(cbx_ctx_pool(ctx), s->room * (size_t)team, &room, err);
    if (!st && s->batch > 0) st = run_one(s, 0, room.data, err);
    if (!st && team > 1) run_team(s, room.data, team);
    for (size_t i = 1; !st && team == 1 && i < s->batch; i++) st = run_one(s, i, room.data, err);
    cbx_pool_put(cbx_ctx_pool(ctx), room);
    return st;
}

cbx_status cbx__ref_semiring_stack(cbx_ctx *ctx, const cbx_semiring *semiring, bool raw, const cbx_array *a,
                                   const cbx_array *b, const cbx_array_desc *result, cbx_array **out, cbx_err *err)
{
    const ptrdiff_t size = (ptrdiff_t)cbx_dtype_size(result->dtype);
    stack s = { .one = CBX_MATMUL_INIT, .batch = result->shape[0] };
    cbx_array *c = NULL;
    cbx_status st = cbx_array_create(ctx, result, &c, err);

    if (st) return st;
    s.one.semiring = semiring;
    s.one.dtype = result->dtype;
    s.one.raw = raw;
    s.one.m = a->desc.shape[1], s.one.k = a->desc.shape[2], s.one.n = b->desc.shape[2];
    s.one.a = a->data, s.one.lda = a->strides[1], s.one.a_step = a->strides[2];
    s.one.b = b->data, s.one.ldb = b->strides[1], s.one.b_step = b->strides[2];
    s.one.c = c->data, s.one.ldc = (ptrdiff_t)s.one.n;
    s.a = a->strides[0] * size, s.b = b->strides[0] * size, s.c = c->strides[0] * size;
    if (c->count > 0) st = run_stack(ctx, &s, err);
    if (st) {
        cbx_array_free(c);
        return st;
    }
    *out = c;
    return CBX_OK;
}

cbx_status cbx__ref_run_semiring_matmul(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    return cbx__ref_semiring_stack(call->ctx, cbx_semiring_get((cbx_algebra)call->attrs->mode), call->attrs->keep != 0,
                                   call->in[0], call->in[1], call->result, out, err);
}

/* --- windows --- */

void cbx__ref_windows_init(cbx__windows *w, const cbx_array *x, const cbx_array *kernel, const cbx_attrs *attrs)
{
    const int n = attrs->ndim;

    *w = (cbx__windows){
        .attrs = attrs, .length = x->desc.shape + 1, .taps = kernel->desc.shape, .positions = 1, .ntaps = 1
    };
    w->element = cbx_dtype_size(x->desc.dtype);
    w->run = x->desc.shape[n + 1] * w->element;
    w->image = w->run;
    for (int i = 0; i < n; i++) {
        w->positions *= attrs->shape[i];
        w->ntaps *= w->taps[i];
        w->image *= w->length[i];
    }
}

/* Byte in x of the channels under a tap of a window; -1 outside. */
static ptrdiff_t place_of(const cbx__windows *w, size_t position, size_t tap)
{
    ptrdiff_t at = 0, across = (ptrdiff_t)w->run;

    for (int i = w->attrs->ndim - 1; i >= 0; i--) {
        const size_t p = position % w->attrs->shape[i], t = tap % w->taps[i];
        const size_t to = p * (size_t)w->attrs->step[i] + t * (size_t)w->attrs->axes[i],
                     low = (size_t)w->attrs->start[i];
        if (to < low || to - low >= w->length[i]) return -1;
        at += (ptrdiff_t)(to - low) * across;
        across *= (ptrdiff_t)w->length[i];
        position /= w->attrs->shape[i];
        tap /= w->taps[i];
    }
    return at;
}

/* Threads for moving so many bytes of windows. */
static int windows_threads(size_t bytes) { return bytes < (size_t)1 << 20 ? 1 : cbx__omp_threads(); }

void cbx__ref_windows_gather(const cbx__windows *w, const void *x, size_t first, size_t rows, const void *pad,
                             void *out)
{
    char *to = out;

    for (size_t r = first; r < first + rows; r++) {
        const char *image = (const char *)x + r / w->positions * w->image;
        for (size_t t = 0; t < w->ntaps; t++, to += w->run) {
            const ptrdiff_t at = place_of(w, r % w->positions, t);
            if (at >= 0)
                memcpy(to, image + at, w->run);
            else
                memcpy(to, pad, w->run);
        }
    }
}

/* Windows of all images, some hundred at a time by a thread. */
void cbx__ref_windows_gather_all(const cbx__windows *w, const void *x, size_t rows, const void *pad, void *out)
{
    enum { PART = 256 };
    const size_t row = w->ntaps * w->run;

#if defined(_OPENMP)
#pragma omp parallel for schedule(static) num_threads(windows_threads(rows *row))
#endif
    for (size_t r = 0; r < rows; r += PART)
        cbx__ref_windows_gather(w, x, r, rows - r < PART ? rows - r : PART, pad, (char *)out + r * row);
}

static void add_run(cbx_dtype dtype, size_t n, const void *from, void *to)
{
    if (dtype == CBX_F32)
        for (size_t i = 0; i < n; i++) ((float *)to)[i] += ((const float *)from)[i];
    else
        for (size_t i = 0; i < n; i++) ((double *)to)[i] += ((const double *)from)[i];
}

/* What windows add to elements [low, high) along the first axis of one image. */
static void scatter_band(const cbx__windows *w, cbx_dtype dtype, const char *rows, char *image, size_t low, size_t high)
{
    const size_t across = w->positions / w->attrs->shape[0], deep = w->ntaps / w->taps[0],
                 step = (size_t)w->attrs->step[0], dilation = (size_t)w->attrs->axes[0],
                 pad = (size_t)w->attrs->start[0];

    for (size_t r = 0; r < w->positions; r++)
        for (size_t t = 0; t < w->ntaps; t++) {
            const size_t to = r / across * step + t / deep * dilation;
            if (to < low + pad || to >= high + pad) {
                t += deep - 1; /* the other taps at this place of the first axis */
                continue;
            }
            const ptrdiff_t at = place_of(w, r, t);
            if (at >= 0) add_run(dtype, w->run / w->element, rows + (r * w->ntaps + t) * w->run, image + at);
        }
}

/* Bands of images are shared by threads.  Whoever adds to an element does it in the order of windows, then taps. */
void cbx__ref_windows_scatter(const cbx__windows *w, cbx_dtype dtype, const void *rows, size_t count, void *x)
{
    const size_t images = w->positions ? count / w->positions : 0, row = w->ntaps * w->run;
    const int threads = windows_threads(count * row);
    if (row == 0) return;
    const size_t wanted = images < (size_t)threads ? 4 * (size_t)threads : 1, bands = wanted < w->length[0] ? wanted
                                                                                      : w->length[0] ? w->length[0]
                                                                                                     : 1;

#if defined(_OPENMP)
#pragma omp parallel for schedule(dynamic) num_threads(threads)
#endif
    for (size_t i = 0; i < images * bands; i++) {
        const size_t image = i / bands, band = i % bands, high = (band + 1) * w->length[0] / bands;
        scatter_band(w, dtype, (const char *)rows + image * w->positions * row, (char *)x + image * w->image,
                     band * w->length[0] / bands, high);
    }
}

void *cbx__ref_windows_pad(const cbx__windows *w, cbx_dtype dtype, double identity, void *out)
{
    for (size_t i = 0; i < w->run / w->element; i++)
        if (dtype == CBX_F32)
            ((float *)out)[i] = (float)identity;
        else if (dtype == CBX_F64)
            ((double *)out)[i] = identity;
        else
            ((uint8_t *)out)[i] = identity != 0;
    return out;
}

/* --- convolution --- */

typedef struct conv {
    cbx_matmul one; /* a block of rows by the kernel */
    cbx__windows w;
    const void *x, *pad;
    char *c;
    size_t rows, block, row_bytes; /* of C; bytes of a row of windows */
    size_t room, own;              /* workspace of a product; of a thread, windows and workspace */
} conv;

static void conv_blocks(const conv *v, atomic_size_t *next, char *own)
{
    for (size_t i; (i = atomic_fetch_add(next, v->block)) < v->rows;) {
        cbx_matmul p = v->one;
        p.m = v->rows - i < v->block ? v->rows - i : v->block;
        p.a = own;
        p.c = v->c + i * p.n * v->w.element;
        p.workspace = own + round_up(v->block * v->row_bytes, 64);
        p.workspace_bytes = v->room;
        cbx__ref_windows_gather(&v->w, v->x, i, p.m, v->pad, own);
        (void)cbx_matmul_run(&p, NULL); /* its arguments are ours */
    }
}

static void conv_run(const conv *v, char *rooms, int threads)
{
    atomic_size_t next = 0;

#if defined(_OPENMP)
#pragma omp parallel num_threads(threads) if (threads > 1)
    conv_blocks(v, &next, rooms + (size_t)omp_get_thread_num() * v->own);
#else
    (void)threads;
    conv_blocks(v, &next, rooms);
#endif
}

/* Enough rows that packing the kernel anew for each block is little, few enough that they stay in a cache. */
static size_t block_rows(size_t row_bytes, size_t rows)
{
    size_t n = ((size_t)2 << 20) / (row_bytes ? row_bytes : 1);

    n = n < 64 ? 64 : n > 1024 ? 1024 : n;
    return n < rows ? n : rows;
}

cbx_status cbx__ref_run_semiring_conv(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    cbx_array *x = NULL, *kernel = NULL, *c = NULL;
    cbx_block room = { 0 };
    conv v = { .one = CBX_MATMUL_INIT };
    const int n = call->attrs->ndim;
    int threads = cbx__omp_threads();
    size_t pad_bytes;
    cbx_status st = cbx__ref_dense(call->ctx, call->in[0], &x, err);

    if (!st) st = cbx__ref_dense(call->ctx, call->in[1], &kernel, err);
    if (!st) st = cbx_array_create(call->ctx, call->result, &c, err);
    if (st || c->count == 0) goto done;
    cbx__ref_windows_init(&v.w, x, kernel, call->attrs);
    v.x = x->data, v.c = c->data;
    v.rows = call->result->shape[0] * v.w.positions;
    v.row_bytes = v.w.ntaps * v.w.run;
    v.block = block_rows(v.row_bytes, v.rows);
    v.one.semiring = cbx_semiring_get((cbx_algebra)call->attrs->mode);
    v.one.raw = call->attrs->keep != 0;
    v.one.dtype = call->result->dtype;
    v.one.m = v.block, v.one.k = v.row_bytes / v.w.element, v.one.n = call->result->shape[n + 1];
    v.one.lda = (ptrdiff_t)v.one.k, v.one.ldb = v.one.ldc = (ptrdiff_t)v.one.n;
    v.one.b = kernel->data;
    if ((size_t)threads > (v.rows + v.block - 1) / v.block) threads = (int)((v.rows + v.block - 1) / v.block);
    st = cbx_matmul_workspace(&v.one, &v.room, err);
    if (st) goto done;
    pad_bytes = round_up(v.w.run ? v.w.run : 1, 64);
    v.own = round_up(v.block * v.row_bytes, 64) + round_up(v.room, 64);
    st = cbx_pool_get(cbx_ctx_pool(call->ctx), pad_bytes + (size_t)threads * v.own, &room, err);
    if (st) goto done;
    v.pad = cbx__ref_windows_pad(&v.w, v.one.dtype, v.one.semiring->identity, room.data);
    conv_run(&v, (char *)room.data + pad_bytes, threads);
    *out = c;
    c = NULL;
done:
    if (!st && c) { /* an empty one */
        *out = c;
        c = NULL;
    }
    cbx_pool_put(cbx_ctx_pool(call->ctx), room);
    cbx_array_free(x);
    cbx_array_free(kernel);
    cbx_array_free(c);
    return st;
}
