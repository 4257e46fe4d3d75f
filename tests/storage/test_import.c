/* Importers on files of the tools they are for: what they come to, what damage comes to, memory
 * that runs out, odd content. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/base/file.h"
#include "calibrax/storage/import.h"
#include "fail_alloc.h"

/* What a fixture holds: one point of it, by its place. */
static const struct {
    const char *file, *format;
    size_t nruns, npoints, nnotes; /* points of the first run */
    size_t at;
    const char *name, *scenario, *tag, *tag_value, *metric, *unit;
    double value; /* NaN: measured again with the fixture, so only finite and > 0 */
    size_t nsamples;
} cases[] = {
    { "runs/full.json", "calibrax", 1, 3, 0, 0, "forward", "train", "framework", "flax", "latency", "ms", 0.8, 3 },
    { "import/google-benchmark.json", "google-benchmark", 1, 8, 1, 0, "copy", "toys", "args", "1024", "time", "s", NAN,
      3 },
    { "import/google-benchmark-aggregates.json", "google-benchmark", 1, 4, 0, 1, "copy", "toys", "aggregate", "median",
      "time", "s", NAN, 0 },
    { "import/hyperfine.json", "hyperfine", 1, 4, 2, 0, "hyperfine", "", "command", "sleep 0.00{n}", "time", "s", NAN,
      4 },
    { "import/pytest-benchmark.json", "pytest-benchmark", 1, 3, 0, 0, "test_sorted", "sort", "n", "10", "time", "s",
      NAN, 5 },
    { "import/pyperf.json", "pyperf", 1, 2, 0, 1, "sum", "", NULL, NULL, "time", "s", NAN, 6 },
    { "import/pyperf.json.gz", "pyperf", 1, 2, 0, 1, "sum", "", NULL, NULL, "time", "s", NAN, 6 },
    { "import/go.txt", "go", 1, 3, 0, 0, "Sort", "example.org/toys", "n", "10", "time", "s", NAN, 2 },
    { "import/asv/host/77b9cf03-existing.json", "asv", 1, 6, 2, 1, "time_sorted", "sorting.Sorting", "order", "down",
      "time", "s", NAN, 6 },
    { "import/criterion", "criterion", 1, 4, 0, 1, "quick, \"in place\"", "sort", "value", "10", "time", "s", NAN, 10 },
    { "import/criterion", "criterion", 1, 4, 0, 0, "copy", "sort", NULL, NULL, "bytes_per_second", "B/s", NAN, 0 },
    { "import/criterion", "criterion", 1, 4, 0, 3, "sum", "", NULL, NULL, "time", "s", NAN, 10 },
    { "import/criterion-messages.jsonl", "criterion", 1, 1, 0, 0, "sort/quick/1000", "", NULL, NULL, "time", "s",
      2035.5e-9, 3 },
    { "import/criterion-raw.csv", "criterion", 1, 4, 0, 1, "quick, \"in place\"", "sort", "value", "10", "time", "s",
      NAN, 10 },
    { "import/jmh.json", "jmh", 1, 3, 0, 0, "quick", "org.example.Sort", "size", "1000", "time", "s", 12.5e-6, 6 },
    { "import/jmh.json", "jmh", 1, 3, 0, 1, "quick", "org.example.Sort", "threads", "4", "throughput", "ops/s", 80000,
      1 },
    { "import/nanobench.json", "nanobench", 1, 1, 0, 0, "quick", "sort", "n", "1000", "time", "s", 2.05e-6, 3 },
    { "import/nvbench.json", "nvbench", 1, 1, 1, 0, "copy", "", "Elements", "65536", "time", "s", 4.25e-6, 1200 },
    { "import/nvbench.json", "nvbench", 1, 1, 1, 0, "copy", "", "device", "Some GPU", "bytes_per_second", "B/s",
      1.23e11, 0 },
    { "import/benchmarktools.json", "benchmarktools", 1, 2, 3, 0, "quick", "sort", NULL, NULL, "time", "s", 2.05e-6,
      3 },
    { "runs/result.json", "calibrax-result", 1, 1, 0, 0, "resnet", "vision", "framework", "flax", "batch_time", "s",
      0.5, 3 },
    { "import/bmf.json", "bmf", 1, 3, 0, 0, "sort/quick", "", NULL, NULL, "time", "s", 2.04e-6, 0 },
    { "import/torch.trace.json", "trace", 1, 11, 0, 0, "aten::addmm", "CPU functions", NULL, NULL, "calls", "1", 5, 0 },
    { "import/bmf-1.json", "bmf", 1, 4, 0, 0, "sort::quick", "", "size_mb", "16", "time_p99", "s", 2.5e-6, 0 },
    { "import/bmf-1.json", "bmf", 1, 4, 0, 1, "sort::quick", "", "op", "read", "instructions", "", 81250, 0 },
    { "rows/troubled.jsonl", "nperf", 1, 6, 12, 0, "semiring_matmul", "cpu", "baseline", "stream", "time", "s", NAN,
      0 },
};

static const char *path_of(const char *file, char path[512])
{
    snprintf(path, 512, "%s/tests/fixtures/%s", getenv("CALIBRAX_SOURCE_ROOT"), file);
    return path;
}

/* No file of its own: a folder, or the file of the case before. */
static bool is_no_file(size_t i)
{
    return !strcmp(cases[i].file, "import/criterion") || (i > 0 && !strcmp(cases[i].file, cases[i - 1].file));
}

/* --- what they come to --- */

static void check_point(size_t i, const cbx_run *run)
{
    const cbx_point *p = cbx_run_point(run, cases[i].at);
    const cbx_metric *m;
    const cbx_metric_def *def = cbx_run_find_metric_def(run, cases[i].metric);

    CHECK_INT(cbx_run_npoints(run), cases[i].npoints, cases[i].file);
    CHECK(p, cases[i].file);
    CHECK_STR(p->name, cases[i].name, cases[i].file);
    CHECK_STR(p->scenario, cases[i].scenario, cases[i].file);
    if (cases[i].tag) CHECK_STR(cbx_point_tag(p, cases[i].tag), cases[i].tag_value, cases[i].file);
    m = cbx_point_metric(p, cases[i].metric);
    CHECK(m && def, cases[i].file);
    CHECK_STR(def->unit, cases[i].unit, cases[i].file);
    if (isnan(cases[i].value))
        CHECK(m->value > 0 && (m->value < 60 || !strcmp(def->unit, "B/s")), cases[i].file);
    else
        CHECK_LE(fabs(m->value - cases[i].value), 1e-12 * cases[i].value, cases[i].file);
    if (cases[i].nsamples) CHECK_INT(m->nsamples, cases[i].nsamples, cases[i].file);
}

TEST(fixtures_come_to_what_they_hold)
{
    cbx_test_alloc alloc;
    cbx_ctx *ctx;
    char path[512];

    cbx_test_alloc_init(&alloc);
    ctx = cbx_test_ctx(&alloc);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_import import, again;
        cbx_err err = CBX_ERR_INIT;
        CHECK_OK(cbx_import_file(ctx, path_of(cases[i].file, path), NULL, &import, &err), &err, cases[i].file);
        CHECK_STR(import.format, cases[i].format, cases[i].file);
        CHECK_INT(import.nruns, cases[i].nruns, cases[i].file);
        CHECK_INT(import.nnotes, cases[i].nnotes, cases[i].file);
        check_point(i, import.runs[0]);
        CHECK_OK(cbx_import_file(ctx, path, NULL, &again, &err), &err, "a second time");
        CHECK_STR(cbx_run_id(again.runs[0]), cbx_run_id(import.runs[0]), "the same file is the same run");
        cbx_import_clear(&again);
        cbx_import_clear(&import);
    }
    cbx_ctx_free(ctx);
    cbx_test_alloc_check(&alloc, "after all files");
}

/* What the table of fixtures does not show: directions, bounds and the last sample. */
TEST(directions_bounds_and_samples)
{
    static const struct {
        const char *file;
        size_t at;
        const char *metric;
        cbx_direction direction;
        double last; /* sample; NaN: any */
        bool bounds;
    } wanted[] = {
        { "import/jmh.json", 0, "time", CBX_DIRECTION_LOWER, NAN, false },
        { "import/jmh.json", 1, "throughput", CBX_DIRECTION_HIGHER, NAN, false },
        { "import/asv/host/77b9cf03-existing.json", 1, "time", CBX_DIRECTION_LOWER, NAN, true },
        { "import/benchmarktools.json", 0, "gc_time", CBX_DIRECTION_LOWER, 30e-9, false },
        { "import/nvbench.json", 0, "bytes_per_second", CBX_DIRECTION_HIGHER, NAN, false },
    };
    cbx_ctx *ctx = cbx_test_context();
    char path[512];

    cbx_err err = CBX_ERR_INIT;
    for (size_t i = 0; i < CBX_LEN(wanted); i++) {
        cbx_import import;
        CHECK_OK(cbx_import_file(ctx, path_of(wanted[i].file, path), NULL, &import, &err), &err, wanted[i].file);
        const cbx_metric_def *def = cbx_run_find_metric_def(import.runs[0], wanted[i].metric);
        const cbx_metric *m = cbx_point_metric(cbx_run_point(import.runs[0], wanted[i].at), wanted[i].metric);
        CHECK(def && m, wanted[i].file);
        CHECK_INT(def->direction, wanted[i].direction, wanted[i].file);
        if (wanted[i].bounds) CHECK(m->lower < m->value && m->value < m->upper, wanted[i].file);
        if (!isnan(wanted[i].last)) {
            CHECK(m->nsamples, wanted[i].file);
            CHECK_LE(fabs(m->samples[m->nsamples - 1] - wanted[i].last), 1e-12 * wanted[i].last, wanted[i].file);
        }
        cbx_import_clear(&import);
    }
    cbx_ctx_free(ctx);
}

TEST(facts_of_the_run_are_kept)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_import import;
    cbx_import_opts opts = CBX_IMPORT_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    char path[512];

    CHECK_OK(cbx_import_file(ctx, path_of("import/pytest-benchmark.json", path), NULL, &import, &err), &err, "pytest");
    CHECK_INT(strlen(cbx_run_commit(import.runs[0])), 40, "commit");
    CHECK_STR(cbx_run_branch(import.runs[0]), "main", "branch");
    CHECK(cbx_run_timestamp_us(import.runs[0]) > 1700000000000000, "time");
    CHECK(cbx_json_has(cbx_json_get(cbx_run_metadata(import.runs[0]), "extra_info"), "test_sort.py::test_sorted[10]"),
          "extra_info");
    cbx_import_clear(&import);
    CHECK_OK(cbx_import_file(ctx, path_of("rows/troubled.jsonl", path), NULL, &import, &err), &err, "nperf");
    CHECK_STR(cbx_run_commit(import.runs[0]), "c0ffee1", "revision of a run id");
    CHECK_STR(cbx_json_get_string(cbx_run_environment(import.runs[0]), "machine", ""), "5b1d0c9f3a7e4402",
              "fingerprint");
    cbx_import_clear(&import);
    opts.commit = "abcdef";
    opts.branch = "dev";
    opts.timestamp_us = 1234567;
    CHECK_OK(cbx_import_file(ctx, path_of("import/bmf.json", path), &opts, &import, &err), &err, "told facts");
    CHECK_STR(cbx_run_commit(import.runs[0]), "abcdef", "told commit");
    CHECK_STR(cbx_run_branch(import.runs[0]), "dev", "told branch");
    CHECK_INT(cbx_run_timestamp_us(import.runs[0]), 1234567, "told time");
    cbx_import_clear(&import);
    cbx_ctx_free(ctx);
}

TEST(machine_of_asv)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_import import;
    cbx_err err = CBX_ERR_INIT;
    const cbx_json *environment;
    char path[512];

    CHECK_OK(cbx_import_file(ctx, path_of("import/asv/host/77b9cf03-existing.json", path), NULL, &import, &err), &err,
             "asv");
    environment = cbx_run_environment(import.runs[0]);
    CHECK_STR(cbx_json_get_string(environment, "machine", ""), "host", "the machine's name");
    CHECK_STR(cbx_json_get_string(cbx_json_get(environment, "machine_info"), "cpu", ""), "Some CPU", "and its facts");
    cbx_import_clear(&import);
    cbx_ctx_free(ctx);
}

/* --- folders --- */

TEST(folders_stand_for_their_files)
{
    static const struct {
        const char *folder;
        size_t n;
        const char *last; /* end of the last path */
    } folders[] = {
        { "import/asv", 1, "asv/host/77b9cf03-existing.json" },
        { "import/asv/host", 1, "/77b9cf03-existing.json" },
        { "import/criterion", 1, "import/criterion" },
        { "store", 3, "store/runs/cafe00000003.json" },
        { "runs", 3, "" },
        { "rows", 3, "rows/typical.jsonl" },
        { "import/bmf.json", 1, "import/bmf.json" },
    };
    cbx_ctx *ctx = cbx_test_context();
    cbx_arena arena;
    cbx_err err = CBX_ERR_INIT;
    const char *const *paths = NULL;
    size_t n = 0;
    char path[512];

    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    for (size_t i = 0; i < CBX_LEN(folders); i++) {
        CHECK_OK(cbx_import_files(ctx, path_of(folders[i].folder, path), &arena, &paths, &n, &err), &err, path);
        if (*folders[i].last) {
            CHECK_INT(n, folders[i].n, folders[i].folder);
            CHECK(strstr(paths[n - 1], folders[i].last), paths[n - 1]);
        }
    }
    CHECK_STATUS(cbx_import_files(ctx, path_of("npy", path), &arena, &paths, &n, &err), CBX_EFORMAT, "arrays");
    CHECK(strstr(err.message, "folder without measurements"), err.message);
    cbx_arena_clear(&arena);
    cbx_ctx_free(ctx);
}

/* --- damage --- */

/* Whatever the text, the outcome is runs, or a sentence that names the source. */
static cbx_status try_text(cbx_ctx *ctx, const char *text, size_t len, const char *format)
{
    cbx_import_opts opts = CBX_IMPORT_OPTS_INIT;
    cbx_import import;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    opts.format = format;
    st = cbx_import_text(ctx, text, len, "some file", &opts, &import, &err);
    if (st) {
        CHECK(st != CBX_ENOMEM && st != CBX_EINVAL && st != CBX_EINTERNAL, err.message);
        CHECK(strstr(err.message, "some file"), err.message);
        CHECK(!strchr(err.message, '\n'), "one line");
    } else {
        CHECK(import.nruns > 0, "no error, so runs");
        cbx_import_clear(&import);
    }
    return st;
}

TEST(files_cut_at_each_byte)
{
    cbx_ctx *ctx = cbx_test_context();
    char path[512];

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        char *text;
        size_t len, wholes = 0;
        if (is_no_file(i)) continue;
        CHECK_OK(cbx_file_read(ctx, path_of(cases[i].file, path), 0, &text, &len, NULL), &(cbx_err)CBX_ERR_INIT, path);
        for (size_t cut = 0; cut<len; cut += len> 20000 ? 97 : 1) {
            wholes += try_text(ctx, text, cut, NULL) == CBX_OK;
            if (cut % 7 == 0) try_text(ctx, text, cut, cases[i].format);
        }
        if (strstr(cases[i].file, ".json") == cases[i].file + strlen(cases[i].file) - 5)
            CHECK_LE(wholes, 2, "a JSON file without its end is refused");
        cbx_mem_free(cbx_ctx_allocator(ctx), text, len + 1);
    }
    cbx_ctx_free(ctx);
}

/* A kilobyte that is a gigabyte of blanks, a member behind another, something that is no JSON, and
 * each byte damaged. */
TEST(compressed_files)
{
    cbx_import_opts opts = CBX_IMPORT_OPTS_INIT;
    cbx_import import;
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *ctx = cbx_test_context();
    char path[512], *text, *twice;
    size_t len, taken = 0;

    CHECK_OK(cbx_file_read(ctx, path_of("import/pyperf.json.gz", path), 0, &text, &len, &err), &err, path);
    for (size_t i = 0; i < len; i++) {
        text[i] ^= 0x10;
        taken += try_text(ctx, text, len, NULL) == CBX_OK;
        text[i] ^= 0x10;
    }
    CHECK_LE(taken, 12, "damage is seen, but for time and system in the head");
    twice = malloc(2 * len);
    memcpy(twice, text, len);
    memcpy(twice + len, text, len);
    CHECK_STATUS(try_text(ctx, twice, 2 * len, NULL), CBX_EFORMAT, "two documents are no JSON");
    CHECK_STATUS(try_text(ctx, twice, 2 * len - 9, NULL), CBX_EFORMAT, "and the second one must be whole");
    opts.max_bytes = 2 * len;
    CHECK_STATUS(cbx_import_text(ctx, text, len, "f.gz", &opts, &import, &err), CBX_EOVERFLOW, "more than is allowed");
    CHECK(strstr(err.message, "f.gz"), err.message);
    free(twice);
    cbx_mem_free(cbx_ctx_allocator(ctx), text, len + 1);
    cbx_ctx_free(ctx);
}

/* The file of samples is looked for below the JSON's folder, and nowhere else. */
TEST(samples_beside_the_file)
{
    static const struct {
        const char *name;
        int size;
        size_t nnotes, nsamples;
        const char *why;
    } names[] = {
        { "s.bin", 3, 0, 3, "beside it" },
        { "s.bin", 4, 1, 0, "another number of them" },
        { "none.bin", 3, 1, 0, "not there" },
        { "elsewhere/results/none.bin", 3, 1, 0, "not there by its last folder either" },
        { "there/t.bin", 3, 0, 3, "below it" },
        { "as/seen/from/there/t.bin", 3, 0, 3, "named as seen from where the tool ran" },
        { "/an/old/place/there/t.bin", 3, 0, 3, "named by a place that it was moved from" },
        { "../s.bin", 3, 1, 0, "leads out of the folder" },
        { "x/../s.bin", 3, 1, 0, "leads through another" },
        { "/etc/hostname", 3, 1, 0, "leads anywhere" },
    };
    static const float values[] = { 1e-6f, 2e-6f, 4e-6f };
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    char folder[64], json[128], bin[128], below[128], text[600];

    cbx_test_folder(folder);
    snprintf(json, sizeof json, "%s/a.json", folder);
    snprintf(bin, sizeof bin, "%s/s.bin", folder);
    snprintf(below, sizeof below, "%s/there", folder);
    CHECK_OK(cbx_dir_create(ctx, below, &err), &err, below);
    snprintf(below, sizeof below, "%s/there/t.bin", folder);
    CHECK_OK(cbx_file_write_atomic(ctx, bin, values, sizeof values, &err), &err, "samples");
    CHECK_OK(cbx_file_write_atomic(ctx, below, values, sizeof values, &err), &err, "samples below");
    for (size_t i = 0; i < CBX_LEN(names); i++) {
        const cbx_metric *m;
        cbx_import import;
        snprintf(text, sizeof text,
                 "{\"benchmarks\":[{\"name\":\"b\",\"states\":[{\"summaries\":[{\"tag\":\"nv/cold/time/gpu/mean\","
                 "\"data\":[{\"name\":\"value\",\"type\":\"float64\",\"value\":\"2e-6\"}]},"
                 "{\"tag\":\"nv/json/bin:nv/cold/sample_times\",\"data\":[{\"name\":\"filename\",\"type\":\"string\","
                 "\"value\":\"%s\"},{\"name\":\"size\",\"type\":\"int64\",\"value\":\"%d\"}]}]}]}]}",
                 names[i].name, names[i].size);
        CHECK_OK(cbx_file_write_atomic(ctx, json, text, strlen(text), &err), &err, "JSON");
        CHECK_OK(cbx_import_file(ctx, json, NULL, &import, &err), &err, names[i].why);
        CHECK_INT(import.nnotes, names[i].nnotes, names[i].why);
        m = cbx_point_metric(cbx_run_point(import.runs[0], 0), "time");
        CHECK_INT(m->nsamples, names[i].nsamples, names[i].why);
        if (m->nsamples) CHECK(m->samples[2] == (double)values[2], "little-endian floats");
        cbx_import_clear(&import);
    }
    cbx_test_folder_remove(folder);
    cbx_ctx_free(ctx);
}

/* Text with the n-th value of its JSON (arrays and objects too) changed for another; false: there
 * are fewer. */
static bool change(cbx_json *v, size_t *n, cbx_json *(*other)(void))
{
    const char *key;
    cbx_json *inner;

    if (cbx_json_typeof(v) != CBX_JSON_OBJECT) {
        for (size_t i = 0; i < cbx_json_length(v) && cbx_json_typeof(v) == CBX_JSON_ARRAY; i++) {
            if (change(cbx_json_at(v, i), n, other)) return true;
        }
        return false;
    }
    for (size_t i = 0; cbx_json_member(v, i, &key, &inner); i++) {
        if ((*n)-- == 0) return cbx_json_set(v, key, other());
        if (change(inner, n, other)) return true;
    }
    return false;
}

static cbx_json *a_word(void) { return cbx_json_new_string("word"); }
static cbx_json *a_number(void) { return cbx_json_new_int(-7); }
static cbx_json *a_nan(void) { return cbx_json_new_double(NAN); }
static cbx_json *an_array(void) { return cbx_json_new_array(); }
static cbx_json *an_object(void) { return cbx_json_new_object(); }

TEST(each_member_of_another_type)
{
    static cbx_json *(*const others[])(void) = { a_word, a_number, a_nan, an_array, an_object };
    cbx_ctx *ctx = cbx_test_context();
    char path[512];
    size_t refused = 0;

    for (size_t i = 0; i < CBX_LEN(cases) * CBX_LEN(others); i++) {
        size_t file = i / CBX_LEN(others);
        cbx_json *whole = NULL;
        if (is_no_file(file) || cbx_json_read(ctx, path_of(cases[file].file, path), &whole, NULL)) continue;
        for (size_t n = 0;; n++) {
            cbx_json *copy = cbx_json_copy(whole);
            size_t at = n;
            bool changed = change(copy, &at, others[i % CBX_LEN(others)]);
            cbx_text text;
            cbx_text_init(&text, cbx_allocator_default());
            cbx_json_write(copy, CBX_JSON_COMPACT, &text);
            if (changed) refused += try_text(ctx, cbx_text_str(&text), text.len, cases[file].format) != CBX_OK;
            cbx_text_clear(&text);
            cbx_json_unref(copy);
            if (!changed) break;
        }
        cbx_json_unref(whole);
    }
    CHECK_GT(refused, 500, "most types matter");
    cbx_ctx_free(ctx);
}

static cbx_status import_case(cbx_ctx *ctx, void *user)
{
    cbx_import import;
    cbx_status st = cbx_import_file(ctx, user, NULL, &import, NULL);

    if (!st) cbx_import_clear(&import);
    return st;
}

TEST(memory_that_runs_out)
{
    char path[512];

    for (size_t i = 0; i < CBX_LEN(cases); i++)
        CHECK_GT(cbx_test_fail_each(import_case, (void *)(uintptr_t)path_of(cases[i].file, path), cases[i].file), 5,
                 "fails");
}

/* --- odd content --- */

static const struct {
    const char *text, *part, *why;
} odd[] = {
    { "", "is empty", "nothing" },
    { " \n\t", "is empty", "blanks" },
    { "hello", "format is unknown", "words" },
    { "{}", "format is unknown", "an empty object" },
    { "[]", "format is unknown", "an empty array" },
    { "{\"context\":{\"num_cpus\":2},\"benchmarks\":[]}", "no measurement", "no benchmark" },
    { "{\"context\":{\"num_cpus\":2,\"json_schema_version\":7},\"benchmarks\":[]}", "version 7",
      "a later Google Benchmark" },
    { "{\"context\":{\"num_cpus\":2},\"benchmarks\":[{\"name\":\"a\",\"real_time\":1,\"cpu_time\":1,\"time_unit\":"
      "\"fortnight\"}]}",
      "fortnight", "an unknown unit" },
    { "{\"context\":{\"num_cpus\":2},\"benchmarks\":[{\"name\":\"a\",\"error_occurred\":true,\"error_message\":\"no "
      "GPU\"}]}",
      "no GPU", "only a failure" },
    { "{\"results\":[{\"command\":\"a\",\"mean\":\"1\"}]}", "`results.0`: 'mean': expected a number, found a string",
      "a path" },
    { "{\"results\":[{\"command\":\"a\"}]}", "'mean' is missing", "a missing member" },
    { "{\"version\":\"2.0\",\"benchmarks\":[{\"runs\":[]}]}", "version 2.0 of pyperf", "a later pyperf" },
    { "{\"commit_hash\":\"a\",\"results\":{},\"result_columns\":[],\"version\":3}", "version 3", "a later asv" },
    { "{\"meta\":{\"version\":{\"json\":{\"major\":2},\"nvbench\":{}}},\"benchmarks\":[]}", "version 2 of nvbench",
      "a later NVBench" },
    { "{\"id\":\"a\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"points\":[],\"schema_version\":9}", "version 9",
      "a later run" },
    { "{\"id\":\"a\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"points\":[],\"version\":99}",
      "'version' is version 99 of calibrax", "a later run with its version under another name" },
    { "{\"version\":99,\"results\":[{\"command\":\"a\",\"mean\":1}]}", "version 99 of hyperfine", "a later hyperfine" },
    { "{\"version\":99,\"results\":[{\"median(elapsed)\":1}]}", "version 99 of nanobench", "a later nanobench" },
    { "{\"version\":\"6.0.0\",\"machine_info\":{},\"benchmarks\":[]}", "version 6.0.0 of pytest-benchmark",
      "a later pytest-benchmark" },
    { "[{\"jmhVersion\":\"2.1\",\"benchmark\":\"a\"}]", "version 2.1 of jmh", "a later JMH" },
    { "[{\"BenchmarkTools\":\"2.0.0\"},[]]", "version 2.0.0 of benchmarktools", "a later BenchmarkTools" },
    { "{\"commit_hash\":\"a\",\"results\":{},\"result_columns\":[],\"version\":1}", "version 1 of asv",
      "an earlier asv" },
    { "{\"a\":{\"latency\":{\"value\":1}},\"version\":99}", "version 99 of bmf", "a later BMF" },
    { "{\"run_id\":\"20260220T113424.346877+0000__1a2b3c4\",\"param_point\":{},\"schema_version\":99}\n",
      "version 99 of nperf", "later rows" },
    { "{\"criterion_folder\":[],\"version\":99}", "version 99 of criterion", "a later criterion" },
    { "goos: linux\nBenchmarkA 1 x ns/op\n", "`line 2`", "Go with a word for a number" },
    { "goos: linux\nBenchmarkA 1 2\n", "expected a number and its unit", "Go without a unit" },
};

TEST(odd_files_get_one_sentence)
{
    cbx_ctx *ctx = cbx_test_context();

    for (size_t i = 0; i < CBX_LEN(odd); i++) {
        cbx_import import;
        cbx_err err = CBX_ERR_INIT;
        CHECK(cbx_import_text(ctx, odd[i].text, strlen(odd[i].text), "some file", NULL, &import, &err), odd[i].why);
        if (!strstr(err.message, odd[i].part)) fail_msg("%s: '%s' lacks '%s'", odd[i].why, err.message, odd[i].part);
        try_text(ctx, odd[i].text, strlen(odd[i].text), NULL);
    }
    cbx_ctx_free(ctx);
}

/* How soon something fails is no measurement: its time is NaN, which passes no gate, with
 * a note. */
TEST(what_failed_has_no_time)
{
    static const struct {
        const char *text;
        size_t points, notes, at; /* the point that failed */
    } failures[] = {
        { "{\"results\":[{\"command\":\"a\",\"mean\":1,\"times\":[1,1],\"exit_codes\":[0,0]},"
          "{\"command\":\"b\",\"mean\":0.1,\"times\":[0.1,0.1],\"exit_codes\":[0,127]}]}",
          2, 1, 1 },
        { "{\"results\":[{\"command\":\"b\",\"mean\":0.1,\"exit_codes\":[null]},{\"command\":\"a\",\"mean\":1}]}", 2, 1,
          0 },
        { "goos: linux\npkg: p\nBenchmarkA-2 1 5 ns/op\n--- FAIL: BenchmarkB-2\n    b_test.go:9: no\nBenchmarkC-2 1 5 "
          "ns/op\n"
          "FAIL\nexit status 1\nFAIL\tp\t0.1s\n",
          3, 2, 1 },
        { "goos: linux\nBenchmarkA-2 1 5 ns/op 3 B/op\nBenchmarkB-2 1 5 ns/op\n    --- FAIL: BenchmarkA-2\n--- FAIL: "
          "TestX\nFAIL\n",
          2, 1, 0 },
    };
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;

    for (size_t i = 0; i < CBX_LEN(failures); i++) {
        cbx_import import;
        CHECK_OK(cbx_import_text(ctx, failures[i].text, strlen(failures[i].text), "failed", NULL, &import, &err), &err,
                 "read");
        CHECK_INT(cbx_run_npoints(import.runs[0]), failures[i].points, "all points");
        CHECK_INT(import.nnotes, failures[i].notes, "a note");
        for (size_t k = 0; k < failures[i].points; k++) {
            const cbx_metric *m = cbx_point_metric(cbx_run_point(import.runs[0], k), "time");
            CHECK(m && !isnan(m->value) == (k != failures[i].at), "the one that failed has no time, and only that one");
        }
        cbx_import_clear(&import);
    }
    cbx_ctx_free(ctx);
}

/* What the tools' own sources write, and the fixtures do not hold. */
TEST(forms_that_tools_write)
{
    static const struct {
        const char *text, *metric;
        double value; /* NaN: the first point has no such metric */
        size_t points, notes;
        const char *why;
    } forms[] = {
        { "[{\"BenchmarkTools\":\"0.4.0\"},[[\"BenchmarkTools.BenchmarkGroup\",{\"data\":{\"a\":[\"BenchmarkTools."
          "Trial\","
          "{\"times\":[10.0],\"gctimes\":[0.0],\"memory\":0,\"allocs\":0}]},\"tags\":[]}]]]",
          "time", 1e-8, 1, 0, "types with their module before them" },
        { "[{\"BenchmarkTools\":\"1.0.0\"},[[\"BenchmarkGroup\",{\"tags\":[],\"data\":{\"r\":[\"TrialRatio\",{\"time\":"
          "1.02,"
          "\"gctime\":1.0,\"memory\":1.0,\"allocs\":1.0}],\"a\":[\"TrialEstimate\",{\"time\":20.0,\"gctime\":0,"
          "\"memory\":0,"
          "\"allocs\":0}]}}]]]",
          "time", 2e-8, 1, 1, "a ratio is no time" },
        { "{\"criterion_folder\":[{\"folder\":\"a\",\"benchmark\":{\"group_id\":\"a\",\"throughput\":{\"Bits\":80}},"
          "\"estimates\":{\"mean\":{\"point_estimate\":10.0}}}]}",
          "bytes_per_second", 1e9, 1, 0, "bits are eighths of bytes" },
        { "{\"criterion_folder\":[{\"folder\":\"a\",\"benchmark\":{\"group_id\":\"a\",\"throughput\":{"
          "\"ElementsAndBytes\":"
          "{\"elements\":3,\"bytes\":20}}},\"estimates\":{\"mean\":{\"point_estimate\":10.0}}}]}",
          "elements_per_second", 3e8, 1, 0, "elements and bytes together" },
        { "{\"criterion_folder\":[{\"folder\":\"a\",\"benchmark\":{\"group_id\":\"a\",\"throughput\":{\"Wishes\":3}},"
          "\"estimates\":{\"mean\":{\"point_estimate\":10.0}}}]}",
          "elements_per_second", NAN, 1, 0, "what a later version counts is not taken for elements" },
        { "[{\"jmhVersion\":\"1.37\",\"benchmark\":\"a.b\",\"mode\":\"ss\",\"primaryMetric\":{\"score\":\"+INF\","
          "\"scoreUnit\":"
          "\"min/op\",\"rawData\":[[\"+INF\"]]}}]",
          "time", INFINITY, 1, 0, "an infinite score" },
        { "{\"results\":[{\"title\":\"t\",\"name\":\"n\",\"batch\":8,\"median(elapsed)\":2e-9,"
          "\"medianAbsolutePercentError(elapsed)\":0,\"measurements\":[]}]}",
          "time", 2e-9, 1, 0, "a result without measurements has its median" },
        { "{\"meta\":{\"version\":{\"json\":{\"major\":1},\"nvbench\":{}}},\"benchmarks\":[{\"name\":\"a\",\"axes\":"
          "null,\"states\":null},"
          "{\"name\":\"b\",\"states\":[{\"name\":\"Device=0\",\"summaries\":null,\"is_skipped\":false},{\"name\":"
          "\"Device=1\",\"axis_values\":"
          "null,\"summaries\":[{\"tag\":\"nv/cpu_only/time/cpu/"
          "mean\",\"data\":[{\"name\":\"value\",\"type\":\"float64\",\"value\":\"3e-06\"}]}],"
          "\"is_skipped\":false}]}]}",
          "time", 3e-6, 1, 0, "NVBench writes a list without elements as null" },
        { "{\"a\":[{\"measures\":{\"latency\":{\"value\":1.0}}},{\"parameters\":{},\"measures\":{\"throughput\":{"
          "\"value\":2}}}]}",
          "time", 1e-9, 2, 1, "missing and null parameters are the same: a point that is listed twice" },
    };
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;

    for (size_t i = 0; i < CBX_LEN(forms); i++) {
        const cbx_metric *m;
        cbx_import import;
        CHECK_OK(cbx_import_text(ctx, forms[i].text, strlen(forms[i].text), "form", NULL, &import, &err), &err,
                 forms[i].why);
        CHECK_INT(cbx_run_npoints(import.runs[0]), forms[i].points, forms[i].why);
        CHECK_INT(import.nnotes, forms[i].notes, forms[i].why);
        m = cbx_point_metric(cbx_run_point(import.runs[0], 0), forms[i].metric);
        if (isnan(forms[i].value))
            CHECK(!m, forms[i].why);
        else
            CHECK(m && (m->value == forms[i].value || fabs(m->value - forms[i].value) <= 1e-12 * forms[i].value),
                  forms[i].why);
        cbx_import_clear(&import);
    }
    cbx_ctx_free(ctx);
}

TEST(names_that_stand_twice_lose_nothing)
{
    static const char text[] = "{\"results\":[{\"command\":\"a\",\"mean\":1},{\"command\":\"b\",\"mean\":2},"
                               "{\"command\":\"a\",\"mean\":3},{\"command\":\"a\",\"mean\":NaN}]}";
    static const char *const repeats[] = { NULL, NULL, "2", "3" };
    cbx_ctx *ctx = cbx_test_context();
    cbx_import import;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_import_text(ctx, text, strlen(text), "twice", NULL, &import, &err), &err, "twice");
    CHECK_INT(cbx_run_npoints(import.runs[0]), 4, "all four");
    CHECK_INT(import.nnotes, 2, "and a note for each that stands again");
    for (size_t i = 0; i < 4; i++) {
        const char *tag = cbx_point_tag(cbx_run_point(import.runs[0], i), "repeat");
        CHECK(repeats[i] ? tag && !strcmp(tag, repeats[i]) : !tag, "the tag repeat");
    }
    CHECK(isnan(cbx_point_metric(cbx_run_point(import.runs[0], 3), "time")->value), "NaN stays NaN");
    cbx_import_clear(&import);
    cbx_ctx_free(ctx);
}

TEST(large_files_are_read_or_refused)
{
    enum { N = 50000 };
    cbx_ctx *ctx = cbx_test_context();
    cbx_import_opts opts = CBX_IMPORT_OPTS_INIT;
    cbx_import import;
    cbx_err err = CBX_ERR_INIT;
    cbx_text text;

    cbx_text_init(&text, cbx_allocator_default());
    cbx_text_puts(&text, "goos: linux\n");
    for (int i = 0; i < N; i++) cbx_text_printf(&text, "BenchmarkMany/n=%d-2 \t 100\t %d.5 ns/op\n", i % (N / 2), i);
    CHECK_OK(cbx_import_text(ctx, cbx_text_str(&text), text.len, "large", NULL, &import, &err), &err, "large");
    CHECK_INT(cbx_run_npoints(import.runs[0]), N / 2, "each name once");
    cbx_import_clear(&import);
    opts.max_bytes = 1 << 20;
    CHECK_STATUS(cbx_import_text(ctx, cbx_text_str(&text), text.len, "large", &opts, &import, &err), CBX_EOVERFLOW,
                 "refused");
    CHECK(strstr(err.message, "larger than 1 MiB"), err.message);
    cbx_text_clear(&text);
    cbx_ctx_free(ctx);
}

TEST(options_and_names)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_import_opts opts = CBX_IMPORT_OPTS_INIT;
    cbx_import import;
    cbx_err err = CBX_ERR_INIT;

    opts.format = "googlebenchmark";
    CHECK_STATUS(cbx_import_text(ctx, "{}", 2, "x", &opts, &import, &err), CBX_EINVAL, "unknown format");
    CHECK(strstr(err.message, "did you mean 'google-benchmark'"), err.message);
    opts.struct_size = 1;
    CHECK_STATUS(cbx_import_text(ctx, "{}", 2, "x", &opts, &import, &err), CBX_EINVAL, "struct_size");
    CHECK_STATUS(cbx_import_file(ctx, "/nowhere/at/all", NULL, &import, &err), CBX_ENOENT, "no such file");
    CHECK_INT(cbx_importers_count(), 16, "formats");
    for (size_t i = 0; i < cbx_importers_count(); i++)
        CHECK(cbx_importers_at(i).name && cbx_importers_at(i).summary, "each has a name");
    CHECK(!cbx_importers_at(cbx_importers_count()).name, "past the end");
    cbx_ctx_free(ctx);
}

TESTS(.seconds = 600)
