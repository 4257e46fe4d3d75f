/**
 * Inside the library: the loops of the machine probe, one table of them per instruction set
 * (probe_loops.c), those for types narrower than 32 bits, chosen by what this CPU and kernel have
 * (probe_narrow.c), and a probe as JSON (probe_cache.c).
 */
#ifndef CALIBRAX_CORE_PROBE_INTERNAL_H
#define CALIBRAX_CORE_PROBE_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "calibrax/base/json.h"
#include "calibrax/core/probe.h"

/** Lane operations that one round of a pipe loop makes is ops_per_round[0: f32, 1: f64]; n of the
 * others counts doubles and is a multiple of CBX__PROBE_STEP; pointers are on 64 bytes. */
#define CBX__PROBE_STEP 64

typedef struct cbx__probe_loops {
    const char *name; /* "avx512", "avx2", "neon", "plain" */
    void (*pipe[CBX_PIPE_COUNT][2])(uint64_t rounds);
    double ops_per_round[2];
    void (*read)(const double *b, size_t n, size_t passes);
    void (*copy)(double *a, const double *b, size_t n, size_t passes);
    void (*triad)(double *a, const double *b, const double *c, size_t n, size_t passes);
    void (*triad_stream)(double *a, const double *b, const double *c, size_t n, size_t passes);
    void (*flush)(const void *p, size_t bytes); /* out of every cache; NULL where a program may not */
} cbx__probe_loops;

extern const cbx__probe_loops cbx__probe_loops_plain; /* NEON where that is the base of the architecture */
#if defined(__x86_64__)
extern const cbx__probe_loops cbx__probe_loops_avx2;
extern const cbx__probe_loops cbx__probe_loops_avx512;
#endif

typedef struct cbx__narrow_loop {
    const char *by; /* "vdpbf16ps, 512 bits"; NULL: this CPU has no such instruction */
    void (*run)(uint64_t rounds);
    double ops_per_round; /* products and sums count one each */
    const char *why;      /* why it has none */
} cbx__narrow_loop;

/* A matrix unit that the kernel gives on request (AMX) is asked for: signal frames of this process
 * are larger from then on. */
cbx__narrow_loop cbx__narrow_find(cbx_narrow n);

/** Schema "calibrax.probe", with revision and build of this library; NULL: out of memory. */
cbx_json *cbx__probe_to_json(const cbx_probe *p);
/** false, and out untouched: of another version or build, or a rate is missing, not finite or not
 * above 0. */
bool cbx__probe_from_json(const cbx_json *v, cbx_probe *out);

#endif
