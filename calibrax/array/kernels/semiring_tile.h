/*
 * The register tile, included once an element type: a block of C over a panel of kk.
 *
 * Expects SFX, T, TI, KC, MC, NC; for floats VMAX and VMIN; TILE_BOOL for booleans.
 * VMAX(x, y) gives y if either is NaN (x86) or NaN (ARM); panels that can make a NaN take the _NAN steps instead.
 */
#define NAME(x) PASTE(PASTE(x, _), SFX)
#define MR      TILE_ROWS
#define LANES   (VECTOR_BYTES / (int)sizeof(T))
#ifdef TILE_BOOL
#define NV 1
#else
#define NV 2
#endif
#define NR (NV * LANES)
#define KA                                                                                                             \
    (KC + 16) /* row stride of a packed block of A: constant, and no power of two, which would crowd few cache sets */
#define vec NAME(vec)

typedef T vec __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef TI NAME(mask) __attribute__((vector_size(VECTOR_BYTES), may_alias));

ALWAYS_INLINE vec NAME(select)(NAME(mask) m, vec x, vec y) { return (vec)(((NAME(mask))x & m) | ((NAME(mask))y & ~m)); }

/* acc' of one step; s is a constant wherever this is inlined. */
ALWAYS_INLINE vec NAME(step)(step s, vec acc, T a, vec b)
{
#ifdef TILE_BOOL
    (void)s;
    return acc | (a & b);
#else
    if (s == STEP_FMA) return acc + a * b;
    if (s == STEP_SQUARE) {
        const vec d = a - b;
        return acc + d * d;
    }
    const vec t = a + b;
    if (s == STEP_MAX) return VMAX(acc, t);
    if (s == STEP_MIN) return VMIN(acc, t);
    /* a NaN term replaces acc, a NaN acc stays: the comparison with it is false */
    const NAME(mask) wins = (NAME(mask))(s == STEP_MAX_NAN ? t > acc : t < acc) | (NAME(mask))(t != t);
    return NAME(select)(wins, t, acc);
#endif
}

/* tile[MR][NR] = fold over kc of the packed panels, from `start`. */
ALWAYS_INLINE void NAME(micro)(step s, size_t kc, const T *restrict a, const T *restrict b, T start, T *restrict tile)
{
    vec acc[MR][NV];
    UNROLL for (int i = 0; i < MR; i++) { UNROLL for (int v = 0; v < NV; v++) acc[i][v] = start - (vec){ 0 }; }
    for (size_t kk = 0; kk < kc; kk++, a++, b += NR) {
        vec bv[NV];
        UNROLL for (int v = 0; v < NV; v++) bv[v] = *(const vec *)(b + v * LANES);
        UNROLL for (int i = 0; i < MR; i++)
        {
            UNROLL for (int v = 0; v < NV; v++) acc[i][v] = NAME(step)(s, acc[i][v], a[i * KA], bv[v]);
        }
    }
    UNROLL for (int i = 0; i < MR; i++)
    {
        UNROLL for (int v = 0; v < NV; v++) * (vec *)(tile + i * NR + v * LANES) = acc[i][v];
    }
}

/* Where a panel's packed copies and the helper vectors lie in the workspace. */
typedef struct NAME(room) {
    T *a, *b;                                         /* packed panels */
    T *row_shift, *row_limit, *col_shift, *col_limit; /* log only */
    size_t bytes;
} NAME(room);

/* m-by-n is the shape of C in elements of T; the same walk sizes and lays out. */
static NAME(room) NAME(layout)(const cbx_matmul *p, size_t lanes, char *base)
{
    NAME(room) r = { 0 };
    const size_t kc = min_size(p->k, KC), mc = round_up(min_size(p->m, MC), MR), nc = round_up(min_size(lanes, NC), NR);
    size_t at = 0;
    T **const part[] = { &r.a, &r.b, &r.row_shift, &r.row_limit, &r.col_shift, &r.col_limit };
    const bool shifts = p->semiring->id == CBX_ALGEBRA_LOG;
    const size_t count[] = { mc * KA,
                             nc * kc,
                             shifts ? round_up(p->m, MR) : 0,
                             shifts ? round_up(p->m, MR) : 0,
                             shifts ? round_up(lanes, NR) : 0,
                             shifts ? round_up(lanes, NR) : 0 };
    for (size_t i = 0; i < CBX_LEN(part); i++) {
        *part[i] = base ? (T *)(void *)(base + at) : NULL;
        at += round_up(count[i] * sizeof(T), 64);
    }
    r.bytes = at ? at : 64;
    return r;
}
