/*
 * The values that importers read: members of JSON, each with a message that names what was expected
 * and found; units; samples.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/storage/importers/importer.h"

/* --- walks --- */

bool cbx__import_element(cbx__import_job *job, const cbx_json *array, const char *name, size_t i,
                         const cbx_json **element)
{
    if (cbx__import_failed(job) || cbx_json_typeof(array) != CBX_JSON_ARRAY || i >= cbx_json_length(array))
        return false;
    cbx__import_at(job, "%s%s%zu", name ? name : "", name ? "." : "", i);
    *element = cbx_json_at(array, i);
    return true;
}

bool cbx__import_member(cbx__import_job *job, const cbx_json *object, const char *name, size_t i, const char **key,
                        const cbx_json **value)
{
    cbx_json *v;

    if (cbx__import_failed(job) || !cbx_json_member(object, i, key, &v)) return false;
    cbx__import_at(job, "%s%s%.120s", name ? name : "", name ? "." : "", *key);
    *value = v;
    return true;
}

/* --- members --- */

static void unexpected(cbx__import_job *job, const cbx_json *object, const char *key, const char *expected)
{
    if (!cbx_json_has(object, key))
        cbx__import_fail(job, CBX_EFORMAT, "'%s' is missing: expected %s", key, expected);
    else
        cbx__import_fail(job, CBX_EFORMAT, "'%s': expected %s, found %s", key, expected,
                         cbx_json_type_name(cbx_json_typeof(cbx_json_get(object, key))));
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

static const cbx_json *need(cbx__import_job *job, const cbx_json *object, const char *key, cbx_json_type type)
{
    const cbx_json *v = cbx_json_get(object, key);

    if (cbx__import_failed(job)) return NULL;
    if (v && cbx_json_typeof(v) == type) return v;
    unexpected(job, object, key, cbx_json_type_name(type));
    return NULL;
}

const cbx_json *cbx__import_object(cbx__import_job *job, const cbx_json *object, const char *key)
{
    return need(job, object, key, CBX_JSON_OBJECT);
}

const cbx_json *cbx__import_array(cbx__import_job *job, const cbx_json *object, const char *key)
{
    return need(job, object, key, CBX_JSON_ARRAY);
}

double cbx__import_maybe_number(cbx__import_job *job, const cbx_json *object, const char *key)
{
    return cbx_json_get(object, key) ? cbx__import_number(job, object, key) : NAN;
}

const char *cbx__import_maybe_string(cbx__import_job *job, const cbx_json *object, const char *key)
{
    return cbx_json_get(object, key) ? cbx__import_string(job, object, key) : NULL;
}

/* --- units --- */

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

/* --- samples --- */

bool cbx__import_reserve(cbx__import_job *job, cbx__samples *s, size_t n)
{
    cbx_allocator al = cbx__import_allocator(job);

    if (cbx__import_failed(job)) return false;
    if (cbx_list_reserve(&al, s, s->n + n)) return true;
    cbx__import_fail(job, CBX_ENOMEM, "out of memory for %zu samples", s->n + n);
    return false;
}

void cbx__import_sample(cbx__import_job *job, cbx__samples *s, double value)
{
    if (cbx__import_reserve(job, s, 1)) s->items[s->n++] = value;
}

void cbx__import_samples(cbx__import_job *job, const cbx_json *array, const char *key, double scale, cbx__samples *s)
{
    size_t n = cbx_json_typeof(array) == CBX_JSON_ARRAY ? cbx_json_length(array) : 0;

    if (!n || !cbx__import_reserve(job, s, n)) return;
    for (size_t i = 0; i < n; i++) {
        const cbx_json *v = cbx_json_at(array, i);
        if (v && !cbx__import_is_number(v))
            cbx__import_fail(job, CBX_EFORMAT, "element %zu of %s is not a number", i, key);
        s->items[s->n++] = v ? cbx__import_double(v) * scale : NAN;
    }
}

void cbx__import_member_samples(cbx__import_job *job, const cbx_json *object, const char *key, double scale,
                                cbx__samples *s)
{
    if (cbx_json_get(object, key)) cbx__import_samples(job, cbx__import_array(job, object, key), key, scale, s);
}

/*
 * The file lies below the folder of the source.  Tools name it as seen from where they ran
 * ("results/a.json-bin/0.bin" in results/a.json), so a name that leads nowhere is tried again with
 * only its last folder and file.
 */
static const char *side_path(cbx__import_job *job, const char *name)
{
    const char *path = cbx__import_source_of(job)->path, *slash = path ? strrchr(path, '/') : NULL, *found = NULL;
    const char *last = name + strlen(name);
    int folder = slash ? (int)(slash - path) + 1 : 0;

    if (!path) return NULL;
    if (*name != '/' && !strstr(name, "..")) {
        found = cbx__import_printf(job, "%.*s%s", folder, path, name);
        if (!found || cbx_path_exists(found)) return found;
    }
    for (int slashes = 0; last > name; last--)
        if (last[-1] == '/' && ++slashes == 2) break;
    return strstr(last, "..") ? found : cbx__import_printf(job, "%.*s%s", folder, path, last);
}

void cbx__import_floats(cbx__import_job *job, const char *entry, const char *name, size_t n, cbx__samples *out)
{
    const char *path = side_path(job, name);
    char *bytes = NULL;
    size_t len = 0;
    cbx_status st;

    if (cbx__import_failed(job)) return;
    st = path ? cbx_file_read(cbx__import_ctx(job), path, 0, &bytes, &len, NULL) : CBX_ENOENT;
    if (st == CBX_ENOMEM) {
        cbx__import_fail(job, st, "out of memory for the samples in '%.200s'", name);
    } else if (st || len / 4 != n || len % 4) {
        cbx__import_note(job, entry, "the file with the %zu samples of '%.200s' is missing", n, name);
    } else if (cbx__import_reserve(job, out, n)) {
        for (size_t i = 0; i < n; i++) {
            const unsigned char *b = (const unsigned char *)bytes + 4 * i;
            uint32_t bits = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
            float v;
            memcpy(&v, &bits, sizeof v);
            out->items[out->n++] = v;
        }
    }
    if (bytes) cbx_mem_free(cbx_ctx_allocator(cbx__import_ctx(job)), bytes, len + 1);
}

double cbx__import_median(cbx__import_job *job, const cbx__samples *s)
{
    const cbx_allocator *al = cbx_ctx_allocator(cbx__import_ctx(job));
    size_t n = s->n;
    double *sorted, median;

    if (!n || cbx__import_failed(job)) return NAN;
    for (size_t i = 0; i < n; i++)
        if (isnan(s->items[i])) return NAN;
    sorted = cbx_mem_calloc(al, n, sizeof *sorted);
    if (!sorted) {
        cbx__import_fail(job, CBX_ENOMEM, "out of memory for the median of %zu samples", n);
        return NAN;
    }
    memcpy(sorted, s->items, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, cbx_compare_doubles);
    median = n % 2 ? sorted[n / 2] : 0.5 * sorted[n / 2 - 1] + 0.5 * sorted[n / 2];
    cbx_mem_free(al, sorted, n * sizeof *sorted);
    return median;
}
