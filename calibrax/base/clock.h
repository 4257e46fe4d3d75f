/**
 * Clocks: a monotonic one with its own cost measured, and the calendar.  Nothing here allocates,
 * and all is safe from any thread; only cbx_time_parse_iso can fail.
 */
#ifndef CALIBRAX_BASE_CLOCK_H
#define CALIBRAX_BASE_CLOCK_H

#include <stdint.h>

#include "calibrax/base/status.h"

CBX_BEGIN_DECLS

/** [ns] CLOCK_MONOTONIC: the same origin in every process of the machine. */
CBX_API uint64_t cbx_clock_ns(void);

typedef struct cbx_clock_facts {
    /* median cost of one reading, from 15 batches of 1000 back-to-back readings */
    double cost_ns;
    double granule_ns; /* smallest non-zero difference seen between two readings */
} cbx_clock_facts;

/** Measures the clock (about 0.5 ms).  Both members are > 0; a granule that was never seen is given
 * as the cost. */
CBX_API void cbx_clock_measure(cbx_clock_facts *out);

/** Microseconds since 1970-01-01T00:00:00 UTC. */
CBX_API int64_t cbx_time_now_us(void);

/** Buffer size of the formats below, which return buf; years before 1 and after 9999 are written as
 * they come, cut to it. */
#define CBX_TIME_SIZE 40
/** "2026-02-20T11:34:24.346877+00:00" */
CBX_API const char *cbx_time_format_iso(int64_t us, char buf[CBX_TIME_SIZE]);
/** "20260220T113424.346877+0000", the head of a run id. */
CBX_API const char *cbx_time_format_id(int64_t us, char buf[CBX_TIME_SIZE]);
/**
 * Reads an ISO 8601 date and time, extended or basic, with 'T' or a blank between, year 1..9999, an
 * optional fraction of 1..9 digits (cut to microseconds), and an offset or 'Z'; without either it
 * is local time.
 * @param s    not NULL
 * @param us   microseconds since 1970-01-01T00:00:00 UTC; written on success only
 * @param err  may be NULL
 * @return CBX_OK; CBX_EFORMAT: anything else, a day that does not exist included
 */
CBX_API cbx_status cbx_time_parse_iso(const char *s, int64_t *us, cbx_err *err);

CBX_END_DECLS
#endif
