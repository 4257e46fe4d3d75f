/*
 * Images: values become the colours that the tables and the formula say, PNG files made by hand
 * (tests/fixtures/png, by scripts/fixtures/make_png_files.py) are read, and what is written is read
 * back.  check_image.py decodes ours without libpng.
 */
#include "check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/io/image.h"
#include "calibrax/base/file.h"
#include "fail_alloc.h"
#include "io_support.h"

static const char *png(const char *name)
{
    char file[64];
    snprintf(file, sizeof file, "png/%s.png", name);
    return fixture(file);
}

/* Matrix of one row over the caller's doubles. */
static cbx_array *row(double *v, size_t n)
{
    cbx_array_desc d = { CBX_F64, 2, { 1, n } };
    cbx_array *a = NULL;
    CHECK_OK(cbx_array_wrap(ctx, &d, NULL, v, NULL, NULL, &a, &err), &err, "row");
    return a;
}

/* Colour of pixel i as 0xRRGGBB. */
static unsigned color(const cbx_array *rgb, size_t i)
{
    const uint8_t *p = (const uint8_t *)cbx_array_data(rgb) + 3 * i;
    return (unsigned)p[0] << 16 | (unsigned)p[1] << 8 | p[2];
}

static cbx_array *colors(double *v, size_t n, const cbx_image_opts *o)
{
    cbx_array *a = row(v, n), *rgb = NULL;
    CHECK_OK(cbx_image_colors(ctx, a, o, &rgb, &err), &err, "colours");
    CHECK(cbx_array_ndim(rgb) == 3 && cbx_array_dim(rgb, 1) == n && cbx_array_dim(rgb, 2) == 3, "shape");
    cbx_array_free(a);
    return rgb;
}

TEST(maps_begin_and_end_as_published)
{
    static const struct {
        cbx_colormap map;
        unsigned first, middle, last;
    } cases[] = {
        { CBX_VIRIDIS, 0x440154, 0x21918c, 0xfde725 },
        { CBX_MAGMA, 0x000004, 0xb73779, 0xfcfdbf },
        { CBX_CIVIDIS, 0x00224e, 0x7d7c78, 0xfee838 },
        { CBX_GRAY, 0x000000, 0x808080, 0xffffff },
    };
    double v[3] = { -2, 0, 2 };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_image_opts o = CBX_IMAGE_OPTS_INIT;
        o.map = cases[i].map;
        cbx_array *rgb = colors(v, 3, &o);
        CHECK_INT(color(rgb, 0), cases[i].first, "first");
        CHECK_INT(color(rgb, 1), cases[i].middle, "middle");
        CHECK_INT(color(rgb, 2), cases[i].last, "last");
        cbx_array_free(rgb);
    }
}

/* Perceived lightness (CIE 1976 L*, of sRGB by IEC 61966-2-1) rises along each map. */
TEST(maps_grow_lighter)
{
    double v[256];
    for (int i = 0; i < 256; i++) v[i] = i;
    for (int map = 0; map <= CBX_GRAY; map++) {
        cbx_image_opts o = CBX_IMAGE_OPTS_INIT;
        o.map = (cbx_colormap)map;
        o.high = 255.9999;
        cbx_array *rgb = colors(v, 256, &o);
        double before = -1;
        for (size_t i = 0; i < 256; i++) {
            double y = 0;
            static const double weight[3] = { 0.2126, 0.7152, 0.0722 };
            for (int k = 0; k < 3; k++) {
                double c = ((const uint8_t *)cbx_array_data(rgb))[3 * i + (size_t)k] / 255.0;
                y += weight[k] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
            }
            double light = y > 216.0 / 24389 ? 116 * cbrt(y) - 16 : y * 24389 / 27;
            CHECK_GT(light, before - 0.35, "rounding to bytes may take back a little");
            before = light;
        }
        CHECK_GT(before, 88, "light in the end");
        cbx_array_free(rgb);
    }
}

TEST(limits)
{
    static const struct {
        double low, high, low_percent, high_percent;
        bool log;
        unsigned want[6]; /* of -inf, 0, 1, 10, 100, +inf */
        const char *why;
    } cases[] = {
        { NAN, NAN, 0, 100, false, { 0, 0, 2, 25, 255, 255 }, "the finite extremes" },
        { 0, 10, 0, 100, false, { 0, 0, 25, 255, 255, 255 }, "as given; what is beyond has the colour of the end" },
        { 10, 10, 0, 100, false, { 0, 0, 0, 0, 0, 0 }, "no width" },
        { NAN, 4, 0, 100, false, { 0, 0, 64, 255, 255, 255 }, "one given" },
        { NAN, -4, 0, 100, false, { 0, 0, 0, 0, 0, 0 }, "given below all that is there" },
        { NAN, NAN, 25, 75, false, { 0, 0, 2, 74, 255, 255 }, "quartiles 0.75 and 32.5" },
        { NAN, NAN, 0, 100, true, { 0, 0, 0, 128, 255, 255 }, "logarithm from the least above 0" },
        { 0.01, 100, 0, 100, true, { 0, 0, 128, 192, 255, 255 }, "logarithm with limits" },
    };
    double v[6] = { -INFINITY, 0, 1, 10, 100, INFINITY };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_image_opts o = CBX_IMAGE_OPTS_INIT;
        o.map = CBX_GRAY;
        o.low = cases[i].low;
        o.high = cases[i].high;
        o.low_percent = cases[i].low_percent;
        o.high_percent = cases[i].high_percent;
        o.log = cases[i].log;
        cbx_array *rgb = colors(v, 6, &o);
        for (size_t k = 0; k < 6; k++)
            if (color(rgb, k) != cases[i].want[k] * 0x010101)
                fail_msg("%s: value %g is %06x, not %u of 255", cases[i].why, v[k], color(rgb, k), cases[i].want[k]);
        cbx_array_free(rgb);
    }
}

TEST(nan_and_wide_values)
{
    cbx_image_opts o = CBX_IMAGE_OPTS_INIT;
    double v[4] = { NAN, 1, 2, NAN }, none[2] = { NAN, NAN }, wide[3] = { -DBL_MAX, 0, DBL_MAX };
    cbx_array *rgb = colors(v, 4, &o);
    CHECK(color(rgb, 0) == 0xFFFFFF && color(rgb, 3) == 0xFFFFFF && color(rgb, 1) == 0x440154,
          "NaN is white and no limit");
    cbx_array_free(rgb);
    memcpy(o.missing, "\x01\x02\x03", 3);
    rgb = colors(none, 2, &o);
    CHECK(color(rgb, 0) == 0x010203 && color(rgb, 1) == 0x010203, "nothing but NaN");
    cbx_array_free(rgb);
    o.map = CBX_GRAY;
    rgb = colors(wide, 3, &o);
    CHECK(color(rgb, 0) == 0 && color(rgb, 1) == 0x808080 && color(rgb, 2) == 0xFFFFFF,
          "a width beyond the largest double");
    cbx_array_free(rgb);
}

TEST(wrong_options_and_operands)
{
    double v[4] = { 1, 2, 3, 4 };
    cbx_array *a = row(v, 4), *rgb = NULL, *other = NULL;
    cbx_array_desc complex_matrix = { CBX_C64, 2, { 1, 2 } }, line = { CBX_F64, 1, { 4 } };
    static const struct {
        double low, high, low_percent, high_percent;
        bool log;
        cbx_status status;
    } cases[] = {
        { 3, 2, 0, 100, false, CBX_EINVAL },      { NAN, NAN, -1, 100, false, CBX_EINVAL },
        { NAN, NAN, 0, 101, false, CBX_EINVAL },  { NAN, NAN, 60, 50, false, CBX_EINVAL },
        { NAN, NAN, NAN, 50, false, CBX_EINVAL }, { 0, 2, 0, 100, true, CBX_EDOM },
        { NAN, -1, 0, 100, true, CBX_EDOM },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_image_opts o = CBX_IMAGE_OPTS_INIT;
        o.low = cases[i].low;
        o.high = cases[i].high;
        o.low_percent = cases[i].low_percent;
        o.high_percent = cases[i].high_percent;
        o.log = cases[i].log;
        CHECK_STATUS(cbx_image_colors(ctx, a, &o, &rgb, &err), cases[i].status, err.message);
    }
    cbx_image_opts o = CBX_IMAGE_OPTS_INIT;
    o.map = (cbx_colormap)4;
    CHECK_STATUS(cbx_image_colors(ctx, a, &o, &rgb, &err), CBX_EINVAL, "no such map");
    o.map = CBX_GRAY;
    o.struct_size = 3;
    CHECK_STATUS(cbx_image_colors(ctx, a, &o, &rgb, &err), CBX_EINVAL, "another version");
    CHECK_OK(cbx_array_wrap(ctx, &line, NULL, v, NULL, NULL, &other, &err), &err, "line");
    CHECK_STATUS(cbx_image_colors(ctx, other, NULL, &rgb, &err), CBX_ESHAPE, "no matrix");
    CHECK(strstr(err.message, "float64 (4,)"), err.message);
    CHECK_STATUS(cbx_png_write(ctx, in_folder("x.png"), other, &err), CBX_EDTYPE, "no pixels");
    cbx_array_free(other);
    CHECK_OK(cbx_array_wrap(ctx, &complex_matrix, NULL, v, NULL, NULL, &other, &err), &err, "complex");
    CHECK_STATUS(cbx_image_colors(ctx, other, NULL, &rgb, &err), CBX_EDTYPE, "complex");
    cbx_array_free(other);
    CHECK_STATUS(cbx_image_colors(ctx, cbx__array_failed(), NULL, &rgb, &err), CBX_EINVAL, "failed");
    CHECK(rgb == NULL, "out is untouched");
    static const cbx_array_desc wrong[] = { { CBX_U8, 1, { 4 } },
                                            { CBX_U8, 2, { 0, 4 } },
                                            { CBX_U8, 3, { 2, 2, 5 } },
                                            { CBX_U16, 3, { 2, 2, 0 } },
                                            { CBX_U8, 4, { 1, 1, 1, 1 } } };
    for (size_t i = 0; i < CBX_LEN(wrong); i++) {
        CHECK_OK(cbx_array_create(ctx, &wrong[i], &other, &err), &err, "pixels");
        CHECK_STATUS(cbx_png_write(ctx, in_folder("x.png"), other, &err), CBX_ESHAPE, "no such pixels");
        cbx_array_free(other);
    }
    CHECK(!cbx_path_exists(in_folder("x.png")), "nothing was written");
    cbx_array_free(a);
}

/* --- PNG --- */

TEST(pixels_made_by_hand)
{
    static const struct {
        const char *name;
        cbx_dtype dtype;
        size_t channels;
        unsigned factor, offset; /* sample k is factor * k + offset */
        unsigned modulus;        /* of k, before; 0: none */
    } cases[] = {
        { "gray8", CBX_U8, 1, 17, 0, 0 },       { "gray16", CBX_U16, 1, 4369, 1, 0 },
        { "gray1", CBX_U8, 1, 255, 0, 2 },      { "gray4", CBX_U8, 1, 17, 0, 0 },
        { "gray_alpha8", CBX_U8, 2, 8, 0, 0 },  { "rgb8", CBX_U8, 3, 5, 0, 0 },
        { "rgb16", CBX_U16, 3, 1000, 0, 0 },    { "rgba8", CBX_U8, 4, 4, 0, 0 },
        { "interlaced8", CBX_U8, 1, 17, 0, 0 }, { "gamma8", CBX_U8, 1, 17, 0, 0 },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_array *a = NULL;
        CHECK_OK(cbx_png_read(ctx, png(cases[i].name), 0, &a, &err), &err, cases[i].name);
        CHECK(cbx_array_dtype(a) == cases[i].dtype && cbx_array_dim(a, 0) == 3 && cbx_array_dim(a, 1) == 5,
              cases[i].name);
        CHECK(cases[i].channels == 1 ? cbx_array_ndim(a) == 2 : cbx_array_dim(a, 2) == cases[i].channels,
              cases[i].name);
        for (size_t k = 0; k < cbx_array_count(a); k++) {
            unsigned got = cases[i].dtype == CBX_U8 ? ((const uint8_t *)cbx_array_data(a))[k]
                                                    : ((const uint16_t *)cbx_array_data(a))[k];
            unsigned at = cases[i].modulus ? (unsigned)k % cases[i].modulus : (unsigned)k;
            CHECK_INT(got, at * cases[i].factor + cases[i].offset, cases[i].name);
        }
        cbx_array_free(a);
    }
}

TEST(palettes_become_colors)
{
    for (int alpha = 0; alpha < 2; alpha++) {
        cbx_array *a = NULL;
        size_t channels = alpha ? 4 : 3;
        CHECK_OK(cbx_png_read(ctx, png(alpha ? "palette_alpha" : "palette2"), 0, &a, &err), &err, "palette");
        CHECK_INT(cbx_array_dim(a, 2), channels, "channels");
        const uint8_t *p = cbx_array_data(a);
        for (size_t k = 0; k < 15; k++, p += channels) {
            for (size_t c = 0; c < 3; c++) CHECK_INT(p[c], 16 * (k % 4) + c, "colour of the palette");
            if (alpha) CHECK_INT(p[3], k % 4 == 0 ? 0 : k % 4 == 1 ? 128 : 255, "its alpha");
        }
        cbx_array_free(a);
    }
}

TEST(files_that_lie)
{
    static const struct {
        const char *name;
        cbx_status status;
    } cases[] = {
        { "bad_huge", CBX_EOVERFLOW },
        { "bad_tall", CBX_EFORMAT },
        { "bad_width", CBX_EFORMAT },
        { "bad_checksum", CBX_EFORMAT },
    };
    cbx_array *a = NULL;
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        CHECK_STATUS(cbx_png_read(ctx, png(cases[i].name), 0, &a, &err), cases[i].status, cases[i].name);
        CHECK(strstr(err.message, cases[i].name), err.message);
        CHECK(a == NULL, "out is untouched");
    }
    CHECK_STATUS(cbx_png_read(ctx, in_folder("none.png"), 0, &a, &err), CBX_ENOENT, "no file");
    static const char *const names[] = { "rgb16", "interlaced8", "palette_alpha" };
    for (size_t i = 0; i < CBX_LEN(names); i++) {
        char *data = NULL;
        size_t full;
        CHECK_OK(cbx_file_read(ctx, png(names[i]), 0, &data, &full, &err), &err, names[i]);
        for (size_t len = 0; len < full; len++) {
            char *cut = test_malloc(len ? len : 1);
            memcpy(cut, data, len);
            CHECK_STATUS(cbx_png_decode(ctx, cut, len, 0, &a, &err), CBX_EFORMAT, names[i]);
            CHECK(strstr(err.message, "truncated") || len < 8, err.message);
            test_free(cut);
        }
        CHECK_STATUS(cbx_png_decode(ctx, data, full, 14, &a, &err), CBX_EOVERFLOW, "more pixels than allowed");
        cbx_mem_free(cbx_ctx_allocator(ctx), data, full + 1);
    }
}

TEST(what_we_write_we_read)
{
    for (int wide = 0; wide < 2; wide++)
        for (size_t channels = 0; channels <= 4; channels++) {
            cbx_array_desc d = { wide ? CBX_U16 : CBX_U8, channels ? 3 : 2, { 40, 31, channels } };
            cbx_array *a = NULL, *b = NULL, *view = NULL;
            CHECK_OK(cbx_array_create(ctx, &d, &a, &err), &err, "pixels");
            for (size_t i = 0; i < cbx_array_bytes(a); i++)
                ((uint8_t *)cbx_array_data_mut(a))[i] = (uint8_t)(i * 2654435761u >> 9);
            CHECK_OK(cbx_png_write(ctx, in_folder("w.png"), a, &err), &err, "write");
            CHECK_OK(cbx_png_read(ctx, in_folder("w.png"), 0, &b, &err), &err, "read");
            CHECK_INT(cbx_array_ndim(b), channels > 1 ? 3 : 2, "one channel is a matrix");
            CHECK(cbx_array_bytes(a) == cbx_array_bytes(b) &&
                      !memcmp(cbx_array_data(a), cbx_array_data(b), cbx_array_bytes(a)),
                  "pixels");
            cbx_array_free(b);
            if (channels == 0) { /* upside down, by strides */
                ptrdiff_t strides[2] = { -31, 1 };
                CHECK_OK(cbx__array_view(ctx, a, &d, strides, 39 * 31, &view, &err), &err, "view");
                CHECK_OK(cbx_png_write(ctx, in_folder("w.png"), view, &err), &err, "write");
                CHECK_OK(cbx_png_read(ctx, in_folder("w.png"), 0, &b, &err), &err, "read");
                size_t line = 31 * cbx_dtype_size(d.dtype);
                CHECK_INT(memcmp(cbx_array_data(b), (const char *)cbx_array_data(a) + 39 * line, line), 0,
                          "the last row first");
                cbx_array_free(b);
                cbx_array_free(view);
            }
            cbx_array_free(a);
        }
}

static cbx_status draw(cbx_ctx *c, void *user)
{
    double v[6] = { 1, 2, 3, 4, NAN, 6 };
    cbx_array_desc d = { CBX_F64, 2, { 2, 3 } };
    cbx_image_opts o = CBX_IMAGE_OPTS_INIT;
    cbx_array *a = NULL, *b = NULL;
    cbx_status st = cbx_array_wrap(c, &d, NULL, v, NULL, NULL, &a, &err);
    o.high_percent = 90;
    if (!st) st = cbx_image_write(c, user, a, &o, &err);
    if (!st) st = cbx_png_read(c, user, 0, &b, &err);
    cbx_array_free(a);
    cbx_array_free(b);
    return st;
}

TEST(no_memory)
{
    CHECK_GT(cbx_test_fail_each(draw, (void *)in_folder("m.png"), "image"), 20,
             "arrays, libpng's and zlib's blocks, the file");
}

TESTS(.before = io_set_up, .after = io_tear_down)
