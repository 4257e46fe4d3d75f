/* PNG files through libpng (1.6; libpng licence, linked: it is small and loads in a fraction of a
 * millisecond).
 *
 * libpng reports an error by a call that must not return: it jumps back to guarded(), which every
 * use of it goes through; all state lives in a struct, so that no variable is lost on the way.  Its
 * memory is the context's. */
#include <inttypes.h>
#include <png.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/io/boundary.h"
#include "calibrax/array/io/image.h"
#include "calibrax/array/scratch.h"
#include "calibrax/base/ctx.h"
#include "calibrax/base/file_text.h"

#define MAX_BYTES_DEFAULT ((uint64_t)1 << 30)
#define MAX_CHUNK_BYTES   ((png_alloc_size_t)8 << 20) /* of a chunk beside the pixels */

/* --- one use of libpng --- */

typedef struct job {
    cbx_ctx *ctx;
    const cbx_allocator *al;
    jmp_buf back;
    char reason[128]; /* what libpng said */
    bool no_memory;
    png_structp png;
    png_infop info;
    cbx_array *array;              /* written: dense; read: made on the way */
    cbx_text out;                  /* written */
    const unsigned char *at, *end; /* read */
    uint64_t max_bytes;
    cbx_status st; /* of our own steps */
    cbx_err *err;
} job;

static void PNGCBAPI fail_job(png_structp png, png_const_charp words)
{
    job *j = png_get_error_ptr(png);

    snprintf(j->reason, sizeof(j->reason), "%s", words);
    longjmp(j->back, 1);
}

static void PNGCBAPI ignore_warning(png_structp png, png_const_charp words)
{
    (void)png;
    (void)words;
}

/* Sits before each block of libpng's, which is freed without its size. */
typedef union prefix {
    size_t size;
    max_align_t align;
} prefix;

static png_voidp PNGCBAPI allocate(png_structp png, png_alloc_size_t size)
{
    job *j = png_get_mem_ptr(png);
    prefix *p = size < SIZE_MAX - sizeof(*p) ? cbx_mem_alloc(j->al, size + sizeof(*p)) : NULL;

    if (!p) {
        j->no_memory = true;
        return NULL;
    }
    p->size = size + sizeof(*p);
    return p + 1;
}

static void PNGCBAPI release(png_structp png, png_voidp block)
{
    job *j = png_get_mem_ptr(png);
    prefix *p = block ? (prefix *)block - 1 : NULL;

    if (p) cbx_mem_free(j->al, p, p->size);
}

/* Runs libpng; false if it failed, or had failed to start. */
static bool guarded(job *j, void (*steps)(job *j))
{
    if (!j->png || !j->info) {
        j->no_memory = true;
        return false;
    }
    if (setjmp(j->back)) return false;
    steps(j);
    return true;
}

/* The status of a job that libpng failed. */
static cbx_status failure(const job *j, const char *doing, cbx_err *err)
{
    if (j->no_memory) return cbx_fail(err, CBX_ENOMEM, "no memory to %s a PNG image", doing);
    return cbx_fail(err, CBX_EFORMAT, "cannot %s a PNG image: %s", doing, j->reason);
}

/* --- writing --- */

static void PNGCBAPI put_bytes(png_structp png, png_bytep data, size_t n)
{
    job *j = png_get_io_ptr(png);

    cbx_text_add(&j->out, (const char *)data, n);
    if (j->out.status) {
        j->no_memory = true;
        png_error(png, "no memory");
    }
}

static void PNGCBAPI put_nothing(png_structp png) { (void)png; }

static int channels_of(const cbx_array *a) { return cbx_array_ndim(a) == 3 ? (int)cbx_array_dim(a, 2) : 1; }

static void write_steps(job *j)
{
    static const int kinds[] = { 0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                 PNG_COLOR_TYPE_RGB_ALPHA };
    size_t unit = cbx_dtype_size(cbx_array_dtype(j->array)), rows = cbx_array_dim(j->array, 0);
    const unsigned char *data = cbx_array_data(j->array);

    png_set_write_fn(j->png, j, put_bytes, put_nothing);
    png_set_IHDR(j->png, j->info, (png_uint_32)cbx_array_dim(j->array, 1), (png_uint_32)rows, (int)unit * 8,
                 kinds[channels_of(j->array)], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(j->png, j->info);
    if (unit == 2 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) png_set_swap(j->png);
    for (size_t i = 0; i < rows; i++) png_write_row(j->png, data + i * (cbx_array_bytes(j->array) / rows));
    png_write_end(j->png, NULL);
}

static cbx_status check_pixels(const cbx_array *a, cbx_err *err)
{
    cbx_status st = cbx__boundary_check_data(a, "draw", err);

    if (st) return st;
    if (cbx_array_dtype(a) != CBX_U8 && cbx_array_dtype(a) != CBX_U16)
        return cbx_fail(err, CBX_EDTYPE,
                        "pixels must be uint8 or uint16, not %s: cbx_image_colors maps numbers to colours",
                        CBX__DESC_TEXT(&a->desc));
    if ((cbx_array_ndim(a) != 2 && cbx_array_ndim(a) != 3) || cbx_array_count(a) == 0 || channels_of(a) > 4 ||
        cbx_array_dim(a, 0) > PNG_UINT_31_MAX || cbx_array_dim(a, 1) > PNG_UINT_31_MAX)
        return cbx_fail(err, CBX_ESHAPE,
                        "pixels must be (rows, columns) or (rows, columns, 1 to 4), and not empty, got %s",
                        CBX__DESC_TEXT(&a->desc));
    return CBX_OK;
}

cbx_status cbx_png_write(cbx_ctx *ctx, const char *path, const cbx_array *a, cbx_err *err)
{
    CBX_OWNED(cbx_array) *dense = NULL;
    cbx_status st = check_pixels(a, err);

    if (!st) st = cbx__boundary_copy(ctx, a, &dense, err);
    if (st) return st;
    job j = { .ctx = ctx, .al = cbx_ctx_allocator(ctx), .array = dense };
    cbx_text_init(&j.out, j.al);
    j.png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &j, fail_job, ignore_warning, &j, allocate, release);
    if (j.png) j.info = png_create_info_struct(j.png);
    st = guarded(&j, write_steps) ? cbx_file_write_atomic(ctx, path, j.out.data, j.out.len, err)
                                  : failure(&j, "write", err);
    png_destroy_write_struct(&j.png, &j.info);
    cbx_text_clear(&j.out);
    return st;
}

/* --- reading --- */

static void PNGCBAPI take_bytes(png_structp png, png_bytep data, size_t n)
{
    job *j = png_get_io_ptr(png);

    if ((size_t)(j->end - j->at) < n) png_error(png, "it is truncated");
    memcpy(data, j->at, n);
    j->at += n;
}

/* The array for what the header says, once libpng has said what it will make of it. */
static cbx_status make_array(job *j, png_uint_32 width, png_uint_32 height)
{
    size_t channels = png_get_channels(j->png, j->info);
    cbx_array_desc d = { png_get_bit_depth(j->png, j->info) == 16 ? CBX_U16 : CBX_U8,
                         channels > 1 ? 3 : 2,
                         { height, width, channels } };
    size_t count = 0;
    cbx_status st = cbx_array_desc_count(&d, &count, j->err);

    if (st) return st;
    if (count * cbx_dtype_size(d.dtype) > j->max_bytes)
        return cbx_fail(j->err, CBX_EOVERFLOW,
                        "a PNG image of %" PRIu32 " by %" PRIu32 " pixels has more than %" PRIu64 " bytes", width,
                        height, j->max_bytes);
    return cbx_array_create(j->ctx, &d, &j->array, j->err);
}

static void read_steps(job *j)
{
    png_uint_32 width = 0, height = 0;
    int depth = 0, kind = 0;

    png_set_read_fn(j->png, j, take_bytes);
    png_set_user_limits(j->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX); /* bytes are limited instead */
    png_set_chunk_malloc_max(j->png, MAX_CHUNK_BYTES);
    png_read_info(j->png, j->info);
    png_get_IHDR(j->png, j->info, &width, &height, &depth, &kind, NULL, NULL, NULL);
    png_set_expand(j->png);
    if (depth == 16 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) png_set_swap(j->png);
    int passes = png_set_interlace_handling(j->png);
    png_read_update_info(j->png, j->info);
    j->st = make_array(j, width, height);
    if (j->st) return;
    size_t row_bytes = cbx_array_bytes(j->array) / height;
    unsigned char *data = cbx_array_data_mut(j->array);
    if (passes > 1) memset(data, 0, cbx_array_bytes(j->array)); /* each pass fills in among what is there */
    for (int pass = 0; pass < passes; pass++)
        for (size_t i = 0; i < height; i++) png_read_row(j->png, data + i * row_bytes, NULL);
    png_read_end(j->png, NULL);
}

cbx_status cbx_png_decode(cbx_ctx *ctx, const void *data, size_t len, uint64_t max_bytes, cbx_array **out, cbx_err *err)
{
    job j = { .ctx = ctx,
              .al = cbx_ctx_allocator(ctx),
              .at = data,
              .end = (const unsigned char *)data + len,
              .max_bytes = max_bytes ? max_bytes : MAX_BYTES_DEFAULT,
              .err = err };

    j.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &j, fail_job, ignore_warning, &j, allocate, release);
    if (j.png) j.info = png_create_info_struct(j.png);
    cbx_status st = guarded(&j, read_steps) ? j.st : failure(&j, "read", err);
    png_destroy_read_struct(&j.png, &j.info, NULL);
    return CBX_FINISH(st, *out = j.array, cbx_array_free(j.array));
}

cbx_status cbx_png_read(cbx_ctx *ctx, const char *path, uint64_t max_bytes, cbx_array **out, cbx_err *err)
{
    CBX_SCOPED(cbx_text, data, cbx_ctx_allocator(ctx));
    cbx_err cause = CBX_ERR_INIT;
    cbx_status st = cbx__file_text(ctx, path, (size_t)(max_bytes ? max_bytes : MAX_BYTES_DEFAULT), &data, err);

    if (st) return st;
    st = cbx_png_decode(ctx, cbx_text_str(&data), data.len, max_bytes, out, &cause);
    return st ? cbx_fail(err, st, "cannot read '%s': %s", path, cause.message) : CBX_OK;
}
