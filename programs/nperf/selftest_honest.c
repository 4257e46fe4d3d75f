/*
 * nperf selftest --honest: the representative point of every built-in case, native baselines and
 * rivals that are installed, measured again and again on an idle machine, with one busy neighbour
 * and with two.  All of them are honest: a row that is refused is a false alarm, and the part
 * reports how many of how many, with the upper 95 % bound of the exact binomial interval.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "programs/nperf/selftest.h"
#include "suites/suites.h"

#define MAX_NEIGHBOURS 2
#define MAX_MINUTES    1440

typedef struct honest_score {
    size_t rows, refused;
    cbx_text *refusals; /* a line each */
} honest_score;

static int measure_case(const selftest *t, const cbx_case_ops *c, honest_score *s)
{
    cbx_measure_opts o = CBX_MEASURE_OPTS_INIT;
    const char *const point[] = { c->points[c->representative] };

    o.case_ops = c;
    o.points = point;
    o.npoints = 1;
    o.launches = t->args->quick ? 1 : 2;
    o.warmup = 1;
    o.repeats = 5;
    o.skip_slow = true;
    o.budget_s = t->args->quick ? 3 : 30;
    CLEARED(cbx_measure_result) result;
    int status = selftest_measure(t, &o, &result);
    for (size_t i = 0; i < result.rows.count && !status; i++) {
        const cbx_row *r = &result.rows.rows[i];
        bool refused = !strcmp(r->status, "refused");
        s->rows += refused || cbx_row_is_good(r);
        s->refused += refused;
        if (refused)
            cbx_text_printf(s->refusals, "refused: %s of %s: %s\n", r->baseline, c->name,
                            r->failure_message ? r->failure_message : "");
    }
    return status;
}

/* @param list  gets an object with the counts */
static int measure_beside(const selftest *t, size_t neighbours, double minutes, cbx_json *list, size_t *refused)
{
    const cbx_case_list *cases = nperf_cases();
    const uint64_t start = cbx_clock_ns();
    SCOPED_TEXT(refusals, cbx_ctx_allocator(t->run->ctx));
    honest_score s = { .refusals = &refusals };
    pid_t pids[MAX_NEIGHBOURS] = { 0 };
    int status = EXIT_PASS;

    for (size_t i = 0; i < neighbours; i++) {
        pids[i] = fork();
        if (pids[i] != 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile unsigned long spin = 0;; spin++) {}
    }
    for (size_t i = 0; !status; i++) {
        bool over = 1e-9 * (double)(cbx_clock_ns() - start) > 60 * minutes;
        const cbx_case_ops *c = cases->cases[i % cases->count];
        if (over && i >= cases->count) break;
        if (!t->args->case_name || !strcmp(t->args->case_name, c->name)) status = measure_case(t, c, &s);
    }
    for (size_t i = 0; i < neighbours; i++) {
        if (pids[i] <= 0) continue;
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    const cbx_proof_rate rate = cbx_proof_rate_of(s.refused, s.rows);
    progress_end(t->progress);
    *refused += s.refused;
    if (status) return status;
    if (!t->args->json)
        printf("honest rows refused with %zu busy process%s: %zu of %zu, at most %.2f %% (95 %%)\n%s", neighbours,
               neighbours == 1 ? "" : "es", s.refused, s.rows, 100 * rate.upper, cbx_text_str(s.refusals));
    cbx_json_put(cbx_json_push_object(list), J_INT("neighbours", neighbours), J_RATE("refused", rate),
                 J_TEXT("refusals", cbx_text_str(s.refusals)));
    return EXIT_PASS;
}

int selftest_honest(const selftest *t, cbx_json **out)
{
    char *end;
    double minutes = strtod(t->args->honest, &end);
    SCOPED(cbx_json) *o = cbx_json_new_object();
    cbx_json *list = cbx_json_set_array(o, "loads");
    size_t refused = 0;

    if (*end || !(minutes >= 0 && minutes <= MAX_MINUTES))
        return opt_fail(t->run, "--honest: expected minutes from 0 to %d, got '%s'", MAX_MINUTES, t->args->honest);
    if (t->args->case_name && !nperf_case(t->run, t->args->case_name)) return EXIT_ERROR;
    for (size_t n = 0; n <= MAX_NEIGHBOURS; n++) {
        int status = measure_beside(t, n, minutes, list, &refused);
        if (status) return status;
    }
    cbx_json_set_double(o, "minutes_each", minutes);
    *out = cbx_json_ref(o);
    return selftest_end(t, *out, refused ? EXIT_CHECK : EXIT_PASS);
}
