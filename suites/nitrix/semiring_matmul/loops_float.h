/* stream and naive-dense of one float type; included by loops_isa.c with T, TI, SFX and SQRT. */

/* True if some element is NaN or infinite: x - x is 0 for all others. */
static bool NAME(has_special)(const T *x, size_t count)
{
    TI odd = 0;
    for (size_t i = 0; i < count; i++) odd |= x[i] - x[i] != 0 ? -1 : 0;
    return odd != 0;
}

/* --- one row of C updated by one kk --- */

static inline void NAME(row_real)(size_t n, T a, const T *restrict b, T *restrict c)
{
    for (size_t j = 0; j < n; j++) c[j] += a * b[j];
}
static inline void NAME(row_square)(size_t n, T a, const T *restrict b, T *restrict c)
{
    for (size_t j = 0; j < n; j++) {
        const T d = a - b[j];
        c[j] += d * d;
    }
}
/* row_max and row_min, and those that let a NaN stay. */
#define EXTREME_ROWS(word, BEYOND)                                                                                     \
    static inline void NAME(row_##word)(size_t n, T a, const T *restrict b, T *restrict c)                             \
    {                                                                                                                  \
        for (size_t j = 0; j < n; j++) c[j] = a + b[j] BEYOND c[j] ? a + b[j] : c[j];                                  \
    }                                                                                                                  \
    static inline void NAME(row_##word##_nan)(size_t n, T a, const T *restrict b, T *restrict c)                       \
    {                                                                                                                  \
        for (size_t j = 0; j < n; j++) {                                                                               \
            const T t = a + b[j];                                                                                      \
            c[j] = ((t BEYOND c[j]) | (t != t)) ? t : c[j];                                                            \
        }                                                                                                              \
    }
EXTREME_ROWS(max, >)
EXTREME_ROWS(min, <)
#undef EXTREME_ROWS
/* Online log-sum-exp (Milakov & Gimelshein, arXiv 1805.02867): top is the largest term so far, sum
 * the sum of exp(t - top). Equal infinities count as a difference of 0, so +inf stays +inf and -inf
 * stays -inf; a NaN goes into the sum and stays. */
static inline void NAME(row_log)(size_t n, T a, const T *restrict b, T *restrict top, T *restrict sum)
{
    for (size_t j = 0; j < n; j++) {
        const T t = a + b[j], d = t - top[j];
        const T e = t == top[j] ? (T)1 : PASTE(cbx_vm_exp, SFX)(d < 0 ? d : -d);
        sum[j] = t > top[j] ? sum[j] * e + 1 : sum[j] + e;
        top[j] = t > top[j] ? t : top[j];
    }
}

static T NAME(log_of)(T top, T sum)
{
    if (sum != sum) return sum;
    return isinf(top) ? top : top + PASTE(cbx_vm_log, SFX)(sum);
}

/* --- stream --- */

static void NAME(stream)(const cbx__suite_plan *s)
{
    const cbx__sm_point *p = s->point;
    const size_t m = p->m, k = p->k, n = p->n;
    const cbx_algebra g = p->semiring->id;
    const T *A = s->in[0], *B = s->in[1];
    T *C = s->out[0], *sum = s->scratch;
    const T start = (T)p->semiring->identity;
    const bool special = NAME(has_special)(A, m * k) || NAME(has_special)(B, k * n);
    void (*row)(size_t, T, const T *restrict, T *restrict) = g == CBX_ALGEBRA_REAL        ? NAME(row_real)
                                                             : g == CBX_ALGEBRA_EUCLIDEAN ? NAME(row_square)
                                                             : g == CBX_ALGEBRA_TROPICAL_MAX_PLUS
                                                                 ? (special ? NAME(row_max_nan) : NAME(row_max))
                                                                 : (special ? NAME(row_min_nan) : NAME(row_min));
    for (size_t i = 0; i < m * n; i++) C[i] = start;
    for (size_t i = 0; g == CBX_ALGEBRA_LOG && i < m * n; i++) sum[i] = 0;
    for (size_t kk = 0; kk < k; kk++) {
        if (g == CBX_ALGEBRA_LOG)
            for (size_t i = 0; i < m; i++) NAME(row_log)(n, A[i * k + kk], B + kk * n, C + i * n, sum + i * n);
        else
            for (size_t i = 0; i < m; i++) row(n, A[i * k + kk], B + kk * n, C + i * n);
    }
    if (g == CBX_ALGEBRA_EUCLIDEAN)
        for (size_t i = 0; i < m * n; i++) C[i] = SQRT(C[i]);
    if (g == CBX_ALGEBRA_LOG)
        for (size_t i = 0; i < m * n; i++) C[i] = NAME(log_of)(C[i], sum[i]);
}

/* --- naive-dense --- */

/* terms[i,kk,j] = combine(A[i,kk], B[kk,j]) */
static void NAME(materialise)(const cbx__suite_plan *s, T *restrict terms)
{
    const cbx__sm_point *p = s->point;
    const size_t m = p->m, k = p->k, n = p->n;
    const cbx_algebra g = p->semiring->id;
    const T *A = s->in[0], *B = s->in[1];
    for (size_t i = 0; i < m; i++) {
        for (size_t kk = 0; kk < k; kk++) {
            const T a = A[i * k + kk], *restrict b = B + kk * n;
            T *restrict t = terms + (i * k + kk) * n;
            if (g == CBX_ALGEBRA_REAL)
                for (size_t j = 0; j < n; j++) t[j] = a * b[j];
            else if (g == CBX_ALGEBRA_EUCLIDEAN)
                for (size_t j = 0; j < n; j++) t[j] = (a - b[j]) * (a - b[j]);
            else
                for (size_t j = 0; j < n; j++) t[j] = a + b[j];
        }
    }
}

/* sum over kk of exp(t - top) for one row of C; `sum` has n elements. */
static void NAME(reduce_exp)(size_t k, size_t n, const T *restrict terms, const T *restrict top, T *restrict sum)
{
    for (size_t j = 0; j < n; j++) sum[j] = 0;
    for (size_t kk = 0; kk < k; kk++)
        for (size_t j = 0; j < n; j++) {
            const T t = terms[kk * n + j];
            sum[j] += t == top[j] ? (T)1 : PASTE(cbx_vm_exp, SFX)(t - top[j]);
        }
}

static void NAME(dense)(const cbx__suite_plan *s)
{
    const cbx__sm_point *p = s->point;
    const size_t m = p->m, k = p->k, n = p->n;
    const cbx_algebra g = p->semiring->id;
    T *C = s->out[0], *terms = s->scratch;
    NAME(materialise)(s, terms);
    for (size_t i = 0; i < m * n; i++) C[i] = (T)p->semiring->identity;
    for (size_t i = 0; i < m; i++) {
        T *restrict c = C + i * n;
        for (size_t kk = 0; kk < k; kk++) {
            const T *restrict t = terms + (i * k + kk) * n;
            if (g == CBX_ALGEBRA_REAL || g == CBX_ALGEBRA_EUCLIDEAN)
                for (size_t j = 0; j < n; j++) c[j] += t[j];
            else if (g == CBX_ALGEBRA_TROPICAL_MIN_PLUS)
                for (size_t j = 0; j < n; j++) c[j] = ((t[j] < c[j]) | (t[j] != t[j])) ? t[j] : c[j];
            else
                for (size_t j = 0; j < n; j++) c[j] = ((t[j] > c[j]) | (t[j] != t[j])) ? t[j] : c[j];
        }
        if (g == CBX_ALGEBRA_EUCLIDEAN)
            for (size_t j = 0; j < n; j++) c[j] = SQRT(c[j]);
        if (g == CBX_ALGEBRA_LOG && k > 0) {
            T *sum = terms + m * k * n;
            NAME(reduce_exp)(k, n, terms + i * k * n, c, sum);
            for (size_t j = 0; j < n; j++) c[j] = NAME(log_of)(c[j], sum[j]);
        }
    }
}
