/**
 * Version-control facts of a work tree, through libgit2 loaded on first use (GPL-2.0 with linking
 * exception).
 */
#ifndef CALIBRAX_BASE_VCS_H
#define CALIBRAX_BASE_VCS_H

#include <stdbool.h>

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

typedef struct cbx_vcs_facts {
    bool known;       /* false: no repository here, no commit yet, or no libgit2; the other members are then empty */
    char commit[65];  /* full hash, lower-case hex */
    char branch[256]; /* short name; "" when HEAD is detached */
    bool dirty;       /* tracked files differ from the commit */
} cbx_vcs_facts;

/**
 * Looks for a repository at path and above.
 * @param path  NULL: the current folder
 * @return CBX_OK, also when nothing is known; CBX_EUNAVAILABLE when libgit2 is missing (out is
 * still filled, known false)
 */
CBX_API cbx_status cbx_vcs_read(cbx_ctx *ctx, const char *path, cbx_vcs_facts *out, cbx_err *err);

CBX_END_DECLS
#endif
