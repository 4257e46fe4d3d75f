/**
 * The code that XLA generated for a function, from the text of its compiled module (HLO): how much
 * is fused, moved and computed.
 *
 * An instruction is a line `name = shape opcode(operands)...`; all count, parameters and constants
 * too.
 *   fusion      share of instructions that are a fusion
 *   memory      share of copy, transpose, reshape and broadcast
 *   arithmetic  share of add, multiply, dot, convolution and reduce
 *   score       min(1, 0.4 min(2 fusion, 1) + 0.3 arithmetic + 0.3 (1 - memory)), as in the Python
 *               package calibrax
 *   fused       of the working instructions, those inside a fusion; `fusion` falls as more is fused
 *               into one kernel
 * Only opcodes count, never names or metadata.
 * Source of the text: `jax.jit(f).lower(...).compile().as_text()`, or XLA_FLAGS=--xla_dump_to=DIR
 * --xla_dump_hlo_as_text.
 */
#ifndef CALIBRAX_PROFILING_HLO_H
#define CALIBRAX_PROFILING_HLO_H

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

typedef struct cbx_hlo_report {
    size_t computations, instructions;
    size_t fusions, memory_ops, arithmetic_ops;
    size_t loops;        /* while: XLA's own count of operations counts their body once */
    size_t custom_calls; /* library code: XLA's own count has few or none of their operations */
    size_t working;      /* instructions other than parameter, constant, tuple, get-tuple-element, bitcast and fusion */
    size_t fused;        /* of them, inside a fusion */
    double fusion_ratio, memory_ratio, arithmetic_ratio, fused_ratio, score; /* 0 to 1 */
    char advice[4][120];
    size_t nadvice;
} cbx_hlo_report;

/**
 * @param text  len bytes, with or without an end
 * @param what  names the text in messages
 * @param out   written on success only
 * @return CBX_OK; CBX_EFORMAT: not HLO (no module, no instruction, an instruction without an
 *   opcode: names the line); CBX_ENOMEM
 */
CBX_API cbx_status cbx_hlo_read(cbx_ctx *ctx, const char *text, size_t len, const char *what, cbx_hlo_report *out,
                                cbx_err *err);

CBX_END_DECLS
#endif
