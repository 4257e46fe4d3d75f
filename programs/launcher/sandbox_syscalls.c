/*
 * A list of calls that fail with EPERM, by libseccomp; everything else is allowed, since frameworks
 * use what they like.
 */
#include "programs/launcher/sandbox.h"

#ifdef HAVE_SECCOMP

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

/* A build for the search of leaks traces itself at its end. */
#ifdef __SANITIZE_ADDRESS__
#define PTRACE SCMP_SYS(kcmp)
#else
#define PTRACE SCMP_SYS(ptrace)
#endif

/* Of Linux 6.6, 6.13 and 6.17, on every architecture; older headers have no names for them. */
#define FCHMODAT2     452
#define SETXATTRAT    463
#define FILE_SETATTR  469
#define HINT_OF_INODE 1036 /* F_SET_RW_HINT of linux/fcntl.h; with the next but one that of a descriptor */

/* Of other processes. */
static const int of_processes[] = { PTRACE,
                                    SCMP_SYS(process_vm_readv),
                                    SCMP_SYS(process_vm_writev),
                                    SCMP_SYS(process_madvise),
                                    SCMP_SYS(pidfd_getfd),
                                    SCMP_SYS(kcmp) };
/* Where and how it is scheduled: the launcher has done that. */
static const int of_scheduling[] = { SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_setscheduler),
                                     SCMP_SYS(sched_setparam),    SCMP_SYS(sched_setattr),
                                     SCMP_SYS(setpriority),       SCMP_SYS(ioprio_set) };
/* What outlives a launch, in the kernel. */
static const int outliving[] = { SCMP_SYS(shmget),    SCMP_SYS(msgget),   SCMP_SYS(semget),
                                 SCMP_SYS(mq_open),   SCMP_SYS(setxattr), SCMP_SYS(lsetxattr),
                                 SCMP_SYS(fsetxattr), SETXATTRAT,         FILE_SETATTR };
static const int of_machine[] = {
    SCMP_SYS(mount),           SCMP_SYS(umount2),       SCMP_SYS(move_mount),        SCMP_SYS(open_tree),
    SCMP_SYS(fsopen),          SCMP_SYS(mount_setattr), SCMP_SYS(pivot_root),        SCMP_SYS(chroot),
    SCMP_SYS(setns),           SCMP_SYS(unshare),       SCMP_SYS(open_by_handle_at), SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open), SCMP_SYS(fanotify_init), SCMP_SYS(io_uring_setup),    SCMP_SYS(userfaultfd),
    SCMP_SYS(add_key),         SCMP_SYS(keyctl),        SCMP_SYS(request_key),       SCMP_SYS(init_module),
    SCMP_SYS(finit_module),    SCMP_SYS(delete_module), SCMP_SYS(kexec_load),        SCMP_SYS(kexec_file_load),
    SCMP_SYS(reboot),          SCMP_SYS(syslog),        SCMP_SYS(settimeofday),      SCMP_SYS(clock_settime),
    SCMP_SYS(clock_adjtime),   SCMP_SYS(adjtimex),      SCMP_SYS(sethostname),       SCMP_SYS(swapon),
    SCMP_SYS(swapoff)
};

/*
 * What would stay with a file for the next launch to read, though no byte of it can be written:
 * times, modes, owners.  The calls succeed and do nothing, since honest programs that copy files
 * make them.  So does unlocking: a lock that was inherited would be gone for the parent, too, and
 * one of its own goes with its descriptor.
 */
static const int without_effect[] = {
    SCMP_SYS(utimensat), SCMP_SYS(futimesat), SCMP_SYS(utime), SCMP_SYS(utimes), SCMP_SYS(chmod),  SCMP_SYS(fchmod),
    SCMP_SYS(fchmodat),  FCHMODAT2,           SCMP_SYS(chown), SCMP_SYS(fchown), SCMP_SYS(lchown), SCMP_SYS(fchownat),
};

/* Signals that are queued, and those to one process or thread. */
static const int queued[] = { SCMP_SYS(pidfd_send_signal), SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_tgsigqueueinfo) };
static const int to_one[] = { SCMP_SYS(kill), SCMP_SYS(tgkill), SCMP_SYS(tkill) };

/* The same answer to each of some calls; not 0: it could not be added. */
#define ADD_ALL(filter, action, calls) add_all(filter, action, calls, sizeof(calls) / sizeof(calls)[0])
static int add_all(scmp_filter_ctx filter, uint32_t action, const int *calls, size_t n)
{
    int failed = 0;

    for (size_t i = 0; i < n; i++) failed |= seccomp_rule_add(filter, action, calls[i], 0);
    return failed;
}

static int add_rules(scmp_filter_ctx filter, bool signals)
{
    static const char kinds[] = { 'f', 'v', 'X' }; /* FS_IOC_SETFLAGS, FS_IOC_SETVERSION, FS_IOC_FSSETXATTR */
    const uint32_t refused = SCMP_ACT_ERRNO(EPERM), ignored = SCMP_ACT_ERRNO(0);
    int failed = 0;

    /* sockets are of this machine, and lead nowhere */
    failed |= seccomp_rule_add(filter, refused, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_NE, AF_UNIX));
    failed |= seccomp_rule_add(filter, refused, SCMP_SYS(connect), 0);
    /* clone3 hides its flags in memory, where no filter looks: whoever gets ENOSYS uses clone */
    failed |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    failed |= seccomp_rule_add(filter, refused, SCMP_SYS(clone), 1,
                               SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER));
    failed |= seccomp_rule_add(filter, refused, SCMP_SYS(prlimit64), 1, SCMP_A0(SCMP_CMP_NE, 0));
    /* Where Landlock does not support signals: to oneself (abort, raise) only.  Filters see
     * numbers, and this process keeps its own. */
    for (size_t i = 0; signals && i < sizeof to_one / sizeof to_one[0]; i++)
        failed |= seccomp_rule_add(filter, refused, to_one[i], 1, SCMP_A0(SCMP_CMP_NE, (scmp_datum_t)getpid()));
    if (signals) failed |= ADD_ALL(filter, refused, queued);
    /* A file's flags and version, and how long its content is expected to live: numbers of an inode
     * that its owner sets by a descriptor for reading. */
    for (size_t i = 0; i < sizeof kinds; i++)
        failed |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOTTY), SCMP_SYS(ioctl), 1,
                                   SCMP_A1(SCMP_CMP_MASKED_EQ, 0xff00, (scmp_datum_t)kinds[i] << 8));
    for (scmp_datum_t hint = HINT_OF_INODE; hint <= HINT_OF_INODE + 2; hint += 2)
        failed |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(fcntl), 1,
                                   SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, hint));
    failed |= seccomp_rule_add(filter, ignored, SCMP_SYS(flock), 1, SCMP_A1(SCMP_CMP_MASKED_EQ, LOCK_UN, LOCK_UN));
    failed |= ADD_ALL(filter, ignored, without_effect);
    failed |= ADD_ALL(filter, refused, of_processes);
    failed |= ADD_ALL(filter, refused, of_scheduling);
    failed |= ADD_ALL(filter, refused, outliving);
    failed |= ADD_ALL(filter, refused, of_machine);
    return failed;
}

void sandbox_syscalls_enter(sandbox_facts *facts)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    /* Without this, older kernels slow a filtered process down (speculative store bypass): it would
     * be another machine. */
    if (filter) seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
    if (filter && add_rules(filter, !facts->signals) == 0 && seccomp_load(filter) == 0)
        facts->syscalls = facts->network = facts->signals = facts->tracing = true;
    if (filter) seccomp_release(filter);
}

#else

void sandbox_syscalls_enter(sandbox_facts *facts) { (void)facts; }

#endif
