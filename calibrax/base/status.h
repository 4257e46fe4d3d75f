/**
 * Status codes and the error record.
 *
 * A call that can fail returns a cbx_status; whoever sees the fault writes one line, lower case,
 * that names the thing and, where there is one, the remedy.  The record is the caller's struct
 * with a fixed buffer: filling it allocates nothing and touches no thread-local state.
 */
#ifndef CALIBRAX_BASE_STATUS_H
#define CALIBRAX_BASE_STATUS_H

#include "calibrax/base/api.h"

CBX_BEGIN_DECLS

/* name, number, words.  A number is never used twice; new ones go at the end. */
#define CBX_STATUS_MAP(X)                                                                                              \
    X(OK, 0, "ok")                                                                                                     \
    X(EINVAL, 1, "invalid argument")                                                                                   \
    X(EDOM, 2, "value outside the domain")                                                                             \
    X(ENOMEM, 3, "out of memory")                                                                                      \
    X(EIO, 4, "input or output failed")                                                                                \
    X(ENOENT, 5, "not found")                                                                                          \
    X(EEXIST, 6, "exists already")                                                                                     \
    X(EFORMAT, 7, "malformed data")                                                                                    \
    X(EVERSION, 8, "unknown version")                                                                                  \
    X(ETIMEOUT, 9, "timed out")                                                                                        \
    X(ECHILD, 10, "a child process failed")                                                                            \
    X(EPROTO, 11, "protocol violated")                                                                                 \
    X(EUNSUPPORTED, 12, "not supported")                                                                               \
    X(EUNAVAILABLE, 13, "an optional part is missing")                                                                 \
    X(EINTERRUPTED, 14, "interrupted")                                                                                 \
    X(EBUSY, 15, "in use by another process")                                                                          \
    X(ENOSPC, 16, "no space left")                                                                                     \
    X(EPERM, 17, "not permitted")                                                                                      \
    X(ESHAPE, 18, "shape mismatch")                                                                                    \
    X(EDTYPE, 19, "dtype mismatch")                                                                                    \
    X(EOVERFLOW, 20, "size overflows")                                                                                 \
    X(EINTERNAL, 21, "internal error")                                                                                 \
    X(EINDEX, 22, "index out of range")

typedef enum cbx_status {
#define CBX_STATUS_ENUM(name, number, words) CBX_##name = number,
    CBX_STATUS_MAP(CBX_STATUS_ENUM)
#undef CBX_STATUS_ENUM
} cbx_status;

#define CBX_ERR_MESSAGE_SIZE 512

/** Error record; lives with the caller.  Meaningful only after a call returned a status other than
 * CBX_OK. */
typedef struct cbx_err {
    cbx_status status;
    char message[CBX_ERR_MESSAGE_SIZE]; /* one line, NUL-terminated, cut at a UTF-8 boundary */
} cbx_err;

#define CBX_ERR_INIT                                                                                                   \
    {                                                                                                                  \
        CBX_OK, { 0 }                                                                                                  \
    }

/** Symbolic name ("EINVAL") and words ("invalid argument") of a status; "?" for a number not in the
 * list. */
CBX_API const char *cbx_status_name(cbx_status status);
CBX_API const char *cbx_status_words(cbx_status status);

/**
 * Records a failure and returns its status, so that a caller can write `return cbx_fail(...)`.
 * @param err  may be NULL: then only the status travels
 */
CBX_API cbx_status cbx_fail(cbx_err *err, cbx_status status, const char *fmt, ...) CBX_PRINTF(3, 4);

/**
 * As cbx_fail, status chosen from errno (ENOSPC -> CBX_ENOSPC, ENOENT -> CBX_ENOENT, EACCES and
 * EPERM -> CBX_EPERM, EEXIST -> CBX_EEXIST, ENOMEM -> CBX_ENOMEM, EINTR -> CBX_EINTERRUPTED, EAGAIN
 * and EBUSY -> CBX_EBUSY, else CBX_EIO); ": " and strerror(saved_errno) are appended to the
 * message, and "; " and the remedy where an errno has one and the same: a full disk, a limit.
 */
CBX_API cbx_status cbx_fail_errno(cbx_err *err, int saved_errno, const char *fmt, ...) CBX_PRINTF(3, 4);

/** CBX_ENOMEM, with the message "out of memory for WHAT"; what NULL: "out of memory". */
CBX_API cbx_status cbx_fail_nomem(cbx_err *err, const char *what);

CBX_END_DECLS
#endif
