/*
 * A device for the kernels of calibrax/array/cuda on this CPU: what device.h expects when nvcc is
 * not the compiler.
 *
 * A block's threads are fibers, run one after the other from barrier to barrier; shim.c has the
 * scheduler.  It gives up, with a sentence, on a barrier that some threads of a block pass and
 * others do not.
 */
#ifndef TESTS_ARRAY_CUDA_SHIM_H
#define TESTS_ARRAY_CUDA_SHIM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct cuda_shim_thread {
    int thread, threads;
    int64_t block;
} cuda_shim_thread;

extern cuda_shim_thread cuda_shim_now; /* the fiber that runs */

void cuda_shim_barrier(void);
int cuda_shim_barrier_any(int x);
/* All lanes of a warp give `bytes` of x and get those of lane ^ far (far < 0: nothing is
 * exchanged); ballot: bit l is lane l's x. */
void cuda_shim_exchange(const void *x, size_t bytes, int far, void *out);
uint32_t cuda_shim_ballot(int x);
/* Shared memory starts each block full of what no kernel may read: NaN. */
void cuda_shim_spoil(void *shared, size_t bytes);

#define KERNEL(name, args, threads_, blocks_)                                                                          \
    _Static_assert((threads_) <= 256 && (blocks_) > 0, "the scheduler has 256 fibers");                                \
    void name(const args a);                                                                                           \
    void name(const args a)
#define DEVICE static inline __attribute__((unused))
#define SHARED(T, name)                                                                                                \
    static T name __attribute__((aligned(16)));                                                                        \
    cuda_shim_spoil(&name, sizeof name)
#define UNROLL
#define NO_UNROLL
#define ALIGNED(n)     __attribute__((aligned(n)))
#define THREAD         (cuda_shim_now.thread)
#define BLOCK          (cuda_shim_now.block)
#define BARRIER()      cuda_shim_barrier()
#define BARRIER_ANY(x) cuda_shim_barrier_any((x) != 0)
#define WARP_BALLOT(x) cuda_shim_ballot(x)
#define WARP_XOR(x, far)                                                                                               \
    __extension__({                                                                                                    \
        __typeof__(x) mine_ = (x), theirs_;                                                                            \
        cuda_shim_exchange(&mine_, sizeof mine_, far, &theirs_);                                                       \
        theirs_;                                                                                                       \
    })
#endif
