/* Metrics of features by a function in C: states of real and generated images apart, in any order;
 * layers; frozen and free functions. */
#include "draw.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/array/transform.h"
#include "calibrax/metrics/stateful/state.h"
#include "fail_alloc.h"

static cbx_err err;
static cbx_ctx *ctx;

enum { IMAGES = 14, CHANNELS = 2, SIDE = 3, PIXELS = CHANNELS * SIDE * SIDE, WIDTH_OF_FEATURES = 3 };

static size_t calls; /* of the model */

/* A model: tanh of three fixed sums of the pixels. */
static cbx_status model(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    const ptrdiff_t flat[] = { (ptrdiff_t)cbx_array_dim(in[0], 0), PIXELS };
    const ptrdiff_t columns[] = { PIXELS, WIDTH_OF_FEATURES };
    const cbx_array *w = cbx_sin(c, cbx_arange(c, 0, PIXELS * WIDTH_OF_FEATURES, 1, CBX_F64));

    (void)nin, (void)nout, (void)user;
    calls++;
    out[0] = cbx_tanh(c, cbx_matrix_product(c, cbx_reshape(c, in[0], 2, flat), cbx_reshape(c, w, 2, columns)));
    return CBX_OK;
}

/* Two layers of an image: its pixels, and their squares, of one channel, over its rows. */
static cbx_status two_layers(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    (void)nin, (void)nout, (void)user;
    out[0] = cbx_positive(c, in[0]);
    out[1] = cbx_slice(c, cbx_square(c, cbx_sum(c, in[0], CBX_AXIS(3))), 1, 0, 1, 1);
    return CBX_OK;
}

static const cbx_fn model_fn = { "model", model, NULL, 1, 1, NULL };
static const cbx_fn layers_fn = { "layers", two_layers, NULL, 1, 2, NULL };

static cbx_array *images(cbx_rng *rng, size_t n, double shift)
{
    double v[IMAGES * PIXELS];

    for (size_t i = 0; i < n * PIXELS; i++) v[i] = cbx_rng_normal(rng) + shift;
    return array_of(ctx, 4, (const size_t[]){ n, CHANNELS, SIDE, SIDE }, v, false);
}

static cbx_array *part(const cbx_array *x, size_t first, size_t last)
{
    cbx_scope scope;
    cbx_array *out;

    cbx_scope_open(ctx, &scope);
    out = cbx_copy(ctx, cbx_slice(ctx, x, 0, (ptrdiff_t)first, (ptrdiff_t)last, 1));
    CHECK_OK(cbx_scope_close_keep(&scope, 1, &out, &err), &err, "a batch");
    return out;
}

/* Rows first..last-1 of one set, or of both (set 2). */
typedef struct step {
    int state, set;
    size_t first, last;
} step;

static void run(cbx_metric_state **s, cbx_array *const *sets, const step *steps, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const step *t = &steps[k];
        cbx_array *in[2] = { NULL, NULL };
        for (int i = 0; i < 2; i++)
            if (t->set == i || t->set == 2) in[i] = part(sets[i], t->first, t->last);
        CHECK_OK(cbx_metric_state_update(ctx, s[t->state], 2, in, NULL, &err), &err, "a batch");
        for (int i = 0; i < 2; i++) cbx_array_free(in[i]);
    }
}

/* Whatever the batches, their order, and the state that merges the other one. */
TEST(batches_join)
{
    static const step orders[][6] = {
        { { 0, 2, 0, 5 }, { 0, 2, 5, 9 }, { 1, 0, 9, 14 }, { 1, 1, 9, 11 } },
        { { 0, 1, 0, 11 }, { 1, 0, 10, 14 }, { 1, 0, 0, 3 }, { 0, 0, 3, 10 } },
        { { 1, 0, 13, 14 }, { 1, 1, 4, 11 }, { 0, 0, 0, 13 }, { 0, 1, 0, 4 } },
    };
    static const double kid[] = { 4, 9, 3, 0, 1, 5, 0, 0 };
    const struct {
        const char *metric;
        const double *parameters;
    } metrics[] = { { "fid", NULL }, { "kid", kid } };
    cbx_rng rng = cbx_rng_make(4, 1);
    cbx_array *sets[2];

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    sets[0] = images(&rng, IMAGES, 0);
    sets[1] = images(&rng, 11, 0.3);
    for (size_t i = 0; i < CBX_LEN(metrics); i++) {
        const cbx_metric_options o = { .parameters = metrics[i].parameters, .function = &model_fn };
        const cbx_metric_function *m;
        double value;
        CHECK_OK(cbx_metric_find(ctx, metrics[i].metric, &m, &err), &err, "the row");
        value = value_of(ctx, m, 2, sets, &o);
        CHECK(isfinite(value) && value != 0, m->name);
        for (size_t k = 0; k < CBX_LEN(orders); k++) {
            cbx_metric_state *s[2];
            cbx_array *r = NULL;
            for (int j = 0; j < 2; j++) CHECK_OK(cbx_metric_state_create(ctx, m, &o, &s[j], &err), &err, m->name);
            calls = 0;
            run(s, sets, orders[k], 4);
            CHECK_INT(calls, k == 0 ? 6 : 4, "the model sees each image once");
            CHECK_OK(cbx_metric_state_merge(ctx, s[k % 2], s[!(k % 2)], &err), &err, m->name);
            CHECK_OK(cbx_metric_state_compute(ctx, s[k % 2], &r, &err), &err, m->name);
            CHECK_INT(calls, k == 0 ? 6 : 4, "a state keeps features");
            CHECK_LE(fabs(*(const double *)cbx_array_data(r) - value), 1e-12 * fmax(1, fabs(value)), m->name);
            cbx_array_free(r);
            for (int j = 0; j < 2; j++) cbx_metric_state_free(s[j]);
        }
    }
    cbx_array_free(sets[0]);
    cbx_array_free(sets[1]);
    cbx_ctx_free(ctx);
}

/* A state of images apart goes through bytes, with its function: features are not made again. */
TEST(bytes_hold_features)
{
    static const double parameters[] = { 3, 5, 3, 0, 1, 0, 0, 0 };
    static const step first[] = { { 0, 1, 0, 6 } };
    static const step rest[] = { { 1, 0, 0, 7 }, { 1, 1, 6, 7 } };
    const cbx_metric_options o = { .parameters = parameters, .function = &model_fn };
    cbx_rng rng = cbx_rng_make(7, 1);
    const cbx_metric_function *m;
    cbx_metric_state *s[2], *back = NULL;
    cbx_array *sets[2], *r = NULL;
    cbx_text text;
    double value;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    CHECK_OK(cbx_metric_find(ctx, "kid", &m, &err), &err, "the row");
    for (int i = 0; i < 2; i++) sets[i] = images(&rng, 7, i);
    value = value_of(ctx, m, 2, sets, &o);
    for (int i = 0; i < 2; i++) CHECK_OK(cbx_metric_state_create(ctx, m, &o, &s[i], &err), &err, "a state");
    run(s, sets, first, CBX_LEN(first));
    run(s, sets, rest, CBX_LEN(rest));
    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    CHECK_OK(cbx_metric_state_pack(ctx, s[0], &text, &err), &err, "bytes");
    calls = 0;
    CHECK_OK(cbx_metric_state_unpack(ctx, m, text.data, text.len, &model_fn, &back, &err), &err, "from bytes");
    CHECK_INT(calls, 0, "the model is not asked");
    CHECK_OK(cbx_metric_state_merge(ctx, back, s[1], &err), &err, "merge");
    CHECK_OK(cbx_metric_state_compute(ctx, back, &r, &err), &err, "compute");
    CHECK_LE(fabs(*(const double *)cbx_array_data(r) - value), 1e-12 * fmax(1, fabs(value)), "of bytes");
    cbx_metric_state_free(back);
    CHECK_OK(cbx_metric_state_unpack(ctx, m, text.data, text.len, NULL, &back, &err), &err, "without the function");
    CHECK_OK(cbx_metric_state_merge(ctx, back, s[1], &err), &err, "merge without it");
    CHECK_STATUS(cbx_metric_state_update(ctx, back, 2, sets, NULL, &err), CBX_EINVAL, "images are no features");
    CHECK(strstr(err.message, "kid: a function made the features of this state"), "its sentence");
    text.data[text.len = 8 + 8 + 8 + 3 + 8 + 8 * 8] = '\2'; /* behind the parameters */
    cbx_metric_state *none = NULL;
    CHECK_STATUS(cbx_metric_state_unpack(ctx, m, text.data, text.len + 8, NULL, &none, &err), CBX_EFORMAT, "2");
    cbx_text_clear(&text);
    cbx_array_free(r);
    cbx_metric_state_free(back);
    for (int i = 0; i < 2; i++) {
        cbx_array_free(sets[i]);
        cbx_metric_state_free(s[i]);
    }
    cbx_ctx_free(ctx);
}

typedef struct session {
    const cbx_metric_function *metric;
    const cbx_fn *function;
    cbx_array *in[2];
} session;

/* A state from its creation to its result. */
static cbx_status live(cbx_ctx *of, void *user)
{
    static const double parameters[CBX_METRIC_MAX_PARAMETERS] = { 2, 4, 3, 0, 1, 0, 0, 0 };
    const session *c = user;
    const bool kid = strcmp(c->metric->name, "kid") == 0;
    const cbx_metric_options o = { .parameters = kid ? parameters : NULL, .function = c->function };
    cbx_err e = CBX_ERR_INIT;
    cbx_metric_state *s = NULL;
    cbx_array *r = NULL;
    cbx_status st = cbx_metric_state_create(of, c->metric, &o, &s, &e);

    if (!st) st = cbx_metric_state_update(of, s, 2, c->in, NULL, &e);
    if (!st && c->metric->flags & CBX_METRIC_APART)
        st = cbx_metric_state_update(of, s, 2, (cbx_array *[]){ NULL, c->in[0] }, NULL, &e);
    if (!st) st = cbx_metric_state_compute(of, s, &r, &e);
    cbx_array_free(r);
    cbx_metric_state_free(s);
    return st;
}

TEST(memory_may_end)
{
    static const struct {
        const char *metric;
        const cbx_fn *function;
    } metrics[] = { { "fid", &model_fn }, { "kid", &model_fn }, { "lpips", &layers_fn } };
    cbx_rng rng = cbx_rng_make(8, 1);

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; i < CBX_LEN(metrics); i++) {
        session c = { .function = metrics[i].function };
        CHECK_OK(cbx_metric_find(ctx, metrics[i].metric, &c.metric, &err), &err, "the row");
        for (int k = 0; k < 2; k++) c.in[k] = images(&rng, 5, k);
        cbx_test_fail_each(live, &c, metrics[i].metric);
        for (int k = 0; k < 2; k++) cbx_array_free(c.in[k]);
    }
    cbx_ctx_free(ctx);
}

/* Sum over layers, by hand. */
static double by_hand(const double *a, const double *b, const double *w)
{
    double sum = 0;

    for (size_t i = 0; i < SIDE * SIDE; i++) {
        double na = 0, nb = 0;
        for (size_t c = 0; c < CHANNELS; c++) na += a[9 * c + i] * a[9 * c + i], nb += b[9 * c + i] * b[9 * c + i];
        for (size_t c = 0; c < CHANNELS; c++)
            sum += w[c] * pow(a[9 * c + i] / sqrt(na) - b[9 * c + i] / sqrt(nb), 2) / (SIDE * SIDE);
    }
    return sum; /* the second layer has one channel, whose direction is 1 */
}

TEST(layers_add)
{
    static const double w[] = { 0.5, 2, 7 };
    cbx_rng rng = cbx_rng_make(5, 1);
    const cbx_metric_options o = { .function = &layers_fn };
    const cbx_metric_function *m;
    cbx_metric_state *s = NULL;
    cbx_array *in[3], *half[3], *r = NULL;
    double expected = 0, v;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    CHECK_OK(cbx_metric_find(ctx, "lpips", &m, &err), &err, "the row");
    in[0] = images(&rng, 6, 0);
    in[1] = images(&rng, 6, 0);
    in[2] = array_of(ctx, 1, (const size_t[]){ 3 }, w, false);
    for (size_t i = 0; i < 6; i++)
        expected += by_hand((const double *)cbx_array_data(in[0]) + i * PIXELS,
                            (const double *)cbx_array_data(in[1]) + i * PIXELS, w) /
                    6;
    CHECK_LE(fabs(value_of(ctx, m, 3, in, &o) - expected), 1e-12, "of all pairs");
    CHECK_OK(cbx_metric_state_create(ctx, m, &o, &s, &err), &err, "a state");
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < 2; i++) half[i] = part(in[i], k ? 4 : 0, k ? 6 : 4);
        half[2] = in[2];
        CHECK_OK(cbx_metric_state_update(ctx, s, 3, half, NULL, &err), &err, "a batch");
        for (size_t i = 0; i < 2; i++) cbx_array_free(half[i]);
    }
    CHECK_OK(cbx_metric_state_compute(ctx, s, &r, &err), &err, "of batches");
    CHECK_LE(fabs(*(const double *)cbx_array_data(r) - expected), 1e-12, "of batches");
    cbx_array_free(in[2]);
    in[2] = array_of(ctx, 1, (const size_t[]){ 2 }, w, false);
    CHECK_STATUS(cbx_metric_value(ctx, "lpips", 3, in, &o, &v, &err), CBX_ESHAPE, "weights of one layer");
    CHECK_STR(err.message, "lpips: 'linear' must have a weight for each of 3 channels, it has 2", "its sentence");
    cbx_array_free(r);
    cbx_metric_state_free(s);
    for (size_t i = 0; i < 3; i++) cbx_array_free(in[i]);
    cbx_ctx_free(ctx);
}

/* The largest element, by size, of the gradient by operand 1. */
static double steepest(const char *name, const cbx_fn *function, cbx_array *const *in, bool through)
{
    double parameters[CBX_METRIC_MAX_PARAMETERS], most = 0, *v;
    cbx_metric_options o = { .parameters = parameters, .function = function };
    const cbx_metric_function *m;
    cbx_fn *f = NULL, *grad = NULL;
    cbx_array *g = NULL;

    CHECK_OK(cbx_metric_find(ctx, name, &m, &err), &err, name);
    for (size_t i = 0; i < cbx_metric_parameters(m); i++) {
        const char *p = m->parameters[i].name;
        parameters[i] = strcmp(p, "subset_size") == 0 ? 4 : strcmp(p, "subsets") == 0 ? 2 : (double)NAN;
        if (strcmp(p, "gradient") == 0) parameters[i] = through;
    }
    CHECK_OK(cbx_metric_fn(ctx, m, 2, &o, &f, &err), &err, name);
    CHECK_OK(cbx_grad(ctx, f, 1, (const size_t[]){ 1 }, &grad, &err), &err, name);
    CHECK_OK(cbx_fn_run(ctx, grad, 2, in, 1, &g, &err), &err, name);
    v = read_all(g);
    for (size_t i = 0; i < cbx_array_count(g); i++) most = fmax(most, fabs(v[i]));
    free(v);
    cbx_array_free(g);
    cbx_fn_free(grad);
    cbx_fn_free(f);
    return most;
}

TEST(models_are_frozen)
{
    const struct {
        const char *metric;
        const cbx_fn *function;
    } metrics[] = { { "kid", &model_fn }, { "lpips", &layers_fn } };
    cbx_rng rng = cbx_rng_make(6, 1);
    cbx_array *in[2];
    double v;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    in[0] = images(&rng, 5, 0);
    in[1] = images(&rng, 5, 0);
    for (size_t i = 0; i < CBX_LEN(metrics); i++) {
        CHECK(steepest(metrics[i].metric, metrics[i].function, in, false) == 0, metrics[i].metric);
        CHECK_GT(steepest(metrics[i].metric, metrics[i].function, in, true), 1e-6, metrics[i].metric);
    }
    CHECK_STATUS(cbx_metric_value(ctx, "fid", 2, in, NULL, &v, &err), CBX_ESHAPE, "images for features");
    CHECK_STR(err.message,
              "fid: 'real' must be (n, d) real numbers, the features of an item a row, not float64 (5, 2, 3, 3)",
              "its sentence");
    CHECK_STATUS(cbx_metric_value(ctx, "fid", 2, (cbx_array *[]){ NULL, NULL }, NULL, &v, &err), CBX_EINVAL, "nothing");
    CHECK_STATUS(cbx_metric_value(ctx, "fid", 2, (cbx_array *[]){ in[0], NULL },
                                  &(cbx_metric_options){ .function = &model_fn }, &v, &err),
                 CBX_EINVAL, "one set");
    CHECK_STR(err.message, "fid: a covariance needs at least 2 items, 'generated' has 0", "its sentence");
    CHECK_STATUS(cbx_metric_value(ctx, "fid", 2, in, &(cbx_metric_options){ .function = &layers_fn }, &v, &err),
                 CBX_EINVAL, "two layers");
    CHECK_STR(err.message, "fid: the function must have one result, it has 2", "its sentence");
    cbx_array_free(in[0]);
    cbx_array_free(in[1]);
    cbx_ctx_free(ctx);
}

TESTS(.seconds = 120)
