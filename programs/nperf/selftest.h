/*
 * What the parts of `nperf selftest` share.  Each part measures, prints its result unless --json,
 * and makes a JSON object with the counts and their bounds.
 */
#ifndef CALIBRAX_PROGRAMS_NPERF_SELFTEST_H
#define CALIBRAX_PROGRAMS_NPERF_SELFTEST_H

#include "calibrax/perf/gate/proof.h"
#include "programs/nperf/nperf.h"

/* Comparisons of equals without a number; of each kind. */
#define SELFTEST_COMPARISONS "4000"

typedef struct selftest_args {
    const char *aa, *live, *honest, *case_name, *out, *record, *from;
    opt_list plugins, defined, cheats;
    bool power, mutants, exploits, clock, quick, json;
    size_t seed, launches;
} selftest_args;

typedef struct selftest {
    const opt_run *run;
    const selftest_args *args;
    progress *progress;
} selftest;

/*
 * A part.  @param out  what came of it; the caller unrefs; untouched, or NULL, where there is
 * nothing to record
 * @return EXIT_PASS; EXIT_CHECK: what is promised does not hold; EXIT_UNDECIDED: too little could
 *         be measured to decide; EXIT_ERROR, and the fault has been printed; EXIT_STOPPED
 */
int selftest_equals(const selftest *t, cbx_json **out);
int selftest_live(const selftest *t, cbx_json **out);
int selftest_power(const selftest *t, cbx_json **out);
int selftest_mutants(const selftest *t, cbx_json **out);
int selftest_exploits(const selftest *t, cbx_json **out);
int selftest_clock(const selftest *t, cbx_json **out);
int selftest_honest(const selftest *t, cbx_json **out);

/* Measures with the run's seed, stop flag and progress; result is initialised here and cleared by
 * the caller, whatever comes back. */
int selftest_measure(const selftest *t, cbx_measure_opts *o, cbx_measure_result *result);
/*
 * Launches recorded for a part: measured as `o` says and kept in --record, or read from --from.
 * result as of selftest_measure; a recording that does not exist, or holds nothing, is EXIT_ERROR.
 */
int selftest_recording(const selftest *t, const char *part, cbx_measure_opts *o, cbx_measure_result *result);
/* Members of a part about its recording: rows it is based on, when they were measured, and
 * where. */
void selftest_put_recording(cbx_json *o, const cbx_measure_result *result);
/* A row that is needed and is not good, or NULL (missing): prints the reason; EXIT_UNDECIDED where
 * the machine is too busy, else EXIT_ERROR. */
int selftest_unmeasured(const selftest *t, const char *part, const cbx_row *row);
bool selftest_too_busy(const cbx_row *row);
/* "holds", "broken", "undecided", of EXIT_PASS, EXIT_CHECK, EXIT_UNDECIDED */
const char *selftest_word(int verdict);
/* Of a part that came to its end: the verdict, or EXIT_ERROR where its document could not
 * be made. */
int selftest_end(const selftest *t, const cbx_json *document, int verdict);
/* NAME: hits, NAME_upper: upper 95 % bound, ... of a rate, as members. */
#define J_RATE(name, r)                                                                                                \
    J_INT(name "_trials", (r).trials), J_INT(name, (r).hits), J_NUMBER(name "_lower", (r).lower),                      \
        J_NUMBER(name "_upper", (r).upper)
/* Launches' coefficient of variation; NaN for fewer than two. */
double selftest_variation(const double *x, size_t n);

#endif
