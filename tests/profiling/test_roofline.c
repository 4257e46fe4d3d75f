/* Data sheets, and the place of kernels under roofs whose answer is known by hand. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#include "calibrax/profiling/roofline.h"
#include "fail_alloc.h"

#define CLOSE(a, b, why) CHECK_LE(fabs((a) - (b)), 1e-9 * fabs(b), why)

/* Intensities at the ridge that the Python package's table gives [flop/byte]. */
TEST(data_sheets)
{
    static const struct {
        const char *told, *name;
        double ridge;
    } cases[] = {
        { "NVIDIA A100-SXM4-40GB", "a100_sxm4_40gb", 200.6 },
        { "NVIDIA A100-SXM4-80GB", "a100_sxm4_80gb", 153.0 },
        { "NVIDIA A100 80GB PCIe", "a100_pcie_80gb", 161.2 },
        { "NVIDIA H100 80GB HBM3", "h100_sxm", 295.3 },
        { "nvidia h100 pcie", "h100_pcie", 378.0 },
        { "NVIDIA GeForce RTX 4090", "rtx_4090", 163.9 },
        { "TPU v4", "tpu_v4", 229.2 },
        { "TPU v5 lite", "tpu_v5e", 240.5 },
        { "TPU v5", "tpu_v5p", 166.0 },
        { "TPU v6e", "tpu_v6e", 560.4 },
        { "NVIDIA H200", "h200", 206.1 },
        { "b200", "b200", 292.2 },
        { "NVIDIA H200 NVL", "h200_nvl", 174.1 },
    };
    cbx_hardware h, first;
    cbx_err err = CBX_ERR_INIT;
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        CHECK_OK(cbx_hardware_find(cases[i].told, &h, &err), &err, cases[i].told);
        CHECK_STR(h.name, cases[i].name, cases[i].told);
        CHECK_LE(fabs(h.flop_per_s[CBX_RATE_BF16] / h.bytes_per_s - cases[i].ridge), 0.06, cases[i].told);
    }
    CHECK_STATUS(cbx_hardware_find("NVIDIA H2", &h, &err), CBX_ENOENT, "the beginning of a name is none");
    CHECK_STATUS(cbx_hardware_find("", &h, &err), CBX_ENOENT, "nor is nothing");
    for (size_t i = 0; cbx_hardware_at(i, &h); i++) {
        CHECK(h.bytes_per_s > 1e11 && h.source[0], h.name);
        CHECK_OK(cbx_hardware_find(h.name, &first, &err), &err, "by its own name");
        CHECK_STR(first.name, h.name, "each name once");
        CHECK(!(h.flop_per_s[CBX_RATE_F64] > h.flop_per_s[CBX_RATE_F32]), h.name);
    }
    CHECK_STR(cbx_rate_name(CBX_RATE_BF16), "bfloat16", "name");
}

/* How many shapes of a type there are, and the k of the last of them. */
static size_t shapes_of(const cbx_hardware *h, const char *type, unsigned *k)
{
    size_t n = 0;
    for (size_t i = 0; i < h->nmatrix_shapes; i++) {
        if (strcmp(h->matrix_shape[i].type, type) != 0) continue;
        *k = h->matrix_shape[i].k;
        n++;
    }
    return n;
}

TEST(shapes_of_matrix_units)
{
    static const struct {
        const char *name, *type;
        size_t n;
        unsigned k, capability;
        const char *why;
    } cases[] = {
        { "v100_sxm2", "float16", 3, 16, 70, "the first with matrix units" },
        { "v100_sxm2", "int8", 0, 0, 70, "from 7.2 on" },
        { "t4", "int8", 3, 16, 75, "7.5" },
        { "t4", "bfloat16", 0, 0, 75, "from 8.0 on" },
        { "a100_sxm4_40gb", "bfloat16", 3, 16, 80, "16x16x16, 32x8x16, 8x32x16" },
        { "rtx_4090", "tfloat32", 1, 8, 89, "16x16x8" },
        { "h200", "float64", 1, 4, 90, "8x8x4" },
        { "tpu_v5p", "bfloat16", 0, 0, 0, "no warps" },
        { "mi300x", "bfloat16", 0, 0, 0, "another maker's" },
    };
    cbx_machine m = { .cores = 4, .model_name = "A CPU", .features = "amx_bf16 amx_int8 amx_tile avx2 avx512f fma" };
    cbx_err err = CBX_ERR_INIT;
    cbx_hardware h;
    unsigned k;
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        k = 0;
        CHECK_OK(cbx_hardware_find(cases[i].name, &h, &err), &err, cases[i].why);
        CHECK_INT(shapes_of(&h, cases[i].type, &k), cases[i].n, cases[i].why);
        CHECK_INT(k, cases[i].k, cases[i].why);
        CHECK_INT(h.compute_capability, cases[i].capability, cases[i].why);
        CHECK_INT(h.simd_width, 0, "no CPU");
    }
    CHECK_OK(cbx_hardware_of_cpu(&m, 3e9, &h, &err), &err, "tiles of AMX");
    CHECK(h.nmatrix_shapes == 2 && shapes_of(&h, "int8", &k) == 1 && k == 64, "16 rows of 64 bytes");
    CHECK_INT(h.simd_width, 16, "lanes of 512 bits");
    snprintf(m.features, sizeof m.features, "asimd");
    CHECK_OK(cbx_hardware_of_cpu(&m, 3e9, &h, &err), &err, "no tiles");
    CHECK(h.nmatrix_shapes == 0 && h.simd_width == 4, "lanes of 128 bits");
}

TEST(cpus_by_formula)
{
    static const struct {
        const char *features;
        double f64, f32; /* of 4 cores at 3 GHz */
    } cases[] = {
        { "avx avx2 avx512f fma", 4 * 3e9 * 8 * 4, 4 * 3e9 * 16 * 4 },
        { "avx avx2 fma", 4 * 3e9 * 4 * 4, 4 * 3e9 * 8 * 4 },
        { "asimd", 4 * 3e9 * 2 * 4, 4 * 3e9 * 4 * 4 },
        { "avx512fx sse2", 4 * 3e9 * 4, 4 * 3e9 * 4 },
    };
    cbx_machine m = { .cores = 4, .model_name = "A CPU" };
    cbx_hardware h;
    cbx_err err = CBX_ERR_INIT;
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        snprintf(m.features, sizeof m.features, "%s", cases[i].features);
        CHECK_OK(cbx_hardware_of_cpu(&m, 3e9, &h, &err), &err, cases[i].features);
        CLOSE(h.flop_per_s[CBX_RATE_F64], cases[i].f64, cases[i].features);
        CLOSE(h.flop_per_s[CBX_RATE_F32], cases[i].f32, cases[i].features);
        CHECK(isnan(h.bytes_per_s) && isnan(h.flop_per_s[CBX_RATE_BF16]), "not known");
    }
    CHECK_STATUS(cbx_hardware_of_cpu(&m, NAN, &h, &err), CBX_EINVAL, "no clock");
    m.cores = 0;
    CHECK_STATUS(cbx_hardware_of_cpu(&m, 3e9, &h, &err), CBX_EINVAL, "no cores");
}

/* ---- detection ---- */

static void put_device(const char *root, const char *device, const char *vendor, const char *id, const char *class)
{
    cbx_test_put(vendor, "%s/sys/bus/pci/devices/%s/vendor", root, device);
    cbx_test_put(id, "%s/sys/bus/pci/devices/%s/device", root, device);
    cbx_test_put(class, "%s/sys/bus/pci/devices/%s/class", root, device);
}

static cbx_status detect_it(cbx_ctx *ctx, void *root)
{
    cbx_hardware h;

    return cbx_hardware_detect(ctx, root, &h, NULL, NULL);
}

TEST(detection)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_hardware h;
    size_t count = 77;
    char root[64];
    cbx_err err = CBX_ERR_INIT;
    cbx_test_folder(root);
    CHECK_STATUS(cbx_hardware_detect(ctx, root, &h, &count, &err), CBX_ENOENT, "an empty machine");
    put_device(root, "0000:00:01.0", "0x8086\n", "0x1234\n", "0x030000\n");
    put_device(root, "0000:00:02.0", "0x10de\n", "0x1f82\n", "0x030000\n");
    CHECK_STATUS(cbx_hardware_detect(ctx, root, &h, &count, &err), CBX_ENOENT, "display adapters of others");
    CHECK_INT(count, 77, "untouched");
    put_device(root, "0000:00:03.0", "0x10de\n", "0x2335\n", "0x030200\n");
    put_device(root, "0000:00:04.0", "0x10de\n", "0x2335\n", "0x030200\n");
    CHECK_OK(cbx_hardware_detect(ctx, root, &h, &count, &err), &err, "two of a kind");
    CHECK_STR(h.name, "h200", "by PCI number");
    CHECK_INT(count, 2, "two");
    CHECK_GT(cbx_test_fail_each(detect_it, root, "cbx_hardware_detect"), 1, "allocations were made to fail");
    put_device(root, "0000:00:05.0", "0x1ae0\n", "0x0063\n", "0xff0000\n");
    CHECK_STATUS(cbx_hardware_detect(ctx, root, &h, NULL, &err), CBX_EUNAVAILABLE, "and a TPU");
    CHECK(strstr(err.message, "several kinds") && strstr(err.message, "tpu_v5e"), err.message);
    put_device(root, "0000:00:06.0", "0x1002\n", "0xffff\n", "0x120000\n");
    CHECK_STATUS(cbx_hardware_detect(ctx, root, &h, NULL, &err), CBX_EUNAVAILABLE, "and a stranger");
    CHECK(strstr(err.message, "'1002:ffff'") != NULL, err.message);
    cbx_test_put("Model: \t\t NVIDIA L40S\nIRQ:   \t\t 18\n", "%s/proc/driver/nvidia/gpus/0000:01:00.0/information",
                 root);
    cbx_test_put("processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: A CPU\n", "%s/proc/cpuinfo", root);
    CHECK_OK(cbx_hardware_detect(ctx, root, &h, &count, &err), &err, "the driver knows better");
    CHECK(strcmp(h.name, "l40s") == 0 && count == 1, "by its name");
    cbx_test_folder_remove(root);
    cbx_ctx_free(ctx);
}

/* 10 Gflop/s; L1 of 32 KiB at 100 GB/s, memory at 5 GB/s: ridges at 0.1 and 2 flop/byte. */
static cbx_roofs small_machine(void)
{
    cbx_probe p = { .nlevels = 2 };
    cbx_roofs r;
    cbx_err err = CBX_ERR_INIT;
    p.pipe_ops_per_s[CBX_PIPE_FMA][1] = 5e9;
    p.pipe_ops_per_s[CBX_PIPE_FMA][0] = 10e9;
    p.level[0] = (cbx_level_rate){ "L1", 32768, 100e9, 90e9, 0, 0 };
    p.level[1] = (cbx_level_rate){ "memory", 0, 4e9, 5e9, 0, 0 };
    CHECK_OK(cbx_roofs_of_probe(&p, true, 1, &r, &err), &err, "roofs");
    CHECK_STATUS(cbx_roofs_of_probe(&p, true, 0, &r, &err), CBX_EINVAL, "no cores");
    p.nlevels = 0;
    CHECK_STATUS(cbx_roofs_of_probe(&p, true, 1, &r, &err), CBX_EINVAL, "no levels");
    return r;
}

TEST(places)
{
    static const struct {
        double flop, bytes, seconds, set;
        const char *level;
        cbx_bound bound;
        double attainable, efficiency;
        bool beyond;
        const char *why;
    } cases[] = {
        { 2e9, 16e9, 4, 1e9, "memory", CBX_BOUND_MEMORY, 0.625e9, 0.8, false, "a triad from memory" },
        { 2e9, 16e9, 0.2, 30000, "L1", CBX_BOUND_COMPUTE, 10e9, 1.0, false,
          "the same from cache: there arithmetic bounds it" },
        { 1e9, 16e9, 0.2, 30000, "L1", CBX_BOUND_MEMORY, 6.25e9, 0.8, false, "half the arithmetic" },
        { 100e9, 1e9, 20, 1e9, "memory", CBX_BOUND_COMPUTE, 10e9, 0.5, false, "a product of matrices" },
        { 0, 5e9, 2, 1e9, "memory", CBX_BOUND_MEMORY, 0, 0.5, false, "a copy" },
        { 1e9, 0, 0.2, 0, "L1", CBX_BOUND_COMPUTE, 10e9, 0.5, false, "in registers" },
        { 13.8e9, 1e9, 1, 1e9, "memory", CBX_BOUND_COMPUTE, 10e9, 1.38, true, "faster than the machine" },
    };
    cbx_roofs roofs = small_machine();
    cbx_roofline r;
    cbx_err err = CBX_ERR_INIT;
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        CHECK_OK(cbx_roofline_place(&roofs, cases[i].flop, cases[i].bytes, cases[i].seconds, cases[i].set, &r, &err),
                 &err, cases[i].why);
        CHECK_STR(r.level->name, cases[i].level, cases[i].why);
        CHECK_INT(r.bound, cases[i].bound, cases[i].why);
        CLOSE(r.attainable_flop_per_s, cases[i].attainable, cases[i].why);
        CLOSE(r.efficiency, cases[i].efficiency, cases[i].why);
        CHECK_INT(r.beyond_roof, cases[i].beyond, cases[i].why);
    }
    CLOSE(r.ridge, 2.0, "memory");
    CHECK_STATUS(cbx_roofline_place(&roofs, 0, 0, 1, 0, &r, &err), CBX_EDOM, "no work");
    CHECK_STATUS(cbx_roofline_place(&roofs, 1, 1, 0, 0, &r, &err), CBX_EDOM, "no time");
    CHECK_STATUS(cbx_roofline_place(&roofs, NAN, 1, 1, 0, &r, &err), CBX_EDOM, "no number");
    CHECK_STATUS(cbx_roofline_place(&roofs, 1, INFINITY, 1, 0, &r, &err), CBX_EDOM, "no end");
}

TEST(alignment)
{
    static const struct {
        size_t n;
        double score;
    } cases[] = {
        { 128, 1 }, { 4096, 1 }, { 96, 0.8 }, { 32, 0.8 }, { 8, 0.5 }, { 200, 0.5 }, { 1, 0.2 }, { 127, 0.2 }
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) CHECK(cbx_roofline_alignment(cases[i].n) == cases[i].score, "score");
    CHECK(isnan(cbx_roofline_alignment(0)), "no axis");
}

/* What is advised follows from the bound, the share reached and the rows; each case has its words
 * and no others. */
TEST(advice)
{
    static const struct {
        double flop, bytes, seconds, set;
        size_t axis;
        const char *hints[3]; /* in order */
        const char *why;
    } cases[] = {
        { 2e9,
          16e9,
          32,
          1e9,
          128,
          { "10 % of the bandwidth of memory is low", "where 2 would balance: fuse passes, or work in blocks" },
          "a triad far from its roof" },
        { 2e9, 16e9, 8, 1e9, 0, { "40 % of the bandwidth of memory is moderate", "fuse passes" }, "half way" },
        { 2e9,
          16e9,
          4,
          1e9,
          0,
          { "each byte of memory carries 0.12 operations" },
          "near its roof: only fewer bytes help" },
        { 1.6e9, 1e9, 0.25, 1e9, 100, { "score 0.2" }, "near the ridge and its roof, with rows that do not fit" },
        { 0.6e9,
          16e9,
          1.6,
          30000,
          64,
          { "10 % of the bandwidth of L1", "fuse passes", "rows of 64 elements" },
          "from L1 no level is nearer" },
        { 100e9, 1e9, 100, 1e9, 0, { "10 % of the arithmetic is low" }, "scalar code" },
        { 100e9, 1e9, 25, 1e9, 0, { "40 % of the arithmetic is moderate" }, "one chain of sums" },
        { 100e9, 1e9, 12, 1e9, 256, { NULL }, "nothing to say" },
        { 13.8e9, 1e9, 1, 1e9, 3, { "138 % of the roof is more than there is" }, "a contradiction, and nothing else" },
    };
    cbx_roofs roofs = small_machine();
    cbx_roofline r;
    cbx_roofline_hints h;
    cbx_err err = CBX_ERR_INIT;
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        size_t n = 0;
        CHECK_OK(cbx_roofline_place(&roofs, cases[i].flop, cases[i].bytes, cases[i].seconds, cases[i].set, &r, &err),
                 &err, cases[i].why);
        cbx_roofline_advise(&r, cases[i].axis, &h);
        for (; n < CBX_LEN(cases[i].hints) && cases[i].hints[n]; n++)
            CHECK(n < h.n && strstr(h.hint[n], cases[i].hints[n]), n < h.n ? h.hint[n] : cases[i].why);
        CHECK_INT(h.n, n, cases[i].why);
        CHECK(strcmp(r.level->name, "L1") || !h.n || !strstr(h.hint[1], "nearer level"),
              "no level is nearer than the first");
    }
}

TEST(roofs_of_types)
{
    static const struct {
        const char *type;
        double rate;
        cbx_status wanted;
        const char *part;
    } cases[] = {
        { "float64", 10e9, CBX_OK, "" },
        { "float32", 20e9, CBX_OK, "" },
        { "float16", 0, CBX_EUNAVAILABLE, "no AVX512-FP16" },
        { "bfloat16", 90e9, CBX_OK, "" }, /* tiles, though vectors cannot */
        { "int8", 80e9, CBX_OK, "" },     /* vectors, which are faster than tiles here */
        { "int4", 0, CBX_EINVAL, "'int4'" },
    };
    cbx_probe p = { .nlevels = 1, .level = { { "memory", 0, 4e9, 5e9, 0, 0 } } };
    cbx_err err = CBX_ERR_INIT;
    p.pipe_ops_per_s[CBX_PIPE_FMA][1] = 5e9;
    p.pipe_ops_per_s[CBX_PIPE_FMA][0] = 10e9;
    p.narrow[CBX_NARROW_F16] = (cbx_narrow_rate){ 0, "", "this CPU has no AVX512-FP16" };
    p.narrow[CBX_NARROW_BF16] = (cbx_narrow_rate){ 0, "", "this CPU has no AVX512-BF16" };
    p.narrow[CBX_NARROW_I8] = (cbx_narrow_rate){ 80e9, "vpdpbusd", "" };
    p.narrow[CBX_NARROW_BF16_TILE] = (cbx_narrow_rate){ 90e9, "tdpbf16ps", "" };
    p.narrow[CBX_NARROW_I8_TILE] = (cbx_narrow_rate){ 70e9, "tdpbssd", "" };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_roofs r = { .flop_per_s = 0 };
        CHECK_STATUS(cbx_roofs_of_type(&p, cases[i].type, 1, &r, &err), cases[i].wanted, cases[i].type);
        CHECK(r.flop_per_s == cases[i].rate, cases[i].type);
        CHECK(!cases[i].wanted || strstr(err.message, cases[i].part), err.message);
    }
    for (size_t i = 0; i + 1 < CBX_LEN(cases); i++) CHECK_STR(cbx_roofs_type_at(i), cases[i].type, "the list");
    CHECK(!cbx_roofs_type_at(CBX_LEN(cases) - 1), "its end");
    CHECK_STATUS(cbx_roofs_of_type(&p, "int8", 0, &(cbx_roofs){ 0 }, &err), CBX_EINVAL, "no cores");
}

TEST(sheets_as_roofs)
{
    cbx_hardware h;
    cbx_roofs roofs;
    cbx_roofline r;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_hardware_find("t4", &h, &err), &err, "found");
    CHECK_STATUS(cbx_roofs_of_hardware(&h, CBX_RATE_F8, &roofs, &err), CBX_EUNAVAILABLE, "a rate it has not");
    CHECK_OK(cbx_roofs_of_hardware(&h, CBX_RATE_F32, &roofs, &err), &err, "a rate it has");
    CHECK_OK(cbx_roofline_place(&roofs, 8.1e12, 1e9, 2, 1e9, &r, &err), &err, "place");
    CHECK(r.bound == CBX_BOUND_COMPUTE && fabs(r.efficiency - 0.5) < 1e-9 && !roofs.measured, "by its own type's rate");
}

TESTS()
