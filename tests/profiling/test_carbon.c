/* Carbon of energy, and codecarbon's file, which Python's csv module judges. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/base/file.h"
#include "calibrax/profiling/carbon.h"
#include "fail_alloc.h"

TEST(countries)
{
    const cbx_carbon_intensity *c = NULL, *before = NULL;
    cbx_err err = CBX_ERR_INIT;
    size_t n = 0;
    for (; (c = cbx_carbon_at(n)); n++) {
        CHECK(strlen(c->country) == 3 && c->g_per_kwh > 0 && c->g_per_kwh < 1000, c->name);
        CHECK(!before || strcmp(before->country, c->country) < 0, "in order, each once");
        before = c;
    }
    CHECK_GT((double)n, 60, "countries");
    CHECK_OK(cbx_carbon_find("fra", &c, &err), &err, "a code");
    CHECK_LE(fabs(c->g_per_kwh - 67.39), 0, "France, 2021");
    CHECK_OK(cbx_carbon_find("South Korea", &c, &err), &err, "a name");
    CHECK_STR(c->country, "KOR", "of it");
    CHECK_STATUS(cbx_carbon_find("Germny", &c, &err), CBX_ENOENT, "a slip");
    CHECK(strstr(err.message, "did you mean 'Germany'"), err.message);
    CHECK_STATUS(cbx_carbon_find("Atlantis", &c, &err), CBX_ENOENT, "nowhere");
    CHECK(strstr(err.message, "grams per kWh"), err.message);
    CHECK_LE(fabs(cbx_carbon_kg(3.6e6, 500, 1.2) - 0.6), 1e-15, "1 kWh at 500 g/kWh and PUE 1.2");
    CHECK(isnan(cbx_carbon_kg(-1, 500, 1)) && isnan(cbx_carbon_kg(1, NAN, 1)) && isnan(cbx_carbon_kg(1, 1, 0.9)),
          "out of range");
}

/* Each with the value that codecarbon 3.3.2 takes [g/kWh]: pounds of the states, shares of fossil
 * sources of the provinces. */
TEST(regions)
{
    static const struct {
        const char *country, *region, *code;
        double g;
        int year;
    } cases[] = {
        { NULL, "US-CA", "US-CA", 394.769 * 0.45359237, 2023 },
        { "USA", "ca", "US-CA", 394.769 * 0.45359237, 2023 },
        { "united states", "West Virginia", "US-WV", 1968.869 * 0.45359237, 2023 },
        { "CAN", "QC", "CA-QC", (0.3 * 816.6885263 + 0.2 * 743.8415916) / 100.01, 2023 },
        { "Canada", "nova scotia", "CA-NS", (47.5 * 995.725971 + 13.9 * 743.8415916) / 100.02, 2023 },
        { "CHN", "Inner Mongolia", "CN-NM", 647.9, 2023 },
        { NULL, "no4", "NO4", 51.7, 2025 },
    };
    const cbx_carbon_intensity *r = NULL, *before = NULL, *whole;
    cbx_err err = CBX_ERR_INIT;
    size_t n = 0;
    for (; (r = cbx_carbon_region_at(n)); n++) {
        CHECK(r->region && r->name[0] && r->year >= 2023 && r->source && r->g_per_kwh > 0 && r->g_per_kwh < 1000,
              r->name);
        CHECK(!before || strcmp(before->region, r->region) < 0, "in order, each once");
        CHECK_OK(cbx_carbon_find(r->country, &whole, &err), &err, "of a country of the other table");
        CHECK(!whole->region && whole->year == CBX_CARBON_YEAR && whole->source, "which is whole");
        before = r;
    }
    CHECK_INT(n, 51 + 13 + 30 + 9, "states with the district, provinces, provinces, zones");
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        CHECK_OK(cbx_carbon_find_region(cases[i].country, cases[i].region, &r, &err), &err, cases[i].code);
        CHECK_STR(r->region, cases[i].code, "region");
        CHECK_LE(fabs(r->g_per_kwh - cases[i].g), 0.051, cases[i].code);
        CHECK_INT(r->year, cases[i].year, cases[i].code);
    }
    r = NULL;
    CHECK_STATUS(cbx_carbon_find_region(NULL, "California", &r, &err), CBX_ENOENT, "a name without its country");
    CHECK(!r && strstr(err.message, "similar names are 'US-CA' (California)"), err.message);
    CHECK_STATUS(cbx_carbon_find_region("FRA", "Bretagne", &r, &err), CBX_ENOENT, "a country without regions");
    CHECK_STATUS(cbx_carbon_find_region("Atlantis", "X", &r, &err), CBX_ENOENT, "no country");
    CHECK_STATUS(cbx_carbon_find_region("USA", "QC", &r, &err), CBX_ENOENT, "of another country");
    CHECK_STATUS(cbx_carbon_find_region("USA", "", &r, &err), CBX_ENOENT, "nothing");
}

static void fill(cbx_emissions e[2])
{
    e[0] = e[1] = cbx_emissions_empty();
    e[0].project_name = "a, \"quoted\"\nname";
    e[0].emissions = 1e-6;
    e[0].duration = 161.25;
    e[1].country_iso_code = "FRA";
    e[1].pue = 1;
}

TEST(there_and_back)
{
    char dir[64], ours[128], theirs[128], command[640];
    const char *files[] = { ours, theirs };
    cbx_ctx *ctx = cbx_test_context();
    cbx_emissions e[2];
    const cbx_emissions *r;
    cbx_err err = CBX_ERR_INIT;
    cbx_arena arena;
    size_t n;
    cbx_test_folder(dir);
    snprintf(ours, sizeof ours, "%s/emissions.csv", dir);
    snprintf(theirs, sizeof theirs, "%s/theirs.csv", dir);
    fill(e);
    CHECK_OK(cbx_emissions_write(ctx, ours, e, 2, &err), &err, "write");
    snprintf(command, sizeof command, "python3 '%s/tests/profiling/check_emissions.py' '%s' '%s'",
             getenv("CALIBRAX_SOURCE_ROOT"), ours, theirs);
    CHECK_INT(system(command), 0, "Python reads the same");
    for (size_t f = 0; f < CBX_LEN(files); f++) {
        cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
        CHECK_OK(cbx_emissions_read(ctx, files[f], &arena, &r, &n, &err), &err, files[f]);
        CHECK_INT(n, 2, "lines");
        CHECK_STR(r[0].project_name, e[0].project_name, "quotes, commas, a line's end");
        CHECK(r[0].emissions == 1e-6 && r[0].duration == 161.25 && isnan(r[0].gpu_power), "numbers");
        CHECK_STR(r[0].region, "", "nothing");
        CHECK_STR(r[1].country_iso_code, "FRA", "second line");
        CHECK_LE(fabs(r[1].pue - 1), 0, "second line");
        cbx_arena_clear(&arena);
    }
    e[0].region = "bell \a";
    CHECK_STATUS(cbx_emissions_write(ctx, ours, e, 1, &err), CBX_EINVAL, "a control character");
    cbx_test_folder_remove(dir);
    cbx_ctx_free(ctx);
}

static const struct {
    const char *text;
    size_t lines; /* 0: refused */
    const char *part;
} texts[] = {
    { "emissions,duration\n1,2\n", 1, "" },
    { "duration,emissions\r\n\r\n,2\r\n3,4", 2, "" },
    { "x,emissions\n\"a\nb\",2\n", 1, "" },
    { "emissions\n", 0, "" },
    { "", 0, "no column 'emissions'" },
    { "a,b\n1,2\n", 0, "no column 'emissions'" },
    { "emissions,emissions\n1,2\n", 0, "line 1: a column is listed twice" },
    { "emissions,duration\n1\n", 0, "line 2: 1 cells, the header has 2" },
    { "emissions\nmany\n", 0, "line 2: 'emissions': expected a number, found 'many'" },
    { "emissions\n\"1\n", 0, "line 2: a quote has no end" },
    { "emissions\n\"1\"2\n", 0, "line 2: text after a quoted cell" },
    { "x,emissions\n\"a\n\nb\",z\n", 0, "line 4" },
};

TEST(bad_files)
{
    cbx_arena arena;
    for (size_t i = 0; i < CBX_LEN(texts); i++) {
        const cbx_emissions *r = NULL;
        size_t n = 0;
        cbx_err err = CBX_ERR_INIT;
        cbx_status st;
        cbx_arena_init(&arena, cbx_allocator_default());
        st = cbx_emissions_parse(texts[i].text, strlen(texts[i].text), "f.csv", &arena, &r, &n, &err);
        CHECK_INT(st != CBX_OK, texts[i].part[0] != 0, texts[i].text);
        CHECK_INT(n, texts[i].lines, texts[i].text);
        CHECK(strstr(err.message, texts[i].part), err.message);
        cbx_arena_clear(&arena);
    }
    cbx_arena_init(&arena, cbx_allocator_default());
    CHECK_STATUS(cbx_emissions_parse("emissions\n1\0\n", 13, "f", &arena, &(const cbx_emissions *){ NULL },
                                     &(size_t){ 0 }, NULL),
                 CBX_EFORMAT, "a NUL byte");
    cbx_arena_clear(&arena);
}

static cbx_status use_file(cbx_ctx *ctx, void *path)
{
    cbx_emissions e[2];
    const cbx_emissions *r;
    cbx_arena arena;
    cbx_err err;
    size_t n;
    cbx_status st;
    fill(e);
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    st = cbx_emissions_write(ctx, path, e, 2, &err);
    if (!st) st = cbx_emissions_read(ctx, path, &arena, &r, &n, &err);
    cbx_arena_clear(&arena);
    return st;
}

TEST(out_of_memory)
{
    char dir[64], path[128];
    snprintf(path, sizeof path, "%s/emissions.csv", cbx_test_folder(dir));
    CHECK_GT(cbx_test_fail_each(use_file, path, "emissions"), 4, "allocations");
    cbx_test_folder_remove(dir);
}

TESTS()
