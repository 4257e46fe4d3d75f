/* What the algebras do with two elements, at the start and at the end; included once a float type.
 * `step` is a constant wherever these are inlined.  Expects SFX. */

DEVICE T OF(start)(int step) { return step == STEP_MAX ? -INF : step == STEP_MIN ? INF : (T)0; }
DEVICE T OF(empty)(int step) { return OF(start)(step); }
DEVICE int OF(known)(T d) { return (void)d, 0; }

/* careful: a NaN may take part */
DEVICE T OF(step)(int step, int careful, T acc, T x, T y)
{
    if (step == STEP_FMA) return OF(fma)(x, y, acc);
    if (step == STEP_SQUARE) {
        const T d = x - y;
        return OF(fma)(d, d, acc);
    }
    const T t = x + y;
    if (careful || !CAREFUL(step)) return step == STEP_MAX ? OF(max_nan)(acc, t) : OF(min_nan)(acc, t);
    return (step == STEP_MAX ? t > acc : t < acc) ? t : acc;
}

DEVICE int OF(odd)(int step, T x) { return step == STEP_MAX ? !(x < INF) : !(x > -INF); }
DEVICE T OF(finalize)(int step, int raw, T acc) { return step == STEP_SQUARE && !raw ? OF(sqrt)(acc) : acc; }

/* Two parts of a fold, the earlier one first. */
DEVICE T OF(both)(int step, T x, T y)
{
    return step == STEP_MAX ? OF(max_nan)(x, y) : step == STEP_MIN ? OF(min_nan)(x, y) : x + y;
}

/* D joined by the algebra's update */
DEVICE T OF(merge)(int step, int raw, T d, T x)
{
    if (step == STEP_MAX) return OF(max_nan)(d, x);
    if (step == STEP_MIN) return OF(min_nan)(d, x);
    return step == STEP_SQUARE && !raw ? OF(sqrt)(d * d + x * x) : d + x;
}
