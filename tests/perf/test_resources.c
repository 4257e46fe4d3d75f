/* Slots and devices: how many there are, which cores each gets, and what is said when there are
 * too few. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/perf/schedule/dispatch.h"

/* n cores of one CPU each. */
static void plain(size_t n, cbx__topology *t)
{
    memset(t, 0, sizeof(*t));
    for (size_t i = 0; i < n; i++) t->cpus[i] = (cbx__cpu){ (int)i, (int)i, 0 };
    t->ncpus = t->ncores = n;
    t->nnodes = 1;
}

static bool share(const cbx__resource *a, const cbx__resource *b)
{
    for (size_t i = 0; i < a->cores.ncores; i++) {
        for (size_t k = 0; k < b->cores.ncores; k++) {
            if (a->cores.cores[i] == b->cores.cores[k]) return true;
        }
    }
    return false;
}

TEST(dealt)
{
    static const char *const both[] = { "cpu", "fake" };
    static const struct {
        size_t cores, devices, slots, threads, max_parallel, jobs;
        size_t n, slots_given, parallel, cpus; /* cpus: of each */
        const char *note, *why;
    } cases[] = {
        { 8, 0, 0, 1, 0, 9, 1, 1, 1, 1, "", "one slot unless more are asked for" },
        { 8, 0, 3, 1, 0, 9, 3, 3, 3, 1, "", "slots" },
        { 8, 0, 3, 1, 2, 9, 3, 3, 2, 1, "", "fewer at a time" },
        { 8, 0, 3, 1, 7, 9, 3, 3, 3, 1, "", "no more at a time than there are" },
        { 8, 0, 3, 1, 0, 2, 2, 2, 2, 1, "", "no more than there are jobs" },
        { 8, 2, 4, 1, 0, 9, 6, 4, 6, 1, "", "devices have cores of their own" },
        { 8, 2, 8, 1, 0, 9, 8, 6, 8, 1,
          "8 CPU slots were asked for; this process may use 8 cores, of which devices get theirs",
          "slots get what is left" },
        { 2, 0, 64, 1, 0, 9, 2, 2, 2, 1, "64 CPU slots were asked for; this process may use 2 cores, so there are 2",
          "clamped" },
        { 1, 2, 1, 1, 0, 9, 3, 1, 3, 1, "2 devices and 1 CPU slots share 1 cores", "too few for any" },
        { 8, 2, 2, 2, 0, 9, 4, 2, 4, 2, "", "threads" },
        { 4, 0, 2, 3, 0, 9, 2, 2, 2, 2, "3 threads were asked for; a worker gets 2 of the 4 CPUs",
          "threads that are not there" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        static cbx__resources r;
        cbx__resources_wish wish = { .platforms = both, .nplatforms = cases[i].devices ? 2 : 1 };
        memset(&r, 0, sizeof(r));
        plain(cases[i].cores, &r.topology);
        wish.cpu_slots = cases[i].slots;
        wish.threads = cases[i].threads;
        wish.max_parallel = cases[i].max_parallel;
        wish.jobs[0] = wish.jobs[1] = cases[i].jobs;
        for (; r.devices[1].n < cases[i].devices; r.devices[1].n++) {
            r.devices[1].list[r.devices[1].n].number = (unsigned)r.devices[1].n;
            r.devices[1].list[r.devices[1].n].node = -1;
        }
        cbx__resources_deal(&wish, &r);
        CHECK_INT(r.n, cases[i].n, cases[i].why);
        CHECK_INT(r.slots, cases[i].slots_given, cases[i].why);
        CHECK_INT(r.gpus, cases[i].devices, cases[i].why);
        CHECK_INT(r.parallel, cases[i].parallel, cases[i].why);
        CHECK(cases[i].note[0] ? strstr(r.note, cases[i].note) != NULL : !r.note[0], r.note);
        for (size_t a = 0; a < r.n; a++) {
            CHECK_INT(r.list[a].cores.ncpus, cases[i].cpus, cases[i].why);
            CHECK((r.list[a].device != NULL) == (r.list[a].queue == 1), "whose jobs it does");
            for (size_t b = a + 1; b < r.n; b++)
                CHECK(share(&r.list[a], &r.list[b]) == r.shared, "cores of their own, unless there are too few");
        }
    }
}

TEST(found)
{
    static const char *const cpu[] = { "cpu" }, *const fake[] = { "fake" }, *const numbers[] = { "1" };
    static cbx__resources r;
    cbx__resources_wish wish = { .platforms = cpu, .nplatforms = 1, .gpus = numbers, .ngpus = 1 };
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    CHECK_STATUS(cbx__resources_find(ctx, &wish, &r, &err), CBX_EINVAL, "devices for the CPU");
    CHECK(strstr(err.message, "GPUs are given"), err.message);
    setenv("NPERF_FAKE_DEVICES", "2", 1);
    wish.platforms = fake;
    CHECK_OK(cbx__resources_find(ctx, &wish, &r, &err), &err, "one of two");
    CHECK(r.devices[0].n == 1 && r.devices[0].list[0].number == 1, "the one that is named");
    unsetenv("NPERF_FAKE_DEVICES");
    wish.ngpus = 0;
    CHECK_OK(cbx__resources_find(ctx, &wish, &r, &err), &err, "none");
    CHECK(r.devices[0].n == 0 && r.devices[0].why[0], "and why");
    cbx_ctx_free(ctx);
}

TESTS()
