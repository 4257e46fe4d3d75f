/*
 * Walking through JSON piece by piece, and the window through which it is seen.
 */
#include "calibrax/base/json_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/json_parser.h"

#define WINDOW ((size_t)64 << 10) /* bytes, until a token is longer */

cbx_status cbx__json_begin(cbx__json_reader *p)
{
    p->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return p->c_locale ? CBX_OK : cbx__json_no_memory(p);
}

void cbx__json_end(cbx__json_reader *p)
{
    for (size_t i = 0; i < p->items.n; i++) cbx__json_drop((cbx_json *)p->items.data + i);
    for (size_t i = 0; i < p->members.n; i++) cbx__json_drop(&((json_member *)p->members.data + i)->value);
    free(p->items.data);
    free(p->members.data);
    free(p->keys.data);
    free(p->buffer);
    free(p->key);
    if (p->c_locale) freelocale(p->c_locale);
}

cbx_status cbx__byte_order_mark(const char *s, size_t n, const char *what, size_t *mark, cbx_err *err)
{
    *mark = n >= 3 && memcmp(s, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    if (n < 2 || (memcmp(s, "\xFF\xFE", 2) != 0 && memcmp(s, "\xFE\xFF", 2) != 0)) return CBX_OK;
    return cbx_fail(err, CBX_EFORMAT, "'%s': is UTF-16, not UTF-8: write it anew with `iconv -f UTF-16 -t UTF-8`",
                    what);
}

/* --- files --- */

cbx_status cbx__json_file_open(cbx__json_file *f, const char *path, bool hashed, cbx_err *err)
{
    *f = (cbx__json_file){ .path = path, .fd = open(path, O_RDONLY | O_CLOEXEC) };
    if (f->fd < 0) return cbx_fail_errno(err, errno, "cannot open '%s'", path);
    f->hasher = hashed ? cbx_hasher_create() : NULL;
    if (f->hasher || !hashed) return CBX_OK;
    close(f->fd);
    return cbx_fail_nomem(err, path);
}

static cbx_status read_file(void *user, char *to, size_t room, size_t *got, cbx_err *err)
{
    cbx__json_file *f = user;
    ssize_t n;

    do n = read(f->fd, to, room);
    while (n < 0 && errno == EINTR);
    *got = n < 0 ? 0 : (size_t)n;
    f->unreadable = n < 0;
    if (n < 0) return cbx_fail_errno(err, errno, "cannot read '%s'", f->path);
    if (f->hasher && n) cbx_hasher_add(f->hasher, to, *got);
    return CBX_OK;
}

cbx__json_source cbx__json_file_source(cbx__json_file *f) { return (cbx__json_source){ read_file, f }; }

bool cbx__json_file_end(cbx__json_file *f, char hash[CBX_HASH_SIZE])
{
    char rest[4096], digits[CBX_HASH_SIZE];

    for (size_t got = 1; got && f->hasher && !f->unreadable;) read_file(f, rest, sizeof rest, &got, NULL);
    close(f->fd);
    if (!f->hasher) return !f->unreadable;
    cbx_hasher_end(f->hasher, digits);
    if (hash) memcpy(hash, digits, sizeof digits);
    return !f->unreadable;
}

/* --- the window --- */

static cbx_status widen(cbx__json_reader *p)
{
    size_t room = 2 * p->room;
    char *wider = room <= CBX__JSON_LENGTH_MOST ? realloc(p->buffer, room) : NULL;

    if (room > CBX__JSON_LENGTH_MOST)
        return cbx_fail(&p->why, CBX_EOVERFLOW, "'%s': a text of more than %zu MiB at offset %llu", p->what,
                        p->room >> 20, (unsigned long long)p->base);
    if (!wider) return cbx_fail_nomem(&p->why, p->what);
    p->buffer = wider;
    p->room = room;
    return CBX_OK;
}

bool cbx__json_more(cbx__json_reader *p, const char **keep)
{
    size_t kept = (size_t)(p->end - *keep), at = (size_t)(p->at - *keep), got = 0;

    if (!p->source.read || p->drained || p->fault) return false;
    if (kept) memmove(p->buffer, *keep, kept);
    p->base += (uint64_t)(*keep - p->text);
    if (kept == p->room) p->fault = widen(p);
    p->text = *keep = p->buffer;
    p->at = p->text + at;
    if (!p->fault) p->fault = p->source.read(p->source.user, p->buffer + kept, p->room - kept, &got, &p->why);
    p->end = p->text + kept + got;
    p->drained = got == 0;
    return got > 0;
}

/* --- walking --- */

/* A source that begins with the mark of another encoding has this fault, told as any other. */
static void pass_mark(cbx__json_reader *r)
{
    size_t mark = 0;

    while (r->end - r->at < 3 && cbx__json_more(r, &(const char *){ r->at })) continue;
    if (r->fault) return;
    r->fault = cbx__byte_order_mark(r->at, (size_t)(r->end - r->at), r->what, &mark, &r->why);
    r->at = r->fault ? r->end : r->at + mark;
}

cbx_status cbx__json_reader_create(const cbx__json_source *source, uint64_t base, const char *what,
                                   cbx__json_reader **out, cbx_err *err)
{
    cbx__json_reader *r = calloc(1, sizeof *r);
    cbx_status st;

    if (!r) return cbx_fail_nomem(err, what);
    *r = (cbx__json_reader){ .what = what, .err = err, .source = *source, .base = base, .room = WINDOW };
    r->buffer = malloc(WINDOW);
    r->text = r->at = r->end = r->buffer;
    st = r->buffer ? cbx__json_begin(r) : cbx__json_no_memory(r);
    if (!st && !base) pass_mark(r);
    if (st)
        cbx__json_reader_free(r);
    else
        *out = r;
    return st;
}

void cbx__json_reader_free(cbx__json_reader *r)
{
    if (!r) return;
    cbx__json_end(r);
    free(r);
}

/* What is wrong is told by the call that reads on. */
static char next_char(cbx__json_reader *r)
{
    r->err = NULL;
    cbx__json_skip_space(r);
    return cbx__json_peek(r);
}

cbx_json_type cbx__json_reader_type(cbx__json_reader *r)
{
    switch (next_char(r)) {
    case '"': return CBX_JSON_STRING;
    case '[': return CBX_JSON_ARRAY;
    case '{': return CBX_JSON_OBJECT;
    case '-':
    case '0' ... '9': return CBX_JSON_DOUBLE;
    default: return CBX_JSON_NULL;
    }
}

uint64_t cbx__json_reader_offset(cbx__json_reader *r)
{
    next_char(r);
    return r->base + (uint64_t)(r->at - r->text);
}

/* To what stands next, which must be something. */
static cbx_status arrive(cbx__json_reader *r, cbx_err *err)
{
    r->err = err;
    cbx__json_skip_space(r);
    r->begun = r->begun || r->at < r->end;
    if (r->begun || r->fault) return CBX_OK;
    return cbx_fail(err, CBX_EFORMAT, "'%s': no JSON: it is empty", r->what);
}

cbx_status cbx__json_reader_value(cbx__json_reader *r, cbx_json **out, cbx_err *err)
{
    cbx_json place;
    cbx_status st = arrive(r, err);

    if (!st) st = cbx__json_value(r, &place);
    return st ? st : cbx__json_own(r, &place, out);
}

static cbx_status skip_value(cbx__json_reader *r);

static cbx_status skip_string(cbx__json_reader *r)
{
    json_piece s;
    cbx_status st = cbx__json_string(r, &s);

    if (!st) free(s.decoded);
    return st;
}

static cbx_status skip_container(cbx__json_reader *r)
{
    char close = *r->at == '[' ? ']' : '}';
    cbx_status st = cbx__json_deeper(r);
    bool more = !st && cbx__json_peek(r) != close;

    if (!st && !more) r->at++;
    while (!st && more) {
        if (close == '}') st = cbx__json_peek(r) == '"' ? skip_string(r) : cbx__json_unexpected(r, CBX__JSON_NO_KEY);
        if (!st && close == '}') st = cbx__json_colon(r);
        if (!st) st = skip_value(r);
        if (!st) st = cbx__json_separator(r, close, &more);
    }
    r->depth--;
    return st;
}

static cbx_status skip_value(cbx__json_reader *r)
{
    char c = cbx__json_peek(r);

    if (c == '"') return skip_string(r);
    return c == '[' || c == '{' ? skip_container(r) : cbx__json_scalar(r, NULL);
}

cbx_status cbx__json_reader_skip(cbx__json_reader *r, cbx_err *err)
{
    cbx_status st = arrive(r, err);

    return st ? st : skip_value(r);
}

cbx_status cbx__json_reader_enter(cbx__json_reader *r, cbx_err *err)
{
    cbx_status st = arrive(r, err);
    char c = cbx__json_peek(r);

    if (st) return st;
    if (c != '[' && c != '{') return cbx__json_unexpected(r, "neither an array nor an object");
    st = cbx__json_deeper(r);
    if (st) return st;
    r->brackets[r->depth] = c;
    r->first = true;
    return CBX_OK;
}

static cbx_status keep_key(cbx__json_reader *r, const json_piece *s)
{
    if (s->len >= r->key_room) {
        size_t room = 2 * s->len + 64;
        char *key = realloc(r->key, room);
        if (!key) return cbx__json_no_memory(r);
        r->key = key;
        r->key_room = room;
    }
    memcpy(r->key, s->bytes, s->len);
    r->key[s->len] = 0;
    return CBX_OK;
}

static cbx_status read_key(cbx__json_reader *r)
{
    json_piece s;
    cbx_status st = cbx__json_peek(r) == '"' ? cbx__json_string(r, &s) : cbx__json_unexpected(r, CBX__JSON_NO_KEY);

    if (st) return st;
    st = keep_key(r, &s);
    free(s.decoded);
    return st ? st : cbx__json_colon(r);
}

cbx_status cbx__json_reader_next(cbx__json_reader *r, const char **key, bool *more, cbx_err *err)
{
    bool object = r->brackets[r->depth] == '{';
    char close = object ? '}' : ']';
    cbx_status st = CBX_OK;

    r->err = err;
    if (!r->first) {
        st = cbx__json_separator(r, close, more);
    } else {
        *more = cbx__json_peek(r) != close;
        if (!*more) r->at++;
    }
    if (!st && *more && object) st = read_key(r);
    *key = !st && *more && object ? r->key : NULL;
    r->depth -= !st && !*more;
    r->first = false;
    return st;
}

cbx_status cbx__json_reader_twice(cbx__json_reader *r, const char *key, cbx_err *err)
{
    return cbx_fail(err, CBX_EFORMAT, "'%s': the key '%.120s' stands twice in an object, again before offset %llu",
                    r->what, key, (unsigned long long)cbx__json_reader_offset(r));
}

void cbx__json_reader_sieve(cbx__json_reader *r, const cbx__json_sieve *sieve) { r->sieve = *sieve; }

size_t cbx__json_reader_depth(const cbx__json_reader *r) { return r->depth; }

const char *cbx__json_reader_key(const cbx__json_reader *r, size_t level)
{
    return r->path[level] ? (const char *)r->keys.data + r->path[level] - 1 : NULL;
}

cbx_status cbx__json_reader_end(cbx__json_reader *r, cbx_err *err)
{
    r->err = err;
    cbx__json_skip_space(r);
    if (r->at < r->end) return cbx__json_malformed(r, r->at, "something stands behind the value");
    return r->fault ? cbx_fail(err, r->fault, "%s", r->why.message) : CBX_OK;
}
