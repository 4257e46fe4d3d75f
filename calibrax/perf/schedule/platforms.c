/**
 * The table of platforms and their devices; see platforms.h.
 */
#include "calibrax/perf/schedule/platforms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/base/idioms.h"
#include "calibrax/perf/schedule/cores.h"
#include "calibrax/profiling/gpu.h"
#include "calibrax/profiling/procfs.h"

#define FAKE_VARIABLE "NPERF_FAKE_DEVICES"

/* --- NVIDIA --- */

static void find_nvidia(cbx_ctx *ctx, const char *root, const char *library, cbx__accelerators *out)
{
    const char *const *addresses = NULL;
    size_t naddresses = 0;

    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    /* PCI addresses, in the order in which NVML counts: the driver keeps a folder for each
     * device */
    const char *folder = cbx_path_join(&arena, root, "proc/driver/nvidia/gpus");
    if (!folder || cbx_dir_list(ctx, folder, NULL, &arena, &addresses, &naddresses, NULL)) naddresses = 0;
    for (unsigned i = 0; i < CBX__MAX_ACCELERATORS; i++) {
        cbx__accelerator *d = &out->list[out->n];
        cbx_err why = CBX_ERR_INIT;
        cbx_gpu *gpu = NULL;
        char path[512], text[32];
        if (cbx_gpu_open(ctx, i, library, &gpu, &why)) {
            if (why.status == CBX_ENOMEM) out->n = 0; /* some of them are not all */
            if (out->n == 0) snprintf(out->why, sizeof(out->why), "%s", why.message);
            if (why.status == CBX_EPERM) continue; /* another's device: the numbers of later ones stay */
            break;
        }
        d->number = i;
        d->node = -1;
        snprintf(d->name, sizeof(d->name), "%s", cbx_gpu_name(gpu));
        snprintf(d->id, sizeof(d->id), "%.48s", i < naddresses ? addresses[i] : "");
        if (!d->id[0]) snprintf(d->id, sizeof(d->id), "%u", i);
        if (i < naddresses &&
            snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/numa_node", root, addresses[i]) <
                (int)sizeof(path) &&
            cbx__proc_read(path, text, sizeof(text)))
            d->node = atoi(text);
        cbx_gpu_close(gpu);
        out->n++;
    }
}

/* --- none --- */

static void find_fake(cbx_ctx *ctx, const char *root, const char *library, cbx__accelerators *out)
{
    const char *value = getenv(FAKE_VARIABLE);
    long n = value ? strtol(value, NULL, 10) : 0;

    (void)ctx, (void)root, (void)library;
    if (n <= 0 || n > CBX__MAX_ACCELERATORS) {
        snprintf(out->why, sizeof(out->why), "platform 'fake' has the devices of %s=N, N from 1 to %d", FAKE_VARIABLE,
                 CBX__MAX_ACCELERATORS);
        return;
    }
    for (; out->n < (size_t)n; out->n++) {
        cbx__accelerator *d = &out->list[out->n];
        d->number = (unsigned)out->n;
        d->node = -1;
        snprintf(d->name, sizeof(d->name), "fake");
        snprintf(d->id, sizeof(d->id), "fake-%u", d->number);
    }
}

/* --- the table --- */

static bool any(const char *provider) { return provider != NULL; }
static bool native(const char *provider) { return !strcmp(provider, "native"); }
static bool foreign(const char *provider) { return strcmp(provider, "native") && strcmp(provider, "numpy"); }

/* Name in rows, alias of older rows, devices, and the providers whose baselines run there. */
static const struct {
    const char *name, *alias;
    /* NULL: the CPU */
    void (*find)(cbx_ctx *ctx, const char *root, const char *library, cbx__accelerators *out);
    bool (*runs)(const char *provider);
    const char *why_not; /* of a provider that does not run there */
    bool hidden;         /* not suggested for a misspelt name */
} platforms[] = {
    { "cpu", "jax-cpu", NULL, any, "", false },
    { "cuda12", "jax-cuda12", find_nvidia, foreign, "computes on the CPU only", false },
    { "fake", "fake", find_fake, native, "does not support platform 'fake'", true },
};

/* Place of a name; the first line, which has no devices, where it is not known. */
static size_t line_of(const char *platform)
{
    for (size_t i = 0; i < CBX_LEN(platforms); i++)
        if (!strcmp(platform, platforms[i].name)) return i;
    return 0;
}

cbx_status cbx_platform_parse(const char *word, const char **out, cbx_err *err)
{
    const char *words[2 * CBX_LEN(platforms)];
    size_t n = 0;

    for (size_t i = 0; i < CBX_LEN(platforms); i++) {
        if (!strcmp(word, platforms[i].name) || !strcmp(word, platforms[i].alias)) {
            *out = platforms[i].name;
            return CBX_OK;
        }
        if (platforms[i].hidden) continue;
        words[n++] = platforms[i].name;
        words[n++] = platforms[i].alias;
    }
    const char *near = cbx_nearest_word(word, words, n);
    return cbx_fail(err, CBX_EINVAL, "unknown platform '%s'%s%s%s; known: cpu, cuda12", word,
                    near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

bool cbx__platform_has_devices(const char *platform) { return platforms[line_of(platform)].find != NULL; }

const char *cbx__platform_refuses(const char *platform, const char *provider)
{
    size_t line = line_of(platform);
    return platforms[line].runs(provider) ? NULL : platforms[line].why_not;
}

void cbx__accelerators_find_at(cbx_ctx *ctx, const char *platform, const char *root, const char *library,
                               cbx__accelerators *out)
{
    size_t line = line_of(platform);

    memset(out, 0, sizeof(*out));
    if (platforms[line].find) platforms[line].find(ctx, root ? root : "/", library, out);
    if (out->n) out->why[0] = '\0';
}

void cbx__accelerators_find(cbx_ctx *ctx, const char *platform, cbx__accelerators *out)
{
    cbx__accelerators_find_at(ctx, platform, NULL, NULL, out);
}

bool cbx_platform_available(const char *platform)
{
    cbx_ctx *ctx = NULL;
    cbx__accelerators all;
    bool known = false;

    for (size_t i = 0; i < CBX_LEN(platforms); i++) known = known || !strcmp(platform, platforms[i].name);
    if (!known || !cbx__platform_has_devices(platform)) return known;
    if (cbx_ctx_create(NULL, &ctx, NULL)) return false;
    cbx__accelerators_find(ctx, platform, &all);
    cbx_ctx_free(ctx);
    return all.n > 0;
}

/* --- choice --- */

static const cbx__accelerator *device_of(const cbx__accelerators *all, unsigned number)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->list[i].number == number) return &all->list[i];
    return NULL;
}

static cbx_status add(const char *platform, const cbx__accelerators *all, const char *word, unsigned number,
                      cbx__accelerators *out, cbx_err *err)
{
    const cbx__accelerator *d = device_of(all, number);
    char numbers[128] = "";
    size_t len = 0;

    if (all->n == 0)
        return cbx_fail(err, CBX_EINVAL, "'gpus' must name devices, and platform '%s' has none (%s), got '%s'",
                        platform, all->why, word);
    for (size_t i = 0; i < all->n && len < sizeof(numbers); i++)
        len += (size_t)snprintf(numbers + len, sizeof(numbers) - len, "%s%u", i ? ", " : "", all->list[i].number);
    if (!d)
        return cbx_fail(err, CBX_EINVAL, "'gpus' must name devices of platform '%s', which are %s, got '%s'", platform,
                        numbers, word);
    if (device_of(out, number))
        return cbx_fail(err, CBX_EINVAL, "'gpus' must name device %u once, got '%s'", number, word);
    out->list[out->n++] = *d;
    return CBX_OK;
}

cbx_status cbx__accelerators_choose(const char *platform, const cbx__accelerators *all, const char *const *words,
                                    size_t n, cbx__accelerators *out, cbx_err *err)
{
    const char *visible = n ? NULL : getenv("CUDA_VISIBLE_DEVICES");
    cbx_status st = CBX_OK;

    memset(out, 0, sizeof(*out));
    for (size_t w = 0; w < n && !st; w++) { /* a number, a range, or all */
        int numbers[4096];
        const bool every = !strcmp(words[w], "all");
        const size_t k = every ? all->n : cbx__cpu_list(words[w], numbers, CBX_LEN(numbers));
        if (!every && (k == 0 || strpbrk(words[w], ", ")))
            return cbx_fail(err, CBX_EINVAL,
                            "'gpus' must list numbers and ranges of devices, such as 0,2-3, or be all, got '%s'",
                            words[w]);
        for (size_t i = 0; i < k && !st; i++)
            st = add(platform, all, words[w], every ? all->list[i].number : (unsigned)numbers[i], out, err);
    }
    if (!st && visible && (*visible == '\0' || *visible == '-')) { /* CUDA takes "" and "-1" as no device */
        snprintf(out->why, sizeof(out->why), "CUDA_VISIBLE_DEVICES hides every device");
        return CBX_OK;
    }
    /* Numbers of the variable; its other forms (UUIDs, MIG) are not understood and leave all. */
    int numbers[64];
    for (size_t i = 0, k = visible ? cbx__cpu_list(visible, numbers, CBX_LEN(numbers)) : 0; i < k; i++) {
        const cbx__accelerator *d = device_of(all, (unsigned)numbers[i]);
        if (d && !device_of(out, d->number)) out->list[out->n++] = *d;
    }
    if (!st && n == 0 && !out->n) *out = *all;
    memcpy(out->why, all->why, sizeof(out->why));
    return st;
}
