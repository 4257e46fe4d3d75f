/*
 * calibrax profile --sizes: a function or a command at several sizes, and the order in which its
 * time grows.
 *
 * A function needs `void *NAME_setup_size(size_t size)`; a command has its size where its arguments
 * have {}.
 */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/calibrax/profile.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"

typedef struct sizing {
    const opt_run *run;
    const profile_args *a;
    const char *subject;
    size_t *sizes, n;
    cbx_complexity_point *points;
    cbx_complexity_report report;
} sizing;

/* --- a function --- */

static cbx_status set_up(size_t size, void *user, void **state, cbx_err *err)
{
    const profile_plugin *p = user;

    *state = p->setup_size(size);
    return *state ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "the set-up returned NULL");
}

static void tear_nothing(void *state) { (void)state; }

static cbx_status measure_function(sizing *s)
{
    const cbx_timing_opts o = profile_timing_opts(s->a);
    profile_plugin p;
    cbx_sized_call call = { set_up, NULL, NULL, &p };
    cbx_status st = profile_plugin_load(s->a, &p, s->run->err);

    if (st) return st;
    call.run = p.run;
    call.teardown = p.teardown ? p.teardown : tear_nothing;
    if (p.setup_size)
        st = cbx_complexity_measure(s->run->ctx, &call, s->sizes, s->n, &o, s->points, s->run->err);
    else
        st = cbx_fail(s->run->err, CBX_ENOENT, "'--sizes' needs a function: '%s' has no 'void *%s_setup_size(size_t)'",
                      s->a->plugin, s->a->function);
    dlclose(p.handle);
    return st;
}

/* --- a command --- */

static cbx_status measure_command(sizing *s)
{
    const opt_run *run = s->run;
    const opt_list *words = run->words;
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < s->n && !st; i++) {
        cbx_profile_opts o = profile_command_opts(run);
        CLEARED(cbx_profile) p = { 0 };
        const char **argv = cbx_arena_calloc(run->arena, words->count + 1, sizeof *argv);
        bool any = false; /* every {} of the words becomes the size */
        for (size_t k = 0; k < words->count; k++) {
            argv[k] = words->items[k];
            for (const char *at; (at = strstr(argv[k], "{}")); any = true)
                argv[k] = cbx_arena_printf(run->arena, "%.*s%zu%s", (int)(at - argv[k]), argv[k], s->sizes[i], at + 2);
        }
        o.argv = argv;
        if (!any)
            return cbx_fail(run->err, CBX_EINVAL, "'--sizes' needs {} in the command, which is replaced by the size");
        st = cbx_profile_command(run->ctx, &o, &p, run->err);
        double *x = cbx_arena_calloc(run->arena, p.nruns, sizeof *x);
        for (size_t k = 0; k < p.nruns && !st; k++) x[k] = p.runs[k].wall_s;
        s->points[i].size = s->sizes[i];
        if (!st) st = cbx_stat_median_interval(run->ctx, x, p.nruns, 0.95, &s->points[i].time, run->err);
    }
    return st;
}

/* --- three forms --- */

static cbx_json *interval(const cbx_interval *i)
{
    const bool known = i->level > 0;

    return cbx_json_object(J_NUMBER("value", i->value), known ? J_NUMBER("lower", i->lower) : J_NONE,
                           known ? J_NUMBER("upper", i->upper) : J_NONE, known ? J_NUMBER("level", i->level) : J_NONE);
}

static cbx_json *sizes_json(const sizing *s, const char *id)
{
    const cbx_complexity_report *r = &s->report;
    cbx_json *o = cbx_json_document("calibrax-complexity", J_TEXT("subject", s->subject));
    cbx_json *list = cbx_json_set_array(o, "points");
    for (size_t i = 0; i < s->n; i++)
        cbx_json_push(
            list, cbx_json_object(J_INT("size", s->points[i].size), J_JSON("time_s", interval(&s->points[i].time))));
    cbx_json_put(o, J_BOOL("decided", r->decided), J_TEXT("order", r->order),
                 J_TEXT("why", r->decided ? NULL : r->why));
    list = cbx_json_set_object(o, "weights");
    for (int k = 0; k < CBX_COMPLEXITY_COUNT; k++)
        cbx_json_set_double(list, cbx_complexity_name((cbx_complexity)k), r->growth.weight[k]);
    cbx_json_put(o, J_JSON("exponent", interval(&r->growth.exponent)),
                 r->exponent.level > 0 ? J_JSON("exponent_resampled", interval(&r->exponent)) : J_NONE,
                 J_NUMBER("relative_error", r->growth.relative_error), J_TEXT("run", id[0] ? id : NULL));
    return o;
}

/* A point a size, so that the run can be fitted again. */
static cbx_status keep(const sizing *s, const char *name, char id[64])
{
    static const cbx_metric_def def = { "call_time",          "s", CBX_DIRECTION_LOWER, "time", CBX_PRIORITY_PRIMARY,
                                        "median at this size" };
    SCOPED(cbx_run_builder) *b = NULL;
    cbx_status st = cbx_run_builder_create(s->run->ctx, NULL, &b, s->run->err);

    if (!st) st = cbx_run_builder_add_metric_def(b, &def, s->run->err);
    for (size_t i = 0; i < s->n && !st; i++) {
        const cbx_interval *t = &s->points[i].time;
        const cbx_named_metric metric = {
            "call_time", { t->value, t->level > 0 ? t->lower : NAN, t->level > 0 ? t->upper : NAN, NULL, 0 }
        };
        char size[32];
        const cbx_tag tags[] = { { "kind", "complexity" }, { "size", size } };
        snprintf(size, sizeof size, "%zu", s->points[i].size);
        st = cbx_run_builder_add_point(b, &(cbx_point){ name, "profile", tags, CBX_LEN(tags), &metric, 1 },
                                       s->run->err);
    }
    if (!st) st = cbx_run_builder_set_metadata(b, "profile", cbx_json_new_string(s->subject), s->run->err);
    return st ? st : profile_keep_run(s->run, b, s->a->data, id);
}

int profile_sizes(const opt_run *run, const char *subject)
{
    const profile_args *a = run->args;
    sizing s = { .run = run, .a = a, .subject = subject };
    char id[64] = "";
    const char *const fault[] = { run->err->message };

    s.n = a->sizes.count;
    s.points = cbx_arena_calloc(run->arena, s.n, sizeof *s.points);
    s.sizes = cbx_arena_calloc(run->arena, s.n, sizeof *s.sizes);
    for (size_t i = 0; i < s.n; i++) {
        char *end;
        const char *text = a->sizes.items[i];
        errno = 0;
        s.sizes[i] = strtoull(text, &end, 10);
        if (end == text || *end || *text == '-' || s.sizes[i] == 0 || errno)
            return opt_fail(run, "'--sizes' must list integers of at least 1, got '%s'", text);
    }
    if (a->data && keep_prepare(run, a->data)) return EXIT_ERROR;
    cbx_status st = a->plugin ? measure_function(&s) : measure_command(&s);
    if (!st) st = cbx_complexity_of_measured(run->ctx, s.points, s.n, NULL, &s.report, run->err);
    if (st) return opt_check(run, st);
    bool lost = a->data && keep(&s, a->name ? a->name : a->plugin ? a->function : subject, id);
    if (a->json) {
        cbx_json *o = sizes_json(&s, id);
        cbx_json_put(o, J_TEXTS("faults", fault, lost));
        if (print_json(run, o)) return EXIT_ERROR;
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
    if (opt_check(run, lost)) return EXIT_ERROR;
    return s.report.decided ? EXIT_PASS : EXIT_UNDECIDED;
}
