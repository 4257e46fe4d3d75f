/*
 * One line out.  A command reads the line from a
 * memory file, not from a pipe: a command that does not read cannot hold us up, nor raise a signal
 * here.
 */
#include "calibrax/monitoring/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/base/file_text.h"
#include "calibrax/base/http.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/process.h"

static cbx_status post(cbx__http *webhook, const char *address, const char *body, size_t len, cbx_err *err)
{
    const cbx__http_request request = {
        .method = "POST", .url = address, .type = "application/json", .body = body, .len = len
    };
    cbx__http_answer answer = { .body = NULL };
    cbx_status st = cbx__http_send(webhook, &request, &answer, err);

    if (!st && (answer.status < 200 || answer.status > 299))
        st = cbx_fail(err, CBX_EPROTO, "the webhook '%s' answered %ld", address, answer.status);
    return st;
}

struct cbx_sink {
    cbx_arena arena;
    cbx_sink_kind kind;
    const char *target;
    double timeout_s;
    int fd;
    bool torn; /* the last line was written in part: the next one starts a new line */
    cbx__http *webhook;
};

static cbx_status open_file(cbx_sink *s, cbx_err *err)
{
    s->fd = open(s->target, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    return s->fd < 0 ? cbx_fail_errno(err, errno, "cannot write alerts to '%s'", s->target) : CBX_OK;
}

cbx_status cbx_sink_create(cbx_ctx *ctx, cbx_sink_kind kind, const char *target, double timeout_s, cbx_sink **out,
                           cbx_err *err)
{
    cbx_status st = CBX_OK;
    cbx_sink *s;

    if (!target || !*target)
        return cbx_fail(err, CBX_EINVAL, "a receiver of alerts needs a file, a command or an address");
    if (!(timeout_s > 0 && timeout_s < 1e6))
        return cbx_fail(err, CBX_EINVAL, "the time limit of an alert must be above 0 and below 10^6 s, got %g",
                        timeout_s);
    s = CBX_ARENA_OBJECT(cbx_sink, cbx_ctx_allocator(ctx));
    if (!s) return cbx_fail_nomem(err, "a receiver of alerts");
    s->kind = kind;
    s->target = cbx_arena_strdup(&s->arena, target);
    s->timeout_s = timeout_s;
    s->fd = -1;
    if (!s->target) st = cbx_fail_nomem(err, "a receiver of alerts");
    if (!st && kind == CBX_SINK_FILE) st = open_file(s, err);
    if (!st && kind == CBX_SINK_WEBHOOK) st = cbx__http_create(ctx, "the webhook", target, timeout_s, &s->webhook, err);
    return CBX_FINISH(st, *out = s, cbx_sink_free(s));
}

void cbx_sink_free(cbx_sink *s)
{
    if (!s) return;
    if (s->fd >= 0) close(s->fd);
    cbx__http_free(s->webhook);
    cbx_arena_end(&s->arena);
}

/* @param torn  whether only some of it was written */
static cbx_status write_all(int fd, const char *line, size_t len, const char *target, bool *torn, cbx_err *err)
{
    size_t done = cbx__write_all(fd, line, len);

    *torn = done && done < len;
    return done < len ? cbx_fail_errno(err, errno, "cannot write an alert to '%s'", target) : CBX_OK;
}

/* The file may have been removed, or renamed by a rotation of logs. */
static cbx_status follow_file(cbx_sink *s, cbx_err *err)
{
    struct stat named, held;

    if (s->fd >= 0 && stat(s->target, &named) == 0 && fstat(s->fd, &held) == 0 && named.st_dev == held.st_dev &&
        named.st_ino == held.st_ino)
        return CBX_OK;
    if (s->fd >= 0) close(s->fd);
    s->torn = false;
    return open_file(s, err);
}

static cbx_status append(cbx_sink *s, const char *line, size_t len, cbx_err *err)
{
    bool torn;
    cbx_status st = follow_file(s, err);

    if (!st && s->torn) st = write_all(s->fd, "\n", 1, s->target, &torn, err);
    return st ? st : write_all(s->fd, line, len, s->target, &s->torn, err);
}

static cbx_status run_command(const cbx_sink *s, const char *line, size_t len, cbx_err *err)
{
    const char *const argv[] = { "sh", "-c", s->target, NULL };
    cbx__process_opts o = CBX__PROCESS_OPTS_INIT;
    cbx__process p;
    bool torn;

    cbx__process_init(&p);
    o.argv = argv;
    o.output = CBX__FD_OURS;
    o.own_group = true;
    cbx_status st = cbx__memory_file("alert", &o.input, err);
    if (st) return st;
    st = write_all(o.input, line, len, s->target, &torn, err);
    if (!st) {
        lseek(o.input, 0, SEEK_SET);
        st = cbx__process_start(&o, &p, err);
    }
    if (!st && !cbx__process_wait(&p, (uint64_t)(1e9 * s->timeout_s)))
        st = cbx_fail(err, CBX_ETIMEOUT, "'%s' ran for more than %g s on an alert and was stopped", s->target,
                      s->timeout_s);
    cbx__process_finish(&p);
    int code = cbx__process_exit_status(&p);
    if (!st && code > 0) st = cbx_fail(err, CBX_ECHILD, "'%s' failed on an alert with status %d", s->target, code);
    close(o.input);
    return st;
}

cbx_status cbx_sink_send(cbx_sink *s, const cbx_alert *alert, int64_t time_us, cbx_err *err)
{
    cbx_json *json = cbx_alert_json(alert, time_us);

    if (!json) return cbx_fail_nomem(err, "an alert");
    CBX_SCOPED(cbx_text, line, &s->arena.al);
    cbx_json_write(json, CBX_JSON_COMPACT | CBX_JSON_NONFINITE_STRING | CBX_JSON_NO_CONTROL, &line);
    cbx_text_putc(&line, '\n');
    cbx_json_unref(json);
    cbx_status st = cbx_text_check(&line, err);
    if (st) return st;
    switch (s->kind) {
    case CBX_SINK_FILE: return append(s, line.data, line.len, err);
    case CBX_SINK_COMMAND: return run_command(s, line.data, line.len, err);
    case CBX_SINK_WEBHOOK: return post(s->webhook, s->target, line.data, line.len, err);
    }
    return cbx_fail(err, CBX_EINVAL, "no receiver of alerts has the number %d", (int)s->kind);
}
