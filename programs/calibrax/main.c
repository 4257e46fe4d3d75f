/*
 * calibrax: the library from the command line.  A table of commands; each is a file.
 */
#include "programs/calibrax/calibrax.h"

static int run_help(const opt_run *run)
{
    opt_print_help(run->program, run->command, stdout);
    return EXIT_ERROR; /* a gate whose words went missing must not pass; --help is answered before this */
}

static const opt_command help_command = {
    "",
    "COMMAND [OPTION]...",
    "print this help",
    "Keeps runs of measurements in a store, finds and shows them, and tells what there is to compute with.",
    NULL,
    0,
    0,
    NULL,
    OPT_ANY_ENVIRONMENT,
    run_help,
};

static const opt_note examples[] = {
    { "calibrax ingest --data store --input run.json benchmark.json", "take files of measurements into a store" },
    { "calibrax check --data store --threshold 0.03 --format github", "is the latest run worse than the baseline?" },
    { "calibrax trend --data store --metric time --point matmul", "a metric over time" },
    { "calibrax compare --data store v1 v2", "runs side by side, with speed-ups and their intervals" },
    { "calibrax changepoints --data store --state seen.json --check", "did a level change since the last look?" },
    { "calibrax query --data store --since 2026-01-01 --tag framework=jax", "points as JSON lines" },
    { "calibrax run --plugin ./bench.so --launches 10 --data store", "benchmarks of a shared object into a run" },
    { "calibrax doctor", "backends, devices, topology and libraries, and what is missing" },
    { "my-service | calibrax watch --metric latency_ms --warning 20 --error 50 --raise-after 3",
      "alerts on JSON lines" },
    { "calibrax bisect --good v1.2 --build 'make' --bench './bench'", "which commit made it slower?" },
    { "CALIBRAX_USE_GPU=yes CALIBRAX_GPU_FALLBACK=no calibrax doctor", "does a GPU compute here?" },
    { NULL, NULL },
};

int main(int argc, char **argv)
{
    const opt_command commands[] = {
        help_command,         ingest_command,  baseline_command,     check_command,         runs_command,
        show_command,         summary_command, trend_command,        query_command,         compare_command,
        diff_command,         rank_command,    pareto_command,       scaling_command,       changepoints_command,
        validate_command,     export_command,  profile_command,      profile_gpu_command,   run_command,
        bisect_command,       watch_command,   store_verify_command, store_compact_command, store_migrate_command,
        store_export_command, machine_command, doctor_command,
    };
    opt_settings settings;
    const opt_program program = { "calibrax",
                                  "keeps, compares and explains measurements; computes on arrays",
                                  commands,
                                  CBX_LEN(commands),
                                  opt_note_settings(&settings),
                                  examples };

    return opt_main(&program, argc, (const char **)argv);
}
