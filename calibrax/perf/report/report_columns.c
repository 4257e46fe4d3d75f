/* The columns of every table, in the order shown.  A row that was not measured has only its name
 * and its reason. */
#include <math.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "calibrax/perf/report/view.h"

#define CELL(name, ...)                                                                                                \
    static void name(cbx_text *out, const cbx__report_item *it, cbx_arena *arena, const cbx__report_style *s)          \
    {                                                                                                                  \
        const cbx_row *r = it->row;                                                                                    \
        (void)r, (void)arena, (void)s;                                                                                 \
        __VA_ARGS__                                                                                                    \
    }

CELL(put_baseline, {
    cbx__report_put_public(out, cbx__report_name(arena, it), 40);
    if (it->siblings && it->quoted) cbx_text_puts(out, " *");
})
CELL(put_status, cbx__report_put_public(out, r->status ? r->status : "no status", 24);)
CELL(put_time, cbx__report_put_interval(out, r, s);)
CELL(put_time_brief, cbx__report_put_seconds(out, cbx__report_median(r), s);)
CELL(put_min, cbx__report_put_seconds(out, r->min_s, s);)
CELL(put_p99, cbx__report_put_seconds(out, r->p99_s, s);)
CELL(put_finds_brief, cbx__report_put_share(out, r->detectable.relative, s);)
/* The smallest slow-down that the launches would show, and the number of modes where they have more
 * than one. */
CELL(put_finds, {
    bool found = isfinite(r->detectable.relative);
    if (found || r->nmodes < 2) put_finds_brief(out, it, arena, s);
    if (r->nmodes > 1) cbx_text_printf(out, "%s%zu modes", found ? ", " : "", r->nmodes);
})
CELL(put_compile_brief, cbx__report_put_seconds(out, r->compile_s, s);)
/* Cold, and where it was measured with a cache that is filled. */
CELL(put_compile, {
    put_compile_brief(out, it, arena, s);
    if (isfinite(r->compile_warm.over.value)) {
        cbx_text_puts(out, ", warm ");
        cbx__report_put_seconds(out, r->compile_warm.over.value, s);
    }
})

static double memory_of(const cbx_row *r) { return isfinite(r->peak_hbm_mb) ? r->peak_hbm_mb : r->host_rss_mb; }

CELL(put_memory_brief, {
    cbx__report_put_number(out, memory_of(r), s);
    if (isfinite(memory_of(r))) cbx_text_puts(out, " MB");
})
/* What the device held, else the resident peak with, in brackets, how much of it the work itself
 * added. */
CELL(put_memory, {
    put_memory_brief(out, it, arena, s);
    if (isfinite(r->peak_hbm_mb))
        cbx_text_puts(out, " hbm");
    else if (isfinite(r->host_rss_mb) && isfinite(r->host_rss_increase_mb)) {
        cbx_text_puts(out, " (+");
        cbx__report_put_number(out, r->host_rss_increase_mb, s);
        cbx_text_putc(out, ')');
    }
})
CELL(put_gmac, cbx__report_put_number(out, r->gmac_per_s, s);)
CELL(put_gflop, cbx__report_put_number(out, r->gflop_per_s, s);)
CELL(put_gbyte, cbx__report_put_number(out, r->gbyte_per_s, s);)
CELL(put_roofline, {
    if (isfinite(r->roofline_share) || !r->limit_vs) cbx__report_put_share(out, r->roofline_share, s);
    if (r->limit_vs) {
        if (isfinite(r->roofline_share)) cbx_text_puts(out, ", ");
        cbx__report_put_share(out, r->limit_share, s);
        cbx_text_puts(out, " of ");
        cbx__report_put_public(out, r->limit_vs, 32);
    }
})
CELL(put_fidelity_brief, {
    cbx__report_put_public(out,
                           !r->fidelity_status                     ? s->none
                           : !strcmp(r->fidelity_status, "failed") ? "FAILED"
                                                                   : r->fidelity_status,
                           16);
    if (r->fidelity_status && isfinite(r->rel_to_tol)) {
        cbx_text_putc(out, ' ');
        cbx__report_put_number(out, r->rel_to_tol, s);
    }
})
CELL(put_fidelity, {
    put_fidelity_brief(out, it, arena, s);
    if (r->fidelity_status && isfinite(r->rel_to_tol)) cbx_text_printf(out, " %stol", s->times);
})

static void put_ratio_cell(cbx_text *out, const cbx__report_item *it, bool brief, const cbx__report_style *s)
{
    cbx__report_ratio ratio;

    if (it->reference && it->quoted && it->class == CBX__REPORT_GOOD)
        cbx_text_puts(out, "reference");
    else if (it->limit && it->class == CBX__REPORT_GOOD)
        cbx_text_puts(out, "limit");
    else if (cbx__report_ratio_of(it->row, &ratio)) {
        cbx__report_put_ratio(out, &ratio, brief);
        if (ratio.verdict[0]) cbx_text_putc(out, ' ');
        cbx__report_put_public(out, ratio.verdict, 20);
        if (ratio.minimum_only) cbx_text_puts(out, " (min)");
        if (cbx__report_minimum_disagrees(it->row)) cbx_text_puts(out, " !");
    } else
        cbx_text_puts(out, it->row->has_metrics && it->class == CBX__REPORT_FAILED ? "refused" : s->none);
}

CELL(put_ratio, put_ratio_cell(out, it, false, s);)
CELL(put_ratio_brief, put_ratio_cell(out, it, true, s);)

/* --- what the page sorts by --- */

#define KEY(name, expression)                                                                                          \
    static double name(const cbx__report_item *it) { return (expression); }

KEY(key_time, cbx__report_median(it->row))
KEY(key_min, it->row->min_s)
KEY(key_p99, it->row->p99_s)
KEY(key_compile, it->row->compile_s)
KEY(key_memory, memory_of(it->row))
KEY(key_gmac, it->row->gmac_per_s)
KEY(key_gflop, it->row->gflop_per_s)
KEY(key_gbyte, it->row->gbyte_per_s)
KEY(key_finds, it->row->detectable.relative)
KEY(key_roofline, it->row->roofline_share)
KEY(key_fidelity, it->row->rel_to_tol)

static double key_ratio(const cbx__report_item *it)
{
    cbx__report_ratio ratio;

    if (it->reference && it->quoted && it->class == CBX__REPORT_GOOD) return 1;
    return cbx__report_ratio_of(it->row, &ratio) ? ratio.x.value : NAN;
}

const cbx__report_column cbx__report_columns[CBX__COLUMN_COUNT] = {
    [CBX__COLUMN_BASELINE] = { "baseline", "implementation, with its variant; * the strongest one, used for ratios",
                               NULL, false, put_baseline, NULL, NULL },
    [CBX__COLUMN_STATUS] = { "status", "ok, or why there is no result", NULL, false, put_status, NULL, NULL },
    [CBX__COLUMN_TIME] = { "time [interval]", "median of launch medians with its interval over launches", "time_s",
                           true, put_time, put_time_brief, key_time },
    [CBX__COLUMN_MIN] = { "min", "fastest epoch of all launches", "min_s", true, put_min, NULL, key_min },
    [CBX__COLUMN_P99] = { "p99", "99th percentile of all epochs", "p99_s", true, put_p99, NULL, key_p99 },
    [CBX__COLUMN_FINDS] = { "finds",
                            "smallest slow-down that as many launches a side would show, at 5 % with power 0.9",
                            "detectable", true, put_finds, put_finds_brief, key_finds },
    [CBX__COLUMN_COMPILE] = { "compile",
                              "compile time with an empty cache, median over launches; warm: with a filled one",
                              "compile_s", true, put_compile, put_compile_brief, key_compile },
    [CBX__COLUMN_MEMORY] = { "memory", "peak resident memory of the worker, and what the work added to it", "memory_mb",
                             true, put_memory, put_memory_brief, key_memory },
    [CBX__COLUMN_GMAC] = { "GMAC/s", "10^9 combine-and-update steps a second, at the median", "gmac_per_s", true,
                           put_gmac, NULL, key_gmac },
    [CBX__COLUMN_GFLOP] = { "GFLOP/s", "10^9 floating-point operations a second as declared, at the median",
                            "gflop_per_s", true, put_gflop, NULL, key_gflop },
    [CBX__COLUMN_GBYTE] = { "GB/s", "10^9 bytes a second of declared traffic, at the median", "gbyte_per_s", true,
                            put_gbyte, NULL, key_gbyte },
    [CBX__COLUMN_ROOFLINE] = { "roof",
                               "share of the roofline: smallest possible time over the median; and of the rate of the "
                               "limit that ran in turn with it, which is measured: above 100 % its launches were "
                               "slowed, or the rival saves work",
                               "roofline_share", true, put_roofline, NULL, key_roofline },
    [CBX__COLUMN_FIDELITY] = { "fidelity", "largest error in units of its bound; at most 1 passes", "rel_to_tol", true,
                               put_fidelity, put_fidelity_brief, key_fidelity },
    [CBX__COLUMN_RATIO] = { "against reference",
                            "time over the reference's time, paired launch by launch, with its interval and verdict; "
                            "below 1 is faster",
                            "ratio", true, put_ratio, put_ratio_brief, key_ratio },
};

bool cbx__report_column_is_used(const cbx__report_view *v, size_t case_index, cbx__report_column_id column,
                                cbx_arena *arena)
{
    bool used = column == CBX__COLUMN_BASELINE;

    CBX_SCOPED(cbx_text, cell, &arena->al);
    for (const cbx__report_item *it = v->items; !used && it < v->items + v->nitems; it++) {
        if (!it->row->has_metrics || (case_index != SIZE_MAX && it->group->case_index != case_index)) continue;
        cbx_text_reset(&cell);
        cbx__report_columns[column].put(&cell, it, arena, &cbx__report_ascii);
        used = cell.len && strcmp(cbx_text_str(&cell), cbx__report_ascii.none) != 0;
    }
    return used;
}
