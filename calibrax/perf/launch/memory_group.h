/*
 * A control group (version 2) of its own for a worker: the kernel then counts all memory of all its
 * processes, ends them at the limit, and reports that.  Documentation/admin-guide/cgroup-v2.rst of
 * Linux.
 *
 * A group can be made only below one that is ours and gives its children the memory controller.
 * Looked at, in this order: the one that CALIBRAX_CGROUP names, our own, and the one above our own.
 * A user gets such a one by
 *     systemd-run --user --scope -p Delegate=yes nperf ...
 * with memory in cgroup.subtree_control of the slice, as systemd has it.
 */
#ifndef CALIBRAX_PERF_LAUNCH_MEMORY_GROUP_H
#define CALIBRAX_PERF_LAUNCH_MEMORY_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CBX__GROUP_PATH 512

typedef struct cbx__memory_group {
    char path[CBX__GROUP_PATH]; /* "": none */
} cbx__memory_group;

/*
 * Where groups can be made.
 * @param root  "" for this machine; a folder: a captured one
 * @param base  CBX__GROUP_PATH bytes; "" if there is no such place
 * @param why   what is missing, then; 160 bytes; may be NULL
 */
bool cbx__memory_group_base(const char *root, char *base, char *why);
/* Makes a group with a limit below base and puts a process into it, with all that it will start.
 * False: it could not. */
bool cbx__memory_group_open(const char *base, pid_t pid, uint64_t limit_bytes, cbx__memory_group *out);
/* Processes of the group that the kernel ended for want of memory (oom_kill of memory.events); 0:
 * none, or unknown. */
uint64_t cbx__memory_group_kills(const cbx__memory_group *g);
/* Most memory that the group had, in bytes; 0: unknown. */
uint64_t cbx__memory_group_peak(const cbx__memory_group *g);
/* Ends whatever is in it and removes it.  Fine on a zeroed struct, and twice. */
void cbx__memory_group_close(cbx__memory_group *g);

#endif
