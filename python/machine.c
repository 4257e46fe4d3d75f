/* calibrax_c.profiling: what machines can do, how near a kernel comes to it, and what energy means in carbon. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "python/things.h"

/* ---- hardware ---- */

static PyObject *do_hardware(cx_call *c, cx_fn fn)
{
    cbx_err err = CBX_ERR_INIT;
    const char *name = NULL;
    cbx_hardware out;

    (void)fn;
    if (!cx_text_arg(c, 0, &name)) return NULL;
    return cx_answer(c, cbx_hardware_find(name ? name : "", &out, &err), &err, CX_HARDWARE, &out);
}

static PyObject *do_hardware_table(cx_call *c, cx_fn fn)
{
    PyObject *list = PyList_New(0), *tuple;
    cbx_hardware h;

    (void)fn;
    for (size_t i = 0; list && cbx_hardware_at(i, &h); i++) {
        PyObject *v = cx_answer_object(c->st, CX_HARDWARE, &h);
        if (!v || PyList_Append(list, v) < 0) Py_CLEAR(list);
        Py_XDECREF(v);
    }
    tuple = list ? PySequence_Tuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

static PyObject *do_detect_hardware(cx_call *c, cx_fn fn)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_hardware out;
    cbx_status status;
    size_t count = 0;

    (void)fn;
    if (!cx_begin(c)) return NULL;
    status = cbx_hardware_detect(c->ctx, NULL, &out, &count, &err);
    if (!cx_fine(c, status, &err)) return NULL;
    return Py_BuildValue("(Nn)", cx_answer_object(c->st, CX_HARDWARE, &out), (Py_ssize_t)count);
}

static bool read_machine(cx_call *c, cbx_machine *m)
{
    cbx_err err = CBX_ERR_INIT;
    return cx_begin(c) && cx_fine(c, cbx_machine_read(c->ctx, NULL, m, &err), &err);
}

static PyObject *do_cpu_hardware(cx_call *c, cx_fn fn)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_hardware out;
    double clock = 0;
    cbx_machine m;

    (void)fn;
    if (!cx_double_arg(c, 0, &clock) || !read_machine(c, &m)) return NULL;
    return cx_answer(c, cbx_hardware_of_cpu(&m, clock, &out, &err), &err, CX_HARDWARE, &out);
}

static PyObject *do_machine(cx_call *c, cx_fn fn)
{
    cbx_machine m;

    (void)fn;
    return read_machine(c, &m) ? cx_json_answer(cbx_machine_to_json(&m)) : NULL;
}

/* ---- roofs ---- */

static PyObject *do_roofs(cx_call *c, cx_fn fn)
{
    const char *type = "float64";
    cbx_err err = CBX_ERR_INIT;
    bool refresh = false;
    cbx_status status;
    size_t cores = 1;
    cbx_machine m;
    cbx_probe probe;
    cbx_roofs out;

    (void)fn;
    if (!cx_text_arg(c, 0, &type) || !cx_size_arg(c, 1, &cores) || !cx_bool_arg(c, 2, &refresh)) return NULL;
    c->elements = CX_UNLOCK_ELEMENTS; /* it may have to be measured */
    if (!cx_begin(c)) return NULL;
    status = cbx_machine_read(c->ctx, NULL, &m, &err);
    if (!status) status = cbx_probe_get(c->ctx, m.id, refresh, &probe, &err);
    if (!status) status = cbx_roofs_of_type(&probe, type, cores > INT32_MAX ? INT32_MAX : (int)cores, &out, &err);
    return cx_answer(c, status, &err, CX_ROOFS, &out);
}

static PyObject *do_roofs_of(cx_call *c, cx_fn fn)
{
    const char *words[CBX_RATE_COUNT], *name = "";
    int rate = CBX_RATE_F32;
    cbx_err err = CBX_ERR_INIT;
    cbx_status status;
    cbx_hardware h;
    cbx_roofs out;

    (void)fn;
    for (int i = 0; i < CBX_RATE_COUNT; i++) words[i] = cbx_rate_name((cbx_rate)i);
    if (!cx_text_arg(c, 0, &name) || !cx_word_arg(c, 1, words, CBX_LEN(words), &rate)) return NULL;
    status = cbx_hardware_find(name, &h, &err);
    if (!status) status = cbx_roofs_of_hardware(&h, (cbx_rate)rate, &out, &err);
    return cx_answer(c, status, &err, CX_ROOFS, &out);
}

/* Of a Roofs: (flop_per_s, ((name, bytes, bytes_per_s), ...), measured). */
static bool read_roofs(cx_call *c, PyObject *o, cbx_roofs *out)
{
    PyObject *levels = NULL;
    int measured = 0;
    Py_ssize_t n;

    *out = (cbx_roofs){ 0 };
    if (!PyTuple_Check(o) ||
        !PyArg_ParseTuple(o, "dO!p;roofline takes Roofs", &out->flop_per_s, &PyTuple_Type, &levels, &measured)) {
        if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "%s: 'roofs' has to be Roofs, not %R", c->name, o);
        return false;
    }
    out->measured = measured;
    n = PyTuple_Size(levels);
    if (n < 1 || n > CBX_PROBE_MAX_LEVELS) {
        PyErr_Format(PyExc_ValueError, "%s: roofs have 1 to %d levels, not %zd", c->name, CBX_PROBE_MAX_LEVELS, n);
        return false;
    }
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

static PyObject *do_roofline(cx_call *c, cx_fn fn)
{
    double flop = 0, bytes = 0, seconds = 0, set = 0;
    cx_roofline_answer a = { 0 };
    cbx_err err = CBX_ERR_INIT;
    cbx_roofline_hints hints;
    size_t last_axis = 0;
    cbx_roofs roofs;
    cbx_roofline r;

    (void)fn;
    if (!read_roofs(c, c->arg[0], &roofs) || !cx_double_arg(c, 1, &flop) || !cx_double_arg(c, 2, &bytes) ||
        !cx_double_arg(c, 3, &seconds) || !cx_double_arg(c, 4, &set) || !cx_size_arg(c, 5, &last_axis))
        return NULL;
    if (!cx_fine(c, cbx_roofline_place(&roofs, flop, bytes, seconds, set, &r, &err), &err)) return NULL;
    cbx_roofline_advise(&r, last_axis, &hints);
    a = (cx_roofline_answer){ .intensity = r.intensity,
                              .ridge = r.ridge,
                              .bound = r.bound,
                              .level = r.level->name,
                              .attainable_flop_per_s = r.attainable_flop_per_s,
                              .flop_per_s = r.flop_per_s,
                              .bytes_per_s = r.bytes_per_s,
                              .flop_share = r.flop_share,
                              .bytes_share = r.bytes_share,
                              .efficiency = r.efficiency,
                              .beyond_roof = r.beyond_roof,
                              .nhints = hints.n };
    memcpy(a.hint, hints.hint, sizeof a.hint);
    return cx_answer_object(c->st, CX_ROOFLINE, &a);
}

/* ---- carbon ---- */

static PyObject *do_carbon_intensity(cx_call *c, cx_fn fn)
{
    const char *country = NULL, *region = NULL;
    const cbx_carbon_intensity *out = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status status;

    (void)fn;
    if (!cx_text_arg(c, 0, &country) || !cx_text_arg(c, 1, &region)) return NULL;
    status = region ? cbx_carbon_find_region(country, region, &out, &err)
                    : cbx_carbon_find(country ? country : "", &out, &err);
    return cx_answer(c, status, &err, CX_CARBON_INTENSITY, out);
}

static PyObject *do_carbon_kg(cx_call *c, cx_fn fn)
{
    double joules = 0, intensity = 0, pue = 1;

    (void)fn;
    if (!cx_double_arg(c, 0, &joules) || !cx_double_arg(c, 1, &intensity) || !cx_double_arg(c, 2, &pue)) return NULL;
    return PyFloat_FromDouble(cbx_carbon_kg(joules, intensity, pue));
}

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

static PyObject *line_object(const cbx_emissions *line)
{
    PyObject *dict = PyDict_New();

    for (size_t i = 0; dict && i < CBX_LEN(columns); i++) {
        const void *at = (const char *)line + columns[i].at;
        PyObject *v = columns[i].text ? cx_text_or_none(*(const char *const *)at)
                                      : cx_number_or_none(*(const double *)at);
        if (!v || PyDict_SetItemString(dict, columns[i].name, v) < 0) Py_CLEAR(dict);
        Py_XDECREF(v);
    }
    return dict;
}

static PyObject *do_read_emissions(cx_call *c, cx_fn fn)
{
    const cbx_emissions *lines = NULL;
    PyObject *bytes = NULL, *r = NULL;
    cbx_err err = CBX_ERR_INIT;
    const char *path = NULL;
    cbx_arena arena;
    size_t n = 0;

    (void)fn;
    if (!cx_path_from(c->arg[0], &bytes, &path)) return NULL;
    cbx_arena_init(&arena, cbx_allocator_default());
    if (cx_begin(c) && cx_fine(c, cbx_emissions_read(c->ctx, path, &arena, &lines, &n, &err), &err)) r = PyList_New(0);
    for (size_t i = 0; r && i < n; i++) {
        PyObject *line = line_object(&lines[i]);
        if (!line || PyList_Append(r, line) < 0) Py_CLEAR(r);
        Py_XDECREF(line);
    }
    cbx_arena_clear(&arena);
    Py_DECREF(bytes);
    return r;
}

/* A dict as a line; text lives as long as the dict. */
static bool read_line(PyObject *dict, cbx_emissions *out)
{
    size_t used = 0;

    *out = cbx_emissions_empty();
    if (!PyDict_Check(dict))
        return PyErr_Format(PyExc_TypeError, "write_emissions: a line has to be a dict, not %R", dict) != NULL;
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

static PyObject *do_write_emissions(cx_call *c, cx_fn fn)
{
    PyObject *bytes = NULL, *tuple = PySequence_Tuple(c->arg[1]);
    size_t n = tuple ? (size_t)PyTuple_Size(tuple) : 0;
    cbx_emissions *lines = tuple ? PyMem_Calloc(n + 1, sizeof *lines) : NULL;
    cbx_err err = CBX_ERR_INIT;
    const char *path = NULL;
    bool fine = lines && cx_path_from(c->arg[0], &bytes, &path);

    (void)fn;
    if (tuple && !lines) PyErr_NoMemory();
    for (size_t i = 0; fine && i < n; i++) fine = read_line(PyTuple_GetItem(tuple, (Py_ssize_t)i), &lines[i]);
    fine = fine && cx_begin(c) && cx_fine(c, cbx_emissions_write(c->ctx, path, lines, n, &err), &err);
    PyMem_Free(lines);
    Py_XDECREF(bytes);
    Py_XDECREF(tuple);
    if (!fine) return NULL;
    Py_RETURN_NONE;
}

/* ---- traces of others ---- */

static PyObject *do_find_trace(cx_call *c, cx_fn fn)
{
    const char *path = NULL, *run_id = NULL;
    PyObject *bytes = NULL, *r = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_trace_link link;

    (void)fn;
    if (!cx_text_arg(c, 1, &run_id) || !cx_path_from(c->arg[0], &bytes, &path)) return NULL;
    if (cx_begin(c) && cx_fine(c, cbx_trace_find(c->ctx, path, &link, &err), &err)) {
        r = cx_json_answer(cbx_trace_link_json(&link, run_id));
        cbx_trace_link_clear(&link);
    }
    Py_DECREF(bytes);
    return r;
}

static PyObject *do_check_trace(cx_call *c, cx_fn fn)
{
    cbx_json *reference = cx_json_from(c->arg[0], "reference", NULL);
    cbx_err err = CBX_ERR_INIT;
    bool fine;

    (void)fn;
    if (!reference) return NULL;
    fine = cx_begin(c) && cx_fine(c, cbx_trace_link_check(c->ctx, reference, &err), &err);
    cbx_json_unref(reference);
    if (!fine) return NULL;
    Py_RETURN_NONE;
}

/* clang-format off */
#define MACHINE(X) \
    X(find_trace, "folder, run_id=None, /", do_find_trace, 0, "Traces that JAX, XLA, PyTorch or Perfetto wrote into a folder, as a dict for a run's metadata.") \
    X(check_trace, "reference, /", do_check_trace, 0, "Raises if what such a dict names is gone or holds something else.") \
    X(machine, "", do_machine, 0, "This machine, as a dict: processor, caches, memory, accelerators, fingerprint.") \
    X(hardware, "name, /", do_hardware, 0, "A device by its maker's sheet: 'h200', or as the driver names it.") \
    X(hardware_table, "", do_hardware_table, 0, "All devices of the table.") \
    X(detect_hardware, "", do_detect_hardware, 0, "What accelerates this machine, and how many of it.") \
    X(cpu_hardware, "clock_hz, /", do_cpu_hardware, 0, "This CPU by formula, at a clock that all cores hold.") \
    X(roofs, "type='float64', cores=1, refresh=False", do_roofs, 0, "Roofs of this machine, measured (0.2 s, kept in the user's cache).") \
    X(roofs_of, "name, rate='float32', /", do_roofs_of, 0, "Roofs of a device by its maker's sheet.") \
    X(roofline, "roofs, /, flop, bytes, seconds, working_set_bytes=0.0, last_axis=0", do_roofline, 0, "How near a call comes to the roofs, and what to try.") \
    X(carbon_intensity, "country=None, region=None, /", do_carbon_intensity, 0, "Grid intensity of a country, or of a region ('US-CA').") \
    X(carbon_kg, "joules, g_per_kwh, /, pue=1.0", do_carbon_kg, 0, "kg of CO2 equivalents.") \
    X(read_emissions, "path, /", do_read_emissions, 0, "Lines of codecarbon's emissions.csv, as dicts.") \
    X(write_emissions, "path, lines, /", do_write_emissions, 0, "Writes one, atomically.")
/* clang-format on */
CX_FUNCTIONS(cx_machine_methods, MACHINE)
