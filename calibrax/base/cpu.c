/*
 * Which instruction sets this machine runs.
 */
#include "calibrax/base/cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[CBX_ISA_COUNT] = {
#define NAME(id, name, cpus) [CBX_ISA_##id] = #name,
    CBX_ISA_MAP(NAME)
#undef NAME
};

#define RUNS_PLAIN true
#define RUNS_AVX2  (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#define RUNS_AVX512                                                                                                    \
    (RUNS_AVX2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&                           \
     __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))

/* Asked once, since a product of a few elements takes less time than the question. */
typedef struct sets {
    unsigned char of_cpu, allowed; /* the widest; 1 more than its number, 0: not known yet */
} sets;

static sets find_sets(void)
{
    static _Atomic(sets) known;
    sets s = atomic_load_explicit(&known, memory_order_relaxed);
    const char *word;

    if (s.of_cpu) return s;
#define SEE(id, name, cpus) CBX_ISA_ON_##cpus(if (RUNS_##id) s.of_cpu = CBX_ISA_##id + 1;)
    CBX_ISA_MAP(SEE)
#undef SEE
    s.allowed = s.of_cpu;
    word = getenv("CALIBRAX_ISA");
    for (unsigned char i = 0; word && i + 1 < s.of_cpu; i++)
        if (strcmp(word, names[i]) == 0) s.allowed = i + 1;
    atomic_store_explicit(&known, s, memory_order_relaxed);
    return s;
}

const char *cbx_isa_name(cbx_isa isa) { return (unsigned)isa < CBX_ISA_COUNT ? names[isa] : "?"; }
bool cbx_isa_available(cbx_isa isa) { return (unsigned)isa < find_sets().allowed; }
cbx_isa cbx_isa_best(void) { return (cbx_isa)(find_sets().allowed - 1); }
cbx_isa cbx_isa_of_cpu(void) { return (cbx_isa)(find_sets().of_cpu - 1); }
