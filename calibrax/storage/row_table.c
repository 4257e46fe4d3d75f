/*
 * Row record: the table of its members, and the typed view in which all of them are absent.
 *
 * Keys of version 1 come first in each block, in their order; what version 2 added follows them.
 */
#include "calibrax/storage/row_table.h"

#include <math.h>
#include <string.h>

#define AT(member) offsetof(cbx_row, member)
#define BLOCK(name, fields, presence, member)                                                                          \
    static const row_block name = { fields, CBX_LEN(fields), presence, member }

/* Members that version 2 added. */
#define ADDED(key, kind, member)                                                                                       \
    {                                                                                                                  \
        key, kind, AT(member), .optional = true                                                                        \
    }
#define ADDED_BLOCK(key, block)                                                                                        \
    {                                                                                                                  \
        key, ROW_BLOCK, 0, NULL, &block, .optional = true                                                              \
    }
/* Of a metric over launches: all but its median, which is under the key of its own block. */
#define OVER_LAUNCHES(member)                                                                                          \
    ADDED("lower", ROW_MAYBE_NUMBER, member.over.lower), ADDED("upper", ROW_MAYBE_NUMBER, member.over.upper),          \
        ADDED("level", ROW_MAYBE_NUMBER, member.over.level),                                                           \
        { "launches", ROW_NUMBERS, AT(member.launches), .count = AT(member.nlaunches), .optional = true },             \
        ADDED("reason", ROW_STRING, member.reason)
#define VALUE(member, unit)                                                                                            \
    { "value", ROW_MAYBE_NUMBER, AT(member.over.value) }, { "unit", ROW_WORD, 0, unit }, OVER_LAUNCHES(member)
#define METRIC_BLOCK(name, member, unit)                                                                               \
    static const row_field name##_fields[] = { VALUE(member, unit) };                                                  \
    BLOCK(name##_block, name##_fields, ROW_IF_METRIC, AT(member))

#define AT_MODE(member) offsetof(cbx_row_mode, member)

static const row_field mode_fields[] = {
    { "center", ROW_NUMBER, AT_MODE(center_s) },  { "low", ROW_NUMBER, AT_MODE(low_s) },
    { "high", ROW_NUMBER, AT_MODE(high_s) },      { "share", ROW_NUMBER, AT_MODE(share) },
    { "launches", ROW_COUNT, AT_MODE(launches) },
};
static const row_field class_fields[] = {
    { "flat", ROW_COUNT, AT(steady_state.flat) },         { "warm_up", ROW_COUNT, AT(steady_state.warm_up) },
    { "slowdown", ROW_COUNT, AT(steady_state.slowdown) }, { "none", ROW_COUNT, AT(steady_state.none) },
    { "epochs", ROW_COUNT, AT(steady_state.epochs) },     { "epochs_dropped", ROW_COUNT, AT(steady_state.dropped) },
};
static const row_field detectable_fields[] = {
    { "relative", ROW_MAYBE_NUMBER, AT(detectable.relative) },
    { "launches", ROW_COUNT, AT(detectable.launches) },
    { "alpha", ROW_MAYBE_NUMBER, AT(detectable.alpha) },
    { "power", ROW_MAYBE_NUMBER, AT(detectable.power) },
};
BLOCK(mode_block, mode_fields, ROW_ALWAYS, 0);
BLOCK(class_block, class_fields, ROW_IF_ANY, AT(steady_state));
BLOCK(detectable_block, detectable_fields, ROW_IF_NUMBER, AT(detectable.relative));

static const row_field steady_fields[] = {
    { "min", ROW_MAYBE_NUMBER, AT(min_s) },
    { "median", ROW_MAYBE_NUMBER, AT(median_s) },
    { "p95", ROW_MAYBE_NUMBER, AT(p95_s) },
    { "iqr", ROW_MAYBE_NUMBER, AT(iqr_s) },
    { "mean", ROW_MAYBE_NUMBER, AT(mean_s) },
    { "n", ROW_COUNT, AT(n) },
    { "unit", ROW_WORD, 0, "s" },
    { "p99", ROW_MAYBE_NUMBER, AT(p99_s) },
    { "lower", ROW_MAYBE_NUMBER, AT(steady.lower) },
    { "upper", ROW_MAYBE_NUMBER, AT(steady.upper) },
    { "level", ROW_MAYBE_NUMBER, AT(steady.level) },
    { "launches", ROW_NUMBERS, AT(launch_medians_s), .count = AT(nlaunches) },
    { "modes", ROW_LIST, AT(modes), NULL, &mode_block, AT(nmodes), sizeof(cbx_row_mode), true },
    ADDED("reason", ROW_STRING, steady_reason),
    ADDED_BLOCK("steady_state", class_block),
    ADDED_BLOCK("detectable", detectable_block),
};
static const row_field compile_fields[] = {
    { "value", ROW_MAYBE_NUMBER, AT(compile_s) },
    { "unit", ROW_WORD, 0, "s" },
    { "cache", ROW_WORD, 0, "cold" },
    { "first_call", ROW_MAYBE_NUMBER, AT(first_call_s) },
    OVER_LAUNCHES(compile),
};
static const row_field warm_fields[] = { VALUE(compile_warm, "s"), { "cache", ROW_WORD, 0, "warm" } };
BLOCK(warm_block, warm_fields, ROW_IF_METRIC, AT(compile_warm));
METRIC_BLOCK(first, first_call, "s");
METRIC_BLOCK(memory, memory, "MB");
METRIC_BLOCK(device, device_memory, "MB");
METRIC_BLOCK(overhead, call_overhead, "s");
static const row_field energy_fields[] = { VALUE(energy, "J"), ADDED("scope", ROW_STRING, energy_scope),
                                           ADDED("power_w", ROW_MAYBE_NUMBER, power_w) };
BLOCK(energy_block, energy_fields, ROW_IF_METRIC, AT(energy));
static const row_field hbm_fields[] = {
    { "value", ROW_MAYBE_NUMBER, AT(peak_hbm_mb) },
    { "unit", ROW_WORD, 0, "MB" },
};
static const row_field rss_fields[] = {
    { "value", ROW_MAYBE_NUMBER, AT(host_rss_mb) },
    { "unit", ROW_WORD, 0, "MB" },
    { "increase", ROW_MAYBE_NUMBER, AT(host_rss_increase_mb) },
};
static const row_field throughput_fields[] = {
    { "value", ROW_MAYBE_NUMBER, AT(throughput_elem_per_s) },
    { "unit", ROW_WORD, 0, "elem/s" },
};
static const row_field work_fields[] = {
    { "gmac_per_s", ROW_MAYBE_NUMBER, AT(gmac_per_s) },
    { "gflop_per_s", ROW_MAYBE_NUMBER, AT(gflop_per_s) },
    { "gbyte_per_s", ROW_MAYBE_NUMBER, AT(gbyte_per_s) },
    { "roofline_share", ROW_MAYBE_NUMBER, AT(roofline_share) },
    { "bound_s", ROW_MAYBE_NUMBER, AT(bound_s) },
    ADDED("gflop_per_s_lower", ROW_MAYBE_NUMBER, gflop.lower),
    ADDED("gflop_per_s_upper", ROW_MAYBE_NUMBER, gflop.upper),
    ADDED("gbyte_per_s_lower", ROW_MAYBE_NUMBER, gbyte.lower),
    ADDED("gbyte_per_s_upper", ROW_MAYBE_NUMBER, gbyte.upper),
    ADDED("roofline_share_lower", ROW_MAYBE_NUMBER, roofline.lower),
    ADDED("roofline_share_upper", ROW_MAYBE_NUMBER, roofline.upper),
    ADDED("flop_per_byte", ROW_MAYBE_NUMBER, flop_per_byte),
    ADDED("bound_by", ROW_STRING, bound_by),
};
static const row_field cpu_fields[] = {
    { "value", ROW_MAYBE_NUMBER, AT(cpu_s) },
    { "unit", ROW_WORD, 0, "s" },
};
BLOCK(steady_block, steady_fields, ROW_ALWAYS, 0);
BLOCK(compile_block, compile_fields, ROW_ALWAYS, 0);
BLOCK(hbm_block, hbm_fields, ROW_ALWAYS, 0);
BLOCK(rss_block, rss_fields, ROW_ALWAYS, 0);
BLOCK(throughput_block, throughput_fields, ROW_ALWAYS, 0);
BLOCK(work_block, work_fields, ROW_ALWAYS, 0);
BLOCK(cpu_block, cpu_fields, ROW_ALWAYS, 0);

static const row_field metrics_fields[] = {
    { "steady_time", ROW_BLOCK, 0, NULL, &steady_block },
    { "compile_time", ROW_BLOCK, 0, NULL, &compile_block },
    { "peak_hbm", ROW_BLOCK, 0, NULL, &hbm_block },
    { "host_rss", ROW_BLOCK, 0, NULL, &rss_block },
    { "throughput", ROW_BLOCK, 0, NULL, &throughput_block },
    { "work", ROW_BLOCK, 0, NULL, &work_block },
    { "cpu_time", ROW_BLOCK, 0, NULL, &cpu_block },
    ADDED_BLOCK("compile_time_warm", warm_block),
    ADDED_BLOCK("first_call", first_block),
    ADDED_BLOCK("memory_increase", memory_block),
    ADDED_BLOCK("device_memory", device_block),
    ADDED_BLOCK("call_overhead", overhead_block),
    ADDED_BLOCK("energy", energy_block),
};
static const row_field oracle_fields[] = {
    { "kind", ROW_STRING, AT(oracle_kind) },
    { "baseline", ROW_NULL },
    { "subsample", ROW_NULL },
};
static const row_field threshold_fields[] = {
    { "scope", ROW_WORD, 0, "per_algebra" },
};
BLOCK(oracle_block, oracle_fields, ROW_ALWAYS, 0);
BLOCK(threshold_block, threshold_fields, ROW_ALWAYS, 0);

METRIC_BLOCK(error, error, "bound");

static const row_field fidelity_fields[] = {
    { "status", ROW_NEEDED_STRING, AT(fidelity_status) },
    { "rel_to_tol", ROW_NUMBER, AT(rel_to_tol) },
    { "max_abs", ROW_NUMBER, AT(max_abs) },
    { "max_rel", ROW_NUMBER, AT(max_rel) },
    { "n_mismatched", ROW_COUNT, AT(mismatched) },
    { "layout_normalised", ROW_TRUE },
    { "oracle", ROW_BLOCK, 0, NULL, &oracle_block },
    { "threshold", ROW_BLOCK, 0, NULL, &threshold_block },
    { "checks", ROW_COUNT, AT(checks) },
    ADDED("margin", ROW_MAYBE_NUMBER, margin),
    ADDED_BLOCK("error", error_block),
};
static const row_field ratio_fields[] = {
    { "vs", ROW_NEEDED_STRING, AT(ratio_vs) },
    { "metric", ROW_WORD, 0, "min" },
    { "value", ROW_NUMBER, AT(ratio_value) },
};
static const row_field failure_fields[] = {
    { "reason", ROW_STRING, AT(failure_reason) },
    { "message", ROW_STRING, AT(failure_message) },
    { "remedy", ROW_STRING, AT(failure_remedy) },
};
static const row_field paired_fields[] = {
    { "vs", ROW_NEEDED_STRING, AT(paired_vs) },
    { "value", ROW_NUMBER, AT(paired.value) },
    { "lower", ROW_MAYBE_NUMBER, AT(paired.lower) },
    { "upper", ROW_MAYBE_NUMBER, AT(paired.upper) },
    { "level", ROW_MAYBE_NUMBER, AT(paired.level) },
    { "verdict", ROW_STRING, AT(verdict) },
    { "pairs", ROW_COUNT, AT(pairs) },
    { "p", ROW_MAYBE_NUMBER, AT(paired_p) },
    { "p_holm", ROW_MAYBE_NUMBER, AT(paired_p_holm) },
    { "holm_rows", ROW_COUNT, AT(holm_rows) },
    { "verdict_holm", ROW_STRING, AT(verdict_holm) },
    ADDED("p_difference", ROW_MAYBE_NUMBER, p_difference),
    ADDED("p_equivalence", ROW_MAYBE_NUMBER, p_equivalence),
    ADDED("margin", ROW_MAYBE_NUMBER, margin_equal),
    ADDED("reason", ROW_STRING, paired_reason),
};
static const row_field limit_fields[] = {
    { "vs", ROW_NEEDED_STRING, AT(limit_vs) },
    { "share", ROW_NUMBER, AT(limit_share) },
};
BLOCK(limit_block, limit_fields, ROW_IF_STRING, AT(limit_vs));
BLOCK(metrics_block, metrics_fields, ROW_IF_TRUE, AT(has_metrics));
BLOCK(fidelity_block, fidelity_fields, ROW_IF_STRING, AT(fidelity_status));
BLOCK(ratio_block, ratio_fields, ROW_IF_STRING, AT(ratio_vs));
BLOCK(failure_block, failure_fields, ROW_IF_STRING, AT(failure_reason));
BLOCK(paired_block, paired_fields, ROW_IF_STRING, AT(paired_vs));

/* The keys of version 1 in their order up to schema_version, then the additive ones. */
static const row_field row_fields[] = {
    { "run_id", ROW_NEEDED_STRING, AT(run_id) },
    { "case", ROW_NEEDED_STRING, AT(case_name) },
    { "baseline", ROW_NEEDED_STRING, AT(baseline) },
    { "platform", ROW_NEEDED_STRING, AT(platform) },
    { "framework", ROW_NEEDED_STRING, AT(framework) },
    { "param_point", ROW_POINT, AT(point_json) },
    { "status", ROW_NEEDED_STRING, AT(status) },
    { "metrics", ROW_BLOCK, 0, NULL, &metrics_block },
    { "fidelity", ROW_BLOCK, 0, NULL, &fidelity_block },
    { "ratio", ROW_BLOCK, 0, NULL, &ratio_block },
    { "failure_detail", ROW_BLOCK, 0, NULL, &failure_block },
    { "provenance", ROW_PROVENANCE, AT(provenance) },
    { "schema_version", ROW_VERSION },
    { "variant", ROW_STRING, AT(variant) },
    { "strongest", ROW_BOOL, AT(strongest) },
    { "point_label", ROW_STRING, AT(point_label) },
    { "machine", ROW_STRING, AT(machine) },
    { "representative", ROW_BOOL, AT(representative) },
    { "ratio_paired", ROW_BLOCK, 0, NULL, &paired_block },
    ADDED("caches", ROW_STRING, caches),
    ADDED("role", ROW_STRING, role),
    ADDED_BLOCK("limit", limit_block),
};
const row_block cbx__row_table = { row_fields, CBX_LEN(row_fields), ROW_ALWAYS, 0 };

/* --- the typed view: absent everywhere --- */

void cbx__row_block_init(void *base, const row_block *block)
{
    for (size_t i = 0; i < block->nfields; i++) {
        const row_field *f = &block->fields[i];
        if (f->kind == ROW_NUMBER || f->kind == ROW_MAYBE_NUMBER) ROW_AT(double, base, f->offset) = NAN;
        if (f->kind == ROW_BLOCK) cbx__row_block_init(base, f->block); /* a list has no elements yet */
    }
}

void cbx_row_init(cbx_row *row)
{
    memset(row, 0, sizeof *row);
    cbx__row_block_init(row, &cbx__row_table);
    row->steady.value = row->compile.over.value = row->gflop.value = row->gbyte.value = row->roofline.value = NAN;
    row->gflop.level = row->gbyte.level = row->roofline.level = NAN;
    row->strongest = true;
}
