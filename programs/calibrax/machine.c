/*
 * calibrax machine: the fingerprint that runs of this machine carry, and what it is made of.
 */
#include "calibrax/core/machine.h"

#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"

typedef struct machine_args {
    bool json;
    const char *root;
} machine_args;

static const opt_spec machine_options[] = {
    { "root", 0, OPT_STRING, offsetof(machine_args, root), "DIR", NULL,
      "a captured machine: a folder with its proc/ and sys/" },
    { "json", 0, OPT_FLAG, offsetof(machine_args, json), NULL, NULL, "print one JSON document" },
};

static void show(const cbx_machine *m)
{
    printf("Machine: %s\n  CPU: %s\n", m->id, m->model_name);
    printf("  Sockets: %d, cores: %d, threads: %d, NUMA nodes: %d\n", m->sockets, m->cores, m->threads, m->numa_nodes);
    printf("  Memory: %.1f GiB\n", (double)m->memory_bytes / 0x1p30);
    for (int i = 0; i < m->ncaches; i++)
        printf("  L%d %s: %llu KiB, shared by %d\n", m->cache[i].level, m->cache[i].type,
               (unsigned long long)(m->cache[i].bytes >> 10), m->cache[i].shared_by);
    for (int i = 0; i < m->naccelerators; i++) printf("  Accelerator: %s\n", m->accelerator[i]);
    printf("  Features: %s\n", m->features);
    if (m->governor[0]) printf("  Governor: %s\n", m->governor);
    if (m->huge_pages[0]) printf("  Huge pages: %s\n", m->huge_pages);
}

static int run_machine_command(const opt_run *run)
{
    const machine_args *a = run->args;
    cbx_machine m;
    cbx_err err = CBX_ERR_INIT;
    cbx_json *o;

    if (cbx_machine_read(run->ctx, a->root, &m, &err)) return opt_fail(run->program, "%s", err.message);
    if (!a->json) {
        show(&m);
        return EXIT_PASS;
    }
    o = new_document("calibrax-machine");
    cbx_json_set_string(o, "id", m.id);
    cbx_json_set(o, "machine", cbx_machine_to_json(&m));
    return print_json(run->program, o);
}

const opt_command machine_command = {
    "machine",
    "[--json]",
    "this machine's fingerprint, and what it is made of",
    "Tells the fingerprint by which runs of machines are kept apart, and the facts that it is made of. No host name, "
    "address, path or serial number is among them.",
    machine_options,
    CBX_LEN(machine_options),
    sizeof(machine_args),
    NULL,
    0,
    run_machine_command,
};
