/* Sorting and selecting of every instruction set of this machine against the C library's qsort;
 * ranks against a whole sort. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/kernels/search.h"
#define ISA_NAME plain
#define ISA_FILE "calibrax/array/kernels/isa/plain.h"
#include "calibrax/array/kernels/sort_isa.c" /* the plain body itself: its last resort is reached from here only */
#include "calibrax/array/ops.h"
#include "calibrax/base/rng.h"

#define MAX 70000

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

typedef uint64_t pattern(cbx_rng *r, size_t i, size_t n);

static uint64_t random_key(cbx_rng *r, size_t i, size_t n) { return (void)i, (void)n, cbx_rng_u64(r); }
static uint64_t few_values(cbx_rng *r, size_t i, size_t n) { return (void)i, (void)n, cbx_rng_u64(r) % 7; }
static uint64_t one_value(cbx_rng *r, size_t i, size_t n) { return (void)r, (void)i, (void)n, 5; }
static uint64_t all_highest(cbx_rng *r, size_t i, size_t n) { return (void)r, (void)i, (void)n, UINT64_MAX; }
static uint64_t rising(cbx_rng *r, size_t i, size_t n) { return (void)r, (void)n, i; }
static uint64_t falling(cbx_rng *r, size_t i, size_t n) { return (void)r, n - i; }
static uint64_t both_ways(cbx_rng *r, size_t i, size_t n) { return (void)r, i < n / 2 ? i : n - i; }
static uint64_t steps(cbx_rng *r, size_t i, size_t n) { return (void)r, (void)n, i / 100; }
static uint64_t ends_only(cbx_rng *r, size_t i, size_t n)
{
    return (void)i, (void)n, cbx_rng_u64(r) % 2 ? UINT64_MAX : 0;
}

static const struct {
    pattern *key;
    const char *why;
} patterns[] = {
    { random_key, "random" },   { few_values, "few values" }, { one_value, "one value" },
    { all_highest, "highest" }, { rising, "rising" },         { falling, "falling" },
    { both_ways, "both ways" }, { steps, "steps" },           { ends_only, "least and highest" },
};

static const size_t lengths[] = { 0,  1,   2,   7,   8,   9,   24,  25,  63,   64,   65,   72,
                                  96, 127, 128, 129, 135, 192, 193, 500, 2047, 2048, 9999, MAX };

TEST(keys_are_sorted)
{
    static uint64_t a[MAX], wanted[MAX], work[MAX];
    cbx_rng r = cbx_rng_make(3, 0);

    for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
        if (!cbx_isa_available((cbx_isa)isa)) continue;
        const cbx__sort *k = cbx__sort_get((cbx_isa)isa);
        for (size_t p = 0; p < CBX_LEN(patterns); p++)
            for (size_t l = 0; l < CBX_LEN(lengths); l++) {
                const size_t n = lengths[l];
                for (size_t i = 0; i < n; i++) a[i] = wanted[i] = patterns[p].key(&r, i, n);
                qsort(wanted, n, sizeof *wanted, by_value);
                CHECK_LE((double)k->work(n), (double)n, "work is a word a key at most");
                k->sort(CBX_U64, false, n, a, work);
                CHECK(memcmp(a, wanted, n * sizeof *a) == 0, patterns[p].why);
            }
    }
}

static int by_value_32(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

TEST(keys_of_32_bits_are_sorted)
{
    static uint32_t a[MAX], wanted[MAX], work[MAX];
    cbx_rng r = cbx_rng_make(6, 0);

    for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
        if (!cbx_isa_available((cbx_isa)isa)) continue;
        const cbx__sort *k = cbx__sort_get((cbx_isa)isa);
        for (size_t p = 0; p < CBX_LEN(patterns); p++)
            for (size_t l = 0; l < CBX_LEN(lengths) + 600;
                 l++) { /* each length up to more than what is sorted by a network */
                const size_t n = l < 600 ? l : lengths[l - 600];
                for (size_t i = 0; i < n; i++) a[i] = wanted[i] = (uint32_t)patterns[p].key(&r, i, n);
                qsort(wanted, n, sizeof *wanted, by_value_32);
                k->sort_32(CBX_U32, false, n, a, work);
                CHECK(memcmp(a, wanted, n * sizeof *a) == 0, patterns[p].why);
            }
    }
}

TEST(ranks_are_selected)
{
    static uint64_t a[MAX], sorted[MAX], work[MAX];
    cbx_rng r = cbx_rng_make(4, 0);

    for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
        if (!cbx_isa_available((cbx_isa)isa)) continue;
        const cbx__sort *k = cbx__sort_get((cbx_isa)isa);
        for (size_t p = 0; p < CBX_LEN(patterns); p++)
            for (size_t l = 1; l < CBX_LEN(lengths); l++) {
                const size_t n = lengths[l], low = cbx_rng_below(&r, n);
                const size_t rank[6] = { 0, low / 2, low, low, low + 1 < n ? low + 1 : low, n - 1 };
                uint64_t got[6];
                for (size_t i = 0; i < n; i++) a[i] = sorted[i] = patterns[p].key(&r, i, n);
                qsort(sorted, n, sizeof *sorted, by_value);
                for (size_t first = 0; first < 6; first++) {
                    k->select(a, n, 6 - first, rank + first, got, work);
                    for (size_t i = first; i < 6; i++) CHECK(got[i - first] == sorted[rank[i]], patterns[p].why);
                }
            }
    }
}

typedef struct placed {
    uint64_t key, at;
} placed;

static int by_key_and_place(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : (x->at > y->at) - (x->at < y->at);
}

/* Keys that differ: in all bits, in the highest alone, in the lowest behind long runs of equal
 * high ones. */
static uint64_t high_bits(cbx_rng *r, size_t i, size_t n) { return (void)i, (void)n, cbx_rng_u64(r) << 50; }
static uint64_t runs_and_low_bits(cbx_rng *r, size_t i, size_t n)
{
    return (void)i, (void)n, cbx_rng_u64(r) % 3 << 62 | cbx_rng_u64(r) % 5;
}
static uint64_t near_doubles(cbx_rng *r, size_t i, size_t n)
{
    return (void)n, i % 2 ? UINT64_MAX - i % 1000 : cbx_rng_u64(r) >> 60;
}

TEST(places_are_stable)
{
    static pattern *const more[] = { high_bits, runs_and_low_bits, near_doubles };
    static uint64_t keys[MAX], at[MAX], work[MAX];
    static placed wanted[MAX];
    cbx_rng r = cbx_rng_make(8, 0);

    for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
        if (!cbx_isa_available((cbx_isa)isa)) continue;
        const cbx__sort *k = cbx__sort_get((cbx_isa)isa);
        for (size_t p = 0; p < CBX_LEN(patterns) + CBX_LEN(more); p++)
            for (size_t l = 1; l < CBX_LEN(lengths); l++) {
                const size_t n = lengths[l], other = p - CBX_LEN(patterns);
                pattern *key = p < CBX_LEN(patterns) ? patterns[p].key : more[other];
                for (size_t i = 0; i < n; i++) wanted[i] = (placed){ keys[i] = key(&r, i, n), i };
                qsort(wanted, n, sizeof *wanted, by_key_and_place);
                k->places(keys, n, at, work);
                for (size_t i = 0; i < n; i++)
                    if (at[i] != wanted[i].at) CHECK_INT(at[i], wanted[i].at, cbx_isa_name((cbx_isa)isa));
            }
    }
}

TEST(the_last_resort_sorts)
{
    static uint64_t a[9999], wanted[9999], work[9999];
    const size_t n = CBX_LEN(a), rank[2] = { 77, 5000 };
    cbx_rng r = cbx_rng_make(5, 0);
    job_64 j = { .wide = CBX_U64, .work = work };
    uint64_t got[2];

    for (size_t i = 0; i < n; i++) a[i] = wanted[i] = cbx_rng_u64(&r) % 4000;
    qsort(wanted, n, sizeof *wanted, by_value);
    select_range(a, 0, n, 2, rank, got, 1, &j);
    CHECK(got[0] == wanted[77] && got[1] == wanted[5000], "ranks after one level");
    sort_range_64(a, n, 1, &j);
    CHECK(memcmp(a, wanted, sizeof a) == 0, "sorted after one level");
}

TEST(elements_become_keys_and_return)
{
    static const double rising_f64[] = { -INFINITY, -1e300, -1, -0x1p-1074, -0.0, 0.0, 0x1p-1074, 1, INFINITY, NAN };
    static const int64_t rising_i64[] = { INT64_MIN, -1, 0, 1, INT64_MAX };
    enum { N = CBX_LEN(rising_f64), M = CBX_LEN(rising_i64) };
    uint64_t keys[N];

    for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
        if (!cbx_isa_available((cbx_isa)isa)) continue;
        const cbx__sort *k = cbx__sort_get((cbx_isa)isa);
        for (int down = 0; down < 2; down++) {
            k->keys(CBX_F64, down, false, N, rising_f64, keys);
            for (size_t i = 1; i < N; i++) CHECK(down ? keys[i] < keys[i - 1] : keys[i] > keys[i - 1], "float64");
            k->values(CBX_F64, down, N, keys);
            CHECK(memcmp(keys, rising_f64, (N - 1) * sizeof *keys) == 0, "and back, -0 too");
            CHECK(isnan(((const double *)keys)[N - 1]), "NaN");
            k->keys(CBX_I64, down, false, M, rising_i64, keys);
            for (size_t i = 1; i < M; i++) CHECK(down ? keys[i] < keys[i - 1] : keys[i] > keys[i - 1], "int64");
            k->values(CBX_I64, down, M, keys);
            CHECK(memcmp(keys, rising_i64, sizeof rising_i64) == 0, "and back");
        }
        k->keys(CBX_F64, false, false, 1, &(double){ -NAN }, keys);
        CHECK(keys[0] == UINT64_MAX, "a negative NaN sorts last, too");
        k->keys(CBX_F64, false, true, 2, (const double[]){ -0.0, 0.0 }, keys);
        CHECK(keys[0] == keys[1], "one key of both zeros");
    }
}

TEST(elements_of_32_bits_are_sorted)
{
    static const float rising_f32[] = { -INFINITY, -1e30f, -1, -0x1p-149f, -0.0f, 0.0f, 0x1p-149f, 1, INFINITY, NAN };
    static const int32_t rising_i32[] = { INT32_MIN, -1, 0, 1, INT32_MAX };
    enum { N = CBX_LEN(rising_f32), M = CBX_LEN(rising_i32) };
    uint32_t keys[N], work[N];

    for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
        if (!cbx_isa_available((cbx_isa)isa)) continue;
        const cbx__sort *k = cbx__sort_get((cbx_isa)isa);
        for (int down = 0; down < 2; down++) {
            float f[N], sorted[N];
            int32_t n[M];
            for (size_t i = 0; i < N; i++)
                f[i] = rising_f32[i * 3 % N]; /* in disorder: 3 and N have no common factor */
            k->keys_32(CBX_F32, down, false, N, f, keys);
            k->sort_32(CBX_F32, down, N, keys, work);
            memcpy(sorted, keys, sizeof sorted);
            for (size_t i = 0; i < N; i++) {
                const float want = rising_f32[down ? N - 1 - i : i];
                CHECK(isnan(want) ? isnan(sorted[i]) : memcmp(&sorted[i], &want, sizeof want) == 0, "float32");
            }
            for (size_t i = 0; i < M; i++) n[i] = rising_i32[i * 2 % M];
            k->keys_32(CBX_I32, down, false, M, n, keys);
            k->sort_32(CBX_I32, down, M, keys, work);
            for (size_t i = 0; i < M; i++) CHECK((int32_t)keys[i] == rising_i32[down ? M - 1 - i : i], "int32");
        }
    }
}

/* Elements of 1 and 2 bytes: sorted where there are few, counted where there are many. */
TEST(small_elements_are_sorted)
{
    static const cbx_dtype dtypes[] = { CBX_BOOL, CBX_I8, CBX_U8, CBX_I16, CBX_U16 };
    static const size_t counts[] = { 1, 15, 63, 64, 1000, 32767, 32768, MAX };
    static uint64_t a[MAX];
    static int64_t wide[MAX];
    cbx_ctx *c = cbx_test_context();
    cbx_rng r = cbx_rng_make(8, 0);

    for (size_t k = 0; k < CBX_LEN(counts) * CBX_LEN(patterns) * CBX_LEN(dtypes); k++) {
        const size_t n = counts[k / CBX_LEN(patterns) / CBX_LEN(dtypes)], p = k / CBX_LEN(dtypes) % CBX_LEN(patterns);
        const cbx_dtype t = dtypes[k % CBX_LEN(dtypes)];
        const int64_t least = t == CBX_I8 ? INT8_MIN : t == CBX_I16 ? INT16_MIN : 0;
        const uint64_t highest = t == CBX_BOOL ? 1 : cbx_dtype_size(t) == 1 ? UINT8_MAX : UINT16_MAX;
        const int down = (int)(k / 2 % 2);
        cbx_scope scope;
        for (size_t i = 0; i < n; i++) a[i] = patterns[p].key(&r, i, n) & highest;
        cbx_scope_open(c, &scope);
        cbx_array *x = cbx_add_scalar(
            c, cbx_astype(c, cbx_asarray(c, &(cbx_array_desc){ CBX_U64, 1, { n } }, a), CBX_I64), (double)least);
        x = cbx_astype(c, x, t);
        cbx_array *rows = cbx_stack(c, 2, (const cbx_array *const[]){ x, cbx_flip(c, x, 0) }, 1); /* with gaps */
        qsort(a, n, sizeof *a, by_value);
        for (int how = 0; how < 3; how++) {
            cbx_array *sorted = how == 0 ? cbx_sort(c, x, 0, down)
                                         : cbx_index(c, cbx_sort(c, rows, 0, down), 1, how - 1);
            CHECK_STATUS(cbx_array_read(cbx_copy(c, cbx_astype(c, sorted, CBX_I64)), wide, n * sizeof *wide, NULL),
                         CBX_OK, "sorted");
            for (size_t i = 0; i < n; i++)
                CHECK((uint64_t)(wide[i] - least) == a[down ? n - 1 - i : i], patterns[p].why);
        }
        CHECK_STATUS(cbx_scope_close(&scope, NULL), CBX_OK, cbx_dtype_name(t));
    }
    cbx_ctx_free(c);
}

TEST(edges_are_counted)
{
    static const size_t keys[] = { 1, 15, 16, 17, 100 };
    uint64_t edges[130], x[100];
    int64_t got[100];
    cbx_rng r = cbx_rng_make(7, 0);

    for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
        if (!cbx_isa_available((cbx_isa)isa)) continue;
        for (size_t n = 0; n <= CBX_LEN(edges); n++) {
            const size_t m = keys[n % CBX_LEN(keys)];
            for (size_t i = 0; i < n; i++) edges[i] = i % 40 ? 1 + cbx_rng_below(&r, 50) : i % 80 ? UINT64_MAX : 0;
            qsort(edges, n, sizeof *edges, by_value);
            for (size_t i = 0; i < m; i++) x[i] = i % 9 ? cbx_rng_below(&r, 53) : i % 2 ? UINT64_MAX : 0;
            for (int right = 0; right < 2; right++) {
                cbx__search_get((cbx_isa)isa)(edges, n, x, m, right, got);
                for (size_t i = 0; i < m; i++) {
                    int64_t below = 0;
                    for (size_t e = 0; e < n; e++) below += right ? edges[e] <= x[i] : edges[e] < x[i];
                    CHECK_INT(got[i], below, cbx_isa_name((cbx_isa)isa));
                }
            }
        }
    }
}

/* The primitive, along each axis, for all dtypes with an order. */
TEST(ranked_is_sort_at_ranks)
{
    const cbx_attrs ranks = { .ndim = 4, .shape = { 0, 2, 2, 4 } };
    cbx_ctx *c = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_rng r = cbx_rng_make(6, 0);
    double v[5][6][5];

    for (size_t i = 0; i < sizeof v / sizeof(double); i++)
        ((double *)v)[i] = i % 19 == 0 ? NAN : 200.0 * cbx_rng_uniform(&r) - 70.0;
    for (int t = 0; t < CBX_C64; t++)
        for (int axis = 0; axis < 3; axis += 2) {
            cbx_scope scope;
            cbx_attrs a = ranks;
            a.axis = axis;
            cbx_scope_open(c, &scope);
            const cbx_array *x = cbx_asarray(c, &(cbx_array_desc){ CBX_F64, 3, { 5, 6, 5 } }, v);
            x = cbx_astype(c, x, (cbx_dtype)t);
            const int64_t place[4] = { 0, 2, 2, 4 };
            const cbx_array *at = cbx_asarray(c, &(cbx_array_desc){ CBX_I64, 1, { 4 } }, place);
            const cbx_array *wanted = cbx_take(c, cbx_sort(c, x, axis, false), at, axis);
            const cbx_array *got = cbx_apply(c, CBX_PRIM_RANKED, 1, &x, &a);
            CHECK_STATUS(cbx_ctx_pending(c, &err), CBX_OK, err.message);
            CHECK(memcmp(cbx_array_data(got), cbx_array_data(wanted), cbx_array_bytes(wanted)) == 0,
                  cbx_dtype_name((cbx_dtype)t));
            a.shape[3] = 5;
            CHECK(cbx_array_is_failed(cbx_apply(c, CBX_PRIM_RANKED, 1, &x, &a)), "a rank outside");
            CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EINVAL, "is refused");
            CHECK(strstr(err.message, "rank 5 of 'ranked'") != NULL, err.message);
        }
    cbx_ctx_free(c);
}

TESTS(.seconds = 600)
