/*
 * See bisect.h for the model.  Everything works on sums over commits, so that a candidate costs one
 * visit of the commits that were measured, a few dozen, and never one over the values.
 */
#include "calibrax/ci/bisect_model.h"

#include <math.h>

/* A spread below this, relative to that of all values, is no noise but the sums' last digits:
 * constant counts stay comparable. */
#define MIN_NOISE 1e-6

void cbx__moments_add(cbx__moments *m, double x)
{
    m->n += 1;
    m->sum += x;
    m->squares += x * x;
}

double cbx__moments_spread(const cbx__moments *m)
{
    return m->n > 0 ? fmax(0, m->squares - m->sum * m->sum / m->n) : 0;
}

/* Squares about the two means, kept away from 0. */
static double within(const cbx__moments *a, const cbx__moments *b)
{
    double n = a->n + b->n, scale = (a->squares + b->squares) / n;
    double floor = n * MIN_NOISE * MIN_NOISE * fmax(scale, MIN_NOISE * MIN_NOISE);
    return fmax(cbx__moments_spread(a) + cbx__moments_spread(b), floor);
}

void cbx__fit_groups(const cbx__moments *good, const cbx__moments *bad, cbx__fit *out)
{
    double n = good->n + bad->n, s = within(good, bad);

    out->difference = bad->sum / bad->n - good->sum / good->n;
    out->noise = sqrt(s / (n - 2));
    out->error = out->noise * sqrt(1 / good->n + 1 / bad->n);
    out->log_weight = -0.5 * log(good->n * bad->n) - 0.5 * (n - 2) * log(s);
}

/* Goenen et al. (2005), equation 3, with prior variance 1 of the effect size. */
static double odds_of(double t2, double ngood, double nbad)
{
    double nu = ngood + nbad - 2, ne = ngood * nbad / (ngood + nbad);

    return exp(-0.5 * log1p(ne) + 0.5 * (nu + 1) * (log1p(t2 / nu) - log1p(t2 / (nu * (1 + ne)))));
}

double cbx__fit_odds(const cbx__moments *good, const cbx__moments *bad)
{
    cbx__fit f;

    cbx__fit_groups(good, bad, &f);
    return odds_of(f.difference * f.difference / (f.error * f.error), good->n, bad->n);
}

/* In units of the last difference's error, that difference is normal about the present one. */
double cbx__fit_hope(const cbx__moments *good, const cbx__moments *bad, double launches, double odds)
{
    double ne = good->n * bad->n / (good->n + bad->n), growth = 0.5 * launches / ne, mean, spread, needed;
    cbx__fit f;

    if (!(growth > 1)) return 0;
    cbx__fit_groups(good, bad, &f);
    mean = fabs(f.difference) / f.error * sqrt(growth);
    spread = sqrt(2 * (growth - 1));
    /* The |t| of n values each at which the odds are so: they grow with it. */
    double low = 0, high = 1;

    while (odds_of(high * high, launches, launches) < odds && high < 1e6) high *= 2;
    for (int i = 0; i < 40; i++) {
        double middle = 0.5 * (low + high);
        if (odds_of(middle * middle, launches, launches) < odds)
            low = middle;
        else
            high = middle;
    }
    needed = high;
    return 0.5 * (erfc((needed - mean) / spread) + erfc((needed + mean) / spread));
}

void cbx__split_at(const cbx__rows *rows, const cbx__moments *good_end, const cbx__moments *at, size_t h,
                   cbx__moments *good, cbx__moments *bad)
{
    *good = *good_end;
    *bad = (cbx__moments){ 0, 0, 0 };
    for (size_t c = 0; c < rows->n; c++) {
        if (!(at[c].n > 0)) continue;
        cbx__moments *to = cbx__rows_has(rows, c, h) ? bad : good;
        to->n += at[c].n;
        to->sum += at[c].sum;
        to->squares += at[c].squares;
    }
}

void cbx__posterior(const cbx__rows *rows, const cbx__moments *good_end, const cbx__moments *at, double *p)
{
    double best = -INFINITY, total = 0;

    for (size_t h = 0; h < rows->n; h++) {
        cbx__moments good, bad;
        cbx__fit f;
        cbx__split_at(rows, good_end, at, h, &good, &bad);
        cbx__fit_groups(&good, &bad, &f);
        p[h] = f.log_weight;
        if (p[h] > best) best = p[h];
    }
    for (size_t h = 0; h < rows->n; h++) total += p[h] = exp(p[h] - best);
    for (size_t h = 0; h < rows->n; h++) p[h] /= total;
}

double cbx__bad_probability(const cbx__rows *rows, const double *p, size_t c)
{
    const uint64_t *row = rows->bits + c * rows->words;
    double sum = 0;

    for (size_t w = 0; w < rows->words; w++) {
        for (uint64_t left = row[w]; left; left &= left - 1) sum += p[w * 64 + (size_t)__builtin_ctzll(left)];
    }
    return fmin(sum, 1);
}

static double normal_density(double x) { return exp(-0.5 * x * x) * 0.3989422804014327; /* 1/sqrt(2 pi) */ }

/* Integral over y of sum_k w_k f_k(y) log(f_k(y)/f(y)), trapezoids over 6 deviations: exact to
 * 1e-8, f being smooth and small at the ends. */
double cbx__gain(double p, double d)
{
    enum { STEPS = 96 };
    double low = -6, high = d + 6, h = (high - low) / STEPS, sum = 0;

    if (!(p > 0) || !(p < 1)) return 0;
    for (int i = 0; i <= STEPS; i++) {
        double y = low + i * h, good = normal_density(y), bad = normal_density(y - d), mix = (1 - p) * good + p * bad;
        if (good > 0) sum += h * (1 - p) * good * log(good / mix);
        if (bad > 0) sum += h * p * bad * log(bad / mix);
    }
    return fmax(sum, 0);
}
