/*
 * The worker that the tests of launching use: the library's own, with the toy case, and a clock that can be made to lie.
 * Linked with --wrap=cbx_clock_ns; TOY_CLOCK is the speed of the lying clock in per cent.  Work that a baseline has put off is done
 * before outputs are written: --wrap=cbx_npy_write_fd.
 */
#include <stdlib.h>

#include "calibrax/array/io/npy.h"
#include "calibrax/base/clock.h"
#include "calibrax/perf/worker.h"
#include "toy_case.h"

uint64_t __real_cbx_clock_ns(void);
uint64_t __wrap_cbx_clock_ns(void);

cbx_status __real_cbx_npy_write_fd(cbx_ctx *ctx, int fd, const cbx_array *a, cbx_err *err);
cbx_status __wrap_cbx_npy_write_fd(cbx_ctx *ctx, int fd, const cbx_array *a, cbx_err *err);

uint64_t __wrap_cbx_clock_ns(void)
{
    static uint64_t shown, at;
    uint64_t now = __real_cbx_clock_ns();
    shown += (now - at) * toy_clock_percent / 100;
    at = now;
    return shown;
}

cbx_status __wrap_cbx_npy_write_fd(cbx_ctx *ctx, int fd, const cbx_array *a, cbx_err *err)
{
    if (toy_put_off_us) toy_busy_us(toy_put_off_us);
    toy_put_off_us = 0;
    return __real_cbx_npy_write_fd(ctx, fd, a, err);
}

int main(void)
{
    int fd = cbx_worker_fd();
    const char *speed = getenv(TOY_CLOCK);
    if (fd < 0) return 2;
    if (speed) toy_clock_percent = (unsigned)atoi(speed);
    return cbx_worker_main(&toy_cases, fd);
}
