/*
 * LLVM 19 in this process: loading it, its targets, and what compiled code calls.
 *
 * The machine scheduler is switched off: it undoes the interleaving of independent lanes that the
 * modules have by their order, and a chain of 100 operations takes twice the time with it.  Passes
 * that look for what is the same in all iterations, for common subexpressions and for shorter live
 * ranges are off because modules leave them nothing to find: without them compiling takes two
 * thirds of the time, and the code is as fast (AVX2 and AVX-512 on Zen 5).
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/doctor.h"
#include "calibrax/array/jit/llvm.h"
#include "calibrax/array/kernels/loops.h"
#include "calibrax/base/library.h"

#define VERSION 19

/* Kept until the process ends: LLVM's own state is one a process, too. */
static cbx__llvm shared;
static cbx_err missing; /* why it could not be loaded the last time */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#if defined(__aarch64__)
#define HOST "AArch64"
#else
#define HOST "X86"
#endif

/* By its name in those of LLVM's functions. */
static cbx_status start_target(cbx_ctx *ctx, const char *target, cbx_err *err)
{
    static const char *const parts[] = { "TargetInfo", "Target", "TargetMC", "AsmPrinter" };
    void (*start[CBX_LEN(parts)])(void);
    char names[CBX_LEN(parts)][48];
    cbx_library_symbol symbols[CBX_LEN(parts)];
    cbx_library *lib = NULL;
    cbx_status st;

    for (size_t i = 0; i < CBX_LEN(parts); i++) {
        snprintf(names[i], sizeof names[i], "LLVMInitialize%s%s", target, parts[i]);
        symbols[i] = (cbx_library_symbol){ names[i], (void **)(void *)&start[i] };
    }
    st = cbx_library_open_known(ctx, CBX_LIBRARY_LLVM, getenv("CALIBRAX_LLVM"), symbols, CBX_LEN(symbols), &lib, err);
    if (st) return st;
    for (size_t i = 0; i < CBX_LEN(parts); i++) start[i]();
    cbx_library_close(lib); /* which does not unmap it */
    return CBX_OK;
}

static cbx_status open_library(cbx_ctx *ctx, cbx__llvm *l, cbx_err *err)
{
    static const char *const options[] = {
        "calibrax",
        "-enable-misched=false",
        "-disable-lsr",
        "-disable-machine-licm",
        "-disable-postra-machine-licm",
        "-disable-machine-sink",
        "-disable-machine-cse",
    };
    const cbx_library_symbol symbols[] = {
#define LLVM_SYMBOL(name, result, args) { "LLVM" #name, (void **)(void *)&l->c.name },
        LLVM_CALLS(LLVM_SYMBOL)
#undef LLVM_SYMBOL
    };
    cbx_library *lib = NULL;
    cbx_status st = cbx_library_open_known(ctx, CBX_LIBRARY_LLVM, getenv("CALIBRAX_LLVM"), symbols, CBX_LEN(symbols),
                                           &lib, err);

    if (st) return st;
    l->c.GetVersion(&l->version[0], &l->version[1], &l->version[2]);
    if (l->version[0] != VERSION)
        st = cbx_fail(err, CBX_EUNAVAILABLE, "'%s' is LLVM %u, and %d is needed: run 'apt-get install libllvm19'",
                      cbx_library_name(lib), l->version[0], VERSION);
    cbx_library_close(lib); /* which does not unmap it */
    if (st) return st;
    l->c.ParseCommandLineOptions((int)CBX_LEN(options), options, NULL);
    st = start_target(ctx, HOST, err);
    if (st) return st;
    l->triple = l->c.GetDefaultTargetTriple();
    l->ready = true;
    return CBX_OK;
}

cbx_status cbx__llvm_enter(cbx_ctx *ctx, cbx__llvm **out, cbx_err *err)
{
    cbx_err why = CBX_ERR_INIT;

    pthread_mutex_lock(&lock);
    if (!shared.ready) (void)open_library(ctx, &shared, &why);
    missing = why;
    if (!why.status) return *out = &shared, CBX_OK;
    pthread_mutex_unlock(&lock);
    return cbx_fail(err, why.status, "%s", why.message);
}

cbx_status cbx_jit_check(cbx_err *err)
{
    pthread_mutex_lock(&lock);
    const cbx_err why = missing;
    pthread_mutex_unlock(&lock);
    return why.status ? cbx_fail(err, why.status, "%s", why.message) : CBX_OK;
}

void cbx__llvm_leave(void) { pthread_mutex_unlock(&lock); }

/* A CPU's name for LLVM; NULL: this machine's, with all that it can do. */
static const struct {
    const char *cpu;
    unsigned vector_bytes, registers;
    bool masks, fma;
} sets[CBX_ISA_COUNT] = {
#if defined(__aarch64__)
    [CBX_ISA_PLAIN] = { NULL, 16, 32, false, true },
#else
    [CBX_ISA_PLAIN] = { "x86-64", 16, 16, false, false },
#endif
    [CBX_ISA_AVX2] = { "x86-64-v3", 32, 16, false, true },
    [CBX_ISA_AVX512] = { NULL, 64, 32, true, true },
};

static cbx_status create_target(const cbx__llvm *l, cbx__llvm_target *t, int relocation, int model, cbx_err *err)
{
    LLVMTargetRef target = NULL;
    char *why = NULL;

    if (l->c.GetTargetFromTriple(t->triple, &target, &why)) {
        cbx_status st = cbx_fail(err, CBX_EUNAVAILABLE, "LLVM has no target '%s': %s", t->triple, why);
        l->c.DisposeMessage(why);
        return st;
    }
    t->machine = l->c.CreateTargetMachine(target, t->triple, t->cpu, t->features, LLVM_CODEGEN_LESS, relocation, model);
    t->layout = l->c.CreateTargetDataLayout(t->machine);
    return CBX_OK;
}

cbx_status cbx__llvm_target_get(cbx__llvm *l, cbx_isa isa, const cbx__llvm_target **out, cbx_err *err)
{
    cbx__llvm_target *t = &l->targets[isa];
    const bool host = !sets[isa].cpu || isa == cbx_isa_of_cpu();

    *out = t;
    if (t->machine) return CBX_OK;
    t->triple = l->triple;
    t->cpu = host ? l->c.GetHostCPUName() : (char *)sets[isa].cpu;
    t->features = host ? l->c.GetHostCPUFeatures() : "";
    t->vector_bytes = sets[isa].vector_bytes;
    t->registers = sets[isa].registers;
    t->masks = sets[isa].masks;
    t->fma = sets[isa].fma;
#if defined(__x86_64__)
    t->fence = true;
#endif
    return create_target(l, t, LLVM_RELOC_PIC, LLVM_CODE_MODEL_SMALL, err);
}

cbx_status cbx__llvm_target_other(cbx_ctx *ctx, cbx__llvm *l, cbx__llvm_machine machine, const cbx__llvm_target **out,
                                  cbx_err *err)
{
    static const struct {
        const char *name; /* in the names of LLVM's functions */
        cbx__llvm_target target;
        int relocation, model;
    } known[CBX__LLVM_MACHINES] = {
        [CBX__LLVM_PTX] = { "NVPTX",
                            { .triple = "nvptx64-nvidia-cuda", .cpu = "sm_80", .features = "+ptx70", .fma = true },
                            LLVM_RELOC_DEFAULT,
                            LLVM_CODE_MODEL_DEFAULT },
        [CBX__LLVM_ARM64] = { "AArch64",
                              { .triple = "aarch64-unknown-linux-gnu",
                                .cpu = "generic",
                                .features = "+neon",
                                .vector_bytes = 16,
                                .registers = 32,
                                .fma = true },
                              LLVM_RELOC_PIC,
                              LLVM_CODE_MODEL_SMALL },
    };
    cbx__llvm_target *t = &l->others[machine];
    cbx_status st;

    *out = t;
    if (t->machine) return CBX_OK;
    st = start_target(ctx, known[machine].name, err);
    if (st) return st;
    *t = known[machine].target;
    return create_target(l, t, known[machine].relocation, known[machine].model, err);
}

cbx_status cbx__llvm_emit(const cbx__llvm *l, const cbx__llvm_target *t, LLVMModuleRef module, int kind,
                          LLVMMemoryBufferRef *out, cbx_err *err)
{
    char *why = NULL;
    cbx_status st;

    if (!l->c.TargetMachineEmitToMemoryBuffer(t->machine, module, kind, &why, out)) return CBX_OK;
    st = cbx_fail(err, CBX_EINTERNAL, "LLVM cannot compile a kernel: %.300s", why);
    l->c.DisposeMessage(why);
    return st;
}

/* ---- what objects call ---- */

cbx__loop cbx__llvm_loop(cbx_prim p, cbx_dtype t)
{
    const cbx_prim_info *info = cbx_prim_get_info(p);
    const cbx__loops *loops = cbx__loops_get();
    const size_t operands = info ? strlen(info->operands) : 0;

    return operands == 1 ? loops->unary(p, t) : operands == 2 ? loops->binary(p, t) : NULL;
}

const char *cbx__llvm_loop_name(char buf[32], cbx_prim p, cbx_dtype t)
{
    snprintf(buf, 32, "cbx_loop_%d_%s", (int)p, cbx_dtype_name(t));
    return buf;
}

/* Functions of the C library that LLVM calls where the instruction set has no instruction. */
#define LIBM_1(X) X(floor) X(ceil) X(rint) X(trunc)
#define LIBM(name)                                                                                                     \
    { #name, (uint64_t)(uintptr_t)(double (*)(double))name },                                                          \
        { #name "f", (uint64_t)(uintptr_t)(float (*)(float))name##f },

uint64_t cbx__llvm_address(const char *symbol)
{
    static const struct {
        const char *name;
        uint64_t address;
    } libm[] = { LIBM_1(LIBM){ "fma", (uint64_t)(uintptr_t)(double (*)(double, double, double))fma },
                 { "fmaf", (uint64_t)(uintptr_t)(float (*)(float, float, float))fmaf } };
    char dtype[24], name[32];
    cbx_dtype t;
    int prim;

    for (size_t i = 0; i < CBX_LEN(libm); i++)
        if (strcmp(symbol, libm[i].name) == 0) return libm[i].address;
    if (sscanf(symbol, "cbx_loop_%3d_%23s", &prim, dtype) != 2 || cbx_dtype_parse(dtype, &t, NULL)) return 0;
    if (strcmp(symbol, cbx__llvm_loop_name(name, (cbx_prim)prim, t)) != 0) return 0;
    return (uint64_t)(uintptr_t)cbx__llvm_loop((cbx_prim)prim, t);
}
