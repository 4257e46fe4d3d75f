/*
 * A command of a program run inside this process, for entries whose bytes come in through a
 * command: on standard input, or as a file.
 */
#ifndef CALIBRAX_TESTS_FUZZ_PROGRAM_H
#define CALIBRAX_TESTS_FUZZ_PROGRAM_H

#include <stdint.h>

#include "programs/common/options.h"

/* Words of a command line, its name among them. */
#define FUZZ_WORDS_MOST 16

/* Where the bytes stand as a file while a command runs. */
#define FUZZ_FILE "/proc/self/fd/0"

/*
 * Runs `command` with argv (NULL at the end, without the program's name); its standard input holds
 * the bytes, its output goes nowhere.
 * @param words  what it says on standard error, cut at size - 1, NUL-terminated
 * @return the exit status
 */
int fuzz_command(const opt_command *command, const char *const *argv, const uint8_t *data, size_t n, char *words,
                 size_t size);
/* Aborts unless what was said is whole lines, at least one of them. */
void fuzz_need_sentence(const char *words);

#endif
