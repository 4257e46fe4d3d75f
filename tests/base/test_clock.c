/* Clocks and calendar. */
#include "check.h"

#include <stdlib.h>
#include <time.h>

#include "calibrax/base/clock.h"

TEST(monotonic)
{
    uint64_t last = cbx_clock_ns();
    for (int i = 0; i < 10000; i++) {
        uint64_t now = cbx_clock_ns();
        CHECK(now >= last, "never back");
        last = now;
    }
    cbx_clock_facts f = { 0 };
    cbx_clock_measure(&f);
    CHECK(f.cost_ns > 0 && f.granule_ns >= 1, "a reading costs something and differences are whole nanoseconds");
    CHECK_GT(cbx_time_now_us(), 1704067200000000, "after 2024 began");
}

TEST(formats)
{
    /* GNU date -u -d @SECONDS */
    static const struct {
        int64_t us;
        const char *iso, *id, *why;
    } cases[] = {
        { 0, "1970-01-01T00:00:00.000000+00:00", "19700101T000000.000000+0000", "the origin" },
        { 1771587264346877, "2026-02-20T11:34:24.346877+00:00", "20260220T113424.346877+0000", "a day of 2026" },
        { -1, "1969-12-31T23:59:59.999999+00:00", "19691231T235959.999999+0000", "just before the origin" },
        { 951782400000000, "2000-02-29T00:00:00.000000+00:00", "20000229T000000.000000+0000", "leap day of a century" },
        { 253402300799999999, "9999-12-31T23:59:59.999999+00:00", "99991231T235959.999999+0000",
          "the last of four digits" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        char buf[CBX_TIME_SIZE];
        int64_t us = -7;
        cbx_err err = CBX_ERR_INIT;
        CHECK_STR(cbx_time_format_iso(cases[i].us, buf), cases[i].iso, cases[i].why);
        CHECK_OK(cbx_time_parse_iso(buf, &us, &err), &err, cases[i].why);
        CHECK_INT(us, cases[i].us, "reads back");
        CHECK_STR(cbx_time_format_id(cases[i].us, buf), cases[i].id, cases[i].why);
        CHECK_OK(cbx_time_parse_iso(buf, &us, &err), &err, cases[i].why);
        CHECK_INT(us, cases[i].us, "reads back");
    }
    char buf[CBX_TIME_SIZE];
    CHECK(strlen(cbx_time_format_iso(INT64_MAX, buf)) < CBX_TIME_SIZE, "fits");
    CHECK(strlen(cbx_time_format_iso(INT64_MIN, buf)) < CBX_TIME_SIZE, "fits");
}

TEST(parses)
{
    static const struct {
        const char *text;
        int64_t us;
        const char *why;
    } cases[] = {
        { "2026-02-20T11:34:24Z", 1771587264000000, "Z" },
        { "2026-02-20t11:34:24z", 1771587264000000, "lower case" },
        { "2026-02-20 11:34:24+00", 1771587264000000, "blank, hours only" },
        { "2026-02-20T13:34:24+02:00", 1771587264000000, "east" },
        { "2026-02-20T06:04:24-0530", 1771587264000000, "west, with minutes" },
        { "2026-02-20T11:34:24.3Z", 1771587264300000, "one digit" },
        { "2026-02-20T11:34:24,346877999Z", 1771587264346877, "nine digits, cut" },
        { "2016-12-31T23:59:60Z", 1483228800000000, "a leap second is the next one" },
        { "2026-02-20T11:34:24", 1771587264000000, "no offset is local time, here UTC" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_err err = CBX_ERR_INIT;
        int64_t us = 0;
        CHECK_OK(cbx_time_parse_iso(cases[i].text, &us, &err), &err, cases[i].why);
        CHECK_INT(us, cases[i].us, cases[i].why);
    }
    setenv("TZ", "XST-3", 1); /* three hours east */
    tzset();
    int64_t us = 0;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_time_parse_iso("2026-02-20T14:34:24.5", &us, &err), &err, "local");
    CHECK_INT(us, 1771587264500000, "local time three hours east");
    setenv("TZ", "UTC", 1);
    tzset();
}

TEST(refuses)
{
    static const char *const cases[] = {
        "",
        "yesterday",
        "2026",
        "2026-02-20",
        "2026-02-20T",
        "2026-02-20T11:34",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-01-32T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:61Z",
        "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:00.1234567890Z",
        "2026-01-01T00:00:00+24:00",
        "2026-01-01T00:00:00+1",
        "2026-01-01T00:00:00+01:",
        "2026-01-01T00:00:00 Z",
        "2026-01-01T00:00:00Zx",
        "0000-01-01T00:00:00Z",
        "2026-0101T00:00:00Z",
        "-026-01-01T00:00:00Z",
        "2026-01-01T00-00-00Z",
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        int64_t us = 42;
        cbx_err err = CBX_ERR_INIT;
        CHECK_STATUS(cbx_time_parse_iso(cases[i], &us, &err), CBX_EFORMAT, cases[i]);
        CHECK(us == 42, "out untouched");
        CHECK(strstr(err.message, cases[i]), "the message quotes it");
    }
}

static int in_utc(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    return 0;
}

TESTS(.before = in_utc)
