/*
 * GPUs of NVIDIA through its driver library, libcuda.so.1, which is loaded at run time and never
 * linked.
 *
 * The types of the CUDA driver API (cuda.h, 12.x): CUresult and CUdevice are int, CUcontext is a
 * pointer.  CUDA 12 is the oldest whose driver is taken; on Linux that is driver 525.60.13 (CUDA
 * toolkit release notes, table 3).
 */
#include "calibrax/array/device/internal.h"
#include "calibrax/base/idioms.h"

#define DRIVER_MIN 12000 /* 1000 * major + 10 * minor, as cuDriverGetVersion returns it */
enum { ATTRIBUTE_CAPABILITY_MAJOR = 75, ATTRIBUTE_CAPABILITY_MINOR = 76 };

#define NO_MORE "; this process can no longer use the device"
/* What the driver's numbers mean (cuda.h, cudaError_enum), of those that a machine's state can
 * cause. */
static const cbx__cuda_meaning faults[] = {
    { 1, CBX_EINVAL, "an argument is invalid, which is a bug in this library" },
    { 2, CBX_ENOMEM, "out of memory: end the processes that use it, 'nvidia-smi' lists them" },
    { 3, CBX_EUNAVAILABLE, "the driver is not initialised" },
    { 4, CBX_EUNAVAILABLE, "the driver is shutting down" },
    { 34, CBX_EUNAVAILABLE, "the library is the stub for linking", "install NVIDIA's driver 525 or later" },
    { 46, CBX_EUNAVAILABLE, "the device is held by another process: 'nvidia-smi' lists it" },
    { 100, CBX_EUNAVAILABLE,
      "no device is visible: CUDA_VISIBLE_DEVICES hides it, or the container has no access to it",
      "unset CUDA_VISIBLE_DEVICES" },
    { 101, CBX_EUNAVAILABLE, "the device does not exist" },
    { 200, CBX_EUNSUPPORTED, "the driver cannot read the image of the kernels" },
    { 201, CBX_EUNAVAILABLE, "the device's context is not valid" },
    { 209, CBX_EUNSUPPORTED,
      "the image has no kernels for this device's architecture: build with its number in -Dgpu_archs" },
    { 214, CBX_EUNAVAILABLE, "the device's memory has an uncorrectable error: 'nvidia-smi -q -d ECC' shows details" },
    { 218, CBX_EUNSUPPORTED, "the driver's compiler does not accept the PTX of the image" },
    { 222, CBX_EUNSUPPORTED, "the PTX is newer than the driver: install a newer driver" },
    { 304, CBX_EUNAVAILABLE, "the operating system refused a call of the driver: a sandbox or a container restricts it",
      "allow this process to write /dev/nvidia* and /proc/self/task" },
    { 500, CBX_EVERSION, "a name is missing in the image" },
    { 700, CBX_EINTERNAL, "a kernel accessed invalid memory" NO_MORE },
    { 701, CBX_EUNSUPPORTED, "a kernel needs more registers or shared memory than the device has" },
    { 702, CBX_EINTERNAL, "a kernel took longer than the system allows" NO_MORE },
    { 710, CBX_EINTERNAL, "an assertion failed in a kernel" NO_MORE },
    { 715, CBX_EINTERNAL, "a kernel executed an invalid instruction" NO_MORE },
    { 716, CBX_EINTERNAL, "a kernel accessed misaligned memory" NO_MORE },
    { 718, CBX_EINTERNAL, "a kernel jumped outside its code" NO_MORE },
    { 719, CBX_EINTERNAL, "a kernel failed" NO_MORE },
    { 802, CBX_EUNAVAILABLE, "the system is not ready: its fabric manager does not run",
      "systemctl start nvidia-fabricmanager" },
    { 803, CBX_EUNAVAILABLE, "the driver library and the kernel's module have different versions", "reboot" },
    { 804, CBX_EUNAVAILABLE, "the driver's compatibility library does not support this device",
      "install NVIDIA's driver 525 or later" },
    { 999, CBX_EUNAVAILABLE, "the driver reports an unknown error; its kernel module may not be loaded",
      "modprobe nvidia" },
};

const cbx__cuda_meaning *cbx__cuda_meaning_of(int number)
{
    static const cbx__cuda_meaning other = { 0, CBX_EUNAVAILABLE, "see cudaError_enum" };

    for (size_t i = 0; i < CBX_LEN(faults); i++)
        if (faults[i].number == number) return &faults[i];
    return &other;
}

static cbx_status refused(const char *call, int number, const char **remedy, cbx_err *err)
{
    const cbx__cuda_meaning *m = cbx__cuda_meaning_of(number);

    *remedy = m->remedy;
    return cbx_fail(err, CBX_EUNAVAILABLE, "'%s' of the CUDA driver failed with error %d: %s", call, number, m->words);
}

static cbx_status start(const cbx__cuda *c, int *count, const char **remedy, cbx_err *err)
{
    int number, version = 0;

    number = c->driver_version(&version); /* needs no initialisation */
    if (number) return refused("cuDriverGetVersion", number, remedy, err);
    if (version < DRIVER_MIN) {
        *remedy = "install NVIDIA's driver 525 or later";
        return cbx_fail(err, CBX_EUNAVAILABLE,
                        "the CUDA driver has version %d.%d, and at least 12.0 is needed: install driver 525 or later",
                        version / 1000, version % 1000 / 10);
    }
    number = c->init(0);
    if (number) return refused("cuInit", number, remedy, err);
    number = c->count(count);
    if (number) return refused("cuDeviceGetCount", number, remedy, err);
    if (*count > 0) return CBX_OK;
    *remedy = NULL;
    return cbx_fail(err, CBX_EUNAVAILABLE,
                    "the CUDA driver (version %d.%d) is installed but has no device: make one available to this "
                    "machine or container",
                    version / 1000, version % 1000 / 10);
}

cbx_status cbx__cuda_open(cbx_ctx *ctx, const char *path, cbx__cuda *out, int *count, const char **remedy, cbx_err *err)
{
    cbx__cuda c = { 0 };
    const cbx_library_symbol symbols[] = {
#define CUDA_SYMBOL(name, symbol, args) { symbol, (void **)(void *)&c.name },
        CBX__CUDA_CALLS(CUDA_SYMBOL)
#undef CUDA_SYMBOL
    };
    *remedy = "install NVIDIA's driver 525 or later";
    cbx_status st = cbx_library_open_known(ctx, CBX_LIBRARY_CUDA, path, symbols, CBX_LEN(symbols), &c.library, err);

    if (!st) st = start(&c, count, remedy, err);
    return CBX_FINISH(st, *out = c, cbx_library_close(c.library));
}

cbx_status cbx__cuda_describe(const cbx__cuda *c, int index, cbx_device *out, cbx_err *err)
{
    cbx_device d = { .kind = CBX_DEVICE_CUDA, .index = index };
    const char *call = "cuDeviceGet", *remedy;
    size_t bytes = 0;
    int device = 0, number = c->get(&device, index);

    if (!number) number = (call = "cuDeviceGetName", c->name(d.name, sizeof d.name, device));
    if (!number) number = (call = "cuDeviceTotalMem_v2", c->total(&bytes, device));
    call = number ? call : "cuDeviceGetAttribute";
    if (!number) number = c->attribute(&d.capability_major, ATTRIBUTE_CAPABILITY_MAJOR, device);
    if (!number) number = c->attribute(&d.capability_minor, ATTRIBUTE_CAPABILITY_MINOR, device);
    if (number) return refused(call, number, &remedy, err);
    d.name[sizeof d.name - 1] = 0;
    d.memory_total_bytes = bytes;
    *out = d;
    return CBX_OK;
}

cbx_status cbx__cuda_memory(const cbx__cuda *c, const cbx_device *device, cbx_device_memory *out, cbx_err *err)
{
    size_t available = 0, total = 0;
    const char *call = "cuDeviceGet", *remedy;
    void *context = NULL;
    int handle = 0, number = c->get(&handle, device->index);

    if (!number) number = (call = "cuDevicePrimaryCtxRetain", c->retain(&context, handle));
    if (number) return refused(call, number, &remedy, err);
    number = (call = "cuCtxPushCurrent_v2", c->push(context));
    if (!number) {
        void *popped;
        number = (call = "cuMemGetInfo_v2", c->memory(&available, &total));
        const int after = c->pop(&popped); /* whatever happened between */
        if (!number && after) number = (call = "cuCtxPopCurrent_v2", after);
    }
    c->release(handle);
    if (number) return refused(call, number, &remedy, err);
    *out = (cbx_device_memory){ .total_bytes = total, .available_bytes = available };
    return CBX_OK;
}
