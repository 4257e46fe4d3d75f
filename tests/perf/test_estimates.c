/* What the launches of an attempt say beside their median, when memory runs out at any moment: an
 * error, never a row that lacks something. */
#include "check.h"
#include "fail_alloc.h"
#include "toy_case.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/perf/sweep/estimates.h"

#define LAUNCHES 30

/* Two modes, a warm-up now and then, energy, errors, compile times: everything there is to say. */
static void make_launches(cbx__launch *l, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cbx_launch_record *r = &l[i].record;
        l[i] = (cbx__launch){ .round = i, .median_s = 1e-4 * (i % 5 ? 1 : 1.5) * (1 + 1e-3 * (double)(i * 7 % 11)) };
        l[i].steady = i % 3 ? CBX_STEADY_FLAT : CBX_STEADY_WARMUP;
        l[i].steady_from = i % 3 ? 0 : 2;
        l[i].layout = (cbx__layout){ .env_pad_bytes = i * 997 % 4096,
                                     .stack_pad_bytes = i * 1360,
                                     .heap_pad_bytes = i * 4000 };
        l[i].next = i + 1 < n ? &l[i + 1] : NULL;
        r->epochs = 10;
        r->compile_ns = 5e6 + (double)i;
        r->first_call_ns = 6e6;
        r->hwm_increase_bytes = 1e6 * (double)(1 + i);
        r->device_peak_bytes = 2e6;
        r->call_overhead_ns = 3;
        r->energy_call_j = 0.25;
        r->power_w = 10;
        r->fidelity = (cbx_fidelity){ .checked = true, .ok = true, .rel_to_tol = 0.5 };
    }
}

static cbx__attempt attempt_of(cbx__launch *l, size_t n, double *warm)
{
    return (cbx__attempt){ .baseline = cbx_case_baseline(&toy_case, "good"),
                           .platform = "cpu",
                           .variant = "default",
                           .first = l,
                           .last = &l[n - 1],
                           .nlaunches = n,
                           .warm_ns = warm,
                           .nwarm = 7 };
}

typedef struct told {
    double compile, warm, energy, error, detectable, layout;
    size_t modes, dropped;
} told;

static cbx_status estimate(cbx_ctx *ctx, void *user)
{
    double warm[7] = { 1e5, 2e5, 3e5, 4e5, 5e5, 6e5, 7e5 };
    cbx__launch *l = calloc(LAUNCHES, sizeof *l);
    cbx_row row = { .rel_to_tol = 0.5 };
    told *out = user;
    cbx_json *shares;
    cbx_arena arena;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    CHECK(l != NULL, "launches");
    make_launches(l, LAUNCHES);
    cbx__attempt a = attempt_of(l, LAUNCHES, warm);
    cbx_row_metric *const unknown[] = { &row.compile, &row.compile_warm, &row.first_call,    &row.memory,
                                        &row.error,   &row.energy,       &row.device_memory, &row.call_overhead };
    for (size_t i = 0; i < CBX_LEN(unknown); i++) unknown[i]->over.value = NAN;
    row.detectable.relative = NAN;
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    st = cbx__estimates_put(ctx, &arena, &a, &row, &err);
    if (!st) st = cbx__estimates_put_error(ctx, &arena, &a, &row, &err);
    shares = st ? NULL : cbx__estimates_layout(&arena, &a);
    if (!st && !shares) st = CBX_ENOMEM;
    if (!st && out)
        *out = (told){ row.compile.over.value,
                       row.compile_warm.over.value,
                       row.energy.over.value,
                       row.error.over.value,
                       row.detectable.relative,
                       cbx_json_get_double(shares, "heap", -1),
                       row.nmodes,
                       row.steady_state.dropped };
    if (st) CHECK(st != CBX_ENOMEM || !err.message[0] || strstr(err.message, "memory"), err.message);
    cbx_json_unref(shares);
    cbx_arena_clear(&arena);
    free(l);
    return st;
}

TEST(everything_is_said)
{
    cbx_ctx *ctx = cbx_test_context();
    told t = { 0 };
    CHECK_INT(estimate(ctx, &t), CBX_OK, "estimates");
    CHECK(fabs(t.compile - (5e-3 + 14.5e-9)) < 1e-15, "median of 5 ms and some ns");
    CHECK(fabs(t.warm - 4e-4) < 1e-15, "the middle one of seven");
    CHECK(t.energy == 0.25 && t.error == 0.5, "what all launches agree on");
    CHECK_INT(t.modes, 2, "two groups half as far apart again");
    CHECK_INT(t.dropped, 2 * LAUNCHES / 3, "two epochs of each third launch");
    CHECK(t.detectable > 0 && t.detectable < 1, "the least effect");
    CHECK(t.layout >= 0 && t.layout <= 1, "a share of the variance");
    cbx_ctx_free(ctx);
}

TEST(every_allocation_can_fail)
{
    CHECK_GT(cbx_test_fail_each(estimate, NULL, "estimates"), 10, "medians, modes, metrics, the simulation");
}

TESTS()
