/*
 * nperf selftest --mutants: the planted faults of every case through the whole pipeline.  Each must
 * come out fidelity_failed, and every honest native baseline must pass at the same points.
 */
#include <stdio.h>
#include <string.h>

#include "programs/nperf/selftest.h"
#include "suites/suites.h"

#define MAX_POINTS 64
/* Large enough that a fault cannot hide: at a 7x5x3 product of booleans a wrong row may give the
 * right answer. */
#define SCALE 8

typedef struct mutant_score {
    size_t mutants, found, honest, honest_ok;
    size_t busy;         /* that nothing is known of, because the machine was too busy to measure */
    cbx_text *survivors; /* a line each */
} mutant_score;

/* --- points --- */

/* Product of the whole-number parameters but the seed: how much work a point is, in kind. */
static double size_of(const cbx_case_ops *c, const cbx_params *p)
{
    double size = 1;
    for (size_t i = 0; i < c->nparams; i++)
        if (c->params[i].kind == CBX_PARAM_INT && strcmp(c->params[i].name, "seed"))
            size *= (double)cbx_params_int(p, c->params[i].name);
    return size;
}

/* The smallest point of the case that has any work. */
static cbx_params *smallest_point(cbx_ctx *ctx, const cbx_case_ops *c)
{
    cbx_params *best = NULL;

    for (size_t i = 0; i < c->npoints; i++) {
        cbx_params *p = NULL;
        if (cbx_case_point(ctx, c, c->points[i], c->name, &p, NULL)) continue;
        if (size_of(c, p) > 0 && (!best || size_of(c, p) < size_of(c, best))) {
            cbx_params_free(best);
            best = p;
        } else {
            cbx_params_free(p);
        }
    }
    return best;
}

/* The words of `words` with the numbers of `numbers` times `scale`, as canonical JSON in the arena;
 * NULL if the case does not allow it. */
static const char *mixed_point(cbx_ctx *ctx, const cbx_case_ops *c, const cbx_params *words, const cbx_params *numbers,
                               int64_t scale, cbx_arena *arena)
{
    SCOPED(cbx_params) *p = NULL;

    SCOPED_TEXT(t, &arena->al);
    for (size_t i = 0; i < c->nparams; i++) {
        const char *name = c->params[i].name;
        cbx_text_printf(&t, "%s\"%s\":", i ? "," : "{", name);
        if (c->params[i].kind == CBX_PARAM_INT)
            cbx_text_printf(&t, "%lld", (long long)(cbx_params_int(numbers, name) * scale));
        else
            cbx_text_printf(&t, "\"%s\"", cbx_params_word(words, name));
    }
    cbx_text_putc(&t, '}');
    if (cbx_case_point(ctx, c, cbx_text_str(&t), c->name, &p, NULL)) return NULL;
    return cbx_arena_strdup(arena, cbx_params_json(p));
}

/* Every combination of words that the case's points show, at `scale` times the smallest point's
 * numbers. */
static bool small_points(cbx_ctx *ctx, const cbx_case_ops *c, int64_t scale, cbx_arena *arena, opt_list *out)
{
    SCOPED(cbx_params) *smallest = smallest_point(ctx, c);

    for (size_t i = 0; i < c->npoints && smallest && out->count < MAX_POINTS; i++) {
        SCOPED(cbx_params) *p = NULL;
        if (cbx_case_point(ctx, c, c->points[i], c->name, &p, NULL)) continue;
        const char *json = mixed_point(ctx, c, p, smallest, scale, arena);
        if (!json) json = mixed_point(ctx, c, p, smallest, 1, arena);
        if (json && cbx__word_at(out->items, out->count, json) == out->count) opt_append(arena, json, out);
    }
    return smallest != NULL;
}

/* --- mutants --- */

static void count_mutants(const cbx_case_ops *c, const cbx_rows *rows, mutant_score *s)
{
    for (size_t i = 0; i < rows->count; i++) {
        const cbx_row *r = &rows->rows[i];
        const cbx_baseline_ops *b = cbx_case_baseline(c, r->baseline);
        if (!b || !strcmp(r->status, "skipped")) continue;
        if (selftest_too_busy(r)) {
            s->busy++;
            continue;
        }
        if (b->mutant_reason) {
            bool found = !strcmp(r->status, "fidelity_failed");
            s->mutants++;
            s->found += found;
            if (!found)
                cbx_text_printf(s->survivors, "%s at %s: %s, not fidelity_failed (%s)\n", r->baseline, r->point_label,
                                r->status, b->mutant_reason);
        } else {
            s->honest++;
            s->honest_ok += cbx_row_is_good(r);
            if (!cbx_row_is_good(r))
                cbx_text_printf(s->survivors, "honest %s at %s: %s\n", r->baseline, r->point_label, r->status);
        }
    }
}

static int mutants_of(const selftest *t, const cbx_case_ops *c, mutant_score *s)
{
    cbx_measure_opts o = CBX_MEASURE_OPTS_INIT;
    opt_list points = { NULL, 0 }, names = { NULL, 0 };

    if (!small_points(t->run->ctx, c, SCALE, t->run->arena, &points))
        return opt_fail(t->run, "case '%s' has no point with any work", c->name);
    /* Baselines that run in our own worker, and all of a case file, whose provider its user has;
     * mutants too. */
    for (size_t i = 0; i < c->nbaselines; i++) {
        const cbx_baseline_ops *b = c->baselines[i];
        if (strcmp(b->provider, "native") && !b->definition) continue;
        opt_append(t->run->arena, b->name, &names);
    }
    o.case_ops = c;
    o.points = points.items;
    o.npoints = points.count;
    o.allow = names.items;
    o.nallow = names.count;
    o.mutants = true;
    o.launches = 1;
    o.warmup = 0;
    o.repeats = 2;
    o.epoch_target_s = 0.0005;
    CLEARED(cbx_measure_result) result;
    int status = selftest_measure(t, &o, &result);
    count_mutants(c, &result.rows, s);
    return status;
}

static int verdict_of(const mutant_score *s)
{
    if (s->found < s->mutants || s->honest_ok < s->honest) return EXIT_CHECK;
    return s->mutants && !s->busy ? EXIT_PASS : EXIT_UNDECIDED;
}

int selftest_mutants(const selftest *t, cbx_json **out)
{
    const cbx_case_list *cases = nperf_cases();
    SCOPED_TEXT(survivors, cbx_ctx_allocator(t->run->ctx));
    mutant_score s = { .survivors = &survivors };
    int status = EXIT_PASS;

    if (t->args->case_name && !nperf_case(t->run, t->args->case_name)) return EXIT_ERROR;
    for (size_t i = 0; i < cases->count && !status; i++) {
        const cbx_case_ops *c = cases->cases[i];
        bool foreign = t->args->plugins.count || t->args->defined.count; /* those are meant, not what is linked in */
        if (t->args->case_name ? strcmp(t->args->case_name, c->name) != 0
                               : foreign && cbx_case_find(&cbx_builtin_cases, c->name))
            continue;
        if (!t->args->json) printf("mutants of %s\n", c->name);
        status = mutants_of(t, c, &s);
    }
    if (status) return status;
    if (!t->args->json) {
        printf("mutants: %zu of %zu planted faults found, %zu of %zu honest baselines passed: %s\n%s", s.found,
               s.mutants, s.honest_ok, s.honest, selftest_word(verdict_of(&s)), cbx_text_str(s.survivors));
        if (s.busy) printf("         %zu could not be measured: the machine is too busy\n", s.busy);
    }

    *out = cbx_json_object(J_INT("mutants", s.mutants), J_INT("found", s.found), J_INT("honest", s.honest),
                           J_INT("honest_ok", s.honest_ok), J_TEXT("survivors", cbx_text_str(s.survivors)),
                           J_INT("too_busy", s.busy));
    return selftest_end(t, *out, verdict_of(&s));
}
