/*
 * Memory of a launch: what the worker had, and how much it may have.
 *
 * The limit is of resident memory, of the worker with all that descends from it.  Address space is
 * no measure: JAX and PyTorch reserve tens of gigabytes that they never touch.  Where a control
 * group can be made the kernel holds the limit, and memory.events reports that.  Everywhere the
 * parent looks as well, every 20 ms at the worker and seldom at its whole tree (talk.c); and
 * RLIMIT_DATA at twice the limit and 4 GiB keeps a worker from filling the machine between two
 * looks: it counts writable private memory, touched or not, so it must be far above what may be
 * resident.  It is left out on devices, whose drivers map theirs.
 */
#include <math.h>
#include <sys/resource.h>

#include "calibrax/base/poison.h"
#include "calibrax/perf/launch/launch_run.h"
#include "calibrax/profiling/procfs.h"

#define DATA_SLACK (UINT64_C(4) << 30)

/* A sanitizer's shadow is mapped memory without end. */
#ifdef __SANITIZE_ADDRESS__
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

void cbx__run_look_at_peak(cbx__run *x)
{
    cbx__proc_memory m;
    if (cbx__proc_memory_read(x->t->child.pid, &m)) x->peak = fmax(x->peak, (double)m.hwm_bytes);
}

void cbx__run_memory_after_load(cbx__run *x)
{
    cbx__proc_memory m;
    x->hwm_reset = cbx__proc_reset_hwm(x->t->child.pid);
    if (!cbx__proc_memory_read(x->t->child.pid, &m)) return;
    x->rss_load = (double)m.rss_bytes;
    x->hwm_load = (double)m.hwm_bytes;
}

/* Where the mark could not be reset, a peak of the import hides the one that is sought. */
void cbx__run_memory_at_end(cbx__run *x)
{
    if (x->t->tree_peak > 0) x->r->tree_peak_bytes = fmax((double)x->t->tree_peak, x->peak);
    if (x->peak <= 0) return;
    x->r->hwm_bytes = x->peak;
    if (x->hwm_reset || x->peak > x->hwm_load) x->r->hwm_increase_bytes = fmax(0, x->peak - x->rss_load);
}

void cbx__run_limit_memory(cbx__run *x)
{
    uint64_t limit = x->o.memory_limit_bytes;
    char base[CBX__GROUP_PATH];

    if (limit == 0) return;
    x->r->memory_limit_bytes = (double)limit;
    x->r->memory_limit_by = "watch";
    if (cbx__memory_group_base("", base, NULL) && cbx__memory_group_open(base, x->t->child.pid, limit, &x->t->group)) {
        x->r->memory_limit_by = "cgroup";
        return;
    }
    if (sanitized || strncmp(x->o.platform, "cuda", 4) == 0) return;
    struct rlimit data = { 2 * limit + DATA_SLACK, 2 * limit + DATA_SLACK };
    prlimit(x->t->child.pid, RLIMIT_DATA, &data, NULL); /* where that is refused, the watch is what there is */
}
