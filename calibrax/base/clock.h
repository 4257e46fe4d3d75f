/**
 * Clocks: a monotonic one with its own cost measured, and the calendar.
 */
#ifndef CALIBRAX_BASE_CLOCK_H
#define CALIBRAX_BASE_CLOCK_H

#include <stdint.h>

#include "calibrax/base/status.h"

CBX_BEGIN_DECLS

/** [ns] CLOCK_MONOTONIC: the same origin in every process of the machine. */
CBX_API uint64_t cbx_clock_ns(void);

typedef struct cbx_clock_facts {
    double cost_ns;    /* median cost of one reading, from 15 batches of 1000 back-to-back readings */
    double granule_ns; /* smallest non-zero difference seen between two readings */
} cbx_clock_facts;

/** Measures the clock (about 0.5 ms).  Safe from any thread. */
CBX_API void cbx_clock_measure(cbx_clock_facts *out);

/** Microseconds since 1970-01-01T00:00:00 UTC. */
CBX_API int64_t cbx_time_now_us(void);

#define CBX_TIME_SIZE 40
/** "2026-02-20T11:34:24.346877+00:00" */
CBX_API const char *cbx_time_format_iso(int64_t us, char buf[CBX_TIME_SIZE]);
/** "20260220T113424.346877+0000", the head of a run id. */
CBX_API const char *cbx_time_format_id(int64_t us, char buf[CBX_TIME_SIZE]);
/** Reads ISO 8601 date-times with offset or Z, fraction of 0..9 digits, or none of them (then local time). CBX_EFORMAT
 * otherwise. */
CBX_API cbx_status cbx_time_parse_iso(const char *s, int64_t *us, cbx_err *err);

CBX_END_DECLS
#endif
