/* Files that take their places together: none before, all behind the commit, old ones with their
 * permissions; what cannot is told. */
#include "check.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/base/file_batch.h"
#include "fail_alloc.h"

static char folder[64];

static const char *path_of(size_t i, char buf[128])
{
    snprintf(buf, 128, "%s/f%zu", folder, i);
    return buf;
}

static cbx_status put(cbx_ctx *ctx, cbx__file_batch *b, const char *path, const char *text, cbx_err *err)
{
    cbx_replacement *r = NULL;
    cbx_status st = cbx_replacement_begin(ctx, path, &r, err);
    FILE *f;

    if (st) return st;
    f = fopen(cbx_replacement_path(r), "wbe");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0) fail_msg("cannot write '%s'", cbx_replacement_path(r));
    return cbx__file_batch_add(b, r, err);
}

static size_t files_in(cbx_ctx *ctx, const char *suffix)
{
    const char *const *names;
    cbx_err err = CBX_ERR_INIT;
    cbx_arena arena;
    size_t n = 0;

    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    CHECK_OK(cbx_dir_list(ctx, folder, suffix, &arena, &names, &n, &err), &err, folder);
    cbx_arena_clear(&arena);
    return n;
}

static void check_text(cbx_ctx *ctx, size_t i, const char *wanted)
{
    char buf[128], *data = NULL;
    cbx_err err = CBX_ERR_INIT;
    size_t len = 0;

    CHECK_OK(cbx_file_read(ctx, path_of(i, buf), 0, &data, &len, &err), &err, buf);
    CHECK_STR(data, wanted, buf);
    cbx_mem_free(cbx_ctx_allocator(ctx), data, len + 1);
}

TEST(places_are_taken_together)
{
    static const size_t sizes[] = { 0, 1, 7, 8, 100, CBX__BATCH_MAX, CBX__BATCH_MAX + 1 };
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    char buf[128];

    for (size_t k = 0; k < CBX_LEN(sizes); k++) {
        cbx__file_batch b = { .n = 0 };
        bool over = sizes[k] > CBX__BATCH_MAX;
        cbx_test_folder(folder);
        for (size_t i = 0; i < sizes[k]; i++) {
            CHECK_OK(put(ctx, &b, path_of(i, buf), "new", &err), &err, buf);
            CHECK(cbx__file_batch_has(&b, buf), "it waits");
        }
        CHECK(!cbx__file_batch_has(&b, folder), "nobody waits for that");
        CHECK_INT(b.n, over ? 1 : sizes[k], "one more commits those before it");
        CHECK_INT(files_in(ctx, ".tmp"), b.n, "each is a temporary");
        CHECK_OK(cbx__file_batch_commit(&b, &err), &err, "commit");
        CHECK_INT(b.n, 0, "none waits");
        CHECK_INT(files_in(ctx, NULL), sizes[k], "all have their places, and no temporary is left");
        if (sizes[k]) check_text(ctx, sizes[k] - 1, "new");
        cbx_test_folder_remove(folder);
    }
    cbx_ctx_free(ctx);
}

TEST(what_was_there)
{
    cbx__file_batch b = { .n = 0 };
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    struct stat info;
    char buf[128];

    cbx_test_folder(folder);
    CHECK_OK(cbx_file_write_atomic(ctx, path_of(3, buf), "old", 3, &err), &err, "old");
    CHECK_INT(chmod(buf, 0600), 0, "permissions");
    for (size_t i = 0; i < 10; i++) CHECK_OK(put(ctx, &b, path_of(i, buf), "new", &err), &err, buf);
    check_text(ctx, 3, "old");
    CHECK_OK(put(ctx, &b, path_of(3, buf), "newer", &err), &err, "the same again");
    CHECK_OK(cbx__file_batch_commit(&b, &err), &err, "commit");
    check_text(ctx, 3, "newer");
    CHECK(stat(path_of(3, buf), &info) == 0 && (info.st_mode & 0777) == 0600, "permissions stay");
    CHECK_OK(put(ctx, &b, path_of(3, buf), "thrown away", &err), &err, "thrown away");
    cbx__file_batch_clear(&b);
    check_text(ctx, 3, "newer");
    CHECK_INT(files_in(ctx, NULL), 10, "no temporary is left");
    cbx_test_folder_remove(folder);
    cbx_ctx_free(ctx);
}

/* A place that turned into a folder: those before it are there, it is told, those behind it
 * are gone. */
TEST(a_place_that_cannot_be_taken)
{
    static const size_t sizes[] = { 5, 20 }; /* synced one by one, and together */
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    char buf[128];

    for (size_t k = 0; k < CBX_LEN(sizes); k++) {
        cbx__file_batch b = { .n = 0 };
        cbx_test_folder(folder);
        for (size_t i = 0; i < sizes[k]; i++) CHECK_OK(put(ctx, &b, path_of(i, buf), "new", &err), &err, buf);
        CHECK_INT(mkdir(path_of(2, buf), 0700), 0, buf);
        CHECK_STATUS(cbx__file_batch_commit(&b, &err), CBX_EIO, "a folder");
        CHECK(strstr(err.message, buf), err.message);
        CHECK_INT(files_in(ctx, NULL), 3, "two files, the folder, no temporary");
        check_text(ctx, 1, "new");
        CHECK_INT(b.n, 0, "none waits");
        CHECK_INT(rmdir(buf), 0, buf);
        cbx_test_folder_remove(folder);
    }
    cbx_ctx_free(ctx);
}

static cbx_status write_some(cbx_ctx *ctx, void *user)
{
    cbx__file_batch b = { .n = 0 };
    cbx_status st = CBX_OK;
    char buf[128];

    (void)user;
    for (size_t i = 0; !st && i < 3; i++) st = put(ctx, &b, path_of(i, buf), "new", NULL);
    if (!st) st = cbx__file_batch_commit(&b, NULL);
    cbx__file_batch_clear(&b);
    return st;
}

TEST(memory_runs_out)
{
    cbx_test_folder(folder);
    CHECK_GT(cbx_test_fail_each(write_some, NULL, "a batch"), 5, "something was allocated");
    cbx_test_folder_remove(folder);
}

TESTS()
