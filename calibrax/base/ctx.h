/**
 * The context: owner of the allocator, the block pool and whatever else has state.
 *
 * One thread uses a context at a time; there is no global mutable state.  Objects made with a
 * context may outlive it only if their contract allows it (arrays and frozen records do: they
 * carry the allocator by value, so the allocator's own state must outlive them).
 */
#ifndef CALIBRAX_BASE_CTX_H
#define CALIBRAX_BASE_CTX_H

#include <stddef.h>
#include <stdint.h>

#include "calibrax/base/allocator.h"
#include "calibrax/base/status.h"

CBX_BEGIN_DECLS

typedef struct cbx_ctx cbx_ctx;

typedef enum cbx_choice { CBX_CHOICE_UNSET, CBX_CHOICE_OFF, CBX_CHOICE_ON } cbx_choice;

typedef struct cbx_ctx_opts {
    uint32_t struct_size;    /* sizeof(cbx_ctx_opts) of the header compiled with */
    cbx_allocator allocator; /* resize NULL: the C library's */
    size_t pool_keep_bytes;  /* freed blocks kept for re-use at most; 0: 256 MiB */
    /* Later members.  Unset (NULL, CBX_CHOICE_UNSET, 0): by the environment, see
     * calibrax/base/settings.h. */
    const char *backend; /* "auto", "reference", "jit", in any case */
    cbx_choice use_gpu, gpu_fallback;
    double gpu_memory_fraction; /* (0, 1] */
} cbx_ctx_opts;

#define CBX_CTX_OPTS_INIT CBX_OPTS(cbx_ctx_opts, { 0, 0 }, 0, 0, CBX_CHOICE_UNSET, CBX_CHOICE_UNSET, 0)

/**
 * @param opts  NULL: all defaults
 * @return CBX_OK; CBX_EINVAL (struct_size of another version; an invalid option or variable of the
 *         environment: calibrax/base/settings.h); CBX_ENOMEM
 */
CBX_API cbx_status cbx_ctx_create(const cbx_ctx_opts *opts, cbx_ctx **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_ctx_free(cbx_ctx *ctx);
/** The context's allocator; lives as long as the context. */
CBX_API const cbx_allocator *cbx_ctx_allocator(const cbx_ctx *ctx);

CBX_END_DECLS
#endif
