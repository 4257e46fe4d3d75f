/*
 * Clocks.  Readings go through clock_gettime: in the vDSO it costs some 20 ns, and its origin is
 * the same for every process, which is what lets a parent check its children's times.
 */
#include "calibrax/base/clock.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "calibrax/base/list.h"

#define BATCHES  15
#define READINGS 1000
#define US_PER_S 1000000

uint64_t cbx_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void cbx_clock_measure(cbx_clock_facts *out)
{
    double cost[BATCHES];
    uint64_t granule = UINT64_MAX;
    for (int b = 0; b < BATCHES; b++) {
        uint64_t start = cbx_clock_ns(), last = start;
        for (int i = 0; i < READINGS; i++) {
            uint64_t now = cbx_clock_ns();
            if (now > last && now - last < granule) granule = now - last;
            last = now;
        }
        cost[b] = (double)(last - start) / READINGS;
    }
    qsort(cost, BATCHES, sizeof cost[0], cbx_compare_doubles);
    out->cost_ns = cost[BATCHES / 2];
    out->granule_ns = granule == UINT64_MAX ? cost[BATCHES / 2] : (double)granule;
}

int64_t cbx_time_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * US_PER_S + t.tv_nsec / 1000;
}

/* The last n digits of v. */
static char *put_digits(char *to, long v, int n)
{
    for (int i = n - 1; i >= 0; i--, v /= 10) to[i] = (char)('0' + v % 10);
    return to + n;
}

/* A list of ten thousand runs shows as many times: no printf. */
static const char *format_time(int64_t us, bool extended, char buf[CBX_TIME_SIZE])
{
    struct tm tm = { 0 };
    int64_t fraction = us % US_PER_S;
    time_t seconds = (time_t)(us / US_PER_S) - (fraction < 0);
    long year;
    char *at = buf;

    if (fraction < 0) fraction += US_PER_S;
    gmtime_r(&seconds, &tm);
    year = (long)tm.tm_year + 1900;
    if (year < 0 || year > 9999) year = year < 0 ? 0 : 9999; /* none that is read or measured */
    at = put_digits(at, year, 4);
    if (extended) *at++ = '-';
    at = put_digits(at, tm.tm_mon + 1, 2);
    if (extended) *at++ = '-';
    at = put_digits(at, tm.tm_mday, 2);
    *at++ = 'T';
    at = put_digits(at, tm.tm_hour, 2);
    if (extended) *at++ = ':';
    at = put_digits(at, tm.tm_min, 2);
    if (extended) *at++ = ':';
    at = put_digits(at, tm.tm_sec, 2);
    *at++ = '.';
    at = put_digits(at, (long)fraction, 6);
    strcpy(at, extended ? "+00:00" : "+0000");
    return buf;
}

const char *cbx_time_format_iso(int64_t us, char buf[CBX_TIME_SIZE]) { return format_time(us, true, buf); }

const char *cbx_time_format_id(int64_t us, char buf[CBX_TIME_SIZE]) { return format_time(us, false, buf); }

/* Reads exactly n digits into *out, if the number lies in lo..hi; NULL in, NULL out, so that a
 * caller checks once. */
static const char *take_digits(const char *s, int n, int lo, int hi, int *out)
{
    int v = 0;
    if (!s) return NULL;
    for (int i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9') return NULL;
        v = 10 * v + (s[i] - '0');
    }
    *out = v;
    return v >= lo && v <= hi ? s + n : NULL;
}

static const char *take_char(const char *s, char c) { return s && *s == c ? s + 1 : NULL; }

/* February 29 is checked against the year. */
static bool day_exists(int year, int month, int day)
{
    static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return day <= lengths[month - 1] + (month == 2 && leap);
}

/* "2026-02-20T11:34:24", a blank in place of T, or the same without '-' and ':'. */
static const char *take_date_time(const char *s, struct tm *tm)
{
    int year = 0, month = 1, day = 1;
    bool extended = strlen(s) > 4 && s[4] == '-';
    s = take_digits(s, 4, 1, 9999, &year);
    if (extended) s = take_char(s, '-');
    s = take_digits(s, 2, 1, 12, &month);
    if (extended) s = take_char(s, '-');
    s = take_digits(s, 2, 1, 31, &day);
    if (!s || !day_exists(year, month, day) || !(*s == 'T' || *s == 't' || *s == ' ')) return NULL;
    s = take_digits(s + 1, 2, 0, 23, &tm->tm_hour);
    if (extended) s = take_char(s, ':');
    s = take_digits(s, 2, 0, 59, &tm->tm_min);
    if (extended) s = take_char(s, ':');
    s = take_digits(s, 2, 0, 60, &tm->tm_sec);
    tm->tm_year = year - 1900;
    tm->tm_mon = month - 1;
    tm->tm_mday = day;
    tm->tm_isdst = -1;
    return s;
}

/* ".1" to ".123456789", cut to microseconds; nothing is fine. */
static const char *take_fraction(const char *s, int64_t *us)
{
    *us = 0;
    if (!s || (*s != '.' && *s != ',')) return s;
    int n = 0, scale = US_PER_S;
    for (s++; *s >= '0' && *s <= '9'; s++, n++) {
        scale /= 10;
        *us += (int64_t)(*s - '0') * scale;
    }
    return n >= 1 && n <= 9 ? s : NULL;
}

/* "Z", "+01:00", "+0100" or "+01"; *local: there was no offset. */
static const char *take_offset(const char *s, int *seconds, bool *local)
{
    int hours = 0, minutes = 0;
    *seconds = 0;
    *local = s && *s == 0;
    if (!s || *local) return s;
    if (*s == 'Z' || *s == 'z') return s + 1;
    if (*s != '+' && *s != '-') return NULL;
    int sign = *s == '-' ? -1 : 1;
    s = take_digits(s + 1, 2, 0, 23, &hours);
    if (s && *s == ':')
        s = take_digits(s + 1, 2, 0, 59, &minutes);
    else if (s && *s)
        s = take_digits(s, 2, 0, 59, &minutes);
    *seconds = sign * (hours * 3600 + minutes * 60);
    return s;
}

cbx_status cbx_time_parse_iso(const char *s, int64_t *us, cbx_err *err)
{
    struct tm tm = { 0 };
    int64_t fraction = 0;
    int offset = 0;
    bool local = false;
    const char *p = take_offset(take_fraction(take_date_time(s, &tm), &fraction), &offset, &local);
    if (!p || *p)
        return cbx_fail(err, CBX_EFORMAT, "'%s' is not an ISO 8601 date and time, such as '2026-02-20T11:34:24+00:00'",
                        s);
    time_t seconds = local ? mktime(&tm) : timegm(&tm) - offset;
    *us = (int64_t)seconds * US_PER_S + fraction;
    return CBX_OK;
}
