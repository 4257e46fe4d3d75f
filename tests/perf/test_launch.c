/* One launch: the record of a good worker, and the cause of every kind of bad one. */
#include "check.h"
#include "fail_alloc.h"
#include "launch_support.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
TEST(good_worker)
{
    fixture *f = *test_state;
    cbx_launch_opts o = quick_opts();
    const cbx_launch_record *r = launch(f, "good", &o);
    CHECK_INT(r->failure, CBX_FAILURE_NONE, r->message);
    CHECK_STR(r->phase, "bye", "it went to the end");
    CHECK_INT(r->epochs, 6, "epochs");
    CHECK_INT(r->iterations, 2, "calls an epoch");
    CHECK_INT(r->exit_code, -1, "ended well");
    CHECK_INT(r->term_signal, 0, "ended well");
    for (size_t i = 0; i < r->epochs; i++)
        CHECK(r->epoch_ns[i] >= 0 && r->epoch_ns[i] < 1e9 && r->outer_ns[i] >= 0, "times of an epoch");
    CHECK_GT(r->first_call_ns, 0, "first call");
    CHECK(isnan(r->compile_ns), "nothing is compiled");
    CHECK_GT(r->ready_ns, 0, "ready");
    CHECK_GT(r->empty_epoch_ns, 0, "empty epoch");
    CHECK_GT(r->overhead_ns, 0, "overhead");
    CHECK_GT(r->hwm_bytes, 100e3, "peak memory");
    CHECK_GT(r->hwm_start_bytes, 100e3, "memory after import");
    CHECK(r->hwm_increase_bytes >= 0 && r->hwm_increase_bytes < 50e6, "increase");
    CHECK(isnan(r->device_peak_bytes), "no device");
    CHECK(r->cpu_user_s + r->cpu_system_s > 0, "CPU time");
    CHECK(r->fidelity.checked && r->fidelity.ok, "right numbers");
    CHECK(r->fidelity.checks >= 2, "after the first call and after an epoch");
    CHECK_LE(r->fidelity.rel_to_tol, 1, "within the bound");
    CHECK_STR(cbx_json_get_string(r->versions, "framework", ""), "native", "hello");
    CHECK(cbx_json_has(r->versions, "versions") && cbx_json_has(r->versions, "instruction_set"), "hello");
    cbx_launch_record_clear(&f->record);
    CHECK(r->versions == NULL, "cleared");
}

TEST(causes)
{
    static const struct {
        const char *baseline;
        cbx_failure failure;
        const char *phase;
        int exit_code, term_signal;
        const char *why;
    } cases[] = {
        { "crash", CBX_FAILURE_CRASHED, "compile", -1, SIGSEGV, "a segmentation fault" },
        { "killed", CBX_FAILURE_CRASHED, "compile", -1, SIGKILL,
          "SIGKILL without evidence of want of memory is no out-of-memory" },
        { "exit0", CBX_FAILURE_EXITED, "compile", 0, 0, "exits with 0 and no word" },
        { "exit3", CBX_FAILURE_EXITED, "compile", 3, 0, "exits with 3 and no word" },
        { "rubbish", CBX_FAILURE_PROTOCOL, "compile", -1, 0, "speaks no JSON" },
        { "unasked", CBX_FAILURE_PROTOCOL, "compile", -1, 0, "answers out of order" },
        { "excuse-config", CBX_FAILURE_PROTOCOL, "compile", -1, 0, "names a cause that only the parent can know" },
        { "excuse_unknown", CBX_FAILURE_PROTOCOL, "compile", -1, 0, "words in the message decide nothing" },
        { "says_oom", CBX_FAILURE_OUT_OF_MEMORY, "compile", -1, 0, "names its cause" },
        { "endless-line", CBX_FAILURE_PROTOCOL, "compile", -1, 0, "a line without end" },
        { "late_crash", CBX_FAILURE_CRASHED, "epoch", -1, SIGABRT, "crashes at a later call" },
        { "wrong", CBX_FAILURE_FIDELITY, "bye", -1, 0, "one wrong number" },
        { "nan", CBX_FAILURE_FIDELITY, "bye", -1, 0, "a NaN" },
        { "lazy", CBX_FAILURE_FIDELITY, "bye", -1, 0, "does nothing after the first call" },
        { "replay", CBX_FAILURE_FIDELITY, "bye", -1, 0, "answers from memory" },
        { "unsupported", CBX_FAILURE_HOST_UNSUPPORTED, "load", -1, 0, "says that the machine cannot" },
        { "unavailable", CBX_FAILURE_BACKEND_UNAVAILABLE, "load", -1, 0, "says that a part is missing" },
        { "no_memory", CBX_FAILURE_OUT_OF_MEMORY, "load", -1, 0, "says that memory is out" },
        { "flood", CBX_FAILURE_NONE, "bye", -1, 0, "noise on standard error blocks nobody" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_launch_opts o = quick_opts();
        const cbx_launch_record *r = NULL;
        o.epochs = 20;
        /* emptying the noise costs this process time, on a busy machine much of it */
        for (int tries = cases[i].failure == CBX_FAILURE_NONE ? 4 : 1; tries > 0; tries--) {
            r = launch(*test_state, cases[i].baseline, &o);
            if (r->failure != CBX_FAILURE_CLOCKS_DISAGREE || tries == 1) break;
        }
        check_failure(r, cases[i].failure, cases[i].why);
        CHECK_STR(r->phase, cases[i].phase, cases[i].why);
        if (cases[i].exit_code >= 0) CHECK_INT(r->exit_code, cases[i].exit_code, cases[i].why);
        CHECK_INT(r->term_signal, cases[i].term_signal, cases[i].why);
        CHECK(r->failure == CBX_FAILURE_NONE ? !*r->message : *r->message != 0, cases[i].why);
        CHECK(strchr(r->message, '\n') == NULL, "one line");
    }
}

/* An answer that is wrong in one call of 97 is found by the calls that are compared besides the
 * timed epochs. */
TEST(a_rare_wrong_answer)
{
    cbx_launch_opts o = quick_opts();
    const cbx_launch_record *r = launch(*test_state, "wrong-in-97", &o);
    CHECK_INT(r->failure, CBX_FAILURE_FIDELITY, r->message);
    CHECK(r->fidelity.mismatched >= 1 && r->fidelity.mismatched <= 3, "few of them");
    r = launch(*test_state, "honest-wrong-in-97", &o);
    CHECK_INT(r->failure, CBX_FAILURE_NONE, r->message);
    r = launch(*test_state, "good", &o);
    CHECK_GT(r->fidelity.checks, 20, "calls that were compared");
}

TEST(the_end_of_stderr_is_kept)
{
    cbx_launch_opts o = quick_opts();
    const cbx_launch_record *r = launch(*test_state, "exit3", &o);
    CHECK_STR(r->stderr_tail, "first line\nlast words", "short");
    r = launch(*test_state, "flood", &o);
    CHECK_GT(strlen(r->stderr_tail), 1900, "long");
    CHECK(strstr(r->stderr_tail, "must not block the worker") != NULL, "long");
}

TEST(wrong_shape)
{
    static const cbx_env_setting bad = { TOY_SHAPE, "1" };
    cbx_launch_opts o = quick_opts();
    o.env = &bad;
    o.nenv = 1;
    const cbx_launch_record *r = launch(*test_state, "good", &o);
    CHECK_INT(r->failure, CBX_FAILURE_WRONG_SHAPE, r->message);
    CHECK(strstr(r->message, "(1001") && strstr(r->message, "(1000"), "names both shapes");
    CHECK(r->fidelity.checked && !r->fidelity.ok && isinf(r->fidelity.rel_to_tol), "counts as wrong");
    CHECK_INT(r->epochs, 6, "the times are data all the same");
}

static const cbx_sandbox open_sandbox = { .struct_size = sizeof open_sandbox, .mode = CBX_SANDBOX_OFF };

/* Outside its cores or its share of memory. */
TEST(bounds_of_a_worker)
{
    static const struct {
        const char *baseline;
        cbx_failure failure;
        const char *words, *why;
    } cases[] = {
        { "eat-in-children", CBX_FAILURE_MEMORY_LIMIT, "the limit is 200 MB", "its children count" },
        { "grow-output", CBX_FAILURE_WRONG_SHAPE, "output 0 grew to", "an output file without end" },
        { "eat_in_daemon", CBX_FAILURE_MEMORY_LIMIT, "the limit is 200 MB", "so do those that left its group" },
        { "large_pool", CBX_FAILURE_PINNING, "pool 'openmp' has 8 threads", "says itself that it has more threads" },
        { "stray", CBX_FAILURE_PINNING, "which is not one of those", "left its cores" },
        { "excuse-late", CBX_FAILURE_PROTOCOL, "host_unsupported", "an excuse that comes too late" },
        { "says_oom", CBX_FAILURE_OUT_OF_MEMORY, "the worker reports: asked", "its words are marked as such" },
    };
    int core = 0;
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_launch_opts o = quick_opts();
        bool stray = cases[i].failure == CBX_FAILURE_PINNING;
        if (stray && sysconf(_SC_NPROCESSORS_ONLN) < 2) continue;
        o.memory_limit_bytes = 200000000;
        o.cores = &core;
        o.ncores = stray;
        if (stray) o.sandbox = &open_sandbox; /* else it cannot */
        const cbx_launch_record *r = launch(*test_state, cases[i].baseline, &o);
        if (r->failure != cases[i].failure || !strstr(r->message, cases[i].words))
            fail_msg("%s: %s (%s)", cases[i].why, cbx_failure_word(r->failure), r->message);
    }
}

/* What is only mapped is no memory, but it is bounded too, so that nothing fills the machine
 * between two looks. */
TEST(mapped_memory)
{
#ifdef __SANITIZE_ADDRESS__
    SKIP("sanitizer: it maps more than any limit");
#else
    cbx_launch_opts o = quick_opts();
    o.memory_limit_bytes = 200000000;
    const cbx_launch_record *r = launch(*test_state, "maps_much", &o);
    bool grouped = r->memory_limit_by && !strcmp(r->memory_limit_by, "cgroup");
    if (!grouped) CHECK_INT(r->failure, CBX_FAILURE_OUT_OF_MEMORY, r->message);
    o.memory_limit_bytes = UINT64_C(3) << 30;
    r = launch(*test_state, "maps_much", &o);
    CHECK(r->failure == CBX_FAILURE_NONE || r->failure == CBX_FAILURE_CONTENDED, r->message);
    CHECK(r->memory_limit_bytes == 3221225472.0 && r->memory_limit_by, "the record says what held it");
    CHECK(r->failure || r->threads_seen >= 1, "and how many threads the kernel saw");
    o.memory_limit_bytes = UINT64_MAX;
    r = launch(*test_state, "maps_much", &o);
    CHECK(isnan(r->memory_limit_bytes) && !r->memory_limit_by, "no limit");
#endif
}

/* Threads show by what they use, or by what they wait for. */
TEST(more_threads_than_told)
{
    cbx_launch_opts o = quick_opts();
    o.iterations = 3;
    const cbx_launch_record *r = launch(*test_state, "more-threads", &o);
    /* where others have the CPUs meanwhile it is refused as well, for the reason that it cannot
     * be told */
    CHECK(r->failure == CBX_FAILURE_PINNING || r->failure == CBX_FAILURE_CONTENDED, r->message);
}

/* The kernel reaps the children of a program that ignores SIGCHLD: a launch ends all the same, and
 * says what it cannot know. */
TEST(ignored_sigchld)
{
    cbx_launch_opts o = quick_opts();
    uint64_t start = cbx_clock_ns();
    o.message_timeout_s = 600;
    signal(SIGCHLD, SIG_IGN);
    const cbx_launch_record *r = launch(*test_state, "good", &o);
    CHECK_INT(r->failure, CBX_FAILURE_EXITED, r->message);
    CHECK(strstr(r->message, "SIGCHLD") && isnan(r->cpu_user_s), "names the reason");
    r = launch(*test_state, "exit3", &o);
    CHECK_INT(r->failure, CBX_FAILURE_EXITED, r->message);
    signal(SIGCHLD, SIG_DFL);
    CHECK_LE((double)(cbx_clock_ns() - start), 300e9, "no waiting for what cannot come");
}

TEST(hanging_worker)
{
    cbx_launch_opts o = quick_opts();
    o.message_timeout_s = 5; /* for the import of a worker on a busy machine, too */
    const cbx_launch_record *r = launch(*test_state, "hang", &o);
    CHECK_INT(r->failure, CBX_FAILURE_TIMEOUT, r->message);
    CHECK_STR(r->phase, "compile", "where it hung");
    CHECK_INT(r->term_signal, 0, "we killed it, it did not crash");
}

/* The worker's own child is gone, too: a zombie at most, until its new parent reaps it. */
static bool is_gone(int pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *fp = fopen(path, "r");
    if (!fp) return true;
    size_t n = fread(text, 1, sizeof text - 1, fp);
    fclose(fp);
    text[n] = '\0';
    const char *state = strrchr(text, ')');
    return !state || state[2] == 'Z' || state[2] == 'X';
}

/* A number that a process writes into a file before long; 0 if it does not. */
static int wait_for_pid(const char *path)
{
    int pid = 0;
    for (int i = 0; i < 400 && !pid; i++) {
        FILE *fp = fopen(path, "r");
        if (fp && fscanf(fp, "%d", &pid) != 1) pid = 0;
        if (fp) fclose(fp);
        if (!pid) usleep(5000);
    }
    return pid;
}

/* Whatever group or session it went to, and however the launch ends. */
TEST(nothing_outlives_a_launch)
{
    static const struct {
        const char *baseline;
        cbx_failure failure;
        const char *why;
    } cases[] = { { "child", CBX_FAILURE_TIMEOUT, "a child of the group" },
                  { "daemon", CBX_FAILURE_TIMEOUT, "an orphan in a session of its own" },
                  { "leaves_daemon", CBX_FAILURE_NONE, "the same, left behind by a worker that ends well" } };
    fixture *f = *test_state;
    char path[128];
    snprintf(path, sizeof path, "%s/child", f->notes);
    cbx_env_setting note = { TOY_PID_FILE, path };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        bool well = cases[i].failure == CBX_FAILURE_NONE;
        cbx_launch_opts o = quick_opts();
        o.message_timeout_s = well ? 20 : 5;
        o.env = &note;
        o.nenv = 1;
        unlink(path);
        const cbx_launch_record *r = launch(f, cases[i].baseline, &o);
        if (!well || r->failure) CHECK_INT(r->failure, cases[i].failure, r->message);
        if (well) CHECK_INT(r->left_behind, 1, cases[i].why);
        int pid = wait_for_pid(path);
        CHECK_GT(pid, 0, cases[i].why);
        for (int k = 0; k < 400 && !is_gone(pid); k++) usleep(5000);
        CHECK(is_gone(pid), cases[i].why);
    }
}

/* A lock that workers inherit is held until the parent lets it go, whatever they do, and by none of
 * them after their launch. */
TEST(locks_of_a_launch)
{
    static const struct {
        const char *baseline;
        cbx_failure failure;
        const char *why;
    } cases[] = { { "unlocks", CBX_FAILURE_NONE, "unlocks what it inherited" },
                  { "crowd", CBX_FAILURE_PINNING, "leaves 600 processes that hold it" } };
    fixture *f = *test_state;
    cbx_sandbox_facts facts;
    cbx_err err = CBX_ERR_INIT;
    char path[128];
    CHECK_OK(cbx_sandbox_probe(f->ctx, &facts, &err), &err, "what can be had");
    if (!facts.syscalls) SKIP("kernel: no filter of system calls");
    snprintf(path, sizeof path, "%s/lock", f->notes);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        int held = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), other = open(path, O_RDWR | O_CLOEXEC);
        cbx_launch_opts o = quick_opts();
        CHECK(held >= 0 && other >= 0 && flock(held, LOCK_EX | LOCK_NB) == 0, "a lock");
        o.held = &held;
        o.nheld = 1;
        o.memory_limit_bytes = 8000000000u; /* a crowd under AddressSanitizer holds 3 GB */
        const cbx_launch_record *r = launch(f, cases[i].baseline, &o);
        if (r->failure != cases[i].failure) fail_msg("%s: %s", cases[i].why, r->message);
        CHECK(flock(other, LOCK_EX | LOCK_NB) != 0, cases[i].why);
        close(held);
        CHECK(flock(other, LOCK_EX | LOCK_NB) == 0, cases[i].why);
        close(other);
    }
}

TEST(a_worker_dies_with_its_parent)
{
    fixture *f = *test_state;
    char path[128];
    snprintf(path, sizeof path, "%s/worker", f->notes);
    pid_t parent = fork();
    if (parent == 0) {
        cbx_env_setting note = { TOY_PID_FILE, path };
        cbx_launch_opts o = quick_opts();
        o.env = &note;
        o.nenv = 1;
        launch(f, "hang", &o);
        _exit(0);
    }
    CHECK_GT(parent, 0, "a parent");
    int worker = wait_for_pid(path);
    CHECK_GT(worker, 0, "its worker");
    CHECK(!is_gone(worker), "which hangs");
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    for (int i = 0; i < 400 && !is_gone(worker); i++) usleep(5000);
    CHECK(is_gone(worker), "and is killed by the kernel when the parent is");
}

/* The lock of a core is held by the worker, too: it lasts until both are gone. */
TEST(locks_last_as_long_as_the_worker)
{
    fixture *f = *test_state;
    char path[128], lock_path[128], link[64], seen[256];
    cbx_lock *lock = NULL, *again = NULL;
    cbx_err err = CBX_ERR_INIT;
    snprintf(path, sizeof path, "%s/locked-worker", f->notes);
    snprintf(lock_path, sizeof lock_path, "%s/cpu-0.lock", f->cache);
    CHECK_OK(cbx_lock_take(f->ctx, lock_path, 0, &lock, &err), &err, "a lock");
    int held = cbx_lock_fd(lock);
    pid_t parent = fork();
    if (parent == 0) {
        cbx_env_setting note = { TOY_PID_FILE, path };
        cbx_launch_opts o = quick_opts();
        o.env = &note;
        o.nenv = 1;
        o.held = &held;
        o.nheld = 1;
        launch(f, "hang", &o);
        _exit(0);
    }
    CHECK_GT(parent, 0, "a parent");
    cbx_lock_release(lock);
    int worker = wait_for_pid(path);
    CHECK_GT(worker, 0, "its worker");
    snprintf(link, sizeof link, "/proc/%d/fd/4", worker);
    ssize_t n = readlink(link, seen, sizeof seen - 1);
    CHECK(n > 0 && strstr((seen[n] = '\0', seen), "cpu-0.lock"), "the worker inherited it");
    CHECK_STATUS(cbx_lock_take(f->ctx, lock_path, 0, &again, &err), CBX_EBUSY, "held");
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    CHECK_OK(cbx_lock_take(f->ctx, lock_path, 60000000000u, &again, &err), &err, "free once the worker has ended");
    CHECK(is_gone(worker), "not before");
    cbx_lock_release(again);
}

/* Where the launcher can confine a worker, it cannot break out; where not, the record says so. */
TEST(confined_worker)
{
    cbx_launch_opts o = quick_opts();
    const cbx_launch_record *r = launch(*test_state, "breaks_out", &o);
    if (!r->confined) SKIP("kernel: it has no seccomp filters");
    CHECK_INT(r->failure, CBX_FAILURE_NONE, r->message);
}

TEST(memory_watchdog)
{
    cbx_launch_opts o = quick_opts();
    o.memory_limit_bytes = 200000000;
    const cbx_launch_record *r = launch(*test_state, "eat", &o);
    CHECK_INT(r->failure, CBX_FAILURE_MEMORY_LIMIT, r->message);
    CHECK_STR(r->phase, "compile", "where it ate");
}

TEST(stop_flag)
{
    cbx_stop_flag stop = 1;
    cbx_launch_opts o = quick_opts();
    o.stop = &stop;
    const cbx_launch_record *r = launch(*test_state, "good", &o);
    CHECK_INT(r->failure, CBX_FAILURE_INTERRUPTED, r->message);
}

/* ru_maxrss survives exec: a child of a large parent used to be charged with the parent's peak. */
TEST(memory_is_the_workers_own)
{
    size_t size = 300u << 20;
    char *big = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cbx_launch_opts o = quick_opts();
    cbx_command_record c;
    cbx_command_opts co = { .struct_size = sizeof co };
    cbx_err err = CBX_ERR_INIT;
    fixture *f = *test_state;
    CHECK(big != MAP_FAILED, "300 MiB");
    madvise(big, size, MADV_HUGEPAGE);
    for (size_t i = 0; i < size; i += 4096) big[i] = 1;
    const cbx_launch_record *r = launch(f, "good", &o);
    CHECK_OK(cbx_command_run(f->ctx, "true", &co, &c, &err), &err, "a command");
    munmap(big, size);
    CHECK_INT(r->failure, CBX_FAILURE_NONE, r->message);
    CHECK_LE(r->hwm_bytes, 100e6, "worker");
    CHECK_LE(r->hwm_start_bytes, 100e6, "worker after import");
    CHECK_LE(c.hwm_bytes, 100e6, "command");
}

TEST(missing_programs)
{
    static const struct {
        const char *variable, *value, *baseline, *interpreter;
        cbx_failure failure;
        const char *why;
    } cases[] = {
        { "NPERF_WORKER", "/nonexistent/worker", "good", NULL, CBX_FAILURE_WORKER_MISSING, "no native worker" },
        { "NPERF_WORKER", "/etc/passwd", "good", NULL, CBX_FAILURE_WORKER_MISSING, "a worker that is no program" },
        { "NPERF_LAUNCH", "/nonexistent/launch", "good", NULL, CBX_FAILURE_WORKER_MISSING, "no launcher" },
        { "NPERF_WORKERS_PYTHON", "/nonexistent/python", "foreign", "/usr/bin/python3", CBX_FAILURE_WORKER_MISSING,
          "no Python worker" },
        { "NPERF_WORKERS_PYTHON", "/etc/passwd", "foreign", "/nonexistent/python3", CBX_FAILURE_INTERPRETER_MISSING,
          "no interpreter" },
        { "NPERF_WORKERS_PYTHON", "/etc/passwd", "foreign", NULL, CBX_FAILURE_INTERPRETER_MISSING,
          "no interpreter was given" },
        { "NPERF_WORKERS_PYTHON", "/etc/passwd", "foreign", "/bin/true", CBX_FAILURE_EXITED,
          "an interpreter that says nothing" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        char *before = change_variable(cases[i].variable, cases[i].value);
        cbx_launch_opts o = quick_opts();
        o.interpreter = cases[i].interpreter;
        const cbx_launch_record *r = launch(*test_state, cases[i].baseline, &o);
        check_failure(r, cases[i].failure, cases[i].why);
        CHECK(*r->message && !strstr(r->message, "nonexistent/"), cases[i].why); /* a name, not a folder */
        restore_variable(cases[i].variable, before);
    }
}

/* The child's environment and process are what was asked for: looked at by a "Python" that is a
 * shell script. */
TEST(environment_and_cores)
{
    fixture *f = *test_state;
    char script[128], seen[128], line[512];
    snprintf(script, sizeof script, "%s/python", f->notes);
    snprintf(seen, sizeof seen, "%s/seen", f->notes);
    FILE *fp = fopen(script, "w");
    CHECK(fp != NULL, "a script");
    fprintf(fp,
            "#!/bin/sh\n{ echo \"args $*\"; env; grep Cpus_allowed_list /proc/self/status; ls /proc/$$/fd; "
            "echo \"core $(ulimit -c)\"; } > '%s'\n",
            seen);
    fclose(fp);
    CHECK(chmod(script, 0755) == 0, "executable");
    setenv("NPERF_WORKERS_PYTHON", "/etc/passwd", 1);
    setenv("OPENBLAS_CORETYPE", "Nonsense", 1);
    int core = 0;
    cbx_env_setting env[] = { { "TOY_ADDED", "yes" }, { "OMP_NUM_THREADS", "7" } };
    cbx_launch_opts o = quick_opts();
    o.interpreter = script;
    o.cores = &core;
    o.ncores = 1;
    o.env_pad_bytes = 100;
    o.env = env;
    o.nenv = 2;
    const cbx_launch_record *r = launch(f, "foreign", &o);
    CHECK_INT(r->failure, CBX_FAILURE_EXITED, r->message);
    unsetenv("NPERF_WORKERS_PYTHON");
    unsetenv("OPENBLAS_CORETYPE");
    static const struct {
        const char *line, *why;
    } wanted[] = {
        { "args -u /etc/passwd numpy cpu", "the worker's arguments" },
        { "NPERF_WORKER_FD=3", "the protocol" },
        { "OPENBLAS_NUM_THREADS=1", "threads" },
        { "MKL_NUM_THREADS=1", "threads" },
        { "OMP_NUM_THREADS=7", "the variant comes last" },
        { "TOY_ADDED=yes", "the variant's setting" },
        { "NPERF_CPU_CORES=0", "cores" },
        { "CUDA_VISIBLE_DEVICES=", "no device on the CPU" },
        { "Cpus_allowed_list:\t0", "pinned" },
        { "core 0", "no core files" },
    };
    fp = fopen(seen, "r");
    CHECK(fp != NULL, "what it saw");
    unsigned found = 0, padded = 0;
    while (fgets(line, sizeof line, fp)) {
        line[strcspn(line, "\n")] = '\0';
        for (size_t i = 0; i < CBX_LEN(wanted); i++) found |= strcmp(line, wanted[i].line) == 0 ? 1u << i : 0;
        padded |= strncmp(line, "NPERF_ENV_PAD=", 14) == 0 && strlen(line) == 114;
        CHECK(strncmp(line, "OPENBLAS_CORETYPE", 17) != 0, "the shell's own settings do not leak in");
        if (*line && strspn(line, "0123456789") == strlen(line))
            CHECK(atoi(line) <= 3 || atoi(line) >= 10, "no descriptor of the parent");
    }
    fclose(fp);
    for (size_t i = 0; i < CBX_LEN(wanted); i++) CHECK(found >> i & 1, wanted[i].why);
    CHECK(padded, "the environment's pad");
}

TEST(bad_options)
{
    fixture *f = *test_state;
    const cbx_baseline_ops *b = cbx_case_baseline(&toy_case, "good");
    cbx_launch_opts o = quick_opts();
    cbx_launch_record none;
    cbx_err err = CBX_ERR_INIT;
    o.struct_size = 3;
    CHECK_STATUS(cbx_launch_run(f->ctx, f->toy.w, b, &o, &none, &err), CBX_EINVAL, "another version");
    o = quick_opts();
    o.epochs = CBX_LAUNCH_MAX_EPOCHS + 1;
    CHECK_STATUS(cbx_launch_run(f->ctx, f->toy.w, b, &o, &none, &err), CBX_EINVAL, "too many epochs");
    o = quick_opts();
    int core = 100000;
    o.cores = &core;
    o.ncores = 1;
    const cbx_launch_record *r = launch(f, "good", &o);
    CHECK_INT(r->failure, CBX_FAILURE_MACHINE, r->message);
    CHECK_STR(r->phase, "spawn", "before the worker");
}

static cbx_status launch_once(cbx_ctx *ctx, void *user)
{
    fixture *f = user;
    cbx_launch_opts o = quick_opts();
    cbx_launch_record r;
    cbx_status st;
    o.epochs = 1;
    st = cbx_launch_run(ctx, f->toy.w, cbx_case_baseline(&toy_case, "good"), &o, &r, NULL);
    if (!st && r.failure == CBX_FAILURE_MACHINE) st = CBX_ENOMEM; /* a message that could not be written */
    cbx_launch_record_clear(&r);
    return st;
}

TEST(no_memory)
{
    size_t failed = cbx_test_fail_each(launch_once, *test_state, "cbx_launch_run");
    CHECK_GT(failed, 4, "allocations were made to fail");
}

TESTS(.seconds = 600, .before = launch_setup, .after = launch_teardown)
