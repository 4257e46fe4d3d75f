/* Locks between processes. */
#include "check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrax/base/file.h"
#include "fail_alloc.h"

#define MS 1000000u

static char folder[64], path[80];
static cbx_ctx *ctx;

static cbx_status take(uint64_t wait_ns, cbx_lock **lock, cbx_err *err)
{
    return cbx_lock_take(ctx, path, wait_ns, lock, err);
}

/* A child that takes the lock, says so through the pipe and holds it until it is killed. */
static pid_t holder(void)
{
    int said[2];
    char byte = 0;
    CHECK(pipe(said) == 0, "pipe");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        cbx_lock *lock = NULL;
        if (take(UINT64_MAX, &lock, NULL) || write(said[1], "x", 1) != 1) _exit(1);
        for (;;) pause();
    }
    close(said[1]);
    CHECK(read(said[0], &byte, 1) == 1, "the child holds it");
    close(said[0]);
    return child;
}

TEST(one_holder_at_a_time)
{
    cbx_lock *lock = NULL;
    cbx_err err = CBX_ERR_INIT;
    pid_t child = holder();
    CHECK_STATUS(take(0, &lock, &err), CBX_EBUSY, "held by the child, tried once");
    CHECK(strstr(err.message, path), "the message names it");
    CHECK_STATUS(take(5 * MS, &lock, &err), CBX_EBUSY, "held by the child, waited for");
    CHECK(lock == NULL, "out untouched");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK_OK(take(0, &lock, &err), &err, "it died with its holder");
    cbx_lock *second = NULL;
    CHECK_STATUS(take(0, &second, &err), CBX_EBUSY, "not twice in one process either");
    cbx_lock_release(lock);
    CHECK_OK(take(0, &second, &err), &err, "released");
    cbx_lock_release(second);
    cbx_lock_release(NULL);
}

typedef struct counting {
    const char *path;
    int times;
    bool locked;
    int ready, go; /* without the lock: says that the number was read, waits until all have read it */
} counting;

static void add_one(const counting *c, bool meet)
{
    char byte;
    int n = 0;
    FILE *f = fopen(c->path, "r+");
    if (!f || fscanf(f, "%d", &n) != 1) _exit(1);
    if (meet && (write(c->ready, "r", 1) != 1 || read(c->go, &byte, 1) != 0)) _exit(1);
    rewind(f);
    fprintf(f, "%06d", n + 1);
    fclose(f);
}

static void child_counts(const counting *c)
{
    for (int i = 0; i < c->times; i++) {
        cbx_lock *lock = NULL;
        if (c->locked && take(i % 2 ? UINT64_MAX : 60000 * (uint64_t)MS, &lock, NULL)) _exit(1);
        add_one(c, !c->locked && i == 0);
        cbx_lock_release(lock);
    }
    _exit(0);
}

/* Children add 1 to a number in a file, many times; without the lock all read it before the
 * first writes. */
static int count_after(int children, int times, bool locked)
{
    cbx_err err = CBX_ERR_INIT;
    char *number = NULL, counter[80], byte;
    size_t len = 0;
    int ready[2], go[2], status = 0;
    snprintf(counter, sizeof counter, "%s/counter", folder);
    CHECK_OK(cbx_file_write_atomic(ctx, counter, "000000", 6, &err), &err, "counter");
    CHECK(pipe(ready) == 0 && pipe(go) == 0, "pipes");
    fflush(stdout);
    for (int c = 0; c < children; c++) {
        if (fork() != 0) continue;
        close(go[1]);
        child_counts(&(counting){ counter, times, locked, ready[1], go[0] });
    }
    for (int c = 0; !locked && c < children; c++) CHECK(read(ready[0], &byte, 1) == 1, "a child has read");
    close(go[1]);
    for (int c = 0; c < children; c++) CHECK(wait(&status) > 0 && status == 0, "child");
    close(go[0]), close(ready[0]), close(ready[1]);
    CHECK_OK(cbx_file_read(ctx, counter, 0, &number, &len, &err), &err, "counter");
    int n = atoi(number);
    cbx_mem_free(cbx_ctx_allocator(ctx), number, len + 1);
    return n;
}

TEST(no_update_is_lost)
{
    CHECK_INT(count_after(3, 30, true), 90, "under the lock");
    CHECK(count_after(3, 1, false) < 3, "the check sees updates lost without it");
}

TEST(faults)
{
    cbx_lock *lock = NULL;
    cbx_err err = CBX_ERR_INIT;
    CHECK_STATUS(cbx_lock_take(ctx, "/nowhere/lock", 0, &lock, &err), CBX_ENOENT, "no folder");
    CHECK(strstr(err.message, "'/nowhere/lock'"), "the message names it");
    CHECK_STATUS(cbx_lock_take(ctx, folder, 0, &lock, &err), CBX_EIO, "a folder");
}

static void ignore(int number) { (void)number; }

TEST(a_signal_ends_the_wait)
{
    cbx_lock *lock = NULL;
    cbx_err err = CBX_ERR_INIT;
    struct sigaction action = { .sa_handler = ignore }; /* without SA_RESTART */
    sigaction(SIGALRM, &action, NULL);
    pid_t child = holder();
    struct {
        uint64_t wait_ns;
        const char *why;
    } cases[] = { { UINT64_MAX, "for ever" }, { 60000 * (uint64_t)MS, "a minute" } };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        ualarm(10000, 10000); /* again and again: the first may come before the wait */
        cbx_status st = take(cases[i].wait_ns, &lock, &err);
        ualarm(0, 0);
        CHECK_STATUS(st, CBX_EINTERRUPTED, cases[i].why);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static cbx_status take_and_release(cbx_ctx *c, void *user)
{
    cbx_lock *lock = NULL;
    cbx_err err = CBX_ERR_INIT;
    (void)user;
    cbx_status st = cbx_lock_take(c, path, 0, &lock, &err);
    cbx_lock_release(lock);
    return st;
}

TEST(every_allocation_can_fail) { CHECK_INT(cbx_test_fail_each(take_and_release, NULL, "lock"), 1, "the handle"); }

static int setup(void **state)
{
    (void)state;
    if (cbx_ctx_create(NULL, &ctx, NULL)) return 1;
    snprintf(path, sizeof path, "%s/lock", cbx_test_folder(folder));
    return 0;
}

static int teardown(void **state) { return (void)state, cbx_ctx_free(ctx), cbx_test_folder_remove(folder), 0; }

TESTS(.before = setup, .after = teardown)
