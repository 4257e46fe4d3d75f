/* Metrics of the user, for _metric_register.py: rows whose code is Python functions. */
#include <string.h>

#include "python/metrics.h"

/* The code of a row: functions that run Python (_recording.rule). */
typedef struct python_row {
    cbx_metric_function row; /* first: its code finds the rest from it */
    PyObject *texts;         /* what the strings of the row are parts of */
    cbx_fn *code, *merge, *finish;
} python_row;

static void row_free(PyObject *capsule)
{
    python_row *r = PyCapsule_GetPointer(capsule, CX_ROW_NAME);

    Py_XDECREF(r->texts);
    cbx_fn_free(r->code);
    cbx_fn_free(r->merge);
    cbx_fn_free(r->finish);
    PyMem_Free(r);
}

static const python_row *code_of(const cbx_metric_call *call) { return (const python_row *)call->metric; }

/*
 * f of n arrays and, where the row has parameters, a vector of them, whose values Python reads in a
 * trace, too.  An array that is left out is one of the shape (0, 0, 0), which _metric_register.py
 * makes None.
 */
static cbx_array *run_python(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_fn *f, size_t n, cbx_array *const *in)
{
    const size_t count = cbx_metric_parameters(call->metric);
    const cbx_array_desc d = { .dtype = CBX_F64, .ndim = 1, .shape = { count } };
    cbx_array *all[CBX_METRIC_MAX_OPERANDS + 2], *out = NULL;

    for (size_t i = 0; i < n; i++) all[i] = in[i] ? in[i] : cbx_zeros(ctx, 3, (size_t[]){ 0, 0, 0 }, CBX_F64);
    if (count) all[n++] = cbx_asarray(ctx, &d, call->parameters);
    cbx_fn_call(ctx, f, n, all, 1, &out);
    return out;
}

static cbx_array *python_code(cbx_ctx *ctx, const cbx_metric_call *call)
{
    cbx_array *in[CBX_METRIC_MAX_OPERANDS + 1];
    size_t n = cbx_metric_operands(call->metric);

    memcpy(in, call->in, n * sizeof *in);
    if (call->metric->flags & CBX_METRIC_WEIGHTED) in[n++] = (cbx_array *)(uintptr_t)call->weights;
    return run_python(ctx, call, code_of(call)->code, n, in);
}

static cbx_array *python_merge(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *a, const cbx_array *b)
{
    return run_python(ctx, call, code_of(call)->merge, 2,
                      (cbx_array *[]){ (cbx_array *)(uintptr_t)a, (cbx_array *)(uintptr_t)b });
}

static cbx_array *python_finish(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *state)
{
    return run_python(ctx, call, code_of(call)->finish, 1, (cbx_array *[]){ (cbx_array *)(uintptr_t)state });
}

/* A string of the row, which lives as long as its texts; NULL for None, or with an exception. */
static const char *text_of(PyObject *o) { return o && o != Py_None ? PyUnicode_AsUTF8AndSize(o, NULL) : NULL; }

/* The length of a list of at most limit; -1 with an exception. */
static Py_ssize_t length_of(PyObject *list, int limit, const char *what)
{
    const Py_ssize_t n = PyList_Size(list);

    return n <= limit ? n : (PyErr_Format(PyExc_ValueError, "a metric has at most %d %s", limit, what), -1);
}

/* Operands: name, the number of the kind, whether it is optional, the number of the items. */
static bool read_row_operands(PyObject *list, cbx_metric_function *row)
{
    const Py_ssize_t n = length_of(list, CBX_METRIC_MAX_OPERANDS, "operands");
    int kind, optional, items;

    for (Py_ssize_t i = 0; i < n; i++) {
        cbx_metric_operand *o = &row->operands[i];
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "zipi", &o->name, &kind, &optional, &items)) return false;
        o->kind = (cbx_operand_kind)kind;
        o->optional = optional;
        o->items = (cbx_operand_items)items;
    }
    return n >= 0;
}

/* Parameters: as parameters_list makes them, with the number of the type. */
static bool read_row_parameters(PyObject *list, cbx_metric_function *row)
{
    const Py_ssize_t n = length_of(list, CBX_METRIC_MAX_PARAMETERS, "parameters");
    int type;

    for (Py_ssize_t i = 0; i < n; i++) {
        cbx_metric_parameter *p = &row->parameters[i];
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "zzidddz", &p->name, &p->help, &type, &p->value, &p->low,
                              &p->high, &p->words))
            return false;
        p->type = (cbx_parameter_type)type;
    }
    return n >= 0;
}

static bool read_row(cx_call *c, python_row *r)
{
    cbx_metric_function *row = &r->row;
    unsigned direction, shapes, tier;
    const struct {
        const char *key, **text;
    } texts[] = { { "name", &row->name },       { "domain", &row->domain },    { "summary", &row->summary },
                  { "formula", &row->formula }, { "notes", &row->notes },      { "source", &row->source },
                  { "example", &row->example }, { "function", &row->function } };

    for (size_t i = 0; i < CBX_LEN(texts); i++)
        *texts[i].text = text_of(PyDict_GetItemString(cx_arg(c, "texts"), texts[i].key));
    if (PyErr_Occurred() || !read_row_operands(cx_arg(c, "operands"), row) ||
        !read_row_parameters(cx_arg(c, "parameters"), row) ||
        !CX_GET(c, direction, shapes, tier, row->low, row->high, row->axioms, row->invariances, row->flags))
        return false;
    row->direction = (cbx_direction)direction;
    row->shapes = (cbx_metric_shapes)shapes;
    row->tier = (cbx_metric_tier)tier;
    return true;
}

/* Keeps a function of Python, unless it is None. */
static cbx_status keep(cx_call *c, cbx_ctx *ctx, PyObject *f, cbx_fn **out)
{
    return f == Py_None ? CBX_OK : cbx_fn_keep(ctx, ((cx_recorded *)f)->fn, out, &c->err);
}

/* define(texts, operands, parameters, form, code, merge, finish, ...) */
static PyObject *do_define(cx_call *c)
{
    static uintptr_t
        made; /* rows may follow each other at one address, and compiled calls are found by it and by this number */
    python_row *r = PyMem_Calloc(1, sizeof *r);
    CX_OWN PyObject *capsule = r ? PyCapsule_New(r, CX_ROW_NAME, row_free) : PyErr_NoMemory();
    unsigned form;
    cbx_ctx *ctx = NULL;
    cbx_status st;

    c->name = "register";
    if (!capsule) return PyMem_Free(r), NULL;
    r->texts = PyTuple_Pack(3, cx_arg(c, "texts"), cx_arg(c, "operands"), cx_arg(c, "parameters"));
    r->row.user = (void *)++made;
    if (!r->texts || !read_row(c, r) || !CX_GET(c, form) || !(ctx = cx_ctx_borrow(c->st))) return NULL;
    /* code that is not declared to be traceable may read values, with NumPy for example */
    if (!(r->row.flags & CBX_METRIC_DIFFERENTIABLE)) r->row.flags |= CBX_METRIC_EAGER;
    *(form == 0 ? &r->row.items : form == 1 ? &r->row.parts : &r->row.whole) = python_code;
    st = keep(c, ctx, cx_arg(c, "code"), &r->code);
    if (!st) st = keep(c, ctx, cx_arg(c, "merge"), &r->merge);
    if (!st) st = keep(c, ctx, cx_arg(c, "finish"), &r->finish);
    if (r->merge) r->row.merge = python_merge;
    if (r->finish) r->row.finish = python_finish;
    if (!st) st = cbx_metric_row_check(&r->row, &c->err);
    cx_ctx_return(c->st, ctx);
    c->function = NULL;
    return cx_fine(c, st) ? Py_NewRef(capsule) : NULL;
}

/* row(metric): what table has of all */
CX_RETURN(do_row, (const cbx_metric_function *m = cx_metric_row(c)), m, cx_metric_dict(m))

/* check(metric, parameters, function, draws, seed) */
static PyObject *do_check(cx_call *c)
{
    const cbx_metric_function *m;
    cx_metric_arguments a;
    size_t draws = 0, seed = 0;

    c->name = "check_axioms";
    if (!CX_GET(c, draws, seed) || !cx_metric_read(c, &a) || !(m = cx_metric_row(c))) return NULL;
    CX_CONTEXT(ctx, c->st);
    c->function = NULL;
    return ctx ? cx_none(c, cbx_metric_check_properties(ctx, m, &a.options, draws, seed, &c->err)) : NULL;
}

/* clang-format off */
#define ROWS(X) \
    X(define, "texts: dict[str, str | None], operands: list[tuple[str, int, bool, int]], parameters: list[tuple[str, str, int, float, float, float, str | None]], form: 'items' | 'parts' | 'whole', " \
      "code: object, merge: object | None, finish: object | None, direction: 'higher' | 'lower' | 'info', shapes: 'same' | 'length' | 'rows' | 'free', " \
      "tier: 'pure_function' | 'frozen_backbone' | 'learned' | 'metric_learning', low: float, high: float, axioms: int, invariances: int, flags: int", "object", do_define, 0, "A row of Python functions.") \
    X(row, "metric: object", "dict[str, Any]", do_row, 0, "A row as table has it.") \
    X(check, "metric: object, " CX_METRIC_PARAMETERS ", function: object | None, draws: int, seed: int", "None", do_check, 0, "Tries the properties of a metric.")
/* clang-format on */
CX_FUNCTIONS(cx_metric_row_methods, ROWS, HEAVY)
