/*
 * The keys of a run, name, scenario, tags and metric of each, found by their hash; they are compared where they stand in the run, so that
 * a key costs no text.
 */
#include <string.h>

#include "calibrax/analysis/regression_parts.h"
#include "calibrax/base/words.h"
#include "calibrax/core/point_index.h"

static uint64_t hash_of(const cbx_point *p, const char *metric)
{
    return cbx__hash_text(cbx_point_hash(p, NULL), metric);
}

/* Where a key is, or the free slot where it belongs. */
static uint32_t *slot_of(const cbx__keys *k, const cbx_point *p, const char *metric)
{
    size_t at = hash_of(p, metric) & (k->nslots - 1);

    while (k->slots[at]) {
        const cbx__keyed *e = &k->all[k->slots[at] - 1];
        if (!strcmp(e->metric->name, metric) && cbx_point_same(e->point, p, NULL)) break;
        at = (at + 1) & (k->nslots - 1);
    }
    return &k->slots[at];
}

/* The first of equal ones carries their number, the others 0. */
static void enter(cbx__keys *k, const cbx_point *p, const cbx_named_metric *m)
{
    uint32_t *slot = slot_of(k, p, m->name);

    k->all[k->n++] = (cbx__keyed){ p, m, NULL, !*slot };
    if (*slot)
        k->all[*slot - 1].count++;
    else
        *slot = (uint32_t)k->n;
}

cbx_status cbx__keys_init(const cbx_allocator *al, const cbx_run *run, cbx__keys *k, cbx_err *err)
{
    *k = (cbx__keys){ .nslots = 2 };
    for (size_t i = 0; i < cbx_run_npoints(run); i++) k->room += cbx_run_point(run, i)->nmetrics;
    while (k->nslots < 2 * k->room) k->nslots *= 2;
    k->slots = k->room < UINT32_MAX ? cbx_mem_calloc(al, k->nslots, sizeof(*k->slots)) : NULL;
    k->all = k->room && k->slots ? cbx_mem_alloc(al, k->room * sizeof(*k->all)) : NULL;
    if (!k->slots || (k->room && !k->all)) {
        cbx__keys_clear(al, k);
        return cbx_fail(err, CBX_ENOMEM, "out of memory for the keys of '%s'", cbx_run_id(run));
    }
    for (size_t i = 0; i < cbx_run_npoints(run); i++) {
        const cbx_point *p = cbx_run_point(run, i);
        for (size_t j = 0; j < p->nmetrics; j++) enter(k, p, &p->metrics[j]);
    }
    return CBX_OK;
}

void cbx__keys_clear(const cbx_allocator *al, cbx__keys *k)
{
    cbx_mem_free(al, k->all, k->room * sizeof(*k->all));
    cbx_mem_free(al, k->slots, k->nslots * sizeof(*k->slots));
    *k = (cbx__keys){ .n = 0 };
}

cbx__keyed *cbx__keys_find(const cbx__keys *k, const cbx__keyed *like)
{
    uint32_t at = *slot_of(k, like->point, like->metric->name);

    return at ? &k->all[at - 1] : NULL;
}
