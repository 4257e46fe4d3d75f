/* Commands measured as they are. */
#include "check.h"
#include "launch_support.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "calibrax/perf/sweep/cold_warm.h"

TEST(outcomes)
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
    fixture *f = *test_state;
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

TEST(numbers)
{
    fixture *f = *test_state;
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

TEST(limits)
{
    fixture *f = *test_state;
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

/* A first call takes 5.5 s where the folder is empty, 1.5 s where it is not, and later ones
 * 0.5 s. */
static const char compiles[] =
    "echo >>\"$TOY_LOG\"; first=5.5; test -e \"$TOY_CACHE/it\" && first=1.5; >\"$TOY_CACHE/it\"\n"
    "echo '{\"metrics\":{\"first_call\":{\"value\":'$first'},\"call_time\":{\"value\":0.5}}}'";

static cbx_cold_warm_opts launches_of(const char *const *argv)
{
    cbx_cold_warm_opts o = CBX_COLD_WARM_OPTS_INIT;

    o.argv = argv;
    o.name = "toy";
    o.launches = 3;
    o.cache_env = "TOY_CACHE";
    o.profiles = true;
    return o;
}

TEST(cold_and_warm)
{
    const char *argv[] = { "sh", "-c", compiles, NULL };
    cbx_cold_warm_opts o = launches_of(argv);
    const cbx_launch_times *cold = NULL, *warm = NULL;
    char log[] = "/tmp/calibrax-launches-XXXXXX";
    const int fd = mkstemp(log);
    fixture *f = *test_state;
    cbx_err err = CBX_ERR_INIT;
    cbx_arena arena;

    setenv("TOY_LOG", log, 1);
    setenv("TOY_CACHE", "/no/such/folder", 1);
    cbx_arena_init(&arena, cbx_ctx_allocator(f->ctx));
    CHECK_OK(cbx_cold_warm_measure(f->ctx, &o, &arena, &cold, &warm, &err), &err, "cold and warm");
    for (size_t i = 0; i < o.launches; i++)
        CHECK(cold[i].first_s == 5.5 && warm[i].first_s == 1.5 && warm[i].steady_s == 0.5, "each of them");
    CHECK_INT(lseek(fd, 0, SEEK_END), 3 + 1 + 3, "cold ones, one that fills the folder, warm ones");
    CHECK_STR(getenv("TOY_CACHE"), "/no/such/folder", "the variable is as it was");
    o.cache_env = NULL;
    o.profiles = false;
    argv[2] = "true";
    CHECK_OK(cbx_cold_warm_measure(f->ctx, &o, &arena, &cold, &warm, &err), &err, "a command, cold alone");
    CHECK(cold[2].first_s > 0 && cold[2].steady_s == 0 && !warm, "its time is that of one call");
    cbx_arena_clear(&arena);
    close(fd);
    unlink(log);
    unsetenv("TOY_CACHE");
}

TEST(launches_that_fail)
{
    static const struct {
        const char *script;
        cbx_status status;
        const char *part;
    } cases[] = {
        { "kill -9 $$", CBX_ECHILD, "was killed by signal 9" },
        { "echo first; echo 'no such code' >&2; exit 7", CBX_ECHILD, "exited with status 7: no such code" },
        { "echo '{\"metrics\":{\"first_call\":{\"value\":-1}}}'", CBX_EFORMAT, "did not report the times" },
        { "echo '{}'", CBX_EFORMAT, "did not report the times" },
        { "echo '{'", CBX_EFORMAT, "toy" },
        { "true", CBX_EFORMAT, "toy" },
    };
    const char *argv[] = { "sh", "-c", "true", NULL };
    cbx_cold_warm_opts o = launches_of(argv);
    const cbx_launch_times *cold = NULL, *warm = NULL;
    fixture *f = *test_state;
    cbx_err err = CBX_ERR_INIT;
    cbx_stop_flag stop = 1;
    cbx_arena arena;

    cbx_arena_init(&arena, cbx_ctx_allocator(f->ctx));
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        argv[2] = cases[i].script;
        CHECK_STATUS(cbx_cold_warm_measure(f->ctx, &o, &arena, &cold, &warm, &err), cases[i].status, cases[i].script);
        CHECK(strstr(err.message, cases[i].part) != NULL, err.message);
    }
    argv[2] = "exit 3";
    o.profiles = false;
    o.ignore_failure = true;
    CHECK_OK(cbx_cold_warm_measure(f->ctx, &o, &arena, &cold, &warm, &err), &err, "any status counts");
    o.stop = &stop;
    CHECK_STATUS(cbx_cold_warm_measure(f->ctx, &o, &arena, &cold, &warm, &err), CBX_EINTERRUPTED, "stopped");
    o.cache_env = "NO=NAME";
    CHECK_STATUS(cbx_cold_warm_measure(f->ctx, &o, &arena, &cold, &warm, &err), CBX_EINVAL, "no variable");
    o.launches = 0;
    CHECK_STATUS(cbx_cold_warm_measure(f->ctx, &o, &arena, &cold, &warm, &err), CBX_EINVAL, "none");
    o.struct_size = 3;
    CHECK_STATUS(cbx_cold_warm_measure(f->ctx, &o, &arena, &cold, &warm, &err), CBX_EINVAL, "version");
    cbx_arena_clear(&arena);
}

TESTS(.seconds = 600, .before = launch_setup, .after = launch_teardown)
