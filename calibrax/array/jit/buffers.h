/*
 * Inside the compiler: the memory of values, planned when a graph is compiled.
 *
 * A value lives from the step that makes it to the last one that reads it.  Values that do not live
 * at the same time may lie in the same place.
 */
#ifndef CALIBRAX_ARRAY_JIT_BUFFERS_H
#define CALIBRAX_ARRAY_JIT_BUFFERS_H

#include "calibrax/array/jit/plan.h"

/** Bytes that are in use from a step to a later one. */
typedef struct cbx__span {
    uint32_t first, last; /* steps, both included */
    uint32_t region, next;
    size_t bytes;
    size_t at; /* where they are in their region, a multiple of 64 */
} cbx__span;

/** Memory that spans lie in. */
typedef struct cbx__region {
    size_t bytes;   /* SIZE_MAX: as many as are needed */
    uint32_t until; /* the first step at which it has another use; CBX__NO_INDEX: it has none */
    uint32_t head;
    size_t used; /* up to the end of the last span */
} cbx__region;

/** Where a value is that a nest makes. */
typedef struct cbx__place {
    cbx__vid
        in; /* the value itself: in an array of its own; CBX__NO_VALUE: in the workspace; else in the array of that later value */
    size_t at; /* [bytes] */
} cbx__place;

/**
 * Gives each span the lowest place that is free all its life, in the first region that has one:
 * those that end last come first, of those that end together the first of the list.  The regions
 * that have another use in the end are free for what ends before.
 * Source: first fit, as in Poletto & Sarkar, ACM TOPLAS 21 (1999) 895-913, backwards in time.
 * @param spans    region and at are written
 * @param regions  bytes and until are read, the others written; the last one has no end
 * @param order    scratch, n
 */
void cbx__spans_place(size_t n, cbx__span *spans, size_t nregions, cbx__region *regions, cbx__span **order);

struct cbx__program;
/**
 * Of a program with steps and nests: the values that each step makes, those that it is the last to
 * read, and the places of what nests make.  Operations make arrays; what they read, and results,
 * are arrays, too; other values lie in the workspace, or in the array of a value that is made when
 * they are dead.
 * @return false: out of memory
 */
bool cbx__buffers_plan(struct cbx__program *p);

#endif
