/*
 * Run files read in pieces against the reader that holds them whole: the same runs, the same
 * messages, of every file here, cut at each byte and changed at each.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calibrax/base/file.h"
#include "calibrax/core/run_file.h"
#include "fail_alloc.h"

/* A file in memory that has this text, the same one each time. */
static const char *file_of(const char *text, size_t len)
{
    static char path[64];
    static int fd;

    if (!path[0]) {
        fd = memfd_create("run", MFD_CLOEXEC);
        CHECK(fd >= 0, "a file in memory");
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    CHECK_INT(ftruncate(fd, 0), 0, path);
    CHECK_INT(pwrite(fd, text, len, 0), len, path);
    return path;
}

static void same_text(const char *a, const char *b, const char *why)
{
    CHECK((!a && !b) || (a && b && strcmp(a, b) == 0), why);
}

static bool same_number(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

/* --- points that go by --- */

typedef struct watching {
    const cbx_run *whole; /* NULL: it cannot be read */
    size_t n, stop;       /* stop: the point at which reading ends */
} watching;

static void compare_points(const cbx_point *p, const cbx_point *q)
{
    same_text(p->name, q->name, "name");
    same_text(p->scenario, q->scenario, "scenario");
    CHECK_INT(p->ntags, q->ntags, "tags");
    for (size_t i = 0; i < q->ntags; i++) {
        same_text(p->tags[i].key, q->tags[i].key, "a tag");
        same_text(p->tags[i].value, q->tags[i].value, "and its value");
    }
    CHECK_INT(p->nmetrics, q->nmetrics, "metrics");
    for (size_t i = 0; i < q->nmetrics; i++) {
        const cbx_metric *m = &p->metrics[i].metric, *w = &q->metrics[i].metric;
        same_text(p->metrics[i].name, q->metrics[i].name, "a metric");
        CHECK(same_number(m->value, w->value) && same_number(m->lower, w->lower) && same_number(m->upper, w->upper),
              "its numbers");
        CHECK_INT(m->nsamples, 0, "without samples");
    }
}

static cbx_status watch(void *user, const cbx_point *p, cbx_err *err)
{
    watching *w = user;

    if (w->stop && w->n + 1 == w->stop) return cbx_fail(err, CBX_EBUSY, "enough");
    if (w->whole) compare_points(p, cbx_run_point(w->whole, w->n));
    w->n++;
    return CBX_OK;
}

static void compare_heads(const cbx_run *a, const cbx_run *b)
{
    same_text(cbx_run_id(a), cbx_run_id(b), "id");
    same_text(cbx_run_commit(a), cbx_run_commit(b), "commit");
    same_text(cbx_run_branch(a), cbx_run_branch(b), "branch");
    CHECK(cbx_run_timestamp_us(a) == cbx_run_timestamp_us(b), "time");
    CHECK_INT(cbx_run_schema_version(a), cbx_run_schema_version(b), "schema");
    same_text(cbx_json_get_string(cbx_run_environment(a), "machine", NULL),
              cbx_json_get_string(cbx_run_environment(b), "machine", NULL), "machine");
    CHECK_INT(cbx_run_nmetric_defs(a), cbx_run_nmetric_defs(b), "definitions");
    for (size_t i = 0; i < cbx_run_nmetric_defs(b); i++) {
        const cbx_metric_def *d = cbx_run_metric_def(a, i), *e = cbx_run_metric_def(b, i);
        same_text(d->name, e->name, "a definition");
        same_text(d->unit, e->unit, "its unit");
        CHECK(d->direction == e->direction && d->priority == e->priority, "its direction and priority");
    }
}

static void same_outcome(cbx_status st, const cbx_err *err, cbx_status wanted, const cbx_err *reported)
{
    CHECK_STATUS(st, wanted, reported->message);
    if (wanted) CHECK_STR(err->message, reported->message, "the fault");
}

static void stream_as(const char *path, const cbx_run *whole, cbx_status st, const cbx_err *reported)
{
    watching w = { .whole = whole };
    cbx_run *head = NULL;
    cbx_err err = CBX_ERR_INIT;

    same_outcome(cbx__run_stream_file(cbx_allocator_default(), path, path, watch, &w, NULL, &head, &err), &err, st,
                 reported);
    if (!st) compare_heads(head, whole);
    if (!st) CHECK_INT(w.n, cbx_run_npoints(whole), "all points went by");
    if (!st) CHECK_INT(cbx_run_npoints(head), 0, "and none is kept");
    cbx_run_free(head);
}

static char *written(const cbx_run *run)
{
    cbx_json *v = cbx_run_to_json(run);
    cbx_text t;
    char *copy;

    cbx_text_init(&t, cbx_allocator_default());
    cbx_json_write(v, CBX_JSON_INDENT2 | CBX_JSON_ASCII, &t);
    copy = strdup(cbx_text_str(&t));
    cbx_text_clear(&t);
    cbx_json_unref(v);
    return copy;
}

static void read_as(cbx_ctx *ctx, const char *path, const cbx_run *whole, cbx_status st, const cbx_err *reported)
{
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;

    same_outcome(cbx_run_read(ctx, path, &run, &err), &err, st, reported);
    if (!st) {
        char *a = written(run), *b = written(whole);
        CHECK_STR(a, b, "the same run, unknown members and samples included");
        free(a);
        free(b);
    }
    cbx_run_free(run);
}

/* @return what the reader of whole texts makes of it */
static cbx_status try_text(const char *text, size_t len)
{
    const char *path = file_of(text, len);
    cbx_run *whole = NULL;
    cbx_err reported = CBX_ERR_INIT;
    cbx_json *v = NULL;
    cbx_ctx *ctx = cbx_test_context();
    cbx_status st;

    st = cbx_json_parse(text, len, path, &v, &reported);
    if (!st) st = cbx_run_from_json(ctx, v, path, &whole, &reported);
    cbx_json_unref(v);
    stream_as(path, whole, st, &reported);
    read_as(ctx, path, whole, st, &reported);
    cbx_run_free(whole);
    cbx_ctx_free(ctx);
    return st;
}

/* --- texts --- */

#define HEAD "{\"id\": \"a\", \"timestamp\": \"2026-01-01T00:00:00+00:00\", "
static const struct {
    const char *text, *why;
    bool good;
} texts[] = {
    { HEAD "\"points\": []}", "no points", true },
    { HEAD
      "\"points\": [{\"name\": \"p\", \"scenario\": \"s\", \"metrics\": {\"t\": {\"value\": 1, \"samples\": [1, 2.5, "
      "\"NaN\", NaN], \"more\": [1, {\"a\": [2]}]}, \"u\": {\"value\": 2, \"samples\": []}}, \"x\": [[1], {}]}]}",
      "samples, and members that are unknown", true },
    { HEAD
      "\"points\": [{\"name\": \"p\", \"scenario\": \"s\", \"metrics\": {\"t\": {\"value\": 1, \"samples\": null}}}]}",
      "null for samples", true },
    { HEAD "\"environment\": {\"points\": [1, 2], \"machine\": \"m\"}, \"points\": [], \"a\": {\"b\": [{\"c\": [3]}]}}",
      "arrays elsewhere", true },
    { "{\"points\": [{\"name\": \"p\", \"scenario\": \"s\"}], \"timestamp\": \"2026-01-01T00:00:00Z\", \"id\": \"b\"}",
      "points before the head", true },
    { HEAD
      "\"points\": [{\"name\": \"p\", \"scenario\": \"s\", \"metrics\": {\"t\": {\"value\": 1, \"samples\": [1, 2, "
      "\"x\", 3, null]}, \"u\": {\"value\": \"no\"}}}]}",
      "the first bad sample comes first", false },
    { HEAD "\"points\": [{\"name\": \"p\", \"scenario\": \"s\", \"metrics\": {\"t\": {\"value\": null, \"samples\": "
           "[1, []]}, "
           "\"u\": {\"value\": 1, \"samples\": [{}]}}}]}",
      "the value before the samples", false },
    { HEAD "\"points\": [{\"scenario\": \"s\", \"metrics\": {\"t\": {\"value\": 1, \"samples\": [true]}}}]}",
      "the name before the metrics", false },
    { HEAD
      "\"points\": [{\"name\": \"p\", \"scenario\": \"s\", \"metrics\": {\"t\": {\"value\": 1, \"samples\": {}}}}]}",
      "samples that are not an array", false },
    { HEAD "\"points\": [{\"name\": \"p\", \"scenario\": \"s\"}, 7, {\"name\": 1}]}", "the first of two bad points",
      false },
    { "{\"id\": \"../a\", \"points\": [7]}", "the head before the points", false },
    { HEAD "\"points\": [7], \"metric_defs\": {\"t\": {}}}", "definitions before the points", false },
    { HEAD "\"points\": [7], \"x\": }", "torn JSON before all", false },
    { HEAD "\"points\": [{\"name\": \"p\", \"name\": \"p\"}, 7]}", "a key that is listed twice", false },
    { HEAD "\"points\": [], \"points\": [7]}", "points that are listed twice", false },
    { HEAD "\"points\": [{\"name\": \"p\", \"scenario\": \"s\", \"metrics\": {\"t\": {\"value\": 1, \"samples\": [1], "
           "\"samples\": [2]}, \"u\": {\"value\": 1, \"samples\": [3]}}}]}",
      "samples that are listed twice", false },
    { HEAD "\"points\": [{\"name\": \"p\", \"scenario\": \"s\", \"metrics\": {\"t\": {\"value\": 1, \"samples\": [1]}, "
           "\"u\": {\"value\": 1, \"samples\": [3]}, \"t\": {\"value\": 9, \"samples\": [9]}}}]}",
      "a metric that is listed twice", false },
    { HEAD "\"points\": {\"samples\": [1]}}", "points that are an object", false },
    { HEAD "\"points\": [] } x", "more text", false },
    { "[[{\"metrics\": 1}]]", "not an object", false },
    { "", "nothing", false },
    { "\xFF\xFE", "UTF-16", false },
    { "\xEF\xBB\xBF" HEAD "\"points\": []}", "a byte-order mark", true },
};

TEST(test_texts)
{
    for (size_t i = 0; i < CBX_LEN(texts); i++)
        CHECK_INT(try_text(texts[i].text, strlen(texts[i].text)) == CBX_OK, texts[i].good, texts[i].why);
}

/* Windows of the reader (64 KiB) end inside of points, names and samples. */
TEST(test_a_file_of_many_windows)
{
    cbx_text t;

    cbx_text_init(&t, cbx_allocator_default());
    cbx_text_printf(&t, HEAD "\"points\": [");
    for (int i = 0; i < 2000; i++) {
        cbx_text_printf(&t, "%s{\"name\": \"point %d\", \"scenario\": \"s\", \"metrics\": {", i ? ", " : "", i);
        for (int k = 0; k < 2; k++) {
            cbx_text_printf(&t, "%s\"m%d\": {\"value\": %d.5, \"samples\": [", k ? ", " : "", k, i);
            for (int n = 0; n < 1 + i % 29; n++) cbx_text_printf(&t, "%s%d.%d", n ? ", " : "", 1000 * i + n, n);
            cbx_text_printf(&t, "]}");
        }
        cbx_text_printf(&t, "}}");
    }
    cbx_text_printf(&t, "]}");
    CHECK_GT((long)t.len, 4 * 65536, "bytes");
    CHECK(try_text(cbx_text_str(&t), t.len) == CBX_OK, "a good run");
    cbx_text_clear(&t);
}

static void try_changed(char *copy, size_t len)
{
    static const char with[] = "\"0x]},:-";

    for (size_t i = 0; i < len; i++) {
        char old = copy[i];
        copy[i] = with[i % (sizeof with - 1)];
        try_text(copy, len);
        copy[i] = old;
    }
}

TEST(test_texts_cut_and_changed)
{
    for (size_t i = 0; i < CBX_LEN(texts); i++) {
        char *copy = strdup(texts[i].text);
        for (size_t n = 0; n < strlen(copy); n++) try_text(copy, n);
        try_changed(copy, strlen(copy));
        free(copy);
    }
}

/* --- files --- */

static size_t try_folder(cbx_ctx *ctx, const char *folder)
{
    const char *path = cbx_test_source("%s", folder);
    const char *const *names = NULL;
    size_t n = 0;
    cbx_arena arena;
    cbx_err err = CBX_ERR_INIT;

    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    CHECK_OK(cbx_dir_list(ctx, path, ".json", &arena, &names, &n, &err), &err, path);
    for (size_t i = 0; i < n; i++) {
        char *text = NULL;
        size_t len = 0;
        path = cbx_test_source("%s/%s", folder, names[i]);
        CHECK_OK(cbx_file_read(ctx, path, 0, &text, &len, &err), &err, path);
        try_text(text, len);
        for (size_t k = 0; k < len; k += 1 + len / 1500) try_text(text, k);
        if (len < 1500) try_changed(text, len);
        cbx_mem_free(cbx_ctx_allocator(ctx), text, len + 1);
    }
    cbx_arena_clear(&arena);
    return n;
}

TEST(test_files_cut_and_changed)
{
    cbx_ctx *ctx = cbx_test_context();

    CHECK_GT(try_folder(ctx, "tests/fixtures/runs"), 2, "files of the Python package");
    CHECK_GT(try_folder(ctx, "tests/fuzz/corpus/run"), 5, "runs, and broken ones");
    cbx_ctx_free(ctx);
}

/* --- the callback --- */

TEST(test_a_callback_can_end_the_reading)
{
    static const char text[] = HEAD
        "\"points\": [{\"name\": \"p\", \"scenario\": \"s\"}, {\"name\": \"q\", \"scenario\": "
        "\"s\"}, {\"name\": \"r\", \"scenario\": \"s\"}] torn";
    const char *path = file_of(text, sizeof text - 1);
    watching w = { .stop = 2 };
    cbx_run *head = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_STATUS(cbx__run_stream_file(cbx_allocator_default(), path, path, watch, &w, NULL, &head, &err), CBX_EBUSY,
                 "what was returned there");
    CHECK_STR(err.message, "enough", "its message");
    CHECK_INT(w.n, 1, "the one before it");
    CHECK(head == NULL, "no run");
}

static cbx_status read_again(cbx_ctx *ctx, void *user)
{
    const char *path = file_of(texts[1].text, strlen(texts[1].text));
    watching w = { 0 };
    cbx_run *run = NULL;
    cbx_status st = cbx_run_read(ctx, path, &run, NULL);

    (void)user;
    cbx_run_free(run);
    if (st) return st;
    st = cbx__run_stream_file(cbx_ctx_allocator(ctx), path, path, watch, &w, NULL, &run, NULL);
    if (!st) cbx_run_free(run);
    return st;
}

TEST(test_every_allocation_may_fail)
{
    CHECK_GT(cbx_test_fail_each(read_again, NULL, "a run in pieces"), 6, "allocations were made to fail");
}

TESTS()
