/*
 * A case file of commands: each point in a folder of its own, its set-up there, then the rounds of
 * exec.h, each run's outputs checked.
 */
#include "calibrax/perf/sweep/declared_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file_text.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/process.h"
#include "calibrax/base/temporary.h"
#include "calibrax/base/text_keep.h"
#include "calibrax/perf/case/declared_internal.h"
#include "calibrax/perf/schedule/claim.h"
#include "calibrax/perf/sweep/plan.h"

/* --- conditions on what a run of a command left behind --- */

#define MAX_OUTPUT_BYTES (1u << 30)

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

static cbx_status compare_numbers(const cbx_command_check *c, const char *found, const char *right, cbx_err *err)
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

static cbx_status compare_files(cbx_ctx *ctx, const cbx_command_check *c, const char *folder, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const char *other = c->same_as ? c->same_as : c->numbers, *path, *right;
    size_t i = 0;
    cbx_status st;

    CBX_SCOPED(cbx_arena, arena, al);
    CBX_SCOPED(cbx_text, a, al);
    CBX_SCOPED(cbx_text, b, al);
    path = *c->file == '/' || !folder ? c->file : cbx_path_join(&arena, folder, c->file);
    right = *other == '/' || !folder ? other : cbx_path_join(&arena, folder, other);
    if (!path || !right)
        st = cbx_fail_nomem(err, "a check");
    else if (!cbx_path_exists(path))
        st = wrong(err, "the command wrote no '%s'", c->file);
    else
        st = cbx__file_text(ctx, path, MAX_OUTPUT_BYTES, &a, err);
    if (!st) st = cbx__file_text(ctx, right, MAX_OUTPUT_BYTES, &b, err);
    if (!st && c->numbers) st = compare_numbers(c, a.data, b.data, err);
    if (!st && c->same_as && (a.len != b.len || memcmp(a.data, b.data, a.len) != 0)) {
        while (i < a.len && i < b.len && a.data[i] == b.data[i]) i++;
        st = wrong(err, "'%s' differs from '%s' at byte %zu", c->file, c->same_as, i + 1);
    }
    return st;
}

/* A command of the file, not timed.  @param what, shown what it is and how it is written, for
 * messages */
static cbx_status run_own(cbx_ctx *ctx, const char *command, const char *what, const char *shown,
                          const cbx_command_opts *how, cbx_err *err)
{
    cbx_command_record r;
    cbx_status st = cbx_command_run(ctx, command, how, &r, err);

    if (st || !r.failure) return st;
    if (r.failure == CBX_FAILURE_INTERRUPTED) return cbx_fail(err, CBX_EINTERRUPTED, "interrupted");
    return cbx_fail(err, CBX_ECHILD, "%s '%.200s': %s", what, shown, r.message);
}

cbx_status cbx__command_checks(cbx_ctx *ctx, const cbx_command_check *checks, size_t n, const cbx_command_opts *how,
                               cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (const cbx_command_check *c = checks; c < checks + n && !st; c++)
        st = c->command ? run_own(ctx, c->command, "check", c->command, how, err)
                        : compare_files(ctx, c, how->folder, err);
    return st;
}

#define QUICK_LAUNCHES 6

/* One point being run. */
typedef struct point_run {
    cbx_ctx *ctx;
    const cbx_declared *d;
    const cbx_measure_opts *opts;
    double budget_s; /* of the point; 0: that of exec.h */
    cbx_params *params;
    cbx_claim *claim; /* of the cores, from the set-up to the last check */
    cbx_arena arena;
    char folder[CBX__TEMPORARY_SIZE]; /* "": none was made */
    const char *where;                /* that its commands run in */
    const cbx_command_check *checks;
} point_run;

/* --- texts with {parameters} --- */

/* A line for the shell, run in the point's folder with the baseline's variables; NULL: out
 * of memory. */
static const char *in_folder(point_run *p, const char *line, const cbx_benchmark_command *b)
{
    cbx_text t;

    cbx_text_init(&t, &p->arena.al);
    cbx_text_puts(&t, "cd ");
    cbx__put_quoted(&t, p->where);
    cbx_text_puts(&t, " || exit 126\n");
    for (size_t i = 0; i < b->nenvironment; i++) {
        cbx_text_printf(&t, "export %s=", b->environment[i].key);
        cbx__put_quoted(&t, b->environment[i].value);
        cbx_text_putc(&t, '\n');
    }
    cbx_text_puts(&t, line);
    return cbx__text_keep(&t, &p->arena);
}

/* How commands of the point are run that are not timed. */
static cbx_command_opts outside(const point_run *p)
{
    return (cbx_command_opts){ .struct_size = sizeof(cbx_command_opts),
                               .timeout_s = p->opts->worker_timeout_s,
                               .stop = p->opts->stop,
                               .claim = p->claim,
                               .folder = p->where };
}

static cbx_status no_memory(cbx_err *err) { return cbx_fail_nomem(err, "a case of commands"); }

/* --- commands of the file's own --- */

cbx_status cbx_declared_setup(cbx_ctx *ctx, const cbx_declared *d, const cbx_stop_flag *stop, cbx_err *err)
{
    const cbx_command_opts how = { .struct_size = sizeof how, .stop = stop, .folder = d->folder };

    return d->setup && d->kind == CBX_DECLARED_PYTHON ? run_own(ctx, d->setup, "the set-up", d->setup, &how, err)
                                                      : CBX_OK;
}

/* After each run, not timed. */
static cbx_status check_run(void *user, cbx_err *err)
{
    point_run *p = user;
    const cbx_command_opts how = outside(p);

    return cbx__command_checks(p->ctx, p->checks, p->d->nchecks, &how, err);
}

/* --- a point --- */

/* Those that are run, in the file's order, then those that are left out: what is run of each, and
 * around it. */
static cbx_status choose(point_run *p, cbx_exec_command *out, size_t *n, cbx_err *err)
{
    const cbx_declared *d = p->d;
    cbx_arena *arena = &p->arena;
    size_t run = 0;

    *n = 0;
    for (int left_out = 0; left_out < 2; left_out++) {
        for (size_t i = 0; i < d->ops.nbaselines; i++) {
            const cbx_benchmark_command *b = &d->commands[i];
            const char *line, *before = NULL, *after = NULL;
            cbx_exec_command c = { .name = d->baselines[i].name };
            char why[CBX_ERR_MESSAGE_SIZE] = "";
            c.left_out = cbx__plan_selection(p->opts, &d->baselines[i], why, &c.remedy);
            if ((c.left_out != CBX_FAILURE_NONE) != left_out) continue;
            c.why = cbx_arena_strdup(arena, why);
            line = cbx__declared_line(d, p->params, b->argv, arena);
            if (b->teardown) after = cbx__declared_line(d, p->params, b->teardown, arena);
            bool ok = c.why && line && (after || !b->teardown) &&
                      cbx__declared_before(d, p->params, false, b->setup, arena, &before);
            ok = ok && (c.command = in_folder(p, line, b));
            ok = ok && (!before || (c.hooks[CBX_EXEC_PREPARE] = in_folder(p, before, b)));
            ok = ok && (!after || (c.hooks[CBX_EXEC_CONCLUDE] = in_folder(p, after, b)));
            if (!ok) return no_memory(err);
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

    if (st) return st;
    d->ops.label(p->params, label, sizeof label);
    o.commands = commands;
    o.measure = *m;
    if (!m->launches && m->quick) o.measure.launches = QUICK_LAUNCHES;
    o.measure.budget_s = p->budget_s;
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

static cbx_status run_point(cbx_ctx *ctx, const cbx_declared *d, const cbx_measure_opts *opts, double budget_s,
                            const char *json, cbx_measure_result *result, cbx_err *err)
{
    point_run p = { .ctx = ctx, .d = d, .opts = opts, .budget_s = budget_s };
    const size_t before = result->rows.count;
    bool good = false;

    cbx_arena_init(&p.arena, cbx_ctx_allocator(ctx));
    cbx_status st = cbx_case_point(ctx, &d->ops, json, "--point", &p.params, err);
    if (!st && !d->where) st = cbx__temporary_make("point", p.folder, err);
    p.where = d->where ? d->where : p.folder;
    cbx_measure_opts m = *opts; /* not const for the callback */
    const double wait_s = m.lock_wait_s != 0 ? m.lock_wait_s : m.worker_timeout_s;
    const cbx_claim_opts claim = { sizeof claim, wait_s, m.stop, tell_note, &m };
    if (!st) st = cbx_claim_take(ctx, &claim, &p.claim, err);
    if (!st && !(p.checks = cbx__declared_checks(d, p.params, &p.arena))) st = no_memory(err);
    if (!st && d->setup) {
        const cbx_command_opts how = outside(&p);
        const char *setup = cbx__declared_text(d, p.params, d->setup, &p.arena);
        st = setup ? run_own(ctx, setup, "the set-up", d->setup, &how, err) : no_memory(err);
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

    if (opts->struct_size != sizeof *opts) return cbx_fail(err, CBX_EINVAL, "cbx_measure_opts of another version");
    if (d->kind != CBX_DECLARED_COMMANDS) return cbx_fail(err, CBX_EINVAL, "case '%s' is of kind python", d->ops.name);
    cbx_status st = cbx__plan_check_names(opts, &d->ops, err);
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
