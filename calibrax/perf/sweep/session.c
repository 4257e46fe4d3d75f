/**
 * The facts of a sweep: run id, machine, probe, the worker's content; and the way to tell people
 * how far it is.
 */
#include "calibrax/perf/sweep/session.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/programs.h"
#include "calibrax/base/version.h"
#include "calibrax/core/machine.h"
#include "calibrax/perf/launch/grants.h"
#include "calibrax/perf/launch/workload.h"

void cbx__session_init(cbx__session *s, const cbx_measure_opts *opts)
{
    memset(s, 0, sizeof(*s));
    s->opts = opts;
    s->threads = 1;
    s->precision = "full";
    s->started_us = cbx_time_now_us();
    s->started_ns = cbx_clock_ns();
    cbx_row_run_id(s->started_us, cbx_revision(), s->run_id);
    pthread_mutex_init(&s->lock, NULL);
}

void cbx__session_clear(cbx__session *s)
{
    cbx_json_unref(s->machine);
    if (s->have_energy) cbx__energy_source_close(&s->energy);
    cbx__grants_forget(s->kept);
    pthread_mutex_destroy(&s->lock);
    memset(s, 0, sizeof(*s));
}

bool cbx__session_stopped(const cbx__session *s) { return s->opts->stop && *s->opts->stop; }

void cbx__session_pause(const cbx__session *s, double seconds)
{
    uint64_t end = cbx_clock_ns() + (uint64_t)(1e9 * seconds), now;

    while ((now = cbx_clock_ns()) < end && !cbx__session_stopped(s)) {
        uint64_t left = end - now < 50000000u ? end - now : 50000000u;
        nanosleep(&(struct timespec){ 0, (long)left }, NULL);
    }
}

void cbx__session_tell(cbx__session *s, cbx_measure_event event, size_t launches, const char *fmt, ...)
{
    char text[CBX_ERR_MESSAGE_SIZE] = "";
    cbx_measure_progress p = { .event = event, .text = text, .eta_s = NAN };
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    pthread_mutex_lock(&s->lock);
    p.elapsed_s = 1e-9 * (double)(cbx_clock_ns() - s->started_ns);
    s->launches_done += launches;
    p.launches_done = s->launches_done;
    p.launches_total = s->launches_total;
    if (p.launches_done && p.launches_total >= p.launches_done)
        p.eta_s = p.elapsed_s / (double)p.launches_done * (double)(p.launches_total - p.launches_done);
    if (s->opts->progress) s->opts->progress(s->opts->user, &p);
    pthread_mutex_unlock(&s->lock);
}

void cbx__session_promise(cbx__session *s, cbx__point *p, size_t launches)
{
    pthread_mutex_lock(&s->lock);
    s->launches_total -= p->promised < s->launches_total ? p->promised : s->launches_total;
    s->launches_total += launches;
    p->promised = launches;
    pthread_mutex_unlock(&s->lock);
}

void cbx__session_learn(cbx_ctx *ctx, cbx__session *s)
{
    cbx_machine m;
    const char *worker;
    bool device = false;

    if (!cbx_machine_read(ctx, NULL, &m, NULL)) {
        snprintf(s->machine_id, sizeof(s->machine_id), "%s", m.id);
        s->machine = cbx_machine_to_json(&m);
        if (s->machine) cbx_json_set_string(s->machine, "instruction_set", cbx_machine_isa());
    }
    /* measured again: a share of the roofline is one of what the machine does today */
    s->have_probe = !cbx_probe_get(ctx, s->machine_id, true, &s->probe, NULL);
    CBX_SCOPED(cbx_arena, scratch, cbx_ctx_allocator(ctx));
    if (cbx__tool_find(CBX__TOOL_WORKER, &scratch, &worker, NULL) ||
        cbx__worker_hash(ctx, worker, &scratch, s->worker_hash, NULL))
        s->worker_hash[0] = 0;
    for (size_t i = 0; i < s->nplatforms; i++) device = device || strcmp(s->platforms[i], "cpu") != 0;
    cbx__energy_source_open(ctx, device, NULL, &s->energy);
    s->have_energy = true;
}

cbx_status cbx__session_confine(cbx_ctx *ctx, cbx__session *s, cbx_err *err)
{
    static const cbx_sandbox plain = CBX_SANDBOX_INIT;
    const cbx_measure_opts *o = s->opts;
    const cbx_sandbox *given = o->sandbox ? o->sandbox : &plain;
    cbx_sandbox_facts facts;
    size_t n = 0;

    if (given->struct_size != sizeof *given) return cbx_fail(err, CBX_EINVAL, "cbx_sandbox of another version");
    if (given->nhidden + 2 > CBX_LEN(s->hidden))
        return cbx_fail(err, CBX_EINVAL, "%zu hidden paths are too many: at most %zu", given->nhidden,
                        CBX_LEN(s->hidden) - 2);
    for (size_t i = 0; i < given->nhidden; i++) s->hidden[n++] = given->hidden[i];
    if (o->out_path) s->hidden[n++] = o->out_path;
    if (o->store_root) s->hidden[n++] = o->store_root;
    if (given->mode != CBX_SANDBOX_OFF) cbx__scratch_folder_sweep();
    s->sandbox = *given;
    s->sandbox.hidden = s->hidden;
    s->sandbox.nhidden = n;
    s->kept = cbx__grants_keep(cbx_allocator_default()); /* of all jobs' threads */
    if (given->mode == CBX_SANDBOX_REQUIRE) return cbx_sandbox_check(ctx, err);
    if (given->mode == CBX_SANDBOX_OFF || cbx_sandbox_probe(ctx, &facts, NULL)) /* launches will report what is wrong */
        facts.files = false;
    s->hide_answers = !facts.files;
    return CBX_OK;
}

static void keep_faster(double *mine, double other)
{
    if (other > *mine) *mine = other;
}

void cbx__session_repeat_probe(cbx_ctx *ctx, cbx__session *s)
{
    cbx_probe again;

    if (s->probe_repeated || !s->have_probe) return;
    s->probe_repeated = true;
    if (cbx_probe_measure(ctx, &again, NULL)) return;
    for (int p = 0; p < CBX_PIPE_COUNT; p++)
        for (int t = 0; t < 2; t++) keep_faster(&s->probe.pipe_ops_per_s[p][t], again.pipe_ops_per_s[p][t]);
    for (int n = 0; n < CBX_NARROW_COUNT; n++) keep_faster(&s->probe.narrow[n].ops_per_s, again.narrow[n].ops_per_s);
    for (int l = 0; l < s->probe.nlevels && l < again.nlevels; l++) {
        keep_faster(&s->probe.level[l].read_bytes_per_s, again.level[l].read_bytes_per_s);
        keep_faster(&s->probe.level[l].copy_bytes_per_s, again.level[l].copy_bytes_per_s);
        keep_faster(&s->probe.level[l].triad_bytes_per_s, again.level[l].triad_bytes_per_s);
        keep_faster(&s->probe.level[l].triad_stream_bytes_per_s, again.level[l].triad_stream_bytes_per_s);
    }
}
