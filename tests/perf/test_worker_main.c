/*
 * The worker that the tests of launching use: the library's own, with the toy case, and a clock that can be made to lie.
 * Linked with --wrap=cbx_clock_ns; TOY_CLOCK is the speed of the lying clock in per cent.
 */
#include <stdlib.h>

#include "calibrax/base/clock.h"
#include "calibrax/perf/worker.h"
#include "toy_case.h"

uint64_t __real_cbx_clock_ns(void);
uint64_t __wrap_cbx_clock_ns(void);

static uint64_t percent = 100;

uint64_t __wrap_cbx_clock_ns(void) { return __real_cbx_clock_ns() / 100 * percent; }

int main(void)
{
    int fd = cbx_worker_fd();
    const char *speed = getenv(TOY_CLOCK);
    if (fd < 0) return 2;
    if (speed) percent = (uint64_t)atoi(speed);
    return cbx_worker_main(&toy_cases, fd);
}
