/* Roofs of a machine, and the position of a kernel below them. */
#include "calibrax/profiling/roofline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

cbx_status cbx_roofs_of_probe(const cbx_probe *p, bool is_f64, int cores, cbx_roofs *out, cbx_err *err)
{
    cbx_roofs r = { .measured = true };

    if (cores < 1) return cbx_fail(err, CBX_EINVAL, "'cores' must be at least 1, got %d", cores);
    if (p->nlevels < 1 || p->nlevels > CBX_PROBE_MAX_LEVELS)
        return cbx_fail(err, CBX_EINVAL, "the probe has %d levels: measure it first", p->nlevels);
    /* an add or a max alone may issue as fast as a multiply-add, never faster: 2 flop each */
    r.flop_per_s = 2 * p->pipe_ops_per_s[CBX_PIPE_FMA][is_f64] * cores;
    for (int i = 0; i < p->nlevels; i++) {
        const cbx_level_rate *l = &p->level[i];
        cbx_roof_level *to = &r.level[r.nlevels++];
        memcpy(to->name, l->name, sizeof to->name);
        to->bytes = l->bytes ? (double)l->bytes : INFINITY;
        to->bytes_per_s = fmax(l->read_bytes_per_s, l->copy_bytes_per_s) * cores;
    }
    *out = r;
    return CBX_OK;
}

static const char *const types[] = { "float64", "float32", "float16", "bfloat16", "int8" };

const char *cbx_roofs_type_at(size_t i) { return i < CBX_LEN(types) ? types[i] : NULL; }

cbx_status cbx_roofs_of_type(const cbx_probe *p, const char *type, int cores, cbx_roofs *out, cbx_err *err)
{
    if (!strcmp(type, "float64") || !strcmp(type, "float32"))
        return cbx_roofs_of_probe(p, type[5] == '6', cores, out, err);
    /* The best of the units for a narrow type; 0 and a reason: none. */
    double rate = 0;
    const char *why = NULL;
    for (int n = 0; n < CBX_NARROW_COUNT; n++) {
        if (strcmp(cbx_narrow_type((cbx_narrow)n), type) != 0) continue;
        rate = fmax(rate, p->narrow[n].ops_per_s);
        if (!why) why = p->narrow[n].why; /* of vectors, which come first */
    }
    if (!why)
        return cbx_fail(err, CBX_EINVAL, "no roofs of '%s': use float64, float32, float16, bfloat16 or int8", type);
    if (!(rate > 0)) return cbx_fail(err, CBX_EUNAVAILABLE, "no roof of '%s': %s", type, *why ? why : "not measured");
    cbx_status st = cbx_roofs_of_probe(p, false, cores, out, err);
    if (!st) out->flop_per_s = rate * cores;
    return st;
}

cbx_status cbx_roofs_of_hardware(const cbx_hardware *h, cbx_rate rate, cbx_roofs *out, cbx_err *err)
{
    if ((unsigned)rate >= CBX_RATE_COUNT || isnan(h->flop_per_s[rate]) || isnan(h->bytes_per_s))
        return cbx_fail(err, CBX_EUNAVAILABLE,
                        "the data sheet of '%s' lacks %s or its bandwidth: measure the roofs instead", h->name,
                        cbx_rate_name(rate));
    *out = (cbx_roofs){ h->flop_per_s[rate], { { "memory", INFINITY, h->bytes_per_s } }, 1, false };
    return CBX_OK;
}

static bool is_amount(double v) { return isfinite(v) && v >= 0; }

cbx_status cbx_roofline_place(const cbx_roofs *roofs, double flop, double bytes, double seconds,
                              double working_set_bytes, cbx_roofline *out, cbx_err *err)
{
    cbx_roofline r;

    if (!is_amount(flop) || !is_amount(bytes) || !is_amount(working_set_bytes) || flop + bytes == 0)
        return cbx_fail(err, CBX_EDOM,
                        "flop is %g, bytes %g, working set %g: each must be at least 0, and flop or bytes above 0",
                        flop, bytes, working_set_bytes);
    if (!(seconds > 0) || !isfinite(seconds))
        return cbx_fail(err, CBX_EDOM, "seconds is %g: must be more than 0", seconds);
    r.level = roofs->level;
    while (r.level + 1 < roofs->level + roofs->nlevels && r.level->bytes < working_set_bytes) r.level++;
    r.intensity = bytes > 0 ? flop / bytes : INFINITY;
    r.ridge = roofs->flop_per_s / r.level->bytes_per_s;
    r.bound = r.intensity < r.ridge ? CBX_BOUND_MEMORY : CBX_BOUND_COMPUTE;
    r.attainable_flop_per_s = fmin(roofs->flop_per_s, r.intensity * r.level->bytes_per_s);
    r.flop_per_s = flop / seconds;
    r.bytes_per_s = bytes / seconds;
    r.flop_share = r.flop_per_s / roofs->flop_per_s;
    r.bytes_share = r.bytes_per_s / r.level->bytes_per_s;
    r.efficiency = fmax(r.flop_share, r.bytes_share);
    r.beyond_roof = r.efficiency > 1 + CBX_ROOFLINE_TOLERANCE;
    *out = r;
    return CBX_OK;
}

/* --- what to try --- */

#define LOW      0.2
#define MODERATE 0.5

double cbx_roofline_alignment(size_t last_axis)
{
    static const struct {
        size_t step;
        double score;
    } steps[] = { { 128, 1 }, { 32, 0.8 }, { 8, 0.5 }, { 1, 0.2 } };

    if (last_axis == 0) return NAN;
    for (size_t i = 0; i < CBX_LEN(steps); i++)
        if (last_axis % steps[i].step == 0) return steps[i].score;
    return NAN;
}

/* At most three of them at a time. */
#define ADD_HINT(h, ...) snprintf((h)->hint[(h)->n++], sizeof(h)->hint[0], __VA_ARGS__)

void cbx_roofline_advise(const cbx_roofline *r, size_t last_axis, cbx_roofline_hints *out)
{
    double score = cbx_roofline_alignment(last_axis);

    out->n = 0;
    if (r->beyond_roof) {
        ADD_HINT(out,
                 "%.0f %% of the roof is more than there is: correct the operations, the bytes, or the number of cores",
                 100 * r->efficiency);
        return;
    }
    if (r->bound == CBX_BOUND_MEMORY) {
        if (r->efficiency < LOW)
            ADD_HINT(
                out,
                "%.0f %% of the bandwidth of %s is low: go through memory in order, use all of each line, and look for "
                "waits (branches, calls, dependent loads)",
                100 * r->efficiency, r->level->name);
        else if (r->efficiency < MODERATE)
            ADD_HINT(out,
                     "%.0f %% of the bandwidth of %s is moderate: more loads under way at a time (unrolling, prefetch) "
                     "may help",
                     100 * r->efficiency, r->level->name);
        if (r->intensity < 0.5 * r->ridge)
            ADD_HINT(out, "each byte of %s carries %.2g operations where %.2g would balance: fuse passes%s",
                     r->level->name, r->intensity, r->ridge,
                     strcmp(r->level->name, "L1") != 0 ? ", or work in blocks that stay in a nearer level" : "");
    } else {
        if (r->efficiency < LOW)
            ADD_HINT(
                out,
                "%.0f %% of the arithmetic is low: see that the inner loop is made of vectors, with several sums of "
                "its own",
                100 * r->efficiency);
        else if (r->efficiency < MODERATE)
            ADD_HINT(out,
                     "%.0f %% of the arithmetic is moderate: more independent sums, multiply-adds, or a narrower type "
                     "may help",
                     100 * r->efficiency);
    }
    if (score < 1)
        ADD_HINT(out, "rows of %zu elements fill vectors and tiles in part (score %.1f): a multiple of 128 fills them",
                 last_axis, score);
}
