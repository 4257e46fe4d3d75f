/**
 * The list of parts and how each is looked for; see doctor.h.
 */
#include "calibrax/perf/doctor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/base/library.h"
#include "calibrax/base/vcs.h"
#include "calibrax/core/machine.h"
#include "calibrax/perf/measure.h"
#include "calibrax/perf/schedule.h"
#include "calibrax/perf/tools.h"

#define IMPORT_LIMIT_S 60.0

typedef struct visit {
    cbx_ctx *ctx;
    cbx_arena *arena;
    const cbx_stop_flag *stop;
    cbx_doctor_report *out;
    cbx_machine machine;
    bool have_machine;
} visit;

const char *cbx_doctor_state_name(cbx_doctor_state s)
{
    static const char *const names[] = { "fact", "here", "missing", "broken" };
    return (unsigned)s < CBX_LEN(names) ? names[s] : "?";
}

/* The texts are copied; an item that cannot be kept shows as a NULL text, which the end checks. */
static void add(visit *v, const char *group, const char *name, cbx_doctor_state state, const char *text,
                const char *remedy)
{
    cbx_doctor_report *r = v->out;

    if (r->count == r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : 32;
        cbx_doctor_item *more = cbx_arena_calloc(v->arena, capacity, sizeof(*more));
        if (!more) return;
        if (r->count) memcpy(more, r->items, r->count * sizeof(*more));
        r->items = more;
        r->capacity = capacity;
    }
    r->items[r->count++] = (cbx_doctor_item){ group, name, state, cbx_arena_strdup(v->arena, text),
                                              remedy ? cbx_arena_strdup(v->arena, remedy) : NULL };
    r->broken += state == CBX_DOCTOR_BROKEN;
}

static void see_machine(visit *v)
{
    const cbx_machine *m = &v->machine;
    int cpus[1024];
    char text[256];
    size_t n;

    v->have_machine = !cbx_machine_read(v->ctx, NULL, &v->machine, NULL);
    if (!v->have_machine) {
        add(v, "machine", "cpu", CBX_DOCTOR_MISSING, "the kernel does not tell what CPU this is", NULL);
        return;
    }
    add(v, "machine", "fingerprint", CBX_DOCTOR_FACT, m->id, NULL);
    add(v, "machine", "cpu", CBX_DOCTOR_FACT, m->model_name, NULL);
    add(v, "machine", "instruction set", CBX_DOCTOR_FACT, cbx_machine_isa(), NULL);
    n = cbx__affinity(cpus, CBX_LEN(cpus));
    snprintf(text, sizeof(text), "%d cores, %d threads, %zu usable by this process", m->cores, m->threads, n);
    add(v, "machine", "cpus", CBX_DOCTOR_FACT, text, NULL);
    snprintf(text, sizeof(text), "%.1f GiB", (double)m->memory_bytes / 1073741824.0);
    add(v, "machine", "memory", CBX_DOCTOR_FACT, text, NULL);
    add(v, "machine", "huge pages", strcmp(m->huge_pages, "never") ? CBX_DOCTOR_FACT : CBX_DOCTOR_MISSING,
        m->huge_pages[0] ? m->huge_pages : "not told",
        strcmp(m->huge_pages, "never") ? NULL : "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
    if (m->governor[0]) add(v, "machine", "governor", CBX_DOCTOR_FACT, m->governor, NULL);
}

static void see_clock(visit *v)
{
    cbx_clock_facts c;
    char text[128];

    cbx_clock_measure(&c);
    snprintf(text, sizeof(text), "%.1f ns a reading, steps of %.0f ns", c.cost_ns, c.granule_ns);
    add(v, "clock", "monotonic", CBX_DOCTOR_FACT, text, NULL);
}

static void see_probe(visit *v)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_probe p;
    char text[128];

    if (cbx_probe_get(v->ctx, v->have_machine ? v->machine.id : "", false, &p, &err)) {
        add(v, "probe", "rates", CBX_DOCTOR_MISSING, err.message, NULL);
        return;
    }
    for (int i = 0; i < CBX_PIPE_COUNT; i++) {
        snprintf(text, sizeof(text), "%.1f G/s f32, %.1f G/s f64 (%s)", 1e-9 * p.pipe_ops_per_s[i][0],
                 1e-9 * p.pipe_ops_per_s[i][1], p.instruction_set);
        add(v, "probe", cbx_pipe_name((cbx_pipe)i), CBX_DOCTOR_FACT, text, NULL);
    }
    for (int i = 0; i < p.nlevels; i++) {
        const cbx_level_rate *l = &p.level[i];
        snprintf(text, sizeof(text), "read %.1f GB/s, copy %.1f GB/s, triad %.1f GB/s, streaming %.1f GB/s",
                 1e-9 * l->read_bytes_per_s, 1e-9 * l->copy_bytes_per_s, 1e-9 * l->triad_bytes_per_s,
                 1e-9 * l->triad_stream_bytes_per_s);
        add(v, "probe", cbx_arena_strdup(v->arena, l->name), CBX_DOCTOR_FACT, text, NULL);
    }
}

static void see_programs(visit *v)
{
    static const struct {
        cbx__tool tool;
        const char *name;
        bool needed;
    } tools[] = {
        { CBX__TOOL_LAUNCH, "launcher", true },
        { CBX__TOOL_WORKER, "native worker", true },
        { CBX__TOOL_PYTHON_WORKER, "Python worker", false },
    };

    for (size_t i = 0; i < CBX_LEN(tools); i++) {
        cbx_err err = CBX_ERR_INIT;
        const char *path = NULL;
        if (cbx__tool_find(tools[i].tool, v->arena, &path, &err)) {
            add(v, "programs", tools[i].name, tools[i].needed ? CBX_DOCTOR_BROKEN : CBX_DOCTOR_MISSING, err.message,
                "make build");
        } else {
            add(v, "programs", tools[i].name, CBX_DOCTOR_HERE, path, NULL);
        }
    }
}

static void see_libraries(visit *v)
{
    static const char *const openblas[] = { "libopenblas.so.0", "libopenblas.so", NULL };
    const cbx_library_spec spec = { openblas, "matrix products by OpenBLAS", "libopenblas0-pthread", NULL, 0 };
    cbx_library *lib = NULL;
    cbx_vcs_facts facts;
    cbx_err err = CBX_ERR_INIT;

    if (cbx_library_open(v->ctx, &spec, &lib, &err)) {
        add(v, "libraries", "OpenBLAS", CBX_DOCTOR_MISSING, err.message, "apt-get install libopenblas0-pthread");
    } else {
        add(v, "libraries", "OpenBLAS", CBX_DOCTOR_HERE, cbx_library_name(lib), NULL);
        cbx_library_close(lib);
    }
    if (cbx_vcs_read(v->ctx, "/", &facts, &err) == CBX_EUNAVAILABLE) {
        add(v, "libraries", "libgit2", CBX_DOCTOR_MISSING, err.message, "apt-get install libgit2-1.5");
    } else {
        add(v, "libraries", "libgit2", CBX_DOCTOR_HERE, "loads", NULL);
    }
}

/* --- frameworks --- */

static const char *module_of(const char *provider)
{
    static const struct {
        const char *provider, *module;
    } others[] = { { "pyg", "torch_geometric" }, { "sklearn", "sklearn" } };
    for (size_t i = 0; i < CBX_LEN(others); i++) {
        if (!strcmp(provider, others[i].provider)) return others[i].module;
    }
    return provider;
}

/* For sh: '...' with every quote taken out of it. */
static const char *quoted(cbx_arena *arena, const char *word)
{
    const char *result;
    cbx_text t;

    cbx_text_init(&t, &arena->al);
    cbx_text_putc(&t, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            cbx_text_puts(&t, "'\\''");
        else
            cbx_text_putc(&t, *word);
    }
    cbx_text_putc(&t, '\'');
    result = t.status ? NULL : cbx_arena_strdup(arena, cbx_text_str(&t));
    cbx_text_clear(&t);
    return result;
}

/* Imports a module in a child; its version is written to a file of ours and read back.  "" if it cannot be imported. */
static void import_version(visit *v, const char *python, const char *module, char *version, size_t size)
{
    cbx_command_opts o = { .struct_size = sizeof(o), .timeout_s = IMPORT_LIMIT_S, .stop = v->stop };
    const char *dir, *file, *command;
    cbx_command_record r;
    char *data = NULL;
    size_t len = 0;

    version[0] = 0;
    if (cbx_cache_dir(v->ctx, "doctor", v->arena, &dir, NULL)) return;
    file = cbx_arena_printf(v->arena, "%s/%s-%ld", dir, module, (long)getpid());
    if (!file || !quoted(v->arena, python) || !quoted(v->arena, file)) return;
    command = cbx_arena_printf(
        v->arena,
        "%s -c 'import %s as m; print(getattr(m, \"__version__\", \"of unknown version\"))' > %s 2> /dev/null",
        quoted(v->arena, python), module, quoted(v->arena, file));
    memset(&r, 0, sizeof(r));
    if (command && !cbx_command_run(v->ctx, command, &o, &r, NULL) && !r.failure && r.exit_code == 0 &&
        !cbx_file_read(v->ctx, file, 4096, &data, &len, NULL)) {
        snprintf(version, size, "%.*s", (int)strcspn(data, "\n"), data);
        cbx_mem_free(cbx_ctx_allocator(v->ctx), data, len + 1);
    }
    unlink(file);
}

static void see_framework(visit *v, const cbx_provider_ops *p)
{
    cbx_err err = CBX_ERR_INIT;
    const char *python = NULL, *origin = NULL, *module = module_of(p->name);
    char version[64], text[512];

    if (cbx_provider_interpreter(v->ctx, p->name, "cpu", v->arena, &python, &origin, &err)) {
        add(v, "frameworks", p->name, CBX_DOCTOR_MISSING, err.message, p->setup);
        return;
    }
    import_version(v, python, module, version, sizeof(version));
    if (version[0])
        snprintf(text, sizeof(text), "%s by %s (%s)", version, python, origin ? origin : "");
    else
        snprintf(text, sizeof(text), "%s (%s) cannot import '%s'", python, origin ? origin : "", module);
    add(v, "frameworks", p->name, version[0] ? CBX_DOCTOR_HERE : CBX_DOCTOR_MISSING, text,
        version[0] ? NULL : p->setup);
}

static void see_frameworks(visit *v)
{
    size_t n = 0;
    const cbx_provider_ops *const *all = cbx_providers(&n);

    for (size_t i = 0; i < n && !(v->stop && *v->stop); i++) {
        if (all[i]->python) see_framework(v, all[i]);
    }
}

static void see_devices(visit *v)
{
    for (int i = 0; i < v->machine.naccelerators && v->have_machine; i++) {
        add(v, "devices", "accelerator", CBX_DOCTOR_HERE, v->machine.accelerator[i], NULL);
    }
    if (cbx_platform_available("cuda12"))
        add(v, "devices", "cuda12", CBX_DOCTOR_HERE, "a CUDA device is here", NULL);
    else
        add(v, "devices", "cuda12", CBX_DOCTOR_MISSING, "no CUDA device; rows of platform cuda12 are skipped", NULL);
}

cbx_status cbx_doctor_run(cbx_ctx *ctx, cbx_arena *arena, const cbx_stop_flag *stop, cbx_doctor_report *out,
                          cbx_err *err)
{
    visit v = { .ctx = ctx, .arena = arena, .stop = stop, .out = out };

    see_machine(&v);
    see_clock(&v);
    see_probe(&v);
    see_programs(&v);
    see_libraries(&v);
    see_frameworks(&v);
    see_devices(&v);
    for (size_t i = 0; i < out->count; i++) {
        if (!out->items[i].text) return cbx_fail(err, CBX_ENOMEM, "out of memory for the doctor's report");
    }
    return out->count ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "out of memory for the doctor's report");
}
