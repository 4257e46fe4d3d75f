/* Targets: nothing in them is trusted, and what is not understood is refused. */
#include "calibrax/site/page_request.h"

#include <stdlib.h>
#include <string.h>

#include "calibrax/base/together.h"
#include "calibrax/base/utf8.h"

/* n bytes with their escapes replaced, and '+' by blanks; NULL: a bad escape, or not UTF-8. */
static const char *unescape(cbx_arena *arena, const char *from, size_t n, bool blanks, cbx_status *st)
{
    char *out = cbx_arena_alloc(arena, n + 1);
    size_t len = 0;

    *st = out ? CBX_OK : CBX_ENOMEM;
    for (size_t i = 0; !*st && i < n; i++) {
        if (from[i] == '%') {
            const char digits[3] = { i + 2 < n ? from[i + 1] : '\0', i + 2 < n ? from[i + 2] : '\0', '\0' };
            if (strspn(digits, "0123456789abcdefABCDEF") != 2) *st = CBX_EINVAL;
            out[len++] = (char)strtoul(digits, NULL, 16);
            i += 2;
        } else
            out[len++] = blanks && from[i] == '+' ? ' ' : from[i];
        if (!*st && !out[len - 1]) *st = CBX_EINVAL; /* a NUL would end the text */
    }
    if (*st) return NULL;
    out[len] = '\0';
    for (size_t i = 0, k; i < len; i += k)
        if (cbx__utf8_decode(out + i, len - i, &k) == CBX__UTF8_REPLACEMENT && k == 1) *st = CBX_EINVAL;
    return *st ? NULL : out;
}

static cbx_status refuse(cbx_status st, cbx_err *err)
{
    if (st == CBX_ENOMEM) return cbx_fail_nomem(err, "a request");
    return cbx_fail(err, st, "the address has an escape or a byte that is not valid UTF-8");
}

cbx_status cbx__request_parse(const char *target, cbx_arena *arena, cbx__request *out, cbx_err *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    size_t len = strlen(target), page, n;
    const char *query;
    cbx_status st;

    *out = (cbx__request){ .page = "" };
    if (len > CBX__TARGET_MAX) return cbx_fail(err, CBX_EINVAL, "the address is longer than %d bytes", CBX__TARGET_MAX);
    if (target[0] != '/') return cbx_fail(err, CBX_EINVAL, "the address does not begin with '/'");
    page = strspn(target + 1, letters);
    query = target + 1 + page;
    if (*query && *query != '?') return cbx_fail(err, CBX_ENOENT, "there is no such page");
    out->page = cbx_arena_strndup(arena, target + 1, page);
    if (!out->page) return cbx_fail_nomem(err, "a request");
    for (; *query; query += n) {
        size_t key = strcspn(++query, "=&");
        n = strcspn(query, "&");
        if (!n) continue;
        if (out->n == CBX__PARAMS_MAX)
            return cbx_fail(err, CBX_EINVAL, "the address has more than %d parameters", CBX__PARAMS_MAX);
        cbx__param *p = &out->params[out->n];
        p->value = "";
        p->key = unescape(arena, query, key, true, &st);
        if (!st && key < n) p->value = unescape(arena, query + key + 1, n - key - 1, true, &st);
        if (st) return refuse(st, err);
        out->n++;
    }
    return CBX_OK;
}

const char *cbx__request_param(const cbx__request *r, const char *key)
{
    for (size_t i = 0; i < r->n; i++)
        if (!strcmp(r->params[i].key, key)) return *r->params[i].value ? r->params[i].value : NULL;
    return NULL;
}

size_t cbx__request_page(const cbx__request *r)
{
    const char *word = cbx__request_param(r, "page");
    size_t n = word ? strspn(word, "0123456789") : 0;
    unsigned long v = n && n < 8 && !word[n] ? strtoul(word, NULL, 10) : 1;

    return v ? v : 1;
}

cbx_status cbx__request_tags(const cbx__request *r, cbx_arena *arena, const cbx_tag **out, size_t *n, cbx_err *err)
{
    cbx_tag *tags = cbx_arena_calloc(arena, CBX__PARAMS_MAX, sizeof *tags);
    cbx_status st = tags ? CBX_OK : CBX_ENOMEM;

    *n = 0;
    *out = tags;
    for (size_t i = 0; !st && i < r->n; i++) {
        const char *value = r->params[i].value;
        size_t key = strcspn(value, "=");
        if (strcmp(r->params[i].key, "tag") != 0 || !*value) continue;
        tags[*n].key = unescape(arena, value, key, false, &st);
        tags[(*n)++].value = value[key] ? value + key + 1 : "";
    }
    return st ? refuse(st, err) : CBX_OK;
}

/* --- writing --- */

void cbx__request_add(cbx__request *r, const char *key, const char *value)
{
    if (!value || !*value) return;
    r->full |= r->n == CBX__PARAMS_MAX;
    if (r->full) return;
    r->params[r->n++] = (cbx__param){ key, value };
}

bool cbx__request_add_tags(cbx__request *r, cbx_arena *arena, const cbx_tag *tags, size_t n)
{
    for (size_t i = 0; i < n && !r->full; i++) {
        cbx_text text = cbx__arena_text(arena);
        for (const char *s = tags[i].key; *s; s++)
            if (*s == '=' || *s == '%')
                cbx_text_printf(&text, "%%%02X", (unsigned)*s);
            else
                cbx_text_putc(&text, *s);
        cbx_text_printf(&text, "=%s", tags[i].value);
        if (text.status) return false;
        cbx__request_add(r, "tag", cbx_text_str(&text));
    }
    return true;
}

cbx__request cbx__request_with(const cbx__request *r, const char *key, const char *value)
{
    cbx__request out = { .page = r->page };

    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->params[i].key, key) != 0) cbx__request_add(&out, r->params[i].key, r->params[i].value);
    cbx__request_add(&out, key, value);
    return out;
}

static void escape(cbx_text *out, const char *s)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/@,";

    for (; *s; s++)
        if (strchr(plain, *s))
            cbx_text_putc(out, *s);
        else if (*s == ' ')
            cbx_text_putc(out, '+');
        else
            cbx_text_printf(out, "%%%02X", (unsigned)(unsigned char)*s);
}

const char *cbx__request_target(const cbx__request *r, cbx_arena *arena)
{
    cbx_text out = cbx__arena_text(arena);

    cbx_text_printf(&out, "/%s", r->page);
    for (size_t i = 0; i < r->n; i++) {
        cbx_text_putc(&out, i ? '&' : '?');
        escape(&out, r->params[i].key);
        cbx_text_putc(&out, '=');
        escape(&out, r->params[i].value);
    }
    return out.status ? NULL : cbx_text_str(&out);
}
