/*
 * What the CPU is made of, by hwloc 2 (BSD-3-Clause), which is loaded at run time; its types stay
 * in this file.
 *
 * Disallowed CPUs are kept, so that the counts are the machine's whatever a control group allows.
 * The environment's HWLOC_SYNTHETIC and HWLOC_XMLFILE describe another machine, and the result is
 * marked so.
 */
#include <hwloc.h>

#include "calibrax/array/device/internal.h"

/* Names without hwloc_: the part of hwloc that is used here; hwloc.h has its types. */
/* clang-format off */
#define HWLOC_CALLS(X)                                                                                                 \
    X(get_api_version) X(topology_init) X(topology_set_flags) X(topology_set_icache_types_filter) X(topology_load)     \
    X(topology_is_thissystem) X(topology_destroy) X(get_type_depth) X(get_nbobjs_by_depth) X(get_obj_by_depth)         \
    X(bitmap_weight)
/* clang-format on */

typedef struct hwloc_calls {
#define HWLOC_MEMBER(name) __typeof__(hwloc_##name) *name;
    HWLOC_CALLS(HWLOC_MEMBER)
#undef HWLOC_MEMBER
} hwloc_calls;

typedef struct survey {
    hwloc_calls h;
    hwloc_topology_t topology;
    cbx_arena *arena;
    cbx_topology *out;
} survey;

/* Number of objects of a type, and the depth at which they stand. */
static int count_of(const survey *v, hwloc_obj_type_t type, int *depth)
{
    *depth = v->h.get_type_depth(v->topology, type);
    return *depth == HWLOC_TYPE_DEPTH_UNKNOWN || *depth == HWLOC_TYPE_DEPTH_MULTIPLE
               ? 0
               : (int)v->h.get_nbobjs_by_depth(v->topology, *depth);
}

static const char *cache_type(hwloc_obj_cache_type_t type)
{
    return type == HWLOC_OBJ_CACHE_DATA ? "Data" : type == HWLOC_OBJ_CACHE_INSTRUCTION ? "Instruction" : "Unified";
}

/* Counts a cache with those that are like it; list has the capacity. */
static void take_cache(const survey *v, hwloc_obj_t o, cbx_topology_cache *list)
{
    const cbx_topology_cache c = { (int)o->attr->cache.depth, cache_type(o->attr->cache.type), o->attr->cache.size,
                                   v->h.bitmap_weight(o->complete_cpuset), 1 };
    for (size_t i = 0; i < v->out->ncaches; i++) {
        if (list[i].level != c.level || list[i].type != c.type || list[i].bytes != c.bytes ||
            list[i].shared_by != c.shared_by)
            continue;
        list[i].count++;
        return;
    }
    list[v->out->ncaches++] = c;
}

static cbx_status take_caches(survey *v, cbx_err *err)
{
    static const hwloc_obj_type_t types[] = { HWLOC_OBJ_L1CACHE,  HWLOC_OBJ_L1ICACHE, HWLOC_OBJ_L2CACHE,
                                              HWLOC_OBJ_L2ICACHE, HWLOC_OBJ_L3CACHE,  HWLOC_OBJ_L3ICACHE,
                                              HWLOC_OBJ_L4CACHE,  HWLOC_OBJ_L5CACHE };
    cbx_topology_cache *list;
    size_t maximum = 0;
    int depth;

    for (size_t i = 0; i < CBX_LEN(types); i++) maximum += (size_t)count_of(v, types[i], &depth);
    list = cbx_arena_calloc(v->arena, maximum, sizeof *list);
    if (!list) return cbx_fail(err, CBX_ENOMEM, "no memory to list %zu caches", maximum);
    for (size_t i = 0; i < CBX_LEN(types); i++) {
        int n = count_of(v, types[i], &depth);
        for (int k = 0; k < n; k++) take_cache(v, v->h.get_obj_by_depth(v->topology, depth, (unsigned)k), list);
    }
    v->out->caches = list;
    return CBX_OK;
}

static cbx_status take_nodes(survey *v, cbx_err *err)
{
    int depth, n = count_of(v, HWLOC_OBJ_NUMANODE, &depth);
    cbx_topology_node *list = cbx_arena_calloc(v->arena, (size_t)n, sizeof *list);

    if (!list) return cbx_fail(err, CBX_ENOMEM, "no memory to list %d memory nodes", n);
    for (int i = 0; i < n; i++) {
        hwloc_obj_t o = v->h.get_obj_by_depth(v->topology, depth, (unsigned)i);
        list[i] = (cbx_topology_node){ (int)o->os_index, v->h.bitmap_weight(o->complete_cpuset),
                                       o->attr->numanode.local_memory };
        v->out->memory_bytes += list[i].memory_bytes;
    }
    v->out->nodes = list;
    v->out->nnodes = (size_t)n;
    return CBX_OK;
}

static cbx_status survey_cpu(survey *v, cbx_err *err)
{
    cbx_topology *t = v->out;
    int depth;
    cbx_status st;

    t->source = "hwloc";
    t->this_machine = v->h.topology_is_thissystem(v->topology) != 0;
    t->threads = count_of(v, HWLOC_OBJ_PU, &depth);
    t->cores = count_of(v, HWLOC_OBJ_CORE, &depth);
    t->packages = count_of(v, HWLOC_OBJ_PACKAGE, &depth);
    if (!t->cores) t->cores = t->threads; /* some machines do not report it: a thread is a core then */
    if (!t->packages) t->packages = 1;
    /* The model's name, where hwloc has it; else NULL stays for the caller to fill. */
    int n = count_of(v, HWLOC_OBJ_PACKAGE, &depth);
    const char *name = n ? hwloc_obj_get_info_by_name(v->h.get_obj_by_depth(v->topology, depth, 0), "CPUModel") : NULL;
    if (name) t->cpu = cbx_arena_strdup(v->arena, name);
    st = name && !t->cpu ? cbx_fail(err, CBX_ENOMEM, "no memory for the name of a CPU") : take_caches(v, err);
    return st ? st : take_nodes(v, err);
}

cbx_status cbx__topology_hwloc(cbx_ctx *ctx, const char *path, cbx_arena *arena, cbx_topology *out, cbx_err *err)
{
    cbx_topology t = { 0 };
    survey v = { .arena = arena, .out = &t };
    cbx_library *lib = NULL;
    const cbx_library_symbol symbols[] = {
#define HWLOC_SYMBOL(name) { "hwloc_" #name, (void **)(void *)&v.h.name },
        HWLOC_CALLS(HWLOC_SYMBOL)
#undef HWLOC_SYMBOL
    };
    cbx_status st = cbx_library_open_known(ctx, CBX_LIBRARY_HWLOC, path, symbols, CBX_LEN(symbols), &lib, err);

    if (st) return st;
    if (v.h.get_api_version() >> 16 != HWLOC_API_VERSION >> 16) {
        st = cbx_fail(err, CBX_EUNAVAILABLE,
                      "'%s' has interface %x, and %x is needed: run 'apt-get install libhwloc15'",
                      cbx_library_name(lib), v.h.get_api_version() >> 16, HWLOC_API_VERSION >> 16);
    } else if (v.h.topology_init(&v.topology)) {
        st = cbx_fail(err, CBX_ENOMEM, "no memory for hwloc's topology");
    } else {
        v.h.topology_set_flags(v.topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
        v.h.topology_set_icache_types_filter(v.topology, HWLOC_TYPE_FILTER_KEEP_ALL);
        st = v.h.topology_load(v.topology)
                 ? cbx_fail(err, CBX_EUNAVAILABLE, "hwloc cannot read the topology of this machine")
                 : survey_cpu(&v, err);
        v.h.topology_destroy(v.topology);
    }
    cbx_library_close(lib);
    if (!st) *out = t;
    return st;
}
