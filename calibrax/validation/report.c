/* A list of checks in their order, and a table of them by name. */
#include "calibrax/validation/report.h"

#include <stddef.h>
#include <string.h>

#include "calibrax/base/hash_table.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/json_put.h"

typedef enum check_kind { ACCURACY, CONVERGENCE, VIOLATION } check_kind;

typedef struct converged {
    cbx_convergence_result series;
    cbx_tolerance_result tolerance;
} converged;

typedef struct check {
    check_kind kind;
    const char *name; /* of a violation: the sentence */
    const char *unit;
    bool passed;
    union {
        cbx_accuracy_result accuracy;
        converged *convergence;
    };
} check;

struct cbx_validation {
    cbx_arena arena;
    const char *name, *reference;
    CBX_LIST(check) checks;
    cbx_table table; /* of checks by kind and name */
    size_t failures;
};

cbx_status cbx_validation_create(cbx_ctx *ctx, const char *name, const char *reference, cbx_validation **out,
                                 cbx_err *err)
{
    cbx_validation *v;

    if (!name || !*name || !reference || !*reference)
        return cbx_fail(err, CBX_EINVAL, "a validation needs a name and a reference");
    v = CBX_ARENA_OBJECT(cbx_validation, cbx_ctx_allocator(ctx));
    if (!v) return cbx_fail_nomem(err, "a validation");
    cbx_table_init(&v->table, &v->arena.al);
    v->name = cbx_arena_strdup(&v->arena, name);
    v->reference = cbx_arena_strdup(&v->arena, reference);
    cbx_status st = v->name && v->reference ? CBX_OK : cbx_fail_nomem(err, "a validation");
    return CBX_FINISH(st, *out = v, cbx_validation_free(v));
}

void cbx_validation_free(cbx_validation *v)
{
    if (!v) return;
    cbx_list_clear(&v->arena.al, &v->checks);
    cbx_table_clear(&v->table);
    cbx_arena_end(&v->arena);
}

static uint64_t hash_of(check_kind kind, const char *name)
{
    return cbx_hash_text(CBX_HASH_START + (uint64_t)kind, name);
}

static bool is_check(const void *validation, size_t at, const void *wanted)
{
    const check *c = &((const cbx_validation *)validation)->checks.items[at], *w = wanted;

    return c->kind == w->kind && strcmp(c->name, w->name) == 0;
}

static cbx_status new_check(const cbx_validation *v, check_kind kind, const char *name, check *out, cbx_err *err)
{
    *out = (check){ .kind = kind, .name = name };
    if (!name || !*name) return cbx_fail(err, CBX_EINVAL, "validation '%s': a check without a name", v->name);
    if (kind != VIOLATION && cbx_table_find(&v->table, hash_of(kind, name), is_check, v, out))
        return cbx_fail(err, CBX_EEXIST, "validation '%s': '%s' was checked already", v->name, name);
    return CBX_OK;
}

static cbx_status add_check(cbx_validation *v, check c, bool passed, cbx_err *err)
{
    c.passed = passed;
    c.name = cbx_arena_strdup(&v->arena, c.name);
    if (!c.name || !cbx_list_reserve(&v->arena.al, &v->checks, v->checks.n + 1) ||
        !cbx_table_add(&v->table, hash_of(c.kind, c.name), v->checks.n))
        return cbx_fail_nomem(err, "a check");
    v->checks.items[v->checks.n++] = c;
    v->failures += !passed;
    return CBX_OK;
}

cbx_status cbx_validation_add_accuracy(cbx_validation *v, const cbx_metric_def *def, const cbx_metric *achieved,
                                       double target, cbx_err *err)
{
    const check *last = v->checks.n ? &v->checks.items[v->checks.n - 1] : NULL;
    const char *unit = def->unit ? def->unit : "";
    check c;
    cbx_status st = new_check(v, ACCURACY, def->name, &c, err);

    if (st) return st;
    c.unit = last && last->unit && !strcmp(last->unit, unit) ? last->unit : cbx_arena_strdup(&v->arena, unit);
    if (!c.unit) return cbx_fail_nomem(err, "a check");
    c.accuracy = cbx_accuracy_check(achieved, target, def);
    return add_check(v, c, c.accuracy.outcome == CBX_ACCURACY_MET, err);
}

cbx_status cbx_validation_add_convergence(cbx_validation *v, const char *name, const double *errors, size_t n,
                                          double tolerance, size_t hold, cbx_err *err)
{
    check c;
    cbx_status st = new_check(v, CONVERGENCE, name, &c, err);

    if (st) return st;
    c.convergence = cbx_arena_calloc(&v->arena, 1, sizeof *c.convergence);
    if (!c.convergence) return cbx_fail_nomem(err, "a check");
    st = cbx_convergence_check(errors, n, &tolerance, 1, hold, &c.convergence->series, &c.convergence->tolerance, err);
    return st ? st : add_check(v, c, c.convergence->tolerance.outcome == CBX_TOLERANCE_MET, err);
}

cbx_status cbx_validation_add_violation(cbx_validation *v, const char *sentence, cbx_err *err)
{
    check c;
    cbx_status st = new_check(v, VIOLATION, sentence, &c, err);

    return st ? st : add_check(v, c, false, err);
}

bool cbx_validation_passed(const cbx_validation *v) { return v->checks.n > 0 && v->failures == 0; }

size_t cbx_validation_checks(const cbx_validation *v) { return v->checks.n; }

size_t cbx_validation_failures(const cbx_validation *v) { return v->failures; }

/* --- as JSON --- */

static cbx_json *check_json(const check *c)
{
    if (c->kind == VIOLATION) return cbx_json_new_string(c->name);
    cbx_json *o = cbx_json_object(J_TEXT("name", c->name), J_BOOL("passed", c->passed));
    if (c->kind == ACCURACY) {
        const cbx_accuracy_result *r = &c->accuracy;
        cbx_json_put(o, J_TEXT("outcome", cbx_accuracy_outcome_name(r->outcome)), J_TEXT("unit", c->unit),
                     J_NUMBER("achieved", r->achieved), J_NUMBER("target", r->target), J_NUMBER("margin", r->margin));
    } else {
        const cbx_tolerance_result *t = &c->convergence->tolerance;
        const cbx_convergence_result *r = &c->convergence->series;
        cbx_json_put(o, J_TEXT("outcome", cbx_tolerance_outcome_name(t->outcome)),
                     J_TEXT("series", cbx_convergence_outcome_name(r->outcome)), J_NUMBER("tolerance", t->tolerance),
                     J_INT("iteration", t->iteration), J_INT("crossed", t->crossed), J_INT("iterations", r->iterations),
                     J_NUMBER("rate", r->rate), J_NUMBER("rate_error", r->rate_error));
    }
    return cbx_json_finish(o);
}

/* In the order of the document. */
static const struct {
    const char *name;
    check_kind kind;
} lists[] = { { "accuracy", ACCURACY }, { "convergence", CONVERGENCE }, { "violations", VIOLATION } };

cbx_status cbx_validation_each(const cbx_validation *v, cbx_validation_fn fn, void *user, cbx_err *err)
{
    int stop = 0;

    for (size_t i = 0; i < CBX_LEN(lists); i++)
        for (size_t k = 0; k < v->checks.n && !stop; k++) {
            const check *c = &v->checks.items[k];
            cbx_json *one = c->kind == lists[i].kind ? check_json(c) : NULL;
            if (c->kind != lists[i].kind) continue;
            if (!one) return cbx_fail_nomem(err, "a check");
            stop = fn(user, lists[i].name, one);
            cbx_json_unref(one);
        }
    return CBX_OK;
}

cbx_json *cbx_validation_json(const cbx_validation *v)
{
    cbx_json *o = cbx_json_document("calibrax-validation", J_TEXT("name", v->name), J_TEXT("reference", v->reference),
                                    J_BOOL("passed", cbx_validation_passed(v)));

    for (size_t i = 0; i < CBX_LEN(lists); i++) {
        cbx_json *list = cbx_json_set_array(o, lists[i].name);
        for (size_t k = 0; k < v->checks.n; k++)
            if (v->checks.items[k].kind == lists[i].kind) cbx_json_push(list, check_json(&v->checks.items[k]));
    }
    return cbx_json_finish(o);
}
