/*
 * Any bytes as a file of a benchmark tool: by the format they look like, and by every format that
 * is asked for.  A run that comes of it must be one that can be written and read again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/storage/import.h"
#include "fuzz.h"

static void require(int good)
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

static void try_format(cbx_ctx *ctx, const char *text, size_t size, const char *format)
{
    cbx_import_opts opts = CBX_IMPORT_OPTS_INIT;
    cbx_import import;
    cbx_err err = CBX_ERR_INIT;

    opts.format = format;
    if (cbx_import_text(ctx, text, size, "input", &opts, &import, &err)) {
        require(err.message[0] && !strchr(err.message, '\n'));
        return;
    }
    for (size_t i = 0; i < import.nruns; i++) check_run(ctx, import.runs[i]);
    cbx_import_clear(&import);
}

FUZZ_ENTRY(.most = 50)
{
    cbx_ctx *ctx = NULL;

    require(cbx_ctx_create(NULL, &ctx, NULL) == CBX_OK);
    try_format(ctx, (const char *)data, size, NULL);
    for (size_t i = 0; i < cbx_importers_count(); i++)
        try_format(ctx, (const char *)data, size, cbx_importers_at(i).name);
    cbx_ctx_free(ctx);
    return 0;
}
