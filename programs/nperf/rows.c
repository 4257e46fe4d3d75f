/*
 * Rows of files, folders and stores, through their index.
 */
#include <stdio.h>

#include "programs/nperf/nperf.h"

static void tell(const char *what, size_t n, const char *one, const char *many, const char *more)
{
    if (n) fprintf(stderr, "note: %s: %zu %s%s\n", what, n, n == 1 ? one : many, more);
}

int open_rows(const opt_program *program, cbx_ctx *ctx, const char *flag, const opt_list *paths, cbx_row_index **out)
{
    const cbx_row_index_facts *facts;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_row_index_open(ctx, paths->items, paths->count, out, &err);
    char words[CBX_ERR_MESSAGE_SIZE + 16];

    if (st == CBX_ENOENT)
        return opt_fail(program, "%s: %s; nperf writes rows to results/ by default", flag, err.message);
    if (st) return opt_fail(program, "%s: %s", flag, err.message);
    facts = cbx_row_index_facts_of(*out);
    snprintf(words, sizeof words, "; the first: %s", facts->first_damage);
    tell(flag, facts->damaged, "damaged line left out", "damaged lines left out", words);
    tell(flag, facts->duplicates, "row stands twice and counts once", "rows stand twice and count once", "");
    tell(flag, facts->newer, "row is of a newer schema", "rows are of a newer schema",
         " and read as far as it is known; a newer nperf reads more");
    if (cbx_row_index_count(*out) == 0) {
        cbx_row_index_close(*out);
        *out = NULL;
        return opt_fail(program, "%s: no rows in '%s'%s", flag, paths->items[0],
                        paths->count > 1 ? " and the others" : "");
    }
    return EXIT_PASS;
}

int latest_rows(const opt_program *program, cbx_row_index *ix, const char *flag, cbx_row_extent extent, cbx_rows *rows)
{
    cbx_err err = CBX_ERR_INIT;
    size_t newer_failed = 0;

    if (cbx_row_index_latest(ix, extent, rows, &newer_failed, &err))
        return opt_fail(program, "%s: %s", flag, err.message);
    tell(flag, newer_failed, "newer row failed; the last good one is taken",
         "newer rows failed; the last good ones are taken", "");
    return EXIT_PASS;
}
