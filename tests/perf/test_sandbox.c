/* What a worker is granted, its scratch folder, and a live worker that looks where it may not. */
#include "check.h"
#include "fail_alloc.h"
#include "launch_support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/base/file.h"
#include "calibrax/perf/launch/grants.h"

static void make_file(const char *folder, const char *name, const char *text, mode_t mode)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    cbx_test_put(text, "%s", path);
    CHECK(chmod(path, mode) == 0, path);
}

static void make_folder(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK(mkdir(path, 0700) == 0, path);
}

/* A tree as of a user: an environment whose interpreter is a link, and a case with its results. */
static const char *make_tree(fixture *f)
{
    static char tree[128];
    static const char *const folders[] = {
        "venv", "venv/bin", "base", "base/bin", "case", "case/results", "case/data"
    };
    char text[256], path[256];
    snprintf(tree, sizeof tree, "%s/tree-%d", f->notes, rand());
    CHECK(mkdir(tree, 0700) == 0, tree);
    for (size_t i = 0; i < CBX_LEN(folders); i++) make_folder(tree, folders[i]);
    snprintf(text, sizeof text, "home = %s/base/bin\n", tree);
    make_file(tree, "venv/pyvenv.cfg", text, 0600);
    make_file(tree, "base/bin/python3", "#!/bin/sh\n", 0700);
    snprintf(path, sizeof path, "%s/venv/bin/python", tree);
    CHECK(symlink("../../base/bin/python3", path) == 0, path);
    make_file(tree, "case/bench.py", "", 0600);
    make_file(tree, "case/data/a.npy", "", 0600);
    make_file(tree, "case/results/rows.jsonl", "", 0600);
    return tree;
}

/* The right that the list gives on a path below the tree; "" none. */
static const char *granted(const cbx__grants *g, const char *tree, const char *name)
{
    char path[512];
    const char *best = "";
    snprintf(path, sizeof path, "%s/%s", tree, name);
    for (size_t i = 0; i < g->count; i++) {
        size_t n = strlen(g->list[i].path);
        bool beneath = !strncmp(path, g->list[i].path, n) && (path[n] == '/' || !path[n]);
        if (beneath && (!*best || !strcmp(best, "--list"))) best = g->list[i].option;
    }
    return best;
}

static bool names_threads(const cbx__grants *g)
{
    for (size_t i = 0; i < g->count; i++)
        if (!strcmp(g->list[i].option, "--device") && !strcmp(g->list[i].path, "/proc/self/task")) return true;
    return false;
}

TEST(grants)
{
    static const struct {
        const char *path, *option, *why;
    } cases[] = {
        { "venv/lib/python3/site-packages", "--read", "the environment of the interpreter" },
        { "base/lib/python3", "--read", "and the one that it was made with" },
        { "case/bench.py", "--read", "the case's file" },
        { "case/data/a.npy", "--read", "what lies beside it" },
        { "case/results/rows.jsonl", "--list", "but no results: only their names" },
        { "case/later/rows.jsonl", "--list", "nor what is to be written" },
        { "scratch/x", "--write", "its own folder" },
        { "elsewhere", "", "nothing else" },
    };
    const char *tree = make_tree(*test_state);
    char interpreter[256], definition[400], results[256], later[256], scratch[256];
    const char *program[] = { "/bin/true", "worker.py", NULL };
    snprintf(interpreter, sizeof interpreter, "%s/venv/bin/python", tree);
    snprintf(definition, sizeof definition, "{\"file\":\"%s/case/bench.py\"}", tree);
    snprintf(results, sizeof results, "%s/case/results", tree);
    snprintf(later, sizeof later, "%s/case/later/rows.jsonl", tree);
    snprintf(scratch, sizeof scratch, "%s/scratch", tree);
    const char *hidden[] = { results, later };
    cbx_sandbox policy = { .struct_size = sizeof policy, .hidden = hidden, .nhidden = 2 };
    cbx__grants_for f = { .policy = &policy,
                          .program = program,
                          .interpreter = interpreter,
                          .definitions = { definition, "no JSON" },
                          .platform = "cpu",
                          .scratch = scratch };
    cbx_arena arena;
    cbx__grants g;
    cbx_err err = CBX_ERR_INIT;

    cbx_arena_init(&arena, cbx_allocator_default());
    CHECK_OK(cbx__grants_find(NULL, &f, &arena, &g, &err), &err, "a list");
    for (size_t i = 0; i < CBX_LEN(cases); i++)
        CHECK_STR(granted(&g, tree, cases[i].path), cases[i].option, cases[i].why);
    CHECK_STR(granted(&g, "", "usr/lib/x.so"), "--read", "the system");
    CHECK_STR(granted(&g, "/dev", "null"), "--device", "a device that everybody has");
    CHECK_STR(granted(&g, "/root", ".ssh/id"), "", "a user's own");
    CHECK(!names_threads(&g), "the names of threads, where there is no GPU");
    f.platform = "cuda12";
    CHECK_OK(cbx__grants_find(NULL, &f, &arena, &g, &err), &err, "a list for a GPU");
    CHECK(names_threads(&g), "the names of threads, which cuInit writes");
    cbx_arena_clear(&arena);
}

/* Found once: what changes later is not looked for, whoever asks for something else gets that, and
 * each launch has its own folders. */
TEST(grants_are_kept)
{
    const char *tree = make_tree(*test_state), *program[] = { "/bin/true", NULL };
    char interpreter[256], other[256], link[256];
    snprintf(interpreter, sizeof interpreter, "%s/venv/bin/python", tree);
    snprintf(other, sizeof other, "%s/other/bin/python", tree);
    snprintf(link, sizeof link, "%s/venv/pyvenv.cfg", tree);
    cbx__grants_for f = { .program = program, .interpreter = interpreter, .platform = "cpu", .scratch = "/s/1" };
    cbx__grants_kept *kept = cbx__grants_keep(cbx_allocator_default());
    cbx_err err = CBX_ERR_INIT;
    cbx_arena arena;
    cbx__grants first, second, third, anew;

    cbx_arena_init(&arena, cbx_allocator_default());
    CHECK_OK(cbx__grants_find(kept, &f, &arena, &first, &err), &err, "the first launch");
    CHECK_OK(cbx__grants_find(NULL, &f, &arena, &anew, &err), &err, "without what is kept");
    CHECK_INT(first.count, anew.count, "the same list");
    for (size_t i = 0; i < first.count; i++) CHECK_STR(first.list[i].path, anew.list[i].path, "the same list");
    CHECK_INT(unlink(link), 0, "the environment loses the interpreter that it was made with");
    CHECK_INT(unlink(interpreter), 0, "and its own");
    f.scratch = "/s/2";
    CHECK_OK(cbx__grants_find(kept, &f, &arena, &second, &err), &err, "the second launch");
    CHECK_STR(granted(&second, tree, "base/lib"), "--read", "is given what was found for the first");
    CHECK_STR(granted(&second, "/s", "2"), "--write", "its own folder");
    CHECK_STR(granted(&second, "/s", "1"), "", "and not the other's");
    CHECK_OK(cbx__grants_find(NULL, &f, &arena, &anew, &err), &err, "without what is kept");
    CHECK_STR(granted(&anew, tree, "base/lib"), "", "the check sees what is found anew");
    f.interpreter = other;
    CHECK_OK(cbx__grants_find(kept, &f, &arena, &third, &err), &err, "another interpreter");
    CHECK_STR(granted(&third, tree, "other/lib"), "--read", "has its own list");
    CHECK_STR(granted(&third, tree, "venv/lib"), "", "and not the first one's");
    cbx_arena_clear(&arena);
    cbx__grants_forget(kept);
}

static cbx_status keep_once(cbx_ctx *ctx, void *user)
{
    const char *program[] = { "/bin/true", NULL };
    cbx__grants_for f = { .program = program, .interpreter = "/usr/bin/python3", .platform = "cpu", .scratch = "/s" };
    cbx__grants_kept *kept = cbx__grants_keep(cbx_ctx_allocator(ctx));
    cbx_status st = kept ? CBX_OK : CBX_ENOMEM;
    cbx_arena arena;
    cbx__grants g;
    (void)user;
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    for (int i = 0; i < 2 && !st; i++) st = cbx__grants_find(kept, &f, &arena, &g, NULL);
    cbx_arena_clear(&arena);
    cbx__grants_forget(kept);
    return st;
}

static cbx_status grant_once(cbx_ctx *ctx, void *user)
{
    const char *program[] = { "/bin/true", NULL };
    cbx__grants_for f = { .program = program, .interpreter = "/usr/bin/python3", .platform = "cpu" };
    cbx_arena arena;
    cbx__grants g;
    (void)user;
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    cbx_status st = cbx__grants_find(NULL, &f, &arena, &g, NULL);
    cbx_arena_clear(&arena);
    return st;
}

TEST(no_memory)
{
    CHECK_GT(cbx_test_fail_each(grant_once, NULL, "cbx__grants_make"), 0, "allocations were made to fail");
    CHECK_GT(cbx_test_fail_each(keep_once, NULL, "cbx__grants_find"), 0, "of lists that are kept, too");
}

/* --- the scratch folder --- */

TEST(scratch_folder)
{
    fixture *f = *test_state;
    cbx__scratch_folder s;
    cbx_err err = CBX_ERR_INIT;
    char path[512], deep[16] = "deep", kept[128];
    char *before = change_variable("TMPDIR", f->notes);
    int at;

    make_file(f->notes, "kept", "kept", 0600);
    CHECK_OK(cbx__scratch_folder_make(&s, &err), &err, "a folder");
    CHECK(!strncmp(s.path, f->notes, strlen(f->notes)), "below TMPDIR");
    CHECK_INT(cbx__scratch_folder_sweep(), 0, "in use");
    make_file(s.path, "a", "text", 0000);
    make_folder(s.path, "locked");
    make_file(s.path, "locked/b", "", 0000);
    snprintf(path, sizeof path, "%s/locked", s.path);
    CHECK(chmod(path, 0000) == 0, "a folder without rights");
    snprintf(kept, sizeof kept, "%s/kept", f->notes);
    snprintf(path, sizeof path, "%s/link", s.path);
    CHECK(symlink(kept, path) == 0, "a link that leads out");
    snprintf(path, sizeof path, "%s/link-to-folder", s.path);
    CHECK(symlink(f->cache, path) == 0, "and one to a folder");
    at = open(s.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 2000; i++) { /* deeper than a path is long */
        CHECK(mkdirat(at, deep, 0700) == 0, "a deep tree");
        int next = openat(at, deep, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = next;
    }
    close(at);
    snprintf(path, sizeof path, "%s", s.path);
    cbx__scratch_folder_remove(&s);
    cbx__scratch_folder_remove(&s);
    CHECK(!cbx_path_exists(path), "gone with all that was in it");
    CHECK(cbx_path_exists(kept) && cbx_path_exists(f->cache), "and nothing else");
    make_folder(f->notes, "nperf-scratch-left00");
    CHECK_INT(cbx__scratch_folder_sweep(), 1, "what a killed program left behind");
    setenv("TMPDIR", "/nonexistent/folder", 1);
    CHECK(cbx__scratch_folder_make(&s, &err) != CBX_OK && strstr(err.message, "/nonexistent/folder"),
          "names the folder");
    cbx__scratch_folder_remove(&s);
    restore_variable("TMPDIR", before);
}

/* --- live --- */

/* True if files are closed here; the test is skipped otherwise. */
static void need_files(fixture *f)
{
    cbx_sandbox_facts facts;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_sandbox_probe(f->ctx, &facts, &err), &err, "what can be had");
    if (!facts.files) SKIP("kernel: it has no Landlock");
}

TEST(a_worker_reads_what_was_declared)
{
    fixture *f = *test_state;
    const char *tree = make_tree(f);
    char closed[1200], open_[600], sealed[600], readable[256], hidden[256];
    need_files(f);
    snprintf(readable, sizeof readable, "%s/case", tree);
    snprintf(hidden, sizeof hidden, "%s/case/results", tree);
    snprintf(closed, sizeof closed,
             "%s/case/results/rows.jsonl:%s/venv/pyvenv.cfg:%s:/proc/%d/mem:/proc/%d/environ:/tmp", tree, tree,
             f->cache, (int)getpid(), (int)getpid());
    snprintf(open_, sizeof open_, "%s/case/bench.py:%s/case/data/a.npy:%s/case:/proc/self/status:/dev/null:/etc/passwd",
             tree, tree, tree);
    snprintf(sealed, sizeof sealed,
             "%s/case/bench.py:%s/case/new:/tmp/nperf-test-new:/proc/self/clear_refs:/proc/thread-self/comm", tree,
             tree);
    const char *read[] = { readable }, *hide[] = { hidden };
    cbx_sandbox policy = {
        .struct_size = sizeof policy, .readable = read, .nreadable = 1, .hidden = hide, .nhidden = 1
    };
    cbx_env_setting env[] = { { TOY_CLOSED, closed }, { TOY_OPEN, open_ }, { TOY_SEALED, sealed } };
    cbx_launch_opts o = quick_opts();
    o.sandbox = &policy;
    o.env = env;
    o.nenv = CBX_LEN(env);
    const cbx_launch_record *r = launch(f, "looks", &o);
    if (r->failure) fail_msg("%s: %s", r->message, r->stderr_tail);
    CHECK(r->sandbox.files && r->sandbox.tracing && r->sandbox.landlock > 0, "said by the launcher");
    o.platform = "cuda12";
    r = launch(f, "looks", &o);
    CHECK_INT(r->exit_code, 13, "for a GPU, names of threads can be written");
    policy.mode = CBX_SANDBOX_OFF;
    r = launch(f, "looks", &o);
    CHECK_INT(r->exit_code, 11, "without, the first of them is open");
    CHECK(!r->sandbox.files && !r->sandbox.landlock, "and that is said, too");
}

TEST(nothing_is_left_of_a_launch)
{
    fixture *f = *test_state;
    char *before = change_variable("TMPDIR", f->notes);
    cbx_launch_opts o = quick_opts();
    cbx_arena arena;
    const char *const *names;
    size_t n = 0, left = 0;
    cbx_err err = CBX_ERR_INIT;
    const cbx_launch_record *r = launch(f, "good", &o);
    CHECK_INT(r->failure, CBX_FAILURE_NONE, r->message);
    r = launch(f, "crash", &o);
    cbx_arena_init(&arena, cbx_allocator_default());
    CHECK_OK(cbx_dir_list(f->ctx, f->notes, "", &arena, &names, &n, &err), &err, "the folder");
    for (size_t i = 0; i < n; i++) left += strncmp(names[i], "nperf-scratch-", 14) == 0;
    CHECK_INT(left, 0, "scratch folders");
    cbx_arena_clear(&arena);
    restore_variable("TMPDIR", before);
}

/* What a launcher of an earlier version does with a command line that it does not know; and one
 * that says it is another. */
TEST(another_launcher)
{
    static const struct {
        const char *script, *why;
    } cases[] = {
        { "#!/bin/sh\necho usage >&2\nexit 125\n", "one that says nothing" },
        { "#!/bin/sh\necho "
          "'{\"op\":\"error\",\"phase\":\"spawn\",\"cause\":\"worker_missing\",\"message\":\"nperf-launch speaks "
          "interface 1 and was asked for 2: of different versions\"}' >&3\nexit 125\n",
          "one that says what it is" },
    };
    fixture *f = *test_state;
    char path[128];
    char *before = change_variable("NPERF_LAUNCH", NULL);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_launch_opts o = quick_opts();
        cbx_sandbox_facts facts;
        cbx_err err = CBX_ERR_INIT;
        snprintf(path, sizeof path, "%s/launcher%zu", f->notes, i);
        make_file(f->notes, strrchr(path, '/') + 1, cases[i].script, 0700);
        setenv("NPERF_LAUNCH", path, 1);
        const cbx_launch_record *r = launch(f, "good", &o);
        CHECK_INT(r->failure, CBX_FAILURE_WORKER_MISSING, r->message);
        CHECK_STR(r->phase, "spawn", "before anything ran");
        CHECK(strstr(r->message, "version") != NULL, r->message);
        CHECK_STATUS(cbx_sandbox_probe(f->ctx, &facts, &err), CBX_EVERSION, cases[i].why);
    }
    restore_variable("NPERF_LAUNCH", before);
}

TESTS(.seconds = 600, .before = launch_setup, .after = launch_teardown)
