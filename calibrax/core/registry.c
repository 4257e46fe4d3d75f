/* A linear list, since registries hold tens of entries. */
#include "calibrax/core/registry.h"

#include <string.h>

#include "calibrax/base/list.h"
#include "calibrax/base/text.h"

#define MAX_SUGGESTIONS 256 /* names that a message is chosen from */

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

cbx_status cbx_registry_register(cbx_registry *r, const char *name, const void *item, bool replace, cbx_err *err)
{
    cbx_registry_entry *old = find(r, name);
    char *copy;

    if (!name || !*name) return cbx_fail(err, CBX_EINVAL, "a %s needs a name", r->kind);
    if (old && !replace) return cbx_fail(err, CBX_EEXIST, "%s '%s' is registered already", r->kind, name);
    if (old) {
        old->item = item;
        return CBX_OK;
    }
    copy = cbx_mem_strdup(&r->al, name);
    if (!copy || !cbx_grow(&r->al, &r->entries, &r->capacity, r->count + 1, sizeof *r->entries)) {
        cbx_mem_strfree(&r->al, copy);
        return cbx_fail(err, CBX_ENOMEM, "out of memory to register %s '%s'", r->kind, name);
    }
    r->entries[r->count++] = (cbx_registry_entry){ copy, item };
    return CBX_OK;
}

cbx_status cbx_registry_get(const cbx_registry *r, const char *name, const void **out, cbx_err *err)
{
    const cbx_registry_entry *e = find(r, name);
    const char *names[MAX_SUGGESTIONS], *nearest;
    size_t n = r->count < MAX_SUGGESTIONS ? r->count : MAX_SUGGESTIONS;

    if (e) {
        *out = e->item;
        return CBX_OK;
    }
    if (!name) name = "";
    for (size_t i = 0; i < n; i++) names[i] = r->entries[i].name;
    nearest = cbx_nearest_word(name, names, n);
    if (nearest) return cbx_fail(err, CBX_ENOENT, "no %s '%s': did you mean '%s'?", r->kind, name, nearest);
    return cbx_fail(err, CBX_ENOENT, "no %s '%s' among the %zu registered", r->kind, name, r->count);
}
