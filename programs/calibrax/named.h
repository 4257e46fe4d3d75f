/*
 * Points of many runs by what names them, name, scenario and tags, each kept once: runs of one benchmark name the same ones over and over.
 */
#ifndef CALIBRAX_PROGRAMS_NAMED_H
#define CALIBRAX_PROGRAMS_NAMED_H

#include "calibrax/base/arena.h"
#include "calibrax/core/point_index.h"

typedef struct named_points {
    cbx_arena *arena; /* in which points are kept */
    cbx_point_index index;
} named_points;

void named_points_init(named_points *all, cbx_arena *arena);
/* Points stay. */
void named_points_clear(named_points *all);
/* A point of these words without metrics, that lives as long as the arena; NULL: out of memory. */
const cbx_point *named_point(named_points *all, const cbx_point *p);

#endif
