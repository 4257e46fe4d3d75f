/* The time of a run over its jobs: shares under a clock that is made up, job after job and side
 * by side. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "calibrax/perf/schedule/dispatch.h"

#define JOBS_MOST 64

/* Resources by queue; parallel 0: as many as there are. */
static cbx__resources resources(const size_t *queues, size_t n, size_t parallel, bool shared)
{
    cbx__resources r = { .n = n, .parallel = parallel ? parallel : n, .shared = shared };

    for (size_t i = 0; i < n; i++) r.list[i].queue = queues[i];
    return r;
}

typedef struct outcome {
    double share[JOBS_MOST], end_s;
    size_t left_out;
} outcome;

/* Jobs of one queue on `lanes` resources, each taking `use` of its share: who is free first takes
 * the next. */
static outcome play(double total_s, size_t njobs, size_t lanes, double start_s, const double *use)
{
    static const size_t queues[8];
    const cbx__resources r = resources(queues, lanes, 0, false);
    double free_at[8];
    cbx__budget b;
    outcome o = { .end_s = start_s };

    cbx__budget_init(&b, total_s, &r);
    for (size_t i = 0; i < njobs; i++) cbx__budget_add(&b, 0);
    for (size_t k = 0; k < lanes; k++) free_at[k] = start_s;
    for (size_t i = 0; i < njobs; i++) {
        size_t k = 0;
        for (size_t j = 1; j < lanes; j++)
            if (free_at[j] < free_at[k]) k = j;
        o.left_out += !cbx__budget_begin(&b, 0, free_at[k], &o.share[i]);
        free_at[k] += use[i] * o.share[i];
        o.end_s = fmax(o.end_s, free_at[k]);
    }
    return o;
}

TEST(everybody_gets_the_same)
{
    static const struct {
        size_t njobs, lanes;
        double start_s, share_s;
        const char *why;
    } cases[] = {
        { 1, 1, 0, 100, "one job: all of it" },
        { 4, 1, 0, 25, "four in turn" },
        { 4, 1, 20, 20, "the start of the run is in the budget" },
        { 4, 2, 0, 50, "two at a time" },
        { 2, 4, 0, 100, "more lanes than jobs" },
    };
    double use[JOBS_MOST];

    for (size_t i = 0; i < JOBS_MOST; i++) use[i] = 1;
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        outcome o = play(100, cases[i].njobs, cases[i].lanes, cases[i].start_s, use);
        for (size_t k = 0; k < cases[i].njobs; k++) CHECK_LE(fabs(o.share[k] - cases[i].share_s), 1e-9, cases[i].why);
        CHECK_LE(o.end_s, 100 + 1e-9, cases[i].why);
        CHECK_INT(o.left_out, 0, cases[i].why);
    }
}

/* Nobody waits for the second of three on two lanes, so it need not hurry. */
TEST(a_lane_without_a_next_job)
{
    const double use[] = { 1, 1, 1 };
    outcome o = play(100, 3, 2, 0, use);

    CHECK(o.share[0] == 50 && o.share[1] == 100 && o.share[2] == 50, "two turns on one lane, one on the other");
    CHECK(o.end_s == 100, "both end in time");
}

TEST(what_is_left_over_goes_on)
{
    const double little[] = { 0.1, 1, 1, 1 }, much[] = { 2.0, 1, 1, 1 };
    outcome o;

    o = play(100, 4, 1, 0, little);
    CHECK_LE(fabs(o.share[1] - 97.5 / 3), 1e-9, "the three that follow share what it left");
    CHECK_LE(fabs(o.end_s - 100), 1e-9, "and all of it is used");
    o = play(100, 4, 1, 0, much);
    CHECK_LE(fabs(o.share[1] - 50.0 / 3), 1e-9, "what one takes too much is taken from them");
    CHECK_LE(o.end_s, 100 + 1e-9, "and the run ends in its time");
}

TEST(no_run_is_longer_than_its_budget)
{
    double use[JOBS_MOST];

    for (size_t i = 0; i < JOBS_MOST; i++) use[i] = (double)((7 * i + 3) % 11) / 10; /* up to all of a share */
    for (size_t njobs = 1; njobs <= JOBS_MOST; njobs += 3)
        for (size_t lanes = 1; lanes <= 5; lanes++)
            CHECK_LE(play(60, njobs, lanes, 1.5, use).end_s, 60 + 1e-9, "jobs that keep to their shares");
}

TEST(the_time_is_spent)
{
    const double use[] = { 3, 1, 1 }, none[] = { 1, 1, 1 };
    outcome o;

    o = play(10, 3, 1, 9, use); /* 1/3 s each, the first takes one: none is left */
    CHECK_INT(o.left_out, 2, "what comes behind is left out");
    CHECK(o.share[1] == 0 && o.share[2] == 0, "without a share");
    o = play(10, 3, 1, 30, none);
    CHECK_INT(o.left_out, 2, "the first is begun even where the start took everything");
    CHECK(o.share[0] == 0, "for its one round");
}

TEST(no_budget)
{
    const double use[] = { 1 };

    CHECK(isinf(play(0, 1, 1, 1e6, use).share[0]), "no end");
}

TEST(queues_with_times_of_their_own)
{
    static const size_t queues[] = { 1, 0, 0 }; /* a device, two CPU slots */
    cbx__resources apart = resources(queues, 3, 0, false), few = resources(queues, 3, 2, false),
                   shared = resources(queues, 3, 0, true);
    cbx__budget b;
    double s;

    cbx__budget_init(&b, 60, &apart);
    for (size_t i = 0; i < 4; i++) cbx__budget_add(&b, i % 2);
    CHECK(cbx__budget_begin(&b, 0, 0, &s) && s == 60, "two CPU jobs on two slots");
    CHECK(cbx__budget_begin(&b, 1, 0, &s) && s == 30, "two on one device");
    cbx__budget_init(&b, 60, &few);
    for (size_t i = 0; i < 4; i++) cbx__budget_add(&b, i % 2);
    CHECK(cbx__budget_begin(&b, 1, 0, &s) && s == 30, "--max-parallel 2: four jobs, two at a time");
    cbx__budget_init(&b, 60, &shared);
    for (size_t i = 0; i < 4; i++) cbx__budget_add(&b, i % 2);
    CHECK(cbx__budget_begin(&b, 1, 0, &s) && s == 15, "resources that share cores wait for each other");
}

TESTS()
