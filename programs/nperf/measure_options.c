/*
 * The options of nperf's first command: their table, what they mean to a sweep, which of them go
 * together, and the command they come from.
 */
#include <string.h>

#include "calibrax/base/file.h"
#include "programs/common/stop.h"
#include "programs/nperf/measure.h"

#define AT(member) offsetof(measure_args, member)

static const opt_spec measure_options[] = {
    OPT_HEADING("What to measure", NULL),
    OPT("case", 'c', STRING, case_name, "NAME", MEASURE_DEFAULT_CASE ", or the case of --define",
        "case to measure; `nperf list` lists the cases", "@cases"),
    OPT_SWITCH("quick", 'q', o.quick,
               "measure the representative point only: 6 launches, one warm-up, one epoch for calls above 0.1 s; also "
               "write the page"),
    OPT("point", 0, EACH, points, "JSON", "the case's points",
        "measure this point, such as '{\"m\":64,\"k\":64,\"n\":64}'; may be repeated"),
    OPT("points", 0, CHOICE, series, "SET", "default",
        "set of points of the case: default, or series, which grow in size, for `nperf growth`", "default series"),
    OPT("baselines", 'b', LIST, baselines, "A,B", "all", "measure these baselines only", "@baselines"),
    OPT("skip-baselines", 0, LIST, skip, "X,Y", NULL, "do not measure these baselines", "@baselines"),
    OPT("platforms", 'p', LIST, platforms, "A,B", "cpu", "platforms: cpu (or jax-cpu), cuda12 (or jax-cuda12)",
        "cpu cuda12"),
    OPT("threads", 't', INT, o.threads, "N", "1", "threads and CPUs of each worker, the same for every framework"),
    OPT_HEADING("How long", NULL),
    OPT("launches", 'n', POSITIVE, o.launches, "N", "11, quick 6; the maximum with --precision or --decide: 200",
        "number of fresh processes of each attempt, which are the sample for intervals"),
    OPT("budget", 0, NUMBER, o.budget_s, "SECONDS", "none",
        "time budget of the whole run, divided among its points; reduces epochs first, then launches"),
    OPT("precision", 0, NUMBER, o.precision, "X", "none",
        "repeat launches until the interval of each row is within X to each side, such as 0.01; the level is corrected "
        "for repeated checks"),
    OPT_SWITCH("decide", 0, o.decide,
               "repeat launches until the verdict of each row is decided; the level is corrected for repeated checks"),
    OPT_HEADING("Results", NULL),
    OPT("out", 'o', STRING, out, "FILE", "results/CASE.jsonl", "write rows, one JSON line each"),
    OPT("report", 0, STRING, report, "FILE", "results/CASE.md",
        "write a markdown report; with --render-from only if given"),
    OPT("site", 0, MAYBE, site, "DIR", "site", "also write DIR/index.html, a self-contained page"),
    OPT("store", 0, MAYBE, o.store_root, "DIR", "results/store",
        "also keep the run, with its raw launches, in a store"),
    OPT_SWITCH("resume", 0, o.resume, "keep the good rows of --out and measure the missing ones"),
    OPT("render-from", 0, WORDS, render_from, "PATH", NULL, "render the rows of files or folders without measuring"),
    OPT_SWITCH("json", 0, json, "print one JSON document instead of the table"),
    OPT_SWITCH("list", 'l', list, "print cases, points and baselines, and stop"),
    OPT_RARE_HEADING("More cases and baselines"),
    OPT("plugin", 0, EACH, plugins, "FILE", NULL, "add the cases of a shared object; may be repeated"),
    OPT("define", 0, EACH, defined, "FILE", NULL,
        "add the case of a case file (docs/reference/case-files.md); may be repeated"),
    OPT_SWITCH("skip-slow", 0, o.skip_slow, "do not measure baselines declared slow, unless --baselines names them"),
    OPT("variants", 0, CHOICE, o.variants, "WHICH", "all",
        "variants of a provider's environment: default, tuned or all", "all default tuned"),
    OPT("matmul-precision", 0, STRING, o.matmul_precision, "WORD", "full",
        "precision of float32 products, the same for every framework: full, tf32, bf16; frameworks without a reduced "
        "precision use full",
        "full tf32 bf16"),
    OPT_SWITCH("cold-cache", 0, o.cold_cache,
               "flush the caches before each timed call; the rows are separate variants: cold, tuned-cold"),
    OPT_SWITCH("in-process", 0, o.in_process, "call native baselines in this process"),
    OPT_RARE_HEADING("More about launches"),
    OPT("warmup", 'w', INT, o.warmup, "N", "3, quick 1", "number of untimed calls after the first one"),
    OPT("repeats", 'r', POSITIVE, o.repeats, "N", "10, at most 3 for calls above 1 s",
        "number of timed epochs of a launch"),
    OPT("warm-compiles", 0, INT, o.warm_compiles, "N", "7 at the representative point, 0 with --quick",
        "number of launches that compile with a warm cache, for each baseline that has one"),
    OPT("seed", 's', COUNT, o.seed, "N", "0", "seed of the order and layout of launches"),
    OPT("worker-timeout", 0, NUMBER, o.worker_timeout_s, "SECONDS", "3600",
        "maximum time to wait for an answer of a worker"),
    OPT("memory-limit", 0, SIZE, o.memory_limit_bytes, "SIZE",
        "80 % of the free memory, divided among parallel launches",
        "memory limit of a worker and its children, such as 8G"),
    OPT_RARE_HEADING("Cores and devices"),
    OPT("cpu-slots", 0, POSITIVE, o.cpu_slots, "N", "1",
        "number of points measured in parallel, each on separate cores, including sibling threads"),
    OPT("gpus", 0, LIST, gpus, "LIST", "those of CUDA_VISIBLE_DEVICES",
        "use these devices, such as 0,2-3, or all; points are measured on them in parallel"),
    OPT("gpu-settle", 0, NUMBER, o.gpu_settle_s, "SECONDS", "0", /* words:ok */
        "idle time of a device before its first launch and after each, while it is locked"),
    OPT("max-parallel", 0, POSITIVE, o.max_parallel, "N", "slots and devices together",
        "maximum number of launches at a time over all slots and devices"),
    OPT("lock-wait", 0, NUMBER, o.lock_wait_s, "SECONDS", "the value of --worker-timeout",
        "maximum time to wait for cores and devices that are in use"),
    OPT_RARE_HEADING("Isolation of workers"),
    OPT("sandbox", 0, CHOICE, sandbox.mode, "MODE", "auto",
        "isolation of workers: auto (everything that this machine supports), require (everything, or exit with 2), off "
        "(docs/explanation/sandbox.md)",
        "auto off require"),
    OPT("sandbox-read", 0, EACH, sandbox_read, "PATH", NULL,
        "let workers also read this file or folder; may be repeated"),
    OPT("sandbox-write", 0, EACH, sandbox_write, "PATH", NULL,
        "let workers write to this folder, such as a compiler's cache, which is kept between launches; may be "
        "repeated"),
    OPT_RARE_HEADING("More results"),
    OPT_SWITCH("latest", 0, latest,
               "with --render-from: use the newest good row of each key only; a page shows the others as history"),
    OPT("csv", 0, STRING, csv, "FILE", NULL, "also write the rows as CSV, with a column for every number"),
    OPT("selftest", 0, STRING, selftest, "FILE", "results/selftest.json or reports/selftest.json, if it exists",
        "with --site: show this record of `nperf selftest`"),
    OPT("op-matrix", 0, STRING, op_matrix, "FILE", "../nitrix/docs/op_matrix.json, if it exists",
        "with --site: show the capabilities of operations from this file"),
    OPT("prune-keep", 0, POSITIVE, prune_keep, "N", "all", "with --store: keep only the N newest runs of the case"),
    OPT_RARE_HEADING("The gate, as `nperf gate`"),
    OPT("gate-baseline", 0, WORDS, gate.baseline, "PATH", NULL,
        "compare rows with these baseline rows without measuring; see `nperf gate`"),
    OPT("gate-current", 0, WORDS, gate.current, "PATH", "results/store", "rows under test"),
    OPT("gate-min", 0, NUMBER, gate.how.min_ratio, "RATIO", "1.10 where rows have no launches",
        "maximum ratio of minimum times, as `nperf gate --min`"),
    OPT("gate-p95", 0, NUMBER, gate.how.p95_ratio, "RATIO", "1.25 where rows have no launches",
        "maximum ratio of 95th percentiles, as `nperf gate --p95`"),
    OPT("gate-out", 0, STRING, gate.out, "FILE", GATE_OUT,
        "write the findings as JSON; with --report also as markdown"),
};

/* What only a measurement looks at. */
#define MEASURING                                                                                                      \
    "case quick point points baselines skip-baselines platforms threads launches budget precision decide out store "   \
    "resume skip-slow variants matmul-precision cold-cache in-process warmup repeats warm-compiles seed "              \
    "worker-timeout memory-limit cpu-slots gpus gpu-settle max-parallel lock-wait sandbox sandbox-read sandbox-write" /* words:ok */

static const opt_rule measure_rules[] = {
    { "points", OPT_EXCLUDES, "quick point" },
    { "cold-cache", OPT_EXCLUDES, "in-process" }, /* a worker flushes the caches */
    { "in-process", OPT_EXCLUDES, "sandbox=require" },
    { "prune-keep", OPT_NEEDS, "store" },
    { "latest", OPT_NEEDS, "render-from" },
    { "render-from", OPT_EXCLUDES, MEASURING },
    { "gate-current", OPT_NEEDS, "gate-baseline" },
};

static const measure_args measure_defaults = { .o = CBX_MEASURE_OPTS_INIT,
                                               .sandbox = CBX_SANDBOX_INIT,
                                               .gate = { .how = CBX_ROW_GATE_OPTS_INIT, .out = GATE_OUT } };

const opt_command measure_command = {
    .name = "",
    .synopsis = "[OPTION]...",
    .summary = "measure a case, or render its rows",
    .description = "Measures every baseline of a benchmark case at its points, in fresh processes launched in turns, "
                   "checks every answer, and prints a table with intervals, memory, share of the roofline and ratios. "
                   "Results go to standard output, messages and progress to standard error.",
    OPT_OPTIONS_RULES(measure),
    .defaults = &measure_defaults,
};

/* The name of the option in a list that blanks separate. */
static bool is_listed(const char *name, const char *list)
{
    const size_t n = strlen(name);

    for (const char *at = list; (at = strstr(at, name)) != NULL; at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
    return false;
}

const char *measure_not_for_commands(const opt_run *run)
{
    for (size_t i = 0; i < run->command->noptions; i++)
        if (run->given[i] &&
            is_listed(run->command->options[i].name,
                      "platforms points variants repeats decide threads matmul-precision cpu-slots gpus "
                      "gpu-settle " /* words:ok */
                      "max-parallel memory-limit sandbox sandbox-read sandbox-write in-process cold-cache "
                      "warm-compiles store resume"))
            return run->command->options[i].name;
    return NULL;
}

/* --- what they mean to a sweep --- */

int measure_fill(const opt_run *run, measure_args *a, const cbx_case_ops *c, const outputs *to, progress *p)
{
    const opt_list *const paths[] = { &a->sandbox_read, &a->sandbox_write };
    cbx_measure_opts *o = &a->o;

    for (size_t k = 0; k < CBX_LEN(paths); k++) /* a path that does not exist is a mistake */
        for (size_t i = 0; i < paths[k]->count; i++)
            if (!cbx_path_exists(paths[k]->items[i]))
                return opt_fail(run, "--sandbox-%s: '%s' does not exist", k ? "write" : "read", paths[k]->items[i]);
    a->sandbox.readable = a->sandbox_read.items;
    a->sandbox.nreadable = a->sandbox_read.count;
    a->sandbox.writable = a->sandbox_write.items;
    a->sandbox.nwritable = a->sandbox_write.count;
    if (a->series && !c->nseries)
        return opt_fail(run, "case '%s' has no series: give points of growing size with --point", c->name);
    o->case_ops = c;
    o->points = a->series ? c->series : a->points.items;
    o->npoints = a->series ? c->nseries : a->points.count;
    o->platforms = a->platforms.items;
    o->nplatforms = a->platforms.count;
    o->allow = a->baselines.items;
    o->nallow = a->baselines.count;
    o->deny = a->skip.items;
    o->ndeny = a->skip.count;
    o->gpus = a->gpus.items;
    o->ngpus = a->gpus.count;
    o->sandbox = &a->sandbox;
    o->out_path = to->rows;
    o->stop = stop_catch();
    o->progress = progress_show;
    o->user = p;
    return EXIT_PASS;
}

/* --- the command that reproduces the rows --- */

#define NOT_OF_ROWS                                                                                                    \
    "case out report site store resume render-from latest json list csv selftest op-matrix prune-keep lock-wait "      \
    "gate-baseline gate-current gate-min gate-p95 gate-out"

/* Files are named without their folder. */
const char *measure_reproduce(const opt_run *run)
{
    const measure_args *a = run->args;

    SCOPED_TEXT(t, &run->arena->al);
    cbx_text_printf(&t, "nperf --case %s", a->case_name);
    for (size_t i = 0; i < run->command->noptions; i++) {
        const opt_spec *s = &run->command->options[i];
        const opt_list *list = (const void *)((const char *)run->args + s->offset);
        if (!run->given[i] || is_listed(s->name, NOT_OF_ROWS)) continue;
        if (s->kind == OPT_LIST || s->kind == OPT_EACH) {
            for (size_t k = 0; k < list->count; k++) {
                const char *item = list->items[k], *slash = strrchr(item, '/');
                if (s->kind == OPT_LIST)
                    cbx_text_printf(&t, k ? ",%s" : " --%s %s", k ? item : s->name, item);
                else
                    cbx_text_printf(&t, *item == '{' ? " --%s '%s'" : " --%s %s", s->name,
                                    slash && *item != '{' ? slash + 1 : item);
            }
            continue;
        }
        cbx_text_printf(&t, *run->given[i] ? " --%s %s" : " --%s", s->name, run->given[i]);
    }
    return cbx_arena_strdup(run->arena, cbx_text_str(&t));
}
