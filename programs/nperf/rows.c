/*
 * Rows of files, folders and stores, through their index.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "programs/nperf/nperf.h"

static void note(const char *what, size_t n, const char *one, const char *many, const char *more)
{
    if (n) fprintf(stderr, "note: %s: %zu %s%s\n", what, n, n == 1 ? one : many, more);
}

/* What came of opening.  Damaged and doubled rows cost nothing but a note; where the newest
 * attempts decide (strict) they are a fault, because each may be the newest of its key. */
static int conclude_open(const opt_run *run, const char *flag, const opt_list *paths, bool strict, cbx_status st,
                         const cbx_err *err, cbx_row_index **out)
{
    char words[CBX_ERR_MESSAGE_SIZE + 16];

    if (st == CBX_ENOENT) return opt_fail(run, "%s: %s; nperf writes rows to results/ by default", flag, err->message);
    if (st) return opt_fail(run, "%s: %s", flag, err->message);
    const cbx_row_index_facts *f = cbx_row_index_facts_of(*out);
    snprintf(words, sizeof words, "; the first: %s", f->first_damage);
    if (strict && f->damaged)
        return opt_fail(run, "%s: %zu damaged line%s%s; measure again, or remove %s", flag, f->damaged,
                        f->damaged == 1 ? "" : "s", words, f->damaged == 1 ? "it" : "them");
    if (strict && f->duplicates)
        return opt_fail(
            run, "%s: %zu row%s the key and the run id of another; name each file once, and keep one of the rows", flag,
            f->duplicates, f->duplicates == 1 ? " has" : "s have");
    if (strict && f->newer)
        return opt_fail(run, "%s: %zu row%s of a newer schema than this nperf reads: use a newer nperf", flag, f->newer,
                        f->newer == 1 ? " is" : "s are");
    note(flag, f->damaged, "damaged line left out", "damaged lines left out", words);
    note(flag, f->duplicates, "row is listed twice and counts once", "rows are listed twice and count once", "");
    note(flag, f->newer, "row is of a newer schema", "rows are of a newer schema",
         " and was read in part; a newer nperf reads all of it");
    if (cbx_row_index_count(*out) == 0)
        return opt_fail(run, "%s: no rows in '%s'%s", flag, paths->items[0], paths->count > 1 ? " and the others" : "");
    return EXIT_PASS;
}

int open_rows(const opt_run *run, const char *flag, const opt_list *paths, cbx_row_index **out)
{
    cbx_status st = cbx_row_index_open(run->ctx, paths->items, paths->count, out, run->err);
    int status = conclude_open(run, flag, paths, false, st, run->err, out);

    if (status && !st) cbx_row_index_close(*out);
    if (status) *out = NULL;
    return status;
}

int latest_rows(const opt_run *run, cbx_row_index *ix, const char *flag, cbx_row_extent extent, cbx_rows *rows)
{
    size_t newer_failed = 0;
    cbx_status st = cbx_row_index_latest(ix, extent, rows, &newer_failed, run->err);

    if (st) return opt_fail(run, "%s: %s", flag, run->err->message);
    note(flag, newer_failed, "newer row failed; the last good one is used",
         "newer rows failed; the last good ones are used", "");
    return EXIT_PASS;
}

/* --- two tables at a time --- */

/* One side, read without output: messages about both are printed in their order afterwards. */
typedef struct reading {
    const row_side *side;
    cbx_row_index *ix;
    cbx_status opened, read;
    cbx_err err;
} reading;

static void *read_side(void *arg)
{
    reading *r = arg;

    r->opened = cbx_row_index_open(r->side->ctx, r->side->paths->items, r->side->paths->count, &r->ix, &r->err);
    if (!r->opened) r->read = cbx_row_index_attempts(r->ix, CBX_ROWS_LEAN, r->side->rows, &r->err);
    return NULL;
}

int attempts_of_both(const opt_run *run, const row_side sides[2])
{
    reading r[2] = { { .side = &sides[0], .err = CBX_ERR_INIT }, { .side = &sides[1], .err = CBX_ERR_INIT } };
    pthread_t other;
    /* an index on disk that both would bring up to date is for one at a time */
    bool apart = strcmp(sides[0].paths->items[0], sides[1].paths->items[0]) != 0;
    bool together = apart && pthread_create(&other, NULL, read_side, &r[0]) == 0;
    int status = EXIT_PASS;

    if (!together) read_side(&r[0]);
    read_side(&r[1]);
    if (together) pthread_join(other, NULL);
    for (int i = 0; i < 2; i++) {
        if (!status) status = conclude_open(run, sides[i].flag, sides[i].paths, true, r[i].opened, &r[i].err, &r[i].ix);
        if (!status && r[i].read) status = opt_fail(run, "%s: %s", sides[i].flag, r[i].err.message);
        cbx_row_index_close(r[i].ix);
    }
    return status;
}
