/*
 * A loop over independent pieces, by threads that live as long as the loop; not public.
 */
#ifndef CALIBRAX_BASE_PARALLEL_H
#define CALIBRAX_BASE_PARALLEL_H

#include <stddef.h>

/** Pieces begin..end-1, by worker `worker`; must not fail and must not use the context. */
typedef void (*cbx__piece_fn)(void *user, size_t worker, size_t begin, size_t end);

/** How many workers to prepare for: at least 1, at most `pieces`; asked 0: one for each CPU that
 * this process may use. */
size_t cbx__workers(size_t asked, size_t pieces);
/** Runs all pieces, split evenly; a thread that cannot be started has its share done here. */
void cbx__parallel(size_t workers, size_t pieces, cbx__piece_fn fn, void *user);

#endif
