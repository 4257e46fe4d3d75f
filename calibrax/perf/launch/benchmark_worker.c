/* The worker of shared objects: the one side of launch.c that runs a stranger's code. */
#include <string.h>
#include <unistd.h>

#include "calibrax/perf/case/benchmark_plugin.h"
#include "calibrax/perf/launch/driver.h"
#include "calibrax/profiling/procfs.h"

#define REQUEST_MOST ((size_t)64 << 20)

static cbx_status write_answer(cbx_ctx *ctx, int fd, cbx_json *answer, cbx_err *err)
{
    cbx_status st;
    cbx_text text;

    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    if (answer) cbx_json_write(answer, CBX_JSON_COMPACT | CBX_JSON_ASCII, &text);
    st = answer ? cbx_text_check(&text, err) : cbx_fail(err, CBX_ENOMEM, "out of memory for an answer");
    cbx_json_unref(answer);
    for (size_t at = 0; !st && at < text.len;) {
        ssize_t n = write(fd, cbx_text_str(&text) + at, text.len - at);
        if (n <= 0)
            st = cbx_fail(err, CBX_EIO, "cannot write an answer");
        else
            at += (size_t)n;
    }
    cbx_text_clear(&text);
    return st;
}

static cbx_json *failure_json(const char *phase, const cbx_err *why)
{
    cbx_json *o = cbx_json_new_object();

    if (o && cbx_json_set_string(o, "phase", phase) && cbx_json_set_int(o, "status", why->status) &&
        cbx_json_set_string(o, "message", why->message))
        return o;
    cbx_json_unref(o);
    return NULL;
}

static cbx_json *names_json(const cbx_plugin *p)
{
    cbx_json *list = cbx_json_new_array();
    bool ok = list != NULL;

    for (size_t i = 0; ok && i < cbx_plugin_count(p); i++)
        ok = cbx_json_push(list, cbx_json_new_string(cbx_plugin_at(p, i)->ops->name));
    if (ok) return list;
    cbx_json_unref(list);
    return NULL;
}

static void read_opts(const cbx_json *request, cbx_benchmark_measure_opts *o)
{
    o->warmup = (size_t)cbx_json_get_int(request, "warmup", (int64_t)o->warmup);
    o->samples = (size_t)cbx_json_get_int(request, "samples", (int64_t)o->samples);
    o->sample_s = cbx_json_get_double(request, "sample_s", o->sample_s);
    o->budget_s = cbx_json_get_double(request, "budget_s", o->budget_s);
    o->batch_size = (size_t)cbx_json_get_int(request, "batch_size", (int64_t)o->batch_size);
    o->max_batches = (size_t)cbx_json_get_int(request, "max_batches", (int64_t)o->max_batches);
    o->config = cbx_json_get(request, "config");
    o->no_resources = true; /* the parent watches */
}

static cbx_status measure(cbx_ctx *ctx, const cbx_json *request, const cbx_plugin_benchmark *b,
                          const volatile sig_atomic_t *stop, const char **phase, cbx_run **out, cbx_err *err)
{
    cbx_benchmark_measure_opts o = CBX_BENCHMARK_MEASURE_OPTS_INIT;
    void *self = NULL;
    cbx_status st = CBX_OK;

    read_opts(request, &o);
    o.stop = stop;
    o.phase = phase;
    *phase = "start";
    if (b->create) st = b->create(ctx, o.config, &self, err);
    if (st) return st;
    st = cbx_benchmark_measure(ctx, b->ops, self, &o, out, err);
    if (b->destroy) b->destroy(self);
    return st;
}

/* What comes of a request: an answer, in which a failure is one of the plug-in. */
static cbx_json *serve(cbx_ctx *ctx, const cbx_json *request, const volatile sig_atomic_t *stop)
{
    const char *name = cbx_json_get_string(request, "benchmark", NULL), *phase = "start";
    const cbx_plugin_benchmark *b = NULL;
    cbx_plugin *p = NULL;
    cbx_run *run = NULL;
    cbx_err why = CBX_ERR_INIT;
    cbx_status st = cbx_plugin_open(ctx, cbx_json_get_string(request, "path", ""), &p, &why);
    cbx__proc_memory memory;
    cbx_json *answer;

    if (!st && name) st = cbx_plugin_find(p, name, &b, &why);
    if (!st && name) st = measure(ctx, request, b, stop, &phase, &run, &why);
    why.status = st; /* a plug-in may return a status without saying why */
    if (st && !why.message[0]) cbx_fail(&why, st, "%s", cbx_status_words(st));
    if (st)
        answer = cbx__answer("failure", failure_json(phase, &why));
    else
        answer = name ? cbx__answer("run", cbx_run_to_json(run)) : cbx__answer("names", names_json(p));
    if (run && answer && cbx__proc_memory_read(getpid(), &memory))
        cbx_json_set_int(answer, "hwm_bytes", (int64_t)memory.hwm_bytes);
    cbx_run_free(run);
    cbx_plugin_close(p);
    return answer;
}

cbx_status cbx_benchmark_worker(cbx_ctx *ctx, int request, int answer, const volatile sig_atomic_t *stop, cbx_err *err)
{
    cbx_json *asked = NULL;
    char *text = NULL;
    size_t len = 0;
    cbx_status st = cbx__memory_file_read(cbx_ctx_allocator(ctx), request, "the request", REQUEST_MOST, &text, &len,
                                          err);

    if (st) return st;
    st = cbx_json_parse(text, len, "the request", &asked, err);
    cbx_mem_free(cbx_ctx_allocator(ctx), text, len + 1);
    if (!st && strcmp(cbx_json_get_string(asked, "schema", ""), "calibrax-benchmark-request") != 0)
        st = cbx_fail(err, CBX_EPROTO, "standard input holds no request: 'calibrax run' starts this program");
    if (!st) st = write_answer(ctx, answer, serve(ctx, asked, stop), err);
    cbx_json_unref(asked);
    return st;
}
