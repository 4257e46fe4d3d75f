/*
 * nperf: measures benchmark cases across frameworks, and any commands.  A table of commands; each
 * is a file.
 */
#include <signal.h>
#include <string.h>

#include "programs/nperf/nperf.h"

static const opt_note environment[] = {
    { "NPERF_PYTHON_<FRAMEWORK>_<PLATFORM>, NPERF_PYTHON_<FRAMEWORK>, NPERF_PYTHON_<PLATFORM>, NPERF_WORKER_PYTHON",
      "Python for a framework's baselines (the first that is set); FRAMEWORK is in capitals, with _ for -" },
    { "NPERF_LIBEXEC", "folder of the worker programs, if they are not next to nperf" },
    { "NPERF_PLUGINS", "shared objects with cases, separated by colons; --plugin adds to them" },
    { "CALIBRAX_LOCK_DIR", "folder of the locks of cores and devices, shared by all measurements on a machine "
                           "(default: /run/lock/calibrax or /tmp/calibrax-locks)" },
    { "CALIBRAX_CGROUP",
      "control group (version 2) below which each worker gets its own group, with its memory limit" },
    { "CUDA_VISIBLE_DEVICES", "numbers of the devices that are used without --gpus" },
    { "NPERF_FAKE_DEVICES",
      "number of devices of the platform 'fake', which compute nothing, for tests of queues and locks" },
    { "XDG_CACHE_HOME", "folder below which the machine's rates and the oracles' answers are cached" },
    { NULL, NULL },
};

static const opt_note examples[] = {
    { "nperf --quick --site",
      "measure the representative point of semiring_matmul with every rival that is installed, and write a page" },
    { "nperf --baselines stream,tiled --launches 21", "measure every point with two baselines" },
    { "nperf exec 'sort a.txt' 'sort -u a.txt'", "compare two commands, run in turns, with a verdict" },
    { "nperf gate --baseline baseline.jsonl --current results/semiring_matmul.jsonl",
      "compare with baseline rows: exit status 0, 1, 2 or 3" },
    { "nperf ab main HEAD --build make --bench './bench' --metric time", "check whether a branch is slower" },
    { "nperf --render-from results/store --latest --site", "write a page of everything measured so far" },
    { NULL, NULL },
};

static const opt_note removed[] = { { "compare", "ab" }, { "scaling", "growth" }, { NULL, NULL } };

/* Names of the cases that are linked in, and of their baselines. */
static void complete(const opt_run *run, const char *kind, const char *data, void (*put)(void *user, const char *word),
                     void *user)
{
    const cbx_case_list *list = nperf_cases();

    (void)run;
    (void)data;
    for (size_t i = 0; i < list->count; i++) {
        const cbx_case_ops *c = list->cases[i];
        if (!strcmp(kind, "cases")) put(user, c->name);
        for (size_t k = 0; !strcmp(kind, "baselines") && k < c->nbaselines; k++) {
            bool known = c->baselines[k]->mutant_reason != NULL;
            for (size_t j = 0; j < i && !known; j++) known = cbx_case_baseline(list->cases[j], c->baselines[k]->name);
            if (!known) put(user, c->baselines[k]->name);
        }
    }
}

int main(int argc, char **argv)
{
    const opt_command commands[] = {
        measure_command,  exec_command,     gate_command,     ab_command,     list_command,
        growth_command,   drift_command,    raw_command,      bundle_command, feed_command,
        coverage_command, new_case_command, selftest_command, doctor_command,
    };
    const opt_program program = { .name = "nperf",
                                  .summary = "measures numerical kernels, and any commands, truthfully",
                                  .commands = commands,
                                  .ncommands = CBX_LEN(commands),
                                  .environment = environment,
                                  .examples = examples,
                                  .removed = removed,
                                  .complete = complete };
    int status;

    signal(SIGCHLD, SIG_DFL); /* where a parent ignores it, the exit status of workers is lost */
    status = opt_main(&program, argc, (const char **)argv);
    nperf_cases_close();
    return status;
}
