/*
 * nperf doctor: what is available, what is missing, the command that adds it.
 */
#include "calibrax/perf/sweep/doctor.h"

#include "programs/common/stop.h"
#include "programs/nperf/nperf.h"

typedef struct doctor_args {
    bool json;
} doctor_args;

#define AT(member) offsetof(doctor_args, member)

static const opt_spec doctor_options[] = {
    OPT_SWITCH("json", 0, json, "print one JSON document"),
};

static int run_doctor(const opt_run *run)
{
    const doctor_args *a = run->args;
    cbx_doctor_report report;
    int status = EXIT_PASS;

    cbx_doctor_init(&report, run->arena);
    if (cbx_doctor_run(run->ctx, stop_catch(), &report, run->err))
        status = opt_fail(run, "%s", run->err->message);
    else if (a->json)
        status = print_json(run, doctor_json(&report, "nperf-doctor"));
    else
        print_doctor(run, &report);
    return status ? status : doctor_verdict(run, &report);
}

const opt_command doctor_command = {
    .name = "doctor",
    .synopsis = "[--json]",
    .summary = "show what is available, what is missing, and the command that adds it",
    .description = "Shows the machine, its clock, its measured rates, and which worker programs, libraries and "
                   "frameworks it found, with the command that adds each missing one.",
    OPT_OPTIONS(doctor),
    .flags = OPT_ANY_ENVIRONMENT,
};
