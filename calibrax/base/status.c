/*
 * Status names and the error record.
 *
 * A message is cut so that no UTF-8 sequence is torn, and stays one line: control characters become
 * spaces.
 */
#include "calibrax/base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/text.h"

static const struct {
    cbx_status status;
    const char *name, *words;
} statuses[] = {
#define CBX_STATUS_ROW(name, number, words) { CBX_##name, #name, words },
    CBX_STATUS_MAP(CBX_STATUS_ROW)
#undef CBX_STATUS_ROW
};

static const struct {
    int number;
    cbx_status status;
    const char *remedy; /* where it is the same whatever was done; NULL: what was done decides */
} errnos[] = {
    { ENOSPC, CBX_ENOSPC, "free space there and try again" },
    { EDQUOT, CBX_ENOSPC, "free space there and try again" },
    { EFBIG, CBX_EIO, "raise the limit of a file's size (ulimit -f)" },
    { EMFILE, CBX_EIO, "raise the limit of open files (ulimit -n)" },
    { ENOENT, CBX_ENOENT, NULL },
    { EACCES, CBX_EPERM, NULL },
    { EPERM, CBX_EPERM, NULL },
    { EROFS, CBX_EPERM, NULL },
    { EEXIST, CBX_EEXIST, NULL },
    { ENOMEM, CBX_ENOMEM, NULL },
    { EINTR, CBX_EINTERRUPTED, NULL },
    { EAGAIN, CBX_EBUSY, NULL },
    { EBUSY, CBX_EBUSY, NULL },
};

const char *cbx_status_name(cbx_status status)
{
    for (size_t i = 0; i < CBX_LEN(statuses); i++)
        if (statuses[i].status == status) return statuses[i].name;
    return "?";
}

const char *cbx_status_words(cbx_status status)
{
    for (size_t i = 0; i < CBX_LEN(statuses); i++)
        if (statuses[i].status == status) return statuses[i].words;
    return "?";
}

/* Bytes of s[0..len) that end on a UTF-8 boundary; len is what fitted of a longer text. */
static size_t utf8_floor(const char *s, size_t len)
{
    size_t lead = len;
    while (lead > 0 && len - lead < 4 && ((unsigned char)s[lead - 1] & 0xC0) == 0x80) lead--;
    if (lead == 0) return len;
    unsigned char c = (unsigned char)s[lead - 1];
    size_t want = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
    return len - (lead - 1) < want ? lead - 1 : len;
}

/* Puts text behind the `used` bytes of the message, cut where the buffer ends. */
static size_t message_append(cbx_err *err, size_t used, const char *fmt, va_list args)
{
    size_t space = sizeof err->message - used;
    int n = vsnprintf(err->message + used, space, fmt, args);
    size_t len = n < 0 ? used : used + (size_t)n;
    if (len >= sizeof err->message) len = utf8_floor(err->message, sizeof err->message - 1);
    err->message[len] = 0;
    cbx_text_blank(err->message + used);
    return len;
}

static size_t message_printf(cbx_err *err, size_t used, const char *fmt, ...) CBX_PRINTF(3, 4);
static size_t message_printf(cbx_err *err, size_t used, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    size_t len = message_append(err, used, fmt, args);
    va_end(args);
    return len;
}

cbx_status cbx_fail(cbx_err *err, cbx_status status, const char *fmt, ...)
{
    if (err) {
        va_list args;
        va_start(args, fmt);
        err->status = status;
        message_append(err, 0, fmt, args);
        va_end(args);
    }
    return status;
}

cbx_status cbx_fail_errno(cbx_err *err, int saved_errno, const char *fmt, ...)
{
    cbx_status status = CBX_EIO;
    const char *remedy = NULL;
    for (size_t i = 0; i < CBX_LEN(errnos); i++) {
        if (errnos[i].number != saved_errno) continue;
        status = errnos[i].status;
        remedy = errnos[i].remedy;
    }
    if (err) {
        char words[128];
        va_list args;
        va_start(args, fmt);
        err->status = status;
        size_t len = message_append(err, 0, fmt, args);
        va_end(args);
        message_printf(err, len, ": %s%s%s", strerror_r(saved_errno, words, sizeof words), remedy ? "; " : "",
                       remedy ? remedy : "");
    }
    return status;
}

cbx_status cbx_fail_nomem(cbx_err *err, const char *what)
{
    return cbx_fail(err, CBX_ENOMEM, "out of memory%s%s", what ? " for " : "", what ? what : "");
}
