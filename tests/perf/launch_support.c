/* See launch_support.h. */
#include "launch_support.h"
#include "check.h"
#include "fail_alloc.h"

#include "suites/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

cbx_sandbox launch_sandbox = CBX_SANDBOX_INIT;

static void workload_free(workload_at *at)
{
    cbx_workload_free(at->w);
    cbx_params_free(at->point);
    *at = (workload_at){ NULL, NULL };
}

static cbx_workload *workload_make(fixture *f, workload_at *at, const cbx_case_ops *c, const char *point,
                                   size_t rotations)
{
    cbx_workload_opts opts = CBX_WORKLOAD_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    opts.rotations = rotations;
    opts.cache_dir = f->cache;
    opts.oracle_timeout_s = 20;
    CHECK_OK(cbx_case_point(f->ctx, c, point, "test", &at->point, &err), &err, point);
    CHECK_OK(cbx_workload_create(f->ctx, c, at->point, &opts, &at->w, &err), &err, point);
    return at->w;
}

int launch_setup(void **state)
{
    static fixture f;
    char worker[4096];
    ssize_t n = readlink("/proc/self/exe", worker, sizeof worker - 16);
    CHECK(n > 0, "this program's place");
    worker[n] = '\0';
    strcpy(strrchr(worker, '/'), "/toy-worker");
    setenv("NPERF_WORKER", worker, 1);
    cbx_test_folder(f.cache);
    cbx_test_folder(f.notes);
    f.writable[0] = f.notes;
    launch_sandbox.writable = f.writable;
    launch_sandbox.nwritable = 1;
    f.ctx = cbx_test_context();
    workload_make(&f, &f.toy, &toy_case, "{\"n\":1000}", 1);
    *state = &f;
    return 0;
}

int launch_teardown(void **state)
{
    fixture *f = *state;
    if (!f) return 0;
    cbx_launch_record_clear(&f->record);
    workload_free(&f->cheats);
    workload_free(&f->other);
    workload_free(&f->toy);
    cbx_ctx_free(f->ctx);
    cbx_test_folder_remove(f->cache);
    cbx_test_folder_remove(f->notes);
    return 0;
}

cbx_workload *make_workload(fixture *f, const cbx_case_ops *c, const char *point, size_t rotations)
{
    workload_free(&f->other);
    return workload_make(f, &f->other, c, point, rotations);
}

cbx_workload *cheat_workload(fixture *f)
{
    if (!f->cheats.w) workload_make(f, &f->cheats, &cbx_selftest_exploits_case, "{\"n\":1000,\"cost_us\":8000}", 1);
    return f->cheats.w;
}

cbx_launch_opts quick_opts(void)
{
    return (cbx_launch_opts){ .struct_size = sizeof(cbx_launch_opts),
                              .platform = "cpu",
                              .threads = 1,
                              .warmup = 1,
                              .epochs = 6,
                              .iterations = 2,
                              .message_timeout_s = 20,
                              .memory_limit_bytes = 2000000000u,
                              .sandbox = &launch_sandbox,
                              .seed = 7 };
}

const cbx_launch_record *launch_on(fixture *f, const cbx_workload *w, const char *baseline, const cbx_launch_opts *opts)
{
    const cbx_baseline_ops *b = cbx_case_baseline(w->c, baseline);
    cbx_err err = CBX_ERR_INIT;
    if (!b) {
        w = cheat_workload(f);
        b = cbx_case_baseline(w->c, baseline);
    }
    CHECK(b != NULL, baseline);
    cbx_launch_record_clear(&f->record);
    CHECK_OK(cbx_launch_run(f->ctx, w, b, opts, &f->record, &err), &err, baseline);
    return &f->record;
}

const cbx_launch_record *launch(fixture *f, const char *baseline, const cbx_launch_opts *opts)
{
    return launch_on(f, f->toy.w, baseline, opts);
}

void check_failure(const cbx_launch_record *r, cbx_failure wanted, const char *why)
{
    if (r->failure != wanted) fail_msg("%s: %s (%s)", why, cbx_failure_word(r->failure), r->message);
}

void fail_if_too_busy(const cbx_launch_record *r)
{
    if (r->failure == CBX_FAILURE_CONTENDED) fail_msg("%s", r->message);
}

char *change_variable(const char *name, const char *value)
{
    const char *now = getenv(name);
    char *before = now ? strdup(now) : NULL;
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
    return before;
}

void restore_variable(const char *name, char *before)
{
    free(change_variable(name, before));
    free(before);
}
