/**
 * Cores, siblings and nodes from the kernel's files, and how they are dealt; see cores.h.
 * Files: Documentation/admin-guide/cputopology.rst and Documentation/ABI/stable/sysfs-devices-node
 * of Linux.
 */
#include "calibrax/perf/schedule/cores.h"

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "calibrax/profiling/procfs.h"

#define LIST_MAX 4096
#define NODES    256

size_t cbx__affinity(int *cpus, size_t max)
{
    cpu_set_t set;
    size_t n = 0;

    CPU_ZERO(&set);
    bool known = sched_getaffinity(0, sizeof(set), &set) == 0;
    for (int c = 0; known && c < CPU_SETSIZE && n < max; c++)
        if (CPU_ISSET(c, &set)) cpus[n++] = c;
    if (n == 0 && max > 0) cpus[n++] = 0;
    return n;
}

size_t cbx__cpu_list(const char *text, int *out, size_t max)
{
    size_t n = 0;

    for (const char *s = text; isdigit((unsigned char)*s);) {
        char *end;
        long first = strtol(s, &end, 10), last = first;
        if (*end == '-') {
            if (!isdigit((unsigned char)end[1])) return 0;
            last = strtol(end + 1, &end, 10);
        }
        if (last < first || last > 1 << 20) return 0;
        for (long i = first; i <= last && n < max; i++) out[n++] = (int)i;
        if (*end && *end != ',' && !isspace((unsigned char)*end)) return 0;
        s = *end == ',' ? end + 1 : end;
        if (*end == ',' && !isdigit((unsigned char)*s)) return 0;
    }
    return n;
}

/* --- reading --- */

static size_t read_list(const char *root, const char *file, int *out, size_t max)
{
    char path[512], text[LIST_MAX];
    bool fits = snprintf(path, sizeof(path), "%s/sys/devices/system/%s", root, file) < (int)sizeof(path);

    return fits && cbx__proc_read(path, text, sizeof(text)) ? cbx__cpu_list(text, out, max) : 0;
}

/* The lowest sibling of a CPU; itself where that is unknown.  @param smt  set if it has another */
static int core_of(const char *root, int cpu, bool *smt)
{
    static const char *const files[] = { "core_cpus_list", "thread_siblings_list" }; /* the new name, the old one */
    int siblings[64], lowest = cpu;
    size_t n = 0;

    for (size_t i = 0; i < CBX_LEN(files) && n == 0; i++) {
        char file[96];
        snprintf(file, sizeof(file), "cpu/cpu%d/topology/%s", cpu, files[i]);
        n = read_list(root, file, siblings, CBX_LEN(siblings));
    }
    for (size_t i = 0; i < n; i++)
        if (siblings[i] < lowest) lowest = siblings[i];
    *smt = *smt || n > 1;
    return lowest;
}

static int by_core(const void *a, const void *b)
{
    const cbx__cpu *x = a, *y = b;
    if (x->core != y->core) return x->core < y->core ? -1 : 1;
    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

void cbx__topology_read(const char *root, const int *cpus, size_t n, cbx__topology *out)
{
    if (!root || !strcmp(root, "/")) root = "";
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < n && i < CBX__MAX_CPUS; i++)
        out->cpus[out->ncpus++] = (cbx__cpu){ cpus[i], core_of(root, cpus[i], &out->smt), 0 };
    qsort(out->cpus, out->ncpus, sizeof(*out->cpus), by_core);
    for (size_t i = 0; i < out->ncpus; i++) out->ncores += i == 0 || out->cpus[i].core != out->cpus[i - 1].core;
    int nodes[NODES], of_node[CBX__MAX_CPUS];
    size_t nnodes = read_list(root, "node/online", nodes, CBX_LEN(nodes));
    for (size_t i = 0; i < nnodes; i++) {
        char file[64];
        snprintf(file, sizeof(file), "node/node%d/cpulist", nodes[i]);
        size_t number = read_list(root, file, of_node, CBX_LEN(of_node));
        bool used = false;
        for (size_t k = 0; k < number; k++)
            for (cbx__cpu *c = out->cpus; c < out->cpus + out->ncpus; c++) {
                if (c->cpu != of_node[k]) continue;
                c->node = nodes[i];
                used = true;
            }
        out->nnodes += used;
    }
    if (out->nnodes == 0) out->nnodes = 1;
}

/* --- dealing --- */

/* Cores not dealt yet, as places of their first CPU in the topology. */
typedef struct pool {
    const cbx__topology *t;
    size_t first[CBX__MAX_CPUS];
    size_t n;
} pool;

static int node_of(const pool *p, size_t i) { return p->t->cpus[p->first[i]].node; }

static size_t free_of_node(const pool *p, int node)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) n += node_of(p, i) == node;
    return n;
}

/* The wanted node if it has enough; else, of those that have enough, the fullest, so that large
 * groups fit later; else the emptiest, and the rest comes from elsewhere. */
static int choose_node(const pool *p, size_t count, int wanted)
{
    int best = node_of(p, 0);
    size_t best_free = free_of_node(p, best);

    if (wanted >= 0 && free_of_node(p, wanted) >= count) return wanted;
    for (size_t i = 1; i < p->n; i++) {
        size_t f = free_of_node(p, node_of(p, i));
        bool enough = f >= count, best_enough = best_free >= count;
        if (enough == best_enough ? (enough ? f < best_free : f > best_free) : enough) {
            best = node_of(p, i);
            best_free = f;
        }
    }
    return best;
}

CBX_BY_VALUE(by_number, int)

/* One group of `count` cores with `threads` CPUs: the first of each core, then siblings, core by
 * core. */
static void deal_one(pool *p, size_t count, size_t threads, int wanted, cbx__cores *out)
{
    const cbx__topology *t = p->t;
    int node = choose_node(p, count, wanted);
    size_t places[CBX__MAX_CORES];

    memset(out, 0, sizeof(*out));
    for (; out->ncores < count; out->ncores++) {
        /* Takes one core out of the pool, of the node if it has any left.  @return its first
         * CPU's place */
        size_t i = 0;
        while (i < p->n && node_of(p, i) != node) i++;
        if (i == p->n) i = 0;
        places[out->ncores] = p->first[i];
        out->cores[out->ncores] = t->cpus[p->first[i]].core;
        memmove(&p->first[i], &p->first[i + 1], (--p->n - i) * sizeof(*p->first));
    }
    for (size_t sibling = 0, before = SIZE_MAX; out->ncpus < threads && out->ncpus != before; sibling++) {
        before = out->ncpus;
        for (size_t c = 0; c < count && out->ncpus < threads; c++) {
            size_t i = places[c] + sibling;
            if (i < t->ncpus && t->cpus[i].core == out->cores[c]) out->cpus[out->ncpus++] = t->cpus[i].cpu;
        }
    }
    qsort(out->cpus, out->ncpus, sizeof(*out->cpus), by_number);
    qsort(out->cores, out->ncores, sizeof(*out->cores), by_number);
}

void cbx__cores_deal(const cbx__topology *t, size_t groups, size_t threads, const int *nodes, cbx__cores *out)
{
    pool p = { .t = t };

    for (size_t i = 0; i < t->ncpus; i++)
        if (i == 0 || t->cpus[i].core != t->cpus[i - 1].core) p.first[p.n++] = i;
    if (threads > CBX__MAX_CORES) threads = CBX__MAX_CORES;
    size_t count = p.n / groups < threads ? p.n / groups : threads;
    for (size_t g = 0; g < groups; g++) deal_one(&p, count, threads, nodes ? nodes[g] : -1, &out[g]);
}
