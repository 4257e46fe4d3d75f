/*
 * The record of a validation: a list of checks in the order they were made, and a table of them by name.
 */
#include "calibrax/validation/report.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "calibrax/base/arena.h"

typedef enum check_kind { ACCURACY, CONVERGENCE, VIOLATION } check_kind;

typedef struct converged {
    cbx_convergence_result series;
    cbx_tolerance_result tolerance;
} converged;

typedef struct check {
    struct check *next, *same; /* same: the next one of its slot */
    check_kind kind;
    const char *name; /* of a violation: the sentence */
    const char *unit;
    bool passed;
    uint32_t hash;
    union {
        cbx_accuracy_result accuracy;
        converged *convergence;
    };
} check;

struct cbx_validation {
    cbx_allocator al;
    cbx_arena arena;
    const char *name, *reference;
    check *first, **end;
    check **slots; /* by name */
    size_t count, failures, nslots;
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
    cbx_mem_free(&al, v->slots, v->nslots * sizeof(check *));
    cbx_mem_free(&al, v, sizeof *v);
}

/* FNV-1a, of Fowler, Noll and Vo. */
static uint32_t hash_of(check_kind kind, const char *name)
{
    uint32_t h = (2166136261u ^ (uint32_t)kind) * 16777619u;

    while (*name) h = (h ^ (unsigned char)*name++) * 16777619u;
    return h;
}

static const check *find(const cbx_validation *v, check_kind kind, const char *name, uint32_t hash)
{
    const check *c = v->nslots ? v->slots[hash & (v->nslots - 1)] : NULL;

    while (c && (c->kind != kind || c->hash != hash || strcmp(c->name, name) != 0)) c = c->same;
    return c;
}

/* As many slots as checks, at least. */
static bool make_slots(cbx_validation *v)
{
    size_t n = v->nslots ? 2 * v->nslots : 64;
    check **slots;

    if (v->count < v->nslots) return true;
    slots = cbx_mem_calloc(&v->al, n, sizeof(check *));
    if (!slots) return false;
    for (size_t i = 0; i < n; i++) slots[i] = NULL;
    for (check *c = v->first; c; c = c->next) {
        c->same = slots[c->hash & (n - 1)];
        slots[c->hash & (n - 1)] = c;
    }
    cbx_mem_free(&v->al, v->slots, v->nslots * sizeof(check *));
    v->slots = slots;
    v->nslots = n;
    return true;
}

static cbx_status new_check(cbx_validation *v, check_kind kind, const char *name, check **out, cbx_err *err)
{
    uint32_t hash;
    check *c;

    if (!name || !*name) return cbx_fail(err, CBX_EINVAL, "validation '%s': a check without a name", v->name);
    hash = hash_of(kind, name);
    if (kind != VIOLATION && find(v, kind, name, hash))
        return cbx_fail(err, CBX_EEXIST, "validation '%s': '%s' was checked already", v->name, name);
    c = make_slots(v) ? cbx_arena_calloc(&v->arena, 1, sizeof *c) : NULL;
    if (c) c->name = cbx_arena_strdup(&v->arena, name);
    if (!c || !c->name) return cbx_fail(err, CBX_ENOMEM, "no memory for a check");
    c->kind = kind;
    c->hash = hash;
    *out = c;
    return CBX_OK;
}

static void add_check(cbx_validation *v, check *c, bool passed)
{
    check **slot = &v->slots[c->hash & (v->nslots - 1)];

    c->passed = passed;
    c->same = *slot;
    *slot = c;
    v->count++;
    v->failures += !passed;
    *v->end = c;
    v->end = &c->next;
}

/* Of runs all alike: the unit of the check before, if it is that. */
static const char *keep_unit(cbx_validation *v, const char *unit)
{
    const check *last = v->first ? (const check *)(const void *)((const char *)v->end - offsetof(check, next)) : NULL;

    return last && last->unit && !strcmp(last->unit, unit) ? last->unit : cbx_arena_strdup(&v->arena, unit);
}

cbx_status cbx_validation_add_accuracy(cbx_validation *v, const cbx_metric_def *def, const cbx_metric *achieved,
                                       double target, cbx_err *err)
{
    check *c;
    cbx_status st = new_check(v, ACCURACY, def->name, &c, err);

    if (st) return st;
    c->unit = keep_unit(v, def->unit ? def->unit : "");
    if (!c->unit) return cbx_fail(err, CBX_ENOMEM, "no memory for a check");
    c->accuracy = cbx_accuracy_check(achieved, target, def);
    add_check(v, c, c->accuracy.outcome == CBX_ACCURACY_MET);
    return CBX_OK;
}

cbx_status cbx_validation_add_convergence(cbx_validation *v, const char *name, const double *errors, size_t n,
                                          double tolerance, size_t hold, cbx_err *err)
{
    check *c;
    cbx_status st = new_check(v, CONVERGENCE, name, &c, err);

    if (st) return st;
    c->convergence = cbx_arena_calloc(&v->arena, 1, sizeof *c->convergence);
    if (!c->convergence) return cbx_fail(err, CBX_ENOMEM, "no memory for a check");
    st = cbx_convergence_check(errors, n, &tolerance, 1, hold, &c->convergence->series, &c->convergence->tolerance,
                               err);
    if (!st) add_check(v, c, c->convergence->tolerance.outcome == CBX_TOLERANCE_MET);
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

static bool put_convergence(cbx_json *o, const converged *c)
{
    return cbx_json_set_string(o, "outcome", cbx_tolerance_outcome_name(c->tolerance.outcome)) &&
           cbx_json_set_string(o, "series", cbx_convergence_outcome_name(c->series.outcome)) &&
           cbx_json_set_double(o, "tolerance", c->tolerance.tolerance) &&
           cbx_json_set_int(o, "iteration", (int64_t)c->tolerance.iteration) &&
           cbx_json_set_int(o, "crossed", (int64_t)c->tolerance.crossed) &&
           cbx_json_set_int(o, "iterations", (int64_t)c->series.iterations) &&
           cbx_json_set_double(o, "rate", c->series.rate) && cbx_json_set_double(o, "rate_error", c->series.rate_error);
}

static cbx_json *check_json(const check *c)
{
    cbx_json *o;
    bool ok;

    if (c->kind == VIOLATION) return cbx_json_new_string(c->name);
    o = cbx_json_new_object();
    ok = o && cbx_json_set_string(o, "name", c->name) && cbx_json_set_bool(o, "passed", c->passed) &&
         (c->kind == ACCURACY ? put_accuracy(o, c) : put_convergence(o, c->convergence));
    if (ok) return o;
    cbx_json_unref(o);
    return NULL;
}

/* In the order of the document. */
static const struct {
    const char *name;
    check_kind kind;
} lists[] = { { "accuracy", ACCURACY }, { "convergence", CONVERGENCE }, { "violations", VIOLATION } };

cbx_status cbx_validation_each(const cbx_validation *v, cbx_validation_fn fn, void *user, cbx_err *err)
{
    int enough = 0;

    for (size_t i = 0; i < CBX_LEN(lists); i++)
        for (const check *c = v->first; c && !enough; c = c->next) {
            cbx_json *one = c->kind == lists[i].kind ? check_json(c) : NULL;
            if (c->kind != lists[i].kind) continue;
            if (!one) return cbx_fail(err, CBX_ENOMEM, "no memory for a check");
            enough = fn(user, lists[i].name, one);
            cbx_json_unref(one);
        }
    return CBX_OK;
}

static int push_check(void *document, const char *list, const cbx_json *one)
{
    return !cbx_json_push(cbx_json_get(document, list), cbx_json_ref((cbx_json *)(uintptr_t)one));
}

cbx_json *cbx_validation_json(const cbx_validation *v)
{
    cbx_json *o = cbx_json_new_object();
    bool ok = o && cbx_json_set_string(o, "schema", "calibrax-validation") && cbx_json_set_int(o, "version", 1) &&
              cbx_json_set_string(o, "name", v->name) && cbx_json_set_string(o, "reference", v->reference) &&
              cbx_json_set_bool(o, "passed", cbx_validation_passed(v));
    size_t found = 0;

    for (size_t i = 0; ok && i < CBX_LEN(lists); i++) ok = cbx_json_set(o, lists[i].name, cbx_json_new_array());
    ok = ok && !cbx_validation_each(v, push_check, o, NULL);
    for (size_t i = 0; ok && i < CBX_LEN(lists); i++) found += cbx_json_length(cbx_json_get(o, lists[i].name));
    if (ok && found == v->count) return o; /* fewer: memory ran out on the way */
    cbx_json_unref(o);
    return NULL;
}
