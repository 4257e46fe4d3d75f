/*
 * Receivers of alerts: files, commands, devices; those that fail, go away, or take half of a line.
 */
#include "check.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/base/file.h"
#include "calibrax/monitoring/sink.h"
#include "fail_alloc.h"

static size_t lines_of(cbx_ctx *ctx, const char *path)
{
    cbx_err err = CBX_ERR_INIT;
    size_t len, n = 0;
    char *text;

    CHECK_OK(cbx_file_read(ctx, path, 0, &text, &len, &err), &err, path);
    for (size_t i = 0; i < len; i++) n += text[i] == '\n';
    cbx_mem_free(cbx_ctx_allocator(ctx), text, len + 1);
    return n;
}

TEST(files_that_go_away)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_alert alert = { .rule = "x", .metric = "x", .severity = CBX_SEVERITY_ERROR, .value = 2, .threshold = 1 };
    char folder[64], place[96], path[128], aside[128];
    cbx_sink *s = NULL;

    cbx_test_folder(folder);
    snprintf(place, sizeof place, "%s/disk", folder);
    snprintf(path, sizeof path, "%s/alerts.jsonl", place);
    snprintf(aside, sizeof aside, "%s/alerts.1", place);
    CHECK_INT(mkdir(place, 0777), 0, "folder");
    CHECK_OK(cbx_sink_create(ctx, CBX_SINK_FILE, path, CBX_SINK_TIMEOUT_S, &s, &err), &err, "file");
    CHECK_OK(cbx_sink_send(s, &alert, 0, &err), &err, "send");
    CHECK_INT(rename(path, aside), 0, "a rotation of logs");
    CHECK_OK(cbx_sink_send(s, &alert, 0, &err), &err, "send");
    CHECK(lines_of(ctx, aside) == 1 && lines_of(ctx, path) == 1, "each has its own");
    CHECK_INT(unlink(path) | unlink(aside) | rmdir(place), 0, "a disk that is gone");
    CHECK_STATUS(cbx_sink_send(s, &alert, 0, &err), CBX_ENOENT, "an alert that is lost is known to be lost");
    CHECK(strstr(err.message, path), err.message);
    CHECK_INT(mkdir(place, 0777), 0, "and is back");
    CHECK_OK(cbx_sink_send(s, &alert, 0, &err), &err, "send");
    CHECK_INT(lines_of(ctx, path), 1, "goes on");
    cbx_sink_free(s);
    cbx_test_folder_remove(folder);
    cbx_ctx_free(ctx);
}

/* A limit of a file's size is a disk that is full at a known byte. */
TEST(a_line_that_was_cut)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_alert alert = { .rule = "x", .metric = "x", .severity = CBX_SEVERITY_ERROR, .value = 2, .threshold = 1 };
    struct rlimit before, small;
    char folder[64], path[128], *text;
    cbx_sink *s = NULL;
    size_t len;

    cbx_test_folder(folder);
    snprintf(path, sizeof path, "%s/alerts.jsonl", folder);
    CHECK_OK(cbx_sink_create(ctx, CBX_SINK_FILE, path, CBX_SINK_TIMEOUT_S, &s, &err), &err, "file");
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 100; /* half of a line */
    setrlimit(RLIMIT_FSIZE, &small);
    CHECK_STATUS(cbx_sink_send(s, &alert, 0, &err), CBX_EIO, "no room for all of it");
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK_OK(cbx_sink_send(s, &alert, 0, &err), &err, "room again");
    CHECK_OK(cbx_sink_send(s, &alert, 0, &err), &err, "and once more");
    CHECK_OK(cbx_file_read(ctx, path, 0, &text, &len, &err), &err, "read");
    CHECK(len > 101 && text[100] == '\n' && text[101] == '{', "a line of its own behind the half one");
    CHECK_INT(lines_of(ctx, path), 3, "and nothing empty between");
    cbx_mem_free(cbx_ctx_allocator(ctx), text, len + 1);
    cbx_sink_free(s);
    cbx_test_folder_remove(folder);
    cbx_ctx_free(ctx);
}

TEST(receivers)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_alert alert = {
        .rule = "x", .metric = "x", .severity = CBX_SEVERITY_ERROR, .value = NAN, .threshold = 1, .message = "m"
    };
    char folder[64], path[128], command[256], *text;
    cbx_sink *s = NULL;
    size_t len;

    cbx_test_folder(folder);
    snprintf(path, sizeof path, "%s/alerts.jsonl", folder);
    CHECK_OK(cbx_sink_create(ctx, CBX_SINK_FILE, path, CBX_SINK_TIMEOUT_S, &s, &err), &err, "file");
    CHECK_OK(cbx_sink_send(s, &alert, 0, &err), &err, "send");
    CHECK_OK(cbx_sink_send(s, &alert, 0, &err), &err, "send");
    cbx_sink_free(s);
    snprintf(command, sizeof command, "cat >> %s", path);
    CHECK_OK(cbx_sink_create(ctx, CBX_SINK_COMMAND, command, CBX_SINK_TIMEOUT_S, &s, &err), &err, "command");
    CHECK_OK(cbx_sink_send(s, &alert, 0, &err), &err, "send");
    cbx_sink_free(s);
    CHECK_OK(cbx_file_read(ctx, path, 0, &text, &len, &err), &err, "read");
    for (char *line = text; *line; line = strchr(line, '\n') + 1) {
        cbx_json *json = NULL;
        CHECK_OK(cbx_json_parse(line, strcspn(line, "\n"), "alert", &json, &err), &err, "a line is an object");
        CHECK_STR(cbx_json_get_string(json, "schema", ""), "calibrax-alert", "schema");
        cbx_json_unref(json);
    }
    CHECK_INT(len % 3, 0, "three equal lines");
    cbx_mem_free(cbx_ctx_allocator(ctx), text, len + 1);

    CHECK_OK(cbx_sink_create(ctx, CBX_SINK_COMMAND, "exit 3", CBX_SINK_TIMEOUT_S, &s, &err), &err,
             "a command that fails");
    CHECK_STATUS(cbx_sink_send(s, &alert, 0, &err), CBX_ECHILD, "is known to fail");
    CHECK(strstr(err.message, "status 3"), "with its status");
    cbx_sink_free(s);
    CHECK_OK(cbx_sink_create(ctx, CBX_SINK_COMMAND, "sleep 60", 0.1, &s, &err), &err, "one that hangs");
    CHECK_STATUS(cbx_sink_send(s, &alert, 0, &err), CBX_ETIMEOUT, "is stopped");
    cbx_sink_free(s);
    if (access("/dev/full", W_OK) == 0) {
        CHECK_OK(cbx_sink_create(ctx, CBX_SINK_FILE, "/dev/full", CBX_SINK_TIMEOUT_S, &s, &err), &err, "a full disk");
        CHECK_STATUS(cbx_sink_send(s, &alert, 0, &err), CBX_ENOSPC, "says so");
        cbx_sink_free(s);
    }
    CHECK_STATUS(cbx_sink_create(ctx, CBX_SINK_FILE, folder, CBX_SINK_TIMEOUT_S, &s, &err), CBX_EIO,
                 "a folder is no file");
    CHECK_STATUS(cbx_sink_create(ctx, CBX_SINK_WEBHOOK, "file:///etc/passwd", CBX_SINK_TIMEOUT_S, &s, &err), CBX_EINVAL,
                 "no web address");
    CHECK_STATUS(cbx_sink_create(ctx, CBX_SINK_COMMAND, "", CBX_SINK_TIMEOUT_S, &s, &err), CBX_EINVAL, "nothing");
    cbx_test_folder_remove(folder);
    cbx_ctx_free(ctx);
}

TESTS()
