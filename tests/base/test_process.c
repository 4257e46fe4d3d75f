/* Processes: what they get, how they end, what is kept of them. */
#include "check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "calibrax/base/process.h"
#include "fail_alloc.h"

#define LONG_NS 60000000000u

/* Runs a shell script to its end and returns its exit status. */
static int run(const char *script, cbx__process_opts o, cbx__process *p)
{
    const char *const argv[] = { "sh", "-c", script, NULL };
    cbx_err err = CBX_ERR_INIT;

    o.argv = argv;
    cbx__process_init(p);
    CHECK_OK(cbx__process_start(&o, p, &err), &err, script);
    CHECK(cbx__process_wait(p, LONG_NS), "it ends");
    cbx__process_finish(p);
    return cbx__process_exit_status(p);
}

static const cbx__process_opts usual = CBX__PROCESS_OPTS_INIT;

static const char *text_of(int fd, cbx_text *text)
{
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx__memory_file_text(fd, "file", 1 << 20, text, &err), &err, "read");
    return cbx_text_str(text);
}

TEST(how_it_ended)
{
    static const struct {
        const char *script;
        int status;
    } cases[] = { { "exit 0", 0 }, { "exit 7", 7 }, { "kill -9 $$", 128 + 9 } };
    cbx__process p;

    for (size_t i = 0; i < CBX_LEN(cases); i++)
        CHECK_INT(run(cases[i].script, usual, &p), cases[i].status, cases[i].script);
    CHECK(!p.killed && !p.lost && p.reaped, "not by us");
}

TEST(files_and_folder)
{
    cbx__process_opts o = CBX__PROCESS_OPTS_INIT;
    const char *const env[] = { "WORD=seen", "PATH=/usr/bin:/bin", NULL };
    char folder[64], wanted[128];
    int input = -1, output = -1, channel = -1;
    cbx_err err = CBX_ERR_INIT;
    cbx__process p;
    cbx_text text;

    cbx_text_init(&text, cbx_allocator_default());
    CHECK_OK(cbx__memory_file("in", &input, &err), &err, "input");
    CHECK_OK(cbx__memory_file("out", &output, &err), &err, "output");
    CHECK_OK(cbx__memory_file("channel", &channel, &err), &err, "channel");
    CHECK_INT(write(input, "given\n", 6), 6, "written");
    lseek(input, 0, SEEK_SET);
    cbx_test_folder(folder);
    o.input = input;
    o.output = output;
    o.channel = channel;
    o.env = env;
    o.folder = folder;
    CHECK_INT(run("read x; echo \"$x $WORD ${HOME-none}\"; pwd; echo told >&3", o, &p), 0, "ends well");
    snprintf(wanted, sizeof wanted, "given seen none\n%s\n", folder);
    CHECK_STR(text_of(output, &text), wanted, "input, environment, folder");
    CHECK_STR(text_of(channel, &text), "told\n", "descriptor 3");
    CHECK_STATUS(cbx__memory_file_text(output, "file", 3, &text, &err), CBX_EOVERFLOW, "too much");
    CHECK_STR(cbx_text_str(&text), "told\n", "what was there stays");
    cbx_text_clear(&text);
    close(input), close(output), close(channel);
    cbx_test_folder_remove(folder);
}

TEST(last_words)
{
    cbx__process_opts o = CBX__PROCESS_OPTS_INIT;
    char words[64], tail[CBX__PROCESS_TAIL + 1];
    cbx__process p;

    o.errors = CBX__FD_TAIL;
    run("echo first >&2; echo 'the cause' >&2; echo >&2", o, &p);
    cbx__process_last_words(&p, words, sizeof words);
    CHECK_STR(words, "the cause", "the last line that is not blank");
    cbx__process_tail(&p, tail, sizeof tail);
    CHECK_STR(tail, "first\nthe cause", "all of it");
    run("i=0; while [ $i -lt 3000 ]; do echo \"line $i of many\" >&2; i=$((i+1)); done", o, &p);
    cbx__process_last_words(&p, words, sizeof words);
    CHECK_STR(words, "line 2999 of many", "of more than a pipe holds");
    run("printf 'aaaa\\303\\251' >&2", o, &p);
    cbx__process_last_words(&p, words, 6);
    CHECK_STR(words, "aaaa", "cut at a character");
    run("exit 0", o, &p);
    cbx__process_last_words(&p, words, sizeof words);
    CHECK_STR(words, "", "it said nothing");
}

TEST(ended_by_us)
{
    const char *const argv[] = { "sh", "-c", "trap 'exit 5' TERM; echo ready >&3; while :; do sleep 0.01; done", NULL };
    cbx__process_opts o = CBX__PROCESS_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    cbx__process p;
    char byte;
    int pair[2];

    for (int hard = 0; hard < 2; hard++) {
        CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0, "a channel");
        cbx__process_init(&p);
        o.argv = argv;
        o.own_group = true;
        o.channel = pair[1];
        CHECK_OK(cbx__process_start(&o, &p, &err), &err, "start");
        close(pair[1]);
        p.channel = pair[0];
        CHECK_INT(read(p.channel, &byte, 1), 1, "it is ready");
        CHECK(!cbx__process_wait(&p, 1000000), "it runs on");
        if (hard)
            cbx__process_kill(&p);
        else
            cbx__process_signal(&p, SIGTERM);
        CHECK(cbx__process_wait(&p, LONG_NS), "it ends");
        cbx__process_finish(&p);
        cbx__process_finish(&p);
        CHECK_INT(cbx__process_exit_status(&p), hard ? 128 + SIGKILL : 5, hard ? "killed" : "asked");
        CHECK_INT(p.killed, hard, "by us");
    }
}

TEST(no_such_program)
{
    static const struct {
        const char *program, *message;
        cbx_status status;
    } cases[] = {
        { "no-such-program", "cannot run 'no-such-program': No such file or directory", CBX_ENOENT },
        { "/dev/null", "cannot run '/dev/null': Permission denied", CBX_EPERM },
    };
    cbx__process_opts o = CBX__PROCESS_OPTS_INIT;
    cbx__process p;

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const char *const argv[] = { cases[i].program, NULL };
        cbx_err err = CBX_ERR_INIT;
        cbx__process_init(&p);
        o.argv = argv;
        o.errors = CBX__FD_TAIL;
        CHECK_STATUS(cbx__process_start(&o, &p, &err), cases[i].status, cases[i].program);
        CHECK_STR(err.message, cases[i].message, "is named");
        cbx__process_finish(&p);
        CHECK_INT(cbx__process_exit_status(&p), -1, "there is none");
    }
}

TESTS()
