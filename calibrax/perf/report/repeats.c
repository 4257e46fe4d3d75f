/*
 * Launches that were made again, from the schedules that rows keep: how many, why, and of whom most.  A machine that is not left alone
 * shows here first.
 */
#include <string.h>

#include "calibrax/perf/report/format.h"

#define REASONS 16

typedef struct tally {
    const char *reason;
    int64_t n;
} tally;

static void count_reasons(const cbx_json *reasons, tally *list, size_t *n)
{
    const char *key;
    cbx_json *value;

    for (size_t i = 0; reasons && cbx_json_member(reasons, i, &key, &value); i++) {
        size_t k = 0;
        while (k < *n && strcmp(list[k].reason, key)) k++;
        if (k == REASONS) continue;
        if (k == *n) list[(*n)++] = (tally){ key, 0 };
        list[k].n += cbx_json_get_int(reasons, key, 0);
    }
}

bool cbx__report_put_repeats(cbx_text *out, cbx_arena *arena, const cbx__report_view *v)
{
    const cbx__report_item *worst = NULL;
    tally list[REASONS];
    int64_t all = 0, most = 0;
    size_t n = 0;

    for (size_t i = 0; i < v->nitems; i++) {
        const cbx_json *schedule = cbx_json_get(v->items[i].row->provenance, "schedule");
        int64_t again = cbx_json_get_int(schedule, "retries", 0);
        if (again <= 0) continue;
        all += again;
        count_reasons(cbx_json_get(schedule, "retry_reasons"), list, &n);
        if (again <= most) continue;
        most = again;
        worst = &v->items[i];
    }
    if (!worst) return false;
    cbx_text_printf(out, "%lld launch%s made again", (long long)all, all == 1 ? " was" : "es were");
    for (size_t i = 0; i < n; i++) {
        cbx_text_puts(out, i ? ", " : " (");
        cbx__report_put_public(out, list[i].reason, 40);
        cbx_text_printf(out, " %lld%s", (long long)list[i].n, i + 1 == n ? ")" : "");
    }
    if (all > most) {
        cbx_text_puts(out, ", most of them of ");
        cbx__report_put_public(out, cbx__report_name(arena, worst), 80);
        cbx_text_printf(out, " (%lld)", (long long)most);
    }
    return true;
}
