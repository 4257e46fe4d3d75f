/*
 * Inside storage: the values of the series of a store, in chunks.
 *
 * A row of `chunk` holds many values of one series: a store of 500,000 values has a few hundred rows, and a series is read in one
 * go.  The key is the series' number and, below it, that of the run whose value comes first.  What a forgotten run left behind stays
 * until there is much of it: its number is not among the runs.
 */
#ifndef CALIBRAX_STORAGE_STORE_VALUES_H
#define CALIBRAX_STORAGE_STORE_VALUES_H

#include "calibrax/storage/store_index.h"

/** As chunks hold it, in the byte order of the machine (which is part of the version of the index). */
typedef struct cbx__index_value {
    uint32_t rid, k; /* the run, and the place in it */
    double value, lower, upper;
} cbx__index_value;

/* --- writing --- */

/** Values on their way into chunks. */
typedef struct cbx__gatherer cbx__gatherer;

cbx_status cbx__gatherer_create(cbx__index *ix, cbx__gatherer **out, cbx_err *err);
/** NULL is fine.  What was not flushed is lost. */
void cbx__gatherer_free(cbx__gatherer *g);
cbx_status cbx__gatherer_add(cbx__gatherer *g, int64_t sid, const cbx__index_value *v, cbx_err *err);
/** Between two runs: writes if much has come together. */
cbx_status cbx__gatherer_pause(cbx__gatherer *g, cbx_err *err);
/** Writes what there is. */
cbx_status cbx__gatherer_flush(cbx__gatherer *g, cbx_err *err);

/** Drops the values of runs that are gone, and series without any. */
cbx_status cbx__values_prune(cbx__index *ix, cbx_err *err);

/* --- reading --- */

/** Which run of a list has a rid. */
typedef struct cbx__rid {
    uint32_t rid, at;
} cbx__rid;
/** Sorts by rid. */
void cbx__rids_sort(cbx__rid *rids, size_t n);
/** @param near  where the last one was found, which the next one is often behind; moves.  NULL: none of them */
const cbx__rid *cbx__rids_find(const cbx__rid *rids, size_t n, uint32_t rid, size_t *near);

/** A select for cbx__values_each, which may serve many series. */
cbx_status cbx__values_open(cbx__index *ix, cbx__select **out, cbx_err *err);
typedef cbx_status (*cbx__values_fn)(void *user, const cbx__index_value *v, cbx_err *err);
/** Every value of a series, those of forgotten runs too, by run and place within what one refresh saw. */
cbx_status cbx__values_each(cbx__select *s, int64_t sid, cbx__values_fn fn, void *user, cbx_err *err);

#endif
