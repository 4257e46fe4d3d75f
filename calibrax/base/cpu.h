/*
 * What decides between OpenBLAS kernels: instruction sets and model of the CPU.
 */
#ifndef CALIBRAX_BASE_CPU_H
#define CALIBRAX_BASE_CPU_H

#include <stdbool.h>

typedef struct cbx__cpu {
    bool avx512;             /* F, BW, DQ and VL: what OpenBLAS's SkylakeX kernels need */
    bool openblas_misjudges; /* AVX-512 is there, and OpenBLAS 0.3.21 would not use it */
} cbx__cpu;

/* From the text of /proc/cpuinfo. */
cbx__cpu cbx__cpu_parse(const char *cpuinfo);
/* Of this machine; read anew by each call, into thread-local storage. */
const cbx__cpu *cbx__cpu_read(void);

#endif
