/* Members of JSON objects, read by tables; see declared_internal.h. */
#include "calibrax/perf/case/declared_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void cbx__read_fault(cbx__reader *r, const char *fmt, ...)
{
    char text[256];
    va_list args;

    if (r->st) return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    r->st = cbx_fail(r->err, CBX_EFORMAT, "'%s': %s%s%s", r->what, r->where, *r->where ? ": " : "", text);
}

void *cbx__read_made(cbx__reader *r, const void *p)
{
    if (!p && !r->st) r->st = cbx_fail(r->err, CBX_ENOMEM, "out of memory to read '%s'", r->what);
    return (void *)(uintptr_t)p;
}

void cbx__read_at(cbx__reader *r, const char *list, size_t i)
{
    r->where[0] = 0;
    if (list) snprintf(r->where, sizeof r->where, "%s[%zu]", list, i);
}

void cbx__read_members(cbx__reader *r, const cbx_json *o, const cbx__member *members, size_t n, void *out)
{
    const char *names[32], *key;
    cbx_json *value;

    if (cbx_json_typeof(o) != CBX_JSON_OBJECT) cbx__read_fault(r, "expected an object");
    for (size_t k = 0; k < n; k++) names[k] = members[k].name;
    for (size_t i = 0; !r->st && cbx_json_member(o, i, &key, &value); i++) {
        size_t k = 0;
        while (k < n && strcmp(names[k], key) != 0) k++;
        const char *nearest = k < n ? NULL : cbx_nearest_word(key, names, n);
        if (k == n)
            cbx__read_fault(r, "unknown member '%.60s'%s%s%s", key, nearest ? ": did you mean '" : "",
                            nearest ? nearest : "", nearest ? "'?" : "");
        else if (cbx_json_typeof(value) == CBX_JSON_NULL)
            cbx__read_fault(r, "'%s' is null: leave it out", key);
        else if (members[k].read)
            members[k].read(r, key, value, (char *)out + members[k].place);
    }
    for (size_t k = 0; k < n && !r->st; k++)
        if (members[k].required && !cbx_json_has(o, names[k])) cbx__read_fault(r, "member '%s' is missing", names[k]);
}

const cbx_json *cbx__read_list(cbx__reader *r, const cbx_json *o, const char *name, size_t min, size_t max, size_t *n)
{
    const cbx_json *v = r->st ? NULL : cbx_json_get(o, name);

    *n = 0;
    if (!v) {
        if (min) cbx__read_fault(r, "member '%s' is missing", name);
        return NULL;
    }
    *n = cbx_json_length(v);
    if (cbx_json_typeof(v) == CBX_JSON_ARRAY && *n >= min && *n <= max) return v;
    if (max == SIZE_MAX)
        cbx__read_fault(r, "'%s' must be an array with an entry", name);
    else
        cbx__read_fault(r, "'%s' must be an array of %zu to %zu entries", name, min, max);
    *n = 0;
    return NULL;
}

void cbx__read_text(cbx__reader *r, const char *name, const cbx_json *v, void *out)
{
    const char *s = cbx_json_string_value(v);

    if (!s || !*s || strlen(s) > 4096)
        cbx__read_fault(r, "'%s' must be text that is not empty", name);
    else
        *(const char **)out = cbx__read_made(r, cbx_arena_strdup(r->arena, s));
}

void cbx__read_name(cbx__reader *r, const char *name, const cbx_json *v, void *out)
{
    const char *s = cbx_json_string_value(v);

    cbx__read_text(r, name, v, out);
    if (!r->st && !cbx_name_is_safe(s))
        cbx__read_fault(r, "'%.60s' is not a name: use letters, digits, '.', '_' and '-'", s);
}

void cbx__read_number(cbx__reader *r, const char *name, const cbx_json *v, void *out)
{
    const cbx_json_type t = cbx_json_typeof(v);

    if ((t == CBX_JSON_INT || t == CBX_JSON_DOUBLE) && isfinite(cbx_json_double_value(v)))
        *(double *)out = cbx_json_double_value(v);
    else
        cbx__read_fault(r, "'%s' must be a number", name);
}

void cbx__read_tolerance(cbx__reader *r, const char *name, const cbx_json *v, void *out)
{
    cbx__read_number(r, name, v, out);
    if (!r->st && *(double *)out < 0) cbx__read_fault(r, "'%s' must not be negative", name);
}
