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
#include <sys/stat.h>

#include "calibrax/base/file.h"
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

typedef struct listing {
    const char *const *paths;
    size_t count, skip; /* bytes of a path before the part below its source */
} listing;

/* The files of one source: itself, or what is below it. */
static cbx_status list_source(cbx_row_index *ix, size_t i, listing *out, cbx_err *err)
{
    struct stat info;
    cbx_status st;

    if (stat(ix->paths[i], &info) == 0 && S_ISDIR(info.st_mode)) {
        st = cbx__rows_list(ix->ctx, ix->paths[i], &ix->loaded, &out->paths, &out->count, err);
        out->skip = strlen(ix->paths[i]);
        return st;
    }
    *out = (listing){ &ix->paths[i], 1, strlen(ix->paths[i]) };
    return CBX_OK;
}

static cbx_status add_files(cbx_row_index *ix, size_t source, const listing *l, cbx_err *err)
{
    for (size_t k = 0; k < l->count; k++) {
        cbx__row_file *f = &ix->files[ix->nfiles];
        const char *below = l->paths[k] + l->skip;
        if (!cbx__index_stamp(AT_FDCWD, l->paths[k], &f->file) && *below)
            continue; /* removed since; a missing source is reported when it is read */
        f->path = l->paths[k];
        f->file.name = cbx_arena_printf(&ix->loaded, "%zu/%s", source, below + strspn(below, "/"));
        if (!f->file.name) return cbx_fail_nomem(err, "the index of rows");
        ix->nfiles++;
    }
    return CBX_OK;
}

static cbx_status list_files(cbx_row_index *ix, cbx_err *err)
{
    listing *lists = cbx_arena_calloc(&ix->loaded, ix->npaths, sizeof *lists);
    size_t n = 0;
    cbx_status st = lists ? CBX_OK : cbx_fail_nomem(err, "the index of rows");

    for (size_t i = 0; !st && i < ix->npaths; i++) {
        st = list_source(ix, i, &lists[i], err);
        n += st ? 0 : lists[i].count;
    }
    if (st) return st;
    ix->files = cbx_arena_calloc(&ix->loaded, n, sizeof *ix->files);
    ix->nfiles = 0;
    if (!ix->files) return cbx_fail_nomem(err, "the index of rows");
    for (size_t i = 0; !st && i < ix->npaths; i++) st = add_files(ix, i, &lists[i], err);
    return st;
}

/* --- one file into the database --- */

typedef struct writer {
    cbx_row_index *ix;
    cbx_arena scratch;
    cbx__select *put_file, *put_row, *put_key, *find_key;
} writer;

static cbx_status writer_open(writer *w, cbx_row_index *ix, cbx_err *err)
{
    static const char *const sql[] = {
        "INSERT INTO row4_file(name,size,ino,mtime,ctime,damaged,newer,first_damage) VALUES(?,?,?,?,?,?,?,?)",
        "INSERT INTO row4 VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        "INSERT INTO row4_key(key) VALUES(?) ON CONFLICT DO NOTHING", "SELECT kid FROM row4_key WHERE key = ?"
    };
    cbx__select **const all[] = { &w->put_file, &w->put_row, &w->put_key, &w->find_key };
    cbx_status st = CBX_OK;

    *w = (writer){ .ix = ix };
    cbx_arena_init(&w->scratch, cbx_ctx_allocator(ix->ctx));
    for (size_t i = 0; !st && i < CBX_LEN(all); i++) st = cbx__select_open(ix->db, sql[i], all[i], err);
    return st;
}

static void bind_key(cbx__select *s, const void *key) { cbx__select_bind_text(s, key); }

static cbx_status put_row(writer *w, int64_t fid, int64_t offset, int64_t length, const cbx_row *row, cbx_err *err)
{
    const char *key = cbx_row_key(&w->scratch, row);
    cbx__select *s = w->put_row;
    int64_t kid = 0;
    cbx_status st = key ? cbx__select_find_or_put(w->find_key, w->put_key, bind_key, key, &kid, err)
                        : cbx_fail_nomem(err, "the index of rows");

    if (st) return st;
    cbx__select_bind_int(s, fid);
    cbx__select_bind_int(s, offset);
    cbx__select_bind_int(s, length);
    cbx__select_bind_int(s, kid);
    cbx__select_bind_text(s, row->run_id);
    cbx__select_bind_int(s, cbx_row_is_good(row) ? ROW_GOOD : cbx_row_is_attempt(row) ? ROW_FAILED : ROW_SKIPPED);
    cbx__select_bind_double(s, row->median_s);
    cbx__select_bind_double(s, row->steady.lower);
    cbx__select_bind_double(s, row->steady.upper);
    cbx__select_bind_double(s, row->compile_s);
    cbx__select_bind_double(s, isnan(row->memory.over.value) ? row->host_rss_increase_mb : row->memory.over.value);
    cbx__select_bind_double(s, row->rel_to_tol);
    cbx__select_bind_double(s, row->energy.over.value);
    cbx__select_bind_double(s, row->gflop_per_s);
    cbx__select_bind_double(s, row->gbyte_per_s);
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
    size_t nlines = 1, number = 0;
    char *lean;
    cbx_status st = CBX_OK;

    for (const char *c = text; (c = memchr(c, '\n', (size_t)(text + len - c))) != NULL; c++) nlines++;
    lean = cbx_arena_alloc(&w->scratch, len + 1);
    r->offsets = cbx_arena_calloc(&w->scratch, 2 * nlines, sizeof *r->offsets);
    if (!r->offsets || !lean) return cbx_fail_nomem(err, "the index of rows");
    r->lengths = r->offsets + nlines;
    for (const char *line = text, *end = text + len; line < end && !st;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line)), *stop = newline ? newline : end;
        size_t before = r->rows.count, n = cbx__rows_lean_line(line, (size_t)(stop - line), lean);
        st = cbx__rows_read_line(&r->rows, lean, n, f->path, ++number, err);
        if (r->rows.count > before) {
            r->offsets[before] = line - text;
            r->lengths[before] = stop - line;
            r->newer += cbx_json_get_int(r->rows.rows[before].json, "schema_version", 0) > CBX_ROW_SCHEMA_VERSION;
        }
        line = newline ? newline + 1 : end;
    }
    return st;
}

static cbx_status put_file(writer *w, cbx__row_file *f, const reading *r, cbx_err *err)
{
    const int64_t numbers[] = { f->file.stamp.size,     f->file.stamp.ino,        f->file.stamp.mtime_ns,
                                f->file.stamp.ctime_ns, (int64_t)r->rows.damaged, (int64_t)r->newer };
    int64_t fid;
    cbx_status st;

    cbx__select_bind_text(w->put_file, f->file.name);
    for (size_t i = 0; i < CBX_LEN(numbers); i++) cbx__select_bind_int(w->put_file, numbers[i]);
    cbx__select_bind_text(w->put_file, r->rows.first_damage);
    st = cbx__select_put(w->put_file, err);
    fid = f->file.id = cbx__index_last_row(w->ix->db);
    for (size_t i = 0; !st && i < r->rows.count; i++)
        st = put_row(w, fid, r->offsets[i], r->lengths[i], &r->rows.rows[i], err);
    return st;
}

static bool is_source(const cbx__row_file *f) { return f->file.name[strlen(f->file.name) - 1] == '/'; }

/* Rows that were parsed once need not be read again. */
static cbx_status keep_rows(writer *w, cbx__row_file *f, const cbx_rows *rows, cbx_err *err)
{
    if (!w->ix->keeps) return CBX_OK;
    f->kept = cbx_arena_calloc(&w->ix->loaded, rows->count, sizeof *f->kept);
    if (!f->kept) return cbx_fail_nomem(err, "the index of rows");
    for (; f->nkept < rows->count; f->nkept++) f->kept[f->nkept] = cbx_json_ref(rows->rows[f->nkept].json);
    return CBX_OK;
}

void cbx__row_index_drop(cbx_row_index *ix)
{
    for (size_t i = 0; i < ix->nfiles; i++)
        while (ix->files[i].nkept) cbx_json_unref(ix->files[i].kept[--ix->files[i].nkept]);
}

/* A file below a folder that cannot be read is damage; one that was named is a failure. */
static cbx_status take_file(writer *w, cbx__row_file *f, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(w->ix->ctx);
    reading r = { .newer = 0 };
    cbx_err why = CBX_ERR_INIT;
    char *text = NULL;
    size_t len = 0;
    cbx_status st = CBX_OK;

    if (f->file.problem && !is_source(f)) /* a pipe may be a source */
        st = cbx_fail(&why, CBX_EIO, "'%s': %s", f->path, f->file.problem);
    else
        st = cbx_file_read(w->ix->ctx, f->path, 0, &text, &len, &why);
    if (st == CBX_ENOMEM || (st && is_source(f))) return cbx_fail(err, st, "%s", why.message);
    if (st == CBX_ENOENT) return CBX_OK; /* removed since it was listed */
    cbx_rows_init(&r.rows, al);
    if (st) {
        r.rows.damaged = 1;
        snprintf(r.rows.first_damage, sizeof r.rows.first_damage, "%s", why.message);
        st = CBX_OK;
    } else {
        st = read_lines(w, f, text, len, &r, err);
        cbx_mem_free(al, text, len + 1);
    }
    if (!st) st = put_file(w, f, &r, err);
    f->file.known = !st;
    if (!st) st = keep_rows(w, f, &r.rows, err);
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
    writer w = { 0 };
    cbx_status st = writer_open(&w, ix, err);

    (void)gone;
    for (size_t i = 0; !st && i < ix->nfiles; i++)
        if (!ix->files[i].file.known) st = take_file(&w, &ix->files[i], err);
    cbx__select_close(w.put_file, NULL);
    cbx__select_close(w.put_row, NULL);
    cbx__select_close(w.put_key, NULL);
    cbx__select_close(w.find_key, NULL);
    cbx_arena_clear(&w.scratch);
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
    cbx_status st;

    cbx__row_index_drop(ix);
    cbx_arena_clear(&ix->loaded);
    ix->nfiles = ix->nplaces = ix->nseries = 0;
    st = list_files(ix, err);
    if (!st) st = cbx__index_use(ix->ctx, ix->db ? NULL : place_of(ix), &ix->db, refresh, ix, err);
    return st ? st : cbx__row_index_load(ix, err);
}

cbx_status cbx_row_index_open(cbx_ctx *ctx, const char *const *paths, size_t npaths, cbx_row_index **out, cbx_err *err)
{
    cbx_row_index *ix;
    cbx_status st = CBX_OK;

    if (!npaths) return cbx_fail(err, CBX_EINVAL, "no file or folder of rows was named");
    ix = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *ix);
    if (!ix) return cbx_fail_nomem(err, "the index of rows");
    ix->ctx = ctx;
    cbx_arena_init(&ix->arena, cbx_ctx_allocator(ctx));
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
    cbx_arena_clear(&ix->arena);
    cbx_mem_free(cbx_ctx_allocator(ix->ctx), ix, sizeof *ix);
}
