/*
 * Any bytes as folders of results: those of asv (results, machine.json, benchmarks.json) and of
 * criterion.rs (benchmark.json, estimates.json, sample.json), and a file of samples beside one of
 * NVBench.  Whatever a file holds, its folder gives runs that can be written and read again, or a
 * sentence that names it.
 */
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/storage/import.h"
#include "files.h"
#include "fuzz.h"

static const char *const files[] = {
    "asv/benchmarks.json",
    "asv/host/machine.json",
    "asv/host/77b9cf03-env.json",
    "criterion/sum/new/benchmark.json",
    "criterion/sum/new/estimates.json",
    "criterion/sum/new/sample.json",
    "nvbench/run.json",
    "nvbench/run.json-bin/0.bin",
};

static void require(bool good)
{
    if (!good) abort();
}

static void check_run(cbx_ctx *ctx, const cbx_run *run)
{
    cbx_json *tree = cbx_run_to_json(run);
    cbx_run *back = NULL;
    bool same = false;

    require(tree && cbx_run_from_json(ctx, tree, "written", &back, NULL) == CBX_OK);
    require(cbx_run_equal(run, back, &same, NULL) == CBX_OK && same);
    cbx_json_unref(tree);
    cbx_run_free(back);
}

static void read_file(cbx_ctx *ctx, const char *path)
{
    cbx_import import;
    cbx_err err = CBX_ERR_INIT;

    if (cbx_import_file(ctx, path, NULL, &import, &err)) {
        require(err.message[0] && !strchr(err.message, '\n'));
        return;
    }
    for (size_t i = 0; i < import.nruns; i++) check_run(ctx, import.runs[i]);
    cbx_import_clear(&import);
}

static void read_folder(cbx_ctx *ctx, const char *root, const char *name)
{
    const char *const *paths = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_arena arena;
    size_t n = 0;

    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    if (cbx_import_files(ctx, cbx_path_join(&arena, root, name), &arena, &paths, &n, &err))
        require(err.message[0] && !strchr(err.message, '\n'));
    for (size_t i = 0; i < n; i++) read_file(ctx, paths[i]);
    cbx_arena_clear(&arena);
}

FUZZ_ENTRY()
{
    static cbx_ctx *ctx;
    const char *root;

    if (size > 262144) return 0;
    if (!ctx) require(cbx_ctx_create(NULL, &ctx, NULL) == CBX_OK);
    root = fuzz_files_folder(files, CBX_LEN(files));
    fuzz_files_put(data, size);
    read_folder(ctx, root, "asv");
    read_folder(ctx, root, "criterion");
    read_folder(ctx, root, "nvbench");
    return 0;
}
