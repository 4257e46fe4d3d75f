/* The devices of a machine: looked at once, immutable from then on, shared by reference count.
 *
 * Nothing is kept for the whole process, so there is nothing to lock and nothing to reset: to look
 * again probes again. */
#include <stdio.h>
#include <string.h>

#include "calibrax/array/device/internal.h"
#include "calibrax/base/idioms.h"

/* --- looking --- */

/* loss and remedy are constants; text is copied. */
static cbx_status add_gap(cbx_devices *d, const char *what, const char *text, const char *loss, const char *remedy,
                          cbx_err *err)
{
    cbx_device_gap *g = &d->gap[d->ngaps];

    *g = (cbx_device_gap){ what, cbx_arena_printf(&d->arena, "%s%s%s", text, *loss ? "; " : "", loss), remedy };
    if (!g->text) return cbx_fail(err, CBX_ENOMEM, "no memory to list what is missing");
    d->ngaps++;
    return CBX_OK;
}

static cbx_status see_topology(cbx_ctx *ctx, const cbx_devices_opts *o, const cbx_machine *m, cbx_devices *d,
                               cbx_err *err)
{
    static const char loss[] = "caches are those of the first CPU, and the memory node of each thread is unknown";
    cbx_err why = CBX_ERR_INIT;
    cbx_topology *t = &d->topology;
    bool wanted = !o->hwloc || *o->hwloc;
    cbx_status st = wanted ? cbx__topology_hwloc(ctx, o->hwloc, &d->arena, t, &why)
                           : cbx_fail(&why, CBX_EUNAVAILABLE, "hwloc is disabled");

    if (st == CBX_EUNAVAILABLE) {
        st = add_gap(d, "hwloc", why.message, loss, wanted ? "apt-get install libhwloc15" : NULL, err);
        if (!st) st = cbx__topology_plain(m, !o->root, &d->arena, t, err);
    } else if (st) {
        return cbx_fail(err, st, "%s", why.message);
    }
    if (st) return st;
    if (!t->cpu) t->cpu = cbx_arena_strdup(&d->arena, m && t->this_machine ? m->model_name : "");
    if (m && t->this_machine) {
        t->memory_bytes = m->memory_bytes;
        /* The kernel's nodes may leave out what was plugged in later; where there is one, all
         * memory is its own. */
        if (t->nnodes == 1) ((cbx_topology_node *)t->nodes)->memory_bytes = m->memory_bytes; /* ours, in the arena */
    }
    t->usable_threads = t->this_machine ? cbx_machine_usable_threads() : t->threads;
    return t->cpu ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "no memory for the name of a CPU");
}

static cbx_status see_devices(cbx_ctx *ctx, const cbx_devices_opts *o, cbx_devices *d, cbx_err *err)
{
    int count = 0;
    cbx_status st;

    if (o->cuda_driver && !*o->cuda_driver) {
        st = add_gap(d, "cuda", "the search for GPUs is disabled", "", NULL, err);
    } else {
        const char *remedy = NULL;
        cbx_err why = CBX_ERR_INIT;
        st = cbx__cuda_open(ctx, o->cuda_driver, &d->cuda, &count, &remedy, &why);
        if (st) count = 0;
        if (st == CBX_EUNAVAILABLE)
            st = add_gap(d, "cuda", why.message, "", remedy, err);
        else if (st)
            st = cbx_fail(err, st, "%s", why.message);
    }
    if (st) return st;
    d->device = cbx_arena_calloc(&d->arena, 1 + (size_t)count, sizeof *d->device);
    if (!d->device) return cbx_fail(err, CBX_ENOMEM, "no memory to list %d devices", count + 1);
    cbx_device *cpu = &d->device[d->count++];
    uint64_t total, available;
    cpu->kind = CBX_DEVICE_CPU;
    snprintf(cpu->name, sizeof cpu->name, "%s", *d->topology.cpu ? d->topology.cpu : "CPU");
    cpu->memory_total_bytes = d->topology.memory_bytes;
    if (d->topology.this_machine) {
        st = cbx_machine_read_memory(ctx, d->root, &total, &available, err);
        if (!st) cpu->memory_total_bytes = total;
        if (st != CBX_ENOMEM) st = CBX_OK;
    }
    for (int i = 0; i < count && !st; i++) {
        cbx_err why = CBX_ERR_INIT;
        if (!cbx__cuda_describe(&d->cuda, i, &d->device[d->count], &why))
            d->count++;
        else if (d->ngaps < CBX__GAPS_MAX)
            st = add_gap(d, "cuda", why.message, "", NULL, err);
    }
    return st;
}

cbx_status cbx_devices_probe(cbx_ctx *ctx, const cbx_devices_opts *opts, cbx_devices **out, cbx_err *err)
{
    const cbx_devices_opts defaults = CBX_DEVICES_OPTS_INIT, *o = opts ? opts : &defaults;
    cbx_machine m;
    cbx_devices *d;
    cbx_status st;

    if (o->struct_size != sizeof *o)
        return cbx_fail(err, CBX_EINVAL,
                        "'struct_size' of the device options is %u, this library has %zu: rebuild against its headers",
                        o->struct_size, sizeof *o);
    d = CBX_ARENA_OBJECT(cbx_devices, cbx_ctx_allocator(ctx));
    if (!d) return cbx_fail(err, CBX_ENOMEM, "no memory to list devices");
    atomic_init(&d->refs, 1);
    d->root = o->root ? cbx_arena_strdup(&d->arena, o->root) : NULL;
    st = o->root && !d->root ? cbx_fail(err, CBX_ENOMEM, "no memory to list devices")
                             : cbx_machine_read(ctx, o->root, &m, err);
    if (st != CBX_ENOMEM) st = see_topology(ctx, o, st ? NULL : &m, d, err);
    if (!st) st = see_devices(ctx, o, d, err);
    return CBX_FINISH(st, *out = d, cbx_devices_free(d));
}

/* --- sharing and reading --- */

cbx_devices *cbx_devices_ref(const cbx_devices *d)
{
    cbx_devices *mine = (cbx_devices *)d; /* the count is all that ever changes */
    if (mine) atomic_fetch_add_explicit(&mine->refs, 1, memory_order_relaxed);
    return mine;
}

void cbx_devices_free(cbx_devices *d)
{
    if (!d || atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) != 1) return;
    cbx_library_close(d->cuda.library);
    cbx_arena_end(&d->arena);
}

size_t cbx_devices_count(const cbx_devices *d) { return d->count; }

const cbx_device *cbx_devices_at(const cbx_devices *d, size_t i) { return i < d->count ? &d->device[i] : NULL; }

const cbx_device *cbx_devices_first(const cbx_devices *d, cbx_device_kind kind)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->device[i].kind == kind) return &d->device[i];
    return NULL;
}

const cbx_topology *cbx_devices_topology(const cbx_devices *d) { return &d->topology; }

const cbx_device_gap *cbx_devices_gaps(const cbx_devices *d, size_t *n)
{
    *n = d->ngaps;
    return d->gap;
}

cbx_status cbx_devices_memory(cbx_ctx *ctx, const cbx_devices *d, const cbx_device *device, cbx_device_memory *out,
                              cbx_err *err)
{
    uint64_t total, available;
    cbx_status st;

    if (device->kind == CBX_DEVICE_CUDA) {
        const cbx__gpu_usage *u = cbx__gpu_usage_of(device->index);
        st = cbx__cuda_memory(&d->cuda, device, out, err);
        if (st) return st;
        out->in_use_bytes = atomic_load_explicit(&u->in_use, memory_order_relaxed);
        out->kept_bytes = atomic_load_explicit(&u->kept, memory_order_relaxed);
        out->in_use_peak_bytes = atomic_load_explicit(&u->peak, memory_order_relaxed);
        return CBX_OK;
    }
    st = cbx_machine_read_memory(ctx, d->root, &total, &available, err);
    if (st) return st == CBX_ENOENT ? CBX_EUNAVAILABLE : st;
    *out = (cbx_device_memory){ .total_bytes = total, .available_bytes = available };
    return CBX_OK;
}

/* --- choosing --- */

/* Why there is no GPU. */
static const char *absence(const cbx_devices *d)
{
    for (size_t i = 0; i < d->ngaps; i++)
        if (!strcmp(d->gap[i].what, "cuda")) return d->gap[i].text;
    return "the device does not exist";
}

cbx_status cbx__devices_choose(const cbx_devices *d, const cbx_device_config *c, const char *obstacle,
                               cbx_device_choice *out, cbx_err *err)
{
    const cbx_device *gpu = obstacle ? NULL : cbx_devices_first(d, CBX_DEVICE_CUDA);

    if ((unsigned)c->preferred > CBX_DEVICE_CUDA)
        return cbx_fail(err, CBX_EINVAL, "unknown kind of device: %u", (unsigned)c->preferred);
    if (!(c->memory_fraction > 0 && c->memory_fraction <= 1))
        return cbx_fail(err, CBX_EINVAL, "the memory fraction of a device is %g: it must be above 0 and at most 1",
                        c->memory_fraction);
    if (c->preferred == CBX_DEVICE_CUDA && !gpu && !c->allow_fallback)
        return cbx_fail(err, CBX_EUNAVAILABLE, "a GPU is required without fallback and is not available: %s",
                        obstacle ? obstacle : absence(d));
    const cbx_device *device = c->preferred == CBX_DEVICE_CUDA && gpu ? gpu : &d->device[0];
    const double bytes = (double)device->memory_total_bytes * c->memory_fraction;
    out->device = device;
    out->memory_limit_bytes = device->kind == CBX_DEVICE_CPU ? device->memory_total_bytes : (uint64_t)bytes;
    out->fell_back = false;
    out->warning[0] = 0;
    if (c->preferred == CBX_DEVICE_CPU || gpu) return CBX_OK;
    out->fell_back = true;
    snprintf(out->warning, sizeof out->warning, "a GPU is requested but not available, falling back to the CPU: %s",
             obstacle ? obstacle : absence(d));
    return CBX_OK;
}

cbx_status cbx_devices_choose(const cbx_devices *d, const cbx_device_config *config, cbx_device_choice *out,
                              cbx_err *err)
{
    return cbx__devices_choose(d, config, NULL, out, err);
}
