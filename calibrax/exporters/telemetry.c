/*
 * Metrics for systems that watch machines: OpenMetrics text, a file for node_exporter's textfile
 * collector, and OTLP/JSON.
 *
 * All of them are families of gauges: a metric is one, with labels for scenario, point and tags;
 * its bounds and its number of samples are others beside it.  Times are in seconds, sizes in bytes,
 * as those systems expect; values that are not finite are kept.  Facts of the run are the labels of
 * calibrax_run_info, or the resource.  OpenMetrics and OTLP have the time of the run;
 * node_exporter accepts none, and has one file whose name does not change from run to run.
 *
 * Sources: OpenMetrics 1.0, OTLP 1.x (JSON mapping of Protocol Buffers).
 */
#include <math.h>
#include <string.h>

#include "calibrax/base/hash.h"
#include "calibrax/base/hash_table.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/json_put.h"
#include "calibrax/core/point_index.h"
#include "calibrax/exporters/job.h"
#include "calibrax/exporters/units.h"

/* What a metric has of itself: gauges beside each other. */
enum { VALUE, LOWER, UPPER, SAMPLES, NPARTS };
static const char *const part_names[NPARTS] = { "", "lower", "upper", "samples" };

typedef struct family {
    const char *metric;        /* as the run has it */
    const cbx_metric_def *def; /* NULL: unknown */
    const cbx__unit *unit;
    int part;
} family;

typedef struct telemetry telemetry;

/* A format: every call adds to the text of the stream. */
typedef struct format_ops {
    const char *format;
    const char *prefix, *suffix; /* of the file, about the id of the run; or prefix NULL */
    bool timestamps;
    size_t nlabels; /* of `labels` in put_run: what a tag may not be named */
    void (*head)(telemetry *t);
    void (*family)(telemetry *t, const family *f);
    void (*value)(telemetry *t, const cbx_point *p, double v);
    void (*family_end)(telemetry *t);
    void (*end)(telemetry *t);
} format_ops;

struct telemetry {
    const format_ops *ops;
    cbx_export_job *job;
    const cbx_run *run;
    cbx__export_stream *out;
    cbx_text *text;                    /* of it */
    cbx_names metrics;                 /* of the run that are asked for */
    cbx_names families, labels;        /* names in use, with the texts that they were made from */
    cbx_names tags;                    /* keys that have a label */
    CBX_LIST(const char *) tag_labels; /* of each of them */
    const char *name;                  /* of the family that is written */
    bool *repeated;                    /* points that another one before them is like: a series has one value */
    size_t nrepeated;
};

/* The facts of a run that identify it. */
static const char *const fact_names[] = { "run", "commit", "branch", "machine" };
static const char *fact(const cbx_run *run, size_t i)
{
    const char *const facts[] = { cbx_run_id(run), cbx_run_commit(run), cbx_run_branch(run),
                                  cbx_json_get_string(cbx_run_environment(run), "machine", NULL) };

    return facts[i];
}

/* --- text --- */

/* A name that no other text has: `copy`, or where another text has that, with a hash of the text
 * before its suffix.  "": out of memory, which the text has failed with. */
static const char *own_name(telemetry *t, cbx_names *used, const char *copy, const char *text, const char *suffix)
{
    const char *key = copy ? cbx_arena_printf(t->job->arena, "%s\x1f%s", copy, text) : NULL, *name = copy;
    char hash[CBX_HASH_SIZE];

    if (key && cbx_names_find(used, key) == CBX_NO_NAME && cbx_names_find(used, copy) != CBX_NO_NAME) {
        cbx_hash_bytes(text, strlen(text), hash);
        name = cbx_arena_printf(t->job->arena, "%.*s_%.8s%s", (int)(strlen(copy) - strlen(suffix)), copy, hash, suffix);
    } else if (key && cbx_names_add(used, key) == CBX_NO_NAME) {
        key = NULL;
    }
    if (key && name && cbx_names_add(used, name) != CBX_NO_NAME) return name;
    t->text->status = CBX_ENOMEM;
    return "";
}

/* The same of letters, digits and '_', as metrics and labels of Prometheus are. */
static const char *plain_name(telemetry *t, cbx_names *used, const char *prefix, const char *name, const char *suffix)
{
    char *copy = cbx_arena_printf(t->job->arena, "%s%s%s", prefix, name, suffix);

    for (char *c = copy; c && *c; c++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_", *c) ||
            (c == copy && *c >= '0' && *c <= '9'))
            *c = '_';
    /* names that begin with two underscores are those of Prometheus itself */
    if (copy && (!*copy || !strncmp(copy, "__", 2))) copy = cbx_arena_printf(t->job->arena, "tag%s", copy);
    return own_name(t, used, copy, name, suffix);
}

/* The label of a tag, made where the tag is met first.  @param plain  as Prometheus accepts it */
static const char *label_of(telemetry *t, const char *key, bool plain)
{
    size_t i = cbx_names_add(&t->tags, key);
    const char *name;

    if (i < t->tag_labels.n) return t->tag_labels.items[i];
    name = plain ? plain_name(t, &t->labels, "", key, "") : own_name(t, &t->labels, key, key, "");
    if (i != CBX_NO_NAME && cbx_list_push(CBX_IN_ARENA(t->job->arena), &t->tag_labels, name)) return name;
    t->text->status = CBX_ENOMEM;
    return "";
}

static void put_escaped(cbx_text *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '\\' || *s == '"' || *s == '\n') cbx_text_putc(out, '\\');
        cbx_text_putc(out, *s == '\n' ? 'n' : *s);
    }
}

static void put_label(telemetry *t, bool *first, const char *name, const char *value)
{
    cbx_text_printf(t->text, "%s%s=\"", *first ? "{" : ",", name);
    put_escaped(t->text, value);
    cbx_text_putc(t->text, '"');
    *first = false;
}

/* Ends a line: its value, and its time where the format has one. */
static void put_number(telemetry *t, double v)
{
    int64_t us = cbx_run_timestamp_us(t->run);
    char number[CBX_FORMAT_SIZE];

    cbx_text_printf(t->text, " %s",
                    isnan(v)   ? "NaN"
                    : isinf(v) ? v > 0 ? "+Inf" : "-Inf"
                               : cbx_format_double(v, number));
    if (t->ops->timestamps)
        cbx_text_printf(t->text, " %s%lld.%06lld", us < 0 ? "-" : "", (long long)(us < 0 ? -us : us) / 1000000,
                        (long long)(us < 0 ? -us : us) % 1000000);
    cbx_text_putc(t->text, '\n');
}

static void put_type(telemetry *t, const char *name, const char *help, const char *unit)
{
    cbx_text_printf(t->text, "# TYPE %s gauge\n", name);
    if (unit && t->ops->timestamps) cbx_text_printf(t->text, "# UNIT %s %s\n", name, unit);
    cbx_text_printf(t->text, "# HELP %s ", name);
    if (t->ops->timestamps) {
        put_escaped(t->text, help);
    } else { /* quotes are not escaped there */
        for (; *help; help++)
            cbx_text_puts(t->text, *help == '\n' ? "\\n" : *help == '\\' ? "\\\\" : (const char[]){ *help, '\0' });
    }
    cbx_text_putc(t->text, '\n');
}

static void text_head(telemetry *t)
{
    bool first = true;

    put_type(t, "calibrax_run_info", "the run that these measurements are of", NULL);
    cbx_text_puts(t->text, "calibrax_run_info");
    for (size_t i = 0; i < CBX_LEN(fact_names); i++)
        if (fact(t->run, i)) put_label(t, &first, fact_names[i], fact(t->run, i));
    cbx_text_putc(t->text, '}');
    put_number(t, 1);
    if (t->ops->timestamps) return;
    put_type(t, "calibrax_run_timestamp_seconds", "when the run was made, in seconds since 1970", NULL);
    cbx_text_puts(t->text, "calibrax_run_timestamp_seconds");
    put_number(t, (double)cbx_run_timestamp_us(t->run) / 1e6);
}

static void text_family(telemetry *t, const family *f)
{
    static const char *const units[] = {
        [CBX__UNIT_OTHER] = NULL, [CBX__UNIT_TIME] = "seconds", [CBX__UNIT_SIZE] = "bytes"
    };
    const char *unit = f->part == SAMPLES ? NULL : units[f->unit->kind], *part = part_names[f->part];
    size_t n = unit ? strlen(unit) : 0, length = strlen(f->metric);
    bool named = unit && f->part == VALUE && length > n && !strcmp(f->metric + length - n, unit); /* "wall_seconds" */
    const char *suffix = cbx_arena_printf(t->job->arena, "%s%s%s%s", *part ? "_" : "", part, unit && !named ? "_" : "",
                                          unit && !named ? unit : "");
    const char *words = f->def && f->def->description && *f->def->description ? f->def->description : f->metric;
    const char *word = f->def && !unit && f->part != SAMPLES ? f->def->unit : "", *better = "";
    const char *help;

    if (f->part == VALUE && f->def && f->def->direction != CBX_DIRECTION_INFO)
        better = f->def->direction == CBX_DIRECTION_LOWER ? "; less is better" : "; more is better";
    help = cbx_arena_printf(t->job->arena, "%s%s%s%s%s%s%s", words, *part ? ", " : "", part, *word ? " [" : "", word,
                            *word ? "]" : "", better);
    if (!suffix || !help) {
        t->text->status = CBX_ENOMEM;
        return;
    }
    t->name = plain_name(t, &t->families, "calibrax_", f->metric, suffix);
    put_type(t, t->name, help, unit);
}

static void text_value(telemetry *t, const cbx_point *p, double v)
{
    bool first = true;

    cbx_text_puts(t->text, t->name);
    put_label(t, &first, "scenario", p->scenario);
    put_label(t, &first, "point", p->name);
    for (size_t i = 0; i < p->ntags; i++) put_label(t, &first, label_of(t, p->tags[i].key, true), p->tags[i].value);
    cbx_text_putc(t->text, '}');
    put_number(t, v);
}

static void text_end(telemetry *t)
{
    if (t->ops->timestamps) cbx_text_puts(t->text, "# EOF\n");
}

/* --- OTLP/JSON --- */

static void push_attribute(cbx_json *list, const char *key, const char *value)
{
    cbx_json_put(cbx_json_push_object(list), J_TEXT("key", key),
                 J_JSON("value", cbx_json_object(J_TEXT("stringValue", value))));
}

static void otlp_head(telemetry *t)
{
    cbx_json *resource = cbx_json_new_object(), *list = cbx_json_set_array(resource, "attributes");

    push_attribute(list, "service.name", "calibrax");
    for (size_t i = 0; i < CBX_LEN(fact_names); i++)
        if (fact(t->run, i)) {
            char key[32];
            snprintf(key, sizeof key, "calibrax.%s", fact_names[i]);
            push_attribute(list, key, fact(t->run, i));
        }
    cbx_json_writer_begin(&t->out->w, NULL, '{');
    cbx_json_writer_begin(&t->out->w, "resourceMetrics", '[');
    cbx_json_writer_begin(&t->out->w, NULL, '{');
    cbx__export_stream_add(t->out, "resource", resource);
    cbx_json_writer_begin(&t->out->w, "scopeMetrics", '[');
    cbx_json_writer_begin(&t->out->w, NULL, '{');
    cbx__export_stream_add(t->out, "scope", cbx_json_object(J_TEXT("name", "calibrax")));
    cbx_json_writer_begin(&t->out->w, "metrics", '[');
}

/* Units as UCUM writes them: s, By; others as the run has them. */
static void otlp_family(telemetry *t, const family *f)
{
    const char *part = part_names[f->part], *name, *suffix;
    const char *const units[] = {
        [CBX__UNIT_OTHER] = f->def ? f->def->unit : "", [CBX__UNIT_TIME] = "s", [CBX__UNIT_SIZE] = "By"
    };

    suffix = cbx_arena_printf(t->job->arena, "%s%s", *part ? "." : "", part);
    name = suffix ? cbx_arena_printf(t->job->arena, "%s%s", f->metric, suffix) : NULL;
    name = own_name(t, &t->families, name, f->metric, suffix);
    cbx_json_writer_begin(&t->out->w, NULL, '{');
    cbx_json_writer_add_string(&t->out->w, "name", name);
    cbx_json_writer_add_string(&t->out->w, "description", f->def && f->def->description ? f->def->description : "");
    cbx_json_writer_add_string(&t->out->w, "unit", f->part == SAMPLES ? "{sample}" : units[f->unit->kind]);
    cbx_json_writer_begin(&t->out->w, "gauge", '{');
    cbx_json_writer_begin(&t->out->w, "dataPoints", '[');
}

static void otlp_value(telemetry *t, const cbx_point *p, double v)
{
    cbx_json *o = cbx_json_new_object(), *list = cbx_json_set_array(o, "attributes");
    char time[32];

    push_attribute(list, "scenario", p->scenario);
    push_attribute(list, "point", p->name);
    for (size_t i = 0; i < p->ntags; i++) push_attribute(list, label_of(t, p->tags[i].key, false), p->tags[i].value);
    snprintf(time, sizeof time, "%lld000", (long long)cbx_run_timestamp_us(t->run));
    cbx_json_put(o, J_TEXT("timeUnixNano", time), J_NUMBER("asDouble", v));
    cbx__export_stream_add(t->out, NULL, o);
}

static void otlp_family_end(telemetry *t)
{
    for (int i = 0; i < 3; i++) cbx_json_writer_end(&t->out->w);
}

/* --- the walk --- */

static const format_ops formats[] = {
    { "openmetrics", "run-", ".openmetrics.txt", true, 6, text_head, text_family, text_value, NULL, text_end },
    { "node-exporter", NULL, "calibrax.prom", false, 6, text_head, text_family, text_value, NULL, text_end },
    { "otlp", "run-", "-otlp.json", true, 2, otlp_head, otlp_family, otlp_value, otlp_family_end, NULL },
};

/* Finds the metrics and the repeated points.  false: out of memory. */
static bool read_points(telemetry *t)
{
    size_t n = cbx_run_npoints(t->run);
    bool good = true;

    t->repeated = cbx_arena_calloc(t->job->arena, n + 1, sizeof *t->repeated);
    CBX_SCOPED(cbx_point_index, index, cbx_ctx_allocator(t->job->ctx), NULL);
    for (size_t i = 0; t->repeated && good && i < n; i++) {
        const cbx_point *p = cbx_run_point(t->run, i);
        const cbx_point_entry *first = cbx_point_index_add(&index, p, i);
        good = first;
        t->repeated[i] = first && first->value != i;
        t->nrepeated += t->repeated[i];
        for (size_t k = 0; good && k < p->nmetrics; k++)
            good = !cbx__export_wants(t->job, p->metrics[k].name) ||
                   cbx_names_add(&t->metrics, p->metrics[k].name) != CBX_NO_NAME;
    }
    return t->repeated && good;
}

/* A family, if some point has a value of it. */
static void put_family(telemetry *t, const family *f, cbx__export_stream *out)
{
    bool begun = false;

    for (size_t i = 0; i < cbx_run_npoints(t->run); i++) {
        const cbx_metric *m = cbx_point_metric(cbx_run_point(t->run, i), f->metric);
        if (t->repeated[i] || !m || (f->part == SAMPLES && !m->nsamples)) continue;
        double v = (const double[]){ m->value, m->lower, m->upper, (double)m->nsamples }[f->part];
        if ((f->part == LOWER || f->part == UPPER) && isnan(v)) continue;
        if (!begun) t->ops->family(t, f);
        begun = true;
        t->ops->value(t, cbx_run_point(t->run, i), f->part == SAMPLES ? v : v * f->unit->times / f->unit->per);
        cbx__export_stream_pour(out, t->text);
    }
    if (begun && t->ops->family_end) t->ops->family_end(t);
}

/* Names that are in use from the start. */
static bool reserve(cbx_names *used, const char *const *names, size_t n)
{
    size_t i = 0;

    while (i < n && cbx_names_add(used, names[i]) != CBX_NO_NAME) i++;
    return i == n;
}

static cbx_status put_run(cbx_export_job *job, const cbx_run *run, cbx_err *err)
{
    static const char *const labels[] = { "scenario", "point", "instance", "job", "le", "quantile" };
    static const char *const families[] = { "calibrax_run_info", "calibrax_run_timestamp_seconds" };
    telemetry t = { .job = job, .run = run, .name = "" };
    cbx_names *const names[] = { &t.metrics, &t.families, &t.labels, &t.tags };
    const char *id = cbx__export_safe_name(job->arena, cbx_run_id(run)), *name;
    cbx__export_stream out;
    cbx_status st;

    for (size_t i = 0; i < CBX_LEN(formats); i++)
        if (!strcmp(formats[i].format, job->format->name)) t.ops = &formats[i];
    name = t.ops->suffix;
    if (id && t.ops->prefix) name = cbx_arena_printf(job->arena, "%s%s%s", t.ops->prefix, id, name);
    if (!id || !name) return cbx_fail_nomem(err, "an export");
    for (size_t i = 0; i < CBX_LEN(names); i++) cbx_names_init(names[i], cbx_ctx_allocator(job->ctx));
    st = cbx__export_stream_begin(job, name, &out, err);
    t.out = &out;
    t.text = &out.text;
    out.w.flags = CBX_JSON_NONFINITE_STRING;
    if (!st && !(read_points(&t) && reserve(&t.labels, labels, t.ops->nlabels) &&
                 reserve(&t.families, families, CBX_LEN(families))))
        st = cbx_fail_nomem(err, "an export");
    if (!st) t.ops->head(&t);
    for (size_t i = 0; !st && i < t.metrics.n; i++) {
        const char *metric = t.metrics.list[i];
        family f = { metric, cbx_run_find_metric_def(run, metric), cbx__unit_of(run, metric), VALUE };
        for (; f.part < NPARTS; f.part++) put_family(&t, &f, &out);
    }
    if (!st && t.ops->end) t.ops->end(&t);
    st = cbx__export_stream_end(&out, st, err);
    if (!st && t.nrepeated)
        st = cbx__export_note(job, err, "run '%s': %zu points with the labels of another one left out", cbx_run_id(run),
                              t.nrepeated);
    for (size_t i = 0; i < CBX_LEN(names); i++) cbx_names_clear(names[i]);
    return st;
}

#define FORMAT(symbol, format, words) CBX__EXPORTER(symbol, .name = format, .summary = words, .export_run = put_run)

FORMAT(openmetrics, "openmetrics", "OpenMetrics text with the time of the run: run-ID.openmetrics.txt");
FORMAT(node_exporter, "node-exporter", "for the textfile collector of node_exporter: calibrax.prom");
FORMAT(otlp, "otlp", "OTLP/JSON metrics: run-ID-otlp.json");
