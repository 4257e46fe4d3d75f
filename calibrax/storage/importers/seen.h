/*
 * How often something has been seen, by its hash: 8 bytes a thing that is seen once, since a file may hold a million names.
 */
#ifndef CALIBRAX_STORAGE_IMPORT_SEEN_H
#define CALIBRAX_STORAGE_IMPORT_SEEN_H

#include "calibrax/base/ctx.h"

typedef struct cbx__seen_again {
    uint64_t hash; /* 0: free */
    unsigned count;
} cbx__seen_again;

/* Starts zeroed. */
typedef struct cbx__seen {
    uint64_t *once; /* open addressing; 0: free */
    size_t once_used, once_room;
    cbx__seen_again *again; /* those that came a second time */
    size_t again_used, again_room;
} cbx__seen;

/* Times that it has been seen, this one included; 0: out of memory. */
unsigned cbx__seen_count(cbx__seen *s, const cbx_allocator *al, uint64_t hash);
void cbx__seen_clear(cbx__seen *s, const cbx_allocator *al);

#endif
