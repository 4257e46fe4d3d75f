/*
 * JSON lines over a stream socket.  A line and the descriptors that belong to it leave with one
 * sendmsg; reading is split into fill (one system call) and next_line (none), so that the parent
 * can put its own waiting between them.
 */
#include "calibrax/perf/launch/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "calibrax/base/idioms.h"

/* Space for the descriptors of a message. */
union descriptors {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int) * CBX__WIRE_FDS_MAX)];
};

void cbx__wire_init(cbx__wire *w, int fd, bool takes_fds)
{
    w->fd = fd;
    w->takes_fds = takes_fds;
    w->len = w->taken = w->nfds = 0;
}

void cbx__wire_clear(cbx__wire *w)
{
    for (size_t i = 0; i < w->nfds; i++) close(w->fds[i]);
    w->nfds = w->len = w->taken = 0;
}

cbx_status cbx__wire_send_text(cbx__wire *w, const char *text, size_t len, const int *fds, size_t nfds, cbx_err *err)
{
    union descriptors control;
    if (nfds > CBX__WIRE_FDS_MAX) return cbx_fail(err, CBX_EINVAL, "%zu arrays do not fit into one message", nfds);
    while (len > 0) {
        struct iovec io = { (void *)(uintptr_t)text, len };
        struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1 };
        if (nfds > 0) {
            memset(&control, 0, sizeof control);
            m.msg_control = control.bytes;
            m.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
            struct cmsghdr *c = CMSG_FIRSTHDR(&m);
            c->cmsg_level = SOL_SOCKET;
            c->cmsg_type = SCM_RIGHTS;
            c->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
            memcpy(CMSG_DATA(c), fds, sizeof(int) * nfds);
        }
        ssize_t n = sendmsg(w->fd, &m, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
            return cbx_fail(err, CBX_ECHILD, "the other end of the protocol is closed");
        if (n < 0) return cbx_fail_errno(err, errno, "cannot send a protocol message");
        text += n;
        len -= (size_t)n;
        nfds = 0;
    }
    return CBX_OK;
}

cbx_status cbx__wire_send(cbx__wire *w, const cbx_allocator *al, const cbx_json *message, const int *fds, size_t nfds,
                          cbx_err *err)
{
    CBX_SCOPED(cbx_text, line, al);
    cbx_json_write(message, CBX_JSON_COMPACT, &line);
    cbx_text_putc(&line, '\n');
    cbx_status st = cbx_text_check(&line, err);
    if (!st && line.len > CBX__WIRE_LINE_MAX)
        st = cbx_fail(err, CBX_EOVERFLOW, "a protocol message of %zu bytes is too long", line.len);
    if (!st) st = cbx__wire_send_text(w, line.data, line.len, fds, nfds, err);
    return st;
}

cbx_status cbx__wire_fill(cbx__wire *w, cbx_err *err)
{
    union descriptors control;
    ssize_t n;

    if (w->taken > 0) {
        memmove(w->buf, w->buf + w->taken, w->len - w->taken);
        w->len -= w->taken;
        w->taken = 0;
    }
    if (w->len == CBX__WIRE_LINE_MAX)
        return cbx_fail(err, CBX_EPROTO, "a message is longer than %d bytes", CBX__WIRE_LINE_MAX);
    struct iovec io = { w->buf + w->len, CBX__WIRE_LINE_MAX - w->len };
    struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1 };
    if (w->takes_fds) {
        m.msg_control = control.bytes;
        m.msg_controllen = sizeof control.bytes;
    }
    do n = recvmsg(w->fd, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n == 0 || (n < 0 && errno == ECONNRESET))
        return cbx_fail(err, CBX_ECHILD, "the other end of the protocol is closed");
    if (n < 0) return cbx_fail_errno(err, errno, "cannot receive a protocol message");
    for (struct cmsghdr *c = w->takes_fds ? CMSG_FIRSTHDR(&m) : NULL; c; c = CMSG_NXTHDR(&m, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (w->nfds < CBX__WIRE_FDS_MAX)
                w->fds[w->nfds++] = fd;
            else
                close(fd);
        }
    }
    w->len += (size_t)n;
    return CBX_OK;
}

cbx_status cbx__wire_next_line(cbx__wire *w, char **line, size_t *len, cbx_err *err)
{
    char *start = w->buf + w->taken, *end = memchr(start, '\n', w->len - w->taken);
    *line = NULL;
    if (!end && w->len - w->taken == CBX__WIRE_LINE_MAX)
        return cbx_fail(err, CBX_EPROTO, "a message is longer than %d bytes", CBX__WIRE_LINE_MAX);
    if (!end) return CBX_OK;
    if (memchr(start, '\0', (size_t)(end - start))) return cbx_fail(err, CBX_EPROTO, "a message holds a NUL byte");
    *end = '\0';
    *line = start;
    *len = (size_t)(end - start);
    w->taken += *len + 1;
    return CBX_OK;
}
