/**
 * The CPUs that this process may use, as cores with their siblings and memory nodes, dealt out as
 * disjoint groups.  Internal to perf.
 *
 * Two hardware threads of one core share its pipes and its first caches, so a core is never part of
 * two groups, and a group takes one CPU of each core as long as there are cores; its other CPUs are
 * left idle.  Cores of one group are of one memory node where one node has enough.  What cannot be
 * read (no /sys, a foreign system) counts as a core for each CPU, and as one node.
 */
#ifndef CALIBRAX_PERF_SCHEDULE_CORES_H
#define CALIBRAX_PERF_SCHEDULE_CORES_H

#include <stdbool.h>

#include "calibrax/base/ctx.h"

#define CBX__MAX_CPUS  1024
#define CBX__MAX_CORES 64 /* CPUs of one group */

/** One CPU that may be used. */
typedef struct cbx__cpu {
    int cpu;
    int core; /* the lowest CPU number of the core, whether it may be used or not: the same for all its siblings */
    int node; /* of memory */
} cbx__cpu;

typedef struct cbx__topology {
    cbx__cpu cpus[CBX__MAX_CPUS]; /* by core, then by CPU */
    size_t ncpus, ncores, nnodes;
    bool smt; /* some core of the machine has more than one CPU */
} cbx__topology;

/** CPUs this process may run on, ascending (affinity and cpuset control group); at most max are
 * written.  @return their number (>= 1) */
size_t cbx__affinity(int *cpus, size_t max);
/** Numbers of a list such as "0-3,8", in the order of the list; at most max are written.  @return
 * how many; 0: not such a list */
size_t cbx__cpu_list(const char *text, int *out, size_t max);
/**
 * Reads the siblings and nodes of some CPUs from <root>/sys/devices/system.
 * @param root  NULL or "/": this machine; a folder: a captured one
 * @param cpus  those that may be used, n <= CBX__MAX_CPUS, as cbx__affinity gives them
 */
void cbx__topology_read(const char *root, const int *cpus, size_t n, cbx__topology *out);

/** A group: what its worker is pinned to, and the cores that are reserved for it meanwhile. */
typedef struct cbx__cores {
    int cpus[CBX__MAX_CORES]; /* ascending */
    size_t ncpus;
    int cores[CBX__MAX_CORES]; /* ascending, by cbx__cpu.core */
    size_t ncores;
} cbx__cores;

/**
 * Deals `groups` disjoint groups of `threads` CPUs each: of so many cores where they suffice, else
 * of fewer, with their siblings, and with fewer CPUs than asked for where those do not suffice
 * either (ncpus < threads).
 * @param groups   1 <= groups <= t->ncores
 * @param threads  1 <= threads; at most CBX__MAX_CORES are dealt
 * @param nodes    of each group the node that it should be near to, -1: any; NULL: any for all
 * @param out      `groups` elements
 */
void cbx__cores_deal(const cbx__topology *t, size_t groups, size_t threads, const int *nodes, cbx__cores *out);

#endif
