/*
 * What a measured worker may not do, whatever it runs: reach the network, look into or signal other
 * processes, change the machine, write outside its scratch folder, read what was not declared.
 *
 * Each part is had where this build and this kernel can; those in force are reported to the parent
 * before the worker begins.
 */
#ifndef CALIBRAX_PROGRAMS_LAUNCHER_SANDBOX_H
#define CALIBRAX_PROGRAMS_LAUNCHER_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

typedef enum sandbox_right {
    SANDBOX_READ,  /* files are read and executed, folders listed */
    SANDBOX_WRITE, /* everything but devices */
    SANDBOX_DEVICE,
    SANDBOX_LIST /* names only */
} sandbox_right;

/* A file, or a folder with all that is in it. */
typedef struct sandbox_grant {
    sandbox_right right;
    const char *path;
} sandbox_grant;

typedef struct sandbox_facts {
    bool syscalls;   /* a filter of system calls is on (libseccomp) */
    bool files;      /* only what was granted (Landlock) */
    bool network;    /* none but sockets of this machine; without a filter no TCP */
    bool signals;    /* to none but what it started itself */
    bool tracing;    /* no other process's memory, descriptors or environment */
    bool privileges; /* it has none that root has over others */
    int landlock;    /* version of the kernel's interface; 0: none */
} sandbox_facts;

/* From now on, for this process and all that descends from it. */
void sandbox_enter(const sandbox_grant *grants, size_t n, sandbox_facts *facts);

/* The parts.  What is there already is left out of `facts` by none of them. */
void sandbox_files_enter(const sandbox_grant *grants, size_t n, sandbox_facts *facts);
void sandbox_syscalls_enter(sandbox_facts *facts);

#endif
