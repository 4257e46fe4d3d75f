/* Threads of kernels: OpenMP's; a build without it has one. */
#ifndef CALIBRAX_ARRAY_KERNELS_THREADS_H
#define CALIBRAX_ARRAY_KERNELS_THREADS_H

#include <stddef.h>

#if defined(_OPENMP)
#include <omp.h>
/** At most so many now: one inside of a parallel loop. */
static inline int cbx__omp_threads(void) { return omp_in_parallel() ? 1 : omp_get_max_threads(); }
/** Which of them this is. */
static inline size_t cbx__omp_thread(void) { return (size_t)omp_get_thread_num(); }
#else
static inline int cbx__omp_threads(void) { return 1; }
static inline size_t cbx__omp_thread(void) { return 0; }
#endif

#endif
