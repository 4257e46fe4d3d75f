/* JSON lines and descriptors over a socket; and the worker's side of the protocol, spoken to
 * directly. */
#include "check.h"
#include "launch_support.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "calibrax/perf/launch/wire.h"
#include "calibrax/perf/launch/worker.h"

typedef struct ends {
    cbx__wire a, b;
    int fds[2];
} ends;

static void connect_ends(ends *e)
{
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, e->fds) == 0, "a pair");
    cbx__wire_init(&e->a, e->fds[0], false);
    cbx__wire_init(&e->b, e->fds[1], true);
}

static void disconnect_ends(ends *e)
{
    cbx__wire_clear(&e->a);
    cbx__wire_clear(&e->b);
    close(e->fds[0]);
    close(e->fds[1]);
}

TEST(lines_in_pieces)
{
    static ends e;
    cbx_err err = CBX_ERR_INIT;
    char *line = NULL;
    size_t len = 0;
    connect_ends(&e);
    CHECK(write(e.fds[0], "one\ntw", 6) == 6, "a line and a piece");
    CHECK_OK(cbx__wire_fill(&e.b, &err), &err, "read");
    CHECK_OK(cbx__wire_next_line(&e.b, &line, &len, &err), &err, "a line");
    CHECK_STR(line, "one", "the first");
    CHECK_OK(cbx__wire_next_line(&e.b, &line, &len, &err), &err, "a piece");
    CHECK(line == NULL, "no line yet");
    CHECK(write(e.fds[0], "o\n\nthree\n", 9) == 9, "the rest, an empty one, and one more");
    CHECK_OK(cbx__wire_fill(&e.b, &err), &err, "read");
    static const char *const wanted[] = { "two", "", "three" };
    for (size_t i = 0; i < CBX_LEN(wanted); i++) {
        CHECK_OK(cbx__wire_next_line(&e.b, &line, &len, &err), &err, "a line");
        CHECK_STR(line, wanted[i], "in order");
        CHECK_INT(len, strlen(wanted[i]), "length");
    }
    CHECK(write(e.fds[0], "a\0b\n", 4) == 4, "a NUL");
    CHECK_OK(cbx__wire_fill(&e.b, &err), &err, "read");
    CHECK_STATUS(cbx__wire_next_line(&e.b, &line, &len, &err), CBX_EPROTO, "a NUL byte");
    disconnect_ends(&e);
}

TEST(longest_line)
{
    static ends e;
    static char text[CBX__WIRE_LINE_MAX + 1];
    cbx_err err = CBX_ERR_INIT;
    char *line = NULL;
    size_t len = 0;
    connect_ends(&e);
    memset(text, 'x', sizeof text);
    text[CBX__WIRE_LINE_MAX - 1] = '\n';
    CHECK_OK(cbx__wire_send_text(&e.a, text, CBX__WIRE_LINE_MAX, NULL, 0, &err), &err, "the longest");
    while (!line) {
        CHECK_OK(cbx__wire_fill(&e.b, &err), &err, "read");
        CHECK_OK(cbx__wire_next_line(&e.b, &line, &len, &err), &err, "line");
    }
    CHECK_INT(len, CBX__WIRE_LINE_MAX - 1, "64 KiB with its newline");
    text[CBX__WIRE_LINE_MAX - 1] = 'x';
    text[CBX__WIRE_LINE_MAX] = '\n';
    CHECK_OK(cbx__wire_send_text(&e.a, text, sizeof text, NULL, 0, &err), &err, "one more byte");
    cbx_status st = CBX_OK;
    for (int i = 0; i < 1000 && !st; i++) {
        st = cbx__wire_fill(&e.b, &err);
        if (!st) st = cbx__wire_next_line(&e.b, &line, &len, &err);
    }
    CHECK_STATUS(st, CBX_EPROTO, "is too long");
    disconnect_ends(&e);
}

TEST(descriptors)
{
    static ends e;
    cbx_err err = CBX_ERR_INIT;
    int pipes[2], before;
    connect_ends(&e);
    CHECK(pipe(pipes) == 0, "a pipe");
    CHECK_OK(cbx__wire_send_text(&e.a, "x\n", 2, pipes, 2, &err), &err, "with two descriptors");
    CHECK_OK(cbx__wire_fill(&e.b, &err), &err, "read");
    CHECK_INT(e.b.nfds, 2, "both came");
    CHECK(write(e.b.fds[1], "!", 1) == 1, "they work");
    CHECK(fcntl(e.b.fds[0], F_GETFD) & FD_CLOEXEC, "and do not leak into programs");
    CHECK_OK(cbx__wire_send_text(&e.b, "y\n", 2, pipes, 2, &err), &err, "to one that wants none");
    before = dup(0);
    close(before);
    CHECK_OK(cbx__wire_fill(&e.a, &err), &err, "read");
    int after = dup(0);
    close(after);
    CHECK_INT(after, before, "nothing was opened here");
    CHECK_INT(e.a.nfds, 0, "none");
    CHECK_STATUS(cbx__wire_send_text(&e.a, "x\n", 2, pipes, CBX__WIRE_FDS_MAX + 1, &err), CBX_EINVAL, "too many");
    close(pipes[0]);
    close(pipes[1]);
    shutdown(e.fds[0], SHUT_RDWR);
    CHECK_STATUS(cbx__wire_fill(&e.b, &err), CBX_ECHILD, "closed");
    CHECK_STATUS(cbx__wire_send_text(&e.b, "x\n", 2, NULL, 0, &err), CBX_ECHILD, "closed, and no signal");
    disconnect_ends(&e);
}

/* --- the worker --- */

static int worker_status;

static void *run_worker(void *fd)
{
    worker_status = cbx_worker_main(&toy_cases, (int)(intptr_t)fd);
    close((int)(intptr_t)fd);
    return NULL;
}

static cbx_json *receive(cbx__wire *w)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_json *m = NULL;
    char *line = NULL;
    size_t len = 0;
    while (!line) {
        CHECK_OK(cbx__wire_next_line(w, &line, &len, &err), &err, "an answer");
        if (!line) CHECK_OK(cbx__wire_fill(w, &err), &err, "an answer");
    }
    CHECK_OK(cbx_json_parse(line, len, "answer", &m, &err), &err, line);
    return m;
}

#define LOAD "{\"op\":\"load\",\"case\":\"toy\",\"baseline\":\"good\",\"point\":{\"n\":3},\"arrays\":"

TEST(a_worker_refuses_nonsense)
{
    static const struct {
        const char *line, *cause, *why;
    } cases[] = {
        { "rubbish", "protocol", "not JSON" },
        { "[]", "protocol", "no object" },
        { "{\"op\":\"dance\"}", "protocol", "unknown op" },
        { "{\"op\":\"compile\"}", "protocol", "compile before load" },
        { "{\"op\":\"epoch\",\"set\":0,\"iterations\":1}", "protocol", "epoch before load" },
        { "{\"op\":\"outputs\"}", "protocol", "outputs before load" },
        { "{\"op\":\"oracle\"}", "protocol", "oracle before load" },
        { "{\"op\":\"load\"}", "worker_missing", "no case" },
        { "{\"op\":\"load\",\"case\":\"nonsense\"}", "worker_missing", "unknown case" },
        { "{\"op\":\"load\",\"case\":\"toy\",\"baseline\":\"nonsense\"}", "worker_missing", "unknown baseline" },
        { "{\"op\":\"load\",\"case\":\"toy\",\"baseline\":\"foreign\",\"point\":{\"n\":3}}", "worker_missing",
          "a baseline that is not native" },
        { "{\"op\":\"load\",\"case\":\"toy\",\"baseline\":\"good\",\"point\":{\"n\":-3}}", "protocol", "a bad point" },
        { "{\"op\":\"load\",\"case\":\"toy\",\"baseline\":\"good\",\"point\":7}", "protocol", "a point that is none" },
        { LOAD "[]}", "protocol", "no arrays" },
        { LOAD "[{\"name\":\"A\",\"set\":0}]}", "protocol", "arrays without descriptors" },
        { "{\"op\":\"load\",\"case\":\"toy\",\"heap_pad\":-1}", "protocol", "a negative pad" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        static cbx__wire w;
        int fds[2];
        pthread_t thread;
        char line[512];
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0, "a pair");
        CHECK(pthread_create(&thread, NULL, run_worker, (void *)(intptr_t)fds[1]) == 0, "a worker");
        cbx__wire_init(&w, fds[0], false);
        cbx_json *hello = receive(&w);
        CHECK_STR(cbx_json_get_string(hello, "op", ""), "hello", cases[i].why);
        CHECK_INT(cbx_json_get_int(hello, "protocol", 0), 1, cases[i].why);
        cbx_json_unref(hello);
        int n = snprintf(line, sizeof line, "%s\n", cases[i].line);
        CHECK(write(fds[0], line, (size_t)n) == n, "a message");
        cbx_json *m = receive(&w);
        CHECK_STR(cbx_json_get_string(m, "op", ""), "error", cases[i].why);
        CHECK_STR(cbx_json_get_string(m, "cause", ""), cases[i].cause, cases[i].why);
        CHECK(*cbx_json_get_string(m, "message", ""), cases[i].why);
        cbx_json_unref(m);
        pthread_join(thread, NULL);
        CHECK_INT(worker_status, 1, "gave up");
        cbx__wire_clear(&w);
        close(fds[0]);
    }
}

TEST(a_worker_whose_parent_goes_away)
{
    int fds[2];
    pthread_t thread;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0, "a pair");
    CHECK(pthread_create(&thread, NULL, run_worker, (void *)(intptr_t)fds[1]) == 0, "a worker");
    close(fds[0]);
    pthread_join(thread, NULL);
    CHECK_INT(worker_status, 2, "ends");
}

TESTS(.seconds = 600)
