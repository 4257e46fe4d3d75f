/*
 * nperf doctor: what is here, what is missing, the command that adds it.
 */
#include "calibrax/perf/doctor.h"

#include <stdio.h>
#include <string.h>

#include "calibrax/base/version.h"
#include "programs/common/stop.h"
#include "programs/nperf/nperf.h"

typedef struct doctor_args {
    bool json;
} doctor_args;

static const opt_spec doctor_options[] = {
    { "json", 0, OPT_FLAG, offsetof(doctor_args, json), NULL, NULL, "print one JSON document" },
};

static void print_report(const cbx_doctor_report *r)
{
    const char *group = "";

    printf("nperf %s, revision %s, %s\n", cbx_version(), cbx_revision(), cbx_build());
    for (size_t i = 0; i < r->count; i++) {
        const cbx_doctor_item *it = &r->items[i];
        const char *mark = it->state == CBX_DOCTOR_HERE      ? "ok  "
                           : it->state == CBX_DOCTOR_FACT    ? "    "
                           : it->state == CBX_DOCTOR_MISSING ? "--  "
                                                             : "FAIL";
        if (strcmp(group, it->group)) printf("%s\n", it->group);
        group = it->group;
        printf("  %s %-16s %s\n", mark, it->name, it->text);
        if (it->remedy) printf("       %-16s add it: %s\n", "", it->remedy);
    }
}

static cbx_json *report_json(const cbx_doctor_report *r)
{
    cbx_json *o = cbx_json_new_object(), *list = cbx_json_new_array();

    if (!o || !list) {
        cbx_json_unref(o);
        cbx_json_unref(list);
        return NULL;
    }
    for (size_t i = 0; i < r->count; i++) {
        const cbx_doctor_item *it = &r->items[i];
        cbx_json *j = cbx_json_new_object();
        if (!j) break;
        cbx_json_set_string(j, "group", it->group);
        cbx_json_set_string(j, "name", it->name);
        cbx_json_set_string(j, "state", cbx_doctor_state_name(it->state));
        cbx_json_set_string(j, "text", it->text);
        cbx_json_set_string(j, "remedy", it->remedy);
        cbx_json_push(list, j);
    }
    cbx_json_set_string(o, "schema", "nperf-doctor");
    cbx_json_set_int(o, "version", 1);
    cbx_json_set_string(o, "release", cbx_version());
    cbx_json_set_string(o, "revision", cbx_revision());
    cbx_json_set(o, "items", list);
    return o;
}

static int run_parsed(const opt_program *program, const doctor_args *a, cbx_arena *arena)
{
    cbx_doctor_report report = { NULL, 0, 0, 0 };
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *ctx = NULL;
    int status = EXIT_PASS;

    if (cbx_ctx_create(NULL, &ctx, NULL)) return opt_fail(program, "out of memory");
    if (cbx_doctor_run(ctx, arena, stop_catch(), &report, &err))
        status = opt_fail(program, "%s", err.message);
    else if (a->json)
        status = print_json(program, report_json(&report));
    else
        print_report(&report);
    cbx_ctx_free(ctx);
    if (!status && report.broken)
        status = opt_fail(program, "%zu part%s that every measurement needs %s missing", report.broken,
                          report.broken == 1 ? "" : "s", report.broken == 1 ? "is" : "are");
    return status;
}

static int run_doctor(const opt_program *program, const opt_command *command, int argc, const char **argv)
{
    doctor_args args = { false };
    cbx_arena arena;
    opt_result parsed;
    int status = EXIT_ERROR;

    cbx_arena_init(&arena, cbx_allocator_default());
    parsed = opt_parse(program, command, argc, argv, &args, &arena, NULL);
    if (parsed == OPT_STOP) status = EXIT_PASS;
    if (parsed == OPT_GO) status = run_parsed(program, &args, &arena);
    cbx_arena_clear(&arena);
    return status;
}

const opt_command doctor_command = {
    "doctor",
    "[--json]",
    "what is here, what is missing, and the command that adds it",
    "Tells the machine, its clock, its measured rates, and which worker programs, libraries and frameworks it found, "
    "with the command that adds "
    "each missing one.",
    doctor_options,
    CBX_LEN(doctor_options),
    run_doctor,
};
