/* All pages as files: from the first one along their links, the nearest first. */
#include <string.h>

#include "calibrax/base/hash_table.h"
#include "calibrax/site/page_view.h"

#define DEFAULT_LIMIT 1000

typedef struct walk {
    cbx_arena arena;
    cbx_names targets; /* in the order found, which is that of writing */
    cbx_names beyond;  /* links that are text */
    size_t limit;
    bool full; /* memory ran out */
} walk;

/* "run-abc.html" of a value that is safe in a name; else a hash of all parameters. */
static const char *file_of(cbx_arena *arena, const char *target)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t page = strcspn(target, "?");
    const char *value = strchr(target, '=');
    char hash[CBX_HASH_SIZE];

    if (!target[page])
        return page == 1 ? "index.html" : cbx_arena_printf(arena, "%.*s.html", (int)page - 1, target + 1);
    if (value && strspn(value + 1, safe) == strlen(value + 1) && strlen(value) < 80 && value[1] != '.' &&
        (!strncmp(target, "/run?id=", 8) || !strncmp(target, "/trace?id=", 10) || !strncmp(target, "/case?name=", 11)))
        return cbx_arena_printf(arena, "%.*s-%s.html", (int)page - 1, target + 1, value + 1);
    cbx_hash_bytes(target, strlen(target), hash);
    return cbx_arena_printf(arena, "%.*s_%.20s.html", page == 1 ? 4 : (int)page - 1, page == 1 ? "runs" : target + 1,
                            hash);
}

static const char *link_to(void *user, const char *target)
{
    walk *w = user;
    const char *name;

    if (cbx_names_find(&w->targets, target) == SIZE_MAX && w->targets.n >= w->limit) {
        if (cbx_names_add(&w->beyond, target) == SIZE_MAX) w->full = true;
        return NULL;
    }
    if (cbx_names_add(&w->targets, target) == SIZE_MAX) w->full = true;
    name = file_of(&w->arena, target);
    if (!name) w->full = true;
    return name;
}

cbx_status cbx_site_walk(cbx_site *s, size_t limit, cbx_site_page_fn fn, void *user, cbx_site_pages *out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(s->ctx);
    walk w = { .limit = limit ? limit : DEFAULT_LIMIT };
    cbx_status st = CBX_OK;

    CBX_SCOPED(cbx_site_reply, reply, al);
    cbx_arena_init(&w.arena, al);
    cbx_names_init(&w.targets, al);
    cbx_names_init(&w.beyond, al);
    s->link = link_to;
    s->link_user = &w;
    if (!link_to(&w, "/")) st = cbx_fail_nomem(err, "the pages of a store");
    out->written = 0;
    for (size_t i = 0; !st && i < w.targets.n; i++) {
        const char *target = w.targets.list[i], *name = file_of(&w.arena, target);
        if (!name || cbx__site_page(s, target, &reply) || w.full)
            st = cbx_fail_nomem(err, "the pages of a store");
        else
            st = fn(user, name, &reply.body, err);
        out->written += !st;
    }
    out->left_out = w.beyond.n;
    s->link = NULL;
    s->link_user = NULL;
    cbx_names_clear(&w.beyond);
    cbx_names_clear(&w.targets);
    cbx_arena_clear(&w.arena);
    return st;
}
