/*
 * JSON lines over a stream socket, with descriptors riding along (SCM_RIGHTS): the transport of
 * PROTOCOL.md, for both ends.
 */
#ifndef CALIBRAX_PERF_LAUNCH_WIRE_H
#define CALIBRAX_PERF_LAUNCH_WIRE_H

#include "calibrax/base/json.h"

#define CBX__WIRE_LINE_MAX 65536
#define CBX__WIRE_FDS_MAX  128

typedef struct cbx__wire {
    int fd;
    bool takes_fds;             /* false: descriptors that the other end sends are dropped by the kernel */
    size_t len;                 /* bytes read and not yet taken */
    size_t taken;               /* bytes of the line handed out last, still at the head of buf */
    int fds[CBX__WIRE_FDS_MAX]; /* received and not yet taken over by the caller; closed by cbx__wire_clear */
    size_t nfds;
    char buf[CBX__WIRE_LINE_MAX + 1];
} cbx__wire;

void cbx__wire_init(cbx__wire *w, int fd, bool takes_fds);
/* Closes the received descriptors; fd itself stays the caller's. */
void cbx__wire_clear(cbx__wire *w);

/* Sends text (one line, with its newline) and descriptors with its first byte.
 * @return CBX_OK; CBX_ECHILD (the other end is closed); CBX_EIO */
cbx_status cbx__wire_send_text(cbx__wire *w, const char *text, size_t len, const int *fds, size_t nfds, cbx_err *err);
/* Writes the message as a line and sends it.  @return also CBX_ENOMEM, CBX_EOVERFLOW */
cbx_status cbx__wire_send(cbx__wire *w, const cbx_allocator *al, const cbx_json *message, const int *fds, size_t nfds,
                          cbx_err *err);

/* One read, which blocks if nothing is there.  @return CBX_OK; CBX_ECHILD (closed by the other
 * end); CBX_EIO */
cbx_status cbx__wire_fill(cbx__wire *w, cbx_err *err);
/* The next whole line without its newline, NUL-terminated, valid until the next call of fill or
 * next_line; NULL: not there yet.
 * @return CBX_OK; CBX_EPROTO (a line longer than 64 KiB, or with a NUL byte) */
cbx_status cbx__wire_next_line(cbx__wire *w, char **line, size_t *len, cbx_err *err);

#endif
