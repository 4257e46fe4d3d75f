/* calibrax_c.profiling.CompilationProfiler: calls of a Python function by the signature that a
 * compiler would see. */
#include "python/objects.h"

static PyObject *compilation_call(PyObject *self, PyObject *args, PyObject *kw)
{
    cx_object *t = (cx_object *)self;
    CX_OWN PyObject *made = cx_python("_values", "profiled_call", "OOO", t->kept, args, kw ? kw : Py_None);
    cbx_err err = CBX_ERR_INIT;
    const char *signature;
    PyObject *result;
    double seconds;

    if (!made || !PyArg_ParseTuple(made, "Osd", &result, &signature, &seconds)) return NULL;
    if (cbx_compilation_record(t->handle, signature, seconds, &err)) return cx_raise(err.status, err.message);
    return Py_NewRef(result);
}

CX_MADE(compilation_make, CX_COMPILATION, cbx_compilation,
        (PyObject *function = NULL, *sync = NULL, *fixed = cx_arg(c, "static")),
        CX_GET(c, function, sync) &&
            (function || cx_refused(PyExc_TypeError, "CompilationProfiler: 'function' must be callable, got None")),
        (o->kept = PyTuple_Pack(3, function, sync ? sync : Py_None, fixed ? fixed : Py_None),
         cbx_compilation_open(o->ctx, &handle, &c->err)))

CX_DO(compilation_report, cbx_compilation, (cbx_compilation_report out), (),
      (cbx_compilation_see(self, &out), cx_answer_object(c->st, CX_COMPILATION_REPORT, &out)))

static PyObject *compilation_signatures(cx_call *c)
{
    cx_object *t = cx_object_self(c);
    CX_OWN PyObject *list = t ? PyList_New(0) : NULL;
    cbx_compiled_signature s;

    for (size_t i = 0; list && cbx_compilation_signature(t->handle, i, &s); i++)
        if (!cx_append(list, cx_answer_object(c->st, CX_SIGNATURE, &s))) return NULL;
    return list ? PySequence_Tuple(list) : NULL;
}

CX_DO(compilation_reset, cbx_compilation, (), (), (cbx_compilation_reset(self), Py_NewRef(Py_None)))

/* clang-format off */
#define COMPILATION(X) \
    X(report, "/", "CompilationReport", compilation_report, 0, "Calls, hits, misses, the cost of compilation, and advice.\n\n>>> f = profiling.CompilationProfiler(abs)\n>>> y = f(-1)\n>>> f.report().calls\n1") \
    X(signatures, "/", "tuple[Signature, ...]", compilation_signatures, 0, "A Signature for each set of dtypes and shapes, in the order of their first calls.\n\n>>> f = profiling.CompilationProfiler(abs)\n>>> y = f(-1)\n>>> f.signatures()[0].text\n'int'") \
    X(reset, "/", "None", compilation_reset, 0, "Drop all records of calls; compiled code is kept.\n\n>>> f = profiling.CompilationProfiler(abs)\n>>> f.reset()")
CX_OBJECT_TYPE(compilation, compilation, COMPILATION, "profiling", CompilationProfiler, "function: Callable[..., Any], *, sync: Callable[[Any], object] | None = None, static: int | str | Sequence[int | str] | None = None", cbx_compilation_free,
    "Called in the place of a function that is compiled on first use (jax.jit, torch.compile, numba), and distinguishes its calls by the dtypes and shapes of all arguments. The first call of a signature less the later ones is what compiling costs. Results with block_until_ready() are waited for, or sync(result) is called. static: names or places of arguments whose values count.", .call = compilation_call)
/* clang-format on */
