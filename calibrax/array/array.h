/**
 * Arrays: immutable, atomically reference-counted handles on a strided block of elements.
 *
 * "Immutable" starts when the maker lets go: whoever made an array may write through
 * cbx_array_data_mut until the handle is shared.
 */
#ifndef CALIBRAX_ARRAY_ARRAY_H
#define CALIBRAX_ARRAY_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "calibrax/array/dtype.h"
#include "calibrax/base/ctx.h"
#include "calibrax/base/text.h"

CBX_BEGIN_DECLS

typedef enum cbx_device_kind { CBX_DEVICE_CPU, CBX_DEVICE_CUDA } cbx_device_kind;

/** All zero: the CPU. */
typedef struct cbx_device_id {
    cbx_device_kind kind;
    int index; /* from 0 */
} cbx_device_id;

/** "cpu", "cuda" */
CBX_API const char *cbx_device_kind_name(cbx_device_kind kind);
/** "cpu" or "cuda:0" into buf, cut if it does not fit; returns buf. */
CBX_API const char *cbx_device_id_text(cbx_device_id id, char *buf, size_t size);
/**
 * A kind, or a kind, a colon and a number; whether there is such a device is not asked.
 * @param out  written on success only
 * @return CBX_OK; CBX_EINVAL
 */
CBX_API cbx_status cbx_device_id_parse(const char *text, cbx_device_id *out, cbx_err *err);
static inline bool cbx_device_id_equal(cbx_device_id a, cbx_device_id b)
{
    return a.kind == b.kind && a.index == b.index;
}

#define CBX_MAX_RANK 16

typedef struct cbx_array cbx_array;

/** dtype and shape without data. */
typedef struct cbx_array_desc {
    cbx_dtype dtype;
    int ndim;                   /* 0..CBX_MAX_RANK */
    size_t shape[CBX_MAX_RANK]; /* zero lengths are legal */
} cbx_array_desc;

/** Number of elements; CBX_EOVERFLOW if the product or its bytes overflow, CBX_EINVAL for a bad
 * rank or dtype. */
CBX_API cbx_status cbx_array_desc_count(const cbx_array_desc *d, size_t *count, cbx_err *err);
CBX_API bool cbx_array_desc_equal(const cbx_array_desc *a, const cbx_array_desc *b);
/** "float32 (512, 512)" into buf, cut if it does not fit; returns buf. */
CBX_API const char *cbx_array_desc_text(const cbx_array_desc *d, char *buf, size_t size);

/** New row-major array from the context's block pool, 64-byte aligned, content undefined.  The
 * caller holds the one reference. */
CBX_API cbx_status cbx_array_create(cbx_ctx *ctx, const cbx_array_desc *desc, cbx_array **out, cbx_err *err);
/**
 * Array over memory of another owner, on the CPU.
 * @param data     at a multiple of an element's size (of a part's, complex ones)
 * @param strides  [elements] ndim of them, may be 0 or negative; NULL: row-major
 * @param release  called once with user when the last reference goes; NULL: the memory outlives the
 *   array
 */
CBX_API cbx_status cbx_array_wrap(cbx_ctx *ctx, const cbx_array_desc *desc, const ptrdiff_t *strides, void *data,
                                  void (*release)(void *user), void *user, cbx_array **out, cbx_err *err);
/** Shape and dtype without data: what shape rules and traces compute with.  Its data pointer is
 * NULL. */
CBX_API cbx_status cbx_array_create_abstract(cbx_ctx *ctx, const cbx_array_desc *desc, cbx_array **out, cbx_err *err);
/** One more reference; NULL gives NULL. */
CBX_API cbx_array *cbx_array_ref(const cbx_array *a);
/** Drops a reference; NULL is fine. */
CBX_API void cbx_array_free(cbx_array *a);

CBX_API const cbx_array_desc *cbx_array_get_desc(const cbx_array *a);
CBX_API cbx_dtype cbx_array_dtype(const cbx_array *a);
CBX_API int cbx_array_ndim(const cbx_array *a);
/** Length of axis i; 0 past the last axis. */
CBX_API size_t cbx_array_dim(const cbx_array *a, int i);
/** [elements] */
CBX_API const ptrdiff_t *cbx_array_strides(const cbx_array *a);
CBX_API size_t cbx_array_count(const cbx_array *a);
CBX_API size_t cbx_array_bytes(const cbx_array *a);
CBX_API bool cbx_array_is_contiguous(const cbx_array *a);
/** Where the elements are; of a view where those of its base are; of an abstract or failed array
 * the CPU. */
CBX_API cbx_device_id cbx_array_device(const cbx_array *a);
/** First element, at an address of the array's device; for an empty array any pointer. */
CBX_API const void *cbx_array_data(const cbx_array *a);
CBX_API void *cbx_array_data_mut(cbx_array *a);
/** True if the caller's reference is the only one and the elements are the array's own: then no
 * other array sees them written. */
CBX_API bool cbx_array_is_exclusive(const cbx_array *a);
/**
 * Takes the elements of an array over: *out has them, and what uses a fails from then on with a
 * sentence that names the reason.  a stays the caller's to free.
 * @param a  exclusive (cbx_array_is_exclusive), and not a view
 * @return CBX_OK; CBX_EINVAL (others would see it); CBX_ENOMEM.  Since 0.1.
 */
CBX_API cbx_status cbx_array_take(cbx_ctx *ctx, cbx_array *a, cbx_array **out, cbx_err *err);
/** True of an array whose elements cbx_array_take has taken. */
CBX_API bool cbx_array_is_taken(const cbx_array *a);
/**
 * Writes value, converted and broadcast, over the elements of an array; to may be a view of
 * elements that may be written.  Threads: several may write at the same time if each has a context
 * of its own and no two write the same element: nothing but the elements of to is written, of any
 * size, so no assignment is lost.  The caller orders readers after writers.
 * @return CBX_OK; CBX_EINVAL (failed or abstract); CBX_ESHAPE (no broadcast); CBX_EDTYPE (complex
 *   to real)
 */
CBX_API cbx_status cbx_array_assign(cbx_ctx *ctx, cbx_array *to, const cbx_array *value, cbx_err *err);
/**
 * Writes a value, converted, over the elements that a mask or indices choose.
 * Threads: as of cbx_array_assign, for the chosen elements.
 * @param to     row-major; its elements may be written (cbx_array_is_exclusive)
 * @param where  bool of the shape of to; or int64 along the only axis of to, negative ones count
 *   from its end
 * @param value  one element; or, with indices, one for each: of equal indices the last one counts
 * @return CBX_OK; CBX_EINVAL (failed, abstract, not row-major); CBX_ESHAPE; CBX_EDTYPE (complex to
 *         real, other indices); CBX_EINDEX (an index outside the axis: nothing was written);
 *         CBX_ENOMEM
 */
CBX_API cbx_status cbx_array_put(cbx_ctx *ctx, cbx_array *to, const cbx_array *where, const cbx_array *value,
                                 cbx_err *err);
CBX_API bool cbx_array_is_abstract(const cbx_array *a);
/** Result of an operation that failed, or NULL; the reason is in the context until the scope closes
 * (scope.h). */
CBX_API bool cbx_array_is_failed(const cbx_array *a);
/**
 * Copies all elements in row-major order, from whatever device.
 * @param bytes  of dst; must be cbx_array_bytes(a)
 * @return CBX_OK; CBX_ESHAPE (another size); CBX_EINVAL (failed or abstract); CBX_EUNSUPPORTED (on
 *   a device whose memory cannot be read); CBX_ENOMEM; what the device returns
 */
CBX_API cbx_status cbx_array_read(const cbx_array *a, void *dst, size_t bytes, cbx_err *err);

/**
 * Adds the elements as text: nested brackets, columns aligned, numbers the shortest that read back
 * to the same bits; booleans as True and False, complex numbers as (1+2j).  Rows continue after 75
 * columns; of more than 1000 elements only the first and last three of each axis are shown.  An
 * abstract array gives its description, as does one on another device; a failed one gives "failed".
 * @param indent  columns of text before it on its first line; later lines begin with as many blanks
 * Errors are those of the text.  Safe from any thread that may read a.
 */
CBX_API void cbx_array_format(const cbx_array *a, size_t indent, cbx_text *out);

/** How a scatter joins an update with the element that is there. */
typedef enum cbx_scatter_mode {
    CBX_SCATTER_SET,
    CBX_SCATTER_ADD,
    CBX_SCATTER_MUL,
    CBX_SCATTER_MIN,
    CBX_SCATTER_MAX
} cbx_scatter_mode;

CBX_END_DECLS
#endif
