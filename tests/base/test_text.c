/* Growing text, number formats, names. */
#include "check.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/base/file.h"
#include "calibrax/base/together.h"
#include "fail_alloc.h"

TEST(grows_and_resets)
{
    cbx_test_alloc alloc;
    cbx_test_alloc_init(&alloc);
    cbx_text t;
    cbx_text_init(&t, &alloc.al);
    CHECK_STR(cbx_text_str(&t), "", "empty before the first byte");
    for (int i = 0; i < 1000; i++) cbx_text_printf(&t, "%d,", i);
    cbx_text_putc(&t, '!');
    cbx_text_add(&t, "abc", 2);
    cbx_text_add(&t, NULL, 0);
    CHECK_INT(t.len, 3890 + 3, "10 + 90*2 + 900*3 digits, 1000 commas, three more");
    CHECK_STR(cbx_text_str(&t) + t.len - 8, ",999,!ab", "the end");
    cbx_text_reset(&t);
    CHECK_STR(cbx_text_str(&t), "", "empty after reset");
    cbx_text_puts(&t, "again");
    CHECK_STR(cbx_text_str(&t), "again", "usable after reset");
    cbx_text_clear(&t);
    cbx_text_puts(&t, "and again");
    CHECK_STR(cbx_text_str(&t), "and again", "usable after clear");
    cbx_text_clear(&t);
    cbx_test_alloc_check(&alloc, "text");
}

static cbx_status fill_text(cbx_ctx *ctx, void *user)
{
    (void)user;
    cbx_err err = CBX_ERR_INIT;
    cbx_text t;
    cbx_text_init(&t, cbx_ctx_allocator(ctx));
    for (int i = 0; i < 60; i++) cbx_text_printf(&t, "line %d\n", i);
    cbx_text_put_html(&t, "<&>");
    cbx_status st = cbx_text_check(&t, &err);
    cbx_text_clear(&t);
    return st;
}

TEST(failure_sticks)
{
    CHECK_GT(cbx_test_fail_each(fill_text, NULL, "text"), 2, "it grew more than twice");
    cbx_test_alloc alloc;
    cbx_test_alloc_init(&alloc);
    cbx_text t;
    cbx_text_init(&t, &alloc.al);
    alloc.fail_at = 1;
    cbx_text_puts(&t, "lost");
    cbx_text_puts(&t, "ignored, although there is memory again");
    CHECK_STATUS(t.status, CBX_ENOMEM, "sticky");
    CHECK_STR(cbx_text_str(&t), "", "nothing half-written");
    cbx_text_clear(&t);
}

TEST(html_is_escaped)
{
    cbx_text t;
    cbx_text_init(&t, cbx_allocator_default());
    cbx__put_mixed(&t, cbx_text_put_html, "<b>", "<", "</b>", NULL);
    cbx__put_mixed(&t, cbx_text_put_html, NULL);
    CHECK_STR(cbx_text_str(&t), "<b>&lt;</b>", "every second text");
    cbx_text_clear(&t);
    cbx_text_put_html(&t, "a<b & \"c\" 'd'>\xC3\xA9&&");
    CHECK_STR(cbx_text_str(&t), "a&lt;b &amp; &quot;c&quot; &#39;d&#39;&gt;\xC3\xA9&amp;&amp;", "all five");
    cbx_text_clear(&t);
}

/* Lines of the fixture that `format` prints otherwise than Python's repr. */
static int lines_unlike_repr(const char *(*format)(double, char *))
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    char *data = NULL, *rest = NULL, buf[64];
    size_t len = 0;
    int wrong = 0, lines = 0;
    CHECK_OK(cbx_file_read(ctx, cbx_test_source("tests/base/fixtures/format_double.txt"), 0, &data, &len, &err), &err,
             "fixture");
    for (char *line = strtok_r(data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), lines++) {
        uint64_t bits = strtoull(line, NULL, 16);
        double v;
        memcpy(&v, &bits, sizeof v);
        if (strcmp(format(v, buf), line + 17) == 0) continue;
        if (wrong++ < 5 && format == cbx_format_double) print_error("%s printed as %s\n", line, buf);
    }
    cbx_mem_free(cbx_ctx_allocator(ctx), data, len + 1);
    cbx_ctx_free(ctx);
    CHECK_GT(lines, 700, "the fixture is there");
    return wrong;
}

static const char *format_g17(double v, char *buf)
{
    snprintf(buf, CBX_FORMAT_SIZE, "%.17g", v);
    return buf;
}

/* The first nearest decimal that reads back, without the rule for powers of two: right but for some
 * of those. */
static const char *format_nearest(double v, char *buf)
{
    int n = 1;
    char s[64];
    do snprintf(s, sizeof s, "%.*e", n - 1, v);
    while (strtod(s, NULL) != v && n++ < 17);
    cbx_format_double(v, buf);
    size_t digits = strspn(s, "-0123456789.") - strspn(s, "-") - (strchr(s, '.') != NULL);
    size_t shortest = strspn(buf, "-0123456789.") - strspn(buf, "-") - (strchr(buf, '.') != NULL);
    return strchr(buf, 'e') && digits > shortest ? strcpy(buf, "longer") : buf;
}

TEST(doubles_print_as_python_prints_them)
{
    CHECK_INT(lines_unlike_repr(cbx_format_double), 0, "Python's repr");
    CHECK_GT(lines_unlike_repr(format_g17), 100, "the check sees 17 digits");
    CHECK_GT(lines_unlike_repr(format_nearest), 0, "the check sees the rule for powers of two missing");
}

TEST(doubles_do_not_depend_on_the_locale)
{
    char buf[CBX_FORMAT_SIZE], folder[64], command[256];
    cbx_test_folder(folder);
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 --no-archive %s/de_DE.UTF-8", folder);
    CHECK_INT(system(command), 0, "a locale with a decimal comma (packages libc-bin and locales)");
    setenv("LOCPATH", folder, 1);
    CHECK(setlocale(LC_NUMERIC, "de_DE.UTF-8"), "it is in use");
    snprintf(buf, sizeof buf, "%.1f", 1234.5);
    CHECK_STR(buf, "1234,5", "comma");
    CHECK_STR(cbx_format_double(1234.5, buf), "1234.5", "point");
    CHECK_STR(cbx_format_seconds(1.5, buf), "1.500 s", "point");
    setlocale(LC_NUMERIC, "C");
    unsetenv("LOCPATH");
    cbx_test_folder_remove(folder);
}

TEST(every_double_reads_back)
{
    uint64_t bits = 1;
    char buf[CBX_FORMAT_SIZE];
    for (int i = 0; i < 20000; i++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        double v;
        memcpy(&v, &bits, sizeof v);
        if (isnan(v)) continue;
        CHECK(strlen(cbx_format_double(v, buf)) < CBX_FORMAT_SIZE, "fits");
        CHECK(strtod(buf, NULL) == v, buf);
    }
}

TEST(seconds_for_people)
{
    static const struct {
        double seconds;
        const char *wanted, *why;
    } cases[] = {
        { 0, "0 ns", "nothing" },
        { 12e-9, "12 ns", "ns have no decimals" },
        { 999.4e-9, "999 ns", "the last of ns" },
        { 999.6e-9, "1.0 \xC2\xB5s", "rounds into the next unit" },
        { 1e-6, "1.0 \xC2\xB5s", "the first of us" },
        { 12.34e-6, "12.3 \xC2\xB5s", "one decimal" },
        { 999.96e-6, "1.00 ms", "rounds into the next unit" },
        { 0.0123456, "12.35 ms", "two decimals" },
        { 0.099996, "100.0 ms", "rounds into fewer decimals" },
        { 0.999996, "1.000 s", "rounds into the next unit" },
        { -1e-12, "0 ns", "no minus for nothing" },
        { 61.5, "61.500 s", "three decimals" },
        { -0.5, "-500.0 ms", "a difference" },
        { NAN, "-", "unknown" },
        { INFINITY, "inf s", "endless" },
        { 1e300, "1e+300 s", "beyond the integers" },
    };
    char buf[CBX_FORMAT_SIZE];
    for (size_t i = 0; i < CBX_LEN(cases); i++)
        CHECK_STR(cbx_format_seconds(cases[i].seconds, buf), cases[i].wanted, cases[i].why);
}

TEST(intervals_of_seconds)
{
    static const struct {
        double value, lower, upper;
        const char *wanted, *why;
    } cases[] = {
        { 3.21e-3, 3.19e-3, 3.25e-3, "3.21 ms [3.19, 3.25]", "the ends have the decimals of the value" },
        { 0.9, 0.02, 1.2, "900.0 ms [20.0, 1200.0]", "and its unit, however far they are" },
        { 0.9, 0.02, INFINITY, "900.0 ms", "an endless one is none" },
        { 1e-6, -1e-6, 2e-6, "1.0 \xC2\xB5s [-1.0, 2.0]", "a difference" },
        { NAN, 1, 2, "-", "unknown" },
        { 1, 2, 1e300, "1.000 s [2.000, 1e+300]", "beyond the integers" },
    };
    char buf[CBX_FORMAT_INTERVAL_SIZE];
    for (size_t i = 0; i < CBX_LEN(cases); i++)
        CHECK_STR(cbx_format_seconds_interval(cases[i].value, cases[i].lower, cases[i].upper, buf), cases[i].wanted,
                  cases[i].why);
}

TEST(ratios)
{
    static const struct {
        double ratio, lower, upper;
        const char *wanted, *why;
    } cases[] = {
        { 0.124, 0.121, 0.127, "0.124 [0.121, 0.127]", "three digits" },
        { 1.0203, 1.0198, 1.0209, "1.020 [1.020, 1.021]", "four where three hide the interval" },
        { 0.9997, NAN, NAN, "1.00", "rounds up" },
        { 16.05, 16, INFINITY, "16.1", "an endless interval is none" },
        { 1234, 1200, 1300, "1234 [1200, 1300]", "no exponent" },
        { 0, 0, 1, "-", "none" },
        { NAN, 1, 2, "-", "unknown" },
    };
    char buf[CBX_FORMAT_INTERVAL_SIZE];
    for (size_t i = 0; i < CBX_LEN(cases); i++)
        CHECK_STR(cbx_format_ratio(cases[i].ratio, cases[i].lower, cases[i].upper, buf), cases[i].wanted, cases[i].why);
}

TEST(names_that_are_safe)
{
    char longest[130];
    memset(longest, 'a', sizeof longest);
    longest[128] = 0;
    static const struct {
        const char *name;
        bool safe;
        const char *why;
    } cases[] = {
        { "semiring_matmul", true, "a case" },
        { "20260220T113424.346877+0000", false, "plus is not in the list" },
        { "a.b-c_D9", true, "every kind" },
        { "", false, "empty" },
        { ".hidden", false, "leading dot" },
        { "-rf", false, "leading dash" },
        { "a/b", false, "slash" },
        { "..", false, "parent" },
        { "a b", false, "blank" },
        { "\xC3\xA9", false, "beyond ASCII" },
        { "_", true, "one character" },
        { "a\n", false, "line end" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) CHECK(cbx_name_is_safe(cases[i].name) == cases[i].safe, cases[i].why);
    CHECK(cbx_name_is_safe(longest), "128 characters");
    longest[128] = 'a';
    longest[129] = 0;
    CHECK(!cbx_name_is_safe(longest), "129 characters");
}

TEST(nearest_word)
{
    static const char *const words[] = { "stream", "tiled", "naive-dense", "openblas", "numpy" };
    static const struct {
        const char *word, *nearest, *why;
    } cases[] = {
        { "streem", "stream", "one replaced" },   { "tield", "tiled", "two swapped" },
        { "opnblas", "openblas", "one missing" }, { "numpyy", "numpy", "one too many" },
        { "jax", NULL, "nothing near" },          { "", NULL, "empty" },
        { "naivedens", "naive-dense", "two" },    { "ti", NULL, "three edits of two are too many" },
        { "stream", "stream", "equal" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const char *found = cbx_nearest_word(cases[i].word, words, CBX_LEN(words));
        if (cases[i].nearest)
            CHECK_STR(found, cases[i].nearest, cases[i].why);
        else
            CHECK(found == NULL, cases[i].why);
    }
    CHECK(cbx_nearest_word("x", NULL, 0) == NULL, "no candidates");
}

TESTS()
