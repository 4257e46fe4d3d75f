/*
 * Asking the row index: places of all rows in memory, grouped into series; rows themselves from
 * their files.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/file_text.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/list.h"
#include "calibrax/storage/row_index_internal.h"
#include "calibrax/storage/row_table.h"

/* --- loading --- */

/* What the database has about all files. */
static cbx_status load_facts(cbx_row_index *ix, cbx_err *err)
{
    cbx__select s = cbx__select_of(ix->db, "SELECT damaged, newer, first_damage FROM row4_file ORDER BY name");

    ix->facts = (cbx_row_index_facts){ .files = ix->nfiles };
    while (cbx__select_next(&s)) {
        const char *words = cbx__select_text(&s, 2);
        ix->facts.damaged += (size_t)cbx__select_int(&s, 0);
        ix->facts.newer += (size_t)cbx__select_int(&s, 1);
        if (words && *words && !ix->facts.first_damage[0])
            snprintf(ix->facts.first_damage, sizeof ix->facts.first_damage, "%s", words);
    }
    return cbx__select_end(&s, CBX_OK, err);
}

static cbx_status load_places(cbx_row_index *ix, cbx_err *err)
{
    cbx__select s = cbx__select_of(ix->db, "SELECT off, len, kid, run_id, outcome, median, lower, upper, compile, "
                                           "memory, error, energy, gflop, gbyte FROM row4 WHERE fid = ? ORDER BY off");
    const char *run_id = NULL; /* that of neighbours is the same text */
    cbx_status st = CBX_OK;

    for (size_t f = 0; !st && f < ix->nfiles; f++) {
        size_t number = 0;
        if (!ix->files[f].file.known) continue;
        cbx__bind_ints(&s, ix->files[f].file.id);
        for (; !st && cbx__select_next(&s); number++) {
            cbx__row_place p = { .rank = f };
            double *const numbers[] = { &p.past.median_s,  &p.past.lower_s,     &p.past.upper_s,
                                        &p.past.compile_s, &p.past.memory_mb,   &p.past.error,
                                        &p.past.energy_j,  &p.past.gflop_per_s, &p.past.gbyte_per_s };
            p.offset = cbx__select_int(&s, 0);
            p.length = cbx__select_int(&s, 1);
            p.kid = cbx__select_int(&s, 2);
            if (!cbx__keep_text(&ix->loaded, cbx__select_text(&s, 3), run_id, &p.past.run_id) || !p.past.run_id)
                st = cbx_fail_nomem(err, "the index of rows");
            run_id = p.past.run_id;
            p.outcome = (cbx__row_outcome)cbx__select_int(&s, 4);
            p.past.good = p.outcome == ROW_GOOD;
            for (size_t k = 0; k < CBX_LEN(numbers); k++) *numbers[k] = cbx__select_double(&s, 5 + (int)k);
            p.kept = number < ix->files[f].nkept ? ix->files[f].kept[number] : NULL;
            ix->places[ix->nplaces++] = p;
        }
        if (!st) st = cbx__select_again(&s, err);
    }
    return cbx__select_end(&s, st, err);
}

static cbx_status load_keys(cbx_row_index *ix, cbx_err *err)
{
    cbx__select s = cbx__select_of(ix->db, "SELECT kid, key FROM row4_key");
    cbx_status st = CBX_OK;

    while (!st && cbx__select_next(&s)) {
        char *key = cbx_arena_strdup(&ix->loaded, cbx__select_text(&s, 1));
        if (!key) st = cbx_fail_nomem(err, "the index of rows");
        ix->keys[cbx__select_int(&s, 0)] = key;
    }
    return cbx__select_end(&s, st, err);
}

/* --- series --- */

/* In the order of files. */
static int compare_places(const cbx__row_place *x, const cbx__row_place *y)
{
    return x->rank != y->rank ? (x->rank > y->rank ? 1 : -1) : (x->offset > y->offset) - (x->offset < y->offset);
}

static int by_key_then_run(const void *a, const void *b)
{
    const cbx__row_place *x = *(cbx__row_place *const *)a, *y = *(cbx__row_place *const *)b;
    int c = (x->kid > y->kid) - (x->kid < y->kid);

    if (!c && x->past.run_id != y->past.run_id) c = strcmp(x->past.run_id, y->past.run_id);
    return c ? c : compare_places(x, y);
}

static int by_first(const void *a, const void *b)
{
    return compare_places(((const cbx__row_series *)a)->first, ((const cbx__row_series *)b)->first);
}

/* One group of equal keys, sorted by run id: its past, what is listed twice, the row to show. */
static void close_series(cbx_row_index *ix, cbx__row_place **group, size_t n, cbx_row_past *past, cbx__row_series *out)
{
    const cbx__row_place *newest = NULL, *good = NULL;

    out->first = group[0];
    out->series.past = past;
    for (size_t i = 0; i < n; i++) {
        cbx__row_place *p = group[i];
        if (compare_places(p, out->first) < 0) out->first = p;
        p->duplicate = newest && !strcmp(newest->past.run_id, p->past.run_id);
        if (p->duplicate) {
            ix->facts.duplicates++;
            continue;
        }
        past[out->series.npast++] = p->past;
        newest = p;
        if (p->outcome == ROW_GOOD) good = p;
        if (p->outcome != ROW_SKIPPED) out->attempt = p;
    }
    out->shown = good ? good : newest;
    if (!out->attempt) out->attempt = newest;
    out->series.newer_failed = good && good != newest;
}

static cbx_status group_places(cbx_row_index *ix, cbx_err *err)
{
    cbx__row_place **sorted = cbx_arena_calloc(&ix->loaded, ix->nplaces, sizeof *sorted);
    cbx_row_past *past = cbx_arena_calloc(&ix->loaded, ix->nplaces, sizeof *past);

    ix->series = cbx_arena_calloc(&ix->loaded, ix->nplaces, sizeof *ix->series);
    if (!sorted || !past || !ix->series) return cbx_fail_nomem(err, "the index of rows");
    for (size_t i = 0; i < ix->nplaces; i++) sorted[i] = &ix->places[i];
    qsort(sorted, ix->nplaces, sizeof *sorted, by_key_then_run);
    for (size_t i = 0, n; i < ix->nplaces; i += n) {
        cbx__row_series *s = &ix->series[ix->nseries++];
        for (n = 1; i + n < ix->nplaces && sorted[i + n]->kid == sorted[i]->kid;) n++;
        s->series.key = ix->keys[sorted[i]->kid];
        close_series(ix, sorted + i, n, past, s);
        past += s->series.npast;
    }
    qsort(ix->series, ix->nseries, sizeof *ix->series, by_first);
    ix->facts.rows = ix->nplaces;
    return CBX_OK;
}

cbx_status cbx__row_index_load(cbx_row_index *ix, cbx_err *err)
{
    int64_t rows = 0, last_key = 0;
    cbx_status st = load_facts(ix, err);

    if (!st) st = cbx__index_number(ix->db, "SELECT count(*) FROM row4", NULL, &rows, err);
    if (!st) st = cbx__index_number(ix->db, "SELECT max(kid) FROM row4_key", NULL, &last_key, err);
    if (st) return st;
    ix->places = cbx_arena_calloc(&ix->loaded, (size_t)rows, sizeof *ix->places);
    ix->keys = cbx_arena_calloc(&ix->loaded, (size_t)last_key + 1, sizeof *ix->keys);
    if (!ix->places || !ix->keys) return cbx_fail_nomem(err, "the index of rows");
    st = load_places(ix, err);
    if (!st) st = load_keys(ix, err);
    return st ? st : group_places(ix, err);
}

const cbx_row_index_facts *cbx_row_index_facts_of(const cbx_row_index *ix) { return &ix->facts; }

size_t cbx_row_index_count(const cbx_row_index *ix) { return ix->nseries; }

const cbx_row_series *cbx_row_index_series(const cbx_row_index *ix, size_t i)
{
    return i < ix->nseries ? &ix->series[i].series : NULL;
}

/* --- rows from their files --- */

typedef struct wanted {
    const cbx__row_place *place;
    size_t order;  /* in the result */
    cbx_json *row; /* owned until it is handed over */
} wanted;

static int by_place(const void *a, const void *b)
{
    return compare_places(((const wanted *)a)->place, ((const wanted *)b)->place);
}

CBX_BY(by_order, wanted, order)

typedef CBX_LIST(char) line_buffer;

/* The row of one place; *out stays NULL if the file is not what it was. */
static cbx_status read_place(cbx_row_index *ix, int fd, const cbx__row_place *p, cbx_row_extent extent, line_buffer *b,
                             cbx_json **out, cbx_err *err)
{
    size_t n = (size_t)p->length;
    CBX_OWNED(cbx_json) *row = NULL;
    char *text;

    /* capacity for a line and its reduced form */
    if (!cbx_list_reserve(cbx_ctx_allocator(ix->ctx), b, 2 * n + 1)) return cbx_fail_nomem(err, "the index of rows");
    text = b->items;
    if (!cbx__read_all(fd, text, n, p->offset)) return CBX_OK;
    text[n] = 0;
    if (extent == CBX_ROWS_LEAN) {
        text = b->items + n + 1;
        n = cbx__rows_lean_line(b->items, n, text);
    }
    if (cbx_json_parse(text, n, ix->files[p->rank].path, &row, NULL) == CBX_ENOMEM)
        return cbx_fail_nomem(err, "the index of rows");
    if (row && strcmp(cbx_json_get_string(row, "run_id", ""), p->past.run_id) == 0) *out = cbx_json_ref(row);
    return CBX_OK;
}

/* Reads in the order of files, so that each is opened once; *stale: some row is not where it
 * was. */
static cbx_status read_wanted(cbx_row_index *ix, cbx_row_extent extent, wanted *w, size_t n, bool *stale, cbx_err *err)
{
    line_buffer buffer = { 0 }; /* kept from one row to the next */
    size_t open_rank = SIZE_MAX;
    cbx_status st = CBX_OK;
    int fd = -1;

    qsort(w, n, sizeof *w, by_place);
    *stale = false;
    for (size_t i = 0; !st && i < n; i++) {
        const cbx__row_place *p = w[i].place;
        if (p->kept && extent == CBX_ROWS_LEAN) {
            w[i].row = cbx_json_ref(p->kept);
            continue;
        }
        if (p->rank != open_rank) {
            if (fd >= 0) close(fd);
            fd = open(ix->files[p->rank].path, O_RDONLY | O_CLOEXEC);
            open_rank = p->rank;
        }
        if (fd >= 0) st = read_place(ix, fd, p, extent, &buffer, &w[i].row, err);
        *stale = *stale || !w[i].row;
    }
    if (fd >= 0) close(fd);
    cbx_list_clear(cbx_ctx_allocator(ix->ctx), &buffer);
    qsort(w, n, sizeof *w, by_order);
    return st;
}

typedef enum choice { SHOWN, ATTEMPTS, ALL } choice;

/* The rows of a choice, of a case (NULL: all); out has space for each place of the index. */
static size_t choose(const cbx_row_index *ix, choice which, const char *case_name, wanted *out)
{
    size_t n = 0, length = case_name ? strlen(case_name) : 0;

    for (size_t i = 0; which != ALL && i < ix->nseries; i++, n++)
        out[n] = (wanted){ which == SHOWN ? ix->series[i].shown : ix->series[i].attempt, n, NULL };
    for (size_t i = 0; which == ALL && i < ix->nplaces; i++) {
        const cbx__row_place *p = &ix->places[i];
        const char *key = ix->keys[p->kid];
        if (p->duplicate || (case_name && (strncmp(key, case_name, length) || key[length] != '\x1f'))) continue;
        out[n] = (wanted){ p, n, NULL };
        n++;
    }
    return n;
}

/* Twice, if need be: a store may be written or pruned while it is read. */
static cbx_status fetch(cbx_row_index *ix, choice which, const char *case_name, cbx_row_extent extent, cbx_rows *rows,
                        cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ix->ctx);
    size_t count = rows->count;
    cbx_status st = CBX_OK;
    bool stale = true;

    for (int turn = 0; !st && stale && turn < 2; turn++) {
        size_t n, capacity;
        wanted *w;
        if (turn) st = cbx__row_index_refresh(ix, err);
        if (st) break;
        capacity = ix->nplaces + 1;
        w = cbx_mem_calloc(al, capacity, sizeof *w);
        if (!w) return cbx_fail_nomem(err, "the index of rows");
        n = choose(ix, which, case_name, w);
        st = read_wanted(ix, extent, w, n, &stale, err);
        for (size_t i = 0; i < n; i++) {
            if (!st && w[i].row && (!stale || turn))
                st = cbx_rows_add_json(rows, w[i].row, ix->files[w[i].place->rank].path, err);
            cbx_json_unref(w[i].row);
        }
        while (st && rows->count > count) cbx_json_unref(rows->rows[--rows->count].json);
        cbx_mem_free(al, w, capacity * sizeof *w);
    }
    return st;
}

cbx_status cbx_row_index_latest(cbx_row_index *ix, cbx_row_extent extent, cbx_rows *rows, size_t *newer_failed,
                                cbx_err *err)
{
    cbx_status st = fetch(ix, SHOWN, NULL, extent, rows, err);
    size_t failed = 0;

    for (size_t i = 0; i < ix->nseries; i++) failed += ix->series[i].series.newer_failed;
    if (!st && newer_failed) *newer_failed = failed;
    return st;
}

cbx_status cbx_row_index_attempts(cbx_row_index *ix, cbx_row_extent extent, cbx_rows *rows, cbx_err *err)
{
    return fetch(ix, ATTEMPTS, NULL, extent, rows, err);
}

cbx_status cbx_row_index_rows(cbx_row_index *ix, const char *case_name, cbx_row_extent extent, cbx_rows *rows,
                              cbx_err *err)
{
    return fetch(ix, ALL, case_name, extent, rows, err);
}
