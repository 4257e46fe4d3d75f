/*
 * Skipped tests in the form that TAP wants.
 *
 * cmocka 1.1 reports skip() as "not ok 5 # SKIP name", which TAP readers take for a failure and which carries no
 * reason. Standard output is replaced by a stream that turns such a line into "ok 5 - name # SKIP reason"; all else
 * passes through.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

const char *cbx_test_skip_reason = "";

static char line[4096];
static size_t used;

static void put(const char *s, size_t n)
{
    while (n > 0) {
        ssize_t done = write(STDOUT_FILENO, s, n);
        if (done <= 0) return;
        s += done;
        n -= (size_t)done;
    }
}

static void put_line(void)
{
    char name[512], out[5000];
    int number, n;
    line[used] = 0;
    if (sscanf(line, "not ok %d # SKIP %511s", &number, name) == 2) {
        n = snprintf(out, sizeof out, "ok %d - %s # SKIP %s\n", number, name, cbx_test_skip_reason);
        put(out, (size_t)n);
    } else {
        put(line, used);
    }
    used = 0;
}

static ssize_t filter(void *cookie, const char *s, size_t n)
{
    (void)cookie;
    for (size_t i = 0; i < n; i++) {
        line[used++] = s[i];
        if (s[i] == '\n' || used == sizeof line - 1) put_line();
    }
    return (ssize_t)n;
}

__attribute__((constructor)) static void replace_stdout(void)
{
    static const cookie_io_functions_t functions = { .write = filter };
    FILE *f = fopencookie(NULL, "w", functions);
    if (!f) return;
    setvbuf(f, NULL, _IOLBF, BUFSIZ);
    stdout = f;
}

__attribute__((destructor)) static void flush_stdout(void)
{
    fflush(stdout);
    if (used) put_line();
}
