/*
 * A JSON file that may be too long to be held: a sketch to know it by, and all of it but the elements of one list.
 */
#ifndef CALIBRAX_STORAGE_IMPORT_DOCUMENT_H
#define CALIBRAX_STORAGE_IMPORT_DOCUMENT_H

#include "calibrax/storage/importers/bytes.h"

#define CBX__NO_PLACE UINT64_MAX

/*
 * The first elements and members of every container, in an order of magnitude that does not grow with the file; the rest is only looked
 * at for faults.  @return as cbx_json_parse
 */
cbx_status cbx__document_sketch(const cbx__bytes *b, cbx_json **out, cbx_err *err);
/*
 * The next value of a reader, in which a container under `list` is empty, and where that stands; "" is the value itself, NULL nothing.
 * *place is CBX__NO_PLACE if there is none.
 */
cbx_status cbx__document_apart(cbx__json_reader *r, const char *list, cbx_json **out, uint64_t *place, cbx_err *err);

#define CBX__LONG_ARRAY 1000 /* elements that an array is held with */

/* An array that has more: the tree has an empty one in its place. */
typedef struct cbx__long_array {
    const cbx_json *array;
    uint64_t at; /* where it begins */
    size_t n;
} cbx__long_array;

typedef struct cbx__long_arrays {
    cbx__long_array *list;
    size_t n, room;
} cbx__long_arrays;

/* The next value of a reader, in which long arrays are empty; adds where they stand. */
cbx_status cbx__document_value(cbx__json_reader *r, cbx__long_arrays *apart, cbx_json **out, cbx_err *err);
void cbx__long_arrays_clear(cbx__long_arrays *apart);

#endif
