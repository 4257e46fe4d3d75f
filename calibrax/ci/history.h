/*
 * The history between two revisions, as git tells it: which of them is older, and the commits between them with their parents.
 */
#ifndef CALIBRAX_CI_HISTORY_H
#define CALIBRAX_CI_HISTORY_H

#include "calibrax/ci/shell.h"

/* Full hashes of the ends, once it is sure that the good one is an ancestor of the bad one. */
cbx_status cbx__history_ends(cbx__shell *sh, cbx_arena *arena, const char *repository, const char *good_rev,
                             const char *bad_rev, const char **good, const char **bad, cbx_err *err);
/* What can be reached from bad and not from good, two full hashes, in the arena. */
cbx_status cbx__history_graph(cbx__shell *sh, cbx_arena *arena, const char *repository, const char *good,
                              const char *bad, cbx_bisect_graph *out, cbx_err *err);

#endif
