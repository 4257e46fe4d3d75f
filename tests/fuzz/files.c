/* Bytes as several files below a folder (files.h). */
#include "files.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 256

static char root[64];
static const char *const *files;
static size_t nfiles;

static void require(int good)
{
    if (!good) abort();
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info;
    (void)kind;
    (void)at;
    remove(path);
    return 0;
}

static void remove_all(void) { nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS); }

static void path_of(size_t i, char path[PATH_SIZE])
{
    require(snprintf(path, PATH_SIZE, "%s/%s", root, files[i]) < PATH_SIZE);
}

const char *fuzz_files_folder(const char *const *names, size_t n)
{
    if (root[0]) return root;
    files = names;
    nfiles = n;
    snprintf(root, sizeof root, "%s/calibrax-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    require(mkdtemp(root) != NULL);
    atexit(remove_all);
    for (size_t i = 0; i < n; i++) {
        char path[PATH_SIZE];
        path_of(i, path);
        for (char *slash = strchr(path + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
            *slash = '\0';
            mkdir(path, 0700);
            *slash = '/';
        }
    }
    return root;
}

static void put_file(size_t i, const uint8_t *data, size_t size)
{
    char path[PATH_SIZE];
    int fd;

    path_of(i, path);
    unlink(path); /* a new file each time, as writers make one */
    if (!size) return;
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}

void fuzz_files_put(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < nfiles; i++) {
        const uint8_t *end = size ? memchr(data, 0xff, size) : NULL;
        size_t n = end ? (size_t)(end - data) : size;
        if (i + 1 == nfiles) n = size; /* the last one may hold any byte */
        put_file(i, data, n);
        data += n;
        size -= n;
        if (size) data++, size--;
    }
}
