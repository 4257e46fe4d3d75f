/**
 * Functions of arrays as C: compiled ahead of time, by whoever builds the text, without this
 * library.
 *
 *     const cbx_array_desc in[] = { { CBX_F64, 1, { 1000 } }, { CBX_F64, 0 } };
 *     cbx_aot_write(c, CBX_FN(decay, NULL, 2, 1), in, "src/decay", &err);
 *
 * writes src/decay.h, which declares
 *
 *     void decay(const double *in0, const double *in1, double *out0);
 *
 * and src/decay.c, C17 that needs the C library and <math.h> alone.  Any function that is traced
 * can be written, a gradient too.  Its operations must work element by element, be views, fold axes
 * by sum, product, extremes, any or all, or scan with steps that work element by element; complex
 * numbers, products of matrices, sorting, gathering and other control flow are refused.
 *
 * The function that is written takes arrays of the shapes that it was written for, row-major and
 * without gaps, that do not overlap.  Where it needs memory of its own, it takes `void *work` last,
 * NAME_WORK_BYTES of it, aligned as malloc does.  It allocates nothing and is safe from any thread.
 * Its results have the bits of the reference backend; functions such as exp and sin are written
 * out, and outside of their ordinary domain they are those of the C library that it is linked with.
 * gcc and clang make vectors of it: build with -O3 -march=native, or at least with FMA (-mfma),
 * without which it is slow.
 */
#ifndef CALIBRAX_ARRAY_AOT_H
#define CALIBRAX_ARRAY_AOT_H

#include "calibrax/array/fn.h"
#include "calibrax/base/ctx.h"
#include "calibrax/base/text.h"

CBX_BEGIN_DECLS

/**
 * Writes PATH.h and PATH.c.
 * @param in    f->nin descriptions
 * @param path  without a suffix; its last part is the name of the function: a letter, then also
 *              digits and '_'; no word of C or C++, nothing that <math.h>, <stdint.h>, <stdbool.h>
 *              or <string.h> define, no header's own name, nothing that the file defines itself
 *              (kernel0, log_f64), and not with "_t" at its end
 * @return CBX_OK; CBX_EINVAL (such a name); CBX_EUNSUPPORTED (an operation or
 *         a dtype that has no form in C, by its name); as cbx_fn_infer; CBX_EIO; neither file is
 *         changed on failure, but for one that cannot be written
 * Since 0.1.
 */
CBX_API cbx_status cbx_aot_write(cbx_ctx *ctx, const cbx_fn *f, const cbx_array_desc *in, const char *path,
                                 cbx_err *err);
/**
 * The same as texts.
 * @param name    of the function
 * @param header, source  the texts are added; check them
 */
CBX_API cbx_status cbx_aot_text(cbx_ctx *ctx, const cbx_fn *f, const cbx_array_desc *in, const char *name,
                                cbx_text *header, cbx_text *source, cbx_err *err);

CBX_END_DECLS
#endif
