/*
 * calibrax validate: values of a run against targets, and series of errors against tolerances (calibrax/validation/report.h).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/validation/report.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/inputs.h"
#include "programs/common/output.h"

typedef struct validate_args {
    select_args select;
    inputs_args inputs;
    opt_list targets, series, tolerances;
    size_t hold;
    const char *name, *reference;
} validate_args;

#define AT(member) offsetof(validate_args, member)

static const opt_spec validate_options[] = {
    SELECT_STORE_ROWS(validate_args),
    INPUTS_ROWS(validate_args),
    { "target", 0, OPT_EACH, AT(targets), "METRIC=X", NULL,
      "a metric's target, to be met by each point that has it, on the side that its definition calls better; may be "
      "repeated" },
    SELECT_POINT_ROWS(validate_args),
    { "series", 0, OPT_EACH, AT(series), "FILE", NULL,
      "errors by iteration, as JSON: {\"residual\": [1, 0.1, 0.01], ...}; may be repeated" },
    { "tolerance", 0, OPT_LIST, AT(tolerances), "X,...", NULL, "of series: what their errors have to reach, and keep" },
    { "hold", 0, OPT_POSITIVE, AT(hold), "N", "1", "of series: values at the end that have to be at or below it" },
    { "name", 0, OPT_STRING, AT(name), "NAME", "validation", "of the whole, in the document" },
    { "reference", 0, OPT_STRING, AT(reference), "TEXT", "as given", "where the truth comes from: a paper, a program" },
    SELECT_JSON_ROW(validate_args),
};
static const validate_args validate_defaults = { .hold = 1, .name = "validation", .reference = "as given" };

static int said(const opt_run *run, cbx_status st, const cbx_err *err)
{
    return st ? opt_fail(run->program, "%s", err->message) : EXIT_PASS;
}

/* --- targets --- */

static int check_point(const opt_run *run, cbx_validation *v, const cbx_run *r, const cbx_point *p, const char *metric,
                       double target)
{
    const cbx_metric_def *def = cbx_run_find_metric_def(r, metric);
    cbx_metric_def named = { .unit = def ? def->unit : "", .direction = CBX_DIRECTION_INFO };
    cbx_err err = CBX_ERR_INIT;
    cbx_arena passing;
    const char *key;
    int status;

    cbx_arena_init(&passing, cbx_allocator_default());
    key = point_key(&passing, p, NULL);
    named.name = key ? cbx_arena_printf(&passing, "%s %s:%s", cbx_run_id(r), key, metric) : NULL;
    if (def) named.direction = def->direction;
    status = named.name
                 ? said(run, cbx_validation_add_accuracy(v, &named, cbx_point_metric(p, metric), target, &err), &err)
                 : opt_fail(run->program, "out of memory");
    cbx_arena_clear(&passing);
    return status;
}

/* A metric and what it has to reach. */
typedef struct target {
    const char *metric;
    double value;
    size_t found; /* points that have it */
} target;

typedef struct targets {
    const opt_run *run;
    cbx_validation *v;
    cbx_store_query query;
    target *list;
    size_t n;
} targets;

static int read_target(const opt_run *run, const char *word, target *out)
{
    const char *equals = strrchr(word, '=');
    char *stop = NULL;

    out->value = equals ? strtod(equals + 1, &stop) : NAN;
    if (!equals || equals == word || stop == equals + 1 || *stop || !isfinite(out->value))
        return opt_fail(run->program, "--target: expected METRIC=X with a number X, found '%s'", word);
    out->metric = cbx_arena_strndup(run->arena, word, (size_t)(equals - word));
    return out->metric ? EXIT_PASS : opt_fail(run->program, "out of memory");
}

static int take_run(void *user, const cbx_run *r)
{
    targets *t = user;

    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; k < cbx_run_npoints(r); k++) {
            const cbx_point *p = cbx_run_point(r, k);
            if (!select_point(&t->query, p) || !cbx_point_metric(p, t->list[i].metric)) continue;
            t->list[i].found++;
            if (check_point(t->run, t->v, r, p, t->list[i].metric, t->list[i].value)) return EXIT_ERROR;
        }
    return EXIT_PASS;
}

static int check_targets(const opt_run *run, cbx_validation *v)
{
    const validate_args *a = run->args;
    targets t = { .run = run, .v = v, .n = a->targets.count };
    inputs_visit visit = { .take = take_run, .user = &t, .any_machine = true, .sure = true, .bare = true };
    int status = EXIT_PASS;

    if (!t.n) return EXIT_PASS;
    t.list = cbx_arena_calloc(run->arena, t.n, sizeof *t.list);
    if (!t.list) return opt_fail(run->program, "out of memory");
    for (size_t i = 0; !status && i < t.n; i++) status = read_target(run, a->targets.items[i], &t.list[i]);
    if (!status) status = select_query(run, &a->select, &t.query);
    if (!status) status = inputs_each(run, &a->select, &a->inputs, &visit);
    for (size_t i = 0; !status && i < t.n; i++)
        if (!t.list[i].found)
            status = opt_fail(run->program, "--target: no point that was chosen has a metric '%s'; correct the name",
                              t.list[i].metric);
    return status;
}

/* --- series --- */

static int read_tolerances(const opt_run *run, double *out)
{
    const validate_args *a = run->args;

    for (size_t i = 0; i < a->tolerances.count; i++) {
        char *stop;
        out[i] = strtod(a->tolerances.items[i], &stop);
        if (stop == a->tolerances.items[i] || *stop || !(out[i] >= 0) || !isfinite(out[i]))
            return opt_fail(run->program, "--tolerance: expected numbers, 0 or more, found '%s'",
                            a->tolerances.items[i]);
    }
    return EXIT_PASS;
}

static int check_series(const opt_run *run, cbx_validation *v, const char *name, const cbx_json *list,
                        const double *tol)
{
    const validate_args *a = run->args;
    size_t n = cbx_json_length(list);
    double *x = cbx_arena_calloc(run->arena, n + 1, sizeof *x);
    cbx_err err = CBX_ERR_INIT;
    int status = EXIT_PASS;

    if (!x) return opt_fail(run->program, "out of memory");
    if (cbx_json_typeof(list) != CBX_JSON_ARRAY)
        return opt_fail(run->program, "--series: '%s' is no list of numbers", name);
    for (size_t i = 0; i < n; i++) x[i] = cbx_json_double_value(cbx_json_at(list, i));
    for (size_t i = 0; !status && i < a->tolerances.count; i++) {
        const char *check = cbx_arena_printf(run->arena, "%s <= %.6g", name, tol[i]);
        if (!check) return opt_fail(run->program, "out of memory");
        status = said(run, cbx_validation_add_convergence(v, check, x, n, tol[i], a->hold, &err), &err);
    }
    return status;
}

static int check_file(const opt_run *run, cbx_validation *v, const char *path, const double *tol)
{
    cbx_json *root = NULL, *list;
    const char *name;
    cbx_err err = CBX_ERR_INIT;
    int status = said(run, cbx_json_read(run->ctx, path, &root, &err), &err);

    if (!status && (cbx_json_typeof(root) != CBX_JSON_OBJECT || !cbx_json_length(root)))
        status = opt_fail(run->program, "--series: '%s' is no object of series, {\"NAME\": [numbers]}", path);
    for (size_t i = 0; !status && cbx_json_member(root, i, &name, &list); i++)
        status = check_series(run, v, name, list, tol);
    cbx_json_unref(root);
    return status;
}

static int check_all_series(const opt_run *run, cbx_validation *v)
{
    const validate_args *a = run->args;
    double *tol = cbx_arena_calloc(run->arena, a->tolerances.count + 1, sizeof *tol);
    int status = tol ? read_tolerances(run, tol) : opt_fail(run->program, "out of memory");

    for (size_t i = 0; !status && i < a->series.count; i++) status = check_file(run, v, a->series.items[i], tol);
    return status;
}

/* --- the answer --- */

static const struct {
    const char *outcome;
    int exit_code;
    paint how;
} codes[] = {
    { "met", EXIT_PASS, PAINT_GOOD },
    { "missed", EXIT_CHECK, PAINT_BAD },
    { "not-finite", EXIT_CHECK, PAINT_BAD },
    { "transient", EXIT_CHECK, PAINT_BAD },
    { "never", EXIT_CHECK, PAINT_BAD },
    { "unknown", EXIT_ERROR, PAINT_BAD },
    { "no-direction", EXIT_ERROR, PAINT_BAD },
    { "impossible", EXIT_CHECK, PAINT_BAD },
    { "undecided", EXIT_UNDECIDED, PAINT_PLAIN },
};

static size_t code_of(const cbx_json *check)
{
    const char *outcome = cbx_json_get_string(check, "outcome", "unknown");
    size_t i = 0;

    while (i + 1 < CBX_LEN(codes) && strcmp(codes[i].outcome, outcome) != 0) i++;
    return i;
}

static void print_check(const opt_run *run, const cbx_json *c)
{
    size_t code = code_of(c);
    const char *name = plain_text(run->arena, cbx_json_get_string(c, "name", ""));
    const char *unit = plain_text(run->arena, cbx_json_get_string(c, "unit", ""));

    printf("%s%-12s%s  %s", paint_begin(codes[code].how), codes[code].outcome, paint_end(codes[code].how), name);
    if (cbx_json_has(c, "target"))
        printf(": %.6g, target %.6g%s%s\n", cbx_json_get_double(c, "achieved", NAN),
               cbx_json_get_double(c, "target", NAN), *unit ? " " : "", unit);
    else if (cbx_json_get_int(c, "iteration", 0))
        printf(": from iteration %lld on, %s\n", (long long)cbx_json_get_int(c, "iteration", 0),
               cbx_json_get_string(c, "series", ""));
    else
        printf(": %s\n", cbx_json_get_string(c, "series", ""));
}

static const char *const words[] = { "PASSED", "FAILED", "CANNOT TELL", "UNDECIDED" };

/* 1 goes before 2, 2 before 3. */
static int worse(int a, int b)
{
    static const int order[] = { 0, 3, 2, 1 };
    return order[a] >= order[b] ? a : b;
}

/* Checks on their way out. */
typedef struct telling {
    const opt_run *run;
    json_stream *json;
    const char *list;          /* that is under way in the document */
    const char *directionless; /* first check that had no direction; NULL: none */
    int status;
} telling;

static int tell_check(void *user, const char *list, const cbx_json *check)
{
    telling *t = user;

    t->status = worse(t->status, codes[code_of(check)].exit_code);
    if (!t->directionless && !strcmp(cbx_json_get_string(check, "outcome", ""), "no-direction"))
        t->directionless = cbx_arena_strdup(t->run->arena, cbx_json_get_string(check, "name", ""));
    if (!t->json) {
        print_check(t->run, check);
        return 0;
    }
    for (; strcmp(t->list, list) != 0; t->list = "convergence") json_stream_next(t->json, NULL, "convergence");
    json_stream_add(t->json, cbx_json_ref((cbx_json *)(uintptr_t)check));
    return 0;
}

/* Nothing here makes a violation. */
static int print_document(telling *t, const cbx_validation *v)
{
    const validate_args *a = t->run->args;
    cbx_json *head = new_document("calibrax-validation"), *tail = cbx_json_new_object();
    json_stream out;
    cbx_err err = CBX_ERR_INIT;
    int status;

    cbx_json_set_string(head, "name", a->name);
    cbx_json_set_string(head, "reference", a->reference);
    cbx_json_set_bool(head, "passed", cbx_validation_passed(v));
    cbx_json_set(tail, "violations", cbx_json_new_array());
    t->json = &out;
    t->list = "accuracy";
    json_stream_begin(&out, head, t->list);
    status = said(t->run, cbx_validation_each(v, tell_check, t, &err), &err);
    if (strcmp(t->list, "convergence") != 0) json_stream_next(&out, NULL, "convergence");
    return worse(status, json_stream_end(&out, t->run->program, tail));
}

static int print_text(telling *t, const cbx_validation *v)
{
    cbx_err err = CBX_ERR_INIT;
    int status = said(t->run, cbx_validation_each(v, tell_check, t, &err), &err);

    if (!status)
        printf("%s: %zu of %zu checks passed\n", words[t->status],
               cbx_validation_checks(v) - cbx_validation_failures(v), cbx_validation_checks(v));
    return status;
}

/* A remedy for all that have no direction, said once. */
static void say_remedy(const telling *t)
{
    if (t->directionless)
        opt_fail(t->run->program,
                 "'%s' has no better side: define it as lower or higher in the run's metric_defs, or in the store's "
                 "config.json",
                 t->directionless);
}

static int answer(const opt_run *run, const cbx_validation *v)
{
    const validate_args *a = run->args;
    telling t = { .run = run };
    int printed = a->select.json ? print_document(&t, v) : print_text(&t, v);

    say_remedy(&t);
    return printed ? printed : t.status;
}

static int run_validate(const opt_run *run)
{
    const validate_args *a = run->args;
    cbx_validation *v = NULL;
    cbx_err err = CBX_ERR_INIT;
    int status;

    if (!a->targets.count && !a->series.count)
        return opt_fail(run->program,
                        "nothing to validate: give --target METRIC=X, or --series FILE and --tolerance X");
    if (!a->series.count != !a->tolerances.count) return opt_fail(run->program, "--series and --tolerance go together");
    if (!a->targets.count && (a->select.data || a->inputs.files.count))
        return opt_fail(run->program, "--data and --input: need --target METRIC=X, or nothing of them is looked at");
    status = said(run, cbx_validation_create(run->ctx, a->name, a->reference, &v, &err), &err);
    if (!status) status = check_targets(run, v);
    if (!status) status = check_all_series(run, v);
    if (!status) status = answer(run, v);
    cbx_validation_free(v);
    return status;
}

const opt_command validate_command = {
    "validate",
    "(--data DIR [--run ID,...] | --input FILE) --target METRIC=X | --series FILE --tolerance X,...",
    "values against targets, errors against tolerances",
    "Checks that values of runs meet targets that do not move, and that series of errors reach tolerances and stay "
    "there. "
    "A value meets its target if all of its interval does. Exit status 1: missed, no number, or a tolerance that is "
    "not "
    "reached for good; 2: nothing to check, or a metric without direction; 3: the interval holds the target.",
    validate_options,
    CBX_LEN(validate_options),
    sizeof(validate_args),
    &validate_defaults,
    0,
    run_validate,
};
