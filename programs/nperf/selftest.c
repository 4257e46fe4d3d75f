/*
 * nperf selftest: are the results of the tool itself true?
 *
 * Parts: --aa (equals must not be called different), --power (planted slow-downs must be found),
 * --mutants (planted faults must be found), --exploits (workers that cheat must be refused),
 * --clock (what a call of nothing and a chain of known length read), --live (equals again, each
 * pair measured again), and --honest (honest rows that are refused).  Each part's counts with their
 * bounds go to standard output and into a record, results/selftest.json, which the page shows;
 * parts that are not run keep their place in the record.
 */
#include "programs/nperf/selftest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/base/version.h"
#include "calibrax/statistics/spread.h"
#include "programs/common/stop.h"

/* --- the launches that --aa and --power draw from ---
 *
 * DIR/PART.jsonl has the rows, DIR/PART.raw.jsonl a
 * line for each launch.  What was recorded once can be analysed again, with other numbers of
 * comparisons, other seeds, and later engines.
 */
static const char *path_of(const selftest *t, const char *folder, const char *part, const char *suffix)
{
    return cbx_path_join(t->run->arena, folder, cbx_arena_printf(t->run->arena, "%s%s", part, suffix));
}

int selftest_recording(const selftest *t, const char *part, cbx_measure_opts *o, cbx_measure_result *result)
{
    const char *folder = t->args->record;

    if (t->args->from) {
        const char *path = path_of(t, t->args->from, part, ".jsonl");
        cbx_measure_result_init(result, cbx_ctx_allocator(t->run->ctx));
        if (!cbx_path_exists(path))
            return opt_fail(t->run, "--from: '%s' has no recording of --%s; make one with --%s --record %s",
                            t->args->from, part, part, t->args->from);
        if (cbx_rows_read(t->run->ctx, path, &result->rows, t->run->err))
            return opt_fail(t->run, "--from: %s", t->run->err->message);
        if (result->rows.damaged) fprintf(stderr, "note: %s\n", result->rows.first_damage);
        if (!result->rows.count) return opt_fail(t->run, "--from: '%s' holds no rows", path);
        return EXIT_PASS;
    }
    if (folder) o->out_path = path_of(t, folder, part, ".jsonl");
    int status = selftest_measure(t, o, result);
    if (folder && result->rows.count && write_text(t->run, path_of(t, folder, part, ".raw.jsonl"), &result->raw) &&
        !status)
        status = EXIT_ERROR;
    return status;
}

void selftest_put_recording(cbx_json *o, const cbx_measure_result *result)
{
    size_t launches = 0;

    for (size_t i = 0; i < result->rows.count; i++) launches += result->rows.rows[i].nlaunches;
    cbx_json_set_int(o, "recorded_launches", (int64_t)launches);
    if (!result->rows.count) return;
    cbx_json_put(o, J_TEXT("recorded_run", result->rows.rows[0].run_id),
                 J_TEXT("machine", result->rows.rows[0].machine));
}

#define RECORD  "results/selftest.json"
#define SCHEMA  "nperf-selftest"
#define VERSION 1

#define AT(member) offsetof(selftest_args, member)

static const opt_spec selftest_options[] = {
    OPT("aa", 0, MAYBE, aa, "N", SELFTEST_COMPARISONS,
        "count false alarms in N comparisons of equal programs, drawn from recorded launches"),
    OPT_SWITCH("power", 0, power, "count how many planted slow-downs of 1, 2 and 5 % a gate finds"),
    OPT_SWITCH("mutants", 0, mutants, "measure every mutant; each must be found"),
    OPT_SWITCH("exploits", 0, exploits,
               "measure cheating workers, none of which may pass, and honest ones, none of which may fail"),
    OPT("cheats", 0, LIST, cheats, "A,B", "all", "with --exploits: measure these only, and their honest counterparts"),
    OPT_SWITCH("clock", 0, clock, "measure calls of known cost"),
    OPT("live", 0, MAYBE, live, "N", "24", "measure N pairs of equal programs again and count false alarms"),
    OPT("honest", 0, MAYBE, honest, "MINUTES", "1",
        "count honest rows that are refused, for this time each on an idle machine, with one busy process and with "
        "two"),
    OPT_SWITCH("quick", 0, quick, "use fewer and shorter launches: a few minutes for everything"),
    OPT("launches", 0, POSITIVE, launches, "N", "200, quick 50",
        "with --aa and --power: number of recorded launches of each program"),
    OPT("record", 0, STRING, record, "DIR", NULL,
        "with --aa and --power: keep the recorded launches, as rows and raw lines, for another analysis"),
    OPT("from", 0, STRING, from, "DIR", NULL, "with --aa and --power: use launches kept by --record without measuring"),
    OPT("out", 'o', STRING, out, "FILE", RECORD, "file of the record that the page shows"),
    OPT("seed", 's', COUNT, seed, "N", "0", "seed of order, layout and draws"),
    OPT("case", 'c', STRING, case_name, "NAME", "all cases, or those of --plugin and --define",
        "use mutants of this case only", "@cases"),
    OPT("define", 0, EACH, defined, "FILE", NULL, "add the case of a case file; may be repeated"),
    OPT("plugin", 0, EACH, plugins, "FILE", NULL, "add the cases of a shared object; may be repeated"),
    OPT_SWITCH("json", 0, json, "print one JSON document"),
};

static const opt_rule selftest_rules[] = {
    { "record", OPT_EXCLUDES, "from" },
    { "cheats", OPT_NEEDS, "exploits" },
};

/* --- shared --- */

int selftest_measure(const selftest *t, cbx_measure_opts *o, cbx_measure_result *result)
{
    o->seed = t->args->seed;
    o->stop = stop_catch();
    o->progress = progress_show;
    o->user = t->progress;
    cbx_sandbox_guard_self();
    cbx_measure_result_init(result, cbx_ctx_allocator(t->run->ctx));
    if (cbx_measure_run(t->run->ctx, o, result, t->run->err)) return opt_fail(t->run, "%s", t->run->err->message);
    return result->interrupted ? EXIT_STOPPED : EXIT_PASS;
}

static bool failed_by(const cbx_row *row, cbx_failure f)
{
    return row->failure_reason && !strcmp(row->failure_reason, cbx_failure_reason(f));
}

bool selftest_too_busy(const cbx_row *row) { return failed_by(row, CBX_FAILURE_CONTENDED); }

int selftest_unmeasured(const selftest *t, const char *part, const cbx_row *row)
{
    progress_end(t->progress);
    if (!row) return opt_fail(t->run, "%s: nothing was measured", part);
    /* the programs measured here are honest: where their clocks disagree, something else ran */
    if (!selftest_too_busy(row) && !failed_by(row, CBX_FAILURE_CLOCKS_DISAGREE))
        return opt_fail(t->run, "%s: '%s' at %s could not be measured: %s", part, row->baseline, row->point_label,
                        row->failure_message ? row->failure_message : row->status);
    fprintf(stderr, "nperf: %s: the machine is too busy to measure '%s' at %s: %s\n", part, row->baseline,
            row->point_label, row->failure_message ? row->failure_message : row->status);
    return EXIT_UNDECIDED;
}

const char *selftest_word(int verdict)
{
    return verdict == EXIT_PASS ? "holds" : verdict == EXIT_CHECK ? "broken" : "undecided";
}

int selftest_end(const selftest *t, const cbx_json *document, int verdict)
{
    return document ? verdict : opt_fail(t->run, "out of memory");
}

double selftest_variation(const double *x, size_t n)
{
    cbx_variation v;
    return n < 2 || cbx_stat_variation(x, n, CBX_STAT_STABLE_CV, &v, NULL) ? NAN : v.cv;
}

/* --- the parts --- */

/* In the order they run; those that go without being asked for are run when nothing is. */
static const struct {
    const char *name;
    bool usual;
    int (*run)(const selftest *t, cbx_json **out);
} parts[] = {
    { "clock", true, selftest_clock },       { "mutants", true, selftest_mutants },
    { "exploits", true, selftest_exploits }, { "aa", true, selftest_equals },
    { "power", true, selftest_power },       { "live", false, selftest_live },
    { "honest", false, selftest_honest },
};

/* The worst of all parts goes on: a broken promise is no reason to leave the others unasked. */
static int run_parts(const selftest *t, cbx_json *document)
{
    bool all = true;
    int status = EXIT_PASS;

    for (size_t i = 0; i < CBX_LEN(parts); i++) all = all && !opt_given(t->run, parts[i].name);

    for (size_t i = 0; i < CBX_LEN(parts); i++) {
        cbx_json *part = NULL;
        if (!(all ? parts[i].usual : opt_given(t->run, parts[i].name) != NULL)) {
            cbx_json_set_null(document, parts[i].name);
            continue;
        }
        int one = parts[i].run(t, &part);
        progress_end(t->progress);
        if (part) {
            /* The verdict; when, and with which tool: a record may hold parts of several runs. */
            char now[CBX_TIME_SIZE];
            cbx_json_put(part, J_TEXT("verdict", selftest_word(one)), J_BOOL("holds", one == EXIT_PASS),
                         J_TEXT("recorded", cbx_time_format_iso(cbx_time_now_us(), now)), J_TEXT("tool", cbx_version()),
                         J_TEXT("revision", cbx_revision()));
        }
        cbx_json_put(document, part ? J_JSON(parts[i].name, part) : J_NULL(parts[i].name));
        if (one == EXIT_ERROR || one == EXIT_STOPPED) return one;
        if (one == EXIT_CHECK || (one && !status)) status = one;
    }
    return status;
}

/* --- the record --- */

static cbx_json *read_record(const selftest *t, const char *path)
{
    SCOPED(cbx_json) *old = NULL;

    if (!cbx_path_exists(path)) return NULL;
    if (cbx_json_read(t->run->ctx, path, &old, t->run->err)) {
        fprintf(stderr, "note: %s; a new record is started\n", t->run->err->message);
        return NULL;
    }
    if (!strcmp(cbx_json_get_string(old, "schema", ""), SCHEMA) && cbx_json_get_int(old, "version", 0) == VERSION)
        return cbx_json_ref(old);
    fprintf(stderr, "note: '%s' is not a record of this version; a new one is started\n", path);
    return NULL;
}

static int write_record(const selftest *t, const cbx_json *document)
{
    const char *path = t->args->out ? t->args->out : RECORD;
    SCOPED(cbx_json) *whole = cbx_json_copy(document), *old = read_record(t, path);

    for (size_t i = 0; whole && i < CBX_LEN(parts); i++) {
        cbx_json *kept = cbx_json_get(old, parts[i].name);
        if (kept && !cbx_json_get(whole, parts[i].name)) cbx_json_set(whole, parts[i].name, cbx_json_copy(kept));
    }
    return write_json(t->run, path, whole);
}

static int run_selftest(const opt_run *run)
{
    const selftest_args *a = run->args;
    progress p;
    const selftest t = { run, a, &p };
    SCOPED(cbx_json) *document = cbx_json_new_document(SCHEMA);

    if (nperf_cases_open(run, &a->plugins, &a->defined)) return EXIT_ERROR;
    progress_init(&p);
    int status = run_parts(&t, document);
    int written = status == EXIT_ERROR || status == EXIT_STOPPED ? status : write_record(&t, document);
    if (!written && a->json) written = print_json(run, cbx_json_ref(document));
    return written ? written : status;
}

const opt_command selftest_command = {
    .name = "selftest",
    .synopsis = "[OPTION]...",
    .summary = "measure the error rates of the tool itself",
    .description = "Compares equal programs and counts false alarms, plants slow-downs and faults and counts those "
                   "that are found, and measures calls of known cost. Without options it runs every part except --live "
                   "and --honest. The results are kept in a record that the page shows. Exit status 1: a fault is not "
                   "found, a slow-down is missed, or there are more false alarms than the documented rate.",
    OPT_OPTIONS_RULES(selftest),
};
