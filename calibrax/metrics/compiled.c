/* Compiled metrics: a call that comes again with the same shapes and options is compiled once and
 * kept in the context. */
#include <string.h>

#include "calibrax/array/transform.h"
#include "calibrax/base/hash.h"
#include "calibrax/metrics/call.h"

enum {
    KEPT = 128, /* functions; a new one replaces the one that was used longest ago */
    /* elements in all operands: below it a call costs less than a compiled one saves, but where it
     * differentiates a function */
    WORTH_IT = 1024,
    PIECE = 1 << 18 /* the same of pieces, which also pay for the compilation */
};

typedef struct entry {
    char key[CBX_HASH_SIZE];
    uint64_t used; /* number of the call; 0: free */
    cbx_fn *fn;    /* NULL: seen once */
    cbx__bound b;
} entry;

typedef struct kept {
    uint64_t calls;
    bool pieces;
    entry entries[KEPT];
} kept;

static void kept_clear(void *state, CBX__UNUSED const cbx_allocator *al)
{
    for (size_t i = 0; i < KEPT; i++) cbx_fn_free(((kept *)state)->entries[i].fn);
}

static kept *kept_of(cbx_ctx *ctx) { return cbx__state_of(ctx, sizeof(kept), kept_clear); }

bool cbx__metric_of_pieces(cbx_ctx *ctx, bool pieces)
{
    kept *k = kept_of(ctx);
    const bool before = k && k->pieces;

    if (k) k->pieces = pieces;
    return before;
}

/* All that decides what is compiled, as bytes. */
typedef struct signature {
    const cbx_metric_function *metric;
    void (*code[5])(void); /* a registered row may be replaced at the same address */
    const void *user;
    double parameters[CBX_METRIC_MAX_PARAMETERS];
    int64_t options[4 + CBX_MAX_RANK];
    int64_t arrays[(CBX_METRIC_MAX_OPERANDS + 2) * (2 + CBX_MAX_RANK)];
} signature;

static size_t sign(const cbx__bound *b, size_t n, cbx_array *const *all, char key[CBX_HASH_SIZE])
{
    signature s;
    size_t at = 0, elements = 0;

    memset(&s, 0, sizeof s);
    s.metric = b->metric;
    s.code[0] = (void (*)(void))b->metric->items;
    s.code[1] = (void (*)(void))b->metric->parts;
    s.code[2] = (void (*)(void))b->metric->whole;
    s.code[3] = (void (*)(void))b->metric->finish;
    if (b->function) s.code[4] = (void (*)(void))b->function->call;
    s.user = b->metric->user;
    memcpy(s.parameters, b->parameters, sizeof s.parameters);
    s.options[0] = (int64_t)b->reduction;
    s.options[1] = b->has_axes ? 1 + b->axes.keep : 0;
    s.options[2] = b->has_mask + 2 * b->has_weights + 4 * b->partial + 8 * b->checked;
    s.options[3] = b->axes.n;
    for (int k = 0; k < b->axes.n; k++) s.options[4 + k] = b->axes.axis[k];
    for (size_t i = 0; i < n; i++) {
        const cbx_array_desc *d = all[i] ? cbx_array_get_desc(all[i]) : NULL;
        s.arrays[at++] = d ? (int64_t)d->dtype : -1;
        s.arrays[at++] = d ? d->ndim : 0;
        for (int k = 0; d && k < d->ndim; k++) s.arrays[at++] = (int64_t)d->shape[k];
        elements += d ? cbx_array_count(all[i]) : 0;
    }
    cbx_hash_bytes(&s, sizeof s, key);
    return elements;
}

/* The entry of a key, or the one to replace, with *found false. */
static entry *look_up(kept *k, const char *key, bool *found)
{
    entry *oldest = &k->entries[0];

    for (size_t i = 0; i < KEPT; i++) {
        entry *e = &k->entries[i];
        if (e->used && memcmp(e->key, key, CBX_HASH_SIZE) == 0) {
            *found = true;
            return e;
        }
        if (e->used < oldest->used) oldest = e;
    }
    *found = false;
    return oldest;
}

CBX__BODY(evaluate)
{
    out[0] = cbx__metric_evaluate(ctx, user, in);
    return CBX_OK;
}

/* A function without data of its own is the same whenever it comes, and one that is differentiated
 * can be traced. */
static bool may_compile(const cbx__bound *b)
{
    const unsigned flags = b->metric->flags;

    if (b->has_mask && !b->metric->items && !(flags & CBX_METRIC_WEIGHTED)) return false; /* it selects */
    if (b->function && (b->function->user || b->function->claim || !(flags & CBX_METRIC_COMPILED))) return false;
    return !(flags & (CBX_METRIC_DATA_SHAPED | CBX_METRIC_EAGER)) && !(b->function && flags & CBX_METRIC_FEATURES);
}

cbx_array *cbx__metric_compiled(cbx_ctx *ctx, const cbx__bound *b, size_t n, cbx_array *const *all)
{
    kept *k;
    char key[CBX_HASH_SIZE];
    cbx_array *result = NULL;
    size_t elements;
    bool found;
    entry *e;

    if (!may_compile(b) || !cbx_ctx_backend(ctx)->compile) return NULL;
    for (size_t i = 0; i < n; i++)
        if (!all[i]) return NULL;
    elements = sign(b, n, all, key);
    if ((elements < WORTH_IT && !b->function) || !(k = kept_of(ctx))) return NULL;
    if (k->pieces && elements < PIECE && !(b->metric->flags & CBX_METRIC_COMPILED)) return NULL;
    e = look_up(k, key, &found);
    e->used = ++k->calls;
    if (!found) {
        cbx_fn_free(e->fn);
        e->fn = NULL;
        memcpy(e->key, key, sizeof e->key);
        if (b->function || !(b->metric->flags & CBX_METRIC_COMPILED)) return NULL;
    }
    e->b = *b;
    if (!e->fn && cbx_jit(ctx, &(cbx_fn){ b->metric->name, evaluate, &e->b, n, 1, NULL }, &e->fn, NULL)) return NULL;
    cbx_fn_call(ctx, e->fn, n, all, 1, &result);
    return result;
}
