/*
 * Points of many runs by what names them, name, scenario and tags, each kept once: runs of one benchmark name the same ones over and over.
 */
#ifndef CALIBRAX_PROGRAMS_NAMED_H
#define CALIBRAX_PROGRAMS_NAMED_H

#include "calibrax/base/arena.h"
#include "calibrax/core/metric.h"

/* Starts zeroed, but for the arena in which points are kept. */
typedef struct named_points {
    cbx_arena *arena;
    struct named_slot *slots;
    size_t n, nslots;
} named_points;

/* A point of these words without metrics, that lives as long as the arena; NULL: out of memory. */
const cbx_point *named_point(named_points *all, const cbx_point *p);

#endif
