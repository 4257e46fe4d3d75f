/* A command of a program run inside this process (program.h). */
#include "program.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int need(int fd)
{
    if (fd < 0) abort();
    return fd;
}

/* Puts a descriptor in the place of another; what was there is returned, to be put back. */
static int replace(int place, int fd)
{
    int kept = need(fcntl(place, F_DUPFD_CLOEXEC, 10));

    need(dup2(fd, place));
    close(fd);
    return kept;
}

static int file_of(const uint8_t *data, size_t n)
{
    int fd = need(memfd_create("input", MFD_CLOEXEC));

    if ((n && write(fd, data, n) != (ssize_t)n) || lseek(fd, 0, SEEK_SET) != 0) abort();
    return fd;
}

int fuzz_command(const opt_command *command, const char *const *argv, const uint8_t *data, size_t n, char *words,
                 size_t size)
{
    const opt_program program = { .name = "fuzz", .summary = "", .commands = command, .ncommands = 1 };
    const char *line[FUZZ_WORDS_MOST + 2] = { "fuzz" };
    int said = need(memfd_create("words", MFD_CLOEXEC)), argc = 1, kept[3], status;
    ssize_t got;

    for (; argv[argc - 1]; argc++) {
        if (argc > FUZZ_WORDS_MOST) abort();
        line[argc] = argv[argc - 1];
    }
    fflush(NULL);
    kept[0] = replace(STDIN_FILENO, file_of(data, n));
    kept[1] = replace(STDOUT_FILENO, need(open("/dev/null", O_WRONLY | O_CLOEXEC)));
    kept[2] = replace(STDERR_FILENO, need(fcntl(said, F_DUPFD_CLOEXEC, 10)));
    status = opt_main(&program, argc, line);
    fflush(NULL);
    for (int i = 0; i < 3; i++) {
        need(dup2(kept[i], i));
        close(kept[i]);
    }
    got = pread(said, words, size - 1, 0);
    words[got > 0 ? got : 0] = '\0';
    close(said);
    return status;
}

void fuzz_need_sentence(const char *words)
{
    size_t n = strlen(words);

    if (n == 0 || words[n - 1] != '\n' || strstr(words, "\n\n")) abort();
}
