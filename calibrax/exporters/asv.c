/*
 * A folder that `asv publish` builds a site from (airspeed velocity: results 2, benchmarks 2, machine 1).
 *
 *     asv.conf.json
 *     results/benchmarks.json
 *     results/<machine>/machine.json
 *     results/<machine>/<commit>-calibrax.json
 *
 * A benchmark is one metric of one point: "scenario.point.metric".  Tags that differ among its points are its parameters; all
 * runs of one commit on one machine become one result: the median of their values, and all their samples.  Times are in
 * seconds, sizes in bytes, everything else in its own unit.  asv takes every rise for a regression, whatever the direction.
 * Benchmarks are found in asv_benchmarks.c, results written in asv_results.c, the other files here.
 */
#include "calibrax/exporters/asv.h"

#include <stdio.h>
#include <string.h>

#define FILE_FLAGS (CBX_JSON_INDENT2 | CBX_JSON_ASCII | CBX_JSON_NONFINITE_BARE)

/* --- JSON --- */

/* Python's repr of a text. */
static cbx_json *repr(cbx_export_job *job, const char *value)
{
    cbx_text out;
    cbx_json *v;

    if (!value) return cbx_json_new_string("None");
    cbx_text_init(&out, cbx_ctx_allocator(job->ctx));
    cbx_text_putc(&out, '\'');
    for (; *value; value++) {
        if (*value == '\'' || *value == '\\') cbx_text_putc(&out, '\\');
        if (*value == '\n')
            cbx_text_puts(&out, "\\n");
        else
            cbx_text_putc(&out, *value);
    }
    cbx_text_putc(&out, '\'');
    v = out.status ? NULL : cbx_json_new_string(cbx_text_str(&out));
    cbx_text_clear(&out);
    return v;
}

cbx_json *cbx__asv_params_json(cbx_export_job *job, const cbx__asv_benchmark *b)
{
    cbx_json *all = cbx_json_new_array();

    for (size_t k = 0; k < b->nparams; k++) {
        cbx_json *values = cbx_json_push_array(all);
        for (size_t i = 0; i < b->params[k].nvalues; i++) cbx_json_push(values, repr(job, b->params[k].values[i]));
    }
    return all;
}

cbx_json *cbx__asv_machine_json(const cbx_run *run)
{
    const cbx_json *hardware = cbx_json_get(cbx_run_environment(run), "hardware");
    cbx_json *o = cbx_json_new_object();
    int64_t threads = cbx_json_get_int(hardware, "cpu_count", 0),
            memory = cbx_json_get_int(hardware, "memory_bytes", 0);
    char count[24] = "", ram[24] = "";

    if (threads > 0) snprintf(count, sizeof count, "%lld", (long long)threads);
    if (memory > 0) snprintf(ram, sizeof ram, "%lld", (long long)(memory / 1024));
    cbx_json_set_string(o, "machine", cbx__asv_machine_of(run));
    cbx_json_set_string(o, "os", cbx_json_get_string(hardware, "os", ""));
    cbx_json_set_string(o, "arch", cbx_json_get_string(hardware, "arch", ""));
    cbx_json_set_string(o, "cpu", cbx_json_get_string(hardware, "cpu_model", ""));
    cbx_json_set_string(o, "num_cpu", count);
    cbx_json_set_string(o, "ram", ram);
    return o;
}

/* --- files --- */

void cbx__asv_put_key(cbx__export_stream *out, bool first, int level, const char *key)
{
    if (!first) cbx_text_putc(&out->text, ',');
    cbx_json_write_break(FILE_FLAGS, level, &out->text);
    cbx_json_write_string(key, strlen(key), FILE_FLAGS, &out->text);
    cbx_text_puts(&out->text, ": ");
}

void cbx__asv_put(cbx__export_stream *out, int level, const cbx_json *value)
{
    cbx_json_write_part(value, FILE_FLAGS, level, NULL, NULL, &out->text);
}

cbx_status cbx__asv_put_document(cbx_export_job *job, const char *name, cbx_json *document, cbx_err *err)
{
    cbx_text text;
    cbx_status st;

    if (!document || !name) {
        cbx_json_unref(document);
        return cbx_fail_nomem(err, NULL);
    }
    cbx_text_init(&text, cbx_ctx_allocator(job->ctx));
    cbx_json_write(document, FILE_FLAGS, &text);
    cbx_text_putc(&text, '\n');
    st = cbx__export_file(job, name, &text, err);
    cbx_text_clear(&text);
    cbx_json_unref(document);
    return st;
}

static cbx_status put_benchmarks(cbx__asv_site *s, cbx_err *err)
{
    cbx__export_stream out;
    cbx_status st = cbx__export_stream_begin(s->job, "results/benchmarks.json", &out, err);

    cbx_text_putc(&out.text, '{');
    for (size_t i = 0; !st && i < s->n; i++) {
        cbx_json *o = cbx_json_new_object(), *names;
        cbx_json_set_string(o, "code", "");
        cbx_json_set_string(o, "name", s->list[i].name);
        names = cbx_json_set_array(o, "param_names");
        for (size_t k = 0; k < s->list[i].nparams; k++) cbx_json_push_string(names, s->list[i].params[k].key);
        cbx_json_set(o, "params", cbx__asv_params_json(s->job, &s->list[i]));
        cbx_json_set_double(o, "timeout", 60);
        cbx_json_set_string(o, "type", s->list[i].type);
        cbx_json_set_string(o, "unit", s->list[i].unit);
        cbx_json_set_string(o, "version", s->list[i].version);
        cbx_json *v = cbx_json_finish(o);
        cbx__asv_put_key(&out, i == 0, 1, s->list[i].name);
        cbx__asv_put(&out, 1, v);
        st = v ? cbx__export_stream_pour(&out, err) : cbx_fail_nomem(err, NULL);
        cbx_json_unref(v);
    }
    cbx__asv_put_key(&out, s->n == 0, 1, "version");
    cbx_text_puts(&out.text, "2\n}\n");
    return cbx__export_stream_end(&out, st, err);
}

/* The file of a machine, unless it has been written. */
static cbx_status put_machine(cbx__asv_site *s, cbx_names *machines, const cbx_run *run, const char *folder,
                              cbx_err *err)
{
    const char *name = cbx_arena_printf(s->job->arena, "results/%s/machine.json", folder);
    size_t before = machines->n, at = cbx_names_add(machines, cbx__asv_machine_of(run));
    cbx_json *machine;

    if (at == CBX_NO_NAME) return cbx_fail_nomem(err, NULL);
    if (at < before) return CBX_OK;
    machine = cbx__asv_machine_json(run);
    cbx_json_set_int(machine, "version", 1);
    return cbx__asv_put_document(s->job, name, machine, err);
}

static cbx_status asv_runs(cbx_export_job *job, const cbx_export_source *runs, cbx_err *err)
{
    cbx_names machines;
    cbx__asv_site s;
    cbx_status st;

    cbx__asv_init(&s, job, runs);
    cbx_names_init(&machines, cbx_ctx_allocator(job->ctx));
    st = cbx__asv_find(&s, err);
    if (!st) st = put_benchmarks(&s, err);
    if (!st) {
        cbx_json *o = cbx_json_new_object(), *branches;
        cbx_json_set_int(o, "version", 1);
        cbx_json_set_string(o, "project", "calibrax");
        cbx_json_set_string(o, "repo", s.job->opts.repo ? s.job->opts.repo : ".");
        branches = cbx_json_set_array(o, "branches");
        for (size_t i = 0; i < s.branches.n; i++) cbx_json_push_string(branches, s.branches.list[i]);
        if (!s.branches.n) cbx_json_push_string(branches, "HEAD");
        cbx_json_set_string(o, "environment_type", "existing");
        cbx_json_set_string(o, "results_dir", "results");
        cbx_json_set_string(o, "html_dir", "html");
        st = cbx__asv_put_document(s.job, "asv.conf.json", o, err);
    }
    for (size_t i = 0; !st && i < s.ncommits; i++) {
        const char *folder = cbx__export_safe_name(s.job->arena, s.commits[i].machine);
        cbx_run *run = NULL;
        st = folder ? s.runs->load(s.runs->user, s.order[s.commits[i].first], &run, err) : cbx_fail_nomem(err, NULL);
        if (!st) st = put_machine(&s, &machines, run, folder, err);
        if (!st) st = cbx__asv_put_results(&s, &s.commits[i], run, folder, err);
        cbx_run_free(run);
        cbx_arena_clear(s.job->arena);
    }
    cbx_names_clear(&machines);
    cbx__asv_clear(&s);
    return st;
}

const cbx_exporter cbx__export_asv = { sizeof(cbx_exporter),
                                       CBX_EXPORTER_ABI,
                                       "asv",
                                       "a folder that 'asv publish' builds a site from",
                                       NULL,
                                       NULL,
                                       asv_runs };
