/*
 * The main of a folder's test program: runs each test file (TEST_FILE in check.h) in a process of
 * its own, with a time limit.
 *
 *     tests              all files of the folder
 *     tests json text    these
 *     tests --list       their names and time limits
 *
 * It prints one TAP stream. A file fails if it crashes, exceeds its limit, or runs fewer cases than
 * it has planned.
 */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "fail_alloc.h"

#define DEFAULT_SECONDS 180
#define SKIP_MARK       "#skip: "

static cbx_test_file *files; /* by name */
static volatile pid_t child;
static bool own_cache; /* each file has a folder for caches, which is empty at first */

static const char *name_of(const cbx_test_file *file)
{
    static char name[128];
    const char *slash = strrchr(file->path, '/'), *base = slash ? slash + 1 : file->path;

    if (!strncmp(base, "test_", 5) || !strncmp(base, "fuzz_", 5)) base += 5;
    snprintf(name, sizeof name, "%.*s%s", (int)strcspn(base, "."), base, file->variant ? file->variant : "");
    return name;
}

void cbx_test_register(cbx_test_file *file)
{
    char name[128];
    cbx_test_file **at = &files;

    snprintf(name, sizeof name, "%s", name_of(file));
    while (*at && strcmp(name_of(*at), name) < 0) at = &(*at)->next;
    file->next = *at;
    *at = file;
}

void cbx_test_add(cbx_test_case **cases, cbx_test_case *test)
{
    while (*cases && (*cases)->line < test->line) cases = &(*cases)->next;
    test->next = *cases;
    *cases = test;
}

int cbx_test_run_cases(const cbx_test_file *file)
{
    struct CMUnitTest tests[200];
    size_t n = 0;

    for (const cbx_test_case *c = *file->cases; c; c = c->next) {
        if (n == CBX_LEN(tests)) return printf("not ok 1 - more tests than a file may have\n");
        tests[n] = c->test;
        if (!tests[n].setup_func && !tests[n].teardown_func) {
            tests[n].setup_func = file->setup;
            tests[n].teardown_func = file->teardown;
        }
        n++;
    }
    return _cmocka_run_group_tests(name_of(file), tests, n, file->before, file->after);
}

void cbx_test_skip(const char *why)
{
    printf(SKIP_MARK "%s\n", why);
    fflush(stdout);
    skip();
}

#ifdef __SANITIZE_ADDRESS__
/* ASan's account of a library's thread-local storage takes its size from what lies before it if it
 * starts 16 bytes into a page, which here is chance; LeakSanitizer then reads where no memory is
 * and is ended by signal 11.  Without that account, too, what is kept there is found: it is
 * from malloc. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "intercept_tls_get_addr=0"; }
#endif

/* What a test finds in its environment, unless the caller has chosen otherwise. */
static void prepare_environment(void)
{
    setenv("CMOCKA_MESSAGE_OUTPUT", "TAP", 1);
    setenv("CALIBRAX_SOURCE_ROOT", TEST_SOURCE_ROOT, 0);
    setenv("CALIBRAX_BUILD_ROOT", TEST_BUILD_ROOT, 0);
    setenv("CALIBRAX_LOCK_DIR", TEST_BUILD_ROOT "/locks", 0);
    own_cache = !getenv("CALIBRAX_CACHE_DIR");
    mallopt(M_PERTURB, 165);
}

static void interrupted(int number)
{
    if (child > 0) kill(-child, SIGKILL);
    signal(number, SIG_DFL);
    raise(number);
}

/* --- the TAP of a file, as part of that of the folder --- */

typedef struct tap {
    const char *name;
    char line[8192];
    size_t used;
    int number;                 /* of the last case, over all files */
    int planned, cases, failed; /* of this file */
    char skip_reason[4096];
} tap;

static void fail_file(tap *t, const char *what)
{
    t->failed++;
    printf("not ok %d - %s: %s\n", ++t->number, t->name, what);
}

static void take_line(tap *t)
{
    int number, planned, at = 0;
    char *s = t->line;

    s[t->used] = 0;
    t->used = 0;
    if (sscanf(s, "1..%d", &planned) == 1) {
        t->planned += planned;
    } else if (!strncmp(s, SKIP_MARK, strlen(SKIP_MARK))) {
        snprintf(t->skip_reason, sizeof t->skip_reason, "%s", s + strlen(SKIP_MARK));
    } else if (sscanf(s, "not ok %d # SKIP %n", &number, &at) == 1 && at) { /* cmocka 1.1 takes a skip for a failure */
        t->cases++;
        printf("ok %d - %s: %s # SKIP %s\n", ++t->number, t->name, s + at, t->skip_reason);
    } else if (sscanf(s, "ok %d - %n", &number, &at) == 1 && at) {
        t->cases++;
        printf("ok %d - %s: %s\n", ++t->number, t->name, s + at);
    } else if (sscanf(s, "not ok %d - %n", &number, &at) == 1 && at) {
        t->cases++;
        fail_file(t, s + at);
    } else if (strncmp(s, "# ok", 4) && strncmp(s, "# not ok", 8)) {
        puts(s);
    }
    fflush(stdout);
}

static void take(tap *t, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\n' || t->used == sizeof t->line - 1)
            take_line(t);
        else
            t->line[t->used++] = s[i];
    }
}

/* --- a file's process --- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void start(const cbx_test_file *file, int out)
{
    const pid_t parent = getpid();

    fflush(NULL);
    child = fork();
    if (child < 0) {
        perror("tests: cannot start a process");
        exit(2);
    }
    if (child) return;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(2);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    if (dup2(out, STDOUT_FILENO) < 0 || !freopen("/dev/null", "r", stdin)) _exit(2);
    close(out);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    exit(file->run(file) ? 1 : 0);
}

/* Passes on what comes from `from` until the child has ended.  @return its status, -1 if it was
 * stopped at its limit */
static int follow(tap *t, int from, double until)
{
    struct pollfd p = { .fd = from, .events = POLLIN };
    int status = 0, stopped = 0;
    bool ended = false;

    for (;;) {
        char buf[4096];
        const int ready = poll(&p, 1, ended ? 0 : 20);
        const ssize_t n = ready > 0 ? read(from, buf, sizeof buf) : 0;

        if (n > 0) {
            take(t, buf, (size_t)n);
            continue;
        }
        if (ended) break;
        if (ready > 0) p.fd = -1; /* closed; only its end is left to wait for */
        ended = waitpid(child, &status, WNOHANG) == child;
        if (!ended && !stopped && now() > until) stopped = kill(-child, SIGKILL) == 0;
    }
    kill(-child, SIGKILL); /* what it has left behind */
    child = 0;
    if (t->used) take_line(t);
    return stopped ? -1 : status;
}

static bool run_file(const cbx_test_file *file, tap *t)
{
    const unsigned usual = file->seconds ? file->seconds : DEFAULT_SECONDS;
    const unsigned seconds = getenv("CALIBRAX_LONG_TESTS") ? 20 * usual : usual; /* long forms run by hand */
    char why[128], name[128], cache[64];
    int ends[2], status;

    snprintf(name, sizeof name, "%s", name_of(file));
    t->name = name;
    t->planned = t->cases = t->failed = 0;
    t->used = 0;
    if (pipe(ends)) {
        perror("tests: cannot make a pipe");
        exit(2);
    }
    if (own_cache) setenv("CALIBRAX_CACHE_DIR", cbx_test_folder(cache), 1);
    start(file, ends[1]);
    close(ends[1]);
    status = follow(t, ends[0], now() + seconds);
    close(ends[0]);
    if (own_cache) cbx_test_folder_remove(cache);
    if (status == -1)
        snprintf(why, sizeof why, "stopped after %u s", seconds);
    else if (WIFSIGNALED(status))
        snprintf(why, sizeof why, "ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (status && !t->failed)
        snprintf(why, sizeof why, "exit status %d", WEXITSTATUS(status));
    else if (t->cases != t->planned || t->cases == 0)
        snprintf(why, sizeof why, "%d of %d cases were run", t->cases, t->planned);
    else
        return t->failed == 0;
    fail_file(t, why);
    return false;
}

static const cbx_test_file *find(const char *name)
{
    for (const cbx_test_file *f = files; f; f = f->next)
        if (!strcmp(name_of(f), name)) return f;
    fprintf(stderr, "tests: unknown test file '%s': --list shows them\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    static tap t;
    bool passed = true;

    if (argc == 2 && !strcmp(argv[1], "--list")) {
        for (const cbx_test_file *f = files; f; f = f->next)
            printf("%s %u\n", name_of(f), f->seconds ? f->seconds : DEFAULT_SECONDS);
        return 0;
    }
    prepare_environment();
    signal(SIGINT, interrupted);
    signal(SIGTERM, interrupted);
    for (int i = 1; i < argc; i++) find(argv[i]);
    if (argc > 1)
        for (int i = 1; i < argc; i++) passed &= run_file(find(argv[i]), &t);
    else
        for (const cbx_test_file *f = files; f; f = f->next) passed &= run_file(f, &t);
    printf("1..%d\n", t.number);
    return passed ? 0 : 1;
}
