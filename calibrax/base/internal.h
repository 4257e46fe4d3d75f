/* Shared by the files of base and their tests only. */
#ifndef CALIBRAX_BASE_INTERNAL_H
#define CALIBRAX_BASE_INTERNAL_H

#include <stdio.h>

#include "calibrax/base/pool.h"
#include "calibrax/base/settings.h"

/** A pool with one reference, held by the caller; memory below 2 MiB comes from the allocator, which is copied. */
cbx_status cbx__pool_create(const cbx_allocator *al, size_t keep_bytes, cbx_pool **out, cbx_err *err);
/** Unmaps what is kept and keeps nothing from now on: the context has died, buffers may still come back. */
void cbx__pool_close(cbx_pool *pool);
/** Capacity of the size class that serves a request; 0 if it is too large for any. */
size_t cbx__pool_class(size_t size);

/** Options first, then the environment; opts has every member that this version knows. */
cbx_status cbx__settings_resolve(const cbx_ctx_opts *opts, cbx_settings *out, cbx_err *err);

#define CBX__UTF8_REPLACEMENT 0xFFFDu

/**
 * Code point of the UTF-8 sequence at s (left >= 1 bytes) and its length; the replacement character with *used 1 where
 * none begins: stray, missing or overlong bytes, surrogates, beyond U+10FFFF.
 */
uint32_t cbx__utf8_decode(const char *s, size_t left, size_t *used);

/** digits * 10^power as the nearest double, where that is sure without long arithmetic; false: it is not, ask the C library. */
bool cbx__decimal_value(uint64_t digits, int power, double *out);

/** Whether OpenBLAS 0.3.21 recognises the AVX-512 of a CPU.  @param signature  eax of cpuid leaf 1 */
bool cbx__openblas_knows(bool intel, unsigned signature);

/** True if /proc/PID/fdinfo/FD, read from here on, lists a lock held through that descriptor. */
bool cbx__fdinfo_has_lock(FILE *info);

#endif
