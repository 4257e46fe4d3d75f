/* The namespace random: draws by explicit key or seed, equal for equal keys (calibrax/array/random.h). */
#include "python/state.h"

typedef cbx_array *(*draw_fn)(cbx_ctx *, const cbx_array *, int, const size_t *, cbx_dtype);

/* A shape, () if left out. */
static bool shape_arg(cx_call *c, int *ndim, size_t *shape)
{
    *ndim = 0;
    return !cx_arg(c, "shape") || cx_shape_arg(c, "shape", ndim, shape);
}

/* The argument key; an integer is a seed. */
static const cbx_array *key_arg(cx_call *c)
{
    PyObject *o = cx_arg(c, "key");
    unsigned long long seed;
    cbx_array *key = NULL;
    cx_call inner;

    if (!PyLong_Check(o)) return cx_array_arg(c, "key");
    seed = PyLong_AsUnsignedLongLong(o);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        cx_refuse(c, "key", PyExc_ValueError, "a key, or a seed from 0 to 2**64 - 1", o);
        return NULL;
    }
    cx_call_init(&inner, c->st, c->name);
    if (cx_begin(&inner)) {
        key = cbx_random_key(inner.ctx, seed);
        if (!cx_keep(&inner, 1, &key)) key = NULL;
    }
    cx_call_done(&inner);
    return key && cx_hold(c, key) ? key : NULL;
}

static PyObject *do_key(cx_call *c)
{
    PyObject *index = PyNumber_Index(cx_arg(c, "seed"));
    unsigned long long seed = 0;

    if (index) { /* of a negative seed the bits */
        PyObject *zero = PyLong_FromLong(0);
        const int negative = zero ? PyObject_RichCompareBool(index, zero, Py_LT) : -1;
        Py_XDECREF(zero);
        seed = negative > 0 ? (unsigned long long)PyLong_AsLongLong(index) : PyLong_AsUnsignedLongLong(index);
        if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError))
            PyErr_Format(PyExc_ValueError, "key: 'seed' must be at least -2**63 and below 2**64, got %R", index);
    }
    Py_XDECREF(index);
    if (PyErr_Occurred() || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_random_key(c->ctx, seed));
}

static PyObject *do_split(cx_call *c)
{
    const cbx_array *key = key_arg(c);
    int64_t num = 2;

    if (!key || !CX_GET(c, num)) return NULL;
    if (num < 0) return cx_raise(CBX_EINVAL, "split: the number of keys is negative");
    return cx_begin(c) ? cx_result(c, cbx_random_split(c->ctx, key, (size_t)num)) : NULL;
}

static PyObject *do_fold_in(cx_call *c)
{
    const cbx_array *key = key_arg(c), *data = NULL;

    return key && CX_GET(c, data) && cx_begin(c) ? cx_result(c, cbx_random_fold_in_array(c->ctx, key, data)) : NULL;
}

/* key, shape=(), dtype=None: bits (uint32) and draws of a fixed distribution (float64) */
static PyObject *draw_of(cx_call *c, cbx_dtype dtype)
{
    const cbx_array *key = key_arg(c);
    size_t shape[CBX_MAX_RANK];
    int ndim;

    if (!key || !shape_arg(c, &ndim, shape) || !CX_GET(c, dtype) || !cx_begin(c)) return NULL;
    return cx_result(c, ((draw_fn)c->fn)(c->ctx, key, ndim, shape, dtype));
}
static PyObject *draw(cx_call *c) { return draw_of(c, CBX_F64); }
static PyObject *do_bits(cx_call *c) { return draw_of(c, CBX_U32); }

static PyObject *do_uniform(cx_call *c)
{
    const cbx_array *key = key_arg(c);
    double low = 0, high = 1;
    size_t shape[CBX_MAX_RANK];
    cbx_dtype dtype = CBX_F64;
    int ndim;

    if (!key || !shape_arg(c, &ndim, shape) || !CX_GET(c, dtype)) return NULL;
    if (!CX_GET(c, low, high) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_random_uniform(c->ctx, key, ndim, shape, dtype, low, high));
}

static PyObject *do_randint(cx_call *c)
{
    const cbx_array *key = key_arg(c);
    int64_t low = 0, high = 0;
    size_t shape[CBX_MAX_RANK];
    cbx_dtype dtype = CBX_I64;
    int ndim;

    if (!key || !shape_arg(c, &ndim, shape) || !CX_GET(c, low, high)) return NULL;
    if (!CX_GET(c, dtype) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_random_randint(c->ctx, key, ndim, shape, low, high, dtype));
}

static PyObject *do_gamma(cx_call *c)
{
    const cbx_array *key = key_arg(c), *alpha = NULL;
    size_t shape[CBX_MAX_RANK];
    cbx_dtype dtype = CBX_F64;
    int ndim;

    if (!key || !CX_GET(c, alpha) || !shape_arg(c, &ndim, shape) || !CX_GET(c, dtype) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_random_gamma(c->ctx, key, alpha, ndim, shape, dtype));
}

static PyObject *do_bernoulli(cx_call *c)
{
    const cbx_array *key = key_arg(c), *p = NULL;
    size_t shape[CBX_MAX_RANK];
    int ndim;

    if (!key || !CX_GET(c, p) || !shape_arg(c, &ndim, shape) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_random_bernoulli(c->ctx, key, p, ndim, shape));
}

static PyObject *do_categorical(cx_call *c)
{
    const cbx_array *key = key_arg(c), *logits = NULL;
    size_t shape[CBX_MAX_RANK];
    int ndim, axis = -1;

    if (!key || !CX_GET(c, logits) || !shape_arg(c, &ndim, shape) || !cx_axis_arg(c, "axis", &axis, NULL) ||
        !cx_begin(c))
        return NULL;
    return cx_result(c, cbx_random_categorical(c->ctx, key, logits, axis, ndim, shape));
}

static PyObject *do_choice(cx_call *c)
{
    const cbx_array *key = key_arg(c), *x = NULL, *p = NULL;
    size_t shape[CBX_MAX_RANK];
    bool replace = true;
    int ndim, axis = 0;

    if (!key || !CX_GET(c, x, replace, p) || !shape_arg(c, &ndim, shape)) return NULL;
    if (!cx_axis_arg(c, "axis", &axis, NULL) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_random_choice(c->ctx, key, x, axis, ndim, shape, replace, p));
}

static PyObject *do_permutation(cx_call *c)
{
    const cbx_array *key = key_arg(c), *x = NULL;
    int64_t n = 0;
    int axis = 0;

    if (!key || !cx_axis_arg(c, "axis", &axis, NULL)) return NULL;
    if (PyLong_Check(cx_arg(c, "x")) ? !CX_GET_AS(c, "x", n) : !(x = cx_array_arg(c, "x"))) return NULL;
    if (n < 0) return cx_raise(CBX_EINVAL, "permutation: the length is negative");
    if (!cx_begin(c)) return NULL;
    return cx_result(c, x ? cbx_random_permute(c->ctx, key, x, axis) : cbx_random_permutation(c->ctx, key, (size_t)n));
}

/* clang-format off */
#define DRAW "key: Array | int, /, shape: int | Sequence[int] = (), *, dtype: DType | None = None"
#define RANDOM(X) \
    X(bernoulli, "key: Array | int, p: Operand, /, shape: int | Sequence[int] = ()", "Array", do_bernoulli, 0, "True with probability p.") \
    X(bits, DRAW, "Array", do_bits, cbx_random_bits, "Random bits: uint8, uint16, uint32 or uint64.") \
    X(categorical, "key: Array | int, logits: Array, /, shape: int | Sequence[int] = (), *, axis: int = -1", "Array", do_categorical, 0, "Places with probabilities exp(logits).") \
    X(choice, "key: Array | int, x: int | Array, /, shape: int | Sequence[int] = (), *, replace: bool = True, p: Array | None = None, axis: int = 0", "Array", do_choice, 0, "Slices of x.") \
    X(exponential, DRAW, "Array", draw, cbx_random_exponential, "Rate 1.") \
    X(fold_in, "key: Array | int, data: int, /", "Array", do_fold_in, 0, "The key for a number.") \
    X(gamma, "key: Array | int, alpha: Operand, /, shape: int | Sequence[int] = (), *, dtype: DType | None = None", "Array", do_gamma, 0, "Gamma of shape alpha.") \
    X(gumbel, DRAW, "Array", draw, cbx_random_gumbel, "Gumbel.") \
    X(key, "seed: int, /", "Array", do_key, 0, "The key of a seed.") \
    X(normal, DRAW, "Array", draw, cbx_random_normal, "Mean 0, variance 1.") \
    X(permutation, "key: Array | int, x: int | Array, /, *, axis: int = 0", "Array", do_permutation, 0, "0..x-1, or the array x, in random order.") \
    X(randint, "key: Array | int, shape: int | Sequence[int], low: int, high: int, /, *, dtype: DType | None = None", "Array", do_randint, 0, "Whole numbers, low <= i < high.") \
    X(split, "key: Array | int, num: int = 2, /", "Array", do_split, 0, "Independent keys.") \
    X(uniform, "key: Array | int, /, shape: int | Sequence[int] = (), *, dtype: DType | None = None, low: float = 0.0, high: float = 1.0", "Array", do_uniform, 0, "Numbers low <= x < high.")
/* clang-format on */
CX_FUNCTIONS(cx_random_methods, RANDOM)
