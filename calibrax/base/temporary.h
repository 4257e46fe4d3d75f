/*
 * Temporary folders: made under $TMPDIR, else /tmp, or where a caller says, with a name of their
 * own, and removed with all that is in them.
 */
#ifndef CALIBRAX_BASE_TEMPORARY_H
#define CALIBRAX_BASE_TEMPORARY_H

#include "calibrax/base/arena.h"

#define CBX__TEMPORARY_SIZE 256

/* @param what  a word for the name: "cache".  @return CBX_OK; CBX_EIO; path is "" then */
cbx_status cbx__temporary_make(const char *what, char path[CBX__TEMPORARY_SIZE], cbx_err *err);
/* In a folder, which is made if it is missing: its whole path and "/WORD-XXXXXX".  @return CBX_OK;
 * CBX_EIO; CBX_ENOMEM */
cbx_status cbx__temporary_make_in(cbx_ctx *ctx, const char *folder, const char *what, cbx_arena *arena,
                                  const char **path, cbx_err *err);
/* A folder with all that is in it, however deep and whatever its modes; follows no link.  "" is
 * fine; what cannot be removed is left. */
void cbx__temporary_remove(const char *path);

#endif
