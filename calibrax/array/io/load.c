/* Arrays of files by the ending of their names: a reader a format. */
#include <string.h>

#include "calibrax/array/io/csv.h"
#include "calibrax/array/io/hdf5.h"
#include "calibrax/array/io/npy.h"
#include "calibrax/array/io/npz.h"
#include "calibrax/base/file.h"
#include "calibrax/base/file_text.h"
#include "calibrax/base/idioms.h"

#define CSV_MAX ((size_t)2 << 30) /* bytes */

typedef cbx_status reader(cbx_ctx *ctx, const char *path, const char *member, cbx_array **out, cbx_err *err);

static cbx_status read_npy(cbx_ctx *ctx, const char *path, const char *member, cbx_array **out, cbx_err *err)
{
    if (member)
        return cbx_fail(err, CBX_EINVAL, "%s holds one array, which has no name: leave ':%s' out", path, member);
    return cbx_npy_read(ctx, path, out, err);
}

static cbx_status read_npz(cbx_ctx *ctx, const char *path, const char *member, cbx_array **out, cbx_err *err)
{
    cbx_npz *z = NULL;
    cbx_status st = cbx_npz_open(ctx, path, NULL, &z, err);

    if (st) return st;
    if (!member && cbx_npz_count(z) != 1)
        st = cbx_fail(err, CBX_EINVAL, "%s holds %zu arrays: name one, as in %s:%s", path, cbx_npz_count(z), path,
                      cbx_npz_count(z) ? cbx_npz_name(z, 0) : "NAME");
    if (!st) st = member ? cbx_npz_read(z, member, out, err) : cbx_npz_read_at(z, 0, out, err);
    cbx_npz_close(z);
    return st;
}

static cbx_status read_hdf5(cbx_ctx *ctx, const char *path, const char *member, cbx_array **out, cbx_err *err)
{
    cbx_h5 *h = NULL;
    cbx_status st = member ? cbx_h5_open(ctx, path, CBX_H5_READ, NULL, &h, err)
                           : cbx_fail(err, CBX_EINVAL, "%s: name a dataset, as in %s:/data", path, path);

    if (st) return st;
    st = cbx_h5_read(h, member, out, err);
    cbx_h5_close(h);
    return st;
}

static cbx_status read_csv(cbx_ctx *ctx, const char *path, const char *member, cbx_array **out, cbx_err *err)
{
    CBX_SCOPED(cbx_text, text, cbx_ctx_allocator(ctx));
    const cbx_status st = cbx__file_text(ctx, path, CSV_MAX, &text, err);

    return st ? st : cbx_csv_decode(ctx, cbx_text_str(&text), text.len, path, member, out, err);
}

static const struct {
    const char *ending;
    reader *read;
} readers[] = {
    { ".npy", read_npy },  { ".npz", read_npz }, { ".h5", read_hdf5 }, { ".hdf5", read_hdf5 },
    { ".hdf", read_hdf5 }, { ".csv", read_csv }, { ".tsv", read_csv }, { ".txt", read_csv },
};

/* The reader of a source, its path and its member, which may be NULL; strings are the arena's. */
static cbx_status find_reader(const char *source, cbx_arena *arena, reader **read, const char **path,
                              const char **member, cbx_err *err)
{
    const size_t length = strlen(source);

    for (size_t i = 0; length > 0 && i < CBX_LEN(readers); i++) {
        const size_t n = strlen(readers[i].ending);
        const char *at = source;
        while ((at = strstr(at + 1, readers[i].ending)) && at[n] && at[n] != ':') continue;
        if (!at || at == source) continue;
        const bool whole = cbx_path_exists(source) || !at[n];
        *read = readers[i].read;
        *path = whole ? source : cbx_arena_strndup(arena, source, (size_t)(at - source) + n);
        *member = whole ? NULL : at + n + 1;
        return *path ? CBX_OK : cbx_fail_nomem(err, "the path of a file");
    }
    return cbx_fail(err, CBX_EINVAL, "%.*s: the name must end with .npy, .npz:MEMBER, .h5:/DATASET or .csv[:COLUMN]",
                    (int)(length < 200 ? length : 200), source);
}

cbx_status cbx_array_load(cbx_ctx *ctx, const char *source, cbx_array **out, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    const char *path, *member;
    reader *read;
    const cbx_status st = find_reader(source, &arena, &read, &path, &member, err);

    return st ? st : read(ctx, path, member, out, err);
}

cbx_status cbx_words_load(cbx_ctx *ctx, const char *source, cbx_arena *arena, const char ***out, size_t *n,
                          cbx_err *err)
{
    CBX_SCOPED(cbx_text, text, cbx_ctx_allocator(ctx));
    const char *path, *column;
    reader *read;
    cbx_status st = find_reader(source, arena, &read, &path, &column, err);

    if (!st && read != read_csv)
        st = cbx_fail(err, CBX_EINVAL, "%s: words are read from .csv, .tsv and .txt files alone", source);
    if (!st) st = cbx__file_text(ctx, path, CSV_MAX, &text, err);
    return st ? st : cbx_csv_words(ctx, cbx_text_str(&text), text.len, path, column, arena, out, n, err);
}
