/*
 * A list of calls that fail with EPERM, by libseccomp; everything else is allowed, since frameworks use what they like.
 */
#include "programs/launcher/sandbox.h"

#ifdef HAVE_SECCOMP

#include <errno.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* A build for the search of leaks traces itself at its end. */
#ifdef __SANITIZE_ADDRESS__
#define PTRACE SCMP_SYS(kcmp)
#else
#define PTRACE SCMP_SYS(ptrace)
#endif

static const int forbidden[] = {
    PTRACE,
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(pidfd_send_signal),
    SCMP_SYS(rt_sigqueueinfo),
    SCMP_SYS(rt_tgsigqueueinfo),

    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(setns),
    SCMP_SYS(unshare),
    SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(add_key),
    SCMP_SYS(keyctl),
    SCMP_SYS(request_key),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(delete_module),
    SCMP_SYS(kexec_load),
    SCMP_SYS(reboot),
    SCMP_SYS(settimeofday),
    SCMP_SYS(clock_settime),
    SCMP_SYS(clock_adjtime),
    SCMP_SYS(adjtimex),
    SCMP_SYS(sethostname),
    SCMP_SYS(swapon),
};

/* Sockets of this machine only; a signal to oneself (abort, raise) only: seccomp sees numbers, and this process keeps its own. */
static int add_rules(scmp_filter_ctx filter)
{
    scmp_datum_t self = (scmp_datum_t)getpid();
    int failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_NE, AF_UNIX));
    if (!failed)
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(kill), 1, SCMP_A0(SCMP_CMP_NE, self));
    if (!failed)
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_NE, self));
    if (!failed)
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(tkill), 1, SCMP_A0(SCMP_CMP_NE, self));
    for (unsigned i = 0; !failed && i < sizeof forbidden / sizeof forbidden[0]; i++)
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), forbidden[i], 0);
    return failed;
}

bool sandbox_enter(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    /* Without this, older kernels slow a filtered process down (speculative store bypass): it would be another machine. */
    if (filter) seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
    bool done = filter && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && add_rules(filter) == 0 &&
                seccomp_load(filter) == 0;
    if (filter) seccomp_release(filter);
    return done;
}

#else

bool sandbox_enter(void) { return false; }

#endif
