/*
 * One fuzz entry: a function of the bytes `data`, of which there are `size`. It is libFuzzer's in
 * the build kind "fuzz", and is replayed over its corpus (replay.c) in every other.
 *
 *     FUZZ_ENTRY(.most = 50)
 *     {
 *         ...
 *         return 0;
 *     }
 */
#ifndef CALIBRAX_TESTS_FUZZ_FUZZ_H
#define CALIBRAX_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_entry {
    int (*one)(const uint8_t *data, size_t size);
    const char *path;
    size_t most;   /* inputs made of one file of the corpus by cutting or changing it; 0: 1000 */
    bool cut_only; /* changed bytes are too much for a library that the entry calls */
} fuzz_entry;

void fuzz_register(const fuzz_entry *entry);

#ifdef FUZZ_ALONE
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#define FUZZ_ENTRY(...) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
#else
#define FUZZ_ENTRY(...)                                                                                                \
    static int fuzz_one(const uint8_t *data, size_t size);                                                             \
    __attribute__((constructor)) static void fuzz_enter(void)                                                          \
    {                                                                                                                  \
        static const fuzz_entry entry = { .one = fuzz_one, .path = __FILE__, __VA_ARGS__ };                            \
        fuzz_register(&entry);                                                                                         \
    }                                                                                                                  \
    static int fuzz_one(const uint8_t *data, size_t size)
#endif

#endif
