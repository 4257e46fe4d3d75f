/**
 * Order and layout of launches: everything that is drawn.  Internal to perf.
 *
 * Order: a Williams square (E. J. Williams, Aust. J. Sci. Res. A 2 (1949) 149-168) balances
 * position and first-order carry-over: in one block each treatment takes each place once, and
 * follows each other treatment equally often (n even: n rows; n odd: 2n rows).  Rows are dealt in
 * mirrored pairs, so that a linear drift cancels within each pair (two treatments: A B, B A), and
 * treatments are relabelled at random at the start of each block.
 */
#ifndef CALIBRAX_PERF_SWEEP_ORDER_H
#define CALIBRAX_PERF_SWEEP_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calibrax/base/ctx.h"

/** Rows of one block: 1 for n <= 1, n if even, 2n if odd. */
size_t cbx__schedule_block(size_t n);
/** Order of round `round`: out[position] = treatment.  scratch holds n elements.  Same arguments,
 * same order. */
void cbx__schedule_order(uint64_t seed, size_t n, size_t round, size_t *scratch, size_t *out);

/** Layout factors of one launch: environment 0..4095 bytes, stack 0..64 KiB in steps of 16, heap
 * 0..1 MiB in steps of 16. */
typedef struct cbx__layout {
    size_t env_pad_bytes, stack_pad_bytes, heap_pad_bytes;
} cbx__layout;

cbx__layout cbx__layout_draw(uint64_t seed, uint64_t stream);
/** 1: the kernel places code, stack and heap of each launch at random; 0: every launch has one
 * placement; -1: unknown. */
int cbx__layout_is_random(void);
/** One number from several: names the random stream of (point, attempt, round). */
uint64_t cbx__stream_of(uint64_t a, uint64_t b, uint64_t c);

#endif
