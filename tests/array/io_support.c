/* One context and one folder for a test program of the boundary. */
#include "io_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/base/file.h"
#include "check.h"
#include "fail_alloc.h"

cbx_ctx *ctx;
cbx_err err;
char folder[64];

int io_set_up(void **state)
{
    (void)state;
    return !cbx_test_folder(folder) || cbx_ctx_create(NULL, &ctx, &err) != CBX_OK;
}

int io_tear_down(void **state)
{
    (void)state;
    cbx_ctx_free(ctx);
    cbx_test_folder_remove(folder);
    return 0;
}

const char *fixture(const char *name)
{
    static char path[512];
    const char *root = getenv("CALIBRAX_SOURCE_ROOT");
    snprintf(path, sizeof path, "%s/tests/fixtures/%s", root ? root : ".", name);
    return path;
}

const char *in_folder(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

size_t files_in(const char *path)
{
    const char *const *all = NULL;
    size_t count = 0;
    cbx_arena arena;
    cbx_arena_init(&arena, cbx_allocator_default());
    CHECK_OK(cbx_dir_list(ctx, path, NULL, &arena, &all, &count, &err), &err, path);
    cbx_arena_clear(&arena);
    return count;
}

void check_same(const cbx_array *a, const cbx_array *b, const char *why)
{
    CHECK(cbx_array_desc_equal(cbx_array_get_desc(a), cbx_array_get_desc(b)), why);
    size_t bytes = cbx_array_bytes(a);
    char *x = test_malloc(bytes + 1), *y = test_malloc(bytes + 1);
    CHECK_OK(cbx_array_read(a, x, bytes, &err), &err, why);
    CHECK_OK(cbx_array_read(b, y, bytes, &err), &err, why);
    CHECK_INT(memcmp(x, y, bytes), 0, why);
    test_free(x);
    test_free(y);
}

void check_refused(const io_refusal *wanted, cbx_status st, const char *where, const cbx_array *out)
{
    CHECK_STATUS(st, wanted->status, wanted->name);
    CHECK(strstr(err.message, wanted->word) && strstr(err.message, where), err.message);
    CHECK(out == NULL, "out is untouched");
}

void check_no_files(cbx_status (*open)(const char *path))
{
    CHECK_STATUS(open(in_folder("none.file")), CBX_ENOENT, "no file");
    CHECK(strstr(err.message, "none.file"), err.message);
    CHECK_STATUS(open(folder), CBX_EINVAL, "a folder");
    CHECK_INT(mkfifo(in_folder("pipe"), 0600), 0, "named pipe");
    CHECK_STATUS(open(in_folder("pipe")), CBX_EINVAL, "a named pipe is not waited for");
    unlink(in_folder("pipe"));
    CHECK_STATUS(open(fixture("npy/v1_bool.npy")), CBX_EFORMAT, "another format");
    CHECK(strstr(err.message, "v1_bool.npy"), err.message);
}
