/* Random streams: known answers, and that the draws have the distribution they claim. */
#include "check.h"

#include <math.h>
#include <stdbool.h>

#include "calibrax/base/rng.h"

#define SEED 20260220u

TEST(threefry_known_answers)
{
    /* Random123, tests/kat_vectors: threefry2x32 20 */
    static const struct {
        uint32_t counter[2], key[2], wanted[2];
        const char *why;
    } cases[] = {
        { { 0, 0 }, { 0, 0 }, { 0x6b200159, 0x99ba4efe }, "all zero" },
        { { ~0u, ~0u }, { ~0u, ~0u }, { 0x1cb996fc, 0xbb002be7 }, "all ones" },
        { { 0x243f6a88, 0x85a308d3 }, { 0x13198a2e, 0x03707344 }, { 0xc4923a9c, 0x483df7a0 }, "digits of pi" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        uint32_t out[2];
        cbx_threefry2x32(cases[i].key, cases[i].counter, out);
        CHECK(out[0] == cases[i].wanted[0] && out[1] == cases[i].wanted[1], cases[i].why);
    }
}

TEST(element_i_without_the_ones_before)
{
    cbx_rng a = cbx_rng_make(SEED, 7), b = cbx_rng_make(SEED, 7);
    uint64_t x = 0;
    for (int i = 0; i <= 1000; i++) x = cbx_rng_u64(&a);
    b.counter = 1000;
    CHECK(cbx_rng_u64(&b) == x, "the counter is the position");
    b.counter = UINT64_MAX;
    cbx_rng_u64(&b);
    CHECK_INT(b.counter, 0, "wraps");
}

TEST(streams_and_seeds_differ)
{
    cbx_rng a = cbx_rng_make(SEED, 0), b = cbx_rng_make(SEED, 1), c = cbx_rng_make(SEED + 1, 0),
            d = cbx_rng_make(SEED, (uint64_t)1 << 32);
    uint64_t first[] = { cbx_rng_u64(&a), cbx_rng_u64(&b), cbx_rng_u64(&c), cbx_rng_u64(&d) };
    for (size_t i = 0; i < CBX_LEN(first); i++)
        for (size_t j = 0; j < i; j++) CHECK(first[i] != first[j], "seed and stream both count, in all 64 bits");
}

/* Mean of n draws is within 5 standard errors, and so is the mean of squares: both fail by chance
 * once in a million. */
TEST(moments)
{
    const int n = 100000;
    cbx_rng r = cbx_rng_make(SEED, 1);
    double u = 0, uu = 0, z = 0, zz = 0, zzzz = 0;
    for (int i = 0; i < n; i++) {
        double x = cbx_rng_uniform(&r), y = cbx_rng_normal(&r);
        CHECK(x >= 0 && x < 1, "in [0, 1)");
        CHECK(isfinite(y), "finite");
        u += x, uu += x * x;
        z += y, zz += y * y, zzzz += y * y * y * y;
    }
    CHECK_LE(fabs(u / n - 0.5), 5 * sqrt(1.0 / 12 / n), "mean of the uniform is 1/2, variance 1/12");
    CHECK_LE(fabs(uu / n - 1.0 / 3), 5 * sqrt(4.0 / 45 / n), "mean square is 1/3, its variance 4/45");
    CHECK_LE(fabs(z / n), 5 * sqrt(1.0 / n), "mean of the normal is 0");
    CHECK_LE(fabs(zz / n - 1), 5 * sqrt(2.0 / n), "variance is 1, that of squares 2");
    CHECK_LE(fabs(zzzz / n - 3), 5 * sqrt(96.0 / n), "fourth moment is 3, its variance 96");
}

/* Chi-square over the cells of 0..m-1 against the 1 - 1e-6 quantile, by Wilson & Hilferty, PNAS 17
 * (1931) 684-688. */
static double chi_square_over_limit(uint64_t (*draw)(cbx_rng *, uint64_t), uint64_t m)
{
    double count[64] = { 0 }, chi2 = 0, n = 64000, k = (double)m - 1;
    cbx_rng r = cbx_rng_make(SEED, m);
    for (int i = 0; i < n; i++) {
        uint64_t x = draw(&r, m);
        CHECK(x < m, "below");
        count[x]++;
    }
    for (uint64_t i = 0; i < m; i++) chi2 += (count[i] - n / (double)m) * (count[i] - n / (double)m) / (n / (double)m);
    double cube_root = 1 - 2 / (9 * k) + 4.753 * sqrt(2 / (9 * k));
    return chi2 / (k * cube_root * cube_root * cube_root);
}

static uint64_t draw_biased(cbx_rng *r, uint64_t m) { return (cbx_rng_u64(r) & 127) % m; }

TEST(below_is_uniform)
{
    static const uint64_t ms[] = { 2, 3, 7, 10, 64 };
    for (size_t i = 0; i < CBX_LEN(ms); i++) CHECK_LE(chi_square_over_limit(cbx_rng_below, ms[i]), 1, "chi-square");
    CHECK_GT(chi_square_over_limit(draw_biased, 10), 1, "the check sees a remainder's bias");
    cbx_rng r = cbx_rng_make(SEED, 0);
    CHECK_INT(cbx_rng_below(&r, 1), 0, "only one choice");
    /* 2^63 + 1 is rejected every other time: a biased draw would never reach the middle evenly */
    int upper = 0;
    const uint64_t m = ((uint64_t)1 << 63) + 1;
    for (int i = 0; i < 10000; i++) upper += cbx_rng_below(&r, m) >= m / 2;
    CHECK_LE(fabs(upper - 5000.0), 5 * 50, "halves are even");
}

TEST(permutations)
{
    static const size_t sizes[] = { 0, 1, 2, 3, 100 };
    size_t out[100];
    cbx_rng r = cbx_rng_make(SEED, 3);
    for (size_t s = 0; s < CBX_LEN(sizes); s++) {
        bool seen[100] = { false };
        cbx_rng_permutation(&r, sizes[s], out);
        for (size_t i = 0; i < sizes[s]; i++) {
            CHECK(out[i] < sizes[s] && !seen[out[i]], "each once");
            seen[out[i]] = true;
        }
    }
    /* all six orders of three, evenly: 6000 draws, 1000 each, standard deviation 29 */
    int count[27] = { 0 };
    for (int i = 0; i < 6000; i++) {
        cbx_rng_permutation(&r, 3, out);
        count[9 * out[0] + 3 * out[1] + out[2]]++;
    }
    for (int i = 0; i < 27; i++) CHECK(count[i] == 0 || (count[i] > 850 && count[i] < 1150), "even");
}

TESTS()
