/*
 * A file without a name, for what is too large to be held for a while: it goes with its owner, whatever ends that.
 */
#ifndef CALIBRAX_BASE_SCRATCH_H
#define CALIBRAX_BASE_SCRATCH_H

#include "calibrax/base/ctx.h"

typedef struct cbx__scratch cbx__scratch;

/**
 * @param folder  where its bytes are kept
 * @return CBX_OK; the usual of base/file.h.  The caller frees *out, whose allocator is copied
 */
cbx_status cbx__scratch_create(const cbx_allocator *al, const char *folder, cbx__scratch **out, cbx_err *err);
/** NULL is fine. */
void cbx__scratch_free(cbx__scratch *s);
/** Appends.  @param at  where the bytes begin; may be NULL.  @return CBX_OK; CBX_ENOSPC; CBX_EIO */
cbx_status cbx__scratch_add(cbx__scratch *s, const void *data, size_t len, uint64_t *at, cbx_err *err);
/** Up to room bytes from `at` on; *got 0 behind the end. */
cbx_status cbx__scratch_read(const cbx__scratch *s, uint64_t at, void *to, size_t room, size_t *got, cbx_err *err);
/** Exactly n bytes from `at` on.  @return also CBX_EIO: there are not as many */
cbx_status cbx__scratch_need(const cbx__scratch *s, uint64_t at, void *to, size_t n, cbx_err *err);
uint64_t cbx__scratch_size(const cbx__scratch *s);

#endif
