/* calibrax_c.profiling: what machines can do, how near a kernel comes to it, and what energy means
 * in carbon. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "python/objects.h"

/* ---- hardware ---- */

CX_RETURN(do_hardware, (const char *name = NULL; cbx_hardware out), CX_GET(c, name),
          cx_answer(c, cbx_hardware_find(name ? name : "", &out, &c->err), CX_HARDWARE, &out))

static PyObject *do_hardware_table(cx_call *c)
{
    cbx_hardware h;
    size_t n = 0;

    while (cbx_hardware_at(n, &h)) n++;
    return CX_TUPLE(n, (cbx_hardware_at(i, &h), cx_answer_object(c->st, CX_HARDWARE, &h)));
}

CX_RETURN(do_detect_hardware, (cbx_hardware out; size_t count = 0),
          cx_begin(c) && cx_fine(c, cbx_hardware_detect(c->ctx, NULL, &out, &count, &c->err)),
          Py_BuildValue("(Nn)", cx_answer_object(c->st, CX_HARDWARE, &out), (Py_ssize_t)count))

static bool read_machine(cx_call *c, cbx_machine *m)
{
    return cx_begin(c) && cx_fine(c, cbx_machine_read(c->ctx, NULL, m, &c->err));
}

CX_RETURN(do_cpu_hardware, (cbx_hardware out; double clock_hz = 0; cbx_machine m),
          CX_GET(c, clock_hz) && read_machine(c, &m),
          cx_answer(c, cbx_hardware_of_cpu(&m, clock_hz, &out, &c->err), CX_HARDWARE, &out))

CX_RETURN(do_machine, (cbx_machine m), read_machine(c, &m), cx_json_answer(cbx_machine_to_json(&m)))

/* ---- roofs ---- */

static PyObject *do_roofs(cx_call *c)
{
    const char *type = "float64";
    bool refresh = false;
    cbx_status status;
    size_t cores = 1;
    cbx_machine m;
    cbx_probe probe;
    cbx_roofs out;

    if (!CX_GET(c, type, cores, refresh)) return NULL;
    if (!cx_begin_long(c)) return NULL; /* it may have to be measured */
    status = cbx_machine_read(c->ctx, NULL, &m, &c->err);
    if (!status) status = cbx_probe_get(c->ctx, m.id, refresh, &probe, &c->err);
    if (!status) status = cbx_roofs_of_type(&probe, type, cores > INT32_MAX ? INT32_MAX : (int)cores, &out, &c->err);
    return cx_answer(c, status, CX_ROOFS, &out);
}

CX_RETURN(do_roofs_of, (const char *name; int rate; cbx_hardware h; cbx_roofs out),
          CX_GET(c, name, rate) && cx_fine(c, cbx_hardware_find(name, &h, &c->err)),
          cx_answer(c, cbx_roofs_of_hardware(&h, (cbx_rate)rate, &out, &c->err), CX_ROOFS, &out))

/* Of a Roofs: (flop_per_s, ((name, bytes, bytes_per_s), ...), measured). */
static bool read_roofs(cx_call *c, PyObject *o, cbx_roofs *out)
{
    PyObject *levels = NULL;
    int measured = 0;
    Py_ssize_t n;

    *out = (cbx_roofs){ 0 };
    if (!PyTuple_Check(o) ||
        !PyArg_ParseTuple(o, "dO!p;roofline takes Roofs", &out->flop_per_s, &PyTuple_Type, &levels, &measured)) {
        if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "%s: 'roofs' must be Roofs, got %R", c->name, o);
        return false;
    }
    out->measured = measured;
    n = PyTuple_Size(levels);
    if (n < 1 || n > CBX_PROBE_MAX_LEVELS)
        return cx_refused(PyExc_ValueError, "%s: roofs have 1 to %d levels, not %zd", c->name, CBX_PROBE_MAX_LEVELS, n);
    for (Py_ssize_t i = 0; i < n; i++) {
        cbx_roof_level *level = &out->level[out->nlevels++];
        const char *name = NULL;
        PyObject *item = PyTuple_GetItem(levels, i);
        if (!PyTuple_Check(item) ||
            !PyArg_ParseTuple(item, "sdd;a level of Roofs", &name, &level->bytes, &level->bytes_per_s))
            return PyErr_Occurred()
                       ? false
                       : PyErr_Format(PyExc_TypeError, "%s: %R is no level of Roofs", c->name, item) != NULL;
        snprintf(level->name, sizeof level->name, "%s", name);
    }
    return true;
}

CX_RETURN(do_roofline,
          (double flop = 0, bytes = 0, seconds = 0, working_set_bytes = 0; cx_roofline_answer a; size_t last_axis = 0;
           cbx_roofs roofs),
          read_roofs(c, cx_arg(c, "roofs"), &roofs) && CX_GET(c, flop, bytes, seconds, working_set_bytes, last_axis) &&
              cx_fine(c, cbx_roofline_place(&roofs, flop, bytes, seconds, working_set_bytes, &a.r, &c->err)),
          (cbx_roofline_advise(&a.r, last_axis, &a.hints), a.level = a.r.level->name,
           cx_answer_object(c->st, CX_ROOFLINE, &a)))

/* ---- carbon ---- */

CX_RETURN(do_carbon_intensity, (const char *country = NULL, *region = NULL; const cbx_carbon_intensity *out = NULL),
          CX_GET(c, country, region) && cx_fine(c, region ? cbx_carbon_find_region(country, region, &out, &c->err)
                                                          : cbx_carbon_find(country ? country : "", &out, &c->err)),
          cx_answer_object(c->st, CX_CARBON_INTENSITY, out))

CX_RETURN(do_carbon_kg, (double joules = 0, g_per_kwh = 0, pue = 1), CX_GET(c, joules, g_per_kwh, pue),
          PyFloat_FromDouble(cbx_carbon_kg(joules, g_per_kwh, pue)))

/* column, place in the struct */
typedef struct column {
    const char *name;
    bool text;
    size_t at;
} column;

#define TEXT_COLUMN(name)   { #name, true, offsetof(cbx_emissions, name) },
#define NUMBER_COLUMN(name) { #name, false, offsetof(cbx_emissions, name) },
#define COLUMN(kind, name)  kind##_COLUMN(name)
static const column columns[] = { CBX_EMISSIONS_MAP(COLUMN) };

static PyObject *field_object(const column *f, const cbx_emissions *line)
{
    const void *at = (const char *)line + f->at;
    return f->text ? cx_text_or_none(*(const char *const *)at) : cx_number_or_none(*(const double *)at);
}

static PyObject *line_object(const cbx_emissions *line)
{
    return CX_DICT(CBX_LEN(columns), columns[i].name, field_object(&columns[i], line));
}

CX_RETURN(do_read_emissions, (const cbx_emissions *lines = NULL; const char *path; size_t n = 0),
          CX_GET(c, path) && cx_begin(c) &&
              cx_fine(c, cbx_emissions_read(c->ctx, path, cx_arena(c), &lines, &n, &c->err)),
          CX_LIST(n, line_object(&lines[i])))

/* A dict as a line; text lives as long as the dict. */
static bool read_line(PyObject *dict, cbx_emissions *out)
{
    size_t used = 0;

    *out = cbx_emissions_empty();
    if (!PyDict_Check(dict)) return cx_refused(PyExc_TypeError, "write_emissions: 'lines' must be dicts, got %R", dict);
    for (size_t i = 0; i < CBX_LEN(columns); i++) {
        PyObject *v = PyDict_GetItemString(dict, columns[i].name);
        void *at = (char *)out + columns[i].at;
        used += v != NULL;
        if (!v || v == Py_None) continue;
        if (columns[i].text)
            *(const char **)at = cx_text_of(v, columns[i].name);
        else
            *(double *)at = PyFloat_AsDouble(v);
        if (PyErr_Occurred()) return false;
    }
    if (used < (size_t)PyDict_Size(dict))
        PyErr_Format(PyExc_ValueError, "write_emissions: no such column among %R", dict);
    return used == (size_t)PyDict_Size(dict);
}

static PyObject *do_write_emissions(cx_call *c)
{
    PyObject *tuple = PySequence_Tuple(cx_arg(c, "lines") ? cx_arg(c, "lines") : Py_None);
    size_t n = tuple ? (size_t)PyTuple_Size(tuple) : 0;
    cbx_emissions *lines = cx_keep_object(c, tuple) ? cx_alloc(c, n, sizeof *lines) : NULL;
    const char *path;

    if (!lines || !CX_GET(c, path)) return NULL;
    for (size_t i = 0; i < n; i++)
        if (!read_line(PyTuple_GetItem(tuple, (Py_ssize_t)i), &lines[i])) return NULL;
    return cx_begin(c) ? cx_none(c, cbx_emissions_write(c->ctx, path, lines, n, &c->err)) : NULL;
}

/* ---- traces of others ---- */

CX_RETURN(do_find_trace,
          (CX_ENDED_BY(cbx_trace_link_clear) cbx_trace_link link = { 0 }; const char *folder, *run_id = NULL),
          CX_GET(c, folder, run_id) && cx_begin(c) && cx_fine(c, cbx_trace_find(c->ctx, folder, &link, &c->err)),
          cx_json_answer(cbx_trace_link_json(&link, run_id)))

CX_RETURN(do_check_trace, (CX_OWN_JSON cbx_json *reference = cx_json_arg(c, "reference")),
          reference != NULL && cx_begin(c), cx_none(c, cbx_trace_link_check(c->ctx, reference, &c->err)))

/* clang-format off */
#define MACHINE(X) \
    X(find_trace, "folder: Path, run_id: str | None = None, /", "dict[str, Any]", do_find_trace, 0, "Traces that JAX, XLA, PyTorch or Perfetto wrote into a folder, as a dict for a run's metadata.\n\n>>> profiling.find_trace('traces')  # doctest: +SKIP") \
    X(check_trace, "reference: Mapping[str, Any], /", "None", do_check_trace, 0, "Raise an error if a trace of such a dict is missing or has other contents.\n\n>>> profiling.check_trace(profiling.find_trace('traces'))  # doctest: +SKIP") \
    X(machine, "", "dict[str, Any]", do_machine, 0, "This machine, as a dict: processor, caches, memory, accelerators, fingerprint.\n\n>>> 'cpu' in str(profiling.machine())\nTrue") \
    X(hardware, "name: str, /", "Hardware", do_hardware, 0, "Data sheet of a device: 'h200', or its name as the driver reports it.\n\n>>> profiling.hardware('h200').name\n'h200'") \
    X(hardware_table, "", "tuple[Hardware, ...]", do_hardware_table, 0, "All devices of the table.\n\n>>> len(profiling.hardware_table()) > 5\nTrue") \
    X(detect_hardware, "", "tuple[Hardware, int]", do_detect_hardware, 0, "The accelerator of this machine, and how many it has.\n\n>>> profiling.detect_hardware()  # doctest: +SKIP") \
    X(cpu_hardware, "clock_hz: float, /", "Hardware", do_cpu_hardware, 0, "Peak rates of this CPU by formula, at a clock that all cores hold.\n\n>>> profiling.cpu_hardware(2e9).simd_width > 0\nTrue") \
    X(roofs, "type: str = 'float64', cores: int = 1, refresh: bool = False", "Roofs", do_roofs, 0, "Roofs of this machine, measured (0.2 s, kept in the user's cache).\n\n>>> profiling.roofs().flop_per_s > 0\nTrue") \
    X(roofs_of, "name: str, rate: 'float64' | 'float32' | 'tfloat32' | 'bfloat16' | 'float8' = 'float32', /", "Roofs", do_roofs_of, 0, "Roofs of a device by its data sheet.\n\n>>> profiling.roofs_of('h200', 'bfloat16').measured\nFalse") \
    X(roofline, "roofs: Roofs, /, flop: float, bytes: float, seconds: float, working_set_bytes: float = 0.0, last_axis: int = 0", "Roofline", do_roofline, 0, "Performance of a call relative to the roofs, and what to try.\n\n>>> profiling.roofline(profiling.roofs_of('h200', 'bfloat16'), 1e12, 1e9, 2e-3).bound\n'compute'") \
    X(carbon_intensity, "country: str | None = None, region: str | None = None, /", "CarbonIntensity", do_carbon_intensity, 0, "Grid intensity of a country, or of a region ('US-CA').\n\n>>> profiling.carbon_intensity('FRA').country\n'FRA'") \
    X(carbon_kg, "joules: float, g_per_kwh: float, /, pue: float = 1.0", "float", do_carbon_kg, 0, "kg of CO2 equivalents.\n\n>>> profiling.carbon_kg(3.6e6, 100.0)\n0.1") \
    X(read_emissions, "path: Path, /", "list[dict[str, Any]]", do_read_emissions, 0, "Lines of codecarbon's emissions.csv, as dicts.\n\n>>> profiling.write_emissions(os.path.join(folder, 'f.csv'), [])\n>>> profiling.read_emissions(os.path.join(folder, 'f.csv'))\n[]") \
    X(write_emissions, "path: Path, lines: Iterable[Mapping[str, Any]], /", "None", do_write_emissions, 0, "Write lines as codecarbon's emissions.csv, atomically.\n\n>>> profiling.write_emissions(os.path.join(folder, 'e.csv'), [])")
/* clang-format on */
CX_FUNCTIONS(cx_machine_methods, MACHINE, LIGHT)
