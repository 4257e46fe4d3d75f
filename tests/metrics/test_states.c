/*
 * States: updates that are compiled, parts that are added, what batches share, and what is refused.
 */
#include "draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/metrics/compose.h"

static cbx_err err;
static cbx_ctx *ctx;

/* ---- compiled updates ---- */

enum { MANY = 1500 }; /* items: more elements than a call is worth compiling for */

/*
 * The code of a metric runs for the first batch, and once more to compile it, whatever the state.
 */
TEST(updates_are_compiled_once)
{
    static double v[MANY];
    const size_t n = MANY, fewer = MANY - 1;
    cbx_metric_state *s[2] = { NULL, NULL };

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    CHECK_OK(cbx_metric_register(ctx, &counted_error, false, &err), &err, "the metric");
    for (size_t i = 0; i < MANY; i++) v[i] = sin((double)i);
    cbx_array *x = array_of(ctx, 1, &n, v, false), *y = array_of(ctx, 1, &n, v, false);
    cbx_array *short_x = array_of(ctx, 1, &fewer, v + 1, false), *short_y = array_of(ctx, 1, &fewer, v, false);
    for (size_t k = 0; k < 2; k++)
        CHECK_OK(cbx_metric_state_create(ctx, &counted_error, NULL, &s[k], &err), &err, "a state");
    counted_runs = 0;
    for (size_t k = 0; k < 6; k++)
        CHECK_OK(cbx_metric_state_update(ctx, s[k % 2], 2, (cbx_array *[]){ x, y }, NULL, &err), &err, "an update");
    CHECK_INT(counted_runs, 2, "six batches of one shape");
    CHECK_OK(cbx_metric_state_update(ctx, s[0], 2, (cbx_array *[]){ short_x, short_y }, NULL, &err), &err, "another");
    CHECK_INT(counted_runs, 3, "a batch of another shape");
    value_of(ctx, &counted_error, 2, (cbx_array *[]){ short_x, short_y }, NULL);
    CHECK_INT(counted_runs, 4, "a call is not what a state adds");
    for (size_t k = 0; k < 2; k++) cbx_metric_state_free(s[k]);
    cbx_array_free(short_x);
    cbx_array_free(short_y);
    cbx_array_free(x);
    cbx_array_free(y);
    cbx_ctx_free(ctx);
}

/* Of what one update adds: the first one is not compiled, the second one is. */
static void compiled_updates(const cbx_metric_function *m, cbx_rng *rng)
{
    cbx_metric_options o = { 0 }, with = { 0 };
    cbx_text bytes[2];
    double w[MANY];
    const size_t n = MANY;
    drawn d;

    if (!has_items(m) || m->whole || m->flags & CBX_METRIC_DATA_SHAPED) return;
    set_needs(m, &o);
    draw_operands(ctx, rng, m, MANY, &d);
    for (size_t i = 0; i < MANY; i++) w[i] = cbx_rng_uniform(rng);
    if ((m->items || m->flags & CBX_METRIC_WEIGHTED) && cbx_rng_below(rng, 2))
        with.weights = array_of(ctx, 1, &n, w, false);
    for (size_t k = 0; k < 2; k++) {
        cbx_metric_state *s = NULL;
        cbx_text_init(&bytes[k], cbx_ctx_allocator(ctx));
        CHECK_OK(cbx_metric_state_create(ctx, m, &o, &s, &err), &err, m->name);
        CHECK_OK(cbx_metric_state_update(ctx, s, d.nin, d.in, &with, &err), &err, m->name);
        CHECK_OK(cbx_metric_state_pack(ctx, s, &bytes[k], &err), &err, m->name);
        cbx_metric_state_free(s);
    }
    CHECK_INT(bytes[0].len, bytes[1].len, m->name);
    CHECK(memcmp(bytes[0].data, bytes[1].data, bytes[0].len) == 0, m->name);
    for (size_t k = 0; k < 2; k++) cbx_text_clear(&bytes[k]);
    cbx_array_free((cbx_array *)with.weights);
    drawn_free(&d);
}

TEST(compiled_updates_have_the_same_bits)
{
    const cbx_metric_function *m;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; (m = cbx_metric_at(ctx, i)); i++) {
        cbx_rng rng = cbx_rng_make(11, i);
        compiled_updates(m, &rng);
    }
    cbx_ctx_free(ctx);
}

/* States of what is one thing hold one batch, in collections and through their bytes, too. */
TEST(collections_do_not_join_it)
{
    static const double p[] = { 0.5, 0.5 }, q[] = { 0.9, 0.1 };
    cbx_metric_member one = CBX_METRIC_MEMBER_INIT;
    cbx_metric_collection *c[3];
    const size_t n = 2;
    cbx_text bytes;
    double v;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    CHECK_OK(cbx_metric_find(ctx, "entropy", &one.metric, &err), &err, "entropy");
    cbx_array *x[] = { array_of(ctx, 1, &n, p, false), array_of(ctx, 1, &n, q, false) };
    for (size_t k = 0; k < 3; k++) {
        CHECK_OK(cbx_metric_collection_create(ctx, &c[k], &err), &err, "a collection");
        CHECK_OK(cbx_metric_collection_add(ctx, c[k], &one, &err), &err, "entropy");
        if (k < 2) CHECK_OK(cbx_metric_collection_update(ctx, c[k], 1, &x[k], NULL, &err), &err, "a batch");
    }
    cbx_text_init(&bytes, cbx_ctx_allocator(ctx));
    CHECK_OK(cbx_metric_collection_pack(ctx, c[1], &bytes, &err), &err, "bytes");
    CHECK_OK(cbx_metric_collection_unpack(ctx, c[2], bytes.data, bytes.len, &err), &err, "bytes");
    for (size_t k = 1; k < 3; k++) {
        CHECK_STATUS(cbx_metric_collection_merge(ctx, c[0], c[k], &err), CBX_EINVAL, "a second distribution");
        CHECK_STR(err.message, "entropy: is not a metric of items, so that its state holds one batch", "its sentence");
    }
    CHECK_OK(cbx_metric_collection_value(ctx, c[0], 0, &v, &err), &err, "the first one stays");
    CHECK(fabs(v - 0.69314718055994530942) < 1e-15, "log 2");
    cbx_text_clear(&bytes);
    for (size_t k = 0; k < 3; k++) cbx_metric_collection_free(c[k]);
    for (size_t k = 0; k < 2; k++) cbx_array_free(x[k]);
    cbx_ctx_free(ctx);
}

/* Parts of a shape that the test chooses, of labels. */
static size_t parts_shape[2];

static cbx_array *shaped_parts(cbx_ctx *c, const cbx_metric_call *call)
{
    (void)call;
    return cbx_ones(c, parts_shape[1] ? 2 : 1, parts_shape, CBX_F64);
}

static cbx_array *sum_of_parts(cbx_ctx *c, const cbx_metric_call *call, const cbx_array *parts)
{
    (void)call;
    return cbx_sum(c, parts, NULL);
}

/*
 * Only counts of classes grow, along all axes that are classes; other shapes are not added, not
 * from bytes either.
 */
TEST(parts_have_one_shape)
{
    static const cbx_metric_function rows[2] = {
        { .name = "shaped",
          .domain = "general",
          .summary = "Parts of a given shape",
          .operands = { { "labels", CBX_OPERAND_LABELS, false } },
          .high = INFINITY,
          .parts = shaped_parts,
          .finish = sum_of_parts },
        { .name = "shaped",
          .domain = "general",
          .summary = "Parts of a given shape",
          .operands = { { "labels", CBX_OPERAND_LABELS, false } },
          .parameters = { { "num_classes", "0: from the labels", 0, 0, 9, CBX_PARAMETER_INTEGER, NULL } },
          .high = INFINITY,
          .parts = shaped_parts,
          .finish = sum_of_parts },
    };
    static const struct {
        size_t first[2], then[2];
        bool grows; /* where classes are counted */
    } cases[] = {
        { { 2, 2 }, { 3, 3 }, true },  { { 3, 4 }, { 3, 2 }, true },  { { 2, 2 }, { 4, 2 }, true },
        { { 2, 3 }, { 3, 5 }, false }, { { 3, 3 }, { 5, 4 }, false }, { { 2 }, { 2, 2 }, false },
    };
    const size_t n = 2;
    const double zeros[2] = { 0 };

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    cbx_array *labels = array_of(ctx, 1, &n, zeros, true);
    for (size_t i = 0; i < 2 * CBX_LEN(cases); i++) {
        const cbx_metric_function *m = &rows[i % 2];
        const bool fine = i % 2 && cases[i / 2].grows;
        cbx_metric_state *a = NULL, *b = NULL;
        CHECK_OK(cbx_metric_state_create(ctx, m, NULL, &a, &err), &err, "a state");
        CHECK_OK(cbx_metric_state_create(ctx, m, NULL, &b, &err), &err, "a state");
        memcpy(parts_shape, cases[i / 2].first, sizeof parts_shape);
        CHECK_OK(cbx_metric_state_update(ctx, a, 1, &labels, NULL, &err), &err, "a batch");
        memcpy(parts_shape, cases[i / 2].then, sizeof parts_shape);
        CHECK_OK(cbx_metric_state_update(ctx, b, 1, &labels, NULL, &err), &err, "another shape");
        CHECK_OK(cbx_metric_register(ctx, m, true, &err), &err, "the row, for the bytes");
        b = through_bytes(ctx, b, NULL);
        CHECK_STATUS(cbx_metric_state_merge(ctx, a, b, &err), fine ? CBX_OK : CBX_ESHAPE, "merged");
        CHECK_STATUS(cbx_metric_state_update(ctx, a, 1, &labels, NULL, &err), fine ? CBX_OK : CBX_ESHAPE, "added");
        if (!fine) CHECK(strstr(err.message, "cannot be added to parts of the shape"), err.message);
        CHECK_INT(cbx_metric_state_updates(a), fine ? 3 : 1, "updates");
        cbx_metric_state_free(a);
        cbx_metric_state_free(b);
    }
    cbx_array_free(labels);
    cbx_ctx_free(ctx);
}

static cbx_array *scaled_maximum(cbx_ctx *c, const cbx_metric_call *call)
{
    return cbx_max(c, cbx_multiply(c, call->in[0], call->in[1]), NULL);
}

static void check_value(const cbx_metric_state *s, double value)
{
    cbx_array *r = NULL;

    CHECK_OK(cbx_metric_state_compute(ctx, s, &r, &err), &err, "what was added before");
    CHECK(*(const double *)cbx_array_data(r) == value, "as before");
    cbx_array_free(r);
}

/*
 * What all items share must be the same in the batches of a state that keeps all; pairs are those
 * of one batch.  Another batch is refused, and the state is as before.
 */
TEST(batches_share_operands)
{
    static const cbx_metric_function scaled = {
        .name = "scaled_maximum",
        .domain = "general",
        .summary = "Largest product",
        .operands = { { "x", CBX_OPERAND_REAL, false }, { "scale", CBX_OPERAND_REAL, false, CBX_ITEMS_NONE } },
        .high = INFINITY,
        .whole = scaled_maximum,
    };
    const double v[] = { 1, 3, 2, 1, 0, 1 }, ones[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    const size_t three = 3, one = 1, square[] = { 3, 3 }, points[] = { 3, 1 };
    const cbx_metric_function *loss;
    cbx_metric_state *s = NULL, *t = NULL;
    cbx_array *r = NULL;
    double value;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    cbx_array *x = array_of(ctx, 1, &three, v, false), *two = array_of(ctx, 1, &one, v + 2, false);
    cbx_array *other = array_of(ctx, 1, &one, v + 1, false);
    CHECK_OK(cbx_metric_state_create(ctx, &scaled, NULL, &s, &err), &err, "a state");
    for (size_t k = 0; k < 2; k++)
        CHECK_OK(cbx_metric_state_update(ctx, s, 2, (cbx_array *[]){ x, two }, NULL, &err), &err, "a batch");
    CHECK_OK(cbx_metric_state_compute(ctx, s, &r, &err), &err, "its value");
    CHECK(*(const double *)cbx_array_data(r) == 6, "of both");
    cbx_array_free(r);
    CHECK_OK(cbx_metric_state_create(ctx, &scaled, NULL, &t, &err), &err, "a state");
    CHECK_OK(cbx_metric_state_update(ctx, t, 2, (cbx_array *[]){ x, other }, NULL, &err), &err, "another scale");
    for (int merge = 0; merge < 2; merge++) {
        CHECK_STATUS(merge ? cbx_metric_state_merge(ctx, s, t, &err)
                           : cbx_metric_state_update(ctx, s, 2, (cbx_array *[]){ x, other }, NULL, &err),
                     CBX_EINVAL, "another scale");
        CHECK_STR(err.message, "scaled_maximum: 'scale' must be the same in all batches", "its sentence");
        check_value(s, 6);
    }
    cbx_metric_state_free(s);
    cbx_metric_state_free(t);

    cbx_array *in[] = { array_of(ctx, 2, points, v, false), array_of(ctx, 1, &three, v + 3, true),
                        array_of(ctx, 2, square, ones, false) };
    CHECK_OK(cbx_metric_find(ctx, "nt_xent_loss", &loss, &err), &err, "a loss");
    CHECK_OK(cbx_metric_state_create(ctx, loss, NULL, &s, &err), &err, "a state");
    CHECK_OK(cbx_metric_state_update(ctx, s, 3, in, NULL, &err), &err, "a batch");
    CHECK_OK(cbx_metric_state_compute(ctx, s, &r, &err), &err, "of one batch");
    value = *(const double *)cbx_array_data(r);
    cbx_array_free(r);
    CHECK_STATUS(cbx_metric_state_update(ctx, s, 3, in, NULL, &err), CBX_EINVAL, "pairs of two batches");
    CHECK_STR(err.message, "nt_xent_loss: 'pairs' is of pairs of items: a state with it holds one batch",
              "its sentence");
    CHECK_STATUS(cbx_metric_state_update(ctx, s, 2, in, NULL, &err), CBX_EINVAL, "a batch without pairs");
    CHECK_STR(err.message, "nt_xent_loss: some batches have 'pairs', others do not", "its sentence");
    check_value(s, value);
    cbx_metric_state_free(s);
    cbx_array *all[] = { x, two, other, in[0], in[1], in[2] };
    for (size_t i = 0; i < CBX_LEN(all); i++) cbx_array_free(all[i]);
    cbx_ctx_free(ctx);
}

/* Rows of another length are refused by the update and the merge that would add them. */
TEST(batches_have_rows_of_one_shape)
{
    static const struct {
        const char *metric;
        size_t first, then; /* bits: operands that the batch has */
    } cases[] = {
        { "mmd", 3, 3 }, { "kid", 3, 3 }, { "kid", 1, 1 }, { "kid", 1, 2 }, { "fid", 3, 3 }, { "fid", 1, 2 }
    };
    const double subsets[CBX_METRIC_MAX_PARAMETERS] = { 2, 3, 3, 0, 1 };
    const double v[] = { 1, 2, 4, 3, 0, 1, 5, 2, 7 };

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    cbx_array *two = array_of(ctx, 2, (size_t[]){ 3, 2 }, v, false);
    cbx_array *three = array_of(ctx, 2, (size_t[]){ 3, 3 }, v, false);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_array *first[2], *then[2];
        const cbx_metric_options o = { .parameters = strcmp(cases[i].metric, "kid") ? NULL : subsets };
        cbx_metric_state *s = NULL, *t = NULL;
        const cbx_metric_function *m;
        cbx_array *r = NULL;
        for (size_t k = 0; k < 2; k++) {
            first[k] = cases[i].first >> k & 1 ? two : NULL;
            then[k] = cases[i].then >> k & 1 ? three : NULL;
        }
        CHECK_OK(cbx_metric_find(ctx, cases[i].metric, &m, &err), &err, cases[i].metric);
        CHECK_OK(cbx_metric_state_create(ctx, m, &o, &s, &err), &err, m->name);
        CHECK_OK(cbx_metric_state_create(ctx, m, &o, &t, &err), &err, m->name);
        CHECK_OK(cbx_metric_state_update(ctx, s, 2, first, NULL, &err), &err, "rows of 2");
        CHECK_OK(cbx_metric_state_update(ctx, t, 2, then, NULL, &err), &err, "rows of 3");
        CHECK_STATUS(cbx_metric_state_update(ctx, s, 2, then, NULL, &err), CBX_ESHAPE, m->name);
        CHECK_STATUS(cbx_metric_state_merge(ctx, s, t, &err), CBX_ESHAPE, m->name);
        CHECK_INT(cbx_metric_state_updates(s), 1, "as before");
        CHECK_OK(cbx_metric_state_update(ctx, s, 2, (cbx_array *[]){ two, two }, NULL, &err), &err, "rows of 2");
        CHECK_OK(cbx_metric_state_compute(ctx, s, &r, &err), &err, "its value");
        cbx_array_free(r);
        cbx_metric_state_free(s);
        cbx_metric_state_free(t);
    }
    cbx_array_free(two);
    cbx_array_free(three);
    cbx_ctx_free(ctx);
}

TEST(states_refuse)
{
    const cbx_metric_function *mse, *mae;
    const double v[] = { 1, 2 };
    const size_t n = 2;
    cbx_metric_state *a = NULL, *b = NULL;
    cbx_array *r = NULL, *x;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    CHECK_OK(cbx_metric_find(ctx, "mse", &mse, &err), &err, "mse");
    CHECK_OK(cbx_metric_find(ctx, "mae", &mae, &err), &err, "mae");
    CHECK_OK(cbx_metric_state_create(ctx, mse, NULL, &a, &err), &err, "mse");
    CHECK_OK(cbx_metric_state_create(ctx, mae, NULL, &b, &err), &err, "mae");
    CHECK_STATUS(cbx_metric_state_compute(ctx, a, &r, &err), CBX_EINVAL, "nothing was added");
    CHECK_STR(err.message, "mse: nothing was added yet", "its sentence");
    CHECK_STATUS(cbx_metric_state_merge(ctx, a, b, &err), CBX_EINVAL, "another metric");
    x = array_of(ctx, 1, &n, v, false);
    CHECK_OK(cbx_metric_state_update(ctx, a, 2, (cbx_array *[]){ x, x }, NULL, &err), &err, "a batch");
    CHECK_STATUS(cbx_metric_state_update(ctx, a, 1, &x, NULL, &err), CBX_EINVAL, "one operand");
    const struct {
        cbx_metric_options o;
        const char *sentence;
    } options[] = {
        { { .reduction = CBX_REDUCTION_SUM }, "mse: a state is of all items: an update takes no reduction" },
        { { .axes = CBX_AXIS(0) }, "mse: a state is of all items: an update takes no axes" },
        { { .parameters = (double[]){ 2 } }, NULL }, /* mse has none */
    };
    for (size_t i = 0; i < CBX_LEN(options); i++) {
        const cbx_status st = cbx_metric_state_update(ctx, a, 2, (cbx_array *[]){ x, x }, &options[i].o, &err);
        CHECK_STATUS(st, options[i].sentence ? CBX_EINVAL : CBX_OK, "options of one batch");
        if (options[i].sentence) CHECK_STR(err.message, options[i].sentence, "its sentence");
    }
    CHECK_INT(cbx_metric_state_updates(a), 2, "a refused batch does not count");
    cbx_metric_state_free(b);
    CHECK_OK(cbx_metric_find(ctx, "huber_loss", &mae, &err), &err, "huber_loss");
    CHECK_OK(cbx_metric_state_create(ctx, mae, &(cbx_metric_options){ .parameters = (double[]){ 2 } }, &b, &err), &err,
             "huber_loss");
    const double deltas[] = { 2, NAN, 1 };
    for (size_t i = 0; i < CBX_LEN(deltas); i++)
        CHECK_STATUS(cbx_metric_state_update(ctx, b, 2, (cbx_array *[]){ x, x },
                                             &(cbx_metric_options){ .parameters = &deltas[i] }, &err),
                     i < 2 ? CBX_OK : CBX_EINVAL, "a parameter of one batch");
    CHECK_STR(err.message, "huber_loss: 'delta' belongs to the whole state: give it when that is created",
              "its sentence");
    cbx_metric_state_reset(a);
    CHECK_STATUS(cbx_metric_state_compute(ctx, a, &r, &err), CBX_EINVAL, "as new");
    const double zeros[] = { 0, 0 };
    cbx_array *none = array_of(ctx, 1, &n, zeros, false);
    CHECK_OK(cbx_metric_state_update(ctx, a, 2, (cbx_array *[]){ x, x }, &(cbx_metric_options){ .mask = none }, &err),
             &err, "a batch of which nothing counts");
    CHECK_STATUS(cbx_metric_state_compute(ctx, a, &r, &err), CBX_EINVAL, "nothing counts");
    CHECK_STR(err.message, "mse: nothing that was added counts", "its sentence");
    cbx_array_free(none);
    cbx_array_free(x);
    cbx_metric_state_free(a);
    cbx_metric_state_free(b);
    cbx_ctx_free(ctx);
}

/* What a first batch sets, those after it keep; a batch that no later one could join is refused. */
TEST(batches_that_do_not_fit)
{
    static const struct {
        const char *metric;
        size_t nin, shape[2][2]; /* (shape[i][0]), or (shape[i][0], shape[i][1]) where that is not 0 */
        size_t good;             /* batches before it that are taken: with the same operands, but levels of 0.5 */
        const char *refusal;
    } batches[] = {
        { "regression_calibration_error",
          2,
          { { 4, 0 }, { 2, 0 } },
          1,
          "regression_calibration_error: 'quantile_levels' must be the same in all batches" },
        { "regression_calibration_error",
          2,
          { { 4, 0 }, { 1, 0 } },
          1,
          "regression_calibration_error: 'quantile_levels' must be the same in all batches" },
        { "kid",
          2,
          { { 4, 0 }, { 4, 0 } },
          0,
          "kid: 'real' must be (n, d) real numbers, the features of an item a row, not float64 (4,)" },
        { "image_inception_score",
          1,
          { { 4, 0 } },
          0,
          "image_inception_score: 'images' must be (n, d) real numbers, the features of an item a row, not float64 "
          "(4,)" },
    };
    const double v[] = { 0.25, 0.75, 0.5, 0.125 }, half[] = { 0.5, 0.5 };

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; i < CBX_LEN(batches); i++) {
        const cbx_metric_function *m;
        cbx_metric_state *s = NULL;
        cbx_array *in[3] = { NULL };
        CHECK_OK(cbx_metric_find(ctx, batches[i].metric, &m, &err), &err, batches[i].metric);
        CHECK_OK(cbx_metric_state_create(ctx, m, NULL, &s, &err), &err, m->name);
        for (size_t k = 0; k < batches[i].nin; k++)
            in[k] = array_of(ctx, batches[i].shape[k][1] ? 2 : 1, batches[i].shape[k], v, false);
        in[2] = array_of(ctx, 1, (size_t[]){ 2 }, half, false);
        for (size_t k = 0; k < batches[i].good; k++)
            CHECK_OK(cbx_metric_state_update(ctx, s, 2, (cbx_array *[]){ in[0], in[2] }, NULL, &err), &err, m->name);
        CHECK(cbx_metric_state_update(ctx, s, batches[i].nin, in, NULL, &err), m->name);
        CHECK_STR(err.message, batches[i].refusal, m->name);
        CHECK_INT(cbx_metric_state_updates(s), batches[i].good, m->name);
        for (size_t k = 0; k < 3; k++) cbx_array_free(in[k]);
        cbx_metric_state_free(s);
    }
    cbx_ctx_free(ctx);
}

/* Of no items there is no metric: of a function, a state and a metric of all data alike; a state
 * takes such a batch. */
TEST(nothing_counts)
{
    static const char *const metrics[] = { "mse",      "f1_score", "pearson_correlation", "roc_auc",
                                           "accuracy", "log_loss", "silhouette_score" };
    static const struct {
        bool mask, weights;
        const char *sentence;
    } ways[] = {
        { true, false, "the mask leaves no items" },
        { false, true, "no item has a weight above 0" },
        { true, true, "no item has a weight above 0" },
    };
    const double some[] = { 0, 1, 1, 0 }, others[] = { 1, 0, 0, 1 }, zeros[] = { 0, 0, 0, 0 };
    const size_t four = 4, column[] = { 4, 1 };
    char wanted[128];

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    cbx_array *counts[] = { array_of(ctx, 1, &four, zeros, false), array_of(ctx, 1, &four, some, false),
                            array_of(ctx, 1, &four, others, false) };
    for (size_t i = 0; i < CBX_LEN(metrics); i++) {
        const cbx_metric_function *m;
        CHECK_OK(cbx_metric_find(ctx, metrics[i], &m, &err), &err, metrics[i]);
        const bool points = m->operands[0].kind == CBX_OPERAND_POINTS;
        cbx_array *in[] = { array_of(ctx, points ? 2 : 1, points ? column : &four, some,
                                     m->operands[0].kind == CBX_OPERAND_LABELS),
                            array_of(ctx, 1, &four, some, m->operands[1].kind == CBX_OPERAND_LABELS) };
        for (size_t k = 0; k < CBX_LEN(ways); k++) {
            const bool both = ways[k].mask && ways[k].weights;
            const cbx_metric_options o = { .mask = ways[k].mask ? counts[both] : NULL,
                                           .weights = ways[k].weights ? counts[2 * both] : NULL };
            cbx_metric_state *s = NULL;
            cbx_array *r = NULL;
            double v;
            if (o.weights && !m->items && !(m->flags & CBX_METRIC_WEIGHTED)) continue;
            CHECK_STATUS(cbx_metric_value(ctx, m->name, 2, in, &o, &v, &err), CBX_EDOM, m->name);
            snprintf(wanted, sizeof wanted, "%s: %s", m->name, ways[k].sentence);
            CHECK_STR(err.message, wanted, m->name);
            CHECK_OK(cbx_metric_state_create(ctx, m, NULL, &s, &err), &err, m->name);
            CHECK_OK(cbx_metric_state_update(ctx, s, 2, in, &o, &err), &err, m->name);
            CHECK_STATUS(cbx_metric_state_compute(ctx, s, &r, &err), CBX_EINVAL, m->name);
            CHECK_OK(cbx_metric_state_update(ctx, s, 2, in, NULL, &err), &err, m->name);
            CHECK_OK(cbx_metric_state_compute(ctx, s, &r, &err), &err, m->name);
            CHECK_OK(cbx_metric_value(ctx, m->name, 2, in, NULL, &v, &err), &err, m->name);
            CHECK(*(const double *)cbx_array_data(r) == v, m->name);
            cbx_array_free(r);
            cbx_metric_state_free(s);
        }
        cbx_array_free(in[0]);
        cbx_array_free(in[1]);
    }
    for (size_t i = 0; i < 3; i++) cbx_array_free(counts[i]);
    cbx_ctx_free(ctx);
}

TESTS(.seconds = 600)
