/*
 * nperf list: cases with their points, parameters and baselines; platforms and providers.
 */
#include <stdio.h>
#include <string.h>

#include "programs/nperf/nperf.h"

typedef struct list_args {
    const char *case_name;
    bool json;
    opt_list plugins, defined;
} list_args;

#define AT(member) offsetof(list_args, member)

static const opt_spec list_options[] = {
    { "case", 'c', OPT_STRING, AT(case_name), "NAME", "all", "this case only", "@cases" },
    { "define", 0, OPT_EACH, AT(defined), "FILE", NULL,
      "add the case of a case file (docs/reference/case-files.md); may be repeated" },
    { "plugin", 0, OPT_EACH, AT(plugins), "FILE", NULL, "add the cases of a shared object; may be repeated" },
    { "json", 0, OPT_FLAG, AT(json), NULL, NULL, "print one JSON document" },
};

static const char *const platforms[] = { "cpu", "cuda12" };

static const char *label_of(cbx_ctx *ctx, const cbx_case_ops *c, const char *point, char *buf, size_t size)
{
    cbx_params *p = NULL;

    buf[0] = 0;
    if (cbx_case_point(ctx, c, point, c->name, &p, NULL)) return buf;
    c->label(p, buf, size);
    cbx_params_free(p);
    return buf;
}

/* --- for people --- */

static void print_params(const cbx_case_ops *c)
{
    print_painted(PAINT_FAINT, "  parameters:\n");
    for (size_t i = 0; i < c->nparams; i++) {
        const cbx_param_def *d = &c->params[i];
        printf("    %-10s ", d->name);
        if (d->kind == CBX_PARAM_INT) printf("%lld..%lld", (long long)d->min, (long long)d->max);
        for (size_t w = 0; d->kind == CBX_PARAM_WORD && d->words[w]; w++) printf("%s%s", w ? ", " : "", d->words[w]);
        printf("%s%s%s\n", d->fallback ? " (default: " : "", d->fallback ? d->fallback : "", d->fallback ? ")" : "");
    }
}

static void print_case(cbx_ctx *ctx, const cbx_case_ops *c)
{
    char label[128];

    print_painted(PAINT_STRONG, "%s", c->name);
    printf(": %s\n", c->summary);
    print_painted(PAINT_FAINT, "  points:\n");
    for (size_t i = 0; i < c->npoints; i++) {
        printf("    %s%s\n", label_of(ctx, c, c->points[i], label, sizeof(label)),
               i == c->representative ? "  (representative)" : "");
    }
    if (c->nseries) print_painted(PAINT_FAINT, "  series (--points series):\n");
    for (size_t i = 0; i < c->nseries; i++) printf("    %s\n", label_of(ctx, c, c->series[i], label, sizeof(label)));
    print_params(c);
    print_painted(PAINT_FAINT, "  baselines:\n");
    for (size_t i = 0; i < c->nbaselines; i++) {
        const cbx_baseline_ops *b = c->baselines[i];
        if (b->mutant_reason) continue;
        printf("    %-16s %-8s %s%s%s\n", b->name, b->provider, b->summary ? b->summary : "",
               i == 0     ? "; the ratio's reference"
               : b->limit ? "; a limit, no rival"
                          : "",
               b->slow_reason ? "; slow" : "");
    }
}

/* The one that was named, or every one, by place: cases of commands come last.  NULL: no more. */
static const cbx_case_ops *next_case(const char *name, size_t *place)
{
    const cbx_case_list *cases = nperf_cases();

    for (;;) {
        const cbx_declared *d = *place < cases->count ? NULL : nperf_declared(*place - cases->count);
        const cbx_case_ops *c = *place < cases->count ? cases->cases[*place] : d ? cbx_declared_case(d) : NULL;
        if (!c) return NULL;
        ++*place;
        if (d && cbx_declared_get_kind(d) != CBX_DECLARED_COMMANDS) continue; /* among the others already */
        if (!name || !strcmp(c->name, name)) return c;
    }
}

static void print_all(cbx_ctx *ctx, const char *name)
{
    const cbx_case_ops *c;

    for (size_t place = 0; (c = next_case(name, &place)) != NULL;) print_case(ctx, c);
    if (name) return;
    printf("platforms:\n");
    for (size_t i = 0; i < CBX_LEN(platforms); i++) {
        printf("  %-8s %s\n", platforms[i], cbx_platform_available(platforms[i]) ? "here" : "no such device here");
    }
}

/* --- for programs --- */

static cbx_json *params_json(const cbx_case_ops *c)
{
    cbx_json *list = cbx_json_new_array();

    for (size_t i = 0; list && i < c->nparams; i++) {
        const cbx_param_def *d = &c->params[i];
        cbx_json *o = cbx_json_new_object(), *words = cbx_json_new_array();
        if (!o || !words) return cbx_json_unref(o), cbx_json_unref(words), list;
        cbx_json_set_string(o, "name", d->name);
        cbx_json_set_string(o, "kind", d->kind == CBX_PARAM_INT ? "int" : "word");
        if (d->kind == CBX_PARAM_INT) {
            cbx_json_set_int(o, "min", d->min);
            cbx_json_set_int(o, "max", d->max);
        }
        for (size_t w = 0; d->kind == CBX_PARAM_WORD && d->words[w]; w++)
            cbx_json_push(words, cbx_json_new_string(d->words[w]));
        cbx_json_set(o, "words", words);
        cbx_json_set_string(o, "default", d->fallback);
        cbx_json_set_string(o, "help", d->help);
        cbx_json_push(list, o);
    }
    return list;
}

static cbx_json *points_json(cbx_ctx *ctx, const cbx_case_ops *c, const char *const *points, size_t n)
{
    cbx_json *list = cbx_json_new_array();

    for (size_t i = 0; list && i < n; i++) {
        cbx_json *o = cbx_json_new_object(), *point = NULL;
        cbx_params *p = NULL;
        char label[128];
        if (!o) return list;
        if (!cbx_case_point(ctx, c, points[i], c->name, &p, NULL)) {
            const char *text = cbx_params_json(p);
            if (!cbx_json_parse(text, strlen(text), c->name, &point, NULL)) cbx_json_set(o, "point", point);
            cbx_params_free(p);
        }
        cbx_json_set_string(o, "label", label_of(ctx, c, points[i], label, sizeof(label)));
        if (points == c->points) cbx_json_set_bool(o, "representative", i == c->representative);
        cbx_json_push(list, o);
    }
    return list;
}

static cbx_json *baselines_json(const cbx_case_ops *c, bool mutants)
{
    cbx_json *list = cbx_json_new_array();

    for (size_t i = 0; list && i < c->nbaselines; i++) {
        const cbx_baseline_ops *b = c->baselines[i];
        cbx_json *o;
        if ((b->mutant_reason != NULL) != mutants) continue;
        o = cbx_json_new_object();
        if (!o) return list;
        cbx_json_set_string(o, "name", b->name);
        cbx_json_set_string(o, "provider", b->provider);
        cbx_json_set_string(o, "summary", b->summary);
        cbx_json_set_bool(o, "reference", i == 0);
        cbx_json_set_string(o, "slow_reason", b->slow_reason);
        if (b->limit) cbx_json_set_string(o, "limit", b->limit);
        if (mutants) cbx_json_set_string(o, "mutant_reason", b->mutant_reason);
        cbx_json_push(list, o);
    }
    return list;
}

static void push_case(cbx_ctx *ctx, const cbx_case_ops *c, cbx_json *list)
{
    cbx_json *o = cbx_json_new_object();

    if (!o) return;
    cbx_json_set_string(o, "name", c->name);
    cbx_json_set_string(o, "summary", c->summary);
    cbx_json_set(o, "params", params_json(c));
    cbx_json_set(o, "points", points_json(ctx, c, c->points, c->npoints));
    cbx_json_set(o, "series", points_json(ctx, c, c->series, c->nseries));
    cbx_json_set(o, "baselines", baselines_json(c, false));
    cbx_json_set(o, "mutants", baselines_json(c, true));
    cbx_json_push(list, o);
}

static cbx_json *cases_json(cbx_ctx *ctx, const char *name)
{
    cbx_json *list = cbx_json_new_array();
    const cbx_case_ops *c;

    for (size_t place = 0; list && (c = next_case(name, &place)) != NULL;) push_case(ctx, c, list);
    return list;
}

static cbx_json *platforms_json(void)
{
    cbx_json *list = cbx_json_new_array();

    for (size_t i = 0; list && i < CBX_LEN(platforms); i++) {
        cbx_json *o = cbx_json_new_object();
        if (!o) return list;
        cbx_json_set_string(o, "name", platforms[i]);
        cbx_json_set_bool(o, "available", cbx_platform_available(platforms[i]));
        cbx_json_push(list, o);
    }
    return list;
}

static cbx_json *providers_json(void)
{
    size_t n = 0;
    const cbx_provider_ops *const *all = cbx_providers(&n);
    cbx_json *list = cbx_json_new_array();

    for (size_t i = 0; list && i < n; i++) {
        const cbx_variant *v = NULL;
        size_t nv = all[i]->variants ? all[i]->variants(NULL, &v) : 0;
        cbx_json *o = cbx_json_new_object(), *variants = cbx_json_new_array();
        if (!o || !variants) return cbx_json_unref(o), cbx_json_unref(variants), list;
        for (size_t k = 0; k < nv; k++) cbx_json_push(variants, cbx_json_new_string(v[k].name));
        cbx_json_set_string(o, "name", all[i]->name);
        cbx_json_set_string(o, "summary", all[i]->summary);
        cbx_json_set_string(o, "setup", all[i]->setup);
        cbx_json_set(o, "variants", variants);
        cbx_json_push(list, o);
    }
    return list;
}

static cbx_json *list_json(cbx_ctx *ctx, const char *name)
{
    cbx_json *o = cbx_json_new_object();

    if (!o) return NULL;
    cbx_json_set_string(o, "schema", "nperf-list");
    cbx_json_set_int(o, "version", 1);
    cbx_json_set(o, "cases", cases_json(ctx, name));
    cbx_json_set(o, "platforms", platforms_json());
    cbx_json_set(o, "providers", providers_json());
    return o;
}

int list_print(const opt_program *program, cbx_ctx *ctx, const char *name, bool json)
{
    if (name && !nperf_commands(name) && !nperf_case(program, name)) return EXIT_ERROR;
    if (json) return print_json(program, list_json(ctx, name));
    print_all(ctx, name);
    return EXIT_PASS;
}

static int run_list(const opt_run *run)
{
    const list_args *a = run->args;

    if (nperf_cases_open(run, &a->plugins, &a->defined)) return EXIT_ERROR;
    return list_print(run->program, run->ctx, a->case_name, a->json);
}

const opt_command list_command = {
    "list",
    "[--case NAME] [--plugin FILE] [--define FILE] [--json]",
    "show cases, points, parameters, baselines, platforms, providers",
    "Prints what can be measured: each case with its points, parameters and baselines, and which platforms this "
    "machine has.",
    list_options,
    CBX_LEN(list_options),
    sizeof(list_args),
    NULL,
    0,
    run_list,
};
