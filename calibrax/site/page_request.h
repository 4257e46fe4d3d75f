/* A target, read and written: the name of a page and its parameters. */
#ifndef CALIBRAX_SITE_PAGE_REQUEST_H
#define CALIBRAX_SITE_PAGE_REQUEST_H

#include "calibrax/base/arena.h"
#include "calibrax/core/metric.h"

enum {
    CBX__TARGET_MAX = 4096, /* bytes */
    CBX__PARAMS_MAX = 32,
};

typedef struct cbx__param {
    const char *key, *value;
} cbx__param;

typedef struct cbx__request {
    const char *page; /* "" of "/", "run" of "/run" */
    cbx__param params[CBX__PARAMS_MAX];
    size_t n;
    bool full; /* a parameter found no place */
} cbx__request;

/*
 * Texts live in the arena, and are UTF-8.
 * @return CBX_OK; CBX_EINVAL: no target, one that is too long, bad escapes, bytes that are no text,
 *         too many parameters; CBX_ENOENT: a path of several parts; CBX_ENOMEM
 */
cbx_status cbx__request_parse(const char *target, cbx_arena *arena, cbx__request *out, cbx_err *err);
/* A parameter's first value; NULL: absent or empty. */
const char *cbx__request_param(const cbx__request *r, const char *key);
/* An integer from 1 on; 1 for what is not one. */
size_t cbx__request_page(const cbx__request *r);
/* The tags among the parameters, "tag=KEY=VALUE" with escapes for '=' and '%' in KEY, in the arena.
 * @return CBX_OK; CBX_EINVAL; CBX_ENOMEM */
cbx_status cbx__request_tags(const cbx__request *r, cbx_arena *arena, const cbx_tag **out, size_t *n, cbx_err *err);

/* A request under construction, from { .page = page }: the parameters that have a value. */
/* value NULL or "" adds nothing; one that finds no place sets `full`. */
void cbx__request_add(cbx__request *r, const char *key, const char *value);
/* false: out of memory. */
bool cbx__request_add_tags(cbx__request *r, cbx_arena *arena, const cbx_tag *tags, size_t n);
/* A copy with one parameter set, or removed (NULL). */
cbx__request cbx__request_with(const cbx__request *r, const char *key, const char *value);
/* The target of a request; NULL: out of memory. */
const char *cbx__request_target(const cbx__request *r, cbx_arena *arena);

#endif
