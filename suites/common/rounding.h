/* Numbers with fewer bits, for mutants: Veltkamp's splitting (Numer. Math. 18 (1971) 224), round to
 * nearest. 11 bits are those of a half and of TF32, 8 those of bfloat16; the exponent keeps its
 * range. */
#ifndef SUITES_COMMON_ROUNDING_H
#define SUITES_COMMON_ROUNDING_H

static inline float cbx__suite_bits_f32(float x, int bits)
{
    const float c = (float)((1u << (24 - bits)) + 1) * x;
    return c - (c - x);
}

static inline double cbx__suite_bits_f64(double x, int bits)
{
    const double c = (double)((1ull << (53 - bits)) + 1) * x;
    return c - (c - x);
}

#endif
