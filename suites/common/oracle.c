/* The frame of an oracle; see oracle.h. */
#include "suites/common/oracle.h"

#include <string.h>

#include "suites/common/arrays.h"

cbx_status cbx__suite_problem_begin(cbx_ctx *ctx, const cbx_case_ops *c, const cbx_params *given, cbx_array *const *in,
                                    size_t scratch, cbx__suite_problem *q, cbx_err *err)
{
    cbx_array_desc outputs[CBX_CASE_MAX_ARRAYS];
    c->outputs(given, outputs);
    const bool boolean = outputs[0].dtype == CBX_BOOL;
    cbx_array_desc descs[] = { outputs[0], outputs[0], { CBX_F64, 1, { scratch } } };

    *q = (cbx__suite_problem){ 0 };
    descs[0].dtype = boolean ? CBX_BOOL : CBX_F64;
    descs[1].dtype = CBX_F64;
    for (size_t i = 0; i < c->ninputs; i++) descs[2].shape[0] += cbx_array_count(in[i]);
    const cbx_status st = cbx__suite_arrays(ctx, descs, CBX_LEN(descs), q->made, err);
    if (st) return st;
    if (boolean)
        q->truth = cbx_array_data_mut(q->made[0]);
    else
        q->answer = cbx_array_data_mut(q->made[0]);
    q->bound = cbx_array_data_mut(q->made[1]);
    q->scratch = cbx_array_data_mut(q->made[2]);
    if (cbx_array_bytes(q->made[1])) memset(q->bound, 0, cbx_array_bytes(q->made[1]));
    double *to = q->scratch + scratch;
    for (size_t i = 0; i < c->ninputs; to += cbx_array_count(in[i++])) {
        q->in[i] = to;
        cbx__suite_widen(in[i], to);
    }
    return CBX_OK;
}

void cbx__suite_problem_end(cbx__suite_problem *q, cbx_array **answer, cbx_array **bound)
{
    answer[0] = q->made[0];
    bound[0] = q->made[1];
    cbx_array_free(q->made[2]);
}

void cbx__suite_problem_fold(const cbx__suite_problem *q, size_t at, const cbx_semiring *s, cbx_dtype dtype, size_t k,
                             const double *a, const double *b)
{
    double y;

    cbx__suite_fold(s, dtype, k, a, b, &y, &q->bound[at]);
    if (q->truth)
        q->truth[at] = y != 0;
    else
        q->answer[at] = y;
}
