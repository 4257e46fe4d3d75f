/* Inside llvm*.c: LLVM as it is loaded once a process, and modules made of kernels. */
#ifndef CALIBRAX_ARRAY_JIT_LLVM_H
#define CALIBRAX_ARRAY_JIT_LLVM_H

#include "calibrax/array/jit/emitter.h"
#include "calibrax/array/jit/llvm_calls.h"
#include "calibrax/base/cpu.h"

/* Code for an instruction set. */
typedef struct cbx__llvm_target {
    LLVMTargetMachineRef machine; /* NULL: not used yet */
    LLVMTargetDataRef layout;
    const char *triple;
    char *cpu, *features;
    unsigned vector_bytes, registers; /* of a vector register, and how many there are */
    bool masks;                       /* loads and stores of some lanes are fast */
    bool fma;                         /* an instruction; else formulas are slower than loops */
    bool fence;                       /* stores past the caches end with one */
} cbx__llvm_target;

/* Other machines than this one. */
typedef enum cbx__llvm_machine {
    CBX__LLVM_PTX,   /* NVIDIA's GPUs of capability 8.0 and later */
    CBX__LLVM_ARM64, /* 64-bit ARM with NEON, the least that there is */
    CBX__LLVM_MACHINES,
    CBX__LLVM_HOST = CBX__LLVM_MACHINES
} cbx__llvm_machine;

typedef struct cbx__llvm {
    cbx__llvm_calls c;
    unsigned version[3];
    char *triple;
    cbx__llvm_target targets[CBX_ISA_COUNT];
    cbx__llvm_target others[CBX__LLVM_MACHINES];
    bool ready;
} cbx__llvm;

/**
 * Loads LLVM at the first call, and locks it: one thread at a time compiles.
 * @param out  until cbx__llvm_leave
 * @return CBX_OK; CBX_EUNAVAILABLE (no library, or another version than 19); CBX_ENOMEM
 */
cbx_status cbx__llvm_enter(cbx_ctx *ctx, cbx__llvm **out, cbx_err *err);
void cbx__llvm_leave(void);

/* With LLVM locked: */

/** The target of an instruction set that this machine runs. */
cbx_status cbx__llvm_target_get(cbx__llvm *l, cbx_isa isa, const cbx__llvm_target **out, cbx_err *err);
/** That of another machine.  @return CBX_OK; CBX_EUNAVAILABLE (this LLVM does not have it);
 * CBX_ENOMEM */
cbx_status cbx__llvm_target_other(cbx_ctx *ctx, cbx__llvm *l, cbx__llvm_machine machine, const cbx__llvm_target **out,
                                  cbx_err *err);
/** A module as an object or as assembly: kind LLVM_OBJECT_FILE, LLVM_ASSEMBLY_FILE. */
cbx_status cbx__llvm_emit(const cbx__llvm *l, const cbx__llvm_target *t, LLVMModuleRef module, int kind,
                          LLVMMemoryBufferRef *out, cbx_err *err);
/** Name of the loop of a primitive in objects; returns buf. */
const char *cbx__llvm_loop_name(char buf[32], cbx_prim p, cbx_dtype t);
/** The loop that MATH of a primitive runs; NULL: it has none for operands of this dtype. */
void (*cbx__llvm_loop(cbx_prim p, cbx_dtype t))(size_t, char *const *, const ptrdiff_t *);

/** Adds all of a kernel that code depends on to a key. */
void cbx__llvm_put_kernel(cbx_text *t, const cbx__kernel *k);

/** Of a function that objects call by name; 0: unknown.  Needs no lock, and no LLVM. */
uint64_t cbx__llvm_address(const char *symbol);

/**
 * A module with a function for each kernel, and a table of them under the name `table`.
 * @param out_context  with the module in it; the caller disposes of both, on success only
 * @return CBX_OK; CBX_EUNSUPPORTED: a primitive that has no loop; CBX_ENOMEM
 */
cbx_status cbx__llvm_module(cbx_ctx *ctx, const cbx__llvm *l, const cbx__llvm_target *t, const char *table, size_t n,
                            const cbx__kernel *const *kernels, LLVMContextRef *out_context, LLVMModuleRef *out,
                            cbx_err *err);

/**
 * Kernels of a machine as text: an object (LLVM_OBJECT_FILE) with a table under the name `symbol`,
 * assembly (LLVM_ASSEMBLY_FILE), or the module (LLVM_MODULE_TEXT).  Takes LLVM's lock.
 * @param isa  of CBX__LLVM_HOST
 */
cbx_status cbx__llvm_image(cbx_ctx *ctx, cbx__llvm_machine machine, cbx_isa isa, const char *symbol, size_t n,
                           const cbx__kernel *const *kernels, int kind, cbx_text *out, cbx_err *err);

/** What is made of kernels for this machine, to read: LLVM_MODULE_TEXT, LLVM_ASSEMBLY_FILE. */
cbx_status cbx__llvm_text(cbx_ctx *ctx, int kind, size_t n, const cbx__kernel *const *kernels, cbx_text *out,
                          cbx_err *err);

/** As cbx__emitter_llvm.compile, for an instruction set that this machine runs; CBX_EINTERRUPTED:
 * as cbx_ctx_set_stop. */
cbx_status cbx__llvm_compile(cbx_ctx *ctx, cbx_isa isa, size_t n, const cbx__kernel *const *kernels, cbx__code **out,
                             cbx_err *err);

#endif
