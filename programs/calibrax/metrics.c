/*
 * calibrax metrics list, describe: the table of metric functions.
 */
#include <stdio.h>
#include <string.h>

#include "calibrax/metrics/compose.h"
#include "calibrax/metrics/plugin.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"

/* ---- words of properties ---- */

/* The word of one bit; "?" for a bit without one. */
typedef const char *word_of(unsigned bit);

static const char *flag_name(unsigned flag)
{
    switch (flag) {
    case CBX_METRIC_DIFFERENTIABLE: return "differentiable";
    case CBX_METRIC_DATA_SHAPED: return "reads-values";
    case CBX_METRIC_WEIGHTED: return "weights";
    default: return "?";
    }
}

/* The words of the library's lists, each with a blank before it. */
#define WORD(name, number, word) " " word
#define AXIOM_WORDS              CBX_METRIC_AXIOM_MAP(WORD) CBX_METRIC_AXIOM_SETS(WORD)
#define INVARIANCE_WORDS         CBX_METRIC_INVARIANCE_MAP(WORD)
#define TIER_WORDS               CBX_METRIC_TIER_MAP(WORD)

int metrics_load_plugins(const opt_run *run, const opt_list *files)
{
    for (size_t i = 0; i < files->count; i++)
        if (opt_check(run, cbx_metric_plugin_load(run->ctx, files->items[i], run->err))) return EXIT_ERROR;
    return EXIT_PASS;
}

static unsigned bit_of(word_of *name, const char *word)
{
#define SET(set, number, text)                                                                                         \
    if (name == cbx_metric_axiom_name && !strcmp(word, text)) return number;
    CBX_METRIC_AXIOM_SETS(SET)
#undef SET
    for (unsigned bit = 1; *name(bit) != '?'; bit *= 2)
        if (!strcmp(name(bit), word)) return bit;
    return 0;
}

static void put_words(cbx_json *o, const char *key, word_of *name, unsigned bits)
{
    cbx_json *list = cbx_json_set_array(o, key);
    for (unsigned bit = 1; bit && bit <= bits; bit *= 2)
        if (bits & bit && *name(bit) != '?') cbx_json_push_string(list, name(bit));
}

static void print_words(const char *title, word_of *name, unsigned bits)
{
    const char *comma = "";

    if (!bits) return;
    printf("%-12s ", title);
    for (unsigned bit = 1; bit && bit <= bits; bit *= 2)
        if (bits & bit && *name(bit) != '?') printf("%s%s", comma, name(bit)), comma = ", ";
    putchar('\n');
}

/* ---- list ---- */

/* Of both commands. */
typedef struct list_args {
    const char *domain, *axiom, *invariance;
    int direction, tier;
    opt_list plugins;
    bool check, json;
} list_args, describe_args;

#define AT(member) offsetof(list_args, member)
#define PLUGIN_ROW                                                                                                     \
    OPT("plugin", 0, EACH, plugins, "FILE", NULL,                                                                      \
        "add the metrics of a shared object (calibrax/metrics/plugin.h); may be repeated")
#define JSON_ROW OPT_SWITCH("json", 0, json, "print one JSON document")

static const opt_spec list_options[] = {
    OPT("domain", 0, STRING, domain, "DOMAIN", NULL, "metrics of this domain", "@domains"),
    OPT("direction", 0, CHOICE, direction, "WHICH", "any", "metrics of which this is better", "any higher lower info"),
    OPT("axiom", 0, STRING, axiom, "AXIOM", NULL, "metrics that satisfy this axiom", &AXIOM_WORDS[1]),
    OPT("invariance", 0, STRING, invariance, "CHANGE", NULL,
        "metrics that this change of the operands leaves as they are", &INVARIANCE_WORDS[1]),
    OPT("tier", 0, CHOICE, tier, "TIER", "any", "metrics of this tier", "any" TIER_WORDS),
    PLUGIN_ROW,
    JSON_ROW,
};

static cbx_json *row_json(const cbx_metric_function *m)
{
    static const char *const types[] = { "float", "int", "bool", "choice" };
    cbx_json *o = cbx_json_object(J_TEXT("name", m->name), J_TEXT("domain", m->domain), J_TEXT("summary", m->summary),
                                  J_TEXT("formula", m->formula), J_TEXT("direction", cbx_direction_name(m->direction)),
                                  J_TEXT("tier", cbx_metric_tier_name(m->tier)));
    cbx_json *list = cbx_json_set_array(o, "operands");
    for (size_t i = 0; i < cbx_metric_operands(m); i++)
        cbx_json_put(cbx_json_push_object(list), J_TEXT("name", m->operands[i].name),
                     J_TEXT("kind", cbx_operand_kind_name(m->operands[i].kind)),
                     J_BOOL("optional", m->operands[i].optional),
                     J_TEXT("items", cbx_operand_items_name(cbx_metric_operand_items(m, i))));
    list = cbx_json_set_array(o, "parameters");
    for (size_t i = 0; i < cbx_metric_parameters(m); i++) {
        const cbx_metric_parameter *p = &m->parameters[i];
        cbx_json_put(cbx_json_push_object(list), J_TEXT("name", p->name), J_TEXT("type", types[p->type]),
                     J_NUMBER("default", p->value), J_NUMBER("low", p->low), J_NUMBER("high", p->high),
                     J_TEXT("words", p->words), J_TEXT("help", p->help));
    }
    list = cbx_json_set_array(o, "range");
    cbx_json_push_double(list, m->low);
    cbx_json_push_double(list, m->high);
    put_words(o, "axioms", cbx_metric_axiom_name, m->axioms);
    put_words(o, "invariances", cbx_metric_invariance_name, m->invariances);
    put_words(o, "flags", flag_name, m->flags | (m->items ? CBX_METRIC_WEIGHTED : 0));
    cbx_json_put(o, J_TEXT("function", m->function), J_TEXT("notes", m->notes), J_TEXT("source", m->source),
                 J_TEXT("example", m->example));
    return o;
}

static int run_list(const opt_run *run)
{
    const list_args *a = run->args;
    static const cbx_direction directions[] = { CBX_DIRECTION_HIGHER, CBX_DIRECTION_LOWER, CBX_DIRECTION_INFO };
    cbx_metric_selection s = CBX_METRIC_SELECTION_INIT;
    const unsigned axiom = a->axiom ? bit_of(cbx_metric_axiom_name, a->axiom) : 0;
    const unsigned invariance = a->invariance ? bit_of(cbx_metric_invariance_name, a->invariance) : 0;
    SCOPED(cbx_json) *o = a->json ? cbx_json_new_document("calibrax-metrics") : NULL;
    cbx_json *list = cbx_json_set_array(o, "metrics");
    const cbx_metric_function *m;
    size_t shown = 0, at = 0;

    if (metrics_load_plugins(run, &a->plugins)) return EXIT_ERROR;
    if (a->axiom && !axiom) return opt_fail(run, "--axiom %s: it must be one of" AXIOM_WORDS, a->axiom);
    if (a->invariance && !invariance)
        return opt_fail(run, "--invariance %s: it must be one of" INVARIANCE_WORDS, a->invariance);
    s.domain = a->domain;
    if (a->direction) s.direction = (int)directions[a->direction - 1];
    s.tier = a->tier - 1;
    s.axioms = axiom;
    s.invariances = invariance;
    while ((m = cbx_metric_next(run->ctx, &s, &at))) {
        shown++;
        if (a->json) {
            cbx_json_push(list, row_json(m));
            continue;
        }
        print_painted(PAINT_STRONG, "%-38s", m->name);
        printf(" %-14s %-6s  %s\n", m->domain, cbx_direction_name(m->direction), m->summary);
    }
    if (!shown) return opt_fail(run, "no metric matches: calibrax metrics list shows all");
    return a->json ? print_json(run, cbx_json_ref(o)) : EXIT_PASS;
}

const opt_command metrics_list_command = {
    .name = "metrics list",
    .synopsis = "[--domain DOMAIN] [--direction WHICH] [--axiom AXIOM] [--invariance CHANGE] [--tier TIER]",
    .summary = "list the metric functions",
    .description = "Lists metric functions: name, domain, which direction is better, title. The axiom 'metric' "
                   "means symmetry, identity, positivity and the triangle inequality, 'pseudometric' these "
                   "without positivity, 'divergence' identity and positivity.",
    OPT_OPTIONS(list),
};

/* ---- describe ---- */

static const opt_spec describe_options[] = {
    OPT_SWITCH("check", 0, check,
               "try the range, axioms and invariances on random operands; exit status 1 if one does not hold"),
    PLUGIN_ROW,
    JSON_ROW,
};

static void print_parameter(const cbx_metric_parameter *p)
{
    const char *word = p->words; /* of a choice, separated by '|' */
    char bounds[96];

    for (int i = 0; p->type == CBX_PARAMETER_CHOICE && i < (int)p->value && strchr(word, '|'); i++)
        word = strchr(word, '|') + 1;
    print_painted(PAINT_STRONG, "  %s", p->name);
    printf("  %s", p->help);
    if (p->type == CBX_PARAMETER_CHOICE)
        printf(" (%s; default %.*s)", p->words, (int)strcspn(word, "|"), word);
    else if (p->type == CBX_PARAMETER_BOOL)
        printf(" (default %s)", p->value != 0 ? "true" : "false");
    else
        printf(" (%s, default %.15g)", cbx_metric_bounds_text(p, bounds, sizeof bounds), p->value);
    putchar('\n');
}

static void print_metric(const cbx_metric_function *m)
{
    char low[CBX_FORMAT_SIZE], high[CBX_FORMAT_SIZE];

    print_painted(PAINT_STRONG, "%s", m->name);
    printf(": %s\n", m->summary);
    if (m->formula && *m->formula) printf("  %s\n", m->formula);
    if (m->notes) printf("\n%s\n", m->notes);
    printf("\n%-12s %s\n%-12s %s\n%-12s %s\n%-12s %s to %s\n", "domain", m->domain, "tier",
           cbx_metric_tier_name(m->tier), "better", cbx_direction_name(m->direction), "range",
           cbx_format_double(m->low, low), cbx_format_double(m->high, high));
    print_words("axioms", cbx_metric_axiom_name, m->axioms);
    print_words("invariances", cbx_metric_invariance_name, m->invariances);
    print_words("properties", flag_name, m->flags | (m->items ? CBX_METRIC_WEIGHTED : 0));
    if (m->source) printf("%-12s %s\n", "source", m->source);
    printf("\nOperands:\n");
    for (size_t i = 0; i < cbx_metric_operands(m); i++) {
        print_painted(PAINT_STRONG, "  %s", m->operands[i].name);
        printf("  %s%s\n", cbx_operand_kind_text(m->operands[i].kind),
               m->operands[i].optional ? "; may be left out" : "");
    }
    if (cbx_metric_parameters(m)) printf("\nParameters:\n");
    for (size_t i = 0; i < cbx_metric_parameters(m); i++) print_parameter(&m->parameters[i]);
    if (m->function)
        printf("\nTakes a function of %s: from C and Python alone.%s\n", m->function,
               m->flags & CBX_METRIC_FEATURES ? " Files hold features." : "");
}

static int run_describe(const opt_run *run)
{
    enum { DRAWS = 20 };
    const describe_args *a = run->args;
    const cbx_metric_function *m;

    if (metrics_load_plugins(run, &a->plugins)) return EXIT_ERROR;
    if (run->words->count != 1) return opt_fail(run, "metrics describe takes the name of one metric");
    if (opt_check(run, cbx_metric_find(run->ctx, run->words->items[0], &m, run->err))) return EXIT_ERROR;
    if (a->json) {
        if (print_json(run, cbx_json_document("calibrax-metric", J_JSON("metric", row_json(m))))) return EXIT_ERROR;
    } else {
        print_metric(m);
    }
    if (!a->check) return EXIT_PASS;
    /* Tries what the row declares; a property that cannot be tried is no failure. */
    const cbx_status st = cbx_metric_check_properties(run->ctx, m, NULL, DRAWS, 0, run->err);
    if (st && st != CBX_EDOM && st != CBX_EUNSUPPORTED) return opt_check(run, st);
    if (st)
        fprintf(stderr, "%s\n", run->err->message);
    else
        fprintf(stderr, "%s: the range, the axioms and the invariances hold for %d random operands\n", m->name, DRAWS);
    return st == CBX_EDOM ? EXIT_CHECK : EXIT_PASS;
}

const opt_command metrics_describe_command = {
    .name = "metrics describe",
    .synopsis = "[--check] METRIC",
    .summary = "describe a metric function",
    .description = "Prints formula, edge rules, range, axioms, operands and parameters of a metric function. --check "
                   "tries what it declares, which is a test of a plug-in.",
    OPT_OPTIONS(describe),
    .flags = OPT_TAKES_WORDS,
    .word = "METRIC",
    .words = "@functions",
};
