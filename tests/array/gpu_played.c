/* The device that this CPU plays, the real one, and an emitter of kernels on either. */
#include "gpu_played.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/jit/llvm.h"
#include "calibrax/array/jit/machine_code.h"
#include "calibrax/base/text.h"
#include "kernels_random.h"

/* ---- the played device ---- */

static size_t launches, uploads, downloaded, waited, loads, unloads, open_count, fail_after = SIZE_MAX;
static bool running; /* launched, and nothing has waited since */

static cbx_status may_fail(cbx_err *err)
{
    if (fail_after == SIZE_MAX || fail_after-- > 0) return CBX_OK;
    fail_after = SIZE_MAX;
    return cbx_fail(err, CBX_ENOMEM, "the played device fails");
}

/* Pages of their own, closed to the host but while a call of the device runs. */
typedef struct block {
    char *p;
    size_t bytes; /* of pages */
} block;

enum { PAGE = 4096 };
static block blocks[1024];

static void reach(int rights)
{
    for (size_t i = 0; i < CBX_LEN(blocks); i++)
        if (blocks[i].p && mprotect(blocks[i].p, blocks[i].bytes, rights)) abort();
}
static void open_memory(void) { reach(PROT_READ | PROT_WRITE); }
static void close_memory(void) { reach(PROT_NONE); }

static cbx_status played_alloc(cbx__gpu *g, size_t bytes, void **out, cbx_err *err)
{
    const cbx_status st = may_fail(err);
    size_t i = 0;

    (void)g;
    if (st) return st;
    while (i < CBX_LEN(blocks) && blocks[i].p) i++;
    CHECK_GT(CBX_LEN(blocks), i, "blocks of the played device");
    blocks[i].bytes = (bytes + PAGE) / PAGE * PAGE;
    blocks[i].p = mmap(NULL, blocks[i].bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(blocks[i].p != MAP_FAILED, "memory");
    memset(blocks[i].p, 0xa5, blocks[i].bytes);
    CHECK(mprotect(blocks[i].p, blocks[i].bytes, PROT_NONE) == 0, "memory");
    *out = blocks[i].p;
    open_count++;
    return CBX_OK;
}

static void played_free(cbx__gpu *g, void *p)
{
    size_t i = 0;

    (void)g;
    if (!p) return;
    while (i < CBX_LEN(blocks) && blocks[i].p != p) i++;
    CHECK_GT(CBX_LEN(blocks), i, "a block of the played device");
    munmap(p, blocks[i].bytes);
    blocks[i].p = NULL;
    open_count--;
}

static cbx_status played_upload(cbx__gpu *g, void *to, const void *from, size_t bytes, cbx_err *err)
{
    const cbx_status st = may_fail(err);

    (void)g;
    if (st) return st;
    open_memory();
    memcpy(to, from, bytes);
    close_memory();
    uploads++;
    return CBX_OK;
}

static cbx_status played_download(cbx__gpu *g, void *to, const void *from, size_t bytes, cbx_err *err)
{
    const cbx_status st = may_fail(err);

    (void)g;
    if (st) return st;
    open_memory();
    memcpy(to, from, bytes);
    close_memory();
    downloaded += bytes;
    running = false;
    return CBX_OK;
}

static cbx_status played_load(cbx__gpu *g, const cbx_text *image, void **module, cbx_err *err)
{
    cbx__machine_code *code = calloc(1, sizeof *code);
    cbx_status st = may_fail(err);

    (void)g;
    CHECK(code, "memory");
    if (!st) st = cbx__machine_code_load(image->data, image->len, "cbx_nests", cbx__llvm_address, code, err);
    if (st) {
        free(code);
        return st;
    }
    open_count++;
    loads++;
    *module = code;
    return CBX_OK;
}

static void played_unload(cbx__gpu *g, void *module)
{
    (void)g;
    CHECK(!running, "a module is unloaded when its functions are done");
    unloads++;
    cbx__machine_code_unload(module);
    free(module);
    open_count--;
}

static cbx_status played_function(cbx__gpu *g, void *module, size_t i, int kind, void **out, cbx_err *err)
{
    const cbx__machine_code *code = module;

    (void)g, (void)err;
    *out = ((void *const *)code->symbol)[3 * i + (size_t)kind];
    CHECK(*out, "a function");
    return CBX_OK;
}

static cbx_status played_launch(cbx__gpu *g, void *function, size_t threads, void *const *parameters, size_t n,
                                cbx_err *err)
{
    void (*run)(void *const *, int64_t);
    const cbx_status st = may_fail(err);

    (void)g, (void)n;
    if (st) return st;
    memcpy(&run, &function, sizeof run);
    launches++;
    running = true;
    /* and those behind the last, which do nothing */
    open_memory();
    for (size_t t = (threads + 63) / 64 * 64; t-- > 0;) run(parameters, (int64_t)t);
    close_memory();
    return CBX_OK;
}

static cbx_status played_wait(cbx__gpu *g, cbx_err *err)
{
    (void)g;
    running = false;
    waited++;
    return err ? may_fail(err) : CBX_OK; /* there may be no record */
}

static cbx__gpu played = { .host = true,
                           .name = "a played GPU",
                           .alloc = played_alloc,
                           .free = played_free,
                           .upload = played_upload,
                           .download = played_download,
                           .load = played_load,
                           .unload = played_unload,
                           .function = played_function,
                           .launch = played_launch,
                           .wait = played_wait,
                           .lock = PTHREAD_MUTEX_INITIALIZER };

void gpu_needs_llvm(void)
{
    static char why[CBX_ERR_MESSAGE_SIZE];
    cbx_ctx *c = cbx_test_context();
    cbx__llvm *l = NULL;
    cbx_err err = CBX_ERR_INIT;

    const cbx_status st = cbx__llvm_enter(c, &l, &err);
    if (!st) cbx__llvm_leave();
    cbx_ctx_free(c);
    if (st == CBX_EUNAVAILABLE) {
        memcpy(why, err.message, sizeof why);
        SKIP(why);
    }
    CHECK_OK(st, &err, "LLVM");
}

cbx__gpu *gpu_played(void)
{
    played.memory = cbx__gpu_memory((cbx_device_id){ CBX_DEVICE_CUDA, 0 });
    return &played;
}

size_t gpu_played_launches(void) { return launches; }
size_t gpu_played_uploads(void) { return uploads; }
size_t gpu_played_downloaded(void) { return downloaded; }
size_t gpu_played_waits(void) { return waited; }
size_t gpu_played_loads(void) { return loads; }
size_t gpu_played_unloads(void) { return unloads; }
size_t gpu_played_open(void)
{
    (void)cbx__gpu_trim(&played);
    return open_count;
}
void gpu_played_total(size_t bytes) { played.total_bytes = bytes; }
bool gpu_played_fail(size_t after)
{
    const bool waits = fail_after != SIZE_MAX;
    fail_after = after;
    return waits;
}

/* ---- the real one ---- */

static cbx_status record_alloc(cbx__gpu *g, size_t bytes, void **out, cbx_err *err)
{
    (void)g, (void)err;
    *out = calloc(1, bytes + 1);
    CHECK(*out, "memory");
    return CBX_OK;
}

static void record_free(cbx__gpu *g, void *p)
{
    (void)g;
    free(p);
}

static cbx_status record_copy(cbx__gpu *g, void *to, const void *from, size_t bytes, cbx_err *err)
{
    (void)g, (void)err;
    memcpy(to, from, bytes);
    return CBX_OK;
}

static cbx_status record_load(cbx__gpu *g, const cbx_text *image, void **module, cbx_err *err)
{
    (void)g, (void)err;
    *module = image->data;
    return CBX_OK;
}

static void record_unload(cbx__gpu *g, void *module) { (void)g, (void)module; }

static cbx_status record_function(cbx__gpu *g, void *module, size_t i, int kind, void **out, cbx_err *err)
{
    (void)g, (void)i, (void)kind, (void)err;
    *out = module;
    return CBX_OK;
}

static cbx_status record_launch(cbx__gpu *g, void *function, size_t threads, void *const *parameters, size_t n,
                                cbx_err *err)
{
    (void)g, (void)function, (void)threads, (void)parameters, (void)n, (void)err;
    return CBX_OK;
}

static cbx_status record_wait(cbx__gpu *g, cbx_err *err)
{
    (void)g, (void)err;
    return CBX_OK;
}

static cbx__gpu recorder = { .name = "a recorder",
                             .alloc = record_alloc,
                             .free = record_free,
                             .upload = record_copy,
                             .download = record_copy,
                             .load = record_load,
                             .unload = record_unload,
                             .function = record_function,
                             .launch = record_launch,
                             .wait = record_wait,
                             .lock = PTHREAD_MUTEX_INITIALIZER };

bool gpu_records(const cbx__gpu *gpu) { return gpu == &recorder; }

cbx__gpu *gpu_real(void)
{
    const char *asked = getenv("CALIBRAX_TEST_GPU");

    if (asked && strcmp(asked, "record") == 0) {
        recorder.memory = cbx__gpu_memory((cbx_device_id){ CBX_DEVICE_CUDA, 0 });
        return &recorder;
    }
    static char why[CBX_ERR_MESSAGE_SIZE + 16];
    cbx__gpu *gpu = NULL;
    cbx_err err = CBX_ERR_INIT;
    const cbx_status st = cbx__gpu_cuda(0, &gpu, &err);

    if (st == CBX_EUNAVAILABLE) {
        snprintf(why, sizeof why, "hardware: %s", err.message);
        SKIP(why);
    }
    CHECK_OK(st, &err, "GPU 0");
    return gpu;
}

/* ---- kernels ---- */

static cbx__gpu *emitter_gpu;
static size_t ran, left_count;

typedef struct gpu_code {
    cbx__code shown, *interpreted;
    cbx_ctx *ctx;
    size_t n;
    struct gpu_kernel {
        struct gpu_code *of;
        size_t number;
        const cbx__kernel *k; /* lives as long */
    } * kernels;
} gpu_code;

/* Bytes from low to high around p that a stream spans. */
static void span(const cbx__nest *n, size_t s, int64_t *low, int64_t *high)
{
    *low = 0, *high = (int64_t)cbx__dtype_size((cbx_dtype)n->kernel.streams.items[s].dtype);
    for (int i = 0; i < 2; i++) {
        const int64_t by = n->shape[i] ? (int64_t)(n->shape[i] - 1) * n->sites[s].strides[i] : 0;
        *(by < 0 ? low : high) += by;
    }
}

cbx__nest gpu_nest_of(const cbx__kernel *k, int64_t m, int64_t n, char *const *p, const int64_t *outer,
                      const int64_t *inner, cbx__site *sites)
{
    cbx__nest nest = { .ndim = 2, .shape = { (size_t)m, (size_t)n }, .kernel = *k, .sites = sites };

    for (size_t s = 0; s < k->streams.n; s++) {
        const cbx__kstream *t = &k->streams.items[s];
        const int64_t size = (int64_t)cbx__dtype_size((cbx_dtype)t->dtype);
        const bool count = t->kind == CBX__STREAM_INDEX;
        const int64_t step = t->kind == CBX__STREAM_DENSE ? size : t->kind == CBX__STREAM_SCALAR ? 0 : inner[s];
        sites[s] = (cbx__site){ .base = count ? CBX__NO_VALUE : (cbx__vid)s,
                                .offset = count ? (ptrdiff_t)(intptr_t)p[s] : 0,
                                .strides = { outer[s], step } };
    }
    return nest;
}

/* Copies there, a run, and copies of outputs back, with the bytes between their elements.  false:
 * it was not taken. */
static bool run_there(const struct gpu_kernel *self, const cbx__nest *nest, char *const *p)
{
    cbx__gpu *g = emitter_gpu;
    const size_t streams = nest->kernel.streams.n;
    void *there[KERNELS_STREAMS] = { 0 }, *at[KERNELS_STREAMS] = { 0 };
    cbx__gpu_nests *nests = NULL;
    cbx_err err = CBX_ERR_INIT;
    bool left = false;

    CHECK_LE(streams, KERNELS_STREAMS, "streams");
    CHECK_OK(cbx__gpu_nests_create(self->of->ctx, g, 1, nest, 0, &nests, &err), &err, "functions");
    if (!nests->taken[0] || gpu_records(g)) {
        cbx__gpu_nests_free(nests);
        return false;
    }
    for (size_t s = 0; s < streams; s++) {
        int64_t low, high;
        if (nest->sites[s].base == CBX__NO_VALUE) continue;
        span(nest, s, &low, &high);
        for (size_t o = 0; o < nest->kernel.nout && o < s && !at[s]; o++) /* an output's memory */
            if (p[o] == p[s]) at[s] = at[o];
        if (at[s]) continue;
        CHECK_OK(g->alloc(g, (size_t)(high - low), &there[s], &err), &err, "memory");
        CHECK_OK(g->upload(g, there[s], p[s] + low, (size_t)(high - low), &err), &err, "upload");
        at[s] = (char *)there[s] - low;
    }
    CHECK_OK(cbx__gpu_nest_run(self->of->ctx, nests, 0, at, NULL, &left, &err), &err, "run");
    for (size_t s = 0; s < streams; s++) {
        int64_t low, high;
        span(nest, s, &low, &high);
        if (s < nest->kernel.nout && !left)
            CHECK_OK(g->download(g, p[s] + low, there[s], (size_t)(high - low), &err), &err, "download");
        g->free(g, there[s]);
    }
    cbx__gpu_nests_free(nests);
    return !left;
}

static void run(const void *self, int64_t m, int64_t n, char *const *p, const int64_t *outer, const int64_t *inner)
{
    const struct gpu_kernel *k = self;
    cbx__site sites[KERNELS_STREAMS];

    if (m > 0 && n > 0) {
        const cbx__nest nest = gpu_nest_of(k->k, m, n, p, outer, inner, sites);
        if (run_there(k, &nest, p)) {
            ran++;
            return;
        }
        left_count++;
    }
    k->of->interpreted->fn[k->number](k->of->interpreted->self[k->number], m, n, p, outer, inner);
}

static void release(cbx__code *shown)
{
    gpu_code *c = (gpu_code *)shown;

    cbx__code_free(c->interpreted);
    free(c->kernels);
    free(c->shown.fn);
    free(c->shown.self);
    free(c);
}

static cbx_status compile(cbx_ctx *ctx, size_t n, const cbx__kernel *const *kernels, cbx__code **out, cbx_err *err)
{
    gpu_code *c = calloc(1, sizeof *c);

    CHECK(c, "memory");
    *c = (gpu_code){ .ctx = ctx, .n = n, .shown = { .n = n, .release = release } };
    c->kernels = calloc(n + 1, sizeof *c->kernels);
    c->shown.fn = calloc(n + 1, sizeof *c->shown.fn);
    c->shown.self = calloc(n + 1, sizeof *c->shown.self);
    CHECK(c->kernels && c->shown.fn && c->shown.self, "memory");
    for (size_t i = 0; i < n; i++) {
        c->kernels[i] = (struct gpu_kernel){ c, i, kernels[i] };
        c->shown.fn[i] = run;
        c->shown.self[i] = &c->kernels[i];
    }
    const cbx_status st = cbx__emitter_interpreter.compile(ctx, n, kernels, &c->interpreted, err);
    if (st)
        release(&c->shown);
    else
        *out = &c->shown;
    return st;
}

const cbx__emitter *gpu_emitter(cbx__gpu *gpu)
{
    static const cbx__emitter emitter = { "gpu", compile };

    emitter_gpu = gpu;
    ran = left_count = 0;
    return &emitter;
}

size_t gpu_emitter_ran(void) { return ran; }
size_t gpu_emitter_left(void) { return left_count; }
