/*
 * Inside the library: what attributes point to.
 */
#ifndef CALIBRAX_ARRAY_OBJECT_H
#define CALIBRAX_ARRAY_OBJECT_H

#include <stdatomic.h>

#include "calibrax/array/array.h"

/** Counted and never changed; the first member of what it is. */
typedef struct cbx_object {
    atomic_size_t refs;
    void (*free)(struct cbx_object *o); /* called with no reference left */
    /* Results of a CONTROL primitive; none in objects of others. */
    size_t nout;
    const cbx_array_desc *results;
} cbx_object;

/** One more reference; NULL gives NULL. */
const cbx_object *cbx__object_ref(const cbx_object *o);
/** Drops one; NULL is fine. */
void cbx__object_unref(const cbx_object *o);

#endif
