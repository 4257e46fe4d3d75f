/*
 * Transforms of Python functions, and control flow: the functions at the top of the package.  Their
 * rows are here, their steps in `_transforms.py`, whose functions have the names and parameters of
 * the rows.
 */
#include <string.h>

#include "python/transforms.h"

/* The function of this name in a Python file: all parameters by their names, *rest as a tuple. */
static PyObject *call_python(cx_call *c, const char *file)
{
    CX_OWN PyObject *kw = PyDict_New(), *none = PyTuple_New(0), *module = PyImport_ImportModule(file);
    CX_OWN PyObject *f = module ? PyObject_GetAttrString(module, c->name) : NULL;

    if (!kw || !none || !f) return NULL;
    for (int i = 0; i < c->function->nparameters; i++) {
        const cx_parameter *p = &c->function->parameters[i];
        CX_OWN PyObject *name = PyUnicode_FromStringAndSize(p->name, (Py_ssize_t)p->name_length);
        CX_OWN PyObject *value = p->how == CX_BY_REST ? cx_rest_tuple(c) : Py_XNewRef(c->arg[i]);
        if (!name || PyErr_Occurred() || (value && PyDict_SetItem(kw, name, value) < 0)) return NULL;
        if (value && i == 0 && p->annotation && strncmp(p->annotation, "Callable", 8) == 0 &&
            !PyCallable_Check(value) && !(value == Py_None && p->fallback))
            return cx_refuse(c, "fun", PyExc_TypeError, "callable", value), NULL;
    }
    return PyObject_Call(f, none, kw);
}

static PyObject *in_python(cx_call *c) { return call_python(c, "calibrax_c._transforms"); }
static PyObject *of_backend(cx_call *c) { return call_python(c, "calibrax_c._backend"); }

static PyObject *do_jit(cx_call *c)
{
    CX_OWN PyObject *plan = in_python(c);
    PyObject *fun = cx_arg(c, "fun");

    if (!plan || !fun) return Py_XNewRef(plan); /* a decorator */
    return cx_jitted_new(c->st, fun, plan);
}

/* clang-format off */
#define FUN   "fun: Callable[..., Any]"
#define DERIVE FUN ", argnums: int | Sequence[int] = 0, has_aux: bool = False"
#define DERIVED "Callable[..., Any]"
#define TRANSFORMS(X) \
    X(jit, "fun: Callable[..., Any] | None = None, *, static_argnums: int | Sequence[int] | None = None, static_argnames: str | Sequence[str] | None = None, donate_argnums: int | Sequence[int] | None = None, donate_argnames: str | Sequence[str] | None = None", "Any", do_jit, 0, "The function compiled: it is traced once for each structure, shape and dtype of its arguments and each value of the static ones; later calls repeat what was traced.\n\n>>> f = cx.jit(lambda x, n: x ** n, static_argnums=1)\n>>> f(xp.asarray([1.0, 2.0, 3.0]), 2)\nArray([1.0, 4.0, 9.0], dtype=float64)") \
    X(grad, DERIVE, DERIVED, in_python, 0, "A function that returns the gradient of a function with one real scalar as its result.\n\n>>> cx.grad(lambda x: x ** 3)(2.0)\nArray(12.0, dtype=float64)") \
    X(value_and_grad, DERIVE, DERIVED, in_python, 0, "A function that returns (result, gradient) of a function with one real scalar as its result.\n\n>>> cx.value_and_grad(lambda x: x ** 3)(2.0)\n(Array(8.0, dtype=float64), Array(12.0, dtype=float64))") \
    X(jvp, FUN ", primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False", "tuple[Any, ...]", in_python, 0, "Forward mode: the results at the primals, and their derivative along the tangents.\n\n>>> cx.jvp(xp.sin, (0.0,), (2.0,))\n(Array(0.0, dtype=float64), Array(2.0, dtype=float64))") \
    X(vjp, FUN ", *primals: Any, has_aux: bool = False", "tuple[Any, ...]", in_python, 0, "Reverse mode: the results at the primals, and a function of cotangents of the results that returns those of the primals.\n\n>>> y, back = cx.vjp(lambda a, b: a * b, 2.0, 5.0)\n>>> back(1.0)\n(Array(5.0, dtype=float64), Array(2.0, dtype=float64))") \
    X(linearize, FUN ", *primals: Any, has_aux: bool = False", "tuple[Any, ...]", in_python, 0, "The results at the primals, and the derivative there as a function of tangents.\n\n>>> y, f = cx.linearize(lambda x: x * x, 3.0)\n>>> y, f(1.0)\n(Array(9.0, dtype=float64), Array(6.0, dtype=float64))") \
    X(jacfwd, DERIVE, DERIVED, in_python, 0, "A function that returns the Jacobian, computed column by column: of shape (shape of the result, shape of the argument).\n\n>>> cx.jacfwd(lambda x: x * x)(xp.asarray([1.0, 2.0]))\nArray([[2.0, 0.0],\n       [0.0, 4.0]], dtype=float64)") \
    X(jacrev, DERIVE, DERIVED, in_python, 0, "A function that returns the Jacobian, computed row by row: for fewer results than arguments.\n\n>>> cx.jacrev(lambda x: xp.sum(x * x))(xp.asarray([1.0, 2.0]))\nArray([2.0, 4.0], dtype=float64)") \
    X(hessian, DERIVE, DERIVED, in_python, 0, "A function that returns the matrix of second derivatives.\n\n>>> cx.hessian(lambda x: xp.sum(x ** 3))(xp.asarray([1.0, 2.0]))\nArray([[ 6.0,  0.0],\n       [ 0.0, 12.0]], dtype=float64)") \
    X(vmap, FUN ", in_axes: Any = 0, out_axes: Any = 0, axis_size: int | None = None", DERIVED, in_python, 0, "The function over a batch: it is written for one example, and maps over axes of its arguments.\n\n>>> cx.vmap(xp.vecdot)(xp.ones((3, 2)), xp.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))\nArray([ 3.0,  7.0, 11.0], dtype=float64)") \
    X(scan, "f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any = None, length: int | None = None, reverse: bool = False, unroll: int | bool = 1, *, save_every: int | str | None = None", "tuple[Any, Any]", in_python, 0, "A loop over the first axis of xs that carries a value: (carry, y) = f(carry, x); returns the last carry and the stacked y.\n\n>>> cx.scan(lambda total, x: (total + x, total), 0.0, xp.asarray([1.0, 2.0, 3.0]))\n(Array(6.0, dtype=float64), Array([0.0, 1.0, 3.0], dtype=float64))") \
    X(fori_loop, "lower: int | Array, upper: int | Array, body_fun: Callable[[Any, Any], Any], init_val: Any, *, unroll: int | bool | None = None", "Any", in_python, 0, "value = body_fun(i, value) for lower <= i < upper.\n\n>>> cx.fori_loop(0, 5, lambda i, total: total + i, 0)\nArray(10, dtype=int64)") \
    X(while_loop, "cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any", "Any", in_python, 0, "value = body_fun(value) as long as cond_fun(value) is true.\n\n>>> cx.while_loop(lambda x: x < 100.0, lambda x: x * 2.0, 1.0)\nArray(128.0, dtype=float64)") \
    X(cond, "pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any", "Any", in_python, 0, "true_fun(*operands) if pred is true, else false_fun(*operands): both are traced, one is computed.\n\n>>> cx.cond(xp.asarray(3.0) > 2.0, xp.sin, xp.cos, 0.0)\nArray(0.0, dtype=float64)") \
    X(switch, "index: Any, branches: Sequence[Callable[..., Any]], *operands: Any", "Any", in_python, 0, "branches[index](*operands), the index brought into range: all are traced, one is computed.\n\n>>> cx.switch(1, [xp.sin, xp.exp], 0.0)\nArray(1.0, dtype=float64)") \
    X(custom_jvp, FUN ", nondiff_argnums: Sequence[int] = ()", "Any", in_python, 0, "The function with a derivative of its own: f.defjvp(rule) gives it, where rule(primals, tangents) returns (result, its tangent); reverse mode is its transpose.\n\n>>> f = cx.custom_jvp(lambda x: xp.abs(x))\n>>> _ = f.defjvp(lambda primals, tangents: (xp.abs(primals[0]), 3.0 * tangents[0]))\n>>> cx.grad(f)(0.0)\nArray(3.0, dtype=float64)") \
    X(custom_vjp, FUN ", nondiff_argnums: Sequence[int] = ()", "Any", in_python, 0, "The function with a reverse derivative of its own: f.defvjp(fwd, bwd) gives it, where fwd(*args) returns (result, kept) and bwd(kept, cotangent) a tuple with the cotangent of each argument; None: 0.\n\n>>> f = cx.custom_vjp(lambda x: xp.sum(x * x))\n>>> f.defvjp(lambda x: (xp.sum(x * x), x), lambda x, ct: (xp.clip(2.0 * x * ct, -1.0, 1.0),))\n>>> cx.grad(f)(xp.asarray([0.25, 3.0]))\nArray([0.5, 1.0], dtype=float64)") \
    X(stop_gradient, "x: Any", "Any", in_python, 0, "The arrays of a tree, whose derivatives are 0.\n\n>>> cx.grad(lambda x: x * cx.stop_gradient(x))(3.0)\nArray(3.0, dtype=float64)") \
    X(checkpoint, FUN ", *, static_argnums: int | Sequence[int] = ()", DERIVED, in_python, 0, "The function, of which reverse mode keeps the arguments alone and computes the rest again: less memory for more time.\n\n>>> cx.grad(cx.checkpoint(lambda x: xp.sin(xp.sin(x))))(0.0)\nArray(1.0, dtype=float64)") \
    X(cost, FUN ", *args: Any, **kwargs: Any", "dict[str, int]", in_python, 0, "The work of a function for such arguments: operations on numbers and integers, transcendental functions, bytes that its operations move one by one, and bytes of its arguments and results, which is what a compiler cannot save.\n\n>>> c = cx.cost(lambda a, b: a @ b, xp.ones((8, 4)), xp.ones((4, 2)))\n>>> c['flop'], c['in_bytes'], c['out_bytes']\n(128, 320, 128)") \
    X(cost_compile, FUN ", *args: Any, **kwargs: Any", "dict[str, Any]", in_python, 0, "The function as the backend compiles it for such arguments: 'total', the work of all steps as cost counts it, with the bytes that they still move; 'peak_bytes', the most memory at a time; 'kernels'; 'steps', each with its text; 'times' of the stages in seconds. NotImplementedError: the backend does not compile.\n\n>>> c = cx.cost_compile(lambda a, b: xp.sum(a * b), xp.ones(1000), xp.ones(1000))\n>>> c['kernels'], c['total']['bytes_read'], c['total']['bytes_written']\n(1, 16000, 8)") \
    X(aot_write, FUN ", *args: Any, path: Path, **kwargs: Any", "None", in_python, 0, "Write the function for such arguments as C: path.h and path.c, which a project builds without this package; the last part of the path names the function. NotImplementedError: an operation that has no form in C.\n\n>>> cx.aot_write(lambda a, b: xp.exp(a) + b, xp.ones(3), 2.0, path=os.path.join(folder, 'f'))\n>>> open(os.path.join(folder, 'f.h')).read().count('void f(const double *in0, const double *in1, double *out0)')\n1") \
    X(dump, FUN ", *args: Any, stage: 'graph' | 'fused' | 'kernels' | 'c' | 'llvm' | 'assembly' | 'simplified' | 'ptx' = 'graph', **kwargs: Any", "str", in_python, 0, "What a function does for such arguments, one line for each operation.\n\n>>> print(cx.dump(lambda x: xp.exp(x) * x, 2.0), end='')\n<lambda>(%0:float64 ())\n  %1:float64 () = exp %0\n  %2:float64 () = multiply %1 %0\n  return %2:float64 ()")
#define BACKENDS(X) \
    X(get_backend, "", "Backend", of_backend, 0, "The backend that computes, as an object with array functions and transforms under the names of NumPy.\n\n>>> b = cx.get_backend()\n>>> b.supports_grad, b.mod(-1.5, 4.0)\n(True, Array(2.5, dtype=float64))") \
    X(set_backend, "name: str", "Backend", of_backend, 0, "Select the backend that computes: 'reference', 'jit', or 'auto' for the best one that is here.\n\n>>> cx.set_backend('reference').name\n'reference'\n>>> cx.reset_backend()") \
    X(reset_backend, "", "None", of_backend, 0, "Return to the backend that the environment asks for.\n\n>>> cx.reset_backend()")
/* clang-format on */
#define ALL(X) TRANSFORMS(X) BACKENDS(X)
CX_FUNCTIONS(cx_transform_methods, ALL, LIGHT)
