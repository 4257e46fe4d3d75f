/* Sketches of streams: errors of ranks and areas against all data, for any order and any tree of
 * merges; states as bytes. */
#include "draw.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/base/list.h"
#include "calibrax/metrics/stateful/state.h"
#include "fail_alloc.h"

static cbx_err err;
static cbx_ctx *ctx;

enum { MOST = 60000, MAX_SHARDS = 24 };

/* ---- data ---- */

typedef void make(cbx_rng *rng, double *v, size_t n);

static void made_random(cbx_rng *rng, double *v, size_t n)
{
    for (size_t i = 0; i < n; i++) v[i] = cbx_rng_normal(rng);
}
static void made_sorted(cbx_rng *rng, double *v, size_t n)
{
    (void)rng;
    for (size_t i = 0; i < n; i++) v[i] = (double)i;
}
static void made_reversed(cbx_rng *rng, double *v, size_t n)
{
    (void)rng;
    for (size_t i = 0; i < n; i++) v[i] = -(double)i;
}
static void made_equal(cbx_rng *rng, double *v, size_t n)
{
    (void)rng;
    for (size_t i = 0; i < n; i++) v[i] = 3;
}
static void made_rounded(cbx_rng *rng, double *v, size_t n)
{
    for (size_t i = 0; i < n; i++) v[i] = (double)cbx_rng_below(rng, 7);
}
/* Without a mean, over hundreds of orders of magnitude. */
static void made_heavy(cbx_rng *rng, double *v, size_t n)
{
    for (size_t i = 0; i < n; i++) v[i] = (cbx_rng_below(rng, 2) ? 1 : -1) * exp(100 * cbx_rng_normal(rng));
}
/* From both ends to the middle. */
static void made_inwards(cbx_rng *rng, double *v, size_t n)
{
    (void)rng;
    for (size_t i = 0; i < n; i++) v[i] = i % 2 ? (double)i : -(double)i;
    for (size_t i = 0; i < n / 2; i++) {
        const double x = v[i];
        v[i] = v[n - 1 - i];
        v[n - 1 - i] = x;
    }
}

static const struct {
    make *make;
    const char *name;
} data[] = { { made_random, "random" },  { made_sorted, "sorted" }, { made_reversed, "reversed" },
             { made_equal, "equal" },    { made_rounded, "ties" },  { made_heavy, "heavy tails" },
             { made_inwards, "inwards" } };

/* ---- shards, joined in a tree ---- */

typedef enum tree { CHAIN, BALANCED, RANDOM, TREES } tree;

/* A metric with its parameters, and data for it. */
typedef struct stream {
    const cbx_metric_function *m;
    double parameters[CBX_METRIC_MAX_PARAMETERS];
    const double *v, *y; /* y: targets, NULL for one operand */
    size_t n;
} stream;

/* A state of values from..to-1, in batches. */
static cbx_metric_state *shard(const stream *d, size_t from, size_t to, cbx_rng *rng)
{
    const cbx_metric_options o = { .parameters = d->parameters };
    cbx_metric_state *s = NULL;

    CHECK_OK(cbx_metric_state_create(ctx, d->m, &o, &s, &err), &err, d->m->name);
    for (size_t at = from, k; at < to; at += k) {
        k = 1 + (size_t)cbx_rng_below(rng, to - at);
        cbx_array *in[] = { array_of(ctx, 1, &k, d->v + at, false),
                            d->y ? array_of(ctx, 1, &k, d->y + at, false) : NULL };
        CHECK_OK(cbx_metric_state_update(ctx, s, d->y ? 2 : 1, in, NULL, &err), &err, d->m->name);
        cbx_array_free(in[0]);
        cbx_array_free(in[1]);
    }
    return s;
}

/* Shards of all values, joined: the first takes the next, or pairs are joined again and again, or
 * any two. */
static cbx_metric_state *joined(const stream *d, tree how, cbx_rng *rng)
{
    size_t count = 1 + (size_t)cbx_rng_below(rng, MAX_SHARDS);
    cbx_metric_state *s[MAX_SHARDS];

    for (size_t i = 0; i < count; i++) s[i] = shard(d, d->n * i / count, d->n * (i + 1) / count, rng);
    for (size_t a = 0, b; count > 1; a++) {
        if (how == CHAIN || (how == BALANCED && a + 1 >= count)) a = 0;
        if (how == RANDOM) a = (size_t)cbx_rng_below(rng, count - 1);
        b = how == RANDOM ? a + 1 + (size_t)cbx_rng_below(rng, count - 1 - a) : a + 1;
        CHECK_OK(cbx_metric_state_merge(ctx, s[a], s[b], &err), &err, d->m->name);
        cbx_metric_state_free(s[b]);
        count--;
        for (size_t i = b; i < count; i++) s[i] = s[i + 1];
    }
    return s[0];
}

static double result_of(const cbx_metric_state *s, double *error)
{
    cbx_array *r = NULL;
    double v;

    CHECK_OK(cbx_metric_state_compute(ctx, s, &r, &err), &err, "a sketch");
    CHECK_OK(cbx_metric_state_error(ctx, s, error, &err), &err, "its error");
    v = *(const double *)cbx_array_data(r);
    cbx_array_free(r);
    return v;
}

/* The bound that holds before there are data. */
static double bound_of(double n, double size) { return n < size ? 0 : (1 + floor(log2(n / size))) / size; }

static const cbx_metric_function *row(const char *name)
{
    const cbx_metric_function *m = NULL;

    CHECK_OK(cbx_metric_find(ctx, name, &m, &err), &err, name);
    return m;
}

static const double sizes[] = { 8, 50, 256 };
static const size_t counts[] = { 1, 49, 3000, MOST };
static double v[MOST], sorted[MOST], y[MOST];

/* ---- quantiles ---- */

static void check_quantile(const stream *d, const char *what, tree how, cbx_rng *rng)
{
    const double n = (double)d->n, size = d->parameters[0], q = d->parameters[1];
    cbx_metric_state *s = joined(d, how, rng);
    size_t below = 0, up_to = 0;
    double error, x = result_of(s, &error);
    cbx_text bytes;

    while (below < d->n && sorted[below] < x) below++;
    for (up_to = below; up_to < d->n && sorted[up_to] <= x;) up_to++;
    CHECK_LE(error, bound_of(n, size), what);
    if (!((double)up_to >= (q - error) * n && (double)below <= (q + error) * n))
        fail_msg("%s, %zu values, size %g: quantile %g is %g, of ranks %zu to %zu; error %g", what, d->n, size, q, x,
                 below, up_to, error);
    cbx_text_init(&bytes, cbx_ctx_allocator(ctx));
    CHECK_OK(cbx_metric_state_pack(ctx, s, &bytes, &err), &err, what);
    CHECK_LE((double)bytes.len, 1024 + 8 * size * (2 + fmax(0, log2(n / size))), what); /* of any n */
    cbx_text_clear(&bytes);
    cbx_metric_state_free(s);
}

TEST(quantiles_stay_in_their_bound)
{
    static const double q[] = { 0, 0.001, 0.25, 0.5, 0.99, 1 };
    cbx_rng rng = cbx_rng_make(40, 1);

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; i < CBX_LEN(data); i++)
        for (size_t k = 0; k < CBX_LEN(counts); k++) {
            data[i].make(&rng, v, counts[k]);
            memcpy(sorted, v, counts[k] * sizeof *v);
            qsort(sorted, counts[k], sizeof *v, cbx_compare_doubles);
            for (size_t j = 0; j < CBX_LEN(sizes); j++)
                for (size_t l = 0; l < CBX_LEN(q); l++) {
                    const stream d = { row("streaming_quantile"), { sizes[j], q[l] }, v, NULL, counts[k] };
                    check_quantile(&d, data[i].name, (tree)((i + k + j + l) % TREES), &rng);
                }
        }
    cbx_ctx_free(ctx);
}

/* ---- curves ---- */

/* Scores of which the positive ones are higher, on the whole; the order of items stays. */
static void mark(cbx_rng *rng, size_t n, double share)
{
    for (size_t i = 0; i < n; i++) y[i] = cbx_rng_uniform(rng) < share;
    for (size_t i = 0; i < n; i++)
        if (y[i] > 0 && cbx_rng_below(rng, 2)) v[i] += fabs(v[i]) / 2;
    y[0] = 1;
    if (n > 1) y[1] = 0;
}

static void check_area(const char *exact, const char *streaming, const char *what, double size, size_t n, tree how,
                       cbx_rng *rng)
{
    const stream d = { row(streaming), { size }, v, y, n };
    cbx_array *in[] = { array_of(ctx, 1, &n, v, false), array_of(ctx, 1, &n, y, false) };
    const double truth = value_of(ctx, row(exact), 2, in, NULL);
    cbx_metric_state *s = joined(&d, how, rng);
    double error, x = result_of(s, &error), positive = 0;

    for (size_t i = 0; i < n; i++) positive += y[i];
    if (strcmp(exact, "roc_auc") == 0)
        CHECK_LE(error, bound_of(positive, size) + bound_of((double)n - positive, size), what);
    if (!(fabs(x - truth) <= error + 1e-12) && !(isnan(x) && isnan(truth)))
        fail_msg("%s, %s, %zu values, size %g: %.17g, not %.17g; error %g", streaming, what, n, size, x, truth, error);
    cbx_metric_state_free(s);
    cbx_array_free(in[0]);
    cbx_array_free(in[1]);
}

TEST(areas_stay_in_their_bound)
{
    static const double shares[] = { 0.5, 0.03 };
    cbx_rng rng = cbx_rng_make(41, 1);

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; i < CBX_LEN(data); i++)
        for (size_t k = 1; k < CBX_LEN(counts); k++)
            for (size_t j = 0; j < CBX_LEN(sizes); j++)
                for (size_t l = 0; l < CBX_LEN(shares); l++) {
                    const tree how = (tree)((i + k + j + l) % TREES);
                    data[i].make(&rng, v, counts[k]);
                    mark(&rng, counts[k], shares[l]);
                    check_area("roc_auc", "streaming_roc_auc", data[i].name, sizes[j], counts[k], how, &rng);
                    check_area("average_precision", "streaming_average_precision", data[i].name, sizes[j], counts[k],
                               how, &rng);
                }
    cbx_ctx_free(ctx);
}

/* ---- bytes ---- */

static cbx_status restored(cbx_ctx *c, const char *bytes, size_t n)
{
    cbx_metric_state *s = NULL;
    cbx_array *r = NULL;
    cbx_status st = cbx_metric_state_unpack(c, NULL, bytes, n, NULL, &s, &err);

    if (st) return st;
    st = cbx_metric_state_compute(c, s, &r, &err);
    cbx_array_free(r);
    cbx_metric_state_free(s);
    return st;
}

/* Every cut and every changed byte is refused, or gives a state that computes or refuses. */
TEST(bytes_are_not_believed)
{
    static const char *const names[] = { "streaming_quantile", "streaming_roc_auc", "mse", "f1_score", "roc_auc", "fid",
                                         "proxy_anchor_loss" };
    cbx_rng rng = cbx_rng_make(42, 1);

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; i < CBX_LEN(names); i++) {
        const cbx_metric_function *m = row(names[i]);
        cbx_metric_state *s = NULL;
        cbx_text bytes;
        drawn d;
        draw_operands(ctx, &rng, m, 0, &d);
        cbx_text_init(&bytes, cbx_ctx_allocator(ctx));
        CHECK_OK(cbx_metric_state_create(ctx, m, NULL, &s, &err), &err, m->name);
        CHECK_OK(cbx_metric_state_update(ctx, s, d.nin, d.in, NULL, &err), &err, m->name);
        CHECK_OK(cbx_metric_state_pack(ctx, s, &bytes, &err), &err, m->name);
        CHECK_OK(restored(ctx, bytes.data, bytes.len), &err, m->name);
        for (size_t n = 0; n < bytes.len; n++) CHECK(restored(ctx, bytes.data, n) != CBX_OK, m->name);
        for (size_t k = 0; k < bytes.len; k++) {
            const char was = bytes.data[k];
            for (int bit = 0; bit < 8; bit++) {
                bytes.data[k] = (char)(was ^ (1 << bit));
                restored(ctx, bytes.data, bytes.len);
            }
            bytes.data[k] = was;
        }
        bytes.data[8]++;
        CHECK_STATUS(restored(ctx, bytes.data, bytes.len), CBX_EVERSION, m->name);
        CHECK_STR(err.message, "a metric's state of version 4: this release reads version 3", m->name);
        cbx_text_clear(&bytes);
        cbx_metric_state_free(s);
        drawn_free(&d);
    }
    cbx_ctx_free(ctx);
}

struct drawn_call {
    const cbx_metric_function *m;
    drawn d;
};

static cbx_status join_and_pack(cbx_ctx *c, void *user)
{
    const double parameters[CBX_METRIC_MAX_PARAMETERS] = { 8 };
    const cbx_metric_options o = { .parameters = parameters };
    const struct drawn_call *call = user;
    const cbx_metric_function *m = call->m;
    const drawn *d = &call->d;
    cbx_metric_state *a = NULL, *b = NULL;
    cbx_text bytes;
    cbx_array *r = NULL;
    cbx_status st = cbx_metric_state_create(c, m, &o, &a, &err);

    cbx_text_init(&bytes, cbx_ctx_allocator(c));
    for (int i = 0; i < 3 && !st; i++) st = cbx_metric_state_update(c, a, d->nin, d->in, NULL, &err);
    if (!st) st = cbx_metric_state_pack(c, a, &bytes, &err);
    if (!st) st = cbx_metric_state_unpack(c, m, bytes.data, bytes.len, NULL, &b, &err);
    if (!st) st = cbx_metric_state_merge(c, a, b, &err);
    if (!st) st = cbx_metric_state_compute(c, a, &r, &err);
    cbx_array_free(r);
    cbx_text_clear(&bytes);
    cbx_metric_state_free(a);
    cbx_metric_state_free(b);
    return st;
}

TEST(memory_may_end)
{
    cbx_rng rng = cbx_rng_make(43, 1);
    static const char *const names[] = { "streaming_roc_auc", "roc_auc", "mse" };

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; i < CBX_LEN(names); i++) {
        struct drawn_call c = { .m = row(names[i]) };
        draw_operands(ctx, &rng, c.m, 24, &c.d);
        cbx_test_fail_each(join_and_pack, &c, names[i]);
        drawn_free(&c.d);
    }
    cbx_ctx_free(ctx);
}

TESTS(.seconds = 300)
