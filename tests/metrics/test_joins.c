/* Weights, masks and shards of every metric: a weight of 2 is an item twice, a mask leaves items out, parts of batches join. */
#include "draw.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/metrics/bootstrap.h"
#include "calibrax/metrics/compose.h"
#include "calibrax/metrics/stateful/state.h"

static cbx_err err;
static cbx_ctx *ctx;

enum { DRAWS = 5 };

typedef void check(const cbx_metric_function *m, cbx_rng *rng);

static void every_metric(check *f)
{
    const cbx_metric_function *m;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; (m = cbx_metric_at(ctx, i)); i++) {
        cbx_rng rng = cbx_rng_make(10, i);
        for (size_t k = 0; k < DRAWS; k++) f(m, &rng);
    }
    cbx_ctx_free(ctx);
}

/* Items of operands at places of the first axis; what all items share as it is. */
static void pick(const cbx_metric_function *m, const drawn *d, size_t n, const double *places, drawn *out)
{
    cbx_array *at = array_of(ctx, 1, &n, places, true);

    *out = (drawn){ .nin = d->nin };
    for (size_t i = 0; i < d->nin; i++) {
        cbx_scope scope;
        if (is_shared(m->operands[i].kind)) {
            out->in[i] = cbx_array_ref(d->in[i]);
            continue;
        }
        cbx_scope_open(ctx, &scope);
        out->in[i] = cbx_take(ctx, d->in[i], at, 0);
        CHECK_OK(cbx_scope_close_keep(&scope, 1, &out->in[i], &err), &err, "items");
    }
    cbx_array_free(at);
}

/* True if the first axis of all operands is that of the items. */
static bool has_items(const cbx_metric_function *m)
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
    pick(m, &d, n, places, &e);
    o.weights = array_of(ctx, 1, &items, w, false);
    same(m, &d, &o, &e, "weights");
    cbx_array_free((cbx_array *)o.weights);
    drawn_free(&d);
    drawn_free(&e);
}

static void weights_are_repetitions(void **state)
{
    (void)state;
    every_metric(weights);
}

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
    pick(m, &d, n, places, &e);
    for (size_t i = 0; i < d.nin; i++) {
        const size_t width = cbx_array_count(d.in[i]) / ITEMS;
        double *v = cbx_array_data_mut(d.in[i]);
        if (cbx_array_dtype(d.in[i]) != CBX_F64 || is_shared(m->operands[i].kind)) continue;
        for (size_t k = 0; k < ITEMS * width; k++)
            if (mask[k / width] == 0) v[k] = NAN;
    }
    o.mask = array_of(ctx, 1, &items, mask, true);
    same(m, &d, &o, &e, "a mask");
    cbx_array_free((cbx_array *)o.mask);
    drawn_free(&d);
    drawn_free(&e);
}

static void masked_items_do_not_count(void **state)
{
    (void)state;
    every_metric(masks);
}

/* The state that another process gets. */
static cbx_metric_state *through_bytes(cbx_metric_state *s, const cbx_fn *function)
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

/* Two states, of two batches and of one, joined in either order, against all items at once. */
static void shards(const cbx_metric_function *m, cbx_rng *rng)
{
    static const double places[3][ITEMS] = { { 0, 1, 2, 3, 4 }, { 5, 6, 7 }, { 8, 9, 10, 11 } };
    static const size_t counts[3] = { 5, 3, 4 };
    cbx_metric_options o = { 0 };
    cbx_metric_state *s[2] = { NULL, NULL };
    double w[ITEMS];
    drawn d;

    if (!has_items(m)) return;
    set_needs(m, &o);
    draw_operands(ctx, rng, m, 0, &d);
    const bool weighted = (m->items || m->flags & CBX_METRIC_WEIGHTED) && cbx_rng_below(rng, 2);
    for (size_t i = 0; i < ITEMS; i++) w[i] = 0.5 + cbx_rng_uniform(rng);
    for (size_t k = 0; k < 2; k++) CHECK_OK(cbx_metric_state_create(ctx, m, &o, &s[k], &err), &err, m->name);
    for (size_t k = 0; k < 3; k++) {
        cbx_metric_options with = { 0 };
        double part[ITEMS];
        drawn b;
        pick(m, &d, counts[k], places[k], &b);
        for (size_t i = 0; i < counts[k]; i++) part[i] = w[(size_t)places[k][i]];
        if (weighted) with.weights = array_of(ctx, 1, &counts[k], part, false);
        CHECK_OK(cbx_metric_state_update(ctx, s[k == 2], b.nin, b.in, &with, &err), &err, m->name);
        cbx_array_free((cbx_array *)with.weights);
        drawn_free(&b);
    }

    for (size_t k = 0; k < 2; k++) s[k] = through_bytes(s[k], o.function);

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

static void shards_join(void **state)
{
    (void)state;
    every_metric(shards);
}

/* ---- compiled updates ---- */

enum { MANY = 1500 }; /* items: more elements than a call is worth compiling for */

static size_t runs; /* of the code below */

static cbx_array *counted_items(cbx_ctx *c, const cbx_metric_call *call)
{
    runs++;
    return cbx_abs(c, cbx_subtract(c, call->in[0], call->in[1]));
}

/* The code of a metric runs for the first batch, and once more to compile it, whatever the state. */
static void updates_are_compiled_once(void **state)
{
    static const cbx_metric_function row = { .name = "counted_error",
                                             .domain = "general",
                                             .summary = "Counted error",
                                             .formula = "mean(|x - y|)",
                                             .operands = CBX__PAIR("x", "y", REAL),
                                             .high = INFINITY,
                                             .items = counted_items };
    static double v[MANY];
    const size_t n = MANY, fewer = MANY - 1;
    cbx_metric_state *s[2] = { NULL, NULL };

    (void)state;
    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    CHECK_OK(cbx_metric_register(ctx, &row, false, &err), &err, "the metric");
    for (size_t i = 0; i < MANY; i++) v[i] = sin((double)i);
    cbx_array *x = array_of(ctx, 1, &n, v, false), *y = array_of(ctx, 1, &n, v, false);
    cbx_array *short_x = array_of(ctx, 1, &fewer, v + 1, false), *short_y = array_of(ctx, 1, &fewer, v, false);
    for (size_t k = 0; k < 2; k++) CHECK_OK(cbx_metric_state_create(ctx, &row, NULL, &s[k], &err), &err, "a state");
    runs = 0;
    for (size_t k = 0; k < 6; k++)
        CHECK_OK(cbx_metric_state_update(ctx, s[k % 2], 2, (cbx_array *[]){ x, y }, NULL, &err), &err, "an update");
    CHECK_INT(runs, 2, "six batches of one shape");
    CHECK_OK(cbx_metric_state_update(ctx, s[0], 2, (cbx_array *[]){ short_x, short_y }, NULL, &err), &err, "another");
    CHECK_INT(runs, 3, "a batch of another shape");
    value_of(ctx, &row, 2, (cbx_array *[]){ short_x, short_y }, NULL);
    CHECK_INT(runs, 4, "a call is not what a state adds");
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

static void compiled_updates_have_the_same_bits(void **state)
{
    const cbx_metric_function *m;

    (void)state;
    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; (m = cbx_metric_at(ctx, i)); i++) {
        cbx_rng rng = cbx_rng_make(11, i);
        compiled_updates(m, &rng);
    }
    cbx_ctx_free(ctx);
}

/* Two states of one batch each, of metrics whose operands are not items of one length, against both batches at once. */
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

static void what_is_one_thing_is_not_joined(void **state)
{
    (void)state;
    every_metric(apart);
}

/* The same in collections, and through their bytes. */
static void collections_do_not_join_it(void **state)
{
    static const double p[] = { 0.5, 0.5 }, q[] = { 0.9, 0.1 };
    cbx_metric_member one = CBX_METRIC_MEMBER_INIT;
    cbx_metric_collection *c[3];
    const size_t n = 2;
    cbx_text bytes;
    double v;

    (void)state;
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

/* Intervals: of what is drawn of arcface_loss, and of what has no items. */
static void intervals_are_of_items(void **state)
{
    const cbx_metric_bootstrap_opts opts = CBX_OPTS(cbx_metric_bootstrap_opts, 0.9, 20, 3);
    const cbx_metric_function *m;
    size_t refused = 0;
    cbx_rng rng = cbx_rng_make(12, 1);

    (void)state;
    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; (m = cbx_metric_at(ctx, i)); i++) {
        cbx_interval interval;
        cbx_status st;
        drawn d;
        bool shared = false;
        for (size_t k = 0; k < cbx_metric_operands(m); k++) shared |= is_shared(m->operands[k].kind);
        if (cbx__metric_has_items(m) && !shared) continue;
        draw_operands(ctx, &rng, m, 0, &d);
        if (shared) { /* of items that are all alike an interval is a point, whatever the class vectors are */
            const size_t n = ITEMS;
            const double zeros[ITEMS] = { 0 };
            cbx_array *places = array_of(ctx, 1, &n, zeros, true);
            for (size_t k = 0; k < d.nin; k++) {
                cbx_array *x = NULL;
                cbx_scope scope;
                if (is_shared(m->operands[k].kind)) continue;
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

static void states_refuse(void **state)
{
    const cbx_metric_function *mse, *mae;
    const double v[] = { 1, 2 };
    const size_t n = 2;
    cbx_metric_state *a = NULL, *b = NULL;
    cbx_array *r = NULL, *x;

    (void)state;
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

TEST_FILE(.seconds = 600)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_repetitions),
        cmocka_unit_test(masked_items_do_not_count),
        cmocka_unit_test(shards_join),
        cmocka_unit_test(updates_are_compiled_once),
        cmocka_unit_test(compiled_updates_have_the_same_bits),
        cmocka_unit_test(what_is_one_thing_is_not_joined),
        cmocka_unit_test(collections_do_not_join_it),
        cmocka_unit_test(intervals_are_of_items),
        cmocka_unit_test(states_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
