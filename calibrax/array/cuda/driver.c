/* Taking a device, its memory and streams, and launching kernels, by the driver's own calls (CUDA
 * 12 or later). */
#include "calibrax/array/cuda/driver.h"

#include <stdio.h>

#include "calibrax/base/file.h"
#include "calibrax/base/idioms.h"

enum { ATTRIBUTE_MULTIPROCESSORS = 16, CAPABILITY_MIN = 8, STREAM_NON_BLOCKING = 1 };
#define IMAGE_MAX (256u << 20)

const char *cbx_cuda_build(void) { return cbx__cuda_build_text; }

/* --- faults --- */

cbx_status cbx__cuda_fault(const char *call, int number, cbx_err *err)
{
    const cbx__cuda_meaning *m = cbx__cuda_meaning_of(number);

    if (!number) return CBX_OK;
    return cbx_fail(err, m->status, "'%s' of the CUDA driver failed with error %d: %s", call, number, m->words);
}

cbx_status cbx__cuda_enter(cbx_cuda *g, cbx_err *err)
{
    return cbx__cuda_fault("cuCtxPushCurrent_v2", g->driver.push(g->context), err);
}

void cbx__cuda_leave(cbx_cuda *g)
{
    void *popped;
    (void)g->driver.pop(&popped);
}

cbx_status cbx__cuda_left(cbx_cuda *g, const char *call, int number, cbx_err *err)
{
    cbx__cuda_leave(g);
    return cbx__cuda_fault(call, number, err);
}

/* --- opening --- */

static cbx_status load_driver(cbx_cuda *g, const cbx_cuda_opts *o, cbx_err *err)
{
    const cbx_library_symbol symbols[] = {
#define SYMBOL(name, symbol, args) { symbol, (void **)(void *)&g->name },
        CBX__CUDA_MORE_CALLS(SYMBOL)
#undef SYMBOL
    };
    const char *remedy;
    int count = 0;
    cbx_status st = cbx__cuda_open(g->ctx, o->driver, &g->driver, &count, &remedy, err);

    if (st) return st;
    st = cbx_library_open_known(g->ctx, CBX_LIBRARY_CUDA, o->driver, symbols, CBX_LEN(symbols), &g->library, err);
    if (st) return st;
    if (o->device < 0 || o->device >= count)
        return cbx_fail(err, CBX_EINVAL, "GPU %d does not exist: the driver has %d, numbered from 0", o->device, count);
    return cbx__cuda_describe(&g->driver, o->device, &g->device, err);
}

static cbx_status take_device(cbx_cuda *g, cbx_err *err)
{
    const char *call = "cuDeviceGet";

    if (g->device.capability_major < CAPABILITY_MIN)
        return cbx_fail(err, CBX_EUNSUPPORTED, "'%s' has capability %d.%d: the kernels need 8.0 or later",
                        g->device.name, g->device.capability_major, g->device.capability_minor);
    int number = g->driver.get(&g->handle, g->device.index);
    if (!number)
        number = (call = "cuDeviceGetAttribute",
                  g->driver.attribute(&g->multiprocessors, ATTRIBUTE_MULTIPROCESSORS, g->handle));
    if (!number) number = (call = "cuDevicePrimaryCtxRetain", g->driver.retain(&g->context, g->handle));
    if (number) g->context = NULL;
    return cbx__cuda_fault(call, number, err);
}

static const struct {
    const char *name;
    size_t image;
} kernels[CBX__CUDA_KERNELS] = {
#define ROW_0(name, args) { #name, 0 },
#define ROW_1(name, args) { #name, 1 },
#define ROW_2(name, args) { #name, 2 },
#define ROW_3(name, args) { #name, 3 },
    CBX__CUDA_PRODUCT_KERNELS(ROW_0) CBX__CUDA_OTHER_KERNELS(ROW_1) CBX__CUDA_ELL_KERNELS(ROW_2)
        CBX__CUDA_PROBE_KERNELS(ROW_3)
};

static cbx_status load_image(cbx_cuda *g, const char *folder, size_t i, cbx_err *err)
{
    char *data = NULL;
    size_t bytes = 0;

    if (folder) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.fatbin", folder, cbx__cuda_images[i].name);
        const cbx_status st = cbx_file_read(g->ctx, path, IMAGE_MAX, &data, &bytes, err);
        if (st) return st;
    }
    int number = g->module_load(&g->modules[i], folder ? (const void *)data : cbx__cuda_images[i].data);
    if (folder) cbx_mem_free(cbx_ctx_allocator(g->ctx), data, bytes + 1);
    if (number) g->modules[i] = NULL;
    return cbx__cuda_fault("cuModuleLoadData", number, err);
}

cbx_status cbx__cuda_take(cbx_ctx *ctx, const cbx_cuda_opts *o, cbx_cuda **out, cbx_err *err)
{
    cbx_cuda *g = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *g);
    cbx_status st;

    if (!g) return cbx_fail(err, CBX_ENOMEM, "no memory for a GPU's handle");
    g->ctx = ctx;
    st = load_driver(g, o, err);
    if (!st) st = take_device(g, err);
    return CBX_FINISH(st, *out = g, cbx_cuda_close(g));
}

cbx_status cbx_cuda_open(cbx_ctx *ctx, const cbx_cuda_opts *opts, cbx_cuda **out, cbx_err *err)
{
    const cbx_cuda_opts defaults = CBX_CUDA_OPTS_INIT, *o = opts ? opts : &defaults;
    cbx_cuda *g = NULL;
    cbx_status st;
    if (o->struct_size != sizeof *o)
        return cbx_fail(err, CBX_EINVAL, "cbx_cuda_opts has %u bytes, not %zu: start from CBX_CUDA_OPTS_INIT",
                        o->struct_size, sizeof *o);
    if (!o->images && !cbx_cuda_build())
        return cbx_fail(err, CBX_EUNAVAILABLE,
                        "this library has no kernels for GPUs: build it where nvcc is installed, with -Dcuda=enabled");
    st = cbx__cuda_take(ctx, o, &g, err);
    if (!st) st = cbx__cuda_enter(g, err);
    if (!st) {
        for (size_t i = 0; i < CBX__CUDA_IMAGES && !st; i++) st = load_image(g, o->images, i, err);
        for (size_t i = 0; i < CBX__CUDA_KERNELS && !st; i++) {
            const int number = g->function(&g->kernels[i], g->modules[kernels[i].image], kernels[i].name);
            if (number == 500)
                st = cbx_fail(err, CBX_EVERSION, "the image '%s' has no kernel '%s': it is of another version",
                              cbx__cuda_images[kernels[i].image].name, kernels[i].name);
            else if (number)
                st = cbx__cuda_fault("cuModuleGetFunction", number, err);
        }
        if (!st) cbx__cublas_open(g, o->cublas);
        cbx__cuda_leave(g);
    }
    return CBX_FINISH(st, *out = g, cbx_cuda_close(g));
}

void cbx_cuda_close(cbx_cuda *g)
{
    if (!g) return;
    if (g->context && !cbx__cuda_enter(g, NULL)) {
        cbx__cublas_close(g);
        for (size_t i = 0; i < CBX__CUDA_IMAGES; i++)
            if (g->modules[i]) (void)g->module_unload(g->modules[i]);
        cbx__cuda_leave(g);
    }
    if (g->context) (void)g->driver.release(g->handle);
    cbx_library_close(g->blas.library);
    cbx_library_close(g->library);
    cbx_library_close(g->driver.library);
    cbx_mem_free(cbx_ctx_allocator(g->ctx), g, sizeof *g);
}

const cbx_device *cbx_cuda_device(const cbx_cuda *g) { return &g->device; }

bool cbx_cuda_has_cublas(const cbx_cuda *g, const char **why)
{
    *why = g->blas.why;
    return g->blas.library != NULL;
}

/* --- memory and streams --- */

cbx_status cbx_cuda_alloc(cbx_cuda *g, size_t bytes, void **out, cbx_err *err)
{
    uintptr_t p = 0;
    cbx_status st = bytes ? cbx__cuda_enter(g, err) : CBX_OK;

    if (st) return st;
    int number = bytes ? g->alloc(&p, bytes) : 0;
    if (bytes) cbx__cuda_leave(g);
    if (number == 2)
        return cbx_fail(
            err, CBX_ENOMEM,
            "'%s' does not have %zu bytes of free memory: end the processes that use it, 'nvidia-smi' lists them",
            g->device.name, bytes);
    if (!number) *out = (void *)p;
    return cbx__cuda_fault("cuMemAlloc_v2", number, err);
}

void cbx_cuda_free(cbx_cuda *g, void *p)
{
    if (!p || cbx__cuda_enter(g, NULL)) return;
    (void)g->free((uintptr_t)p);
    cbx__cuda_leave(g);
}

cbx_status cbx_cuda_upload(cbx_cuda *g, void *to, const void *from, size_t bytes, void *stream, cbx_err *err)
{
    const cbx_status st = bytes ? cbx__cuda_enter(g, err) : CBX_OK;
    if (st || !bytes) return st;
    return cbx__cuda_left(g, "cuMemcpyHtoDAsync_v2", g->upload((uintptr_t)to, from, bytes, stream), err);
}

cbx_status cbx_cuda_download(cbx_cuda *g, void *to, const void *from, size_t bytes, void *stream, cbx_err *err)
{
    const cbx_status st = bytes ? cbx__cuda_enter(g, err) : CBX_OK;
    if (st || !bytes) return st;
    return cbx__cuda_left(g, "cuMemcpyDtoHAsync_v2", g->download(to, (uintptr_t)from, bytes, stream), err);
}

cbx_status cbx_cuda_stream_create(cbx_cuda *g, void **out, cbx_err *err)
{
    void *stream = NULL;
    cbx_status st = cbx__cuda_enter(g, err);

    if (st) return st;
    st = cbx__cuda_left(g, "cuStreamCreate", g->stream_create(&stream, STREAM_NON_BLOCKING), err);
    if (!st) *out = stream;
    return st;
}

void cbx_cuda_stream_free(cbx_cuda *g, void *stream)
{
    if (!stream || cbx__cuda_enter(g, NULL)) return;
    (void)g->stream_destroy(stream);
    cbx__cuda_leave(g);
}

cbx_status cbx_cuda_wait(cbx_cuda *g, void *stream, cbx_err *err)
{
    const cbx_status st = cbx__cuda_enter(g, err);
    return st ? st : cbx__cuda_left(g, "cuStreamSynchronize", g->stream_wait(stream), err);
}

/* --- launching --- */

cbx_status cbx__cuda_launch(cbx_cuda *g, cbx__cuda_kernel k, int64_t blocks, unsigned threads, const void *args,
                            void *stream, cbx_err *err)
{
    void *params[] = { (void *)(uintptr_t)args };

    if (blocks == 0) return CBX_OK;
    if (blocks > INT32_MAX)
        return cbx_fail(err, CBX_EOVERFLOW,
                        "kernel '%s' would need %lld blocks, the maximum of a GPU is 2^31 - 1: split the product",
                        kernels[k].name, (long long)blocks);
    return cbx__cuda_fault("cuLaunchKernel",
                           g->launch(g->kernels[k], (unsigned)blocks, 1, 1, threads, 1, 1, 0, stream, params, NULL),
                           err);
}
