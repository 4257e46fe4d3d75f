/* Patterns of memory over time that are known, and calls that take, keep and give back what
 * is known. */
#include "check.h"

#include <math.h>
#include <sys/mman.h>

#include "calibrax/profiling/memory.h"

TEST(patterns)
{
    static const struct {
        double used[8];
        size_t n;
        double total, growth, rising;
        bool leaks, full, high;
        const char *why;
    } cases[] = {
        { { 100, 120, 140, 160 }, 4, 1000, 20, 1, true, false, false, "20 MiB a reading" },
        { { 100, 105, 110, 115 }, 4, 1000, 5, 1, false, false, false, "growth below the limit" },
        { { 500, 500, 500, 500, 500, 600 },
          6,
          10000,
          20,
          5.0 / 15,
          false,
          false,
          false,
          "a spike at the end is no leak" },
        { { 100, 200 }, 2, 1000, 100, 1, false, false, false, "two readings tell nothing" },
        { { 300, 200, 100 }, 3, 1000, -100, 0, false, false, false, "it shrinks" },
        { { 800, 950, 700 }, 3, 1000, -50, 1.0 / 3, false, true, false, "nearly full once" },
        { { 850, 850, 850 }, 3, 1000, 0, 0, false, false, true, "much of it all the time" },
        { { 850, 900, 950 }, 3, 1000, 50, 1, true, true, false, "both" },
        { { 850, 850, 850 }, 3, NAN, 0, 0, false, false, false, "of nobody knows how much" },
        { { 7 }, 1, 1000, NAN, NAN, false, false, false, "one reading" },
    };
    cbx_memory_pattern p;
    cbx_err err = CBX_ERR_INIT;
    for (size_t k = 0; k < CBX_LEN(cases); k++) {
        cbx_memory_reading r[8];
        for (size_t i = 0; i < cases[k].n; i++) r[i] = (cbx_memory_reading){ cases[k].used[i], cases[k].total };
        CHECK_OK(cbx_memory_pattern_of(r, cases[k].n, &p, &err), &err, cases[k].why);
        CHECK(isnan(cases[k].growth) ? isnan(p.growth_mb) : fabs(p.growth_mb - cases[k].growth) < 1e-9, cases[k].why);
        CHECK(isnan(cases[k].rising) ? isnan(p.rising) : fabs(p.rising - cases[k].rising) < 1e-9, cases[k].why);
        CHECK_INT(p.leaks, cases[k].leaks, cases[k].why);
        CHECK_INT(p.nearly_full, cases[k].full, cases[k].why);
        CHECK_INT(p.highly_used, cases[k].high, cases[k].why);
        CHECK_INT(p.nhints, cases[k].leaks + cases[k].full + cases[k].high, "a sentence each");
    }
    CHECK_STATUS(cbx_memory_pattern_of(NULL, 0, &p, &err), CBX_EINVAL, "nothing");
    CHECK_STATUS(cbx_memory_pattern_of(&(cbx_memory_reading){ NAN, 1 }, 1, &p, &err), CBX_EDOM, "no number");
}

TEST(many_readings)
{
    static cbx_memory_reading r[20000];
    cbx_memory_pattern p;
    cbx_err err = CBX_ERR_INIT;
    for (size_t i = 0; i < CBX_LEN(r); i++) r[i] = (cbx_memory_reading){ 11.0 * (double)i, NAN };
    CHECK_OK(cbx_memory_pattern_of(r, CBX_LEN(r), &p, &err), &err, "many");
    CHECK(p.leaks && p.rising == 1 && p.peak_mb == 11.0 * 19999, "all rise");
}

/* ---- calls ---- */

#define PART ((size_t)64 << 20)

static char *kept;

static char *take(void)
{
    char *p = mmap(NULL, PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    memset(p, 1, PART);
    return p;
}

static void gives_back(void *user)
{
    char *p = take();
    *(bool *)user = p != NULL;
    if (p) munmap(p, PART);
}

static void keeps(void *user)
{
    kept = take();
    *(bool *)user = kept != NULL;
}

static char first_touched[1 << 16]; /* zero pages until a call writes them */

static void touches_pages(void *user)
{
    memset(first_touched, 1, sizeof first_touched);
    *(bool *)user = true;
}

static void takes_nothing(void *user) { *(bool *)user = true; }

TEST(calls)
{
    static const struct {
        cbx_timed_fn f;
        double usage, retained; /* MiB, at least and at most */
        const char *why;
    } cases[] = {
        { gives_back, 64, 0, "a peak that is gone when the call returns" },
        { keeps, 64, 64, "a peak that stays" },
        { touches_pages, 0, 0, "a few pages that stay are no leak" },
        { takes_nothing, 0, 0, "nothing" },
    };
    cbx_ctx *ctx = cbx_test_context();
    cbx_memory_of_call m;
    cbx_err err = CBX_ERR_INIT;
    for (size_t k = 0; k < CBX_LEN(cases); k++) {
        bool ran = false;
        CHECK_OK(cbx_memory_measure(ctx, cases[k].f, &ran, &m, &err), &err, cases[k].why);
        CHECK(ran, "it had its memory");
        if (!m.peak_by_kernel && cases[k].f == gives_back) continue; /* looks may miss it */
        CHECK_LE(fabs(m.usage_mb - cases[k].usage), 8, cases[k].why);
        CHECK_LE(fabs(m.retained_mb - cases[k].retained), 8, cases[k].why);
        CHECK_LE(fabs(m.peak_mb - m.baseline_mb - m.usage_mb), 1e-6, cases[k].why);
        if (cases[k].usage > 0) CHECK_LE(fabs(m.freed - (1 - cases[k].retained / cases[k].usage)), 0.2, cases[k].why);
        if (cases[k].f == keeps) CHECK(m.nhints == 1 && strstr(m.hint[0], "retains"), "and says so");
        if (cases[k].usage == 0) CHECK_INT(m.nhints, 0, m.nhints ? m.hint[0] : cases[k].why);
    }
    munmap(kept, PART);
    CHECK_STATUS(cbx_memory_measure(ctx, NULL, NULL, &m, &err), CBX_EINVAL, "no function");
    cbx_ctx_free(ctx);
}

TESTS()
