/*
 * Concurrent writers killed with SIGKILL at random moments: what a writer was answered to be kept
 * exists afterwards, complete, and nothing else is torn.  25 kills here; `make kills` does 1000
 * (CALIBRAX_KILLS).
 */
#include "check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/base/rng.h"
#include "calibrax/storage/store.h"
#include "fail_alloc.h"

#define WRITERS   3
#define KILLS_MAX 100000

/* Shared with the writers: how many runs each of them knows to be kept. */
static int *kept;

static cbx_status make(cbx_ctx *ctx, int writer, int number, cbx_run **out)
{
    cbx_run_opts opts = CBX_RUN_OPTS_INIT;
    cbx_run_builder *b = NULL;
    const cbx_named_metric metric = { "latency", cbx_metric_of(writer * 1000.0 + number) };
    const cbx_point point = { "forward", "train", NULL, 0, &metric, 1 };
    char id[32];
    cbx_status st;

    snprintf(id, sizeof id, "w%d-%d", writer, number);
    opts.no_vcs = opts.no_machine = opts.no_versions = true;
    st = cbx_run_builder_create(ctx, &opts, &b, NULL);
    if (!st) st = cbx_run_builder_set_id(b, id, NULL);
    if (!st) st = cbx_run_builder_add_point(b, &point, NULL);
    if (!st) st = cbx_run_builder_freeze(b, out, NULL);
    cbx_run_builder_free(b);
    return st;
}

/* Writes until it is killed, and asks now and then, so that the index is written to as well. */
static void write_on(const char *root, int writer)
{
    cbx_ctx *ctx = NULL;
    cbx_store *store = NULL;
    cbx_store_list list;

    if (cbx_ctx_create(NULL, &ctx, NULL) || cbx_store_open(ctx, root, NULL, &store, NULL)) _exit(1);
    for (int i = 0;; i++) {
        cbx_run *run = NULL;
        if (make(ctx, writer, i, &run) || cbx_store_save(store, run, false, NULL)) _exit(2);
        cbx_run_free(run);
        kept[writer] = i + 1;
        if (i % 8 == 3 && cbx_store_query_runs(store, NULL, &list, NULL)) _exit(3);
        if (i % 8 == 3) cbx_store_list_clear(&list);
    }
}

static pid_t start(const char *root, int writer)
{
    pid_t child = fork();

    if (child == 0) write_on(root, writer);
    return child;
}

static void wait_until_it_writes(int writer, pid_t child)
{
    while (kept[writer] == 0) {
        CHECK_INT(waitpid(child, NULL, WNOHANG), 0, "a writer goes on until it is killed");
        usleep(200);
    }
}

static void kill_at_random(const char *root, int kills)
{
    pid_t child[WRITERS];
    cbx_rng rng = cbx_rng_make(11, 0);
    int writers = 0, number[WRITERS], status;

    for (int i = 0; i < WRITERS; i++) child[i] = start(root, number[i] = writers++);
    for (int k = 0; k < kills + WRITERS; k++) { /* at the end all that are left */
        int i = k < kills ? (int)cbx_rng_below(&rng, WRITERS) : k - kills;
        wait_until_it_writes(number[i], child[i]);
        usleep((unsigned)cbx_rng_below(&rng, 6000));
        kill(child[i], SIGKILL);
        waitpid(child[i], &status, 0);
        CHECK(WIFSIGNALED(status), "killed while writing");
        if (k < kills) child[i] = start(root, number[i] = writers++);
    }
}

/* Every run that its writer knew to be kept, read whole. */
static size_t look_for_all(cbx_store *store, int writers)
{
    cbx_err err = CBX_ERR_INIT;
    size_t n = 0;

    for (int w = 0; w < writers; w++)
        for (int i = 0; i < kept[w]; i++, n++) {
            char id[32];
            cbx_run *run = NULL;
            snprintf(id, sizeof id, "w%d-%d", w, i);
            CHECK_OK(cbx_store_load(store, id, &run, &err), &err, "kept is kept");
            CHECK(cbx_run_point(run, 0)->metrics[0].metric.value == w * 1000.0 + i, "as it was written");
            cbx_run_free(run);
        }
    return n;
}

TEST(nothing_is_lost)
{
    const char *more = getenv("CALIBRAX_KILLS");
    int kills = more ? atoi(more) : 25;
    cbx_store_opts opts = CBX_STORE_OPTS_INIT;
    cbx_store_report report;
    cbx_store *store = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_store_list list;
    char folder[64], root[96];
    cbx_test_alloc alloc;
    cbx_ctx *ctx;
    size_t n;

    CHECK(kills > 0 && kills <= KILLS_MAX, "CALIBRAX_KILLS is a number of kills");
    cbx_test_alloc_init(&alloc);
    ctx = cbx_test_ctx(&alloc);
    cbx_test_folder(folder);
    snprintf(root, sizeof root, "%s/store", folder);
    kept = mmap(NULL, (KILLS_MAX + WRITERS) * sizeof *kept, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(kept != MAP_FAILED, "memory that all share");
    opts.create = true;
    CHECK_OK(cbx_store_open(ctx, root, &opts, &store, &err), &err, "open");
    kill_at_random(root, kills);
    n = look_for_all(store, kills + WRITERS);
    CHECK_OK(cbx_store_query_runs(store, NULL, &list, &err), &err, "query");
    CHECK_LE(n, list.count, "and listed");
    CHECK_LE(list.count, n + (size_t)kills + WRITERS, "with at most one a writer that it has no answer for");
    cbx_store_list_clear(&list);
    CHECK_OK(cbx_store_compact(store, NULL, &report, &err), &err, "compaction sweeps up");
    cbx_store_report_clear(&report);
    CHECK_OK(cbx_store_verify(store, &report, &err), &err, "verify");
    CHECK_INT(report.nproblems, 0, "and no file is torn");
    cbx_store_report_clear(&report);
    if (more)
        print_message("%d kills of %d writers at a time: %zu runs kept, none lost, none torn\n", kills, WRITERS, n);
    munmap(kept, (KILLS_MAX + WRITERS) * sizeof *kept);
    cbx_store_close(store);
    cbx_test_folder_remove(folder);
    cbx_ctx_free(ctx);
    cbx_test_alloc_check(&alloc, "after the test");
}

TESTS()
