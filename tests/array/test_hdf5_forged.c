/*
 * HDF5 files that were cut or in which bytes were changed: each is read whole in a process of
 * its own.
 *
 * What is checked: a file that is cut is refused or read, never a crash or a hang; of flipped bytes
 * nearly all come out as data or as a status.  libhdf5 1.10.8 is known not to withstand every
 * forged header (its own reports of heap overflows and assertions), so that a crash inside it is
 * counted, and only more than a few of them fail the test.
 */
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrax/array/io/hdf5.h"
#include "calibrax/base/file.h"
#include "fail_alloc.h"
#include "io_support.h"

#define CUTS        30
#define FLIPS       120
#define MAX_CRASHES 2 /* of FLIPS */
#define LIMIT_S     20

/* Everything the interface can read of an object; statuses do not matter here. */
static void read_all(cbx_h5 *h, const char *path, cbx_arena *arena, int depth)
{
    static const char *const names[] = { "units", "number", "numbers", "flag", "complex", "fixed", "words", "title" };
    const cbx_h5_entry *all = NULL;
    const char *const *texts = NULL;
    size_t n = 0, nt = 0;
    cbx_array *a = NULL;
    cbx_h5_info info;

    for (size_t i = 0; i < CBX_LEN(names); i++) {
        if (!cbx_h5_get_attr(h, path, names[i], &a, &err)) cbx_array_free(a);
        cbx_h5_get_attr_text(h, path, names[i], arena, &texts, &nt, &err);
    }
    if (!cbx_h5_stat(h, path, &info, &err)) {
        if (!cbx_h5_read(h, path, &a, &err)) cbx_array_free(a);
        cbx_h5_read_text(h, path, arena, &texts, &nt, &err);
    }
    if (depth == 0 || cbx_h5_list(h, path, arena, &all, &n, &err)) return;
    for (size_t i = 0; i < n; i++) read_all(h, cbx_arena_printf(arena, "%s/%s", path, all[i].name), arena, depth - 1);
}

static int read_file(const char *path)
{
    cbx_h5_opts opts = CBX_H5_OPTS_INIT;
    cbx_arena arena;
    cbx_h5 *h = NULL;
    opts.max_array_bytes = (uint64_t)64 << 20;
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    cbx_status st = cbx_h5_open(ctx, path, CBX_H5_READ, &opts, &h, &err);
    if (!st) read_all(h, "", &arena, 3);
    cbx_h5_close(h);
    cbx_arena_clear(&arena);
    return st ? 1 : 0;
}

/* How a child that reads these bytes ends: 0 read, 1 refused, else a signal (as 128 + its number)
 * or a sanitizer's status. */
static int verdict(const char *bytes, size_t len)
{
    char path[128];
    int status = 0;
    snprintf(path, sizeof path, "%s/forged.h5", folder);
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(bytes, 1, len, f) == len && fclose(f) == 0, "written");
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0, "fork");
    if (child == 0) {
        struct rlimit none = { 0, 0 };
        setrlimit(RLIMIT_CORE, &none);
        if (!freopen("/dev/null", "w", stderr)) _exit(99);
        signal(SIGSEGV, SIG_DFL); /* the test runner catches these */
        signal(SIGABRT, SIG_DFL);
        signal(SIGFPE, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        alarm(LIMIT_S);
        _exit(read_file(path));
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static char *load(const char *name, size_t *len)
{
    char path[512], *data = NULL;
    const char *root = getenv("CALIBRAX_SOURCE_ROOT");
    snprintf(path, sizeof path, "%s/tests/fixtures/hdf5/%s", root ? root : ".", name);
    cbx_h5 *h = NULL;
    cbx_status st = cbx_h5_open(ctx, path, CBX_H5_READ, NULL, &h, &err);
    CHECK_OK(st, &err, name);
    cbx_h5_close(h);
    CHECK_OK(cbx_file_read(ctx, path, 0, &data, len, &err), &err, name);
    return data;
}

static void cut_files(void **state)
{
    const char *name = *state;
    size_t full, refused = 0;
    char *data = load(name, &full);
    CHECK_INT(verdict(data, full), 0, "the whole file is read");
    for (int i = 0; i < CUTS; i++) {
        size_t len = full * (size_t)i / CUTS;
        int v = verdict(data, len);
        if (v > 1) fail_msg("%s cut to %zu bytes: a child ended with %d", name, len, v);
        refused += v == 1;
    }
    CHECK_INT(refused, CUTS, "HDF5 records the length of its files");
    cbx_mem_free(cbx_ctx_allocator(ctx), data, full + 1);
}

static void flipped_files(void **state)
{
    const char *name = *state;
    size_t full, read_anyway = 0;
    int crashes = 0, hangs = 0;
    char *data = load(name, &full);
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < FLIPS; i++) {
        random ^= random << 13, random ^= random >> 7,
            random ^= random << 17;                                     /* Marsaglia (2003), J. Stat. Softw. 8(14) */
        size_t at = (size_t)(random >> 8) % (i % 2 ? full : full / 16); /* headers lie in front */
        char old = data[at];
        data[at] = (char)(data[at] ^ (i % 3 ? 1 << (random & 7) : 0xFF));
        int v = verdict(data, full);
        crashes += v > 1 && v != 128 + SIGALRM;
        hangs += v == 128 + SIGALRM;
        read_anyway += v == 0;
        if (v > 1) print_message("# byte %zu of %s: a child ended with %d\n", at, name, v);
        data[at] = old;
    }
    print_message("# %s: %d flips, %zu read, %d crashes, %d hangs\n", name, FLIPS, read_anyway, crashes, hangs);
    CHECK_LE(crashes, MAX_CRASHES, "crashes, which are libhdf5's own");
    CHECK_INT(hangs, 0, "no child hangs");
    cbx_mem_free(cbx_ctx_allocator(ctx), data, full + 1);
}

TEST_FILE(.seconds = 600)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(cut_files, "h5py.h5"),
        cmocka_unit_test_prestate(cut_files, "latest.h5"),
        cmocka_unit_test_prestate(flipped_files, "h5py.h5"),
        cmocka_unit_test_prestate(flipped_files, "latest.h5"),
    };
    return cmocka_run_group_tests_name("hdf5 forged", tests, io_set_up, io_tear_down);
}
