/* A tile of C for one block of threads; included once an element type and a size.
 *
 * Panels of A (BM by BK) and B (BK by BN) pass through shared memory, two in turn: while one is
 * folded the next is on its way from global memory into registers.  A thread folds TM by TN
 * elements in registers, rows and columns in runs of VECTOR elements (16 bytes, one load of shared
 * memory), so that the runs of a warp's threads lie side by side and touch every bank once.
 *
 * Each element of C, or of a part of it along k (geometry.h), is folded by one thread, kk
 * ascending, in one accumulator: its bits depend neither on the size of the tile nor on the
 * device.  Expects SFX, TC (of C, D), VECTOR, WIDTH (bits of an element), SIZE,
 * BLOCKS. */
#define HERE(name) PASTE(OF(name), PASTE(_, SIZE))
/* A length of the tile (args.h). */
#define TILE(what) PASTE(PASTE(PASTE(CBX__CUDA_, SIZE), PASTE(_, WIDTH)), PASTE(_, what))
#define BM         TILE(ROWS)
#define BN         TILE(COLS)
#define BK         TILE(DEEP)
#define TM         TILE(TROWS)
#define TN         TILE(TCOLS)
#define TX         (BN / TN)
#define TY         (BM / TM)
#define THREADS    (TX * TY)
#define LOADS_A    (BM * BK / THREADS)
#define LOADS_B    (BK * BN / THREADS)
/* Row i of a thread's rows in the tile, column j of its columns. */
#define ROW_OF(i) ((i) / VECTOR * (TY * VECTOR) + ty * VECTOR + (i) % VECTOR)
#define COL_OF(j) ((j) / VECTOR * (TX * VECTOR) + tx * VECTOR + (j) % VECTOR)

/* VECTOR more elements a line: lines stay aligned, and neighbours of a column fall into other
 * banks. */
typedef struct HERE(panels) {
    T ALIGNED(16) a[2][BK][BM + VECTOR];
    T ALIGNED(16) b[2][BK][BN + VECTOR];
} HERE(panels);

/* A thread's loads of one operand: load l is element (line + l * lines, step + l * steps) of the
 * panel, so at x + l * apart. */
typedef struct HERE(loads) {
    const T *x;
    int64_t apart;
    int line, step, lines, steps, left; /* left: lines of the operand from `line` on */
} HERE(loads);

/* along: neighbouring threads take neighbours along k, else neighbouring lines; width: lines of the
 * panel. */
DEVICE HERE(loads) HERE(aim)(const T *x, int along, int width, int64_t count, int64_t line_stride, int64_t step_stride)
{
    HERE(loads) q;
    q.line = along ? THREAD / BK : THREAD % width;
    q.step = along ? THREAD % BK : THREAD / width;
    q.lines = along ? THREADS / BK : 0;
    q.steps = along ? 0 : THREADS / width;
    q.left = (int)at_most(count, width) - q.line;
    q.x = x + q.line * line_stride + q.step * step_stride;
    q.apart = along ? q.lines * line_stride : q.steps * step_stride;
    return q;
}

/* live: steps of k that are left; what lies outside is 0, and never stored or never folded. */
DEVICE void HERE(fetch)(HERE(loads) * q, int loads, int live, int64_t step_stride, T *r)
{
    const int steps = (live < BK ? live : BK) - q->step;
    UNROLL
    for (int l = 0; l < loads; l++) r[l] = l * q->lines < q->left && l * q->steps < steps ? q->x[l * q->apart] : (T)0;
    q->x += BK * step_stride;
}

/* T panel[BK][width + VECTOR] */
DEVICE void HERE(put)(const HERE(loads) * q, int loads, int width, const T *r, T *panel)
{
    UNROLL
    for (int l = 0; l < loads; l++) panel[(q->step + l * q->steps) * (width + VECTOR) + q->line + l * q->lines] = r[l];
}

/* True if a sum of loaded elements can be NaN: one is, or is the infinity that meets the masking
 * one. */
DEVICE int HERE(is_odd)(int step, const T *ra, const T *rb)
{
    int odd = 0;
    UNROLL
    for (int l = 0; l < LOADS_A; l++) odd |= OF(odd)(step, ra[l]);
    UNROLL
    for (int l = 0; l < LOADS_B; l++) odd |= OF(odd)(step, rb[l]);
    return odd;
}

DEVICE void HERE(fold_one)(int step, int careful, const HERE(panels) * s, int which, int kk, int ty, int tx,
                           T acc[TM][TN])
{
    T x[TM], y[TN];
    UNROLL
    for (int i = 0; i < TM; i++) x[i] = s->a[which][kk][ROW_OF(i)];
    UNROLL
    for (int j = 0; j < TN; j++) y[j] = s->b[which][kk][COL_OF(j)];
    UNROLL
    for (int i = 0; i < TM; i++) {
        UNROLL
        for (int j = 0; j < TN; j++) acc[i][j] = OF(step)(step, careful, acc[i][j], x[i], y[j]);
    }
}

DEVICE void HERE(fold)(int step, int careful, const HERE(panels) * s, int which, int live, int ty, int tx,
                       T acc[TM][TN])
{
    if (live >= BK) {
        UNROLL
        for (int kk = 0; kk < BK; kk++) HERE(fold_one)(step, careful, s, which, kk, ty, tx, acc);
    } else {
        NO_UNROLL
        for (int kk = 0; kk < live; kk++) HERE(fold_one)(step, careful, s, which, kk, ty, tx, acc);
    }
}

/* Where a block's tile lies; thread: one's number in the block. */
typedef struct HERE(place) {
    int64_t i0, j0, z; /* z: of what is written: the product, or the part of one, which has neither D nor a mask */
    int thread;
} HERE(place);

DEVICE HERE(place) HERE(find)(const cbx__cuda_product *p)
{
    int block = (int)BLOCK, thread = THREAD;
    HERE(place) at;
    FORGET(block);
    FORGET(thread);
    /* all below 2^31, as the number of blocks is */
    const int down = (int)p->tiles_m, tiles = down * (int)p->tiles_n, t = block % tiles;
    at.z = block / tiles;
    at.i0 = (int64_t)(t % down) * BM;
    at.j0 = (int64_t)(t / down) * BN;
    at.thread = thread;
    return at;
}

/* acc at the start: the fold over nothing, or for booleans all ones where C is known already, so
 * that a block sees that it is done. */
DEVICE int HERE(begin)(const cbx__cuda_product *p, int step, const HERE(place) * at, T acc[TM][TN])
{
    const int tx = at->thread % TX, ty = at->thread / TX;
    int wanted = 0;
    UNROLL
    for (int i = 0; i < TM; i++) {
        UNROLL
        for (int j = 0; j < TN; j++) {
            acc[i][j] = OF(start)(step);
            if (step == STEP_OR || p->mask.x) {
                const int64_t row = at->i0 + ROW_OF(i), col = at->j0 + COL_OF(j);
                int want = is_wanted(p, row, col, at->z);
                if (want && step == STEP_OR && p->d.x)
                    want = !OF(known)(((const TC *)p->d.x)[row * p->d.row + col * p->d.col + at->z * p->d.batch]);
                if (step == STEP_OR && !want) acc[i][j] = (T) ~(int64_t)0;
                wanted |= want;
            } else {
                wanted = 1;
            }
        }
    }
    return wanted;
}

DEVICE void HERE(end)(const cbx__cuda_product *p, int step, const HERE(place) * at, T acc[TM][TN])
{
    const int tx = at->thread % TX, ty = at->thread / TX;
    TC *c = (TC *)p->c.x + at->z * p->c.batch;
    const TC *d = (const TC *)p->d.x + (p->d.x ? at->z * p->d.batch : 0);
    UNROLL
    for (int i = 0; i < TM; i++) {
        UNROLL
        for (int j = 0; j < TN; j++) {
            const int64_t row = at->i0 + ROW_OF(i), col = at->j0 + COL_OF(j);
            if (row >= p->m || col >= p->n) continue;
            TC x = OF(finalize)(step, p->raw, acc[i][j]);
            if (d) x = OF(merge)(step, p->raw, d[row * p->d.row + col * p->d.col], x);
            if (!is_wanted(p, row, col, at->z)) x = OF(empty)(step);
            c[row * p->c.row + col * p->c.col] = x;
        }
    }
}

DEVICE void HERE(tile)(const cbx__cuda_product *p, int step, HERE(panels) * s)
{
    const int tx = THREAD % TX, ty = THREAD / TX;
    HERE(place) at = HERE(find)(p);
    T acc[TM][TN], ra[LOADS_A], rb[LOADS_B];
    int which = 0, wanted = HERE(begin)(p, step, &at, acc);
    /* booleans have one part: their kernels have no register for more */
    const int parts = step == STEP_OR ? 1 : (int)p->parts;
    const int64_t from = step == STEP_OR ? 0 : (int)at.z % parts * p->chunk,
                  z = step == STEP_OR ? at.z : (int)at.z / parts;
    const int k = step == STEP_OR ? (int)p->k : (int)at_most(p->chunk, p->k - from); /* at most 2^31 - 1 */
    HERE(loads)
    a = HERE(aim)((const T *)p->a.x + z * p->a.batch + at.i0 * p->a.row + from * p->a.col, p->a_along_k, BM,
                  p->m - at.i0, p->a.row, p->a.col);
    HERE(loads)
    b = HERE(aim)((const T *)p->b.x + z * p->b.batch + at.j0 * p->b.col + from * p->b.row, !p->b_along_n, BN,
                  p->n - at.j0, p->b.col, p->b.row);

    HERE(fetch)(&a, LOADS_A, k, p->a.col, ra);
    HERE(fetch)(&b, LOADS_B, k, p->b.row, rb);
    HERE(put)(&a, LOADS_A, BM, ra, s->a[0][0]);
    HERE(put)(&b, LOADS_B, BN, rb, s->b[0][0]);
    wanted = BARRIER_ANY(wanted);
    int odd = CAREFUL(step) ? BARRIER_ANY(HERE(is_odd)(step, ra, rb)) : 0;
    for (int live = k; wanted && live > 0; live -= BK, which ^= 1) {
        const int more = live > BK;
        if (more) {
            HERE(fetch)(&a, LOADS_A, live - BK, p->a.col, ra);
            HERE(fetch)(&b, LOADS_B, live - BK, p->b.row, rb);
        }
        if (CAREFUL(step) && odd)
            HERE(fold)(step, 1, s, which, live, ty, tx, acc);
        else
            HERE(fold)(step, 0, s, which, live, ty, tx, acc);
        if (!more) break;
        HERE(put)(&a, LOADS_A, BM, ra, s->a[which ^ 1][0]);
        HERE(put)(&b, LOADS_B, BN, rb, s->b[which ^ 1][0]);
        if (CAREFUL(step)) {
            odd = BARRIER_ANY(HERE(is_odd)(step, ra, rb));
        } else if (step == STEP_OR) {
            int open = 0;
            UNROLL
            for (int i = 0; i < TM; i++) {
                UNROLL
                for (int j = 0; j < TN; j++) open |= acc[i][j] == 0;
            }
            wanted = BARRIER_ANY(open);
        } else {
            BARRIER();
        }
    }
    at = HERE(find)(p);
    HERE(end)(p, step, &at, acc);
}

#define ENTRY(word, step)                                                                                              \
    KERNEL(PASTE(PASTE(PASTE(cbx_##word##_, SFX), _), SIZE), cbx__cuda_product, THREADS, BLOCKS)                       \
    {                                                                                                                  \
        SHARED(HERE(panels), s);                                                                                       \
        HERE(tile)(&a, step, &s);                                                                                      \
    }
ENTRIES(ENTRY)

#undef HERE
#undef TILE
#undef ENTRY
#undef SIZE
#undef BLOCKS
