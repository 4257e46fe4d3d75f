/*
 * Who waited for a CPU while a message was answered; see talk.h.
 */
#include "calibrax/perf/launch/talk.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* A sleep that lasted longer, and this much less than it could, was ended by what it waited for. */
#define TIMER_SLACK_NS 100e3
#define SETTLE_NS      100e3 /* a Python worker runs on for 20 to 50 us behind its answer */
#define WAITS_MAX      2.0   /* times the mean: the wait that came first */

static double since(uint64_t now, uint64_t then) { return now > then ? (double)(now - then) : 0; }

void cbx__waits_open(cbx__waits_watch *w, pid_t worker)
{
    memset(w, 0, sizeof *w);
    w->pid = worker;
    w->own = cbx__proc_sched_open(0);
    w->worker = cbx__proc_sched_open(worker);
}

void cbx__waits_close(cbx__waits_watch *w)
{
    if (w->own >= 0) close(w->own);
    if (w->worker >= 0) close(w->worker);
    w->own = w->worker = -1;
}

void cbx__waits_ask(cbx__waits_watch *w)
{
    w->good = cbx__proc_sched_read(w->worker, &w->worker_start) && cbx__proc_sched_read(w->own, &w->own_sleep);
    w->own_before = w->own_sleep;
    w->sleep_ns = w->sleep_max_ns = 0;
    w->cpu_start_ns = cbx__proc_tree_cpu_ns(w->pid);
}

void cbx__waits_sleep(cbx__waits_watch *w, uint64_t now_ns, uint64_t max_ns)
{
    if (!w->good) return;
    w->own_before = w->own_sleep;
    w->good = cbx__proc_sched_read(w->own, &w->own_sleep);
    w->sleep_ns = now_ns;
    w->sleep_max_ns = max_ns;
}

uint64_t cbx__waits_woken(const cbx__waits_watch *w)
{
    cbx__proc_sched own;
    if (!w->good || !w->sleep_ns || !cbx__proc_sched_read(w->own, &own)) return 0;
    return own.wait_ns - w->own_sleep.wait_ns;
}

/* [ns] What the worker's first thread waited since the question, less the CPU time of its other
 * threads since then.
 * @param cpu_ns  of the whole tree */
static double for_others(const cbx__waits_watch *w, const cbx__proc_sched *now, double cpu_ns)
{
    double others = cpu_ns - since(now->run_ns, w->worker_start.run_ns);
    return fmax(0, since(now->wait_ns, w->worker_start.wait_ns) - (others > 0 ? others : 0));
}

void cbx__waits_answered(cbx__waits_watch *w, uint64_t received_ns, cbx__waits *out)
{
    cbx__proc_sched own, worker;

    bool known = w->good && cbx__proc_sched_read(w->own, &own);
    cbx__proc_settle(w->pid, SETTLE_NS); /* else the end of this answer would be counted to the next */
    *out = (cbx__waits){ .cpu_ns = fmax(0, cbx__proc_tree_cpu_ns(w->pid) - w->cpu_start_ns) };
    if (!known || !cbx__proc_sched_read(w->worker, &worker)) return;
    double last = since(own.wait_ns, w->own_sleep.wait_ns);
    double slept = since(received_ns, w->sleep_ns) - last;
    out->known = true;
    /* given a CPU once: it slept first and waited then, not the other way round */
    bool once = own.slices - w->own_sleep.slices == 1;
    if (once && slept > TIMER_SLACK_NS && slept + TIMER_SLACK_NS < (double)w->sleep_max_ns)
        out->late_ns = last;
    else
        out->parent_ns = since(own.wait_ns, w->own_before.wait_ns);
    out->worker_ns = for_others(w, &worker, out->cpu_ns);
    out->slices = worker.slices - w->worker_start.slices;
}

double cbx__waits_so_far(const cbx__waits_watch *w)
{
    cbx__proc_sched now;
    if (!w->good || !cbx__proc_sched_read(w->worker, &now)) return 0;
    return for_others(w, &now, cbx__proc_tree_cpu_ns(w->pid) - w->cpu_start_ns);
}

double cbx__waits_sure(const cbx__waits *w) { return w->late_ns + (w->slices <= 1 ? w->worker_ns : 0); }

double cbx__waits_unsure(const cbx__waits *w)
{
    double first = w->slices > 1 ? w->worker_ns * fmin(1, WAITS_MAX / (double)w->slices) : 0;
    return w->parent_ns + first;
}

double cbx__waits_all(const cbx__waits *w) { return w->late_ns + w->worker_ns; }
