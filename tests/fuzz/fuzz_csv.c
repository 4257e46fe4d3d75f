/* Fuzz entry of the reader of tables: a column alone holds what it holds among all, and every cell
 * was a number of the text; its words are as many. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/io/csv.h"
#include "fuzz.h"

static double element(const cbx_array *a, size_t i)
{
    const void *data = cbx_array_data(a);
    switch (cbx_array_dtype(a)) {
    case CBX_BOOL: return ((const unsigned char *)data)[i];
    case CBX_I64: return (double)((const int64_t *)data)[i];
    case CBX_F64: return ((const double *)data)[i];
    default: abort();
    }
}

FUZZ_ENTRY()
{
    cbx_ctx *ctx = NULL;
    cbx_array *all = NULL, *first = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_arena arena;
    const char **words;
    size_t n = 0;

    if (cbx_ctx_create(NULL, &ctx, NULL)) return 0;
    const cbx_status st = cbx_csv_decode(ctx, (const char *)data, size, "table", NULL, &all, &err);
    const cbx_status one = cbx_csv_decode(ctx, (const char *)data, size, "table", "1", &first, NULL);
    /* a column alone may hold integers that all columns together do not */
    if (st != one && !(st == CBX_EFORMAT && !one)) abort();
    if (st && !err.message[0]) abort();
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    const cbx_status text = cbx_csv_words(ctx, (const char *)data, size, "table", "1", &arena, &words, &n, NULL);
    if (!one && (text || n != cbx_array_dim(first, 0))) abort();
    for (size_t i = 0; !text && i < n; i++)
        if (strlen(words[i]) > size) abort();
    cbx_arena_clear(&arena);
    if (!st) {
        const size_t rows = cbx_array_dim(all, 0), columns = cbx_array_count(all) / rows;
        if (cbx_array_count(first) != rows || rows * columns > size + 1) abort();
        for (size_t i = 0; i < rows && !memchr(data, '"', size); i++) {
            const double a = element(all, i * columns), b = element(first, i);
            if (a != b && !(isnan(a) && isnan(b))) abort();
        }
    }
    cbx_array_free(all);
    cbx_array_free(first);
    cbx_ctx_free(ctx);
    return 0;
}
