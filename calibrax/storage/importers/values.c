/*
 * Members of the JSON that importers read: each getter says what it expected and what it found.
 */
#include <math.h>
#include <string.h>

#include "calibrax/storage/importers/importer.h"

static const char *const type_names[] = { "null",     "a boolean", "an integer", "a number",
                                          "a string", "an array",  "an object" };

static void unexpected(cbx__import_job *job, const cbx_json *object, const char *key, const char *expected)
{
    if (!cbx_json_has(object, key))
        cbx__import_fail(job, CBX_EFORMAT, "'%s' is missing: expected %s", key, expected);
    else
        cbx__import_fail(job, CBX_EFORMAT, "'%s': expected %s, found %s", key, expected,
                         type_names[cbx_json_typeof(cbx_json_get(object, key))]);
}

double cbx__import_double(const cbx_json *v)
{
    const char *word = cbx_json_string_value(v);

    if (word && !strcmp(word, "+INF")) return INFINITY; /* JMH */
    if (word && !strcmp(word, "-INF")) return -INFINITY;
    return cbx_json_double_value(v);
}

bool cbx__import_is_number(const cbx_json *v)
{
    cbx_json_type t = cbx_json_typeof(v);

    return t == CBX_JSON_INT || t == CBX_JSON_DOUBLE ||
           (t == CBX_JSON_STRING && (!strcmp(cbx_json_string_value(v), "NaN") || isinf(cbx__import_double(v))));
}

const char *cbx__import_string(cbx__import_job *job, const cbx_json *object, const char *key)
{
    const char *s = cbx_json_string_value(cbx_json_get(object, key));

    if (cbx__import_failed(job)) return NULL;
    if (!s) unexpected(job, object, key, "a string");
    return s;
}

double cbx__import_number(cbx__import_job *job, const cbx_json *object, const char *key)
{
    const cbx_json *v = cbx_json_get(object, key);

    if (cbx__import_failed(job)) return NAN;
    if (cbx__import_is_number(v)) return cbx__import_double(v);
    unexpected(job, object, key, "a number");
    return NAN;
}

static const cbx_json *need(cbx__import_job *job, const cbx_json *object, const char *key, cbx_json_type type,
                            const char *expected)
{
    const cbx_json *v = cbx_json_get(object, key);

    if (cbx__import_failed(job)) return NULL;
    if (v && cbx_json_typeof(v) == type) return v;
    unexpected(job, object, key, expected);
    return NULL;
}

const cbx_json *cbx__import_object(cbx__import_job *job, const cbx_json *object, const char *key)
{
    return need(job, object, key, CBX_JSON_OBJECT, "an object");
}

const cbx_json *cbx__import_array(cbx__import_job *job, const cbx_json *object, const char *key)
{
    return need(job, object, key, CBX_JSON_ARRAY, "an array");
}

double cbx__import_maybe_number(cbx__import_job *job, const cbx_json *object, const char *key)
{
    return cbx_json_get(object, key) ? cbx__import_number(job, object, key) : NAN;
}

const char *cbx__import_maybe_string(cbx__import_job *job, const cbx_json *object, const char *key)
{
    return cbx_json_get(object, key) ? cbx__import_string(job, object, key) : NULL;
}

double cbx__import_seconds(const char *unit)
{
    static const struct {
        const char *word;
        double seconds;
    } units[] = {
        { "ns", 1e-9 }, { "us", 1e-6 }, { "\xc2\xb5s", 1e-6 }, { "\xce\xbcs", 1e-6 }, { "ms", 1e-3 },
        { "s", 1 },     { "sec", 1 },   { "second", 1 },       { "seconds", 1 },      { "m", 60 },
        { "min", 60 },  { "hr", 3600 }, { "h", 3600 },         { "day", 86400 },      { "ps", 1e-12 },
    };

    for (size_t i = 0; unit && i < CBX_LEN(units); i++) {
        if (!strcmp(unit, units[i].word)) return units[i].seconds;
    }
    return NAN;
}

int64_t cbx__import_milliseconds(double ms)
{
    double us = ms * 1000;

    return us > -6e16 && us < 2.5e17 ? (int64_t)us : 0; /* the years 1 to 9999 */
}
