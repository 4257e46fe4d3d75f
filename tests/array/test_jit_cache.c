/* Compiled objects on disk: found again, never wrong, bounded, and no obstacle. */
#include "check.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/array/jit/cache.h"
#include "calibrax/base/file.h"
#include "calibrax/base/hash.h"
#include "counted.h"

static char folder[64];

/* ---- the path of an entry, and what is in it ---- */

static const char *path_of(const char *key)
{
    static char path[160];
    char name[CBX_HASH_SIZE];

    cbx_hash_bytes(key, strlen(key), name);
    snprintf(path, sizeof path, "%s/jit/%s.o", folder, name);
    return path;
}

static void store(const char *key, const char *data)
{
    cbx_err err;
    CHECK_OK(cbx__jit_cache_store(ctx, key, strlen(key), data, strlen(data), &err), &err, key);
}

/* 1: a hit with this content, 0: a miss, -1: a hit with other content */
static int load(cbx_ctx *c, const char *key, const char *data)
{
    char *got = NULL;
    size_t len = 0;
    bool hit = true;
    cbx_err err;

    CHECK_OK(cbx__jit_cache_load(c, key, strlen(key), &hit, &got, &len, &err), &err, key);
    if (!hit) return 0;
    const int same = len == strlen(data) && memcmp(got, data, len) == 0 ? 1 : -1;
    cbx_mem_free(cbx_ctx_allocator(c), got, len);
    return same;
}

static size_t files(void)
{
    char path[96];
    const char *const *names;
    size_t n = 0;
    cbx_arena arena;
    cbx_err err;

    snprintf(path, sizeof path, "%s/jit", folder);
    cbx_arena_init(&arena, cbx_allocator_default());
    CHECK_OK(cbx_dir_list(ctx, path, NULL, &arena, &names, &n, &err), &err, "folder");
    cbx_arena_clear(&arena);
    return n;
}

/* ---- tests ---- */

static void an_entry_is_found_again(void **state)
{
    (void)state;
    char other[200];
    struct stat s;

    CHECK_INT(load(ctx, "key", "content"), 0, "nothing yet");
    store("key", "content");
    CHECK_INT(load(ctx, "key", "content"), 1, "stored");
    CHECK_INT(load(ctx, "another", "content"), 0, "another key");
    store("yek", "content");
    snprintf(other, sizeof other, "%s", path_of("yek"));
    CHECK(rename(other, path_of("key")) == 0, "rename");
    CHECK_INT(load(ctx, "key", "content"), 0, "another key of the same hash");
    store("key", "changed");
    CHECK_INT(load(ctx, "key", "changed"), 1, "replaced");
    CHECK(stat(path_of("key"), &s) == 0 && (s.st_mode & 0777) == 0600, "ours alone");
    CHECK_INT(files(), 1, "no temporary is left");
}

/* Every byte of an entry counts. */
static void damage_is_seen(void **state)
{
    (void)state;
    char whole[256];
    size_t n;

    store("key", "content");
    int fd = open(path_of("key"), O_RDONLY);
    n = (size_t)read(fd, whole, sizeof whole);
    close(fd);
    CHECK_LE(n, sizeof whole - 1, "size");
    for (size_t i = 0; i < n; i++) {
        char byte = (char)(whole[i] ^ 4);
        if (i >= 65 && i < 72) continue; /* padding */
        fd = open(path_of("key"), O_WRONLY);
        CHECK(pwrite(fd, &byte, 1, (off_t)i) == 1, "write");
        CHECK_INT(load(ctx, "key", "content"), 0, "one bit");
        CHECK(pwrite(fd, &whole[i], 1, (off_t)i) == 1, "write");
        close(fd);
    }
    CHECK_INT(load(ctx, "key", "content"), 1, "as it was");
    for (size_t i = n; i-- > 0;) {
        CHECK(truncate(path_of("key"), (off_t)i) == 0, "cut");
        CHECK_INT(load(ctx, "key", "content"), 0, "cut");
    }
    store("key", "content");
    CHECK_INT(load(ctx, "key", "content"), 1, "replaced");
    CHECK(truncate(path_of("key"), (off_t)n + 1) == 0, "longer");
    CHECK_INT(load(ctx, "key", "content"), 0, "longer");
}

static void what_others_could_write_is_not_read(void **state)
{
    (void)state;
    char other[200];

    store("key", "content");
    CHECK(chmod(path_of("key"), 0620) == 0, "chmod");
    CHECK_INT(load(ctx, "key", "content"), 0, "writable by the group");
    store("key", "content");
    CHECK_INT(load(ctx, "key", "content"), 1, "replaced");
    snprintf(other, sizeof other, "%s/other", folder);
    CHECK(rename(path_of("key"), other) == 0 && symlink(other, path_of("key")) == 0, "a link");
    CHECK_INT(load(ctx, "key", "content"), 0, "a link");
    store("key", "content");
    CHECK_INT(load(ctx, "key", "content"), 1, "replaced");
    CHECK(unlink(path_of("key")) == 0 && mkfifo(path_of("key"), 0600) == 0, "a pipe");
    CHECK_INT(load(ctx, "key", "content"), 0, "a pipe");
    CHECK(unlink(path_of("key")) == 0, "unlink");
    if (geteuid() != 0) SKIP("only root gives files away");
    store("key", "content");
    CHECK(chown(path_of("key"), 12345, 12345) == 0, "chown");
    CHECK_INT(load(ctx, "key", "content"), 0, "another user's");
    store("key", "content");
    CHECK_INT(load(ctx, "key", "content"), 1, "replaced");
}

static uint64_t bytes_of(const char *key)
{
    struct stat s;
    return stat(path_of(key), &s) == 0 ? (uint64_t)s.st_size : 0;
}

static void the_size_is_bounded(void **state)
{
    (void)state;
    enum { N = 60, LENGTH = 3000, LIMIT = 40000 };
    char data[LENGTH + 1], key[32], limit[32];
    uint64_t total = 0;
    const struct timespec old[2] = { { .tv_sec = time(NULL) - 100000 }, { .tv_sec = time(NULL) - 100000 } };

    memset(data, 'x', LENGTH);
    data[LENGTH] = 0;
    snprintf(limit, sizeof limit, "%d", LIMIT);
    setenv("CALIBRAX_JIT_CACHE_BYTES", limit, 1);
    for (int i = 0; i < N; i++) {
        snprintf(key, sizeof key, "bounded %d", i);
        store(key, data);
        CHECK(utimensat(AT_FDCWD, path_of(key), old, 0) == 0, "an old one");
        CHECK_INT(load(ctx, "bounded 0", data), 1, "what is used stays");
    }
    for (int i = 0; i < N; i++) {
        snprintf(key, sizeof key, "bounded %d", i);
        total += bytes_of(key);
    }
    CHECK_LE(total, LIMIT, "bytes");
    CHECK_GT(total, LIMIT / 2, "bytes");
    snprintf(key, sizeof key, "bounded %d", N - 1);
    setenv("CALIBRAX_JIT_CACHE_BYTES", "10000", 1);
    store("large", data);
    CHECK_INT(load(ctx, "large", data), 0, "larger than a quarter of the limit");
    setenv("CALIBRAX_JIT_CACHE_BYTES", "0", 1);
    store("none", "content");
    CHECK_INT(load(ctx, key, data), 0, "nothing is read");
    unsetenv("CALIBRAX_JIT_CACHE_BYTES");
    CHECK_INT(load(ctx, "none", "content"), 0, "nothing was stored");
}

static void abandoned_temporaries_go(void **state)
{
    (void)state;
    char path[96];
    const struct timespec old[2] = { { .tv_sec = time(NULL) - 8000 }, { .tv_sec = time(NULL) - 8000 } };

    store("key", "content");
    snprintf(path, sizeof path, "%s/jit/.123-0", folder);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    setenv("CALIBRAX_JIT_CACHE_BYTES", "1500", 1);
    store("key", "content");
    CHECK(cbx_path_exists(path), "maybe its writer lives");
    CHECK(utimensat(AT_FDCWD, path, old, 0) == 0, "old");
    store("key", "content");
    CHECK(!cbx_path_exists(path), "removed");
    unsetenv("CALIBRAX_JIT_CACHE_BYTES");
}

static void a_useless_folder_is_no_obstacle(void **state)
{
    (void)state;
    char file[96];

    snprintf(file, sizeof file, "%s/file", folder);
    close(open(file, O_WRONLY | O_CREAT, 0600));
    setenv("CALIBRAX_CACHE_DIR", file, 1);
    store("key", "content");
    CHECK_INT(load(ctx, "key", "content"), 0, "a file in its place");
    setenv("CALIBRAX_CACHE_DIR", "/proc/self", 1);
    store("key", "content");
    CHECK_INT(load(ctx, "key", "content"), 0, "a folder that takes no files");
    setenv("CALIBRAX_CACHE_DIR", folder, 1);
}

/* A disk that is full after some bytes. */
static void a_full_disk_leaves_nothing(void **state)
{
    (void)state;
    int status;

    store("key", "content");
    CHECK(unlink(path_of("key")) == 0, "unlink");
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit few = { 80, 80 };
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &few);
        _exit(cbx__jit_cache_store(ctx, "key", 3, "content", 7, NULL) != CBX_OK);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the child");
    CHECK_INT(load(ctx, "key", "content"), 0, "not stored");
    CHECK_INT(files(), 0, "no temporary is left");
}

/* Four processes store and load the same keys. */
static void processes_share_it(void **state)
{
    (void)state;
    enum { PROCESSES = 4, ROUNDS = 150, KEYS = 5 };
    static const char *const keys[KEYS] = { "a", "b", "c", "d", "e" };
    pid_t children[PROCESSES];
    int status;

    for (int p = 0; p < PROCESSES; p++) {
        children[p] = fork();
        if (children[p] != 0) continue;
        int wrong = 0;
        for (int i = 0; i < ROUNDS; i++) {
            const char *key = keys[(i * 7 + p) % KEYS];
            wrong += load(ctx, key, key) < 0;
            wrong += cbx__jit_cache_store(ctx, key, 1, key, 1, NULL) != CBX_OK;
            wrong += load(ctx, key, key) != 1;
        }
        _exit(wrong != 0);
    }
    for (int p = 0; p < PROCESSES; p++)
        CHECK(waitpid(children[p], &status, 0) == children[p] && status == 0, "a process");
    CHECK_INT(files(), KEYS, "entries");
}

static cbx_status store_and_load(cbx_ctx *c, void *user)
{
    char *data = NULL;
    size_t len = 0;
    bool hit = false;
    cbx_status st = cbx__jit_cache_store(c, "key", 3, user, 7, NULL);

    if (!st) st = cbx__jit_cache_load(c, "key", 3, &hit, &data, &len, NULL);
    if (hit) cbx_mem_free(cbx_ctx_allocator(c), data, len);
    return st;
}

static void memory_may_end(void **state)
{
    (void)state;
    static char content[] = "content";

    setenv("CALIBRAX_JIT_CACHE_BYTES", "1000", 1); /* so small that all files are looked at */
    CHECK_GT(cbx_test_fail_each(store_and_load, content, "the cache"), 3, "it allocates");
    unsetenv("CALIBRAX_JIT_CACHE_BYTES");
}

static int setup(void **state)
{
    setenv("CALIBRAX_CACHE_DIR", cbx_test_folder(folder), 1);
    return counted_setup(state);
}

static int teardown(void **state)
{
    cbx_test_folder_remove(folder);
    return counted_teardown(state);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

TEST_FILE()
{
    const struct CMUnitTest tests[] = {
        CASE(an_entry_is_found_again),    CASE(damage_is_seen),           CASE(what_others_could_write_is_not_read),
        CASE(the_size_is_bounded),        CASE(abandoned_temporaries_go), CASE(a_useless_folder_is_no_obstacle),
        CASE(a_full_disk_leaves_nothing), CASE(processes_share_it),       CASE(memory_may_end),
    };
    return cmocka_run_group_tests_name("array/jit_cache", tests, NULL, NULL);
}
