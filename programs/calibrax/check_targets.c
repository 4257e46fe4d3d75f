/*
 * calibrax check --target, --series: values of runs against targets, and series of errors against tolerances
 * (calibrax/validation/report.h).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/validation/report.h"
#include "programs/calibrax/check.h"
#include "programs/common/output.h"

static int report(const opt_run *run, cbx_status st, const cbx_err *err)
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
                 ? report(run, cbx_validation_add_accuracy(v, &named, cbx_point_metric(p, metric), target, &err), &err)
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

static int take_run(void *user, const cbx_run *r)
{
    targets *t = user;

    if (check_values(t->run, r, &t->query)) return EXIT_ERROR;
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; k < cbx_run_npoints(r); k++) {
            const cbx_point *p = cbx_run_point(r, k);
            if (!select_point(&t->query, p) || !cbx_point_metric(p, t->list[i].metric)) continue;
            t->list[i].found++;
            if (check_point(t->run, t->v, r, p, t->list[i].metric, t->list[i].value)) return EXIT_ERROR;
        }
    return EXIT_PASS;
}

static int check_all_targets(const opt_run *run, cbx_validation *v)
{
    const check_args *a = run->args;
    targets t = { .run = run, .v = v, .n = a->targets.count };
    inputs_visit visit = { .take = take_run, .user = &t, .any_machine = true, .sure = true };
    int status = EXIT_PASS;

    if (!t.n) return EXIT_PASS;
    t.list = cbx_arena_calloc(run->arena, t.n, sizeof *t.list);
    if (!t.list) return opt_fail(run->program, "out of memory");
    for (size_t i = 0; !status && i < t.n; i++)
        status = select_number(run, "target", "METRIC", a->targets.items[i], &t.list[i].metric, &t.list[i].value);
    if (!status) status = select_query(run, &a->select, &t.query);
    if (!status) status = inputs_each(run, &a->select, &a->inputs, &visit);
    for (size_t i = 0; !status && i < t.n; i++)
        if (!t.list[i].found)
            status = opt_fail(run->program, "'--target': no matching point has a metric '%s'", t.list[i].metric);
    return status;
}

/* --- series --- */

static int check_series(const opt_run *run, cbx_validation *v, const char *name, const cbx_json *list,
                        const double *tol)
{
    const check_args *a = run->args;
    size_t n = cbx_json_length(list);
    double *x = cbx_arena_calloc(run->arena, n + 1, sizeof *x);
    cbx_err err = CBX_ERR_INIT;
    int status = EXIT_PASS;

    if (!x) return opt_fail(run->program, "out of memory");
    if (cbx_json_typeof(list) != CBX_JSON_ARRAY)
        return opt_fail(run->program, "'--series': '%s' is not a list of numbers", name);
    for (size_t i = 0; i < n; i++) x[i] = cbx_json_double_value(cbx_json_at(list, i));
    for (size_t i = 0; !status && i < a->tolerances.count; i++) {
        const char *check = cbx_arena_printf(run->arena, "%s <= %.6g", name, tol[i]);
        if (!check) return opt_fail(run->program, "out of memory");
        status = report(run, cbx_validation_add_convergence(v, check, x, n, tol[i], a->hold, &err), &err);
    }
    return status;
}

static int check_file(const opt_run *run, cbx_validation *v, const char *path, const double *tol)
{
    cbx_json *root = NULL, *list;
    const char *name;
    cbx_err err = CBX_ERR_INIT;
    int status = report(run, cbx_json_read(run->ctx, path, &root, &err), &err);

    if (!status && (cbx_json_typeof(root) != CBX_JSON_OBJECT || !cbx_json_length(root)))
        status = opt_fail(run->program, "'--series': '%s' is not an object of series, {\"NAME\": [numbers]}", path);
    for (size_t i = 0; !status && cbx_json_member(root, i, &name, &list); i++)
        status = check_series(run, v, name, list, tol);
    cbx_json_unref(root);
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

static const char *const words[] = { "PASSED", "FAILED", "CANNOT CHECK", "UNDECIDED" };

/* 1 goes before 2, 2 before 3. */
static int worse(int a, int b)
{
    static const int order[] = { 0, 3, 2, 1 };
    return order[a] >= order[b] ? a : b;
}

/* Checks on their way out. */
typedef struct answer {
    const opt_run *run;
    json_stream *json;
    const char *list;          /* that is under way in the document */
    const char *directionless; /* first check that had no direction; NULL: none */
    int status;
} answer;

static int put_check(void *user, const char *list, const cbx_json *check)
{
    answer *t = user;

    t->status = worse(t->status, codes[code_of(check)].exit_code);
    if (!t->directionless && !strcmp(cbx_json_get_string(check, "outcome", ""), "no-direction"))
        t->directionless = cbx_arena_strdup(t->run->arena, cbx_json_get_string(check, "name", ""));
    if (!t->json) {
        size_t code = code_of(check);
        const char *name = plain_text(t->run->arena, cbx_json_get_string(check, "name", ""));
        const char *unit = plain_text(t->run->arena, cbx_json_get_string(check, "unit", ""));

        printf("%s%-12s%s  %s", paint_begin(codes[code].how), codes[code].outcome, paint_end(codes[code].how), name);
        if (cbx_json_has(check, "target"))
            printf(": %.6g, target %.6g%s%s\n", cbx_json_get_double(check, "achieved", NAN),
                   cbx_json_get_double(check, "target", NAN), *unit ? " " : "", unit);
        else if (cbx_json_get_int(check, "iteration", 0))
            printf(": from iteration %lld on, %s\n", (long long)cbx_json_get_int(check, "iteration", 0),
                   cbx_json_get_string(check, "series", ""));
        else
            printf(": %s\n", cbx_json_get_string(check, "series", ""));
        return 0;
    }
    for (; strcmp(t->list, list) != 0; t->list = "convergence") json_stream_next(t->json, NULL, "convergence");
    json_stream_add(t->json, cbx_json_ref((cbx_json *)(uintptr_t)check));
    return 0;
}

/* Nothing here makes a violation. */
static int print_document(answer *t, const cbx_validation *v)
{
    const check_args *a = t->run->args;
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
    status = report(t->run, cbx_validation_each(v, put_check, t, &err), &err);
    if (strcmp(t->list, "convergence") != 0) json_stream_next(&out, NULL, "convergence");
    return worse(status, json_stream_end(&out, t->run->program, tail));
}

static int print_text(answer *t, const cbx_validation *v)
{
    cbx_err err = CBX_ERR_INIT;
    int status = report(t->run, cbx_validation_each(v, put_check, t, &err), &err);

    if (!status)
        printf("%s: %zu of %zu checks passed\n", words[t->status],
               cbx_validation_checks(v) - cbx_validation_failures(v), cbx_validation_checks(v));
    return status;
}

int check_targets(const opt_run *run)
{
    const check_args *a = run->args;
    cbx_validation *v = NULL;
    cbx_err err = CBX_ERR_INIT;
    answer t = { .run = run };
    int status;

    if (!a->targets.count && (a->select.data || a->inputs.runs.count || run->words->count))
        return opt_fail(run->program, "'--series' checks files: a run or '--data' needs '--target'");
    status = report(run, cbx_validation_create(run->ctx, a->name, a->reference, &v, &err), &err);
    if (!status) status = check_all_targets(run, v);
    if (!status) {
        double *tol = cbx_arena_calloc(run->arena, a->tolerances.count + 1, sizeof *tol);
        status = tol ? EXIT_PASS : opt_fail(run->program, "out of memory");

        for (size_t i = 0; !status && i < a->tolerances.count; i++)
            if (!opt_number(a->tolerances.items[i], &tol[i]) || tol[i] < 0)
                status = opt_fail(run->program, "'--tolerance' must list numbers of at least 0, got '%s'",
                                  a->tolerances.items[i]);
        for (size_t i = 0; !status && i < a->series.count; i++) status = check_file(run, v, a->series.items[i], tol);
    }
    if (!status) status = a->select.json ? print_document(&t, v) : print_text(&t, v);
    if (t.directionless)
        opt_fail(run->program,
                 "'%s' has no direction: define it as lower or higher in the run's metric_defs, or in the store's "
                 "config.json",
                 t.directionless);
    cbx_validation_free(v);
    return status ? status : t.status;
}
