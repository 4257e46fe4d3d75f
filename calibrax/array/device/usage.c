/* What arrays of this process hold of each GPU's memory. */
#include "calibrax/array/device/internal.h"

static cbx__gpu_usage usage[CBX__GPUS];

cbx__gpu_usage *cbx__gpu_usage_of(int index) { return &usage[index >= 0 && index < CBX__GPUS ? index : CBX__GPUS - 1]; }

size_t cbx_devices_trim(void)
{
    size_t bytes = 0;

    for (int i = 0; i < CBX__GPUS; i++) {
        size_t (*trim)(void) = atomic_load_explicit(&usage[i].trim, memory_order_acquire);
        if (trim) bytes += trim();
    }
    return bytes;
}

void cbx__gpu_usage_add(cbx__gpu_usage *u, size_t bytes)
{
    const size_t now = atomic_fetch_add_explicit(&u->in_use, bytes, memory_order_relaxed) + bytes;
    size_t peak = atomic_load_explicit(&u->peak, memory_order_relaxed);

    while (peak < now &&
           !atomic_compare_exchange_weak_explicit(&u->peak, &peak, now, memory_order_relaxed, memory_order_relaxed))
        ;
}
