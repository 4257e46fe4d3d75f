/*
 * Random kernels, data for them, and the comparison of emitters on them.
 *
 *     CHECK(!kernels_differ(ctx, &cbx__emitter_interpreter, &plain_emitter, KERNELS_ALL, 1, 1000,
 *     &report), report);
 *
 * makes 1000 kernels of seeds 1, 2 ..., runs each with both emitters on the same data, and compares
 * every byte of the memory, also the bytes that no kernel may write; any NaN is equal to any other.
 * Where they differ, it looks for the smallest kernel and the fewest elements that still do.
 */
#ifndef CALIBRAX_TESTS_ARRAY_KERNELS_RANDOM_H
#define CALIBRAX_TESTS_ARRAY_KERNELS_RANDOM_H

#include "calibrax/array/jit/emitter.h"
#include "calibrax/base/rng.h"

#define KERNELS_STREAMS 12 /* at most */

enum {
    KERNELS_MATH = 1,     /* MATH of every primitive that has a loop */
    KERNELS_IN_PLACE = 2, /* outputs may take the memory of inputs */
    KERNELS_ALL = 3
};

/* A kernel with all that its data depend on. */
typedef struct kernel_trial {
    cbx__kernel k;
    int64_t m, n;
    uint64_t seed[KERNELS_STREAMS]; /* of the layout and the elements of each stream */
    int shares[KERNELS_STREAMS];    /* of an output: the input whose memory it takes; -1 */
} kernel_trial;

typedef struct kernel_data {
    char *p[KERNELS_STREAMS];
    int64_t outer[KERNELS_STREAMS], inner[KERNELS_STREAMS];
    char *memory[KERNELS_STREAMS]; /* NULL: none, or another's */
    size_t bytes[KERNELS_STREAMS];
} kernel_data;

void kernel_trial_make(kernel_trial *t, unsigned kinds, uint64_t seed);
void kernel_trial_clear(kernel_trial *t);
/* @return CBX_EINVAL: it breaks a rule of kernel.h, which the message names */
cbx_status kernel_check(const cbx__kernel *k, cbx_err *err);
/* Of its text. */
uint64_t kernel_hash(const cbx__kernel *k);
/* The same data each time.  Ends the test without memory. */
void kernel_data_make(kernel_data *d, const kernel_trial *t);
void kernel_data_clear(kernel_data *d);

/* Compares emitters, see above.  @param report  static text; written if they differ, also if one
 * does not compile */
bool kernels_differ(cbx_ctx *ctx, const cbx__emitter *x, const cbx__emitter *y, unsigned kinds, uint64_t seed,
                    size_t count, const char **report);

/* Evaluates element by element with plain C, apart from the library's loops but for MATH. */
extern const cbx__emitter plain_emitter;
/* By the C compiler, which is $CC or cc. */
extern const cbx__emitter compiled_emitter;

#endif
