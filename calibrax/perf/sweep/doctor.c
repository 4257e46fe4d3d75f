/**
 * The parts that only nperf needs and how each is looked for; the others are core's and the array
 * engine's.
 */
#include "calibrax/perf/sweep/doctor.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/array/doctor.h"
#include "calibrax/base/file.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/process.h"
#include "calibrax/base/programs.h"
#include "calibrax/base/settings.h"
#include "calibrax/perf/launch/memory_group.h"
#include "calibrax/perf/launch/sandbox.h"
#include "calibrax/perf/schedule/dispatch.h"

#define IMPORT_LIMIT_S 60.0

typedef struct visit {
    cbx_ctx *ctx;
    cbx_arena *arena; /* the report's */
    const cbx_stop_flag *stop;
    cbx_doctor_report *out;
    cbx_machine machine;
    bool have_machine;
} visit;

/* Each part that can be had, and what it costs where one cannot. */
static void see_sandbox(visit *v)
{
    cbx_sandbox_facts f;
    cbx_err err = CBX_ERR_INIT;

    if (cbx_sandbox_probe(v->ctx, &f, &err)) {
        cbx_doctor_add(v->out, "sandbox", "launcher", CBX_DOCTOR_MISSING, err.message, "make build");
        return;
    }
#define SEE_PART(member, word, lack, remedy)                                                                           \
    if (f.member)                                                                                                      \
        cbx_doctor_add(v->out, "sandbox", word, CBX_DOCTOR_HERE, "in force in workers", NULL);                         \
    else                                                                                                               \
        cbx_doctor_add(v->out, "sandbox", word, CBX_DOCTOR_MISSING, lack, remedy);
    CBX_SANDBOX_PARTS(SEE_PART)
#undef SEE_PART
    cbx_doctor_fact(v->out, "sandbox", "landlock", f.landlock ? "version %d" : "none", f.landlock);
}

static void see_programs(visit *v)
{
    static const struct {
        cbx__tool tool;
        const char *name;
        cbx_doctor_state without;
    } tools[] = {
        { CBX__TOOL_LAUNCH, "launcher", CBX_DOCTOR_BROKEN },
        { CBX__TOOL_WORKER, "native worker", CBX_DOCTOR_BROKEN },
        { CBX__TOOL_PYTHON_WORKER, "Python worker", CBX_DOCTOR_MISSING },
    };

    for (size_t i = 0; i < CBX_LEN(tools); i++) {
        cbx_err err = CBX_ERR_INIT;
        const char *path = NULL;
        if (cbx__tool_find(tools[i].tool, v->arena, &path, &err))
            cbx_doctor_add(v->out, "programs", tools[i].name, tools[i].without, err.message, "make build");
        else
            cbx_doctor_add(v->out, "programs", tools[i].name, CBX_DOCTOR_HERE, path, NULL);
    }
}

/* --- frameworks --- */

/* Each is imported in a child, which prints its version. */
static void see_frameworks(visit *v)
{
    size_t n = 0;
    const cbx_provider_ops *const *all = cbx_providers(&n);

    for (size_t i = 0; i < n && !(v->stop && *v->stop); i++) {
        const cbx_provider_ops *p = all[i];
        const char *module = strcmp(p->name, "pyg") ? p->name : "torch_geometric";
        const char *python = NULL, *origin = NULL;
        const char *code = cbx_arena_printf(
            v->arena, "import %s as m; print(getattr(m, '__version__', 'of unknown version'))", module);
        cbx_command_opts o = { .struct_size = sizeof(o), .timeout_s = IMPORT_LIMIT_S, .stop = v->stop };
        cbx_command_record r = { 0 };
        cbx_err err = CBX_ERR_INIT;
        if (!p->python) continue;
        CBX_SCOPED(cbx_text, version, cbx_ctx_allocator(v->ctx));
        if (cbx_provider_interpreter(v->ctx, p->name, "cpu", v->arena, &python, &origin, &err)) {
            cbx_doctor_add(v->out, "frameworks", p->name, CBX_DOCTOR_MISSING, err.message, p->setup);
            continue;
        }
        const char *const program[] = { python, "-c", code, NULL };
        o.program = program;
        if (code && !cbx__memory_file("version", &o.output, NULL)) {
            if (!cbx_command_run(v->ctx, module, &o, &r, NULL) && !r.failure && r.exit_code == 0)
                cbx__memory_file_text(o.output, "version", 4096, &version, NULL);
            close(o.output);
        }
        const char *reported = cbx_text_str(&version);
        const bool here = reported[0] && reported[0] != '\n';
        const char *text = here ? cbx_arena_printf(v->arena, "%.*s by %s (%s)", (int)strcspn(reported, "\n"), reported,
                                                   python, origin)
                                : cbx_arena_printf(v->arena, "%s (%s) cannot import '%s'", python, origin, module);
        cbx_doctor_add(v->out, "frameworks", p->name, here ? CBX_DOCTOR_HERE : CBX_DOCTOR_MISSING, text,
                       here ? NULL : p->setup);
    }
}

/* --- scheduling --- */

static void see_locks(visit *v)
{
    const char *const *names = NULL;
    const char *dir = NULL;
    cbx_err err = CBX_ERR_INIT;
    size_t n = 0;

    if (cbx_lock_dir(v->ctx, v->arena, &dir, &err)) {
        cbx_doctor_missing(v->out, "scheduling", "locks", &err,
                           "set CALIBRAX_LOCK_DIR to a folder that all users share");
        return;
    }
    cbx_doctor_add(v->out, "scheduling", "locks", CBX_DOCTOR_HERE, dir, NULL);
    if (cbx_dir_list(v->ctx, dir, ".lock", v->arena, &names, &n, NULL)) return;
    for (size_t i = 0; i < n; i++) {
        const char *path = cbx_path_join(v->arena, dir, names[i]);
        const pid_t holder = path ? cbx_lock_holder(path) : 0;
        if (holder > 0) cbx_doctor_fact(v->out, "scheduling", "held", "%s, by process %d", names[i], (int)holder);
    }
}

static void see_memory_groups(visit *v)
{
    char base[CBX__GROUP_PATH], why[160], text[256];
    uint64_t total, available;

    if (cbx__memory_group_base("", base, why)) {
        cbx_doctor_add(v->out, "scheduling", "control groups", CBX_DOCTOR_HERE,
                       "each worker gets one, which holds its memory limit", NULL);
    } else {
        snprintf(text, sizeof(text), "%s; memory limits are held by looking, and by RLIMIT_DATA", why);
        cbx_doctor_add(v->out, "scheduling", "control groups", CBX_DOCTOR_MISSING, text,
                       "systemd-run --user --scope -p Delegate=yes nperf ...");
    }
    if (!cbx_machine_read_memory(v->ctx, NULL, &total, &available, NULL))
        cbx_doctor_fact(v->out, "scheduling", "free memory", "%.1f GB of %.1f GB", 1e-9 * (double)available,
                        1e-9 * (double)total);
}

cbx_status cbx_doctor_run(cbx_ctx *ctx, const cbx_stop_flag *stop, cbx_doctor_report *report, cbx_err *err)
{
    visit v = { .ctx = ctx, .arena = report->arena, .stop = stop, .out = report };
    cbx_settings settings;

    v.have_machine = cbx_doctor_see_machine(ctx, report, &v.machine);
    cbx_doctor_see_clock(report);
    cbx_doctor_see_probe(ctx, report, v.have_machine ? v.machine.id : "");
    cbx_doctor_see_settings(report, &settings);
    see_programs(&v);
    see_sandbox(&v);
    cbx_doctor_see_libraries(ctx, report);
    see_frameworks(&v);
    cbx__accelerators all;
    char name[32], text[CBX_ERR_MESSAGE_SIZE + 80];
    for (int i = 0; i < v.machine.naccelerators && v.have_machine; i++)
        cbx_doctor_add(v.out, "devices", "accelerator", CBX_DOCTOR_HERE, v.machine.accelerator[i], NULL);
    cbx__accelerators_find(v.ctx, "cuda12", &all);
    for (const cbx__accelerator *d = all.list; d < all.list + all.n; d++) {
        snprintf(name, sizeof(name), "cuda12 device %u", d->number);
        snprintf(text, sizeof(text), d->node >= 0 ? "%s, on memory node %d" : "%s", d->name, d->node);
        cbx_doctor_add(v.out, "devices", name, CBX_DOCTOR_HERE, text, NULL);
    }
    if (all.n == 0) {
        snprintf(text, sizeof(text), "no CUDA device (%s); rows of platform cuda12 are skipped", all.why);
        cbx_doctor_add(v.out, "devices", "cuda12", CBX_DOCTOR_MISSING, text, NULL);
    }
    cbx__topology t;
    int cpus[CBX__MAX_CPUS];
    cbx__topology_read(NULL, cpus, cbx__affinity(cpus, CBX_LEN(cpus)), &t);
    cbx_doctor_fact(v.out, "scheduling", "cores", "%zu CPUs on %zu cores may be used, which allow %zu slots", t.ncpus,
                    t.ncores, t.ncores);
    cbx_doctor_fact(v.out, "scheduling", "SMT",
                    t.smt ? "cores have several CPUs; no two slots share a core" : "a core has one CPU");
    cbx_doctor_fact(v.out, "scheduling", "NUMA", "%zu memory node%s", t.nnodes, t.nnodes == 1 ? "" : "s");
    see_locks(&v);
    see_memory_groups(&v);
    return cbx_doctor_check(report, err);
}
