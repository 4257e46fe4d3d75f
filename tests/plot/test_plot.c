/* Plots as a user meets them: errors and their messages, text that is not text, extreme values,
 * memory that runs out. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/plot/charts.h"
#include "calibrax/plot/scene.h"
#include "fail_alloc.h"

typedef struct state {
    cbx_test_alloc alloc;
    cbx_ctx *ctx;
} state;

static int setup(void **out)
{
    static state s;

    memset(&s, 0, sizeof s);
    cbx_test_alloc_init(&s.alloc);
    s.ctx = cbx_test_ctx(&s.alloc);
    *out = &s;
    return 0;
}

static int teardown(void **in)
{
    state *s = *in;

    cbx_ctx_free(s->ctx);
    cbx_test_alloc_check(&s->alloc, "after the test");
    return 0;
}

static cbx_plot *make(state *s, cbx_plot_scale x, cbx_plot_scale y)
{
    cbx_plot_opts o = CBX_PLOT_OPTS_INIT;
    cbx_plot *p = NULL;
    cbx_err err = CBX_ERR_INIT;

    o.x = x;
    o.y = y;
    CHECK_OK(cbx_plot_create(s->ctx, &o, &p, &err), &err, "create");
    return p;
}

/* What a plot is as SVG; ends with the call after the next. */
static const char *svg(state *s, cbx_plot *p)
{
    static char copy[65536];
    cbx_text text;
    cbx_err err = CBX_ERR_INIT;

    cbx_text_init(&text, cbx_ctx_allocator(s->ctx));
    CHECK_OK(cbx_plot_draw(p, CBX_PLOT_SVG, &text, &err), &err, "draw");
    CHECK(text.len < sizeof copy, "it fits");
    memcpy(copy, cbx_text_str(&text), text.len + 1);
    cbx_text_clear(&text);
    return copy;
}

TEST(refusals, setup, teardown)
{
    state *s = *test_state;
    const double good[] = { 1, 2 }, zero[] = { 1, 0 };
    const cbx_plot_series fine = { "a", good, good, NULL, NULL, 2, 0, NULL, NULL },
                          bad = { "times", good, zero, NULL, NULL, 2, 0, NULL, NULL };
    const cbx_plot_series none = { "b", good, good, NULL, NULL, 0, 0, NULL, NULL };
    const cbx_plot_box box = { 1, 2, 1.5, 3, 4, NULL, 0 };
    cbx_plot *lin = make(s, CBX_PLOT_LINEAR, CBX_PLOT_LINEAR), *log = make(s, CBX_PLOT_LOG, CBX_PLOT_LOG);
    cbx_plot_opts o = CBX_PLOT_OPTS_INIT;
    cbx_plot *p = NULL;
    cbx_text text;
    cbx_err err = CBX_ERR_INIT;

    cbx_text_init(&text, cbx_ctx_allocator(s->ctx));
    CHECK_STATUS(cbx_plot_draw(lin, CBX_PLOT_SVG, &text, &err), CBX_EINVAL, "nothing in it");
    CHECK_STATUS(cbx_plot_line(log, &bad, &err), CBX_EDOM, "0 on a logarithmic axis");
    CHECK_STR(err.message, "'times' has the value 0, but the logarithmic y axis shows values above 0", "words");
    CHECK_STATUS(cbx_plot_bars(log, &fine, &err), CBX_EINVAL, "bars on a logarithmic axis");
    CHECK_STATUS(cbx_plot_violin(log, 0, good, 2, &err), CBX_EINVAL, "a violin there");
    CHECK_STATUS(cbx_plot_line(lin, &none, &err), CBX_EINVAL, "no values");
    CHECK_STATUS(cbx_plot_boxes(lin, 0, &box, &err), CBX_EDOM, "numbers that do not rise");
    CHECK_STATUS(cbx_plot_draw(lin, (cbx_plot_format)9, &text, &err), CBX_EINVAL, "no such format");
    CHECK_INT(text.len, 0, "nothing was drawn");
    o.width = 10;
    CHECK_STATUS(cbx_plot_create(s->ctx, &o, &p, &err), CBX_EINVAL, "too small");
    o.struct_size = 1;
    CHECK_STATUS(cbx_plot_create(s->ctx, &o, &p, &err), CBX_EINVAL, "of another version");
    cbx_plot_free(lin);
    cbx_plot_free(log);
    cbx_text_clear(&text);
}

/* Axes in units that people read; powers of ten in signs that every font has. */
TEST(units_of_axes, setup, teardown)
{
    state *s = *test_state;
    static const struct {
        cbx_plot_scale scale;
        const char *label;
        double from, to;
        const char *tick, *title;
    } cases[] = {
        { CBX_PLOT_LINEAR, "time [s]", 1e-8, 9e-8, ">20</text>", ">time [ns]</text>" },
        { CBX_PLOT_LINEAR, "time [ms]", 0.001, 0.009, ">2</text>", ">time [\xC2\xB5s]</text>" },
        { CBX_PLOT_LINEAR, "s", 2000, 8000, ">4000</text>", ">s</text>" },
        { CBX_PLOT_LINEAR, "rate [flop/s]", 1e9, 4e9, ">2.0</text>", ">rate [Gflop/s]</text>" },
        { CBX_PLOT_LINEAR, "error", 1e-6, 4e-6, ">2.0</text>", ">error \xC3\x97 10^-6</text>" },
        { CBX_PLOT_LOG, "time [s]", 1e-8, 1e-2, ">100 ns</text>", ">time</text>" },
        { CBX_PLOT_LOG, "flop/s", 1e8, 1e12, ">10 Gflop/s</text>", ">flop/s</text>" },
        { CBX_PLOT_LOG, "error", 1e-9, 1e-3, ">10^-6</text>", ">error</text>" },
    };

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const double y[] = { cases[i].from, cases[i].to };
        const cbx_plot_series series = { NULL, NULL, y, NULL, NULL, 2, 0, NULL, NULL };
        cbx_plot_opts o = CBX_PLOT_OPTS_INIT;
        cbx_err err = CBX_ERR_INIT;
        cbx_plot *p = NULL;
        o.y = cases[i].scale;
        o.y_label = cases[i].label;
        CHECK_OK(cbx_plot_create(s->ctx, &o, &p, &err), &err, "plot");
        CHECK_OK(cbx_plot_line(p, &series, &err), &err, "line");
        const char *drawn = svg(s, p);
        if (!strstr(drawn, cases[i].tick) || !strstr(drawn, cases[i].title))
            fail_msg("'%s' from %g: no '%s' or no '%s'", cases[i].label, cases[i].from, cases[i].tick, cases[i].title);
        cbx_plot_free(p);
    }
}

/* Days for a long series, times of day for a short one. */
TEST(dates_along_x, setup, teardown)
{
    state *s = *test_state;
    static const struct {
        double days;
        const char *tick;
    } cases[] = {
        { 40, ">2026-01-17</text>" }, { 3000, ">2028-" }, { 0.5, ">01-01 06:00</text>" }, { 0, ">01-01 00:0" }
    };

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const double x[] = { 1767225600, 1767225600 + 86400 * cases[i].days }, y[] = { 1, 2 };
        const cbx_plot_series series = { NULL, x, y, NULL, NULL, 2, 0, NULL, NULL };
        cbx_plot *p = make(s, CBX_PLOT_DATES, CBX_PLOT_LINEAR);
        cbx_err err = CBX_ERR_INIT;
        CHECK_OK(cbx_plot_line(p, &series, &err), &err, "line");
        const char *drawn = svg(s, p);
        CHECK(strstr(drawn, cases[i].tick), drawn);
        cbx_plot_free(p);
    }
    cbx_plot_opts o = CBX_PLOT_OPTS_INIT;
    cbx_plot *p = NULL;
    cbx_err err = CBX_ERR_INIT;
    o.y = CBX_PLOT_DATES;
    CHECK_STATUS(cbx_plot_create(s->ctx, &o, &p, &err), CBX_EINVAL, "dates along y");
}

TEST(text_that_is_not_text, setup, teardown)
{
    state *s = *test_state;
    const char *const names[] = { "a\x01<b>\xff&\xed\xa0\x80", "0123456789012345678901234567890123456789012345678901" };
    const double y[] = { 1, 2 };
    const cbx_plot_series series = { NULL, NULL, y, NULL, NULL, 2, 0, NULL, NULL };
    cbx_plot *p = make(s, CBX_PLOT_CATEGORIES, CBX_PLOT_LINEAR);
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_plot_categories(p, names, 2, &err), &err, "names");
    CHECK_OK(cbx_plot_bars(p, &series, &err), &err, "bars");
    const char *drawn = svg(s, p);
    CHECK(strstr(drawn, ">a\xEF\xBF\xBD&lt;b&gt;\xEF\xBF\xBD&amp;\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD</text>"), drawn);
    CHECK(strstr(drawn, ">012345678901234567890123456789") && strstr(drawn, "\xE2\x80\xA6</text>"),
          "a name longer than the page allows is cut, and marked");
    cbx_plot_free(p);
}

TEST(more_values_than_names, setup, teardown)
{
    state *s = *test_state;
    const char *const names[] = { "a" };
    const double y[] = { 1, 2 };
    const cbx_plot_series series = { NULL, NULL, y, NULL, NULL, 2, 0, NULL, NULL };
    cbx_plot *p = make(s, CBX_PLOT_CATEGORIES, CBX_PLOT_LINEAR);
    cbx_text text;
    cbx_err err = CBX_ERR_INIT;

    cbx_text_init(&text, cbx_ctx_allocator(s->ctx));
    CHECK_OK(cbx_plot_categories(p, names, 1, &err), &err, "names");
    CHECK_OK(cbx_plot_bars(p, &series, &err), &err, "bars");
    CHECK_STATUS(cbx_plot_draw(p, CBX_PLOT_SVG, &text, &err), CBX_EINVAL, "a value without a name");
    CHECK_STR(err.message, "a plot has 1 names of categories, and values for 2", "words");
    cbx_text_clear(&text);
    cbx_plot_free(p);
}

TEST(extremes, setup, teardown)
{
    state *s = *test_state;
    static const struct {
        double y[2];
        cbx_plot_scale scale;
        cbx_status status;
        const char *why;
    } cases[] = {
        { { 1e17, 1e17 + 16 }, CBX_PLOT_LINEAR, CBX_OK, "far from 0, close together" },
        { { 5, 5 }, CBX_PLOT_LINEAR, CBX_OK, "equal" },
        { { 0, 0 }, CBX_PLOT_LINEAR, CBX_OK, "zeros" },
        { { -1e-300, 1e-300 }, CBX_PLOT_LINEAR, CBX_OK, "tiny" },
        { { 4.9e-324, 0 }, CBX_PLOT_LINEAR, CBX_OK, "the smallest number" },
        { { -1.7e308, 1.7e308 }, CBX_PLOT_LINEAR, CBX_EDOM, "a span beyond a double" },
        { { NAN, INFINITY }, CBX_PLOT_LINEAR, CBX_OK, "all missing" },
        { { NAN, NAN }, CBX_PLOT_LOG, CBX_OK, "all missing, logarithmic" },
        { { 1, 1.0001 }, CBX_PLOT_LOG, CBX_OK, "within a decade" },
        { { 4.9e-324, 1.7e308 }, CBX_PLOT_LOG, CBX_OK, "all decades" },
        { { 4.9e-324, 4.9e-324 }, CBX_PLOT_LOG, CBX_OK, "the smallest number, logarithmic" },
        { { 1.7e308, 1.7e308 }, CBX_PLOT_LOG, CBX_OK, "the greatest number, logarithmic" },
        { { -3, -1 }, CBX_PLOT_LINEAR, CBX_OK, "negative" },
    };

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const cbx_plot_series series = { NULL, NULL, cases[i].y, NULL, NULL, 2, 0, NULL, NULL };
        cbx_plot *p = make(s, CBX_PLOT_LINEAR, cases[i].scale);
        cbx_text text;
        cbx_err err = CBX_ERR_INIT;

        cbx_text_init(&text, cbx_ctx_allocator(s->ctx));
        CHECK_OK(cbx_plot_line(p, &series, &err), &err, cases[i].why);
        CHECK_STATUS(cbx_plot_draw(p, CBX_PLOT_SVG, &text, &err), cases[i].status, cases[i].why);
        CHECK(!strstr(cbx_text_str(&text), "nan") && !strstr(cbx_text_str(&text), "inf"), cases[i].why);
        cbx_text_clear(&text);
        cbx_plot_free(p);
    }
}

/* scipy.stats.gaussian_kde([1, 2, 2.5, 4, 7])([0, 2, 5.5]), SciPy 1.16 */
TEST(density)
{
    const double x[] = { 1, 2, 2.5, 4, 7 }, at[] = { 0, 2, 5.5 };
    const double wanted[] = { 0.08177224422831421, 0.15594529545733612, 0.08038270538827791 };
    double out[3];

    cbx_plot_density(x, 5, at, 3, out);
    for (size_t i = 0; i < 3; i++) CHECK_LE(fabs(out[i] - wanted[i]), 1e-15, "as SciPy");
    cbx_plot_density(x, 4, at, 3, out);
    CHECK_GT(fabs(out[0] - wanted[0]), 1e-3, "another sample has another density");
    cbx_plot_density(x, 1, at, 3, out);
    CHECK(out[0] == 0, "one value has no width");
}

static cbx_status everything(cbx_ctx *ctx, void *user)
{
    const double y[] = { 1, 2, NAN, 4 }, lower[] = { 0.5, 1.5, NAN, 3 }, upper[] = { 2, 3, NAN, 5 };
    const bool on[] = { true, false, false, true };
    const char *const names[] = { "a", "b", "c", "d" };
    const cbx_plot_series s = {
        "a",   y,    y, lower, upper, 4, CBX_PLOT_JOIN | CBX_PLOT_STEP | CBX_PLOT_BAND | CBX_PLOT_MARK | CBX_PLOT_WHISK,
        lower, upper
    };
    const cbx_plot_series b = { "b", NULL, y, lower, upper, 4, 0, NULL, NULL };
    const cbx_plot_box box = { 1, 2, 3, 4, 5, y, 4 };
    cbx_plot_opts o = CBX_PLOT_OPTS_INIT;
    cbx_plot *p = NULL, *heat = NULL;
    cbx_text text;
    cbx_status st;

    o.title = "t";
    o.x_label = "x";
    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    st = cbx_plot_create(ctx, &o, &p, NULL);
    if (!st) st = cbx_plot_categories(p, names, 4, NULL);
    if (!st) st = cbx_plot_line(p, &s, NULL);
    if (!st) st = cbx_plot_bars(p, &b, NULL);
    if (!st) st = cbx_plot_boxes(p, 1, &box, NULL);
    if (!st) st = cbx_plot_violin(p, 2, y, 4, NULL);
    if (!st) st = cbx_plot_pareto(p, y, y, on, names, 4, true, NULL);
    if (!st) st = cbx_plot_draw(p, *(cbx_plot_format *)user, &text, NULL);
    o.x = o.y = CBX_PLOT_CATEGORIES;
    if (!st) st = cbx_plot_create(ctx, &o, &heat, NULL);
    if (!st) st = cbx_plot_heat(heat, y, lower, upper, names, 2, names, 2, NULL);
    if (!st) st = cbx_plot_draw(heat, CBX_PLOT_SVG, &text, NULL);
    cbx_plot_free(p);
    cbx_plot_free(heat);
    cbx_text_clear(&text);
    return st;
}

TEST(memory_runs_out)
{
    cbx_plot_format format = CBX_PLOT_SVG;

    CHECK_GT(cbx_test_fail_each(everything, &format, "SVG"), 12, "many allocations were made to fail");
}

TEST(cairo_runs_out, setup, teardown)
{
    state *s = *test_state;
    cbx_plot_format format = CBX_PLOT_PDF;
    cbx_status st = everything(s->ctx, &format);

    CHECK_STATUS(st, CBX_OK, "PDF");
    CHECK_GT(cbx_test_fail_each(everything, &format, "PDF"), 12, "many allocations were made to fail");
    format = CBX_PLOT_PNG;
    CHECK_GT(cbx_test_fail_each(everything, &format, "PNG"), 12, "many allocations were made to fail");
}

/* Widths of DejaVu Sans, 2048 an em, summed: what a program without Helvetica draws must
 * fit, too. */
TEST(labels_fit_a_wider_font)
{
    static const struct {
        const char *words;
        double units;
    } cases[] = { { "torch-with-a-very-long-name<&>", 34400 }, { "name", 5808 } };
    for (size_t i = 0; i < CBX_LEN(cases); i++)
        CHECK_LE(cases[i].units / 2048 * 100, cbx__words_width(cases[i].words, 100), cases[i].words);
}

TESTS()
