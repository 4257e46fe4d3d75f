/*
 * calibrax doctor: the backends, devices and libraries that are available, and what is missing; doctor_machine.c is its other mode.
 *
 * It runs with a wrong environment, too, so that it can report what is wrong there; then its exit status is 2.
 */
#include "calibrax/array/doctor.h"

#include "calibrax/array/backend.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/doctor.h"
#include "programs/common/output.h"

#define AT(member) offsetof(doctor_args, member)

static const doctor_args doctor_defaults = { .gpu = -1 };

static const opt_spec doctor_options[] = {
    { "json", 0, OPT_FLAG, AT(json), NULL, NULL, "print one JSON document" },
    { "machine", 0, OPT_FLAG, AT(machine), NULL, NULL,
      "show this machine's fingerprint, and the facts that it is made of" },
    { "The machine, with --machine", 0, OPT_GROUP, 0, "machine", NULL,
      "Shows the fingerprint that runs of this machine carry, its CPU, caches, memory and accelerators. No host name, "
      "address, path or serial number is among the facts. A GPU that cannot be measured here is reported as skipped, "
      "with the reason." },
    { "root", 0, OPT_STRING, AT(root), "DIR", NULL, "a captured machine: a folder with its proc/ and sys/" },
    { "probe", 0, OPT_FLAG, AT(probe), NULL, NULL,
      "measure what one core can do: rates of its pipes, bandwidth of each cache, of memory and of each NUMA node" },
    { "refresh", 0, OPT_FLAG, AT(refresh), NULL, NULL, "measure again instead of reading what was measured before" },
    { "gpu", 0, OPT_INT, AT(gpu), "N", "none",
      "measure what this GPU of NVIDIA can do: rates of its units, bandwidth of L2 and memory, clocks meanwhile" },
    { "plot", 0, OPT_STRING, AT(plot), "FILE", NULL,
      "draw the roofs of that GPU; the name ends with .svg, .pdf or .png" },
    { "sheets", 0, OPT_FLAG, AT(sheets), NULL, NULL,
      "list the known data sheets of accelerators instead: rates, bandwidth, shapes of matrix units" },
};
static const opt_rule doctor_rules[] = {
    { "sheets", OPT_EXCLUDES, "probe root gpu" },
    { "refresh", OPT_NEEDS, "probe" },
    { "root", OPT_EXCLUDES, "probe gpu" },
    { "plot", OPT_NEEDS, "gpu" },
};

/* --- for programs: numbers as numbers --- */

static cbx_json *record_json(const void *record, const json_field *fields, size_t n)
{
    cbx_json *o = cbx_json_new_object();

    json_set_fields(o, record, fields, n);
    return o;
}

/* A list of n records that lie size bytes apart. */
static cbx_json *records_json(const void *first, size_t n, size_t size, const json_field *fields, size_t nfields)
{
    cbx_json *list = cbx_json_new_array();

    for (size_t i = 0; i < n; i++) cbx_json_push(list, record_json((const char *)first + i * size, fields, nfields));
    return list;
}

static cbx_json *settings_json(const cbx_settings *s)
{
    static const json_field fields[] = {
        JSON_FIELD(cbx_settings, TEXT, backend),
        JSON_FIELD(cbx_settings, BOOL, use_gpu),
        JSON_FIELD(cbx_settings, BOOL, gpu_fallback),
        JSON_FIELD(cbx_settings, DOUBLE, gpu_memory_fraction),
    };
    return record_json(s, fields, CBX_LEN(fields));
}

static cbx_json *device_json(cbx_ctx *ctx, const cbx_devices *d, const cbx_device *device)
{
    static const json_field cuda[] = {
        JSON_FIELD(cbx_device, INT, capability_major),
        JSON_FIELD(cbx_device, INT, capability_minor),
    };
    cbx_json *o = cbx_json_new_object();
    cbx_device_memory m;

    json_put(o, J_TEXT("kind", cbx_device_kind_name(device->kind)), J_INT("index", device->index),
             J_TEXT("name", device->name), J_INT("memory_total_bytes", device->memory_total_bytes));
    if (cbx_devices_memory(ctx, d, device, &m, NULL))
        cbx_json_set_null(o, "memory_available_bytes");
    else
        cbx_json_set_int(o, "memory_available_bytes", (int64_t)m.available_bytes);
    if (device->kind == CBX_DEVICE_CUDA) json_set_fields(o, device, cuda, CBX_LEN(cuda));
    return o;
}

static cbx_json *devices_json(cbx_ctx *ctx, const cbx_devices *d)
{
    cbx_json *list = cbx_json_new_array();

    for (size_t i = 0; i < cbx_devices_count(d); i++) cbx_json_push(list, device_json(ctx, d, cbx_devices_at(d, i)));
    return list;
}

static cbx_json *topology_json(const cbx_topology *t)
{
    static const json_field machine[] = {
        JSON_FIELD(cbx_topology, TEXT, source),        JSON_FIELD(cbx_topology, BOOL, this_machine),
        JSON_FIELD(cbx_topology, TEXT, cpu),           JSON_FIELD(cbx_topology, INT, packages),
        JSON_FIELD(cbx_topology, INT, cores),          JSON_FIELD(cbx_topology, INT, threads),
        JSON_FIELD(cbx_topology, INT, usable_threads), JSON_FIELD(cbx_topology, U64, memory_bytes),
    };
    static const json_field cache[] = {
        JSON_FIELD(cbx_topology_cache, INT, level), JSON_FIELD(cbx_topology_cache, TEXT, type),
        JSON_FIELD(cbx_topology_cache, U64, bytes), JSON_FIELD(cbx_topology_cache, INT, shared_by),
        JSON_FIELD(cbx_topology_cache, INT, count),
    };
    static const json_field node[] = {
        JSON_FIELD(cbx_topology_node, INT, index),
        JSON_FIELD(cbx_topology_node, INT, threads),
        JSON_FIELD(cbx_topology_node, U64, memory_bytes),
    };
    cbx_json *o = record_json(t, machine, CBX_LEN(machine));

    cbx_json_set(o, "caches", records_json(t->caches, t->ncaches, sizeof *t->caches, cache, CBX_LEN(cache)));
    cbx_json_set(o, "nodes", records_json(t->nodes, t->nnodes, sizeof *t->nodes, node, CBX_LEN(node)));
    return o;
}

static int run_doctor(const opt_run *run)
{
    const doctor_args *a = run->args;
    cbx_doctor_report r;
    cbx_devices *d = NULL;
    cbx_settings s;
    cbx_machine m;
    cbx_err err = CBX_ERR_INIT;
    int status = EXIT_PASS;

    if (a->machine) return doctor_machine(run);
    cbx_doctor_init(&r, run->arena);
    cbx_doctor_see_settings(&r, &s);
    cbx_doctor_see_backends(&r, &s);
    cbx_doctor_see_machine(run->ctx, &r, &m);
    if (cbx_devices_probe(run->ctx, NULL, &d, &err)) return opt_fail(run->program, "%s", err.message);
    cbx_doctor_see_devices(run->ctx, &r, d, &s);
    cbx_doctor_see_topology(&r, d);
    cbx_doctor_see_libraries(run->ctx, &r);
    if (cbx_doctor_check(&r, &err))
        status = opt_fail(run->program, "%s", err.message);
    else if (a->json) {
        const cbx_backend *b = NULL;
        const char *chosen = cbx_backend_choose(&s, &b, NULL) ? NULL : b->name;
        cbx_json *o = doctor_json(&r, "calibrax-doctor");

        if (o) {
            cbx_json_set(o, "settings", settings_json(&s));
            cbx_json_set_string(o, "backend", chosen);
            cbx_json_set(o, "devices", devices_json(run->ctx, d));
            cbx_json_set(o, "topology", topology_json(cbx_devices_topology(d)));
        }
        status = print_json(run->program, o);
    } else
        print_doctor(run->program, &r);
    cbx_devices_free(d);
    return status ? status : doctor_verdict(run->program, &r);
}

const opt_command doctor_command = {
    .name = "doctor",
    .synopsis = "[--machine [--probe | --gpu N | --sheets]] [--json]",
    .summary = "show backends, devices and libraries, what is missing, and this machine",
    .description = "Shows the settings and where each comes from, the backends and the one chosen, devices with their "
                   "memory, packages, cores and caches, and the libraries that are loaded on first use, with the "
                   "command that adds each missing one. Exit status 2 when a variable has an invalid value, or when "
                   "what the settings ask for is not available.",
    OPT_OPTIONS(doctor),
    .defaults = &doctor_defaults,
    .flags = OPT_ANY_ENVIRONMENT,
    .run = run_doctor,
    OPT_RULES(doctor),
};
