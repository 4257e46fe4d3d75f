/* Inside llvm*.c: the part of libLLVM 19's C interface that is used, declared here so that no header
 * of LLVM is needed to build, and filled on first use.
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

#if defined(__aarch64__)
#define LLVM_TARGET(part) "LLVMInitializeAArch64" part
#else
#define LLVM_TARGET(part) "LLVMInitializeX86" part
#endif

/* name here, symbol, result, arguments */
#define LLVM_CALLS(X)                                                                                                  \
    X(GetVersion, "LLVMGetVersion", void, (unsigned *, unsigned *, unsigned *))                                        \
    X(ParseCommandLineOptions, "LLVMParseCommandLineOptions", void, (int, const char *const *, const char *))          \
    X(InitializeTargetInfo, LLVM_TARGET("TargetInfo"), void, (void))                                                   \
    X(InitializeTarget, LLVM_TARGET("Target"), void, (void))                                                           \
    X(InitializeTargetMC, LLVM_TARGET("TargetMC"), void, (void))                                                       \
    X(InitializeAsmPrinter, LLVM_TARGET("AsmPrinter"), void, (void))                                                   \
    X(GetDefaultTargetTriple, "LLVMGetDefaultTargetTriple", char *, (void))                                            \
    X(GetHostCPUName, "LLVMGetHostCPUName", char *, (void))                                                            \
    X(GetHostCPUFeatures, "LLVMGetHostCPUFeatures", char *, (void))                                                    \
    X(GetTargetFromTriple, "LLVMGetTargetFromTriple", int, (const char *, LLVMTargetRef *, char **))                   \
    X(CreateTargetMachine, "LLVMCreateTargetMachine", LLVMTargetMachineRef,                                            \
      (LLVMTargetRef, const char *, const char *, const char *, int, int, int))                                        \
    X(DisposeTargetMachine, "LLVMDisposeTargetMachine", void, (LLVMTargetMachineRef))                                  \
    X(CreateTargetDataLayout, "LLVMCreateTargetDataLayout", LLVMTargetDataRef, (LLVMTargetMachineRef))                 \
    X(DisposeTargetData, "LLVMDisposeTargetData", void, (LLVMTargetDataRef))                                           \
    X(SetModuleDataLayout, "LLVMSetModuleDataLayout", void, (LLVMModuleRef, LLVMTargetDataRef))                        \
    X(TargetMachineEmitToMemoryBuffer, "LLVMTargetMachineEmitToMemoryBuffer", int,                                     \
      (LLVMTargetMachineRef, LLVMModuleRef, int, char **, LLVMMemoryBufferRef *))                                      \
    X(GetBufferStart, "LLVMGetBufferStart", const char *, (LLVMMemoryBufferRef))                                       \
    X(GetBufferSize, "LLVMGetBufferSize", size_t, (LLVMMemoryBufferRef))                                               \
    X(DisposeMemoryBuffer, "LLVMDisposeMemoryBuffer", void, (LLVMMemoryBufferRef))                                     \
    X(DisposeMessage, "LLVMDisposeMessage", void, (char *))                                                            \
    X(ContextCreate, "LLVMContextCreate", LLVMContextRef, (void))                                                      \
    X(ContextDispose, "LLVMContextDispose", void, (LLVMContextRef))                                                    \
    X(ModuleCreateWithNameInContext, "LLVMModuleCreateWithNameInContext", LLVMModuleRef,                               \
      (const char *, LLVMContextRef))                                                                                  \
    X(DisposeModule, "LLVMDisposeModule", void, (LLVMModuleRef))                                                       \
    X(SetTarget, "LLVMSetTarget", void, (LLVMModuleRef, const char *))                                                 \
    X(PrintModuleToString, "LLVMPrintModuleToString", char *, (LLVMModuleRef))                                         \
    X(CreateBuilderInContext, "LLVMCreateBuilderInContext", LLVMBuilderRef, (LLVMContextRef))                          \
    X(DisposeBuilder, "LLVMDisposeBuilder", void, (LLVMBuilderRef))                                                    \
    X(PositionBuilderAtEnd, "LLVMPositionBuilderAtEnd", void, (LLVMBuilderRef, LLVMBasicBlockRef))                     \
    X(GetInsertBlock, "LLVMGetInsertBlock", LLVMBasicBlockRef, (LLVMBuilderRef))                                       \
    X(AppendBasicBlockInContext, "LLVMAppendBasicBlockInContext", LLVMBasicBlockRef,                                   \
      (LLVMContextRef, LLVMValueRef, const char *))                                                                    \
    X(IntTypeInContext, "LLVMIntTypeInContext", LLVMTypeRef, (LLVMContextRef, unsigned))                               \
    X(FloatTypeInContext, "LLVMFloatTypeInContext", LLVMTypeRef, (LLVMContextRef))                                     \
    X(DoubleTypeInContext, "LLVMDoubleTypeInContext", LLVMTypeRef, (LLVMContextRef))                                   \
    X(VoidTypeInContext, "LLVMVoidTypeInContext", LLVMTypeRef, (LLVMContextRef))                                       \
    X(PointerTypeInContext, "LLVMPointerTypeInContext", LLVMTypeRef, (LLVMContextRef, unsigned))                       \
    X(VectorType, "LLVMVectorType", LLVMTypeRef, (LLVMTypeRef, unsigned))                                              \
    X(ArrayType2, "LLVMArrayType2", LLVMTypeRef, (LLVMTypeRef, uint64_t))                                              \
    X(FunctionType, "LLVMFunctionType", LLVMTypeRef, (LLVMTypeRef, LLVMTypeRef *, unsigned, int))                      \
    X(AddFunction, "LLVMAddFunction", LLVMValueRef, (LLVMModuleRef, const char *, LLVMTypeRef))                        \
    X(GetNamedFunction, "LLVMGetNamedFunction", LLVMValueRef, (LLVMModuleRef, const char *))                           \
    X(GetParam, "LLVMGetParam", LLVMValueRef, (LLVMValueRef, unsigned))                                                \
    X(AddGlobal, "LLVMAddGlobal", LLVMValueRef, (LLVMModuleRef, LLVMTypeRef, const char *))                            \
    X(SetInitializer, "LLVMSetInitializer", void, (LLVMValueRef, LLVMValueRef))                                        \
    X(SetGlobalConstant, "LLVMSetGlobalConstant", void, (LLVMValueRef, int))                                           \
    X(SetFunctionCallConv, "LLVMSetFunctionCallConv", void, (LLVMValueRef, unsigned))                                  \
    X(SetLinkage, "LLVMSetLinkage", void, (LLVMValueRef, int))                                                         \
    X(GetEnumAttributeKindForName, "LLVMGetEnumAttributeKindForName", unsigned, (const char *, size_t))                \
    X(CreateEnumAttribute, "LLVMCreateEnumAttribute", LLVMAttributeRef, (LLVMContextRef, unsigned, uint64_t))          \
    X(AddAttributeAtIndex, "LLVMAddAttributeAtIndex", void, (LLVMValueRef, unsigned, LLVMAttributeRef))                \
    X(GetMDKindIDInContext, "LLVMGetMDKindIDInContext", unsigned, (LLVMContextRef, const char *, unsigned))            \
    X(MDNodeInContext2, "LLVMMDNodeInContext2", LLVMMetadataRef, (LLVMContextRef, LLVMMetadataRef *, size_t))          \
    X(MDStringInContext2, "LLVMMDStringInContext2", LLVMMetadataRef, (LLVMContextRef, const char *, size_t))           \
    X(ValueAsMetadata, "LLVMValueAsMetadata", LLVMMetadataRef, (LLVMValueRef))                                         \
    X(MetadataAsValue, "LLVMMetadataAsValue", LLVMValueRef, (LLVMContextRef, LLVMMetadataRef))                         \
    X(SetMetadata, "LLVMSetMetadata", void, (LLVMValueRef, unsigned, LLVMValueRef))                                    \
    X(LookupIntrinsicID, "LLVMLookupIntrinsicID", unsigned, (const char *, size_t))                                    \
    X(GetIntrinsicDeclaration, "LLVMGetIntrinsicDeclaration", LLVMValueRef,                                            \
      (LLVMModuleRef, unsigned, LLVMTypeRef *, size_t))                                                                \
    X(GlobalGetValueType, "LLVMGlobalGetValueType", LLVMTypeRef, (LLVMValueRef))                                       \
    X(ConstInt, "LLVMConstInt", LLVMValueRef, (LLVMTypeRef, unsigned long long, int))                                  \
    X(ConstNull, "LLVMConstNull", LLVMValueRef, (LLVMTypeRef))                                                         \
    X(ConstBitCast, "LLVMConstBitCast", LLVMValueRef, (LLVMValueRef, LLVMTypeRef))                                     \
    X(ConstVector, "LLVMConstVector", LLVMValueRef, (LLVMValueRef *, unsigned))                                        \
    X(ConstArray2, "LLVMConstArray2", LLVMValueRef, (LLVMTypeRef, LLVMValueRef *, uint64_t))                           \
    X(TypeOf, "LLVMTypeOf", LLVMTypeRef, (LLVMValueRef))                                                               \
    X(GetPoison, "LLVMGetPoison", LLVMValueRef, (LLVMTypeRef))                                                         \
    X(BuildBinOp, "LLVMBuildBinOp", LLVMValueRef, (LLVMBuilderRef, int, LLVMValueRef, LLVMValueRef, const char *))     \
    X(BuildFNeg, "LLVMBuildFNeg", LLVMValueRef, (LLVMBuilderRef, LLVMValueRef, const char *))                          \
    X(BuildNot, "LLVMBuildNot", LLVMValueRef, (LLVMBuilderRef, LLVMValueRef, const char *))                            \
    X(BuildCast, "LLVMBuildCast", LLVMValueRef, (LLVMBuilderRef, int, LLVMValueRef, LLVMTypeRef, const char *))        \
    X(BuildICmp, "LLVMBuildICmp", LLVMValueRef, (LLVMBuilderRef, int, LLVMValueRef, LLVMValueRef, const char *))       \
    X(BuildFCmp, "LLVMBuildFCmp", LLVMValueRef, (LLVMBuilderRef, int, LLVMValueRef, LLVMValueRef, const char *))       \
    X(BuildSelect, "LLVMBuildSelect", LLVMValueRef,                                                                    \
      (LLVMBuilderRef, LLVMValueRef, LLVMValueRef, LLVMValueRef, const char *))                                        \
    X(BuildInsertElement, "LLVMBuildInsertElement", LLVMValueRef,                                                      \
      (LLVMBuilderRef, LLVMValueRef, LLVMValueRef, LLVMValueRef, const char *))                                        \
    X(BuildExtractElement, "LLVMBuildExtractElement", LLVMValueRef,                                                    \
      (LLVMBuilderRef, LLVMValueRef, LLVMValueRef, const char *))                                                      \
    X(BuildShuffleVector, "LLVMBuildShuffleVector", LLVMValueRef,                                                      \
      (LLVMBuilderRef, LLVMValueRef, LLVMValueRef, LLVMValueRef, const char *))                                        \
    X(BuildGEP2, "LLVMBuildGEP2", LLVMValueRef,                                                                        \
      (LLVMBuilderRef, LLVMTypeRef, LLVMValueRef, LLVMValueRef *, unsigned, const char *))                             \
    X(BuildAlloca, "LLVMBuildAlloca", LLVMValueRef, (LLVMBuilderRef, LLVMTypeRef, const char *))                       \
    X(BuildLoad2, "LLVMBuildLoad2", LLVMValueRef, (LLVMBuilderRef, LLVMTypeRef, LLVMValueRef, const char *))           \
    X(BuildStore, "LLVMBuildStore", LLVMValueRef, (LLVMBuilderRef, LLVMValueRef, LLVMValueRef))                        \
    X(SetAlignment, "LLVMSetAlignment", void, (LLVMValueRef, unsigned))                                                \
    X(BuildCall2, "LLVMBuildCall2", LLVMValueRef,                                                                      \
      (LLVMBuilderRef, LLVMTypeRef, LLVMValueRef, LLVMValueRef *, unsigned, const char *))                             \
    X(BuildPhi, "LLVMBuildPhi", LLVMValueRef, (LLVMBuilderRef, LLVMTypeRef, const char *))                             \
    X(AddIncoming, "LLVMAddIncoming", void, (LLVMValueRef, LLVMValueRef *, LLVMBasicBlockRef *, unsigned))             \
    X(BuildBr, "LLVMBuildBr", LLVMValueRef, (LLVMBuilderRef, LLVMBasicBlockRef))                                       \
    X(BuildCondBr, "LLVMBuildCondBr", LLVMValueRef,                                                                    \
      (LLVMBuilderRef, LLVMValueRef, LLVMBasicBlockRef, LLVMBasicBlockRef))                                            \
    X(BuildRetVoid, "LLVMBuildRetVoid", LLVMValueRef, (LLVMBuilderRef))

typedef struct cbx__llvm_calls {
#define LLVM_MEMBER(name, symbol, result, args) result(*name) args;
    LLVM_CALLS(LLVM_MEMBER)
#undef LLVM_MEMBER
} cbx__llvm_calls;

#endif
