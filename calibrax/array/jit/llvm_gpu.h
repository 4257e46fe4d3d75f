/* Inside llvm_gpu*.c: the function of a GPU that is being made, its places, and what its folds are
 * made of. */
#ifndef CALIBRAX_ARRAY_JIT_LLVM_GPU_H
#define CALIBRAX_ARRAY_JIT_LLVM_GPU_H

#include "calibrax/array/jit/gpu_code.h"
#include "calibrax/array/jit/llvm_emit.h"

enum { SUMS = CBX__GPU_LANES, FUNCTIONS = 3 };

/* The function that is being made. */
typedef struct gpu_function {
    llvm_emission e; /* first: of its kernel */
    bool host;
    const cbx__nest *nest;
    cbx__gpu_tree tree;
    LLVMValueRef thread, *parameters;
    LLVMValueRef gap; /* join: from one node to the next */
    LLVMValueRef *values;
    LLVMTypeRef pointer; /* to memory of the device */
    LLVMBasicBlockRef exit;
} gpu_function;

/* llvm_gpu.c */

/** Opens a function whose threads from `threads` on (NULL: of join) do nothing; the builder is in
 * the first block of the others. */
void cbx__gpu_emit_open_function(gpu_function *g, const char *kind, size_t number, LLVMValueRef threads);
/** How many groups of nodes join_I joins. */
LLVMValueRef cbx__gpu_emit_groups_of(const gpu_function *g);
/** An operation on unsigned numbers; narrow: they are below 2^32. */
LLVMValueRef cbx__gpu_emit_unsigned_op(const gpu_function *g, int op, LLVMValueRef a, size_t b, bool narrow);
/** Index of point `at` along each of the folded or kept dimensions; at is below `count`. */
void cbx__gpu_emit_indices_of(const gpu_function *g, LLVMValueRef at, size_t count, bool gone, LLVMValueRef *index);
/** Bytes, or of a count its numbers, that a stream or result moves by the indices. */
LLVMValueRef cbx__gpu_emit_moved_by(const gpu_function *g, const cbx__site *site, bool gone, LLVMValueRef *index);
/** Streams to point `at` of the folded or kept dimensions, from where they are in from[]. */
void cbx__gpu_emit_move_streams(gpu_function *g, LLVMValueRef at, bool gone, const LLVMValueRef *from);
/** Where streams begin: of a count its first number. */
void cbx__gpu_emit_first_places(const gpu_function *g, LLVMValueRef *first);
/** All that is computed of the element where the streams are, and stored there. */
void cbx__gpu_emit_element(gpu_function *g);

/* llvm_gpu_folds.c */

/** The functions of a nest with folds. */
void cbx__gpu_emit_folds(gpu_function *g, size_t number, LLVMValueRef *functions);
/** Of two extremes of floats, whether the first is taken. */
LLVMValueRef cbx__gpu_emit_keeps_first(const gpu_function *g, const cbx__nest_fold *f, LLVMValueRef t, LLVMValueRef x);
/** As cbx__fold_joined; of sums in the tree the sum. */
LLVMValueRef cbx__gpu_emit_joined(const gpu_function *g, const cbx__nest_fold *f, LLVMValueRef t, LLVMValueRef x);
/** A number that changes nothing it is joined with. */
LLVMValueRef cbx__gpu_emit_identity(const gpu_function *g, const cbx__nest_fold *f);
/** Numbers of folds as 64 bits. */
LLVMValueRef cbx__gpu_emit_to_bits(const gpu_function *g, cbx_dtype t, LLVMValueRef v);
LLVMValueRef cbx__gpu_emit_from_bits(const gpu_function *g, cbx_dtype t, LLVMValueRef v);
/** The number of a fold of a leaf. */
void cbx__gpu_emit_store_leaf(const gpu_function *g, size_t fold, LLVMValueRef leaf, LLVMValueRef v);

/* llvm_gpu_lanes.c */

/** The elements pos .. pos + count - 1 of a result, by 8 threads, each fold's number to
 * leaf `leaf`. */
void cbx__gpu_emit_fold_lanes(gpu_function *g, LLVMValueRef pos, LLVMValueRef count, LLVMValueRef leaf,
                              const LLVMValueRef *base);

#endif
