/* The row index: the same answers as reading everything, over files that change, tear, vanish or
 * are listed twice; pruning. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/base/file.h"
#include "calibrax/storage/row_index.h"
#include "place.h"

typedef cbx_test_place state;

/* One row of run `run`; pad: bytes of provenance. */
static void put_line(FILE *f, int run, const char *baseline, const char *machine, const char *status, double median,
                     int version, int pad)
{
    fprintf(f,
            "{\"run_id\":\"20260101T0000%02d.000000+0000__abcdef0\",\"case\":\"c\",\"baseline\":\"%s\",\"platform\":"
            "\"cpu\","
            "\"framework\":\"native\",\"param_point\":{\"n\":4},\"status\":\"%s\",",
            run, baseline, status);
    if (!isnan(median))
        fprintf(
            f,
            "\"metrics\":{\"steady_time\":{\"min\":%g,\"median\":%g,\"n\":3,\"unit\":\"s\",\"lower\":%g,\"upper\":%g,"
            "\"level\":0.95,\"launches\":[%g]}},",
            median, median, 0.9 * median, 1.1 * median, median);
    fprintf(f, "\"provenance\":{\"pad\":\"%*s\"},\"schema_version\":%d,\"machine\":\"%s\"}\n", pad, "", version,
            machine);
}

static FILE *run_file(const state *s, int run, const char *mode)
{
    char path[200];
    FILE *f;

    snprintf(path, sizeof path, "%s/store", s->folder);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/store/c", s->folder);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/store/c/20260101T0000%02d.000000+0000__abcdef0.jsonl", s->folder, run);
    f = fopen(path, mode);
    CHECK(f != NULL, path);
    return f;
}

/* Three runs of two baselines on two machines; run 2 of "tiled" failed, and its file is torn,
 * doubled and of the future. */
static void fill(const state *s, int pad)
{
    for (int run = 0; run < 3; run++) {
        FILE *f = run_file(s, run, "w");
        put_line(f, run, "stream", "m1", "ok", 1 + 0.1 * run, 1, pad);
        put_line(f, run, "tiled", "m1", run == 2 ? "crashed" : "ok", run == 2 ? NAN : 0.5 + 0.1 * run, 1, pad);
        if (run == 1) put_line(f, run, "stream", "m2", "ok", 3, 3, pad);
        if (run == 2) {
            put_line(f, run, "stream", "m1", "ok", 77, 1, pad); /* a second time */
            fputs("{\"run_id\":\"2026", f);
        }
        fclose(f);
    }
}

static cbx_row_index *open_store(const state *s)
{
    char path[100];
    const char *paths[] = { path };
    cbx_row_index *ix = NULL;
    cbx_err err = CBX_ERR_INIT;

    snprintf(path, sizeof path, "%s/store", s->folder);
    CHECK_OK(cbx_row_index_open(s->ctx, paths, 1, &ix, &err), &err, "the store opens");
    return ix;
}

/* The rule, read off its words: at the place of the first row of each key its newest good one, else
 * its newest. */
static size_t latest_of_all(const cbx_rows *all, const cbx_row **kept, size_t *failed)
{
    const char **keys = calloc(all->count + 1, sizeof *keys);
    cbx_arena arena;
    size_t n = 0;

    cbx_arena_init(&arena, cbx_allocator_default());
    for (size_t i = 0; i < all->count; i++) keys[i] = cbx_row_key(&arena, &all->rows[i]);
    for (size_t i = 0; i < all->count; i++) {
        const cbx_row *newest = &all->rows[i], *good = NULL;
        size_t first = 0;
        while (strcmp(keys[first], keys[i]) != 0) first++;
        if (first < i) continue;
        for (size_t j = i; j < all->count; j++) {
            const cbx_row *r = &all->rows[j];
            if (strcmp(keys[j], keys[i]) != 0) continue;
            if (strcmp(r->run_id, newest->run_id) > 0) newest = r;
            if (cbx_row_is_good(r) && (!good || strcmp(r->run_id, good->run_id) > 0)) good = r;
        }
        *failed += good && good != newest;
        kept[n++] = good ? good : newest;
    }
    cbx_arena_clear(&arena);
    free(keys);
    return n;
}

static void check_latest(const state *s, cbx_row_index *ix, const char *why)
{
    char path[100];
    cbx_rows all, some;
    size_t failed = 9, failed_all = 0, count;
    const cbx_row **kept;
    cbx_err err = CBX_ERR_INIT;

    cbx_rows_init(&all, cbx_ctx_allocator(s->ctx));
    cbx_rows_init(&some, cbx_ctx_allocator(s->ctx));
    snprintf(path, sizeof path, "%s/store", s->folder);
    CHECK_OK(cbx_rows_read(s->ctx, path, &all, &err), &err, why);
    kept = calloc(all.count + 1, sizeof *kept);
    count = latest_of_all(&all, kept, &failed_all);
    CHECK_OK(cbx_row_index_latest(ix, CBX_ROWS_WHOLE, &some, &failed, &err), &err, why);
    CHECK_INT(some.count, count, why);
    CHECK_INT(failed, failed_all, why);
    for (size_t i = 0; i < count; i++) {
        CHECK(cbx_json_equal(kept[i]->json, some.rows[i].json), why);
        CHECK_STR(some.rows[i].run_id, kept[i]->run_id, why);
    }
    free(kept);
    cbx_rows_clear(&all);
    cbx_rows_clear(&some);
}

TEST(same_as_reading_everything)
{
    state *s = *test_state;
    const cbx_row_index_facts *facts;
    const cbx_row_series *one;
    cbx_row_index *ix;
    cbx_rows rows;
    cbx_err err = CBX_ERR_INIT;

    fill(s, 1);
    ix = open_store(s);
    check_latest(s, ix, "small store");
    facts = cbx_row_index_facts_of(ix);
    CHECK_INT(facts->files, 3, "files");
    CHECK_INT(facts->rows, 8, "rows");
    CHECK_INT(facts->duplicates, 1, "a row that is listed twice");
    CHECK_INT(facts->damaged, 1, "a torn line");
    CHECK(strstr(facts->first_damage, "line 4") != NULL, facts->first_damage);
    CHECK_INT(facts->newer, 1, "a row of the future");
    CHECK_INT(cbx_row_index_count(ix), 3, "stream and tiled on m1, stream on m2");
    one = cbx_row_index_series(ix, 1);
    CHECK_INT(one->npast, 3, "tiled in three runs");
    CHECK(one->newer_failed && !one->past[2].good && isnan(one->past[2].median_s), "the newest failed");
    CHECK(one->past[1].good && fabs(one->past[1].median_s - 0.6) < 1e-12, "the newest good one");
    CHECK(fabs(one->past[1].upper_s - 0.66) < 1e-12, "with its interval");
    cbx_rows_init(&rows, cbx_ctx_allocator(s->ctx));
    CHECK_OK(cbx_row_index_rows(ix, "c", CBX_ROWS_WHOLE, &rows, &err), &err, "all rows");
    CHECK_INT(rows.count, 7, "without the double");
    CHECK_OK(cbx_row_index_rows(ix, "other", CBX_ROWS_LEAN, &rows, &err), &err, "rows of no case");
    CHECK_INT(rows.count, 7, "none more");
    cbx_rows_clear(&rows);
    cbx_row_index_close(ix);
}

static bool on_disk(const state *s)
{
    char path[100];
    snprintf(path, sizeof path, "%s/store/index.sqlite", s->folder);
    return cbx_path_exists(path);
}

TEST(kept_on_disk_and_renewed)
{
    state *s = *test_state;
    char path[200];
    cbx_row_index *ix;
    FILE *f;

    fill(s, 700000); /* 5 MB */
    ix = open_store(s);
    check_latest(s, ix, "rebuilt");
    cbx_row_index_close(ix);
    CHECK(on_disk(s), "an index that pays is kept");
    ix = open_store(s);
    check_latest(s, ix, "as it was kept");
    cbx_row_index_close(ix);

    f = run_file(s, 3, "w");
    put_line(f, 3, "tiled", "m1", "ok", 0.9, 1, 1);
    put_line(f, 3, "new", "m1", "ok", 0.9, 1, 1);
    fclose(f);
    f = run_file(s, 0, "a");
    put_line(f, 0, "late", "m1", "ok", 0.9, 1, 1);
    fclose(f);
    ix = open_store(s);
    check_latest(s, ix, "one file more, another longer");
    CHECK_INT(cbx_row_index_count(ix), 5, "two series more");
    cbx_row_index_close(ix);

    snprintf(path, sizeof path, "%s/store/c/20260101T000003.000000+0000__abcdef0.jsonl", s->folder);
    unlink(path);
    ix = open_store(s);
    check_latest(s, ix, "one file less");
    cbx_row_index_close(ix);

    cbx_test_put("this is no database, and it is long enough not to be taken for one", "%s/store/index.sqlite",
                 s->folder);
    ix = open_store(s);
    check_latest(s, ix, "the index was overwritten");
    cbx_row_index_close(ix);
}

TEST(changed_while_open)
{
    state *s = *test_state;
    cbx_row_index *ix;
    FILE *f;

    fill(s, 1);
    ix = open_store(s);
    f = run_file(s, 1, "w"); /* other offsets, another answer */
    put_line(f, 1, "tiled", "m1", "ok", 0.25, 1, 40);
    fclose(f);
    f = run_file(s, 4, "w");
    put_line(f, 4, "stream", "m1", "ok", 5, 1, 1);
    fclose(f);
    check_latest(s, ix, "looked up again");
    cbx_row_index_close(ix);
}

TEST(several_paths_and_faults)
{
    state *s = *test_state;
    char store[100], file[200], none[100];
    const char *paths[] = { file, store }, *missing[] = { none };
    cbx_row_index *ix = NULL;
    cbx_err err = CBX_ERR_INIT;

    fill(s, 1);
    snprintf(store, sizeof store, "%s/store", s->folder);
    snprintf(file, sizeof file, "%s/store/c/20260101T000000.000000+0000__abcdef0.jsonl", s->folder);
    snprintf(none, sizeof none, "%s/none.jsonl", s->folder);
    CHECK_OK(cbx_row_index_open(s->ctx, paths, 2, &ix, &err), &err, "a file and its folder");
    CHECK_INT(cbx_row_index_facts_of(ix)->duplicates, 3, "the file's rows are listed twice, too");
    CHECK_INT(cbx_row_index_count(ix), 3, "series");
    cbx_row_index_close(ix);
    CHECK_STATUS(cbx_row_index_open(s->ctx, missing, 1, &ix, &err), CBX_ENOENT, "no such file");
    CHECK(strstr(err.message, "none.jsonl") != NULL, err.message);
    CHECK_STATUS(cbx_row_index_open(s->ctx, missing, 0, &ix, &err), CBX_EINVAL, "no path");
}

static cbx_status open_and_read(cbx_ctx *ctx, void *user)
{
    const char *paths[] = { user };
    cbx_row_index *ix = NULL;
    cbx_rows rows;
    cbx_status st = cbx_row_index_open(ctx, paths, 1, &ix, NULL);

    cbx_rows_init(&rows, cbx_ctx_allocator(ctx));
    if (!st) st = cbx_row_index_latest(ix, CBX_ROWS_WHOLE, &rows, NULL, NULL);
    cbx_rows_clear(&rows);
    cbx_row_index_close(ix);
    return st;
}

TEST(memory)
{
    state *s = *test_state;
    char store[100];

    fill(s, 1);
    snprintf(store, sizeof store, "%s/store", s->folder);
    CHECK_GT(cbx_test_fail_each(open_and_read, store, "the row index"), 10, "allocations made to fail");
}

TEST(pruning)
{
    state *s = *test_state;
    char store[200];
    cbx_row_index *ix;
    size_t removed = 9;
    cbx_err err = CBX_ERR_INIT;

    fill(s, 1);
    cbx_test_put("", "%s/store/c/20260101T000000.000000+0000__abcdef0.raw.jsonl", s->folder);
    snprintf(store, sizeof store, "%s/store", s->folder);
    CHECK_OK(cbx_row_store_prune(s->ctx, store, "c", 0, &removed, &err), &err, "keep 0");
    CHECK_INT(removed, 0, "0 keeps all");
    CHECK_OK(cbx_row_store_prune(s->ctx, store, "none", 1, &removed, &err), &err, "a missing case");
    CHECK_OK(cbx_row_store_prune(s->ctx, store, "c", 1, &removed, &err), &err, "keep 1");
    CHECK_INT(removed, 2, "two older runs went");
    snprintf(store, sizeof store, "%s/store/c/20260101T000000.000000+0000__abcdef0.raw.jsonl", s->folder);
    CHECK(!cbx_path_exists(store), "with their raw launches");
    ix = open_store(s);
    CHECK_INT(cbx_row_index_facts_of(ix)->files, 1, "the newest stays");
    check_latest(s, ix, "after pruning");
    cbx_row_index_close(ix);
    CHECK_STATUS(cbx_row_store_prune(s->ctx, "x", "../c", 1, NULL, &err), CBX_EINVAL, "no safe name");
}

TESTS(.setup = cbx_test_place_open, .teardown = cbx_test_place_close)
