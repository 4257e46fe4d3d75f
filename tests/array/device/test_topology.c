/*
 * What the CPU is made of: hwloc on described machines (HWLOC_SYNTHETIC), the kernel's files of
 * captured ones, and this machine by both, against lscpu, which is neither.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "calibrax/array/device/device.h"
#include "fail_alloc.h"

static cbx_devices *look(cbx_ctx *ctx, const char *hwloc, const char *root)
{
    cbx_devices_opts o = CBX_DEVICES_OPTS_INIT;
    cbx_devices *d = NULL;
    cbx_err err = CBX_ERR_INIT;
    o.cuda_driver = "";
    o.hwloc = hwloc;
    o.root = root;
    CHECK_OK(cbx_devices_probe(ctx, &o, &d, &err), &err, "a look at the machine");
    return d;
}

static const cbx_device_gap *hwloc_gap(const cbx_devices *d)
{
    size_t n;
    const cbx_device_gap *g = cbx_devices_gaps(d, &n);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(g[i].what, "hwloc")) return &g[i];
    return NULL;
}

static const cbx_topology_cache *cache(const cbx_topology *t, int level, const char *type)
{
    for (size_t i = 0; i < t->ncaches; i++)
        if (t->caches[i].level == level && !strcmp(t->caches[i].type, type)) return &t->caches[i];
    return NULL;
}

/* Machines as hwloc describes them: the counts follow from the text. */
TEST(described_machines_are_read)
{
    static const struct {
        const char *words;
        int packages, nodes, cores, threads;
        int l2_count, l2_shared, l3_count; /* 0: none */
    } cases[] = {
        { "pack:2 [numa] l3:1 l2:4 core:1 pu:2", 2, 2, 8, 16, 8, 2, 2 },
        { "pack:1 core:6 pu:1", 1, 1, 6, 6, 0, 0, 0 },
        { "pack:2 [numa] [numa] l3:2 l2:2 l1d:2 core:1 pu:1", 2, 4, 16, 16, 8, 2, 4 },
        { "pu:3", 1, 1, 3, 3, 0, 0, 0 },
    };
    cbx_ctx *ctx = cbx_test_context();
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        setenv("HWLOC_SYNTHETIC", cases[i].words, 1);
        cbx_devices *d = look(ctx, NULL, NULL);
        unsetenv("HWLOC_SYNTHETIC");
        if (hwloc_gap(d)) {
            cbx_devices_free(d);
            cbx_ctx_free(ctx);
            fail_msg("hwloc is not installed");
        }
        const cbx_topology *t = cbx_devices_topology(d);
        const cbx_topology_cache *l2 = cache(t, 2, "Unified"), *l3 = cache(t, 3, "Unified");
        CHECK_STR(t->source, "hwloc", cases[i].words);
        CHECK(!t->this_machine, "a description is not this machine");
        CHECK_STR(t->cpu, "", "whose CPU has no name");
        CHECK_INT(t->packages, cases[i].packages, cases[i].words);
        CHECK_INT(t->nnodes, cases[i].nodes, cases[i].words);
        CHECK_INT(t->cores, cases[i].cores, cases[i].words);
        CHECK_INT(t->threads, cases[i].threads, cases[i].words);
        CHECK_INT(l2 ? l2->count : 0, cases[i].l2_count, cases[i].words);
        CHECK_INT(l2 ? l2->shared_by : 0, cases[i].l2_shared, cases[i].words);
        CHECK_INT(l3 ? l3->count : 0, cases[i].l3_count, cases[i].words);
        uint64_t sum = 0;
        for (size_t k = 0; k < t->nnodes; k++) sum += t->nodes[k].memory_bytes;
        CHECK_INT(sum, t->memory_bytes, "the nodes hold all memory");
        CHECK_INT(cbx_devices_at(d, 0)->memory_total_bytes, t->memory_bytes, "the device's, too");
        cbx_devices_free(d);
    }
    cbx_ctx_free(ctx);
}

/* Two kinds of cores: caches that differ are distinguished. */
TEST(unlike_caches_are_reported_apart)
{
    const char *source = getenv("CALIBRAX_SOURCE_ROOT");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/fixtures/machines/hybrid.xml", source ? source : ".");
    setenv("HWLOC_XMLFILE", path, 1);
    cbx_ctx *ctx = cbx_test_context();
    cbx_devices *d = look(ctx, NULL, NULL);
    unsetenv("HWLOC_XMLFILE");
    bool here = !hwloc_gap(d);
    if (!here && !strstr(hwloc_gap(d)->text, "no 'libhwloc")) fail_msg("%s", hwloc_gap(d)->text);
    const cbx_topology *t = cbx_devices_topology(d);
    if (here) {
        static const struct {
            uint64_t bytes;
            int shared_by;
        } kinds[] = { { 2u << 20, 1 }, { 4u << 20, 1 }, { 4u << 20, 2 } };
        CHECK_INT(t->cores, 4, "cores");
        CHECK_INT(t->ncaches, CBX_LEN(kinds), "three kinds of L2: by size, and by who shares");
        for (size_t i = 0; i < CBX_LEN(kinds); i++) {
            CHECK_INT(t->caches[i].bytes, kinds[i].bytes, "size");
            CHECK_INT(t->caches[i].shared_by, kinds[i].shared_by, "threads");
            CHECK_INT(t->caches[i].count, 1, "one of each");
        }
        CHECK_INT(t->memory_bytes, 1000000, "memory");
    }
    cbx_devices_free(d);
    cbx_ctx_free(ctx);
    if (!here) fail_msg("hwloc is not installed");
}

/* Without hwloc: the kernel's files of captured machines, and the loss is reported. */
TEST(captured_machines_are_read)
{
    static const struct {
        const char *name;
        int packages, cores, threads, nodes;
    } cases[] = { { "xeon-vm", 1, 2, 2, 1 }, { "zen5-like", 2, 4, 8, 2 }, { "arm-like", 1, 4, 4, 1 } };
    const char *source = getenv("CALIBRAX_SOURCE_ROOT");
    cbx_ctx *ctx = cbx_test_context();
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        char root[4096];
        snprintf(root, sizeof root, "%s/tests/fixtures/machines/%s", source ? source : ".", cases[i].name);
        cbx_devices *d = look(ctx, "", root);
        const cbx_topology *t = cbx_devices_topology(d);
        CHECK_STR(t->source, "kernel", cases[i].name);
        CHECK_INT(t->packages, cases[i].packages, cases[i].name);
        CHECK_INT(t->cores, cases[i].cores, cases[i].name);
        CHECK_INT(t->threads, cases[i].threads, cases[i].name);
        CHECK_INT(t->nnodes, cases[i].nodes, cases[i].name);
        CHECK(!t->this_machine && t->memory_bytes > 0, cases[i].name);
        CHECK(strstr(hwloc_gap(d)->text, "hwloc is disabled; caches are those of the first CPU"), "loss");
        cbx_devices_free(d);
    }
    cbx_ctx_free(ctx);
}

TEST(a_missing_hwloc_is_a_gap)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_devices *d = look(ctx, "libcbx-no-hwloc.so.15", NULL);
    CHECK(strstr(hwloc_gap(d)->text, "no 'libcbx-no-hwloc.so.15' for packages"), "the reason");
    CHECK_STR(hwloc_gap(d)->remedy, "apt-get install libhwloc15", "the remedy");
    CHECK_STR(cbx_devices_topology(d)->source, "kernel", "the plain way");
    cbx_devices_free(d);
    d = look(ctx, "libm.so.6", NULL);
    CHECK(strstr(hwloc_gap(d)->text, "'libm.so.6' has no 'hwloc_get_api_version'"), "not an hwloc");
    cbx_devices_free(d);
    d = look(ctx, "", "/nonexistent");
    CHECK_STR(cbx_devices_topology(d)->source, "sysconf", "no kernel files at all");
    CHECK_INT(cbx_devices_topology(d)->threads, sysconf(_SC_NPROCESSORS_ONLN), "as sysconf tells");
    cbx_device_memory m;
    CHECK_STATUS(cbx_devices_memory(ctx, d, cbx_devices_at(d, 0), &m, NULL), CBX_EUNAVAILABLE, "and no memory");
    cbx_devices_free(d);
    cbx_ctx_free(ctx);
}

/* Distinct values of a column of `lscpu -p`. */
static int lscpu_count(const char *column)
{
    char command[128], line[256];
    int count = 0;
    snprintf(command, sizeof command, "lscpu -p=%s 2> /dev/null | grep -v '^#' | sort -u", column);
    FILE *p = popen(command, "r");
    while (p && fgets(line, sizeof line, p)) count++;
    if (p) pclose(p);
    return count;
}

TEST(this_machine_agrees_with_lscpu)
{
    static const char *const ways[] = { NULL, "" };
    int threads = lscpu_count("cpu");
    cbx_ctx *ctx = cbx_test_context();
    for (size_t i = 0; i < CBX_LEN(ways) && threads; i++) {
        cbx_devices *d = look(ctx, ways[i], NULL);
        const cbx_topology *t = cbx_devices_topology(d);
        CHECK(t->this_machine, "this machine");
        CHECK_INT(t->threads, threads, t->source);
        CHECK_INT(t->cores, lscpu_count("core,socket"), t->source);
        CHECK_INT(t->packages, lscpu_count("socket"), t->source);
        CHECK_INT(t->nnodes, lscpu_count("node"), t->source);
        CHECK(t->usable_threads >= 1 && t->usable_threads <= t->threads, "those that may be used");
        cbx_devices_free(d);
    }
    cbx_ctx_free(ctx);
    if (!threads) fail_msg("lscpu is not installed");
}

/* Both ways report the same caches and the same memory, where both report. */
TEST(both_ways_agree)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_devices *a = look(ctx, NULL, NULL), *b = look(ctx, "", NULL);
    const cbx_topology *x = cbx_devices_topology(a), *y = cbx_devices_topology(b);
    bool here = !hwloc_gap(a);
    CHECK_INT(x->threads, y->threads, "threads");
    for (size_t i = 0; here && i < y->ncaches; i++) {
        const cbx_topology_cache *c = cache(x, y->caches[i].level, y->caches[i].type);
        CHECK(c, "a cache that the kernel tells");
        CHECK_INT(c->bytes, y->caches[i].bytes, "its size");
    }
    CHECK_INT(x->memory_bytes, y->memory_bytes, "memory");
    cbx_devices_free(a);
    cbx_devices_free(b);
    cbx_ctx_free(ctx);
    if (!here) fail_msg("hwloc is not installed");
}

TEST(memory_is_this_machines)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_devices *d = look(ctx, "", NULL);
    cbx_device_memory m = { 0 };
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_devices_memory(ctx, d, cbx_devices_at(d, 0), &m, &err), &err, "the CPU's memory");
    CHECK_INT(m.total_bytes, cbx_devices_at(d, 0)->memory_total_bytes, "one total");
    CHECK(m.available_bytes > 0 && m.available_bytes < m.total_bytes, "some is left, some is taken");
    cbx_devices_free(d);
    cbx_ctx_free(ctx);
}

/* A container's limit counts: a root with a small control group. */
TEST(a_limit_counts)
{
    static const struct {
        const char *max, *used;
        unsigned long long total, available;
    } cases[] = {
        { "max", "5", 8388608ull << 10, 4194304ull << 10 },
        { "1073741824", "73741824", 1073741824, 1000000000 },
        { "1000", "5000", 1000, 0 },
        { NULL, NULL, 8388608ull << 10, 4194304ull << 10 },
    };
    cbx_ctx *ctx = cbx_test_context();
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        char folder[64], command[512];
        cbx_device_memory m = { 0 };
        cbx_err err = CBX_ERR_INIT;
        cbx_test_folder(folder);
        snprintf(
            command, sizeof command,
            "cd %s && mkdir -p proc sys/fs/cgroup && printf 'MemTotal: 8388608 kB\\nMemAvailable: 4194304 kB\\n' > "
            "proc/meminfo && { [ '%s' = none ] || { echo %s > sys/fs/cgroup/memory.max; echo %s > "
            "sys/fs/cgroup/memory.current; }; }",
            folder, cases[i].max ? "" : "none", cases[i].max ? cases[i].max : "", cases[i].used ? cases[i].used : "");
        CHECK_INT(system(command), 0, "a root");
        cbx_devices *d = look(ctx, "", folder);
        CHECK_OK(cbx_devices_memory(ctx, d, cbx_devices_at(d, 0), &m, &err), &err, "memory");
        cbx_test_folder_remove(folder);
        CHECK_INT(m.total_bytes, cases[i].total, "total");
        CHECK_INT(m.available_bytes, cases[i].available, "available");
        cbx_devices_free(d);
    }
    cbx_ctx_free(ctx);
}

static cbx_status look_once(cbx_ctx *ctx, void *user)
{
    cbx_devices_opts o = CBX_DEVICES_OPTS_INIT;
    cbx_devices *d = NULL;
    cbx_err err = CBX_ERR_INIT;
    (void)user;
    o.cuda_driver = "";
    cbx_status st = cbx_devices_probe(ctx, &o, &d, &err);
    cbx_devices_free(d);
    return st;
}

TEST(every_allocation_can_fail)
{
    setenv("HWLOC_SYNTHETIC", "pack:2 [numa] l3:1 l2:2 core:1 pu:2", 1);
    CHECK_GT((double)cbx_test_fail_each(look_once, NULL, "by hwloc"), 3, "some");
    unsetenv("HWLOC_SYNTHETIC");
}

TESTS()
