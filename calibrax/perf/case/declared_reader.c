/*
 * Members of a case file; see declared_reader.h.
 */
#include "calibrax/perf/case/declared_reader.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

cbx_status cbx__case_fault(cbx__case_reader *r, const char *fmt, ...)
{
    char text[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return cbx_fail(r->err, CBX_EFORMAT, "'%s': %s%s%s", r->d->what, r->where, *r->where ? ": " : "", text);
}

cbx_status cbx__case_no_memory(cbx__case_reader *r)
{
    return cbx_fail(r->err, CBX_ENOMEM, "out of memory for '%s'", r->d->what);
}

void cbx__case_at(cbx__case_reader *r, const char *list, size_t i)
{
    snprintf(r->where, sizeof r->where, "%s[%zu]", list, i);
}

cbx_status cbx__case_known(cbx__case_reader *r, const cbx_json *o, const char *const *names, size_t n)
{
    if (cbx_json_typeof(o) != CBX_JSON_OBJECT) return cbx__case_fault(r, "an object is expected");
    for (size_t i = 0; i < cbx_json_length(o); i++) {
        const char *key = NULL, *near;
        cbx_json *value = NULL;
        bool known = false;
        if (!cbx_json_member(o, i, &key, &value)) continue;
        for (size_t k = 0; k < n; k++) known = known || !strcmp(names[k], key);
        if (known && cbx_json_typeof(value) == CBX_JSON_NULL)
            return cbx__case_fault(r, "'%s' is null: leave it out", key);
        if (known) continue;
        near = cbx_nearest_word(key, names, n);
        return cbx__case_fault(r, "unknown member '%.60s'%s%s%s", key, near ? "; did you mean '" : "", near ? near : "",
                               near ? "'?" : "");
    }
    return CBX_OK;
}

cbx_status cbx__case_text(cbx__case_reader *r, const cbx_json *o, const char *key, bool needed, const char **out)
{
    const cbx_json *v = cbx_json_get(o, key);
    const char *s = cbx_json_string_value(v);

    if (!v && !needed) return CBX_OK;
    if (!v) return cbx__case_fault(r, "member '%s' is missing", key);
    if (!s || !*s || strlen(s) > 4096) return cbx__case_fault(r, "'%s' has to be a text that is not empty", key);
    *out = cbx_arena_strdup(&r->d->arena, s);
    return *out ? CBX_OK : cbx__case_no_memory(r);
}

cbx_status cbx__case_number(cbx__case_reader *r, const cbx_json *o, const char *key, double *out)
{
    const cbx_json *v = cbx_json_get(o, key);
    const cbx_json_type t = cbx_json_typeof(v);

    if (!v) return CBX_OK;
    if ((t != CBX_JSON_INT && t != CBX_JSON_DOUBLE) || !isfinite(cbx_json_double_value(v)))
        return cbx__case_fault(r, "'%s' has to be a number", key);
    *out = cbx_json_double_value(v);
    return CBX_OK;
}

cbx_status cbx__case_list(cbx__case_reader *r, const cbx_json *o, const char *key, size_t least, size_t most,
                          const cbx_json **out, size_t *n)
{
    const cbx_json *v = cbx_json_get(o, key);

    *out = NULL;
    *n = 0;
    if (!v && least == 0) return CBX_OK;
    if (!v) return cbx__case_fault(r, "member '%s' is missing", key);
    if (cbx_json_typeof(v) != CBX_JSON_ARRAY || cbx_json_length(v) < least || cbx_json_length(v) > most)
        return cbx__case_fault(r, "'%s' has to be a list of %zu to %zu entries", key, least, most);
    *out = v;
    *n = cbx_json_length(v);
    return CBX_OK;
}

cbx_status cbx__case_name(cbx__case_reader *r, const cbx_json *o, const char **out)
{
    cbx_status st = cbx__case_text(r, o, "name", true, out);
    if (!st && !cbx_name_is_safe(*out))
        return cbx__case_fault(r, "'%.60s' is no name: letters, digits, '.', '_' and '-'", *out);
    return st;
}
