/*
 * Replays a fuzz corpus in the ordinary test run: every file of the folders named goes once through
 * LLVMFuzzerTestOneInput. Prints TAP, a line a file; a crash ends the run, which the plan printed first gives away.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FILES_MOST 10000

static char *paths[FILES_MOST];
static int npaths;

static int compare_paths(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static int collect(const char *folder)
{
    DIR *dir = opendir(folder);
    if (!dir) {
        perror(folder);
        return 2;
    }
    for (struct dirent *entry; (entry = readdir(dir)) && npaths < FILES_MOST;) {
        if (entry->d_name[0] == '.') continue;
        if (asprintf(&paths[npaths++], "%s/%s", folder, entry->d_name) < 0) abort();
    }
    closedir(dir);
    qsort(paths, (size_t)npaths, sizeof paths[0], compare_paths);
    return 0;
}

/* In a buffer of exactly its size, so that a sanitizer sees a byte read behind its end. */
static int replay(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return 1;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    size_t got = data ? fread(data, 1, (size_t)size, f) : 0;
    fclose(f);
    int failed = got != (size_t)size || LLVMFuzzerTestOneInput(data, got) != 0;
    free(data);
    return failed;
}

int main(int argc, char **argv)
{
    int failures = 0;
    for (int i = 1; i < argc; i++)
        if (collect(argv[i])) return 2;
    printf("1..%d\n", npaths);
    for (int i = 0; i < npaths; i++) {
        const char *slash = strrchr(paths[i], '/');
        int failed = replay(paths[i]);
        failures += failed;
        printf("%sok %d - %s\n", failed ? "not " : "", i + 1, slash + 1);
        fflush(stdout);
        free(paths[i]);
    }
    return failures ? 1 : 0;
}
