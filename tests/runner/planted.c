/* Files that end in every way that a test file can end; test_runner.py checks what the runner makes
 * of each. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void passes(void **state) { (void)state; }
static void fails(void **state)
{
    (void)state;
    fail_msg("planted");
}
static void skips(void **state) { (void)state, SKIP("no such hardware"); }
static void crashes(void **state) { (void)state, abort(); }
static void hangs(void **state) { (void)state, sleep(100); }
static void exits(void **state) { (void)state, exit(0); }

static int run_planted(const cbx_test_file *file)
{
    const struct CMUnitTest *second = file->user;
    const struct CMUnitTest tests[] = { cmocka_unit_test(passes), *second };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

static int leave_a_child(const cbx_test_file *file)
{
    if (fork() == 0) return (int)sleep(100); /* holds the output open; the runner does not wait for it, and ends it */
    return run_planted(file);
}

static int nothing(const cbx_test_file *file) { return (void)file, 0; }
static int status(const cbx_test_file *file) { return run_planted(file) + 3; }

__attribute__((constructor)) static void enter(void)
{
    static const struct CMUnitTest second[] = {
        cmocka_unit_test(passes),  cmocka_unit_test(fails), cmocka_unit_test(skips),
        cmocka_unit_test(crashes), cmocka_unit_test(hangs), cmocka_unit_test(exits),
    };
    static cbx_test_file files[] = {
        { .run = run_planted, .variant = "passes", .user = &second[0] },
        { .run = run_planted, .variant = "fails", .user = &second[1] },
        { .run = run_planted, .variant = "skips", .user = &second[2] },
        { .run = run_planted, .variant = "crashes", .user = &second[3] },
        { .run = run_planted, .variant = "hangs", .user = &second[4], .seconds = 1 },
        { .run = run_planted, .variant = "exits", .user = &second[5] },
        { .run = leave_a_child, .variant = "leaves", .user = &second[0] },
        { .run = nothing, .variant = "nothing" },
        { .run = status, .variant = "status", .user = &second[0] },
    };

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        files[i].path = "test_.c";
        cbx_test_register(&files[i]);
    }
}
