/*
 * A driver library that plays NVIDIA's, configured by CBX_FAKE_CUDA:
 *
 *   present   two devices; the default       none      no device
 *   old       version 11.4                   failing   cuInit fails with CBX_FAKE_CUDA_ERROR
 *   full      no memory for a context        broken    device 1 cannot be described
 *   torn      the memory cannot be read, and the context must be given back all the same
 *
 * Built with FAKE_LACKS_RETAIN it lacks a symbol, as a driver of another version does.  It counts
 * what is retained and pushed; fake_cuda_open_contexts tells, so that a test sees what was not
 * given back.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define GIB ((size_t)1 << 30)

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, UNKNOWN = 999 };

static atomic_int retained, jvp, initialised;

static int is(const char *part)
{
    const char *now = getenv("CBX_FAKE_CUDA");
    return strcmp(now ? now : "present", part) == 0;
}

API int fake_cuda_open_contexts(void);
API int cuInit(unsigned flags);
API int cuDriverGetVersion(int *version);
API int cuDeviceGetCount(int *count);
API int cuDeviceGet(int *device, int i);
API int cuDeviceGetName(char *name, int size, int device);
API int cuDeviceTotalMem_v2(size_t *bytes, int device);
API int cuDeviceGetAttribute(int *value, int which, int device);
API int cuDevicePrimaryCtxRetain(void **context, int device);
API int cuDevicePrimaryCtxRelease_v2(int device);
API int cuCtxPushCurrent_v2(void *context);
API int cuCtxPopCurrent_v2(void **context);
API int cuMemGetInfo_v2(size_t *available, size_t *total);

int fake_cuda_open_contexts(void) { return retained + jvp; }

int cuInit(unsigned flags)
{
    const char *number = getenv("CBX_FAKE_CUDA_ERROR");
    if (flags) return INVALID_VALUE;
    if (is("failing")) return number ? atoi(number) : UNKNOWN;
    initialised = 1;
    return 0;
}

int cuDriverGetVersion(int *version)
{
    *version = is("old") ? 11040 : 12040;
    return 0;
}

int cuDeviceGetCount(int *count)
{
    if (!initialised) return NOT_INITIALIZED;
    *count = is("none") ? 0 : 2;
    return 0;
}

int cuDeviceGet(int *device, int i)
{
    if (!initialised || i < 0 || i > 1) return INVALID_VALUE;
    *device = 100 + i; /* a handle is not an index */
    return 0;
}

int cuDeviceGetName(char *name, int size, int device)
{
    if (is("broken") && device == 101) return UNKNOWN;
    snprintf(name, (size_t)size, "Fake GPU %d", device - 100);
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = device == 100 ? 16 * GIB : 80 * GIB;
    return 0;
}

int cuDeviceGetAttribute(int *value, int which, int device)
{
    if (which != 75 && which != 76) return INVALID_VALUE;
    *value = which == 75 ? 8 + device - 100 : 6;
    return 0;
}

#ifndef FAKE_LACKS_RETAIN
int cuDevicePrimaryCtxRetain(void **context, int device)
{
    if (is("full")) return OUT_OF_MEMORY;
    retained++;
    *context = (void *)(size_t)device;
    return 0;
}
#endif

int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    retained--;
    return 0;
}

static _Thread_local void *current;

int cuCtxPushCurrent_v2(void *context)
{
    jvp++;
    current = context;
    return 0;
}

int cuCtxPopCurrent_v2(void **context)
{
    jvp--;
    *context = current;
    current = NULL;
    return 0;
}

int cuMemGetInfo_v2(size_t *available, size_t *total)
{
    if (!current || is("torn")) return UNKNOWN;
    *total = (size_t)current == 100 ? 16 * GIB : 80 * GIB;
    *available = *total / 4 * 3;
    return 0;
}
