/*
 * Temporary folders: made under $TMPDIR, else /tmp, with a name of their own, and removed with all that is in them.
 */
#ifndef CALIBRAX_BASE_TEMPORARY_H
#define CALIBRAX_BASE_TEMPORARY_H

#include "calibrax/base/status.h"

#define CBX__TEMPORARY_SIZE 256

/* @param what  a word for the name: "cache".  @return CBX_OK; CBX_EIO; path is "" then */
cbx_status cbx__temporary_make(const char *what, char path[CBX__TEMPORARY_SIZE], cbx_err *err);
/* "" is fine; what cannot be removed is left. */
void cbx__temporary_remove(const char *path);

#endif
