/* Temporary folders: a name of their own, and nothing left of them. */
#include "check.h"
#include "place.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/base/file.h"
#include "calibrax/base/temporary.h"

static const char *join(char buf[512], const char *folder, const char *name)
{
    snprintf(buf, 512, "%.300s/%.200s", folder, name);
    return buf;
}

static void put(const char *folder, const char *name)
{
    char path[512];
    FILE *fp = fopen(join(path, folder, name), "w");
    CHECK(fp != NULL, path);
    fclose(fp);
}

static bool is_there(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

TEST(below_tmpdir)
{
    cbx_test_place *t = *test_state;
    char first[CBX__TEMPORARY_SIZE], second[CBX__TEMPORARY_SIZE], longest[400];
    cbx_err err = CBX_ERR_INIT;
    setenv("TMPDIR", t->folder, 1);
    CHECK_OK(cbx__temporary_make("word", first, &err), &err, "one");
    CHECK_OK(cbx__temporary_make("word", second, &err), &err, "another");
    CHECK(!strncmp(first, t->folder, strlen(t->folder)) && strstr(first, "word") && strcmp(first, second), first);
    cbx__temporary_remove(first);
    cbx__temporary_remove(second);
    CHECK(!is_there(first) && !is_there(second), "nothing is left");
    setenv("TMPDIR", "/nowhere/at/all", 1);
    CHECK_STATUS(cbx__temporary_make("word", first, &err), CBX_EIO, "no such folder");
    CHECK(strstr(err.message, "TMPDIR") && first[0] == 0, err.message);
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    setenv("TMPDIR", longest, 1);
    CHECK_STATUS(cbx__temporary_make("word", first, &err), CBX_EIO, "a name that is too long");
    unsetenv("TMPDIR");
    cbx__temporary_remove("");
}

TEST(where_it_is_told)
{
    cbx_test_place *t = *test_state;
    char folder[512];
    const char *path = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_arena arena;
    cbx_arena_init(&arena, cbx_ctx_allocator(t->ctx));
    join(folder, t->folder, "made/for/it");
    CHECK_OK(cbx__temporary_make_in(t->ctx, folder, "search", &arena, &path, &err), &err,
             "folders on the way are made");
    CHECK(path[0] == '/' && strstr(path, "made/for/it/search-") && is_there(path), path);
    cbx__temporary_remove(path);
    CHECK(!is_there(path) && is_there(folder), "the folder that it was told is the caller's");
    put(t->folder, "file");
    path = "untouched";
    CHECK_STATUS(cbx__temporary_make_in(t->ctx, join(folder, t->folder, "file"), "search", &arena, &path, &err),
                 CBX_EIO, "a file in the way");
    CHECK(strstr(err.message, "file") && !strcmp(path, "untouched"), err.message);
    cbx_arena_clear(&arena);
}

/* As a build leaves them: folders and files that may not be written, and links that lead out. */
TEST(all_is_removed)
{
    cbx_test_place *t = *test_state;
    char root[512], closed[512], deep[512], outside[512], link[512];
    CHECK_INT(mkdir(join(root, t->folder, "root"), 0700), 0, "a tree");
    CHECK_INT(mkdir(join(closed, root, "closed"), 0700), 0, "with a folder");
    CHECK_INT(mkdir(join(deep, closed, "deep"), 0700), 0, "in a folder");
    CHECK_INT(mkdir(join(outside, t->folder, "outside"), 0700), 0, "and one beside it");
    put(outside, "kept");
    put(deep, "file");
    CHECK_INT(symlink(outside, join(link, closed, "link")), 0, "to which a link leads");
    chmod(deep, 0500);
    chmod(closed, 0500);
    cbx__temporary_remove(root);
    CHECK(!is_there(root), "the whole tree");
    CHECK(is_there(join(link, outside, "kept")), "and nothing behind the link");
}

static cbx_status make_one(cbx_ctx *ctx, void *folder)
{
    const char *path = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_arena arena;
    cbx_status st;
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    st = cbx__temporary_make_in(ctx, folder, "search", &arena, &path, &err);
    if (!st) cbx__temporary_remove(path);
    cbx_arena_clear(&arena);
    return st;
}

TEST(every_allocation_can_fail)
{
    cbx_test_place *t = *test_state;
    CHECK_GT(cbx_test_fail_each(make_one, t->folder, "a folder"), 0, "its name");
}

TESTS(.setup = cbx_test_place_open, .teardown = cbx_test_place_close)
