/*
 * Weights, masks and shards of every metric: a weight of 2 is an item twice, a mask leaves items
 * out, parts of batches join.
 */
#include "draw.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/metrics/call.h"
#include "calibrax/metrics/stateful/state.h"

static cbx_err err;
static cbx_ctx *ctx;
static size_t exact; /* draws whose shards must have the bits of all items */

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

/* ---- shards ---- */

enum { SHARDED = 40, BATCHES = 5, STATES = 3 };

/* Whether numbers that states add are whole, so that their sums are exact; counts are. */
static bool adds_whole_numbers(const cbx_metric_function *m, const drawn *d, const cbx_metric_options *o)
{
    cbx_array *sums = NULL;
    cbx__checked c;
    cbx_scope scope;
    bool whole = true;

    if (m->merge || !(m->parts || m->items)) return false;
    cbx_scope_open(ctx, &scope);
    if (cbx__metric_check(ctx, m, d->nin, d->in, o, &c)) {
        c.bound.partial = true;
        sums = cbx_copy(ctx, cbx__metric_evaluate(ctx, &c.bound, c.all));
    }
    CHECK_OK(cbx_scope_close_keep(&scope, 1, &sums, &err), &err, m->name);
    double *v = read_all(sums);
    for (size_t i = 0; i < cbx_array_count(sums); i++) whole &= v[i] == rint(v[i]);
    free(v);
    cbx_array_free(sums);
    return whole;
}

/* The result of states of five batches, from or to another process, joined from the first or from
 * the last one on. */
static double *of_shards(const cbx_metric_function *m, const drawn *d, const double *w, bool backwards, size_t *n)
{
    static const size_t counts[BATCHES] = { 12, 7, 9, 4, 8 }, state_of[BATCHES] = { 0, 0, 1, 2, 2 };
    cbx_metric_options o = { 0 };
    cbx_metric_state *s[STATES];
    cbx_array *r = NULL;
    size_t first = 0;

    set_needs(m, &o);
    for (size_t k = 0; k < STATES; k++) CHECK_OK(cbx_metric_state_create(ctx, m, &o, &s[k], &err), &err, m->name);
    for (size_t k = 0; k < BATCHES; first += counts[k++]) {
        cbx_metric_options with = { 0 };
        double places[SHARDED];
        drawn b;
        for (size_t i = 0; i < counts[k]; i++) places[i] = (double)(first + i);
        pick(ctx, m, d, counts[k], places, &b);
        if (w) with.weights = array_of(ctx, 1, &counts[k], w + first, false);
        CHECK_OK(cbx_metric_state_update(ctx, s[state_of[k]], b.nin, b.in, &with, &err), &err, m->name);
        cbx_array_free((cbx_array *)with.weights);
        drawn_free(&b);
    }
    for (size_t k = 0; k < STATES; k++) s[k] = through_bytes(ctx, s[k], o.function);
    cbx_metric_state *all = s[backwards ? STATES - 1 : 0];
    for (size_t k = 1; k < STATES; k++)
        CHECK_OK(cbx_metric_state_merge(ctx, all, s[backwards ? STATES - 1 - k : k], &err), &err, m->name);
    CHECK_INT(cbx_metric_state_updates(all), BATCHES, m->name);
    CHECK_OK(cbx_metric_state_compute(ctx, all, &r, &err), &err, m->name);
    *n = cbx_array_count(r);
    double *v = read_all(r);
    cbx_array_free(r);
    for (size_t k = 0; k < STATES; k++) cbx_metric_state_free(s[k]);
    return v;
}

/* Five batches in three states, joined in two orders, against all items at once: counts to
 * the bit. */
static void shards(const cbx_metric_function *m, cbx_rng *rng)
{
    cbx_metric_options o = { 0 };
    const size_t items = SHARDED;
    size_t n, joined;
    double w[SHARDED];
    drawn d;

    if (!has_items(m) || has_pairs(m)) return;
    set_needs(m, &o);
    draw_operands(ctx, rng, m, SHARDED, &d);
    const bool weighted = (m->items || m->flags & CBX_METRIC_WEIGHTED) && cbx_rng_below(rng, 2);
    for (size_t i = 0; i < SHARDED; i++) w[i] = 0.5 + cbx_rng_uniform(rng);
    if (weighted) o.weights = array_of(ctx, 1, &items, w, false);
    double *y = values_of(ctx, m, d.nin, d.in, &o, &n);
    /* a table of items has their order, and so have metrics that depend on it */
    const bool ordered = n != 1 || (m->whole && !(m->invariances & (CBX_INVARIANT_ORDER | CBX_INVARIANT_SAMPLE_ORDER)));
    const double bound = adds_whole_numbers(m, &d, &o) ? 0 : 1e-12;
    exact += bound == 0;
    for (int backwards = 0; backwards < (ordered && !m->parts ? 1 : 2); backwards++) {
        double *x = of_shards(m, &d, weighted ? w : NULL, backwards, &joined);
        CHECK_INT(joined, n, m->name);
        for (size_t i = 0; i < n; i++)
            if (!(fabs(x[i] - y[i]) <= bound * fabs(y[i])) && !(isnan(x[i]) && isnan(y[i])))
                fail_msg("%s of shards is %.17g, not %.17g", m->name, x[i], y[i]);
        free(x);
    }
    free(y);
    cbx_array_free((cbx_array *)o.weights);
    drawn_free(&d);
}

TEST(shards_join)
{
    every_metric(shards);
    CHECK_GT(exact, 50, "draws of sums of integers");
}

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
