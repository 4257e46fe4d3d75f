/**
 * Good rows of an earlier run replace attempts of this one; see resume.h.
 */
#include "calibrax/perf/sweep/resume.h"

#include <string.h>

/* The row this attempt would write, as far as its key goes. */
static const char *key_of(cbx__session const *s, cbx__point *p, const cbx__attempt *a)
{
    cbx_row row = { .case_name = s->opts->case_ops->name, .machine = s->machine_id[0] ? s->machine_id : NULL };
    row.platform = a->platform;
    row.point_json = p->json;
    row.baseline = a->baseline->name;
    row.variant = a->variant;
    return cbx_row_key(&p->arena, &row);
}

/* Last good row of a key. */
static cbx_status find_row(cbx__point *p, const cbx_rows *rows, const char *key, const cbx_row **out, cbx_err *err)
{
    *out = NULL;
    for (size_t i = 0; i < rows->count; i++) {
        const char *k;
        if (!cbx_row_is_good(&rows->rows[i])) continue;
        k = cbx_row_key(&p->arena, &rows->rows[i]);
        if (!k) return cbx_fail(err, CBX_ENOMEM, "out of memory for the key of a kept row");
        if (!strcmp(k, key)) *out = &rows->rows[i];
    }
    return CBX_OK;
}

/* True if an attempt of the same baseline and platform has to be measured. */
static bool sibling_is_needed(const cbx__plan *plan, const cbx__attempt *a)
{
    for (size_t i = 0; i < plan->count; i++) {
        const cbx__attempt *b = &plan->attempts[i];
        if (b->baseline == a->baseline && b->platform == a->platform && !b->failure && !b->kept) return true;
    }
    return false;
}

/* Marks kept attempts idle, except the reference while others of its platform are to be measured. */
static void settle(const cbx__session *s, cbx__plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        cbx__attempt *a = &plan->attempts[i];
        bool needed = false;
        if (!a->kept) continue;
        for (size_t j = 0; j < plan->count && (a->baseline == s->opts->case_ops->baselines[0] || a->baseline->limit);
             j++) {
            const cbx__attempt *b = &plan->attempts[j];
            needed = needed || (b->platform == a->platform && !b->failure && !b->kept);
        }
        a->idle = !needed;
    }
}

cbx_status cbx__resume_point(const cbx__session *s, cbx__point *p, const cbx_rows *kept, cbx_err *err)
{
    bool again = true;

    for (size_t i = 0; i < p->plan.count; i++) {
        cbx__attempt *a = &p->plan.attempts[i];
        const char *key = a->failure ? NULL : key_of(s, p, a);
        cbx_status st;
        if (a->failure) continue;
        if (!key) return cbx_fail(err, CBX_ENOMEM, "out of memory for the key of an attempt");
        st = find_row(p, kept, key, &a->kept, err);
        if (st) return st;
        p->resumed = p->resumed || a->kept;
    }
    while (again) {
        again = false;
        for (size_t i = 0; i < p->plan.count; i++) {
            cbx__attempt *a = &p->plan.attempts[i];
            if (a->kept && sibling_is_needed(&p->plan, a)) {
                a->kept = NULL;
                again = true;
            }
        }
    }
    settle(s, &p->plan);
    return CBX_OK;
}
