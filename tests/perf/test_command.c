/* Commands measured as they are. */
#include "check.h"
#include "launch_support.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void outcomes(void **state)
{
    static const struct {
        const char *command;
        cbx_failure failure;
        int exit_code, term_signal;
        const char *why;
    } cases[] = {
        { "true", CBX_FAILURE_NONE, 0, 0, "ends well" },
        { "exit 7", CBX_FAILURE_EXITED, 7, 0, "a status" },
        { "kill -TERM $$", CBX_FAILURE_CRASHED, -1, SIGTERM, "a signal" },
        { "kill -KILL $$", CBX_FAILURE_CRASHED, -1, SIGKILL, "a signal that could be ours, but is not" },
        { "/nonexistent/program", CBX_FAILURE_EXITED, 127, 0, "no such program" },
        { "cat", CBX_FAILURE_NONE, 0, 0, "there is nothing on standard input" },
        { "head -c 300000 /dev/zero >&2", CBX_FAILURE_NONE, 0, 0, "noise on standard error" },
        { "test -z \"$(ls /proc/self/fd | grep -v '^[0-3]$')\"", CBX_FAILURE_NONE, 0, 0, "no descriptor of ours" },
        { "test \"$TOY_INHERITED\" = yes", CBX_FAILURE_NONE, 0, 0, "the environment is the user's" },
    };
    fixture *f = *state;
    setenv("TOY_INHERITED", "yes", 1);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_command_opts o = { .struct_size = sizeof o, .timeout_s = 20 };
        cbx_command_record r;
        cbx_err err = CBX_ERR_INIT;
        CHECK_OK(cbx_command_run(f->ctx, cases[i].command, &o, &r, &err), &err, cases[i].why);
        if (r.failure != cases[i].failure)
            fail_msg("%s: %s (%s)", cases[i].why, cbx_failure_word(r.failure), r.message);
        CHECK_INT(r.exit_code, cases[i].exit_code, cases[i].why);
        CHECK_INT(r.term_signal, cases[i].term_signal, cases[i].why);
        CHECK_GT(r.wall_ns, 10e3, cases[i].why);
        CHECK_GT(r.hwm_bytes, 100e3, cases[i].why);
        CHECK_LE(r.hwm_bytes, 50e6, cases[i].why);
    }
}

static void numbers(void **state)
{
    fixture *f = *state;
    cbx_command_opts o = { .struct_size = sizeof o, .timeout_s = 20 };
    cbx_command_record r;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_command_run(f->ctx, "sleep 0.1", &o, &r, &err), &err, "sleep");
    CHECK_GT(r.wall_ns, 99e6, "wall time");
    CHECK_LE(r.cpu_user_s + r.cpu_system_s, 0.09, "sleeping takes no CPU");
    CHECK_OK(cbx_command_run(f->ctx, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done", &o, &r, &err), &err,
             "a loop");
    CHECK_GT(r.cpu_user_s, 0.005, "CPU time");
    CHECK_OK(cbx_command_run(f->ctx, "head -c 60000000 /dev/zero | tail -c 50000000 > /dev/null", &o, &r, &err), &err,
             "a hungry child");
    CHECK_GT(r.hwm_bytes, 45e6, "memory of the largest process of the tree");
}

static void limits(void **state)
{
    fixture *f = *state;
    cbx_command_opts o = { .struct_size = sizeof o, .timeout_s = 0.1 };
    cbx_command_record r;
    cbx_err err = CBX_ERR_INIT;
    cbx_stop_flag stop = 1;
    char command[256], path[128];
    snprintf(path, sizeof path, "%s/alive", f->cache);
    snprintf(command, sizeof command, "(sleep 0.5; echo yes > '%s') & sleep 10", path);
    CHECK_OK(cbx_command_run(f->ctx, command, &o, &r, &err), &err, "takes too long");
    CHECK_INT(r.failure, CBX_FAILURE_TIMEOUT, r.message);
    CHECK(isnan(r.wall_ns), "no time");
    usleep(600000);
    CHECK(access(path, F_OK) != 0, "its children were killed with it");
    o.timeout_s = 20;
    o.stop = &stop;
    CHECK_OK(cbx_command_run(f->ctx, "sleep 10", &o, &r, &err), &err, "stopped");
    CHECK_INT(r.failure, CBX_FAILURE_INTERRUPTED, r.message);
    o.struct_size = 1;
    CHECK_STATUS(cbx_command_run(f->ctx, "true", &o, &r, &err), CBX_EINVAL, "another version");
    int core = 100000;
    o = (cbx_command_opts){ .struct_size = sizeof o, .cores = &core, .ncores = 1 };
    CHECK_OK(cbx_command_run(f->ctx, "true", &o, &r, &err), &err, "a core that is not there");
    CHECK_INT(r.failure, CBX_FAILURE_MACHINE, r.message);
}

TEST_FILE(.seconds = 600)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outcomes),
        cmocka_unit_test(numbers),
        cmocka_unit_test(limits),
    };
    return cmocka_run_group_tests_name("perf/command", tests, launch_setup, launch_teardown);
}
