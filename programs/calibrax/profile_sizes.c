/*
 * calibrax profile --sizes: a function or a command at several sizes, and the order in which its time grows.
 *
 * A function needs `void *NAME_setup_size(size_t size)`; a command has its size where its arguments have {}.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/json.h"
#include "programs/calibrax/calibrax.h"

#include "programs/calibrax/profile.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"
#include "programs/common/stop.h"

typedef struct sizing {
    const opt_run *run;
    const profile_args *a;
    const char *subject;
    size_t *sizes, n;
    cbx_complexity_point *points;
    cbx_complexity_report report;
    profile_plugin plugin;
} sizing;

static cbx_status out_of_memory(cbx_err *err) { return cbx_fail(err, CBX_ENOMEM, "out of memory"); }

static cbx_status parse_sizes(sizing *s, cbx_err *err)
{
    s->n = s->a->sizes.count;
    s->sizes = cbx_arena_calloc(s->run->arena, s->n + 1, sizeof *s->sizes);
    s->points = cbx_arena_calloc(s->run->arena, s->n + 1, sizeof *s->points);
    if (!s->sizes || !s->points) return out_of_memory(err);
    for (size_t i = 0; i < s->n; i++) {
        char *end;
        const char *text = s->a->sizes.items[i];
        unsigned long long v;
        errno = 0;
        v = strtoull(text, &end, 10);
        if (end == text || *end || *text == '-' || v == 0 || errno)
            return cbx_fail(err, CBX_EINVAL, "'--sizes' must list integers of at least 1, got '%s'", text);
        s->sizes[i] = (size_t)v;
    }
    return CBX_OK;
}

/* --- a function --- */

static cbx_status set_up(size_t size, void *user, void **state, cbx_err *err)
{
    const profile_plugin *p = user;

    *state = p->setup_size(size);
    return *state ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "set-up gave NULL");
}

static void tear_nothing(void *state) { (void)state; }

static cbx_status measure_function(sizing *s, cbx_err *err)
{
    cbx_timing_opts o = CBX_TIMING_OPTS_INIT;
    cbx_sized_call call = { set_up, NULL, NULL, &s->plugin };
    cbx_status st = profile_plugin_load(s->a, &s->plugin, err);

    if (st) return st;
    call.run = s->plugin.run;
    call.teardown = s->plugin.teardown ? s->plugin.teardown : tear_nothing;
    o.warmup = s->a->warmup;
    if (s->a->iterations) o.samples = s->a->iterations;
    if (s->a->sample_ms > 0) o.sample_s = 1e-3 * s->a->sample_ms;
    if (s->plugin.setup_size)
        st = cbx_complexity_measure(s->run->ctx, &call, s->sizes, s->n, &o, s->points, err);
    else
        st = cbx_fail(err, CBX_ENOENT, "'--sizes' needs a function: '%s' has no 'void *%s_setup_size(size_t)'",
                      s->a->plugin, s->a->function);
    profile_plugin_close(&s->plugin, false);
    return st;
}

/* --- a command --- */

static cbx_status fill_words(sizing *s, size_t size, const char **argv, cbx_err *err)
{
    const opt_list *words = s->run->words;
    bool any = false;

    for (size_t k = 0; k < words->count; k++) {
        /* Every {} of a word becomes the size; NULL: out of memory. */
        const char *word = words->items[k];
        const char *at = strstr(word, "{}");

        while (word && at) {
            size_t before = (size_t)(at - word);
            word = cbx_arena_printf(s->run->arena, "%.*s%zu%s", (int)before, word, size, at + 2);
            at = word ? strstr(word + before, "{}") : NULL;
        }
        argv[k] = word;
        if (!argv[k]) return out_of_memory(err);
        any |= strcmp(argv[k], words->items[k]) != 0;
    }
    return any ? CBX_OK : cbx_fail(err, CBX_EINVAL, "'--sizes' needs a {} in the command, where its size goes");
}

static cbx_status measure_command(sizing *s, cbx_err *err)
{
    const char **argv = cbx_arena_calloc(s->run->arena, s->run->words->count + 1, sizeof *argv);
    cbx_status st = argv ? CBX_OK : out_of_memory(err);

    for (size_t i = 0; i < s->n && !st; i++) {
        st = fill_words(s, s->sizes[i], argv, err);
        if (!st) {
            cbx_profile_opts o = CBX_PROFILE_OPTS_INIT;
            cbx_profile p = { 0 };
            double *x = NULL;

            o.argv = argv;
            o.warmup = s->a->warmup;
            if (s->a->iterations) o.runs = s->a->iterations;
            o.show_output = s->a->show_output;
            o.ignore_failure = s->a->ignore_failure;
            o.stop = stop_catch();
            st = cbx_profile_command(s->run->ctx, &o, &p, err);
            if (!st) x = cbx_arena_calloc(s->run->arena, p.nruns, sizeof *x);
            if (!st && !x) st = out_of_memory(err);
            for (size_t k = 0; k < p.nruns && !st; k++) x[k] = p.runs[k].wall_s;
            s->points[i].size = s->sizes[i];
            if (!st) st = cbx_stat_median_interval(s->run->ctx, x, p.nruns, 0.95, &s->points[i].time, err);
            cbx_profile_clear(&p);
        }
    }
    return st;
}

/* --- three forms --- */

static void put_interval(cbx_json *o, const char *key, const cbx_interval *i)
{
    cbx_json *v = cbx_json_new_object();

    cbx_json_set_double(v, "value", i->value);
    if (i->level > 0) {
        json_put(v, J_NUMBER("lower", i->lower), J_NUMBER("upper", i->upper), J_NUMBER("level", i->level));
    }
    cbx_json_set(o, key, v);
}

static cbx_json *points_json(const sizing *s)
{
    cbx_json *list = cbx_json_new_array();

    for (size_t i = 0; i < s->n; i++) {
        cbx_json *p = cbx_json_new_object();
        cbx_json_set_int(p, "size", (int64_t)s->points[i].size);
        put_interval(p, "time_s", &s->points[i].time);
        cbx_json_push(list, p);
    }
    return list;
}

static cbx_json *sizes_json(const sizing *s, const char *id)
{
    const cbx_complexity_report *r = &s->report;
    cbx_json *o = new_document("calibrax-complexity"), *weights = cbx_json_new_object();

    if (!o) return NULL;
    cbx_json_set_string(o, "subject", s->subject);
    cbx_json_set(o, "points", points_json(s));
    json_put(o, J_BOOL("decided", r->decided), J_TEXT("order", r->order), J_TEXT("why", r->decided ? NULL : r->why));
    for (int k = 0; k < CBX_COMPLEXITY_COUNT; k++)
        cbx_json_set_double(weights, cbx_complexity_name((cbx_complexity)k), r->growth.weight[k]);
    cbx_json_set(o, "weights", weights);
    put_interval(o, "exponent", &r->growth.exponent);
    if (r->exponent.level > 0) put_interval(o, "exponent_resampled", &r->exponent);
    json_put(o, J_NUMBER("relative_error", r->growth.relative_error), J_TEXT("run", id[0] ? id : NULL));
    return o;
}

/* A point a size, so that the run can be fitted again. */
static cbx_status keep(const sizing *s, const char *name, char id[64], cbx_err *err)
{
    static const cbx_metric_def def = { "call_time",          "s", CBX_DIRECTION_LOWER, "time", CBX_PRIORITY_PRIMARY,
                                        "median at this size" };
    cbx_run_builder *b = NULL;
    cbx_status st = cbx_run_builder_create(s->run->ctx, NULL, &b, err);

    if (!st) st = cbx_run_builder_add_metric_def(b, &def, err);
    for (size_t i = 0; i < s->n && !st; i++) {
        const cbx_interval *t = &s->points[i].time;
        const cbx_named_metric metric = {
            "call_time", { t->value, t->level > 0 ? t->lower : NAN, t->level > 0 ? t->upper : NAN, NULL, 0 }
        };
        char size[32];
        const cbx_tag tags[] = { { "kind", "complexity" }, { "size", size } };
        snprintf(size, sizeof size, "%zu", s->points[i].size);
        st = cbx_run_builder_add_point(b, &(cbx_point){ name, "profile", tags, CBX_LEN(tags), &metric, 1 }, err);
    }
    if (!st) st = cbx_run_builder_set_metadata(b, "profile", cbx_json_new_string(s->subject), err);
    if (!st) st = profile_keep_run(s->run, b, s->a->data, id, err);
    cbx_run_builder_free(b);
    return st;
}

int profile_sizes(const opt_run *run, const profile_args *a, const char *subject)
{
    sizing s = { .run = run, .a = a, .subject = subject };
    cbx_err err = CBX_ERR_INIT;
    char id[64] = "";
    const char *const fault[] = { err.message };
    bool lost;
    cbx_status st = parse_sizes(&s, &err);

    if (!st && a->data && keep_prepare(run, a->data)) return EXIT_ERROR;
    if (!st) st = a->plugin ? measure_function(&s, &err) : measure_command(&s, &err);
    if (!st) st = cbx_complexity_of_measured(run->ctx, s.points, s.n, NULL, &s.report, &err);
    if (st == CBX_EINTERRUPTED) return EXIT_STOPPED;
    if (st) return opt_fail(run->program, "%s", err.message);
    lost = a->data && keep(&s, a->name ? a->name : a->plugin ? a->function : subject, id, &err);
    if (a->json) {
        cbx_json *o = sizes_json(&s, id);
        if (o) cbx_json_set(o, "faults", sentences_json(fault, lost));
        if (print_json(run->program, o)) return EXIT_ERROR;
    } else {
        const cbx_complexity_report *r = &s.report;
        char value[CBX_FORMAT_SIZE], lower[CBX_FORMAT_SIZE], upper[CBX_FORMAT_SIZE];

        print_painted(PAINT_STRONG, "%s\n", s.subject);
        print_painted(PAINT_FAINT, "%14s %14s  %s\n", "size", "median", "[95 % interval]");
        for (size_t i = 0; i < s.n; i++) {
            const cbx_interval *t = &s.points[i].time;
            cbx_format_seconds(t->value, value);
            printf("%14zu %*s", s.points[i].size, 14 + (strstr(value, "\xC2\xB5") != NULL),
                   value); /* µ: two bytes, one column */
            if (t->level > 0)
                printf("  [%s, %s]", cbx_format_seconds(t->lower, lower), cbx_format_seconds(t->upper, upper));
            printf("\n");
        }
        printf("\n%s", r->decided ? "" : "undecided, best guess ");
        print_painted(PAINT_STRONG, "%s", r->order);
        if (r->decided && !r->is_power) printf(", weight %.2f", r->growth.weight[r->growth.order]);
        printf(", exponent %.6g [%.6g, %.6g]\n", r->growth.exponent.value, r->growth.exponent.lower,
               r->growth.exponent.upper);
        if (r->exponent.level > 0)
            printf("exponent by resampling [%.6g, %.6g]\n", r->exponent.lower, r->exponent.upper);
        if (!r->decided) printf("%s\n", r->why);
        if (id[0]) fprintf(stderr, "kept as run %s in %s\n", id, a->data);
    }
    if (lost) return opt_fail(run->program, "%s", err.message);
    return s.report.decided ? EXIT_PASS : EXIT_UNDECIDED;
}
