/* The module calibrax_c: its state, constants, and the tables of functions. */
#include <math.h>
#include <string.h>

#include "python/objects.h"
#include "python/transforms.h"

static cx_state *raw_state(PyObject *module) { return PyModule_GetState(module); }
cx_state *cx_state_of(PyObject *module) { return raw_state(module)->home; }
cx_state *cx_state_of_instance(PyObject *self) { return PyType_GetModuleState(Py_TYPE(self)); }
cx_state *cx_state_of_type(PyObject *type) { return PyType_GetModuleState((PyTypeObject *)type); }

/* ---- namespaces inside the module ---- */

typedef struct cx_namespace {
    cx_state *home; /* as in cx_state */
    PyObject *module;
} cx_namespace;

static int namespace_traverse(PyObject *m, visitproc visit, void *arg)
{
    cx_namespace *n = PyModule_GetState(m);
    if (n) Py_VISIT(n->module);
    return 0;
}
static int namespace_clear(PyObject *m)
{
    cx_namespace *n = PyModule_GetState(m);
    if (n) Py_CLEAR(n->module);
    return 0;
}

static PyModuleDef namespace_def = {
    PyModuleDef_HEAD_INIT,          .m_name = "calibrax_c",
    .m_size = sizeof(cx_namespace), .m_traverse = namespace_traverse,
    .m_clear = namespace_clear,
};

PyObject *cx_namespace_new(cx_state *st, const char *full_name, PyMethodDef *methods)
{
    CX_OWN PyObject *name = PyUnicode_FromString(full_name);
    PyObject *m = name ? PyModule_Create(&namespace_def) : NULL;
    cx_namespace *n = m ? PyModule_GetState(m) : NULL;

    if (!m) return NULL;
    n->home = st;
    n->module = Py_NewRef(st->core);
    if (PyObject_SetAttrString(m, "__name__", name) < 0 || PyModule_AddFunctions(m, methods) < 0) Py_CLEAR(m);
    return m;
}

/* A table into a new namespace, which is put into its parent and among the modules; borrowed, NULL
 * with an exception. */
static PyObject *add_namespace(cx_state *st, const char *name, PyMethodDef *table)
{
    CX_OWN PyObject *full = PyUnicode_FromFormat("calibrax_c.%s", name);
    CX_OWN PyObject *m = full ? cx_namespace_new(st, PyUnicode_AsUTF8AndSize(full, NULL), table) : NULL;
    const char *last = strrchr(name, '.');
    const bool fine = m && PyModule_AddObjectRef(last ? st->arrays : st->core, last ? last + 1 : name, m) == 0 &&
                      PyDict_SetItem(PyImport_GetModuleDict(), full, m) == 0;

    if (fine && strcmp(name, "array") == 0) st->arrays = Py_NewRef(m);
    return fine ? m : NULL; /* the parent holds it */
}

static bool add_tables(cx_state *st)
{
#define TABLE(space, name) { space, cx_##name##_methods },
    static const struct {
        const char *space;
        PyMethodDef *table;
    } tables[] = { CX_TABLES(TABLE) };
    PyObject *space = NULL;

    for (size_t i = 0; i < CBX_LEN(tables); i++) {
        const char *name = tables[i].space;
        CX_OWN PyObject *prefix = PyUnicode_FromFormat(name[0] ? "%s." : "%s", name);
        CX_OWN PyObject *signatures = name[0] == '_' ? PyDict_New() /* private ones are not published */
                                                     : Py_NewRef(st->signatures);
        const bool again = i > 0 && strcmp(name, tables[i - 1].space) == 0;
        if (!prefix || !signatures || !cx_methods(tables[i].table, signatures, PyUnicode_AsUTF8AndSize(prefix, NULL)))
            return false;
        if (name[0] && !again && !(space = add_namespace(st, name, tables[i].table))) return false;
        if ((!name[0] || again) && PyModule_AddFunctions(name[0] ? space : st->core, tables[i].table) < 0) return false;
    }
    return true;
}

/* ---- the module ---- */

static bool add_constants(PyObject *module)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = { { "e", CBX_E }, { "inf", (double)INFINITY }, { "nan", (double)NAN }, { "pi", CBX_PI } };

    for (size_t i = 0; i < CBX_LEN(numbers); i++) {
        CX_OWN PyObject *v = PyFloat_FromDouble(numbers[i].value);
        if (!v || PyModule_AddObjectRef(module, numbers[i].name, v) < 0) return false;
    }
    return PyModule_AddObjectRef(module, "newaxis", Py_None) == 0 &&
           PyModule_AddStringConstant(module, "__array_api_version__", "2024.12") == 0;
}

static bool add_errors(cx_state *st, PyObject *module)
{
    st->concretization_error = PyErr_NewExceptionWithDoc(
        "calibrax_c.ConcretizationError",
        "The values of an array were needed while a function was traced: a branch, a number, an "
        "index, a NumPy array.",
        PyExc_TypeError, NULL);
    return st->concretization_error &&
           PyModule_AddObjectRef(module, "ConcretizationError", st->concretization_error) == 0;
}

static int module_exec(PyObject *module)
{
    cx_state *st = raw_state(module);

    st->home = st;
    st->core = module;
    st->signatures = PyDict_New();
    if (!st->signatures || PyModule_AddObjectRef(module, "_signatures", st->signatures) < 0) return -1;
    if (!add_tables(st) || !cx_add_dtypes(st, st->arrays) || !cx_add_array_type(st, st->arrays) ||
        !add_constants(st->arrays) || PyModule_AddStringConstant(module, "__version__", cbx_version()) < 0 ||
        !cx_add_records(st, module) || !cx_add_answers(st) || !cx_add_objects(st) || !(st->nodes = PyDict_New()) ||
        !cx_add_recorded_type(st) || !cx_add_jit_type(st, module) || !add_errors(st, module))
        return -1;
    return 0;
}

/* Every reference that the state holds. */
#define EACH_OBJECT(X)                                                                                                 \
    X(arrays)                                                                                                          \
    X(signatures) X(array_type) X(dtype_type) X(recorded_type) X(jit_type) X(nodes) X(concretization_error)
#define EACH_LIST(X)  X(dtypes) X(records) X(answers) X(objects)
#define VISIT(member) Py_VISIT(st->member);
#define CLEAR(member) Py_CLEAR(st->member);
#define VISIT_LIST(member)                                                                                             \
    for (size_t k = 0; k < CBX_LEN(st->member); k++) Py_VISIT(st->member[k]);
#define CLEAR_LIST(member)                                                                                             \
    for (size_t k = 0; k < CBX_LEN(st->member); k++) Py_CLEAR(st->member[k]);

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    cx_state *st = raw_state(module);

    EACH_OBJECT(VISIT)
    EACH_LIST(VISIT_LIST)
    return 0;
}

static int module_clear(PyObject *module)
{
    cx_state *st = raw_state(module);

    EACH_OBJECT(CLEAR)
    EACH_LIST(CLEAR_LIST)
    return 0;
}

static void module_free(void *module)
{
    cx_state *st = raw_state(module);

    cx_worker_free(st);
    module_clear(module);
    while (st->idle_count > 0) cbx_ctx_free(st->idle[--st->idle_count]);
}

static PyModuleDef_Slot slots[] = {
    { Py_mod_exec, (void *)module_exec },
    { 0, NULL },
};
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "calibrax_c._core",
    .m_doc = "Calibrax: arrays of the Python array API, with DLPack and the buffer protocol; runs of measurements, "
             "stores, checks, benchmarks; statistics, analysis, profiling, monitoring, validation.",
    .m_size = sizeof(cx_state),
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&definition); }
