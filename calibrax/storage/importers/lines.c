/*
 * Lines and cells.
 */
#include "calibrax/storage/importers/lines.h"

#include <string.h>

const char *cbx__import_line(cbx__import_job *job, size_t *at, size_t *number)
{
    const cbx__import_source *src = cbx__import_source_of(job);
    const char *start = src->text + *at, *end;
    size_t n;
    char *copy;

    if (cbx__import_failed(job) || *at >= src->len) return NULL;
    end = memchr(start, '\n', src->len - *at);
    n = end ? (size_t)(end - start) : src->len - *at;
    *at += n + (end != NULL);
    (*number)++;
    cbx__import_at(job, "line %zu", *number);
    if (n && start[n - 1] == '\r') n--;
    copy = cbx__import_strndup(job, start, n);
    if (!copy) cbx__import_fail(job, CBX_ENOMEM, "out of memory");
    return copy;
}

/* One cell from s on, copied to *to without its quotes; returns what follows it. */
static const char *take_cell(const char *s, char **to)
{
    if (*s != '"') {
        size_t n = strcspn(s, ",");
        memcpy(*to, s, n);
        *to += n;
        return s + n;
    }
    for (s++; *s && (*s != '"' || s[1] == '"'); s++) {
        *(*to)++ = *s;
        if (*s == '"') s++;
    }
    return *s ? s + 1 : s;
}

size_t cbx__import_cells(cbx__import_job *job, const char *line, const char **cells, size_t most)
{
    char *to = cbx_arena_alloc(cbx__import_arena(job), strlen(line) + most + 1);
    size_t n = 0;

    if (!to) {
        cbx__import_fail(job, CBX_ENOMEM, "out of memory");
        return 0;
    }
    while (n < most) {
        cells[n++] = to;
        line = take_cell(line, &to);
        line += strcspn(line, ",");
        *to++ = 0;
        if (!*line) break;
        line++;
    }
    return n;
}

bool cbx__import_has_line(const cbx__import_source *src, const char *start)
{
    const char *at = src->text;
    size_t len = strlen(start);

    while (at && *at) {
        if (!strncmp(at, start, len)) return true;
        at = strchr(at, '\n');
        if (at) at++;
    }
    return false;
}
