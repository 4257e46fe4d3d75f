/* What the views share: values as words, and where things are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/together.h"
#include "calibrax/site/page_view.h"

#define MAX_TAGS 50 /* that a page shows of a point */

const char *cbx__view_time(cbx__view *v, int64_t us)
{
    char iso[CBX_TIME_SIZE];

    cbx_time_format_iso(us, iso);
    return cbx__view_text(v, "%.10s %.8s UTC", iso, iso + 11);
}

const char *cbx__view_value(cbx__view *v, double value, double lower, double upper, const char *unit)
{
    static const struct {
        const char *unit;
        double seconds;
    } times[] = { { "s", 1 }, { "ms", 1e-3 }, { "us", 1e-6 }, { "ns", 1e-9 } };
    bool bounded = isfinite(lower) && isfinite(upper);
    char buf[CBX_FORMAT_INTERVAL_SIZE];

    if (unit && (!*unit || !strcmp(unit, "1"))) unit = NULL; /* a count or a share */
    for (size_t i = 0; unit && value > 0 && isfinite(value) && i < CBX_LEN(times); i++)
        if (!strcmp(unit, times[i].unit))
            return cbx__view_text(v, "%s",
                                  cbx_format_seconds_interval(value * times[i].seconds, lower * times[i].seconds,
                                                              upper * times[i].seconds, buf));
    if (bounded && unit) return cbx__view_text(v, "%.5g %s [%.5g, %.5g]", value, unit, lower, upper);
    if (bounded) return cbx__view_text(v, "%.5g [%.5g, %.5g]", value, lower, upper);
    if (isnan(value)) return "not a number";
    return cbx__view_text(v, "%.6g%s%s", value, unit ? " " : "", unit ? unit : "");
}

const char *cbx__view_percent(cbx__view *v, double share)
{
    if (isnan(share)) return "";
    if (isinf(share)) return share > 0 ? "from 0" : "to below 0";
    return cbx__view_text(v, "%+.*f %%", fabs(share) < 0.1 ? 2 : fabs(share) < 10 ? 1 : 0, 100 * share);
}

const char *cbx__view_tags(cbx__view *v, const cbx_tag *tags, size_t n)
{
    cbx_tag *sorted = cbx__view_alloc(v, n, sizeof *sorted);
    cbx_text text = cbx__arena_text(v->arena);

    if (!sorted || !n) return "";
    memcpy(sorted, tags, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, cbx_tag_compare);
    for (size_t i = 0; i < n && (v->document || i < MAX_TAGS); i++)
        cbx_text_printf(&text, "%s%s=%s", i ? ", " : "", sorted[i].key, sorted[i].value);
    if (!v->document && n > MAX_TAGS) cbx_text_printf(&text, " and %zu more", n - MAX_TAGS);
    if (text.status) v->out->status = CBX_ENOMEM;
    return cbx_text_str(&text);
}

/* --- where things are --- */

static const char *to_page(cbx__view *v, const char *page, const cbx__param params[3], const cbx_tag *tags,
                           size_t ntags)
{
    cbx__request to = { .page = page };

    for (int i = 0; i < 3; i++) cbx__request_add(&to, params[i].key, params[i].value);
    if (!cbx__request_add_tags(&to, v->arena, tags, ntags)) v->out->status = CBX_ENOMEM;
    return cbx__view_href(v, &to);
}

const char *cbx__view_to(cbx__view *v, const char *page, const char *key, const char *value)
{
    return to_page(v, page, (const cbx__param[3]){ { key, value } }, NULL, 0);
}

const char *cbx__view_to_run(cbx__view *v, const char *id) { return cbx__view_to(v, "run", "id", id); }

const char *cbx__view_to_point(cbx__view *v, const char *run, const cbx_point *p)
{
    return to_page(v, "point",
                   (const cbx__param[3]){ { "run", run }, { "point", p->name }, { "scenario", p->scenario } }, p->tags,
                   p->ntags);
}

const char *cbx__view_to_trend(cbx__view *v, const char *metric, const char *point, const char *scenario,
                               const cbx_tag *tags, size_t ntags)
{
    cbx_tag *sorted = cbx__view_alloc(v, ntags, sizeof *sorted);

    if (!sorted) return NULL;
    if (ntags) memcpy(sorted, tags, ntags * sizeof *sorted);
    qsort(sorted, ntags, sizeof *sorted, cbx_tag_compare);
    return to_page(v, "trend",
                   (const cbx__param[3]){ { "metric", metric }, { "point", point }, { "scenario", scenario } }, sorted,
                   ntags);
}

const char *cbx__view_to_compare(cbx__view *v, const char *a, const char *b)
{
    return to_page(v, "compare", (const cbx__param[3]){ { "a", a }, { "b", b } }, NULL, 0);
}

/* --- what the address names --- */

cbx_status cbx__view_load(cbx__view *v, const char *param, cbx_run **out, cbx_err *err)
{
    const char *id = cbx__request_param(v->request, param);
    const char *const *names;
    size_t n = 0;
    bool found = false;
    cbx_status st;

    if (!id) return cbx_fail(err, CBX_EINVAL, "the address lacks the run: %s=ID", param);
    if (!strncmp(id, "baseline:", 9)) {
        st = cbx_store_baselines(v->store, v->arena, &names, &n, err);
        for (size_t i = 0; !st && i < n; i++)
            if (!strcmp(names[i], id + 9)) return cbx_store_baseline_get(v->store, names[i], out, err);
        return st ? st : cbx_fail(err, CBX_ENOENT, "the store has no baseline '%.200s'", id + 9);
    }
    st = cbx_store_has_run(v->store, id, &found, err);
    if (!st && !found) return cbx_fail(err, CBX_ENOENT, "the store has no run '%.200s'", id);
    return st ? st : cbx_store_load(v->store, id, out, err);
}

cbx_status cbx__view_select(cbx__view *v, cbx_store_query *q, cbx_err *err)
{
    q->branch = cbx__request_param(v->request, "branch");
    q->point = cbx__request_param(v->request, "point");
    q->scenario = cbx__request_param(v->request, "scenario");
    q->metric = cbx__request_param(v->request, "metric");
    return cbx__request_tags(v->request, v->arena, &q->tags, &q->ntags, err);
}
