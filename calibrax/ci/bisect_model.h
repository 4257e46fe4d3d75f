/*
 * The arithmetic of the search: probabilities of the candidates, and what a value would tell.
 */
#ifndef CALIBRAX_CI_BISECT_MODEL_H
#define CALIBRAX_CI_BISECT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Count, sum and sum of squares of values about a common origin. */
typedef struct cbx__moments {
    double n, sum, squares;
} cbx__moments;

/* A set of candidates as bits. */
typedef struct cbx__rows {
    size_t n, words;
    uint64_t *bits; /* row i: i and its ancestors */
} cbx__rows;

static inline bool cbx__rows_has(const cbx__rows *r, size_t row, size_t i)
{
    return r->bits[row * r->words + i / 64] >> (i % 64) & 1;
}

void cbx__moments_add(cbx__moments *m, double x);
/* Squares about the mean; never below 0. */
double cbx__moments_spread(const cbx__moments *m);

/* Two groups as the posterior of a hypothesis sees them. */
typedef struct cbx__fit {
    double difference, error, noise, log_weight;
} cbx__fit;

/* Means, their difference and the weight of "these are the two groups"; both have n >= 1, together
 * n >= 3. */
void cbx__fit_groups(const cbx__moments *good, const cbx__moments *bad, cbx__fit *out);
/* Bayes factor of two means against one; each group has n >= 2. */
double cbx__fit_odds(const cbx__moments *good, const cbx__moments *bad);
/*
 * Probability that `launches` values of each group come to such odds, going by those that are
 * there: the predictive power of Spiegelhalter, Freedman & Blackburn (Controlled Clin. Trials 7
 * (1986) 8-17), of a flat prior on the difference and the noise as seen.  0: no value may follow.
 */
double cbx__fit_hope(const cbx__moments *good, const cbx__moments *bad, double launches, double odds);

/* The moments of both groups if candidate h is the first bad commit. */
void cbx__split_at(const cbx__rows *rows, const cbx__moments *good_end, const cbx__moments *at, size_t h,
                   cbx__moments *good, cbx__moments *bad);
/*
 * P(h) of every candidate.
 * @param at  moments of each candidate, n of them; n 0: nothing measured there
 * @param p   n values, sum 1
 */
void cbx__posterior(const cbx__rows *rows, const cbx__moments *good_end, const cbx__moments *at, double *p);
/* Probability that candidate c is bad. */
double cbx__bad_probability(const cbx__rows *rows, const double *p, size_t c);
/* [nat] Mutual information of a coin of probability p and a value N(0, 1) or N(d, 1) by how it
 * falls; d >= 0. */
double cbx__gain(double p, double d);

#endif
