/*
 * What a doctor sees of the array engine; see doctor.h.
 */
#include "calibrax/array/doctor.h"

#include <stdio.h>
#include <string.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/cuda/cuda.h"
#include "calibrax/base/settings_internal.h"

#define GIB 1073741824.0

void cbx_doctor_see_settings(cbx_doctor_report *r, cbx_settings *out)
{
    const char *variable = "";

    *out = (cbx_settings){ "auto", false, true, 0.9, { "default", "default", "default", "default" } };
    for (int i = 0; i < CBX_SETTING_COUNT; i++) {
        const cbx_setting_info *info = cbx_setting_get_info((cbx_setting)i);
        char text[CBX_SETTING_TEXT_SIZE];
        cbx_err err = CBX_ERR_INIT;

        if (cbx_setting_read((cbx_setting)i, out, &err)) {
            cbx_doctor_add(r, "settings", info->variable, CBX_DOCTOR_BROKEN, err.message, NULL);
            continue;
        }
        cbx_doctor_fact(r, "settings", info->variable, "%s (%s%s)", cbx_setting_text(out, (cbx_setting)i, text),
                        strcmp(out->origin[i], "default") ? "by " : "", out->origin[i]);
    }
    for (size_t i = 0; variable; i++) {
        cbx_err err = CBX_ERR_INIT;
        if (cbx__setting_check(i, &variable, &err))
            cbx_doctor_add(r, "settings", variable, CBX_DOCTOR_BROKEN, err.message, NULL);
    }
}

void cbx_doctor_see_backends(cbx_doctor_report *r, const cbx_settings *settings)
{
    const cbx_backend *b;
    cbx_err err = CBX_ERR_INIT;

    for (size_t i = 0; (b = cbx_backend_at(i)); i++)
        cbx_doctor_add(r, "backends", b->name, CBX_DOCTOR_HERE,
                       b->flags & CBX_BACKEND_GPU ? "runs on CPU and GPU" : "runs on the CPU", NULL);
    if (cbx_backend_choose(settings, &b, &err))
        cbx_doctor_add(r, "backends", "chosen backend", CBX_DOCTOR_BROKEN, err.message, NULL);
    else
        cbx_doctor_fact(r, "backends", "chosen backend", "%s: %s", b->name,
                        strcmp(settings->backend, "auto") ? "named by the settings" : "what auto takes");
}

/* "cpu", "cuda 1" */
static const char *label(const cbx_device *device, char buf[24])
{
    if (device->kind == CBX_DEVICE_CPU)
        snprintf(buf, 24, "%s", cbx_device_kind_name(device->kind));
    else
        snprintf(buf, 24, "%s %d", cbx_device_kind_name(device->kind), device->index);
    return buf;
}

static void see_device(cbx_ctx *ctx, cbx_doctor_report *r, const cbx_devices *d, const cbx_device *device)
{
    char text[CBX_ERR_MESSAGE_SIZE + 256], capability[48] = "", name[24];
    double total = (double)device->memory_total_bytes / GIB;
    cbx_device_memory m;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    if (device->kind == CBX_DEVICE_CUDA)
        snprintf(capability, sizeof(capability), ", capability %d.%d", device->capability_major,
                 device->capability_minor);
    st = cbx_devices_memory(ctx, d, device, &m, &err);
    if (st == CBX_ENOMEM) {
        r->torn = true;
        return;
    }
    if (st)
        snprintf(text, sizeof(text), "%s%s, %.1f GiB; available memory unknown: %s", device->name, capability, total,
                 err.message);
    else
        snprintf(text, sizeof(text), "%s%s, %.1f GiB, %.1f GiB available", device->name, capability, total,
                 (double)m.available_bytes / GIB);
    cbx_doctor_add(r, "devices", label(device, name), CBX_DOCTOR_HERE, text, NULL);
}

/* By the settings and the backend that they choose. */
static void choose(cbx_ctx *ctx, cbx_doctor_report *r, const cbx_devices *d, const cbx_settings *s)
{
    cbx_device_config wish = { s->use_gpu ? CBX_DEVICE_CUDA : CBX_DEVICE_CPU, s->gpu_fallback, s->gpu_memory_fraction };
    const cbx_backend *b = NULL;
    cbx_device_choice c;
    cbx_err err = CBX_ERR_INIT;
    char name[24];
    cbx_status st = cbx_backend_choose(s, &b, &err);

    if (!st) st = cbx_ctx_set_backend(ctx, b, &err);
    if (!st) st = cbx_ctx_set_devices(ctx, d, &err);
    if (!st) st = cbx_ctx_set_device_config(ctx, &wish, &err);
    if (!st) st = cbx_ctx_device(ctx, &c, &err);
    if (st == CBX_ENOMEM)
        r->torn = true;
    else if (st)
        cbx_doctor_add(r, "devices", "chosen device", CBX_DOCTOR_BROKEN, err.message, NULL);
    else
        cbx_doctor_fact(r, "devices", "chosen device", "%s, at most %.1f GiB%s%s", label(c.device, name),
                        (double)c.memory_limit_bytes / GIB, c.fell_back ? "; " : "", c.warning);
}

static void see_gaps(cbx_doctor_report *r, const cbx_devices *d, const char *group, const char *what)
{
    size_t n;
    const cbx_device_gap *g = cbx_devices_gaps(d, &n);

    for (size_t i = 0; i < n; i++)
        if (!strcmp(g[i].what, what)) cbx_doctor_add(r, group, what, CBX_DOCTOR_MISSING, g[i].text, g[i].remedy);
}

static void see_kernels(cbx_doctor_report *r)
{
    const char *build = cbx_cuda_build();

    if (build)
        cbx_doctor_add(r, "devices", "cuda kernels", CBX_DOCTOR_HERE, build, NULL);
    else
        cbx_doctor_add(r, "devices", "cuda kernels", CBX_DOCTOR_MISSING,
                       "this library was built without nvcc, so its products run on the CPU only",
                       "install NVIDIA's CUDA toolkit 12 and build again");
}

/* Where arrays and compiled functions can be besides the CPU; without a GPU the gap has the
 * reason. */
static void see_compiled(cbx_doctor_report *r, const cbx_devices *d)
{
    enum { CAPABILITY_MIN = 8 };
    char text[256], name[24];

    for (size_t i = 0; i < cbx_devices_count(d); i++) {
        const cbx_device *device = cbx_devices_at(d, i);
        const bool can = device->capability_major >= CAPABILITY_MIN;
        if (device->kind != CBX_DEVICE_CUDA) continue;
        snprintf(text, sizeof text,
                 can ? "on %s, by the driver; LLVM 19 compiles for it" : "not on %s: its capability is below 8.0",
                 label(device, name));
        cbx_doctor_add(r, "devices", "arrays on GPUs", can ? CBX_DOCTOR_HERE : CBX_DOCTOR_MISSING, text, NULL);
    }
}

void cbx_doctor_see_devices(cbx_ctx *ctx, cbx_doctor_report *r, const cbx_devices *d, const cbx_settings *settings)
{
    for (size_t i = 0; i < cbx_devices_count(d); i++) see_device(ctx, r, d, cbx_devices_at(d, i));
    see_gaps(r, d, "devices", "cuda");
    see_kernels(r);
    see_compiled(r, d);
    choose(ctx, r, d, settings);
}

static void see_caches(cbx_doctor_report *r, const cbx_topology *t)
{
    for (size_t i = 0; i < t->ncaches; i++) {
        const cbx_topology_cache *c = &t->caches[i];
        char name[32], count[32] = "", shared[48] = "";
        snprintf(name, sizeof(name), "L%d %s", c->level, c->type);
        if (c->count) snprintf(count, sizeof(count), "%d of ", c->count);
        if (c->shared_by)
            snprintf(shared, sizeof(shared), ", each of %d thread%s", c->shared_by, c->shared_by == 1 ? "" : "s");
        cbx_doctor_fact(r, "topology", name, "%s%llu KiB%s", count, (unsigned long long)c->bytes >> 10, shared);
    }
}

void cbx_doctor_see_topology(cbx_doctor_report *r, const cbx_devices *d)
{
    static const char group[] = "topology";
    const cbx_topology *t = cbx_devices_topology(d);

    cbx_doctor_fact(r, group, "source", "%s%s", t->source, t->this_machine ? "" : ", of a different machine");
    see_gaps(r, d, group, "hwloc");
    cbx_doctor_fact(r, group, "packages", "%d", t->packages);
    cbx_doctor_fact(r, group, "cores", "%d", t->cores);
    cbx_doctor_fact(r, group, "threads", "%d, %d usable by this process", t->threads, t->usable_threads);
    see_caches(r, t);
    for (size_t i = 0; i < t->nnodes; i++) {
        const cbx_topology_node *n = &t->nodes[i];
        char name[32];
        snprintf(name, sizeof(name), "node %d", n->index);
        if (n->memory_bytes)
            cbx_doctor_fact(r, group, name, "%.1f GiB, %d threads", (double)n->memory_bytes / GIB, n->threads);
        else
            cbx_doctor_fact(r, group, name, "memory and threads are unknown");
    }
}
