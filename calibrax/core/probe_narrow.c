/*
 * Multiply-adds of narrow types, as fast as one core issues them: accumulators in registers, each
 * waiting only for itself, as many as cover latency times ports (20 of 32 vector registers, 12 of
 * 16, 6 of 8 tiles).
 *
 * Each loop is one piece of assembly: a compiler too old for the intrinsics can still assemble the
 * instructions, both compilers make the same of it, and no file needs flags of its own.  Operands
 * are zeroes, on which no instruction here is faster.  Sources: Intel SDM vol. 2 and vol. 1 ch. 18
 * (AMX), Linux Documentation/arch/x86/xstate.rst; Arm ARM DDI 0487, C7.2.
 */
#include "calibrax/core/probe_internal.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calibrax/core/machine.h"

#define TIMES_6(X, by)  X(0, by) X(1, by) X(2, by) X(3, by) X(4, by) X(5, by)
#define TIMES_12(X, by) TIMES_6(X, by) X(6, by) X(7, by) X(8, by) X(9, by) X(10, by) X(11, by)
#define TIMES_20(X, by) TIMES_12(X, by) X(12, by) X(13, by) X(14, by) X(15, by) X(16, by) X(17, by) X(18, by) X(19, by)

#define CLEAR_ZMM(i, by) "vpxorq %%zmm" #i ", %%zmm" #i ", %%zmm" #i "\n\t"
#define STEP_ZMM(i, by)  by " %%zmm30, %%zmm31, %%zmm" #i "\n\t"
#define CLEAR_YMM(i, by) "vpxor %%ymm" #i ", %%ymm" #i ", %%ymm" #i "\n\t"
#define STEP_YMM(i, by)  by " %%ymm14, %%ymm15, %%ymm" #i "\n\t"
#define CLEAR_TMM(i, by) "tilezero %%tmm" #i "\n\t"
#define STEP_TMM(i, by)  by " %%tmm6, %%tmm7, %%tmm" #i "\n\t"

#define LOW_REGISTERS                                                                                                  \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",         \
        "xmm13", "xmm14", "xmm15"

#define LOOP_ZMM(name, instruction)                                                                                    \
    __attribute__((target("avx512f"))) static void name(uint64_t rounds)                                               \
    {                                                                                                                  \
        if (!rounds) return;                                                                                           \
        __asm__ volatile(TIMES_20(CLEAR_ZMM, "") CLEAR_ZMM(30, "")                                                     \
                             CLEAR_ZMM(31, "") "1:\n\t" TIMES_20(STEP_ZMM, instruction) "dec %0\n\t"                   \
                                                                                        "jnz 1b\n\t"                   \
                                                                                        "vzeroupper"                   \
                         : "+r"(rounds)                                                                                \
                         :                                                                                             \
                         : "cc", LOW_REGISTERS, "xmm16", "xmm17", "xmm18", "xmm19", "xmm30", "xmm31");                 \
    }

#define LOOP_YMM(name, instruction)                                                                                    \
    __attribute__((target("avx2"))) static void name(uint64_t rounds)                                                  \
    {                                                                                                                  \
        if (!rounds) return;                                                                                           \
        __asm__ volatile(TIMES_12(CLEAR_YMM, "") CLEAR_YMM(14, "")                                                     \
                             CLEAR_YMM(15, "") "1:\n\t" TIMES_12(STEP_YMM, instruction) "dec %0\n\t"                   \
                                                                                        "jnz 1b\n\t"                   \
                                                                                        "vzeroupper"                   \
                         : "+r"(rounds)                                                                                \
                         :                                                                                             \
                         : "cc", LOW_REGISTERS);                                                                       \
    }

/* Eight tiles of 16 rows of 64 bytes. */
typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config;

#define LOOP_TMM(name, instruction)                                                                                    \
    static void name(uint64_t rounds)                                                                                  \
    {                                                                                                                  \
        tile_config c = { .palette = 1 };                                                                              \
        for (int i = 0; i < 8; i++) c.row_bytes[i] = 64, c.rows[i] = 16;                                               \
        if (!rounds) return;                                                                                           \
        __asm__ volatile("ldtilecfg %1\n\t" TIMES_6(CLEAR_TMM, "") CLEAR_TMM(6, "")                                    \
                             CLEAR_TMM(7, "") "1:\n\t" TIMES_6(STEP_TMM, instruction) "dec %0\n\t"                     \
                                                                                      "jnz 1b\n\t"                     \
                                                                                      "tilerelease"                    \
                         : "+r"(rounds)                                                                                \
                         : "m"(c)                                                                                      \
                         : "cc");                                                                                      \
    }

LOOP_ZMM(f16_zmm, "vfmadd231ph")
LOOP_ZMM(bf16_zmm, "vdpbf16ps")
LOOP_ZMM(i8_zmm, "vpdpbusd")
LOOP_YMM(i8_ymm, "%{vex%} vpdpbusd")
LOOP_TMM(bf16_tmm, "tdpbf16ps")
LOOP_TMM(i8_tmm, "tdpbssd")

/* Bit `bit` of a register (0: eax ... 3: edx) of leaf 7. */
static bool leaf_7(unsigned sub, unsigned reg, unsigned bit)
{
    unsigned r[4] = { 0 };

    return __get_cpuid_count(7, sub, &r[0], &r[1], &r[2], &r[3]) && (r[reg] >> bit & 1);
}

static bool has_zmm(void) { return strcmp(cbx_machine_isa(), "avx512") == 0; }

/* The kernel keeps the state of tiles, and gives them to this process. */
static bool may_tile(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };

    return leaf_7(0, 3, 24) && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

#define OPS(chains, products) (2.0 * (chains) * (products))

cbx__narrow_loop cbx__narrow_find(cbx_narrow n)
{
    static const cbx__narrow_loop f16 = { "vfmadd231ph, 512 bits", f16_zmm, OPS(20, 32), NULL };
    static const cbx__narrow_loop bf16 = { "vdpbf16ps, 512 bits", bf16_zmm, OPS(20, 32), NULL };
    static const cbx__narrow_loop i8 = { "vpdpbusd, 512 bits", i8_zmm, OPS(20, 64), NULL };
    static const cbx__narrow_loop i8_short = { "vpdpbusd, 256 bits", i8_ymm, OPS(12, 32), NULL };
    static const cbx__narrow_loop bf16_tiles = { "tdpbf16ps, tiles of 1 KiB", bf16_tmm, OPS(6, 16 * 16 * 32), NULL };
    static const cbx__narrow_loop i8_tiles = { "tdpbssd, tiles of 1 KiB", i8_tmm, OPS(6, 16 * 16 * 64), NULL };

    switch (n) {
    case CBX_NARROW_F16:
        if (has_zmm() && leaf_7(0, 3, 23)) return f16;
        return (cbx__narrow_loop){ .why = "this CPU has no AVX512-FP16" };
    case CBX_NARROW_BF16:
        if (has_zmm() && leaf_7(1, 0, 5)) return bf16;
        return (cbx__narrow_loop){ .why = "this CPU has no AVX512-BF16" };
    case CBX_NARROW_I8:
        if (has_zmm() && leaf_7(0, 2, 11)) return i8;
        if (strcmp(cbx_machine_isa(), "plain") != 0 && leaf_7(1, 0, 4)) return i8_short;
        return (cbx__narrow_loop){ .why = "this CPU has no VNNI" };
    case CBX_NARROW_BF16_TILE:
        if (leaf_7(0, 3, 22))
            return may_tile() ? bf16_tiles : (cbx__narrow_loop){ .why = "the kernel does not grant tiles" };
        return (cbx__narrow_loop){ .why = "this CPU has no AMX-BF16" };
    case CBX_NARROW_I8_TILE:
        if (leaf_7(0, 3, 25))
            return may_tile() ? i8_tiles : (cbx__narrow_loop){ .why = "the kernel does not grant tiles" };
        return (cbx__narrow_loop){ .why = "this CPU has no AMX-INT8" };
    case CBX_NARROW_COUNT: break;
    }
    return (cbx__narrow_loop){ .why = "no such type" };
}

#elif defined(__aarch64__)

#include <sys/auxv.h>

#define TIMES_20(X)                                                                                                    \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19)
#define CLEAR(i)          "movi v" #i ".2d, #0\n\t"
#define STEP_F16(i)       "fmla v" #i ".8h, v30.8h, v31.8h\n\t"
#define STEP_BF16(i)      "bfdot v" #i ".4s, v30.8h, v31.8h\n\t"
#define STEP_I8(i)        "sdot v" #i ".4s, v30.16b, v31.16b\n\t"
#define STEP_BF16_TILE(i) "bfmmla v" #i ".4s, v30.8h, v31.8h\n\t"
#define STEP_I8_TILE(i)   "smmla v" #i ".4s, v30.16b, v31.16b\n\t"

#define LOOP(name, step)                                                                                               \
    static void name(uint64_t rounds)                                                                                  \
    {                                                                                                                  \
        if (!rounds) return;                                                                                           \
        __asm__ volatile(".arch armv8.6-a+fp16+bf16+i8mm\n\t" TIMES_20(CLEAR) CLEAR(30)                                \
                             CLEAR(31) "1:\n\t" TIMES_20(step) "subs %0, %0, #1\n\t"                                   \
                                                               "b.ne 1b"                                               \
                         : "+r"(rounds)                                                                                \
                         :                                                                                             \
                         : "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",      \
                           "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v30", "v31");                             \
    }

LOOP(f16_neon, STEP_F16)
LOOP(bf16_neon, STEP_BF16)
LOOP(i8_neon, STEP_I8)
LOOP(bf16_matrix, STEP_BF16_TILE)
LOOP(i8_matrix, STEP_I8_TILE)

/* Bits of the kernel's list (asm/hwcap.h), which an old header may lack. */
enum { HALF = 1 << 10, DOT = 1 << 20 };  /* AT_HWCAP: asimdhp, asimddp */
enum { I8MM = 1 << 13, BF16 = 1 << 14 }; /* AT_HWCAP2 */

#define OPS(products) (2.0 * 20 * (products))

cbx__narrow_loop cbx__narrow_find(cbx_narrow n)
{
    static const struct {
        cbx__narrow_loop loop;
        unsigned long type, bit;
    } loops[CBX_NARROW_COUNT] = {
        [CBX_NARROW_F16] = { { "fmla, 128 bits", f16_neon, OPS(8), "this CPU has no half-precision arithmetic" },
                             AT_HWCAP,
                             HALF },
        [CBX_NARROW_BF16] = { { "bfdot, 128 bits", bf16_neon, OPS(8), "this CPU has no BF16 extension" },
                              AT_HWCAP2,
                              BF16 },
        [CBX_NARROW_I8] = { { "sdot, 128 bits", i8_neon, OPS(16), "this CPU has no dot products" }, AT_HWCAP, DOT },
        [CBX_NARROW_BF16_TILE] = { { "bfmmla, 2x4 by 4x2", bf16_matrix, OPS(16), "this CPU has no BF16 extension" },
                                   AT_HWCAP2,
                                   BF16 },
        [CBX_NARROW_I8_TILE] = { { "smmla, 2x8 by 8x2", i8_matrix, OPS(32), "this CPU has no I8MM extension" },
                                 AT_HWCAP2,
                                 I8MM },
    };

    if ((unsigned)n >= CBX_NARROW_COUNT) return (cbx__narrow_loop){ .why = "no such type" };
    if (getauxval(loops[n].type) & loops[n].bit) return loops[n].loop;
    return (cbx__narrow_loop){ .why = loops[n].loop.why };
}

#else

cbx__narrow_loop cbx__narrow_find(cbx_narrow n)
{
    (void)n;
    return (cbx__narrow_loop){ .why = "instructions of this architecture are not supported" };
}

#endif
