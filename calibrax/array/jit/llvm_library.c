/*
 * LLVM 19 in this process: loading it, its targets, and what compiled code calls.
 *
 * The machine scheduler is switched off: it undoes the interleaving of independent lanes that the
 * modules have by their order, and a chain of 100 operations takes twice the time with it.  Passes
 * that look for what is the same in all iterations, for common subexpressions and for shorter live
 * ranges are off because modules leave them nothing to find: without them compiling takes two thirds
 * of the time, and the code is as fast (AVX2 and AVX-512 on Zen 5).
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/jit/llvm.h"
#include "calibrax/array/kernels/loops.h"
#include "calibrax/base/library.h"

#define VERSION 19

/* Kept until the process ends: LLVM's own state is one a process, too. */
static cbx__llvm shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

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
#define LLVM_SYMBOL(name, symbol, result, args) { symbol, (void **)(void *)&l->c.name },
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
    l->c.InitializeTargetInfo();
    l->c.InitializeTarget();
    l->c.InitializeTargetMC();
    l->c.InitializeAsmPrinter();
    l->triple = l->c.GetDefaultTargetTriple();
    l->ready = true;
    return CBX_OK;
}

cbx_status cbx__llvm_enter(cbx_ctx *ctx, cbx__llvm **out, cbx_err *err)
{
    cbx_status st = CBX_OK;

    pthread_mutex_lock(&lock);
    if (!shared.ready) st = open_library(ctx, &shared, err);
    if (st)
        pthread_mutex_unlock(&lock);
    else
        *out = &shared;
    return st;
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

cbx_status cbx__llvm_target_get(cbx__llvm *l, cbx_isa isa, const cbx__llvm_target **out, cbx_err *err)
{
    cbx__llvm_target *t = &l->targets[isa];
    LLVMTargetRef target = NULL;
    char *why = NULL;

    if (!t->machine) {
        if (l->c.GetTargetFromTriple(l->triple, &target, &why)) {
            cbx_status st = cbx_fail(err, CBX_EUNAVAILABLE, "LLVM has no target '%s': %s", l->triple, why);
            l->c.DisposeMessage(why);
            return st;
        }
        const bool host = !sets[isa].cpu || isa == cbx_isa_of_cpu();
        t->cpu = host ? l->c.GetHostCPUName() : (char *)sets[isa].cpu;
        t->features = host ? l->c.GetHostCPUFeatures() : "";
        t->vector_bytes = sets[isa].vector_bytes;
        t->registers = sets[isa].registers;
        t->masks = sets[isa].masks;
        t->fma = sets[isa].fma;
        t->machine = l->c.CreateTargetMachine(target, l->triple, t->cpu, t->features, LLVM_CODEGEN_LESS, LLVM_RELOC_PIC,
                                              LLVM_CODE_MODEL_SMALL);
        t->layout = l->c.CreateTargetDataLayout(t->machine);
    }
    *out = t;
    return CBX_OK;
}

cbx_status cbx__llvm_target_ptx(cbx_ctx *ctx, cbx__llvm *l, const cbx__llvm_target **out, cbx_err *err)
{
    struct {
        void (*InitializeTargetInfo)(void), (*InitializeTarget)(void), (*InitializeTargetMC)(void),
            (*InitializeAsmPrinter)(void);
    } start;
    const cbx_library_symbol symbols[] = {
#define PTX_SYMBOL(name, symbol) { symbol, (void **)(void *)&start.name },
        LLVM_PTX_CALLS(PTX_SYMBOL)
#undef PTX_SYMBOL
    };
    cbx__llvm_target *t = &l->ptx;
    cbx_library *lib = NULL;
    LLVMTargetRef target = NULL;
    char *why = NULL;
    cbx_status st;

    if (!t->machine) {
        st = cbx_library_open_known(ctx, CBX_LIBRARY_LLVM, getenv("CALIBRAX_LLVM"), symbols, CBX_LEN(symbols), &lib,
                                    err);
        if (st) return st;
        cbx_library_close(lib);
        start.InitializeTargetInfo();
        start.InitializeTarget();
        start.InitializeTargetMC();
        start.InitializeAsmPrinter();
        if (l->c.GetTargetFromTriple(CBX__PTX_TRIPLE, &target, &why)) {
            st = cbx_fail(err, CBX_EUNAVAILABLE, "LLVM has no target '%s': %s", CBX__PTX_TRIPLE, why);
            l->c.DisposeMessage(why);
            return st;
        }
        t->cpu = "sm_80";
        t->features = "+ptx70";
        t->fma = true;
        t->machine = l->c.CreateTargetMachine(target, CBX__PTX_TRIPLE, t->cpu, t->features, LLVM_CODEGEN_LESS,
                                              LLVM_RELOC_DEFAULT, LLVM_CODE_MODEL_DEFAULT);
        t->layout = l->c.CreateTargetDataLayout(t->machine);
    }
    *out = t;
    return CBX_OK;
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
