/**
 * What a measured worker may read and write, and what keeps it from the rest
 * (docs/explanation/sandbox.md).
 *
 * Without a policy a worker reads the system's folders, the environment of its interpreter, the
 * project's own programs and the files of its case, and writes in a scratch folder that is made for
 * the launch and is gone after it; HOME, TMPDIR and XDG_CACHE_HOME lie there, so compilers' caches
 * are empty in each launch.  What of this the kernel enforces is recorded.
 */
#ifndef CALIBRAX_PERF_LAUNCH_SANDBOX_H
#define CALIBRAX_PERF_LAUNCH_SANDBOX_H

#include <stdbool.h>

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

typedef enum cbx_sandbox_mode {
    CBX_SANDBOX_AUTO,   /* whatever this machine can */
    CBX_SANDBOX_OFF,    /* nothing: the worker has the user's rights, home and temporary folder */
    CBX_SANDBOX_REQUIRE /* all of it, or the launch fails (CBX_FAILURE_MACHINE) */
} cbx_sandbox_mode;

/** Everything is borrowed.  Zeroed: AUTO, and nothing beside what is always granted. */
typedef struct cbx_sandbox {
    uint32_t struct_size;
    cbx_sandbox_mode mode;
    const char *const *readable; /* files and folders, with all that is in them */
    size_t nreadable;
    const char *const *writable; /* the same; what is left there outlives a launch */
    size_t nwritable;
    const char *const *hidden; /* not readable even where a folder is that they lie in */
    size_t nhidden;
} cbx_sandbox;

#define CBX_SANDBOX_INIT CBX_OPTS(cbx_sandbox, CBX_SANDBOX_AUTO, 0, 0, 0, 0, 0, 0)

/* member, word, what is missing without it, what adds it */
#define CBX_SANDBOX_PARTS(X)                                                                                           \
    X(syscalls, "syscalls", "workers may make any system call",                                                        \
      "apt-get install libseccomp-dev, and build nperf-launch again")                                                  \
    X(files, "files", "workers read and write whatever the user may",                                                  \
      "a kernel with Landlock (Linux 5.13, CONFIG_SECURITY_LANDLOCK, lsm=landlock)")                                   \
    X(network, "network", "workers reach the network",                                                                 \
      "apt-get install libseccomp-dev, and build nperf-launch again; or Linux 6.7 with Landlock")                      \
    X(signals, "signals", "workers may signal the user's processes",                                                   \
      "apt-get install libseccomp-dev, and build nperf-launch again; or Linux 6.12 with Landlock")                     \
    X(tracing, "tracing", "workers may look into the user's processes",                                                \
      "apt-get install libseccomp-dev, and build nperf-launch again; or a kernel with Landlock")                       \
    X(privileges, "privileges", "workers have all rights of root", "do not measure as root")

/** What a launcher says to be in force, before anything of the worker runs. */
typedef struct cbx_sandbox_facts {
#define CBX_SANDBOX_MEMBER(member, word, lack, remedy) bool member;
    CBX_SANDBOX_PARTS(CBX_SANDBOX_MEMBER)
#undef CBX_SANDBOX_MEMBER
    int landlock; /* version of the kernel's interface; 0: none */
} cbx_sandbox_facts;

/** "off", "auto", "require". */
CBX_API const char *cbx_sandbox_mode_word(cbx_sandbox_mode mode);
/** What can be had here, by starting a process under it.  @return CBX_OK; CBX_ENOENT: no launcher;
 * CBX_EVERSION: one of another version; CBX_EIO, CBX_ENOMEM */
CBX_API cbx_status cbx_sandbox_probe(cbx_ctx *ctx, cbx_sandbox_facts *out, cbx_err *err);
/** CBX_OK if all can be had; CBX_EUNAVAILABLE, and the sentence names what cannot and what adds it;
 * as cbx_sandbox_probe. */
CBX_API cbx_status cbx_sandbox_check(cbx_ctx *ctx, cbx_err *err);
/**
 * For a program's main, before it measures: other processes of this user, workers among them, can
 * from now on not look into this one's memory, where answers are, on a kernel without Landlock
 * either.  For the whole process; no core files; a debugger of another user cannot attach.
 */
CBX_API void cbx_sandbox_guard_self(void);

CBX_END_DECLS
#endif
