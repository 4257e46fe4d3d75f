/**
 * How often the verdicts are wrong: false alarms among equals, and slow-downs found, by resampling
 * recorded launches.
 *
 * A pool holds the launch medians of one program measured as two attempts in interleaved rounds.  A
 * comparison draws launches of a pool without replacement, deals them to two sides that are equal
 * by construction, and asks the same engines that judge rows and gates:
 *
 *   row   `pairs` rounds; in each, the toss of a coin chooses the launch of the two that is the
 *         candidate's.  Paired ratio with its interval and verdict, as a row has it.  "faster" or
 *         "slower" is a false alarm.
 *   gate  `launches` a side among all launches of both attempts.  cbx_row_gate with its defaults.
 *         "regressed" or "improved" is.
 *
 * A table is `rows` such comparisons, the pools in turn, corrected by Holm as a run's table and a
 * gate are; it alarms if any row does.  Rates come with Clopper & Pearson's interval at 95 %.
 * Draws of one pool are independent given the pool: the rate is that of programs whose launches
 * vary as the recorded ones did.  The same seed gives the same counts.
 *
 * Plug-in promise: experimental.
 */
#ifndef CALIBRAX_PERF_GATE_PROOF_H
#define CALIBRAX_PERF_GATE_PROOF_H

#include "calibrax/storage/row.h"

CBX_BEGIN_DECLS

typedef struct cbx_proof_pool {
    const char *name;
    /* [s] launch medians of the two attempts, all finite and > 0; those at one place ran in one
     * round */
    const double *first, *second;
    size_t rounds;
} cbx_proof_pool;

typedef struct cbx_proof_opts {
    uint32_t struct_size;
    size_t comparisons; /* of each kind; 0: 2000 */
    size_t tables;      /* of each kind; 0: 1000 */
    size_t rows;        /* of a table; 0: 50 */
    size_t pairs;       /* 0: 11, what a row has by default */
    size_t launches;    /* a side of a gate; 0: 25 */
    uint64_t seed;
} cbx_proof_opts;

#define CBX_PROOF_OPTS_INIT CBX_OPTS(cbx_proof_opts, 0, 0, 0, 0, 0, 0)

typedef struct cbx_proof_rate {
    size_t hits, trials;
    double lower, upper; /* 95 % */
} cbx_proof_rate;

typedef struct cbx_proof_alarms {
    cbx_proof_rate rows, gates;             /* single comparisons */
    cbx_proof_rate row_tables, gate_tables; /* tables with any alarm */
} cbx_proof_alarms;

/** hits of trials with its interval. */
CBX_API cbx_proof_rate cbx_proof_rate_of(size_t hits, size_t trials);

/**
 * False alarms among equals.
 * @param by_pool  NULL, or npools entries: the single comparisons of rows and of gates together, by
 *   pool
 * @return CBX_OK; CBX_EINVAL: no pool, or one with fewer rounds than `pairs` or fewer launches than
 *         twice `launches`; CBX_EDOM: a median that is not finite and > 0; CBX_ENOMEM.  `out` is
 *         written on success only.
 */
CBX_API cbx_status cbx_proof_equals(cbx_ctx *ctx, const cbx_proof_pool *pools, size_t npools,
                                    const cbx_proof_opts *opts, cbx_proof_alarms *out, cbx_proof_rate *by_pool,
                                    cbx_err *err);

/**
 * Power: tables whose first row compares `base` with `slow` and whose other rows are equals out of
 * the pools, laid before the gate.  A table counts where the first row is "regressed".
 * @param base, slow  [s] n launch medians each, n >= launches
 * @return as cbx_proof_equals
 */
CBX_API cbx_status cbx_proof_power(cbx_ctx *ctx, const double *base, const double *slow, size_t n,
                                   const cbx_proof_pool *pools, size_t npools, const cbx_proof_opts *opts,
                                   cbx_proof_rate *out, cbx_err *err);

/**
 * Made-up launches: median_s exp(sigma z), z standard normal, sigma^2 = ln(1 + cv^2), so that they
 * vary by `cv`.
 * @param stream  streams of one seed are independent
 */
CBX_API void cbx_proof_simulate(uint64_t seed, uint64_t stream, double median_s, double cv, size_t n, double *out);

CBX_END_DECLS
#endif
