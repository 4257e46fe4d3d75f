/*
 * Weights, masks and shards of every metric: a weight of 2 is an item twice, a mask leaves items
 * out, parts of batches join.
 */
#include "draw.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/metrics/stateful/state.h"

static cbx_err err;
static cbx_ctx *ctx;

enum { DRAWS = 5 };

typedef void check(const cbx_metric_function *m, cbx_rng *rng);

static void every_metric(check *f)
{
    const cbx_metric_function *m;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; (m = metric_at(ctx, i)); i++) {
        cbx_rng rng = cbx_rng_make(10, i);
        for (size_t k = 0; k < DRAWS; k++) f(m, &rng);
    }
    cbx_ctx_free(ctx);
}

static void same(const cbx_metric_function *m, const drawn *a, const cbx_metric_options *o, const drawn *b,
                 const char *what)
{
    size_t na, nb;
    double *x = values_of(ctx, m, a->nin, a->in, o, &na), *y = values_of(ctx, m, b->nin, b->in, NULL, &nb);

    CHECK_INT(na, nb, m->name);
    for (size_t i = 0; i < na; i++)
        if (!(fabs(x[i] - y[i]) <= 1e-10 * fmax(1, fabs(y[i]))) && !(isnan(x[i]) && isnan(y[i])))
            fail_msg("%s with %s is %.17g, not %.17g", m->name, what, x[i], y[i]);
    free(x);
    free(y);
}

/* Whether a state holds one batch, since its numbers are of pairs of items. */
static bool has_pairs(const cbx_metric_function *m)
{
    for (size_t i = 0; i < cbx_metric_operands(m); i++)
        if (!m->operands[i].optional && cbx_metric_operand_items(m, i) == CBX_ITEMS_PAIRS) return true;
    return false;
}

static void weights(const cbx_metric_function *m, cbx_rng *rng)
{
    double w[ITEMS], places[3 * ITEMS];
    const size_t items = ITEMS;
    cbx_metric_options o = { 0 };
    size_t n = 0;
    drawn d, e;

    if (!has_items(m) || !(m->items || m->flags & CBX_METRIC_WEIGHTED)) return;
    for (size_t i = 0; i < ITEMS; i++) {
        w[i] = i < 4 ? 1 : (double)cbx_rng_below(rng, 3);
        for (size_t k = 0; k < (size_t)w[i]; k++) places[n++] = (double)i;
    }
    draw_operands(ctx, rng, m, 0, &d);
    pick(ctx, m, &d, n, places, &e);
    o.weights = array_of(ctx, 1, &items, w, false);
    same(m, &d, &o, &e, "weights");
    cbx_array_free((cbx_array *)o.weights);
    drawn_free(&d);
    drawn_free(&e);
}

TEST(weights_are_repetitions) { every_metric(weights); }

/* What the mask leaves out holds NaN where it may. */
static void masks(const cbx_metric_function *m, cbx_rng *rng)
{
    double mask[ITEMS], places[ITEMS];
    const size_t items = ITEMS;
    cbx_metric_options o = { 0 };
    size_t n = 0;
    drawn d, e;

    if (!has_items(m)) return;
    for (size_t i = 0; i < ITEMS; i++) {
        mask[i] = i < 6 ? 1 : (double)cbx_rng_below(rng, 2);
        if (mask[i] > 0) places[n++] = (double)i;
    }
    draw_operands(ctx, rng, m, 0, &d);
    pick(ctx, m, &d, n, places, &e);
    for (size_t i = 0; i < d.nin; i++) {
        const size_t width = cbx_array_count(d.in[i]) / ITEMS;
        double *v = cbx_array_data_mut(d.in[i]);
        if (cbx_array_dtype(d.in[i]) != CBX_F64 || is_shared(m, i)) continue;
        for (size_t k = 0; k < ITEMS * width; k++)
            if (mask[k / width] == 0) v[k] = NAN;
    }
    o.mask = array_of(ctx, 1, &items, mask, true);
    same(m, &d, &o, &e, "a mask");
    cbx_array_free((cbx_array *)o.mask);
    drawn_free(&d);
    drawn_free(&e);
}

TEST(masked_items_do_not_count) { every_metric(masks); }

/* Two states, of two batches and of one, joined in either order, against all items at once. */
static void shards(const cbx_metric_function *m, cbx_rng *rng)
{
    static const double places[3][ITEMS] = { { 0, 1, 2, 3, 4 }, { 5, 6, 7 }, { 8, 9, 10, 11 } };
    static const size_t counts[3] = { 5, 3, 4 };
    cbx_metric_options o = { 0 };
    cbx_metric_state *s[2] = { NULL, NULL };
    double w[ITEMS];
    drawn d;

    if (!has_items(m) || has_pairs(m)) return;
    set_needs(m, &o);
    draw_operands(ctx, rng, m, 0, &d);
    const bool weighted = (m->items || m->flags & CBX_METRIC_WEIGHTED) && cbx_rng_below(rng, 2);
    for (size_t i = 0; i < ITEMS; i++) w[i] = 0.5 + cbx_rng_uniform(rng);
    for (size_t k = 0; k < 2; k++) CHECK_OK(cbx_metric_state_create(ctx, m, &o, &s[k], &err), &err, m->name);
    for (size_t k = 0; k < 3; k++) {
        cbx_metric_options with = { 0 };
        double part[ITEMS];
        drawn b;
        pick(ctx, m, &d, counts[k], places[k], &b);
        for (size_t i = 0; i < counts[k]; i++) part[i] = w[(size_t)places[k][i]];
        if (weighted) with.weights = array_of(ctx, 1, &counts[k], part, false);
        CHECK_OK(cbx_metric_state_update(ctx, s[k == 2], b.nin, b.in, &with, &err), &err, m->name);
        cbx_array_free((cbx_array *)with.weights);
        drawn_free(&b);
    }

    for (size_t k = 0; k < 2; k++) s[k] = through_bytes(ctx, s[k], o.function);

    cbx_array *r = NULL;
    const size_t items = ITEMS;
    size_t n;
    if (weighted) o.weights = array_of(ctx, 1, &items, w, false);
    double *y = values_of(ctx, m, d.nin, d.in, &o, &n);
    /* a table of items has their order, and so have metrics that depend on it */
    const bool ordered = n != 1 || (m->whole && !(m->invariances & (CBX_INVARIANT_ORDER | CBX_INVARIANT_SAMPLE_ORDER)));
    const bool swapped = cbx_rng_below(rng, 2) && !ordered;
    CHECK_OK(cbx_metric_state_merge(ctx, s[swapped], s[!swapped], &err), &err, m->name);
    CHECK_INT(cbx_metric_state_updates(s[swapped]), 3, m->name);
    CHECK_OK(cbx_metric_state_compute(ctx, s[swapped], &r, &err), &err, m->name);
    CHECK_INT(cbx_array_count(r), n, m->name);
    double *joined = read_all(r);
    for (size_t i = 0; i < n; i++) {
        const double x = joined[i];
        if (!(fabs(x - y[i]) <= 1e-12 * fmax(1, fabs(y[i])) * 8) && !(isnan(x) && isnan(y[i])))
            fail_msg("%s of shards is %.17g, not %.17g", m->name, x, y[i]);
    }
    free(y);
    free(joined);
    cbx_array_free(r);
    cbx_array_free((cbx_array *)o.weights);
    for (size_t k = 0; k < 2; k++) cbx_metric_state_free(s[k]);
    drawn_free(&d);
}

TEST(shards_join) { every_metric(shards); }

/*
 * Two states of one batch each, of metrics whose operands are not items of one length, against both
 * batches at once.
 */
static void apart(const cbx_metric_function *m, cbx_rng *rng)
{
    const bool single = m->whole && !cbx__metric_has_items(m);
    cbx_metric_options o = { 0 };
    cbx_metric_state *s[3] = { NULL };
    cbx_array *r[3] = { NULL };
    drawn d[2];

    if (has_items(m)) return;
    set_needs(m, &o);
    for (size_t k = 0; k < 3; k++) CHECK_OK(cbx_metric_state_create(ctx, m, &o, &s[k], &err), &err, m->name);
    for (size_t k = 0; k < 2; k++) {
        draw_operands(ctx, rng, m, 0, &d[k]);
        CHECK_OK(cbx_metric_state_update(ctx, s[k], d[k].nin, d[k].in, NULL, &err), &err, m->name);
    }
    CHECK_OK(cbx_metric_state_update(ctx, s[2], d[0].nin, d[0].in, NULL, &err), &err, m->name);
    const cbx_status st = cbx_metric_state_merge(ctx, s[0], s[1], &err);
    CHECK_STATUS(st, single ? CBX_EINVAL : CBX_OK, m->name);
    if (single) CHECK(strstr(err.message, "is not a metric of items, so that its state holds one batch"), err.message);
    CHECK_INT(cbx_metric_state_updates(s[0]), single ? 1 : 2, m->name);
    const cbx_status again = cbx_metric_state_update(ctx, s[2], d[1].nin, d[1].in, NULL, &err);
    CHECK_STATUS(again, single ? CBX_EINVAL : CBX_OK, m->name);
    for (size_t k = 0; k < 3; k += 2) CHECK_OK(cbx_metric_state_compute(ctx, s[k], &r[k], &err), &err, m->name);
    double *x = read_all(r[0]), *y = read_all(r[2]);
    CHECK_INT(cbx_array_count(r[0]), cbx_array_count(r[2]), m->name);
    for (size_t i = 0; i < cbx_array_count(r[0]); i++)
        if (!(fabs(x[i] - y[i]) <= 1e-12 * fmax(1, fabs(y[i]))) && !(isnan(x[i]) && isnan(y[i])))
            fail_msg("%s is %.17g of merged states, %.17g of one", m->name, x[i], y[i]);
    free(x);
    free(y);
    for (size_t k = 0; k < 3; k++) {
        cbx_metric_state_free(s[k]);
        cbx_array_free(r[k]);
    }
    for (size_t k = 0; k < 2; k++) drawn_free(&d[k]);
}

TEST(what_is_one_thing_is_not_joined) { every_metric(apart); }

TESTS(.seconds = 600)
