/* The cotangent of a real convolution's filter, dw[t,c,o] = sum over positions p of x[p*stride +
 * t*dilation - low, c] g[p,o], included once a float type behind convolve_tile.h: MR neighbouring
 * channels by up to NV vectors of output channels in registers, while the positions of some lines
 * whose tap lies inside of x pass by.  What lies outside has no part in it. */

/* Positions of one line of the result: n elements of x, `across` apart, and n rows of g. */
typedef struct NAME(piece) {
    const T *a, *b;
    size_t n;
} NAME(piece);

typedef struct NAME(passing) {
    const NAME(piece) * piece;
    size_t pieces, c0, col; /* of x, of g */
    size_t across, ldb;     /* from one position to the next */
} NAME(passing);

/* C[MR][nv vectors] = the sum over the pieces; without first added to what C holds. */
INLINE void NAME(pull_micro)(int nv, const NAME(passing) * o, T *restrict c, size_t ldc, bool first)
{
    const size_t across = o->across, ldb = o->ldb;
    vec acc[MR][NV];

    UNROLL for (int i = 0; i < MR; i++) { UNROLL for (int v = 0; v < nv; v++) acc[i][v] = (vec){ 0 }; }
    for (size_t q = 0; q < o->pieces; q++) {
        const T *restrict a = o->piece[q].a + o->c0, *restrict b = o->piece[q].b + o->col;
        for (size_t n = o->piece[q].n; n > 0; n--, a += across, b += ldb) {
            vec bv[NV];
            UNROLL for (int v = 0; v < nv; v++) bv[v] = *(const vec *)(b + v * LANES);
            UNROLL for (int i = 0; i < MR; i++) { UNROLL for (int v = 0; v < nv; v++) acc[i][v] += a[i] * bv[v]; }
        }
    }
    UNROLL for (int i = 0; i < MR; i++)
    {
        UNROLL for (int v = 0; v < nv; v++)
        {
            vec *to = (vec *)(c + (size_t)i * ldc + v * LANES);
            *to = first ? acc[i][v] : NAME(merge)(STEP_FMA, *to, acc[i][v]);
        }
    }
}

typedef void NAME(vjp_fn)(const NAME(passing) * o, T *c, size_t ldc, bool first);

#define TILE(s, nv)                                                                                                    \
    static void NAME(pull_##nv)(const NAME(passing) * o, T * c, size_t ldc, bool first)                                \
    {                                                                                                                  \
        NAME(pull_micro)(nv, o, c, ldc, first);                                                                        \
    }
EACH_WIDTH(TILE, )
#undef TILE

#define ENTRY(s, nv) NAME(pull_##nv),
static NAME(vjp_fn) *const NAME(pulls)[NV] = { EACH_WIDTH(ENTRY, ) };
#undef ENTRY

typedef struct NAME(vjp_job) {
    NAME(conv_job) conv;
    const T *g;
    T *dw;
    T *copy;                       /* of g in rows of whole vectors, where they are not; else NULL */
    size_t ldg, lines, high, taps; /* lines of the result, and those of a block */
    char *tables, *own;
    size_t own_bytes, bytes;
} NAME(vjp_job);

/* Of a block a panel of g and MR channels of x stay in the first-level cache while all taps read
 * them; dw that is larger than caches is not read back so often. */
static void NAME(vjp_layout)(NAME(vjp_job) * j, const cbx__conv_plan *plan, char *base)
{
    enum { POSITIONS = 128, FEW_BLOCKS = 512, LARGE = 1 << 20 };
    const cbx__conv *v = plan->v;
    const size_t width = v->positions[v->ndim - 1],
                 wanted = cbx__conv_terms(v) * v->outs * sizeof(T) > LARGE ? FEW_BLOCKS : POSITIONS;
    size_t at = 0;

    j->conv.v = v;
    j->conv.m = cbx__conv_rows(v), j->conv.k = cbx__conv_terms(v), j->conv.n = v->outs;
    j->conv.panels = (round_up(v->outs, LANES) + NR - 1) / NR;
    j->taps = j->conv.k / v->channels;
    j->ldg = round_up(v->outs, LANES);
    j->lines = j->conv.m / width;
    j->high = width < wanted ? wanted / width : 1;
    j->own_bytes = round_up(j->taps * (j->high * sizeof(NAME(piece)) + sizeof(size_t)), 64);
    const size_t count[] = { j->ldg == v->outs ? 0 : j->conv.m * j->ldg * sizeof(T), walk_tables(v),
                             (size_t)plan->threads * j->own_bytes };
    void **const part[] = { (void **)&j->copy, (void **)&j->tables, (void **)&j->own };
    for (size_t i = 0; i < CBX_LEN(part); i++) {
        *part[i] = base && count[i] ? base + at : NULL;
        at += round_up(count[i], 64);
    }
    j->bytes = at;
}

/* Pieces of lines [from, upto) under a tap. */
static size_t NAME(pieces_of)(const NAME(vjp_job) * j, size_t tap, size_t from, size_t upto, NAME(piece) * out)
{
    const walk *k = &j->conv.walk;
    const cbx__conv *v = j->conv.v;
    const size_t width = v->positions[k->last], u = tap / k->inner, t = tap % k->inner, first = k->from[t],
                 apart = v->dilation[k->last] * k->axis[k->last];
    const T *g = j->copy ? j->copy : j->g;
    place p = place_at(k, from * width);
    size_t n = 0;

    for (size_t line = from; line < upto; line++, next_line(k, &p)) {
        if (k->upto[t] <= first || !outer_inside(k, &p, u)) continue;
        p.at[k->last] = first;
        const char *x = (const char *)v->x + (begin_of(k, &p) + k->along[u] + t * apart);
        out[n++] = (NAME(piece)){ (const T *)(const void *)x, g + (line * width + first) * j->ldg, k->upto[t] - first };
    }
    return n;
}

/* One panel of the rows of dw from channel c0 on, `skip` of them done already. */
static void NAME(vjp_tile)(const NAME(vjp_job) * j, NAME(passing) * o, size_t tap, size_t panel, size_t skip,
                           bool first)
{
    const cbx__conv *v = j->conv.v;
    const size_t end = NAME(panel_at)(&j->conv, panel + 1) * LANES;
    T buffer[MR * NR] __attribute__((aligned(64)));

    o->col = NAME(panel_at)(&j->conv, panel) * LANES;
    T *to = j->dw + (tap * v->channels + o->c0) * v->outs + o->col;
    NAME(vjp_fn) *const pull = NAME(pulls)[(end - o->col) / LANES - 1];
    if (skip == 0 && end <= v->outs) {
        pull(o, to, v->outs, first);
        return;
    }
    pull(o, buffer, NR, true);
    for (size_t r = skip; r < MR; r++)
        for (size_t l = 0; l < min_size(end, v->outs) - o->col; l++)
            to[r * v->outs + l] = first ? buffer[r * NR + l] : to[r * v->outs + l] + buffer[r * NR + l];
}

/* A thread has the same tiles in all blocks, so that its sums have one order. */
static void NAME(vjp_work)(void *job, size_t id, size_t nt)
{
    const NAME(vjp_job) *j = job;
    const cbx__conv *v = j->conv.v;
    const size_t across = (v->channels + MR - 1) / MR, tiles = j->conv.panels * across * j->taps;
    NAME(piece) *pieces = (NAME(piece) *)(void *)(j->own + id * j->own_bytes);
    size_t *counts = (size_t *)(void *)(pieces + j->taps * j->high);

    for (size_t r = id; j->copy && r < j->conv.m; r += nt) {
        memset(j->copy + r * j->ldg, 0, j->ldg * sizeof(T));
        NAME(copy)(j->copy + r * j->ldg, j->g + r * v->outs, v->outs);
    }
    cbx__team_wait(nt);
    for (size_t line = 0; line < j->lines; line += j->high) {
        for (size_t t = 0; t < j->taps; t++)
            counts[t] = NAME(pieces_of)(j, t, line, min_size(line + j->high, j->lines), pieces + t * j->high);
        for (size_t i = tiles * id / nt; i < tiles * (id + 1) / nt; i++) {
            const size_t tap = i % j->taps, c0 = i / j->taps % across * MR, begin = min_size(c0, v->channels - MR);
            NAME(passing)
            o = { .piece = pieces + tap * j->high,
                  .pieces = counts[tap],
                  .c0 = begin,
                  .across = v->stride[v->ndim - 1] * v->channels,
                  .ldb = j->ldg };
            NAME(vjp_tile)(j, &o, tap, i / j->taps / across, c0 - begin, line == 0);
        }
    }
}

static size_t NAME(vjp_workspace)(const cbx__conv_plan *plan)
{
    NAME(vjp_job) j = { .dw = NULL };

    NAME(vjp_layout)(&j, plan, NULL);
    return j.bytes;
}

static void NAME(vjp_run)(const cbx__conv_plan *plan)
{
    NAME(vjp_job) j = { .g = plan->g, .dw = plan->dw };

    NAME(vjp_layout)(&j, plan, plan->v->workspace);
    j.conv.walk = walk_of(plan->v, NULL, j.tables);
    cbx__team_run(plan->threads, NAME(vjp_work), &j);
}
