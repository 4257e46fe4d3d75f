/* Random operands of metric functions, and values of them. */
#include "draw.h"

#include <math.h>
#include <stdlib.h>

static cbx_err err;

cbx_array *array_of(cbx_ctx *ctx, int ndim, const size_t *shape, const double *v, bool whole)
{
    cbx_array *a = NULL;

    CHECK_OK(cbx__draw_array(ctx, ndim, shape, v, whole, &a, &err), &err, "an operand");
    return a;
}

void draw_operands(cbx_ctx *ctx, cbx_rng *rng, const cbx_metric_function *m, size_t items, drawn *out)
{
    CHECK_OK(cbx__draw_operands(ctx, rng, m, items, out, &err), &err, m->name);
}

void pick(cbx_ctx *ctx, const cbx_metric_function *m, const drawn *d, size_t n, const double *places, drawn *out)
{
    cbx_array *at = array_of(ctx, 1, &n, places, true);

    *out = (drawn){ .nin = d->nin };
    for (size_t i = 0; i < d->nin; i++) {
        cbx_scope scope;
        cbx_scope_open(ctx, &scope);
        out->in[i] = is_shared(m, i) ? cbx_copy(ctx, d->in[i]) : cbx_take(ctx, d->in[i], at, 0);
        CHECK_OK(cbx_scope_close_keep(&scope, 1, &out->in[i], &err), &err, "items");
    }
    cbx_array_free(at);
}

bool has_items(const cbx_metric_function *m)
{
    if (m->shapes == CBX_SHAPES_ROWS) return false;
    for (size_t i = 0; i < cbx_metric_operands(m) && !m->operands[i].optional; i++) {
        const cbx_operand_kind k = m->operands[i].kind;
        if (k == CBX_OPERAND_DISTRIBUTION || k == CBX_OPERAND_JOINT || k == CBX_OPERAND_IMAGE || k == CBX_OPERAND_SPD ||
            k == CBX_OPERAND_FRAME || k == CBX_OPERAND_ADJACENCY || k == CBX_OPERAND_TEXTS || k == CBX_OPERAND_TOKENS ||
            k == CBX_OPERAND_SIGNAL)
            return false;
    }
    return true;
}

cbx_metric_state *through_bytes(cbx_ctx *ctx, cbx_metric_state *s, const cbx_fn *function)
{
    cbx_metric_state *out = NULL;
    cbx_text bytes;

    cbx_text_init(&bytes, cbx_ctx_allocator(ctx));
    CHECK_OK(cbx_metric_state_pack(ctx, s, &bytes, &err), &err, "to bytes");
    CHECK_OK(cbx_metric_state_unpack(ctx, NULL, bytes.data, bytes.len, function, &out, &err), &err, "from bytes");
    cbx_text_clear(&bytes);
    cbx_metric_state_free(s);
    return out;
}

size_t counted_runs;

static cbx_array *counted_items(cbx_ctx *ctx, const cbx_metric_call *call)
{
    counted_runs++;
    return cbx_abs(ctx, cbx_subtract(ctx, call->in[0], call->in[1]));
}

const cbx_metric_function counted_error = { .name = "counted_error",
                                            .domain = "general",
                                            .summary = "Counted error",
                                            .formula = "mean(|x - y|)",
                                            .operands = CBX__PAIR("x", "y", REAL),
                                            .high = INFINITY,
                                            .items = counted_items };

/* x log x - x + 1 of each element, a generator of f-divergences. */
static cbx_status of_elements(cbx_ctx *ctx, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    const cbx_array *x = in[0];

    (void)nin, (void)nout, (void)user;
    out[0] = cbx_add_scalar(ctx, cbx_subtract(ctx, cbx_multiply(ctx, x, cbx_log(ctx, x)), x), 1);
    return CBX_OK;
}

/* sum(x^4), a generator of Bregman divergences. */
static cbx_status of_arrays(cbx_ctx *ctx, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    (void)nin, (void)nout, (void)user;
    out[0] = cbx_sum(ctx, cbx_square(ctx, cbx_square(ctx, in[0])), NULL);
    return CBX_OK;
}

void set_needs(const cbx_metric_function *m, cbx_metric_options *o)
{
    static const cbx_fn elements = { "generator", of_elements, NULL, 1, 1, NULL };
    static const cbx_fn arrays = { "generator", of_arrays, NULL, 1, 1, NULL };
    static const struct {
        const char *parameter;
        double value;
    } values[] = {
        { "splits", 2 }, /* there are few items */
        { "subsets", 3 },    { "subset_size", 5 },   { "regularization", 4 },
        { "max_iter", 1e5 }, { "threshold", 1e-10 }, /* gradients have the error of the iterations */
        { "weighted", 1 },                           /* else lengths do not move */
    };
    static double parameters[CBX_METRIC_MAX_PARAMETERS];

    for (size_t i = 0; i < CBX_METRIC_MAX_PARAMETERS; i++) {
        const char *name = i < cbx_metric_parameters(m) ? m->parameters[i].name : "";
        parameters[i] = counts_labels(name) ? (has_many_classes(m) ? 3 : 2) : NAN;
        for (size_t k = 0; k < CBX_LEN(values); k++)
            if (strcmp(name, values[k].parameter) == 0) parameters[i] = values[k].value;
    }
    if (!o->parameters) o->parameters = parameters;
    if (m->function && !(m->flags & CBX_METRIC_FEATURES))
        o->function = strcmp(m->name, "f_divergence") == 0 ? &elements : &arrays;
}

double *read_all(const cbx_array *r)
{
    const size_t n = cbx_array_count(r);
    double *v = malloc(n * sizeof *v + 1);

    CHECK_OK(cbx_array_read(r, v, n * sizeof *v, &err), &err, "a result");
    if (cbx_array_dtype(r) == CBX_I64)
        for (size_t i = 0; i < n; i++) {
            int64_t k;
            memcpy(&k, &v[i], sizeof k);
            v[i] = (double)k;
        }
    return v;
}

double *values_of(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                  const cbx_metric_options *o, size_t *count)
{
    cbx_metric_options with = o ? *o : (cbx_metric_options){ 0 };
    cbx_scope scope;
    cbx_array *r;
    double *v;

    set_needs(m, &with);
    cbx_scope_open(ctx, &scope);
    r = cbx_copy(ctx, cbx_astype(ctx, cbx_metric_apply(ctx, m, nin, in, &with), CBX_F64));
    CHECK_OK(cbx_scope_close_keep(&scope, 1, &r, &err), &err, m->name);
    *count = cbx_array_count(r);
    v = malloc(*count * sizeof *v + 1);
    CHECK(v, m->name);
    CHECK_OK(cbx_array_read(r, v, *count * sizeof *v, &err), &err, m->name);
    cbx_array_free(r);
    return v;
}

double value_of(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                const cbx_metric_options *o)
{
    size_t n;
    double *v = values_of(ctx, m, nin, in, o, &n);
    const double first = n == 1 ? v[0] : NAN;

    free(v);
    return first;
}
