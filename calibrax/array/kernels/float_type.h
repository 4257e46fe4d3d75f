/* What depends on a float type, for code that is included once for each: SFX is f32 or f64 then. */
#ifndef CALIBRAX_ARRAY_KERNELS_FLOAT_TYPE_H
#define CALIBRAX_ARRAY_KERNELS_FLOAT_TYPE_H

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)
#define OF_f32(f, d) f
#define OF_f64(f, d) d
#define OF(f, d)     PASTE(OF_, SFX)(f, d)
#define NAME(x)      PASTE(PASTE(x, _), SFX)

#define T        OF(float, double)
#define TI       OF(int32_t, int64_t)
#define SQRT     OF(sqrtf, sqrt)
#define EXP      OF(expf, exp)
#define LOG1P    OF(log1pf, log1p)
#define SMALLEST OF(FLT_MIN, DBL_MIN)

/* Of kernels: vectors of an instruction set (minmax.h, vmath.h). */
#define vec        NAME(vec)
#define LANES      (VECTOR_BYTES / (int)sizeof(T))
#define VEXP       NAME(cbx_vm_exp)
#define VLOG       NAME(cbx_vm_log)
#define VMAX(x, y) OF(MINMAX_F32, MINMAX_F64)(vec, NAME(select), max, x, y, >)
#define VMIN(x, y) OF(MINMAX_F32, MINMAX_F64)(vec, NAME(select), min, x, y, <)

#endif
