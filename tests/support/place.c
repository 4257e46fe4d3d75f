/* A place for each test, and files. */
#include "place.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "check.h"

cbx_ctx *cbx_test_context(void)
{
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "a context for a test");
    return ctx;
}

const char *cbx_test_source(const char *format, ...)
{
    static char path[1024];
    va_list args;
    int n = snprintf(path, sizeof path, "%s/", getenv("CALIBRAX_SOURCE_ROOT")); /* runner.c sets it */

    va_start(args, format);
    vsnprintf(path + n, sizeof path - (size_t)n, format, args);
    va_end(args);
    return path;
}

void cbx_test_put(const char *text, const char *path_format, ...)
{
    char path[1024];
    va_list args;
    FILE *f;

    va_start(args, path_format);
    vsnprintf(path, sizeof path, path_format, args);
    va_end(args);
    for (char *s = path + 1; (s = strchr(s, '/')); *s++ = '/') {
        *s = '\0';
        mkdir(path, 0700);
    }
    f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0, path);
}

int cbx_test_place_open(void **state)
{
    static cbx_test_place place;

    cbx_test_alloc_init(&place.alloc);
    place.ctx = cbx_test_ctx(&place.alloc);
    cbx_test_folder(place.folder);
    *state = &place;
    return 0;
}

int cbx_test_place_close(void **state)
{
    cbx_test_place *place = *state;

    cbx_test_folder_remove(place->folder);
    cbx_ctx_free(place->ctx);
    cbx_test_alloc_check(&place->alloc, "after the test");
    return 0;
}
