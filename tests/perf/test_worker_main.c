/*
 * The worker that the tests of launching use: the library's own, with the toy case and that of
 * cheating workers, and a clock that can be made to lie.  Linked with --wrap=cbx_clock_ns;
 * TOY_CLOCK is the speed of the lying clock in per cent.  With TOY_COMPILES it is a framework that
 * compiles, tells how long that took, and keeps a file of that name in the folder of its cache: the
 * native worker says null of it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/json.h"
#include "calibrax/perf/launch/worker.h"
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

bool __real_cbx_json_set_null(cbx_json *object, const char *key);
bool __wrap_cbx_json_set_null(cbx_json *object, const char *key);

bool __wrap_cbx_json_set_null(cbx_json *object, const char *key)
{
    const char *file = getenv(TOY_COMPILES), *folder = getenv("JAX_COMPILATION_CACHE_DIR");
    char path[4096];
    int fd;

    if (!file || strcmp(key, "compile_ns")) return __real_cbx_json_set_null(object, key);
    snprintf(path, sizeof path, "%s/%s", folder ? folder : "", file);
    fd = folder && *file ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd >= 0) close(fd);
    return cbx_json_set_double(object, key, 1e6);
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
