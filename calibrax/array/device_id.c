/* Names of devices. */
#include "calibrax/array/array.h"
#include "calibrax/base/idioms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = { [CBX_DEVICE_CPU] = "cpu", [CBX_DEVICE_CUDA] = "cuda" };

const char *cbx_device_kind_name(cbx_device_kind kind) { return CBX_WORD(names, kind); }

const char *cbx_device_id_text(cbx_device_id id, char *buf, size_t size)
{
    if (id.kind == CBX_DEVICE_CPU && id.index == 0)
        snprintf(buf, size, "cpu");
    else
        snprintf(buf, size, "%s:%d", cbx_device_kind_name(id.kind), id.index);
    return buf;
}

cbx_status cbx_device_id_parse(const char *text, cbx_device_id *out, cbx_err *err)
{
    for (size_t k = 0; text && k < CBX_LEN(names); k++) {
        const size_t n = strlen(names[k]), digits = strspn(text + (strlen(text) > n ? n + 1 : 0), "0123456789");
        if (strncmp(text, names[k], n) != 0) continue;
        if (text[n] == 0) {
            *out = (cbx_device_id){ (cbx_device_kind)k, 0 };
            return CBX_OK;
        }
        if (text[n] != ':' || digits == 0 || digits > 4 || text[n + 1 + digits]) continue;
        *out = (cbx_device_id){ (cbx_device_kind)k, atoi(text + n + 1) };
        return CBX_OK;
    }
    return cbx_fail(err, CBX_EINVAL,
                    "a device must be 'cpu', 'cuda', or one of them with a number as 'cuda:1', got '%.40s'",
                    text ? text : "NULL");
}
