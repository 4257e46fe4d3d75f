/* Order of launches, layout factors. */
#include "check.h"

#include "calibrax/perf/sweep/order.h"

enum { MAX_N = 9 };

/* A block as rows; `cyclic` gives the plain Latin square instead, which is balanced in place but
 * not in carry-over. */
static void deal(uint64_t seed, size_t n, size_t block, bool cyclic, size_t rows[][MAX_N])
{
    size_t scratch[MAX_N], count = cbx__schedule_block(n);
    for (size_t r = 0; r < count; r++) {
        cbx__schedule_order(seed, n, block * count + r, scratch, rows[r]);
        for (size_t p = 0; p < n && cyclic; p++) rows[r][p] = (p + r) % n;
    }
}

/* Every row a permutation, every treatment equally often in every place. */
static bool balanced_in_place(size_t n, size_t rows[][MAX_N])
{
    size_t count = cbx__schedule_block(n);
    for (size_t t = 0; t < n; t++) {
        for (size_t p = 0; p < n; p++) {
            size_t seen = 0;
            for (size_t r = 0; r < count; r++) seen += rows[r][p] == t;
            if (seen != count / n) return false;
        }
    }
    return true;
}

/* Every treatment follows every other one equally often within rows (Williams 1949). */
static bool balanced_in_carry_over(size_t n, size_t rows[][MAX_N])
{
    size_t count = cbx__schedule_block(n);
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b < n; b++) {
            size_t seen = 0;
            for (size_t r = 0; r < count; r++) {
                for (size_t p = 0; p + 1 < n; p++) seen += rows[r][p] == a && rows[r][p + 1] == b;
            }
            if (seen != (a == b ? 0 : count / n)) return false;
        }
    }
    return true;
}

TEST(williams_squares)
{
    for (size_t n = 2; n <= MAX_N; n++) {
        size_t rows[2 * MAX_N][MAX_N];
        for (size_t block = 0; block < 3; block++) {
            deal(1, n, block, false, rows);
            CHECK(balanced_in_place(n, rows), "each treatment once in each place");
            CHECK(balanced_in_carry_over(n, rows), "each pair equally often");
        }
        deal(1, n, 0, true, rows);
        if (n > 2) CHECK(!balanced_in_carry_over(n, rows), "the check sees a plain Latin square");
    }
}

TEST(pairs_are_mirrored)
{
    for (size_t n = 2; n <= MAX_N; n++) {
        size_t a[MAX_N], b[MAX_N], scratch[MAX_N];
        for (size_t round = 0; round < 4 * n; round += 2) {
            cbx__schedule_order(7, n, round, scratch, a);
            cbx__schedule_order(7, n, round + 1, scratch, b);
            for (size_t p = 0; p < n; p++) CHECK_INT(b[p], a[n - 1 - p], "A B, then B A: a linear drift cancels");
        }
    }
}

TEST(start_is_random)
{
    size_t scratch[2], order[2], first = 0;
    for (size_t block = 0; block < 200; block++) {
        cbx__schedule_order(3, 2, 2 * block, scratch, order);
        first += order[0] == 0;
    }
    /* Bin(200, 1/2) lies in 60..140 but for a chance below 1e-7 */
    CHECK(first > 60 && first < 140, "either begins a block as often");
    cbx__schedule_order(3, 1, 5, scratch, order);
    CHECK_INT(order[0], 0, "one attempt has one order");
}

TEST(layouts)
{
    size_t most_env = 0, most_heap = 0;
    for (uint64_t i = 0; i < 500; i++) {
        cbx__layout l = cbx__layout_draw(1, cbx__stream_of(1, 2, i)),
                    same = cbx__layout_draw(1, cbx__stream_of(1, 2, i));
        CHECK(l.env_pad_bytes < 4096 && l.stack_pad_bytes < 65536 && l.heap_pad_bytes < 1 << 20, "within their ranges");
        CHECK(l.env_pad_bytes == same.env_pad_bytes && l.heap_pad_bytes == same.heap_pad_bytes,
              "the same again for the same seed");
        if (l.env_pad_bytes > most_env) most_env = l.env_pad_bytes;
        if (l.heap_pad_bytes > most_heap) most_heap = l.heap_pad_bytes;
    }
    CHECK_GT(most_env, 3900, "the range is used");
    CHECK_GT(most_heap, 1000000, "the range is used");
    CHECK(cbx__stream_of(1, 2, 3) != cbx__stream_of(2, 1, 3) && cbx__stream_of(1, 2, 3) != cbx__stream_of(1, 3, 2),
          "streams differ");
}

/*
 * Pads of launches as the sweep draws them: each eighth of a page as often (chi-square of 7 degrees
 * of freedom, 24.3 at 0.1 %), and nothing to do with the place in the round or with the pads of the
 * other attempts of the round.
 */
static double chi_square(const size_t *seen, size_t bins, size_t n)
{
    double expected = (double)n / (double)bins, sum = 0;
    for (size_t i = 0; i < bins; i++) sum += ((double)seen[i] - expected) * ((double)seen[i] - expected) / expected;
    return sum;
}

TEST(layouts_are_balanced)
{
    enum { ROUNDS = 2000, ATTEMPTS = 3, BINS = 8 };
    size_t heap[BINS] = { 0 }, stack[BINS] = { 0 }, env[BINS] = { 0 }, pairs[16] = { 0 },
           by_place[ATTEMPTS][4] = { { 0 } };
    for (size_t round = 0; round < ROUNDS; round++) {
        size_t scratch[ATTEMPTS], order[ATTEMPTS], quarter[ATTEMPTS];
        cbx__schedule_order(5, ATTEMPTS, round, scratch, order);
        for (size_t place = 0; place < ATTEMPTS; place++) {
            cbx__layout l = cbx__layout_draw(5, cbx__stream_of(77, order[place], 4 * round));
            heap[l.heap_pad_bytes % 4096 / 512]++;
            stack[l.stack_pad_bytes % 4096 / 512]++;
            env[l.env_pad_bytes / 512]++;
            quarter[order[place]] = l.heap_pad_bytes % 4096 / 1024;
            by_place[place][quarter[order[place]]]++;
        }
        pairs[4 * quarter[0] + quarter[1]]++;
    }
    CHECK_LE(chi_square(heap, BINS, ROUNDS * ATTEMPTS), 24.3, "heap");
    CHECK_LE(chi_square(stack, BINS, ROUNDS * ATTEMPTS), 24.3, "stack");
    CHECK_LE(chi_square(env, BINS, ROUNDS * ATTEMPTS), 24.3, "environment");
    CHECK_LE(chi_square(pairs, 16, ROUNDS), 37.7, "pads of two attempts of a round are independent");
    for (size_t place = 0; place < ATTEMPTS; place++)
        CHECK_LE(chi_square(by_place[place], 4, ROUNDS), 16.3, "no place in the round has pads of its own");
    heap[0] += 400;
    CHECK_GT(chi_square(heap, BINS, ROUNDS * ATTEMPTS + 400), 24.3,
             "the count sees a page that starts too often at its beginning");
}

/* A linear drift moves the sums of all attempts alike over each mirrored pair of rounds, so that no
 * paired median sees it. */
TEST(drift_cancels)
{
    for (size_t n = 2; n <= MAX_N; n++) {
        double time[MAX_N] = { 0 };
        for (size_t round = 0; round < 2 * n; round++) {
            size_t scratch[MAX_N], order[MAX_N];
            cbx__schedule_order(9, n, round, scratch, order);
            for (size_t place = 0; place < n; place++) time[order[place]] += (double)(round * n + place);
        }
        for (size_t t = 1; t < n; t++) CHECK(time[t] == time[0], "as late as the others, on average");
    }
}

TEST(placement_is_known)
{
    int random_layout = cbx__layout_is_random();
    CHECK(random_layout >= -1 && random_layout <= 1, "yes, no, or unknown");
}

TESTS()
