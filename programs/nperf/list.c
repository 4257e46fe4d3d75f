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
    OPT("case", 'c', STRING, case_name, "NAME", "all", "list this case only", "@cases"),
    OPT("define", 0, EACH, defined, "FILE", NULL,
        "add the case of a case file (docs/reference/case-files.md); may be repeated"),
    OPT("plugin", 0, EACH, plugins, "FILE", NULL, "add the cases of a shared object; may be repeated"),
    OPT_SWITCH("json", 0, json, "print one JSON document"),
};

static const char *const platforms[] = { "cpu", "cuda12" };

static const char *label_of(cbx_ctx *ctx, const cbx_case_ops *c, const char *point, char *buf, size_t size)
{
    SCOPED(cbx_params) *p = NULL;

    buf[0] = 0;
    if (!cbx_case_point(ctx, c, point, c->name, &p, NULL)) c->label(p, buf, size);
    return buf;
}

/* --- for people --- */

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

    for (size_t place = 0; (c = next_case(name, &place)) != NULL;) {
        char label[128];
        print_painted(PAINT_STRONG, "%s", c->name);
        printf(": %s\n", c->summary);
        print_painted(PAINT_FAINT, "  points:\n");
        for (size_t i = 0; i < c->npoints; i++)
            printf("    %s%s\n", label_of(ctx, c, c->points[i], label, sizeof(label)),
                   i == c->representative ? "  (representative)" : "");
        if (c->nseries) print_painted(PAINT_FAINT, "  series (--points series):\n");
        for (size_t i = 0; i < c->nseries; i++)
            printf("    %s\n", label_of(ctx, c, c->series[i], label, sizeof(label)));
        print_painted(PAINT_FAINT, "  parameters:\n");
        for (size_t i = 0; i < c->nparams; i++) {
            const cbx_param_def *d = &c->params[i];
            printf("    %-10s ", d->name);
            if (d->kind == CBX_PARAM_INT) printf("%lld..%lld", (long long)d->min, (long long)d->max);
            for (size_t w = 0; d->kind == CBX_PARAM_WORD && d->words[w]; w++)
                printf("%s%s", w ? ", " : "", d->words[w]);
            printf("%s%s%s\n", d->fallback ? " (default: " : "", d->fallback ? d->fallback : "",
                   d->fallback ? ")" : "");
        }
        print_painted(PAINT_FAINT, "  baselines:\n");
        for (size_t i = 0; i < c->nbaselines; i++) {
            const cbx_baseline_ops *b = c->baselines[i];
            if (b->mutant_reason) continue;
            printf("    %-16s %-8s %s%s%s\n", b->name, b->provider, b->summary ? b->summary : "",
                   i == 0     ? "; reference of the ratios"
                   : b->limit ? "; a bound, not a rival"
                              : "",
                   b->slow_reason ? "; slow" : "");
        }
    }
    if (name) return;
    printf("platforms:\n");
    for (size_t i = 0; i < CBX_LEN(platforms); i++)
        printf("  %-8s %s\n", platforms[i],
               cbx_platform_available(platforms[i]) ? "here" : "no such device on this machine");
}

/* --- for programs --- */

static void add_points(cbx_ctx *ctx, const cbx_case_ops *c, const char *const *points, size_t n, cbx_json *list)
{
    for (size_t i = 0; i < n; i++) {
        cbx_json *o = cbx_json_push_object(list), *point = NULL;
        SCOPED(cbx_params) *p = NULL;
        char label[128];
        if (!cbx_case_point(ctx, c, points[i], c->name, &p, NULL)) {
            const char *text = cbx_params_json(p);
            if (!cbx_json_parse(text, strlen(text), c->name, &point, NULL)) cbx_json_set(o, "point", point);
        }
        cbx_json_set_string(o, "label", label_of(ctx, c, points[i], label, sizeof(label)));
        if (points == c->points) cbx_json_set_bool(o, "representative", i == c->representative);
    }
}

static void add_baselines(const cbx_case_ops *c, bool mutants, cbx_json *list)
{
    for (size_t i = 0; i < c->nbaselines; i++) {
        const cbx_baseline_ops *b = c->baselines[i];
        if ((b->mutant_reason != NULL) != mutants) continue;
        cbx_json_push(list, cbx_json_object(J_TEXT("name", b->name), J_TEXT("provider", b->provider),
                                            J_TEXT("summary", b->summary), J_BOOL("reference", i == 0),
                                            J_TEXT("slow_reason", b->slow_reason), J_GIVEN("limit", b->limit),
                                            J_GIVEN("mutant_reason", b->mutant_reason)));
    }
}

int list_print(const opt_run *run, const char *name, bool json)
{
    if (name && !nperf_commands(name) && !nperf_case(run, name)) return EXIT_ERROR;
    if (json) {
        /* The cases, one of that name or all, with the platforms and providers. */
        cbx_json *document = cbx_json_new_document("nperf-list"), *list = cbx_json_set_array(document, "cases");
        const cbx_case_ops *c;
        size_t n = 0;
        const cbx_provider_ops *const *all = cbx_providers(&n);
        for (size_t place = 0; (c = next_case(name, &place)) != NULL;) {
            cbx_json *o = cbx_json_push_object(list);
            cbx_json_put(o, J_TEXT("name", c->name), J_TEXT("summary", c->summary));
            cbx_json *params = cbx_json_set_array(o, "params");
            for (size_t i = 0; i < c->nparams; i++) {
                const cbx_param_def *d = &c->params[i];
                cbx_json *p = cbx_json_push_object(params);
                cbx_json_put(p, J_TEXT("name", d->name), J_TEXT("kind", d->kind == CBX_PARAM_INT ? "int" : "word"));
                if (d->kind == CBX_PARAM_INT) cbx_json_put(p, J_INT("min", d->min), J_INT("max", d->max));
                cbx_json *words = cbx_json_set_array(p, "words");
                for (size_t w = 0; d->kind == CBX_PARAM_WORD && d->words[w]; w++)
                    cbx_json_push_string(words, d->words[w]);
                cbx_json_put(p, J_TEXT("default", d->fallback), J_TEXT("help", d->help));
            }
            add_points(run->ctx, c, c->points, c->npoints, cbx_json_set_array(o, "points"));
            add_points(run->ctx, c, c->series, c->nseries, cbx_json_set_array(o, "series"));
            add_baselines(c, false, cbx_json_set_array(o, "baselines"));
            add_baselines(c, true, cbx_json_set_array(o, "mutants"));
        }
        list = cbx_json_set_array(document, "platforms");
        for (size_t i = 0; i < CBX_LEN(platforms); i++)
            cbx_json_put(cbx_json_push_object(list), J_TEXT("name", platforms[i]),
                         J_BOOL("available", cbx_platform_available(platforms[i])));
        list = cbx_json_set_array(document, "providers");
        for (size_t i = 0; i < n; i++) {
            const cbx_variant *v = NULL;
            size_t nv = all[i]->variants ? all[i]->variants(NULL, &v) : 0;
            cbx_json *o = cbx_json_push_object(list), *variants = cbx_json_new_array();
            for (size_t k = 0; k < nv; k++) cbx_json_push_string(variants, v[k].name);
            cbx_json_put(o, J_TEXT("name", all[i]->name), J_TEXT("summary", all[i]->summary),
                         J_TEXT("setup", all[i]->setup), J_JSON("variants", variants));
        }
        return print_json(run, document);
    }
    print_all(run->ctx, name);
    return EXIT_PASS;
}

static int run_list(const opt_run *run)
{
    const list_args *a = run->args;

    if (nperf_cases_open(run, &a->plugins, &a->defined)) return EXIT_ERROR;
    return list_print(run, a->case_name, a->json);
}

const opt_command list_command = {
    .name = "list",
    .synopsis = "[--case NAME] [--plugin FILE] [--define FILE] [--json]",
    .summary = "show cases, points, parameters, baselines, platforms, providers",
    .description = "Prints what can be measured: each case with its points, parameters and baselines, and which "
                   "platforms this machine has.",
    OPT_OPTIONS(list),
};
