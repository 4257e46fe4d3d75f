/* Kernels as the C text of the library, compiled by the machine's C compiler into a shared object,
 * which is loaded. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels_random.h"

#include "calibrax/array/jit/ctext.h"
#include "calibrax/base/file.h"
#include "calibrax/base/temporary.h"

/* -fno-trapping-math is not among the flags: with it gcc 12 makes (float)(int)x a truncation, whose
 * zeros have signs. */
#define COMMAND                                                                                                        \
    "${CC:-cc} -std=gnu17 -O3 -march=native -ffp-contract=off -fno-math-errno -w -fno-strict-aliasing -shared -fPIC "  \
    "-o %s/kernels.so %s/kernels.c -lm"

typedef struct code {
    cbx__code shown;
    cbx_arena arena; /* of all */
    void *library;
} code;

static void release(cbx__code *shown)
{
    code *c = (code *)shown; /* its first member */
    cbx_arena arena = c->arena;

    if (c->library) dlclose(c->library);
    cbx_arena_clear(&arena);
}

static cbx_status build(cbx_ctx *ctx, const char *folder, code *c, const cbx__kernel *const *kernels, cbx_err *err)
{
    char path[CBX__TEMPORARY_SIZE + 16], command[2 * CBX__TEMPORARY_SIZE + sizeof COMMAND];
    cbx_text text;
    cbx_status st;

    snprintf(path, sizeof path, "%s/kernels.c", folder);
    snprintf(command, sizeof command, COMMAND, folder, folder);
    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    cbx__ctext_put(&text, "kernel", false, c->shown.n, kernels);
    st = cbx_text_check(&text, err);
    if (!st) st = cbx_file_write_atomic(ctx, path, text.data, text.len, err);
    cbx_text_clear(&text);
    if (!st && system(command) != 0) st = cbx_fail(err, CBX_ECHILD, "the C compiler failed: %s", command);
    if (st) return st;
    snprintf(path, sizeof path, "%s/kernels.so", folder);
    c->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!c->library) return cbx_fail(err, CBX_ECHILD, "what the C compiler made cannot be loaded: %s", dlerror());
    for (size_t i = 0; i < c->shown.n; i++) {
        snprintf(path, sizeof path, "kernel%zu", i);
        *(void **)&c->shown.fn[i] = dlsym(c->library, path); /* as POSIX has it */
        if (!c->shown.fn[i]) return cbx_fail(err, CBX_ECHILD, "what the C compiler made has no '%s'", path);
    }
    return CBX_OK;
}

static cbx_status compile(cbx_ctx *ctx, size_t n, const cbx__kernel *const *kernels, cbx__code **out, cbx_err *err)
{
    char folder[CBX__TEMPORARY_SIZE];
    cbx_arena arena;
    cbx_status st = cbx__temporary_make("jit", folder, err);
    code *c;

    if (st) return st;
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    c = cbx_arena_calloc(&arena, 1, sizeof *c);
    c->shown = (cbx__code){ .n = n, .release = release };
    c->shown.fn = cbx_arena_calloc(&arena, n, sizeof *c->shown.fn);
    c->shown.self = cbx_arena_calloc(&arena, n, sizeof *c->shown.self);
    c->arena = arena;
    st = build(ctx, folder, c, kernels, err);
    cbx__temporary_remove(folder);
    if (st)
        release(&c->shown);
    else
        *out = &c->shown;
    return st;
}

const cbx__emitter compiled_emitter = { "c", compile };
