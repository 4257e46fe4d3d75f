/**
 * The machine: what it is made of, read from the kernel's files, and a fingerprint that
 * distinguishes machines.
 *
 * Only facts that may be published are read: no host name, kernel release, path, address or serial
 * number.
 */
#ifndef CALIBRAX_CORE_MACHINE_H
#define CALIBRAX_CORE_MACHINE_H

#include <stdbool.h>

#include "calibrax/base/ctx.h"
#include "calibrax/base/json.h"

CBX_BEGIN_DECLS

#define CBX_MACHINE_MAX_CACHES       8
#define CBX_MACHINE_MAX_ACCELERATORS 16
#define CBX_MACHINE_ID_SIZE          17 /* 16 lower-case hex digits and NUL */

typedef struct cbx_machine_cache {
    int level;      /* 1, 2, 3 ... */
    char type[16];  /* "Data", "Instruction", "Unified" */
    uint64_t bytes; /* size of one cache */
    int shared_by;  /* logical CPUs that share it; 0: unknown */
} cbx_machine_cache;

/** Unknown members are "", 0, or -1 for family, model and stepping. */
typedef struct cbx_machine {
    char id[CBX_MACHINE_ID_SIZE]; /* see cbx_machine_read */
    char vendor[32];              /* "GenuineIntel"; on ARM the implementer, "0x41" */
    char model_name[96];
    int family, model, stepping; /* on ARM: architecture, part, revision */
    /* those of a fixed list that the CPU has and the kernel allows, sorted, one blank between */
    char features[512];
    int cores;   /* physical */
    int threads; /* logical CPUs */
    int sockets;
    cbx_machine_cache cache[CBX_MACHINE_MAX_CACHES]; /* of the first CPU; nearest first */
    int ncaches;
    uint64_t memory_bytes;
    int numa_nodes;
    char accelerator[CBX_MACHINE_MAX_ACCELERATORS][64]; /* models, sorted; one entry a device */
    int naccelerators;
    char huge_pages[16]; /* transparent huge pages: "always", "madvise", "never" */
    char governor[32];   /* of CPU frequency: "performance", ... */
} cbx_machine;

/**
 * Reads the machine from <root>/proc and <root>/sys.
 *
 * id: first 16 digits of the hash of "vendor|model name|family.model|features|cores|memory rounded
 * to GiB|accelerators".
 *
 * @param root  NULL or "/": this machine; a folder: a captured one
 * @return CBX_OK; CBX_ENOENT (no proc/cpuinfo there); CBX_EFORMAT (no CPU in it); CBX_ENOMEM; every
 *   other file may be missing
 */
CBX_API cbx_status cbx_machine_read(cbx_ctx *ctx, const char *root, cbx_machine *out, cbx_err *err);

/**
 * Memory that this process may have, now: MemTotal and MemAvailable of <root>/proc/meminfo, both
 * within the limit of the control group (v2) in <root>/sys/fs/cgroup.
 * @param available_bytes  both are written on success only
 * @return CBX_OK; CBX_ENOENT: unknown; CBX_ENOMEM
 */
CBX_API cbx_status cbx_machine_read_memory(cbx_ctx *ctx, const char *root, uint64_t *total_bytes,
                                           uint64_t *available_bytes, cbx_err *err);

/** Hardware threads that this process may run on (sched_getaffinity); 0: unknown. */
CBX_API int cbx_machine_usable_threads(void);

/** Whether a word is in m->features. */
CBX_API bool cbx_machine_has(const cbx_machine *m, const char *feature);

/** Bytes of the data or unified cache of a level; 0: unknown. */
CBX_API uint64_t cbx_machine_cache_bytes(const cbx_machine *m, int level);

/** All of it as an object, for provenance and reports.  NULL: out of memory.  The caller unrefs
 * it. */
CBX_API cbx_json *cbx_machine_to_json(const cbx_machine *m);

/** Whether two measurements are of one machine, by the fingerprints that they carry. */
typedef enum cbx_same_machine {
    CBX_MACHINE_SAME,
    CBX_MACHINE_OTHER,  /* both are known, and they differ */
    CBX_MACHINE_UNKNOWN /* one of them is unknown */
} cbx_same_machine;

/** The one rule of every gate, comparison and series.  NULL and "" are unknown. */
CBX_API cbx_same_machine cbx_machine_compare(const char *a, const char *b);

/**
 * The widest vector instruction set that this CPU and kernel can run, found at run time: "avx512"
 * (F, DQ, BW, VL), "avx2" (with FMA), "neon", "plain".  A constant string.  Safe from any thread.
 */
CBX_API const char *cbx_machine_isa(void);

CBX_END_DECLS
#endif
