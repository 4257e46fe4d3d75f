/*
 * The oracle's answer: computed in a process of its own, kept by content.
 *
 * An entry of the cache is two NPY files for each output and a small JSON file, written last, that
 * holds the hash of each of them; an entry that is torn, damaged or of another shape is computed
 * again.  Its key is the hash of: inputs, case, point, library version and revision, protocol
 * number of the case, and the worker program that holds the oracle's code.  The folder may be
 * deleted at any time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/array/io/npy.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/base/process.h"
#include "calibrax/base/programs.h"
#include "calibrax/base/version.h"
#include "calibrax/core/owned.h"
#include "calibrax/perf/case/plugin.h"
#include "calibrax/perf/launch/policy.h"
#include "calibrax/perf/launch/talk.h"
#include "calibrax/perf/launch/workload.h"
#include "calibrax/profiling/procfs.h"

#define FILES_MAX (2 * CBX_CASE_MAX_ARRAYS)

/* Answer and bound, in the order in which files and descriptors hold them: answer 0, bound 0,
 * answer 1, ... */
static cbx_array **slot(cbx_workload *w, size_t i) { return i % 2 == 0 ? &w->answers[i / 2] : &w->bounds[i / 2]; }

static void drop_set0(cbx_workload *w)
{
    for (size_t i = 0; i < 2 * w->c->noutputs; i++) {
        cbx_array_free(*slot(w, i));
        *slot(w, i) = NULL;
    }
}

/* The answer is float64 (bool for bool; 64-bit integers may stay what they are), the bound float64,
 * both of the output's shape. */
static cbx_status check_form(const cbx_workload *w, size_t i, const cbx_array *a, cbx_err *err)
{
    cbx_array_desc wanted = w->outputs[i / 2];
    char found[64], should[64];
    const cbx_dtype own = wanted.dtype, got = cbx_array_dtype(a);
    if (i % 2 == 1 || (own != CBX_BOOL && !((own == CBX_I64 || own == CBX_U64) && got == own))) wanted.dtype = CBX_F64;
    if (cbx_array_desc_equal(cbx_array_get_desc(a), &wanted)) return CBX_OK;
    return cbx_fail(err, CBX_ESHAPE, "the oracle of case '%s' returned a %s of %s, expected %s", w->c->name,
                    i % 2 ? "bound" : "answer", cbx_array_desc_text(cbx_array_get_desc(a), found, sizeof found),
                    cbx_array_desc_text(&wanted, should, sizeof should));
}

/* --- the cache --- */

static cbx_status no_memory(cbx_err *err)
{
    return cbx_fail(err, CBX_ENOMEM, "no memory to look for the oracle's answer");
}

static const char *entry_path(cbx_arena *arena, const char *stem, size_t i)
{
    return cbx_arena_printf(arena, "%s.%s%zu.npy", stem, i % 2 ? "bound" : "answer", i / 2);
}

cbx_status cbx__worker_hash(cbx_ctx *ctx, const char *worker, cbx_arena *arena, char out[CBX_HASH_SIZE], cbx_err *err)
{
    const char *from = getenv(CBX_CASE_PLUGINS_VARIABLE), *all = "";
    char hash[CBX_HASH_SIZE];
    cbx_status st = cbx_hash_file(ctx, worker, out, err);

    while (!st && from && *from) {
        const size_t len = strcspn(from, ":");
        const char *path = cbx_arena_strndup(arena, from, len);
        if (path && len) st = cbx_hash_file(ctx, path, hash, err);
        if (!st && len && path) all = cbx_arena_printf(arena, "%s %s", all, hash);
        if (!path || !all) return cbx_fail(err, CBX_ENOMEM, "no memory for the hash of a worker");
        from += len + (from[len] == ':');
    }
    if (st || !*all) return st;
    all = cbx_arena_printf(arena, "%s%s", out, all);
    if (!all) return cbx_fail(err, CBX_ENOMEM, "no memory for the hash of a worker");
    cbx_hash_bytes(all, strlen(all), out);
    return CBX_OK;
}

static cbx_status make_stem(cbx_ctx *ctx, cbx_workload *w, const char *worker, const char *dir, cbx_arena *arena,
                            const char **stem, cbx_err *err)
{
    char program[CBX_HASH_SIZE], key[CBX_HASH_SIZE];
    const char *text;
    cbx_status st = cbx__worker_hash(ctx, worker, arena, program, err);
    if (st) return st;
    text = cbx_arena_printf(arena, "%s\n%s\n%s\n%s\n%s\n%d\n%s\n%s\n", w->hash, w->c->name, cbx_params_json(w->point),
                            cbx_version(), cbx_revision(), CBX_CASE_ABI, program,
                            w->c->oracle_key ? w->c->oracle_key : "");
    if (!text) return no_memory(err);
    cbx_hash_bytes(text, strlen(text), key);
    if (!dir) {
        st = cbx_cache_dir(ctx, "oracle", arena, &dir, err);
        if (st) return st;
    }
    *stem = cbx_path_join(arena, dir, key);
    if (*stem && strlen(dir) < sizeof w->oracle_dir) memcpy(w->oracle_dir, dir, strlen(dir) + 1);
    return *stem ? CBX_OK : no_memory(err);
}

static cbx_status read_entry(cbx_ctx *ctx, cbx_workload *w, const char *stem, cbx_arena *arena, cbx_err *err)
{
    const char *list = cbx_arena_printf(arena, "%s.json", stem);
    CBX_OWNED(cbx_json) *hashes = NULL;
    cbx_status st = list ? cbx_json_read(ctx, list, &hashes, err) : no_memory(err);
    for (size_t i = 0; !st && i < 2 * w->c->noutputs; i++) {
        char key[32], found[CBX_HASH_SIZE];
        const char *path = entry_path(arena, stem, i), *wanted;
        snprintf(key, sizeof key, "%s%zu", i % 2 ? "bound" : "answer", i / 2);
        st = path ? cbx_json_need_string(hashes, key, list, &wanted, err) : no_memory(err);
        if (!st) st = cbx_hash_file(ctx, path, found, err);
        if (!st && strcmp(found, wanted) != 0) st = cbx_fail(err, CBX_EFORMAT, "'%s' is damaged", path);
        if (!st) st = cbx_npy_read(ctx, path, slot(w, i), err);
        if (!st) st = check_form(w, i, *slot(w, i), err);
    }
    if (!st) w->oracle_s = cbx_json_get_double(hashes, "seconds", 0);
    if (st) drop_set0(w);
    return st;
}

/* A cache that cannot be written costs time, nothing else: the measurement goes on without. */
static void write_entry(cbx_ctx *ctx, cbx_workload *w, const char *stem, cbx_arena *arena)
{
    const char *list = cbx_arena_printf(arena, "%s.json", stem);
    CBX_OWNED(cbx_json) *hashes = cbx_json_new_object();
    bool ok = list && hashes && cbx_dir_create_parent(ctx, list, NULL) == CBX_OK;
    for (size_t i = 0; ok && i < 2 * w->c->noutputs; i++) {
        char key[32], hash[CBX_HASH_SIZE];
        const char *path = entry_path(arena, stem, i);
        snprintf(key, sizeof key, "%s%zu", i % 2 ? "bound" : "answer", i / 2);
        ok = path && cbx_npy_write(ctx, path, *slot(w, i), NULL) == CBX_OK &&
             cbx_hash_file(ctx, path, hash, NULL) == CBX_OK && cbx_json_set_string(hashes, key, hash);
    }
    if (ok) cbx_json_set_double(hashes, "seconds", w->oracle_s);
    CBX_SCOPED(cbx_text, text, cbx_ctx_allocator(ctx));
    cbx_json_write(hashes, CBX_JSON_COMPACT, &text);
    if (ok && cbx_text_check(&text, NULL) == CBX_OK) cbx_file_write_atomic(ctx, list, text.data, text.len, NULL);
}

/* An answer that is hidden is in this process's memory, and nowhere else, till the workload is
 * freed. */
static void keep_entry(cbx_ctx *ctx, cbx_workload *w, const cbx_workload_opts *opts, const char *stem, cbx_arena *arena)
{
    if (!opts->hide_answers || strlen(stem) >= sizeof w->oracle_entry) {
        if (!w->oracle_cached) write_entry(ctx, w, stem, arena);
        return;
    }
    memcpy(w->oracle_entry, stem, strlen(stem) + 1);
    w->ctx = ctx;
    /* The list goes first: without it the rest is no entry. */
    for (size_t i = 0; w->oracle_cached && i <= 2 * w->c->noutputs; i++) {
        const char *path = i ? entry_path(arena, stem, i - 1) : cbx_arena_printf(arena, "%s.json", stem);
        if (path) unlink(path);
    }
}

void cbx__oracle_give_back(cbx_workload *w)
{
    if (!w->oracle_entry[0] || !w->answers || !w->answers[0]) return;
    CBX_SCOPED(cbx_arena, arena, &w->al);
    write_entry(w->ctx, w, w->oracle_entry, &arena);
    w->oracle_entry[0] = '\0';
}

/* --- the process --- */

/* The program that computes the answer is the native worker, or Python with the case's provider. */
static cbx_status run_process(cbx_ctx *ctx, const cbx_workload *w, const cbx_workload_opts *opts, const char *worker,
                              const cbx__load *load, cbx_arena *arena, cbx_err *err)
{
    static const char oracle[] = "{\"op\":\"oracle\"}\n", bye[] = "{\"op\":\"bye\"}\n";
    const char *provider = w->c->oracle_provider;
    const char *program[6] = { worker };
    cbx__talk_opts talk_opts = { .timeout_s = opts->oracle_timeout_s,
                                 .memory_limit_bytes = cbx__proc_available() / 10 * 8,
                                 .stop = opts->stop };
    cbx_sandbox_facts facts;
    cbx__environment env;
    cbx__talk *t = NULL;
    cbx_status st = CBX_OK;

    if (provider) {
        st = cbx_provider_interpreter(ctx, provider, "cpu", arena, &program[0], NULL, err);
        if (!st) st = cbx__tool_find(CBX__TOOL_PYTHON_WORKER, arena, &program[2], err);
        program[1] = "-u";
        program[3] = provider;
        program[4] = "cpu";
    }
    if (st) return st;
    cbx__environment_clean(&env, arena);
    cbx__environment_set(&env, "NPERF_WORKER_FD", "3");
    if (provider) cbx__environment_set(&env, "CUDA_VISIBLE_DEVICES", "");
    if (env.failed) return cbx_fail(err, CBX_ENOMEM, "no memory for the environment of '%s'", cbx_path_base(worker));
    cbx__child_opts child = { .program = program, .env = env.vars, .cores = opts->cores, .ncores = opts->ncores };
    st = cbx__talk_open(cbx_ctx_allocator(ctx), &child, &talk_opts, &t, err);
    if (st) return st;
    bool done = cbx__talk_hello(t, &facts, NULL);
    if (done) t->phase = "load";
    done = done && cbx__talk_ask(t, load->message, load->fds, load->nfds, "loaded", NULL);
    if (done) t->phase = "oracle";
    done = done && cbx__talk_ask_text(t, oracle, sizeof oracle - 1, NULL, 0, "oracle", NULL);
    if (done) t->phase = "bye";
    if (!done || !cbx__talk_ask_text(t, bye, sizeof bye - 1, NULL, 0, "bye", NULL) || !cbx__talk_end(t)) {
        const cbx_status why = t->no_memory || t->failure == CBX_FAILURE_OUT_OF_MEMORY ? CBX_ENOMEM
                               : t->failure == CBX_FAILURE_INTERRUPTED                 ? CBX_EINTERRUPTED
                               : t->failure == CBX_FAILURE_TIMEOUT                     ? CBX_ETIMEOUT
                               : t->failure == CBX_FAILURE_PROTOCOL                    ? CBX_EPROTO
                                                                                       : CBX_ECHILD;
        st = cbx_fail(err, why, "the oracle of case '%s' failed: %s", w->c->name, t->message);
    }
    cbx__talk_close(t);
    return st;
}

static cbx_status compute(cbx_ctx *ctx, cbx_workload *w, const cbx_workload_opts *opts, const char *worker,
                          cbx_arena *arena, cbx_err *err)
{
    int fds[FILES_MAX];
    size_t n = 0, files = 2 * w->c->noutputs;
    cbx__load load = { 0 };
    cbx_status st = CBX_OK;

    for (; !st && n < files; n += !st) st = cbx__memory_file("oracle", &fds[n], err);
    if (!st) st = cbx__load_make(w, 1, NULL, NULL, fds, files, &load, err);
    if (!st) st = run_process(ctx, w, opts, worker, &load, arena, err);
    for (size_t i = 0; !st && i < files; i++) {
        st = cbx_npy_map_fd(ctx, fds[i], slot(w, i),
                            err); /* its writer has ended: no process can shrink the file any more */
        if (!st) st = check_form(w, i, *slot(w, i), err);
    }
    if (st) drop_set0(w);
    cbx__load_clear(&load);
    while (n > 0) close(fds[--n]);
    return st;
}

cbx_status cbx__oracle_get(cbx_ctx *ctx, cbx_workload *w, const cbx_workload_opts *opts, cbx_err *err)
{
    const char *worker, *stem = NULL;

    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    cbx_status st = cbx__tool_find(CBX__TOOL_WORKER, &arena, &worker, err);
    if (!st) {
        /* no folder: no cache */
        st = opts->secret ? CBX_ENOENT : make_stem(ctx, w, worker, opts->cache_dir, &arena, &stem, err);
        if (!st) st = read_entry(ctx, w, stem, &arena, err);
        w->oracle_cached = st == CBX_OK;
        if (st && st != CBX_ENOMEM) {
            uint64_t start = cbx_clock_ns();
            st = compute(ctx, w, opts, worker, &arena, err);
            w->oracle_s = 1e-9 * (double)(cbx_clock_ns() - start);
        }
        if (!st && stem) keep_entry(ctx, w, opts, stem, &arena);
    }
    return st;
}
