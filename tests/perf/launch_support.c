/* See launch_support.h. */
#include "launch_support.h"
#include "check.h"
#include "fail_alloc.h"

#include "suites/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

cbx_sandbox launch_sandbox = CBX_SANDBOX_INIT;

int launch_setup(void **state)
{
    static fixture f;
    char worker[4096];
    cbx_err err = CBX_ERR_INIT;
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
    CHECK_OK(cbx_ctx_create(NULL, &f.ctx, &err), &err, "a context");
    f.w = make_workload(&f, &toy_case, "{\"n\":1000}", 1, &f.point);
    *state = &f;
    return 0;
}

int launch_teardown(void **state)
{
    fixture *f = *state;
    if (!f) return 0;
    cbx_workload_free(f->cheat_w);
    cbx_params_free(f->cheat_point);
    cbx_workload_free(f->w);
    cbx_params_free(f->point);
    cbx_ctx_free(f->ctx);
    cbx_test_folder_remove(f->cache);
    cbx_test_folder_remove(f->notes);
    return 0;
}

cbx_workload *make_workload(fixture *f, const cbx_case_ops *c, const char *point, size_t rotations, cbx_params **params)
{
    cbx_workload_opts opts = CBX_WORKLOAD_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    cbx_workload *w = NULL;
    opts.rotations = rotations;
    opts.cache_dir = f->cache;
    opts.oracle_timeout_s = 20;
    CHECK_OK(cbx_case_point(f->ctx, c, point, "test", params, &err), &err, point);
    CHECK_OK(cbx_workload_create(f->ctx, c, *params, &opts, &w, &err), &err, point);
    return w;
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

void fail_if_too_busy(cbx_launch_record *r)
{
    static char why[CBX_ERR_MESSAGE_SIZE];
    if (r->failure != CBX_FAILURE_CONTENDED) return;
    memcpy(why, r->message, sizeof why);
    cbx_launch_record_clear(r);
    fail_msg("%s", why);
}

cbx_workload *launch_cheat_workload(fixture *f)
{
    if (!f->cheat_w)
        f->cheat_w = make_workload(f, &cbx_selftest_exploits_case, "{\"n\":1000,\"cost_us\":8000}", 1, &f->cheat_point);
    return f->cheat_w;
}

cbx_status launch_cheat(fixture *f, const char *baseline, const cbx_launch_opts *opts, cbx_launch_record *r,
                        cbx_err *err)
{
    const cbx_baseline_ops *b = cbx_case_baseline(&cbx_selftest_exploits_case, baseline);
    CHECK(b != NULL, baseline);
    return cbx_launch_run(f->ctx, launch_cheat_workload(f), b, opts, r, err);
}

void launch(fixture *f, const char *baseline, const cbx_launch_opts *opts, cbx_launch_record *r)
{
    cbx_err err = CBX_ERR_INIT;
    const cbx_baseline_ops *b = cbx_case_baseline(&toy_case, baseline);
    CHECK_OK(b ? cbx_launch_run(f->ctx, f->w, b, opts, r, &err) : launch_cheat(f, baseline, opts, r, &err), &err,
             baseline);
}
