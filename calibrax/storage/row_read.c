/*
 * Reading rows: JSON to the typed view by the table of row.c, files and folders of JSON lines.
 *
 * A torn last line (a killed writer) or rubbish in the middle of a file is counted and named, and
 * costs nothing else.  Members that the table does not know stay in row->json.  A known member of
 * the wrong type makes the line no row: a number in quotes is not guessed at.
 */
#include "calibrax/base/file_text.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/json_stream.h"
#include "calibrax/base/list.h"
#include "calibrax/base/text_keep.h"
#include "calibrax/storage/row_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_SIZE    128 /* more than the longest: metrics.steady_time.launches.100000 */
#define FOLDER_DEPTH 64  /* folders within folders */

/* --- JSON to the typed view --- */

/* Where a member is; written out only where something is wrong with it. */
typedef struct row_path {
    const struct row_path *up; /* NULL: the row */
    const char *key;           /* NULL: element i of a list */
    size_t i;
} row_path;

typedef struct row_reader {
    cbx_row *row;
    void *base; /* what offsets count from: the row, or an element of one of its lists */
    cbx_arena *arena;
    const char *what; /* names the source in messages */
    cbx_err *err;
} row_reader;

/* "metrics.steady_time.launches.3", as far as it fits */
static const char *spell(const row_path *p, char out[PATH_SIZE])
{
    size_t n = 0;

    out[0] = 0;
    if (p->up) n = strlen(spell(p->up, out));
    if (n && n + 1 < PATH_SIZE) out[n++] = '.';
    if (p->key)
        snprintf(out + n, PATH_SIZE - n, "%s", p->key);
    else
        snprintf(out + n, PATH_SIZE - n, "%zu", p->i);
    return out;
}

static cbx_status unexpected(const row_reader *r, const row_path *path, const char *expected, const cbx_json *found)
{
    char words[PATH_SIZE];
    return cbx_fail(r->err, CBX_EFORMAT, "'%s': `%s`: expected %s, found %s", r->what, spell(path, words), expected,
                    cbx_json_type_name(cbx_json_typeof(found)));
}

static cbx_status no_memory(const row_reader *r) { return cbx_fail_nomem(r->err, r->what); }

static cbx_status read_string(const row_reader *r, const row_field *f, const cbx_json *v, const row_path *path)
{
    const char *copy;

    if (cbx_json_typeof(v) != CBX_JSON_STRING) return unexpected(r, path, "a string", v);
    if (f->kind == ROW_NEEDED_STRING && !*cbx_json_string_value(v)) {
        char words[PATH_SIZE];
        return cbx_fail(r->err, CBX_EFORMAT, "'%s': `%s`: is empty", r->what, spell(path, words));
    }
    copy = cbx_arena_strdup(r->arena, cbx_json_string_value(v));
    if (!copy) return no_memory(r);
    ROW_AT(const char *, r->base, f->offset) = copy;
    return CBX_OK;
}

static cbx_status read_block(const row_reader *r, const row_block *block, const cbx_json *object, const row_path *path);

/* Numbers, or elements of a block. */
static cbx_status read_list(const row_reader *r, const row_field *f, const cbx_json *v, const row_path *path)
{
    size_t n = cbx_json_length(v), size = f->block ? f->size : sizeof(double);
    char *list;

    if (cbx_json_typeof(v) != CBX_JSON_ARRAY)
        return unexpected(r, path, f->block ? "an array" : "an array of numbers", v);
    list = cbx_arena_calloc(r->arena, n, size);
    if (!list) return no_memory(r);
    for (size_t i = 0; i < n; i++) {
        row_reader element = { r->row, list + i * size, r->arena, r->what, r->err };
        const cbx_json *item = cbx_json_at(v, i);
        const row_path item_path = { path, NULL, i };
        cbx_status st = CBX_OK;
        if (!f->block) {
            if (cbx__json_double(item, &ROW_AT(double, element.base, 0))) continue;
            return unexpected(r, &item_path, "a number", item);
        }
        if (cbx_json_typeof(item) != CBX_JSON_OBJECT) return unexpected(r, &item_path, "an object", item);
        cbx__row_block_init(element.base, f->block);
        st = read_block(&element, f->block, item, &item_path);
        if (st) return st;
    }
    ROW_AT(char *, r->base, f->offset) = list;
    ROW_AT(size_t, r->base, f->count) = n;
    return CBX_OK;
}

static cbx_status read_point(const row_reader *r, const cbx_json *v, const row_path *path)
{
    cbx_text text;

    if (cbx_json_typeof(v) != CBX_JSON_OBJECT) return unexpected(r, path, "an object", v);
    cbx_text_init(&text, &r->arena->al);
    cbx_json_write(v, CBX_JSON_COMPACT | CBX_JSON_NONFINITE_STRING, &text);
    r->row->point_json = cbx__text_keep(&text, r->arena);
    return r->row->point_json ? CBX_OK : no_memory(r);
}

/* The schema fixes the unit of each number: a number in another unit is not guessed at. */
static cbx_status read_word(const row_reader *r, const row_field *f, const cbx_json *v, const row_path *path)
{
    const char *word = cbx_json_string_value(v);
    char words[PATH_SIZE];

    if (strcmp(f->key, "unit") != 0 || (word && !strcmp(word, f->word))) return CBX_OK;
    return cbx_fail(r->err, CBX_EFORMAT, "'%s': `%s`: expected \"%s\", found \"%.20s\"", r->what, spell(path, words),
                    f->word, word ? word : cbx_json_type_name(cbx_json_typeof(v)));
}

static cbx_status read_field(const row_reader *r, const row_field *f, const cbx_json *v, const row_path *path)
{
    const cbx_json_type type = cbx_json_typeof(v);
    cbx_status st;

    switch (f->kind) {
    case ROW_NEEDED_STRING:
    case ROW_STRING: return read_string(r, f, v, path);
    case ROW_NUMBER:
    case ROW_MAYBE_NUMBER:
        return cbx__json_double(v, &ROW_AT(double, r->base, f->offset)) ? CBX_OK : unexpected(r, path, "a number", v);
    case ROW_COUNT:
        if (type != CBX_JSON_INT || cbx_json_int_value(v) < 0) return unexpected(r, path, "a count", v);
        ROW_AT(uint64_t, r->base, f->offset) = (uint64_t)cbx_json_int_value(v);
        return CBX_OK;
    case ROW_BOOL:
        if (type != CBX_JSON_BOOL) return unexpected(r, path, "a boolean", v);
        ROW_AT(bool, r->base, f->offset) = cbx_json_bool_value(v);
        return CBX_OK;
    case ROW_NUMBERS:
    case ROW_LIST: return read_list(r, f, v, path);
    case ROW_POINT: return read_point(r, v, path);
    case ROW_PROVENANCE:
        if (type != CBX_JSON_OBJECT) return unexpected(r, path, "an object", v);
        r->row->provenance = v;
        return CBX_OK;
    case ROW_VERSION:
        if (type != CBX_JSON_INT || cbx_json_int_value(v) < 1) return unexpected(r, path, "a version number", v);
        return CBX_OK;
    case ROW_BLOCK:
        if (type != CBX_JSON_OBJECT) return unexpected(r, path, "an object", v);
        st = read_block(r, f->block, v, path);
        if (!st && f->block->presence == ROW_IF_TRUE) ROW_AT(bool, r->base, f->block->offset) = true;
        return st;
    case ROW_WORD: return read_word(r, f, v, path);
    default: return CBX_OK; /* members that the typed view leaves in the JSON */
    }
}

/* Rows that we wrote have their members in the table's order, so the next one is looked at
 * first. */
static const cbx_json *next_member(const cbx_json *object, const char *key, size_t *at)
{
    const char *found;
    cbx_json *v;

    if (!cbx_json_member(object, *at, &found, &v) || strcmp(found, key) != 0) return cbx_json_get(object, key);
    ++*at;
    return v;
}

static cbx_status read_block(const row_reader *r, const row_block *block, const cbx_json *object, const row_path *path)
{
    size_t at = 0;

    for (size_t i = 0; i < block->nfields; i++) {
        const row_field *f = &block->fields[i];
        const cbx_json *v = next_member(object, f->key, &at);
        const row_path here = { path, f->key, 0 };
        cbx_status st;

        if (!v) {
            bool needed = f->kind == ROW_NEEDED_STRING || f->kind == ROW_POINT || f->kind == ROW_VERSION;
            char words[PATH_SIZE];
            if (needed) return cbx_fail(r->err, CBX_EFORMAT, "'%s': `%s`: is missing", r->what, spell(&here, words));
            continue;
        }
        st = read_field(r, f, v, &here);
        if (st) return st;
    }
    return CBX_OK;
}

static cbx_status row_from_json(const cbx_json *value, cbx_arena *arena, const char *what, cbx_row *row, cbx_err *err)
{
    row_reader r = { row, row, arena, what, err };
    cbx_status st;

    cbx_row_init(row);
    if (cbx_json_typeof(value) != CBX_JSON_OBJECT) {
        return cbx_fail(err, CBX_EFORMAT, "'%s': expected an object, found %s", what,
                        cbx_json_type_name(cbx_json_typeof(value)));
    }
    st = read_block(&r, &cbx__row_table, value, NULL);
    if (st) return st;
    /* Numbers that are once in JSON and twice in the view. */
    row->steady.value = row->median_s;
    row->compile.over.value = row->compile_s;
    row->gflop = (cbx_row_interval){ row->gflop_per_s, row->gflop.lower, row->gflop.upper, row->steady.level };
    row->gbyte = (cbx_row_interval){ row->gbyte_per_s, row->gbyte.lower, row->gbyte.upper, row->steady.level };
    row->roofline = (cbx_row_interval){ row->roofline_share, row->roofline.lower, row->roofline.upper,
                                        row->steady.level };
    /* v1 writers left the reason out where the status is enough */
    if (cbx_json_get(value, "failure_detail") && !row->failure_reason) row->failure_reason = row->status;
    return CBX_OK;
}

/* --- sets of rows --- */

void cbx_rows_init(cbx_rows *rows, const cbx_allocator *al)
{
    memset(rows, 0, sizeof *rows);
    cbx_arena_init(&rows->arena, al);
}

static void rows_cut(cbx_rows *rows, size_t count)
{
    while (rows->count > count) cbx_json_unref(rows->rows[--rows->count].json);
}

void cbx_rows_clear(cbx_rows *rows)
{
    rows_cut(rows, 0);
    cbx_mem_free(&rows->arena.al, rows->rows, rows->capacity * sizeof *rows->rows);
    rows->rows = NULL;
    rows->capacity = 0;
    rows->damaged = 0;
    rows->first_damage[0] = '\0';
    cbx_arena_clear(&rows->arena);
}

cbx_status cbx_rows_add_json(cbx_rows *rows, cbx_json *value, const char *what, cbx_err *err)
{
    cbx_row row;
    cbx_status st = row_from_json(value, &rows->arena, what, &row, err);

    if (st) return st;
    if (!cbx_grow(&rows->arena.al, &rows->rows, &rows->capacity, rows->count + 1, sizeof row))
        return cbx_fail_nomem(err, what);
    row.json = cbx_json_ref(value);
    rows->rows[rows->count++] = row;
    return CBX_OK;
}

/* The end of a string whose first quote is before s; end: no string. */
static const char *string_end(const char *s, const char *end)
{
    for (;;) {
        const char *quote = memchr(s, '"', (size_t)(end - s)), *c = quote;
        if (!quote) return end;
        while (c > s && c[-1] == '\\') c--;
        if ((quote - c) % 2 == 0) return quote;
        s = quote + 1;
    }
}

/* Behind the object that begins at s; NULL: it does not end. */
static const char *object_end(const char *s, const char *end)
{
    int depth = 0;

    for (; s < end; s++) {
        if (*s == '"')
            s = string_end(s + 1, end);
        else if (*s == '{')
            depth++;
        else if (*s == '}' && --depth == 0)
            return s + 1;
        if (s == end) break;
    }
    return NULL;
}

size_t cbx__rows_lean_line(const char *line, size_t len, char *out)
{
    static const char member[] = "\"provenance\":";
    static const char counts[256] = { ['"'] = 1, ['{'] = 1, ['}'] = 1, ['['] = 1, [']'] = 1 };
    const char *end = line + len, *s = line;
    int depth = 0;

    for (; s < end; s++) {
        if (!counts[(unsigned char)*s]) continue; /* mostly digits */
        if (*s == '"') {
            size_t n = sizeof member - 1;
            if (depth == 1 && (size_t)(end - s) > n && !memcmp(s, member, n)) {
                const char *value = s + n + strspn(s + n, " "), *rest = *value == '{' ? object_end(value, end) : NULL;
                if (!rest) break;
                memcpy(out, line, (size_t)(value - line));
                memcpy(out + (value - line), "{}", 2);
                memcpy(out + (value - line) + 2, rest, (size_t)(end - rest));
                return len - (size_t)(rest - value) + 2;
            }
            s = string_end(s + 1, end);
            if (s == end) break;
        } else {
            depth += *s == '{' || *s == '[';
            depth -= *s == '}' || *s == ']';
        }
    }
    memcpy(out, line, len);
    return len;
}

cbx_status cbx__rows_read_line(cbx_rows *rows, const char *line, size_t len, const char *path, size_t number,
                               cbx_err *err)
{
    cbx_err why = CBX_ERR_INIT;
    char what[CBX_ERR_MESSAGE_SIZE / 2];
    cbx_json *value = NULL;
    cbx_status st;

    if (strspn(line, " \t\r") >= len) return CBX_OK;
    snprintf(what, sizeof what, "%s line %zu", path, number);
    st = cbx_json_parse(line, len, what, &value, &why);
    if (!st) st = cbx_rows_add_json(rows, value, what, &why);
    cbx_json_unref(value);
    if (st == CBX_EFORMAT || st == CBX_EOVERFLOW) {
        if (rows->damaged++ == 0) snprintf(rows->first_damage, sizeof rows->first_damage, "%s", why.message);
        return CBX_OK;
    }
    if (st) return cbx_fail(err, st, "%s", why.message);
    return CBX_OK;
}

bool cbx__rows_next_line(const char **at, const char *end, const char **line, size_t *len)
{
    *line = *at;
    if (*at >= end) return false;
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    *len = (size_t)((newline ? newline : end) - *at);
    *at = newline ? newline + 1 : end;
    return true;
}

cbx_status cbx__rows_read_text(cbx_rows *rows, const char *text, size_t len, const char *path, cbx_err *err)
{
    const char *end = text + len, *line;
    size_t number = 0, n;
    cbx_status st = CBX_OK;

    while (!st && cbx__rows_next_line(&text, end, &line, &n))
        st = cbx__rows_read_line(rows, line, n, path, ++number, err);
    return st;
}

static cbx_status read_file(cbx_ctx *ctx, const char *path, cbx_rows *rows, cbx_err *err)
{
    CBX_SCOPED(cbx_text, text, cbx_ctx_allocator(ctx));
    cbx_status st = cbx__file_text(ctx, path, 0, &text, err);

    return st ? st : cbx__rows_read_text(rows, text.data, text.len, path, err);
}

/* --- folders --- */

typedef CBX_LIST(const char *) path_list;

bool cbx__ends_with(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);

    return n >= k && strcmp(s + n - k, suffix) == 0;
}

static cbx_status walk(cbx_ctx *ctx, const char *folder, int depth, cbx_arena *arena, path_list *list, cbx_err *err)
{
    const char *const *names = NULL;
    size_t n = 0;
    cbx_status st = cbx_dir_list(ctx, folder, NULL, arena, &names, &n, err);

    for (size_t i = 0; i < n && !st; i++) {
        const char *path;
        struct stat info, itself;

        if (names[i][0] == '.') continue;
        path = cbx_path_join(arena, folder, names[i]);
        if (!path) return cbx_fail_nomem(err, folder);
        if (lstat(path, &itself) != 0) continue;   /* removed since it was listed */
        if (stat(path, &info) != 0) info = itself; /* a link whose target is missing is a file that cannot be read */
        if (S_ISDIR(info.st_mode)) {
            if (!S_ISLNK(itself.st_mode) && depth < FOLDER_DEPTH) /* a link could lead back here */
                st = walk(ctx, path, depth + 1, arena, list, err);
        } else if (cbx__ends_with(path, ".jsonl") && !cbx__ends_with(path, ".raw.jsonl")) {
            if (!cbx_list_push(CBX_IN_ARENA(arena), list, path)) st = cbx_fail_nomem(err, folder);
        }
    }
    return st;
}

cbx_status cbx__rows_list(cbx_ctx *ctx, const char *folder, cbx_arena *arena, const char *const **paths, size_t *count,
                          cbx_err *err)
{
    path_list list = { 0 };
    cbx_status st = walk(ctx, folder, 0, arena, &list, err);

    if (st) return st;
    if (list.n) qsort(list.items, list.n, sizeof *list.items, cbx_compare_texts);
    *paths = list.items;
    *count = list.n;
    return CBX_OK;
}

cbx_status cbx_rows_read(cbx_ctx *ctx, const char *path, cbx_rows *rows, cbx_err *err)
{
    size_t count = rows->count, damaged = rows->damaged, n = 0;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    const char *const *paths = NULL;
    bool folder = cbx_path_is_folder(path);
    cbx_status st = folder ? cbx__rows_list(ctx, path, &arena, &paths, &n, err) : read_file(ctx, path, rows, err);

    for (size_t i = 0; i < n && !st; i++) {
        st = read_file(ctx, paths[i], rows, err);
        if (st == CBX_ENOENT) st = CBX_OK; /* removed since it was listed */
    }
    if (st) { /* as it was before */
        rows_cut(rows, count);
        rows->damaged = damaged;
        if (damaged == 0) rows->first_damage[0] = '\0';
    }
    return st;
}
