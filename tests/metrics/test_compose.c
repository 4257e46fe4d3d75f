/* Selections, collections, suites, values of classes and series: against the metrics one by one. */
#include "draw.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/metrics/compose.h"
#include "calibrax/metrics/stateful/state.h"
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

/* ---- selection ---- */

static size_t count(const cbx_metric_selection *s)
{
    size_t at = 0, n = 0;
    while (cbx_metric_next(ctx, s, &at)) n++;
    return n;
}

static void selections(void **state)
{
    cbx_metric_selection s = CBX_METRIC_SELECTION_INIT;
    const cbx_metric_function *m;
    size_t at = 0, n = 0;

    begin(state);
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
static void members_are_as_alone(void **state)
{
    cbx_rng rng = cbx_rng_make(50, 1);
    const cbx_metric_function *first, *m;
    size_t members = 0, states = 0, seen = 0;

    begin(state);
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

static void updates_and_merges(void **state)
{
    static const char *const names[] = { "mse", "r_squared", "mape", "explained_variance" };
    static const char *const areas[] = { "roc_auc", "average_precision" };
    cbx_metric_collection *a, *b, *c;
    double v, w;

    begin(state);
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

/* What is removed leaves the others what they share; what is packed comes back, and nothing else does. */
static void bytes_of_collections(void **state)
{
    static const char *const names[] = { "r_squared", "mse", "explained_variance" }, *const two[] = { "mse", "mae" };
    cbx_metric_collection *a, *b, *other;
    double v, w;
    cbx_text text;

    begin(state);
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
static void other_parameters_are_refused(void **state)
{
    static const char *const names[] = { "precision", "recall", "f1_score" };
    static const double how[][3] = { { 2, 2, 2 }, { 2, 1, 2 }, { 2, 1, 1 } };
    static const char *const sentences[] = { "recall: a collection cannot join one with other parameters",
                                             "f1_score: a collection cannot join one with other parameters" };
    cbx_text text;

    begin(state);
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
static void members_keep_their_rows(void **state)
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

    begin(state);
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
static void labels_of_other_probabilities(void **state)
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

    begin(state);
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

/* ---- suites ---- */

static const char suite_text[] =
    "{\"description\": \"regression\", \"groups\": {"
    "\"errors\": [\"mae\", {\"metric\": \"huber_loss\", \"label\": \"huber\", \"high\": 0.01, \"weight\": 4, "
    "\"parameters\": {\"delta\": 0.1}}],"
    "\"fit\": [{\"metric\": \"r_squared\", \"low\": 0.9, \"high\": 1, \"weight\": 2}]}}";
static const char report_text[] =
    "errors\n"
    "  mae                                0.5\n"
    "  huber                              0.04625                 at most 0.01: FAILED\n"
    "fit\n"
    "  r_squared                          0.9486081370449679      between 0.9 and 1.0: passed\n";
static const char report_json[] =
    "{\"groups\":[{\"name\":\"errors\",\"metrics\":[{\"label\":\"mae\",\"metric\":\"mae\",\"direction\":\"lower\","
    "\"value\":0.5},"
    "{\"label\":\"huber\",\"metric\":\"huber_loss\",\"direction\":\"lower\",\"value\":0.04625,\"low\":null,\"high\":0."
    "01,"
    "\"passed\":false}]},{\"name\":\"fit\",\"metrics\":[{\"label\":\"r_squared\",\"metric\":\"r_squared\","
    "\"direction\":\"higher\",\"value\":0.9486081370449679,\"low\":0.9,\"high\":1.0,\"passed\":true}]}],\"updates\":1,"
    "\"passed\":false}";

static cbx_status read_suite(cbx_ctx *c, const char *text, cbx_metric_collection **out)
{
    cbx_json *o = NULL;
    cbx_status st = cbx_json_parse(text, strlen(text), "suite", &o, &err);

    if (!st) st = cbx_metric_collection_read(c, o, "suite", out, &err);
    cbx_json_unref(o);
    return st;
}

static void suites(void **state)
{
    cbx_metric_collection *c = NULL;
    cbx_json *report = NULL;
    cbx_text text;
    double v;

    begin(state);
    cbx_array *in[] = { vector(4, P), vector(4, T) };
    CHECK_OK(read_suite(ctx, suite_text, &c), &err, "a suite");
    CHECK_OK(cbx_metric_collection_update(ctx, c, 2, in, NULL, &err), &err, "a batch");
    CHECK_OK(cbx_metric_collection_report(ctx, c, &report, &err), &err, "a report");
    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    cbx_metric_report_text(report, &text);
    CHECK_STR(cbx_text_str(&text), report_text, "as text");
    cbx_text_reset(&text);
    cbx_json_write(report, 0, &text);
    cbx_json *wanted = NULL;
    CHECK_OK(cbx_json_parse(report_json, strlen(report_json), "report", &wanted, &err), &err, "the expected report");
    CHECK(cbx_json_equal(report, wanted), cbx_text_str(&text));
    cbx_json_unref(wanted);
    CHECK_OK(cbx_metric_collection_weighted(ctx, c, CBX_DIRECTION_HIGHER, &v, &err), &err, "weighted");
    CHECK(fabs(v - (2 * 0.94860813704496794 - 4 * 0.04625 - 0.5)) < 1e-14, "higher is better");
    CHECK_OK(cbx_metric_collection_weighted(ctx, c, CBX_DIRECTION_LOWER, &v, &err), &err, "weighted");
    CHECK(fabs(v + (2 * 0.94860813704496794 - 4 * 0.04625 - 0.5)) < 1e-14, "lower is better");
    cbx_text_clear(&text);
    cbx_json_unref(report);
    cbx_metric_collection_free(c);
    cbx_array_free(in[0]);
    cbx_array_free(in[1]);
    cbx_ctx_free(ctx);
}

static const struct {
    const char *suite, *sentence;
} faults[] = {
    { "[]", "suite: a suite of metrics has either an object 'groups' or a list 'metrics'" },
    { "{\"metrics\": [\"mae\"], \"groups\": {}}",
      "suite: a suite of metrics has either an object 'groups' or a list 'metrics'" },
    { "{\"metrics\": [\"maee\"]}", "suite: there is no metric 'maee': did you mean 'mae'?" },
    { "{\"metrics\": []}", "suite: there are no metrics in it" },
    { "{\"metrics\": [\"mae\", \"mae\"]}",
      "suite: there is a metric 'mae' in the collection already: give it another label" },
    { "{\"metrics\": [3]}", "suite: a metric must be a name, or an object with the key 'metric'" },
    { "{\"metrics\": [{\"metric\": \"mae\", \"hihg\": 3}]}",
      "suite: a metric: unknown key 'hihg': did you mean 'high'?" },
    { "{\"metrics\": [{\"metric\": \"mae\", \"label\": 5}]}", "suite: the label of mae must be text" },
    { "{\"metrics\": [{\"metric\": \"mae\", \"high\": -Infinity}]}",
      "suite: mae: no value can reach an infinite threshold" },
    { "{\"metrics\": [{\"metric\": \"huber_loss\", \"parameters\": 0.1}]}",
      "suite: the parameters of huber_loss must be an object" },
    { "{\"metrics\": [{\"metric\": \"huber_loss\", \"parameters\": {\"delta\": NaN}}]}",
      "suite: 'delta' must be a number, got NaN" },
    { "{\"metrics\": [{\"metric\": \"mae\", \"low\": 3, \"high\": 2}]}",
      "suite: mae: the threshold 'low' is above 'high', or one is NaN" },
    { "{\"metrics\": [{\"metric\": \"huber_loss\", \"parameters\": {\"d\": 3}}]}",
      "suite: huber_loss has no parameter 'd'" },
    { "{\"metrics\": [{\"metric\": \"huber_loss\", \"parameters\": {\"delta\": 0}}]}",
      "suite: huber_loss: 'delta' must be above 0, not 0.0" },
    { "{\"metrics\": [{\"metric\": \"f1_score\", \"parameters\": {\"average\": \"most\"}}]}",
      "suite: 'average' must be one of binary|micro|macro|weighted, not most" },
    { "{\"metrics\": [{\"metric\": \"f1_score\", \"parameters\": {\"average\": 2}}]}",
      "suite: 'average' must be one of binary|micro|macro|weighted" },
    { "{\"metrics\": [{\"metric\": \"f_divergence\"}]}", "suite: f_divergence: needs a function of ratios" },
    { "{\"groups\": {\"a\": {}}}", "suite: 'a' must be a list of metrics" },
};

static void suites_refuse(void **state)
{
    cbx_metric_collection *c = NULL;

    begin(state);
    for (size_t i = 0; i < CBX_LEN(faults); i++) {
        CHECK(read_suite(ctx, faults[i].suite, &c) != CBX_OK, faults[i].suite);
        if (!strstr(err.message, faults[i].sentence)) fail_msg("%s: %s", faults[i].suite, err.message);
    }
    cbx_ctx_free(ctx);
}

static cbx_status a_suite(cbx_ctx *c, void *user)
{
    cbx_metric_collection *s = NULL;
    cbx_json *report = NULL;
    cbx_text text;
    cbx_status st = read_suite(c, suite_text, &s);

    cbx_text_init(&text, cbx_ctx_allocator(c));
    if (!st) st = cbx_metric_collection_update(c, s, 2, user, NULL, &err);
    if (!st) st = cbx_metric_collection_report(c, s, &report, &err);
    if (!st) cbx_metric_report_text(report, &text);
    if (!st) st = cbx_text_check(&text, &err);
    cbx_text_reset(&text);
    if (!st) st = cbx_metric_collection_pack(c, s, &text, &err);
    if (!st) st = cbx_metric_collection_unpack(c, s, text.data, text.len, &err);
    cbx_text_clear(&text);
    cbx_json_unref(report);
    cbx_metric_collection_free(s);
    return st;
}

static void memory_may_end(void **state)
{
    begin(state);
    cbx_array *in[] = { vector(4, P), vector(4, T) };
    size_t at = 0;
    cbx_test_alloc t;
    cbx_test_alloc_init(&t);
    for (cbx_status st = CBX_ENOMEM; st; at++) { /* the lookup of names needs none that must not fail */
        cbx_ctx *c = cbx_test_ctx(&t);
        t.failures = 0;
        t.fail_at = t.calls + 1 + at;
        st = a_suite(c, in);
        CHECK(t.failures == 0 ? st == CBX_OK : true, "a suite");
        if (t.failures) st = CBX_ENOMEM;
        cbx_ctx_free(c);
        cbx_test_alloc_check(&t, "a suite");
    }
    CHECK_GT((double)at, 10, "allocations");
    cbx_array_free(in[0]);
    cbx_array_free(in[1]);
    cbx_ctx_free(ctx);
}

/* ---- classes ---- */

static void check_class(const cbx_metric_function *m, const drawn *d, const cbx_metric_options *o, const double *labels,
                        double wanted_class, double got)
{
    double places[ITEMS];
    size_t n = 0, count_of;
    drawn e = { .nin = d->nin };

    for (size_t i = 0; i < ITEMS; i++)
        if (labels[i] == wanted_class) places[n++] = (double)i;
    cbx_array *at = array_of(ctx, 1, &n, places, true);
    for (size_t i = 0; i < d->nin; i++) {
        cbx_scope scope;
        cbx_scope_open(ctx, &scope);
        e.in[i] = is_shared(m->operands[i].kind) ? cbx_copy(ctx, d->in[i]) : cbx_take(ctx, d->in[i], at, 0);
        CHECK_OK(cbx_scope_close_keep(&scope, 1, &e.in[i], &err), &err, "items");
    }
    double *y = values_of(ctx, m, e.nin, e.in, o, &count_of);
    if (got != y[0] && !(isnan(got) && isnan(y[0])))
        fail_msg("%s of class %g is %.17g, not %.17g", m->name, wanted_class, got, y[0]);
    free(y);
    cbx_array_free(at);
    drawn_free(&e);
}

/* Every metric of items and of a single number. */
static void classes_are_items_apart(void **state)
{
    static const double labels[ITEMS] = { 3, 0, 0, 3, 1, 0, 3, 1, 1, 0, 3, 1 };
    cbx_rng rng = cbx_rng_make(51, 1);
    const cbx_metric_function *m;
    size_t checked = 0;

    begin(state);
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
            apart &= is_shared(m->operands[k].kind) ||
                     (cbx_array_ndim(d.in[k]) > 0 && cbx_array_dim(d.in[k], 0) == ITEMS);
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

static void classes_with_masks(void **state)
{
    static const double mask[] = { 1, 0, 0, 1 }, wrong[] = { 0, -1, 0, 7 }, stray[] = { 0, 1, 0x1p31, 1 };
    cbx_array *r = NULL;
    double mean;

    begin(state);
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

static size_t runs; /* of the code below */

static cbx_array *counted_items(cbx_ctx *c, const cbx_metric_call *call)
{
    runs++;
    return cbx_abs(c, cbx_subtract(c, call->in[0], call->in[1]));
}

/* The code of a metric runs for each class each time: pieces of a batch are not compiled, which takes longer than they do. */
static void classes_are_not_compiled(void **state)
{
    enum { KINDS = 20, EACH = 700, PIECES = KINDS * EACH };
    static const cbx_metric_function m = { .name = "counted_error",
                                           .domain = "general",
                                           .summary = "Counted error",
                                           .formula = "mean(|x - y|)",
                                           .operands = CBX__PAIR("x", "y", REAL),
                                           .high = INFINITY,
                                           .items = counted_items };
    static double v[PIECES];
    static int64_t labels[PIECES];
    const cbx_array_desc d = { .dtype = CBX_I64, .ndim = 1, .shape = { PIECES } };
    cbx_array *r = NULL;
    cbx_scope scope;

    begin(state);
    for (size_t i = 0; i < PIECES; i++) v[i] = sin((double)i), labels[i] = (int64_t)(i % KINDS);
    cbx_scope_open(ctx, &scope);
    cbx_array *x = vector(PIECES, v), *by = cbx_asarray(ctx, &d, labels);
    runs = 0;
    for (size_t k = 0; k < 3; k++) {
        CHECK_OK(cbx_metric_classwise(ctx, &m, 2, (cbx_array *[]){ x, x }, by, KINDS, NULL, &r, NULL, &err), &err,
                 "classes");
        cbx_array_free(r);
        CHECK_INT(runs, (k + 1) * KINDS, "each class anew");
    }
    for (size_t k = 0; k < 3; k++) value_of(ctx, &m, 2, (cbx_array *[]){ x, x }, NULL);
    CHECK_INT(runs, 3 * KINDS + 2, "other calls are compiled as before");
    cbx_array_free(x);
    CHECK_OK(cbx_scope_close(&scope, &err), &err, "the scope");
    cbx_ctx_free(ctx);
}

/* ---- series ---- */

static void series(void **state)
{
    static const double v[] = { NAN, 3, 1, NAN, 1, 5, 5 };
    static const bool better[3][7] = { { 0, 1, 0, 0, 0, 1, 0 }, { 0, 1, 1, 0, 0, 0, 0 }, { 0 } };
    static const double best[] = { 5, 1, NAN };
    static const size_t step[] = { 5, 2, 0 };

    (void)state;
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

TEST_FILE(.seconds = 300)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selections),
        cmocka_unit_test(members_are_as_alone),
        cmocka_unit_test(updates_and_merges),
        cmocka_unit_test(bytes_of_collections),
        cmocka_unit_test(other_parameters_are_refused),
        cmocka_unit_test(members_keep_their_rows),
        cmocka_unit_test(labels_of_other_probabilities),
        cmocka_unit_test(suites),
        cmocka_unit_test(suites_refuse),
        cmocka_unit_test(memory_may_end),
        cmocka_unit_test(classes_are_items_apart),
        cmocka_unit_test(classes_with_masks),
        cmocka_unit_test(classes_are_not_compiled),
        cmocka_unit_test(series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
