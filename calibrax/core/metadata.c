/* Checks of free-form values, and of the text of every record. */
#include "calibrax/core/metadata.h"

#include <stdio.h>

#include "calibrax/core/record.h"

#define PATH_SIZE 256

/* Well-formed UTF-8 as Unicode table 3-7 has it: no overlong form, no surrogate, nothing above U+10FFFF. */
bool cbx__is_utf8(const char *s)
{
    const unsigned char *p = (const unsigned char *)s;

    while (*p) {
        unsigned char lead = *p++, low = 0x80, high = 0xBF;
        int more = lead < 0x80                    ? 0
                   : lead >= 0xC2 && lead <= 0xDF ? 1
                   : (lead & 0xF0) == 0xE0        ? 2
                   : lead >= 0xF0 && lead <= 0xF4 ? 3
                                                  : -1;
        if (more < 0) return false;
        if (lead == 0xE0) low = 0xA0;
        if (lead == 0xED) high = 0x9F;
        if (lead == 0xF0) low = 0x90;
        if (lead == 0xF4) high = 0x8F;
        for (; more > 0; more--, p++, low = 0x80, high = 0xBF) {
            if (*p < low || *p > high) return false;
        }
    }
    return true;
}

static cbx_status check(const cbx_json *v, const char *path, int depth, cbx_err *err)
{
    char inner_path[PATH_SIZE];
    const char *key;
    cbx_json *inner;
    cbx_status st = CBX_OK;

    if (depth > CBX_METADATA_DEPTH)
        return cbx_fail(err, CBX_EINVAL, "'%s' is nested deeper than %d", path, CBX_METADATA_DEPTH);
    switch (cbx_json_typeof(v)) {
    case CBX_JSON_STRING:
        return cbx__is_utf8(cbx_json_string_value(v))
                   ? CBX_OK
                   : cbx_fail(err, CBX_EINVAL, "'%s' is text that is not UTF-8", path);
    case CBX_JSON_ARRAY:
        for (size_t i = 0; !st && i < cbx_json_length(v); i++) {
            snprintf(inner_path, sizeof inner_path, "%s.%zu", path, i);
            st = check(cbx_json_at(v, i), inner_path, depth + 1, err);
        }
        return st;
    case CBX_JSON_OBJECT:
        for (size_t i = 0; !st && cbx_json_member(v, i, &key, &inner); i++) {
            if (!cbx__is_utf8(key)) return cbx_fail(err, CBX_EINVAL, "'%s' has a key that is not UTF-8", path);
            snprintf(inner_path, sizeof inner_path, "%s.%s", path, key);
            st = check(inner, inner_path, depth + 1, err);
        }
        return st;
    default: return CBX_OK;
    }
}

cbx_status cbx_metadata_check(const cbx_json *value, const char *path, cbx_err *err)
{
    return check(value, path, 1, err);
}
