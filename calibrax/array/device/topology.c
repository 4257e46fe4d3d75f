/* What the CPU is made of, without hwloc: by the kernel's files, else by what sysconf returns. */
#include <unistd.h>

#include "calibrax/array/device/internal.h"

static cbx_status keep_caches(const cbx_machine *m, cbx_arena *arena, cbx_topology *t)
{
    cbx_topology_cache *list = cbx_arena_calloc(arena, (size_t)m->ncaches, sizeof *list);

    if (!list) return CBX_ENOMEM;
    for (int i = 0; i < m->ncaches; i++) {
        const cbx_machine_cache *c = &m->cache[i];
        list[i] = (cbx_topology_cache){ c->level, cbx_arena_strdup(arena, c->type), c->bytes, c->shared_by,
                                        c->shared_by ? m->threads / c->shared_by : 0 };
        if (!list[i].type) return CBX_ENOMEM;
    }
    t->caches = list;
    t->ncaches = (size_t)m->ncaches;
    return CBX_OK;
}

cbx_status cbx__topology_plain(const cbx_machine *m, bool this_machine, cbx_arena *arena, cbx_topology *out,
                               cbx_err *err)
{
    cbx_topology t = { .source = "kernel", .this_machine = this_machine };
    cbx_status st = CBX_OK;

    if (m) {
        t.packages = m->sockets;
        t.cores = m->cores;
        t.threads = m->threads;
        t.memory_bytes = m->memory_bytes;
        st = keep_caches(m, arena, &t);
    } else {
        long threads = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
        t.source = "sysconf";
        t.threads = t.cores = threads > 0 ? (int)threads : 1;
        t.packages = 1;
        t.memory_bytes = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
    }
    /* Nodes are counted only: whose memory and threads are whose is what is lost without hwloc. */
    const int n = m ? m->numa_nodes : 1;
    cbx_topology_node *nodes = cbx_arena_calloc(arena, (size_t)n, sizeof *nodes);
    for (int i = 0; nodes && i < n; i++) nodes[i].index = i;
    if (nodes && n == 1) nodes[0] = (cbx_topology_node){ 0, t.threads, t.memory_bytes };
    t.nodes = nodes;
    t.nnodes = (size_t)n;
    if (st || !nodes) return cbx_fail(err, CBX_ENOMEM, "no memory to describe the CPU");
    *out = t;
    return CBX_OK;
}
