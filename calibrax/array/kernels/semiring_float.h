/* The product around the register tile for float types: packing, the loops over blocks, finalizing,
 * the epilogue. Included once a type behind semiring_tile.h and semiring_log.h; expects SQRT, EXP,
 * LOG1P besides. */

/* --- buffers --- */

static NAME(job) NAME(layout)(const cbx__semiring_plan *plan, char *base)
{
    const cbx_matmul *p = plan->p;
    const cbx__semiring_blocks *blocks = &PASTE(blocks_, SFX);
    const size_t min = p->n < 8 * NR ? NR : 4 * NR, nt = (size_t)plan->threads;
    const bool alone = nt == 1;
    const bool shifts = p->semiring->id == CBX_ALGEBRA_LOG, may = base && !shifts;
    NAME(job) j = { .p = p, .a = p->a, .b = p->b, .c = p->c, .algebra = p->semiring->id };
    size_t at = 0;

    j.direct_a = may && p->a_step == 1 && p->n <= FEW_ACROSS * NR;
    j.direct_b = may && p->b_step == 1 && p->m <= FEW_DOWN * MR;
    j.kc = even_part(p->k, blocks->kc, 4);
    j.mc = even_part(p->m, blocks->mc, MR);
    j.nc = even_part(p->n, alone ? blocks->jc : blocks->nc, NR);
    j.ms = alone && p->n <= j.nc ? j.mc : min_size(round_up(p->m, MR), j.mc * BLOCKS_PACKED * nt);
    j.jc = alone ? j.nc : even_part(j.nc, min_size(blocks->jc, j.nc / (4 * nt) + min), NR);
    T **const part[] = { &j.pa, &j.pb, &j.row_shift, &j.row_limit, &j.col_shift, &j.col_limit };
    /* as much for fewer rows as for more, or a smaller last block would not fit */
    const size_t rows = blocks->mc * (alone && p->n <= j.nc ? 1 : BLOCKS_PACKED * nt);
    const size_t count[] = { j.direct_a ? 0 : min_size(round_up(p->m, MR), rows) * j.kc,
                             j.nc * j.kc,
                             shifts ? round_up(p->m, MR) : 0,
                             shifts ? round_up(p->m, MR) : 0,
                             shifts ? round_up(p->n, NR) : 0,
                             shifts ? round_up(p->n, NR) : 0 };
    for (size_t i = 0; i < CBX_LEN(part); i++) {
        *part[i] = base ? (T *)(void *)(base + at) : NULL;
        at += round_up(count[i] * sizeof(T), 64);
    }
    j.bytes = at ? at : 64;
    return j;
}

static size_t NAME(workspace)(const cbx__semiring_plan *plan) { return NAME(layout)(plan, NULL).bytes; }

/* --- packing --- */

typedef T NAME(eight) __attribute__((vector_size(8 * sizeof(T)), may_alias, aligned(sizeof(T))));
typedef T NAME(four) __attribute__((vector_size(4 * sizeof(T)), may_alias, aligned(sizeof(T))));

/* out[q][r] = x[r * across + q] of `rows` <= 8 rows; lanes past the last row repeat it. */
INLINE void NAME(turn_eight)(const T *x, ptrdiff_t across, size_t rows, NAME(eight) out[8])
{
    NAME(eight) r[8], s[8];
    UNROLL for (size_t i = 0; i < 8; i++)
    {
        r[i] = *(const NAME(eight) *)(x + (ptrdiff_t)(i < rows ? i : rows - 1) * across);
    }
    UNROLL for (int i = 0; i < 8; i += 2)
    {
        s[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        s[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    UNROLL for (int i = 0; i < 8; i++)
    {
        if (i & 2) continue;
        r[i] = __builtin_shufflevector(s[i], s[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        r[i + 2] = __builtin_shufflevector(s[i], s[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    UNROLL for (int i = 0; i < 4; i++)
    {
        out[i] = __builtin_shufflevector(r[i], r[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        out[i + 4] = __builtin_shufflevector(r[i], r[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

/* Elements of a row that are turned at a time; eight that are more than a vector would be turned in
 * memory. */
#define TURNED ((size_t)(8 * sizeof(T) <= VECTOR_BYTES ? 8 : 4))

/* Likewise four rows. */
INLINE void NAME(turn_four)(const T *x, ptrdiff_t across, size_t rows, NAME(four) out[4])
{
    NAME(four) r[4], s[4];
    UNROLL for (size_t i = 0; i < 4; i++)
    {
        r[i] = *(const NAME(four) *)(x + (ptrdiff_t)(i < rows ? i : rows - 1) * across);
    }
    UNROLL for (int i = 0; i < 4; i += 2)
    {
        s[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 4, 2, 6);
        s[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 1, 5, 3, 7);
    }
    UNROLL for (int i = 0; i < 2; i++)
    {
        out[i] = __builtin_shufflevector(s[i], s[i + 2], 0, 1, 4, 5);
        out[i + 2] = __builtin_shufflevector(s[i], s[i + 2], 2, 3, 6, 7);
    }
}

/* `side` elements of each of rows <= 8 neighbours in a panel. */
INLINE void NAME(transpose_small)(T *restrict to, size_t width, const T *x, size_t rows, ptrdiff_t across, size_t side)
{
    NAME(eight) out[8];
    NAME(four) low[4], high[4];

    if (side == 8) {
        NAME(turn_eight)(x, across, rows, out);
        UNROLL for (size_t q = 0; q < 8; q++) * (NAME(eight) *)(to + q * width) = out[q];
        return;
    }
    NAME(turn_four)(x, across, rows, low);
    if (rows > 4) NAME(turn_four)(x + 4 * across, across, rows - 4, high);
    UNROLL for (size_t q = 0; q < 4; q++)
    {
        *(NAME(four) *)(to + q * width) = low[q];
        if (rows > 4) *(NAME(four) *)(to + q * width + 4) = high[q];
    }
}

/* Rows [w0, w0 + rows) of a panel, eight elements of each at a time, or four.  With fewer rows than
 * eight a step writes past its lanes, over what the next step writes; so the last ones are done
 * singly. */
INLINE void NAME(gather_rows)(T *restrict to, size_t width, const T *x, size_t rows, ptrdiff_t across, size_t kc)
{
    const size_t side = TURNED, whole = (rows == 8 || kc == 0 ? kc : kc - 1) / side * side;

    for (size_t k0 = 0; k0 < whole; k0 += side)
        NAME(transpose_small)(to + k0 * width, width, x + k0, rows, across, side);
    for (size_t kk = whole; kk < kc; kk++)
        for (size_t w = 0; w < rows; w++) to[kk * width + w] = x[(ptrdiff_t)w * across + (ptrdiff_t)kk];
}

/* `panels` panels [kk][NR] from the rows of B. */
static void NAME(gather_lines)(T *restrict to, const T *restrict x, size_t panels, size_t kc, ptrdiff_t along)
{
    for (size_t kk = 0; kk < kc; kk++, x += along, to += NR)
        for (size_t w = 0; w < panels; w++)
            UNROLL for (int v = 0; v < NV; v++) *
                (vec *)(to + w * NR * kc + v * LANES) = *(const vec *)(x + w * NR + v * LANES);
}

/* [kk][width] from `live` rows (stride across) of kc elements (stride along); lanes past the end
 * are 0. */
static void NAME(gather)(T *restrict to, size_t width, const T *restrict x, size_t live, ptrdiff_t across, size_t kc,
                         ptrdiff_t along)
{
    if (live < width) memset(to, 0, width * kc * sizeof(T));
    if (along == 1 && MR < 8 && MR > 4 && width == MR && live == MR) {
        NAME(gather_rows)(to, MR, x, MR, across, kc);
    } else if (along == 1 && live % 8 == 0) {
        for (size_t w = 0; w < live; w += 8) NAME(gather_rows)(to + w, width, x + (ptrdiff_t)w * across, 8, across, kc);
    } else if (across == 1) {
        for (size_t kk = 0; kk < kc; kk++, x += along) NAME(copy)(to + kk * width, x, live);
    } else if (along == 1) {
        for (size_t k0 = 0; k0 < kc; k0 += 64 / sizeof(T)) { /* a line of each row at a time */
            const size_t n = min_size(64 / sizeof(T), kc - k0);
            for (size_t w = 0; w < live; w++) {
                const T *row = x + (ptrdiff_t)w * across + k0;
                for (size_t kk = 0; kk < n; kk++) to[(k0 + kk) * width + w] = row[kk];
            }
        }
    } else {
        for (size_t kk = 0; kk < kc; kk++)
            for (size_t w = 0; w < live; w++) to[kk * width + w] = x[(ptrdiff_t)w * across + (ptrdiff_t)kk * along];
    }
}

/* exp(x - shift of the lane); pattern: the shifts of LANES rows of the panel, one after the
 * other. */
static void NAME(exp_panel)(T *restrict x, size_t width, size_t live, size_t kc, const T *restrict shift)
{
    T pattern[NR * LANES] = { 0 };
    size_t kk = 0;

    for (size_t r = 0; r < LANES; r++)
        for (size_t w = 0; w < width; w++) pattern[r * width + w] = w < live ? shift[w] : 0;
    for (; kk + LANES <= kc; kk += LANES, x += width * LANES)
        for (size_t i = 0; i < width * LANES; i++) x[i] = VEXP(x[i] - pattern[i]);
    for (size_t i = 0; i < width * (kc - kk); i++) x[i] = VEXP(x[i] - pattern[i]);
}

/* What specials a panel holds.  A finite one costs one pass: x - x is 0 unless x is special. */
static int NAME(scan)(const T *x, size_t n)
{
    int seen = 0;
    TI odd = 0;

    for (size_t i = 0; i < n; i++) odd |= (x[i] - x[i] != 0) ? -1 : 0;
    for (size_t i = 0; odd && i < n; i++)
        seen |= isnan(x[i]) ? SEEN_NAN : !isinf(x[i]) ? 0 : x[i] > 0 ? SEEN_PLUS_INF : SEEN_MINUS_INF;
    return seen;
}

/* The same of `rows` rows of `len` that stay where they are. */
static void NAME(scan_rows)(const T *x, size_t rows, ptrdiff_t across, size_t len, atomic_int *seen)
{
    for (size_t i = 0; i < rows; i++) {
        const int s = NAME(scan)(x + (ptrdiff_t)i * across, len);
        if (s) atomic_fetch_or(seen, s);
    }
}

/* A packed panel in the form of its algebra. */
static void NAME(prepare)(const NAME(job) * j, T *to, size_t width, size_t live, size_t kc, const T *shift,
                          atomic_int *seen)
{
    if (j->algebra == CBX_ALGEBRA_LOG) NAME(exp_panel)(to, width, live, kc, shift);
    if (watches(j->algebra)) NAME(scan_rows)(to, 1, 0, width * kc, seen);
}

static void NAME(pack)(const NAME(job) * j, T *to, size_t width, const T *x, size_t live, ptrdiff_t across, size_t kc,
                       ptrdiff_t along, const T *shift, atomic_int *seen)
{
    NAME(gather)(to, width, x, live, across, kc, along);
    NAME(prepare)(j, to, width, live, kc, shift, seen);
}

/* --- finalizing --- */

/* C merged with D, element by element, by the algebra's update on finalized values. */
static void NAME(merge_d)(const NAME(job) * j, size_t i, size_t j0, size_t live, T *restrict c)
{
    const cbx_matmul *p = j->p;
    const T *d = (const T *)p->d + (ptrdiff_t)i * p->ldd + (ptrdiff_t)j0 * p->d_step;

    for (size_t l = 0; l < live; l++) {
        const T x = d[(ptrdiff_t)l * p->d_step], y = c[l], hi = x > y ? x : y, lo = x > y ? y : x;
        const bool raw = p->raw;
        (void)raw;
        switch (j->algebra) {
#define CBX_ALGEBRA_MERGE(id, merge, operation)                                                                        \
    case CBX_ALGEBRA_##id:                                                                                             \
        c[l] = merge;                                                                                                  \
        break;
#include "calibrax/array/kernels/algebra.h"
        default: break;
        }
    }
}

static void NAME(hide)(const NAME(job) * j, size_t i, size_t j0, size_t live, T *restrict c)
{
    const cbx_matmul *p = j->p;
    const uint8_t *m = p->mask + (ptrdiff_t)i * p->ldm + (ptrdiff_t)j0 * p->m_step;

    for (size_t l = 0; l < live; l++)
        if ((m[(ptrdiff_t)l * p->m_step] != 0) == p->mask_complement) c[l] = (T)p->semiring->empty;
}

/* What finalize makes of rows [i, i + rows) of a tile, nv vectors wide; lanes past the last column
 * are there. */
INLINE void NAME(finalize)(int nv, const NAME(job) * j, size_t i, size_t rows, size_t j0, size_t live, T *c,
                           ptrdiff_t ldc)
{
    if (j->algebra == CBX_ALGEBRA_LOG) {
        NAME(finish_log)(nv, j, i, rows, j0, live, c, ldc);
        return;
    }
    switch (steps_of[j->algebra].usual) {
#define CBX_TILE_FINISH(name, of_vector, of_scalar)                                                                    \
    case STEP_##name:                                                                                                  \
        for (size_t r = 0; r < rows; r++, c += ldc) UNROLL for (int v = 0; v < nv; v++)                                \
            {                                                                                                          \
                const vec x = *(const vec *)(c + v * LANES);                                                           \
                *(vec *)(c + v * LANES) = of_vector;                                                                   \
            }                                                                                                          \
        break;
#include "calibrax/array/kernels/algebra.h"
    default: break;
    }
}

static void NAME(finish)(const NAME(job) * j, size_t i, size_t rows, size_t j0, size_t live, T *c, ptrdiff_t ldc)
{
    const cbx_matmul *p = j->p;

    if (j->algebra == CBX_ALGEBRA_LOG || (finishes(j->algebra) && !p->raw)) {
        const size_t nv = (live + LANES - 1) / LANES;
        if (nv == NV)
            NAME(finalize)(NV, j, i, rows, j0, live, c, ldc);
        else if (nv == NV - 1)
            NAME(finalize)(NV - 1, j, i, rows, j0, live, c, ldc);
        else
            NAME(finalize)(1, j, i, rows, j0, live, c, ldc);
    }
    for (size_t r = 0; r < rows && (p->d || p->mask); r++) {
        if (p->d) NAME(merge_d)(j, i + r, j0, live, c + (ptrdiff_t)r * ldc);
        if (p->mask) NAME(hide)(j, i + r, j0, live, c + (ptrdiff_t)r * ldc);
    }
}

/* True if the mask hides all of a tile: its sums need not be made. */
static bool NAME(hidden)(const cbx_matmul *p, size_t i0, size_t rows, size_t j0, size_t live)
{
    for (size_t i = i0; i < i0 + rows; i++)
        for (size_t l = j0; l < j0 + live; l++)
            if ((p->mask[(ptrdiff_t)i * p->ldm + (ptrdiff_t)l * p->m_step] != 0) != p->mask_complement) return false;
    return true;
}

/* --- tiles of C --- */

typedef struct NAME(slab) {
    size_t i0, j0, k0, kc; /* first row and column of what is packed */
    NAME(micro_fn) *const *tile;
    T start;
    bool first, last;
    /* panels of A as they are come to: by one thread, of algebras whose tile does not depend on
     * what they hold */
    bool packs;
} NAME(slab);

/* `live` elements of a row of C, to or from the stack. */
INLINE void NAME(move_row)(T *to, ptrdiff_t to_step, const T *from, ptrdiff_t from_step, size_t live)
{
    if (to_step == 1 && from_step == 1)
        NAME(copy)(to, from, live);
    else
        for (size_t l = 0; l < live; l++) to[(ptrdiff_t)l * to_step] = from[(ptrdiff_t)l * from_step];
}

/* A tile that is not whole and has to be finished, or whose rows are no rows of C: on the stack. */
static void NAME(part_tile)(const NAME(job) * j, const NAME(slab) * s, const NAME(operands) * o, size_t i, size_t rows,
                            size_t col, size_t live, T *c)
{
    const cbx_matmul *p = j->p;
    T buffer[MR * NR] __attribute__((aligned(64)));

    if (!s->first) memset(buffer, 0, sizeof buffer);
    for (size_t r = 0; !s->first && r < rows; r++)
        NAME(move_row)(buffer + r * NR, 1, c + (ptrdiff_t)r * p->ldc, p->c_step, live);
    s->tile[(live - 1) / LANES](o, s->start, buffer, NR, s->first);
    if (s->last && j->finishes) NAME(finish)(j, i, rows, col, live, buffer, NR);
    for (size_t r = 0; r < rows; r++) NAME(move_row)(c + (ptrdiff_t)r * p->ldc, p->c_step, buffer + r * NR, 1, live);
}

/* Where the operands of the tile at row i, column col are. */
static NAME(operands)
    NAME(operands_of)(const NAME(job) * j, const NAME(slab) * s, size_t i, size_t rows, size_t col, size_t live)
{
    const cbx_matmul *p = j->p;
    NAME(operands) o = { .kc = s->kc, .next = j->a };

    if (j->direct_a) {
        o.a = j->a + (ptrdiff_t)i * p->lda + (ptrdiff_t)s->k0;
        o.across = p->lda, o.along = 1, o.rows = rows;
    } else {
        o.a = j->pa + (i - s->i0) * s->kc;
        o.across = 1, o.along = MR, o.rows = MR;
    }
    if (j->direct_b && live == NR) {
        o.b = j->b + (ptrdiff_t)s->k0 * p->ldb + (ptrdiff_t)col;
        o.ldb = p->ldb;
    } else {
        o.b = j->pb + (col - s->j0) * s->kc;
        o.ldb = (ptrdiff_t)round_up(live, LANES);
    }
    return o;
}

/* What the tile at row i, the `part`-th of `parts`, asks for: its part of the panel of A behind,
 * packed or as it lies. */
static void NAME(look_ahead)(const NAME(job) * j, const NAME(slab) * s, size_t i, size_t part, size_t parts,
                             NAME(operands) * o)
{
    const cbx_matmul *p = j->p;
    const bool lies = s->packs || j->direct_a;
    const size_t each = round_up((s->kc + parts - 1) / parts, LINE), from = part * each;

    if ((lies && p->a_step != 1) || from >= s->kc) return;
    o->next = lies ? j->a + (ptrdiff_t)(i + MR) * p->lda + (ptrdiff_t)s->k0 : j->pa + (i + MR - s->i0) * s->kc;
    o->next += from;
    o->next_across = lies ? p->lda : (ptrdiff_t)s->kc;
    o->lines = (min_size(each, s->kc - from) + LINE - 1) / LINE;
}

static void NAME(tile)(const NAME(job) * j, const NAME(slab) * s, NAME(operands) * o, size_t i, size_t rows, size_t col,
                       size_t live)
{
    const cbx_matmul *p = j->p;
    const bool finishes = s->last && j->finishes, whole = rows == MR && live % LANES == 0;
    T *c = j->c + (ptrdiff_t)i * p->ldc + (ptrdiff_t)col * p->c_step;

    if (p->mask && NAME(hidden)(p, i, rows, col, live)) {
        for (size_t r = 0; s->last && r < rows; r++)
            for (size_t l = 0; l < live; l++)
                c[(ptrdiff_t)r * p->ldc + (ptrdiff_t)l * p->c_step] = (T)p->semiring->empty;
        return;
    }
    if (p->c_step != 1 || (finishes && !whole)) {
        NAME(part_tile)(j, s, o, i, rows, col, live, c);
        return;
    }
    if (!whole) o->high = rows, o->lanes = (live - 1) % LANES + 1;
    s->tile[(live - 1) / LANES](o, s->start, c, p->ldc, s->first);
    if (finishes) NAME(finish)(j, i, MR, col, live, c, p->ldc);
}

/* The panel of A that starts at row i. */
static void NAME(pack_panel)(NAME(job) * j, const NAME(slab) * s, size_t i, size_t i1, atomic_int *seen)
{
    const cbx_matmul *p = j->p;
    const T *a = j->a + (ptrdiff_t)i * p->lda + (ptrdiff_t)s->k0 * p->a_step;
    const size_t rows = min_size(MR, i1 - i);

    if (!j->direct_a) NAME(pack)
    (j, j->pa + (i - s->i0) * s->kc, MR, a, rows, p->lda, s->kc, p->a_step, j->row_shift + (j->row_shift ? i : 0),
     seen);
    else if (watches(j->algebra)) NAME(scan_rows)(a, rows, p->lda, s->kc, seen);
}

/* Rows [i0, i1), columns [j0, j1): a panel of A stays in the first-level cache while panels of B
 * pass, from the second. */
static void NAME(block)(NAME(job) * j, const NAME(slab) * s, size_t i0, size_t i1, size_t j0, size_t j1)
{
    const size_t parts = (j1 - j0 + NR - 1) / NR;

    for (size_t i = i0; i < i1; i += MR) {
        const size_t rows = min_size(MR, i1 - i);
        if (s->packs) NAME(pack_panel)(j, s, i, i1, &j->seen[0][0]);
        for (size_t col = j0; col < j1; col += NR) {
            const size_t live = min_size(NR, j1 - col);
            NAME(operands) o = NAME(operands_of)(j, s, i, rows, col, live);
            if (i + MR < i1) NAME(look_ahead)(j, s, i, (col - j0) / NR, parts, &o);
            NAME(tile)(j, s, &o, i, rows, col, live);
        }
    }
}

/* --- the loops --- */

/* Which tile goes with what the panels hold. */
static step NAME(step_of)(const NAME(job) * j, int in_a, int in_b)
{
    const nan_from from = steps_of[j->algebra].nan;
    const bool opposite = ((in_a & SEEN_PLUS_INF) && (in_b & SEEN_MINUS_INF)) ||
                          ((in_a & SEEN_MINUS_INF) && (in_b & SEEN_PLUS_INF));
    const bool nan = ((in_a | in_b) & (from == ANY_INFINITY ? SEEN_NAN | SEEN_PLUS_INF | SEEN_MINUS_INF : SEEN_NAN)) ||
                     (from == OPPOSITE_INFINITIES && opposite);
    return nan             ? steps_of[j->algebra].careful
           : j->add_by_fma ? steps_of[j->algebra].by_fma
                           : steps_of[j->algebra].usual;
}

/* Columns [from, upto) of B.  Whole panels are laid out side by side, since a row of B may be a
 * page of memory. */
static void NAME(pack_columns)(const NAME(job) * j, const NAME(slab) * s, size_t from, size_t upto, atomic_int *seen)
{
    const cbx_matmul *p = j->p;
    const size_t whole = p->b_step == 1 ? (upto - from) / NR : 0;
    const T *b = j->b + (ptrdiff_t)s->k0 * p->ldb + (ptrdiff_t)from * p->b_step;
    T *to = j->pb + (from - s->j0) * s->kc;

    if (j->direct_b && whole && watches(j->algebra)) NAME(scan_rows)(b, s->kc, p->ldb, whole * NR, seen);
    if (!j->direct_b && whole) NAME(gather_lines)(to, b, whole, s->kc, p->ldb);
    for (size_t w = 0; !j->direct_b && w < whole; w++)
        NAME(prepare)(j, to + w * NR * s->kc, NR, NR, s->kc, j->col_shift + (j->col_shift ? from + w * NR : 0), seen);
    for (size_t col = from + whole * NR; col < upto; col += NR) {
        const size_t live = min_size(NR, upto - col);
        NAME(pack)
        (j, to + (col - from) * s->kc, round_up(live, LANES), b + (ptrdiff_t)(col - from) * p->b_step, live, p->b_step,
         s->kc, p->ldb, j->col_shift + (j->col_shift ? col : 0), seen);
    }
}

static void NAME(pack_slab)(NAME(job) * j, const NAME(slab) * s, size_t i1, size_t j1, bool with_a, bool with_b,
                            unsigned parity, size_t id, size_t nt)
{
    const size_t group = PANELS_BESIDE * NR;

    for (size_t from = s->j0 + id * group; with_b && from < j1; from += nt * group)
        NAME(pack_columns)(j, s, from, min_size(from + group, j1), &j->seen[parity][1]);
    for (size_t i = s->i0 + id * MR; with_a && i < i1; i += nt * MR) NAME(pack_panel)(j, s, i, i1, &j->seen[parity][0]);
}

static void NAME(compute_slab)(NAME(job) * j, const NAME(slab) * s, size_t i1, size_t j1, unsigned parity, size_t nt)
{
    const size_t across = (j1 - s->j0 + j->jc - 1) / j->jc, down = (i1 - s->i0 + j->mc - 1) / j->mc;

    for (size_t t, own = 0; (t = nt > 1 ? atomic_fetch_add(&j->next[parity], 1) : own++) < across * down;) {
        const size_t i = s->i0 + t / across * j->mc, col = s->j0 + t % across * j->jc;
        NAME(block)(j, s, i, min_size(i + j->mc, i1), col, min_size(col + j->jc, j1));
    }
}

static void NAME(make_shifts)(NAME(job) * j, size_t id, size_t nt)
{
    enum { CHUNK = 64 };
    const cbx_matmul *p = j->p;

    for (size_t i = id * CHUNK; i < p->m; i += nt * CHUNK) {
        const T *a = j->a + (ptrdiff_t)i * p->lda;
        NAME(row_maxima)(a, min_size(CHUNK, p->m - i), p->lda, p->k, p->a_step, j->row_shift + i, j->row_limit + i);
    }
    for (size_t col = id * CHUNK; col < p->n; col += nt * CHUNK)
        if (NAME(row_maxima)(j->b + (ptrdiff_t)col * p->b_step, min_size(CHUNK, p->n - col), p->b_step, p->k, p->ldb,
                             j->col_shift + col, j->col_limit + col))
            atomic_store(&j->special_col, 1);
    for (size_t col = p->n; id == 0 && col < round_up(p->n, NR); col++)
        j->col_shift[col] = 0, j->col_limit[col] = -(T)INFINITY;
    cbx__team_wait(nt);
}

/* What each of nt threads does.  Between two barriers panels are packed or read, never both; what
 * counts tasks and specials comes twice, so that one is reset while the other is in use. */
static void NAME(work)(void *job, size_t id, size_t nt)
{
    NAME(job) *j = job;
    const cbx_matmul *p = j->p;
    unsigned parity = 0;
    int in_a = 0, in_b = 0;

    if (j->algebra == CBX_ALGEBRA_LOG) NAME(make_shifts)(j, id, nt);
    for (size_t k0 = 0; k0 < p->k; k0 += j->kc)
        for (size_t i0 = 0; i0 < p->m; i0 += j->ms) {
            for (size_t j0 = 0; j0 < p->n; j0 += j->nc, parity ^= 1) {
                const bool with_a = j0 == 0, with_b = i0 == 0 || p->n > j->nc;
                const size_t i1 = min_size(i0 + j->ms, p->m), j1 = min_size(j0 + j->nc, p->n);
                NAME(slab)
                s = { .i0 = i0,
                      .j0 = j0,
                      .k0 = k0,
                      .kc = min_size(j->kc, p->k - k0),
                      .first = k0 == 0,
                      .last = k0 + j->kc >= p->k,
                      .packs = with_a && nt == 1 && !watches(j->algebra) };
                NAME(pack_slab)(j, &s, i1, j1, with_a && !s.packs, with_b, parity, id, nt);
                cbx__team_wait(nt);
                in_a = seen_in(&j->seen[parity][0]) | (with_a ? 0 : in_a);
                in_b = seen_in(&j->seen[parity][1]) | (with_b ? 0 : in_b);
                s.tile = NAME(tiles)[NAME(step_of)(j, in_a, in_b)];
                s.start = (T)(j->algebra == CBX_ALGEBRA_LOG ? 0 : p->semiring->identity);
                if (id == 0) {
                    atomic_store_explicit(&j->seen[parity ^ 1][0], 0, memory_order_relaxed);
                    atomic_store_explicit(&j->seen[parity ^ 1][1], 0, memory_order_relaxed);
                    atomic_store_explicit(&j->next[parity ^ 1], 0, memory_order_relaxed);
                }
                NAME(compute_slab)(j, &s, i1, j1, parity, nt);
                cbx__team_wait(nt);
            }
        }
}

static void NAME(run)(const cbx__semiring_plan *plan)
{
    if (NAME(run_few)(plan->p)) return;
    NAME(job) job = NAME(layout)(plan, plan->p->workspace);

    job.add_by_fma = plan->add_by_fma;
    job.finishes = job.algebra == CBX_ALGEBRA_LOG || finishes(job.algebra) || plan->p->d || plan->p->mask;
    cbx__team_run(plan->threads, NAME(work), &job);
}

/* --- the limit: the same steps without any memory --- */

static void NAME(registers_of)(step s, size_t rounds)
{
    switch (s) {
#define CBX_TILE_STEP(name, term, update)                                                                              \
    case STEP_##name:                                                                                                  \
        NAME(registers)(STEP_##name, rounds);                                                                          \
        break;
#include "calibrax/array/kernels/algebra.h"
    default: break;
    }
}

/* The same steps by the tile, one row of each panel again and again, so that all it reads lies in
 * the first-level cache. */
static void NAME(fed)(step s, size_t steps)
{
    T a[MR], b[NR] __attribute__((aligned(64))), c[MR * NR] __attribute__((aligned(64)));

    for (size_t i = 0; i < MR; i++) a[i] = (T)0.3 + (T)i;
    for (size_t i = 0; i < NR; i++) b[i] = (T)0.7 + (T)i;
    const NAME(operands) o = { .a = a, .b = b, .across = 1, .rows = MR, .kc = steps, .next = a };
    NAME(tiles)[s][NV - 1](&o, 0, c, NR, true);
    __asm__ volatile("" : : "m"(c)); /* keep it */
}

static void NAME(limit)(const cbx__semiring_plan *plan, bool fed)
{
    const cbx_matmul *p = plan->p;
    const NAME(job) j = { .algebra = p->semiring->id, .add_by_fma = plan->add_by_fma };
    const step s = NAME(step_of)(&j, 0, 0);
    const double steps = (double)p->m * (double)p->k * (double)p->n / plan->threads;
    const size_t rounds = (size_t)(steps / (fed ? MR * NR : CHAINS * LANES));

    CBX__OMP(omp parallel num_threads(plan->threads))
    (fed ? NAME(fed) : NAME(registers_of))(s, rounds);
}

static void NAME(rehearse)(bool add_by_fma, size_t n)
{
    enum { DEEP = 128 };
    T a[MR * DEEP] __attribute__((aligned(64))), b[NR * DEEP] __attribute__((aligned(64))),
        c[MR * NR] __attribute__((aligned(64)));

    for (size_t i = 0; i < MR * DEEP; i++) a[i] = (T)(i % 7);
    for (size_t i = 0; i < NR * DEEP; i++) b[i] = (T)(i % 5);
    const NAME(operands) o = { .a = a, .b = b, .across = 1, .along = MR, .ldb = NR, .rows = MR, .kc = DEEP, .next = a };
    for (size_t i = 0; i < n; i++) NAME(tiles)[add_by_fma ? STEP_MAX_FMA : STEP_MAX][NV - 1](&o, 0, c, NR, i == 0);
}
