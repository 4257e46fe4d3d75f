/* Cores dealt out: disjoint, siblings never in two groups, near to a node; on machines made
 * of files. */
#include "check.h"
#include "fail_alloc.h"

#include <stdio.h>
#include <string.h>

#include "calibrax/perf/schedule/cores.h"

/* A machine: what the kernel says of each CPU's siblings, and of each node's CPUs. */
typedef struct machine {
    const char *name;
    const char *siblings[17]; /* of CPU 0, 1, 2 ...; NULL ends; "" is a CPU without the file */
    const char *nodes[5];     /* of node 0, 1 ...; NULL ends */
    const char *old_name;     /* of the file of siblings; NULL: the new one */
} machine;

static const machine machines[] = {
    { "plain", { "0", "1", "2", "3" }, { "0-3" }, NULL },
    /* siblings side by side, as AMD's older firmware and ARM number them */
    { "pairs", { "0-1", "0-1", "2-3", "2-3", "4-5", "4-5", "6-7", "6-7" }, { "0-7" }, NULL },
    /* siblings half the machine away, as Intel numbers them, on two nodes */
    { "halves",
      { "0,8", "1,9", "2,10", "3,11", "4,12", "5,13", "6,14", "7,15", "0,8", "1,9", "2,10", "3,11", "4,12", "5,13",
        "6,14", "7,15" },
      { "0-3,8-11", "4-7,12-15" },
      NULL },
    /* two big cores with siblings, four small ones without */
    { "hybrid", { "0-1", "0-1", "2-3", "2-3", "4", "5", "6", "7" }, { "0-7" }, "thread_siblings_list" },
    { "silent", { "", "", "" }, { NULL }, NULL },
};

static char folder[64];

static const char *build(const machine *m)
{
    static char root[96];
    char line[64];
    size_t nodes = 0;
    snprintf(root, sizeof(root), "%s/%s", folder, m->name);
    for (int cpu = 0; m->siblings[cpu]; cpu++) {
        snprintf(line, sizeof(line), "%s\n", m->siblings[cpu]);
        if (m->siblings[cpu][0])
            cbx_test_put(line, "%s/sys/devices/system/cpu/cpu%d/topology/%s", root, cpu,
                         m->old_name ? m->old_name : "core_cpus_list");
    }
    for (; m->nodes[nodes]; nodes++) {
        snprintf(line, sizeof(line), "%s\n", m->nodes[nodes]);
        cbx_test_put(line, "%s/sys/devices/system/node/node%zu/cpulist", root, nodes);
    }
    snprintf(line, sizeof(line), nodes > 1 ? "0-%zu\n" : "%zu\n", nodes - 1);
    if (nodes) cbx_test_put(line, "%s/sys/devices/system/node/online", root);
    return root;
}

static const machine *machine_of(const char *name)
{
    for (size_t i = 0; i < CBX_LEN(machines); i++) {
        if (!strcmp(machines[i].name, name)) return &machines[i];
    }
    fail_msg("no machine '%s'", name);
    return NULL;
}

static void read_machine(const char *name, const char *allowed, cbx__topology *t)
{
    int cpus[64];
    size_t n = cbx__cpu_list(allowed, cpus, CBX_LEN(cpus));
    cbx__topology_read(build(machine_of(name)), cpus, n, t);
}

/* "0,2|4,6" */
static const char *text_of(const cbx__cores *groups, size_t n, bool cores)
{
    static char text[512];
    size_t len = 0;
    text[0] = '\0';
    for (size_t g = 0; g < n; g++) {
        const int *list = cores ? groups[g].cores : groups[g].cpus;
        size_t count = cores ? groups[g].ncores : groups[g].ncpus;
        if (g) len += (size_t)snprintf(text + len, sizeof(text) - len, "|");
        for (size_t i = 0; i < count; i++)
            len += (size_t)snprintf(text + len, sizeof(text) - len, i ? ",%d" : "%d", list[i]);
    }
    return text;
}

TEST(topologies)
{
    static const struct {
        const char *machine, *allowed;
        size_t cpus, cores, nodes;
        bool smt;
    } cases[] = {
        { "plain", "0-3", 4, 4, 1, false },   { "pairs", "0-7", 8, 4, 1, true },  { "pairs", "1,3", 2, 2, 1, true },
        { "halves", "0-15", 16, 8, 2, true }, { "halves", "4-7", 4, 4, 1, true }, { "hybrid", "0-7", 8, 6, 1, true },
        { "silent", "0-2", 3, 3, 1, false },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx__topology t;
        read_machine(cases[i].machine, cases[i].allowed, &t);
        CHECK_INT(t.ncpus, cases[i].cpus, cases[i].machine);
        CHECK_INT(t.ncores, cases[i].cores, cases[i].machine);
        CHECK_INT(t.nnodes, cases[i].nodes, cases[i].machine);
        CHECK(t.smt == cases[i].smt, cases[i].machine);
    }
}

TEST(deals)
{
    static const struct {
        const char *machine, *allowed;
        size_t groups, threads;
        const char *cpus, *cores, *why;
    } cases[] = {
        { "plain", "0-3", 2, 1, "0|1", "0|1", "no more than asked for" },
        { "plain", "0-3", 4, 1, "0|1|2|3", "0|1|2|3", "one each" },
        { "plain", "0-3", 2, 4, "0,1|2,3", "0,1|2,3", "what there is, shared out" },
        { "pairs", "0-7", 4, 1, "0|2|4|6", "0|2|4|6", "never two groups on one core" },
        { "pairs", "0-7", 2, 2, "0,2|4,6", "0,2|4,6", "cores before siblings" },
        { "pairs", "0-7", 2, 4, "0,1,2,3|4,5,6,7", "0,2|4,6", "siblings of its own cores when those run out" },
        { "pairs", "0-7", 1, 6, "0,1,2,3,4,6", "0,2,4,6", "the same, in part" },
        { "pairs", "1,3-7", 3, 1, "1|3|4", "0|2|4", "what the process may not use is not dealt" },
        { "halves", "0-15", 8, 1, "0|1|2|3|4|5|6|7", "0|1|2|3|4|5|6|7", "one hardware thread a core" },
        { "halves", "0-15", 2, 3, "0,1,2|4,5,6", "0,1,2|4,5,6", "each within its node" },
        { "halves", "0-15", 1, 16, "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15", "0,1,2,3,4,5,6,7", "all there is" },
        { "halves", "3-4", 1, 2, "3,4", "3,4", "over two nodes when none has enough" },
        { "hybrid", "0-7", 6, 1, "0|2|4|5|6|7", "0|2|4|5|6|7", "cores with and without siblings" },
        { "silent", "0-2", 3, 1, "0|1|2", "0|1|2", "each CPU is a core where nobody tells" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx__cores groups[16];
        cbx__topology t;
        read_machine(cases[i].machine, cases[i].allowed, &t);
        cbx__cores_deal(&t, cases[i].groups, cases[i].threads, NULL, groups);
        CHECK_STR(text_of(groups, cases[i].groups, false), cases[i].cpus, cases[i].why);
        CHECK_STR(text_of(groups, cases[i].groups, true), cases[i].cores, cases[i].why);
    }
}

/* The rule itself, over every number of groups and threads: no core twice, no CPU outside the
 * allowed ones. */
static size_t cores_twice(const cbx__cores *groups, size_t n)
{
    size_t twice = 0;
    for (size_t g = 0; g < n; g++) {
        for (size_t h = g + 1; h < n; h++) {
            for (size_t i = 0; i < groups[g].ncores; i++) {
                for (size_t k = 0; k < groups[h].ncores; k++) twice += groups[g].cores[i] == groups[h].cores[k];
            }
        }
    }
    return twice;
}

TEST(never_a_core_twice)
{
    for (size_t m = 0; m < CBX_LEN(machines); m++) {
        cbx__topology t;
        read_machine(machines[m].name, m == 2 ? "0-15" : m == 4 ? "0-2" : m == 0 ? "0-3" : "0-7", &t);
        for (size_t n = 1; n <= t.ncores; n++) {
            for (size_t threads = 1; threads <= 17; threads++) {
                cbx__cores groups[16];
                cbx__cores_deal(&t, n, threads, NULL, groups);
                CHECK_INT(cores_twice(groups, n), 0, machines[m].name);
                for (size_t g = 0; g < n; g++)
                    CHECK(groups[g].ncpus >= 1 && groups[g].ncpus <= threads,
                          "at least one CPU, no more than asked for");
            }
        }
    }
    cbx__cores same[2] = { { .cores = { 3 }, .ncores = 1 }, { .cores = { 1, 3 }, .ncores = 2 } };
    CHECK_INT(cores_twice(same, 2), 1, "the check sees a core that is dealt twice");
}

TEST(near_a_node)
{
    static const int nodes[] = { 1, -1, 0, 7 };
    cbx__cores groups[4];
    cbx__topology t;
    read_machine("halves", "0-15", &t);
    cbx__cores_deal(&t, 4, 1, nodes, groups);
    CHECK(groups[0].cpus[0] >= 4 && groups[0].cpus[0] < 8, "a device's cores are of its node");
    CHECK(groups[2].cpus[0] < 4, "of the other one");
    CHECK_INT(groups[3].ncpus, 1, "a node that nobody has is no reason for none");
}

TEST(lists)
{
    static const struct {
        const char *text;
        size_t n;
        int last;
    } cases[] = {
        { "0", 1, 0 },  { "0-3,8\n", 5, 8 }, { "2,4-5", 3, 5 },      { "", 0, 0 },
        { "\n", 0, 0 }, { "x", 0, 0 },       { "3-1", 0, 0 },        { "1-", 0, 0 },
        { "1,", 0, 0 }, { "1,x", 0, 0 },     { "0-99999999", 0, 0 }, { "1 x", 1, 1 },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        int out[8] = { -1 };
        size_t n = cbx__cpu_list(cases[i].text, out, CBX_LEN(out));
        CHECK_INT(n, cases[i].n, cases[i].text);
        if (n) CHECK_INT(out[n - 1], cases[i].last, cases[i].text);
    }
    int two[2];
    CHECK_INT(cbx__cpu_list("0-1000", two, 2), 2, "no more than there is room for");
}

TEST(affinity)
{
    int cpus[64];
    size_t n = cbx__affinity(cpus, CBX_LEN(cpus));
    cbx__topology t;
    CHECK(n >= 1, "at least the CPU this runs on");
    for (size_t i = 1; i < n; i++) CHECK(cpus[i] > cpus[i - 1], "ascending");
    CHECK_INT(cbx__affinity(cpus, 1), 1, "no more than asked for");
    cbx__topology_read(NULL, cpus, 1, &t);
    CHECK(t.ncpus == 1 && t.ncores == 1 && t.nnodes == 1, "this machine");
}

static int open_folder(void **state)
{
    (void)state;
    return cbx_test_folder(folder) ? 0 : 1;
}

static int close_folder(void **state)
{
    (void)state;
    cbx_test_folder_remove(folder);
    return 0;
}

TESTS(.before = open_folder, .after = close_folder)
