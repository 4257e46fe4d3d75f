/* Threads of kernels: OpenMP's; a build without it has one. */
#ifndef CALIBRAX_ARRAY_KERNELS_THREADS_H
#define CALIBRAX_ARRAY_KERNELS_THREADS_H

#include <stddef.h>

#if defined(_OPENMP)
#include <omp.h>
/** An OpenMP directive; nothing in a build without it. */
#define CBX__OMP(...) _Pragma(#__VA_ARGS__)
/** A loop whose turns a team of nt threads shares by the clauses that follow. */
#define CBX__EACH_OF_TEAM(nt, ...) CBX__OMP(omp parallel for num_threads(nt) if (nt > 1) __VA_ARGS__)
/** At most so many now: one inside of a parallel loop. */
static inline int cbx__omp_threads(void) { return omp_in_parallel() ? 1 : omp_get_max_threads(); }
/** Which of the team's threads this is, and how many there are. */
static inline size_t cbx__omp_thread(void) { return (size_t)omp_get_thread_num(); }
static inline size_t cbx__omp_team(void) { return (size_t)omp_get_num_threads(); }
#else
#define CBX__OMP(...)
#define CBX__EACH_OF_TEAM(nt, ...) (void)(nt);
static inline int cbx__omp_threads(void) { return 1; }
static inline size_t cbx__omp_thread(void) { return 0; }
static inline size_t cbx__omp_team(void) { return 1; }
#endif

/** go(job, id, nt) on each of nt threads, at most `threads`; a team of one is no team, which costs
 * more than a short product. */
static inline void cbx__team_run(int threads, void (*go)(void *job, size_t id, size_t nt), void *job)
{
    if (threads > 1) {
        CBX__OMP(omp parallel num_threads(threads))
        go(job, cbx__omp_thread(), cbx__omp_team());
        return;
    }
    go(job, 0, 1);
}

/** All nt threads of a team wait here for the last. */
static inline void cbx__team_wait(size_t nt)
{
    if (nt > 1) {
        CBX__OMP(omp barrier)
    }
}

#endif
