/* The decision bundle: all that is known of one point, without an opinion. */
#include <math.h>
#include <string.h>

#include "suites/nitrix/feeds/feed.h"
#include "suites/nitrix/feeds/feed_rows.h"

static cbx_json *steady_json(const cbx_row *r)
{
    cbx_json *o = cbx_json_new_object();

    if (o && cbx_json_set_number(o, "min", r->min_s) && cbx_json_set_number(o, "median", r->median_s) &&
        cbx_json_set_number(o, "p95", r->p95_s) && cbx_json_set_number(o, "lower", r->steady.lower) &&
        cbx_json_set_number(o, "upper", r->steady.upper))
        return o;
    cbx_json_unref(o);
    return NULL;
}

static cbx_json *paired_json(const cbx_row *r)
{
    cbx_json *o = cbx_json_new_object();

    if (o && cbx_json_set_number(o, "value", r->paired.value) && cbx_json_set_number(o, "lower", r->paired.lower) &&
        cbx_json_set_number(o, "upper", r->paired.upper) &&
        cbx_json_set_string(o, "verdict", r->verdict_holm ? r->verdict_holm : r->verdict))
        return o;
    cbx_json_unref(o);
    return NULL;
}

static cbx_json *fidelity_json(const cbx_row *r)
{
    cbx_json *o = cbx_json_new_object();

    if (o && cbx_json_set_string(o, "status", r->fidelity_status) &&
        cbx_json_set_number(o, "rel_to_tol", r->rel_to_tol))
        return o;
    cbx_json_unref(o);
    return NULL;
}

static cbx_json *baseline_json(const cbx_row *r)
{
    cbx_json *o = cbx_json_new_object();
    bool ok = o && cbx_json_set_string(o, "status", r->status);

    ok = ok && (r->has_metrics ? cbx_json_set(o, "steady", steady_json(r)) : cbx_json_set_null(o, "steady"));
    ok = ok && cbx_json_set_string(o, "steady_unit", "s") &&
         cbx_json_set_number(o, "ratio_vs_reference", r->ratio_vs ? r->ratio_value : NAN);
    ok = ok && (r->paired_vs ? cbx_json_set(o, "ratio_paired", paired_json(r)) : cbx_json_set_null(o, "ratio_paired"));
    ok = ok && cbx_json_set(o, "fidelity", fidelity_json(r));
    ok = ok && (isnan(r->rel_to_tol) ? cbx_json_set_null(o, "within_fidelity_threshold")
                                     : cbx_json_set_bool(o, "within_fidelity_threshold", r->rel_to_tol <= 1));
    ok = ok && cbx_json_set_number(o, "peak_hbm_mb", r->peak_hbm_mb) &&
         cbx_json_set_number(o, "host_rss_mb", r->host_rss_mb);
    ok = ok && cbx_json_set_number(o, "memory_increase_mb", r->memory.over.value) &&
         cbx_json_set_number(o, "compile_s", r->compile_s) &&
         cbx_json_set_number(o, "compile_warm_s", r->compile_warm.over.value) &&
         cbx_json_set_number(o, "detectable", r->detectable.relative);
    if (ok) return o;
    cbx_json_unref(o);
    return NULL;
}

/* Good rows of one attempt, oldest first. */
static cbx_json *trend_json(cbx_arena *arena, const cbx__feed_rows *f, const char *platform, const char *name)
{
    cbx_json *list = cbx_json_new_array();
    bool ok = list != NULL;

    for (size_t i = 0; ok && i < f->n; i++) {
        const cbx_row *r = f->rows[i];
        const char *of = cbx__feed_name(arena, r);
        cbx_json *o;
        if (!of || strcmp(of, name) != 0 || strcmp(r->platform, platform) != 0 || !cbx_row_is_good(r)) continue;
        o = cbx_json_new_object();
        ok = o && cbx_json_set_string(o, "run_id", r->run_id) && cbx_json_set_number(o, "min", r->min_s) &&
             cbx_json_set_number(o, "ratio_vs_reference", r->ratio_vs ? r->ratio_value : NAN);
        if (ok)
            ok = cbx_json_push(list, o);
        else
            cbx_json_unref(o);
    }
    if (ok) return list;
    cbx_json_unref(list);
    return NULL;
}

static bool fill_platform(cbx_arena *arena, const cbx__feed_rows *f, const char *platform, cbx_json *o)
{
    cbx_json *baselines = cbx_json_new_object(), *trend = cbx_json_new_object();
    bool ok = baselines && trend;

    for (size_t i = 0; ok && i < f->nnewest; i++) {
        const char *name = cbx__feed_name(arena, f->newest[i]);
        if (strcmp(f->newest[i]->platform, platform) != 0) continue;
        ok = name && cbx_json_set(baselines, name, baseline_json(f->newest[i])) &&
             cbx_json_set(trend, name, trend_json(arena, f, platform, name));
    }
    ok = cbx_json_set(o, "baselines", baselines) && ok;
    return cbx_json_set(o, "trend", trend) && ok;
}

static cbx_json *platforms_json(cbx_arena *arena, const cbx__feed_rows *f)
{
    cbx_json *all = cbx_json_new_object();
    bool ok = all != NULL;

    for (size_t i = 0; ok && i < f->nnewest; i++) {
        const char *platform = f->newest[i]->platform;
        cbx_json *one;
        if (cbx_json_has(all, platform)) continue;
        one = cbx_json_new_object();
        ok = one && fill_platform(arena, f, platform, one);
        ok = cbx_json_set(all, platform, one) && ok;
    }
    if (ok) return all;
    cbx_json_unref(all);
    return NULL;
}

static const char *reference_of(const cbx__feed_rows *f)
{
    for (size_t i = f->n; i-- > 0;)
        if (f->rows[i]->ratio_vs) return f->rows[i]->ratio_vs;
    return NULL;
}

static bool fill_bundle(cbx_arena *arena, const cbx__feed_rows *f, const char *case_name, cbx_json *o)
{
    cbx_json *point = NULL;

    return cbx_json_set_string(o, "schema", "nperf-bundle") && cbx_json_set_int(o, "version", 1) &&
           cbx_json_set_string(o, "op", cbx_feed_qualname(arena, case_name)) &&
           cbx_json_set_string(o, "case", case_name) && cbx_json_set_string(o, "machine", f->machine) &&
           !cbx_json_parse(f->point, strlen(f->point), "point", &point, NULL) && cbx_json_set(o, "point", point) &&
           cbx_json_set_string(o, "ratio_reference", reference_of(f)) &&
           cbx_json_set_double(o, "fidelity_threshold", 1.0) &&
           cbx_json_set_string(o, "fidelity_threshold_unit", "largest error over its bound") &&
           cbx_json_set(o, "platforms", platforms_json(arena, f)) && cbx_json_set_null(o, "recommendation") &&
           cbx_json_set_string(o, "note",
                               "evidence, never a verdict; ratio_vs_reference is minimum over the reference's "
                               "minimum, below 1: faster than the reference");
}

cbx_status cbx_bundle_make(cbx_ctx *ctx, const cbx_rows *rows, const cbx_bundle_opts *opts, cbx_json **out,
                           cbx_err *err)
{
    cbx__feed_want want = { .case_name = opts->case_name, .machine = opts->machine };
    cbx__memory_watch watch;
    cbx__feed_rows f;
    cbx_arena arena;
    cbx_json *o = NULL;
    cbx_status st = CBX_OK;

    if (opts->struct_size != sizeof *opts) return cbx_fail(err, CBX_EINVAL, "cbx_bundle_opts of another version");
    if (!opts->case_name) return cbx_fail(err, CBX_EINVAL, "a bundle needs the name of a case");
    cbx__memory_watch_init(&watch, cbx_ctx_allocator(ctx));
    cbx_arena_init(&arena, &watch.al);
    if (opts->point) {
        want.point = cbx__feed_point(&arena, opts->point);
        if (!want.point && !watch.failed)
            st = cbx_fail(err, CBX_EFORMAT, "the point '%.200s' is no JSON object", opts->point);
    }
    if (!st && !watch.failed) st = cbx__feed_select(&arena, rows, &want, &f, err);
    if (!st) {
        o = watch.failed ? NULL : cbx_json_new_object();
        if (!o || !fill_bundle(&arena, &f, opts->case_name, o) || watch.failed) {
            cbx_json_unref(o);
            st = cbx_fail(err, CBX_ENOMEM, "no memory for a bundle");
        }
    }
    if (!st) *out = o;
    cbx_arena_clear(&arena);
    return st;
}

/* --- markdown --- */

static void put_cell(cbx_text *out, double v, double scale, const char *unit)
{
    if (isfinite(v))
        cbx_text_printf(out, " %.4g%s |", scale * v, unit);
    else
        cbx_text_puts(out, " - |");
}

/* Words of rows within a line of code: a mark that would end it becomes another. */
static void put_code(cbx_text *out, const char *s, size_t max)
{
    bool control;
    size_t end = out->len + max;

    cbx_text_putc(out, '`');
    for (size_t n; out->len <= end && (n = cbx_text_char(s, &control)) != 0; s += n) {
        const char *shown = control ? " " : *s == '`' ? "'" : s;
        cbx_text_add(out, shown, shown == s ? n : 1);
    }
    cbx_text_putc(out, '`');
}

static void put_platform(const char *platform, const cbx_json *p, cbx_text *out)
{
    const cbx_json *baselines = cbx_json_get(p, "baselines"), *trend = cbx_json_get(p, "trend");
    const char *name;
    cbx_json *b;

    cbx_text_puts(out, "\n## ");
    cbx_text_put_markdown(out, platform);
    cbx_text_puts(
        out, "\n\n| baseline | status | min | median | ratio | error/bound | RSS |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; cbx_json_member(baselines, i, &name, &b); i++) {
        const cbx_json *steady = cbx_json_get(b, "steady");
        cbx_text_puts(out, "| ");
        cbx_text_put_markdown(out, name);
        cbx_text_puts(out, " | ");
        cbx_text_put_markdown(out, cbx_json_get_string(b, "status", "?"));
        cbx_text_puts(out, " |");
        put_cell(out, cbx_json_get_double(steady, "min", NAN), 1e3, " ms");
        put_cell(out, cbx_json_get_double(steady, "median", NAN), 1e3, " ms");
        put_cell(out, cbx_json_get_double(b, "ratio_vs_reference", NAN), 1, "");
        put_cell(out, cbx_json_get_double(cbx_json_get(b, "fidelity"), "rel_to_tol", NAN), 1, "");
        put_cell(out, cbx_json_get_double(b, "host_rss_mb", NAN), 1, " MB");
        cbx_text_putc(out, '\n');
    }
    cbx_text_puts(out, "\nRatios, oldest run first:\n\n");
    for (size_t i = 0; cbx_json_member(trend, i, &name, &b); i++) {
        if (!cbx_json_length(b)) continue;
        cbx_text_puts(out, "- ");
        cbx_text_put_markdown(out, name);
        cbx_text_putc(out, ':');
        for (size_t k = 0; k < cbx_json_length(b); k++) {
            double ratio = cbx_json_get_double(cbx_json_at(b, k), "ratio_vs_reference", NAN);
            if (isfinite(ratio))
                cbx_text_printf(out, "%s %.3g", k ? "," : "", ratio);
            else
                cbx_text_printf(out, "%s -", k ? "," : "");
        }
        cbx_text_putc(out, '\n');
    }
}

void cbx_bundle_markdown(const cbx_json *bundle, cbx_text *out)
{
    const cbx_json *platforms = cbx_json_get(bundle, "platforms");
    const char *name;
    cbx_json *p;

    cbx_text_puts(out, "# ");
    cbx_text_put_markdown(out, cbx_json_get_string(bundle, "op", "?"));
    cbx_text_puts(out, "\n\nPoint ");
    const cbx_json *point = cbx_json_get(bundle, "point");
    cbx_text text;

    cbx_text_init(&text, &out->al);
    cbx_json_write(point, CBX_JSON_COMPACT | CBX_JSON_NONFINITE_STRING, &text);
    if (text.status) out->status = text.status;
    put_code(out, cbx_text_str(&text), text.len);
    cbx_text_clear(&text);
    cbx_text_puts(out, ", ratios against ");
    put_code(out, cbx_json_get_string(bundle, "ratio_reference", "none"), SIZE_MAX / 2);
    cbx_text_puts(out, ", machine ");
    put_code(out, cbx_json_get_string(bundle, "machine", ""), 12);
    cbx_text_puts(out, ".\n");
    for (size_t i = 0; cbx_json_member(platforms, i, &name, &p); i++) put_platform(name, p, out);
    cbx_text_putc(out, '\n');
    cbx_text_put_markdown(out, cbx_json_get_string(bundle, "note", ""));
    cbx_text_puts(out, ".\n");
}
