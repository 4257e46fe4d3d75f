/* Values of classes, intervals of operands that go with the items, and series. */
#include "draw.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/metrics/bootstrap.h"
#include "calibrax/metrics/compose.h"
#include "fail_alloc.h"

static cbx_err err;
static cbx_ctx *ctx;

static const cbx_metric_function *row(const char *name)
{
    const cbx_metric_function *m = NULL;

    CHECK_OK(cbx_metric_find(ctx, name, &m, &err), &err, name);
    return m;
}

static cbx_array *vector(size_t n, const double *v) { return array_of(ctx, 1, &n, v, false); }

static void begin(void **state)
{
    (void)state;
    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
}

static const double P[] = { 2.5, 0, 2, 8 }, T[] = { 3, -0.5, 2, 7 }, LABELS[] = { 0, 1, 1, 0 };

/* ---- classes ---- */

static void check_class(const cbx_metric_function *m, const drawn *d, const cbx_metric_options *o, const double *labels,
                        double wanted_class, double got)
{
    double places[ITEMS];
    size_t n = 0, count_of;
    drawn e;

    for (size_t i = 0; i < ITEMS; i++)
        if (labels[i] == wanted_class) places[n++] = (double)i;
    pick(ctx, m, d, n, places, &e);
    double *y = values_of(ctx, m, e.nin, e.in, o, &count_of);
    if (got != y[0] && !(isnan(got) && isnan(y[0])))
        fail_msg("%s of class %g is %.17g, not %.17g", m->name, wanted_class, got, y[0]);
    free(y);
    drawn_free(&e);
}

/* Every metric of items and of a single number. */
TEST(classes_are_items_apart)
{
    static const double labels[ITEMS] = { 3, 0, 0, 3, 1, 0, 3, 1, 1, 0, 3, 1 };
    cbx_rng rng = cbx_rng_make(51, 1);
    const cbx_metric_function *m;
    size_t checked = 0;

    begin(test_state);
    const size_t items = ITEMS;
    cbx_array *by = array_of(ctx, 1, &items, labels, true);
    for (size_t i = 0; (m = cbx_metric_at(ctx, i)); i++) {
        cbx_metric_options o = { 0 };
        cbx_array *r = NULL;
        double mean = NAN, sum = 0;
        bool apart = true;
        drawn d;
        draw_operands(ctx, &rng, m, 0, &d);
        for (size_t k = 0; k < d.nin; k++)
            apart &= is_shared(m, k) || (cbx_array_ndim(d.in[k]) > 0 && cbx_array_dim(d.in[k], 0) == ITEMS);
        set_needs(m, &o);
        const cbx_status st = cbx_metric_classwise(ctx, m, d.nin, d.in, by, 5, &o, &r, &mean, &err);
        if (!cbx__metric_has_items(m))
            CHECK_STATUS(st, CBX_EINVAL, m->name);
        else if (!apart)
            CHECK_STATUS(st, CBX_ESHAPE, m->name);
        if (st) { /* distributions, places of items: no items apart */
            drawn_free(&d);
            continue;
        }
        const double *v = cbx_array_data(r);
        CHECK_INT(cbx_array_count(r), 5, m->name);
        CHECK(isnan(v[2]) && isnan(v[4]), "classes without items");
        for (size_t k = 0; k < 5; k++)
            if (k != 2 && k != 4) check_class(m, &d, &o, labels, (double)k, v[k]), sum += v[k];
        CHECK(fabs(mean - sum / 3) <= 1e-12 * fabs(mean) || isnan(mean) || isinf(mean), "their mean");
        checked++;
        cbx_array_free(r);
        drawn_free(&d);
    }
    CHECK_GT((double)checked, 80, "metrics of classes");
    cbx_array_free(by);
    cbx_ctx_free(ctx);
}

TEST(classes_with_masks)
{
    static const double mask[] = { 1, 0, 0, 1 }, wrong[] = { 0, -1, 0, 7 }, stray[] = { 0, 1, 0x1p31, 1 };
    cbx_array *r = NULL;
    double mean;

    begin(test_state);
    const size_t n = 4;
    cbx_array *in[] = { vector(4, P), vector(4, T) }, *by = array_of(ctx, 1, &n, LABELS, true), *m = vector(4, mask);
    cbx_array *bad = array_of(ctx, 1, &n, wrong, true);
    const cbx_metric_options o = { .mask = m };
    CHECK_OK(cbx_metric_classwise(ctx, row("mae"), 2, in, by, 0, &o, &r, &mean, &err), &err, "a mask");
    CHECK_INT(cbx_array_count(r), 2, "classes from the labels");
    CHECK(((const double *)cbx_array_data(r))[0] == 0.75 && mean == 0.75, "the class that the mask leaves");
    CHECK(isnan(((const double *)cbx_array_data(r))[1]), "the class that it leaves out");
    CHECK_STATUS(cbx_metric_classwise(ctx, row("mae"), 2, in, bad, 0, NULL, &r, NULL, &err), CBX_EDOM, "a label of -1");
    CHECK_STR(err.message, "mae: the class of item 1 is -1: it must be between 0 and 1048575", "its sentence");
    CHECK_STATUS(cbx_metric_classwise(ctx, row("mae"), 2, in, in[0], 0, NULL, &r, NULL, &err), CBX_EDTYPE, "reals");
    cbx_array *large = array_of(ctx, 1, &n, stray, true), *few = vector(3, mask), *one = vector(1, mask);
    CHECK_STATUS(cbx_metric_classwise(ctx, row("mae"), 2, in, large, 0, NULL, &r, NULL, &err), CBX_EDOM, "2^31");
    CHECK_STR(err.message,
              "mae: the class of item 2 is 2147483648: it must be between 0 and 1048575; for more classes give their "
              "number",
              "its sentence");
    CHECK_STATUS(cbx_metric_classwise(ctx, row("mae"), 2, in, by, 1, NULL, &r, NULL, &err), CBX_EDOM, "one class");
    CHECK_STR(err.message, "mae: the class of item 2 is 1: it must be between 0 and 0", "its sentence");
    const cbx_metric_options short_mask = { .mask = few }, one_weight = { .weights = one };
    CHECK_STATUS(cbx_metric_classwise(ctx, row("mae"), 2, in, by, 0, &short_mask, &r, NULL, &err), CBX_ESHAPE, "mask");
    CHECK_STR(err.message, "mae: 'mask' must have as many items as there are labels of classes, 4", "its sentence");
    CHECK_STATUS(cbx_metric_classwise(ctx, row("mae"), 2, in, by, 0, &one_weight, &r, NULL, &err), CBX_ESHAPE,
                 "weights");
    cbx_array_free(r);
    cbx_array *all[] = { in[0], in[1], by, m, bad, large, few, one };
    for (size_t i = 0; i < CBX_LEN(all); i++) cbx_array_free(all[i]);
    cbx_ctx_free(ctx);
}

/*
 * The code of a metric runs for each class each time: pieces of a batch are not compiled, which
 * takes longer than they do.
 */
TEST(classes_are_not_compiled)
{
    enum { KINDS = 20, EACH = 700, PIECES = KINDS * EACH };
    static double v[PIECES];
    static int64_t labels[PIECES];
    const cbx_array_desc d = { .dtype = CBX_I64, .ndim = 1, .shape = { PIECES } };
    cbx_array *r = NULL;
    cbx_scope scope;

    begin(test_state);
    for (size_t i = 0; i < PIECES; i++) v[i] = sin((double)i), labels[i] = (int64_t)(i % KINDS);
    cbx_scope_open(ctx, &scope);
    cbx_array *x = vector(PIECES, v), *by = cbx_asarray(ctx, &d, labels);
    counted_runs = 0;
    for (size_t k = 0; k < 3; k++) {
        CHECK_OK(cbx_metric_classwise(ctx, &counted_error, 2, (cbx_array *[]){ x, x }, by, KINDS, NULL, &r, NULL, &err),
                 &err, "classes");
        cbx_array_free(r);
        CHECK_INT(counted_runs, (k + 1) * KINDS, "each class again");
    }
    for (size_t k = 0; k < 3; k++) value_of(ctx, &counted_error, 2, (cbx_array *[]){ x, x }, NULL);
    CHECK_INT(counted_runs, 3 * KINDS + 2, "other calls are compiled as before");
    cbx_array_free(x);
    CHECK_OK(cbx_scope_close(&scope, &err), &err, "the scope");
    cbx_ctx_free(ctx);
}

/* Intervals: of what is drawn of arcface_loss, and of what has no items. */
TEST(intervals_are_of_items)
{
    const cbx_metric_bootstrap_opts opts = CBX_OPTS(cbx_metric_bootstrap_opts, 0.9, 20, 3);
    const cbx_metric_function *m;
    size_t refused = 0;
    cbx_rng rng = cbx_rng_make(12, 1);

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; (m = cbx_metric_at(ctx, i)); i++) {
        cbx_interval interval;
        cbx_status st;
        drawn d;
        bool shared = false;
        for (size_t k = 0; k < cbx_metric_operands(m) && !m->operands[k].optional; k++) shared |= is_shared(m, k);
        if (cbx__metric_has_items(m) && !shared) continue;
        draw_operands(ctx, &rng, m, 0, &d);
        if (shared) { /* of items that are all alike an interval is a point, whatever the class vectors are */
            const size_t n = ITEMS;
            const double zeros[ITEMS] = { 0 };
            cbx_array *places = array_of(ctx, 1, &n, zeros, true);
            for (size_t k = 0; k < d.nin; k++) {
                cbx_array *x = NULL;
                cbx_scope scope;
                if (is_shared(m, k)) continue;
                cbx_scope_open(ctx, &scope);
                x = cbx_take(ctx, d.in[k], places, 0);
                CHECK_OK(cbx_scope_close_keep(&scope, 1, &x, &err), &err, "items");
                cbx_array_free(d.in[k]);
                d.in[k] = x;
            }
            cbx_array_free(places);
        }
        st = cbx_metric_bootstrap(ctx, m, d.nin, d.in, NULL, &opts, &interval, &err);
        if (shared) {
            CHECK_OK(st, &err, m->name);
            CHECK(fabs(interval.upper - interval.lower) <= 1e-12 * fabs(interval.value), m->name);
        } else {
            CHECK_STATUS(st, CBX_EINVAL, m->name);
            CHECK(strstr(err.message, ": is not a metric of items: there is nothing to draw for an interval"),
                  err.message);
            refused++;
        }
        drawn_free(&d);
    }
    CHECK_GT((double)refused, 30, "metrics without items");
    cbx_ctx_free(ctx);
}

/* ---- optional operands that go with the items ---- */

enum { ROWS = 8 };

/* Operands of ROWS items, of which the last one has rows of the items, or of their pairs. */
typedef struct example {
    const char *metric;
    size_t nin;
    cbx_array *in[4];
} example;

/* Those of the items at places; pairs along both axes, with places among these. */
static void take_items(const example *e, size_t n, const double *places, cbx_array **out)
{
    const cbx_metric_function *m = row(e->metric);

    for (size_t i = 0; i < e->nin; i++) {
        const bool pairs = cbx_metric_operand_items(m, i) == CBX_ITEMS_PAIRS;
        const size_t width = cbx_array_count(e->in[i]) / ROWS;
        double *v = read_all(e->in[i]), took[ROWS * ROWS];
        size_t shape[CBX_MAX_RANK] = { 0 }, at = 0;
        for (size_t r = 0; r < n; r++)
            for (size_t k = 0; k < (pairs ? n : width); k++) {
                double x = v[(size_t)places[r] * width + (pairs ? (size_t)places[k] : k)];
                if (pairs && m->operands[i].kind == CBX_OPERAND_INDICES && x >= 0) {
                    size_t new = 0;
                    while (new < n && places[new] != x) new ++;
                    x = new < n ? (double)new : -1;
                }
                took[at++] = x;
            }
        for (int k = 0; k < cbx_array_ndim(e->in[i]); k++) shape[k] = k == 0 || pairs ? n : cbx_array_dim(e->in[i], k);
        out[i] = array_of(ctx, cbx_array_ndim(e->in[i]), shape, took, cbx_array_dtype(e->in[i]) == CBX_I64);
        free(v);
    }
}

/* Random operands. */
static void make_examples(example *out)
{
    const size_t points[] = { ROWS, 2 }, tokens[] = { ROWS, 2, 2 }, pairs[] = { ROWS, ROWS }, n = ROWS;
    double v[ROWS * ROWS], table[ROWS * ROWS], labels[ROWS];
    cbx_rng rng = cbx_rng_make(52, 1);

    for (size_t i = 0; i < ROWS * ROWS; i++) {
        v[i] = 0.1 + cbx_rng_uniform(&rng);
        table[i] = (double)cbx_rng_below(&rng, ROWS + 1) - 1;
    }
    for (size_t i = 0; i < ROWS; i++) labels[i] = (double)(i % 3);
    out[0] = (example){ "bert_score",
                        4,
                        { array_of(ctx, 3, tokens, v, false), array_of(ctx, 3, tokens, v + 9, false),
                          array_of(ctx, 2, points, v + 3, false), array_of(ctx, 2, points, v + 11, false) } };
    out[1] = (example){ "nt_xent_loss", 3, { array_of(ctx, 2, points, v, false), array_of(ctx, 1, &n, labels, true) } };
    out[2] = (example){ "triplet_margin_loss",
                        3,
                        { array_of(ctx, 2, points, v, false), array_of(ctx, 1, &n, labels, true),
                          array_of(ctx, 2, pairs, table, true) } };
    out[3] = (example){ "wasserstein_1d",
                        4,
                        { vector(ROWS, v), vector(ROWS, v + 8), vector(ROWS, v + 16), vector(ROWS, v + 24) } };
    for (size_t i = 0; i < ROWS * ROWS; i++) v[i] = v[i] > 0.5;
    out[1].in[2] = array_of(ctx, 2, pairs, v, false);
}

TEST(rows_go_with_their_items)
{
    static const double groups[ROWS] = { 0, 1, 0, 0, 1, 0, 1, 0 }, mask[ROWS] = { 1, 0, 1, 1, 0, 1, 0, 1 };
    static const double places[] = { 0, 2, 3, 5, 7 };
    const size_t n = ROWS;
    example examples[4];

    begin(test_state);
    make_examples(examples);
    cbx_array *by = array_of(ctx, 1, &n, groups, true), *kept = vector(ROWS, mask);
    for (size_t k = 0; k < CBX_LEN(examples); k++) {
        const example *e = &examples[k];
        const cbx_metric_function *m = row(e->metric);
        cbx_array *in[4], *r = NULL;
        take_items(e, CBX_LEN(places), places, in);
        const double wanted = value_of(ctx, m, e->nin, in, NULL);
        const double masked = value_of(ctx, m, e->nin, e->in, &(cbx_metric_options){ .mask = kept });
        CHECK(isfinite(wanted) && wanted != value_of(ctx, m, e->nin, e->in, NULL), m->name);
        CHECK_OK(cbx_metric_classwise(ctx, m, e->nin, e->in, by, 2, NULL, &r, NULL, &err), &err, m->name);
        CHECK_LE(fabs(*(const double *)cbx_array_data(r) - wanted), 1e-14, m->name);
        CHECK_LE(fabs(masked - wanted), 1e-14, m->name);
        cbx_array_free(r);
        for (size_t i = 0; i < e->nin; i++) {
            cbx_array_free(in[i]);
            cbx_array_free(e->in[i]);
        }
    }
    cbx_array_free(by);
    cbx_array_free(kept);
    cbx_ctx_free(ctx);
}

/* An example with a mask and an interval. */
static cbx_status mask_and_interval(cbx_ctx *c, void *user)
{
    static const bool mask[ROWS] = { 1, 0, 1, 1, 0, 1, 0, 1 };
    const cbx_array_desc d = { .dtype = CBX_BOOL, .ndim = 1, .shape = { ROWS } };
    const cbx_metric_bootstrap_opts opts = CBX_OPTS(cbx_metric_bootstrap_opts, 0.9, 3, 3);
    const example *e = user;
    const cbx_metric_function *m = row(e->metric);
    cbx_interval iv;
    cbx_scope scope;
    cbx_status st;

    cbx_scope_open(c, &scope);
    const cbx_metric_options o = { .mask = cbx_asarray(c, &d, mask) };
    cbx_metric_apply(c, m, e->nin, e->in, &o);
    st = cbx_scope_close(&scope, &err);
    return st ? st : cbx_metric_bootstrap(c, m, e->nin, e->in, NULL, &opts, &iv, &err);
}

TEST(memory_may_end)
{
    example examples[4];

    begin(test_state);
    make_examples(examples);
    for (size_t k = 0; k < CBX_LEN(examples); k++) {
        cbx_test_fail_each(mask_and_interval, &examples[k], examples[k].metric);
        for (size_t i = 0; i < examples[k].nin; i++) cbx_array_free(examples[k].in[i]);
    }
    cbx_ctx_free(ctx);
}

/*
 * Operands of which all items give one number, if rows of optional operands go with them: then an
 * interval is a point.
 */
TEST(intervals_draw_rows_of_items)
{
    const cbx_metric_bootstrap_opts opts = CBX_OPTS(cbx_metric_bootstrap_opts, 0.9, 30, 3);
    const size_t n = ITEMS, tokens[] = { ITEMS, 2, 2 }, rows[] = { ITEMS, 2 }, pairs[] = { ITEMS, ITEMS };
    double x[ITEMS], y[ITEMS], w[ITEMS], zeros[ITEMS] = { 0 }, a[4 * ITEMS], b[4 * ITEMS], by[2 * ITEMS];
    double chosen[ITEMS * ITEMS], points[2 * ITEMS] = { 0 };
    cbx_interval iv;

    begin(test_state);
    for (size_t i = 0; i < ITEMS; i++) {
        x[i] = i == 3 ? 1000 : 1; /* an outlier without weight, which no pair is of */
        y[i] = 3;
        w[i] = i == 3 ? 0 : 1;
        points[2 * i] = i == 3 ? 1000 : 0;
        for (size_t k = 0; k < ITEMS; k++) chosen[i * ITEMS + k] = i != 3 && k != 3;
        for (size_t k = 0; k < 2; k++) { /* token i % 2 of a text is that of the reference */
            by[2 * i + k] = k == i % 2;
            a[4 * i + 2 * k] = k == i % 2;
            a[4 * i + 2 * k + 1] = k != i % 2;
            b[4 * i + 2 * k] = 1;
            b[4 * i + 2 * k + 1] = 0;
        }
    }
    const struct {
        const char *metric;
        double value;
        size_t nin;
        cbx_array *in[4];
    } cases[] = {
        { "wasserstein_1d", 2, 4, { vector(n, x), vector(n, y), vector(n, w), vector(n, y) } },
        { "contrastive_loss",
          0,
          3,
          { array_of(ctx, 2, rows, points, false), array_of(ctx, 1, &n, zeros, true),
            array_of(ctx, 2, pairs, chosen, false) } },
        { "bert_score",
          1,
          3,
          { array_of(ctx, 3, tokens, a, false), array_of(ctx, 3, tokens, b, false),
            array_of(ctx, 2, rows, by, false) } },
    };
    for (size_t k = 0; k < CBX_LEN(cases); k++) {
        const cbx_metric_function *m = row(cases[k].metric);
        CHECK_OK(cbx_metric_bootstrap(ctx, m, cases[k].nin, cases[k].in, NULL, &opts, &iv, &err), &err, m->name);
        CHECK(iv.value == cases[k].value && iv.lower == iv.value && iv.upper == iv.value, m->name);
        CHECK_OK(cbx_metric_bootstrap(ctx, m, 2, cases[k].in, NULL, &opts, &iv, &err), &err, m->name);
        CHECK(iv.lower < iv.upper || k == 2, "without them it is not");
        for (size_t i = 0; i < cases[k].nin; i++) cbx_array_free(cases[k].in[i]);
    }
    cbx_array *in[] = { vector(4, P), vector(3, T) };
    CHECK_STATUS(cbx_metric_bootstrap(ctx, row("mae"), 2, in, NULL, &opts, &iv, &err), CBX_ESHAPE, "lengths");
    CHECK_STR(err.message, "mae: for an interval 'targets' must have 4 items, not 3", "its sentence");
    CHECK_STATUS(cbx_metric_bootstrap(ctx, row("fid"), 2, (cbx_array *[]){ in[0], NULL }, NULL, &opts, &iv, &err),
                 CBX_EINVAL, "one set");
    cbx_array_free(in[0]);
    cbx_array_free(in[1]);
    cbx_ctx_free(ctx);
}

/* ---- series ---- */

TEST(series)
{
    static const double v[] = { NAN, 3, 1, NAN, 1, 5, 5 };
    static const bool better[3][7] = { { 0, 1, 0, 0, 0, 1, 0 }, { 0, 1, 1, 0, 0, 0, 0 }, { 0 } };
    static const double best[] = { 5, 1, NAN };
    static const size_t step[] = { 5, 2, 0 };

    for (int direction = CBX_DIRECTION_HIGHER; direction <= CBX_DIRECTION_INFO; direction++) {
        cbx_metric_track t;
        cbx_metric_track_init(&t, (cbx_direction)direction);
        CHECK(isnan(t.best) && isnan(t.min) && t.steps == 0, "nothing yet");
        for (size_t i = 0; i < CBX_LEN(v); i++) CHECK(cbx_metric_track_add(&t, v[i]) == better[direction][i], "better");
        CHECK(t.best == best[direction] || isnan(best[direction]), "the best");
        CHECK_INT(t.best_step, step[direction], "its step");
        CHECK(t.min == 1 && t.max == 5 && t.current == 5, "extremes");
        CHECK_INT(t.min_step, 2, "of the first");
        CHECK_INT(t.max_step, 5, "of the first");
        CHECK_INT(t.steps, 7, "all steps");
    }
}

TESTS(.seconds = 300)
