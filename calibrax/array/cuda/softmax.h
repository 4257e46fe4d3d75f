/* Softmax of the rows of a sparse matrix, a warp each; included once a float type.  Expects SFX.
 * Rules: cbx_ell_softmax_run.  Lane l adds the exps of places l, l + 32, ..., then the
 * lanes' sums meet in a fixed order. */

KERNEL(PASTE(cbx_ell_softmax_, SFX), cbx__cuda_ell, CBX__CUDA_BLOCK, 2)
{
    const int lane = THREAD % 32;
    const int64_t row = BLOCK * (CBX__CUDA_BLOCK / 32) + THREAD / 32;
    if (row >= a.rows) return; /* a warp as one */
    const int64_t first = a.start ? (int64_t)a.start[row] : row * a.width;
    const int n = a.start ? (int)(a.start[row + 1] - a.start[row]) : a.degree ? a.degree[row] : (int)a.width;
    const T *values = (const T *)a.values;
    T *y = (T *)a.c, top = -INF, sum = 0, wrong = 0;

    for (int64_t q = (a.place ? 0 : n) + lane; q < a.width; q += 32) y[row * a.width + q] = 0;
    for (int e = lane; e < n; e += 32) {
        const T x = values[a.place ? (int64_t)a.place[first + e] : first + e];
        top = x > top ? x : top;
    }
    for (int far = 16; far; far /= 2) {
        const T other = WARP_XOR(top, far);
        top = other > top ? other : top;
    }
    if (!(top - top == 0)) {
        wrong = top > 0 ? NOT : (T)0;
        top = 0;
    }
    for (int e = lane; e < n; e += 32) {
        const int64_t at = a.place ? (int64_t)a.place[first + e] : first + e;
        sum += OF(exp)(values[at] - top);
    }
    for (int far = 16; far; far /= 2) sum += WARP_XOR(sum, far);
    sum = (T)1 / (sum == 0 ? (T)1 : sum) + wrong;
    for (int e = lane; e < n; e += 32) {
        const int64_t at = a.place ? (int64_t)a.place[first + e] : first + e;
        y[at] = OF(exp)(values[at] - top) * sum;
    }
}
