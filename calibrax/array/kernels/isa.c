/*
 * Which instruction sets are built, and which of them this machine runs.
 */
#include "calibrax/array/kernels/isa.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define DECLARE(id, name, cpus) bool cbx__isa_runs_##name(void);
CBX_ISA_MAP(DECLARE)
#undef DECLARE

static const char *const names[CBX_ISA_COUNT] = {
#define NAME(id, name, cpus) [CBX_ISA_##id] = #name,
    CBX_ISA_MAP(NAME)
#undef NAME
};

/* NULL: not built for this CPU's family. */
static bool (*const runs[CBX_ISA_COUNT])(void) = {
#define ENTRY(id, name, cpus) CBX_ISA_ON_##cpus([CBX_ISA_##id] = cbx__isa_runs_##name, )
    CBX_ISA_MAP(ENTRY)
#undef ENTRY
};

/* The widest one that CALIBRAX_ISA allows. */
static int widest_allowed(void)
{
    const char *word = getenv("CALIBRAX_ISA");
    int most = CBX_ISA_COUNT - 1;

    for (int i = 0; word && i < CBX_ISA_COUNT; i++)
        if (strcmp(word, names[i]) == 0) most = i;
    return most;
}

/* Bit i: instruction set i is available.  Asked once, since a product of a few elements takes less time than the asking. */
static unsigned available_isas(void)
{
    const unsigned known_bit = 1u << CBX_ISA_COUNT;
    static atomic_uint known;
    unsigned bits = atomic_load_explicit(&known, memory_order_relaxed);

    if (bits & known_bit) return bits & ~known_bit;
    for (int i = 0; i <= widest_allowed(); i++)
        if (runs[i] && runs[i]()) bits |= 1u << i;
    atomic_store_explicit(&known, bits | known_bit, memory_order_relaxed);
    return bits;
}

const char *cbx_isa_name(cbx_isa isa) { return (unsigned)isa < CBX_ISA_COUNT ? names[isa] : "?"; }
bool cbx_isa_available(cbx_isa isa) { return (unsigned)isa < CBX_ISA_COUNT && (available_isas() >> isa & 1); }

cbx_isa cbx_isa_best(void)
{
    const unsigned bits = available_isas();
    int isa = CBX_ISA_COUNT - 1;
    while (isa > CBX_ISA_PLAIN && !(bits >> isa & 1)) isa--;
    return (cbx_isa)isa;
}
