/* Shared by the files of base and their tests only. */
#ifndef CALIBRAX_BASE_INTERNAL_H
#define CALIBRAX_BASE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** digits * 10^power as the nearest double, where that is sure without long arithmetic; false: it
 * is not, ask the C library. */
bool cbx__decimal_value(uint64_t digits, int power, double *out);

/** Whether OpenBLAS 0.3.21 recognises the AVX-512 of a CPU.  @param signature  eax of cpuid leaf
 * 1 */
bool cbx__openblas_knows(bool intel, unsigned signature);

/** True if /proc/PID/fdinfo/FD, read from here on, lists a lock held through that descriptor. */
bool cbx__fdinfo_has_lock(FILE *info);

#endif
