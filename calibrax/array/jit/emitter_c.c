/*
 * The emitter of C: kernels as text, compiled by the machine's C compiler into a shared object in a
 * private folder, which is loaded and removed.
 *
 * The compiler is $CC, with arguments if it has some, else the first of cc, gcc and clang that
 * there is.  One run of it takes 50 ms and more, so kernels are compiled together.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/jit/ctext.h"
#include "calibrax/array/jit/emitter.h"
#include "calibrax/base/arena.h"
#include "calibrax/base/cpu.h"
#include "calibrax/base/file.h"
#include "calibrax/base/process.h"
#include "calibrax/base/temporary.h"

#define NAME        "kernel"               /* of the functions */
#define LONGEST_RUN UINT64_C(120000000000) /* [ns] of the compiler */

typedef struct code {
    cbx__code shown;
    cbx_arena arena; /* of all */
    void *library;
} code;

static cbx_status put_text(size_t n, const cbx__kernel *const *kernels, cbx_text *out, cbx_err *err)
{
    for (size_t i = 0; i < n; i++) {
        const cbx__kinstr *x = cbx__ctext_refused(kernels[i]);
        if (x)
            return cbx_fail(err, CBX_EUNSUPPORTED, "'%s' of %s has no form in C", cbx__kernel_word(x),
                            cbx_dtype_name((cbx_dtype)x->dtype));
    }
    cbx__ctext_put(out, NAME, false, n, kernels);
    return cbx_text_check(out, err);
}

/* ---- the compiler ---- */

/* Flags of the machine's instruction set, or of the narrower one that CALIBRAX_ISA allows. */
static size_t put_isa_flags(const char **argv, size_t n)
{
    if (cbx_isa_best() == cbx_isa_of_cpu()) {
#if defined(__x86_64__)
        argv[n++] = "-march=native";
        if (cbx_isa_best() == CBX_ISA_AVX512) argv[n++] = "-mprefer-vector-width=512";
#else
        argv[n++] = "-mcpu=native";
#endif
    } else if (cbx_isa_best() == CBX_ISA_AVX2) {
        argv[n++] = "-mavx2";
        argv[n++] = "-mfma";
    }
    return n;
}

/* Runs a compiler; words are its name and first arguments.  -fno-trapping-math is not among the flags: with it gcc 12 makes
 * (float)(int)x a truncation, whose zeros have signs.  @return as cbx__process_start; CBX_EUNAVAILABLE (it failed) */
static cbx_status run_compiler(cbx_arena *arena, char *words, const char *in, const char *out, cbx_err *err)
{
    static const char *const flags[] = { "-std=gnu17",      "-O3",  "-ffp-contract=off",
                                         "-fno-math-errno", "-w",   "-fno-strict-aliasing",
                                         "-shared",         "-fPIC" };
    cbx__process_opts how = CBX__PROCESS_OPTS_INIT;
    const size_t max_words = strlen(words) / 2 + CBX_LEN(flags) + 10;
    const char **argv = cbx_arena_calloc(arena, max_words, sizeof *argv);
    char last[256], *rest = NULL;
    cbx__process p;
    cbx_status st;
    size_t n = 0;

    if (!argv) return cbx_fail_nomem(err, "the command of the C compiler");
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) argv[n++] = word;
    for (size_t i = 0; i < CBX_LEN(flags); i++) argv[n++] = flags[i];
    n = put_isa_flags(argv, n);
    argv[n++] = "-o", argv[n++] = out, argv[n++] = in, argv[n++] = "-lm";
    how.argv = argv;
    how.errors = CBX__FD_TAIL;
    how.own_group = true;
    cbx__process_init(&p);
    st = cbx__process_start(&how, &p, err);
    if (st) return st;
    if (!cbx__process_wait(&p, LONGEST_RUN))
        st = cbx_fail(err, CBX_EUNAVAILABLE, "the C compiler '%s' took more than %d s and was stopped", argv[0],
                      (int)(LONGEST_RUN / 1000000000));
    cbx__process_finish(&p);
    cbx__process_last_words(&p, last, sizeof last);
    if (!st && cbx__process_exit_status(&p) != 0)
        st = cbx_fail(err, CBX_EUNAVAILABLE, "the C compiler '%s' failed with status %d: %s", argv[0],
                      cbx__process_exit_status(&p), last);
    return st;
}

static cbx_status run_any_compiler(cbx_arena *arena, const char *in, const char *out, cbx_err *err)
{
    const char *chosen = getenv("CC"), *const names[] = { chosen && *chosen ? chosen : "cc", "gcc", "clang" };
    const bool fixed = names[0] == chosen;

    for (size_t i = 0; i < (fixed ? 1 : CBX_LEN(names)); i++) {
        char *words = cbx_arena_strdup(arena, names[i]);
        if (!words) return cbx_fail_nomem(err, "the command of the C compiler");
        const cbx_status st = run_compiler(arena, words, in, out, err);
        if (st != CBX_ENOENT) return st;
    }
    if (fixed)
        return cbx_fail(err, CBX_EUNAVAILABLE, "there is no C compiler '%s', which the variable CC names", chosen);
    return cbx_fail(err, CBX_EUNAVAILABLE,
                    "there is no C compiler: apt-get install gcc, or name one in the variable CC");
}

/* ---- code ---- */

static void release(cbx__code *shown)
{
    code *c = (code *)shown; /* its first member */
    cbx_arena arena = c->arena;

    if (c->library) dlclose(c->library);
    cbx_arena_clear(&arena);
}

static cbx_status load(code *c, size_t n, const char *path, cbx_err *err)
{
    c->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!c->library) return cbx_fail(err, CBX_EUNAVAILABLE, "what the C compiler made cannot be loaded: %s", dlerror());
    for (size_t i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, NAME "%zu", i);
        *(void **)&c->shown.fn[i] = dlsym(c->library, name); /* as POSIX has it */
        if (!c->shown.fn[i]) return cbx_fail(err, CBX_EINTERNAL, "what the C compiler made has no '%s'", name);
    }
    return CBX_OK;
}

/* Text to a file, compiled to another one, loaded; the folder is the caller's. */
static cbx_status compile_in(cbx_ctx *ctx, const char *folder, code *c, size_t n, const cbx__kernel *const *kernels,
                             cbx_err *err)
{
    const char *in = cbx_arena_printf(&c->arena, "%s/kernels.c", folder);
    const char *out = cbx_arena_printf(&c->arena, "%s/kernels.so", folder);
    cbx_text text;
    cbx_status st;

    if (!in || !out) return cbx_fail_nomem(err, "kernels in C");
    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    st = put_text(n, kernels, &text, err);
    if (!st) st = cbx_file_write_atomic(ctx, in, text.data, text.len, err);
    cbx_text_clear(&text);
    if (!st) st = run_any_compiler(&c->arena, in, out, err);
    return st ? st : load(c, n, out, err);
}

static cbx_status compile(cbx_ctx *ctx, size_t n, const cbx__kernel *const *kernels, cbx__code **out, cbx_err *err)
{
    char folder[CBX__TEMPORARY_SIZE];
    cbx_arena arena;
    cbx_status st;
    code *c;

    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    c = cbx_arena_calloc(&arena, 1, sizeof *c);
    if (c) c->shown = (cbx__code){ .n = n, .release = release };
    if (c) c->shown.fn = cbx_arena_calloc(&arena, n, sizeof *c->shown.fn);
    if (c) c->shown.self = cbx_arena_calloc(&arena, n, sizeof *c->shown.self);
    if (!c || !c->shown.fn || !c->shown.self) {
        cbx_arena_clear(&arena);
        return cbx_fail_nomem(err, "kernels in C");
    }
    c->arena = arena;
    st = cbx__temporary_make("jit", folder, err);
    if (!st) st = compile_in(ctx, folder, c, n, kernels, err);
    cbx__temporary_remove(folder);
    if (st) {
        release(&c->shown);
        return st;
    }
    *out = &c->shown;
    return CBX_OK;
}

static cbx_status text(cbx_ctx *ctx, const char *what, size_t n, const cbx__kernel *const *kernels, cbx_text *out,
                       cbx_err *err)
{
    (void)ctx;
    if (strcmp(what, "c") != 0)
        return cbx_fail(err, CBX_EINVAL, "the emitter 'c' makes \"c\" of kernels, not '%s'", what);
    return put_text(n, kernels, out, err);
}

const cbx__emitter cbx__emitter_c = { "c", compile, text };
