/*
 * Keeping the row index: which files are there, what each line of them is.
 *
 * Workload: 100,000 rows of 5 kB in 1,000 files, of which none or one is new.  A refresh without
 * news is one stat a file.
 */
#include "calibrax/storage/row_index.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/file_text.h"
#include "calibrax/base/idioms.h"
#include "calibrax/storage/row_index_internal.h"
#include "calibrax/storage/row_table.h"

#define DISK_BYTES (4 << 20)  /* an index on disk pays from here on */
#define KEEP_BYTES (64 << 20) /* rows of an index in memory are kept up to here */

/* The number in the names is the version of these tables. */
static const char tables[] =
    "BEGIN IMMEDIATE;"
    "DROP TABLE IF EXISTS row3; DROP TABLE IF EXISTS row3_key; DROP TABLE IF EXISTS row3_file;" /* what came before */
    "CREATE TABLE IF NOT EXISTS row4_file(fid INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, size INT, ino INT,"
    " mtime INT, ctime INT, damaged INT, newer INT, first_damage TEXT);"
    "CREATE TABLE IF NOT EXISTS row4_key(kid INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL);"
    "CREATE TABLE IF NOT EXISTS row4(fid INT, off INT, len INT, kid INT, run_id TEXT, outcome INT,"
    " median REAL, lower REAL, upper REAL, compile REAL, memory REAL, error REAL, energy REAL,"
    " gflop REAL, gbyte REAL, PRIMARY KEY(fid, off)) WITHOUT ROWID;"
    "COMMIT";

/* --- the files --- */

/* The files of a source: itself, or what is below it. */
static cbx_status list_source(cbx_row_index *ix, size_t source, cbx_err *err)
{
    const char *root = ix->paths[source], *const *paths = &root;
    size_t n = 1;
    cbx_status st = CBX_OK;

    if (cbx_path_is_folder(root)) st = cbx__rows_list(ix->ctx, root, &ix->loaded, &paths, &n, err);
    if (st) return st;
    if (!cbx_grow(CBX_IN_ARENA(&ix->loaded), &ix->files, &ix->capacity, ix->nfiles + n, sizeof *ix->files))
        return cbx_fail_nomem(err, "the index of rows");
    for (size_t k = 0; k < n; k++) {
        const char *below = paths[k] + strlen(root);
        cbx__row_file *f = &ix->files[ix->nfiles];
        *f = (cbx__row_file){ .path = paths[k] };
        if (!cbx__index_stamp(AT_FDCWD, f->path, &f->file) && *below)
            continue; /* removed since; a missing source is reported when it is read */
        f->file.name = cbx_arena_printf(&ix->loaded, "%zu/%s", source, below + strspn(below, "/"));
        if (!f->file.name) return cbx_fail_nomem(err, "the index of rows");
        ix->nfiles++;
    }
    return CBX_OK;
}

/* --- one file into the database --- */

typedef struct writer {
    cbx_row_index *ix;
    cbx_arena scratch;
    cbx__select put_file, put_row, put_key, find_key;
} writer;

static void writer_init(writer *w, cbx_row_index *ix)
{
    *w = (writer){
        .ix = ix,
        .put_file = cbx__select_of(ix->db, "INSERT INTO row4_file(name,size,ino,mtime,ctime,damaged,newer,first_damage)"
                                           " VALUES(?,?,?,?,?,?,?,?)"),
        .put_row = cbx__select_of(ix->db, "INSERT INTO row4 VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"),
        .put_key = cbx__select_of(ix->db, "INSERT INTO row4_key(key) VALUES(?) ON CONFLICT DO NOTHING"),
        .find_key = cbx__select_of(ix->db, "SELECT kid FROM row4_key WHERE key = ?"),
    };
    cbx_arena_init(&w->scratch, cbx_ctx_allocator(ix->ctx));
}

static void writer_clear(writer *w)
{
    cbx__select *const all[] = { &w->put_file, &w->put_row, &w->put_key, &w->find_key };

    for (size_t i = 0; i < CBX_LEN(all); i++) cbx__select_end(all[i], CBX_OK, NULL);
    cbx_arena_clear(&w->scratch);
}

static void bind_key(cbx__select *s, const void *key) { cbx__bind_texts(s, key); }

static cbx_status put_row(writer *w, int64_t fid, int64_t offset, int64_t length, const cbx_row *row, cbx_err *err)
{
    const char *key = cbx_row_key(&w->scratch, row);
    double memory = isnan(row->memory.over.value) ? row->host_rss_increase_mb : row->memory.over.value;
    cbx__select *s = &w->put_row;
    int64_t kid = 0;
    cbx_status st = key ? cbx__select_find_or_put(&w->find_key, &w->put_key, bind_key, key, &kid, err)
                        : cbx_fail_nomem(err, "the index of rows");

    if (st) return st;
    cbx__bind_ints(s, fid, offset, length, kid);
    cbx__bind_texts(s, row->run_id);
    cbx__bind_ints(s, cbx_row_is_good(row) ? ROW_GOOD : cbx_row_is_attempt(row) ? ROW_FAILED : ROW_SKIPPED);
    cbx__bind_doubles(s, row->median_s, row->steady.lower, row->steady.upper, row->compile_s, memory, row->rel_to_tol,
                      row->energy.over.value, row->gflop_per_s, row->gbyte_per_s);
    return cbx__select_put(s, err);
}

/* Rows and damage of one file, before its number is known. */
typedef struct reading {
    cbx_rows rows;
    int64_t *offsets, *lengths; /* of the rows, in the scratch arena */
    size_t newer;
} reading;

static cbx_status read_lines(writer *w, const cbx__row_file *f, const char *text, size_t len, reading *r, cbx_err *err)
{
    size_t nlines = 1, number = 0, n;
    const char *line;
    char *lean;
    cbx_status st = CBX_OK;

    for (const char *c = text; (c = memchr(c, '\n', (size_t)(text + len - c))) != NULL; c++) nlines++;
    lean = cbx_arena_alloc(&w->scratch, len + 1);
    r->offsets = cbx_arena_calloc(&w->scratch, 2 * nlines, sizeof *r->offsets);
    if (!r->offsets || !lean) return cbx_fail_nomem(err, "the index of rows");
    r->lengths = r->offsets + nlines;
    for (const char *at = text; !st && cbx__rows_next_line(&at, text + len, &line, &n);) {
        size_t before = r->rows.count;
        st = cbx__rows_read_line(&r->rows, lean, cbx__rows_lean_line(line, n, lean), f->path, ++number, err);
        if (r->rows.count == before) continue;
        r->offsets[before] = line - text;
        r->lengths[before] = (int64_t)n;
        r->newer += cbx_json_get_int(r->rows.rows[before].json, "schema_version", 0) > CBX_ROW_SCHEMA_VERSION;
    }
    return st;
}

static cbx_status put_file(writer *w, cbx__row_file *f, const reading *r, cbx_err *err)
{
    const cbx__stamp *stamp = &f->file.stamp;
    cbx_status st;

    cbx__bind_texts(&w->put_file, f->file.name);
    cbx__bind_ints(&w->put_file, stamp->size, stamp->ino, stamp->mtime_ns, stamp->ctime_ns, (int64_t)r->rows.damaged,
                   (int64_t)r->newer);
    cbx__bind_texts(&w->put_file, r->rows.first_damage);
    st = cbx__select_put(&w->put_file, err);
    f->file.id = cbx__index_last_row(w->ix->db);
    for (size_t i = 0; !st && i < r->rows.count; i++)
        st = put_row(w, f->file.id, r->offsets[i], r->lengths[i], &r->rows.rows[i], err);
    return st;
}

static bool is_source(const cbx__row_file *f) { return f->file.name[strlen(f->file.name) - 1] == '/'; }

void cbx__row_index_drop(cbx_row_index *ix)
{
    for (size_t i = 0; i < ix->nfiles; i++)
        while (ix->files[i].nkept) cbx_json_unref(ix->files[i].kept[--ix->files[i].nkept]);
}

/* A file below a folder that cannot be read is damage; one that was named is a failure. */
static cbx_status take_file(writer *w, cbx__row_file *f, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(w->ix->ctx);
    CBX_SCOPED(cbx_text, text, al);
    reading r = { .newer = 0 };
    cbx_err why = CBX_ERR_INIT;
    cbx_status st = CBX_OK;

    if (f->file.problem && !is_source(f)) /* a pipe may be a source */
        st = cbx_fail(&why, CBX_EIO, "'%s': %s", f->path, f->file.problem);
    else
        st = cbx__file_text(w->ix->ctx, f->path, 0, &text, &why);
    if (st == CBX_ENOMEM || (st && is_source(f))) return cbx_fail(err, st, "%s", why.message);
    if (st == CBX_ENOENT) return CBX_OK; /* removed since it was listed */
    cbx_rows_init(&r.rows, al);
    r.rows.damaged = st != CBX_OK;
    snprintf(r.rows.first_damage, sizeof r.rows.first_damage, "%s", st ? why.message : "");
    st = st ? CBX_OK : read_lines(w, f, text.data, text.len, &r, err);
    cbx_text_clear(&text);
    if (!st) st = put_file(w, f, &r, err);
    f->file.known = !st;
    if (!st && w->ix->keeps) { /* rows that were parsed once need not be read again */
        f->kept = cbx_arena_calloc(&w->ix->loaded, r.rows.count, sizeof *f->kept);
        if (!f->kept) st = cbx_fail_nomem(err, "the index of rows");
        for (; !st && f->nkept < r.rows.count; f->nkept++) f->kept[f->nkept] = cbx_json_ref(r.rows.rows[f->nkept].json);
    }
    cbx_rows_clear(&r.rows);
    cbx_arena_clear(&w->scratch);
    return st;
}

/* --- refresh --- */

static int by_name(const void *a, const void *b)
{
    return strcmp((*(cbx__index_file *const *)a)->name, (*(cbx__index_file *const *)b)->name);
}

static cbx_status take_files(void *user, bool gone, cbx_err *err)
{
    cbx_row_index *ix = user;
    CBX_SCOPED(writer, w, ix);
    cbx_status st = CBX_OK;

    (void)gone;
    for (size_t i = 0; !st && i < ix->nfiles; i++)
        if (!ix->files[i].file.known) st = take_file(&w, &ix->files[i], err);
    return st;
}

static cbx_status refresh(void *user, cbx__index *db, cbx_err *err)
{
    static const char *const forget[] = { "DELETE FROM row4 WHERE fid = ?1", "DELETE FROM row4_file WHERE fid = ?1",
                                          NULL };
    static const cbx__index_kind kind = { "row4_file", forget, take_files };
    cbx_row_index *ix = user;
    cbx__index_file **sorted = cbx_arena_calloc(&ix->loaded, ix->nfiles, sizeof *sorted);
    int64_t there;
    cbx_status st;

    ix->db = db;
    if (!sorted) return cbx_fail_nomem(err, "the index of rows");
    for (size_t k = 0; k < ix->nfiles; k++) sorted[k] = &ix->files[k].file;
    qsort(sorted, ix->nfiles, sizeof *sorted, by_name);
    st = cbx__index_number(db, "SELECT 1 FROM sqlite_master WHERE name = 'row4_file'", NULL, &there, err);
    if (!st && !there) st = cbx__index_run(db, tables, err);
    return st ? st : cbx__index_sync(db, &kind, sorted, ix->nfiles, ix, err);
}

/* On disk where that pays: one folder with so much in it. */
static const char *place_of(cbx_row_index *ix)
{
    const char *place = NULL;
    int64_t bytes = 0;

    for (size_t i = 0; i < ix->nfiles; i++) bytes += ix->files[i].file.stamp.size;
    if (ix->npaths == 1 && bytes >= DISK_BYTES && !is_source(&ix->files[0]))
        place = cbx_path_join(&ix->arena, ix->paths[0], "index.sqlite");
    ix->keeps = !place && bytes < KEEP_BYTES;
    return place;
}

cbx_status cbx__row_index_refresh(cbx_row_index *ix, cbx_err *err)
{
    cbx_status st = CBX_OK;

    cbx__row_index_drop(ix);
    cbx_arena_clear(&ix->loaded);
    ix->files = NULL;
    ix->nfiles = ix->capacity = ix->nplaces = ix->nseries = 0;
    for (size_t i = 0; !st && i < ix->npaths; i++) st = list_source(ix, i, err);
    if (!st) st = cbx__index_use(ix->ctx, ix->db ? NULL : place_of(ix), &ix->db, refresh, ix, err);
    return st ? st : cbx__row_index_load(ix, err);
}

cbx_status cbx_row_index_open(cbx_ctx *ctx, const char *const *paths, size_t npaths, cbx_row_index **out, cbx_err *err)
{
    cbx_row_index *ix;
    cbx_status st = CBX_OK;

    if (!npaths) return cbx_fail(err, CBX_EINVAL, "no file or folder of rows was named");
    ix = CBX_ARENA_OBJECT(cbx_row_index, cbx_ctx_allocator(ctx));
    if (!ix) return cbx_fail_nomem(err, "the index of rows");
    ix->ctx = ctx;
    cbx_arena_init(&ix->loaded, cbx_ctx_allocator(ctx));
    ix->paths = cbx_arena_calloc(&ix->arena, npaths, sizeof *ix->paths);
    for (; ix->paths && ix->npaths < npaths; ix->npaths++) {
        ix->paths[ix->npaths] = cbx_arena_strdup(&ix->arena, paths[ix->npaths]);
        if (!ix->paths[ix->npaths]) break;
    }
    st = ix->npaths < npaths ? cbx_fail_nomem(err, "the index of rows") : cbx__row_index_refresh(ix, err);
    return CBX_FINISH(st, *out = ix, cbx_row_index_close(ix));
}

void cbx_row_index_close(cbx_row_index *ix)
{
    if (!ix) return;
    cbx__index_close(ix->db);
    cbx__row_index_drop(ix);
    cbx_arena_clear(&ix->loaded);
    cbx_arena_end(&ix->arena);
}
