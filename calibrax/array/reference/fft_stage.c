/*
 * Transforms of one lane: stages (kernels/fft_isa.c), or a convolution with a chirp.
 */
#include <string.h>

#include "calibrax/array/reference/fft.h"

/* Between out and work, so that the last stage writes out. */
static void run_stages(const cbx__fft_plan *plan, const cbx__cx *in, cbx__cx *out, cbx__cx *work, bool inverse)
{
    const cbx__fft_run_stage run = cbx__fft_stage_get(cbx_isa_best());
    const cbx__cx *from = in;

    if (plan->nstages == 0) out[0] = in[0];
    for (int i = 0; i < plan->nstages; i++) {
        cbx__cx *to = (plan->nstages - i) % 2 ? out : work;
        run(&plan->stages[i], from, to, inverse);
        from = to;
    }
}

/*
 * Bluestein: j k = (j^2 + k^2 - (j - k)^2) / 2 makes the transform a convolution with a chirp.
 * Back: the conjugate of the transform of the conjugate.  Source: Bluestein, IEEE Trans. Audio
 * Electroacoust. 18 (1970) 451-455.
 */
static void run_chirp(const cbx__fft_plan *plan, const cbx__cx *in, cbx__cx *out, cbx__cx *work, bool inverse)
{
    const size_t n = plan->n, m = plan->inner->n;
    cbx__cx *a = work, *b = work + m, *rest = work + 2 * m;

    for (size_t k = 0; k < n; k++) {
        const cbx__v2 x = in[k];
        a[k] = cbx__v2_mul(inverse ? cbx__v2_conj(x) : x, plan->chirp[k], false);
    }
    memset(a + n, 0, (m - n) * sizeof *a);
    cbx__fft_run(plan->inner, a, b, rest, false);
    for (size_t k = 0; k < m; k++) b[k] = cbx__v2_mul(b[k], plan->chirp_ft[k], false);
    cbx__fft_run(plan->inner, b, a, rest, true);
    for (size_t k = 0; k < n; k++) {
        const cbx__v2 y = cbx__v2_mul(a[k], plan->chirp[k], false);
        out[k] = inverse ? cbx__v2_conj(y) : y;
    }
}

void cbx__fft_run(const cbx__fft_plan *plan, const cbx__cx *in, cbx__cx *out, cbx__cx *work, bool inverse)
{
    (plan->inner ? run_chirp : run_stages)(plan, in, out, work, inverse);
}
