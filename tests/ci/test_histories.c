/* Candidates, subjects and comparisons of revisions in a real repository, when memory lacks at each
 * of their allocations. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

#include "calibrax/ci/bisect_run.h"
#include "calibrax/ci/compare.h"
#include "fail_alloc.h"

static const char commits[] =
    "cd '%s' && git init -q -b main . && for i in 1 2 3; do echo $i > f && git add f && "
    "git -c user.name=n -c user.email=e@x -c commit.gpgsign=false commit -q -m \"step $i\"; done";

static int open_repository(void **out)
{
    static char folder[64];
    char command[512];

    cbx_test_folder(folder);
    snprintf(command, sizeof command, commits, folder);
    CHECK_INT(system(command), 0, "git");
    *out = folder;
    return 0;
}

static int close_repository(void **in)
{
    cbx_test_folder_remove(*in);
    return 0;
}

static cbx_status candidates(cbx_ctx *ctx, void *folder)
{
    cbx_bisect_graph graph = { 0 };
    const char *subject = NULL;
    cbx_arena arena;
    cbx_status st;

    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    st = cbx_bisect_history(ctx, folder, "HEAD~2", "HEAD", &arena, &graph, NULL);
    if (!st) CHECK_INT(graph.ncommits, 2, "the good one is no candidate");
    if (!st) st = cbx_bisect_subject(ctx, folder, graph.names[1], &arena, &subject, NULL);
    if (!st) CHECK_STR(subject, "step 3", "of the last one");
    cbx_arena_clear(&arena);
    return st;
}

TEST(histories)
{
    CHECK_GT(cbx_test_fail_each(candidates, *test_state, "history"), 10, "allocations were made to fail");
}

static cbx_stop_flag stopped;

static void stop_it(void *user, const char *words, size_t done, size_t total)
{
    (void)user, (void)words, (void)total;
    if (done > 0) stopped = 1;
}

/* Stopped at its first launch: all of them would cost a second for each allocation. */
static cbx_status comparison(cbx_ctx *ctx, void *folder)
{
    cbx_compare_opts o = CBX_COMPARE_OPTS_INIT;
    cbx_compare_result r;
    cbx_arena arena;
    cbx_status st;

    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    o.repository = folder;
    o.scratch = folder;
    o.a = "HEAD~1";
    o.b = "HEAD";
    o.bench = "true";
    o.stop = &stopped;
    o.progress = stop_it;
    stopped = 0;
    o.launches = 6;
    st = cbx_revisions_compare(ctx, &o, &arena, &r, NULL);
    cbx_arena_clear(&arena);
    CHECK(st != CBX_OK, "it was stopped");
    return st == CBX_EINTERRUPTED ? CBX_OK : st;
}

TEST(comparisons)
{
    cbx_compare_opts o = CBX_COMPARE_OPTS_INIT;
    cbx_compare_result r;
    cbx_arena arena;
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;

    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    o.repository = *test_state;
    o.a = "HEAD";
    o.b = "nowhere";
    o.bench = "true";
    CHECK_STATUS(cbx_revisions_compare(ctx, &o, &arena, &r, &err), CBX_ENOENT, "no such revision");
    cbx_arena_clear(&arena);
    cbx_ctx_free(ctx);
    CHECK_GT(cbx_test_fail_each(comparison, *test_state, "comparison"), 10, "allocations were made to fail");
}

TESTS(.seconds = 600, .before = open_repository, .after = close_repository)
