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
    PyObject *m = PyModule_Create(&namespace_def), *name;
    cx_namespace *n = m ? PyModule_GetState(m) : NULL;

    if (!m) return NULL;
    n->home = st;
    n->module = Py_NewRef(st->core);
    name = PyUnicode_FromString(full_name);
    if (!name || PyObject_SetAttrString(m, "__name__", name) < 0 || PyModule_AddFunctions(m, methods) < 0) Py_CLEAR(m);
    Py_XDECREF(name);
    return m;
}

PyObject *cx_add_namespace(cx_state *st, PyObject *parent, const char *name, PyMethodDef *const *tables, size_t n)
{
    PyObject *full = PyUnicode_FromFormat("calibrax_c.%s", name), *dotted = PyUnicode_FromFormat("%s.", name),
             *m = NULL;
    const char *text = full ? PyUnicode_AsUTF8AndSize(full, NULL) : NULL, *last = strrchr(name, '.');
    const char *prefix = dotted ? PyUnicode_AsUTF8AndSize(dotted, NULL) : NULL;
    PyObject *signatures = name[0] == '_' ? PyDict_New()
                                          : Py_NewRef(st->signatures); /* private ones are not published */
    bool fine = text && prefix && signatures;

    for (size_t i = 0; fine && i < n && tables[i]; i++) fine = cx_methods(tables[i], signatures, prefix) != NULL;
    fine = fine && (m = cx_namespace_new(st, text, tables[0]));
    for (size_t i = 1; fine && i < n && tables[i]; i++) fine = PyModule_AddFunctions(m, tables[i]) == 0;
    fine = fine && PyModule_AddObjectRef(parent, last ? last + 1 : name, m) == 0 &&
           PyDict_SetItem(PyImport_GetModuleDict(), full, m) == 0;

    Py_XDECREF(signatures);
    Py_XDECREF(dotted);
    Py_XDECREF(full);
    Py_XDECREF(m);
    return fine ? m : NULL; /* parent holds it */
}

/* ---- the module ---- */

static bool add_constants(PyObject *module)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = { { "e", CBX_E }, { "inf", (double)INFINITY }, { "nan", (double)NAN }, { "pi", CBX_PI } };

    for (size_t i = 0; i < CBX_LEN(numbers); i++) {
        PyObject *v = PyFloat_FromDouble(numbers[i].value);
        bool fine = v && PyModule_AddObjectRef(module, numbers[i].name, v) == 0;
        Py_XDECREF(v);
        if (!fine) return false;
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
    PyMethodDef *const arrays[] = { cx_dtype_methods,          cx_creation_methods,  cx_elementwise_methods,
                                    cx_reduction_methods,      cx_searching_methods, cx_scan_methods,
                                    cx_vector_product_methods, cx_set_methods,       cx_product_methods,
                                    cx_info_methods,           cx_device_methods,    cx_manipulation_methods,
                                    cx_dlpack_methods,         cx_file_methods,      cx_matrix_methods };
    PyMethodDef *const topics[] = { cx_ingest_methods, cx_run_methods, cx_launch_methods, cx_doctor_methods,
                                    cx_transform_methods };
    const struct {
        const char *name;
        PyMethodDef *tables[6]; /* the first NULL ends them */
    } namespaces[] = { { "array.linalg",
                         { cx_linalg_methods, cx_vector_methods, cx_product_methods, cx_vector_product_methods,
                           cx_matrix_methods } },
                       { "array.fft", { cx_fft_methods, cx_shift_methods } },
                       { "array.random", { cx_random_methods } },
                       { "array.semiring", { cx_semiring_methods } },
                       { "tree", { cx_tree_methods } },
                       { "_recording", { cx_recording_methods } },
                       { "_metrics", { cx_metric_methods, cx_metric_row_methods, cx_metric_collection_methods } },
                       { "statistics", { cx_statistics_methods, cx_hypothesis_methods, cx_resampling_methods } },
                       { "analysis", { cx_analysis_methods } },
                       { "ci", { cx_bisection_methods } },
                       { "profiling", { cx_profiling_methods, cx_machine_methods, cx_command_methods } },
                       { "monitoring", { cx_monitoring_methods } },
                       { "validation", { cx_validation_methods } },
                       { "exporters", { cx_exporter_methods } } };
    cx_state *st = raw_state(module);

    st->home = st;
    st->core = module;
    st->signatures = PyDict_New();
    if (!st->signatures || PyModule_AddObjectRef(module, "_signatures", st->signatures) < 0) return -1;
    st->arrays = Py_XNewRef(cx_add_namespace(st, module, "array", arrays, CBX_LEN(arrays)));
    if (!st->arrays || !cx_add_dtypes(st, st->arrays) || !cx_add_array_type(st, st->arrays) ||
        !add_constants(st->arrays) || PyModule_AddStringConstant(module, "__version__", cbx_version()) < 0 ||
        !cx_add_records(st, module) || !cx_add_answers(st) || !cx_add_objects(st) || !cx_add_tree_type(st) ||
        !cx_add_recorded_type(st) || !cx_add_jit_type(st, module) || !add_errors(st, module))
        return -1;
    for (size_t i = 0; i < CBX_LEN(topics); i++)
        if (!cx_methods(topics[i], st->signatures, "") || PyModule_AddFunctions(module, topics[i]) < 0) return -1;
    for (size_t i = 0; i < CBX_LEN(namespaces); i++) {
        PyObject *parent = strchr(namespaces[i].name, '.') ? st->arrays : module;
        if (!cx_add_namespace(st, parent, namespaces[i].name, namespaces[i].tables, CBX_LEN(namespaces[i].tables)))
            return -1;
    }
    return cx_place_types(st, module) ? 0 : -1;
}

/* Every reference that the state holds. */
#define EACH_OBJECT(X)                                                                                                 \
    X(arrays)                                                                                                          \
    X(signatures) X(array_type) X(dtype_type) X(tree_type) X(recorded_type) X(jit_type) X(nodes) X(concretization_error)
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
