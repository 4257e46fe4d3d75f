/** DLPack 1.x: arrays lent to other libraries, and theirs borrowed, without a copy where possible.
 *
 * The structs are DLPack's (include/dlpack/dlpack.h of version 1.1, https://dmlc.github.io/dlpack)
 * member for member under names of ours, so that a pointer cast is all it takes where another
 * header declares them.  Elements are in the machine's byte order, as DLPack demands; arrays of
 * ours never hold any other.
 *
 * A tensor is given back by one call of its deleter, from any thread, also after the context has
 * died.  Elements on a GPU are complete when a tensor is lent; a tensor that is borrowed must be
 * complete on the default stream. */
#ifndef CALIBRAX_ARRAY_IO_DLPACK_H
#define CALIBRAX_ARRAY_IO_DLPACK_H

#include <stdint.h>

#include "calibrax/array/array.h"

CBX_BEGIN_DECLS

#define CBX_DL_MAJOR 1
#define CBX_DL_MINOR 1
#define CBX_DL_CPU   1 /* device types; all others are refused */
#define CBX_DL_CUDA  2

/* flags of a versioned tensor */
#define CBX_DL_READ_ONLY      ((uint64_t)1)
#define CBX_DL_IS_COPIED      ((uint64_t)2) /* the consumer alone sees this memory */
#define CBX_DL_SUBBYTE_PADDED ((uint64_t)4)

typedef struct cbx_dl_device {
    int32_t type; /* CBX_DL_CPU, CBX_DL_CUDA */
    int32_t id;   /* 0 for the CPU */
} cbx_dl_device;

/** code 0 int, 1 uint, 2 float, 5 complex (bits of both parts), 6 bool (8 bits). */
typedef struct cbx_dl_dtype {
    uint8_t code, bits;
    uint16_t lanes; /* 1; vectors are refused */
} cbx_dl_dtype;

typedef struct cbx_dl_tensor {
    void *data; /* NULL if there is no element */
    cbx_dl_device device;
    int32_t ndim;
    cbx_dl_dtype dtype;
    int64_t *shape;
    int64_t *strides; /* [elements]; NULL: row-major (ours are never NULL) */
    uint64_t byte_offset;
} cbx_dl_tensor;

/** The struct of DLPack before 1.0; it cannot mark its elements read only. */
typedef struct cbx_dl_legacy {
    cbx_dl_tensor tensor;
    void *manager;
    void (*deleter)(struct cbx_dl_legacy *self); /* NULL: nothing to give back */
} cbx_dl_legacy;

typedef struct cbx_dl_managed {
    struct {
        uint32_t major, minor;
    } version;
    void *manager;
    void (*deleter)(struct cbx_dl_managed *self); /* NULL: nothing to give back */
    uint64_t flags;
    cbx_dl_tensor tensor;
} cbx_dl_managed;

/** As `copy` of the array API: None, True, False. */
typedef enum cbx_dl_copy { CBX_DL_COPY_IF_NEEDED, CBX_DL_COPY_ALWAYS, CBX_DL_COPY_NEVER } cbx_dl_copy;

/** Lends an array.  Shared memory is flagged CBX_DL_READ_ONLY, since arrays are immutable; a copy
 * (row-major, on the same device) belongs to the consumer, who may write, and is flagged
 * CBX_DL_IS_COPIED.  The tensor holds a reference to its array.
 * @param a    any strides; neither abstract nor failed
 * @param out  the caller ends it with its deleter, once; the allocator of ctx must outlive it
 * @return CBX_OK; CBX_EINVAL (abstract or failed array); CBX_ENOMEM; CBX_EUNSUPPORTED (memory of a
 *   device that cannot be read); what the device returns */
CBX_API cbx_status cbx_dlpack_export(cbx_ctx *ctx, const cbx_array *a, cbx_dl_copy copy, cbx_dl_managed **out,
                                     cbx_err *err);
/** As above in the older struct.  It has no flag for "read only", and consumers take its elements
 * for their own to write: what leaves is a copy unless CBX_DL_COPY_NEVER asks for the elements
 * themselves, which the consumer then must not write.
 * @return as above */
CBX_API cbx_status cbx_dlpack_export_legacy(cbx_ctx *ctx, const cbx_array *a, cbx_dl_copy copy, cbx_dl_legacy **out,
                                            cbx_err *err);

/** Borrows a tensor.  It is taken over whatever the outcome: its deleter is called once, when the
 * last reference to the array goes, or before this returns if it fails or copies.  Copied are
 * tensors without elements, data that is not aligned to its element, and bools other than 0 and 1
 * (any other byte is made 1); copies that cost no element are made with CBX_DL_COPY_NEVER, too.  A
 * producer that writes into memory it has lent changes the array.
 * @return CBX_OK; CBX_EVERSION (another major version: nothing but the deleter is touched);
 *         CBX_EUNSUPPORTED (a device other than the CPU and GPUs of NVIDIA, unknown flags, more
 *         than CBX_MAX_RANK axes; a copy was needed with CBX_DL_COPY_NEVER); CBX_EUNAVAILABLE (the
 *         backend of the context does not compute on that GPU); CBX_EDTYPE; CBX_EFORMAT (negative
 *         length, no shape, no data); CBX_EOVERFLOW (lengths, strides or offset reach beyond
 *         memory); CBX_ENOMEM */
CBX_API cbx_status cbx_dlpack_import(cbx_ctx *ctx, cbx_dl_managed *tensor, cbx_dl_copy copy, cbx_array **out,
                                     cbx_err *err);
CBX_API cbx_status cbx_dlpack_import_legacy(cbx_ctx *ctx, cbx_dl_legacy *tensor, cbx_dl_copy copy, cbx_array **out,
                                            cbx_err *err);

CBX_END_DECLS
#endif
