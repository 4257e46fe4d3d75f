/*
 * The options of nperf's first command: their table, what they mean to a sweep, which of them go together, and the command they come from.
 */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "programs/common/stop.h"
#include "programs/nperf/gate.h"
#include "programs/nperf/measure.h"

#define AT(member) offsetof(measure_args, member)

static const opt_spec measure_options[] = {
    { "What to measure", .kind = OPT_GROUP },
    { "case", 'c', OPT_STRING, AT(case_name), "NAME", MEASURE_DEFAULT_CASE ", or the case of --define",
      "case to measure; `nperf list` shows them", "@cases" },
    { "quick", 'q', OPT_FLAG, AT(quick), NULL, NULL,
      "the representative point only: 6 launches, one warm-up, one epoch for calls above 0.1 s; writes the page too" },
    { "point", 0, OPT_EACH, AT(points), "JSON", "the case's points",
      "a point of your own, such as '{\"m\":64,\"k\":64,\"n\":64}'; may be repeated" },
    { "points", 0, OPT_STRING, AT(point_set), "SET", "default",
      "which of the case's points: default, or series, which grow in size, for `nperf growth`", "default series" },
    { "baselines", 'b', OPT_LIST, AT(baselines), "A,B", "all", "measure these only", "@baselines" },
    { "skip-baselines", 0, OPT_LIST, AT(skip), "X,Y", NULL, "leave these out", "@baselines" },
    { "platforms", 'p', OPT_LIST, AT(platforms), "A,B", "cpu", "platforms: cpu (or jax-cpu), cuda12 (or jax-cuda12)",
      "cpu cuda12" },
    { "threads", 't', OPT_INT, AT(threads), "N", "1", "threads and CPUs of each worker, the same for every framework" },
    { "How long", .kind = OPT_GROUP },
    { "launches", 'n', OPT_POSITIVE, AT(launches), "N", "11, quick 6; the most with --precision or --decide: 200",
      "fresh processes of each attempt; the sample that intervals are over" },
    { "budget", 0, OPT_NUMBER, AT(budget), "SECONDS", "none",
      "time of the whole run, divided over its points: fewer epochs, then fewer launches keep to it" },
    { "precision", 0, OPT_NUMBER, AT(precision), "X", "none",
      "launch a row until its interval is within X to each side, such as 0.01; its level holds although it is checked "
      "repeatedly" },
    { "decide", 0, OPT_FLAG, AT(decide), NULL, NULL,
      "launch a row until its verdict is decided; its level holds although it is checked repeatedly" },
    { "Results", .kind = OPT_GROUP },
    { "out", 'o', OPT_STRING, AT(out), "FILE", "results/CASE.jsonl", "rows, one JSON line each" },
    { "report", 0, OPT_STRING, AT(report), "FILE", "results/CASE.md",
      "markdown report; with --render-from only when given" },
    { "site", 0, OPT_MAYBE, AT(site), "DIR", "site", "also write DIR/index.html, a page that needs nothing else" },
    { "store", 0, OPT_MAYBE, AT(store), "DIR", "results/store",
      "also keep the run, with its raw launches, in a store" },
    { "resume", 0, OPT_FLAG, AT(resume), NULL, NULL, "keep the good rows of --out and measure what is missing" },
    { "render-from", 0, OPT_WORDS, AT(render_from), "PATH", NULL,
      "render rows of files or folders again, and measure nothing" },
    { "json", 0, OPT_FLAG, AT(json), NULL, NULL, "print one JSON document instead of the table" },
    { "list", 'l', OPT_FLAG, AT(list), NULL, NULL, "print cases, points and baselines, and stop" },
    { "More cases and baselines", .kind = OPT_GROUP, .fallback = OPT_RARE },
    { "plugin", 0, OPT_EACH, AT(plugins), "FILE", NULL, "add the cases of a shared object; may be repeated" },
    { "define", 0, OPT_EACH, AT(defined), "FILE", NULL,
      "add the case of a case file (docs/reference/case-files.md); may be repeated" },
    { "skip-slow", 0, OPT_FLAG, AT(skip_slow), NULL, NULL,
      "leave out baselines declared slow, unless --baselines names them" },
    { "variants", 0, OPT_STRING, AT(variants), "WHICH", "all",
      "variants of a provider's environment: default, tuned or all", "all default tuned" },
    { "matmul-precision", 0, OPT_STRING, AT(matmul_precision), "WORD", "full",
      "of float32 products, the same for every framework: full, tf32, bf16; what cannot be less exact stays full",
      "full tf32 bf16" },
    { "cold-cache", 0, OPT_FLAG, AT(cold_cache), NULL, NULL,
      "flush the caches before each timed call; rows are variants of their own: cold, tuned-cold" },
    { "in-process", 0, OPT_FLAG, AT(in_process), NULL, NULL, "call native baselines in this process" },
    { "More about launches", .kind = OPT_GROUP, .fallback = OPT_RARE },
    { "warmup", 'w', OPT_INT, AT(warmup), "N", "3, quick 1", "untimed calls after the first one" },
    { "repeats", 'r', OPT_POSITIVE, AT(repeats), "N", "10, at most 3 for calls above 1 s", "timed epochs of a launch" },
    { "warm-compiles", 0, OPT_INT, AT(warm_compiles), "N", "7 at the representative point, 0 with --quick",
      "launches that compile with a warm cache, of each baseline that has one" },
    { "seed", 's', OPT_COUNT, AT(seed), "N", "0", "of the order and the layout of launches" },
    { "worker-timeout", 0, OPT_NUMBER, AT(worker_timeout), "SECONDS", "3600",
      "longest wait for an answer of a worker" },
    { "memory-limit", 0, OPT_SIZE, AT(memory_limit), "SIZE",
      "80 % of the free memory, shared out among parallel launches",
      "memory of a worker and all that it starts, such as 8G" },
    { "Cores and devices", .kind = OPT_GROUP, .fallback = OPT_RARE },
    { "cpu-slots", 0, OPT_POSITIVE, AT(cpu_slots), "N", "1",
      "points measured side by side, each on cores of its own, siblings included" },
    { "gpus", 0, OPT_LIST, AT(gpus), "LIST", "all that CUDA_VISIBLE_DEVICES leaves",
      "devices by number, such as 0,2-3, or all; points are measured side by side on them" },
    { "gpu-settle", 0, OPT_NUMBER, AT(gpu_settle), "SECONDS", "0", /* words:ok */
      "idle time of a device before its first launch and after each, while it is locked" },
    { "max-parallel", 0, OPT_POSITIVE, AT(max_parallel), "N", "slots and devices together",
      "launches at a time over all slots and devices" },
    { "lock-wait", 0, OPT_NUMBER, AT(lock_wait), "SECONDS", "that of --worker-timeout",
      "longest wait for cores and devices that another measurement holds" },
    { "Isolation of workers", .kind = OPT_GROUP, .fallback = OPT_RARE },
    { "sandbox", 0, OPT_STRING, AT(sandbox), "MODE", "auto",
      "isolation of workers: auto (all that this machine supports), require (all, or exit 2), off "
      "(docs/explanation/sandbox.md)",
      "auto require off" },
    { "sandbox-read", 0, OPT_EACH, AT(sandbox_read), "PATH", NULL,
      "a file or folder that workers may also read; may be repeated" },
    { "sandbox-write", 0, OPT_EACH, AT(sandbox_write), "PATH", NULL,
      "a folder that workers may write, such as a compiler's cache; it outlives a launch; may be repeated" },
    { "More results", .kind = OPT_GROUP, .fallback = OPT_RARE },
    { "latest", 0, OPT_FLAG, AT(latest), NULL, NULL,
      "with --render-from: the newest good row of each key only; a page always shows those, and the others as "
      "history" },
    { "csv", 0, OPT_STRING, AT(csv), "FILE", NULL, "also write the rows as CSV, a column for every number of them" },
    { "selftest", 0, OPT_STRING, AT(selftest), "FILE", "results/selftest.json, or reports/selftest.json, where it is",
      "with --site: the record of `nperf selftest`" },
    { "op-matrix", 0, OPT_STRING, AT(op_matrix), "FILE", "../nitrix/docs/op_matrix.json where it is",
      "with --site: the operations' capabilities" },
    { "prune-keep", 0, OPT_POSITIVE, AT(prune_keep), "N", "all",
      "with --store: keep only the N newest runs of the case" },
    { "The gate, as `nperf gate`", .kind = OPT_GROUP, .fallback = OPT_RARE },
    { "gate-baseline", 0, OPT_WORDS, AT(gate_baseline), "PATH", NULL,
      "compare rows with these baseline rows, and measure nothing; see `nperf gate`" },
    { "gate-current", 0, OPT_WORDS, AT(gate_current), "PATH", "results/store", "the rows under test" },
    { "gate-min", 0, OPT_NUMBER, AT(gate_min), "RATIO", "1.10 where rows have no launches",
      "`nperf gate --min`: minimum over the baseline's" },
    { "gate-p95", 0, OPT_NUMBER, AT(gate_p95), "RATIO", "1.25 where rows have no launches", "`nperf gate --p95`" },
    { "gate-out", 0, OPT_STRING, AT(gate_out), "FILE", GATE_OUT, "the findings as JSON; --report: as markdown" },
};

static const measure_args measure_defaults = { .variants = "all",
                                               .sandbox = "auto",
                                               .warmup = -1,
                                               .warm_compiles = -1,
                                               .gate_min = NAN,
                                               .gate_p95 = NAN,
                                               .gate_out = GATE_OUT };

const opt_command measure_command = {
    "",
    "[OPTION]...",
    "measure a case, or render its rows",
    "Measures every baseline of a benchmark case at its points, in fresh processes launched in turns, checks every "
    "answer, and prints a table "
    "with intervals, memory, share of the roofline and ratios. Results go to standard output, words and progress to "
    "standard error.",
    measure_options,
    CBX_LEN(measure_options),
    sizeof(measure_args),
    &measure_defaults,
    0,
    measure_run,
};

/* --- what goes together --- */

const char *measure_not_for(const measure_args *a, unsigned way)
{
    const struct {
        const char *flag;
        bool given;
        unsigned ways; /* in which it does something, besides a case of workers */
    } flags[] = {
        { "--platforms", a->platforms.count > 0, 0 },
        { "--quick", a->quick, FOR_COMMANDS },
        { "--points", a->point_set != NULL, 0 },
        { "--point", a->points.count > 0, FOR_COMMANDS },
        { "--baselines", a->baselines.count > 0, FOR_COMMANDS },
        { "--skip-baselines", a->skip.count > 0, FOR_COMMANDS },
        { "--skip-slow", a->skip_slow, FOR_COMMANDS },
        { "--variants", strcmp(a->variants, "all") != 0, 0 },
        { "--launches", a->launches > 0, FOR_COMMANDS },
        { "--warmup", a->warmup >= 0, FOR_COMMANDS },
        { "--repeats", a->repeats > 0, 0 },
        { "--budget", a->budget != 0, FOR_COMMANDS },
        { "--precision", a->precision != 0, FOR_COMMANDS },
        { "--decide", a->decide, 0 }, /* commands always go on until it is decided */
        { "--threads", a->threads != 0, 0 },
        { "--matmul-precision", a->matmul_precision != NULL, 0 },
        { "--cpu-slots", a->cpu_slots > 0, 0 },
        { "--gpus", a->gpus.count > 0, 0 },
        { "--gpu-settle", a->gpu_settle != 0, 0 }, /* words:ok */
        { "--max-parallel", a->max_parallel > 0, 0 },
        { "--lock-wait", a->lock_wait != 0, FOR_COMMANDS },
        { "--worker-timeout", a->worker_timeout != 0, FOR_COMMANDS },
        { "--memory-limit", a->memory_limit > 0, 0 },
        { "--sandbox", strcmp(a->sandbox, "auto") != 0, FOR_COMMANDS },
        { "--sandbox-read", a->sandbox_read.count > 0, 0 },
        { "--sandbox-write", a->sandbox_write.count > 0, 0 },
        { "--in-process", a->in_process, 0 },
        { "--cold-cache", a->cold_cache, 0 },
        { "--warm-compiles", a->warm_compiles >= 0, 0 },
        { "--seed", a->seed > 0, FOR_COMMANDS },
        { "--out", a->out != NULL, FOR_COMMANDS },
        { "--store", a->store != NULL, 0 },
        { "--resume", a->resume, 0 },
    };

    for (size_t i = 0; i < CBX_LEN(flags); i++)
        if (flags[i].given && !(flags[i].ways & way)) return flags[i].flag;
    return NULL;
}

/* --- what they mean to a sweep --- */

static int variants_of(const opt_program *program, const char *word, cbx_measure_variants *out)
{
    static const char *const words[] = { "all", "default", "tuned" };
    const char *near;

    for (size_t i = 0; i < CBX_LEN(words); i++) {
        if (!strcmp(word, words[i])) {
            *out = (cbx_measure_variants)i;
            return EXIT_PASS;
        }
    }
    near = cbx_nearest_word(word, words, CBX_LEN(words));
    return opt_fail(program, "--variants: unknown word '%s'%s%s%s; known: default, tuned, all", word,
                    near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

int measure_sandbox(const opt_program *program, const measure_args *a, cbx_sandbox *out)
{
    const opt_list *const lists[] = { &a->sandbox_read, &a->sandbox_write };
    const char *const flags[] = { "--sandbox-read", "--sandbox-write" };
    cbx_err err = CBX_ERR_INIT;

    if (cbx_sandbox_parse(a->sandbox, &out->mode, &err)) return opt_fail(program, "--sandbox: %s", err.message);
    for (size_t k = 0; k < CBX_LEN(lists); k++) {
        for (size_t i = 0; i < lists[k]->count; i++) {
            if (!cbx_path_exists(lists[k]->items[i]))
                return opt_fail(program, "%s: there is no '%s'", flags[k], lists[k]->items[i]);
        }
    }
    if (out->mode == CBX_SANDBOX_REQUIRE && a->in_process)
        return opt_fail(program, "--sandbox=require is not for --in-process, which calls baselines in this process");
    out->readable = a->sandbox_read.items;
    out->nreadable = a->sandbox_read.count;
    out->writable = a->sandbox_write.items;
    out->nwritable = a->sandbox_write.count;
    return EXIT_PASS;
}

int measure_fill(const opt_program *program, const measure_args *a, const cbx_case_ops *c, const outputs *to,
                 progress *p, cbx_measure_opts *o)
{
    o->case_ops = c;
    o->points = a->points.items;
    o->npoints = a->points.count;
    o->quick = a->quick;
    o->platforms = a->platforms.items;
    o->nplatforms = a->platforms.count;
    o->allow = a->baselines.items;
    o->nallow = a->baselines.count;
    o->deny = a->skip.items;
    o->ndeny = a->skip.count;
    o->skip_slow = a->skip_slow;
    o->launches = a->launches;
    o->warmup = a->warmup;
    o->repeats = a->repeats;
    o->budget_s = a->budget;
    o->precision = a->precision;
    o->decide = a->decide;
    o->cpu_slots = a->cpu_slots;
    o->gpus = a->gpus.items;
    o->ngpus = a->gpus.count;
    o->gpu_settle_s = a->gpu_settle;
    o->max_parallel = a->max_parallel;
    o->lock_wait_s = a->lock_wait;
    o->matmul_precision = a->matmul_precision;
    o->threads = a->threads;
    o->worker_timeout_s = a->worker_timeout;
    o->memory_limit_bytes = a->memory_limit;
    o->seed = a->seed;
    o->in_process = a->in_process;
    o->cold_cache = a->cold_cache;
    o->warm_compiles = a->warm_compiles;
    o->out_path = to->rows;
    o->store_root = a->store;
    o->resume = a->resume;
    o->stop = stop_catch();
    o->progress = progress_show;
    o->user = p;
    if (variants_of(program, a->variants, &o->variants)) return EXIT_ERROR;
    /* The points of --points in place of the case's own. */
    if (!a->point_set || !strcmp(a->point_set, "default")) return EXIT_PASS;
    if (strcmp(a->point_set, "series") != 0)
        return opt_fail(program, "--points: unknown set '%s'; known: default, series", a->point_set);
    if (a->quick || a->points.count)
        return opt_fail(program, "--points series and %s exclude each other", a->quick ? "--quick" : "--point");
    if (!c->nseries)
        return opt_fail(program, "case '%s' has no series: name points of growing size with --point", c->name);
    o->points = c->series;
    o->npoints = c->nseries;
    return EXIT_PASS;
}

/* --- the command that reproduces the rows, without paths --- */

static void put_list(cbx_text *t, const char *flag, const opt_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        cbx_text_printf(t, i ? ",%s" : " %s %s", i ? list->items[i] : flag, list->items[i]);
}

/* Each with its own flag, and without its folder. */
static void put_names(cbx_text *t, const char *flag, const opt_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *slash = strrchr(list->items[i], '/');
        cbx_text_printf(t, " %s %s", flag, slash ? slash + 1 : list->items[i]);
    }
}

const char *measure_reproduce(const measure_args *a, cbx_arena *arena)
{
    const char *text;
    cbx_text t;

    cbx_text_init(&t, &arena->al);
    cbx_text_printf(&t, "nperf --case %s", a->case_name);
    put_names(&t, "--plugin", &a->plugins);
    put_names(&t, "--define", &a->defined);
    if (a->quick) cbx_text_puts(&t, " --quick");
    put_list(&t, "--platforms", &a->platforms);
    if (a->point_set) cbx_text_printf(&t, " --points %s", a->point_set);
    for (size_t i = 0; i < a->points.count; i++) cbx_text_printf(&t, " --point '%s'", a->points.items[i]);
    put_list(&t, "--baselines", &a->baselines);
    put_list(&t, "--skip-baselines", &a->skip);
    if (a->skip_slow) cbx_text_puts(&t, " --skip-slow");
    if (strcmp(a->variants, "all")) cbx_text_printf(&t, " --variants %s", a->variants);
    if (a->launches) cbx_text_printf(&t, " --launches %zu", a->launches);
    if (a->warmup >= 0) cbx_text_printf(&t, " --warmup %d", a->warmup);
    if (a->repeats) cbx_text_printf(&t, " --repeats %zu", a->repeats);
    if (a->budget > 0) cbx_text_printf(&t, " --budget %g", a->budget);
    if (a->precision > 0) cbx_text_printf(&t, " --precision %g", a->precision);
    if (a->decide) cbx_text_puts(&t, " --decide");
    if (a->threads) cbx_text_printf(&t, " --threads %d", a->threads);
    if (a->matmul_precision) cbx_text_printf(&t, " --matmul-precision %s", a->matmul_precision);
    if (a->cpu_slots) cbx_text_printf(&t, " --cpu-slots %zu", a->cpu_slots);
    put_list(&t, "--gpus", &a->gpus);
    if (a->gpu_settle > 0) cbx_text_printf(&t, " --gpu-settle %g", a->gpu_settle); /* words:ok */
    if (a->max_parallel) cbx_text_printf(&t, " --max-parallel %zu", a->max_parallel);
    if (a->worker_timeout > 0) cbx_text_printf(&t, " --worker-timeout %g", a->worker_timeout);
    if (a->memory_limit) cbx_text_printf(&t, " --memory-limit %" PRIu64, a->memory_limit);
    if (strcmp(a->sandbox, "auto")) cbx_text_printf(&t, " --sandbox %s", a->sandbox);
    put_names(&t, "--sandbox-read", &a->sandbox_read);
    put_names(&t, "--sandbox-write", &a->sandbox_write);
    if (a->in_process) cbx_text_puts(&t, " --in-process");
    if (a->cold_cache) cbx_text_puts(&t, " --cold-cache");
    if (a->warm_compiles >= 0) cbx_text_printf(&t, " --warm-compiles %d", a->warm_compiles);
    if (a->seed) cbx_text_printf(&t, " --seed %zu", a->seed);
    text = cbx_arena_strdup(arena, cbx_text_str(&t));
    cbx_text_clear(&t);
    return text;
}
