/*
 * Lines and cells.
 */
#include "calibrax/storage/importers/lines.h"

#include <string.h>

#include "calibrax/storage/importers/job.h"

#define FIRST_ROOM ((size_t)64 << 10)
#define LINE_MOST  ((size_t)1 << 30)

/* More of the text behind what is there; *got 0: the end. */
static cbx_status fill(cbx__lines *l, size_t *got, cbx_err *err)
{
    if (l->begin) memmove(l->buffer, l->buffer + l->begin, l->end - l->begin);
    l->end -= l->begin;
    l->begin = 0;
    if (l->end + 1 >= l->room) {
        size_t room = l->room ? 2 * l->room : FIRST_ROOM;
        char *more;
        if (room > LINE_MOST)
            return cbx_fail(err, CBX_EOVERFLOW, "'%s': line %zu is longer than %zu MiB", l->bytes->what, l->number + 1,
                            LINE_MOST >> 20);
        more = cbx_mem_resize(&l->bytes->al, l->buffer, l->room, room);
        if (!more) return cbx_fail(err, CBX_ENOMEM, "out of memory while reading '%s'", l->bytes->what);
        l->buffer = more;
        l->room = room;
    }
    return cbx__bytes_read(l->bytes, l->at, l->buffer + l->end, l->room - l->end - 1, got, err);
}

cbx_status cbx__lines_next(cbx__lines *l, char **line, cbx_err *err)
{
    size_t seen = 0, n;
    char *end = NULL;

    *line = NULL;
    for (;;) {
        size_t got = 0;
        cbx_status st;
        n = l->end - l->begin;
        end = n > seen ? memchr(l->buffer + l->begin + seen, '\n', n - seen) : NULL;
        if (end) break;
        seen = n;
        st = fill(l, &got, err);
        if (st) return st;
        if (!got) break;
        l->at += got;
        l->end += got;
    }
    if (!end && !n) return CBX_OK;
    *line = l->buffer + l->begin;
    n = end ? (size_t)(end - *line) : n;
    l->begin += n + (end != NULL);
    l->number++;
    (*line)[n] = 0;
    if (n && (*line)[n - 1] == '\r') (*line)[n - 1] = 0;
    return CBX_OK;
}

void cbx__lines_clear(cbx__lines *l)
{
    if (l->bytes) cbx_mem_free(&l->bytes->al, l->buffer, l->room);
    *l = (cbx__lines){ 0 };
}

char *cbx__import_line(cbx__import_job *job)
{
    char *line = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    if (job->status) return NULL;
    job->lines.bytes = job->src->bytes;
    st = cbx__lines_next(&job->lines, &line, &err);
    if (st) cbx__import_fail_whole(job, st, err.message);
    if (line) cbx__import_at(job, "line %zu", job->lines.number);
    return line;
}

size_t cbx__import_line_number(const cbx__import_job *job) { return job->lines.number; }

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
    size_t n = 0;
    char *to;

    cbx_arena_clear(&job->cells);
    to = cbx_arena_alloc(&job->cells, strlen(line) + most + 1);
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

bool cbx__import_any_line(const cbx__import_source *src, cbx__import_line_fn is, const char *part)
{
    cbx__lines l = { .bytes = src->bytes };
    char *line = NULL;
    int found = 0;

    while (!found && !*src->fault && !(*src->fault = cbx__lines_next(&l, &line, NULL)) && line) found = is(line, part);
    cbx__lines_clear(&l);
    return found > 0;
}

static int begins(const char *line, const char *part) { return !strncmp(line, part, strlen(part)); }
static int has(const char *line, const char *part) { return strstr(line, part) != NULL; }

bool cbx__import_has_line(const cbx__import_source *src, const char *start)
{
    return cbx__import_any_line(src, begins, start);
}
bool cbx__import_mentions(const cbx__import_source *src, const char *part)
{
    return cbx__import_any_line(src, has, part);
}
