/* Things by name; a linear list, since registries hold tens of entries and are looked at once. */
#include "calibrax/core/registry.h"

#include <string.h>

#include "calibrax/base/text.h"

#define SUGGESTIONS_MOST 256 /* names that a message is chosen from */

void cbx_registry_init(cbx_registry *r, const cbx_allocator *al, const char *kind)
{
    *r = (cbx_registry){ .al = *al, .kind = kind };
}

void cbx_registry_clear(cbx_registry *r)
{
    for (size_t i = 0; i < r->count; i++) cbx_mem_strfree(&r->al, r->entries[i].name);
    cbx_mem_free(&r->al, r->entries, r->capacity * sizeof *r->entries);
    r->entries = NULL;
    r->count = r->capacity = 0;
}

static cbx_registry_entry *find(const cbx_registry *r, const char *name)
{
    for (size_t i = 0; name && i < r->count; i++) {
        if (strcmp(r->entries[i].name, name) == 0) return &r->entries[i];
    }
    return NULL;
}

static cbx_status append(cbx_registry *r, const char *name, const void *item, cbx_err *err)
{
    char *copy = cbx_mem_strdup(&r->al, name);

    if (copy && r->count == r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : 8;
        void *grown = cbx_mem_resize(&r->al, r->entries, r->capacity * sizeof *r->entries,
                                     capacity * sizeof *r->entries);
        if (!grown) {
            cbx_mem_strfree(&r->al, copy);
            copy = NULL;
        } else {
            r->entries = grown;
            r->capacity = capacity;
        }
    }
    if (!copy) return cbx_fail(err, CBX_ENOMEM, "out of memory to register %s '%s'", r->kind, name);
    r->entries[r->count++] = (cbx_registry_entry){ copy, item };
    return CBX_OK;
}

cbx_status cbx_registry_register(cbx_registry *r, const char *name, const void *item, bool replace, cbx_err *err)
{
    cbx_registry_entry *old = find(r, name);

    if (!name || !*name) return cbx_fail(err, CBX_EINVAL, "a %s needs a name", r->kind);
    if (!old) return append(r, name, item, err);
    if (!replace) return cbx_fail(err, CBX_EEXIST, "%s '%s' is registered already", r->kind, name);
    old->item = item;
    return CBX_OK;
}

static cbx_status unknown(const cbx_registry *r, const char *name, cbx_err *err)
{
    const char *names[SUGGESTIONS_MOST];
    size_t n = r->count < SUGGESTIONS_MOST ? r->count : SUGGESTIONS_MOST;
    const char *nearest;

    if (!name) name = "";
    for (size_t i = 0; i < n; i++) names[i] = r->entries[i].name;
    nearest = cbx_nearest_word(name, names, n);
    if (nearest) return cbx_fail(err, CBX_ENOENT, "no %s '%s': did you mean '%s'?", r->kind, name, nearest);
    return cbx_fail(err, CBX_ENOENT, "no %s '%s' among the %zu registered", r->kind, name, r->count);
}

cbx_status cbx_registry_get(const cbx_registry *r, const char *name, const void **out, cbx_err *err)
{
    const cbx_registry_entry *e = find(r, name);

    if (!e) return unknown(r, name, err);
    *out = e->item;
    return CBX_OK;
}

cbx_status cbx_registry_remove(cbx_registry *r, const char *name, cbx_err *err)
{
    cbx_registry_entry *e = find(r, name);
    size_t behind;

    if (!e) return unknown(r, name, err);
    cbx_mem_strfree(&r->al, e->name);
    behind = (size_t)(r->entries + r->count - (e + 1));
    memmove(e, e + 1, behind * sizeof *e);
    r->count--;
    return CBX_OK;
}

bool cbx_registry_has(const cbx_registry *r, const char *name) { return find(r, name) != NULL; }
size_t cbx_registry_count(const cbx_registry *r) { return r->count; }
const char *cbx_registry_name(const cbx_registry *r, size_t i) { return i < r->count ? r->entries[i].name : NULL; }
