/*
 * Lines of text: what formats that are no JSON share.
 */
#ifndef CALIBRAX_STORAGE_IMPORT_LINES_H
#define CALIBRAX_STORAGE_IMPORT_LINES_H

#include "calibrax/storage/importers/bytes.h"
#include "calibrax/storage/importers/importer.h"

/* A walk through lines; starts zeroed but for the bytes. */
typedef struct cbx__lines {
    const cbx__bytes *bytes;
    uint64_t at; /* of what is read next */
    char *buffer;
    size_t room, begin, end; /* what is read and nobody has seen yet */
    size_t number;           /* of the last line, from 1 */
} cbx__lines;

/* The next line without its end, which the caller may change, until the next call; NULL: the end. */
cbx_status cbx__lines_next(cbx__lines *l, char **line, cbx_err *err);
void cbx__lines_clear(cbx__lines *l);

/* The next line of the job's source; the place is that line. */
char *cbx__import_line(cbx__import_job *job);
/* The number of that line, from 1. */
size_t cbx__import_line_number(const cbx__import_job *job);
/* Cells of a line of CSV (RFC 4180, without line breaks in cells), at most `most`; cells past them are not looked at.  They live until the next call. */
size_t cbx__import_cells(cbx__import_job *job, const char *line, const char **cells, size_t most);
/* 1: this one; 0: look at the next; -1: none. */
typedef int (*cbx__import_line_fn)(const char *line, const char *part);
/* Whether there is such a line; a text that cannot be read has none, and the source's fault says so. */
bool cbx__import_any_line(const cbx__import_source *src, cbx__import_line_fn is, const char *part);
/* Whether a line of the text begins so, or has this in it. */
bool cbx__import_has_line(const cbx__import_source *src, const char *start);
bool cbx__import_mentions(const cbx__import_source *src, const char *part);

#endif
