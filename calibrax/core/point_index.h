/**
 * Points by name, scenario and tags, whose order does not matter.
 *
 * A point is found by its hash and compared in place, so that none is written or copied; the caller
 * keeps it alive.
 */
#ifndef CALIBRAX_CORE_POINT_INDEX_H
#define CALIBRAX_CORE_POINT_INDEX_H

#include "calibrax/base/hash_table.h"
#include "calibrax/core/metric.h"

CBX_BEGIN_DECLS

/**
 * FNV-1a (Fowler, Noll, Vo) of the names; the same for like points, on every machine.  Not safe
 * against deliberate collisions.
 * @param but  a label that does not count: a tag, "point" or "scenario"; NULL: all do
 */
CBX_API uint64_t cbx_point_hash(const cbx_point *p, const char *but);
CBX_API bool cbx_point_same(const cbx_point *a, const cbx_point *b, const char *but);

typedef struct cbx_point_entry {
    const cbx_point *point; /* the first of its kind */
    size_t value;           /* that it was entered with */
} cbx_point_entry;

/** Used by one thread at a time; its members are its own. */
typedef struct cbx_point_index {
    const char *but;
    CBX_LIST(cbx_point_entry) entries;
    cbx_table table;
} cbx_point_index;

/** @param but  as for cbx_point_hash; kept, not copied */
CBX_API void cbx_point_index_init(cbx_point_index *ix, const cbx_allocator *al, const char *but);
/** Fit for use again. */
CBX_API void cbx_point_index_clear(cbx_point_index *ix);
/** The first point like this one; NULL: no such point.  It is valid until the next one is added. */
CBX_API const cbx_point_entry *cbx_point_index_find(const cbx_point_index *ix, const cbx_point *p);
/** The same, and p with its value where there was none.  NULL: out of memory. */
CBX_API const cbx_point_entry *cbx_point_index_add(cbx_point_index *ix, const cbx_point *p, size_t value);

CBX_END_DECLS
#endif
