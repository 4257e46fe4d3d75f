/*
 * The machine probe: its loops do what they are timed for, its rates stand in the relations that
 * hold on any machine, its bound is the roofline's, and its cache holds nothing that is damaged.
 * No absolute number is asked for.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/base/file.h"
#include "calibrax/base/version.h"
#include "calibrax/core/machine.h"
#include "calibrax/core/probe.h"
#include "calibrax/core/probe_internal.h"
#include "calibrax/core/probe_vec.h"
#include "fail_alloc.h"

static cbx_ctx *ctx;
static cbx_err err;

static int set_up(void **state)
{
    (void)state;
    return cbx_ctx_create(NULL, &ctx, &err) != CBX_OK;
}

static int tear_down(void **state)
{
    (void)state;
    cbx_ctx_free(ctx);
    return 0;
}

static size_t tables_of_this_machine(const cbx__probe_loops *tables[3])
{
    size_t n = 0;
    tables[n++] = &cbx__probe_loops_plain;
#if defined(__x86_64__)
    if (strcmp(cbx_machine_isa(), "plain") != 0) tables[n++] = &cbx__probe_loops_avx2;
    if (strcmp(cbx_machine_isa(), "avx512") == 0) tables[n++] = &cbx__probe_loops_avx512;
#endif
    return n;
}

/* Elements of a that are not what copy (s = 0, b alone) or triad should have left, and all behind n
 * that changed. */
static size_t wrong_elements(const double *a, const double *b, const double *c, double s, size_t n, size_t size)
{
    size_t wrong = 0;
    for (size_t i = 0; i < size; i++) wrong += a[i] != (i < n ? b[i] + s * c[i] : -1);
    return wrong;
}

TEST(loops_do_their_work)
{
    enum { SIZE = 4 * CBX__PROBE_STEP };
    static _Alignas(64) double a[SIZE], b[SIZE], c[SIZE];
    const cbx__probe_loops *tables[3];
    size_t ntables = tables_of_this_machine(tables);

    for (int i = 0; i < SIZE; i++) b[i] = i, c[i] = 1000 * i;
    for (size_t t = 0; t < ntables; t++) {
        const cbx__probe_loops *l = tables[t];
        for (size_t n = 0; n <= SIZE; n += CBX__PROBE_STEP) {
            for (int kind = 0; kind < 3; kind++) {
                for (int i = 0; i < SIZE; i++) a[i] = -1;
                if (kind == 0) l->copy(a, b, n, 2);
                if (kind == 1) l->triad(a, b, c, n, 2);
                if (kind == 2) l->triad_stream(a, b, c, n, 2);
                CHECK_INT(wrong_elements(a, b, c, kind ? 3 : 0, n, SIZE), 0, l->name);
            }
            l->read(b, n, 2);
        }
        CHECK(wrong_elements(a, b, c, 3, SIZE - CBX__PROBE_STEP, SIZE) > 0, "the check sees a loop that goes too far");
        for (int p = 0; p < CBX_PIPE_COUNT; p++)
            for (int row = 0; row < 2; row++) l->pipe[p][row](3);
        CHECK(l->ops_per_round[0] >= l->ops_per_round[1] && l->ops_per_round[1] >= 10, "chains enough to hide latency");
        if (l->flush) l->flush(a, sizeof(a));
        CHECK_INT(wrong_elements(a, b, c, 3, SIZE, SIZE), 0, "a flush changes no value");
    }
}

/* Each type has a loop or a reason, and the rates say which; the loops of one CPU run whatever its
 * count of rounds. */
TEST(narrow_types)
{
    for (int i = 0; i < CBX_NARROW_COUNT; i++) {
        cbx__narrow_loop l = cbx__narrow_find((cbx_narrow)i);
        CHECK(!l.by == !l.run && !l.by == (l.ops_per_round == 0) && (l.by || l.why), cbx_narrow_type((cbx_narrow)i));
        for (uint64_t rounds = 0; l.run && rounds < 3; rounds++) l.run(rounds);
        CHECK(!l.by || strlen(l.by) < sizeof((cbx_narrow_rate *)0)->by, "fits");
        CHECK(l.by || strlen(l.why) < sizeof((cbx_narrow_rate *)0)->why, "fits");
        CHECK_STR(cbx_narrow_unit((cbx_narrow)i), i < CBX_NARROW_BF16_TILE ? "vectors" : "tiles", "unit");
    }
    CHECK(!cbx__narrow_find(CBX_NARROW_COUNT).run, "no such type");
    CHECK_STR(cbx_narrow_type(CBX_NARROW_COUNT), "?", "no such type");
    CHECK_STR(cbx_narrow_type(CBX_NARROW_BF16_TILE), "bfloat16", "type");
}

static const char *broken_narrow(const cbx_probe *p)
{
    double f32 = 2 * p->pipe_ops_per_s[CBX_PIPE_FMA][0];
    const cbx_narrow_rate *r = p->narrow;

    for (int i = 0; i < CBX_NARROW_COUNT; i++) {
        bool has = cbx__narrow_find((cbx_narrow)i).run != NULL;
        if (!isfinite(r[i].ops_per_s) || has != (r[i].ops_per_s > 0) || has != (r[i].by[0] != 0) ||
            has == (r[i].why[0] != 0))
            return "a narrow type has a rate or a reason";
    }
    if (r[CBX_NARROW_F16].by[0] && r[CBX_NARROW_F16].ops_per_s < 1.4 * f32) return "a vector holds twice as many f16";
    if (r[CBX_NARROW_I8].by[0] && strstr(r[CBX_NARROW_I8].by, "512") && r[CBX_NARROW_I8].ops_per_s < 1.4 * f32)
        return "a vector holds four times as many int8";
    for (int i = 0; i < 2; i++) {
        const cbx_narrow_rate *tiles = &r[CBX_NARROW_BF16_TILE + i], *vectors = &r[CBX_NARROW_BF16 + i];
        if (tiles->by[0] && vectors->by[0] && tiles->ops_per_s < 1.4 * vectors->ops_per_s)
            return "tiles are faster than vectors";
    }
    return NULL;
}

/* NULL, or the relation that does not hold. */
static const char *broken_relation(const cbx_probe *p)
{
    const double(*pipe)[2] = p->pipe_ops_per_s;
    const cbx_level_rate *memory = &p->level[p->nlevels - 1];
    bool vectors = strcmp(p->instruction_set, "plain") != 0;

    for (int i = 0; i < CBX_PIPE_COUNT; i++)
        for (int row = 0; row < 2; row++)
            if (!(pipe[i][row] > 0) || !isfinite(pipe[i][row])) return "every pipe has a rate";
    for (int i = 0; i < p->nlevels; i++) {
        const double *rate = &p->level[i].read_bytes_per_s;
        for (int k = 0; k < 4; k++)
            if (!(rate[k] > 0) || !isfinite(rate[k])) return "every level has rates";
    }
    if (vectors && pipe[CBX_PIPE_FMA][0] < 1.5 * pipe[CBX_PIPE_FMA][1]) return "a vector holds twice as many f32";
    for (int row = 0; row < 2; row++) {
        if (pipe[CBX_PIPE_ADD_MAX][row] > 1.1 * pipe[CBX_PIPE_ADD][row]) return "a pair is not faster than its add";
        if (pipe[CBX_PIPE_ADD_MAX][row] > 1.1 * pipe[CBX_PIPE_MAX][row]) return "a pair is not faster than its max";
        if (pipe[CBX_PIPE_FMA_MAX][row] > 1.1 * pipe[CBX_PIPE_FMA][row]) return "a pair is not faster than its fma";
        if (pipe[CBX_PIPE_INT_MUL][row] > 1.1 * pipe[CBX_PIPE_INT_ADD][row])
            return "a product is not faster than a sum";
        if (pipe[CBX_PIPE_SUB_FMA][row] > 1.1 * pipe[CBX_PIPE_FMA][row]) return "a pair is not faster than its fma";
    }
    if (memory->bytes != 0 || strcmp(memory->name, "memory") != 0) return "memory is last";
    for (int i = 1; i + 1 < p->nlevels; i++)
        if (p->level[i].bytes <= p->level[i - 1].bytes) return "levels grow";
    if (p->level[0].read_bytes_per_s < 0.9 * memory->read_bytes_per_s)
        return "the first level is not slower than memory";
    return broken_narrow(p);
}

static cbx_probe measured; /* by the first test that measures; the others only need some real one */

TEST(rates_stand_in_their_relations)
{
    const char *broken = "not measured";
    cbx_probe wrong;

    for (int attempt = 0; attempt < 3 && broken;
         attempt++) { /* a machine under load may spoil one measurement, not three */
        CHECK_OK(cbx_probe_measure(ctx, &measured, &err), &err, "measure");
        broken = broken_relation(&measured);
    }
    CHECK_STR(broken ? broken : "", "", "relations");
    CHECK_STR(measured.instruction_set, cbx_machine_isa(), "the widest instruction set of this CPU");
    CHECK(measured.measured_us > 1700000000000000, "when");
    wrong = measured;
    wrong.pipe_ops_per_s[CBX_PIPE_ADD_MAX][0] = 2 * wrong.pipe_ops_per_s[CBX_PIPE_ADD][0];
    CHECK(broken_relation(&wrong) != NULL, "the check sees a sum that was folded away");
    wrong = measured;
    wrong.level[0].copy_bytes_per_s = NAN;
    CHECK(broken_relation(&wrong) != NULL, "and a rate that is no number");
    wrong = measured;
    wrong.narrow[CBX_NARROW_F16].ops_per_s = 0.5 * 2 * wrong.pipe_ops_per_s[CBX_PIPE_FMA][0];
    CHECK(broken_relation(&wrong) != NULL, "and a narrow type that a loop of wider ones stands for");
}

/* Products of whole numbers are put together where there is no instruction: as the language
 * has them. */
TEST(products_of_lanes)
{
    static const uint64_t cases[][2] = {
        { 0, 5 }, { 3, 7 }, { 0xffffffffffffffff, 2 }, { 0x123456789abcdef0, 0xfedcba9876543211 }, { 1ull << 32, 3 },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        uint64_t a = cases[i][0], b = cases[i][1], r[VEC_BYTES / 8];
        uint64_t low = (uint32_t)((uint32_t)a * (uint32_t)b);
        uint64_t high = (uint64_t)(uint32_t)((uint32_t)(a >> 32) * (uint32_t)(b >> 32)) << 32;
        vi x = VI_SET((long long)a), y = VI_SET((long long)b), z = VI_MUL_64(x, y);
        memcpy(r, &z, sizeof r);
        for (size_t k = 0; k < CBX_LEN(r); k++) CHECK(r[k] == a * b, "64 bits");
        z = VI_MUL_32(x, y);
        memcpy(r, &z, sizeof r);
        for (size_t k = 0; k < CBX_LEN(r); k++) CHECK(VEC_BYTES == 8 ? r[k] == low : r[k] == (high | low), "32 bits");
    }
}

TEST(memory_of_a_node)
{
    cbx_level_rate l = { .bytes = 77 };
    cbx_status st;
    CHECK_STATUS(cbx_probe_measure_node(ctx, 999, &l, &err), CBX_EUNAVAILABLE, "no such node");
    CHECK(strstr(err.message, "999") && l.bytes == 77, err.message);
    CHECK_STATUS(cbx_probe_measure_node(ctx, -1, &l, &err), CBX_EUNAVAILABLE, "no node at all");
    CHECK_STATUS(cbx_probe_measure_node(ctx, 1 << 20, &l, &err), CBX_EUNAVAILABLE, "beyond every mask");
    st = cbx_probe_measure_node(ctx, 0, &l, &err);
    if (st == CBX_EUNAVAILABLE) SKIP("kernel: it binds no memory to nodes");
    CHECK_OK(st, &err, "node 0");
    CHECK_STR(l.name, "node 0", "name");
    CHECK(l.bytes == 0 && l.read_bytes_per_s > 0 && l.copy_bytes_per_s > 0 && l.triad_bytes_per_s > 0 &&
              l.triad_stream_bytes_per_s > 0,
          "all four rates");
}

TEST(bounds_are_the_roofline)
{
    static const struct {
        cbx_pipe pipe;
        bool f64;
        double ops, bytes, set, seconds;
        const char *why;
    } cases[] = {
        { CBX_PIPE_FMA, false, 8e9, 0, 0, 2, "the pipe alone, f32" },
        { CBX_PIPE_FMA, true, 8e9, 0, 0, 4, "the same, f64" },
        { CBX_PIPE_ADD_MAX, false, 1e9, 0, 0, 1, "another pipe" },
        { CBX_PIPE_ADD_MAX, true, 1e9, 0, 0, 0.25, "its sum on the pipes of fma, where that is faster" },
        { CBX_PIPE_FMA_MAX, true, 1e9, 0, 0, 0.25, "which has a rate of its own" },
        { CBX_PIPE_FMA, false, 0, 100e9, 1000, 1, "the first level's better rate: copy" },
        { CBX_PIPE_FMA, false, 0, 100e9, 1024, 1, "a set as large as the level" },
        { CBX_PIPE_FMA, false, 0, 100e9, 1025, 2, "one byte more: the next level, by its read rate" },
        { CBX_PIPE_FMA, false, 0, 100e9, 4097, 10, "beyond every cache: memory" },
        { CBX_PIPE_FMA, false, 8e9, 100e9, 1000, 2, "both: the pipe is slower" },
        { CBX_PIPE_FMA, false, 8e9, 100e9, 9999, 10, "both: memory is slower" },
        { CBX_PIPE_MAX, false, 8e9, 0, 0, 0, "a rate that is not known bounds nothing" },
        { CBX_PIPE_FMA, false, 0, 0, 0, 0, "no work" },
        { CBX_PIPE_COUNT, false, 8e9, 100e9, 1000, 1, "no such pipe: the bytes alone" },
    };
    cbx_probe p = { .nlevels = 3,
                    .level = { { "L1", 1024, 80e9, 100e9, 1, 1 },
                               { "L2", 4096, 50e9, 40e9, 1, 1 },
                               { "memory", 0, 10e9, 8e9, 1, 1 } } };

    p.pipe_ops_per_s[CBX_PIPE_FMA][0] = 4e9;
    p.pipe_ops_per_s[CBX_PIPE_FMA][1] = 2e9;
    p.pipe_ops_per_s[CBX_PIPE_ADD_MAX][0] = p.pipe_ops_per_s[CBX_PIPE_ADD_MAX][1] = 1e9;
    p.pipe_ops_per_s[CBX_PIPE_FMA_MAX][0] = 0.5e9, p.pipe_ops_per_s[CBX_PIPE_FMA_MAX][1] = 4e9;
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        double s = cbx_probe_bound_seconds(&p, cases[i].pipe, cases[i].f64, cases[i].ops, cases[i].bytes, cases[i].set);
        CHECK_LE(fabs(s - cases[i].seconds), 1e-12, cases[i].why);
    }
}

/* What each level serves at best. */
TEST(bounds_of_moving)
{
    static const struct {
        double bytes, set, seconds;
        const char *why;
    } cases[] = {
        { 100e9, 1000, 1, "in the first level" },
        { 100e9, 2048, 1.5, "half of it there, half in the second" },
        { 100e9, 4096, 0.25 + 0.75 * 2, "a quarter" },
        { 100e9, 8192, 0.125 + 0.375 * 2 + 0.5 * 10, "the rest in memory" },
        { 100e9, INFINITY, 10, "all of it in memory" },
        { 0, 1000, 0, "nothing to move" },
    };
    cbx_probe p = { .nlevels = 3,
                    .level = { { "L1", 1024, 80e9, 100e9, 1, 1 },
                               { "L2", 4096, 50e9, 40e9, 1, 1 },
                               { "memory", 0, 10e9, 8e9, 1, 1 } } };
    for (size_t i = 0; i < CBX_LEN(cases); i++)
        CHECK_LE(fabs(cbx_probe_min_seconds(&p, cases[i].bytes, cases[i].set) - cases[i].seconds), 1e-12, cases[i].why);
    p.level[1].read_bytes_per_s = p.level[1].copy_bytes_per_s = 0;
    CHECK_LE(fabs(cbx_probe_min_seconds(&p, 100e9, 2048) - 5.5), 1e-12, "a level without a rate is left out");
    p.nlevels = 0;
    CHECK_LE(cbx_probe_min_seconds(&p, 100e9, 2048), 0, "nothing is known");
}

TEST(pipes_have_names)
{
    CHECK_STR(cbx_pipe_name(CBX_PIPE_FMA), "fma", "first");
    CHECK_STR(cbx_pipe_name(CBX_PIPE_AND_OR), "and+or", "last");
    CHECK_STR(cbx_pipe_name(CBX_PIPE_COUNT), "?", "none");
}

static cbx_probe made_up(void)
{
    cbx_probe p = { .instruction_set = "avx2", .nlevels = 2, .measured_us = 1800000000000000 };
    for (int i = 0; i < CBX_PIPE_COUNT; i++)
        for (int row = 0; row < 2; row++) p.pipe_ops_per_s[i][row] = 1e10 / (3 * i + row + 1);
    for (int i = 0; i < CBX_NARROW_COUNT; i++)
        p.narrow[i] = i % 2 ? (cbx_narrow_rate){ 0, "", "this CPU has none" }
                            : (cbx_narrow_rate){ 1e12 / (i + 3), "an instruction", "" };
    p.level[0] = (cbx_level_rate){ "L1", 32768, 1e11 / 3, 1e11 / 7, 1e11 / 9, 1e11 / 11 };
    p.level[1] = (cbx_level_rate){ "memory", 0, 1e10 / 3, 1e10 / 7, 1e10 / 9, 1e10 / 11 };
    return p;
}

TEST(json_keeps_every_bit)
{
    cbx_probe p = made_up(), q;
    cbx_json *v = cbx__probe_to_json(&p), *again = NULL;
    cbx_text text;

    cbx_text_init(&text, cbx_allocator_default());
    cbx_json_write(v, CBX_JSON_INDENT2, &text);
    CHECK_OK(cbx_json_parse(cbx_text_str(&text), text.len, "probe", &again, &err), &err, "parses");
    memset(&q, 0, sizeof(q));
    CHECK(cbx__probe_from_json(again, &q), "reads back");
    CHECK_STR(q.instruction_set, p.instruction_set, "instruction set");
    CHECK(memcmp(q.pipe_ops_per_s, p.pipe_ops_per_s, sizeof(p.pipe_ops_per_s)) == 0, "pipes");
    for (int i = 0; i < CBX_NARROW_COUNT; i++) {
        CHECK(memcmp(&q.narrow[i].ops_per_s, &p.narrow[i].ops_per_s, sizeof(double)) == 0, "narrow");
        CHECK(!strcmp(q.narrow[i].by, p.narrow[i].by) && !strcmp(q.narrow[i].why, p.narrow[i].why), "narrow");
    }
    CHECK(q.nlevels == 2 && q.measured_us == p.measured_us, "the rest");
    for (int i = 0; i < 2; i++) {
        CHECK_STR(q.level[i].name, p.level[i].name, "level");
        CHECK(q.level[i].bytes == p.level[i].bytes, "level");
        CHECK(memcmp(&q.level[i].read_bytes_per_s, &p.level[i].read_bytes_per_s, 4 * sizeof(double)) == 0, "level");
    }
    cbx_json_unref(v);
    cbx_json_unref(again);
    cbx_text_clear(&text);
}

/* Finds "key" in the text and puts something else in place of its value, up to the end of
 * the line. */
static char *damaged(const char *text, const char *key, const char *value)
{
    size_t room = strlen(text) + strlen(value) + 64;
    char *copy = test_malloc(room), quoted[64];
    snprintf(quoted, sizeof(quoted), "\"%s\": ", key);
    const char *at = strstr(text, quoted);
    CHECK(at != NULL, key);
    const char *end = strchr(at, '\n');
    bool comma = end[-1] == ',';
    snprintf(copy, room, "%.*s%s%s%s%s", (int)(at - text), text, quoted, value, comma ? "," : "", end);
    return copy;
}

TEST(damaged_files_are_not_used)
{
    static const struct {
        const char *key, *value, *why;
    } cases[] = {
        { "schema", "\"calibrax.run\"", "another schema" },
        { "version", "3", "another version" },
        { "by", "\"\"", "a rate of nothing" },
        { "ops_per_s", "0", "an instruction without a rate" },
        { "why", "\"this is a reason that is much too long to be one that the probe itself has written here\"",
          "a long reason" },
        { "version", "\"1\"", "a version that is no number" },
        { "revision", "\"0000000\"", "another build" },
        { "build", "\"tcc 0.9\"", "another compiler" },
        { "instruction_set", "\"a name that is far too long\"", "a long word" },
        { "instruction_set", "7", "no word" },
        { "measured_us", "-1", "before 1970" },
        { "f32", "0", "no rate" },
        { "f32", "-5.0", "a negative rate" },
        { "f64", "NaN", "no number" },
        { "f64", "Infinity", "endless" },
        { "read_bytes_per_s", "null", "a missing rate" },
        { "triad_stream_bytes_per_s", "\"fast\"", "words" },
        { "name", "\"a level of memory\"", "a long name" },
        { "bytes", "-1", "a negative size" },
        { "bytes", "\"big\"", "no size" },
    };
    cbx_probe p = made_up(), q;
    cbx_json *v = cbx__probe_to_json(&p);
    cbx_text text;

    cbx_text_init(&text, cbx_allocator_default());
    cbx_json_write(v, CBX_JSON_INDENT2, &text);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        char *bad = damaged(cbx_text_str(&text), cases[i].key, cases[i].value);
        cbx_json *parsed = NULL;
        CHECK_OK(cbx_json_parse(bad, strlen(bad), "damaged", &parsed, &err), &err, cases[i].why);
        q.nlevels = 77;
        CHECK(!cbx__probe_from_json(parsed, &q), cases[i].why);
        CHECK_INT(q.nlevels, 77, "out is untouched");
        cbx_json_unref(parsed);
        test_free(bad);
    }
    CHECK(!cbx__probe_from_json(NULL, &q), "null");
    p.nlevels = 1; /* memory is missing */
    cbx_json_unref(v);
    v = cbx__probe_to_json(&p);
    CHECK(!cbx__probe_from_json(v, &q), "no memory level");
    cbx_json_unref(v);
    cbx_text_clear(&text);
}

TEST(one_machine_is_measured_once)
{
    char folder[64], path[160], *data = NULL;
    cbx_probe first, second, third, fourth;
    size_t len;

    setenv("CALIBRAX_CACHE_DIR", cbx_test_folder(folder), 1);
    CHECK_OK(cbx_probe_get(ctx, "0123456789abcdef", false, &first, &err), &err, "measured");
    CHECK_OK(cbx_probe_get(ctx, "0123456789abcdef", false, &second, &err), &err, "from the file");
    CHECK(first.measured_us == second.measured_us, "not measured again");
    CHECK(memcmp(first.pipe_ops_per_s, second.pipe_ops_per_s, sizeof(first.pipe_ops_per_s)) == 0, "the same rates");
    CHECK_OK(cbx_probe_get(ctx, "0123456789abcdef", true, &third, &err), &err, "refreshed");
    CHECK(third.measured_us > first.measured_us, "measured again");
    snprintf(path, sizeof(path), "%s/probe/0123456789abcdef.json", folder);
    CHECK_OK(cbx_file_read(ctx, path, 0, &data, &len, &err), &err, path);
    CHECK_OK(cbx_file_write_atomic(ctx, path, data, len / 2, &err), &err, "torn");
    cbx_mem_free(cbx_ctx_allocator(ctx), data, len + 1);
    CHECK_OK(cbx_probe_get(ctx, "0123456789abcdef", false, &fourth, &err), &err, "a torn file is no error");
    CHECK(fourth.measured_us > third.measured_us, "it was measured again");
    CHECK_OK(cbx_probe_get(ctx, "0123456789abcdef", false, &second, &err), &err, "and written again");
    CHECK(fourth.measured_us == second.measured_us, "the file is whole");
    second.nlevels = 77;
    CHECK_STATUS(cbx_probe_get(ctx, "../elsewhere", false, &second, &err), CBX_EINVAL, "a path is no id");
    CHECK_STATUS(cbx_probe_get(ctx, NULL, false, &second, &err), CBX_EINVAL, "no id");
    CHECK_INT(second.nlevels, 77, "out is untouched");
    cbx_test_folder_remove(folder);
}

static cbx_status measure(cbx_ctx *c, void *user)
{
    cbx_probe p;
    return cbx_probe_measure(c, &p, user);
}

TEST(no_memory)
{
    CHECK_GT(cbx_test_fail_each(measure, &err, "cbx_probe_measure"), 0, "the machine's files and the block");
}

TESTS(.before = set_up, .after = tear_down)
