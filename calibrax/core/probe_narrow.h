/**
 * Inside the library: the loops of the probe for types narrower than 32 bits, chosen by what this
 * CPU and kernel have.
 */
#ifndef CALIBRAX_CORE_PROBE_NARROW_H
#define CALIBRAX_CORE_PROBE_NARROW_H

#include <stdint.h>

#include "calibrax/core/probe.h"

typedef struct cbx__narrow_loop {
    const char *by; /* "vdpbf16ps, 512 bits"; NULL: this CPU has no such instruction */
    void (*run)(uint64_t rounds);
    double ops_per_round; /* products and sums count one each */
    const char *why;      /* why it has none */
} cbx__narrow_loop;

/* A matrix unit that the kernel gives on request (AMX) is asked for: signal frames of this process
 * are larger from then on. */
cbx__narrow_loop cbx__narrow_find(cbx_narrow n);

#endif
