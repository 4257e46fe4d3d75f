/* Calls of an epoch, by made-up clocks. */
#include "check.h"

#include <math.h>

#include "calibrax/perf/launch/calibration.h"

/* Reads epochs of calls that take call_ns and overhead_ns around them all, each reading made `held`
 * times as long for the first few. */
static cbx__calibration calibrate(double target_ns, double call_ns, double overhead_ns, double held, int held_first,
                                  int *epochs)
{
    cbx__calibration c;
    bool more = true;

    *epochs = 0;
    for (cbx__calibration_begin(&c, target_ns); more;) {
        double hindered = *epochs < held_first ? held : 1, t = hindered * call_ns * (double)c.calls;
        ++*epochs;
        more = cbx__calibration_note(&c, t + overhead_ns, fmax(t, 1) / (double)c.calls);
    }
    return c;
}

TEST(an_epoch_lasts_its_target)
{
    static const struct {
        double call_ns, overhead_ns;
        const char *why;
    } cases[] = {
        { 0.3, 50, "less than a tick of the clock" },
        { 100, 0, "short calls" },
        { 1e5, 1e4, "long ones" },
        { 9e6, 0, "two an epoch" },
        { 19.9e6, 0, "just below it" },
        { 1e9, 0, "one is longer" },
        { 50, 2e6, "the hand-over is longer" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        int epochs;
        cbx__calibration c = calibrate(20e6, cases[i].call_ns, cases[i].overhead_ns, 1, 0, &epochs);
        double lasts = cases[i].call_ns * (double)c.calls;
        CHECK(lasts >= 20e6, cases[i].why);
        CHECK(lasts < 20e6 * 1.03 + cases[i].call_ns, cases[i].why);
        CHECK(epochs <= 12, "found by few readings");
    }
}

/* One reading that something held up does not leave epochs short. */
TEST(a_held_up_reading_is_not_believed)
{
    int epochs;
    for (int first = 1; first <= 3; first++) {
        cbx__calibration c = calibrate(20e6, 2e6, 0, 3, first, &epochs);
        CHECK(2e6 * (double)c.calls >= 20e6 / 3, "no shorter than what was read");
        if (first == 1) CHECK(2e6 * (double)c.calls >= 20e6, "the second reading tells");
    }
    cbx__calibration c = calibrate(20e6, 1e-9, 0, 1, 0, &epochs);
    CHECK_INT(c.calls, CBX__ITERATIONS_MAX, "calls that cost nothing end at the most there may be");
}

TESTS()
