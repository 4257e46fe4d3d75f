/*
 * Any bytes as the traces that profilers leave in a folder, each kind under its name, and as the
 * reference that a run keeps to them.
 *
 * What is found is named with its size and hash, and its own reference holds; a reference of any
 * other content is refused with a sentence.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "calibrax/profiling/trace_link.h"
#include "files.h"
#include "fuzz.h"

static const char *const files[] = {
    "a.trace.json", "a.xplane.pb", "a.pftrace", "plugins/profile/2026_01_01/perfetto_trace.json.gz", "notes.txt",
};

static void require(bool good)
{
    if (!good) abort();
}

static void check(cbx_ctx *ctx, const cbx_trace_link *link)
{
    cbx_json *reference = cbx_trace_link_json(link, "r1");

    require(link->nfiles >= 1 && link->nfiles < CBX_LEN(files));
    for (size_t i = 0; i < link->nfiles; i++) {
        const cbx_trace_file *f = &link->files[i];
        require(f->path[0] && f->format[0] && f->bytes > 0 && strlen(f->hash) == CBX_HASH_SIZE - 1);
    }
    require(reference && cbx_trace_link_check(ctx, reference, NULL) == CBX_OK);
    cbx_json_unref(reference);
}

static void reference(cbx_ctx *ctx, const uint8_t *data, size_t size)
{
    cbx_json *v = NULL;
    cbx_err err = CBX_ERR_INIT;

    if (cbx_json_parse((const char *)data, size, "input", &v, NULL)) return;
    if (cbx_trace_link_check(ctx, v, &err)) require(err.message[0] && !strchr(err.message, '\n'));
    cbx_json_unref(v);
}

FUZZ_ENTRY()
{
    static cbx_ctx *ctx;
    cbx_trace_link link;
    cbx_err err = CBX_ERR_INIT;
    const char *folder;

    if (size > 65536) return 0;
    if (!ctx) require(cbx_ctx_create(NULL, &ctx, NULL) == CBX_OK);
    folder = fuzz_files_folder(files, CBX_LEN(files));
    fuzz_files_put(data, size);
    if (cbx_trace_find(ctx, folder, &link, &err)) {
        require(err.message[0] && !strchr(err.message, '\n'));
    } else {
        check(ctx, &link);
        cbx_trace_link_clear(&link);
    }
    reference(ctx, data, size);
    return 0;
}
