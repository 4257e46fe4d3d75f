/*
 * Which accelerators there are: the driver's names, NVML's, PCI numbers, in this order.
 *
 * PCI: a 3D controller (class 0x0302) or processing accelerator (0x12) of a known maker counts even if it is not in the table; a
 * display adapter (0x0300) and anything of Google counts only if it is.
 */
#include "calibrax/profiling/accelerators.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/profiling/gpu.h"
#include "calibrax/profiling/procfs.h"

enum { MAX_DEVICES = 64 };

typedef struct search {
    size_t count;
    cbx_hardware first;
    char stranger[96], other[96]; /* one that is not in the table; one of another kind */
} search;

static void see(search *s, bool known, const cbx_hardware *h, const char *told)
{
    s->count++;
    if (!known)
        snprintf(s->stranger, sizeof s->stranger, "%s", told);
    else if (!s->first.name[0])
        s->first = *h;
    else if (strcmp(s->first.name, h->name) != 0)
        snprintf(s->other, sizeof s->other, "%s", h->name);
}

static void see_name(search *s, const char *name)
{
    cbx_hardware h;
    bool known = cbx_hardware_find(name, &h, NULL) == CBX_OK;
    see(s, known, &h, name);
}

static cbx_status see_driver(cbx_ctx *ctx, const char *root, search *s, cbx_err *err)
{
    cbx_machine *m = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *m);
    cbx_status st;

    if (!m) return cbx_fail_nomem(err, "the list of accelerators");
    st = cbx_machine_read(ctx, root, m, err);
    for (int i = 0; i < m->naccelerators && !st; i++) see_name(s, m->accelerator[i]);
    cbx_mem_free(cbx_ctx_allocator(ctx), m, sizeof *m);
    return st == CBX_ENOMEM ? st : CBX_OK; /* a machine without cpuinfo may have devices */
}

static cbx_status see_nvml(cbx_ctx *ctx, search *s, cbx_err *err)
{
    cbx_err why = CBX_ERR_INIT;
    cbx_status st = CBX_OK;

    for (unsigned i = 0; i < MAX_DEVICES; i++) {
        cbx_gpu *gpu = NULL;
        st = cbx_gpu_open(ctx, i, NULL, &gpu, &why);
        if (st) break;
        see_name(s, cbx_gpu_name(gpu));
        cbx_gpu_close(gpu);
    }
    return st == CBX_ENOMEM ? cbx_fail(err, st, "%s", why.message) : CBX_OK;
}

/* "0x10de\n" of a file of a PCI device as a number; 0: not told. */
static unsigned number_of(const char *folder, const char *device, const char *what)
{
    char path[512], text[32];
    unsigned v = 0;

    if (snprintf(path, sizeof path, "%s/%s/%s", folder, device, what) >= (int)sizeof path) return 0;
    if (!cbx__proc_read(path, text, sizeof text) || sscanf(text, "%x", &v) != 1) return 0;
    return v;
}

static void see_pci_device(const char *folder, const char *device, search *s)
{
    unsigned vendor = number_of(folder, device, "vendor"), id = number_of(folder, device, "device");
    unsigned class = number_of(folder, device, "class");
    bool maker = vendor == 0x10de || vendor == 0x1002, computes = class >> 8 == 0x0302 || class >> 16 == 0x12;
    cbx_hardware h;
    char text[32];

    if (!maker && vendor != 0x1ae0) return;
    snprintf(text, sizeof text, "%04x:%04x", vendor & 0xffff, id & 0xffff);
    if (cbx__hardware_of_pci(text, &h) == CBX_OK)
        see(s, true, &h, text);
    else if (maker && computes)
        see(s, false, NULL, text);
}

static void see_pci(const char *root, search *s)
{
    char folder[400];
    const struct dirent *e;
    DIR *d = NULL;

    if (snprintf(folder, sizeof folder, "%s/sys/bus/pci/devices", root) < (int)sizeof folder) d = opendir(folder);
    while (d && (e = readdir(d))) {
        if (e->d_name[0] != '.') see_pci_device(folder, e->d_name, s);
    }
    if (d) closedir(d);
}

cbx_status cbx_hardware_detect(cbx_ctx *ctx, const char *root, cbx_hardware *out, size_t *count, cbx_err *err)
{
    bool here = !root || strcmp(root, "/") == 0;
    search s = { 0 };
    cbx_status st = see_driver(ctx, here ? NULL : root, &s, err);

    if (!st && !s.count && here) st = see_nvml(ctx, &s, err);
    if (!st && !s.count) see_pci(here ? "" : root, &s);
    if (st) return st;
    if (!s.count) return cbx_fail(err, CBX_ENOENT, "no accelerator is told by the driver, NVML or PCI");
    if (s.stranger[0])
        return cbx_fail(err, CBX_EUNAVAILABLE, "no data sheet of the accelerator '%s': measure its roofs instead",
                        s.stranger);
    if (s.other[0])
        return cbx_fail(err, CBX_EUNAVAILABLE,
                        "accelerators of several kinds, '%s' and '%s': name the one that is meant", s.first.name,
                        s.other);
    *out = s.first;
    if (count) *count = s.count;
    return CBX_OK;
}
