/* The guard's answer as JSON: everything, one object, whose findings are written one after the other: there may be 10^5. */
#include <math.h>
#include <string.h>

#include "calibrax/base/json.h"
#include "calibrax/ci/guard_parts.h"

static bool set_number(cbx_json *o, const char *key, double v)
{
    return isnan(v) ? cbx_json_set_null(o, key) : cbx_json_set_double(o, key, v);
}

static cbx_json *interval_json(const cbx_interval *iv)
{
    cbx_json *o = cbx_json_new_object();
    bool fine = o && set_number(o, "value", iv->value) && set_number(o, "lower", iv->lower) &&
                set_number(o, "upper", iv->upper) && set_number(o, "level", iv->level > 0 ? iv->level : NAN);

    if (fine) return o;
    cbx_json_unref(o);
    return NULL;
}

static bool fill_finding(cbx_json *o, const cbx_guard *g, size_t i)
{
    const cbx_finding *f = cbx_regression_finding(g->r, i);
    bool fine = cbx_json_set_string(o, "key", f->key) && cbx_json_set_string(o, "point", f->point) &&
                cbx_json_set_string(o, "scenario", f->scenario) && cbx_json_set_string(o, "tags", f->tags) &&
                cbx_json_set_string(o, "metric", f->metric) && cbx_json_set_string(o, "unit", f->unit) &&
                cbx_json_set_string(o, "outcome", cbx_outcome_name(f->outcome)) &&
                cbx_json_set_int(o, "exit_code", cbx__guard_code(g, i));

    if (fine && f->unit)
        fine = cbx_json_set_string(o, "direction", cbx_direction_name(f->direction)) &&
               cbx_json_set_string(o, "priority", cbx_priority_name(f->priority));
    fine = fine && set_number(o, "baseline", f->baseline) && set_number(o, "current", f->current) &&
           set_number(o, "change", f->change) && set_number(o, "threshold", f->threshold) &&
           set_number(o, "margin", f->margin) && cbx_json_set_string(o, "basis", cbx_basis_name(f->basis)) &&
           cbx_json_set(o, "interval", interval_json(&f->interval)) && set_number(o, "p", f->p) &&
           set_number(o, "p_holm", f->p_holm) &&
           (!f->samples || cbx_json_set_int(o, "samples_needed", (int64_t)f->samples)) &&
           cbx_json_set_string(o, "sentence", f->sentence);
    return fine && (!g->by[i] || cbx_json_set_string(o, "waived_by", g->by[i]->key));
}

static bool fill_waiver(cbx_json *o, const cbx_guard *g, size_t i)
{
    const cbx_waiver *w = cbx_waivers_at(g->waivers, i);

    return cbx_json_set_string(o, "key", w->key) && cbx_json_set_string(o, "reason", w->reason) &&
           cbx_json_set_string(o, "until", w->until) && cbx_json_set_bool(o, "expired", g->use[i].expired) &&
           cbx_json_set_int(o, "uses", (int64_t)g->use[i].uses);
}

static bool fill_counts(cbx_json *o, const cbx_guard *g)
{
    for (int k = 0; k < CBX_OUTCOME_COUNT; k++)
        if (!cbx_json_set_int(o, cbx_outcome_name((cbx_outcome)k), (int64_t)g->gate.counts[k])) return false;
    return true;
}

/* --- the document --- */

#define FLAGS (CBX_JSON_INDENT2 | CBX_JSON_NONFINITE_STRING | CBX_JSON_NO_CONTROL)

typedef struct document {
    const cbx_guard *g;
    cbx_json_pour_fn pour;
    void *user;
    cbx_text *out;
} document;

static void put_key(const document *d, const char *key, bool first)
{
    if (!first) cbx_text_putc(d->out, ',');
    cbx_json_write_break(FLAGS, 1, d->out);
    cbx_json_write_string(key, strlen(key), FLAGS, d->out);
    cbx_text_puts(d->out, ": ");
}

static void put_element(const document *d, const cbx_json *v, bool first)
{
    if (!first) cbx_text_putc(d->out, ',');
    cbx_json_write_break(FLAGS, 2, d->out);
    cbx_json_write_part(v, FLAGS, 2, NULL, NULL, d->out);
    if (d->pour) d->pour(d->user, d->out);
}

static bool put_list(const document *d, const char *key, size_t n, bool (*fill)(cbx_json *, const cbx_guard *, size_t))
{
    bool fine = true;

    put_key(d, key, false);
    cbx_text_putc(d->out, '[');
    for (size_t i = 0; fine && i < n; i++) {
        cbx_json *o = cbx_json_new_object();
        fine = o && fill(o, d->g, i);
        if (fine) put_element(d, o, i == 0);
        cbx_json_unref(o);
    }
    if (n) cbx_json_write_break(FLAGS, 1, d->out);
    cbx_text_putc(d->out, ']');
    return fine;
}

static bool fill_head(cbx_json *root, const cbx_guard *g)
{
    static const char *const machines[] = { "same", "other", "unknown" };
    cbx_json *counts = cbx_json_new_object();

    if (!counts || !fill_counts(counts, g)) {
        cbx_json_unref(counts);
        return false;
    }
    return cbx_json_set(root, "counts", counts) && cbx_json_set_string(root, "schema", CBX_GUARD_SCHEMA) &&
           cbx_json_set_int(root, "version", CBX_GUARD_SCHEMA_VERSION) &&
           cbx_json_set_int(root, "exit_code", g->gate.exit_code) &&
           cbx_json_set_string(root, "reason", g->gate.reason ? cbx_gate_reason_name(g->gate.reason) : NULL) &&
           cbx_json_set_string(root, "sentence", g->gate.sentence) &&
           cbx_json_set_string(root, "run", cbx_regression_run_id(g->r)) &&
           cbx_json_set_string(root, "baseline", cbx_regression_baseline_id(g->r)) &&
           cbx_json_set_string(root, "machines", machines[cbx_regression_machines(g->r)]) &&
           cbx_json_set_string(root, "label", cbx_regression_label(g->r)) &&
           cbx_json_set_int(root, "waived", (int64_t)g->gate.waived);
}

static bool put_head(const document *d)
{
    cbx_json *head = cbx_json_new_object(), *value;
    bool fine = head && fill_head(head, d->g);
    const char *key;

    for (size_t i = 0; fine && cbx_json_member(head, i, &key, &value); i++) {
        put_key(d, key, i == 0);
        cbx_json_write_part(value, FLAGS, 1, NULL, NULL, d->out);
    }
    cbx_json_unref(head);
    return fine;
}

cbx_status cbx__guard_write_json(const cbx_guard *g, cbx_json_pour_fn pour, void *user, cbx_text *out, cbx_err *err)
{
    const document d = { g, pour, user, out };
    bool fine;

    cbx_text_putc(out, '{');
    fine = put_head(&d) && put_list(&d, "findings", cbx_regression_nfindings(g->r), fill_finding) &&
           put_list(&d, "waivers", cbx_waivers_count(g->waivers), fill_waiver);
    cbx_json_write_break(FLAGS, 0, out);
    cbx_text_puts(out, "}\n");
    return fine ? cbx_text_check(out, err) : cbx_fail(err, CBX_ENOMEM, "out of memory for the answer as JSON");
}
