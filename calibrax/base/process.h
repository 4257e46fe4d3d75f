/*
 * A child process: started, watched, and ended with all that it started.  The one place where the
 * library makes processes.
 *
 * posix_spawn, never fork: from a parent with 512 MiB touched a fork costs 24 ms, a spawn 0.4 ms.
 * The child has default signal actions and an empty mask, whatever ours are.
 */
#ifndef CALIBRAX_BASE_PROCESS_H
#define CALIBRAX_BASE_PROCESS_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "calibrax/base/ctx.h"
#include "calibrax/base/text.h"

#define CBX__PROCESS_TAIL    2047
#define CBX__PROCESS_CHANNEL 3  /* the child's descriptor behind the usual three */
#define CBX__FD_NOWHERE      -1 /* /dev/null */
#define CBX__FD_OURS         -2 /* as ours is */
#define CBX__FD_TAIL         -3 /* of errors: taken in, the last bytes kept */

typedef struct cbx__process_opts {
    const char *const *argv;   /* program and arguments, NULL at the end; looked for in PATH unless it holds a '/' */
    const char *const *env;    /* the whole environment, NULL at the end; NULL: ours */
    const char *folder;        /* NULL: ours */
    int input, output, errors; /* a descriptor of ours above 3 (cbx__fd_up), or one of the words above */
    int channel;               /* becomes its descriptor 3; -1: none */
    const int *held;           /* descriptors that become 4 and so on: locks that it holds as well */
    size_t nheld;
    const char *name; /* what messages call it; NULL: argv[0] */
    bool own_group;   /* a process group of its own, which cbx__process_kill ends as a whole */
} cbx__process_opts;

#define CBX__PROCESS_OPTS_INIT                                                                                         \
    {                                                                                                                  \
        0, 0, 0, CBX__FD_NOWHERE, CBX__FD_NOWHERE, CBX__FD_OURS, -1, 0, 0, 0, 0                                        \
    }

typedef struct cbx__process {
    pid_t pid;   /* 0: none */
    int pidfd;   /* readable once it ended; -1 where the kernel has none */
    int channel; /* our end of its descriptor 3, for whoever makes one; closed with the rest; -1 */
    int errors;  /* our end of its standard error; -1 */
    bool own_group;
    bool reaped;
    bool killed; /* by us */
    bool lost;   /* it was reaped elsewhere (SIGCHLD is ignored): status and usage are unknown */
    int status;  /* as wait4 gives it, once reaped */
    struct rusage usage;
    size_t tail_len;
    char tail[CBX__PROCESS_TAIL + 1]; /* last bytes of standard error */
} cbx__process;

void cbx__process_init(cbx__process *p);
/* @return CBX_OK; CBX_ENOENT, CBX_EPERM (no such program, or it may not be run); CBX_EIO;
 *   CBX_ENOMEM */
cbx_status cbx__process_start(const cbx__process_opts *opts, cbx__process *p, cbx_err *err);
/* Reads the pipe of standard error, without waiting. */
void cbx__process_drain(cbx__process *p);
/* True once it has ended (it stays a zombie, so that its group can be killed without touching
 * another). */
bool cbx__process_ended(const cbx__process *p);
/* Waits for the end; false if the time ran out first. */
bool cbx__process_wait(cbx__process *p, uint64_t timeout_ns);
/* A signal to the process alone, unless it has ended. */
void cbx__process_signal(cbx__process *p, int number);
/* SIGKILL, to its whole group if it has one of its own. */
void cbx__process_kill(cbx__process *p);
/* Kills what is left, reaps, closes the descriptors.  Fine on an init-ed struct, and twice. */
void cbx__process_finish(cbx__process *p);
/* Of a reaped one: its exit status, 128 + number for a signal; -1: unknown. */
int cbx__process_exit_status(const cbx__process *p);

/* Last bytes of standard error as text: printable, cut at a character.  @param size  of out, at
 * least 1 */
void cbx__process_tail(const cbx__process *p, char *out, size_t size);
/* The last line of that which is not blank; "": all are. */
void cbx__process_last_words(const cbx__process *p, char *out, size_t size);

/* Of a struct rusage. */
static inline double cbx__seconds_of(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

/* A word in quotes of the shell. */
void cbx__put_quoted(cbx_text *t, const char *word);

/* The same file under a close-on-exec number above those that a child's are moved onto; fd is
 * closed.  -1 with errno. */
int cbx__fd_up(int fd);
/* An empty file in memory, numbered as above, sealable. */
cbx_status cbx__memory_file(const char *name, int *fd, cbx_err *err);
/*
 * All that a file holds, from its beginning, in the place of what the text holds.
 * @param name  for messages
 * @return CBX_OK; CBX_EOVERFLOW (more than max_bytes); CBX_EIO; CBX_ENOMEM: the text stays
 */
cbx_status cbx__memory_file_text(int fd, const char *name, size_t max_bytes, cbx_text *out, cbx_err *err);

#endif
