/**
 * Registry: things by name, in the order in which they came.  A context-free struct that lives where the caller puts it; one thread
 * uses it at a time.  The things are the caller's and outlive their entry.
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
 * @param replace  a thing of that name gives up its place to this one; otherwise it is CBX_EEXIST
 */
CBX_API cbx_status cbx_registry_register(cbx_registry *r, const char *name, const void *item, bool replace,
                                         cbx_err *err);
/** CBX_ENOENT names what is nearest. */
CBX_API cbx_status cbx_registry_get(const cbx_registry *r, const char *name, const void **out, cbx_err *err);
CBX_API cbx_status cbx_registry_remove(cbx_registry *r, const char *name, cbx_err *err);
CBX_API bool cbx_registry_has(const cbx_registry *r, const char *name);
CBX_API size_t cbx_registry_count(const cbx_registry *r);
/** i-th name in order of registration, NULL past the end; lives until the entry goes. */
CBX_API const char *cbx_registry_name(const cbx_registry *r, size_t i);

CBX_END_DECLS
#endif
