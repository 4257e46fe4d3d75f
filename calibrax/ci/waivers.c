/* Waivers read strictly: what is misspelt is refused, not ignored. */
#include "calibrax/ci/waivers.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/file_text.h"
#include "calibrax/base/idioms.h"
#include "calibrax/core/owned.h"

#define MAX_FILE (16u << 20)
#define DAY_US   86400000000LL

struct cbx_waivers {
    cbx_arena arena;
    cbx_waiver *list;
    size_t n;
};

/* "YYYY-MM-DD", a day that exists. */
static bool parse_day(const char *s, int64_t *end_us)
{
    char moment[32];
    int64_t us;

    for (int i = 0; i < 10; i++)
        if (i == 4 || i == 7 ? s[i] != '-' : s[i] < '0' || s[i] > '9') return false;
    if (s[10]) return false;
    snprintf(moment, sizeof moment, "%sT00:00:00Z", s);
    if (cbx_time_parse_iso(moment, &us, NULL)) return false;
    *end_us = us + DAY_US;
    return true;
}

static cbx_status no_others(const cbx_json *object, const char *const *names, size_t n, const char *where, cbx_err *err)
{
    const char *key;
    cbx_json *value;

    for (size_t i = 0; cbx_json_member(object, i, &key, &value); i++) {
        bool known = false;
        for (size_t k = 0; k < n; k++) known |= !strcmp(key, names[k]);
        if (!known) return cbx_fail(err, CBX_EFORMAT, "%s: unknown member '%.80s'; correct the name", where, key);
    }
    return CBX_OK;
}

static cbx_status read_one(cbx_waivers *w, const cbx_json *v, const char *where, cbx_waiver *out, cbx_err *err)
{
    static const char *const names[] = { "key", "reason", "until" };
    /* Keys that have nothing in common but their form: what fits all of them names nothing. */
    static const char *const keys[] = { "a@b{c=d}:e", "F.1@G 2{H=3,I=4}:J", "~@~{}:~", "\xc3\xa4_@-{}:+" };
    const char *text[CBX_LEN(names)];
    size_t fits = 0;
    cbx_status st = CBX_OK;

    if (cbx_json_typeof(v) != CBX_JSON_OBJECT) return cbx_fail(err, CBX_EFORMAT, "%s: expected an object", where);
    for (size_t i = 0; !st && i < CBX_LEN(names); i++) {
        st = cbx_json_need_string(v, names[i], where, &text[i], err);
        if (!st && !text[i][0]) st = cbx_fail(err, CBX_EFORMAT, "%s.%s is empty", where, names[i]);
    }
    if (!st) st = no_others(v, names, CBX_LEN(names), where, err);
    for (size_t i = 0; !st && i < CBX_LEN(keys); i++) fits += fnmatch(text[0], keys[i], 0) == 0;
    if (fits == CBX_LEN(keys))
        st = cbx_fail(err, CBX_EFORMAT,
                      "%s.key: '%.40s' matches every finding; name a point or a metric, as in '*:latency'", where,
                      text[0]);
    if (st) return st;
    out->key = cbx_arena_strdup(&w->arena, text[0]);
    out->reason = cbx_arena_strdup(&w->arena, text[1]);
    out->until = cbx_arena_strdup(&w->arena, text[2]);
    if (!out->key || !out->reason || !out->until) return cbx_fail(err, CBX_ENOMEM, "out of memory for %s", where);
    if (!parse_day(out->until, &out->end_us))
        return cbx_fail(err, CBX_EFORMAT, "%s.until: '%.40s' is not a date; write it as 2026-12-31", where, out->until);
    return CBX_OK;
}

static cbx_status read_all(cbx_waivers *w, const cbx_json *root, const char *what, cbx_err *err)
{
    static const char *const names[] = { "schema", "version", "schema_version", "waivers" };
    const char *schema;
    int64_t version;
    cbx_json *list;
    cbx_status st = cbx_json_need_string(root, "schema", what, &schema, err);

    if (!st && strcmp(schema, "calibrax-waivers") != 0)
        st = cbx_fail(err, CBX_EFORMAT, "'%s': schema is '%.40s', not 'calibrax-waivers'", what, schema);
    if (!st)
        st = cbx_json_need_int(root, cbx_json_has(root, "schema_version") ? "schema_version" : "version", what,
                               &version, err);
    if (!st && version != 1)
        st = cbx_fail(err, CBX_EVERSION, "'%s': waivers of version %lld; this program reads version 1", what,
                      (long long)version);
    if (!st) st = cbx_json_need_array(root, "waivers", what, &list, err);
    if (!st) st = no_others(root, names, CBX_LEN(names), what, err);
    if (st) return st;
    w->n = cbx_json_length(list);
    w->list = cbx_arena_calloc(&w->arena, w->n, sizeof(*w->list));
    if (!w->list) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu waivers", w->n);
    for (size_t i = 0; !st && i < w->n; i++) {
        char where[320];
        snprintf(where, sizeof where, "%.256s: waivers.%zu", what, i);
        st = read_one(w, cbx_json_at(list, i), where, &w->list[i], err);
    }
    return st;
}

cbx_status cbx_waivers_from_text(cbx_ctx *ctx, const char *text, size_t len, const char *what, cbx_waivers **out,
                                 cbx_err *err)
{
    CBX_OWNED(cbx_json) *root = NULL;
    cbx_waivers *w;
    cbx_status st = cbx_json_parse(text, len, what, &root, err);

    if (st) return st;
    w = CBX_ARENA_OBJECT(cbx_waivers, cbx_ctx_allocator(ctx));
    if (!w) return cbx_fail(err, CBX_ENOMEM, "out of memory for waivers");
    if (cbx_json_typeof(root) != CBX_JSON_OBJECT)
        st = cbx_fail(err, CBX_EFORMAT, "'%s': expected an object", what);
    else
        st = read_all(w, root, what, err);
    return CBX_FINISH(st, *out = w, cbx_waivers_free(w));
}

cbx_status cbx_waivers_read(cbx_ctx *ctx, const char *path, cbx_waivers **out, cbx_err *err)
{
    CBX_SCOPED(cbx_text, text, cbx_ctx_allocator(ctx));
    cbx_status st = cbx__file_text(ctx, path, MAX_FILE, &text, err);
    return st ? st : cbx_waivers_from_text(ctx, text.data, text.len, path, out, err);
}

void cbx_waivers_free(cbx_waivers *w)
{
    if (w) cbx_arena_end(&w->arena);
}

size_t cbx_waivers_count(const cbx_waivers *w) { return w ? w->n : 0; }

const cbx_waiver *cbx_waivers_at(const cbx_waivers *w, size_t i)
{
    return i < cbx_waivers_count(w) ? &w->list[i] : NULL;
}
