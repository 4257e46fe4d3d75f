/*
 * Replays the corpora of the fuzz entries (fuzz.h) in the ordinary test run: each file of
 * corpus/NAME goes once through the entry NAME, a case a file.
 *
 * NAME-cut cuts each file at each byte; in NAME-change each number, string and word in it (as JSON
 * has them) becomes, in turn, one of every other kind, and each key occurs twice. A file for which
 * that is too much work is cut or changed at some of its places, evenly spread. These two look for
 * wrong memory accesses, and exist under AddressSanitizer alone.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/test_file.h"
#include "fuzz.h"

#define FILES_MOST 10000

static char *paths[FILES_MOST];
static int npaths;
static const fuzz_entry *current;
static size_t most; /* inputs made of one file */

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
static int give(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    int failed;

    if (!copy) abort();
    if (size) memcpy(copy, data, size);
    failed = current->one(copy, size) != 0;
    free(copy);
    return failed;
}

/* --- what is made of a file --- */

static int whole(const uint8_t *data, size_t size) { return give(data, size); }

static int cut(const uint8_t *data, size_t size)
{
    size_t step = 1 + size / most;
    int failures = 0;

    for (size_t n = 0; n < size; n += step) failures += give(data, n);
    return failures;
}

/* A number, a text or a word of a text in JSON, or of what is somewhat like it; blanks behind it
 * and a colon make a key of a text. */
typedef struct token {
    size_t at, end;
    int key;
} token;

static size_t end_of_text(const uint8_t *data, size_t size, size_t at)
{
    for (at++; at < size && data[at] != '"'; at++)
        if (data[at] == '\\') at++;
    return at < size ? at + 1 : size;
}

static int next_token(const uint8_t *data, size_t size, size_t from, token *t)
{
    size_t at = from, end;

    while (at < size && data[at] != '"' && !isalnum(data[at]) && data[at] != '-') at++;
    if (at == size) return 0;
    end = at + 1;
    if (data[at] == '"')
        end = end_of_text(data, size, at);
    else
        while (end < size && (isalnum(data[end]) || strchr("+-.", data[end])) && data[end]) end++;
    *t = (token){ at, end, 0 };
    for (at = end; at < size && data[at] && strchr(" \t\r\n", data[at]);) at++;
    t->key = data[t->at] == '"' && at < size && data[at] == ':';
    return 1;
}

/* The file with other bytes in the place of [from, to). */
static int with(const uint8_t *data, size_t size, size_t from, size_t to, const char *other, size_t n)
{
    size_t len = size - (to - from) + n;
    uint8_t *made = malloc(len ? len : 1);
    int failed;

    if (!made) abort();
    memcpy(made, data, from);
    memcpy(made + from, other, n);
    memcpy(made + from + n, data + to, size - to);
    failed = give(made, len);
    free(made);
    return failed;
}

static int change_token(const uint8_t *data, size_t size, const token *t)
{
    static const char *const others[] = {
        "null", "true",  "-1", "0.5", "1e999", "NaN", "9223372036854775808", "\"\"", "\"x\\u001b\\n\"",
        "[]",   "[[1]]", "{}",
    };
    int failures = 0;

    if (t->key) {
        char twice[512];
        int n = snprintf(twice, sizeof twice, "%.*s:null,", (int)(t->end - t->at), (const char *)data + t->at);
        if (n < (int)sizeof twice) failures += with(data, size, t->at, t->at, twice, (size_t)n);
        return failures + with(data, size, t->at, t->end, "\"x\"", 3); /* the key is not there, another is */
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        failures += with(data, size, t->at, t->end, others[i], strlen(others[i]));
    return failures;
}

static int change(const uint8_t *data, size_t size)
{
    size_t n = 0, step;
    int failures = 0;
    token t;

    for (size_t at = 0; next_token(data, size, at, &t); at = t.end) n++;
    step = 1 + 8 * n / most;
    n = 0;
    for (size_t at = 0; next_token(data, size, at, &t); at = t.end)
        if (n++ % step == 0) failures += change_token(data, size, &t);
    return failures;
}

/* --- the run --- */

static int replay(const char *path, int (*make)(const uint8_t *data, size_t size))
{
    FILE *f = fopen(path, "rb");
    if (!f) return 1;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    size_t got = data ? fread(data, 1, (size_t)size, f) : 0;
    fclose(f);
    int failed = got != (size_t)size || make(data, got) != 0;
    free(data);
    return failed;
}

static int replay_all(const cbx_test_file *file)
{
    const char *root = getenv("CALIBRAX_SOURCE_ROOT"), *name = strstr(file->path, "fuzz_") + strlen("fuzz_");
    int (*make)(const uint8_t *data, size_t size) = !file->variant ? whole : file->variant[1] == 'h' ? change : cut;
    char folder[4096];
    int failures = 0;

    current = file->user;
    most = 1 + (current->most ? current->most : 1000);
    snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%.*s", root, (int)strcspn(name, "."), name);
    if (collect(folder)) return 2;
    printf("1..%d\n", npaths);
    for (int i = 0; i < npaths; i++) {
        const int failed = replay(paths[i], make);
        failures += failed;
        printf("%sok %d - %s\n", failed ? "not " : "", i + 1, strrchr(paths[i], '/') + 1);
        free(paths[i]);
    }
    return failures ? 1 : 0;
}

void fuzz_register(const fuzz_entry *e)
{
    static cbx_test_file files[300];
    static size_t n;
#ifdef __SANITIZE_ADDRESS__
    static const char *const variants[] = { NULL, "-cut", "-change" };
#else
    static const char *const variants[] = { NULL };
#endif

    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        if (e->cut_only && i == 2) break;
        if (n == sizeof files / sizeof *files) abort();
        files[n] = (cbx_test_file){
            .run = replay_all, .path = e->path, .variant = variants[i], .seconds = 600, .user = e
        };
        cbx_test_register(&files[n++]);
    }
}
