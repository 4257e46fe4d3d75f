/*
 * nperf doctor: what is available, what is missing, the command that adds it.
 */
#include "calibrax/perf/sweep/doctor.h"

#include "programs/common/stop.h"
#include "programs/nperf/nperf.h"

typedef struct doctor_args {
    bool json;
} doctor_args;

static const opt_spec doctor_options[] = {
    { "json", 0, OPT_FLAG, offsetof(doctor_args, json), NULL, NULL, "print one JSON document" },
};

static int run_doctor(const opt_run *run)
{
    const doctor_args *a = run->args;
    cbx_doctor_report report;
    int status = EXIT_PASS;

    cbx_doctor_init(&report, run->arena);
    if (cbx_doctor_run(run->ctx, stop_catch(), &report, run->err))
        status = opt_fail(run->program, "%s", run->err->message);
    else if (a->json)
        status = print_json(run->program, doctor_json(&report, "nperf-doctor"));
    else
        print_doctor(run->program, &report);
    return status ? status : doctor_verdict(run->program, &report);
}

const opt_command doctor_command = {
    .name = "doctor",
    .synopsis = "[--json]",
    .summary = "show what is available, what is missing, and the command that adds it",
    .description = "Shows the machine, its clock, its measured rates, and which worker programs, libraries and "
                   "frameworks it found, with the command that adds each missing one.",
    OPT_OPTIONS(doctor),
    .flags = OPT_ANY_ENVIRONMENT,
    .run = run_doctor,
};
