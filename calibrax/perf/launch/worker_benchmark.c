/*
 * The worker's side of a benchmark of a plug-in: its phases and its timed work as the parent asks
 * for them.  A benchmark that fails is an answer with `failed`, whose reason is in the memory file
 * of details; the worker goes on, so that it can be torn down.
 */
#include <signal.h>
#include <unistd.h>

#include "calibrax/base/json_put.h"
#include "calibrax/core/owned.h"
#include "calibrax/perf/case/plugin.h"
#include "calibrax/perf/launch/phases_internal.h"
#include "calibrax/perf/launch/worker_internal.h"

struct cbx__worker_bench {
    const cbx_plugin_benchmark *found; /* NULL: only the names were asked for */
    cbx_json *config;                  /* lives as long as what was made of it */
    void *self;
    cbx__local_bench local;
    cbx__bench b;
    int detail;
};

static volatile sig_atomic_t stopped;

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

static bool no_memory(cbx__worker *w)
{
    return cbx__worker_fail(w, CBX_FAILURE_OUT_OF_MEMORY, "out of memory for an answer");
}

/* Writes the details, which it takes over; NULL: out of memory. */
static bool write_detail(cbx__worker *w, cbx_json *detail)
{
    int fd = w->bench->detail;
    bool ok = detail != NULL;

    CBX_SCOPED(cbx_text, text, cbx_ctx_allocator(w->ctx));
    if (ok) cbx_json_write(detail, CBX_JSON_COMPACT | CBX_JSON_ASCII, &text);
    cbx_json_unref(detail);
    ok = ok && !text.status && ftruncate(fd, 0) == 0;
    for (size_t at = 0; ok && at < text.len;) {
        ssize_t n = pwrite(fd, text.data + at, text.len - at, (off_t)at);
        ok = n > 0;
        at += ok ? (size_t)n : 0;
    }
    return ok || no_memory(w);
}

/* @param ns  < 0: the answer has no time */
static bool answer(cbx__worker *w, const char *op, cbx_status st, const cbx_err *why, double ns, cbx_json *detail)
{
    cbx_json *m = cbx_json_object(J_TEXT("op", op));

    if (ns >= 0) cbx_json_set_double(m, "ns", ns);
    if (st) {
        const char *words = why->message[0] ? why->message : cbx_status_words(st);
        cbx_json_unref(detail);
        detail = cbx_json_object(J_JSON("failure", cbx_json_object(J_INT("status", st), J_TEXT("message", words))));
        cbx_json_set_bool(m, "failed", true);
    }
    if (detail && !write_detail(w, detail)) {
        cbx_json_unref(m);
        return false;
    }
    return cbx__worker_say(w, m);
}

/* What the parent needs to know; its definitions in the form of a run. */
static cbx_json *describe(const cbx__worker *w, cbx_err *err)
{
    const struct cbx__worker_bench *x = w->bench;
    cbx_json *o = cbx_json_new_object(), *phases = cbx_json_set_array(o, "phases");
    cbx_run_opts bare = CBX_RUN_OPTS_INIT;
    CBX_OWNED(cbx_run_builder) *b = NULL;
    CBX_OWNED(cbx_run) *run = NULL;

    bare.no_vcs = bare.no_machine = bare.no_versions = true;
    cbx_status st = cbx_run_builder_create(w->ctx, &bare, &b, err);
    for (size_t i = 0; i < x->b.ndefs && !st; i++) st = cbx_run_builder_add_metric_def(b, &x->b.defs[i], err);
    if (!st) st = cbx_run_builder_freeze(b, &run, err);
    for (size_t i = 0; i < CBX__PHASE_COUNT; i++)
        if (x->b.has[i]) cbx_json_push_string(phases, cbx__phase_names[i]);
    cbx_json_put(o, J_BOOL("batches", x->b.batches), J_TEXT("domain", x->b.domain ? x->b.domain : ""),
                 J_JSON("run", st ? NULL : cbx_run_to_json(run)));
    return cbx_json_finish(o);
}

bool cbx__worker_benchmark(cbx__worker *w, const cbx_json *m)
{
    const char *source = cbx_json_get_string(m, "source", NULL), *name = cbx_json_get_string(m, "name", NULL);
    struct sigaction action = { .sa_handler = stop };
    const cbx_plugin_ops *plugin = NULL;
    cbx_json *detail = NULL;
    cbx_err why = CBX_ERR_INIT;

    if (w->c || w->bench || !source || w->wire.nfds != 1)
        return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL,
                                "benchmark comes once, in place of load, with a source and one descriptor");
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    struct cbx__worker_bench *x = cbx_mem_zalloc(cbx_ctx_allocator(w->ctx), sizeof *x);
    if (!x) return no_memory(w);
    w->bench = x;
    x->detail = w->wire.fds[0];
    w->wire.nfds = 0;
    if (cbx_json_get(m, "config")) x->config = cbx_json_copy(cbx_json_get(m, "config"));
    cbx_status st = cbx_plugin_open(source, &plugin, &why);
    if (!st && name) x->found = cbx_plugin_find(plugin, name);
    if (!st && name && !x->found) st = cbx_fail(&why, CBX_ENOENT, "no benchmark '%s'", name);
    if (!st && name && x->found->create) st = x->found->create(w->ctx, x->config, &x->self, &why);
    if (st && name) x->found = NULL; /* there is nothing to destroy */
    if (!st && name) st = cbx__local_bench_init(&x->local, w->ctx, x->found->ops, x->self, &x->b, &why);
    x->local.batch_size = (size_t)cbx_json_get_int(m, "batch_size", 1);
    x->local.stop = &stopped;
    if (!st) {
        detail = name ? describe(w, &why) : cbx_json_new_object();
        cbx_json *list = name ? NULL : cbx_json_set_array(detail, "names");
        for (const cbx_plugin_benchmark *b = plugin->benchmarks; !name && b < plugin->benchmarks_end; b++)
            cbx_json_push_string(list, b->ops->name);
        detail = cbx_json_finish(detail);
        if (!detail) st = cbx_fail(&why, CBX_ENOMEM, "out of memory for an answer");
    }
    return answer(w, "benchmark", st, &why, -1, detail);
}

bool cbx__worker_phase(cbx__worker *w, const cbx_json *m)
{
    cbx_json *detail = NULL;
    cbx_values *given = NULL;
    cbx_err why = CBX_ERR_INIT;
    const char *name = cbx_json_get_string(m, "phase", "");
    double ns = 0;
    size_t n = 0;
    const size_t phase = CBX_WORD_AT(cbx__phase_names, name);

    if (phase == CBX__PHASE_COUNT || phase == CBX__PHASE_WORK || !w->bench || !w->bench->found ||
        !w->bench->b.has[phase])
        return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "there is no phase '%.20s'", name);
    cbx_status st = cbx_values_create(w->ctx, &given, &why);
    if (!st) st = w->bench->b.phase(w->bench->b.user, (cbx__phase)phase, given, &ns, &why);
    if (!st) {
        const cbx_named_metric *items = cbx_values_items(given, &n);
        detail = cbx_json_new_object();
        cbx_json *values = cbx_json_set_object(detail, "values");
        for (size_t i = 0; i < n; i++) cbx_json_set_double(values, items[i].name, items[i].metric.value);
        st = cbx_json_check(detail, &why);
    }
    cbx_values_free(given);
    return answer(w, "phase", st, &why, ns, detail);
}

bool cbx__worker_calls(cbx__worker *w, uint64_t n)
{
    cbx_err why = CBX_ERR_INIT;
    double ns = 0;

    if (!w->bench->b.has[CBX__PHASE_WORK] || w->bench->b.batches)
        return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "the benchmark has no timed work");
    cbx_status st = w->bench->b.calls(w->bench->b.user, n, &ns, &why);
    return answer(w, "epoch", st, &why, ns > w->clock_cost_ns ? ns - w->clock_cost_ns : 0, NULL);
}

bool cbx__worker_dataset(cbx__worker *w, const cbx_json *m)
{
    cbx_err why = CBX_ERR_INIT;
    size_t n = 0;

    (void)m;
    if (!w->bench || !w->bench->b.batches) return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "there is no dataset");
    cbx_status st = w->bench->b.length(w->bench->b.user, &n, &why);
    return answer(w, "dataset", st, &why, -1, cbx_json_object(J_INT("examples", n)));
}

bool cbx__worker_batch(cbx__worker *w, const cbx_json *m)
{
    int64_t start = cbx_json_get_int(m, "start", -1), examples = cbx_json_get_int(m, "examples", -1);
    cbx_err why = CBX_ERR_INIT;
    double ns = 0;

    if (!w->bench || !w->bench->b.batches || start < 0 || examples < 1)
        return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "there is no dataset, or no such batch of it");
    cbx_status st = w->bench->b.batch(w->bench->b.user, (size_t)start, (size_t)examples, &ns, &why);
    return answer(w, "batch", st, &why, ns, NULL);
}

void cbx__worker_benchmark_clear(cbx__worker *w)
{
    struct cbx__worker_bench *x = w->bench;

    if (!x) return;
    if (x->found && x->found->destroy) x->found->destroy(x->self);
    cbx_json_unref(x->config);
    close(x->detail);
    cbx_mem_free(cbx_ctx_allocator(w->ctx), x, sizeof *x);
}
