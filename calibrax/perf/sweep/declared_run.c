/*
 * A case file of commands: each point in a folder of its own, its set-up there, then the rounds of
 * exec.h, each run's outputs checked.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/base/temporary.h"
#include "calibrax/perf/case/declared_internal.h"
#include "calibrax/perf/schedule/claim.h"
#include "calibrax/perf/sweep/declared_run.h"
#include "calibrax/perf/sweep/plan.h"

#define MAX_OUTPUT_BYTES (1u << 30)
#define QUICK_LAUNCHES   6

/* One point being run. */
typedef struct point_run {
    cbx_ctx *ctx;
    const cbx_declared *d;
    const cbx_measure_opts *opts;
    double budget_s; /* of the point; 0: that of exec.h */
    cbx_params *params;
    cbx_claim *claim; /* of the cores, from the set-up to the last check */
    cbx_arena arena;
    char folder[CBX__TEMPORARY_SIZE];
} point_run;

/* --- texts with {parameters} --- */

static const char *value_of(const point_run *p, const char *name, size_t len, char buf[32])
{
    const cbx_declared *d = p->d;

    if (len == 4 && !strncmp(name, "case", 4)) return d->folder;
    const cbx_param_def *def = cbx__declared_param(d, name, len);
    if (!def) return NULL;
    if (def->kind == CBX_PARAM_WORD) return cbx_params_word(p->params, def->name);
    snprintf(buf, 32, "%lld", (long long)cbx_params_int(p->params, def->name));
    return buf;
}

static void put_quoted(cbx_text *t, const char *word)
{
    cbx_text_putc(t, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            cbx_text_puts(t, "'\\''");
        else
            cbx_text_putc(t, *word);
    }
    cbx_text_putc(t, '\'');
}

static void put_expanded(const point_run *p, const char *text, cbx_text *t)
{
    while (*text) {
        const char *end = *text == '{' ? strchr(text, '}') : NULL;
        char buf[32];
        const char *value = end ? value_of(p, text + 1, (size_t)(end - text) - 1, buf) : NULL;
        if (value)
            cbx_text_puts(t, value);
        else
            cbx_text_putc(t, *text);
        text = value ? end + 1 : text + 1;
    }
}

/* A command with its values put in, run in the point's folder; NULL: out of memory. */
static const char *in_folder(point_run *p, const char *command)
{
    const char *out = NULL;
    cbx_text t;

    cbx_text_init(&t, &p->arena.al);
    cbx_text_puts(&t, "cd ");
    put_quoted(&t, p->folder);
    cbx_text_puts(&t, " || exit 126\n");
    put_expanded(p, command, &t);
    if (!t.status) out = cbx_arena_strdup(&p->arena, cbx_text_str(&t));
    cbx_text_clear(&t);
    return out;
}

static const char *file_of(point_run *p, const char *name)
{
    const char *path = NULL;
    cbx_text t;

    cbx_text_init(&t, &p->arena.al);
    put_expanded(p, name, &t);
    if (!t.status)
        path = *cbx_text_str(&t) == '/' ? cbx_arena_strdup(&p->arena, cbx_text_str(&t))
                                        : cbx_path_join(&p->arena, p->folder, cbx_text_str(&t));
    cbx_text_clear(&t);
    return path;
}

static cbx_status no_memory(cbx_err *err) { return cbx_fail(err, CBX_ENOMEM, "out of memory for a case of commands"); }

/* --- commands of the file's own --- */

static cbx_status run_plain(cbx_ctx *ctx, const char *what, const char *command, const char *shown, double timeout_s,
                            const cbx_stop_flag *stop, const cbx_claim *claim, cbx_err *err)
{
    cbx_command_opts opts = { .struct_size = sizeof opts, .timeout_s = timeout_s, .stop = stop, .claim = claim };
    cbx_command_record r;
    cbx_status st = cbx_command_run(ctx, command, &opts, &r, err);

    if (st || !r.failure) return st;
    if (r.failure == CBX_FAILURE_INTERRUPTED) return cbx_fail(err, CBX_EINTERRUPTED, "interrupted");
    return cbx_fail(err, CBX_ECHILD, "%s '%.200s': %s", what, shown, r.message);
}

cbx_status cbx_declared_setup(cbx_ctx *ctx, const cbx_declared *d, const cbx_stop_flag *stop, cbx_err *err)
{
    cbx_status st;
    cbx_text t;

    if (!d->setup || d->kind != CBX_DECLARED_PYTHON) return CBX_OK;
    cbx_text_init(&t, &d->al);
    cbx_text_puts(&t, "cd ");
    put_quoted(&t, d->folder);
    cbx_text_printf(&t, " || exit 126\n%s", d->setup);
    st = cbx_text_check(&t, err);
    if (!st) st = run_plain(ctx, "the set-up", cbx_text_str(&t), d->setup, 0, stop, NULL, err);
    cbx_text_clear(&t);
    return st;
}

/* --- checks --- */

/* A wrong output, told from faults of the machine by its status. */
#define wrong(err, ...) cbx_fail(err, CBX_EDOM, __VA_ARGS__)

/* The next number of a text, and where it ends; false: no more.  NaN for a word that is not a
 * number. */
static bool next_number(const char **text, double *out)
{
    char *end;

    *text += strspn(*text, " \t\r\n,;");
    if (!**text) return false;
    *out = strtod(*text, &end);
    if (end == *text || !strchr(" \t\r\n,;", *end)) *out = NAN;
    *text += strcspn(*text, " \t\r\n,;");
    return true;
}

static cbx_status compare_numbers(const cbx__declared_check *c, const char *found, const char *right, cbx_err *err)
{
    double a = 0, b = 0;

    for (size_t i = 1;; i++) {
        const bool more = next_number(&found, &a), wanted = next_number(&right, &b);
        if (more != wanted)
            return wrong(err, "'%s' has %s numbers than '%s'", c->file, more ? "more" : "fewer", c->numbers);
        if (!more) return CBX_OK;
        if (a == b || (fabs(a - b) <= c->atol + c->rtol * fabs(b))) continue;
        return wrong(err, "number %zu of '%s' is %.17g, and %.17g in '%s'", i, c->file, a, b, c->numbers);
    }
}

static cbx_status compare_files(point_run *p, const cbx__declared_check *c, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(p->ctx);
    const char *other = c->same_as ? c->same_as : c->numbers, *path = file_of(p, c->file), *right = file_of(p, other);
    char *a = NULL, *b = NULL;
    size_t na = 0, nb = 0, i = 0;
    cbx_status st;

    if (!path || !right) return no_memory(err);
    if (!cbx_path_exists(path)) return wrong(err, "the command wrote no '%s'", c->file);
    st = cbx_file_read(p->ctx, path, MAX_OUTPUT_BYTES, &a, &na, err);
    if (!st) st = cbx_file_read(p->ctx, right, MAX_OUTPUT_BYTES, &b, &nb, err);
    if (!st && c->numbers) st = compare_numbers(c, a, b, err);
    if (!st && c->same_as && (na != nb || memcmp(a, b, na) != 0)) {
        while (i < na && i < nb && a[i] == b[i]) i++;
        st = wrong(err, "'%s' differs from '%s' at byte %zu", c->file, c->same_as, i + 1);
    }
    if (a) cbx_mem_free(al, a, na + 1);
    if (b) cbx_mem_free(al, b, nb + 1);
    return st;
}

/* After each run, not timed. */
static cbx_status check_run(void *user, cbx_err *err)
{
    point_run *p = user;
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < p->d->nchecks && !st; i++) {
        const cbx__declared_check *c = &p->d->checks[i];
        const char *command = c->command ? in_folder(p, c->command) : NULL;
        if (c->command && !command) return no_memory(err);
        st = command ? run_plain(p->ctx, "check", command, c->command, p->opts->worker_timeout_s, p->opts->stop,
                                 p->claim, err)
                     : compare_files(p, c, err);
    }
    return st;
}

/* --- a point --- */

/* Those that are run, in the file's order, then those that are left out. */
static cbx_status choose(point_run *p, cbx_exec_command *out, size_t *n, cbx_err *err)
{
    const cbx_declared *d = p->d;
    size_t run = 0;

    *n = 0;
    for (int left_out = 0; left_out < 2; left_out++) {
        for (size_t i = 0; i < d->ops.nbaselines; i++) {
            cbx_exec_command c = { .name = d->baselines[i].name };
            char why[CBX_ERR_MESSAGE_SIZE] = "";
            c.left_out = cbx__plan_selection(p->opts, &d->baselines[i], why, &c.remedy);
            if ((c.left_out != CBX_FAILURE_NONE) != left_out) continue;
            c.why = cbx_arena_strdup(&p->arena, why);
            c.command = in_folder(p, d->commands[i]);
            if (!c.command || !c.why) return no_memory(err);
            out[(*n)++] = c;
            run += !left_out;
        }
    }
    return run ? CBX_OK : cbx_fail(err, CBX_EINVAL, "case '%s': no baseline is left to measure", d->ops.name);
}

static cbx_status run_rounds(point_run *p, bool representative, cbx_measure_result *result, cbx_err *err)
{
    const cbx_declared *d = p->d;
    const cbx_measure_opts *m = p->opts;
    cbx_exec_opts o = CBX_EXEC_OPTS_INIT;
    cbx_exec_command commands[64];
    char label[128];
    cbx_status st = choose(p, commands, &o.ncommands, err);

    if (!st && d->prepare && !(o.hooks[CBX_EXEC_PREPARE] = in_folder(p, d->prepare))) st = no_memory(err);
    if (st) return st;
    d->ops.label(p->params, label, sizeof label);
    o.commands = commands;
    o.launches = m->launches ? m->launches : m->quick ? QUICK_LAUNCHES : 0;
    o.warmup = m->warmup;
    o.budget_s = p->budget_s;
    o.half_width = m->precision;
    o.timeout_s = m->worker_timeout_s;
    o.seed = m->seed;
    o.out_path = m->out_path;
    o.stop = m->stop;
    o.progress = m->progress;
    o.user = m->user;
    o.case_name = d->ops.name;
    o.point = cbx_params_json(p->params);
    o.label = label;
    o.representative = representative;
    o.claim = p->claim;
    o.check = check_run;
    o.check_user = p;
    return cbx_exec_run(p->ctx, &o, result, err);
}

static void tell_note(void *user, const char *text)
{
    const cbx_measure_opts *o = user;
    cbx_measure_progress p = { .event = CBX_MEASURE_NOTE, .text = text, .eta_s = NAN };
    if (o->progress) o->progress(o->user, &p);
}

static cbx_status claim_cores(point_run *p, cbx_err *err)
{
    cbx_measure_opts m = *p->opts;
    const cbx_claim_opts o = { sizeof o, m.lock_wait_s != 0 ? m.lock_wait_s : m.worker_timeout_s, m.stop, tell_note,
                               &m };
    return cbx_claim_take(p->ctx, &o, &p->claim, err);
}

static cbx_status run_point(cbx_ctx *ctx, const cbx_declared *d, const cbx_measure_opts *opts, double budget_s,
                            const char *json, cbx_measure_result *result, cbx_err *err)
{
    point_run p = { .ctx = ctx, .d = d, .opts = opts, .budget_s = budget_s };
    const size_t before = result->rows.count;
    const char *setup;
    bool good = false;
    cbx_status st;

    cbx_arena_init(&p.arena, cbx_ctx_allocator(ctx));
    st = cbx_case_point(ctx, &d->ops, json, "--point", &p.params, err);
    if (!st) st = cbx__temporary_make("point", p.folder, err);
    if (!st) st = claim_cores(&p, err);
    if (!st && d->setup) {
        setup = in_folder(&p, d->setup);
        st = setup ? run_plain(ctx, "the set-up", setup, d->setup, opts->worker_timeout_s, opts->stop, p.claim, err)
                   : no_memory(err);
    }
    if (st == CBX_EINTERRUPTED) result->interrupted = true;
    if (!st) st = run_rounds(&p, !strcmp(json, d->ops.points[d->ops.representative]), result, err);
    for (size_t i = before; i < result->rows.count; i++) good = good || cbx_row_is_good(&result->rows.rows[i]);
    result->points_good = good;
    cbx_claim_release(p.claim);
    cbx__temporary_remove(p.folder);
    cbx_params_free(p.params);
    cbx_arena_clear(&p.arena);
    return st == CBX_EINTERRUPTED ? CBX_OK : st;
}

#define MIN_SHARE_S 1e-6 /* nothing is left: as many runs as there are in any case */

cbx_status cbx_declared_run(cbx_ctx *ctx, const cbx_declared *d, const cbx_measure_opts *opts,
                            cbx_measure_result *result, cbx_err *err)
{
    const uint64_t began = cbx_clock_ns();
    const char *const *points = opts->npoints ? opts->points : d->ops.points;
    size_t n = opts->npoints ? opts->npoints : d->ops.npoints, good = 0, done = 0;
    cbx_status st;

    if (opts->struct_size != sizeof *opts) return cbx_fail(err, CBX_EINVAL, "cbx_measure_opts of another version");
    if (d->kind != CBX_DECLARED_COMMANDS) return cbx_fail(err, CBX_EINVAL, "case '%s' is of kind python", d->ops.name);
    st = cbx__plan_check_names(opts, &d->ops, err);
    if (opts->quick && !opts->npoints) {
        points += d->ops.representative;
        n = 1;
    }
    for (; done < n && !st && !(opts->stop && *opts->stop); done++) {
        /* an equal part of what is left, for each point that is */
        const double left = opts->budget_s - 1e-9 * (double)(cbx_clock_ns() - began);
        const double share = opts->budget_s > 0 ? fmax(left / (double)(n - done), MIN_SHARE_S) : 0;
        st = run_point(ctx, d, opts, share, points[done], result, err);
        good += result->points_good;
    }
    result->points = n;
    result->points_good = good;
    result->interrupted = result->interrupted || (opts->stop && *opts->stop);
    return st;
}
