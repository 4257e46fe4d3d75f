/*
 * The table: makers' data sheets, dense rates [Tflop/s] and bandwidth [GB/s]; 0: unknown.
 *
 * Detection, in this order: names of the driver, NVML, PCI.  A 3D controller (PCI class 0x0302) or
 * processing accelerator (0x12) of a known maker counts even if it is not in the table; a display
 * adapter (0x0300) and anything of Google counts only if it is.
 */
#include "calibrax/profiling/hardware.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "calibrax/base/idioms.h"
#include "calibrax/profiling/gpu.h"
#include "calibrax/profiling/procfs.h"

enum { MAX_DEVICES = 64 };

typedef struct device {
    const char *name, *drivers; /* its names in drivers, separated by '|' */
    const char *pci; /* vendor:device, separated by '|' (pci-ids.ucw.cz; of TPUs jax/_src/hardware_utils.py) */
    double f64, f32, tf32, bf16, f8, gb_per_s;
    const char *source;
    unsigned capability; /* of CUDA, ten times; developer.nvidia.com/cuda-gpus */
} device;

/* clang-format off */
static const device table[] = {
    { "v100_sxm2", "Tesla V100-SXM2-16GB|Tesla V100-SXM2-32GB", "10de:1db1|10de:1db5",
      7.8, 15.7, 0, 0, 0, 900, "NVIDIA V100 data sheet", 70 },
    { "t4", "Tesla T4", "10de:1eb8", 0, 8.1, 0, 0, 0, 320, "NVIDIA T4 data sheet", 75 },
    { "tpu_v4", "TPU v4", "1ae0:005e", 0, 0, 0, 275, 0, 1200, "Google Cloud TPU documentation" },
    { "a100_sxm4_40gb", "NVIDIA A100-SXM4-40GB", "10de:20b0", 9.7, 19.5, 156, 312, 0, 1555, "NVIDIA A100 data sheet", 80 },
    { "a100_pcie_40gb", "NVIDIA A100-PCIE-40GB", "10de:20f1", 9.7, 19.5, 156, 312, 0, 1555, "NVIDIA A100 data sheet", 80 },
    { "a100_sxm4_80gb", "NVIDIA A100-SXM4-80GB", "10de:20b2", 9.7, 19.5, 156, 312, 0, 2039, "NVIDIA A100 data sheet", 80 },
    { "a100_pcie_80gb", "NVIDIA A100 80GB PCIe", "10de:20b5", 9.7, 19.5, 156, 312, 0, 1935, "NVIDIA A100 data sheet", 80 },
    { "h100_sxm", "NVIDIA H100 80GB HBM3", "10de:2330",
      33.5, 66.9, 494.7, 989.4, 1978.9, 3350, "NVIDIA H100 white paper", 90 },
    { "h100_pcie", "NVIDIA H100 PCIe", "10de:2331", 25.6, 51.2, 378, 756, 1513, 2000, "NVIDIA H100 white paper", 90 },
    /* float64 of AD102: 1/64 of float32, a note of the white paper */
    { "rtx_4090", "NVIDIA GeForce RTX 4090", "10de:2684", 1.29, 82.6, 82.6, 165.2, 330.3, 1008, "NVIDIA Ada white paper", 89 },
    /* matrix rates of this sheet are with sparsity: half of them; float64 is missing */
    { "l4", "NVIDIA L4", "10de:27b8", 0, 30.3, 60, 121, 242.5, 300, "NVIDIA L4 data sheet", 89 },
    { "l40s", "NVIDIA L40S", "10de:26b9", 1.43, 91.6, 183, 362.05, 733, 864, "NVIDIA L40S data sheet", 89 },
    { "tpu_v5e", "TPU v5 lite|TPU v5e", "1ae0:0063", 0, 0, 0, 197, 0, 819, "Google Cloud TPU documentation" },
    { "tpu_v5p", "TPU v5|TPU v5p", "1ae0:0062", 0, 0, 0, 459, 0, 2765, "Google Cloud TPU documentation" },
    { "mi300x", "AMD Instinct MI300X", "1002:74a1",
      81.7, 163.4, 653.7, 1307.4, 2614.9, 5300, "AMD MI300X data sheet" },
    /* the chip of the H100 SXM, whose white paper has the rates that this sheet rounds */
    { "h200", "NVIDIA H200", "10de:2335", 33.5, 66.9, 494.7, 989.4, 1978.9, 4800, "NVIDIA H200 data sheet", 90 },
    /* of its sheet only these two rates, with sparsity, could be checked */
    { "h200_nvl", "NVIDIA H200 NVL", "", 0, 0, 0, 835.5, 1670.5, 4800, "NVIDIA H200 data sheet", 90 },
    { "tpu_v6e", "TPU v6 lite|TPU v6e", "1ae0:006f", 0, 0, 0, 918, 0, 1638, "Google Cloud TPU documentation" },
    /* at 1000 W; matrix rates of this sheet are with sparsity: half of them */
    { "b200", "NVIDIA B200", "10de:2901", 37, 75, 1100, 2250, 4500, 7700, "NVIDIA Blackwell data sheet, HGX B200", 100 },
};
/* clang-format on */

/* Fragments of warp matrix functions, and the compute capability that they need. */
static const struct {
    unsigned since;
    cbx_matrix_shape shape;
} fragments[] = {
    { 70, { "float16", 16, 16, 16 } },  { 70, { "float16", 32, 8, 16 } },  { 70, { "float16", 8, 32, 16 } },
    { 72, { "int8", 16, 16, 16 } },     { 72, { "int8", 32, 8, 16 } },     { 72, { "int8", 8, 32, 16 } },
    { 80, { "bfloat16", 16, 16, 16 } }, { 80, { "bfloat16", 32, 8, 16 } }, { 80, { "bfloat16", 8, 32, 16 } },
    { 80, { "tfloat32", 16, 16, 8 } },  { 80, { "float64", 8, 8, 4 } },
};

/* Tiles of AMX: 16 rows of 64 bytes times as many columns (Intel SDM vol. 1, chapter 18). */
static const struct {
    const char *feature;
    cbx_matrix_shape shape;
} tiles[] = {
    { "amx_bf16", { "bfloat16", 16, 16, 32 } },
    { "amx_int8", { "int8", 16, 16, 64 } },
    { "amx_fp16", { "float16", 16, 16, 32 } },
};
_Static_assert(CBX_LEN(fragments) <= CBX_HARDWARE_MAX_SHAPES && CBX_LEN(tiles) <= CBX_HARDWARE_MAX_SHAPES,
               "all shapes fit");

static const char *const rate_names[] = {
#define RATE_ROW(name, words) words,
    CBX_RATE_MAP(RATE_ROW)
#undef RATE_ROW
};

const char *cbx_rate_name(cbx_rate r) { return CBX_WORD(rate_names, r); }

bool cbx_hardware_at(size_t i, cbx_hardware *out)
{
    if (i >= CBX_LEN(table)) return false;
    const device *d = &table[i];
    const double tera[CBX_RATE_COUNT] = { d->f64, d->f32, d->tf32, d->bf16, d->f8 };

    *out = (cbx_hardware){ .compute_capability = d->capability };
    snprintf(out->name, sizeof out->name, "%s", d->name);
    snprintf(out->source, sizeof out->source, "%s", d->source);
    for (size_t r = 0; r < CBX_RATE_COUNT; r++) out->flop_per_s[r] = tera[r] > 0 ? tera[r] * 1e12 : NAN;
    out->bytes_per_s = d->gb_per_s > 0 ? d->gb_per_s * 1e9 : NAN;
    for (size_t f = 0; d->capability && f < CBX_LEN(fragments); f++)
        if (d->capability >= fragments[f].since) out->matrix_shape[out->nmatrix_shapes++] = fragments[f].shape;
    return true;
}

/* The device with a word among the names that '|' separates; false: none has it. */
static bool find(const char *word, size_t offset, cbx_hardware *out)
{
    size_t n = strlen(word);

    for (size_t i = 0; i < CBX_LEN(table); i++) {
        const char *at;
        memcpy(&at, (const char *)&table[i] + offset, sizeof at);
        for (; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
            if (strcspn(at, "|") == n && strncasecmp(at, word, n) == 0) return cbx_hardware_at(i, out);
    }
    return false;
}

cbx_status cbx_hardware_find(const char *name, cbx_hardware *out, cbx_err *err)
{
    if (find(name, offsetof(device, name), out) || find(name, offsetof(device, drivers), out)) return CBX_OK;
    return cbx_fail(err, CBX_ENOENT, "no data sheet for '%s': measure its roofs instead", name);
}

cbx_status cbx_hardware_of_cpu(const cbx_machine *m, double clock_hz, cbx_hardware *out, cbx_err *err)
{
    /* of a vector of the widest instructions with multiply-add; 8: none */
    const double bytes = cbx_machine_has(m, "avx512f")                             ? 64
                         : cbx_machine_has(m, "avx2") && cbx_machine_has(m, "fma") ? 32
                         : cbx_machine_has(m, "asimd")                             ? 16
                                                                                   : 8;
    double per_byte;

    if (!(clock_hz > 0) || m->cores < 1)
        return cbx_fail(err, CBX_EINVAL, "clock_hz is %g and cores are %d: both must be more than 0", clock_hz,
                        m->cores);
    per_byte = (double)m->cores * clock_hz * bytes * 2 * 2;
    *out = (cbx_hardware){ .bytes_per_s = NAN, .simd_width = bytes > 8 ? (unsigned)(bytes / 4) : 1 };
    for (size_t t = 0; t < CBX_LEN(tiles); t++)
        if (cbx_machine_has(m, tiles[t].feature)) out->matrix_shape[out->nmatrix_shapes++] = tiles[t].shape;
    snprintf(out->name, sizeof out->name, "%.95s", m->model_name);
    snprintf(out->source, sizeof out->source, "%d cores * %.3g GHz * %g bytes * 2 pipes * 2", m->cores, 1e-9 * clock_hz,
             bytes);
    for (size_t r = 0; r < CBX_RATE_COUNT; r++) out->flop_per_s[r] = NAN;
    out->flop_per_s[CBX_RATE_F64] = per_byte / 8;
    out->flop_per_s[CBX_RATE_F32] = bytes > 8 ? per_byte / 4 : per_byte / 8;
    return CBX_OK;
}

/* --- which accelerators this machine has --- */

typedef struct search {
    size_t count;
    cbx_hardware first;
    char unknown[96], other[96]; /* one that is not in the table; one of another kind */
} search;

static void count_device(search *s, bool known, const cbx_hardware *h, const char *name)
{
    s->count++;
    if (!known)
        snprintf(s->unknown, sizeof s->unknown, "%s", name);
    else if (!s->first.name[0])
        s->first = *h;
    else if (strcmp(s->first.name, h->name) != 0)
        snprintf(s->other, sizeof s->other, "%s", h->name);
}

static void count_name(search *s, const char *name)
{
    cbx_hardware h;
    bool known = cbx_hardware_find(name, &h, NULL) == CBX_OK;
    count_device(s, known, &h, name);
}

static cbx_status search_driver(cbx_ctx *ctx, const char *root, search *s, cbx_err *err)
{
    cbx_machine *m = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *m);

    if (!m) return cbx_fail_nomem(err, "the list of accelerators");
    cbx_status st = cbx_machine_read(ctx, root, m, err);
    for (int i = 0; i < m->naccelerators && !st; i++) count_name(s, m->accelerator[i]);
    cbx_mem_free(cbx_ctx_allocator(ctx), m, sizeof *m);
    return st == CBX_ENOMEM ? st : CBX_OK; /* a machine without cpuinfo may have devices */
}

static cbx_status search_nvml(cbx_ctx *ctx, search *s, cbx_err *err)
{
    cbx_err why = CBX_ERR_INIT;
    cbx_status st = CBX_OK;

    for (unsigned i = 0; i < MAX_DEVICES; i++) {
        cbx_gpu *gpu = NULL;
        st = cbx_gpu_open(ctx, i, NULL, &gpu, &why);
        if (st) break;
        count_name(s, cbx_gpu_name(gpu));
        cbx_gpu_close(gpu);
    }
    return st == CBX_ENOMEM ? cbx_fail(err, st, "%s", why.message) : CBX_OK;
}

/* "0x10de\n" of a file of a PCI device as a number; 0: unknown. */
static unsigned pci_number(const char *folder, const char *name, const char *what)
{
    char path[512], text[32];
    unsigned v = 0;

    if (snprintf(path, sizeof path, "%s/%s/%s", folder, name, what) >= (int)sizeof path) return 0;
    if (!cbx__proc_read(path, text, sizeof text) || sscanf(text, "%x", &v) != 1) return 0;
    return v;
}

static void search_pci(const char *root, search *s)
{
    char folder[400], text[32];
    const struct dirent *e;
    DIR *d = NULL;

    if (snprintf(folder, sizeof folder, "%s/sys/bus/pci/devices", root) < (int)sizeof folder) d = opendir(folder);
    while (d && (e = readdir(d))) {
        unsigned vendor = pci_number(folder, e->d_name, "vendor"), id = pci_number(folder, e->d_name, "device");
        unsigned class = pci_number(folder, e->d_name, "class");
        bool maker = vendor == 0x10de || vendor == 0x1002, computes = class >> 8 == 0x0302 || class >> 16 == 0x12;
        cbx_hardware h;
        if (e->d_name[0] == '.' || (!maker && vendor != 0x1ae0)) continue;
        snprintf(text, sizeof text, "%04x:%04x", vendor & 0xffff, id & 0xffff);
        if (find(text, offsetof(device, pci), &h))
            count_device(s, true, &h, text);
        else if (maker && computes)
            count_device(s, false, NULL, text);
    }
    if (d) closedir(d);
}

cbx_status cbx_hardware_detect(cbx_ctx *ctx, const char *root, cbx_hardware *out, size_t *count, cbx_err *err)
{
    bool here = !root || strcmp(root, "/") == 0;
    search s = { 0 };
    cbx_status st = search_driver(ctx, here ? NULL : root, &s, err);

    if (!st && !s.count && here) st = search_nvml(ctx, &s, err);
    if (!st && !s.count) search_pci(here ? "" : root, &s);
    if (st) return st;
    if (!s.count) return cbx_fail(err, CBX_ENOENT, "neither the driver nor NVML nor PCI lists an accelerator");
    if (s.unknown[0])
        return cbx_fail(err, CBX_EUNAVAILABLE, "no data sheet for the accelerator '%s': measure its roofs instead",
                        s.unknown);
    if (s.other[0])
        return cbx_fail(err, CBX_EUNAVAILABLE, "accelerators of several kinds, '%s' and '%s': choose one by name",
                        s.first.name, s.other);
    *out = s.first;
    if (count) *count = s.count;
    return CBX_OK;
}
