/*
 * The order matters: rights over the machine are dropped first, then files (Landlock needs system
 * calls that the filter may forbid), then the filter, which leaves signals to Landlock where that
 * can distinguish a worker's own processes from others.
 */
#include "programs/launcher/sandbox.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WORD(cap) ((cap) / 32)
#define BIT(cap)  (1u << ((cap) % 32))

/* What is left to root: reading environments that another user installed, and memory that a device
 * reads. */
static bool keeps(unsigned cap) { return cap == CAP_DAC_OVERRIDE || cap == CAP_DAC_READ_SEARCH || cap == CAP_IPC_LOCK; }

/* A root without them may not look into a root that has them: the parent's memory is safe from it
 * on every kernel. */
static bool drop_privileges(void)
{
    struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

    memset(data, 0, sizeof data);
    if (syscall(SYS_capget, &header, data) != 0) return false;
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (unsigned cap = 0; cap < 64; cap++) {
        if (keeps(cap)) continue;
        prctl(PR_CAPBSET_DROP, cap, 0, 0, 0); /* who may not has nothing to drop */
        data[WORD(cap)].effective &= ~BIT(cap);
        data[WORD(cap)].permitted &= ~BIT(cap);
    }
    for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) data[i].inheritable = 0;
    return syscall(SYS_capset, &header, data) == 0;
}

void sandbox_enter(const sandbox_grant *grants, size_t n, sandbox_facts *facts)
{
    memset(facts, 0, sizeof *facts);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
    facts->privileges = drop_privileges();
    sandbox_files_enter(grants, n, facts);
    sandbox_syscalls_enter(facts);
}
