/*
 * Traces that others wrote: every kind by its beginning, the newest session, what was removed or
 * written over.
 */
#include "check.h"

#include <stdio.h>
#include <sys/stat.h>

#include "calibrax/base/file.h"
#include "calibrax/profiling/trace_link.h"
#include "fail_alloc.h"

static void put(cbx_ctx *ctx, const char *dir, const char *name, const char *bytes, size_t n)
{
    char path[512];
    cbx_err err = CBX_ERR_INIT;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    CHECK_OK(cbx_dir_create_parent(ctx, path, &err), &err, path);
    CHECK_OK(cbx_file_write_atomic(ctx, path, bytes, n, &err), &err, path);
}

TEST(every_kind)
{
    static const struct {
        const char *name, *bytes;
        size_t n;
        const char *format; /* NULL: refused; "": passed over */
    } cases[] = {
        { "a.xplane.pb", "\x0a\x05plane", 7, "xplane" },
        { "errors.xplane.pb", "\x12\x05wrong", 7, "xplane" },
        { "a.trace.json", " \n{\"traceEvents\":[]}", 20, "trace-event-json" },
        { "list.trace.json", "[]", 2, "trace-event-json" },
        { "worker.pt.trace.json", "{}", 2, "trace-event-json" },
        { "a.trace.json.gz", "\x1f\x8b\x08\x00", 4, "trace-event-json" },
        { "perfetto_trace.json.gz", "\x1f\x8b\x08\x00", 4, "trace-event-json" },
        { "a.perfetto-trace", "\x0a\x02\x08\x01", 4, "perfetto" },
        { "a.pftrace", "\x0a\x02\x08\x01", 4, "perfetto" },
        { "a.xplane.pb", "<html>", 6, NULL },
        { "a.trace.json", "PK", 2, NULL },
        { "a.trace.json", "", 0, NULL },
        { "a.trace.json", "  ", 2, NULL },
        { "a.trace.json.gz", "{}", 2, NULL },
        { "a.pftrace", "\x0a", 1, NULL },
        { "notes.json", "{}", 2, "" },
        { "xplane.pb.old", "x", 1, "" },
    };
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_trace_link l;
    char dir[64];

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_test_folder(dir);
        put(ctx, dir, cases[i].name, cases[i].bytes, cases[i].n);
        if (cases[i].format && *cases[i].format) {
            CHECK_OK(cbx_trace_find(ctx, dir, &l, &err), &err, cases[i].name);
            CHECK_STR(l.files[0].format, cases[i].format, cases[i].name);
            CHECK_INT(l.files[0].bytes, cases[i].n, cases[i].name);
            cbx_trace_link_clear(&l);
        } else {
            CHECK_STATUS(cbx_trace_find(ctx, dir, &l, &err), cases[i].format ? CBX_ENOENT : CBX_EFORMAT, cases[i].name);
            CHECK(strstr(err.message, cases[i].format ? dir : cases[i].name) != NULL, err.message);
        }
        cbx_test_folder_remove(dir);
    }
    CHECK_STATUS(cbx_trace_find(ctx, "/there/is/none", &l, &err), CBX_ENOENT, "no folder");
    cbx_ctx_free(ctx);
}

static void lay_sessions(cbx_ctx *ctx, const char *dir)
{
    put(ctx, dir, "plugins/profile/2026_01_01_10_00_00/old.xplane.pb", "\x0a\x01o", 3);
    put(ctx, dir, "plugins/profile/2026_01_02_09_00_00/host.xplane.pb", "\x0a\x01n", 3);
    put(ctx, dir, "plugins/profile/2026_01_02_09_00_00/host.trace.json", "{}", 2);
    put(ctx, dir, "top.pftrace", "\x0a\x01t", 3);
}

TEST(sessions_and_references)
{
    static const char newest[] = "plugins/profile/2026_01_02_09_00_00";
    cbx_json *reference, *bad = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *ctx = cbx_test_context();
    cbx_trace_link l;
    char dir[64], path[512];

    cbx_test_folder(dir);
    lay_sessions(ctx, dir);
    CHECK_OK(cbx_trace_find(ctx, dir, &l, &err), &err, "as jax.profiler.trace lays them");
    CHECK_STR(l.session, newest, "the newest session");
    CHECK_INT(l.nfiles, 3, "the folder's own, and two of the session");
    CHECK_STR(l.files[0].path, "top.pftrace", "the folder first");
    reference = cbx_trace_link_json(&l, "run1");
    cbx_trace_link_clear(&l);
    CHECK_STR(cbx_json_get_string(reference, "trace_dir", ""), dir, "as the Python package has it");
    CHECK_STR(cbx_json_get_string(reference, "run_id", ""), "run1", "so too");
    CHECK_OK(cbx_trace_link_check(ctx, reference, &err), &err, "all there");
    put(ctx, dir, "top.pftrace", "\x0a\x01u", 3);
    CHECK_STATUS(cbx_trace_link_check(ctx, reference, &err), CBX_EFORMAT, "written over");
    CHECK(strstr(err.message, "top.pftrace") != NULL, err.message);
    snprintf(path, sizeof path, "%s/top.pftrace", dir);
    CHECK(remove(path) == 0, path);
    CHECK_STATUS(cbx_trace_link_check(ctx, reference, &err), CBX_ENOENT, "a file is gone");
    cbx_test_folder_remove(dir);
    CHECK_STATUS(cbx_trace_link_check(ctx, reference, &err), CBX_ENOENT, "all is gone");
    cbx_json_unref(reference);
    for (size_t i = 0; i < 4; i++) {
        static const char *const texts[] = { "{}", "[]", "{\"trace_dir\":\"/\",\"files\":3}",
                                             "{\"trace_dir\":\"/\",\"files\":[{\"file\":\"x\"}]}" };
        CHECK_OK(cbx_json_parse(texts[i], strlen(texts[i]), "text", &bad, &err), &err, texts[i]);
        CHECK_STATUS(cbx_trace_link_check(ctx, bad, &err), CBX_EFORMAT, texts[i]);
        cbx_json_unref(bad);
    }
    cbx_ctx_free(ctx);
}

static cbx_status find_it(cbx_ctx *ctx, void *dir)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_trace_link l;
    cbx_status st = cbx_trace_find(ctx, dir, &l, &err);

    if (!st) cbx_trace_link_clear(&l);
    return st;
}

static cbx_status check_it(cbx_ctx *ctx, void *reference)
{
    cbx_err err = CBX_ERR_INIT;

    return cbx_trace_link_check(ctx, reference, &err);
}

TEST(out_of_memory)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *ctx = cbx_test_context();
    cbx_json *reference;
    cbx_trace_link l;
    char dir[64];

    cbx_test_folder(dir);
    lay_sessions(ctx, dir);
    CHECK_OK(cbx_trace_find(ctx, dir, &l, &err), &err, "what is laid");
    reference = cbx_trace_link_json(&l, "run1");
    cbx_trace_link_clear(&l);
    cbx_ctx_free(ctx);
    CHECK_GT(cbx_test_fail_each(find_it, dir, "a trace"), 3, "allocations");
    CHECK_GT(cbx_test_fail_each(check_it, reference, "a reference"), 0, "allocations");
    cbx_json_unref(reference);
    cbx_test_folder_remove(dir);
}

TESTS()
