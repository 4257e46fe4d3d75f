/*
 * The columns of every table, in the order shown.  A row that was not measured has no cells but its name and its
 * reason.
 */
#include <math.h>
#include <string.h>

#include "calibrax/perf/report/format.h"

#define CELL(name)                                                                                                     \
    static void name(cbx_text *out, const cbx__report_item *it, cbx_arena *arena, const cbx__report_style *s)
#define UNUSED(x) (void)(x)

CELL(put_baseline)
{
    UNUSED(s);
    cbx__report_put_public(out, cbx__report_name(arena, it), 40);
    if (it->siblings && it->quoted) cbx_text_puts(out, " *");
}

CELL(put_status)
{
    UNUSED(arena);
    UNUSED(s);
    cbx__report_put_public(out, it->row->status ? it->row->status : "no status", 24);
}

CELL(put_time)
{
    UNUSED(arena);
    cbx__report_put_interval(out, it->row, s);
}

CELL(put_time_brief)
{
    UNUSED(arena);
    cbx__report_put_seconds(out, cbx__report_median(it->row), s);
}

CELL(put_min)
{
    UNUSED(arena);
    cbx__report_put_seconds(out, it->row->min_s, s);
}

CELL(put_p99)
{
    UNUSED(arena);
    cbx__report_put_seconds(out, it->row->p99_s, s);
}

/* The least slow-down that so many launches would show, and how many modes they have where that is more than one. */
CELL(put_finds)
{
    const cbx_row *r = it->row;
    UNUSED(arena);
    cbx__report_put_share(out, r->detectable.relative, s);
    if (r->nmodes > 1) cbx_text_printf(out, ", %zu modes", r->nmodes);
}

CELL(put_finds_brief)
{
    UNUSED(arena);
    cbx__report_put_share(out, it->row->detectable.relative, s);
}

/* Cold, and where it was measured with a cache that is filled. */
CELL(put_compile)
{
    UNUSED(arena);
    cbx__report_put_seconds(out, it->row->compile_s, s);
    if (!isfinite(it->row->compile_warm.over.value)) return;
    cbx_text_puts(out, ", warm ");
    cbx__report_put_seconds(out, it->row->compile_warm.over.value, s);
}

CELL(put_compile_brief)
{
    UNUSED(arena);
    cbx__report_put_seconds(out, it->row->compile_s, s);
}

/* What the device held, else the resident peak with, in brackets, how much of it the work itself added. */
CELL(put_memory)
{
    const cbx_row *r = it->row;
    UNUSED(arena);
    if (isfinite(r->peak_hbm_mb)) {
        cbx_text_printf(out, "%.2f MB hbm", r->peak_hbm_mb);
        return;
    }
    cbx__report_put_number(out, r->host_rss_mb, s);
    if (!isfinite(r->host_rss_mb)) return;
    cbx_text_puts(out, " MB");
    if (!isfinite(r->host_rss_increase_mb)) return;
    cbx_text_puts(out, " (+");
    cbx__report_put_number(out, r->host_rss_increase_mb, s);
    cbx_text_putc(out, ')');
}

CELL(put_memory_brief)
{
    UNUSED(arena);
    cbx__report_put_number(out, isfinite(it->row->peak_hbm_mb) ? it->row->peak_hbm_mb : it->row->host_rss_mb, s);
    if (isfinite(it->row->peak_hbm_mb) || isfinite(it->row->host_rss_mb)) cbx_text_puts(out, " MB");
}

CELL(put_gmac)
{
    UNUSED(arena);
    cbx__report_put_number(out, it->row->gmac_per_s, s);
}

CELL(put_gflop)
{
    UNUSED(arena);
    cbx__report_put_number(out, it->row->gflop_per_s, s);
}

CELL(put_gbyte)
{
    UNUSED(arena);
    cbx__report_put_number(out, it->row->gbyte_per_s, s);
}

CELL(put_roofline)
{
    const cbx_row *r = it->row;
    UNUSED(arena);
    if (isfinite(r->roofline_share) || !r->limit_vs) cbx__report_put_share(out, r->roofline_share, s);
    if (!r->limit_vs) return;
    if (isfinite(r->roofline_share)) cbx_text_puts(out, ", ");
    cbx__report_put_share(out, r->limit_share, s);
    cbx_text_puts(out, " of ");
    cbx__report_put_public(out, r->limit_vs, 32);
}

static void put_fidelity_cell(cbx_text *out, const cbx_row *row, const char *unit, const cbx__report_style *s)
{
    if (!row->fidelity_status) {
        cbx_text_puts(out, s->none);
        return;
    }
    cbx__report_put_public(out, !strcmp(row->fidelity_status, "failed") ? "FAILED" : row->fidelity_status, 16);
    if (isfinite(row->rel_to_tol)) {
        cbx_text_putc(out, ' ');
        cbx__report_put_number(out, row->rel_to_tol, s);
        if (unit[0]) cbx_text_printf(out, " %s%s", s->times, unit);
    }
}

CELL(put_fidelity)
{
    UNUSED(arena);
    put_fidelity_cell(out, it->row, "tol", s);
}

CELL(put_fidelity_brief)
{
    UNUSED(arena);
    put_fidelity_cell(out, it->row, "", s);
}

static void put_ratio_cell(cbx_text *out, const cbx__report_item *it, bool brief, const cbx__report_style *s)
{
    cbx__report_speed speed;
    if (it->reference && it->quoted && it->class == CBX__REPORT_GOOD)
        cbx_text_puts(out, "reference");
    else if (it->limit && it->class == CBX__REPORT_GOOD)
        cbx_text_puts(out, "limit");
    else if (cbx__report_speed_of(it->row, &speed)) {
        cbx__report_put_speed(out, &speed, brief, s);
        if (cbx__report_minimum_disagrees(it->row)) cbx_text_puts(out, " !");
    } else
        cbx_text_puts(out, it->row->has_metrics && it->class == CBX__REPORT_FAILED ? "refused" : s->none);
}

CELL(put_ratio)
{
    UNUSED(arena);
    put_ratio_cell(out, it, false, s);
}

CELL(put_ratio_brief)
{
    UNUSED(arena);
    put_ratio_cell(out, it, true, s);
}

/* --- what the page sorts by --- */

#define KEY(name, expression)                                                                                          \
    static double name(const cbx__report_item *it) { return (expression); }

KEY(key_time, cbx__report_median(it->row))
KEY(key_min, it->row->min_s)
KEY(key_p99, it->row->p99_s)
KEY(key_compile, it->row->compile_s)
KEY(key_memory, isfinite(it->row->peak_hbm_mb) ? it->row->peak_hbm_mb : it->row->host_rss_mb)
KEY(key_gmac, it->row->gmac_per_s)
KEY(key_gflop, it->row->gflop_per_s)
KEY(key_gbyte, it->row->gbyte_per_s)
KEY(key_finds, it->row->detectable.relative)
KEY(key_roofline, it->row->roofline_share)
KEY(key_fidelity, it->row->rel_to_tol)

/* Times as fast as the reference. */
static double key_ratio(const cbx__report_item *it)
{
    if (it->reference && it->quoted && it->class == CBX__REPORT_GOOD) return 1.0;
    if (!cbx_row_is_good(it->row)) return NAN;
    if (isfinite(it->row->paired.value) && it->row->paired.value > 0) return 1.0 / it->row->paired.value;
    return it->row->ratio_vs && it->row->ratio_value > 0 ? 1.0 / it->row->ratio_value : NAN;
}

const cbx__report_column cbx__report_columns[CBX__COLUMN_COUNT] = {
    [CBX__COLUMN_BASELINE] = { "baseline",
                               "implementation, with its variant; * the strongest one, which ratios are quoted with",
                               false, put_baseline, NULL, NULL },
    [CBX__COLUMN_STATUS] = { "status", "ok, or why there is no result", false, put_status, NULL, NULL },
    [CBX__COLUMN_TIME] = { "time [interval]", "median of launch medians with its interval over launches", true,
                           put_time, put_time_brief, key_time },
    [CBX__COLUMN_MIN] = { "min", "fastest epoch of all launches", true, put_min, NULL, key_min },
    [CBX__COLUMN_P99] = { "p99", "99th percentile of all epochs", true, put_p99, NULL, key_p99 },
    [CBX__COLUMN_FINDS] = { "finds", "least slow-down that so many launches a side would show, at 5 % with power 0.9",
                            true, put_finds, put_finds_brief, key_finds },
    [CBX__COLUMN_COMPILE] = { "compile",
                              "compile time with an empty cache, median over launches; warm: with a filled one", true,
                              put_compile, put_compile_brief, key_compile },
    [CBX__COLUMN_MEMORY] = { "memory", "peak resident memory of the worker, and what the work added to it", true,
                             put_memory, put_memory_brief, key_memory },
    [CBX__COLUMN_GMAC] = { "GMAC/s", "10^9 combine-and-update steps a second, at the median", true, put_gmac, NULL,
                           key_gmac },
    [CBX__COLUMN_GFLOP] = { "GFLOP/s", "10^9 floating-point operations a second as declared, at the median", true,
                            put_gflop, NULL, key_gflop },
    [CBX__COLUMN_GBYTE] = { "GB/s", "10^9 bytes a second of declared traffic, at the median", true, put_gbyte, NULL,
                            key_gbyte },
    [CBX__COLUMN_ROOFLINE] = { "roof",
                               "share of the roofline: smallest possible time over the median; and of the rate of the "
                               "limit that ran in turn with it, which is no law: above 100 % its launches were slowed, "
                               "or "
                               "the rival saves work",
                               true, put_roofline, NULL, key_roofline },
    [CBX__COLUMN_FIDELITY] = { "fidelity", "largest error in units of its bound; at most 1 passes", true, put_fidelity,
                               put_fidelity_brief, key_fidelity },
    [CBX__COLUMN_RATIO] = { "against reference", "paired ratio of times, turned over, with its interval and verdict",
                            true, put_ratio, put_ratio_brief, key_ratio },
};
