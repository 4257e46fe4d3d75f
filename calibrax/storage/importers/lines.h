/*
 * Lines of text: what formats that are no JSON share.
 */
#ifndef CALIBRAX_STORAGE_IMPORT_LINES_H
#define CALIBRAX_STORAGE_IMPORT_LINES_H

#include "calibrax/storage/importers/importer.h"

/* A copy of the next line without its end, in the job's arena, and its number from 1; NULL at the end.  *at starts at 0. */
const char *cbx__import_line(cbx__import_job *job, size_t *at, size_t *number);
/* Cells of a line of CSV (RFC 4180, without line breaks in cells), at most `most`; cells past them are not looked at. */
size_t cbx__import_cells(cbx__import_job *job, const char *line, const char **cells, size_t most);
/* Whether the text holds a line that begins so. */
bool cbx__import_has_line(const cbx__import_source *src, const char *start);

#endif
