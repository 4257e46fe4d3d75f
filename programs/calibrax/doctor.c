/*
 * calibrax doctor: with what would be computed here, and what is missing.
 *
 * It runs whatever the environment says, so that it can tell what is wrong there; then its exit status is 2.
 */
#include "calibrax/array/doctor.h"

#include "calibrax/array/backend.h"
#include "programs/calibrax/calibrax.h"
#include "programs/common/output.h"

typedef struct doctor_args {
    bool json;
} doctor_args;

static const opt_spec doctor_options[] = {
    { "json", 0, OPT_FLAG, offsetof(doctor_args, json), NULL, NULL, "print one JSON document" },
};

/* --- for programs: numbers as numbers --- */

static cbx_json *settings_json(const cbx_settings *s)
{
    cbx_json *o = cbx_json_new_object();

    cbx_json_set_string(o, "backend", s->backend);
    cbx_json_set_bool(o, "use_gpu", s->use_gpu);
    cbx_json_set_bool(o, "gpu_fallback", s->gpu_fallback);
    cbx_json_set_double(o, "gpu_memory_fraction", s->gpu_memory_fraction);
    return o;
}

static cbx_json *devices_json(cbx_ctx *ctx, const cbx_devices *d)
{
    cbx_json *list = cbx_json_new_array();

    for (size_t i = 0; i < cbx_devices_count(d); i++) {
        const cbx_device *device = cbx_devices_at(d, i);
        cbx_json *o = cbx_json_new_object();
        cbx_device_memory m;
        cbx_json_set_string(o, "kind", cbx_device_kind_name(device->kind));
        cbx_json_set_int(o, "index", device->index);
        cbx_json_set_string(o, "name", device->name);
        cbx_json_set_int(o, "memory_total_bytes", (int64_t)device->memory_total_bytes);
        if (cbx_devices_memory(ctx, d, device, &m, NULL))
            cbx_json_set_null(o, "memory_available_bytes");
        else
            cbx_json_set_int(o, "memory_available_bytes", (int64_t)m.available_bytes);
        if (device->kind == CBX_DEVICE_CUDA) {
            cbx_json_set_int(o, "capability_major", device->capability_major);
            cbx_json_set_int(o, "capability_minor", device->capability_minor);
        }
        cbx_json_push(list, o);
    }
    return list;
}

static cbx_json *caches_json(const cbx_topology *t)
{
    cbx_json *list = cbx_json_new_array();

    for (size_t i = 0; i < t->ncaches; i++) {
        cbx_json *o = cbx_json_new_object();
        cbx_json_set_int(o, "level", t->caches[i].level);
        cbx_json_set_string(o, "type", t->caches[i].type);
        cbx_json_set_int(o, "bytes", (int64_t)t->caches[i].bytes);
        cbx_json_set_int(o, "shared_by", t->caches[i].shared_by);
        cbx_json_set_int(o, "count", t->caches[i].count);
        cbx_json_push(list, o);
    }
    return list;
}

static cbx_json *topology_json(const cbx_topology *t)
{
    cbx_json *o = cbx_json_new_object(), *nodes = cbx_json_new_array();

    cbx_json_set_string(o, "source", t->source);
    cbx_json_set_bool(o, "this_machine", t->this_machine);
    cbx_json_set_string(o, "cpu", t->cpu);
    cbx_json_set_int(o, "packages", t->packages);
    cbx_json_set_int(o, "cores", t->cores);
    cbx_json_set_int(o, "threads", t->threads);
    cbx_json_set_int(o, "usable_threads", t->usable_threads);
    cbx_json_set_int(o, "memory_bytes", (int64_t)t->memory_bytes);
    cbx_json_set(o, "caches", caches_json(t));
    for (size_t i = 0; i < t->nnodes; i++) {
        cbx_json *n = cbx_json_new_object();
        cbx_json_set_int(n, "index", t->nodes[i].index);
        cbx_json_set_int(n, "threads", t->nodes[i].threads);
        cbx_json_set_int(n, "memory_bytes", (int64_t)t->nodes[i].memory_bytes);
        cbx_json_push(nodes, n);
    }
    cbx_json_set(o, "nodes", nodes);
    return o;
}

static int show_json(const opt_run *run, const cbx_doctor_report *r, const cbx_devices *d, const cbx_settings *s)
{
    const cbx_backend *b = NULL;
    const char *chosen = cbx_backend_choose(s, &b, NULL) ? NULL : b->name;
    cbx_json *o = doctor_json(r, "calibrax-doctor");

    if (o) {
        cbx_json_set(o, "settings", settings_json(s));
        cbx_json_set_string(o, "backend", chosen);
        cbx_json_set(o, "devices", devices_json(run->ctx, d));
        cbx_json_set(o, "topology", topology_json(cbx_devices_topology(d)));
    }
    return print_json(run->program, o);
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
    else if (a->json)
        status = show_json(run, &r, d, &s);
    else
        print_doctor(run->program, &r);
    cbx_devices_free(d);
    return status ? status : doctor_verdict(run->program, &r);
}

const opt_command doctor_command = {
    "doctor",
    "[--json]",
    "with what would be computed here, and what is missing",
    "Tells the settings and where each comes from, the backends and the one chosen, devices with their memory, "
    "packages, "
    "cores and caches, and the libraries that are loaded on first use, with the command that adds each missing one. "
    "Exit "
    "status 2 when a variable says what it may not, or when what the settings ask for cannot be had.",
    doctor_options,
    CBX_LEN(doctor_options),
    sizeof(doctor_args),
    NULL,
    OPT_ANY_ENVIRONMENT,
    run_doctor,
};
