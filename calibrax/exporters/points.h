/*
 * Points by what tells them apart: name, scenario and tags, in whatever order they stand.
 */
#ifndef CALIBRAX_EXPORTERS_POINTS_H
#define CALIBRAX_EXPORTERS_POINTS_H

#include "calibrax/base/text.h"
#include "calibrax/base/words.h"
#include "calibrax/core/run.h"

#define CBX__NO_POINT SIZE_MAX

typedef struct cbx__points {
    const char *but; /* label that does not count: a tag, "point" or "scenario"; NULL: all do */
    cbx__words keys;
    size_t *first, room; /* index of the first point of each key */
    cbx_text key;        /* of the point at hand */
    cbx_tag *tags;
    size_t ntags;
} cbx__points;

void cbx__points_init(cbx__points *s, const cbx_allocator *al, const char *but);
void cbx__points_clear(cbx__points *s);
/** Adds a point unless one like it is there; first: the index of that one, else its own.  false: out of memory. */
bool cbx__points_add(cbx__points *s, const cbx_point *p, size_t index, size_t *first);
/** The index of the first one like it, or CBX__NO_POINT.  false: out of memory. */
bool cbx__points_find(cbx__points *s, const cbx_point *p, size_t *first);

#endif
