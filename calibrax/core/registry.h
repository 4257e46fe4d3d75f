/**
 * Registry: items by name, in order of registration.  A struct that lives where the caller puts it;
 * one thread uses it at a time.  The items are the caller's and outlive their entry.
 */
#ifndef CALIBRAX_CORE_REGISTRY_H
#define CALIBRAX_CORE_REGISTRY_H

#include <stdbool.h>

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

typedef struct cbx_registry_entry {
    char *name; /* owned */
    const void *item;
} cbx_registry_entry;

typedef struct cbx_registry {
    cbx_allocator al;
    const char *kind; /* what it holds, for messages: "benchmark"; borrowed */
    cbx_registry_entry *entries;
    size_t count, capacity;
} cbx_registry;

CBX_API void cbx_registry_init(cbx_registry *r, const cbx_allocator *al, const char *kind);
/** Forgets everything and frees the memory; usable again afterwards. */
CBX_API void cbx_registry_clear(cbx_registry *r);
/**
 * @param name     copied; not NULL, not ""
 * @param replace  an item of that name is replaced; otherwise it is CBX_EEXIST
 */
CBX_API cbx_status cbx_registry_register(cbx_registry *r, const char *name, const void *item, bool replace,
                                         cbx_err *err);
/** CBX_ENOENT has the nearest name. */
CBX_API cbx_status cbx_registry_get(const cbx_registry *r, const char *name, const void **out, cbx_err *err);

CBX_END_DECLS
#endif
