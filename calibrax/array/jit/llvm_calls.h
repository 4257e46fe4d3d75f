/* Inside llvm*.c: the part of libLLVM 19's C interface that is used, declared here so that no
 * header of LLVM is needed to build, and filled on first use.
 *
 * Types and functions have the names of llvm-c/Core.h and TargetMachine.h; numbers of
 * enumerations are part of LLVM's stable C interface. */
#ifndef CALIBRAX_ARRAY_JIT_LLVM_CALLS_H
#define CALIBRAX_ARRAY_JIT_LLVM_CALLS_H

#include <stddef.h>
#include <stdint.h>

/* clang-format off */
#define LLVM_HANDLES(X) \
    X(Context) X(Module) X(Type) X(Value) X(BasicBlock) X(Builder) X(Metadata) X(Attribute) \
    X(MemoryBuffer) X(Target) X(TargetMachine) X(TargetData)
/* clang-format on */
#define LLVM_HANDLE(name) typedef struct LLVMOpaque##name *LLVM##name##Ref;
LLVM_HANDLES(LLVM_HANDLE)
#undef LLVM_HANDLE
#undef LLVM_HANDLES

/* Opcodes of instructions, and comparisons */
enum {
    LLVM_ADD = 8,
    LLVM_FADD,
    LLVM_SUB,
    LLVM_FSUB,
    LLVM_MUL,
    LLVM_FMUL,
    LLVM_UDIV,
    LLVM_SDIV,
    LLVM_FDIV,
    LLVM_UREM,
    LLVM_SHL = 20,
    LLVM_LSHR,
    LLVM_ASHR,
    LLVM_AND,
    LLVM_OR,
    LLVM_XOR,
    LLVM_TRUNC = 30,
    LLVM_ZEXT,
    LLVM_SEXT,
    LLVM_FPTOUI,
    LLVM_FPTOSI,
    LLVM_UITOFP,
    LLVM_SITOFP,
    LLVM_FPTRUNC,
    LLVM_FPEXT,
    LLVM_PTRTOINT,
    LLVM_BITCAST = 41
};
enum { LLVM_INT_EQ = 32, LLVM_INT_NE, LLVM_INT_UGT, LLVM_INT_UGE, LLVM_INT_ULT, LLVM_INT_ULE };
enum { LLVM_INT_SGT = 38, LLVM_INT_SGE, LLVM_INT_SLT, LLVM_INT_SLE };
enum { LLVM_REAL_OEQ = 1, LLVM_REAL_OGT, LLVM_REAL_OGE, LLVM_REAL_OLT, LLVM_REAL_OLE, LLVM_REAL_UNE = 14 };
enum { LLVM_INTERNAL_LINKAGE = 8 };
enum { LLVM_PTX_KERNEL = 71 }; /* a calling convention */
enum { LLVM_CODEGEN_LESS = 1 };
enum { LLVM_RELOC_DEFAULT, LLVM_RELOC_PIC = 2 };
enum { LLVM_CODE_MODEL_DEFAULT, LLVM_CODE_MODEL_SMALL = 3 };
enum { LLVM_ASSEMBLY_FILE, LLVM_OBJECT_FILE, LLVM_MODULE_TEXT /* not one of LLVM's */ };
#define LLVM_FUNCTION_INDEX (~0u)

/* name, LLVM... in the library; result, arguments */
#define LLVM_CALLS(X)                                                                                                  \
    X(GetVersion, void, (unsigned *, unsigned *, unsigned *))                                                          \
    X(ParseCommandLineOptions, void, (int, const char *const *, const char *))                                         \
    X(GetDefaultTargetTriple, char *, (void))                                                                          \
    X(GetHostCPUName, char *, (void))                                                                                  \
    X(GetHostCPUFeatures, char *, (void))                                                                              \
    X(GetTargetFromTriple, int, (const char *, LLVMTargetRef *, char **))                                              \
    X(CreateTargetMachine, LLVMTargetMachineRef,                                                                       \
      (LLVMTargetRef, const char *, const char *, const char *, int, int, int))                                        \
    X(DisposeTargetMachine, void, (LLVMTargetMachineRef))                                                              \
    X(CreateTargetDataLayout, LLVMTargetDataRef, (LLVMTargetMachineRef))                                               \
    X(DisposeTargetData, void, (LLVMTargetDataRef))                                                                    \
    X(SetModuleDataLayout, void, (LLVMModuleRef, LLVMTargetDataRef))                                                   \
    X(TargetMachineEmitToMemoryBuffer, int,                                                                            \
      (LLVMTargetMachineRef, LLVMModuleRef, int, char **, LLVMMemoryBufferRef *))                                      \
    X(GetBufferStart, const char *, (LLVMMemoryBufferRef))                                                             \
    X(GetBufferSize, size_t, (LLVMMemoryBufferRef))                                                                    \
    X(DisposeMemoryBuffer, void, (LLVMMemoryBufferRef))                                                                \
    X(DisposeMessage, void, (char *))                                                                                  \
    X(ContextCreate, LLVMContextRef, (void))                                                                           \
    X(ContextDispose, void, (LLVMContextRef))                                                                          \
    X(ModuleCreateWithNameInContext, LLVMModuleRef, (const char *, LLVMContextRef))                                    \
    X(DisposeModule, void, (LLVMModuleRef))                                                                            \
    X(SetTarget, void, (LLVMModuleRef, const char *))                                                                  \
    X(PrintModuleToString, char *, (LLVMModuleRef))                                                                    \
    X(CreateBuilderInContext, LLVMBuilderRef, (LLVMContextRef))                                                        \
    X(DisposeBuilder, void, (LLVMBuilderRef))                                                                          \
    X(PositionBuilderAtEnd, void, (LLVMBuilderRef, LLVMBasicBlockRef))                                                 \
    X(GetInsertBlock, LLVMBasicBlockRef, (LLVMBuilderRef))                                                             \
    X(AppendBasicBlockInContext, LLVMBasicBlockRef, (LLVMContextRef, LLVMValueRef, const char *))                      \
    X(IntTypeInContext, LLVMTypeRef, (LLVMContextRef, unsigned))                                                       \
    X(FloatTypeInContext, LLVMTypeRef, (LLVMContextRef))                                                               \
    X(DoubleTypeInContext, LLVMTypeRef, (LLVMContextRef))                                                              \
    X(VoidTypeInContext, LLVMTypeRef, (LLVMContextRef))                                                                \
    X(PointerTypeInContext, LLVMTypeRef, (LLVMContextRef, unsigned))                                                   \
    X(VectorType, LLVMTypeRef, (LLVMTypeRef, unsigned))                                                                \
    X(ArrayType2, LLVMTypeRef, (LLVMTypeRef, uint64_t))                                                                \
    X(FunctionType, LLVMTypeRef, (LLVMTypeRef, LLVMTypeRef *, unsigned, int))                                          \
    X(AddFunction, LLVMValueRef, (LLVMModuleRef, const char *, LLVMTypeRef))                                           \
    X(GetNamedFunction, LLVMValueRef, (LLVMModuleRef, const char *))                                                   \
    X(GetParam, LLVMValueRef, (LLVMValueRef, unsigned))                                                                \
    X(AddGlobal, LLVMValueRef, (LLVMModuleRef, LLVMTypeRef, const char *))                                             \
    X(SetInitializer, void, (LLVMValueRef, LLVMValueRef))                                                              \
    X(SetGlobalConstant, void, (LLVMValueRef, int))                                                                    \
    X(SetFunctionCallConv, void, (LLVMValueRef, unsigned))                                                             \
    X(SetLinkage, void, (LLVMValueRef, int))                                                                           \
    X(GetEnumAttributeKindForName, unsigned, (const char *, size_t))                                                   \
    X(CreateEnumAttribute, LLVMAttributeRef, (LLVMContextRef, unsigned, uint64_t))                                     \
    X(AddAttributeAtIndex, void, (LLVMValueRef, unsigned, LLVMAttributeRef))                                           \
    X(GetMDKindIDInContext, unsigned, (LLVMContextRef, const char *, unsigned))                                        \
    X(MDNodeInContext2, LLVMMetadataRef, (LLVMContextRef, LLVMMetadataRef *, size_t))                                  \
    X(MDStringInContext2, LLVMMetadataRef, (LLVMContextRef, const char *, size_t))                                     \
    X(ValueAsMetadata, LLVMMetadataRef, (LLVMValueRef))                                                                \
    X(MetadataAsValue, LLVMValueRef, (LLVMContextRef, LLVMMetadataRef))                                                \
    X(SetMetadata, void, (LLVMValueRef, unsigned, LLVMValueRef))                                                       \
    X(LookupIntrinsicID, unsigned, (const char *, size_t))                                                             \
    X(GetIntrinsicDeclaration, LLVMValueRef, (LLVMModuleRef, unsigned, LLVMTypeRef *, size_t))                         \
    X(GlobalGetValueType, LLVMTypeRef, (LLVMValueRef))                                                                 \
    X(ConstInt, LLVMValueRef, (LLVMTypeRef, unsigned long long, int))                                                  \
    X(ConstNull, LLVMValueRef, (LLVMTypeRef))                                                                          \
    X(ConstBitCast, LLVMValueRef, (LLVMValueRef, LLVMTypeRef))                                                         \
    X(ConstVector, LLVMValueRef, (LLVMValueRef *, unsigned))                                                           \
    X(ConstArray2, LLVMValueRef, (LLVMTypeRef, LLVMValueRef *, uint64_t))                                              \
    X(TypeOf, LLVMTypeRef, (LLVMValueRef))                                                                             \
    X(GetPoison, LLVMValueRef, (LLVMTypeRef))                                                                          \
    X(BuildBinOp, LLVMValueRef, (LLVMBuilderRef, int, LLVMValueRef, LLVMValueRef, const char *))                       \
    X(BuildFNeg, LLVMValueRef, (LLVMBuilderRef, LLVMValueRef, const char *))                                           \
    X(BuildNot, LLVMValueRef, (LLVMBuilderRef, LLVMValueRef, const char *))                                            \
    X(BuildCast, LLVMValueRef, (LLVMBuilderRef, int, LLVMValueRef, LLVMTypeRef, const char *))                         \
    X(BuildICmp, LLVMValueRef, (LLVMBuilderRef, int, LLVMValueRef, LLVMValueRef, const char *))                        \
    X(BuildFCmp, LLVMValueRef, (LLVMBuilderRef, int, LLVMValueRef, LLVMValueRef, const char *))                        \
    X(BuildSelect, LLVMValueRef, (LLVMBuilderRef, LLVMValueRef, LLVMValueRef, LLVMValueRef, const char *))             \
    X(BuildInsertElement, LLVMValueRef, (LLVMBuilderRef, LLVMValueRef, LLVMValueRef, LLVMValueRef, const char *))      \
    X(BuildExtractElement, LLVMValueRef, (LLVMBuilderRef, LLVMValueRef, LLVMValueRef, const char *))                   \
    X(BuildShuffleVector, LLVMValueRef, (LLVMBuilderRef, LLVMValueRef, LLVMValueRef, LLVMValueRef, const char *))      \
    X(BuildGEP2, LLVMValueRef, (LLVMBuilderRef, LLVMTypeRef, LLVMValueRef, LLVMValueRef *, unsigned, const char *))    \
    X(BuildAlloca, LLVMValueRef, (LLVMBuilderRef, LLVMTypeRef, const char *))                                          \
    X(BuildLoad2, LLVMValueRef, (LLVMBuilderRef, LLVMTypeRef, LLVMValueRef, const char *))                             \
    X(BuildStore, LLVMValueRef, (LLVMBuilderRef, LLVMValueRef, LLVMValueRef))                                          \
    X(SetAlignment, void, (LLVMValueRef, unsigned))                                                                    \
    X(BuildCall2, LLVMValueRef, (LLVMBuilderRef, LLVMTypeRef, LLVMValueRef, LLVMValueRef *, unsigned, const char *))   \
    X(BuildPhi, LLVMValueRef, (LLVMBuilderRef, LLVMTypeRef, const char *))                                             \
    X(AddIncoming, void, (LLVMValueRef, LLVMValueRef *, LLVMBasicBlockRef *, unsigned))                                \
    X(BuildBr, LLVMValueRef, (LLVMBuilderRef, LLVMBasicBlockRef))                                                      \
    X(BuildCondBr, LLVMValueRef, (LLVMBuilderRef, LLVMValueRef, LLVMBasicBlockRef, LLVMBasicBlockRef))                 \
    X(BuildRetVoid, LLVMValueRef, (LLVMBuilderRef))

typedef struct cbx__llvm_calls {
#define LLVM_MEMBER(name, result, args) result(*name) args;
    LLVM_CALLS(LLVM_MEMBER)
#undef LLVM_MEMBER
} cbx__llvm_calls;

#endif
