/*
 * The detector on series of the kinds that people who gate on them have published, seeds fixed:
 * what it proposes, and what is left once each proposal has been measured again.
 * CALIBRAX_LONG_TESTS=1 takes ten times as many series (`make detector-study`;
 * docs/explanation/changepoints.md).
 *
 * Kinds: of SAP HANA's performance tests (Bach, Lv & Le, "Performance Regression Data Set",
 * classification: stable, regression, depending on the build, spikes, high deviation; several
 * measurements a build; 117 to 2462 values), of Mozilla's (levels that come and go, two modes), and
 * the drift and launch modes that nperf sees.  Scores: precision, recall and F1 of changes within 5
 * values, and covering, as van den Burg & Williams, "An evaluation of change point detection
 * algorithms" (2020) define them, over all series of a kind.
 */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/analysis/changepoint.h"
#include "calibrax/base/rng.h"
#include "counted.h"

#define LONGEST   600
#define MARGIN    5
#define LAUNCHES  21
#define THRESHOLD 0.02

static cbx_err err;

typedef struct kind {
    const char *name;
    double noise, build, spikes,
        slow;               /* cv of a value; of a build; share of spikes; share of launches in a mode 30 % slower */
    double every, min, max; /* a step each so many values, 0: never; its size */
    double drift;           /* over the whole series */
    double phi;             /* AR(1) of the noise */
    /* what the tests hold it to: false changes in 1000 values as proposed and confirmed, recall
     * of both */
    double false_proposed, false_confirmed, recall_proposed, recall_confirmed;
} kind;

static const kind kinds[] = {
    { "stable", 0.03, 0, 0, 0, 0, 0, 0, 0, 0, 0.05, 0.02, 0, 0 },
    { "autocorrelated, 0.3", 0.03, 0, 0, 0, 0, 0, 0, 0, 0.3, 0.05, 0.02, 0, 0 },
    { "high deviation", 0.15, 0, 0, 0, 0, 0, 0, 0, 0, 0.05, 0.02, 0, 0 },
    { "spikes", 0.02, 0, 0.02, 0, 0, 0, 0, 0, 0, 0.3, 0.02, 0, 0 },
    { "two modes", 0.01, 0, 0, 0.12, 0, 0, 0, 0, 0, 0.5, 0.02, 0, 0 },
    { "by the build", 0.01, 0.02, 0, 0, 0, 0, 0, 0, 0, 0.1, 0.02, 0, 0 },
    { "drift", 0.02, 0, 0, 0, 0, 0, 0, 0.1, 0, 12, 0.1, 0, 0 },
    { "regression", 0.03, 0, 0, 0, 250, 0.05, 0.25, 0, 0, 0.1, 0.02, 0.98, 0.95 },
    { "regression, high deviation", 0.15, 0, 0, 0, 250, 0.3, 0.8, 0, 0, 0.1, 0.02, 0.98, 0.9 },
    { "regression, spikes", 0.02, 0, 0.02, 0, 250, 0.05, 0.25, 0, 0, 0.3, 0.05, 0.98, 0.98 },
    { "regression, by the build", 0.01, 0.02, 0, 0, 250, 0.05, 0.25, 0, 0, 0.2, 0.02, 0.95, 0.95 },
    { "levels that come and go", 0.03, 0, 0, 0, 60, 0.08, 0.25, 0, 0, 0.05, 0.02, 0.98, 0.98 },
};

/* A series, its levels, and the changes in it. */
typedef struct series {
    double x[LONGEST], level[LONGEST];
    size_t n, change[LONGEST], nchanges;
} series;

static double uniform(cbx_rng *rng, double low, double high) { return low + (high - low) * cbx_rng_uniform(rng); }

/* One value about 1, of a launch of its own. */
static double value(const kind *k, double normal, cbx_rng *rng)
{
    double v = exp(k->noise * normal);

    if (cbx_rng_uniform(rng) < k->spikes) v *= uniform(rng, 1.3, 3);
    if (cbx_rng_uniform(rng) < k->slow) v *= 1.3;
    return v;
}

static void make(const kind *k, cbx_rng *rng, series *s)
{
    double level = 100, build = 1, ar = cbx_rng_normal(rng);
    size_t left = 0, since = 0;

    s->n = 120 + (size_t)cbx_rng_below(rng, LONGEST - 120);
    s->nchanges = 0;
    for (size_t i = 0; i < s->n; i++, since++) {
        /* far enough from the ends and from each other to be seen by anybody */
        if (k->every > 0 && since >= 20 && s->n - i >= 20 && cbx_rng_uniform(rng) < 1 / (k->every - 20)) {
            double step = 1 + uniform(rng, k->min, k->max);
            level *= cbx_rng_uniform(rng) < 0.5 ? step : 1 / step;
            s->change[s->nchanges++] = i;
            since = 0;
        }
        if (left-- == 0) {
            left = (size_t)cbx_rng_below(rng, 6);
            build = exp(k->build * cbx_rng_normal(rng));
        }
        ar = k->phi * ar + sqrt(1 - k->phi * k->phi) * cbx_rng_normal(rng);
        s->level[i] = level * (1 + k->drift * (double)i / (double)s->n);
        s->x[i] = s->level[i] * build * value(k, ar, rng);
    }
}

/* --- confirming --- */

/* Launches of a revision, built again each: what depended on one build is noise of the
 * launch now. */
static void launches(const kind *k, double level, cbx_rng *rng, double *out)
{
    for (int i = 0; i < LAUNCHES; i++)
        out[i] = level * exp(k->build * cbx_rng_normal(rng)) * value(k, cbx_rng_normal(rng), rng);
}

/* Both sides of a proposal measured again: the revisions in the middle of a segment beside it, at
 * most 5 values away. */
static bool is(const kind *k, const series *s, size_t at, cbx_rng *rng)
{
    double before[LAUNCHES], after[LAUNCHES];
    cbx_verdict v;

    launches(k, s->level[at >= MARGIN ? at - MARGIN : 0], rng, before);
    launches(k, s->level[at + MARGIN < s->n ? at + MARGIN : s->n - 1], rng, after);
    CHECK_OK(cbx_change_confirm(ctx, before, LAUNCHES, after, LAUNCHES, 0.95, THRESHOLD, &v, NULL, &err), &err,
             k->name);
    return v == CBX_VERDICT_SLOWER || v == CBX_VERDICT_FASTER;
}

/* --- scores --- */

typedef struct score {
    size_t values, changes, found, reported, alarmed, nseries;
    double covering;
} score;

static size_t distance(size_t a, size_t b) { return a > b ? a - b : b - a; }

/* Each change is found by one report, and each report finds one change. */
static size_t hits(const series *s, const size_t *reported, size_t n)
{
    size_t found = 0, next = 0;

    for (size_t i = 0; i < s->nchanges; i++) {
        while (next < n && reported[next] + MARGIN < s->change[i]) next++;
        if (next < n && distance(reported[next], s->change[i]) <= MARGIN) {
            found++;
            next++;
        }
    }
    return found;
}

/* Share of the values that true segments have in common with the best of the reported ones. */
static double covering(const series *s, const size_t *reported, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i <= s->nchanges; i++) {
        size_t a = i ? s->change[i - 1] : 0, b = i < s->nchanges ? s->change[i] : s->n;
        double best = 0;
        for (size_t k = 0; k <= n; k++) {
            size_t c = k ? reported[k - 1] : 0, d = k < n ? reported[k] : s->n;
            size_t low = a > c ? a : c, high = b < d ? b : d;
            double common = high > low ? (double)(high - low) : 0;
            best = fmax(best, common / ((double)(b - a) + (double)(d - c) - common));
        }
        sum += best * (double)(b - a);
    }
    return sum / (double)s->n;
}

static void add(score *to, const series *s, const size_t *reported, size_t n)
{
    to->nseries++;
    to->values += s->n;
    to->changes += s->nchanges;
    to->found += hits(s, reported, n);
    to->reported += n;
    to->alarmed += n > 0;
    to->covering += covering(s, reported, n);
}

static double share(size_t a, size_t b) { return b ? (double)a / (double)b : NAN; }
static double false_in_1000(const score *s) { return 1000 * share(s->reported - s->found, s->values); }

static void tell(const char *name, const char *stage, const score *s)
{
    double precision = share(s->found, s->reported), recall = share(s->found, s->changes);

    print_message("# %-27s %-9s false in 1000 values %6.3f, series that alarm %5.1f %%, precision %.3f, recall %.3f, "
                  "F1 %.3f, covering %.3f\n",
                  name, stage, false_in_1000(s), 100 * share(s->alarmed, s->nseries), precision, recall,
                  2 * precision * recall / (precision + recall), s->covering / (double)s->nseries);
}

TEST(by_kind)
{
    size_t nseries = getenv("CALIBRAX_LONG_TESTS") ? 2000 : 200;

    for (size_t k = 0; k < CBX_LEN(kinds); k++) {
        cbx_rng rng = cbx_rng_make(11, k);
        score proposed = { 0 }, confirmed = { 0 };
        for (size_t i = 0; i < nseries; i++) {
            static series s;
            static cbx_change found[LONGEST];
            size_t reported[LONGEST], left[LONGEST], n = 0, m = 0;
            make(&kinds[k], &rng, &s);
            CHECK_OK(cbx_changes_detect(ctx, s.x, s.n, 3, found, &n, &err), &err, kinds[k].name);
            for (size_t j = 0; j < n; j++) {
                reported[j] = found[j].index;
                if (is(&kinds[k], &s, reported[j], &rng)) left[m++] = reported[j];
            }
            add(&proposed, &s, reported, n);
            add(&confirmed, &s, left, m);
        }
        tell(kinds[k].name, "proposed", &proposed);
        tell(kinds[k].name, "confirmed", &confirmed);
        CHECK_LE(false_in_1000(&proposed), kinds[k].false_proposed, kinds[k].name);
        CHECK_LE(false_in_1000(&confirmed), kinds[k].false_confirmed, kinds[k].name);
        if (!kinds[k].every) continue;
        CHECK_GT(share(proposed.found, proposed.changes), kinds[k].recall_proposed, kinds[k].name);
        CHECK_GT(share(confirmed.found, confirmed.changes), kinds[k].recall_confirmed, kinds[k].name);
    }
}

/* A value or two that stand out are no level, three are, and a step is one however large, also at
 * the end. */
TEST(spikes_by_hand)
{
    static const struct {
        size_t from, n, min_segment, changes;
        const char *why;
    } cases[] = {
        { 30, 1, 3, 0, "one value" },
        { 30, 2, 3, 0, "two values" },
        { 30, 3, 3, 2, "three are a level that comes and goes" },
        { 30, 2, 2, 2, "two are, where a segment may be as short" },
        { 1, 1, 3, 0, "the second value" },
        { 58, 1, 3, 0, "the last but one" },
        { 57, 3, 3, 1, "three at the end are a step" },
        { 30, 30, 3, 1, "a step" },
    };

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        double x[60];
        cbx_change found[60];
        size_t n = 0;
        for (size_t k = 0; k < 60; k++)
            x[k] = (100 + (double)(7 * k % 11) / 10) *
                   (k >= cases[i].from && k < cases[i].from + cases[i].n ? 2.0 + 0.01 * (double)(k % 3) : 1);
        CHECK_OK(cbx_changes_detect(ctx, x, 60, cases[i].min_segment, found, &n, &err), &err, cases[i].why);
        CHECK_INT(n, cases[i].changes, cases[i].why);
    }
}

/* The scores themselves, on what can be counted by hand. */
TEST(scores_by_hand)
{
    static series s = { .n = 100, .change = { 50 }, .nchanges = 1 };
    static const size_t exact[] = { 50 }, near[] = { 45, 52, 80 }, far[] = { 56 };
    score to = { 0 };

    CHECK_INT(hits(&s, exact, 1), 1, "found");
    CHECK_INT(hits(&s, near, 3), 1, "found once");
    CHECK_INT(hits(&s, far, 1), 0, "6 values away");
    CHECK(covering(&s, exact, 1) == 1, "all");
    CHECK(covering(&s, NULL, 0) == 0.5, "both halves have half in common with the whole");
    add(&to, &s, near, 3);
    CHECK(share(to.found, to.reported) == 1.0 / 3 && false_in_1000(&to) == 20, "two of three are false");
}

TESTS(.before = counted_setup, .after = counted_teardown)
