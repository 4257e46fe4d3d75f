/*
 * Sections after the cases: the record of the tool's own tests, and what the operations can do.
 */
#include <string.h>

#include "calibrax/pages/page_parts.h"
#include "calibrax/perf/report/site_internal.h"

static void begin_row(cbx__page *p, const char *name, size_t max)
{
    cbx__pages_begin_row(p->out, NULL);
    cbx__pages_begin_cell(p->out, NULL, true);
    cbx__page_put_words(p, "", name, max, "");
}

static void put_scalar(cbx__page *p, const cbx_json *v)
{
    const char *words = cbx_json_string_value(v);

    if (words) {
        cbx__page_put_words(p, "", words, 200, "");
        return;
    }
    if (cbx_json_typeof(v) == CBX_JSON_DOUBLE)
        cbx_text_printf(&p->cell, "%.4g", cbx_json_double_value(v));
    else
        cbx_json_write(v, CBX_JSON_COMPACT, &p->cell);
    cbx__page_flush_cell(p);
}

/* "holds": true, and the figures it rests on. */
static void put_score(cbx__page *p, const char *name, const cbx_json *score)
{
    const bool holds = cbx_json_get_bool(score, "holds", false),
               undecided = !strcmp(cbx_json_get_string(score, "verdict", ""), "undecided");
    const char *key, *gap = "";
    cbx_json *v;

    begin_row(p, name, 60);
    cbx__pages_begin_cell(p->out, holds ? "F" : undecided ? "U" : "S", false);
    cbx__page_put(p, holds ? "holds" : undecided ? "undecided" : "does not hold");
    cbx__pages_begin_cell(p->out, NULL, false);
    for (size_t i = 0; cbx_json_member(score, i, &key, &v); i++) {
        cbx_json_type type = cbx_json_typeof(v);
        if (!strcmp(key, "holds") || !strcmp(key, "verdict") || type == CBX_JSON_NULL || type == CBX_JSON_ARRAY ||
            type == CBX_JSON_OBJECT)
            continue;
        if (cbx_json_string_value(v) && !*cbx_json_string_value(v)) continue;
        cbx__page_put_words(p, gap, key, 60, " ");
        put_scalar(p, v);
        gap = ", ";
    }
    cbx__page_put(p, "\n");
}

void cbx__page_put_selftest(cbx__page *p)
{
    static const cbx__column columns[] = { { .title = "test" }, { .title = "outcome" }, { .title = "figures" } };
    const char *key;
    cbx_json *v;

    if (!p->opts->selftest || strcmp(cbx_json_get_string(p->opts->selftest, "schema", ""), "nperf-selftest") != 0)
        return;
    cbx__page_put(
        p,
        "<section class=selftest><h2>The tool's own tests</h2><p class=count>From <code>nperf "
        "selftest</code>: how often equal programs are reported as different, and whether planted faults, slow-downs "
        "and cheats are found.</p>\n");
    cbx__pages_begin_table(p->out, "plain", "record of the tool's own tests", columns, CBX_LEN(columns));
    for (size_t i = 0; cbx_json_member(p->opts->selftest, i, &key, &v); i++)
        if (cbx_json_typeof(v) == CBX_JSON_OBJECT && cbx_json_has(v, "holds")) put_score(p, key, v);
    cbx__pages_end_table(p->out);
    cbx__page_put(p, "</section>\n");
}

static void put_capability(cbx__page *p, const cbx_json *op)
{
    static const char *const flags[] = { "jit", "grad", "vmap", "jit_of_grad" };
    const cbx_json *invariants = cbx_json_get(op, "invariants");

    begin_row(p, cbx_json_get_string(op, "qualname", "?"), 120);
    for (size_t i = 0; i < CBX_LEN(flags); i++) {
        cbx__pages_begin_cell(p->out, NULL, false);
        if (cbx_json_has(op, flags[i])) put_scalar(p, cbx_json_get(op, flags[i]));
    }
    cbx__pages_begin_cell(p->out, NULL, false);
    for (size_t i = 0; i < cbx_json_length(invariants); i++) {
        cbx__page_put(p, i ? ", " : "");
        put_scalar(p, cbx_json_at(invariants, i));
    }
    cbx__page_put(p, "\n");
}

void cbx__page_put_capabilities(cbx__page *p)
{
    static const cbx__column columns[] = { { .title = "operation" },   { .title = "jit" },
                                           { .title = "grad" },        { .title = "vmap" },
                                           { .title = "jit of grad" }, { .title = "invariants" } };
    const cbx_json *ops = cbx_json_get(p->opts->capabilities, "ops");

    if (!cbx_json_length(ops)) return;
    cbx__page_put(p, "<section class=ops><h2>Operations</h2>");
    cbx__pages_begin_table(p->out, "plain", "operations", columns, CBX_LEN(columns));
    for (size_t i = 0; i < cbx_json_length(ops); i++) put_capability(p, cbx_json_at(ops, i));
    cbx__pages_end_table(p->out);
    cbx__page_put(p, "</section>\n");
}
