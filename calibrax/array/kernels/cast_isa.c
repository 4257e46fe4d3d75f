/* Conversions between all dtypes; built for each instruction set.
 *
 * Integers wrap; floats go towards zero and are clamped, NaN becomes 0; bool is "not zero", NaN is
 * true. */
#include "calibrax/array/kernels/isa_name.h"
#include "calibrax/array/kernels/loops.h"
#include "calibrax/array/kernels/scalar.h"

/* The range of an integer type. */
#define MIN_OF(T) ((T)-1 > 1 ? 0 : (T)(INT64_MIN >> (64 - 8 * sizeof(T))))
#define MAX_OF(T) ((T)-1 > 1 ? (T)-1 : (T)(INT64_MAX >> (64 - 8 * sizeof(T))))

/* The inner lists have names of their own, as a macro does not expand within itself. */
#define TO_INTS(X, F, FT)                                                                                              \
    X(I8, int8_t, F, FT)                                                                                               \
    X(I16, int16_t, F, FT)                                                                                             \
    X(I32, int32_t, F, FT)                                                                                             \
    X(I64, int64_t, F, FT)                                                                                             \
    X(U8, uint8_t, F, FT)                                                                                              \
    X(U16, uint16_t, F, FT)                                                                                            \
    X(U32, uint32_t, F, FT)                                                                                            \
    X(U64, uint64_t, F, FT)
#define TO_FLOATS(X, F, FT)    X(F32, float, F, FT) X(F64, double, F, FT)
#define TO_COMPLEXES(X, F, FT) X(C64, cbx__c64, F, FT) X(C128, cbx__c128, F, FT)

#define PLAIN(D, T, F, FT)   CBX__LOOP1(F##_to_##D, T, FT, x)
#define CLAMPED(D, T, F, FT) CBX__LOOP1(F##_to_##D, T, FT, CBX__TRUNCATE(T, MIN_OF(T), MAX_OF(T), x))
#define TRUTH(F, FT)         CBX__LOOP1(F##_to_BOOL, bool, FT, x != 0)

#define FROM_INT(F, FT, a)     TRUTH(F, FT) TO_INTS(PLAIN, F, FT) TO_FLOATS(PLAIN, F, FT) TO_COMPLEXES(PLAIN, F, FT)
#define FROM_FLOAT(F, FT, a)   TRUTH(F, FT) TO_INTS(CLAMPED, F, FT) TO_FLOATS(PLAIN, F, FT) TO_COMPLEXES(PLAIN, F, FT)
#define FROM_COMPLEX(F, FT, a) TRUTH(F, FT) TO_COMPLEXES(PLAIN, F, FT)
FROM_INT(BOOL, bool, )
CBX__INTS(FROM_INT, )
CBX__FLOATS(FROM_FLOAT, )
CBX__COMPLEXES(FROM_COMPLEX, )

#define ENTRY(D, T, F, FT) [CBX_##D] = F##_to_##D,
#define ROW(F, FT, a)                                                                                                  \
    [CBX_##F] = { [CBX_BOOL] = F##_to_BOOL, TO_INTS(ENTRY, F, FT) TO_FLOATS(ENTRY, F, FT) TO_COMPLEXES(ENTRY, F, FT) },
#define COMPLEX_ROW(F, FT, a) [CBX_##F] = { [CBX_BOOL] = F##_to_BOOL, TO_COMPLEXES(ENTRY, F, FT) },
static const cbx__loop table[CBX_DTYPE_COUNT][CBX_DTYPE_COUNT] = { ROW(BOOL, bool, ) CBX__INTS(ROW, ) CBX__FLOATS(ROW, )
                                                                       CBX__COMPLEXES(COMPLEX_ROW, ) };

cbx__loop PASTE(cbx__cast_, ISA_NAME)(cbx_dtype from, cbx_dtype to) { return table[from][to]; }
