/* Inside the library: ZIP archives through libzip, loaded on first use; its types stay in zip.c.
 *
 * Reading is sequential: a member is opened, read from its start and closed.  Writing pulls each
 * member from a function, so that no copy of it is ever whole in memory, and replaces the file as
 * one step at the end. */
#ifndef CALIBRAX_ARRAY_IO_ZIP_H
#define CALIBRAX_ARRAY_IO_ZIP_H

#include <stdbool.h>

#include "calibrax/base/ctx.h"

/* --- reading --- */

typedef struct cbx__zip cbx__zip;
typedef struct cbx__zip_member cbx__zip_member;

typedef struct cbx__zip_info {
    const char *name;         /* UTF-8, lives as long as the archive */
    uint64_t size, packed;    /* [bytes] as the directory says */
    bool deflated, encrypted; /* neither stored nor deflated: other_method */
    bool other_method;
} cbx__zip_info;

/** A regular file; CBX_EINVAL for anything else, CBX_EFORMAT if it is no sound archive,
 * CBX_EUNAVAILABLE without libzip. */
cbx_status cbx__zip_open(cbx_ctx *ctx, const char *path, cbx__zip **out, cbx_err *err);
/** data must outlive the archive. */
cbx_status cbx__zip_open_memory(cbx_ctx *ctx, const void *data, size_t len, cbx__zip **out, cbx_err *err);
/** NULL is fine. */
void cbx__zip_close(cbx__zip *z);
size_t cbx__zip_count(const cbx__zip *z);
cbx_status cbx__zip_stat(cbx__zip *z, size_t index, cbx__zip_info *out, cbx_err *err);
cbx_status cbx__zip_member_open(cbx__zip *z, size_t index, cbx__zip_member **out, cbx_err *err);
/** Up to size bytes; fewer only at the end, where the checksum is verified: read until got < size
 * to know that it is right. */
cbx_status cbx__zip_member_read(cbx__zip_member *m, void *buf, size_t size, size_t *got, cbx_err *err);
/** NULL is fine. */
void cbx__zip_member_close(cbx__zip_member *m);

/* --- writing --- */

typedef struct cbx__zip_writer cbx__zip_writer;
/** Fills buf with bytes offset .. offset+size-1 of a member; is called in order, from its start,
 * and cannot fail. */
typedef void (*cbx__zip_pull)(void *user, uint64_t offset, void *buf, size_t size);

cbx_status cbx__zip_writer_create(cbx_ctx *ctx, const char *path, cbx__zip_writer **out, cbx_err *err);
/** @param user  lives until the commit, which is when pull is called */
cbx_status cbx__zip_writer_add(cbx__zip_writer *w, const char *name, uint64_t size, bool deflate, cbx__zip_pull pull,
                               void *user, cbx_err *err);
/** Writes everything and puts the file in place; ends w whatever the outcome. */
cbx_status cbx__zip_writer_commit(cbx__zip_writer *w, cbx_err *err);
/** NULL is fine. */
void cbx__zip_writer_discard(cbx__zip_writer *w);

#endif
