/* Selections and collections: against the metrics one by one. */
#include "draw.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/metrics/compose.h"
#include "calibrax/metrics/stateful/state.h"

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

/* ---- selection ---- */

static size_t count(const cbx_metric_selection *s)
{
    size_t at = 0, n = 0;
    while (cbx_metric_next(ctx, s, &at)) n++;
    return n;
}

TEST(selections)
{
    cbx_metric_selection s = CBX_METRIC_SELECTION_INIT;
    const cbx_metric_function *m;
    size_t at = 0, n = 0;

    begin(test_state);
    CHECK_INT(count(NULL), cbx_metric_count(ctx), "all");
    CHECK_INT(count(&s), cbx_metric_count(ctx), "no condition");
    s.axioms = CBX_AXIOMS_METRIC;
    s.invariances = CBX_INVARIANT_ROTATION;
    for (size_t i = 0; (m = cbx_metric_at(ctx, i)); i++)
        n += (m->axioms & 15) == 15 && m->invariances & CBX_INVARIANT_ROTATION;
    CHECK_INT(count(&s), n, "axioms and invariances");
    CHECK(n > 0, "there are some");
    s = (cbx_metric_selection)CBX_METRIC_SELECTION_INIT;
    s.domain = "general";
    s.direction = CBX_DIRECTION_HIGHER;
    CHECK_STR(cbx_metric_next(ctx, &s, &at)->name, "r_squared", "domain and direction");
    CHECK_STR(cbx_metric_next(ctx, &s, &at)->name, "explained_variance", "the next");
    CHECK(!cbx_metric_next(ctx, &s, &at), "no more");
    s.tier = CBX_METRIC_TIER_LEARNING;
    CHECK_INT(count(&s), 0, "tier of another domain");
    s.domain = NULL;
    s.direction = -1;
    CHECK_GT((double)count(&s), 5, "tier");
    CHECK_STR(cbx_metric_axiom_name(CBX_AXIOM_PROPER), "proper", "an axiom's word");
    CHECK_STR(cbx_metric_invariance_name(CBX_INVARIANT_LORENTZ), "lorentz", "an invariance's word");
    CHECK_STR(cbx_metric_axiom_name(CBX_AXIOMS_METRIC), "?", "several have none");
    CHECK_STR(cbx_metric_tier_name(CBX_METRIC_TIER_FEATURES), "frozen_backbone", "a tier's word");
    cbx_ctx_free(ctx);
}

/* ---- collections ---- */

static bool same_operands(const cbx_metric_function *a, const cbx_metric_function *b)
{
    const size_t n = cbx_metric_operands(a);
    bool same = a->shapes == b->shapes && n == cbx_metric_operands(b) && has_many_classes(a) == has_many_classes(b);

    for (size_t i = 0; same && i < n; i++)
        same = a->operands[i].kind == b->operands[i].kind && a->operands[i].optional == b->operands[i].optional;
    return same;
}

static cbx_array *alone(const cbx_metric_function *m, const cbx_metric_options *o, const drawn *d)
{
    cbx_metric_state *s = NULL;
    cbx_array *r = NULL;

    CHECK_OK(cbx_metric_state_create(ctx, m, o, &s, &err), &err, m->name);
    CHECK_OK(cbx_metric_state_update(ctx, s, d->nin, d->in, NULL, &err), &err, m->name);
    CHECK_OK(cbx_metric_state_compute(ctx, s, &r, &err), &err, m->name);
    cbx_metric_state_free(s);
    return r;
}

/* Every metric in a collection with all others of its operands: the bits of its own state. */
TEST(members_are_as_alone)
{
    cbx_rng rng = cbx_rng_make(50, 1);
    const cbx_metric_function *first, *m;
    size_t members = 0, states = 0, seen = 0;

    begin(test_state);
    for (size_t i = 0; (first = cbx_metric_at(ctx, i)); i++) {
        cbx_metric_collection *c = NULL;
        cbx_metric_options needs = { 0 };
        bool is_first = true;
        drawn d;
        for (size_t k = 0; k < i && is_first; k++) is_first = !same_operands(cbx_metric_at(ctx, k), first);
        if (!is_first) continue;
        CHECK_OK(cbx_metric_collection_create(ctx, &c, &err), &err, "a collection");
        for (size_t k = i; (m = cbx_metric_at(ctx, k)); k++) {
            cbx_metric_member one = CBX_METRIC_MEMBER_INIT;
            if (!same_operands(first, m)) continue;
            needs = (cbx_metric_options){ 0 };
            set_needs(m, &needs);
            one.metric = m;
            one.parameters = needs.parameters;
            one.function = needs.function;
            CHECK_OK(cbx_metric_collection_add(ctx, c, &one, &err), &err, m->name);
        }
        draw_operands(ctx, &rng, first, 0, &d);
        CHECK_OK(cbx_metric_collection_update(ctx, c, d.nin, d.in, NULL, &err), &err, first->name);
        for (size_t k = 0; k < cbx_metric_collection_count(c); k++, seen++) {
            const cbx_metric_member *one = cbx_metric_collection_at(c, k);
            const cbx_metric_options o = { .parameters = one->parameters, .function = one->function };
            cbx_array *r = NULL, *y = alone(one->metric, &o, &d);
            CHECK_OK(cbx_metric_collection_compute(ctx, c, k, &r, &err), &err, one->label);
            double *a = read_all(r), *b = read_all(y);
            CHECK_INT(cbx_array_count(r), cbx_array_count(y), one->label);
            for (size_t l = 0; l < cbx_array_count(r); l++)
                if (a[l] != b[l] && !(isnan(a[l]) && isnan(b[l])))
                    fail_msg("%s is %.17g in a collection, %.17g alone", one->label, a[l], b[l]);
            free(a);
            free(b);
            cbx_array_free(r);
            cbx_array_free(y);
        }
        members += cbx_metric_collection_count(c);
        states += cbx_metric_collection_states(c);
        cbx_metric_collection_free(c);
        drawn_free(&d);
    }
    CHECK_INT(seen, cbx_metric_count(ctx), "every metric");
    CHECK_LE((double)states, 0.8 * (double)members, "metrics share states");
    cbx_ctx_free(ctx);
}

static cbx_metric_collection *collection(size_t n, const char *const *names)
{
    cbx_metric_collection *c = NULL;

    CHECK_OK(cbx_metric_collection_create(ctx, &c, &err), &err, "a collection");
    for (size_t i = 0; i < n; i++) {
        cbx_metric_member m = CBX_METRIC_MEMBER_INIT;
        m.metric = row(names[i]);
        CHECK_OK(cbx_metric_collection_add(ctx, c, &m, &err), &err, names[i]);
    }
    return c;
}

static const double P[] = { 2.5, 0, 2, 8 }, T[] = { 3, -0.5, 2, 7 }, LABELS[] = { 0, 1, 1, 0 };

TEST(updates_and_merges)
{
    static const char *const names[] = { "mse", "r_squared", "mape", "explained_variance" };
    static const char *const areas[] = { "roc_auc", "average_precision" };
    cbx_metric_collection *a, *b, *c;
    double v, w;

    begin(test_state);
    cbx_array *in[] = { vector(2, P), vector(2, T) }, *more[] = { vector(2, P + 2), vector(2, T + 2) };
    cbx_array *bad[] = { vector(2, P), vector(4, T) };
    a = collection(4, names);
    b = collection(4, names);
    CHECK_INT(cbx_metric_collection_states(a), 3, "r_squared and explained_variance share one");
    CHECK_OK(cbx_metric_collection_update(ctx, a, 2, in, NULL, &err), &err, "a batch");
    CHECK_OK(cbx_metric_collection_update(ctx, b, 2, more, NULL, &err), &err, "a batch");
    CHECK_OK(cbx_metric_collection_merge(ctx, a, b, &err), &err, "a shard");
    CHECK_STATUS(cbx_metric_collection_update(ctx, a, 2, bad, NULL, &err), CBX_ESHAPE, "another length");
    CHECK_INT(cbx_metric_collection_updates(a), 2, "a refused batch does not count");
    CHECK_OK(cbx_metric_collection_value(ctx, a, 0, &v, &err), &err, "mse");
    CHECK(v == 0.375, "mse of both");
    CHECK_OK(cbx_metric_collection_value(ctx, a, 1, &w, &err), &err, "r_squared");
    CHECK(fabs(w - 0.94860813704496794) < 1e-15, "r_squared of both");

    /* the second of two metrics refuses scores that are NaN: the first one stays as it was, too */
    const double bad_scores[] = { 0.5, NAN };
    c = collection(1, (const char *const[]){ "mse" });
    CHECK_OK(cbx_metric_collection_add(ctx, c,
                                       &(cbx_metric_member){ sizeof(cbx_metric_member), .metric = row("roc_auc"),
                                                             .low = -INFINITY, .high = 1 },
                                       &err),
             &err, "another metric");
    cbx_array *nan[] = { vector(2, bad_scores), vector(2, LABELS) };
    CHECK_STATUS(cbx_metric_collection_update(ctx, c, 2, nan, NULL, &err), CBX_EDOM, "NaN");
    CHECK_STATUS(cbx_metric_collection_value(ctx, c, 0, &v, &err), CBX_EINVAL, "nothing was added");
    CHECK_INT(cbx_metric_collection_updates(c), 0, "nothing was added");
    CHECK_STATUS(cbx_metric_collection_merge(ctx, a, c, &err), CBX_EINVAL, "other members");
    CHECK_STR(err.message, "a collection cannot join one of other metrics", "its sentence");
    cbx_metric_collection_free(c);
    c = collection(2, areas);
    CHECK_INT(cbx_metric_collection_states(c), 1, "the data are kept once");
    CHECK_OK(cbx_metric_collection_remove(c, NULL, "roc_auc", &err), &err, "removed");
    CHECK_STATUS(cbx_metric_collection_remove(c, NULL, "roc_auc", &err), CBX_ENOENT, "it is gone");
    cbx_array *scores[] = { vector(4, P), vector(4, LABELS) };
    CHECK_OK(cbx_metric_collection_update(ctx, c, 2, scores, NULL, &err), &err, "the other is there");
    CHECK_OK(cbx_metric_collection_value(ctx, c, 0, &v, &err), &err, "average precision");
    CHECK_STATUS(cbx_metric_collection_add(ctx, c, cbx_metric_collection_at(c, 0), &err), CBX_EINVAL, "too late");
    CHECK_STR(err.message, "average_precision: is added after an update: reset the collection first", "its sentence");
    cbx_metric_collection_reset(c);
    CHECK_STATUS(cbx_metric_collection_add(ctx, c, cbx_metric_collection_at(c, 0), &err), CBX_EEXIST, "twice");
    cbx_metric_collection_free(a);
    cbx_metric_collection_free(b);
    cbx_metric_collection_free(c);
    cbx_array *all[] = { in[0], in[1], more[0], more[1], bad[0], bad[1], nan[0], nan[1], scores[0], scores[1] };
    for (size_t i = 0; i < CBX_LEN(all); i++) cbx_array_free(all[i]);
    cbx_ctx_free(ctx);
}

/*
 * What is removed leaves the others what they share; what is packed comes back, and nothing else
 * does.
 */
TEST(bytes_of_collections)
{
    static const char *const names[] = { "r_squared", "mse", "explained_variance" }, *const two[] = { "mse", "mae" };
    cbx_metric_collection *a, *b, *other;
    double v, w;
    cbx_text text;

    begin(test_state);
    cbx_array *in[] = { vector(4, P), vector(4, T) };
    a = collection(3, names);
    CHECK_OK(cbx_metric_collection_update(ctx, a, 2, in, NULL, &err), &err, "a batch");
    CHECK_OK(cbx_metric_collection_remove(a, NULL, "r_squared", &err), &err, "the first one of a state");
    b = collection(2, names + 1);
    other = collection(2, two);
    CHECK_OK(cbx_metric_collection_merge(ctx, b, a, &err), &err, "states in another order");
    cbx_metric_collection_reset(b);
    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    CHECK_OK(cbx_metric_collection_pack(ctx, a, &text, &err), &err, "pack");
    CHECK_OK(cbx_metric_collection_unpack(ctx, b, text.data, text.len, &err), &err, "unpack");
    CHECK_INT(cbx_metric_collection_updates(b), 1, "its update");
    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(cbx_metric_collection_value(ctx, a, i, &v, &err), &err, names[i + 1]);
        CHECK_OK(cbx_metric_collection_value(ctx, b, i, &w, &err), &err, names[i + 1]);
        CHECK(v == w, names[i + 1]);
    }
    CHECK_STATUS(cbx_metric_collection_unpack(ctx, other, text.data, text.len, &err), CBX_EINVAL, "other metrics");
    CHECK_STR(err.message, "these bytes are a collection of other metrics than mse,mae", "its sentence");
    for (size_t n = 0; n < text.len; n++) {
        CHECK_STATUS(cbx_metric_collection_unpack(ctx, b, text.data, n, &err), CBX_EFORMAT, "cut off");
        CHECK_INT(cbx_metric_collection_updates(b), 1, "nothing changes");
    }
    cbx_text_putc(&text, '?');
    CHECK_STATUS(cbx_metric_collection_unpack(ctx, b, text.data, text.len, &err), CBX_EFORMAT, "too long");
    CHECK_STR(err.message, "1 bytes follow a collection of metrics", "its sentence");
    CHECK_OK(cbx_metric_collection_weigh(b, (double[]){ 2, 3 }, CBX_DIRECTION_HIGHER, &v, &err), &err, "weigh");
    CHECK(v == 3 - 2, "the mean squared error counts against it");
    cbx_text_clear(&text);
    cbx_metric_collection_free(a);
    cbx_metric_collection_free(b);
    cbx_metric_collection_free(other);
    cbx_array_free(in[0]);
    cbx_array_free(in[1]);
    cbx_ctx_free(ctx);
}

/* precision and recall: the same metrics, which share a state or not. */
static cbx_metric_collection *averaged(size_t n, const char *const *names, const double *how)
{
    cbx_metric_collection *c = NULL;

    CHECK_OK(cbx_metric_collection_create(ctx, &c, &err), &err, "a collection");
    for (size_t i = 0; i < n; i++) {
        cbx_metric_member m = CBX_METRIC_MEMBER_INIT;
        const double parameters[] = { how[i], 2 };
        m.metric = row(names[i]);
        m.parameters = parameters;
        CHECK_OK(cbx_metric_collection_add(ctx, c, &m, &err), &err, names[i]);
    }
    return c;
}

/* Parameters of all members count, not those of the first one of each state alone. */
TEST(other_parameters_are_refused)
{
    static const char *const names[] = { "precision", "recall", "f1_score" };
    static const double how[][3] = { { 2, 2, 2 }, { 2, 1, 2 }, { 2, 1, 1 } };
    static const char *const sentences[] = { "recall: a collection cannot join one with other parameters",
                                             "f1_score: a collection cannot join one with other parameters" };
    cbx_text text;

    begin(test_state);
    const size_t n = 4;
    cbx_array *labels = array_of(ctx, 1, &n, LABELS, true), *in[] = { labels, labels };
    for (size_t k = 0; k < 2; k++) {
        cbx_metric_collection *a = averaged(k ? 3 : 2, names, how[k]), *b = averaged(k ? 3 : 2, names, how[k + 1]);
        CHECK_OK(cbx_metric_collection_update(ctx, a, 2, in, NULL, &err), &err, "a batch");
        CHECK_OK(cbx_metric_collection_update(ctx, b, 2, in, NULL, &err), &err, "a batch");
        CHECK_STATUS(cbx_metric_collection_merge(ctx, a, b, &err), CBX_EINVAL, "other parameters");
        CHECK_STR(err.message, sentences[k], "its sentence");
        cbx_text_init(&text, cbx_ctx_allocator(ctx));
        CHECK_OK(cbx_metric_collection_pack(ctx, b, &text, &err), &err, "pack");
        CHECK_STATUS(cbx_metric_collection_unpack(ctx, a, text.data, text.len, &err), CBX_EINVAL, "other parameters");
        CHECK_STR(err.message, "these bytes are a collection of these metrics with other parameters", "its sentence");
        CHECK_OK(cbx_metric_collection_unpack(ctx, b, text.data, text.len, &err), &err, "their own");
        CHECK_INT(cbx_metric_collection_updates(a), 1, "nothing changes");
        cbx_text_clear(&text);
        cbx_metric_collection_free(a);
        cbx_metric_collection_free(b);
    }
    cbx_array_free(labels);
    cbx_ctx_free(ctx);
}

static size_t finishes;

static cbx_array *absolute(cbx_ctx *c, const cbx_metric_call *call)
{
    return cbx_abs(c, cbx_subtract(c, call->in[0], call->in[1]));
}

static cbx_array *ten_times(cbx_ctx *c, const cbx_metric_call *call)
{
    return cbx_multiply_scalar(c, absolute(c, call), 10);
}

static cbx_array *counted(cbx_ctx *c, const cbx_metric_call *call, const cbx_array *x)
{
    (void)call;
    finishes++;
    return cbx_copy(c, x);
}

/* A metric that is registered again while a collection has it: the collection keeps its row. */
TEST(members_keep_their_rows)
{
    const cbx_metric_function old = { .name = "again",
                                      .domain = "general",
                                      .summary = "Again",
                                      .formula = "mean(|x - y|)",
                                      .operands = CBX__PAIR("x", "y", REAL),
                                      .high = INFINITY,
                                      .items = absolute,
                                      .finish = counted };
    cbx_metric_function new = old;
    cbx_metric_collection *a, *b;
    cbx_metric_state *s[2] = { NULL };
    cbx_json *report = NULL;
    cbx_text text;
    double v;

    begin(test_state);
    new.items = ten_times;
    cbx_array *in[] = { vector(4, P), vector(4, T) };
    CHECK_OK(cbx_metric_register(ctx, &old, false, &err), &err, "a metric");
    a = collection(1, &(const char *){ "again" });
    CHECK_OK(cbx_metric_state_create(ctx, row("again"), NULL, &s[0], &err), &err, "a state");
    CHECK_OK(cbx_metric_register(ctx, &new, true, &err), &err, "registered again");
    b = collection(1, &(const char *){ "again" });
    CHECK_OK(cbx_metric_state_create(ctx, row("again"), NULL, &s[1], &err), &err, "a state");
    CHECK_OK(cbx_metric_collection_update(ctx, a, 2, in, NULL, &err), &err, "a batch");
    CHECK_OK(cbx_metric_collection_update(ctx, b, 2, in, NULL, &err), &err, "a batch");
    CHECK_OK(cbx_metric_collection_value(ctx, a, 0, &v, &err), &err, "again");
    CHECK(v == 0.5, "the old code");
    CHECK_OK(cbx_metric_collection_value(ctx, b, 0, &v, &err), &err, "again");
    CHECK(v == 5, "the new code");
    CHECK_STATUS(cbx_metric_collection_merge(ctx, a, b, &err), CBX_EINVAL, "old and new");
    CHECK_STR(err.message, "again was registered again: collections of the old and the new code cannot be joined",
              "its sentence");
    CHECK_STATUS(cbx_metric_state_merge(ctx, s[0], s[1], &err), CBX_EINVAL, "old and new");
    CHECK_STR(err.message, "again was registered again: states of the old and the new code cannot be joined",
              "its sentence");
    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    CHECK_OK(cbx_metric_collection_pack(ctx, b, &text, &err), &err, "pack");
    CHECK_OK(cbx_metric_collection_unpack(ctx, a, text.data, text.len, &err), &err, "bytes name the metric alone");
    CHECK_OK(cbx_metric_collection_value(ctx, a, 0, &v, &err), &err, "again");
    CHECK(v == 5, "what the new code kept");

    finishes = 0;
    CHECK_OK(cbx_metric_collection_report(ctx, a, &report, &err), &err, "a report");
    CHECK_INT(finishes, 1, "a report computes each result once");
    cbx_json_unref(report);
    cbx_text_clear(&text);
    for (size_t k = 0; k < 2; k++) {
        cbx_metric_state_free(s[k]);
        cbx_array_free(in[k]);
    }
    cbx_metric_collection_free(a);
    cbx_metric_collection_free(b);
    cbx_ctx_free(ctx);
}

/* Probabilities that are not those of the labels' classes do not limit the labels. */
TEST(labels_of_other_probabilities)
{
    const cbx_metric_function mean = { .name = "confidence_of_groups",
                                       .domain = "general",
                                       .summary = "Confidence",
                                       .formula = "mean(|confidence - groups|)",
                                       .operands = { { "confidence", CBX_OPERAND_PROBABILITY, false },
                                                     { "groups", CBX_OPERAND_LABELS, false } },
                                       .high = INFINITY,
                                       .items = absolute };
    static const double p[] = { 0.5, 1, 0, 0.5 }, groups[] = { 0, 3, 7, 2 };
    const size_t n = 4;
    double v;

    begin(test_state);
    CHECK_OK(cbx_metric_register(ctx, &mean, false, &err), &err, "a metric");
    cbx_array *in[] = { vector(4, p), array_of(ctx, 1, &n, groups, true) };
    CHECK_OK(cbx_metric_value(ctx, "confidence_of_groups", 2, in, NULL, &v, &err), &err, "its value");
    CHECK(v == 2.75, "the mean");
    CHECK_STATUS(cbx_metric_value(ctx, "log_loss", 2, in, NULL, &v, &err), CBX_EDOM, "of two classes");
    CHECK_STR(err.message, "log_loss: 'targets'[1] is 3: it must be below 2, the number of classes in 'predictions'",
              "its sentence");
    cbx_array_free(in[0]);
    cbx_array_free(in[1]);
    cbx_ctx_free(ctx);
}

TESTS(.seconds = 300)
