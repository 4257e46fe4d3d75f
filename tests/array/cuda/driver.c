/*
 * A library that plays NVIDIA's driver and cuBLAS on this CPU: memory, streams, modules, and
 * launches of the kernels in shim.c.
 *
 * Device memory is closed to the host but in calls that may touch it, so a host that reads it is
 * stopped.  Behind each block stand bytes that must survive until it is freed.  Any call can be
 * made to fail (shim_fail), and what is still open is counted (shim_open).
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "shim.h"
#include "shim_control.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

enum { PAGE = 4096, BLOCKS = 64, TAIL = 0xa5, EVENTS = 128 };

typedef struct block {
    char *base;
    size_t pages, bytes; /* bytes of both; bytes asked for */
} block;

static block blocks[BLOCKS];
static int modules, streams, contexts, jvp, handles, launches, capability = 9, math = -1, processors = 4;
static double event_ms[EVENTS], now_ms, tick_ms = 5, more_ms;
static bool event_there[EVENTS];
static char failing[64], dropped[64];
static int failing_number, failing_after, version_reported = 13000, is_sticky, stuck;

/* --- what a test says and asks --- */

void shim_fail(const char *call, int number, int after)
{
    snprintf(failing, sizeof failing, "%s", call ? call : "");
    failing_number = number;
    failing_after = after;
}
int shim_open(void)
{
    int n = modules + streams + contexts + jvp + handles;
    for (int i = 0; i < BLOCKS; i++) n += blocks[i].base != NULL;
    for (int i = 0; i < EVENTS; i++) n += event_there[i];
    return n;
}
int shim_launches(void) { return launches; }
int shim_math(void) { return math; }
void shim_capability(int major) { capability = major; }
void shim_processors(int n) { processors = n; }
void shim_turn(int round) { cuda_shim_turn(round != 0); }
void shim_tick(double ms, double more)
{
    tick_ms = ms;
    more_ms = more;
}

void shim_sticky(int on)
{
    is_sticky = on;
    stuck = 0;
}
void shim_version(int version) { version_reported = version; }
void shim_drop(const char *kernel) { snprintf(dropped, sizeof dropped, "%s", kernel ? kernel : ""); }

static int fails(const char *call)
{
    if (stuck) return strcmp(call, "cuCtxPushCurrent_v2") ? stuck : 0; /* a dead context can be made current */
    if (strcmp(call, failing) != 0 || failing_after-- > 0) return 0;
    if (is_sticky && failing_number >= 700) stuck = failing_number;
    return failing_number;
}
#define MAY_FAIL(call)                                                                                                 \
    do {                                                                                                               \
        const int number_ = fails(call);                                                                               \
        if (number_) return number_;                                                                                   \
    } while (0)

/* --- memory --- */

static void reach(int rights)
{
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].base && mprotect(blocks[i].base, blocks[i].pages, rights)) abort();
}
static void open_memory(void) { reach(PROT_READ | PROT_WRITE); }
static void close_memory(void) { reach(PROT_NONE); }

static block *find(uintptr_t p)
{
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].base && (uintptr_t)blocks[i].base <= p && p <= (uintptr_t)blocks[i].base + blocks[i].bytes)
            return &blocks[i];
    return NULL;
}

int cuMemAlloc_v2(uintptr_t *p, size_t bytes)
{
    block *b = NULL;
    MAY_FAIL("cuMemAlloc_v2");
    for (int i = 0; i < BLOCKS && !b; i++)
        if (!blocks[i].base) b = &blocks[i];
    if (!b || !jvp || bytes == 0) return b ? 201 : 2;
    b->bytes = bytes;
    b->pages = (bytes + 256 + PAGE - 1) / PAGE * PAGE;
    b->base = mmap(NULL, b->pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b->base == MAP_FAILED) {
        b->base = NULL;
        return 2;
    }
    memset(b->base, 0xff, bytes);
    memset(b->base + bytes, TAIL, b->pages - bytes);
    ASAN_POISON_MEMORY_REGION(b->base + bytes, b->pages - bytes);
    mprotect(b->base, b->pages, PROT_NONE);
    *p = (uintptr_t)b->base;
    return 0;
}

int cuMemFree_v2(uintptr_t p)
{
    block *b = find(p);
    if (!b || p != (uintptr_t)b->base) return 1;
    const int number = fails("cuMemFree_v2"); /* the room goes with the process: here, now */
    mprotect(b->base, b->pages, PROT_READ | PROT_WRITE);
    ASAN_UNPOISON_MEMORY_REGION(b->base + b->bytes, b->pages - b->bytes);
    for (size_t i = b->bytes; i < b->pages; i++)
        if ((unsigned char)b->base[i] != TAIL) {
            fprintf(stderr, "shim: a kernel wrote %zu bytes behind a block of %zu\n", i - b->bytes, b->bytes);
            abort();
        }
    munmap(b->base, b->pages);
    b->base = NULL;
    return number;
}

int cuMemcpyHtoDAsync_v2(uintptr_t to, const void *from, size_t bytes, void *stream)
{
    const block *b = find(to);
    (void)stream;
    MAY_FAIL("cuMemcpyHtoDAsync_v2");
    if (!b || to + bytes > (uintptr_t)b->base + b->bytes) return 1;
    open_memory();
    memcpy((void *)to, from, bytes);
    close_memory();
    return 0;
}

int cuMemcpyDtoHAsync_v2(void *to, uintptr_t from, size_t bytes, void *stream)
{
    const block *b = find(from);
    (void)stream;
    MAY_FAIL("cuMemcpyDtoHAsync_v2");
    if (!b || from + bytes > (uintptr_t)b->base + b->bytes) return 1;
    open_memory();
    memcpy(to, (const void *)from, bytes);
    close_memory();
    return 0;
}

/* --- the device --- */

int cuInit(unsigned flags)
{
    (void)flags;
    MAY_FAIL("cuInit");
    return 0;
}
int cuDriverGetVersion(int *version)
{
    *version = version_reported;
    return 0;
}
int cuDeviceGetCount(int *count)
{
    MAY_FAIL("cuDeviceGetCount");
    *count = 1;
    return 0;
}
int cuDeviceGet(int *device, int i)
{
    *device = 7;
    return i == 0 ? 0 : 101;
}
int cuDeviceGetName(char *name, int size, int device)
{
    snprintf(name, (size_t)size, "shim %d", device);
    return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = (size_t)1 << 30;
    return 0;
}
int cuDeviceGetAttribute(int *value, int which, int device)
{
    (void)device;
    MAY_FAIL("cuDeviceGetAttribute");
    *value = which == 75 ? capability : which == 76 ? 0 : which == 38 ? 1 << 16 : processors;
    return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device)
{
    (void)device;
    MAY_FAIL("cuDevicePrimaryCtxRetain");
    contexts++;
    *context = &contexts;
    return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    contexts--;
    return 0;
}
int cuCtxPushCurrent_v2(void *context)
{
    MAY_FAIL("cuCtxPushCurrent_v2");
    if (context != &contexts) return 201;
    jvp++;
    return 0;
}
int cuCtxPopCurrent_v2(void **context)
{
    jvp--;
    *context = &contexts;
    return 0;
}
int cuMemGetInfo_v2(size_t *available, size_t *total)
{
    MAY_FAIL("cuMemGetInfo_v2");
    *available = *total = (size_t)1 << 18;
    return 0;
}
int cuDeviceGetPCIBusId(char *text, int size, int device)
{
    (void)device;
    MAY_FAIL("cuDeviceGetPCIBusId");
    snprintf(text, (size_t)size, "0000:01:00.0");
    return 0;
}

/* --- events, by a clock that launches move --- */

static void pass_time(void)
{
    now_ms += tick_ms;
    tick_ms += more_ms;
}

int cuEventCreate(void **event, unsigned flags)
{
    (void)flags;
    MAY_FAIL("cuEventCreate");
    for (int i = 0; i < EVENTS; i++)
        if (!event_there[i]) {
            event_there[i] = true;
            *event = &event_ms[i];
            return 0;
        }
    return 2;
}
int cuEventDestroy_v2(void *event)
{
    event_there[(double *)event - event_ms] = false;
    return 0;
}
int cuEventRecord(void *event, void *stream)
{
    (void)stream;
    MAY_FAIL("cuEventRecord");
    *(double *)event = now_ms;
    return 0;
}
int cuEventSynchronize(void *event)
{
    (void)event;
    MAY_FAIL("cuEventSynchronize");
    return 0;
}
int cuEventElapsedTime(float *ms, void *from, void *to)
{
    MAY_FAIL("cuEventElapsedTime");
    *ms = (float)(*(double *)to - *(double *)from);
    return 0;
}

/* --- modules, streams, launches --- */

static bool is_ptx(const void *image) { return !strncmp(image, "//", 2); }
static const cuda_shim_kernel nothing = { "nothing" };

int cuModuleLoadData(void **module, const void *image)
{
    MAY_FAIL("cuModuleLoadData");
    if (!image) return 200;
    if (is_ptx(image) && !getenv("CBX_SHIM_TAKES_PTX")) return 218; /* it is not played: taken, it does nothing */
    modules++;
    *module = &modules;
    return 0;
}
int cuModuleUnload(void *module)
{
    (void)module;
    modules--;
    return 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name)
{
    (void)module;
    MAY_FAIL("cuModuleGetFunction");
    if (!strncmp(name, "nest_", 5) || !strncmp(name, "join_", 5) || !strncmp(name, "finish_", 7)) {
        *function = (void *)(uintptr_t)&nothing;
        return 0;
    }
    for (int i = 0; i < CBX__CUDA_KERNELS; i++)
        if (!strcmp(cuda_shim_kernels[i].name, name)) {
            *function = (void *)(uintptr_t)&cuda_shim_kernels[i];
            return 0;
        }
    return 500;
}
int cuStreamCreate(void **stream, unsigned flags)
{
    (void)flags;
    MAY_FAIL("cuStreamCreate");
    streams++;
    *stream = &streams;
    return 0;
}
int cuStreamDestroy_v2(void *stream)
{
    (void)stream;
    streams--;
    return 0;
}
int cuStreamSynchronize(void *stream)
{
    (void)stream;
    MAY_FAIL("cuStreamSynchronize");
    return 0;
}
int cuCtxSynchronize(void)
{
    MAY_FAIL("cuCtxSynchronize");
    return 0;
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **params, void **extra)
{
    (void)shared, (void)stream, (void)extra;
    MAY_FAIL("cuLaunchKernel");
    if (!jvp || gx == 0 || gx > 0x7fffffffu || gy != 1 || gz != 1 || by != 1 || bz != 1 || bx > 1024) return 1;
    launches++;
    pass_time();
    if (function == &nothing || !strcmp(((const cuda_shim_kernel *)function)->name, dropped)) return 0;
    open_memory();
    cuda_shim_launch(function, gx, (int)bx, params[0]);
    close_memory();
    return 0;
}

/* --- cuBLAS: matrices by columns --- */

int cublasCreate_v2(void **handle)
{
    MAY_FAIL("cublasCreate_v2");
    handles++;
    *handle = &handles;
    return 0;
}
int cublasDestroy_v2(void *handle)
{
    (void)handle;
    handles--;
    return 0;
}
int cublasSetStream_v2(void *handle, void *stream)
{
    (void)handle, (void)stream;
    return 0;
}
int cublasSetMathMode(void *handle, int mode)
{
    (void)handle;
    math = mode;
    return 0;
}

#define GEMM(T, name)                                                                                                  \
    int name(void *handle, int op_a, int op_b, int m, int n, int k, const T *alpha, const T *a, int lda,               \
             long long step_a, const T *b, int ldb, long long step_b, const T *beta, T *c, int ldc, long long step_c,  \
             int batches)                                                                                              \
    {                                                                                                                  \
        (void)handle;                                                                                                  \
        MAY_FAIL(#name);                                                                                               \
        if (lda < (op_a ? k : m) || ldb < (op_b ? n : k) || ldc < m || *alpha != 1 || *beta != 0) return 7;            \
        open_memory();                                                                                                 \
        for (long long z = 0; z < batches; z++)                                                                        \
            for (long long j = 0; j < n; j++)                                                                          \
                for (long long i = 0; i < m; i++) {                                                                    \
                    T sum = 0;                                                                                         \
                    for (long long kk = 0; kk < k; kk++)                                                               \
                        sum += a[z * step_a + (op_a ? i * lda + kk : kk * lda + i)] *                                  \
                               b[z * step_b + (op_b ? kk * ldb + j : j * ldb + kk)];                                   \
                    c[z * step_c + j * ldc + i] = sum;                                                                 \
                }                                                                                                      \
        close_memory();                                                                                                \
        return 0;                                                                                                      \
    }
GEMM(float, cublasSgemmStridedBatched)
GEMM(double, cublasDgemmStridedBatched)

/* The value of the product does not matter: that it is written where C lies does. */
int cublasGemmEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a,
                 int lda, const void *b, int type_b, int ldb, const void *beta, void *c, int type_c, int ldc,
                 int compute, int algorithm)
{
    static const size_t bytes[] = { 4, 8, 2, 1, [10] = 4, [14] = 2 };
    (void)handle, (void)alpha, (void)beta, (void)compute;
    MAY_FAIL("cublasGemmEx");
    if (op_a != 1 || op_b != 0 || m != n || n != k || lda != n || ldb != n || ldc != n || algorithm != -1) return 7;
    if (type_a != type_b || !find((uintptr_t)a) || find((uintptr_t)a) != find((uintptr_t)b)) return 7;
    const block *there = find((uintptr_t)c);
    const size_t size = (size_t)n * (size_t)n * bytes[type_c];
    if (!there || (uintptr_t)c + size > (uintptr_t)there->base + there->bytes) return 7;
    open_memory();
    memset(c, 0x3c, size);
    close_memory();
    pass_time();
    return 0;
}
