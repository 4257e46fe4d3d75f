/*
 * What a worker is granted: a list for the launcher's command line, and the scratch folder.
 */
#ifndef CALIBRAX_PERF_LAUNCH_GRANTS_H
#define CALIBRAX_PERF_LAUNCH_GRANTS_H

#include "calibrax/base/arena.h"
#include "calibrax/base/environment.h"
#include "calibrax/base/json.h"
#include "calibrax/perf/case/case.h"
#include "calibrax/perf/launch/sandbox.h"

typedef struct cbx__grant {
    const char *option; /* of the launcher: "--read" ... */
    const char *path;
} cbx__grant;

typedef struct cbx__grants {
    cbx_arena *arena;
    cbx__grant *list;
    size_t count, capacity;
    bool failed; /* memory ran out */
} cbx__grants;

/* Whom the grants are for. */
typedef struct cbx__grants_for {
    const cbx_sandbox *policy;                  /* may be NULL */
    const char *oracle_dir;                     /* always hidden; may be NULL */
    const char *const *program;                 /* NULL at the end */
    const char *interpreter;                    /* may be NULL */
    const char *definitions[2];                 /* of the baseline and of the oracle; may be NULL */
    const char *platform, *scratch, *jit_cache; /* folders may be NULL */
} cbx__grants_for;

/* What was found for the launches of one invocation: links, folders and the interpreter's
 * environment are looked up for the first of them. */
typedef struct cbx__grants_kept cbx__grants_kept;
/* For launches of any thread under one policy.  @param al  may be used by any of them  @return
 * NULL: no memory */
cbx__grants_kept *cbx__grants_keep(const cbx_allocator *al);
/* NULL is fine. */
void cbx__grants_forget(cbx__grants_kept *kept);
/* From what is kept where the same was asked before, scratch and jit_cache aside; kept NULL: found
 * again.  A folder that something hidden lies in is granted as its parts.  Paths live in the arena,
 * as long as what `f` points to, or as long as `kept`.  @return CBX_OK; CBX_ENOMEM */
cbx_status cbx__grants_find(cbx__grants_kept *kept, const cbx__grants_for *f, cbx_arena *arena, cbx__grants *out,
                            cbx_err *err);

/* --- the scratch folder of a launch --- */

typedef struct cbx__scratch_folder {
    char path[256]; /* "" none */
    int lock;       /* held while it is in use, so that no sweep takes it for left behind */
} cbx__scratch_folder;

void cbx__scratch_folder_init(cbx__scratch_folder *s);
/* A new folder below TMPDIR, readable by its user alone.  @return CBX_OK; CBX_EIO, CBX_EPERM,
 * CBX_ENOSPC */
cbx_status cbx__scratch_folder_make(cbx__scratch_folder *s, cbx_err *err);
/* Removes it with all that is in it, however deep and whatever its modes; follows no link.  Fine on
 * an init-ed struct, and twice. */
void cbx__scratch_folder_remove(cbx__scratch_folder *s);
/* Removes those of this user that killed programs left behind.  @return their number */
size_t cbx__scratch_folder_sweep(void);
/* Points HOME, TMPDIR and the folders of the XDG specification there. */
void cbx__scratch_folder_environment(cbx__environment *e, const char *path);

#endif
