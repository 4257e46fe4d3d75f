/*
 * calibrax metrics list, describe, compute: the table of metric functions, and a metric of arrays in files.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/array/io/csv.h"
#include "calibrax/metrics/bootstrap.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"

/* ---- words of properties ---- */

typedef struct bit_word {
    unsigned bit;
    const char *word;
} bit_word;

static const bit_word axiom_words[] = {
    { CBX_AXIOM_SYMMETRIC, "symmetric" }, { CBX_AXIOM_IDENTITY, "identity" }, { CBX_AXIOM_POSITIVE, "positive" },
    { CBX_AXIOM_TRIANGLE, "triangle" },   { CBX_AXIOM_PROPER, "proper" },
};
static const bit_word invariance_words[] = {
    { CBX_INVARIANT_SCALE, "scale" },           { CBX_INVARIANT_COMMON_SCALE, "common-scale" },
    { CBX_INVARIANT_SHIFT, "shift" },           { CBX_INVARIANT_ROTATION, "rotation" },
    { CBX_INVARIANT_ORDER, "order" },           { CBX_INVARIANT_SAMPLE_ORDER, "sample-order" },
    { CBX_INVARIANT_MONOTONE, "monotone" },     { CBX_INVARIANT_RELABEL, "relabel" },
    { CBX_INVARIANT_CONGRUENCE, "congruence" }, { CBX_INVARIANT_ORTHOGONAL, "orthogonal" },
    { CBX_INVARIANT_LORENTZ, "lorentz" },
};
static const bit_word flag_words[] = {
    { CBX_METRIC_DIFFERENTIABLE, "differentiable" },
    { CBX_METRIC_DATA_SHAPED, "reads-values" },
    { CBX_METRIC_WEIGHTED, "weights" },
};
#define AXIOM_WORDS "symmetric identity positive triangle proper metric"
#define INVARIANCE_WORDS                                                                                               \
    "scale common-scale shift rotation order sample-order monotone relabel congruence orthogonal lorentz"

static unsigned bit_of(const bit_word *words, size_t n, const char *word)
{
    if (words == axiom_words && !strcmp(word, "metric")) return CBX_AXIOMS_METRIC;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(words[i].word, word)) return words[i].bit;
    return 0;
}

static void put_words(cbx_json *o, const char *key, const bit_word *words, size_t n, unsigned bits)
{
    cbx_json *list = cbx_json_set_array(o, key);
    for (size_t i = 0; i < n; i++)
        if (bits & words[i].bit) cbx_json_push_string(list, words[i].word);
}

static void print_words(const char *title, const bit_word *words, size_t n, unsigned bits)
{
    const char *comma = "";

    if (!bits) return;
    printf("%-12s ", title);
    for (size_t i = 0; i < n; i++)
        if (bits & words[i].bit) printf("%s%s", comma, words[i].word), comma = ", ";
    putchar('\n');
}

/* ---- list ---- */

typedef struct list_args {
    const char *domain, *axiom, *invariance;
    int direction;
    bool json;
} list_args;

static const opt_spec list_options[] = {
    { "domain", 0, OPT_STRING, offsetof(list_args, domain), "DOMAIN", NULL, "metrics of this domain", "@domains" },
    { "direction", 0, OPT_CHOICE, offsetof(list_args, direction), "WHICH", "any", "metrics of which this is better",
      "any higher lower info" },
    { "axiom", 0, OPT_STRING, offsetof(list_args, axiom), "AXIOM", NULL, "metrics that satisfy this axiom",
      AXIOM_WORDS },
    { "invariance", 0, OPT_STRING, offsetof(list_args, invariance), "CHANGE", NULL,
      "metrics that this change of the operands leaves as they are", INVARIANCE_WORDS },
    { "json", 0, OPT_FLAG, offsetof(list_args, json), NULL, NULL, "print one JSON document" },
};

static cbx_json *row_json(const cbx_metric_function *m)
{
    static const char *const types[] = { "float", "int", "bool", "choice" };
    cbx_json *o = cbx_json_new_object(), *list;

    json_put(o, J_TEXT("name", m->name), J_TEXT("domain", m->domain), J_TEXT("summary", m->summary),
             J_TEXT("formula", m->formula), J_TEXT("direction", cbx_direction_name(m->direction)));
    list = cbx_json_set_array(o, "operands");
    for (size_t i = 0; i < cbx_metric_operands(m); i++)
        json_put(cbx_json_push_object(list), J_TEXT("name", m->operands[i].name),
                 J_TEXT("kind", cbx_operand_kind_name(m->operands[i].kind)),
                 J_BOOL("optional", m->operands[i].optional));
    list = cbx_json_set_array(o, "parameters");
    for (size_t i = 0; i < cbx_metric_parameters(m); i++) {
        const cbx_metric_parameter *p = &m->parameters[i];
        json_put(cbx_json_push_object(list), J_TEXT("name", p->name), J_TEXT("type", types[p->type]),
                 J_NUMBER("default", p->value), J_NUMBER("low", p->low), J_NUMBER("high", p->high),
                 J_TEXT("words", p->words), J_TEXT("help", p->help));
    }
    list = cbx_json_set_array(o, "range");
    cbx_json_push_double(list, m->low);
    cbx_json_push_double(list, m->high);
    put_words(o, "axioms", axiom_words, CBX_LEN(axiom_words), m->axioms);
    put_words(o, "invariances", invariance_words, CBX_LEN(invariance_words), m->invariances);
    put_words(o, "flags", flag_words, CBX_LEN(flag_words), m->flags | (m->items ? CBX_METRIC_WEIGHTED : 0));
    json_put(o, J_TEXT("function", m->function), J_TEXT("notes", m->notes), J_TEXT("source", m->source),
             J_TEXT("example", m->example));
    return o;
}

static int run_list(const opt_run *run)
{
    const list_args *a = run->args;
    static const cbx_direction directions[] = { CBX_DIRECTION_HIGHER, CBX_DIRECTION_LOWER, CBX_DIRECTION_INFO };
    const unsigned axiom = a->axiom ? bit_of(axiom_words, CBX_LEN(axiom_words), a->axiom) : 0;
    const unsigned invariance = a->invariance ? bit_of(invariance_words, CBX_LEN(invariance_words), a->invariance) : 0;
    cbx_json *o = a->json ? new_document("calibrax-metrics") : NULL, *list = cbx_json_set_array(o, "metrics");
    const cbx_metric_function *m;
    size_t shown = 0;

    if (a->axiom && !axiom) return opt_fail(run->program, "--axiom %s: it must be one of " AXIOM_WORDS, a->axiom);
    if (a->invariance && !invariance)
        return opt_fail(run->program, "--invariance %s: it must be one of " INVARIANCE_WORDS, a->invariance);
    for (size_t i = 0; (m = cbx_metric_at(run->ctx, i)); i++) {
        if ((a->domain && strcmp(a->domain, m->domain) != 0) ||
            (a->direction && m->direction != directions[a->direction - 1]) || (m->axioms & axiom) != axiom ||
            (m->invariances & invariance) != invariance)
            continue;
        shown++;
        if (a->json) {
            cbx_json_push(list, row_json(m));
            continue;
        }
        print_painted(PAINT_STRONG, "%-38s", m->name);
        printf(" %-14s %-6s  %s\n", m->domain, cbx_direction_name(m->direction), m->summary);
    }
    if (!shown) {
        cbx_json_unref(o);
        return opt_fail(run->program, "no metric matches: calibrax metrics list shows all");
    }
    return a->json ? print_json(run->program, o) : EXIT_PASS;
}

const opt_command metrics_list_command = {
    .name = "metrics list",
    .synopsis = "[--domain DOMAIN] [--axiom AXIOM] [--invariance CHANGE]",
    .summary = "list the metric functions",
    .description = "Lists metric functions: name, domain, which direction is better, title. A metric with the axiom "
                   "'metric' satisfies symmetry, identity, positivity and the triangle inequality.",
    OPT_OPTIONS(list),
    .run = run_list,
};

/* ---- describe ---- */

typedef struct describe_args {
    bool json;
} describe_args;

static const opt_spec describe_options[] = {
    { "json", 0, OPT_FLAG, offsetof(describe_args, json), NULL, NULL, "print one JSON document" },
};

static void print_parameter(const cbx_metric_parameter *p)
{
    char bounds[96];

    print_painted(PAINT_STRONG, "  %s", p->name);
    printf("  %s", p->help);
    if (p->type == CBX_PARAMETER_CHOICE)
        printf(" (%s; default number %d)", p->words, (int)p->value);
    else if (p->type == CBX_PARAMETER_BOOL)
        printf(" (default %s)", p->value != 0 ? "true" : "false");
    else
        printf(" (%s, default %.15g)", cbx_metric_bounds_text(p, bounds, sizeof bounds), p->value);
    putchar('\n');
}

static void print_metric(const cbx_metric_function *m)
{
    char low[CBX_FORMAT_SIZE], high[CBX_FORMAT_SIZE];

    print_painted(PAINT_STRONG, "%s", m->name);
    printf(": %s\n  %s\n", m->summary, m->formula);
    if (m->notes) printf("\n%s\n", m->notes);
    printf("\n%-12s %s\n%-12s %s\n%-12s %s to %s\n", "domain", m->domain, "better", cbx_direction_name(m->direction),
           "range", cbx_format_double(m->low, low), cbx_format_double(m->high, high));
    print_words("axioms", axiom_words, CBX_LEN(axiom_words), m->axioms);
    print_words("invariances", invariance_words, CBX_LEN(invariance_words), m->invariances);
    print_words("properties", flag_words, CBX_LEN(flag_words), m->flags | (m->items ? CBX_METRIC_WEIGHTED : 0));
    if (m->source) printf("%-12s %s\n", "source", m->source);
    printf("\nOperands:\n");
    for (size_t i = 0; i < cbx_metric_operands(m); i++) {
        print_painted(PAINT_STRONG, "  %s", m->operands[i].name);
        printf("  %s%s\n", cbx_operand_kind_text(m->operands[i].kind),
               m->operands[i].optional ? "; may be left out" : "");
    }
    if (cbx_metric_parameters(m)) printf("\nParameters:\n");
    for (size_t i = 0; i < cbx_metric_parameters(m); i++) print_parameter(&m->parameters[i]);
    if (m->function)
        printf("\nTakes a function of %s: from C and Python alone.%s\n", m->function,
               m->flags & CBX_METRIC_FEATURES ? " In files are features." : "");
}

static int run_describe(const opt_run *run)
{
    const describe_args *a = run->args;
    const cbx_metric_function *m;

    if (run->words->count != 1) return opt_fail(run->program, "metrics describe takes the name of one metric");
    if (opt_check(run, cbx_metric_find(run->ctx, run->words->items[0], &m, run->err))) return EXIT_ERROR;
    if (a->json) {
        cbx_json *o = new_document("calibrax-metric");
        cbx_json_set(o, "metric", row_json(m));
        return print_json(run->program, o);
    }
    print_metric(m);
    return EXIT_PASS;
}

const opt_command metrics_describe_command = {
    .name = "metrics describe",
    .synopsis = "METRIC",
    .summary = "describe a metric function",
    .description = "Prints formula, edge rules, range, axioms, operands and parameters of a metric function.",
    OPT_OPTIONS(describe),
    .flags = OPT_TAKES_WORDS,
    .word = "METRIC",
    .words = "@functions",
    .run = run_describe,
};

/* ---- compute ---- */

typedef struct compute_args {
    opt_list set;
    const char *mask, *weights;
    bool ci, json;
    double level;
    size_t resamples, seed;
} compute_args;

static const compute_args compute_defaults = { .level = 0.95, .resamples = 1000 };

static const opt_spec compute_options[] = {
    { "set", 's', OPT_EACH, offsetof(compute_args, set), "NAME=VALUE", NULL, "value of a parameter of the metric" },
    { "mask", 0, OPT_STRING, offsetof(compute_args, mask), "FILE", NULL, "array of 0 and 1: the items that count" },
    { "weights", 0, OPT_STRING, offsetof(compute_args, weights), "FILE", NULL, "array of weights of the items" },
    { "ci", 0, OPT_FLAG, offsetof(compute_args, ci), NULL, NULL, "compute a bootstrap interval over the items, too" },
    { "level", 0, OPT_SHARE, offsetof(compute_args, level), "SHARE", "0.95", "confidence level of the interval" },
    { "resamples", 0, OPT_POSITIVE, offsetof(compute_args, resamples), "N", "1000", "resamples of the interval" },
    { "seed", 0, OPT_COUNT, offsetof(compute_args, seed), "N", "0", "seed of the resamples" },
    { "json", 0, OPT_FLAG, offsetof(compute_args, json), NULL, NULL, "print one JSON document" },
};
static const opt_rule compute_rules[] = {
    { "level", OPT_NEEDS, "ci" },
    { "resamples", OPT_NEEDS, "ci" },
    { "seed", OPT_NEEDS, "ci" },
};

/* The number of a parameter's text; false: it is not a number. */
static bool parameter_value(const cbx_metric_parameter *p, const char *text, double *out)
{
    const char *words = p->type == CBX_PARAMETER_BOOL ? "false|true" : p->words;
    const size_t n = strlen(text);

    for (int i = 0; words; i++) {
        const size_t length = strcspn(words, "|");
        if (length == n && !memcmp(words, text, n)) {
            *out = i;
            return true;
        }
        words = words[length] ? words + length + 1 : NULL;
    }
    if (!strcmp(text, "inf")) return *out = INFINITY, true;
    return !p->words && opt_number(text, out);
}

static int set_parameters(const opt_run *run, const cbx_metric_function *m, const opt_list *set, double *v)
{
    const size_t count = cbx_metric_parameters(m);

    for (size_t i = 0; i < CBX_METRIC_MAX_PARAMETERS; i++) v[i] = NAN;
    for (size_t k = 0; k < set->count; k++) {
        const char *text = set->items[k], *equals = strchr(text, '=');
        const size_t length = equals ? (size_t)(equals - text) : 0;
        size_t i = 0;
        while (i < count && (strlen(m->parameters[i].name) != length || memcmp(m->parameters[i].name, text, length)))
            i++;
        if (!equals) return opt_fail(run->program, "--set %s: it must be NAME=VALUE", text);
        if (i == count)
            return opt_fail(run->program, "--set %s: %s has no such parameter: calibrax metrics describe %s lists them",
                            text, m->name, m->name);
        if (!parameter_value(&m->parameters[i], equals + 1, &v[i]))
            return opt_fail(run->program, "--set %s: it must be %s", text,
                            m->parameters[i].words ? m->parameters[i].words : "a number");
    }
    return EXIT_PASS;
}

static void print_result(const opt_run *run, const cbx_array *r)
{
    cbx_text text;

    cbx_text_init(&text, cbx_ctx_allocator(run->ctx));
    cbx_array_format(r, 0, &text);
    printf("%s\n", cbx_text_str(&text));
    cbx_text_clear(&text);
}

/* Results are contiguous, of float64 or int64. */
static cbx_json *result_json(const cbx_array *r)
{
    const bool places = cbx_array_dtype(r) == CBX_I64;
    const double *v = cbx_array_data(r);
    const int64_t *k = cbx_array_data(r);
    cbx_json *list;

    if (cbx_array_count(r) == 1) return places ? cbx_json_new_int(k[0]) : cbx_json_new_double(v[0]);
    list = cbx_json_new_array();
    for (size_t i = 0; i < cbx_array_count(r); i++)
        if (places)
            cbx_json_push_int(list, k[i]);
        else
            cbx_json_push_double(list, v[i]);
    return list;
}

static int show_result(const opt_run *run, const cbx_metric_function *m, const cbx_array *r, const cbx_interval *iv)
{
    const compute_args *a = run->args;
    char v[CBX_FORMAT_SIZE], low[CBX_FORMAT_SIZE], high[CBX_FORMAT_SIZE];
    cbx_json *o, *list;

    if (!a->json) {
        if (!iv) return print_result(run, r), EXIT_PASS;
        printf("%s  [%s, %s] at %g %%\n", cbx_format_double(iv->value, v), cbx_format_double(iv->lower, low),
               cbx_format_double(iv->upper, high), 100 * iv->level);
        return EXIT_PASS;
    }
    o = new_document("calibrax-metric-value");
    json_put(o, J_TEXT("metric", m->name), J_TEXT("direction", cbx_direction_name(m->direction)));
    list = cbx_json_set_array(o, "operands");
    for (size_t i = 1; i < run->words->count; i++) cbx_json_push_string(list, run->words->items[i]);
    cbx_json_set(o, "value", result_json(r));
    if (cbx_array_ndim(r) > 1) {
        list = cbx_json_set_array(o, "shape");
        for (int k = 0; k < cbx_array_ndim(r); k++) cbx_json_push_int(list, (int64_t)cbx_array_dim(r, k));
    }
    if (iv) cbx_json_set_interval(o, "interval", iv->value, iv->lower, iv->upper, iv->level);
    return print_json(run->program, o);
}

static int run_compute(const opt_run *run)
{
    const compute_args *a = run->args;
    const size_t nin = run->words->count ? run->words->count - 1 : 0;
    cbx_metric_bootstrap_opts boot = CBX_METRIC_BOOTSTRAP_OPTS_INIT;
    double parameters[CBX_METRIC_MAX_PARAMETERS];
    cbx_metric_options o = { .parameters = parameters };
    cbx_array *in[CBX_METRIC_MAX_OPERANDS], *mask = NULL, *weights = NULL, *r;
    const cbx_metric_function *m;
    cbx_interval iv;
    cbx_scope scope;
    int status;

    if (!nin) return opt_fail(run->program, "metrics compute takes a metric and the files of its operands");
    if (opt_check(run, cbx_metric_find(run->ctx, run->words->items[0], &m, run->err))) return EXIT_ERROR;
    if (m->function && !(m->flags & CBX_METRIC_FEATURES))
        return opt_fail(run->program, "%s takes a function: it can be computed from C and Python alone", m->name);
    if (nin > cbx_metric_operands(m))
        return opt_fail(run->program, "%s takes at most %zu operands, got %zu files", m->name, cbx_metric_operands(m),
                        nin);
    if (set_parameters(run, m, &a->set, parameters)) return EXIT_ERROR;
    for (size_t i = 0; i < nin; i++)
        if (opt_check(run, cbx_array_load(run->ctx, run->words->items[i + 1], &in[i], run->err))) return EXIT_ERROR;
    if (a->mask && opt_check(run, cbx_array_load(run->ctx, a->mask, &mask, run->err))) return EXIT_ERROR;
    if (a->weights && opt_check(run, cbx_array_load(run->ctx, a->weights, &weights, run->err))) return EXIT_ERROR;
    o.mask = mask;
    o.weights = weights;
    boot.level = a->level;
    boot.resamples = a->resamples;
    boot.seed = a->seed;
    cbx_scope_open(run->ctx, &scope);
    r = cbx_copy(run->ctx, cbx_metric_apply(run->ctx, m, nin, in, &o));
    status = opt_check(run, cbx_scope_close_keep(&scope, 1, &r, run->err));
    if (!status && a->ci) status = opt_check(run, cbx_metric_bootstrap(run->ctx, m, nin, in, &o, &boot, &iv, run->err));
    if (!status) status = show_result(run, m, r, a->ci ? &iv : NULL);
    return status;
}

const opt_command metrics_compute_command = {
    .name = "metrics compute",
    .synopsis = "METRIC FILE... [--set NAME=VALUE] [--ci]",
    .summary = "compute a metric of arrays in files",
    .description =
        "Computes a metric of one array for each operand, in the order of 'metrics describe'. A file is "
        "FILE.npy, FILE.npz:NAME, FILE.h5:/DATASET or FILE.csv:COLUMN (a name of its header, or a number from 1; "
        "without one all columns). Prints the result, with --ci an interval over resampled items.",
    OPT_OPTIONS(compute),
    OPT_RULES(compute),
    .defaults = &compute_defaults,
    .flags = OPT_TAKES_WORDS,
    .word = "METRIC",
    .words = "@functions",
    .run = run_compute,
};
