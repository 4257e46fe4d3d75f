/*
 * The worker that the tests of launching use: the library's own, with the toy case and that of cheating workers, and a clock that can be
 * made to lie.  Linked with --wrap=cbx_clock_ns; TOY_CLOCK is the speed of the lying clock in per cent.
 */
#include <stdlib.h>

#include "calibrax/base/clock.h"
#include "calibrax/perf/worker.h"
#include "suites/suites.h"
#include "toy_case.h"

uint64_t __real_cbx_clock_ns(void);
uint64_t __wrap_cbx_clock_ns(void);

uint64_t __wrap_cbx_clock_ns(void)
{
    static uint64_t shown, at;
    uint64_t now = __real_cbx_clock_ns();
    shown += (now - at) * toy_clock_percent / 100;
    at = now;
    return shown;
}

int main(void)
{
    const cbx_case_ops *const cases[] = { &toy_case, &toy_still_case, &cbx_selftest_exploits_case };
    const cbx_case_list all = { cases, CBX_LEN(cases) };
    int fd = cbx_worker_fd();
    const char *speed = getenv(TOY_CLOCK);
    if (fd < 0) return 2;
    if (speed) toy_clock_percent = (unsigned)atoi(speed);
    return cbx_worker_main(&all, fd);
}
