/* exp of float64 as NAME, of a number or of a vector of them. Included with these defined: T, U
 * (the unsigned integers of its bits), FMA, BITS, FROM_BITS, CLAMP (into the range outside of which
 * exp is 0 or infinity; NaN stays), OF_EIGHT (one of eight numbers, by the lowest 3 bits of a U).
 *
 * x = k ln2 + r with k = n + j/8 and |r| <= ln2/16; x - k (ln2 as a number) is exact. e^x = 2^n h
 * e^(r+d) with 2^(j/8) = h e^d. What rounds by much is r + d, e^(r+d) - 1, and the last step: at
 * most 0.6 units. 2^n is two factors, so that the second product rounds to subnormal numbers, 0 and
 * infinity. The numbers are from tests/array/fit_exp.py. */
INLINE T NAME(T x)
{
    const T zero = { 0 }, b = CLAMP(x), log2e = zero + 1.44269504088896340736;
    const T magic = zero + (0x1.8p49 + 2 * 1023), t = FMA(b, log2e, magic), k = t - magic;
    const T h = OF_EIGHT(BITS(t), 1.0, 0x1.172b83c7d517bp+0, 0x1.306fe0a31b715p+0, 0x1.4bfdad5362a27p+0,
                         0x1.6a09e667f3bcdp+0, 0x1.8ace5422aa0dbp+0, 0x1.ae89f995ad3adp+0, 0x1.d5818dcfba487p+0);
    const T d = OF_EIGHT(BITS(t), 0.0, -0x1.01b15eaa59348p-55, 0x1.34d754db0abb6p-55, 0x1.690cebb7aafb0p-56,
                         -0x1.3b3efbf5e2229p-54, 0x1.db72fc1f0eab4p-55, 0x1.c1a7792cb3387p-55, 0x1.4a385a63d07a7p-56);
    const T r = FMA(-k, zero + 0x1.62e42fefa39efp-1, b) + FMA(-k, zero + 0x1.abc9e3b39803fp-56, d);
    const U half = BITS(FMA(b, log2e / 2, zero + (0x1.8p52 + 1023))); /* about n/2, and the bias of exponents */
    const T high = h * FROM_BITS(half << 52);
    T q = FMA(r, zero + 0x1.a01f5750a7797p-13, zero + 0x1.6c1cc1d4b606cp-10); /* (e^r - 1 - r) / r^2 */
    q = FMA(q, r, zero + 0x1.1111110b1f57ap-7);
    q = FMA(q, r, zero + 0x1.55555547f56e3p-5);
    q = FMA(q, r, zero + 0x1.55555555555cep-3);
    q = FMA(q, r, zero + 0x1.000000000010fp-1);
    const T y = FMA(high, FMA(r * r, q, r), high);
    return y * FROM_BITS(((BITS(t) >> 3) - half) << 52);
}

#undef T
#undef U
#undef NAME
#undef FMA
#undef BITS
#undef FROM_BITS
#undef CLAMP
#undef OF_EIGHT
