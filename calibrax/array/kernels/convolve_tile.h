/* Convolution by the register tile, included once a float type behind semiring_float.h: MR
 * positions by up to NV vectors of output channels over all terms of the window, in blocks of as
 * many terms as the products have.  The filter is packed once a call, in panels; where it has one
 * panel of whole vectors it lies as it should. */

/* Element kk of row i is at lines[(skip + kk) / run][i] + (skip + kk) % run; row kk of the filter
 * at kk * ldb. */
typedef struct NAME(taps) {
    const void *const *lines; /* [][MR] */
    const T *b;
    size_t run, skip, kc;
    ptrdiff_t ldb;
    size_t high, lanes; /* end_tile */
} NAME(taps);

INLINE void NAME(conv_micro)(step s, int nv, const NAME(taps) * o, T start, T *restrict c, ptrdiff_t ldc, bool first)
{
    const void *const *line = o->lines;
    const T *restrict b = o->b;
    const ptrdiff_t ldb = o->ldb;
    size_t left = o->kc, skip = o->skip;
    vec acc[MR][NV], one;

    NAME(begin_tile)(nv, start, acc, &one);
    for (size_t n; left > 0; left -= n, line += MR, skip = 0) {
        const T *a[MR];
        n = min_size(left, o->run - skip);
        UNROLL for (int i = 0; i < MR; i++) a[i] = (const T *)line[i] + skip;
        for (size_t at = 0; at < n; at++, b += ldb) {
            vec bv[NV];
            UNROLL for (int v = 0; v < nv; v++) bv[v] = *(const vec *)(b + v * LANES);
            UNROLL for (int i = 0; i < MR; i++)
            {
                UNROLL for (int v = 0; v < nv; v++)
                {
                    if (FROM_MEMORY(s)) OPAQUE_ADDRESS(a[i]);
                    acc[i][v] = NAME(step)(s, acc[i][v], a[i][at], bv[v], one);
                }
            }
        }
    }
    NAME(end_tile)(s, nv, acc, o->high, o->lanes, c, ldc, first);
}

typedef void NAME(conv_fn)(const NAME(taps) * o, T start, T *c, ptrdiff_t ldc, bool first);

#define TILE(s, nv)                                                                                                    \
    static void NAME(conv_##s##_##nv)(const NAME(taps) * o, T start, T * c, ptrdiff_t ldc, bool first)                 \
    {                                                                                                                  \
        NAME(conv_micro)(s, nv, o, start, c, ldc, first);                                                              \
    }
#define CBX_TILE_STEP(name, term, update) EACH_WIDTH(TILE, STEP_##name)
#include "calibrax/array/kernels/algebra.h"

static NAME(conv_fn) *const NAME(conv_tiles)[][NV] = {
#define ENTRY(s, nv)                      NAME(conv_##s##_##nv),
#define CBX_TILE_STEP(name, term, update) [STEP_##name] = { EACH_WIDTH(ENTRY, STEP_##name) },
#include "calibrax/array/kernels/algebra.h"
};
#undef TILE
#undef ENTRY

/* One convolution under way; shared by its threads. */
typedef struct NAME(conv_job) {
    const cbx__conv *v;
    walk walk;
    size_t m, k, n;        /* positions of all images, terms, output channels */
    size_t kc, mc;         /* terms of a block, positions of a task */
    size_t panels, groups; /* of the filter; of panels, a task each */
    T *pb, *pad;           /* packed filter, NULL where it is read as it lies */
    char *tables, *own;    /* of the walk; of each thread, own_bytes */
    size_t own_bytes, bytes;
    NAME(conv_fn) *const *tile;
    bool add_by_fma, finishes;
    atomic_int seen_x, seen_w; /* tropical: specials */
    atomic_size_t next;
} NAME(conv_job);

/* First vector of a panel: panels of as equal widths as whole vectors allow, so that none is
 * narrow. */
static size_t NAME(panel_at)(const NAME(conv_job) * j, size_t panel)
{
    return (j->n + LANES - 1) / LANES * panel / j->panels;
}

/* Positions of a task and panels of one: few enough that what stays of the filter fits the
 * second-level cache, many enough for all threads. */
static void NAME(conv_tasks)(NAME(conv_job) * j, size_t nt)
{
    const cbx__semiring_blocks *blocks = &PASTE(blocks_, SFX);
    const size_t wide = round_up(j->n, LANES), wanted = nt == 1 ? 1 : 4 * nt;

    j->groups = min_size(j->panels, (wide + blocks->jc - 1) / blocks->jc);
    j->mc = min_size(even_part(j->m, blocks->mc, MR), round_up((j->m * j->groups + wanted - 1) / wanted, MR));
    size_t down = (j->m + j->mc - 1) / j->mc;
    if (down * j->groups < wanted) j->groups = min_size(j->panels, (wanted + down - 1) / down);
}

static void NAME(conv_layout)(NAME(conv_job) * j, const cbx__conv_plan *plan, char *base)
{
    const cbx__conv *v = plan->v;
    const size_t nt = (size_t)plan->threads;
    size_t at = 0;

    j->v = v;
    j->m = cbx__conv_rows(v), j->k = cbx__conv_terms(v), j->n = v->outs;
    j->kc = even_part(j->k, PASTE(blocks_, SFX).kc, 4);
    j->panels = (round_up(j->n, LANES) + NR - 1) / NR;
    NAME(conv_tasks)(j, nt);
    const bool lies = j->n % LANES == 0 && (j->panels == 1 || j->m <= FEW_DOWN * MR);
    j->own_bytes = round_up((j->k / v->channels * MR + ADDRESSES_BEHIND) * sizeof(void *), 64);
    const size_t count[] = { lies ? 0 : round_up(j->n, LANES) * j->k * sizeof(T), walk_run(v) * sizeof(T),
                             walk_tables(v), nt * j->own_bytes };
    void **const part[] = { (void **)&j->pb, (void **)&j->pad, (void **)&j->tables, (void **)&j->own };
    for (size_t i = 0; i < CBX_LEN(part); i++) {
        *part[i] = base && count[i] ? base + at : NULL;
        at += round_up(count[i], 64);
    }
    j->bytes = at;
}

/* --- before the tiles --- */

/* Panels of each block of terms, behind each other. */
static void NAME(conv_pack)(const NAME(conv_job) * j, size_t id, size_t nt)
{
    const size_t blocks = (j->k + j->kc - 1) / j->kc, wide = round_up(j->n, LANES);

    for (size_t t = id; t < blocks * j->panels; t += nt) {
        const size_t k0 = t / j->panels * j->kc, kc = min_size(j->kc, j->k - k0), panel = t % j->panels,
                     from = NAME(panel_at)(j, panel) * LANES, upto = NAME(panel_at)(j, panel + 1) * LANES;
        NAME(gather)
        (j->pb + k0 * wide + from * kc, upto - from, (const T *)j->v->w + k0 * j->n + from, min_size(j->n, upto) - from,
         1, kc, (ptrdiff_t)j->n);
    }
}

/* What specials x and the filter hold. */
static void NAME(conv_look)(NAME(conv_job) * j, size_t id, size_t nt)
{
    const cbx__conv *v = j->v;
    const size_t nx = v->images * j->walk.image / sizeof(T), nw = j->k * j->n;

    NAME(scan_rows)((const T *)v->x + nx * id / nt, 1, 0, nx * (id + 1) / nt - nx * id / nt, &j->seen_x);
    NAME(scan_rows)((const T *)v->w + nw * id / nt, 1, 0, nw * (id + 1) / nt - nw * id / nt, &j->seen_w);
    if (id == 0) NAME(scan_rows)(j->pad, 1, 0, 1, &j->seen_x);
}

/* --- tiles --- */

static void NAME(conv_tile)(const NAME(conv_job) * j, NAME(taps) * o, size_t row, size_t rows, size_t col, size_t live,
                            bool first, bool last)
{
    T *y = (T *)j->v->y + row * j->n + col;
    const bool whole = rows == MR && live % LANES == 0;

    o->high = whole ? 0 : rows, o->lanes = (live - 1) % LANES + 1;
    j->tile[(live - 1) / LANES](o, (T)j->v->semiring->identity, y, (ptrdiff_t)j->n, first);
    if (!last || !j->finishes) return;
    switch (steps_of[j->v->semiring->id].usual) {
#define CBX_TILE_FINISH(name, of_vector, of_scalar)                                                                    \
    case STEP_##name:                                                                                                  \
        for (size_t r = 0; r < rows; r++)                                                                              \
            for (size_t l = 0; l < live; l++) {                                                                        \
                const T x = y[r * j->n + l];                                                                           \
                y[r * j->n + l] = of_scalar;                                                                           \
            }                                                                                                          \
        break;
#include "calibrax/array/kernels/algebra.h"
    default: break;
    }
}

/* The block [k0, k0 + kc) of terms of `rows` positions, in panels [first, upto). */
static void NAME(conv_panels)(const NAME(conv_job) * j, NAME(taps) * o, size_t row, size_t rows, size_t k0,
                              size_t first, size_t upto)
{
    const size_t wide = round_up(j->n, LANES);

    for (size_t panel = first; panel < upto; panel++) {
        const size_t col = NAME(panel_at)(j, panel) * LANES, end = NAME(panel_at)(j, panel + 1) * LANES;
        o->b = j->pb ? j->pb + k0 * wide + col * o->kc : (const T *)j->v->w + k0 * j->n + col;
        o->ldb = (ptrdiff_t)(j->pb ? end - col : j->n);
        NAME(conv_tile)(j, o, row, rows, col, min_size(end, j->n) - col, k0 == 0, k0 + o->kc == j->k);
    }
}

/* Positions [from, upto): of the filter a block of terms stays in the second-level cache while they
 * pass. */
static void NAME(conv_task)(const NAME(conv_job) * j, const void **table, size_t from, size_t upto, size_t panel,
                            size_t panels)
{
    const place begin = place_at(&j->walk, from);

    for (size_t k0 = 0; k0 < j->k; k0 += j->kc) {
        place p = begin;
        for (size_t row = from; row < upto; row += MR) {
            const size_t rows = min_size(MR, upto - row), run = fill_table(&j->walk, &p, rows, table);
            NAME(taps)
            o = { .lines = table + k0 / run * MR, .run = run, .skip = k0 % run, .kc = min_size(j->kc, j->k - k0) };
            NAME(conv_panels)(j, &o, row, rows, k0, panel, panels);
        }
    }
}

static void NAME(conv_work)(void *job, size_t id, size_t nt)
{
    NAME(conv_job) *j = job;
    const void **table = (const void **)(void *)(j->own + id * j->own_bytes);
    const size_t down = (j->m + j->mc - 1) / j->mc;

    if (j->pb) NAME(conv_pack)(j, id, nt);
    if (watches(j->v->semiring->id)) NAME(conv_look)(j, id, nt);
    cbx__team_wait(nt);
    if (id == 0) {
        const NAME(job) how = { .algebra = j->v->semiring->id, .add_by_fma = j->add_by_fma };
        j->tile = NAME(conv_tiles)[NAME(step_of)(&how, seen_in(&j->seen_x), seen_in(&j->seen_w))];
    }
    cbx__team_wait(nt);
    for (size_t t; (t = atomic_fetch_add(&j->next, 1)) < down * j->groups;) {
        const size_t from = t / j->groups * j->mc, g = t % j->groups;
        NAME(conv_task)
        (j, table, from, min_size(from + j->mc, j->m), g * j->panels / j->groups, (g + 1) * j->panels / j->groups);
    }
}

static size_t NAME(conv_workspace)(const cbx__conv_plan *plan)
{
    NAME(conv_job) j = { .v = plan->v };

    NAME(conv_layout)(&j, plan, NULL);
    return j.bytes;
}

static void NAME(conv_run)(const cbx__conv_plan *plan)
{
    const cbx__conv *v = plan->v;
    NAME(conv_job) j = { .add_by_fma = plan->add_by_fma, .finishes = finishes(v->semiring->id) && !v->raw };

    NAME(conv_layout)(&j, plan, v->workspace);
    for (size_t i = 0; i < walk_run(v); i++) j.pad[i] = (T)v->semiring->identity;
    j.walk = walk_of(v, j.pad, j.tables);
    cbx__team_run(plan->threads, NAME(conv_work), &j);
}
