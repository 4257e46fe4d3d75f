/*
 * calibrax metrics compute: one metric, several, or a suite, of arrays in files.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/io/csv.h"
#include "calibrax/base/list.h"
#include "calibrax/metrics/bootstrap.h"
#include "calibrax/metrics/compose.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"

typedef struct compute_args {
    opt_list set, plugins;
    const char *mask, *weights, *suite;
    bool ci, json;
    double level;
    size_t resamples, seed;
} compute_args;

#define AT(member) offsetof(compute_args, member)

static const compute_args compute_defaults = { .level = 0.95, .resamples = 1000 };

static const opt_spec compute_options[] = {
    OPT("set", 's', EACH, set, "NAME=VALUE", NULL, "value of a parameter of the metrics"),
    OPT("suite", 0, STRING, suite, "FILE", NULL,
        "compute the metrics that a JSON file lists, and check their thresholds"),
    OPT("mask", 0, STRING, mask, "FILE", NULL, "array of 0 and 1: the items that count"),
    OPT("weights", 0, STRING, weights, "FILE", NULL, "array of weights of the items"),
    OPT_SWITCH("ci", 0, ci, "compute a bootstrap interval over the items, too"),
    OPT("level", 0, SHARE, level, "SHARE", "0.95", "confidence level of the interval"),
    OPT("resamples", 0, POSITIVE, resamples, "N", "1000", "resamples of the interval"),
    OPT("seed", 0, COUNT, seed, "N", "0", "seed of the resamples"),
    OPT("plugin", 0, EACH, plugins, "FILE", NULL,
        "add the metrics of a shared object (calibrax/metrics/plugin.h); may be repeated"),
    OPT_SWITCH("json", 0, json, "print one JSON document"),
};
static const opt_rule compute_rules[] = {
    { "level,resamples,seed", OPT_NEEDS, "ci" },
    { "suite", OPT_EXCLUDES, "set" },
};

/* ---- operands ---- */

/* What the options and files of a call hold. */
typedef struct inputs {
    size_t nin;
    const char *const *files;
    cbx_array *in[CBX_METRIC_MAX_OPERANDS], *mask, *weights;
} inputs;

/* None of words is class 1, which is all that some metrics count. */
static int check_class_1(const opt_run *run, const cbx_metric_collection *c, const char *file, size_t n,
                         const char *const *words)
{
    for (size_t k = 0; k < cbx_metric_collection_count(c); k++) {
        const cbx_metric_member *m = cbx_metric_collection_at(c, k);
        const size_t count = cbx_metric_parameters(m->metric);
        size_t i = 0;
        while (i < count && strcmp(m->metric->parameters[i].name, "average") != 0) i++;
        if (!(m->metric->flags & CBX_METRIC_OF_CLASS_1) || (i < count && m->parameters[i] != 0)) continue;
        SCOPED_TEXT(some, cbx_ctx_allocator(run->ctx));
        for (size_t w = 0; w < n && w < 3; w++) cbx_text_printf(&some, "'%.64s', ", words[w]);
        return opt_fail(run,
                        "%s: '%s' are words, %s%snone of which is class 1: write 1 for the one to count and 0 for the "
                        "others%s",
                        m->metric->name, file, cbx_text_str(&some), n > 3 ? "..., " : "",
                        i < count ? ", or choose another 'average' than binary" : "");
    }
    return EXIT_PASS;
}

/* Operands of words, of which file is the first, as numbers: places among all that occur, which
 * are sorted. */
static int number_words(const opt_run *run, const cbx_metric_collection *c, const char *file, const bool *of_words,
                        inputs *x)
{
    const char **words[CBX_METRIC_MAX_OPERANDS], **all;
    size_t n[CBX_METRIC_MAX_OPERANDS] = { 0 }, total = 0, different = 0;

    for (size_t i = 0; i < x->nin; total += n[i++])
        if (of_words[i] &&
            opt_check(run, cbx_words_load(run->ctx, x->files[i], run->arena, &words[i], &n[i], run->err)))
            return EXIT_ERROR;
    all = cbx_arena_calloc(run->arena, total, sizeof *all);
    for (size_t i = 0, at = 0; i < x->nin; at += n[i++])
        if (n[i]) memcpy(all + at, words[i], n[i] * sizeof *all);
    qsort(all, total, sizeof *all, cbx_compare_texts);
    for (size_t k = 0; k < total; k++)
        if (k == 0 || strcmp(all[k], all[different - 1]) != 0) all[different++] = all[k];
    if (check_class_1(run, c, file, different, all)) return EXIT_ERROR;
    for (size_t i = 0; i < x->nin; i++) {
        const cbx_array_desc d = { .dtype = CBX_I64, .ndim = 1, .shape = { n[i] } };
        if (!of_words[i]) continue;
        cbx_array_free(x->in[i]);
        x->in[i] = NULL;
        if (opt_check(run, cbx_array_create(run->ctx, &d, &x->in[i], run->err))) return EXIT_ERROR;
        for (size_t k = 0; k < n[i]; k++) {
            const char **place = bsearch(&words[i][k], all, different, sizeof *all, cbx_compare_texts);
            ((int64_t *)cbx_array_data_mut(x->in[i]))[k] = place - all;
        }
    }
    return EXIT_PASS;
}

/* Labels are words where one column of them is: then all labels are read as text. */
static int load(const opt_run *run, const cbx_metric_collection *c, const char *const *files, size_t n, inputs *out)
{
    const compute_args *a = run->args;
    bool labels[CBX_METRIC_MAX_OPERANDS];
    const char *words = NULL; /* the first file of them */

    *out = (inputs){ .nin = n, .files = files };
    if (n > CBX_METRIC_MAX_OPERANDS)
        return opt_fail(run, "metrics take at most %d operands, got %zu files", CBX_METRIC_MAX_OPERANDS, n);
    for (size_t i = 0; i < n; i++) {
        const cbx_status st = cbx_array_load(run->ctx, files[i], &out->in[i], run->err);
        labels[i] = true; /* if operand i of all metrics is */
        for (size_t k = 0; k < cbx_metric_collection_count(c); k++) {
            const cbx_metric_function *m = cbx_metric_collection_at(c, k)->metric;
            labels[i] &= i < cbx_metric_operands(m) && m->operands[i].kind == CBX_OPERAND_LABELS;
        }
        if (st && !(labels[i] && st == CBX_EFORMAT)) return opt_check(run, st);
        if (st && !words) words = files[i];
    }
    if (words && number_words(run, c, words, labels, out)) return EXIT_ERROR;
    if (a->mask && opt_check(run, cbx_array_load(run->ctx, a->mask, &out->mask, run->err))) return EXIT_ERROR;
    if (a->weights && opt_check(run, cbx_array_load(run->ctx, a->weights, &out->weights, run->err))) return EXIT_ERROR;
    return EXIT_PASS;
}

/* Whether element i of an array of 64-bit integers changes in float64. */
static bool rounds(const cbx_array *x, size_t i)
{
    if (cbx_array_dtype(x) == CBX_I64) {
        const int64_t v = ((const int64_t *)cbx_array_data(x))[i];
        return v > INT64_MAX - 1023 || (int64_t)(double)v != v;
    }
    const uint64_t v = ((const uint64_t *)cbx_array_data(x))[i];
    return v > UINT64_MAX - 2047 || (uint64_t)(double)v != v;
}

/* Refuses integers that the metric would compute with as other numbers. */
static int check_digits(const opt_run *run, const cbx_metric_function *m, const inputs *x)
{
    for (size_t k = 0; k < x->nin && k < cbx_metric_operands(m); k++) {
        const cbx_dtype t = cbx_array_dtype(x->in[k]);
        if (cbx_operand_kind_dtype(m->operands[k].kind) != CBX_F64 || (t != CBX_I64 && t != CBX_U64)) continue;
        for (size_t i = 0; i < cbx_array_count(x->in[k]); i++)
            if (rounds(x->in[k], i))
                return opt_fail(run,
                                "%s: '%s' has integers beyond 2^53 that float64 does not hold, such as number %zu: "
                                "subtract an offset, or renumber them",
                                m->name, x->files[k], i + 1);
    }
    return EXIT_PASS;
}

static int interval_of(const opt_run *run, const cbx_metric_function *m, const inputs *x, const cbx_metric_options *o,
                       cbx_interval *out)
{
    const compute_args *a = run->args;
    cbx_metric_bootstrap_opts boot = CBX_METRIC_BOOTSTRAP_OPTS_INIT;

    boot.level = a->level;
    boot.resamples = a->resamples;
    boot.seed = a->seed;
    return opt_check(run, cbx_metric_bootstrap(run->ctx, m, x->nin, x->in, o, &boot, out, run->err));
}

/* Values of parameters of one metric; used[k] becomes true of those of --set that it has. */
static int set_parameters(const opt_run *run, const cbx_metric_function *m, double *v, bool *used)
{
    const opt_list *set = &((const compute_args *)run->args)->set;
    const size_t count = cbx_metric_parameters(m);

    for (size_t i = 0; i < CBX_METRIC_MAX_PARAMETERS; i++) v[i] = NAN;
    for (size_t k = 0; k < set->count; k++) {
        const char *text = set->items[k], *equals = strchr(text, '=');
        const size_t length = equals ? (size_t)(equals - text) : 0;
        size_t i = 0;
        if (!equals) return opt_fail(run, "--set %s: it must be NAME=VALUE", text);
        while (i < count && (strlen(m->parameters[i].name) != length || memcmp(m->parameters[i].name, text, length)))
            i++;
        if (i == count) continue;
        used[k] = true;
        if (cbx_metric_parameter_parse(&m->parameters[i], equals + 1, &v[i], run->err))
            return opt_fail(run, "--set %s: %s", text, run->err->message);
    }
    return EXIT_PASS;
}

/* ---- one metric ---- */

/* The elements of a result: numbers, as integers where they are. */
static int result_json(const opt_run *run, const cbx_metric_function *m, const cbx_array *r, cbx_json **out)
{
    const cbx_kind kind = cbx_dtype_kind(cbx_array_dtype(r));
    const cbx_dtype to = kind == CBX_KIND_FLOAT || cbx_array_dtype(r) == CBX_U64 ? CBX_F64 : CBX_I64;
    const bool scalar = cbx_array_count(r) == 1 && (to == CBX_F64 || cbx_array_ndim(r) == 0);
    cbx_scope scope;

    if (kind == CBX_KIND_COMPLEX)
        return opt_fail(run, "%s: the result is complex, which JSON has not: leave out --json", m->name);
    cbx_scope_open(run->ctx, &scope);
    cbx_array *v = cbx_copy(run->ctx, cbx_astype(run->ctx, r, to));
    if (opt_check(run, cbx_scope_close_keep(&scope, 1, &v, run->err))) return EXIT_ERROR;
    *out = scalar ? NULL : cbx_json_new_array();
    for (size_t i = 0; i < cbx_array_count(v); i++) {
        const void *data = cbx_array_data(v);
        cbx_json *number = to == CBX_F64 ? cbx_json_new_double(((const double *)data)[i])
                                         : cbx_json_new_int(((const int64_t *)data)[i]);
        if (scalar)
            *out = number;
        else
            cbx_json_push(*out, number);
    }
    cbx_array_free(v);
    return EXIT_PASS;
}

static int show_result(const opt_run *run, const cbx_metric_function *m, const inputs *x, const cbx_array *r,
                       const cbx_interval *iv)
{
    const compute_args *a = run->args;
    char v[CBX_FORMAT_SIZE], low[CBX_FORMAT_SIZE], high[CBX_FORMAT_SIZE];
    cbx_json *o, *value = NULL;

    if (!a->json && iv) {
        printf("%s  [%s, %s] at %g %%\n", cbx_format_double(iv->value, v), cbx_format_double(iv->lower, low),
               cbx_format_double(iv->upper, high), 100 * iv->level);
        return EXIT_PASS;
    }
    if (!a->json) {
        SCOPED_TEXT(text, cbx_ctx_allocator(run->ctx));
        cbx_array_format(r, 0, &text);
        printf("%s\n", cbx_text_str(&text));
        return EXIT_PASS;
    }
    if (result_json(run, m, r, &value)) return EXIT_ERROR;
    o = cbx_json_document("calibrax-metric-value", J_TEXT("metric", m->name),
                          J_TEXT("direction", cbx_direction_name(m->direction)), J_TEXTS("operands", x->files, x->nin),
                          J_JSON("value", value));
    if (cbx_array_ndim(r) > 1) {
        cbx_json *list = cbx_json_set_array(o, "shape");
        for (int k = 0; k < cbx_array_ndim(r); k++) cbx_json_push_int(list, (int64_t)cbx_array_dim(r, k));
    }
    if (iv) cbx_json_put(o, J_INTERVAL("interval", *iv));
    return print_json(run, o);
}

static int compute_one(const opt_run *run, const cbx_metric_function *m, const double *parameters, const inputs *x)
{
    const compute_args *a = run->args;
    const cbx_metric_options o = { .parameters = parameters, .mask = x->mask, .weights = x->weights };
    cbx_interval iv;
    cbx_scope scope;

    if (check_digits(run, m, x)) return EXIT_ERROR;
    cbx_scope_open(run->ctx, &scope);
    cbx_array *r = cbx_copy(run->ctx, cbx_metric_apply(run->ctx, m, x->nin, x->in, &o));
    int status = opt_check(run, cbx_scope_close_keep(&scope, 1, &r, run->err));
    if (status) return status;
    if (a->ci) status = interval_of(run, m, x, &o, &iv);
    if (!status) status = show_result(run, m, x, r, a->ci ? &iv : NULL);
    cbx_array_free(r);
    return status;
}

/* ---- several metrics ---- */

/* Member i of the collection in a report: the groups come in the order of their first members. */
static cbx_json *reported(const cbx_json *report, const cbx_metric_member *m)
{
    const cbx_json *groups = cbx_json_get(report, "groups");

    for (size_t i = 0; i < cbx_json_length(groups); i++) {
        const cbx_json *group = cbx_json_at(groups, i), *list = cbx_json_get(group, "metrics");
        if (strcmp(cbx_json_get_string(group, "name", ""), m->group ? m->group : "") != 0) continue;
        for (size_t k = 0; k < cbx_json_length(list); k++)
            if (!strcmp(cbx_json_get_string(cbx_json_at(list, k), "label", ""), m->label)) return cbx_json_at(list, k);
    }
    return NULL;
}

static int add_intervals(const opt_run *run, const cbx_metric_collection *c, const inputs *x, cbx_json *report)
{
    for (size_t i = 0; i < cbx_metric_collection_count(c); i++) {
        const cbx_metric_member *m = cbx_metric_collection_at(c, i);
        const cbx_metric_options o = { .parameters = m->parameters, .mask = x->mask, .weights = x->weights };
        cbx_interval iv;
        if (interval_of(run, m->metric, x, &o, &iv)) return EXIT_ERROR;
        cbx_json_put(reported(report, m), J_INTERVAL("interval", iv));
    }
    return EXIT_PASS;
}

static int show_report(const opt_run *run, const inputs *x, cbx_json *report)
{
    const compute_args *a = run->args;
    const bool passed = cbx_json_get_bool(report, "passed", true);

    if (a->json) {
        cbx_json *o = cbx_json_document("calibrax-metric-report", J_TEXTS("operands", x->files, x->nin),
                                        J_JSON("groups", cbx_json_ref(cbx_json_get(report, "groups"))));
        if (cbx_json_has(report, "passed")) cbx_json_set_bool(o, "passed", passed);
        if (print_json(run, o)) return EXIT_ERROR;
    } else {
        SCOPED_TEXT(text, cbx_ctx_allocator(run->ctx));
        cbx_metric_report_text(report, &text);
        fputs(cbx_text_str(&text), stdout);
    }
    return passed ? EXIT_PASS : EXIT_CHECK;
}

static int compute_several(const opt_run *run, cbx_metric_collection *c, const inputs *x)
{
    const compute_args *a = run->args;
    const cbx_metric_options o = { .mask = x->mask, .weights = x->weights };
    SCOPED(cbx_json) *report = NULL;
    int status = EXIT_PASS;

    for (size_t i = 0; !status && i < cbx_metric_collection_count(c); i++)
        status = check_digits(run, cbx_metric_collection_at(c, i)->metric, x);
    if (!status) status = opt_check(run, cbx_metric_collection_update(run->ctx, c, x->nin, x->in, &o, run->err));
    if (!status) status = opt_check(run, cbx_metric_collection_report(run->ctx, c, &report, run->err));
    if (!status && a->ci) status = add_intervals(run, c, x, report);
    return status ? status : show_report(run, x, report);
}

/* Metrics of a list of names, with the parameters of --set that each has. */
static int named_metrics(const opt_run *run, const opt_list *names, cbx_metric_collection *c, double *parameters)
{
    const opt_list *set = &((const compute_args *)run->args)->set;
    bool *used = cbx_arena_calloc(run->arena, set->count + 1, sizeof *used);
    cbx_metric_member m = CBX_METRIC_MEMBER_INIT;

    for (size_t i = 0; i < names->count; i++) {
        if (opt_check(run, cbx_metric_find(run->ctx, names->items[i], &m.metric, run->err))) return EXIT_ERROR;
        if (m.metric->function && !(m.metric->flags & CBX_METRIC_FEATURES))
            return opt_fail(run, "%s takes a function: it can be computed from C and Python alone", m.metric->name);
        if (set_parameters(run, m.metric, parameters, used)) return EXIT_ERROR;
        m.parameters = parameters;
        if (opt_check(run, cbx_metric_collection_add(run->ctx, c, &m, run->err))) return EXIT_ERROR;
    }
    for (size_t k = 0; k < set->count; k++) {
        if (used[k]) continue;
        if (names->count > 1) return opt_fail(run, "--set %s: no metric has such a parameter", set->items[k]);
        return opt_fail(run, "--set %s: %s has no such parameter: calibrax metrics describe %s lists them",
                        set->items[k], names->items[0], names->items[0]);
    }
    return EXIT_PASS;
}

static bool has_empty_name(const char *list)
{
    const char *end = list + strcspn(list, ",");

    for (; end > list && *end; list = end + 1, end = list + strcspn(list, ",")) continue;
    return end == list;
}

static int run_compute(const opt_run *run)
{
    const compute_args *a = run->args;
    const size_t first = a->suite ? 0 : 1;
    double parameters[CBX_METRIC_MAX_PARAMETERS];
    cbx_metric_collection *c = NULL;
    SCOPED(cbx_json) *suite = NULL;
    opt_list names = { 0 };
    inputs x = { 0 };
    int status;

    if (run->words->count <= first)
        return opt_fail(run, a->suite ? "metrics compute --suite takes the files of the operands"
                                      : "metrics compute takes a metric and the files of its operands");
    if (metrics_load_plugins(run, &a->plugins)) return EXIT_ERROR;
    if (!a->suite && has_empty_name(run->words->items[0]))
        return opt_fail(run, "metrics compute '%s': a name of the list is empty", run->words->items[0]);
    if (!a->suite) opt_split(run->arena, run->words->items[0], &names);
    if (a->suite)
        status = opt_check(run, cbx_json_read(run->ctx, a->suite, &suite, run->err));
    else
        status = opt_check(run, cbx_metric_collection_create(run->ctx, &c, run->err));
    if (!status && a->suite)
        status = opt_check(run, cbx_metric_collection_read(run->ctx, suite, a->suite, &c, run->err));
    else if (!status)
        status = named_metrics(run, &names, c, parameters);
    if (!status) status = load(run, c, (const char *const *)run->words->items + first, run->words->count - first, &x);
    if (!status && !a->suite && names.count == 1) {
        const cbx_metric_function *m = cbx_metric_collection_at(c, 0)->metric;
        if (x.nin > cbx_metric_operands(m))
            status = opt_fail(run, "%s takes at most %zu operands, got %zu files", m->name, cbx_metric_operands(m),
                              x.nin);
        if (!status) status = compute_one(run, m, parameters, &x);
    } else if (!status) {
        status = compute_several(run, c, &x);
    }
    for (size_t i = 0; i < CBX_METRIC_MAX_OPERANDS; i++) cbx_array_free(x.in[i]);
    cbx_array_free(x.mask);
    cbx_array_free(x.weights);
    cbx_metric_collection_free(c);
    return status;
}

const opt_command metrics_compute_command = {
    .name = "metrics compute",
    .synopsis = "METRIC[,METRIC]... FILE... | --suite FILE FILE...",
    .summary = "compute metrics of arrays in files",
    .description =
        "Computes a metric, or several, of one array for each operand, in the order of 'metrics describe'. A file is "
        "FILE.npy, FILE.npz:NAME, FILE.h5:/DATASET or FILE.csv:COLUMN (a name of its header, or a number from 1; "
        "without one all columns); labels may be words of a column with a header, which are numbered in alphabetical "
        "order and refused by metrics that count class 1 alone. Prints the result, with --ci an interval over "
        "resampled items; of several metrics "
        "and of a suite a table. A suite is JSON: {\"groups\": {\"errors\": [\"mae\", {\"metric\": \"huber_loss\", "
        "\"parameters\": {\"delta\": 0.1}, \"high\": 0.5}]}}. Exit status 1 if a result is outside 'low' and 'high'.",
    OPT_OPTIONS_RULES(compute),
    .defaults = &compute_defaults,
    .flags = OPT_TAKES_WORDS,
    .word = "METRIC",
    .words = "@functions",
};
