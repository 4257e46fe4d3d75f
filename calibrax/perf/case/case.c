/*
 * Look-ups in a case, and the check of a case's own table.
 */
#include "calibrax/perf/case/case.h"

#include <string.h>

#include "calibrax/base/idioms.h"
#include "calibrax/base/text.h"

static bool same(const char *a, const char *b) { return a && b && strcmp(a, b) == 0; }

static cbx_status check_baseline(const cbx_case_ops *c, size_t i, cbx_err *err)
{
    const cbx_baseline_ops *b = c->baselines[i];

    if (!b) return cbx_fail(err, CBX_EINVAL, "case '%s': baseline %zu is NULL", c->name, i);
    if (b->struct_size != sizeof *b || b->abi != CBX_CASE_ABI)
        return cbx_fail(err, CBX_EVERSION,
                        "case '%s': baseline %zu was compiled with another calibrax/perf/case/case.h", c->name, i);
    if (!b->name || !cbx_name_is_safe(b->name))
        return cbx_fail(err, CBX_EINVAL, "case '%s': baseline %zu has no usable name", c->name, i);
    if (!b->provider || !cbx_name_is_safe(b->provider) || !b->summary || !b->work)
        return cbx_fail(err, CBX_EINVAL, "case '%s': baseline '%s' needs provider, summary and work", c->name, b->name);
    if (b->limit && (i == 0 || b->mutant_reason))
        return cbx_fail(err, CBX_EINVAL, "case '%s': limit '%s' cannot be %s as well", c->name, b->name,
                        i == 0 ? "the ratio reference" : "a mutant");
    for (size_t j = 0; j < i; j++) {
        if (same(c->baselines[j]->name, b->name))
            return cbx_fail(err, CBX_EINVAL, "case '%s': two baselines are called '%s'", c->name, b->name);
        if (c->baselines[j]->mutant_reason && !b->mutant_reason)
            return cbx_fail(err, CBX_EINVAL, "case '%s': mutant '%s' comes before '%s'; mutants come last", c->name,
                            c->baselines[j]->name, b->name);
    }
    bool native = same(b->provider, "native") || same(b->provider, "cuda");
    int functions = !!b->prepare + !!b->bind + !!b->run + !!b->finish;
    if (native && functions != 4)
        return cbx_fail(err, CBX_EINVAL, "case '%s': native baseline '%s' needs prepare, bind, run and finish", c->name,
                        b->name);
    if (!native && (functions != 0 || b->collect))
        return cbx_fail(err, CBX_EINVAL, "case '%s': baseline '%s' of provider '%s' must not have native functions",
                        c->name, b->name, b->provider);
    return CBX_OK;
}

/* Every point of a list parses, and none is listed twice. */
static cbx_status check_points(cbx_ctx *ctx, const cbx_case_ops *c, const char *const *points, size_t n, cbx_err *err)
{
    cbx_params *p = NULL, *q = NULL;
    cbx_status st = CBX_OK;
    for (size_t i = 0; i < n && !st; i++) {
        st = cbx_case_point(ctx, c, points[i], c->name, &p, err);
        for (size_t j = 0; j < i && !st; j++) {
            st = cbx_case_point(ctx, c, points[j], c->name, &q, err);
            if (!st && same(cbx_params_json(p), cbx_params_json(q)))
                st = cbx_fail(err, CBX_EINVAL, "case '%s': point %s is listed twice", c->name, cbx_params_json(p));
            cbx_params_free(q);
            q = NULL;
        }
        cbx_params_free(p);
        p = NULL;
    }
    return st;
}

cbx_status cbx_case_check(cbx_ctx *ctx, const cbx_case_ops *c, cbx_err *err)
{
    cbx_status st = CBX_OK;

    if (c->struct_size != sizeof *c || c->abi != CBX_CASE_ABI)
        return cbx_fail(err, CBX_EVERSION, "a case was compiled with another calibrax/perf/case/case.h");
    if (!c->name || !cbx_name_is_safe(c->name)) return cbx_fail(err, CBX_EINVAL, "a case has no usable name");
    if (!c->oracle != !!c->oracle_provider || !c->oracle_provider != !c->oracle_definition)
        return cbx_fail(err, CBX_EINVAL, "case '%s' needs either oracle, or oracle_provider and oracle_definition",
                        c->name);
    if (!c->summary || !c->label || !c->outputs || !c->make_inputs)
        return cbx_fail(err, CBX_EINVAL, "case '%s' needs summary, label, outputs and make_inputs", c->name);
    if (!c->rotate_inputs != !c->rotate_output)
        return cbx_fail(err, CBX_EINVAL, "case '%s' needs both or none of rotate_inputs and rotate_output", c->name);
    if (c->ninputs < 1 || c->ninputs > CBX_CASE_MAX_ARRAYS || c->noutputs < 1 || c->noutputs > CBX_CASE_MAX_ARRAYS)
        return cbx_fail(err, CBX_EINVAL, "case '%s' must have 1..%d inputs and outputs", c->name, CBX_CASE_MAX_ARRAYS);
    if (c->representative >= c->npoints)
        return cbx_fail(err, CBX_EINVAL, "case '%s': representative %zu is not one of its %zu points", c->name,
                        c->representative, c->npoints);
    if (!c->nbaselines || !c->baselines || !c->baselines[0] || c->baselines[0]->mutant_reason)
        return cbx_fail(err, CBX_EINVAL, "case '%s' has no ratio reference as its first baseline", c->name);
    for (size_t i = 0; i < c->ninputs; i++)
        if (!c->input_names || !c->input_names[i])
            return cbx_fail(err, CBX_EINVAL, "case '%s': input %zu has no name", c->name, i);
    for (size_t i = 0; i < c->noutputs; i++)
        if (!c->output_names || !c->output_names[i])
            return cbx_fail(err, CBX_EINVAL, "case '%s': output %zu has no name", c->name, i);
    for (size_t i = 0; i < c->nparams; i++) {
        const cbx_param_def *d = &c->params[i];
        if (!d->name || !cbx_name_is_safe(d->name))
            return cbx_fail(err, CBX_EINVAL, "case '%s': parameter %zu has no usable name", c->name, i);
        for (size_t j = 0; j < i; j++)
            if (same(c->params[j].name, d->name))
                return cbx_fail(err, CBX_EINVAL, "case '%s': two parameters are called '%s'", c->name, d->name);
        if (d->kind == CBX_PARAM_INT ? d->min > d->max : !d->words || !d->words[0])
            return cbx_fail(err, CBX_EINVAL, "case '%s': parameter '%s' allows no value", c->name, d->name);
    }
    for (size_t i = 0; i < c->nbaselines && !st; i++) st = check_baseline(c, i, err);
    if (!st) st = check_points(ctx, c, c->points, c->npoints, err);
    if (!st) st = check_points(ctx, c, c->series, c->nseries, err);
    return st;
}

const cbx_baseline_ops *cbx_case_baseline(const cbx_case_ops *c, const char *name)
{
    for (size_t i = 0; i < c->nbaselines; i++)
        if (same(c->baselines[i]->name, name)) return c->baselines[i];
    return NULL;
}

cbx_status cbx_case_point(cbx_ctx *ctx, const cbx_case_ops *c, const char *json, const char *what, cbx_params **out,
                          cbx_err *err)
{
    cbx_params *p = NULL;
    cbx_status st = cbx_params_parse(ctx, c->params, c->nparams, json, what, &p, err);
    if (st) return st;
    cbx_params_set_user(p, c->user);
    st = c->check_point ? c->check_point(p, err) : CBX_OK;
    return CBX_FINISH(st, *out = p, cbx_params_free(p));
}

const cbx_case_ops *cbx_case_find(const cbx_case_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (same(list->cases[i]->name, name)) return list->cases[i];
    return NULL;
}
