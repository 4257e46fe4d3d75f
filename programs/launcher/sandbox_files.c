/*
 * Landlock: what is not granted is forbidden, for root as for everybody.  The kernel's interface is
 * asked for its version at run time, and its numbers are defined here, since the headers of a
 * distribution are older than its users' kernels.
 *
 * A process under it may not trace, nor look into /proc/PID of, any that is not: that comes with
 * every version.
 */
#include "programs/launcher/sandbox.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

/* linux/landlock.h of Linux 6.12 */
enum {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    MAKE_CHAR = 1 << 6,
    MAKE_BLOCK = 1 << 11,
    TRUNCATE = 1 << 14,
    IOCTL_DEV = 1 << 15,

    OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV,
    CREATE_RULESET_VERSION = 1,
    RULE_PATH_BENEATH = 1,
    NET_TCP = 3,        /* bind and connect */
    SCOPE_ABSTRACT = 1, /* abstract sockets */
    SCOPE_SIGNAL = 2,
};

typedef struct ruleset_attr {
    uint64_t fs, net, scoped;
} ruleset_attr;

typedef struct __attribute__((packed)) path_attr {
    uint64_t allowed;
    int32_t parent_fd;
} path_attr;

static uint64_t allowed_by(sandbox_right right, bool folder)
{
    static const uint64_t rights[] = {
        [SANDBOX_READ] = EXECUTE | READ_FILE | READ_DIR,
        [SANDBOX_WRITE] = ~(uint64_t)(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV),
        [SANDBOX_DEVICE] = READ_FILE | WRITE_FILE | READ_DIR | TRUNCATE | IOCTL_DEV,
        [SANDBOX_LIST] = READ_DIR,
    };
    return folder ? rights[right] : rights[right] & OF_FILES;
}

/* A missing path needs no grant. */
static bool add_grant(int ruleset, const sandbox_grant *g, uint64_t handled)
{
    struct stat info;
    path_attr attr = { 0, open(g->path, O_PATH | O_CLOEXEC) };
    bool ok = true;

    if (attr.parent_fd < 0) return true;
    if (fstat(attr.parent_fd, &info) == 0) attr.allowed = allowed_by(g->right, S_ISDIR(info.st_mode)) & handled;
    if (attr.allowed) ok = syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &attr, 0) == 0;
    close(attr.parent_fd);
    return ok;
}

void sandbox_files_enter(const sandbox_grant *grants, size_t n, sandbox_facts *facts)
{
    static const int counts[] = { 0, 13, 14, 15, 15, 16 }; /* rights to files that a version knows */
    const int version = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);
    const int known = (int)(sizeof counts / sizeof counts[0]) - 1;
    /* members of ruleset_attr that this version accepts */
    const size_t size = (version < 4 ? 1 : version < 6 ? 2 : 3) * sizeof(uint64_t);
    bool ok = true;

    if (version < 1) return;
    const uint64_t rights = (UINT64_C(1) << counts[version < known ? version : known]) - 1;
    const ruleset_attr attr = { rights, NET_TCP, SCOPE_ABSTRACT | SCOPE_SIGNAL };
    const int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    if (ruleset < 0) return;
    for (size_t i = 0; i < n && ok; i++) ok = add_grant(ruleset, &grants[i], attr.fs);
    if (ok && syscall(SYS_landlock_restrict_self, ruleset, 0) == 0) {
        facts->landlock = version;
        facts->files = facts->tracing = true;
        facts->network = version >= 4;
        facts->signals = version >= 6;
    }
    close(ruleset);
}
