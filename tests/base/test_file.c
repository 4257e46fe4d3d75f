/* Files: reading, atomic writing, folders, paths. */
#include "check.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/base/file.h"
#include "fail_alloc.h"

static char folder[64];
static cbx_ctx *ctx;
static cbx_arena arena;

static const char *in_folder(const char *name) { return cbx_path_join(&arena, folder, name); }

static void put(const char *path, const char *content)
{
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_file_write_atomic(ctx, path, content, strlen(content), &err), &err, path);
}

/* Names in a folder, joined by blanks. */
static const char *names_in(const char *path, const char *suffix)
{
    const char *const *names = NULL, *all = "";
    size_t count = 0;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_dir_list(ctx, path, suffix, &arena, &names, &count, &err), &err, path);
    for (size_t i = 0; i < count; i++) all = cbx_arena_printf(&arena, "%s%s%s", all, i ? " " : "", names[i]);
    return all;
}

TEST(reads_what_was_written)
{
    static const size_t sizes[] = { 0, 1, 4095, 4096, 4097, 1000000 };
    const char *path = in_folder("read");
    char *bytes = malloc(1000000);
    for (size_t i = 0; i < 1000000; i++) bytes[i] = (char)(i * 31 >> 3);
    for (size_t i = 0; i < CBX_LEN(sizes); i++) {
        char *data = NULL;
        size_t len = 7;
        cbx_err err = CBX_ERR_INIT;
        CHECK_OK(cbx_file_write_atomic(ctx, path, bytes, sizes[i], &err), &err, "write");
        CHECK_OK(cbx_file_read(ctx, path, 0, &data, &len, &err), &err, "read");
        CHECK(len == sizes[i] && memcmp(data, bytes, len) == 0 && data[len] == 0, "same bytes, and a NUL");
        cbx_mem_free(cbx_ctx_allocator(ctx), data, len + 1);
        if (sizes[i] == 0) continue;
        CHECK_OK(cbx_file_read(ctx, path, sizes[i], &data, &len, &err), &err, "as large as allowed");
        cbx_mem_free(cbx_ctx_allocator(ctx), data, len + 1);
        if (sizes[i] > 1)
            CHECK_STATUS(cbx_file_read(ctx, path, sizes[i] - 1, &data, &len, &err), CBX_EOVERFLOW, "one byte larger");
    }
    free(bytes);
}

TEST(files_without_a_size)
{
    char *data = NULL;
    size_t len = 0;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_file_read(ctx, "/proc/self/status", 0, &data, &len, &err), &err, "says it has 0 bytes");
    CHECK(strstr(data, "VmHWM"), "and has some");
    cbx_mem_free(cbx_ctx_allocator(ctx), data, len + 1);
    CHECK_STATUS(cbx_file_read(ctx, "/dev/zero", 100000, &data, &len, &err), CBX_EOVERFLOW, "has no end");
}

TEST(reading_fails)
{
    const struct {
        const char *path;
        cbx_status wanted;
        const char *why;
    } cases[] = {
        { in_folder("absent"), CBX_ENOENT, "no such file" },
        { folder, CBX_EIO, "a folder" },
        { "/dev/null/x", CBX_EIO, "a file taken for a folder" },
        { "", CBX_ENOENT, "no name" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        char *data = folder;
        size_t len = 7;
        cbx_err err = CBX_ERR_INIT;
        CHECK_STATUS(cbx_file_read(ctx, cases[i].path, 0, &data, &len, &err), cases[i].wanted, cases[i].why);
        CHECK(strstr(err.message, cases[i].path), "the message names it");
        CHECK(data == folder && len == 7, "out untouched");
    }
}

TEST(writing_replaces_and_keeps_permissions)
{
    const char *path = in_folder("w/file");
    struct stat info;
    cbx_err err = CBX_ERR_INIT;
    CHECK_STATUS(cbx_file_write_atomic(ctx, path, "x", 1, &err), CBX_ENOENT, "no folder");
    CHECK(strstr(err.message, path), "the message names it");
    CHECK_OK(cbx_dir_create_parent(ctx, path, &err), &err, "parents");
    put(path, "old");
    CHECK(chmod(path, 0640) == 0, "chmod");
    put(path, "new");
    CHECK(stat(path, &info) == 0 && (info.st_mode & 0777) == 0640, "permissions stay");
    CHECK_STR(names_in(in_folder("w"), NULL), "file", "no temporary is left");
    CHECK(chdir(in_folder("w")) == 0, "chdir");
    put("bare", "in the current folder");
    CHECK(chdir("/") == 0, "chdir");
    CHECK_STR(names_in(in_folder("w"), NULL), "bare file", "a path without a folder");
}

TEST(a_failed_write_leaves_no_trace)
{
    static char large[100000];
    const char *path = in_folder("limited/file");
    cbx_err err = CBX_ERR_INIT;
    struct rlimit old, small;
    CHECK_OK(cbx_dir_create_parent(ctx, path, &err), &err, "parents");
    put(path, "old");
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0, "limit");
    small = old;
    small.rlim_cur = 50000;
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0, "a disk with 50000 bytes left");
    cbx_status st = cbx_file_write_atomic(ctx, path, large, sizeof large, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    CHECK_STATUS(st, CBX_EIO, "does not fit");
    CHECK(strstr(err.message, path), "the message names it");
    CHECK_STR(names_in(in_folder("limited"), NULL), "file", "no temporary is left");
    CHECK_STATUS(cbx_file_write_atomic(ctx, in_folder("limited"), "x", 1, &err), CBX_EIO,
                 "a folder cannot be replaced");
    CHECK_STR(names_in(folder, ".tmp"), "", "no temporary is left");
}

/* In a process that is not root: 0 if the status comes out and names the path. */
static int try_as_nobody(const char *path, cbx_status wanted)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        cbx_err err = CBX_ERR_INIT;
        if (geteuid() == 0 && setresuid(65534, 65534, 65534)) _exit(3);
        cbx_status st = cbx_file_write_atomic(ctx, path, "x", 1, &err);
        cbx_status check = cbx_file_check_writable(ctx, path, &err);
        _exit(st != wanted || check != wanted || (wanted && !strstr(err.message, path)));
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

TEST(permission_is_told)
{
    cbx_err err = CBX_ERR_INIT;
    const char *path = in_folder("closed/file");
    CHECK_OK(cbx_dir_create_parent(ctx, path, &err), &err, "parents");
    CHECK(chmod(folder, 0755) == 0 && chmod(in_folder("closed"), 0555) == 0, "chmod");
    CHECK_INT(try_as_nobody(path, CBX_EPERM), 0, "a folder that may not be written");
    CHECK(chmod(in_folder("closed"), 0777) == 0, "chmod");
    CHECK_INT(try_as_nobody(path, CBX_OK), 0, "the check sees a folder that may");
}

TEST(check_writable)
{
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_file_check_writable(ctx, in_folder("cw/a/b/file"), &err), &err, "parents are made");
    CHECK_STR(names_in(in_folder("cw/a/b"), NULL), "", "nothing is left");
    CHECK_STATUS(cbx_file_check_writable(ctx, in_folder("cw"), &err), CBX_EIO, "a folder");
    CHECK_STATUS(cbx_file_check_writable(ctx, "/dev/null/x", &err), CBX_EIO, "below a file");
    CHECK_STATUS(cbx_file_check_writable(ctx, "/proc/cbx-is-not-here/x", &err), CBX_ENOENT,
                 "where nothing can be made");
}

/* --- what is no regular file --- */

static bool is_kind(const char *path, mode_t kind)
{
    struct stat info;
    return lstat(path, &info) == 0 && (info.st_mode & S_IFMT) == kind;
}

static void check_content(const char *path, const char *wanted, const char *why)
{
    char *data = NULL;
    size_t len = 0;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_file_read(ctx, path, 0, &data, &len, &err), &err, why);
    CHECK_STR(data, wanted, why);
    cbx_mem_free(cbx_ctx_allocator(ctx), data, len + 1);
}

TEST(links_stay_links)
{
    static const struct {
        const char *link, *leads_to, *file, *why;
    } rows[] = {
        { "s/relative", "real/file", "s/real/file", "relative to the link's folder" },
        { "s/chain", "relative", "s/real/file", "a link to a link" },
        { "s/dangling", "real/new", "s/real/new", "to a file that is not there yet" },
    };
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_dir_create(ctx, in_folder("s/real"), &err), &err, "folders");
    put(in_folder("s/real/file"), "old");
    CHECK(chmod(in_folder("s/real/file"), 0600) == 0, "chmod");
    for (size_t i = 0; i < CBX_LEN(rows); i++) {
        struct stat info;
        CHECK(symlink(rows[i].leads_to, in_folder(rows[i].link)) == 0, "symlink");
        CHECK_OK(cbx_file_check_writable(ctx, in_folder(rows[i].link), &err), &err, rows[i].why);
        put(in_folder(rows[i].link), rows[i].why);
        CHECK(is_kind(in_folder(rows[i].link), S_IFLNK), rows[i].why);
        CHECK(is_kind(in_folder(rows[i].file), S_IFREG), rows[i].why);
        check_content(in_folder(rows[i].file), rows[i].why, "the file behind the link is new");
        CHECK(i == 2 || (stat(in_folder(rows[i].file), &info) == 0 && (info.st_mode & 0777) == 0600),
              "permissions are the file's");
    }
    CHECK(symlink(in_folder("s/real/file"), in_folder("s/absolute")) == 0, "symlink");
    put(in_folder("s/absolute"), "absolute");
    check_content(in_folder("s/real/file"), "absolute", "an absolute link");
    CHECK_STR(names_in(in_folder("s/real"), NULL), "file new", "no temporary is left");
    CHECK(symlink("loop", in_folder("s/loop")) == 0 && symlink("real", in_folder("s/folder")) == 0, "symlink");
    CHECK_STATUS(cbx_file_write_atomic(ctx, in_folder("s/loop"), "x", 1, &err), CBX_EIO, "a link to itself");
    CHECK_STATUS(cbx_file_write_atomic(ctx, in_folder("s/folder"), "x", 1, &err), CBX_EIO, "a link to a folder");
    CHECK_STATUS(cbx_file_check_writable(ctx, in_folder("s/folder"), &err), CBX_EIO, "a link to a folder");
    CHECK(is_kind(in_folder("s/folder"), S_IFLNK), "which stays");
}

TEST(devices_are_written_not_replaced)
{
    const char *null = in_folder("null"), *full = in_folder("full"), *link = in_folder("link-to-null");
    cbx_err err = CBX_ERR_INIT;
    if (mknod(null, S_IFCHR | 0666, makedev(1, 3)) || mknod(full, S_IFCHR | 0666, makedev(1, 7))) {
        unlink(null);
        SKIP("permission: device nodes need root");
    }
    int fd = open(null, O_WRONLY);
    if (fd < 0) { /* a file system mounted without devices */
        unlink(null), unlink(full);
        SKIP("permission: device nodes do not open here");
    }
    close(fd);
    CHECK_OK(cbx_file_check_writable(ctx, null, &err), &err, "may be written");
    CHECK_OK(cbx_file_write_atomic(ctx, null, "lost", 4, &err), &err, "written");
    CHECK(is_kind(null, S_IFCHR), "still a device");
    CHECK(symlink("null", link) == 0, "symlink");
    CHECK_OK(cbx_file_write_atomic(ctx, link, "lost", 4, &err), &err, "through a link");
    CHECK(is_kind(link, S_IFLNK) && is_kind(null, S_IFCHR), "still a link to a device");
    CHECK_STATUS(cbx_file_write_atomic(ctx, full, "lost", 4, &err), CBX_ENOSPC, "one that takes nothing");
    CHECK(strstr(err.message, full) && is_kind(full, S_IFCHR), "is named, and still a device");
    unlink(null), unlink(full), unlink(link);
}

TEST(pipes_are_written_not_replaced)
{
    const char *path = in_folder("pipe");
    char seen[8] = "";
    cbx_err err = CBX_ERR_INIT;
    CHECK(mkfifo(path, 0600) == 0, "mkfifo");
    CHECK_STATUS(cbx_file_write_atomic(ctx, path, "x", 1, &err), CBX_EIO, "nobody reads: an error, not a wait");
    CHECK(strstr(err.message, path) && strstr(err.message, "no reader"), "which says so");
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    CHECK(fd >= 0, "a reader");
    CHECK_OK(cbx_file_check_writable(ctx, path, &err), &err, "may be written");
    CHECK_OK(cbx_file_write_atomic(ctx, path, "through", 7, &err), &err, "written");
    CHECK(read(fd, seen, 7) == 7, "arrived");
    CHECK_STR(seen, "through", "as it was");
    CHECK(is_kind(path, S_IFIFO), "still a pipe");
    close(fd);
    unlink(path);
}

/* --- atomicity: a writer is killed at any point; the file holds one whole content --- */

#define CONTENT_BYTES 65536

typedef void (*writer_fn)(const char *path, const char *content);

static void write_atomic(const char *path, const char *content)
{
    if (cbx_file_write_atomic(ctx, path, content, CONTENT_BYTES, NULL)) _exit(1);
}

/* What people write first: open, truncate, write in pieces. */
static void write_in_place(const char *path, const char *content)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    for (int i = 0; i < CONTENT_BYTES; i += 512)
        if (write(fd, content + i, 512) != 512) _exit(1);
    close(fd);
}

static void write_for_ever(writer_fn writer, const char *path)
{
    static char content[CONTENT_BYTES];
    for (int c = 'a';; c = c == 'z' ? 'a' : c + 1) {
        memset(content, c, sizeof content);
        writer(path, content);
    }
}

/* Counts the kills after which the file was torn. */
static int torn_after_kills(writer_fn writer, int kills)
{
    const char *path = in_folder("kill/file");
    char *data = NULL, first[CONTENT_BYTES];
    size_t len = 0;
    int torn = 0;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_dir_create_parent(ctx, path, &err), &err, "parents");
    memset(first, '0', sizeof first);
    CHECK_OK(cbx_file_write_atomic(ctx, path, first, sizeof first, &err), &err, "first content");
    srand(1);
    fflush(stdout);
    for (int i = 0; i < kills; i++) {
        int started[2];
        CHECK(pipe(started) == 0, "pipe");
        pid_t child = fork();
        if (child == 0) {
            if (write(started[1], "s", 1) == 1) write_for_ever(writer, path);
            _exit(1);
        }
        char byte;
        CHECK(read(started[0], &byte, 1) == 1, "it writes");
        close(started[0]), close(started[1]);
        struct timespec t = { 0, 100000 + rand() % 6000000 };
        nanosleep(&t, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        CHECK_OK(cbx_file_read(ctx, path, 0, &data, &len, &err), &err, "the file is there");
        bool whole = len == CONTENT_BYTES;
        for (size_t k = 1; whole && k < len; k++) whole = data[k] == data[0];
        torn += !whole;
        cbx_mem_free(cbx_ctx_allocator(ctx), data, len + 1);
    }
    return torn;
}

/* What stands at the path is the old file until the commit, whatever a library does to the
 * temporary. */
TEST(replacements)
{
    const char *path = in_folder("replaced");
    cbx_replacement *r = NULL;
    cbx_err err = CBX_ERR_INIT;
    char *data = NULL;
    size_t len = 0;
    put(path, "old");
    CHECK_INT(chmod(path, 0640), 0, "permissions of its own");
    for (int by_rename = 0; by_rename < 2; by_rename++) {
        CHECK_OK(cbx_replacement_begin(ctx, path, &r, &err), &err, "begin");
        const char *other = in_folder("other"), *mine = by_rename ? other : cbx_replacement_path(r);
        FILE *f = fopen(mine, "w");
        CHECK(f && fputs(by_rename ? "renamed" : "written", f) >= 0 && fclose(f) == 0, "the library writes");
        if (by_rename) CHECK_INT(rename(other, cbx_replacement_path(r)), 0, "and replaces the temporary");
        CHECK_OK(cbx_file_read(ctx, path, 0, &data, &len, &err), &err, "read");
        CHECK_STR(data, by_rename ? "written" : "old", "nothing has changed yet");
        cbx_mem_free(cbx_ctx_allocator(ctx), data, len + 1);
        CHECK_OK(cbx_replacement_commit(r, &err), &err, "commit");
        CHECK_OK(cbx_file_read(ctx, path, 0, &data, &len, &err), &err, "read");
        CHECK_STR(data, by_rename ? "renamed" : "written", "now it has");
        cbx_mem_free(cbx_ctx_allocator(ctx), data, len + 1);
        struct stat info;
        CHECK(stat(path, &info) == 0 && (info.st_mode & 0777) == 0640, "permissions stay");
    }
    CHECK_OK(cbx_replacement_begin(ctx, path, &r, &err), &err, "begin");
    cbx_replacement_discard(r);
    CHECK_OK(cbx_replacement_begin(ctx, path, &r, &err), &err, "begin");
    CHECK_INT(unlink(cbx_replacement_path(r)), 0, "a temporary that is lost");
    CHECK_STATUS(cbx_replacement_commit(r, &err), CBX_ENOENT, "cannot take the place");
    CHECK_OK(cbx_file_read(ctx, path, 0, &data, &len, &err), &err, "read");
    CHECK_STR(data, "renamed", "as it was");
    cbx_mem_free(cbx_ctx_allocator(ctx), data, len + 1);
    CHECK(!strstr(names_in(folder, ".tmp"), ".tmp"), "no temporary is left");
    CHECK_STATUS(cbx_replacement_begin(ctx, folder, &r, &err), CBX_EIO, "a folder");
    CHECK_STATUS(cbx_replacement_begin(ctx, "/dev/null", &r, &err), CBX_EIO, "a device");
    CHECK_STATUS(cbx_replacement_begin(ctx, in_folder("none/x"), &r, &err), CBX_ENOENT, "no folder");
    cbx_replacement_discard(NULL);
}

TEST(killed_writers_tear_nothing)
{
    CHECK_INT(torn_after_kills(write_atomic, 30), 0, "old content or new, never a part");
    CHECK_GT(torn_after_kills(write_in_place, 30), 0, "the check sees a writer that tears");
}

/* --- folders and paths --- */

TEST(folders)
{
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_dir_create(ctx, in_folder("d/e//f/"), &err), &err, "parents, double and trailing slash");
    CHECK_OK(cbx_dir_create(ctx, in_folder("d/e/f"), &err), &err, "existing");
    put(in_folder("d/file"), "x");
    CHECK_STATUS(cbx_dir_create(ctx, in_folder("d/file"), &err), CBX_EIO, "a file is no folder");
    CHECK_STATUS(cbx_dir_create(ctx, in_folder("d/file/g"), &err), CBX_EIO, "nor a parent");
    CHECK_STATUS(cbx_dir_create(ctx, "", &err), CBX_EINVAL, "no name");
    CHECK_OK(cbx_dir_create_parent(ctx, "bare", &err), &err, "a name without a folder");
    CHECK_OK(cbx_dir_create_parent(ctx, "/bare", &err), &err, "in the root");
}

TEST(listing)
{
    static const char *const made[] = { "b.json", "a.json", "A.json", "c.jsonl", ".hidden.json", "json" };
    const char *const *names = NULL;
    size_t count = 0;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_dir_create(ctx, in_folder("l"), &err), &err, "folder");
    CHECK_STR(names_in(in_folder("l"), NULL), "", "empty");
    for (size_t i = 0; i < CBX_LEN(made); i++) put(cbx_path_join(&arena, in_folder("l"), made[i]), "x");
    CHECK_STR(names_in(in_folder("l"), ".json"), ".hidden.json A.json a.json b.json", "suffix, by byte value");
    CHECK_STR(names_in(in_folder("l"), NULL), ".hidden.json A.json a.json b.json c.jsonl json", "all");
    CHECK_STATUS(cbx_dir_list(ctx, in_folder("gone"), NULL, &arena, &names, &count, &err), CBX_ENOENT,
                 "no such folder");
    CHECK_STATUS(cbx_dir_list(ctx, in_folder("l/json"), NULL, &arena, &names, &count, &err), CBX_EIO, "a file");
}

TEST(paths)
{
    CHECK_STR(cbx_path_join(&arena, "a", "b"), "a/b", "join");
    CHECK_STR(cbx_path_join(&arena, "a/", "b"), "a/b", "slash there");
    CHECK_STR(cbx_path_join(&arena, "", "b"), "b", "no folder");
    CHECK_STR(cbx_path_join(&arena, "/", "b"), "/b", "root");
    CHECK(cbx_path_exists(folder) && cbx_path_exists("/dev/null") && !cbx_path_exists("") &&
              !cbx_path_exists("/nowhere"),
          "exists");
}

TEST(cache_folder)
{
    const char *path = NULL;
    struct stat info;
    cbx_err err = CBX_ERR_INIT;
    setenv("XDG_CACHE_HOME", in_folder("xdg"), 1);
    setenv("CALIBRAX_CACHE_DIR", in_folder("given"), 1);
    CHECK_OK(cbx_cache_dir(ctx, "probe", &arena, &path, &err), &err, "CALIBRAX_CACHE_DIR");
    CHECK_STR(path, in_folder("given/probe"), "in it");
    setenv("CALIBRAX_CACHE_DIR", "/dev/null/x", 1);
    CHECK_STATUS(cbx_cache_dir(ctx, "probe", &arena, &path, &err), CBX_EIO, "there and nowhere else");
    unsetenv("CALIBRAX_CACHE_DIR");
    CHECK_OK(cbx_cache_dir(ctx, "probe", &arena, &path, &err), &err, "XDG_CACHE_HOME");
    CHECK_STR(path, in_folder("xdg/calibrax/probe"), "below it");
    CHECK(stat(path, &info) == 0 && (info.st_mode & 0777) == 0700, "ours alone");
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", in_folder("home"), 1);
    CHECK_OK(cbx_cache_dir(ctx, "probe", &arena, &path, &err), &err, "a relative one is ignored");
    CHECK_STR(path, in_folder("home/.cache/calibrax/probe"), "below HOME");
    setenv("XDG_CACHE_HOME", "/dev/null/x", 1);
    CHECK_OK(cbx_cache_dir(ctx, "probe", &arena, &path, &err), &err, "one that cannot be made");
    CHECK_STR(path, in_folder("home/.cache/calibrax/probe"), "the next place");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    CHECK_OK(cbx_cache_dir(ctx, "test", &arena, &path, &err), &err, "no HOME");
    CHECK_STR(path, cbx_arena_printf(&arena, "/tmp/calibrax-%u/test", (unsigned)geteuid()), "in /tmp");
    rmdir(path);
}

/* --- memory --- */

static cbx_status do_read(cbx_ctx *c, void *path)
{
    char *data = NULL;
    size_t len = 0;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_file_read(c, path, 0, &data, &len, &err);
    if (!st) cbx_mem_free(cbx_ctx_allocator(c), data, len + 1);
    return st;
}

static cbx_status do_write(cbx_ctx *c, void *path)
{
    cbx_err err = CBX_ERR_INIT;
    return cbx_file_write_atomic(c, path, "x", 1, &err);
}

static cbx_status do_check(cbx_ctx *c, void *path)
{
    cbx_err err = CBX_ERR_INIT;
    return cbx_file_check_writable(c, path, &err);
}

static cbx_status do_list(cbx_ctx *c, void *path)
{
    const char *const *names;
    size_t count;
    cbx_arena a;
    cbx_err err = CBX_ERR_INIT;
    cbx_arena_init(&a, cbx_ctx_allocator(c));
    cbx_status st = cbx_dir_list(c, path, NULL, &a, &names, &count, &err);
    cbx_arena_clear(&a);
    return st;
}

static cbx_status do_cache(cbx_ctx *c, void *user)
{
    const char *path;
    cbx_arena a;
    cbx_err err = CBX_ERR_INIT;
    (void)user;
    cbx_arena_init(&a, cbx_ctx_allocator(c));
    cbx_status st = cbx_cache_dir(c, "probe", &a, &path, &err);
    cbx_arena_clear(&a);
    return st;
}

TEST(every_allocation_can_fail)
{
    char *path = cbx_arena_strdup(&arena, in_folder("m/file"));
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_dir_create_parent(ctx, path, &err), &err, "parents");
    CHECK_GT(cbx_test_fail_each(do_write, path, "write"), 0, "names");
    CHECK_STR(names_in(in_folder("m"), NULL), "file", "no temporary is left");
    CHECK_GT(cbx_test_fail_each(do_check, path, "check"), 0, "names");
    char *link = cbx_arena_strdup(&arena, in_folder("m-link"));
    CHECK(symlink("m/file", link) == 0, "symlink");
    CHECK_GT(cbx_test_fail_each(do_write, link, "write through a link"), 0, "names");
    CHECK_GT(cbx_test_fail_each(do_check, link, "check through a link"), 0, "names");
    CHECK_GT(cbx_test_fail_each(do_read, path, "read"), 1, "buffer, and its cut to size");
    CHECK_GT(cbx_test_fail_each(do_read, "/proc/self/status", "read without a size"), 1, "buffer");
    for (int i = 0; i < 70; i++) put(in_folder(cbx_arena_printf(&arena, "m/%d", i)), "x");
    CHECK_GT(cbx_test_fail_each(do_list, (void *)(uintptr_t)in_folder("m"), "list"), 2,
             "the list grows, the arena holds");
    setenv("XDG_CACHE_HOME", in_folder("xdg"), 1);
    CHECK_GT(cbx_test_fail_each(do_cache, NULL, "cache"), 1, "path and scratch");
}

static int setup(void **state)
{
    (void)state;
    cbx_arena_init(&arena, cbx_allocator_default());
    return cbx_test_folder(folder) == NULL || cbx_ctx_create(NULL, &ctx, NULL) != CBX_OK;
}

static int teardown(void **state)
{
    (void)state;
    cbx_arena_clear(&arena);
    cbx_ctx_free(ctx);
    cbx_test_folder_remove(folder);
    return 0;
}

TESTS(.before = setup, .after = teardown)
