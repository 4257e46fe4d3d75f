/* Inputs, and the transformation under which the answer is known.
 *
 * Floats are standard normal draws, A then B, one stream of the point's seed, drawn in double and
 * rounded to the dtype. Booleans are true with probability p = sqrt(1 - 2^(-1/k)), so that C[i,j],
 * false with probability (1 - p^2)^k, is true half the time, whatever k is: 36 % at k = 5, 3.7 % at
 * 512, 2.6 % at 1024.  A fixed density makes C all false where k is small, which every wrong kernel
 * passes, and all true where it is large, which flatters one that stops at the first true term;
 * here half of the elements need the whole loop.  The other densities, "sparse" and "half", are for
 * speeds: there C is nearly all true, by few terms or by very few.
 *
 * Rotation: rows of A and columns of B are permuted, and the product's rows and columns permute
 * with them.  Every step of the work is the same, and no element of C stays where it was. */
#include <string.h>

#include "suites/common/arrays.h"
#include "suites/common/rotation.h"
#include "suites/nitrix/semiring_matmul/matmul.h"

const char *const cbx__sm_densities[] = { "even", "sparse", "half", NULL };

static double density_of(const cbx_params *params, size_t k)
{
    const char *word = cbx_params_word(params, "density");
    return !strcmp(word, "sparse") ? 0.01 : !strcmp(word, "half") ? 0.5 : cbx__suite_bool_density(k);
}

cbx_status cbx__sm_make_inputs(cbx_ctx *ctx, const cbx_params *params, cbx_array **in, cbx_err *err)
{
    const cbx__sm_point p = cbx__sm_read(params);
    const cbx_array_desc shapes[] = { { p.dtype, 2, { p.m, p.k } }, { p.dtype, 2, { p.k, p.n } } };
    cbx_rng rng = cbx_rng_make(p.seed, CBX__SUITE_STREAM_INPUTS);
    const cbx_status st = cbx__suite_arrays(ctx, shapes, CBX_LEN(shapes), in, err);

    for (size_t i = 0; i < CBX_LEN(shapes) && !st; i++) cbx__suite_fill(in[i], density_of(params, p.k), &rng);
    return st;
}

static const cbx__suite_axes axes[] = { { 0, -1 }, { -1, 1 } };

static cbx__suite_rotation rotation_of(const cbx__sm_point *p, uint64_t r)
{
    return (cbx__suite_rotation){ p->seed, r, p->m, p->n, NULL };
}

cbx_status cbx__sm_rotate_inputs(cbx_ctx *ctx, const cbx_params *params, uint64_t r, cbx_array *const *in,
                                 cbx_array **rotated, cbx_err *err)
{
    const cbx__sm_point p = cbx__sm_read(params);
    const cbx__suite_rotation t = rotation_of(&p, r);
    return cbx__suite_rotate(ctx, &t, axes, CBX_LEN(axes), in, rotated, err);
}

cbx_status cbx__sm_rotate_output(cbx_ctx *ctx, const cbx_params *params, uint64_t r, size_t output, const cbx_array *a,
                                 cbx_array **rotated, cbx_err *err)
{
    const cbx__sm_point p = cbx__sm_read(params);
    const cbx__suite_rotation t = rotation_of(&p, r);
    (void)output;
    return cbx__suite_rotate_one(ctx, &t, (cbx__suite_axes){ 0, 1 }, a, rotated, err);
}
