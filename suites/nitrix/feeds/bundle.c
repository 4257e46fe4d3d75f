/* The decision bundle: all facts about one point, without a verdict. */
#include <math.h>
#include <string.h>

#include "calibrax/base/json_put.h"
#include "suites/nitrix/feeds/feed.h"
#include "suites/nitrix/feeds/feed_rows.h"

static void put_baseline(const cbx_row *r, cbx_json *o)
{
    cbx_json_put(
        o, J_TEXT("status", r->status),
        r->has_metrics ? J_JSON("steady", cbx_json_object(J_FINITE("min", r->min_s), J_FINITE("median", r->median_s),
                                                          J_FINITE("p95", r->p95_s), J_FINITE("lower", r->steady.lower),
                                                          J_FINITE("upper", r->steady.upper)))
                       : J_NULL("steady"),
        J_TEXT("steady_unit", "s"), J_FINITE("ratio_vs_reference", r->ratio_vs ? r->ratio_value : NAN),
        r->paired_vs ? J_JSON("ratio_paired",
                              cbx_json_object(J_FINITE("value", r->paired.value), J_FINITE("lower", r->paired.lower),
                                              J_FINITE("upper", r->paired.upper),
                                              J_TEXT("verdict", r->verdict_holm ? r->verdict_holm : r->verdict)))
                     : J_NULL("ratio_paired"),
        J_JSON("fidelity",
               cbx_json_object(J_TEXT("status", r->fidelity_status), J_FINITE("rel_to_tol", r->rel_to_tol))),
        isnan(r->rel_to_tol) ? J_NULL("within_fidelity_threshold")
                             : J_BOOL("within_fidelity_threshold", r->rel_to_tol <= 1),
        J_FINITE("peak_hbm_mb", r->peak_hbm_mb), J_FINITE("host_rss_mb", r->host_rss_mb),
        J_FINITE("memory_increase_mb", r->memory.over.value), J_FINITE("compile_s", r->compile_s),
        J_FINITE("compile_warm_s", r->compile_warm.over.value), J_FINITE("detectable", r->detectable.relative));
}

/* Good rows of one attempt, oldest first. */
static void put_trend(cbx_arena *arena, const cbx__feed_rows *f, const char *platform, const char *name, cbx_json *list)
{
    for (size_t i = 0; i < f->n; i++) {
        const cbx_row *r = f->rows[i];
        const char *of = cbx__feed_name(arena, r);
        if (!of || strcmp(of, name) != 0 || strcmp(r->platform, platform) != 0 || !cbx_row_is_good(r)) continue;
        cbx_json_push(list, cbx_json_object(J_TEXT("run_id", r->run_id), J_FINITE("min", r->min_s),
                                            J_FINITE("ratio_vs_reference", r->ratio_vs ? r->ratio_value : NAN)));
    }
}

static void put_platforms(cbx_arena *arena, const cbx__feed_rows *f, cbx_json *all)
{
    for (size_t first = 0; first < f->nnewest; first++) {
        const char *platform = f->newest[first]->platform;
        if (cbx_json_has(all, platform)) continue;
        cbx_json *o = cbx_json_set_object(all, platform);
        cbx_json *baselines = cbx_json_set_object(o, "baselines"), *trend = cbx_json_set_object(o, "trend");
        for (size_t i = first; i < f->nnewest; i++) {
            const char *name = cbx__feed_name(arena, f->newest[i]);
            if (!name || strcmp(f->newest[i]->platform, platform) != 0) continue;
            put_baseline(f->newest[i], cbx_json_set_object(baselines, name));
            put_trend(arena, f, platform, name, cbx_json_set_array(trend, name));
        }
    }
}

static cbx_json *bundle_of(cbx_arena *arena, const cbx__feed_rows *f, const char *case_name)
{
    const char *reference = NULL;
    cbx_json *platforms = cbx_json_new_object();

    for (size_t i = f->n; i-- > 0 && !reference;) reference = f->rows[i]->ratio_vs;
    put_platforms(arena, f, platforms);
    return cbx_json_document(
        "nperf-bundle", J_TEXT("op", cbx_feed_qualname(arena, case_name)), J_TEXT("case", case_name),
        J_TEXT("machine", f->machine), J_JSON("point", cbx__feed_point_json(f)), J_TEXT("ratio_reference", reference),
        J_NUMBER("fidelity_threshold", 1.0), J_TEXT("fidelity_threshold_unit", "largest error over its bound"),
        J_JSON("platforms", platforms), J_NULL("recommendation"),
        J_TEXT("note", "evidence, never a verdict; ratio_vs_reference is minimum over the reference's minimum, "
                       "below 1: faster than the reference"));
}

cbx_status cbx_bundle_make(cbx_ctx *ctx, const cbx_rows *rows, const cbx_bundle_opts *opts, cbx_json **out,
                           cbx_err *err)
{
    cbx__feed_want want = { .case_name = opts->case_name, .machine = opts->machine };
    cbx__feed_memory m;
    cbx__feed_rows f;
    cbx_json *o = NULL;
    cbx_status st = CBX_OK;

    if (opts->struct_size != sizeof *opts) return cbx_fail(err, CBX_EINVAL, "cbx_bundle_opts of another version");
    if (!opts->case_name) return cbx_fail(err, CBX_EINVAL, "a bundle requires the name of a case");
    cbx__feed_begin(&m, ctx);
    if (opts->point) {
        want.point = cbx__feed_point(&m.arena, opts->point);
        if (!want.point && !m.failed)
            st = cbx_fail(err, CBX_EFORMAT, "the point '%.200s' is not a JSON object", opts->point);
    }
    if (!st && !m.failed) st = cbx__feed_select(&m.arena, rows, &want, &f, err);
    if (!st && !m.failed) o = bundle_of(&m.arena, &f, opts->case_name);
    return cbx__feed_end(&m, st, o, "a bundle", out, err);
}

/* --- markdown --- */

static void put_cell(cbx_text *out, double v, double scale, const char *unit)
{
    if (isfinite(v))
        cbx_text_printf(out, " %.4g%s |", scale * v, unit);
    else
        cbx_text_puts(out, " - |");
}

/* A text in backquotes: characters that would end it are replaced. */
static void put_code(cbx_text *out, const char *s, size_t max)
{
    const size_t end = out->len + max;
    bool control;

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
    cbx_text text;

    cbx_text_init(&text, &out->al);
    cbx_json_write(cbx_json_get(bundle, "point"), CBX_JSON_COMPACT | CBX_JSON_NONFINITE_STRING, &text);
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
