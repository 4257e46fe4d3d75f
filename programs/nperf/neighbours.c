/*
 * Who else measures here: commands take no core for themselves, so people are told before they believe the times of either.
 */
#include <stdio.h>

#include "calibrax/base/file.h"
#include "programs/nperf/nperf.h"

#define MOST_TOLD 3

void tell_neighbours(const opt_run *run)
{
    const char *dir = NULL;
    const char *const *names = NULL;
    size_t n = 0, told = 0;

    if (cbx_lock_dir(run->ctx, run->arena, &dir, NULL)) return;
    if (cbx_dir_list(run->ctx, dir, ".lock", run->arena, &names, &n, NULL)) return;
    for (size_t i = 0; i < n && told < MOST_TOLD; i++) {
        const char *path = cbx_path_join(run->arena, dir, names[i]);
        const pid_t holder = path ? cbx_lock_holder(path) : 0;
        if (holder <= 0) continue;
        fprintf(stderr,
                "note: process %d measures on '%s': commands may run on any CPU, so both may be slower for it\n",
                (int)holder, names[i]);
        told++;
    }
}
