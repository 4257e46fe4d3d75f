/* Commands that are run and watched. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <sys/wait.h>

#include "calibrax/base/file.h"
#include "calibrax/profiling/profile.h"
#include "fail_alloc.h"

static cbx_profile_opts opts_of(const char *const *argv)
{
    cbx_profile_opts o = CBX_PROFILE_OPTS_INIT;
    o.argv = argv;
    o.runs = 2;
    return o;
}

TEST(a_command_that_works)
{
    static const char program[] =
        "x = bytearray(b'1') * (60 << 20)\n"
        "import time, subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', 'import time; sum(range(2000000)); time.sleep(0.5)'])\n"
        "time.sleep(0.5)\n";
    const char *const argv[] = { "python3", "-S", "-c", program, NULL };
    cbx_ctx *ctx = cbx_test_context();
    cbx_profile_opts o = opts_of(argv);
    cbx_profile p;
    cbx_timeline *t = NULL;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_timeline_create(ctx, NULL, &t, &err), &err, "trace");
    o.trace = t;
    CHECK_OK(cbx_profile_command(ctx, &o, &p, &err), &err, "runs");
    CHECK_INT(p.nruns, 2, "the first one, to warm up, does not count");
    for (size_t i = 0; i < p.nruns; i++) {
        const cbx_profile_run *r = &p.runs[i];
        CHECK_GT(r->wall_s, 0.5, "it slept so long");
        CHECK_GT(r->max_rss_mb, 60, "it took so much");
        CHECK_GT(r->resources.summary.peak_rss_mb, 60, "and was seen at it");
        CHECK_GT(r->cpu_user_s + r->cpu_system_s, 0.01, "with its child");
        CHECK_INT(r->exit_status, 0, "ended well");
        CHECK_GT(r->resources.peak_processes, 1, "with its child");
        CHECK(r->resources.summary.num_samples > 3 && r->resources.samples == NULL, "sampled");
    }
    CHECK_GT((double)cbx_timeline_events(t), 10, "spans and counters");
    cbx_profile_clear(&p);
    cbx_profile_clear(NULL);
    cbx_timeline_free(t);
    cbx_ctx_free(ctx);
}

TEST(short_and_failing_ones)
{
    static const struct {
        const char *argv[4];
        bool ignore;
        cbx_status wanted;
        int exit_status;
        const char *part;
    } cases[] = {
        { { "true" }, false, CBX_OK, 0, "" },
        { { "sh", "-c", "exit 3" }, false, CBX_ECHILD, 0, "'sh' ended with status 3" },
        { { "sh", "-c", "exit 3" }, true, CBX_OK, 3, "" },
        { { "sh", "-c", "kill -9 $$" }, true, CBX_OK, 137, "" },
        { { "no-such-program" }, false, CBX_ENOENT, 0, "cannot run 'no-such-program'" },
        { { "/etc/passwd" }, false, CBX_EPERM, 0, "cannot run '/etc/passwd'" },
        { { NULL }, false, CBX_EINVAL, 0, "no command" },
    };
    cbx_ctx *ctx = cbx_test_context();
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_profile_opts o = opts_of(cases[i].argv);
        cbx_profile p = { 0 };
        cbx_err err = CBX_ERR_INIT;
        o.ignore_failure = cases[i].ignore;
        CHECK_STATUS(cbx_profile_command(ctx, &o, &p, &err), cases[i].wanted, cases[i].part);
        CHECK(strstr(err.message, cases[i].part), err.message);
        if (p.nruns) CHECK_INT(p.runs[0].exit_status, cases[i].exit_status, "status");
        if (p.nruns) CHECK(p.runs[0].wall_s > 0 && p.runs[0].max_rss_mb > 0, "time and memory, however short");
        cbx_profile_clear(&p);
    }
    CHECK(waitpid(-1, NULL, WNOHANG) < 0, "no child is left");
    cbx_ctx_free(ctx);
}

TEST(a_stop)
{
    const char *const argv[] = { "true", NULL };
    volatile sig_atomic_t stop = 1;
    cbx_profile_opts o = opts_of(argv);
    cbx_profile p;
    cbx_ctx *ctx = cbx_test_context();
    o.stop = &stop;
    CHECK_STATUS(cbx_profile_command(ctx, &o, &p, NULL), CBX_EINTERRUPTED, "before a run");
    cbx_ctx_free(ctx);
}

static cbx_status run_true(cbx_ctx *ctx, void *user)
{
    const char *const argv[] = { "sleep", "0.02", NULL };
    cbx_profile_opts o = opts_of(argv);
    cbx_profile p = { 0 };
    cbx_err err;
    cbx_status st;
    (void)user;
    o.runs = 1;
    st = cbx_profile_command(ctx, &o, &p, &err);
    cbx_profile_clear(&p);
    return st;
}

TEST(out_of_memory)
{
    CHECK_GT(cbx_test_fail_each(run_true, NULL, "cbx_profile_command"), 1, "runs and monitors");
    CHECK(waitpid(-1, NULL, WNOHANG) < 0, "no child is left");
}

TESTS()
