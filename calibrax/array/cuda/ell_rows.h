/* Sparse products of one float type in one width: WIDE neighbouring columns a thread, which one
 * load brings if WIDE > 1. Included once a type and width; expects SFX, FORM (its word in names),
 * WIDE.
 *
 * A group of 2^lanes_log threads takes a part of a row's columns; a row's places are folded in
 * order by one accumulator, so the bits of C depend on nothing else.  Four gathers are under way
 * before the first is folded. */
#define HERE(name) PASTE(OF(name), PASTE(_, FORM))
#define AHEAD      4

typedef struct HERE(run) {
    T ALIGNED(WIDE * sizeof(T)) x[WIDE];
} HERE(run);

/* What a group works on. */
typedef struct HERE(part) {
    int64_t row, col, first; /* col: of C, this thread's first; first: edge */
    int degree, live;        /* live: false, nothing to do */
} HERE(part);

DEVICE HERE(part) HERE(part_of)(const cbx__cuda_ell *p)
{
    const int lanes = 1 << p->lanes_log;
    const int64_t group = BLOCK * (CBX__CUDA_BLOCK >> p->lanes_log) + (THREAD >> p->lanes_log);
    HERE(part) q;

    q.row = group / p->parts;
    q.col = (group % p->parts * lanes + (THREAD & (lanes - 1))) * WIDE;
    q.live = q.row < p->rows && q.col < p->d;
    q.first = 0;
    q.degree = 0;
    if (!q.live) return q;
    q.first = p->start ? (int64_t)p->start[q.row] : q.row * p->width;
    q.degree = p->start ? (int)(p->start[q.row + 1] - p->start[q.row]) : p->degree ? p->degree[q.row] : (int)p->width;
    return q;
}

DEVICE T HERE(fold_edge)(int step, T acc, T a, T b)
{
    if (step == ELL_FMA) return OF(fma)(a, b, acc);
    if (step == ELL_GATHER) return OF(xor)(acc, b);
    if (step == ELL_SQUARE) {
        const T x = a - b;
        return OF(fma)(x, x, acc);
    }
    const T t = step == ELL_MAX_SCALED || step == ELL_MIN_SCALED ? a * b : a + b;
    return step == ELL_MIN || step == ELL_MIN_SCALED ? OF(min_nan)(acc, t) : OF(max_nan)(acc, t);
}

/* The edges [e, e + n) of the part: weights and neighbours' rows. */
DEVICE void HERE(gather)(const cbx__cuda_ell *p, const HERE(part) * q, int e, int n, T *weight, HERE(run) * rows)
{
    UNROLL
    for (int u = 0; u < AHEAD; u++) {
        if (u >= n) break;
        const int64_t edge = q->first + e + u;
        weight[u] = p->values ? ((const T *)p->values)[p->place ? (int64_t)p->place[edge] : edge] : (T)0;
        rows[u] = *(const HERE(run) *)((const T *)p->b + (int64_t)p->index[edge] * p->ldb + q->col);
    }
}

/* acc = fold over the edges in order; step ELL_LOG adds exp(t - top), top[] given. */
DEVICE void HERE(fold_row)(const cbx__cuda_ell *p, const HERE(part) * q, int step, const T *top, T *acc)
{
    for (int e = 0; e < q->degree; e += AHEAD) {
        const int n = q->degree - e < AHEAD ? q->degree - e : AHEAD;
        T weight[AHEAD];
        HERE(run) rows[AHEAD];
        HERE(gather)(p, q, e, n, weight, rows);
        UNROLL
        for (int u = 0; u < AHEAD; u++) {
            if (u >= n) break;
            UNROLL
            for (int v = 0; v < WIDE; v++)
                acc[v] = step == ELL_LOG ? acc[v] + OF(exp)((weight[u] + rows[u].x[v]) - top[v])
                                         : HERE(fold_edge)(step, acc[v], weight[u], rows[u].x[v]);
        }
    }
}

DEVICE void HERE(product)(const cbx__cuda_ell *p, int step)
{
    const HERE(part) q = HERE(part_of)(p);
    const int tropical = step == ELL_LOG ? ELL_MAX : step;
    const T start = tropical == ELL_MAX || tropical == ELL_MAX_SCALED   ? -INF
                    : tropical == ELL_MIN || tropical == ELL_MIN_SCALED ? INF
                                                                        : (T)0;
    T acc[WIDE], sum[WIDE];
    HERE(run) out;

    if (!q.live) return;
    UNROLL
    for (int v = 0; v < WIDE; v++) acc[v] = start;
    HERE(fold_row)(p, &q, tropical, acc, acc);
    if (step == ELL_LOG) {
        UNROLL
        for (int v = 0; v < WIDE; v++) sum[v] = 0;
        HERE(fold_row)(p, &q, ELL_LOG, acc, sum);
    }
    UNROLL
    for (int v = 0; v < WIDE; v++) {
        if (step == ELL_LOG && acc[v] - acc[v] == 0) acc[v] = acc[v] + OF(log)(sum[v]);
        out.x[v] = step == ELL_SQUARE ? OF(sqrt)(acc[v]) : acc[v];
    }
    *(HERE(run) *)((T *)p->c + q.row * p->ldc + q.col) = out;
}

#define ENTRY(word, step)                                                                                              \
    KERNEL(PASTE(PASTE(PASTE(cbx_ell_##word##_, SFX), _), FORM), cbx__cuda_ell, CBX__CUDA_BLOCK, 2)                    \
    {                                                                                                                  \
        HERE(product)(&a, step);                                                                                       \
    }
ENTRY(fma, ELL_FMA)
ENTRY(square, ELL_SQUARE)
ENTRY(max, ELL_MAX)
ENTRY(min, ELL_MIN)
ENTRY(max_scaled, ELL_MAX_SCALED)
ENTRY(min_scaled, ELL_MIN_SCALED)
ENTRY(log, ELL_LOG)
ENTRY(gather, ELL_GATHER)

#undef HERE
#undef AHEAD
#undef ENTRY
