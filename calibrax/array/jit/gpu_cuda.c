/* GPUs of NVIDIA by the driver's calls (cuda/driver.h). */
#include <pthread.h>
#include <stdio.h>

#include "calibrax/array/cuda/driver.h"
#include "calibrax/array/jit/gpu_memory.h"
#include "calibrax/array/jit/loops.h"
#include "calibrax/base/text.h"

enum { DEVICES = CBX__GPUS, BLOCK = 128 };

typedef struct device {
    cbx__gpu gpu;
    cbx_cuda *cuda; /* read only once it is open */
} device;

/* Kept until the process ends: arrays and programs come and go with their contexts. */
static device devices[DEVICES];
static cbx_ctx *owner;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static cbx__gpu *played; /* GPU 0 of a test */

void cbx__gpu_cuda_play(cbx__gpu *gpu) { played = gpu; }

static cbx_cuda *cuda_of(cbx__gpu *g) { return ((device *)(void *)g)->cuda; }

static cbx_status cuda_alloc(cbx__gpu *g, size_t bytes, void **out, cbx_err *err)
{
    return cbx_cuda_alloc(cuda_of(g), bytes ? bytes : 1, out, err);
}

static void cuda_free(cbx__gpu *g, void *p) { cbx_cuda_free(cuda_of(g), p); }

static cbx_status cuda_upload(cbx__gpu *g, void *to, const void *from, size_t bytes, cbx_err *err)
{
    const cbx_status st = cbx_cuda_upload(cuda_of(g), to, from, bytes, NULL, err);
    return st ? st : cbx_cuda_wait(cuda_of(g), NULL, err); /* it may read pageable memory later */
}

static cbx_status cuda_download(cbx__gpu *g, void *to, const void *from, size_t bytes, cbx_err *err)
{
    const cbx_status st = cbx_cuda_download(cuda_of(g), to, from, bytes, NULL, err);
    return st ? st : cbx_cuda_wait(cuda_of(g), NULL, err);
}

static cbx_status cuda_wait(cbx__gpu *g, cbx_err *err)
{
    cbx_cuda *c = cuda_of(g);
    cbx_status st = cbx__cuda_enter(c, err);

    return st ? st : cbx__cuda_left(c, "cuCtxSynchronize", c->synchronize(), err);
}

static cbx_status cuda_load(cbx__gpu *g, const cbx_text *image, void **module, cbx_err *err)
{
    cbx_cuda *c = cuda_of(g);
    cbx_status st = cbx__cuda_enter(c, err);

    if (st) return st;
    st = cbx__cuda_left(c, "cuModuleLoadData", c->module_load(module, cbx_text_str(image)), err);
    if (st) *module = NULL;
    return st;
}

static void cuda_unload(cbx__gpu *g, void *module)
{
    cbx_cuda *c = cuda_of(g);

    if (cbx__cuda_enter(c, NULL)) return;
    (void)c->module_unload(module);
    cbx__cuda_leave(c);
}

static cbx_status cuda_function(cbx__gpu *g, void *module, size_t i, int kind, void **out, cbx_err *err)
{
    static const char *const kinds[] = { "nest", "join", "finish" };
    cbx_cuda *c = cuda_of(g);
    char name[64];
    cbx_status st = cbx__cuda_enter(c, err);

    if (st) return st;
    snprintf(name, sizeof name, "%s_%zu", kinds[kind], i);
    return cbx__cuda_left(c, "cuModuleGetFunction", c->function(out, module, name), err);
}

static cbx_status cuda_launch(cbx__gpu *g, void *function, size_t threads, void *const *parameters, size_t n,
                              cbx_err *err)
{
    const size_t blocks = (threads + BLOCK - 1) / BLOCK;
    void *at[2 * CBX__MAX_STREAMS + 3];
    cbx_cuda *c = cuda_of(g);
    cbx_status st;

    if (threads == 0) return CBX_OK;
    if (blocks > INT32_MAX)
        return cbx_fail(err, CBX_EOVERFLOW, "a kernel would need %zu blocks, the maximum of a GPU is 2^31 - 1", blocks);
    for (size_t i = 0; i < n; i++) at[i] = (void *)(uintptr_t)&parameters[i];
    st = cbx__cuda_enter(c, err);
    if (st) return st;
    return cbx__cuda_left(c, "cuLaunchKernel",
                          c->launch(function, (unsigned)blocks, 1, 1, BLOCK, 1, 1, 0, NULL, at, NULL), err);
}

/* Of all of them. */
static size_t trim_devices(void)
{
    size_t bytes = 0;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < DEVICES; i++)
        if (devices[i].cuda) bytes += cbx__gpu_trim(&devices[i].gpu);
    pthread_mutex_unlock(&lock);
    return bytes;
}

static cbx_status open_device(int index, cbx_err *err)
{
    cbx_cuda_opts o = CBX_CUDA_OPTS_INIT;
    device *d = &devices[index];
    cbx_status st = owner ? CBX_OK : cbx_ctx_create(NULL, &owner, err);

    o.device = index;
    if (!st) st = cbx__cuda_take(owner, &o, &d->cuda, err);
    if (st) return st;
    d->gpu = (cbx__gpu){ .memory = cbx__gpu_memory((cbx_device_id){ CBX_DEVICE_CUDA, index }),
                         .name = cbx_cuda_device(d->cuda)->name,
                         .total_bytes = cbx_cuda_device(d->cuda)->memory_total_bytes,
                         .alloc = cuda_alloc,
                         .free = cuda_free,
                         .upload = cuda_upload,
                         .download = cuda_download,
                         .load = cuda_load,
                         .unload = cuda_unload,
                         .function = cuda_function,
                         .launch = cuda_launch,
                         .wait = cuda_wait };
    pthread_mutex_init(&d->gpu.lock, NULL);
    atomic_store_explicit(&cbx__gpu_usage_of(index)->trim, trim_devices, memory_order_release);
    return CBX_OK;
}

cbx_status cbx__gpu_cuda(int index, cbx__gpu **out, cbx_err *err)
{
    cbx_status st = CBX_OK;

    if (index < 0 || index >= DEVICES)
        return cbx_fail(err, CBX_EINVAL, "a GPU's number must be from 0 to %d, got %d", DEVICES - 1, index);
    if (index == 0 && played) {
        *out = played;
        return CBX_OK;
    }
    pthread_mutex_lock(&lock);
    if (!devices[index].cuda) st = open_device(index, err);
    pthread_mutex_unlock(&lock);
    if (!st) *out = &devices[index].gpu;
    return st;
}
