/*
 * The record of a validation: a list of checks in the order they were made.
 */
#include "calibrax/validation/report.h"

#include <string.h>

#include "calibrax/base/arena.h"

typedef enum check_kind { ACCURACY, CONVERGENCE, VIOLATION } check_kind;

typedef struct check {
    struct check *next;
    check_kind kind;
    const char *name; /* of a violation: the sentence */
    const char *unit;
    bool passed;
    cbx_accuracy_result accuracy;
    cbx_convergence_result convergence;
    cbx_tolerance_result tolerance;
} check;

struct cbx_validation {
    cbx_allocator al;
    cbx_arena arena;
    const char *name, *reference;
    check *first, **end;
    size_t count, failures;
};

cbx_status cbx_validation_create(cbx_ctx *ctx, const char *name, const char *reference, cbx_validation **out,
                                 cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_validation *v;

    if (!name || !*name || !reference || !*reference)
        return cbx_fail(err, CBX_EINVAL, "a validation needs a name and a reference");
    v = cbx_mem_zalloc(al, sizeof *v);
    if (!v) return cbx_fail(err, CBX_ENOMEM, "no memory for a validation");
    v->al = *al;
    v->end = &v->first;
    cbx_arena_init(&v->arena, al);
    v->name = cbx_arena_strdup(&v->arena, name);
    v->reference = cbx_arena_strdup(&v->arena, reference);
    if (!v->name || !v->reference) {
        cbx_validation_free(v);
        return cbx_fail(err, CBX_ENOMEM, "no memory for a validation");
    }
    *out = v;
    return CBX_OK;
}

void cbx_validation_free(cbx_validation *v)
{
    cbx_allocator al;

    if (!v) return;
    al = v->al;
    cbx_arena_clear(&v->arena);
    cbx_mem_free(&al, v, sizeof *v);
}

static cbx_status new_check(cbx_validation *v, check_kind kind, const char *name, check **out, cbx_err *err)
{
    check *c;

    if (!name || !*name) return cbx_fail(err, CBX_EINVAL, "validation '%s': a check without a name", v->name);
    for (c = v->first; c && kind != VIOLATION; c = c->next) {
        if (c->kind == kind && !strcmp(c->name, name))
            return cbx_fail(err, CBX_EEXIST, "validation '%s': '%s' was checked already", v->name, name);
    }
    c = cbx_arena_alloc(&v->arena, sizeof *c);
    if (c) c->name = cbx_arena_strdup(&v->arena, name);
    if (!c || !c->name) return cbx_fail(err, CBX_ENOMEM, "no memory for a check");
    c->kind = kind;
    *out = c;
    return CBX_OK;
}

static void add_check(cbx_validation *v, check *c, bool passed)
{
    c->passed = passed;
    v->count++;
    v->failures += !passed;
    *v->end = c;
    v->end = &c->next;
}

cbx_status cbx_validation_add_accuracy(cbx_validation *v, const cbx_metric_def *def, const cbx_metric *achieved,
                                       double target, cbx_err *err)
{
    check *c;
    cbx_status st = new_check(v, ACCURACY, def->name, &c, err);

    if (st) return st;
    c->unit = cbx_arena_strdup(&v->arena, def->unit ? def->unit : "");
    if (!c->unit) return cbx_fail(err, CBX_ENOMEM, "no memory for a check");
    c->accuracy = cbx_accuracy_check(achieved, target, def->direction);
    add_check(v, c, c->accuracy.outcome == CBX_ACCURACY_MET);
    return CBX_OK;
}

cbx_status cbx_validation_add_convergence(cbx_validation *v, const char *name, const double *errors, size_t n,
                                          double tolerance, size_t hold, cbx_err *err)
{
    check *c;
    cbx_status st = new_check(v, CONVERGENCE, name, &c, err);

    if (!st) st = cbx_convergence_check(errors, n, &tolerance, 1, hold, &c->convergence, &c->tolerance, err);
    if (!st) add_check(v, c, c->tolerance.outcome == CBX_TOLERANCE_MET);
    return st;
}

cbx_status cbx_validation_add_violation(cbx_validation *v, const char *sentence, cbx_err *err)
{
    check *c;
    cbx_status st = new_check(v, VIOLATION, sentence, &c, err);
    if (!st) add_check(v, c, false);
    return st;
}

bool cbx_validation_passed(const cbx_validation *v) { return v->count > 0 && v->failures == 0; }

size_t cbx_validation_checks(const cbx_validation *v) { return v->count; }

size_t cbx_validation_failures(const cbx_validation *v) { return v->failures; }

/* --- as JSON --- */

static bool put_accuracy(cbx_json *o, const check *c)
{
    return cbx_json_set_string(o, "outcome", cbx_accuracy_outcome_name(c->accuracy.outcome)) &&
           cbx_json_set_string(o, "unit", c->unit) && cbx_json_set_double(o, "achieved", c->accuracy.achieved) &&
           cbx_json_set_double(o, "target", c->accuracy.target) && cbx_json_set_double(o, "margin", c->accuracy.margin);
}

static bool put_convergence(cbx_json *o, const check *c)
{
    return cbx_json_set_string(o, "outcome", cbx_tolerance_outcome_name(c->tolerance.outcome)) &&
           cbx_json_set_string(o, "series", cbx_convergence_outcome_name(c->convergence.outcome)) &&
           cbx_json_set_double(o, "tolerance", c->tolerance.tolerance) &&
           cbx_json_set_int(o, "iteration", (int64_t)c->tolerance.iteration) &&
           cbx_json_set_int(o, "crossed", (int64_t)c->tolerance.crossed) &&
           cbx_json_set_int(o, "iterations", (int64_t)c->convergence.iterations) &&
           cbx_json_set_double(o, "rate", c->convergence.rate) &&
           cbx_json_set_double(o, "rate_error", c->convergence.rate_error);
}

static cbx_json *check_json(const check *c)
{
    cbx_json *o;
    bool ok;

    if (c->kind == VIOLATION) return cbx_json_new_string(c->name);
    o = cbx_json_new_object();
    ok = o && cbx_json_set_string(o, "name", c->name) && cbx_json_set_bool(o, "passed", c->passed) &&
         (c->kind == ACCURACY ? put_accuracy(o, c) : put_convergence(o, c));
    if (ok) return o;
    cbx_json_unref(o);
    return NULL;
}

/* The checks of one kind as a member of o. */
static bool put_kind(const cbx_validation *v, cbx_json *o, const char *key, check_kind kind)
{
    cbx_json *list = cbx_json_new_array();

    if (!list) return false;
    for (const check *c = v->first; c; c = c->next) {
        cbx_json *one = c->kind == kind ? check_json(c) : NULL;
        if (c->kind != kind || (one && cbx_json_push(list, one))) continue;
        cbx_json_unref(list);
        return false;
    }
    return cbx_json_set(o, key, list);
}

cbx_json *cbx_validation_json(const cbx_validation *v)
{
    cbx_json *o = cbx_json_new_object();
    bool ok = o && cbx_json_set_string(o, "schema", "calibrax-validation") && cbx_json_set_int(o, "version", 1) &&
              cbx_json_set_string(o, "name", v->name) && cbx_json_set_string(o, "reference", v->reference) &&
              cbx_json_set_bool(o, "passed", cbx_validation_passed(v)) && put_kind(v, o, "accuracy", ACCURACY) &&
              put_kind(v, o, "convergence", CONVERGENCE) && put_kind(v, o, "violations", VIOLATION);

    if (ok) return o;
    cbx_json_unref(o);
    return NULL;
}
