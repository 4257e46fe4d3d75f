/* A function of a Python module, in an interpreter of its own: times, its process, and what goes
 * wrong in words. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "calibrax/profiling/python_call.h"
#include "fail_alloc.h"

static const char module[] = "import time\n"
                             "def nap():\n    time.sleep(0.02)\n"
                             "def add():\n    return sum(range(100))\n"
                             "def bad():\n    raise ValueError('no\\nluck')\n"
                             "def leave():\n    import os\n    os._exit(3)\n"
                             "class Of:\n    @staticmethod\n    def it():\n        return 1\n"
                             "number = 3\n";

static char path[256];
static cbx_ctx *ctx;

static int set_up(void **state)
{
    FILE *f;
    int fd;
    (void)state;
    snprintf(path, sizeof path, "/tmp/calibrax-module-XXXXXX.py");
    fd = mkstemps(path, 3);
    f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f || fputs(module, f) < 0 || fclose(f)) return 1;
    return cbx_ctx_create(NULL, &ctx, NULL) != CBX_OK;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    cbx_ctx_free(ctx);
    return 0;
}

static cbx_python_call_opts opts_of(const char *function)
{
    cbx_python_call_opts o = CBX_PYTHON_CALL_OPTS_INIT;
    o.module = path;
    o.function = function;
    o.samples = 7;
    return o;
}

TEST(times)
{
    cbx_python_call_opts o = opts_of("nap");
    cbx_python_call c;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_python_call_measure(ctx, &o, &c, &err), &err, "nap");
    CHECK_INT(c.timing.nsamples, 7, "samples");
    CHECK_INT(c.timing.calls_per_sample, 1, "one call is long enough");
    CHECK_GT(c.timing.summary.min, 0.0199, "no sample is shorter than the sleep");
    CHECK_GT(c.timing.first_call_s, 0.0199, "nor the first call");
    CHECK(c.timing.steady.lower <= c.timing.steady.value && c.timing.steady.value <= c.timing.steady.upper, "interval");
    CHECK(c.timing.empty_call_ns > 0 && c.timing.clock_step_ns > 0, "what an empty call and the clock take");
    CHECK_GT(c.process.runs[0].wall_s, 0.16, "eight calls at least");
    CHECK_INT(c.process.runs[0].exit_status, 0, "ended well");
    CHECK(c.work.source == CBX_FLOPS_NONE && !c.has_compiled, "not asked for");
    cbx_python_call_clear(&c);

    o = opts_of("add");
    o.sample_s = 0.002;
    CHECK_OK(cbx_python_call_measure(ctx, &o, &c, &err), &err, "add");
    CHECK_GT((double)c.timing.calls_per_sample, 1, "a short call is made often");
    CHECK_LE(fabs(c.timing.percentile_s[0] - c.timing.summary.median), 1e-15, "median");
    cbx_python_call_clear(&c);
    o = opts_of("Of.it");
    CHECK_OK(cbx_python_call_measure(ctx, &o, &c, &err), &err, "of a class");
    cbx_python_call_clear(&c);
    cbx_python_call_clear(NULL);
}

TEST(work_without_xla)
{
    cbx_python_call_opts o = opts_of("add");
    cbx_python_call c;
    cbx_err err = CBX_ERR_INIT;

    setenv("PYTHONPATH", "/tmp/no-such-folder", 1);
    o.flops = true;
    CHECK_OK(cbx_python_call_measure(ctx, &o, &c, &err), &err, "asked for");
    if (c.work.source == CBX_FLOPS_NONE)
        CHECK(strstr(c.work.why, "jax") || strstr(c.work.why, "XLA"), "nobody tells, and why");
    CHECK(c.work.source == CBX_FLOPS_NONE || c.has_compiled, "or XLA does");
    cbx_python_call_clear(&c);
    unsetenv("PYTHONPATH");
}

TEST(faults)
{
    static const struct {
        const char *function, *python, *module, *part;
        cbx_status wanted;
    } cases[] = {
        { "bad", NULL, NULL, "'bad' raised ValueError: no luck (calibrax-module-", CBX_ECHILD },
        { "none", NULL, NULL, "has no function 'none'", CBX_ECHILD },
        { "number", NULL, NULL, "is not callable", CBX_ECHILD },
        { "leave", NULL, NULL, "ended with status 3 and without an answer", CBX_ECHILD },
        { "f", NULL, "no_such_module_at_all", "cannot import 'no_such_module_at_all': ModuleNotFoundError",
          CBX_ECHILD },
        { "f", NULL, "/nowhere/m.py", "no Python file '/nowhere/m.py'", CBX_ECHILD },
        { "f", "no-such-python", NULL, "no-such-python", CBX_ENOENT },
        { "", NULL, NULL, "must name a function", CBX_EINVAL },
        { "f", NULL, "", "must name a Python module", CBX_EINVAL },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_python_call_opts o = opts_of(cases[i].function);
        cbx_python_call c;
        cbx_err err = CBX_ERR_INIT;
        o.python = cases[i].python;
        if (cases[i].module) o.module = cases[i].module;
        CHECK_STATUS(cbx_python_call_measure(ctx, &o, &c, &err), cases[i].wanted, cases[i].part);
        CHECK(strstr(err.message, cases[i].part), err.message);
    }
    {
        cbx_python_call_opts o = opts_of("add");
        o.samples = 0;
        CHECK_STATUS(cbx_python_call_measure(ctx, &o, NULL, NULL), CBX_EINVAL, "no samples");
        o = opts_of("add");
        o.level = 1;
        CHECK_STATUS(cbx_python_call_measure(ctx, &o, NULL, NULL), CBX_EINVAL, "level");
    }
}

static cbx_status measure_it(cbx_ctx *c, void *user)
{
    cbx_python_call_opts o = opts_of("add");
    cbx_python_call found;
    cbx_status st;
    (void)user;
    o.sample_s = 0;
    o.samples = 2;
    st = cbx_python_call_measure(c, &o, &found, NULL);
    if (!st) cbx_python_call_clear(&found);
    return st;
}

TEST(memory_that_runs_out)
{
    CHECK_GT(cbx_test_fail_each(measure_it, NULL, "cbx_python_call_measure"), 3, "allocations");
}

TESTS(.before = set_up, .after = tear_down)
