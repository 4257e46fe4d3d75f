/*
 * What the vector functions of kernels/elementary_float.h are made of; written by
 * scripts/make_formulas.py.
 *
 * F gives a number of the function's dtype, U and I integers of its size without and with a sign, B
 * a bool, N, M and T constants of the dtype, of U and bool, by their bits.  Operands are numbers of
 * lines, from 0.
 */
#ifndef CALIBRAX_ARRAY_JIT_FORMULAS_TABLE_H
#define CALIBRAX_ARRAY_JIT_FORMULAS_TABLE_H

#include "calibrax/array/jit/kernel.h"

/* clang-format off */
#define F(op, ...) { CBX__K_##op, FLOAT, .in = { __VA_ARGS__ } },
#define U(op, ...) { CBX__K_##op, UNSIGNED, .in = { __VA_ARGS__ } },
#define I(op, ...) { CBX__K_##op, SIGNED, .in = { __VA_ARGS__ } },
#define B(op, ...) { CBX__K_##op, CBX_BOOL, .in = { __VA_ARGS__ } },
#define N(number)  { CBX__K_CONST, FLOAT, .bits = number },
#define M(number)  { CBX__K_CONST, UNSIGNED, .bits = number },
#define T(number)  { CBX__K_CONST, CBX_BOOL, .bits = number },
#define FLOAT    CBX_F32
#define UNSIGNED CBX_U32
#define SIGNED   CBX_I32
static const cbx__kinstr EXP_F32[] = {
    F(LOAD, 0) N(0xc2d00000) B(LT, 0, 1) F(SELECT, 2, 1, 0) N(0x42b20000) B(GT, 3, 4) F(SELECT, 5, 4, 3) N(0x3fb8aa3b)
    N(0x4b4000fe) F(FMA, 6, 7, 8) N(0xcb4000fe) F(ADD, 9, 10) F(NEG, 11) N(0x3f317218) F(FMA, 12, 13, 6)
    F(MUL, 14, 14) N(0x3f800000) F(ADD, 14, 16) N(0xbf800000) F(ADD, 17, 18) F(SUB, 14, 19) N(0x39509279)
    N(0x3c088870) F(FMA, 15, 21, 22) N(0x3e2aaaab) F(FMA, 23, 15, 24) N(0x3ab66f79) N(0x3d2aaa9f) F(FMA, 15, 26, 27)
    F(MUL, 15, 28) F(FMA, 14, 25, 29) N(0x3f000000) F(FMA, 15, 31, 20) F(FMA, 15, 30, 32) N(0x3f38aa3b) N(0x4b40007f)
    F(FMA, 6, 34, 35) U(BITS, 36) M(0x17) U(SHL, 37, 38) F(BITS, 39) N(0x3102e308) F(MUL, 11, 41) F(ADD, 17, 33)
    F(FMA, 42, 43, 33) F(MUL, 17, 40) F(FMA, 44, 40, 45) U(BITS, 9) U(SUB, 47, 37) U(SHL, 48, 38) F(BITS, 49)
    F(MUL, 46, 50) T(0x1)
};
static const cbx__kinstr EXP2_F32[] = {
    F(LOAD, 0) N(0x4b400000) F(ADD, 0, 1) N(0xcb400000) F(ADD, 2, 3) F(SUB, 0, 4) F(MUL, 5, 5) N(0x3921f397)
    N(0x3aaf6444) F(FMA, 5, 7, 8) N(0x3c1d9540) F(FMA, 9, 5, 10) N(0x3d6357f7) F(FMA, 11, 5, 12) N(0x3e75fdf0)
    F(FMA, 13, 5, 14) F(MUL, 6, 15) N(0x3f317218) F(FMA, 5, 17, 16) N(0x3f800000) F(ADD, 18, 19) U(BITS, 2) M(0x17)
    U(SHL, 21, 22) M(0x3f800000) U(ADD, 23, 24) F(BITS, 25) F(MUL, 20, 26) F(ABS, 0) N(0x42fa0000) B(LE, 28, 29)
};
static const cbx__kinstr EXPM1_F32[] = {
    F(LOAD, 0) N(0x3fb8aa3b) N(0x4b400000) F(FMA, 0, 1, 2) N(0xcb400000) F(ADD, 3, 4) F(NEG, 5) N(0x3f318000)
    F(FMA, 6, 7, 0) N(0xb95e8083) F(MUL, 5, 9) F(SUB, 8, 10) F(SUB, 8, 11) F(SUB, 12, 10) U(BITS, 3) F(MUL, 11, 11)
    M(0x17) U(SHL, 14, 16) M(0x3f800000) U(ADD, 17, 18) F(BITS, 19) N(0xbf800000) F(ADD, 20, 21) N(0x39509279)
    N(0x3c088870) F(FMA, 15, 23, 24) N(0x3e2aaaab) F(FMA, 25, 15, 26) N(0x3ab66f79) N(0x3d2aaa9f) F(FMA, 15, 28, 29)
    F(MUL, 15, 30) F(FMA, 11, 27, 31) N(0x3f000000) F(FMA, 15, 33, 13) F(FMA, 15, 32, 34) F(FMA, 20, 11, 22)
    F(SUB, 20, 22) F(ADD, 37, 21) F(SUB, 22, 36) F(FMA, 20, 11, 39) F(ADD, 38, 40) F(FMA, 20, 35, 41) N(0x0)
    B(EQ, 0, 43) F(ADD, 36, 42) F(SELECT, 44, 0, 45) F(ABS, 0) N(0x42aa0000) B(LE, 47, 48)
};
static const cbx__kinstr LOG_F32[] = {
    F(LOAD, 0) U(BITS, 0) M(0x4afb0d) U(ADD, 1, 2) M(0x17) U(SHR, 3, 4) M(0xffffff81) U(ADD, 5, 6) I(BITS, 7)
    F(CAST, 8) M(0x7fffff) U(AND, 3, 10) M(0x3f3504f3) U(ADD, 11, 12) F(BITS, 13) N(0xbf800000) F(ADD, 14, 15)
    N(0x40000000) F(ADD, 16, 17) F(DIV, 16, 18) N(0x3f000000) F(MUL, 16, 20) F(MUL, 16, 21) F(MUL, 19, 19)
    N(0x3e97734e) N(0x3eccbe17) F(FMA, 23, 24, 25) N(0x3f2aaaae) F(FMA, 26, 23, 27) F(FMA, 23, 28, 22) N(0xb95e8083)
    N(0x0) F(FMA, 9, 30, 31) F(FMA, 19, 29, 32) F(SUB, 22, 33) F(SUB, 16, 34) N(0x3f318000) F(FMA, 9, 36, 35)
    N(0x800000) B(GE, 0, 38) N(0x7f7fffff) B(LE, 0, 40) B(AND, 39, 41)
};
static const cbx__kinstr LOG2_F32[] = {
    F(LOAD, 0) U(BITS, 0) M(0x4afb0d) U(ADD, 1, 2) M(0x17) U(SHR, 3, 4) M(0xffffff81) U(ADD, 5, 6) I(BITS, 7)
    F(CAST, 8) M(0x7fffff) U(AND, 3, 10) M(0x3f3504f3) U(ADD, 11, 12) F(BITS, 13) N(0xbf800000) F(ADD, 14, 15)
    N(0x40000000) F(ADD, 16, 17) F(DIV, 16, 18) N(0x3f000000) F(MUL, 16, 20) F(MUL, 16, 21) F(MUL, 19, 19)
    N(0x3e97734e) N(0x3eccbe17) F(FMA, 23, 24, 25) N(0x3f2aaaae) F(FMA, 26, 23, 27) F(FMA, 23, 28, 22) F(NEG, 22)
    F(FMA, 19, 29, 30) N(0x3fb8aa3b) F(MUL, 31, 32) F(FMA, 16, 32, 33) F(ADD, 34, 9) N(0x800000) B(GE, 0, 36)
    N(0x7f7fffff) B(LE, 0, 38) B(AND, 37, 39)
};
static const cbx__kinstr LOG10_F32[] = {
    F(LOAD, 0) U(BITS, 0) M(0x4afb0d) U(ADD, 1, 2) M(0x17) U(SHR, 3, 4) M(0xffffff81) U(ADD, 5, 6) I(BITS, 7)
    F(CAST, 8) M(0x7fffff) U(AND, 3, 10) M(0x3f3504f3) U(ADD, 11, 12) F(BITS, 13) N(0xbf800000) F(ADD, 14, 15)
    N(0x40000000) F(ADD, 16, 17) F(DIV, 16, 18) N(0x3f000000) F(MUL, 16, 20) F(MUL, 16, 21) F(MUL, 19, 19)
    N(0x3e97734e) N(0x3eccbe17) F(FMA, 23, 24, 25) N(0x3f2aaaae) F(FMA, 26, 23, 27) F(FMA, 23, 28, 22) F(NEG, 22)
    F(FMA, 19, 29, 30) N(0x3ede5bd9) F(MUL, 31, 32) F(FMA, 16, 32, 33) N(0x355427db) F(FMA, 9, 35, 34) N(0x3e9a2080)
    F(FMA, 9, 37, 36) N(0x800000) B(GE, 0, 39) N(0x7f7fffff) B(LE, 0, 41) B(AND, 40, 42)
};
static const cbx__kinstr LOG1P_F32[] = {
    F(LOAD, 0) N(0x3f800000) F(ADD, 0, 1) N(0xbf800000) F(ADD, 2, 3) F(SUB, 4, 2) F(ADD, 5, 1) F(SUB, 0, 4)
    F(ADD, 7, 6) U(BITS, 2) M(0x4afb0d) U(ADD, 9, 10) M(0x17) U(SHR, 11, 12) M(0xffffff81) U(ADD, 13, 14) I(BITS, 15)
    F(CAST, 16) M(0x7fffff) U(AND, 11, 18) M(0x3f3504f3) U(ADD, 19, 20) F(BITS, 21) F(ADD, 22, 3) M(0xff800000)
    U(AND, 11, 24) M(0x7f000000) U(SUB, 26, 25) F(BITS, 27) F(MUL, 8, 28) F(ADD, 23, 29) F(SUB, 23, 30) F(ADD, 29, 31)
    N(0x40000000) F(ADD, 30, 33) F(DIV, 30, 34) N(0x3f000000) F(MUL, 30, 36) F(MUL, 30, 37) F(MUL, 35, 35)
    N(0x3e97734e) N(0x3eccbe17) F(FMA, 39, 40, 41) N(0x3f2aaaae) F(FMA, 42, 39, 43) F(FMA, 39, 44, 38) N(0xb95e8083)
    F(FMA, 17, 46, 32) F(FMA, 35, 45, 47) F(SUB, 38, 48) F(SUB, 30, 49) N(0x3f318000) F(FMA, 17, 51, 50) N(0x0)
    B(EQ, 0, 53) F(SELECT, 54, 0, 52) B(GT, 0, 3) N(0x7cf0bdc2) B(LE, 0, 57) B(AND, 56, 58)
};
static const cbx__kinstr SIN_F32[] = {
    F(LOAD, 0) N(0x3f22f983) N(0x4b400000) F(FMA, 0, 1, 2) N(0xcb400000) F(ADD, 3, 4) F(NEG, 5) N(0x3fc90fdb)
    F(FMA, 6, 7, 0) N(0xb33bbd2e) F(MUL, 5, 9) F(SUB, 8, 10) F(SUB, 8, 11) F(SUB, 12, 10) F(NEG, 10) F(FMA, 5, 9, 14)
    F(SUB, 13, 15) N(0xa6f72ced) F(FMA, 6, 17, 16) F(MUL, 11, 11) N(0x3f000000) F(MUL, 19, 20) N(0x3f800000)
    F(SUB, 22, 21) F(MUL, 11, 19) N(0xb94d64b6) N(0x3c088614) F(FMA, 19, 25, 26) N(0xbe2aaaa9) F(FMA, 27, 19, 28)
    F(MUL, 23, 18) F(FMA, 24, 29, 30) F(SUB, 22, 23) F(SUB, 32, 21) F(MUL, 19, 19) N(0x37cdec32) N(0xbab60969)
    F(FMA, 19, 35, 36) N(0x3d2aaaaa) F(FMA, 37, 19, 38) F(NEG, 11) F(MUL, 18, 40) F(FMA, 34, 39, 41) F(ADD, 33, 42)
    U(BITS, 3) M(0x1) U(AND, 44, 45) M(0x0) B(EQ, 46, 47) F(ADD, 23, 43) F(ADD, 11, 31) F(SELECT, 48, 50, 49)
    U(BITS, 51) M(0x1e) U(SHL, 44, 53) M(0x80000000) U(AND, 54, 55) U(XOR, 56, 52) F(BITS, 57) N(0x0) B(EQ, 0, 59)
    F(SELECT, 60, 0, 58) F(ABS, 0) N(0x46000000) B(LE, 62, 63)
};
static const cbx__kinstr COS_F32[] = {
    F(LOAD, 0) N(0x3f22f983) N(0x4b400000) F(FMA, 0, 1, 2) N(0xcb400000) F(ADD, 3, 4) F(NEG, 5) N(0x3fc90fdb)
    F(FMA, 6, 7, 0) N(0xb33bbd2e) F(MUL, 5, 9) F(SUB, 8, 10) F(SUB, 8, 11) F(SUB, 12, 10) F(NEG, 10) F(FMA, 5, 9, 14)
    F(SUB, 13, 15) N(0xa6f72ced) F(FMA, 6, 17, 16) F(MUL, 11, 11) N(0x3f000000) F(MUL, 19, 20) N(0x3f800000)
    F(SUB, 22, 21) F(MUL, 11, 19) N(0xb94d64b6) N(0x3c088614) F(FMA, 19, 25, 26) N(0xbe2aaaa9) F(FMA, 27, 19, 28)
    F(MUL, 23, 18) F(FMA, 24, 29, 30) F(SUB, 22, 23) F(SUB, 32, 21) F(MUL, 19, 19) N(0x37cdec32) N(0xbab60969)
    F(FMA, 19, 35, 36) N(0x3d2aaaaa) F(FMA, 37, 19, 38) F(NEG, 11) F(MUL, 18, 40) F(FMA, 34, 39, 41) F(ADD, 33, 42)
    U(BITS, 3) M(0x1) U(AND, 44, 45) M(0x0) B(EQ, 46, 47) F(ADD, 11, 31) F(ADD, 23, 43) F(SELECT, 48, 50, 49)
    U(BITS, 51) M(0x1e) U(SHL, 44, 53) M(0x40000000) U(ADD, 54, 55) M(0x80000000) U(AND, 56, 57) U(XOR, 58, 52)
    F(BITS, 59) F(ABS, 0) N(0x46000000) B(LE, 61, 62)
};
static const cbx__kinstr TAN_F32[] = {
    F(LOAD, 0) N(0x3f22f983) N(0x4b400000) F(FMA, 0, 1, 2) N(0xcb400000) F(ADD, 3, 4) F(NEG, 5) N(0x3fc90fdb)
    F(FMA, 6, 7, 0) N(0xb33bbd2e) F(MUL, 5, 9) F(SUB, 8, 10) F(SUB, 8, 11) F(SUB, 12, 10) F(NEG, 10) F(FMA, 5, 9, 14)
    F(SUB, 13, 15) N(0xa6f72ced) F(FMA, 6, 17, 16) F(MUL, 11, 11) N(0x3f000000) F(MUL, 19, 20) N(0x3f800000)
    F(SUB, 22, 21) F(MUL, 11, 19) N(0xb94d64b6) N(0x3c088614) F(FMA, 19, 25, 26) N(0xbe2aaaa9) F(FMA, 27, 19, 28)
    F(MUL, 23, 18) F(FMA, 24, 29, 30) F(SUB, 22, 23) F(SUB, 32, 21) F(MUL, 19, 19) N(0x37cdec32) N(0xbab60969)
    F(FMA, 19, 35, 36) N(0x3d2aaaaa) F(FMA, 37, 19, 38) F(NEG, 11) F(MUL, 18, 40) F(FMA, 34, 39, 41) F(ADD, 33, 42)
    U(BITS, 3) M(0x1) U(AND, 44, 45) M(0x0) B(EQ, 46, 47) F(ADD, 11, 31) F(SUB, 11, 49) F(ADD, 31, 50) F(ADD, 23, 43)
    F(SUB, 23, 52) F(ADD, 43, 53) F(NEG, 52) F(SELECT, 48, 49, 55) F(NEG, 54) F(SELECT, 48, 51, 57)
    F(SELECT, 48, 52, 49) F(SELECT, 48, 54, 51) F(DIV, 22, 59) F(MUL, 56, 61) F(NEG, 62) F(FMA, 63, 59, 56)
    F(FMA, 63, 60, 58) F(ADD, 64, 65) F(FMA, 61, 66, 62) N(0x0) B(EQ, 0, 68) F(SELECT, 69, 0, 67) F(ABS, 0)
    N(0x46000000) B(LE, 71, 72)
};
static const cbx__kinstr ASIN_F32[] = {
    F(LOAD, 0) F(ABS, 0) N(0x3f000000) B(GT, 1, 2) N(0xbf000000) F(FMA, 1, 4, 2) F(MUL, 0, 0) F(SELECT, 3, 5, 6)
    F(SQRT, 7) F(SELECT, 3, 8, 1) N(0x800000) B(GT, 9, 10) N(0x40000000) F(MUL, 9, 12) N(0x3f800000)
    F(SELECT, 11, 13, 14) F(NEG, 9) F(FMA, 16, 9, 7) F(DIV, 17, 15) N(0x0) F(SELECT, 3, 18, 19) F(MUL, 7, 9)
    N(0x3d1bff0b) N(0x3cd988e9) F(FMA, 7, 22, 23) N(0x3d38535e) F(FMA, 24, 7, 25) N(0x3d999399) F(FMA, 26, 7, 27)
    N(0x3e2aaaaf) F(FMA, 28, 7, 29) F(FMA, 21, 30, 20) N(0x3fc90fdb) F(SUB, 32, 13) F(SUB, 32, 33) F(SUB, 34, 13)
    N(0xb33bbd2e) F(ADD, 35, 36) N(0xc0000000) F(FMA, 31, 38, 37) F(ADD, 33, 39) F(ADD, 1, 31) F(SELECT, 3, 40, 41)
    F(COPYSIGN, 42, 0) B(LE, 1, 14)
};
static const cbx__kinstr ACOS_F32[] = {
    F(LOAD, 0) F(ABS, 0) N(0x3f000000) B(GT, 1, 2) N(0xbf000000) F(FMA, 1, 4, 2) F(MUL, 0, 0) F(SELECT, 3, 5, 6)
    F(SQRT, 7) F(SELECT, 3, 8, 1) N(0x800000) B(GT, 9, 10) N(0x40000000) F(MUL, 9, 12) N(0x3f800000)
    F(SELECT, 11, 13, 14) F(NEG, 9) F(FMA, 16, 9, 7) F(DIV, 17, 15) N(0x0) F(SELECT, 3, 18, 19) F(MUL, 7, 9)
    N(0x3d1bff0b) N(0x3cd988e9) F(FMA, 7, 22, 23) N(0x3d38535e) F(FMA, 24, 7, 25) N(0x3d999399) F(FMA, 26, 7, 27)
    N(0x3e2aaaaf) F(FMA, 28, 7, 29) F(FMA, 21, 30, 20) F(ADD, 9, 31) N(0x40490fdb) F(SUB, 33, 13) F(SUB, 33, 34)
    F(SUB, 35, 13) N(0xc0000000) N(0xb3bbbd2e) F(FMA, 31, 37, 38) F(ADD, 36, 39) B(GT, 0, 19) F(MUL, 32, 12)
    F(ADD, 34, 40) F(SELECT, 41, 42, 43) F(COPYSIGN, 32, 0) N(0x333bbd2e) F(ADD, 45, 46) N(0x3fc90fdb) F(SUB, 48, 47)
    F(SELECT, 3, 44, 49) B(LE, 1, 14)
};
static const cbx__kinstr ATAN_F32[] = {
    F(LOAD, 0) F(ABS, 0) N(0x40000000) B(GT, 1, 2) N(0x3f000000) B(GT, 1, 4) N(0xbf800000) F(ADD, 1, 6)
    F(SELECT, 5, 7, 1) N(0x3f800000) F(ADD, 1, 9) F(SELECT, 5, 10, 9) F(SELECT, 3, 1, 11) B(NOT, 5) B(OR, 3, 13)
    F(ADD, 12, 6) F(SUB, 1, 15) N(0x0) F(SELECT, 14, 17, 16) F(CAST, 5) F(SELECT, 3, 6, 8) F(SELECT, 3, 2, 19)
    F(DIV, 9, 12) F(MUL, 20, 22) F(MUL, 23, 23) F(NEG, 23) F(FMA, 25, 12, 20) F(FMA, 25, 18, 26) F(MUL, 22, 27)
    F(MUL, 23, 24) N(0x3d2d0bb7) N(0xbda8a6fe) F(FMA, 24, 30, 31) N(0x3de16b36) F(FMA, 32, 24, 33) N(0xbe12399f)
    F(FMA, 34, 24, 35) N(0x3e4ccc79) F(FMA, 36, 24, 37) N(0xbeaaaaab) F(FMA, 38, 24, 39) F(FMA, 29, 40, 28)
    N(0xb2bbbd2e) F(FMA, 21, 42, 41) F(ADD, 23, 43) N(0x3f490fdb) F(FMA, 21, 45, 44) F(COPYSIGN, 46, 0) N(0x7cf0bdc2)
    B(LE, 1, 48)
};
static const cbx__kinstr SINH_F32[] = {
    F(LOAD, 0) F(ABS, 0) N(0x3fb8aa3b) N(0x4b400000) F(FMA, 1, 2, 3) N(0xcb400000) F(ADD, 4, 5) F(NEG, 6)
    N(0x3f318000) F(FMA, 7, 8, 1) N(0xb95e8083) F(MUL, 6, 10) F(SUB, 9, 11) F(SUB, 9, 12) F(SUB, 13, 11) U(BITS, 4)
    F(MUL, 12, 12) M(0x17) U(SHL, 15, 17) M(0x3f000000) U(ADD, 18, 19) F(BITS, 20) U(NEG, 18) U(ADD, 22, 19)
    F(BITS, 23) F(ADD, 21, 24) F(SUB, 21, 24) F(SUB, 21, 26) F(SUB, 27, 24) N(0x3ab6a192) N(0x3d2aaa75)
    F(FMA, 16, 29, 30) N(0x3f000000) F(FMA, 31, 16, 32) F(MUL, 16, 33) F(MUL, 12, 16) N(0x39509279) N(0x3c088870)
    F(FMA, 16, 36, 37) N(0x3e2aaaab) F(FMA, 38, 16, 39) F(FMA, 35, 40, 14) F(FMA, 25, 12, 26) F(SUB, 26, 42)
    F(FMA, 25, 12, 43) F(FMA, 26, 34, 28) F(FMA, 25, 41, 45) F(ADD, 44, 46) F(ADD, 42, 47) F(COPYSIGN, 48, 0)
    N(0x42aa0000) B(LE, 1, 50)
};
static const cbx__kinstr COSH_F32[] = {
    F(LOAD, 0) F(ABS, 0) N(0x3fb8aa3b) N(0x4b400000) F(FMA, 1, 2, 3) N(0xcb400000) F(ADD, 4, 5) F(NEG, 6)
    N(0x3f318000) F(FMA, 7, 8, 1) N(0xb95e8083) F(MUL, 6, 10) F(SUB, 9, 11) F(SUB, 9, 12) F(SUB, 13, 11) U(BITS, 4)
    F(MUL, 12, 12) M(0x17) U(SHL, 15, 17) M(0x3f000000) U(ADD, 18, 19) F(BITS, 20) U(NEG, 18) U(ADD, 22, 19)
    F(BITS, 23) F(ADD, 21, 24) F(SUB, 21, 24) F(SUB, 21, 25) F(ADD, 27, 24) N(0x3ab6a192) N(0x3d2aaa75)
    F(FMA, 16, 29, 30) N(0x3f000000) F(FMA, 31, 16, 32) F(MUL, 16, 33) F(MUL, 12, 16) N(0x39509279) N(0x3c088870)
    F(FMA, 16, 36, 37) N(0x3e2aaaab) F(FMA, 38, 16, 39) F(FMA, 35, 40, 14) F(FMA, 26, 12, 25) F(SUB, 25, 42)
    F(FMA, 26, 12, 43) F(FMA, 26, 41, 28) F(FMA, 25, 34, 45) F(ADD, 44, 46) F(ADD, 42, 47) N(0x42aa0000) B(LE, 1, 49)
};
static const cbx__kinstr TANH_F32[] = {
    F(LOAD, 0) F(ABS, 0) N(0x41200000) B(LT, 1, 2) F(SELECT, 3, 1, 2) N(0x40000000) F(MUL, 4, 5) N(0x3fb8aa3b)
    N(0x4b400000) F(FMA, 6, 7, 8) N(0xcb400000) F(ADD, 9, 10) F(NEG, 11) N(0x3f318000) F(FMA, 12, 13, 6) N(0xb95e8083)
    F(MUL, 11, 15) F(SUB, 14, 16) F(SUB, 14, 17) F(SUB, 18, 16) U(BITS, 9) F(MUL, 17, 17) M(0x17) U(SHL, 20, 22)
    M(0x3f800000) U(ADD, 23, 24) F(BITS, 25) N(0xbf800000) F(ADD, 26, 27) N(0x39509279) N(0x3c088870)
    F(FMA, 21, 29, 30) N(0x3e2aaaab) F(FMA, 31, 21, 32) N(0x3ab66f79) N(0x3d2aaa9f) F(FMA, 21, 34, 35) F(MUL, 21, 36)
    F(FMA, 17, 33, 37) N(0x3f000000) F(FMA, 21, 39, 19) F(FMA, 21, 38, 40) F(FMA, 26, 17, 28) F(SUB, 26, 28)
    F(ADD, 43, 27) F(SUB, 28, 42) F(FMA, 26, 17, 45) F(ADD, 44, 46) F(FMA, 26, 41, 47) F(ADD, 42, 48) F(SUB, 42, 49)
    F(ADD, 48, 50) F(ADD, 49, 5) N(0xc0000000) F(ADD, 52, 53) F(SUB, 49, 54) F(ADD, 51, 55) N(0x3f800000)
    F(DIV, 57, 52) F(MUL, 49, 58) F(NEG, 59) F(FMA, 60, 52, 49) F(FMA, 60, 56, 51) F(ADD, 61, 62) F(FMA, 58, 63, 59)
    F(COPYSIGN, 64, 0) N(0x0) B(EQ, 0, 0)
};
static const cbx__kinstr ASINH_F32[] = {
    F(LOAD, 0) F(ABS, 0) F(MUL, 0, 0) N(0x3f800000) F(ADD, 2, 3) F(SQRT, 4) F(ADD, 5, 3) F(DIV, 2, 6) F(ADD, 1, 7)
    F(ADD, 8, 3) N(0xbf800000) F(ADD, 9, 10) F(SUB, 11, 9) F(ADD, 12, 3) F(SUB, 8, 11) F(ADD, 14, 13) U(BITS, 9)
    M(0x4afb0d) U(ADD, 16, 17) M(0x17) U(SHR, 18, 19) M(0xffffff81) U(ADD, 20, 21) I(BITS, 22) F(CAST, 23) M(0x7fffff)
    U(AND, 18, 25) M(0x3f3504f3) U(ADD, 26, 27) F(BITS, 28) F(ADD, 29, 10) M(0xff800000) U(AND, 18, 31) M(0x7f000000)
    U(SUB, 33, 32) F(BITS, 34) F(MUL, 15, 35) F(ADD, 30, 36) F(SUB, 30, 37) F(ADD, 36, 38) N(0x40000000)
    F(ADD, 37, 40) F(DIV, 37, 41) N(0x3f000000) F(MUL, 37, 43) F(MUL, 37, 44) F(MUL, 42, 42) N(0x3e97734e)
    N(0x3eccbe17) F(FMA, 46, 47, 48) N(0x3f2aaaae) F(FMA, 49, 46, 50) F(FMA, 46, 51, 45) N(0xb95e8083)
    F(FMA, 24, 53, 39) F(FMA, 42, 52, 54) F(SUB, 45, 55) F(SUB, 37, 56) N(0x3f318000) F(FMA, 24, 58, 57) N(0x0)
    B(EQ, 8, 60) F(SELECT, 61, 8, 59) F(COPYSIGN, 62, 0) N(0x5d5e0b6b) B(LE, 1, 64)
};
static const cbx__kinstr ACOSH_F32[] = {
    F(LOAD, 0) N(0xbf800000) F(ADD, 0, 1) N(0x40000000) F(MUL, 2, 3) F(FMA, 2, 2, 4) F(SQRT, 5) F(ADD, 2, 6)
    N(0x3f800000) F(ADD, 7, 8) F(ADD, 9, 1) F(SUB, 10, 9) F(ADD, 11, 8) F(SUB, 7, 10) F(ADD, 13, 12) U(BITS, 9)
    M(0x4afb0d) U(ADD, 15, 16) M(0x17) U(SHR, 17, 18) M(0xffffff81) U(ADD, 19, 20) I(BITS, 21) F(CAST, 22) M(0x7fffff)
    U(AND, 17, 24) M(0x3f3504f3) U(ADD, 25, 26) F(BITS, 27) F(ADD, 28, 1) M(0xff800000) U(AND, 17, 30) M(0x7f000000)
    U(SUB, 32, 31) F(BITS, 33) F(MUL, 14, 34) F(ADD, 29, 35) F(SUB, 29, 36) F(ADD, 35, 37) F(ADD, 36, 3)
    F(DIV, 36, 39) N(0x3f000000) F(MUL, 36, 41) F(MUL, 36, 42) F(MUL, 40, 40) N(0x3e97734e) N(0x3eccbe17)
    F(FMA, 44, 45, 46) N(0x3f2aaaae) F(FMA, 47, 44, 48) F(FMA, 44, 49, 43) N(0xb95e8083) F(FMA, 23, 51, 38)
    F(FMA, 40, 50, 52) F(SUB, 43, 53) F(SUB, 36, 54) N(0x3f318000) F(FMA, 23, 56, 55) N(0x0) B(EQ, 7, 58)
    F(SELECT, 59, 7, 57) B(GE, 0, 8) N(0x5d5e0b6b) B(LE, 0, 62) B(AND, 61, 63)
};
static const cbx__kinstr ATANH_F32[] = {
    F(LOAD, 0) F(ABS, 0) N(0x3f800000) F(ADD, 1, 2) U(BITS, 3) F(SUB, 2, 1) U(BITS, 5) U(SUB, 4, 6) M(0x3fc00000)
    U(ADD, 7, 8) M(0x17) U(SHR, 9, 10) M(0xffffff81) U(ADD, 11, 12) I(BITS, 13) F(CAST, 14) M(0xff800000)
    U(AND, 9, 16) M(0x7f000000) U(SUB, 18, 17) F(BITS, 19) F(ADD, 20, 2) N(0xbf800000) F(ADD, 20, 22)
    F(FMA, 1, 21, 23) F(FMA, 1, 23, 21) F(DIV, 24, 25) F(MUL, 26, 26) N(0x3f000000) F(MUL, 27, 28) F(MUL, 26, 29)
    N(0x3e734139) N(0x3e9215ea) F(FMA, 27, 31, 32) N(0x3ecccd37) F(FMA, 33, 27, 34) N(0x3f2aaaab) F(FMA, 35, 27, 36)
    N(0xb8de8083) F(MUL, 15, 38) F(FMA, 30, 37, 39) F(ADD, 26, 40) N(0x3eb18000) F(FMA, 15, 42, 41) F(COPYSIGN, 43, 0)
    N(0x3f7ffff8) B(LE, 1, 45)
};
static const cbx__kinstr CBRT_F32[] = {
    F(LOAD, 0) F(ABS, 0) N(0x800000) B(LT, 1, 2) N(0x4b800000) F(MUL, 0, 4) F(SELECT, 3, 5, 0) F(ABS, 6) U(BITS, 7)
    M(0x17) U(SHR, 8, 9) M(0xffffff81) U(ADD, 10, 11) I(BITS, 12) F(CAST, 13) M(0x7fffff) U(AND, 8, 15) M(0x3f800000)
    U(OR, 16, 17) F(BITS, 18) N(0x3eaaaaab) N(0xbeaaaaab) F(FMA, 14, 20, 21) N(0x4b400000) F(ADD, 22, 23)
    N(0xcb400000) F(ADD, 24, 25) N(0xc0400000) F(FMA, 26, 27, 14) N(0x0) B(EQ, 28, 29) N(0x3f800000) B(EQ, 28, 31)
    N(0x40000000) N(0x40800000) F(SELECT, 32, 33, 34) F(SELECT, 30, 31, 35) F(MUL, 36, 19) N(0xbd473374) N(0x3e9faa72)
    F(FMA, 19, 38, 39) N(0xbf4d2055) F(FMA, 40, 19, 41) N(0x3fc4d554) F(FMA, 42, 19, 43) N(0x3f4b2ff5) N(0x3f214518)
    F(SELECT, 32, 45, 46) F(SELECT, 30, 31, 47) F(MUL, 44, 48) F(NEG, 37) F(MUL, 49, 50) F(MUL, 49, 49)
    F(FMA, 51, 52, 31) F(MUL, 49, 53) N(0x3e638e39) F(FMA, 53, 55, 20) F(FMA, 54, 56, 49) F(MUL, 37, 57)
    F(MUL, 57, 58) F(NEG, 59) F(MUL, 59, 60) F(FMA, 61, 59, 37) F(MUL, 62, 20) F(MUL, 57, 57) F(FMA, 63, 64, 59)
    U(BITS, 65) U(BITS, 24) U(SHL, 67, 9) U(ADD, 68, 66) F(BITS, 69) N(0x3b800000) F(SELECT, 3, 71, 31) F(MUL, 72, 70)
    F(COPYSIGN, 73, 0) B(NE, 0, 29) N(0x7f7fffff) B(LE, 1, 76) B(AND, 75, 77)
};
static const cbx__kinstr ERFC_F32[] = {
    F(LOAD, 0) N(0xc0800000) B(LT, 0, 1) F(SELECT, 2, 1, 0) N(0x41280000) B(GT, 3, 4) F(SELECT, 5, 4, 3) F(ABS, 6)
    F(MUL, 6, 6) N(0xbfb8aa3b) N(0x4b400000) F(FMA, 8, 9, 10) N(0xcb400000) F(ADD, 11, 12) F(NEG, 13) F(NEG, 8)
    N(0x3f317218) F(FMA, 14, 16, 15) F(FMA, 6, 6, 15) F(NEG, 18) N(0xb102e308) F(FMA, 14, 20, 19) F(MUL, 17, 17)
    N(0x39509279) N(0x3c088870) F(FMA, 22, 23, 24) N(0x3e2aaaab) F(FMA, 25, 22, 26) N(0x3ab66f79) N(0x3d2aaa9f)
    F(FMA, 22, 28, 29) F(MUL, 22, 30) F(FMA, 17, 27, 31) N(0x3f800000) F(ADD, 17, 33) N(0xbf800000) F(ADD, 34, 35)
    F(SUB, 17, 36) N(0x3f000000) F(FMA, 22, 38, 37) F(FMA, 22, 32, 39) F(ADD, 34, 40) F(SUB, 34, 41) F(ADD, 40, 42)
    F(FMA, 21, 41, 43) N(0x40800000) F(ADD, 7, 45) N(0x40000000) F(MUL, 7, 47) F(DIV, 48, 46) N(0xbe000000)
    N(0x3e800000) F(FMA, 49, 50, 51) F(NEG, 49) F(ADD, 46, 1) F(SUB, 7, 54) F(FMA, 53, 46, 48) F(FMA, 53, 55, 56)
    F(MUL, 52, 57) F(ADD, 49, 35) F(ADD, 59, 58) N(0x37321536) N(0x388ea75c) F(FMA, 60, 61, 62) N(0xb93ee6ec)
    F(FMA, 63, 60, 64) N(0xb96b1ea1) F(FMA, 65, 60, 66) N(0x3b293427) F(FMA, 67, 60, 68) N(0xbc202cd6)
    F(FMA, 69, 60, 70) N(0x3cd147f2) F(FMA, 71, 60, 72) N(0xbd54763c) F(FMA, 73, 60, 74) N(0x3dadf0ff)
    F(FMA, 75, 60, 76) N(0xbde496a5) F(FMA, 77, 60, 78) N(0x3de0bb7d) F(FMA, 79, 60, 80) N(0xbd5dfe9a)
    F(FMA, 81, 60, 82) N(0xbd940989) F(FMA, 83, 60, 84) N(0x3f380000) F(FMA, 49, 85, 86) F(SUB, 86, 87)
    F(FMA, 49, 85, 88) F(FMA, 58, 85, 89) F(MUL, 41, 87) F(NEG, 91) F(FMA, 41, 87, 92) F(MUL, 41, 90)
    F(FMA, 44, 87, 94) F(ADD, 93, 95) F(ADD, 7, 86) N(0xbf380000) F(ADD, 97, 98) F(SUB, 7, 99) F(DIV, 33, 97)
    F(MUL, 101, 91) F(NEG, 102) F(FMA, 103, 97, 91) F(FMA, 103, 100, 96) F(ADD, 104, 105) F(MUL, 101, 106) N(0x0)
    B(LT, 0, 108) U(BITS, 11) M(0x80) M(0x1) U(SELECT, 109, 111, 112) U(SUB, 113, 110) M(0x17) U(SHL, 114, 115)
    F(BITS, 116) F(NEG, 117) B(LT, 102, 117) F(SELECT, 119, 117, 108) F(SELECT, 109, 118, 120) F(ADD, 102, 121)
    F(SUB, 121, 122) F(ADD, 102, 123) F(ADD, 124, 107) F(ADD, 122, 125) F(SELECT, 109, 108, 120) U(SHL, 110, 115)
    M(0x5f800000) U(ADD, 128, 129) F(BITS, 130) F(SUB, 126, 127) F(MUL, 132, 131) N(0x9f800000) N(0x1f800000)
    F(SELECT, 109, 134, 135) F(MUL, 136, 133) T(0x1)
};
static const cbx__kinstr POW_F32[] = {
    F(LOAD, 0) F(LOAD, 1) F(ABS, 0) U(BITS, 2) M(0x4afb0d) U(ADD, 3, 4) M(0x17) U(SHR, 5, 6) M(0xffffff81)
    U(ADD, 7, 8) I(BITS, 9) F(CAST, 10) M(0x7fffff) U(AND, 5, 12) M(0x3f3504f3) U(ADD, 13, 14) F(BITS, 15)
    N(0xbf800000) F(ADD, 16, 17) N(0x40000000) F(ADD, 18, 19) N(0xc0000000) F(ADD, 20, 21) F(SUB, 18, 22)
    N(0x3f800000) F(DIV, 24, 20) F(MUL, 18, 25) F(NEG, 26) F(FMA, 27, 20, 18) F(MUL, 26, 23) F(SUB, 28, 29)
    F(MUL, 25, 30) F(MUL, 26, 26) F(MUL, 26, 19) F(NEG, 32) F(FMA, 26, 26, 34) F(FMA, 33, 31, 35) N(0x3dec03cc)
    N(0x3e123d17) F(FMA, 32, 37, 38) N(0x3e4cccd2) F(FMA, 39, 32, 40) N(0xb22aaaab) F(FMA, 32, 41, 42) N(0x3eaaaaab)
    F(ADD, 43, 44) F(SUB, 44, 45) F(ADD, 43, 46) F(MUL, 32, 45) F(NEG, 48) F(FMA, 32, 45, 49) F(MUL, 36, 45)
    F(FMA, 32, 47, 51) F(ADD, 50, 52) F(MUL, 26, 48) F(NEG, 54) F(FMA, 26, 48, 55) F(MUL, 31, 48) F(FMA, 26, 53, 57)
    F(ADD, 56, 58) F(ADD, 26, 54) F(SUB, 26, 60) F(ADD, 54, 61) F(ADD, 31, 59) F(ADD, 62, 63) N(0x4038aa3b)
    F(MUL, 60, 65) F(NEG, 66) F(FMA, 60, 65, 67) F(MUL, 64, 65) N(0x33257060) F(FMA, 60, 70, 69) F(ADD, 68, 71)
    F(ADD, 66, 11) F(SUB, 11, 73) F(ADD, 66, 74) F(ADD, 75, 72) F(MUL, 73, 1) F(NEG, 77) F(FMA, 73, 1, 78)
    F(MUL, 76, 1) F(ADD, 79, 80) N(0x4b400000) F(ADD, 77, 82) N(0xcb400000) F(ADD, 83, 84) F(SUB, 77, 85)
    F(ADD, 86, 81) F(SUB, 86, 87) F(ADD, 81, 88) N(0x3f317218) F(MUL, 87, 90) F(ADD, 91, 24) F(NEG, 91)
    F(FMA, 87, 90, 93) N(0xb102e308) F(MUL, 87, 95) F(FMA, 89, 90, 96) F(ADD, 94, 97) F(MUL, 87, 87) N(0x3921f397)
    N(0x3aaf6444) F(FMA, 87, 100, 101) N(0x3c1d9540) F(FMA, 102, 87, 103) N(0x3d6357f7) F(FMA, 104, 87, 105)
    N(0x3e75fdf0) F(FMA, 106, 87, 107) F(ADD, 92, 17) F(SUB, 91, 109) F(ADD, 110, 98) F(FMA, 99, 108, 111)
    F(ADD, 92, 112) U(BITS, 83) U(SHL, 114, 6) M(0x3f800000) U(ADD, 115, 116) F(BITS, 117) F(MUL, 113, 118)
    N(0x3f000000) F(MUL, 1, 120) N(0x0) B(LT, 0, 122) F(RINT, 121) B(NE, 124, 121) B(AND, 123, 125) F(NEG, 119)
    F(SELECT, 126, 127, 119) U(SHR, 3, 6) U(ADD, 129, 8) I(BITS, 130) F(CAST, 131) N(0x800000) B(GE, 2, 133)
    N(0x7f7fffff) B(LE, 2, 135) B(AND, 134, 136) F(ABS, 132) F(ADD, 138, 24) F(ABS, 1) F(MUL, 140, 139) N(0x42f80000)
    B(LE, 141, 142) B(AND, 137, 143) B(GT, 0, 122) F(RINT, 1) B(EQ, 146, 1) B(OR, 145, 147) B(AND, 148, 144)
};
static const cbx__kinstr ATAN2_F32[] = {
    F(LOAD, 0) F(LOAD, 1) F(ABS, 0) F(ABS, 1) B(GT, 2, 3) F(SELECT, 4, 2, 3) F(SELECT, 4, 3, 2) N(0x3f000000)
    F(MUL, 5, 7) B(GT, 6, 8) N(0x0) F(SELECT, 9, 5, 10) F(SUB, 6, 11) N(0x80000000) F(SELECT, 9, 6, 13) F(ADD, 5, 14)
    F(SUB, 15, 5) F(SUB, 6, 16) F(SELECT, 9, 17, 10) F(CAST, 9) N(0xbf800000) N(0x3f800000) F(SELECT, 4, 20, 21)
    N(0x40000000) F(SUB, 23, 19) F(SELECT, 4, 24, 19) B(LT, 1, 10) N(0x40800000) F(SUB, 27, 25) F(SELECT, 26, 28, 25)
    F(NEG, 22) F(SELECT, 26, 30, 22) F(DIV, 21, 15) F(MUL, 12, 32) F(MUL, 33, 33) F(NEG, 33) F(FMA, 35, 15, 12)
    F(FMA, 35, 18, 36) F(MUL, 32, 37) F(MUL, 33, 34) N(0x3d2d0bb7) N(0xbda8a6fe) F(FMA, 34, 40, 41) N(0x3de16b36)
    F(FMA, 42, 34, 43) N(0xbe12399f) F(FMA, 44, 34, 45) N(0x3e4ccc79) F(FMA, 46, 34, 47) N(0xbeaaaaab)
    F(FMA, 48, 34, 49) F(FMA, 39, 50, 38) N(0x3f490fdb) F(MUL, 29, 52) F(NEG, 53) F(FMA, 29, 52, 54) N(0xb2bbbd2e)
    F(FMA, 29, 56, 55) F(FMA, 31, 51, 57) F(FMA, 31, 33, 58) F(ADD, 53, 59) F(COPYSIGN, 60, 0) B(EQ, 0, 0) B(EQ, 1, 1)
    B(AND, 62, 63) N(0x5d5e0b6b) B(LE, 5, 65) B(AND, 64, 66) N(0x219392ef) B(GE, 5, 68) B(AND, 69, 67) B(GE, 6, 68)
    B(EQ, 6, 10) B(OR, 71, 72) B(AND, 73, 70)
};
static const cbx__kinstr HYPOT_F32[] = {
    F(LOAD, 0) F(LOAD, 1) F(ABS, 0) F(ABS, 1) B(GT, 2, 3) F(SELECT, 4, 2, 3) F(SELECT, 4, 3, 2) F(MUL, 6, 6)
    F(FMA, 5, 5, 7) F(SQRT, 8) B(EQ, 0, 0) B(EQ, 1, 1) B(AND, 10, 11) N(0x26901d7d) B(GE, 5, 13) B(AND, 12, 14)
    N(0x5d5e0b6b) B(LE, 5, 16) B(AND, 17, 15)
};
static const cbx__kinstr LOGADDEXP_F32[] = {
    F(LOAD, 0) F(LOAD, 1) B(GT, 0, 1) F(SELECT, 2, 0, 1) F(SUB, 0, 1) F(ABS, 4) F(NEG, 5) N(0xc2d00000) B(LT, 6, 7)
    F(SELECT, 8, 7, 6) N(0x42b20000) B(GT, 9, 10) F(SELECT, 11, 10, 9) N(0x3fb8aa3b) N(0x4b4000fe) F(FMA, 12, 13, 14)
    N(0xcb4000fe) F(ADD, 15, 16) F(NEG, 17) N(0x3f317218) F(FMA, 18, 19, 12) F(MUL, 20, 20) N(0x3f800000)
    F(ADD, 20, 22) N(0xbf800000) F(ADD, 23, 24) F(SUB, 20, 25) N(0x39509279) N(0x3c088870) F(FMA, 21, 27, 28)
    N(0x3e2aaaab) F(FMA, 29, 21, 30) N(0x3ab66f79) N(0x3d2aaa9f) F(FMA, 21, 32, 33) F(MUL, 21, 34) F(FMA, 20, 31, 35)
    N(0x3f000000) F(FMA, 21, 37, 26) F(FMA, 21, 36, 38) N(0x3f38aa3b) N(0x4b40007f) F(FMA, 12, 40, 41) U(BITS, 42)
    M(0x17) U(SHL, 43, 44) F(BITS, 45) N(0x3102e308) F(MUL, 17, 47) F(ADD, 23, 39) F(FMA, 48, 49, 39) F(MUL, 23, 46)
    F(FMA, 50, 46, 51) U(BITS, 15) U(SUB, 53, 43) U(SHL, 54, 44) F(BITS, 55) F(MUL, 52, 56) F(ADD, 57, 22)
    F(ADD, 58, 24) F(SUB, 59, 58) F(ADD, 60, 22) F(SUB, 57, 59) F(ADD, 62, 61) U(BITS, 58) M(0x4afb0d) U(ADD, 64, 65)
    U(SHR, 66, 44) M(0xffffff81) U(ADD, 67, 68) I(BITS, 69) F(CAST, 70) M(0x7fffff) U(AND, 66, 72) M(0x3f3504f3)
    U(ADD, 73, 74) F(BITS, 75) F(ADD, 76, 24) M(0xff800000) U(AND, 66, 78) M(0x7f000000) U(SUB, 80, 79) F(BITS, 81)
    F(MUL, 63, 82) F(ADD, 77, 83) F(SUB, 77, 84) F(ADD, 83, 85) N(0x40000000) F(ADD, 84, 87) F(DIV, 84, 88)
    F(MUL, 84, 37) F(MUL, 84, 90) F(MUL, 89, 89) N(0x3e97734e) N(0x3eccbe17) F(FMA, 92, 93, 94) N(0x3f2aaaae)
    F(FMA, 95, 92, 96) F(FMA, 92, 97, 91) N(0xb95e8083) F(FMA, 71, 99, 86) F(FMA, 89, 98, 100) F(SUB, 91, 101)
    F(SUB, 84, 102) N(0x3f318000) F(FMA, 71, 104, 103) N(0x0) B(EQ, 57, 106) F(SELECT, 107, 57, 105) F(ADD, 3, 108)
    B(EQ, 4, 4)
};
static const cbx__kinstr REM_F32[] = {
    F(LOAD, 0) F(LOAD, 1) F(DIV, 0, 1) F(TRUNC, 2) F(NEG, 3) F(FMA, 4, 1, 0) F(ABS, 1) N(0x0) B(LT, 0, 7) B(GT, 5, 7)
    F(SELECT, 9, 6, 7) B(LT, 5, 7) N(0x80000000) F(SELECT, 11, 6, 12) F(NEG, 10) F(SELECT, 8, 14, 13) F(ADD, 5, 15)
    F(COPYSIGN, 16, 0) B(LT, 1, 7) B(NOT, 18) B(LT, 17, 7) B(XOR, 19, 20) F(SELECT, 21, 12, 1) F(ADD, 17, 22)
    B(EQ, 1, 7) B(EQ, 17, 7) F(COPYSIGN, 7, 1) F(SELECT, 25, 26, 23) F(SELECT, 24, 17, 27) N(0x800000) B(GE, 6, 29)
    F(ABS, 0) N(0x4a800000) F(MUL, 6, 32) B(LE, 31, 33) B(AND, 30, 34) N(0x7cf0bdc2) B(LE, 6, 36) B(AND, 37, 35)
};
static const cbx__kinstr FLOOR_DIV_F32[] = {
    F(LOAD, 0) F(LOAD, 1) F(DIV, 0, 1) F(TRUNC, 2) F(NEG, 3) F(FMA, 4, 1, 0) F(ABS, 1) N(0x0) B(LT, 0, 7) B(GT, 5, 7)
    F(SELECT, 9, 6, 7) B(LT, 5, 7) N(0x80000000) F(SELECT, 11, 6, 12) F(NEG, 10) F(SELECT, 8, 14, 13) F(ADD, 5, 15)
    F(COPYSIGN, 16, 0) F(SUB, 0, 17) F(DIV, 18, 1) B(NE, 17, 7) B(LT, 1, 7) B(NOT, 21) B(LT, 17, 7) B(XOR, 22, 23)
    N(0xbf800000) F(ADD, 19, 25) F(SELECT, 24, 19, 26) F(SELECT, 20, 27, 19) F(FLOOR, 28) F(SUB, 28, 29) N(0x3f000000)
    B(GT, 30, 31) N(0x3f800000) F(ADD, 29, 33) F(SELECT, 32, 34, 29) B(EQ, 1, 7) B(EQ, 28, 7) F(COPYSIGN, 7, 2)
    F(SELECT, 37, 38, 35) F(SELECT, 36, 2, 39) N(0x800000) B(GE, 6, 41) F(ABS, 0) N(0x4a800000) F(MUL, 6, 44)
    B(LE, 43, 45) B(AND, 42, 46) N(0x7cf0bdc2) B(LE, 6, 48) B(AND, 49, 47)
};
#undef FLOAT
#undef UNSIGNED
#undef SIGNED
#define FLOAT    CBX_F64
#define UNSIGNED CBX_U64
#define SIGNED   CBX_I64
static const cbx__kinstr EXP_F64[] = {
    F(LOAD, 0) N(0xc087500000000000) B(LT, 0, 1) F(SELECT, 2, 1, 0) N(0x4086300000000000) B(GT, 3, 4)
    F(SELECT, 5, 4, 3) N(0x3ff71547652b82fe) N(0x4308000000003ff0) F(FMA, 6, 7, 8) N(0xc308000000003ff0) F(ADD, 9, 10)
    U(BITS, 9) M(0x1) U(AND, 12, 13) M(0x0) B(EQ, 14, 15) M(0x2) U(AND, 12, 17) B(EQ, 18, 15) N(0x3ff306fe0a31b715)
    N(0x3ff4bfdad5362a27) F(SELECT, 16, 20, 21) N(0x3ff0000000000000) N(0x3ff172b83c7d517b) F(SELECT, 16, 23, 24)
    F(SELECT, 19, 25, 22) N(0x3ffae89f995ad3ad) N(0x3ffd5818dcfba487) F(SELECT, 16, 27, 28) N(0x3ff6a09e667f3bcd)
    N(0x3ff8ace5422aa0db) F(SELECT, 16, 30, 31) F(SELECT, 19, 32, 29) M(0x4) U(AND, 12, 34) B(EQ, 35, 15)
    F(SELECT, 36, 26, 33) N(0x3c834d754db0abb6) N(0x3c7690cebb7aafb0) F(SELECT, 16, 38, 39) N(0x0)
    N(0xbc801b15eaa59348) F(SELECT, 16, 41, 42) F(SELECT, 19, 43, 40) N(0x3c8c1a7792cb3387) N(0x3c74a385a63d07a7)
    F(SELECT, 16, 45, 46) N(0xbc93b3efbf5e2229) N(0x3c8db72fc1f0eab4) F(SELECT, 16, 48, 49) F(SELECT, 19, 50, 47)
    F(SELECT, 36, 44, 51) F(NEG, 11) N(0x3fe62e42fefa39ef) F(FMA, 53, 54, 6) N(0x3c7abc9e3b39803f) F(FMA, 53, 56, 52)
    F(ADD, 55, 57) N(0x3fe71547652b82fe) N(0x43380000000003ff) F(FMA, 6, 59, 60) U(BITS, 61) M(0x34) U(SHL, 62, 63)
    F(BITS, 64) F(MUL, 37, 65) N(0x3f2a01f5750a7797) N(0x3f56c1cc1d4b606c) F(FMA, 58, 67, 68) N(0x3f81111110b1f57a)
    F(FMA, 69, 58, 70) N(0x3fa55555547f56e3) F(FMA, 71, 58, 72) N(0x3fc55555555555ce) F(FMA, 73, 58, 74)
    N(0x3fe000000000010f) F(FMA, 75, 58, 76) F(MUL, 58, 58) F(FMA, 78, 77, 58) F(FMA, 66, 79, 66) M(0x3)
    U(SHR, 12, 81) U(SUB, 82, 62) U(SHL, 83, 63) F(BITS, 84) F(MUL, 80, 85) T(0x1)
};
static const cbx__kinstr EXP2_F64[] = {
    F(LOAD, 0) N(0x4338000000000000) F(ADD, 0, 1) N(0xc338000000000000) F(ADD, 2, 3) F(SUB, 0, 4) F(MUL, 5, 5)
    N(0x3dbc48f8c2305624) N(0x3dfe9d419696e0e9) F(FMA, 5, 7, 8) N(0x3e3e4cf1cc5c8b02) F(FMA, 9, 5, 10)
    N(0x3e7b524fad88ed30) F(FMA, 11, 5, 12) N(0x3eb62c022401d5c2) F(FMA, 13, 5, 14) N(0x3eeffcbfc6712438)
    F(FMA, 15, 5, 16) N(0x3f2430912f86bf4e) F(FMA, 17, 5, 18) N(0x3f55d87fe78a526d) F(FMA, 19, 5, 20)
    N(0x3f83b2ab6fba4e78) F(FMA, 21, 5, 22) N(0x3fac6b08d704a0c2) F(FMA, 23, 5, 24) N(0x3fcebfbdff82c58f)
    F(FMA, 25, 5, 26) F(MUL, 6, 27) N(0x3fe62e42fefa39ef) F(FMA, 5, 29, 28) N(0x3ff0000000000000) F(ADD, 30, 31)
    U(BITS, 2) M(0x34) U(SHL, 33, 34) M(0x3ff0000000000000) U(ADD, 35, 36) F(BITS, 37) F(MUL, 32, 38) F(ABS, 0)
    N(0x408fe80000000000) B(LE, 40, 41)
};
static const cbx__kinstr EXPM1_F64[] = {
    F(LOAD, 0) N(0x3ff71547652b82fe) N(0x4338000000000000) F(FMA, 0, 1, 2) N(0xc338000000000000) F(ADD, 3, 4)
    F(NEG, 5) N(0x3fe62e42fee00000) F(FMA, 6, 7, 0) N(0x3dea39ef35793c76) F(MUL, 5, 9) F(SUB, 8, 10) F(SUB, 8, 11)
    F(SUB, 12, 10) U(BITS, 3) F(MUL, 11, 11) M(0x34) U(SHL, 14, 16) M(0x3ff0000000000000) U(ADD, 17, 18) F(BITS, 19)
    N(0xbff0000000000000) F(ADD, 20, 21) N(0x3e5af38a9b0ec855) N(0x3ec71de0dae63bb3) F(FMA, 15, 23, 24)
    N(0x3f2a01a01a7c41d5) F(FMA, 25, 15, 26) N(0x3f811111111109b3) F(FMA, 27, 15, 28) N(0x3fc5555555555556)
    F(FMA, 29, 15, 30) N(0x3e21f66df7fca49f) N(0x3e927e4e1f48534f) F(FMA, 15, 32, 33) N(0x3efa01a01a47b054)
    F(FMA, 34, 15, 35) N(0x3f56c16c16c167e1) F(FMA, 36, 15, 37) N(0x3fa5555555555555) F(FMA, 38, 15, 39)
    F(MUL, 15, 40) F(FMA, 11, 31, 41) N(0x3fe0000000000000) F(FMA, 15, 43, 13) F(FMA, 15, 42, 44) F(FMA, 20, 11, 22)
    F(SUB, 20, 22) F(ADD, 47, 21) F(SUB, 22, 46) F(FMA, 20, 11, 49) F(ADD, 48, 50) F(FMA, 20, 45, 51) N(0x0)
    B(EQ, 0, 53) F(ADD, 46, 52) F(SELECT, 54, 0, 55) F(ABS, 0) N(0x4085e00000000000) B(LE, 57, 58)
};
static const cbx__kinstr LOG_F64[] = {
    F(LOAD, 0) U(BITS, 0) M(0x95f619980c433) U(ADD, 1, 2) M(0x34) U(SHR, 3, 4) M(0x4330000000000000) U(OR, 5, 6)
    F(BITS, 7) N(0xc3300000000003ff) F(ADD, 8, 9) M(0xfffffffffffff) U(AND, 3, 11) M(0x3fe6a09e667f3bcd)
    U(ADD, 12, 13) F(BITS, 14) N(0xbff0000000000000) F(ADD, 15, 16) N(0x4000000000000000) F(ADD, 17, 18)
    F(DIV, 17, 19) N(0x3fe0000000000000) F(MUL, 17, 21) F(MUL, 17, 22) F(MUL, 20, 20) N(0x3fc2b59b713616c9)
    N(0x3fc39fe42e9740a7) F(FMA, 24, 25, 26) N(0x3fc7462b58e46ebe) F(FMA, 27, 24, 28) N(0x3fcc71c62e26208b)
    F(FMA, 29, 24, 30) N(0x3fd2492492df3ba9) F(FMA, 31, 24, 32) N(0x3fd99999999952cc) F(FMA, 33, 24, 34)
    N(0x3fe5555555555558) F(FMA, 35, 24, 36) F(FMA, 24, 37, 23) N(0x3dea39ef35793c76) N(0x0) F(FMA, 10, 39, 40)
    F(FMA, 20, 38, 41) F(SUB, 23, 42) F(SUB, 17, 43) N(0x3fe62e42fee00000) F(FMA, 10, 45, 44) N(0x10000000000000)
    B(GE, 0, 47) N(0x7fefffffffffffff) B(LE, 0, 49) B(AND, 48, 50)
};
static const cbx__kinstr LOG2_F64[] = {
    F(LOAD, 0) U(BITS, 0) M(0x95f619980c433) U(ADD, 1, 2) M(0x34) U(SHR, 3, 4) M(0x4330000000000000) U(OR, 5, 6)
    F(BITS, 7) N(0xc3300000000003ff) F(ADD, 8, 9) M(0xfffffffffffff) U(AND, 3, 11) M(0x3fe6a09e667f3bcd)
    U(ADD, 12, 13) F(BITS, 14) N(0xbff0000000000000) F(ADD, 15, 16) N(0x4000000000000000) F(ADD, 17, 18)
    F(DIV, 17, 19) N(0x3fe0000000000000) F(MUL, 17, 21) F(MUL, 17, 22) F(SUB, 17, 23) F(MUL, 20, 20)
    N(0x3fc2b59b713616c9) N(0x3fc39fe42e9740a7) F(FMA, 25, 26, 27) N(0x3fc7462b58e46ebe) F(FMA, 28, 25, 29)
    N(0x3fcc71c62e26208b) F(FMA, 30, 25, 31) N(0x3fd2492492df3ba9) F(FMA, 32, 25, 33) N(0x3fd99999999952cc)
    F(FMA, 34, 25, 35) N(0x3fe5555555555558) F(FMA, 36, 25, 37) F(FMA, 25, 38, 23) F(SUB, 17, 24) F(SUB, 40, 23)
    F(NEG, 23) F(FMA, 22, 17, 42) F(SUB, 41, 43) F(FMA, 20, 39, 44) N(0x3ff71547652b82fe) F(MUL, 24, 46) F(NEG, 47)
    F(FMA, 24, 46, 48) N(0x3c7777d0ffda0d24) F(FMA, 24, 50, 49) F(FMA, 45, 46, 51) F(ADD, 10, 47) F(SUB, 10, 53)
    F(ADD, 47, 54) F(ADD, 55, 52) F(ADD, 53, 56) N(0x10000000000000) B(GE, 0, 58) N(0x7fefffffffffffff) B(LE, 0, 60)
    B(AND, 59, 61)
};
static const cbx__kinstr LOG10_F64[] = {
    F(LOAD, 0) U(BITS, 0) M(0x95f619980c433) U(ADD, 1, 2) M(0x34) U(SHR, 3, 4) M(0x4330000000000000) U(OR, 5, 6)
    F(BITS, 7) N(0xc3300000000003ff) F(ADD, 8, 9) M(0xfffffffffffff) U(AND, 3, 11) M(0x3fe6a09e667f3bcd)
    U(ADD, 12, 13) F(BITS, 14) N(0xbff0000000000000) F(ADD, 15, 16) N(0x4000000000000000) F(ADD, 17, 18)
    F(DIV, 17, 19) N(0x3fe0000000000000) F(MUL, 17, 21) F(MUL, 17, 22) F(SUB, 17, 23) F(MUL, 20, 20)
    N(0x3fc2b59b713616c9) N(0x3fc39fe42e9740a7) F(FMA, 25, 26, 27) N(0x3fc7462b58e46ebe) F(FMA, 28, 25, 29)
    N(0x3fcc71c62e26208b) F(FMA, 30, 25, 31) N(0x3fd2492492df3ba9) F(FMA, 32, 25, 33) N(0x3fd99999999952cc)
    F(FMA, 34, 25, 35) N(0x3fe5555555555558) F(FMA, 36, 25, 37) F(FMA, 25, 38, 23) F(SUB, 17, 24) F(SUB, 40, 23)
    F(NEG, 23) F(FMA, 22, 17, 42) F(SUB, 41, 43) F(FMA, 20, 39, 44) N(0x3fdbcb7b1526e50e) F(MUL, 24, 46) F(NEG, 47)
    F(FMA, 24, 46, 48) N(0x3c695355baaafad3) F(FMA, 24, 50, 49) F(FMA, 45, 46, 51) N(0x3fd34413509f6000)
    F(MUL, 10, 53) F(ADD, 54, 47) F(SUB, 54, 55) F(ADD, 47, 56) N(0x3d59fef311f12b36) F(FMA, 10, 58, 52)
    F(ADD, 57, 59) F(ADD, 55, 60) N(0x10000000000000) B(GE, 0, 62) N(0x7fefffffffffffff) B(LE, 0, 64) B(AND, 63, 65)
};
static const cbx__kinstr LOG1P_F64[] = {
    F(LOAD, 0) N(0x3ff0000000000000) F(ADD, 0, 1) N(0xbff0000000000000) F(ADD, 2, 3) F(SUB, 4, 2) F(ADD, 5, 1)
    F(SUB, 0, 4) F(ADD, 7, 6) U(BITS, 2) M(0x95f619980c433) U(ADD, 9, 10) M(0x34) U(SHR, 11, 12) M(0x4330000000000000)
    U(OR, 13, 14) F(BITS, 15) N(0xc3300000000003ff) F(ADD, 16, 17) M(0xfffffffffffff) U(AND, 11, 19)
    M(0x3fe6a09e667f3bcd) U(ADD, 20, 21) F(BITS, 22) F(ADD, 23, 3) M(0xfff0000000000000) U(AND, 11, 25)
    M(0x7fe0000000000000) U(SUB, 27, 26) F(BITS, 28) F(MUL, 8, 29) F(ADD, 24, 30) F(SUB, 24, 31) F(ADD, 30, 32)
    N(0x4000000000000000) F(ADD, 31, 34) F(DIV, 31, 35) N(0x3fe0000000000000) F(MUL, 31, 37) F(MUL, 31, 38)
    F(MUL, 36, 36) N(0x3fc2b59b713616c9) N(0x3fc39fe42e9740a7) F(FMA, 40, 41, 42) N(0x3fc7462b58e46ebe)
    F(FMA, 43, 40, 44) N(0x3fcc71c62e26208b) F(FMA, 45, 40, 46) N(0x3fd2492492df3ba9) F(FMA, 47, 40, 48)
    N(0x3fd99999999952cc) F(FMA, 49, 40, 50) N(0x3fe5555555555558) F(FMA, 51, 40, 52) F(FMA, 40, 53, 39)
    N(0x3dea39ef35793c76) F(FMA, 18, 55, 33) F(FMA, 36, 54, 56) F(SUB, 39, 57) F(SUB, 31, 58) N(0x3fe62e42fee00000)
    F(FMA, 18, 60, 59) N(0x0) B(EQ, 0, 62) F(SELECT, 63, 0, 61) B(GT, 0, 3) N(0x7e37e43c8800759c) B(LE, 0, 66)
    B(AND, 65, 67)
};
static const cbx__kinstr SIN_F64[] = {
    F(LOAD, 0) N(0x3fe45f306dc9c883) N(0x4338000000000000) F(FMA, 0, 1, 2) N(0xc338000000000000) F(ADD, 3, 4)
    F(NEG, 5) N(0x3ff921fb54442d18) F(FMA, 6, 7, 0) N(0x3c91a62633145c07) F(MUL, 5, 9) F(SUB, 8, 10) F(SUB, 8, 11)
    F(SUB, 12, 10) F(NEG, 10) F(FMA, 5, 9, 14) F(SUB, 13, 15) N(0xb91f1976b7ed8fbc) F(FMA, 6, 17, 16) F(MUL, 11, 11)
    N(0x3fe0000000000000) F(MUL, 19, 20) N(0x3ff0000000000000) F(SUB, 22, 21) F(MUL, 11, 19) N(0x3de5e0af186af739)
    N(0xbe5ae600a926c89a) F(FMA, 19, 25, 26) N(0x3ec71de37961e4c6) F(FMA, 27, 19, 28) N(0xbf2a01a019e8357d)
    F(FMA, 29, 19, 30) N(0x3f81111111110bb1) F(FMA, 31, 19, 32) N(0xbfc5555555555555) F(FMA, 33, 19, 34)
    F(MUL, 23, 18) F(FMA, 24, 35, 36) F(SUB, 22, 23) F(SUB, 38, 21) F(MUL, 19, 19) N(0xbda907d7aebd5e3d)
    N(0x3e21eeb68b109173) F(FMA, 19, 41, 42) N(0xbe927e4fa17a41b4) F(FMA, 43, 19, 44) N(0x3efa01a019f4e867)
    F(FMA, 45, 19, 46) N(0xbf56c16c16c16966) F(FMA, 47, 19, 48) N(0x3fa5555555555555) F(FMA, 49, 19, 50) F(NEG, 11)
    F(MUL, 18, 52) F(FMA, 40, 51, 53) F(ADD, 39, 54) U(BITS, 3) M(0x1) U(AND, 56, 57) M(0x0) B(EQ, 58, 59)
    F(ADD, 23, 55) F(ADD, 11, 37) F(SELECT, 60, 62, 61) U(BITS, 63) M(0x3e) U(SHL, 56, 65) M(0x8000000000000000)
    U(AND, 66, 67) U(XOR, 68, 64) F(BITS, 69) N(0x0) B(EQ, 0, 71) F(SELECT, 72, 0, 70) F(ABS, 0) N(0x4130000000000000)
    B(LE, 74, 75)
};
static const cbx__kinstr COS_F64[] = {
    F(LOAD, 0) N(0x3fe45f306dc9c883) N(0x4338000000000000) F(FMA, 0, 1, 2) N(0xc338000000000000) F(ADD, 3, 4)
    F(NEG, 5) N(0x3ff921fb54442d18) F(FMA, 6, 7, 0) N(0x3c91a62633145c07) F(MUL, 5, 9) F(SUB, 8, 10) F(SUB, 8, 11)
    F(SUB, 12, 10) F(NEG, 10) F(FMA, 5, 9, 14) F(SUB, 13, 15) N(0xb91f1976b7ed8fbc) F(FMA, 6, 17, 16) F(MUL, 11, 11)
    N(0x3fe0000000000000) F(MUL, 19, 20) N(0x3ff0000000000000) F(SUB, 22, 21) F(MUL, 11, 19) N(0x3de5e0af186af739)
    N(0xbe5ae600a926c89a) F(FMA, 19, 25, 26) N(0x3ec71de37961e4c6) F(FMA, 27, 19, 28) N(0xbf2a01a019e8357d)
    F(FMA, 29, 19, 30) N(0x3f81111111110bb1) F(FMA, 31, 19, 32) N(0xbfc5555555555555) F(FMA, 33, 19, 34)
    F(MUL, 23, 18) F(FMA, 24, 35, 36) F(SUB, 22, 23) F(SUB, 38, 21) F(MUL, 19, 19) N(0xbda907d7aebd5e3d)
    N(0x3e21eeb68b109173) F(FMA, 19, 41, 42) N(0xbe927e4fa17a41b4) F(FMA, 43, 19, 44) N(0x3efa01a019f4e867)
    F(FMA, 45, 19, 46) N(0xbf56c16c16c16966) F(FMA, 47, 19, 48) N(0x3fa5555555555555) F(FMA, 49, 19, 50) F(NEG, 11)
    F(MUL, 18, 52) F(FMA, 40, 51, 53) F(ADD, 39, 54) U(BITS, 3) M(0x1) U(AND, 56, 57) M(0x0) B(EQ, 58, 59)
    F(ADD, 11, 37) F(ADD, 23, 55) F(SELECT, 60, 62, 61) U(BITS, 63) M(0x3e) U(SHL, 56, 65) M(0x4000000000000000)
    U(ADD, 66, 67) M(0x8000000000000000) U(AND, 68, 69) U(XOR, 70, 64) F(BITS, 71) F(ABS, 0) N(0x4130000000000000)
    B(LE, 73, 74)
};
static const cbx__kinstr TAN_F64[] = {
    F(LOAD, 0) N(0x3fe45f306dc9c883) N(0x4338000000000000) F(FMA, 0, 1, 2) N(0xc338000000000000) F(ADD, 3, 4)
    F(NEG, 5) N(0x3ff921fb54442d18) F(FMA, 6, 7, 0) N(0x3c91a62633145c07) F(MUL, 5, 9) F(SUB, 8, 10) F(SUB, 8, 11)
    F(SUB, 12, 10) F(NEG, 10) F(FMA, 5, 9, 14) F(SUB, 13, 15) N(0xb91f1976b7ed8fbc) F(FMA, 6, 17, 16) F(MUL, 11, 11)
    N(0x3fe0000000000000) F(MUL, 19, 20) N(0x3ff0000000000000) F(SUB, 22, 21) F(MUL, 11, 19) N(0x3de5e0af186af739)
    N(0xbe5ae600a926c89a) F(FMA, 19, 25, 26) N(0x3ec71de37961e4c6) F(FMA, 27, 19, 28) N(0xbf2a01a019e8357d)
    F(FMA, 29, 19, 30) N(0x3f81111111110bb1) F(FMA, 31, 19, 32) N(0xbfc5555555555555) F(FMA, 33, 19, 34)
    F(MUL, 23, 18) F(FMA, 24, 35, 36) F(SUB, 22, 23) F(SUB, 38, 21) F(MUL, 19, 19) N(0xbda907d7aebd5e3d)
    N(0x3e21eeb68b109173) F(FMA, 19, 41, 42) N(0xbe927e4fa17a41b4) F(FMA, 43, 19, 44) N(0x3efa01a019f4e867)
    F(FMA, 45, 19, 46) N(0xbf56c16c16c16966) F(FMA, 47, 19, 48) N(0x3fa5555555555555) F(FMA, 49, 19, 50) F(NEG, 11)
    F(MUL, 18, 52) F(FMA, 40, 51, 53) F(ADD, 39, 54) U(BITS, 3) M(0x1) U(AND, 56, 57) M(0x0) B(EQ, 58, 59)
    F(ADD, 11, 37) F(SUB, 11, 61) F(ADD, 37, 62) F(ADD, 23, 55) F(SUB, 23, 64) F(ADD, 55, 65) F(NEG, 64)
    F(SELECT, 60, 61, 67) F(NEG, 66) F(SELECT, 60, 63, 69) F(SELECT, 60, 64, 61) F(SELECT, 60, 66, 63) F(DIV, 22, 71)
    F(MUL, 68, 73) F(NEG, 74) F(FMA, 75, 71, 68) F(FMA, 75, 72, 70) F(ADD, 76, 77) F(FMA, 73, 78, 74) N(0x0)
    B(EQ, 0, 80) F(SELECT, 81, 0, 79) F(ABS, 0) N(0x4130000000000000) B(LE, 83, 84)
};
static const cbx__kinstr ASIN_F64[] = {
    F(LOAD, 0) F(ABS, 0) N(0x3fe0000000000000) B(GT, 1, 2) N(0xbfe0000000000000) F(FMA, 1, 4, 2) F(MUL, 0, 0)
    F(SELECT, 3, 5, 6) F(SQRT, 7) F(SELECT, 3, 8, 1) N(0x10000000000000) B(GT, 9, 10) N(0x4000000000000000)
    F(MUL, 9, 12) N(0x3ff0000000000000) F(SELECT, 11, 13, 14) F(NEG, 9) F(FMA, 16, 9, 7) F(DIV, 17, 15) N(0x0)
    F(SELECT, 3, 18, 19) F(MUL, 7, 9) N(0x3f9d72b2bc8155f8) N(0xbf8e6aaa8a0a04cc) F(FMA, 7, 22, 23)
    N(0x3f91d189408314ee) F(FMA, 24, 7, 25) N(0x3f765a9c4dfcf8b2) F(FMA, 26, 7, 27) N(0x3f852420b04b37be)
    F(FMA, 28, 7, 29) N(0x3f8782651caa6547) F(FMA, 30, 7, 31) N(0x3f8c9cf07674736a) F(FMA, 32, 7, 33)
    N(0x3f91c4d35cf95421) F(FMA, 34, 7, 35) N(0x3f96e8bb1c8209a2) F(FMA, 36, 7, 37) N(0x3f9f1c71c1db0623)
    F(FMA, 38, 7, 39) N(0x3fa6db6db6e31f13) F(FMA, 40, 7, 41) N(0x3fb3333333332eca) F(FMA, 42, 7, 43)
    N(0x3fc5555555555556) F(FMA, 44, 7, 45) F(FMA, 21, 46, 20) N(0x3ff921fb54442d18) F(SUB, 48, 13) F(SUB, 48, 49)
    F(SUB, 50, 13) N(0x3c91a62633145c07) F(ADD, 51, 52) N(0xc000000000000000) F(FMA, 47, 54, 53) F(ADD, 49, 55)
    F(ADD, 1, 47) F(SELECT, 3, 56, 57) F(COPYSIGN, 58, 0) B(LE, 1, 14)
};
static const cbx__kinstr ACOS_F64[] = {
    F(LOAD, 0) F(ABS, 0) N(0x3fe0000000000000) B(GT, 1, 2) N(0xbfe0000000000000) F(FMA, 1, 4, 2) F(MUL, 0, 0)
    F(SELECT, 3, 5, 6) F(SQRT, 7) F(SELECT, 3, 8, 1) N(0x10000000000000) B(GT, 9, 10) N(0x4000000000000000)
    F(MUL, 9, 12) N(0x3ff0000000000000) F(SELECT, 11, 13, 14) F(NEG, 9) F(FMA, 16, 9, 7) F(DIV, 17, 15) N(0x0)
    F(SELECT, 3, 18, 19) F(MUL, 7, 9) N(0x3f9d72b2bc8155f8) N(0xbf8e6aaa8a0a04cc) F(FMA, 7, 22, 23)
    N(0x3f91d189408314ee) F(FMA, 24, 7, 25) N(0x3f765a9c4dfcf8b2) F(FMA, 26, 7, 27) N(0x3f852420b04b37be)
    F(FMA, 28, 7, 29) N(0x3f8782651caa6547) F(FMA, 30, 7, 31) N(0x3f8c9cf07674736a) F(FMA, 32, 7, 33)
    N(0x3f91c4d35cf95421) F(FMA, 34, 7, 35) N(0x3f96e8bb1c8209a2) F(FMA, 36, 7, 37) N(0x3f9f1c71c1db0623)
    F(FMA, 38, 7, 39) N(0x3fa6db6db6e31f13) F(FMA, 40, 7, 41) N(0x3fb3333333332eca) F(FMA, 42, 7, 43)
    N(0x3fc5555555555556) F(FMA, 44, 7, 45) F(FMA, 21, 46, 20) F(ADD, 9, 47) N(0x400921fb54442d18) F(SUB, 49, 13)
    F(SUB, 49, 50) F(SUB, 51, 13) N(0xc000000000000000) N(0x3ca1a62633145c07) F(FMA, 47, 53, 54) F(ADD, 52, 55)
    B(GT, 0, 19) F(MUL, 48, 12) F(ADD, 50, 56) F(SELECT, 57, 58, 59) F(COPYSIGN, 48, 0) N(0xbc91a62633145c07)
    F(ADD, 61, 62) N(0x3ff921fb54442d18) F(SUB, 64, 63) F(SELECT, 3, 60, 65) B(LE, 1, 14)
};
static const cbx__kinstr ATAN_F64[] = {
    F(LOAD, 0) F(ABS, 0) N(0x4000000000000000) B(GT, 1, 2) N(0x3fe0000000000000) B(GT, 1, 4) N(0xbff0000000000000)
    F(ADD, 1, 6) F(SELECT, 5, 7, 1) N(0x3ff0000000000000) F(ADD, 1, 9) F(SELECT, 5, 10, 9) F(SELECT, 3, 1, 11)
    B(NOT, 5) B(OR, 3, 13) F(ADD, 12, 6) F(SUB, 1, 15) N(0x0) F(SELECT, 14, 17, 16) F(CAST, 5) F(SELECT, 3, 6, 8)
    F(SELECT, 3, 2, 19) F(DIV, 9, 12) F(MUL, 20, 22) F(MUL, 23, 23) F(NEG, 23) F(FMA, 25, 12, 20) F(FMA, 25, 18, 26)
    F(MUL, 22, 27) F(MUL, 23, 24) N(0xbf82dd40041c2c27) N(0x3f999984c3613cd5) F(FMA, 24, 30, 31) N(0xbfa37ce51c509047)
    F(FMA, 32, 24, 33) N(0x3fa7b1d7856d14a5) F(FMA, 34, 24, 35) N(0xbfaad441c37157fa) F(FMA, 36, 24, 37)
    N(0x3fae1a795c3fb24f) F(FMA, 38, 24, 39) N(0xbfb110ea393fffe2) F(FMA, 40, 24, 41) N(0x3fb3b138e4b5b747)
    F(FMA, 42, 24, 43) N(0xbfb745d16016ea5f) F(FMA, 44, 24, 45) N(0x3fbc71c71c014e0d) F(FMA, 46, 24, 47)
    N(0xbfc24924924881f5) F(FMA, 48, 24, 49) N(0x3fc99999999998e0) F(FMA, 50, 24, 51) N(0xbfd5555555555555)
    F(FMA, 52, 24, 53) F(FMA, 29, 54, 28) N(0x3c81a62633145c07) F(FMA, 21, 56, 55) F(ADD, 23, 57)
    N(0x3fe921fb54442d18) F(FMA, 21, 59, 58) F(COPYSIGN, 60, 0) N(0x7e37e43c8800759c) B(LE, 1, 62)
};
static const cbx__kinstr SINH_F64[] = {
    F(LOAD, 0) F(ABS, 0) N(0x3ff71547652b82fe) N(0x4338000000000000) F(FMA, 1, 2, 3) N(0xc338000000000000)
    F(ADD, 4, 5) F(NEG, 6) N(0x3fe62e42fee00000) F(FMA, 7, 8, 1) N(0x3dea39ef35793c76) F(MUL, 6, 10) F(SUB, 9, 11)
    F(SUB, 9, 12) F(SUB, 13, 11) U(BITS, 4) F(MUL, 12, 12) M(0x34) U(SHL, 15, 17) M(0x3fe0000000000000) U(ADD, 18, 19)
    F(BITS, 20) U(NEG, 18) U(ADD, 22, 19) F(BITS, 23) F(ADD, 21, 24) F(SUB, 21, 24) F(SUB, 21, 26) F(SUB, 27, 24)
    N(0x3e21f7f2776cfaf2) N(0x3e927e4d41966f2f) F(FMA, 16, 29, 30) N(0x3efa01a01a9e991b) F(FMA, 31, 16, 32)
    N(0x3f56c16c16c15a68) F(FMA, 33, 16, 34) N(0x3fa5555555555557) F(FMA, 35, 16, 36) N(0x3fe0000000000000)
    F(FMA, 37, 16, 38) F(MUL, 16, 39) F(MUL, 12, 16) N(0x3e5af38a9b0ec855) N(0x3ec71de0dae63bb3) F(FMA, 16, 42, 43)
    N(0x3f2a01a01a7c41d5) F(FMA, 44, 16, 45) N(0x3f811111111109b3) F(FMA, 46, 16, 47) N(0x3fc5555555555556)
    F(FMA, 48, 16, 49) F(FMA, 41, 50, 14) F(FMA, 25, 12, 26) F(SUB, 26, 52) F(FMA, 25, 12, 53) F(FMA, 26, 40, 28)
    F(FMA, 25, 51, 55) F(ADD, 54, 56) F(ADD, 52, 57) F(COPYSIGN, 58, 0) N(0x4085e00000000000) B(LE, 1, 60)
};
static const cbx__kinstr COSH_F64[] = {
    F(LOAD, 0) F(ABS, 0) N(0x3ff71547652b82fe) N(0x4338000000000000) F(FMA, 1, 2, 3) N(0xc338000000000000)
    F(ADD, 4, 5) F(NEG, 6) N(0x3fe62e42fee00000) F(FMA, 7, 8, 1) N(0x3dea39ef35793c76) F(MUL, 6, 10) F(SUB, 9, 11)
    F(SUB, 9, 12) F(SUB, 13, 11) U(BITS, 4) F(MUL, 12, 12) M(0x34) U(SHL, 15, 17) M(0x3fe0000000000000) U(ADD, 18, 19)
    F(BITS, 20) U(NEG, 18) U(ADD, 22, 19) F(BITS, 23) F(ADD, 21, 24) F(SUB, 21, 24) F(SUB, 21, 25) F(ADD, 27, 24)
    N(0x3e21f7f2776cfaf2) N(0x3e927e4d41966f2f) F(FMA, 16, 29, 30) N(0x3efa01a01a9e991b) F(FMA, 31, 16, 32)
    N(0x3f56c16c16c15a68) F(FMA, 33, 16, 34) N(0x3fa5555555555557) F(FMA, 35, 16, 36) N(0x3fe0000000000000)
    F(FMA, 37, 16, 38) F(MUL, 16, 39) F(MUL, 12, 16) N(0x3e5af38a9b0ec855) N(0x3ec71de0dae63bb3) F(FMA, 16, 42, 43)
    N(0x3f2a01a01a7c41d5) F(FMA, 44, 16, 45) N(0x3f811111111109b3) F(FMA, 46, 16, 47) N(0x3fc5555555555556)
    F(FMA, 48, 16, 49) F(FMA, 41, 50, 14) F(FMA, 26, 12, 25) F(SUB, 25, 52) F(FMA, 26, 12, 53) F(FMA, 26, 51, 28)
    F(FMA, 25, 40, 55) F(ADD, 54, 56) F(ADD, 52, 57) N(0x4085e00000000000) B(LE, 1, 59)
};
static const cbx__kinstr TANH_F64[] = {
    F(LOAD, 0) F(ABS, 0) N(0x4036000000000000) B(LT, 1, 2) F(SELECT, 3, 1, 2) N(0x4000000000000000) F(MUL, 4, 5)
    N(0x3ff71547652b82fe) N(0x4338000000000000) F(FMA, 6, 7, 8) N(0xc338000000000000) F(ADD, 9, 10) F(NEG, 11)
    N(0x3fe62e42fee00000) F(FMA, 12, 13, 6) N(0x3dea39ef35793c76) F(MUL, 11, 15) F(SUB, 14, 16) F(SUB, 14, 17)
    F(SUB, 18, 16) U(BITS, 9) F(MUL, 17, 17) M(0x34) U(SHL, 20, 22) M(0x3ff0000000000000) U(ADD, 23, 24) F(BITS, 25)
    N(0xbff0000000000000) F(ADD, 26, 27) N(0x3e5af38a9b0ec855) N(0x3ec71de0dae63bb3) F(FMA, 21, 29, 30)
    N(0x3f2a01a01a7c41d5) F(FMA, 31, 21, 32) N(0x3f811111111109b3) F(FMA, 33, 21, 34) N(0x3fc5555555555556)
    F(FMA, 35, 21, 36) N(0x3e21f66df7fca49f) N(0x3e927e4e1f48534f) F(FMA, 21, 38, 39) N(0x3efa01a01a47b054)
    F(FMA, 40, 21, 41) N(0x3f56c16c16c167e1) F(FMA, 42, 21, 43) N(0x3fa5555555555555) F(FMA, 44, 21, 45)
    F(MUL, 21, 46) F(FMA, 17, 37, 47) N(0x3fe0000000000000) F(FMA, 21, 49, 19) F(FMA, 21, 48, 50) F(FMA, 26, 17, 28)
    F(SUB, 26, 28) F(ADD, 53, 27) F(SUB, 28, 52) F(FMA, 26, 17, 55) F(ADD, 54, 56) F(FMA, 26, 51, 57) F(ADD, 52, 58)
    F(SUB, 52, 59) F(ADD, 58, 60) F(ADD, 59, 5) N(0xc000000000000000) F(ADD, 62, 63) F(SUB, 59, 64) F(ADD, 61, 65)
    N(0x3ff0000000000000) F(DIV, 67, 62) F(MUL, 59, 68) F(NEG, 69) F(FMA, 70, 62, 59) F(FMA, 70, 66, 61)
    F(ADD, 71, 72) F(FMA, 68, 73, 69) F(COPYSIGN, 74, 0) N(0x0) B(EQ, 0, 0)
};
static const cbx__kinstr ASINH_F64[] = {
    F(LOAD, 0) F(ABS, 0) F(MUL, 0, 0) N(0x3ff0000000000000) F(ADD, 2, 3) F(SQRT, 4) F(ADD, 5, 3) F(DIV, 2, 6)
    F(ADD, 1, 7) F(ADD, 8, 3) N(0xbff0000000000000) F(ADD, 9, 10) F(SUB, 11, 9) F(ADD, 12, 3) F(SUB, 8, 11)
    F(ADD, 14, 13) U(BITS, 9) M(0x95f619980c433) U(ADD, 16, 17) M(0x34) U(SHR, 18, 19) M(0x4330000000000000)
    U(OR, 20, 21) F(BITS, 22) N(0xc3300000000003ff) F(ADD, 23, 24) M(0xfffffffffffff) U(AND, 18, 26)
    M(0x3fe6a09e667f3bcd) U(ADD, 27, 28) F(BITS, 29) F(ADD, 30, 10) M(0xfff0000000000000) U(AND, 18, 32)
    M(0x7fe0000000000000) U(SUB, 34, 33) F(BITS, 35) F(MUL, 15, 36) F(ADD, 31, 37) F(SUB, 31, 38) F(ADD, 37, 39)
    N(0x4000000000000000) F(ADD, 38, 41) F(DIV, 38, 42) N(0x3fe0000000000000) F(MUL, 38, 44) F(MUL, 38, 45)
    F(MUL, 43, 43) N(0x3fc2b59b713616c9) N(0x3fc39fe42e9740a7) F(FMA, 47, 48, 49) N(0x3fc7462b58e46ebe)
    F(FMA, 50, 47, 51) N(0x3fcc71c62e26208b) F(FMA, 52, 47, 53) N(0x3fd2492492df3ba9) F(FMA, 54, 47, 55)
    N(0x3fd99999999952cc) F(FMA, 56, 47, 57) N(0x3fe5555555555558) F(FMA, 58, 47, 59) F(FMA, 47, 60, 46)
    N(0x3dea39ef35793c76) F(FMA, 25, 62, 40) F(FMA, 43, 61, 63) F(SUB, 46, 64) F(SUB, 38, 65) N(0x3fe62e42fee00000)
    F(FMA, 25, 67, 66) N(0x0) B(EQ, 8, 69) F(SELECT, 70, 8, 68) F(COPYSIGN, 71, 0) N(0x5f138d352e5096af) B(LE, 1, 73)
};
static const cbx__kinstr ACOSH_F64[] = {
    F(LOAD, 0) N(0xbff0000000000000) F(ADD, 0, 1) N(0x4000000000000000) F(MUL, 2, 3) F(FMA, 2, 2, 4) F(SQRT, 5)
    F(ADD, 2, 6) N(0x3ff0000000000000) F(ADD, 7, 8) F(ADD, 9, 1) F(SUB, 10, 9) F(ADD, 11, 8) F(SUB, 7, 10)
    F(ADD, 13, 12) U(BITS, 9) M(0x95f619980c433) U(ADD, 15, 16) M(0x34) U(SHR, 17, 18) M(0x4330000000000000)
    U(OR, 19, 20) F(BITS, 21) N(0xc3300000000003ff) F(ADD, 22, 23) M(0xfffffffffffff) U(AND, 17, 25)
    M(0x3fe6a09e667f3bcd) U(ADD, 26, 27) F(BITS, 28) F(ADD, 29, 1) M(0xfff0000000000000) U(AND, 17, 31)
    M(0x7fe0000000000000) U(SUB, 33, 32) F(BITS, 34) F(MUL, 14, 35) F(ADD, 30, 36) F(SUB, 30, 37) F(ADD, 36, 38)
    F(ADD, 37, 3) F(DIV, 37, 40) N(0x3fe0000000000000) F(MUL, 37, 42) F(MUL, 37, 43) F(MUL, 41, 41)
    N(0x3fc2b59b713616c9) N(0x3fc39fe42e9740a7) F(FMA, 45, 46, 47) N(0x3fc7462b58e46ebe) F(FMA, 48, 45, 49)
    N(0x3fcc71c62e26208b) F(FMA, 50, 45, 51) N(0x3fd2492492df3ba9) F(FMA, 52, 45, 53) N(0x3fd99999999952cc)
    F(FMA, 54, 45, 55) N(0x3fe5555555555558) F(FMA, 56, 45, 57) F(FMA, 45, 58, 44) N(0x3dea39ef35793c76)
    F(FMA, 24, 60, 39) F(FMA, 41, 59, 61) F(SUB, 44, 62) F(SUB, 37, 63) N(0x3fe62e42fee00000) F(FMA, 24, 65, 64)
    N(0x0) B(EQ, 7, 67) F(SELECT, 68, 7, 66) B(GE, 0, 8) N(0x5f138d352e5096af) B(LE, 0, 71) B(AND, 70, 72)
};
static const cbx__kinstr ATANH_F64[] = {
    F(LOAD, 0) F(ABS, 0) N(0x3ff0000000000000) F(ADD, 1, 2) U(BITS, 3) F(SUB, 2, 1) U(BITS, 5) U(SUB, 4, 6)
    M(0x3ff8000000000000) U(ADD, 7, 8) M(0x34) U(SHR, 9, 10) M(0x4330000000000000) U(OR, 11, 12) F(BITS, 13)
    N(0xc3300000000003ff) F(ADD, 14, 15) M(0xfff0000000000000) U(AND, 9, 17) M(0x7fe0000000000000) U(SUB, 19, 18)
    F(BITS, 20) F(ADD, 21, 2) N(0xbff0000000000000) F(ADD, 21, 23) F(FMA, 1, 22, 24) F(FMA, 1, 24, 22) F(DIV, 25, 26)
    F(MUL, 27, 27) N(0x3fe0000000000000) F(MUL, 28, 29) F(MUL, 27, 30) N(0x3fc16d0e176ef65b) N(0x3fc0e857a14a6872)
    F(FMA, 28, 32, 33) N(0x3fc3b2a298d10220) F(FMA, 34, 28, 35) N(0x3fc745caa07872fe) F(FMA, 36, 28, 37)
    N(0x3fcc71c72e6a31a2) F(FMA, 38, 28, 39) N(0x3fd24924923d8d36) F(FMA, 40, 28, 41) N(0x3fd9999999999f4a)
    F(FMA, 42, 28, 43) N(0x3fe5555555555555) F(FMA, 44, 28, 45) N(0x3dda39ef35793c76) F(MUL, 16, 47)
    F(FMA, 31, 46, 48) F(ADD, 27, 49) N(0x3fd62e42fee00000) F(FMA, 16, 51, 50) F(COPYSIGN, 52, 0)
    N(0x3feffffffffffff8) B(LE, 1, 54)
};
static const cbx__kinstr CBRT_F64[] = {
    F(LOAD, 0) F(ABS, 0) N(0x10000000000000) B(LT, 1, 2) N(0x4350000000000000) F(MUL, 0, 4) F(SELECT, 3, 5, 0)
    F(ABS, 6) U(BITS, 7) M(0x34) U(SHR, 8, 9) M(0x4330000000000000) U(OR, 10, 11) F(BITS, 12) N(0xc3300000000003ff)
    F(ADD, 13, 14) M(0xfffffffffffff) U(AND, 8, 16) M(0x3ff0000000000000) U(OR, 17, 18) F(BITS, 19)
    N(0x3fd5555555555555) N(0xbfd5555555555555) F(FMA, 15, 21, 22) N(0x4338000000000000) F(ADD, 23, 24)
    N(0xc338000000000000) F(ADD, 25, 26) N(0xc008000000000000) F(FMA, 27, 28, 15) N(0x0) B(EQ, 29, 30)
    N(0x3ff0000000000000) B(EQ, 29, 32) N(0x4000000000000000) N(0x4010000000000000) F(SELECT, 33, 34, 35)
    F(SELECT, 31, 32, 36) F(MUL, 37, 20) N(0xbf90e87006cbe6bb) N(0x3fc37ce9e9ed0a1d) F(FMA, 20, 39, 40)
    N(0xbfe2c4b958d54c08) F(FMA, 41, 20, 42) N(0x3ff3a267a3d49ad4) F(FMA, 43, 20, 44) N(0xbff8dd4bd7d34771)
    F(FMA, 45, 20, 46) N(0x3ffc713e2847cbe6) F(FMA, 47, 20, 48) N(0x3fe965fea53d6e3d) N(0x3fe428a2f98d728b)
    F(SELECT, 33, 50, 51) F(SELECT, 31, 32, 52) F(MUL, 49, 53) F(NEG, 38) F(MUL, 54, 55) F(MUL, 54, 54)
    F(FMA, 56, 57, 32) F(MUL, 54, 58) N(0x3fcc71c71c71c71c) F(FMA, 58, 60, 21) F(FMA, 59, 61, 54) F(MUL, 38, 62)
    F(MUL, 62, 63) F(NEG, 64) F(MUL, 64, 65) F(FMA, 66, 64, 38) F(MUL, 67, 21) F(MUL, 62, 62) F(FMA, 68, 69, 64)
    U(BITS, 70) U(BITS, 25) U(SHL, 72, 9) U(ADD, 73, 71) F(BITS, 74) N(0x3ed0000000000000) F(SELECT, 3, 76, 32)
    F(MUL, 77, 75) F(COPYSIGN, 78, 0) B(NE, 0, 30) N(0x7fefffffffffffff) B(LE, 1, 81) B(AND, 80, 82)
};
static const cbx__kinstr ERFC_F64[] = {
    F(LOAD, 0) N(0xc018000000000000) B(LT, 0, 1) F(SELECT, 2, 1, 0) N(0x403c000000000000) B(GT, 3, 4)
    F(SELECT, 5, 4, 3) F(ABS, 6) F(MUL, 6, 6) N(0xbff71547652b82fe) N(0x4338000000000000) F(FMA, 8, 9, 10)
    N(0xc338000000000000) F(ADD, 11, 12) F(NEG, 13) F(NEG, 8) N(0x3fe62e42fefa39ef) F(FMA, 14, 16, 15)
    F(FMA, 6, 6, 15) F(NEG, 18) N(0x3c7abc9e3b39803f) F(FMA, 14, 20, 19) F(MUL, 17, 17) N(0x3e5af38a9b0ec855)
    N(0x3ec71de0dae63bb3) F(FMA, 22, 23, 24) N(0x3f2a01a01a7c41d5) F(FMA, 25, 22, 26) N(0x3f811111111109b3)
    F(FMA, 27, 22, 28) N(0x3fc5555555555556) F(FMA, 29, 22, 30) N(0x3e21f66df7fca49f) N(0x3e927e4e1f48534f)
    F(FMA, 22, 32, 33) N(0x3efa01a01a47b054) F(FMA, 34, 22, 35) N(0x3f56c16c16c167e1) F(FMA, 36, 22, 37)
    N(0x3fa5555555555555) F(FMA, 38, 22, 39) F(MUL, 22, 40) F(FMA, 17, 31, 41) N(0x3ff0000000000000) F(ADD, 17, 43)
    N(0xbff0000000000000) F(ADD, 44, 45) F(SUB, 17, 46) N(0x3fe0000000000000) F(FMA, 22, 48, 47) F(FMA, 22, 42, 49)
    F(ADD, 44, 50) F(SUB, 44, 51) F(ADD, 50, 52) F(FMA, 21, 51, 53) N(0x4010000000000000) F(ADD, 7, 55)
    N(0x4000000000000000) F(MUL, 7, 57) F(DIV, 58, 56) N(0xbfc0000000000000) N(0x3fd0000000000000) F(FMA, 59, 60, 61)
    F(NEG, 59) N(0xc010000000000000) F(ADD, 56, 64) F(SUB, 7, 65) F(FMA, 63, 56, 58) F(FMA, 63, 66, 67) F(MUL, 62, 68)
    F(ADD, 59, 45) F(ADD, 70, 69) N(0xbdd0635e0516102e) N(0x3d967b8cf2cb0e2d) F(FMA, 71, 72, 73) N(0x3e113ba4f7e35b6e)
    F(FMA, 74, 71, 75) N(0x3e00ab0c8e8c00e4) F(FMA, 76, 71, 77) N(0xbe410e644bd0c4bc) F(FMA, 78, 71, 79)
    N(0xbe28b29fd4082c54) F(FMA, 80, 71, 81) N(0x3e6db908e042c66c) F(FMA, 82, 71, 83) N(0xbe472f0f27e709ab)
    F(FMA, 84, 71, 85) N(0xbe999693b5cd9a76) F(FMA, 86, 71, 87) N(0x3e9f30f4dd313691) F(FMA, 88, 71, 89)
    N(0x3ec34ce495df1013) F(FMA, 90, 71, 91) N(0xbede7af8c29e736d) F(FMA, 92, 71, 93) N(0xbed66f4a6cad4d34)
    F(FMA, 94, 71, 95) N(0x3f13d9d826205866) F(FMA, 96, 71, 97) N(0xbf24b827e75716de) F(FMA, 98, 71, 99)
    N(0xbf2d90e69c51d261) F(FMA, 100, 71, 101) N(0x3f6506dbb5207743) F(FMA, 102, 71, 103) N(0xbf84063099883abe)
    F(FMA, 104, 71, 105) N(0x3f9a2a31390a2ff0) F(FMA, 106, 71, 107) N(0xbfaa8eb768d987fd) F(FMA, 108, 71, 109)
    N(0x3fb5be15056cd376) F(FMA, 110, 71, 111) N(0xbfbc92d588cde75d) F(FMA, 112, 71, 113) N(0x3fbc1770368cbcf8)
    F(FMA, 114, 71, 115) N(0xbfabbfd33d1197a1) F(FMA, 116, 71, 117) N(0xbfb28131151c3175) F(FMA, 118, 71, 119)
    N(0x3fe7000000000000) F(FMA, 59, 120, 121) F(SUB, 121, 122) F(FMA, 59, 120, 123) F(FMA, 69, 120, 124)
    F(MUL, 51, 122) F(NEG, 126) F(FMA, 51, 122, 127) F(MUL, 51, 125) F(FMA, 54, 122, 129) F(ADD, 128, 130)
    F(ADD, 7, 121) N(0xbfe7000000000000) F(ADD, 132, 133) F(SUB, 7, 134) F(DIV, 43, 132) F(MUL, 136, 126) F(NEG, 137)
    F(FMA, 138, 132, 126) F(FMA, 138, 135, 131) F(ADD, 139, 140) F(MUL, 136, 141) N(0x0) B(LT, 0, 143) U(BITS, 11)
    M(0x400) M(0x1) U(SELECT, 144, 146, 147) U(SUB, 148, 145) M(0x34) U(SHL, 149, 150) F(BITS, 151) F(NEG, 152)
    B(LT, 137, 152) F(SELECT, 154, 152, 143) F(SELECT, 144, 153, 155) F(ADD, 137, 156) F(SUB, 156, 157)
    F(ADD, 137, 158) F(ADD, 159, 142) F(ADD, 157, 160) F(SELECT, 144, 143, 155) U(SHL, 145, 150) M(0x47f0000000000000)
    U(ADD, 163, 164) F(BITS, 165) F(SUB, 161, 162) F(MUL, 167, 166) N(0xb7f0000000000000) N(0x37f0000000000000)
    F(SELECT, 144, 169, 170) F(MUL, 171, 168) T(0x1)
};
static const cbx__kinstr POW_F64[] = {
    F(LOAD, 0) F(LOAD, 1) F(ABS, 0) U(BITS, 2) M(0x95f619980c433) U(ADD, 3, 4) M(0x34) U(SHR, 5, 6)
    M(0x4330000000000000) U(OR, 7, 8) F(BITS, 9) N(0xc3300000000003ff) F(ADD, 10, 11) M(0xfffffffffffff) U(AND, 5, 13)
    M(0x3fe6a09e667f3bcd) U(ADD, 14, 15) F(BITS, 16) N(0xbff0000000000000) F(ADD, 17, 18) N(0x4000000000000000)
    F(ADD, 19, 20) N(0xc000000000000000) F(ADD, 21, 22) F(SUB, 19, 23) N(0x3ff0000000000000) F(DIV, 25, 21)
    F(MUL, 19, 26) F(NEG, 27) F(FMA, 28, 21, 19) F(MUL, 27, 24) F(SUB, 29, 30) F(MUL, 26, 31) F(MUL, 27, 27)
    F(MUL, 27, 20) F(NEG, 33) F(FMA, 27, 27, 35) F(FMA, 34, 32, 36) N(0x3fae02fc68c381f4) N(0x3fadf7ca8236e9e1)
    F(FMA, 33, 38, 39) N(0x3fb1118c8814a0b1) F(FMA, 40, 33, 41) N(0x3fb3b1395cf37e45) F(FMA, 42, 33, 43)
    N(0x3fb745d177a9ceba) F(FMA, 44, 33, 45) N(0x3fbc71c71c6ea994) F(FMA, 46, 33, 47) N(0x3fc2492492492522)
    F(FMA, 48, 33, 49) N(0x3fc999999999999a) F(FMA, 50, 33, 51) N(0x3c75555555555555) F(FMA, 33, 52, 53)
    N(0x3fd5555555555555) F(ADD, 54, 55) F(SUB, 55, 56) F(ADD, 54, 57) F(MUL, 33, 56) F(NEG, 59) F(FMA, 33, 56, 60)
    F(MUL, 37, 56) F(FMA, 33, 58, 62) F(ADD, 61, 63) F(MUL, 27, 59) F(NEG, 65) F(FMA, 27, 59, 66) F(MUL, 32, 59)
    F(FMA, 27, 64, 68) F(ADD, 67, 69) F(ADD, 27, 65) F(SUB, 27, 71) F(ADD, 65, 72) F(ADD, 32, 70) F(ADD, 73, 74)
    N(0x40071547652b82fe) F(MUL, 71, 76) F(NEG, 77) F(FMA, 71, 76, 78) F(MUL, 75, 76) N(0x3c8777d0ffda0d24)
    F(FMA, 71, 81, 80) F(ADD, 79, 82) F(ADD, 12, 77) F(SUB, 12, 84) F(ADD, 77, 85) F(ADD, 86, 83) F(MUL, 84, 1)
    F(NEG, 88) F(FMA, 84, 1, 89) F(MUL, 87, 1) F(ADD, 90, 91) N(0x4338000000000000) F(ADD, 88, 93)
    N(0xc338000000000000) F(ADD, 94, 95) F(SUB, 88, 96) F(ADD, 97, 92) F(SUB, 97, 98) F(ADD, 92, 99)
    N(0x3fe62e42fefa39ef) F(MUL, 98, 101) F(ADD, 102, 25) F(NEG, 102) F(FMA, 98, 101, 104) N(0x3c7abc9e3b39803f)
    F(MUL, 98, 106) F(FMA, 100, 101, 107) F(ADD, 105, 108) F(MUL, 98, 98) N(0x3dbc48f8c2305624) N(0x3dfe9d419696e0e9)
    F(FMA, 98, 111, 112) N(0x3e3e4cf1cc5c8b02) F(FMA, 113, 98, 114) N(0x3e7b524fad88ed30) F(FMA, 115, 98, 116)
    N(0x3eb62c022401d5c2) F(FMA, 117, 98, 118) N(0x3eeffcbfc6712438) F(FMA, 119, 98, 120) N(0x3f2430912f86bf4e)
    F(FMA, 121, 98, 122) N(0x3f55d87fe78a526d) F(FMA, 123, 98, 124) N(0x3f83b2ab6fba4e78) F(FMA, 125, 98, 126)
    N(0x3fac6b08d704a0c2) F(FMA, 127, 98, 128) N(0x3fcebfbdff82c58f) F(FMA, 129, 98, 130) F(ADD, 103, 18)
    F(SUB, 102, 132) F(ADD, 133, 109) F(FMA, 110, 131, 134) F(ADD, 103, 135) U(BITS, 94) U(SHL, 137, 6)
    M(0x3ff0000000000000) U(ADD, 138, 139) F(BITS, 140) F(MUL, 136, 141) N(0x3fe0000000000000) F(MUL, 1, 143) N(0x0)
    B(LT, 0, 145) F(RINT, 144) B(NE, 147, 144) B(AND, 146, 148) F(NEG, 142) F(SELECT, 149, 150, 142) U(SHR, 3, 6)
    U(OR, 152, 8) F(BITS, 153) F(ADD, 154, 11) N(0x10000000000000) B(GE, 2, 156) N(0x7fefffffffffffff) B(LE, 2, 158)
    B(AND, 157, 159) F(ABS, 155) F(ADD, 161, 25) F(ABS, 1) F(MUL, 163, 162) N(0x408f400000000000) B(LE, 164, 165)
    B(AND, 160, 166) B(GT, 0, 145) F(RINT, 1) B(EQ, 169, 1) B(OR, 168, 170) B(AND, 171, 167)
};
static const cbx__kinstr ATAN2_F64[] = {
    F(LOAD, 0) F(LOAD, 1) F(ABS, 0) F(ABS, 1) B(GT, 2, 3) F(SELECT, 4, 2, 3) F(SELECT, 4, 3, 2) N(0x3fe0000000000000)
    F(MUL, 5, 7) B(GT, 6, 8) N(0x0) F(SELECT, 9, 5, 10) F(SUB, 6, 11) N(0x8000000000000000) F(SELECT, 9, 6, 13)
    F(ADD, 5, 14) F(SUB, 15, 5) F(SUB, 6, 16) F(SELECT, 9, 17, 10) F(CAST, 9) N(0xbff0000000000000)
    N(0x3ff0000000000000) F(SELECT, 4, 20, 21) N(0x4000000000000000) F(SUB, 23, 19) F(SELECT, 4, 24, 19) B(LT, 1, 10)
    N(0x4010000000000000) F(SUB, 27, 25) F(SELECT, 26, 28, 25) F(NEG, 22) F(SELECT, 26, 30, 22) F(DIV, 21, 15)
    F(MUL, 12, 32) F(MUL, 33, 33) F(NEG, 33) F(FMA, 35, 15, 12) F(FMA, 35, 18, 36) F(MUL, 32, 37) F(MUL, 33, 34)
    N(0xbf82dd40041c2c27) N(0x3f999984c3613cd5) F(FMA, 34, 40, 41) N(0xbfa37ce51c509047) F(FMA, 42, 34, 43)
    N(0x3fa7b1d7856d14a5) F(FMA, 44, 34, 45) N(0xbfaad441c37157fa) F(FMA, 46, 34, 47) N(0x3fae1a795c3fb24f)
    F(FMA, 48, 34, 49) N(0xbfb110ea393fffe2) F(FMA, 50, 34, 51) N(0x3fb3b138e4b5b747) F(FMA, 52, 34, 53)
    N(0xbfb745d16016ea5f) F(FMA, 54, 34, 55) N(0x3fbc71c71c014e0d) F(FMA, 56, 34, 57) N(0xbfc24924924881f5)
    F(FMA, 58, 34, 59) N(0x3fc99999999998e0) F(FMA, 60, 34, 61) N(0xbfd5555555555555) F(FMA, 62, 34, 63)
    F(FMA, 39, 64, 38) N(0x3fe921fb54442d18) F(MUL, 29, 66) F(NEG, 67) F(FMA, 29, 66, 68) N(0x3c81a62633145c07)
    F(FMA, 29, 70, 69) F(FMA, 31, 65, 71) F(FMA, 31, 33, 72) F(ADD, 67, 73) F(COPYSIGN, 74, 0) B(EQ, 0, 0) B(EQ, 1, 1)
    B(AND, 76, 77) N(0x5f138d352e5096af) B(LE, 5, 79) B(AND, 78, 80) N(0x20ca2fe76a3f9475) B(GE, 5, 82) B(AND, 83, 81)
    B(GE, 6, 82) B(EQ, 6, 10) B(OR, 85, 86) B(AND, 87, 84)
};
static const cbx__kinstr HYPOT_F64[] = {
    F(LOAD, 0) F(LOAD, 1) F(ABS, 0) F(ABS, 1) B(GT, 2, 3) F(SELECT, 4, 2, 3) F(SELECT, 4, 3, 2) F(MUL, 6, 6)
    F(FMA, 5, 5, 7) F(SQRT, 8) B(EQ, 0, 0) B(EQ, 1, 1) B(AND, 10, 11) N(0x22de7c5f127bd87e) B(GE, 5, 13)
    B(AND, 12, 14) N(0x5f138d352e5096af) B(LE, 5, 16) B(AND, 17, 15)
};
static const cbx__kinstr LOGADDEXP_F64[] = {
    F(LOAD, 0) F(LOAD, 1) B(GT, 0, 1) F(SELECT, 2, 0, 1) F(SUB, 0, 1) F(ABS, 4) F(NEG, 5) N(0xc087500000000000)
    B(LT, 6, 7) F(SELECT, 8, 7, 6) N(0x4086300000000000) B(GT, 9, 10) F(SELECT, 11, 10, 9) N(0x3ff71547652b82fe)
    N(0x4308000000003ff0) F(FMA, 12, 13, 14) N(0xc308000000003ff0) F(ADD, 15, 16) U(BITS, 15) M(0x1) U(AND, 18, 19)
    M(0x0) B(EQ, 20, 21) M(0x2) U(AND, 18, 23) B(EQ, 24, 21) N(0x3ff306fe0a31b715) N(0x3ff4bfdad5362a27)
    F(SELECT, 22, 26, 27) N(0x3ff0000000000000) N(0x3ff172b83c7d517b) F(SELECT, 22, 29, 30) F(SELECT, 25, 31, 28)
    N(0x3ffae89f995ad3ad) N(0x3ffd5818dcfba487) F(SELECT, 22, 33, 34) N(0x3ff6a09e667f3bcd) N(0x3ff8ace5422aa0db)
    F(SELECT, 22, 36, 37) F(SELECT, 25, 38, 35) M(0x4) U(AND, 18, 40) B(EQ, 41, 21) F(SELECT, 42, 32, 39)
    N(0x3c834d754db0abb6) N(0x3c7690cebb7aafb0) F(SELECT, 22, 44, 45) N(0x0) N(0xbc801b15eaa59348)
    F(SELECT, 22, 47, 48) F(SELECT, 25, 49, 46) N(0x3c8c1a7792cb3387) N(0x3c74a385a63d07a7) F(SELECT, 22, 51, 52)
    N(0xbc93b3efbf5e2229) N(0x3c8db72fc1f0eab4) F(SELECT, 22, 54, 55) F(SELECT, 25, 56, 53) F(SELECT, 42, 50, 57)
    F(NEG, 17) N(0x3fe62e42fefa39ef) F(FMA, 59, 60, 12) N(0x3c7abc9e3b39803f) F(FMA, 59, 62, 58) F(ADD, 61, 63)
    N(0x3fe71547652b82fe) N(0x43380000000003ff) F(FMA, 12, 65, 66) U(BITS, 67) M(0x34) U(SHL, 68, 69) F(BITS, 70)
    F(MUL, 43, 71) N(0x3f2a01f5750a7797) N(0x3f56c1cc1d4b606c) F(FMA, 64, 73, 74) N(0x3f81111110b1f57a)
    F(FMA, 75, 64, 76) N(0x3fa55555547f56e3) F(FMA, 77, 64, 78) N(0x3fc55555555555ce) F(FMA, 79, 64, 80)
    N(0x3fe000000000010f) F(FMA, 81, 64, 82) F(MUL, 64, 64) F(FMA, 84, 83, 64) F(FMA, 72, 85, 72) M(0x3)
    U(SHR, 18, 87) U(SUB, 88, 68) U(SHL, 89, 69) F(BITS, 90) F(MUL, 86, 91) F(ADD, 92, 29) N(0xbff0000000000000)
    F(ADD, 93, 94) F(SUB, 95, 93) F(ADD, 96, 29) F(SUB, 92, 95) F(ADD, 98, 97) U(BITS, 93) M(0x95f619980c433)
    U(ADD, 100, 101) U(SHR, 102, 69) M(0x4330000000000000) U(OR, 103, 104) F(BITS, 105) N(0xc3300000000003ff)
    F(ADD, 106, 107) M(0xfffffffffffff) U(AND, 102, 109) M(0x3fe6a09e667f3bcd) U(ADD, 110, 111) F(BITS, 112)
    F(ADD, 113, 94) M(0xfff0000000000000) U(AND, 102, 115) M(0x7fe0000000000000) U(SUB, 117, 116) F(BITS, 118)
    F(MUL, 99, 119) F(ADD, 114, 120) F(SUB, 114, 121) F(ADD, 120, 122) N(0x4000000000000000) F(ADD, 121, 124)
    F(DIV, 121, 125) N(0x3fe0000000000000) F(MUL, 121, 127) F(MUL, 121, 128) F(MUL, 126, 126) N(0x3fc2b59b713616c9)
    N(0x3fc39fe42e9740a7) F(FMA, 130, 131, 132) N(0x3fc7462b58e46ebe) F(FMA, 133, 130, 134) N(0x3fcc71c62e26208b)
    F(FMA, 135, 130, 136) N(0x3fd2492492df3ba9) F(FMA, 137, 130, 138) N(0x3fd99999999952cc) F(FMA, 139, 130, 140)
    N(0x3fe5555555555558) F(FMA, 141, 130, 142) F(FMA, 130, 143, 129) N(0x3dea39ef35793c76) F(FMA, 108, 145, 123)
    F(FMA, 126, 144, 146) F(SUB, 129, 147) F(SUB, 121, 148) N(0x3fe62e42fee00000) F(FMA, 108, 150, 149) B(EQ, 92, 47)
    F(SELECT, 152, 92, 151) F(ADD, 3, 153) B(EQ, 4, 4)
};
static const cbx__kinstr REM_F64[] = {
    F(LOAD, 0) F(LOAD, 1) F(DIV, 0, 1) F(TRUNC, 2) F(NEG, 3) F(FMA, 4, 1, 0) F(ABS, 1) N(0x0) B(LT, 0, 7) B(GT, 5, 7)
    F(SELECT, 9, 6, 7) B(LT, 5, 7) N(0x8000000000000000) F(SELECT, 11, 6, 12) F(NEG, 10) F(SELECT, 8, 14, 13)
    F(ADD, 5, 15) F(COPYSIGN, 16, 0) B(LT, 1, 7) B(NOT, 18) B(LT, 17, 7) B(XOR, 19, 20) F(SELECT, 21, 12, 1)
    F(ADD, 17, 22) B(EQ, 1, 7) B(EQ, 17, 7) F(COPYSIGN, 7, 1) F(SELECT, 25, 26, 23) F(SELECT, 24, 17, 27)
    N(0x10000000000000) B(GE, 6, 29) F(ABS, 0) N(0x4320000000000000) F(MUL, 6, 32) B(LE, 31, 33) B(AND, 30, 34)
    N(0x7e37e43c8800759c) B(LE, 6, 36) B(AND, 37, 35)
};
static const cbx__kinstr FLOOR_DIV_F64[] = {
    F(LOAD, 0) F(LOAD, 1) F(DIV, 0, 1) F(TRUNC, 2) F(NEG, 3) F(FMA, 4, 1, 0) F(ABS, 1) N(0x0) B(LT, 0, 7) B(GT, 5, 7)
    F(SELECT, 9, 6, 7) B(LT, 5, 7) N(0x8000000000000000) F(SELECT, 11, 6, 12) F(NEG, 10) F(SELECT, 8, 14, 13)
    F(ADD, 5, 15) F(COPYSIGN, 16, 0) F(SUB, 0, 17) F(DIV, 18, 1) B(NE, 17, 7) B(LT, 1, 7) B(NOT, 21) B(LT, 17, 7)
    B(XOR, 22, 23) N(0xbff0000000000000) F(ADD, 19, 25) F(SELECT, 24, 19, 26) F(SELECT, 20, 27, 19) F(FLOOR, 28)
    F(SUB, 28, 29) N(0x3fe0000000000000) B(GT, 30, 31) N(0x3ff0000000000000) F(ADD, 29, 33) F(SELECT, 32, 34, 29)
    B(EQ, 1, 7) B(EQ, 28, 7) F(COPYSIGN, 7, 2) F(SELECT, 37, 38, 35) F(SELECT, 36, 2, 39) N(0x10000000000000)
    B(GE, 6, 41) F(ABS, 0) N(0x4320000000000000) F(MUL, 6, 44) B(LE, 43, 45) B(AND, 42, 46) N(0x7e37e43c8800759c)
    B(LE, 6, 48) B(AND, 49, 47)
};
#undef FLOAT
#undef UNSIGNED
#undef SIGNED

#undef F
#undef U
#undef I
#undef B
#undef N
#undef M
#undef T

static const cbx__kformula formulas[CBX_PRIM_LIMIT][2] = { /* of float32, float64 */
#define FORMULA(name, t, result, inside) { name##_##t, sizeof name##_##t / sizeof name##_##t[0], result, inside }
    [CBX_PRIM_EXP] = { FORMULA(EXP, F32, 51, 52), FORMULA(EXP, F64, 86, 87) },
    [CBX_PRIM_EXP2] = { FORMULA(EXP2, F32, 27, 30), FORMULA(EXP2, F64, 39, 42) },
    [CBX_PRIM_EXPM1] = { FORMULA(EXPM1, F32, 46, 49), FORMULA(EXPM1, F64, 56, 59) },
    [CBX_PRIM_LOG] = { FORMULA(LOG, F32, 37, 42), FORMULA(LOG, F64, 46, 51) },
    [CBX_PRIM_LOG2] = { FORMULA(LOG2, F32, 35, 40), FORMULA(LOG2, F64, 57, 62) },
    [CBX_PRIM_LOG10] = { FORMULA(LOG10, F32, 38, 43), FORMULA(LOG10, F64, 61, 66) },
    [CBX_PRIM_LOG1P] = { FORMULA(LOG1P, F32, 55, 59), FORMULA(LOG1P, F64, 64, 68) },
    [CBX_PRIM_SIN] = { FORMULA(SIN, F32, 61, 64), FORMULA(SIN, F64, 73, 76) },
    [CBX_PRIM_COS] = { FORMULA(COS, F32, 60, 63), FORMULA(COS, F64, 72, 75) },
    [CBX_PRIM_TAN] = { FORMULA(TAN, F32, 70, 73), FORMULA(TAN, F64, 82, 85) },
    [CBX_PRIM_ASIN] = { FORMULA(ASIN, F32, 43, 44), FORMULA(ASIN, F64, 59, 60) },
    [CBX_PRIM_ACOS] = { FORMULA(ACOS, F32, 50, 51), FORMULA(ACOS, F64, 66, 67) },
    [CBX_PRIM_ATAN] = { FORMULA(ATAN, F32, 47, 49), FORMULA(ATAN, F64, 61, 63) },
    [CBX_PRIM_SINH] = { FORMULA(SINH, F32, 49, 51), FORMULA(SINH, F64, 59, 61) },
    [CBX_PRIM_COSH] = { FORMULA(COSH, F32, 48, 50), FORMULA(COSH, F64, 58, 60) },
    [CBX_PRIM_TANH] = { FORMULA(TANH, F32, 65, 67), FORMULA(TANH, F64, 75, 77) },
    [CBX_PRIM_ASINH] = { FORMULA(ASINH, F32, 63, 65), FORMULA(ASINH, F64, 72, 74) },
    [CBX_PRIM_ACOSH] = { FORMULA(ACOSH, F32, 60, 64), FORMULA(ACOSH, F64, 69, 73) },
    [CBX_PRIM_ATANH] = { FORMULA(ATANH, F32, 44, 46), FORMULA(ATANH, F64, 53, 55) },
    [CBX_PRIM_CBRT] = { FORMULA(CBRT, F32, 74, 78), FORMULA(CBRT, F64, 79, 83) },
    [CBX_PRIM_ERFC] = { FORMULA(ERFC, F32, 137, 138), FORMULA(ERFC, F64, 172, 173) },
    [CBX_PRIM_POW] = { FORMULA(POW, F32, 128, 149), FORMULA(POW, F64, 151, 172) },
    [CBX_PRIM_ATAN2] = { FORMULA(ATAN2, F32, 61, 74), FORMULA(ATAN2, F64, 75, 88) },
    [CBX_PRIM_HYPOT] = { FORMULA(HYPOT, F32, 9, 18), FORMULA(HYPOT, F64, 9, 18) },
    [CBX_PRIM_LOGADDEXP] = { FORMULA(LOGADDEXP, F32, 109, 110), FORMULA(LOGADDEXP, F64, 154, 155) },
    [CBX_PRIM_REM] = { FORMULA(REM, F32, 28, 38), FORMULA(REM, F64, 28, 38) },
    [CBX_PRIM_FLOOR_DIV] = { FORMULA(FLOOR_DIV, F32, 40, 50), FORMULA(FLOOR_DIV, F64, 40, 50) },
#undef FORMULA
};
/* clang-format on */

#endif
