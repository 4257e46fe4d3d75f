/* The namespace random: draws by explicit key, equal for equal keys (calibrax/array/random.h). */
#include "python/state.h"

typedef cbx_array *(*draw_fn)(cbx_ctx *, const cbx_array *, int, const size_t *, cbx_dtype);

/* A shape, () if left out. */
static bool shape_arg(cx_call *c, int i, int *ndim, size_t *shape)
{
    *ndim = 0;
    return !c->arg[i] || c->arg[i] == Py_None || cx_shape_arg(c, i, ndim, shape);
}

static PyObject *do_key(cx_call *c, cx_fn fn)
{
    PyObject *index = PyNumber_Index(c->arg[0]);
    unsigned long long seed = index ? PyLong_AsUnsignedLongLongMask(index) : 0;

    (void)fn;
    Py_XDECREF(index);
    if (PyErr_Occurred() || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_random_key(c->ctx, seed));
}

static PyObject *do_split(cx_call *c, cx_fn fn)
{
    const cbx_array *key = cx_array_arg(c, 0);
    int64_t n = 2;

    (void)fn;
    if (!key || !cx_int_arg(c, 1, &n)) return NULL;
    if (n < 0) return cx_raise(CBX_EINVAL, "split: the number of keys is negative");
    return cx_begin(c) ? cx_result(c, cbx_random_split(c->ctx, key, (size_t)n)) : NULL;
}

static PyObject *do_fold_in(cx_call *c, cx_fn fn)
{
    const cbx_array *key = cx_array_arg(c, 0), *data = key ? cx_array_arg(c, 1) : NULL;

    (void)fn;
    return data && cx_begin(c) ? cx_result(c, cbx_random_fold_in_array(c->ctx, key, data)) : NULL;
}

/* key, shape=(), dtype=None: bits (uint32) and draws of a fixed distribution (float64) */
static PyObject *draw_of(cx_call *c, draw_fn f, cbx_dtype t)
{
    const cbx_array *key = cx_array_arg(c, 0);
    size_t shape[CBX_MAX_RANK];
    int ndim;

    if (!key || !shape_arg(c, 1, &ndim, shape) || !cx_dtype_arg(c, 2, &t) || !cx_begin(c)) return NULL;
    return cx_result(c, f(c->ctx, key, ndim, shape, t));
}
static PyObject *draw(cx_call *c, cx_fn fn) { return draw_of(c, (draw_fn)fn, CBX_F64); }
static PyObject *do_bits(cx_call *c, cx_fn fn) { return draw_of(c, (draw_fn)fn, CBX_U32); }

static PyObject *do_uniform(cx_call *c, cx_fn fn)
{
    const cbx_array *key = cx_array_arg(c, 0);
    double low = 0, high = 1;
    size_t shape[CBX_MAX_RANK];
    cbx_dtype t = CBX_F64;
    int ndim;

    (void)fn;
    if (!key || !shape_arg(c, 1, &ndim, shape) || !cx_dtype_arg(c, 2, &t)) return NULL;
    if (!cx_double_arg(c, 3, &low) || !cx_double_arg(c, 4, &high) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_random_uniform(c->ctx, key, ndim, shape, t, low, high));
}

static PyObject *do_randint(cx_call *c, cx_fn fn)
{
    const cbx_array *key = cx_array_arg(c, 0);
    int64_t low = 0, high = 0;
    size_t shape[CBX_MAX_RANK];
    cbx_dtype t = CBX_I64;
    int ndim;

    (void)fn;
    if (!key || !shape_arg(c, 1, &ndim, shape) || !cx_int_arg(c, 2, &low) || !cx_int_arg(c, 3, &high)) return NULL;
    if (!cx_dtype_arg(c, 4, &t) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_random_randint(c->ctx, key, ndim, shape, low, high, t));
}

static PyObject *do_gamma(cx_call *c, cx_fn fn)
{
    const cbx_array *key = cx_array_arg(c, 0), *alpha = key ? cx_array_arg(c, 1) : NULL;
    size_t shape[CBX_MAX_RANK];
    cbx_dtype t = CBX_F64;
    int ndim;

    (void)fn;
    if (!alpha || !shape_arg(c, 2, &ndim, shape) || !cx_dtype_arg(c, 3, &t) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_random_gamma(c->ctx, key, alpha, ndim, shape, t));
}

static PyObject *do_bernoulli(cx_call *c, cx_fn fn)
{
    const cbx_array *key = cx_array_arg(c, 0), *p = key ? cx_array_arg(c, 1) : NULL;
    size_t shape[CBX_MAX_RANK];
    int ndim;

    (void)fn;
    if (!p || !shape_arg(c, 2, &ndim, shape) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_random_bernoulli(c->ctx, key, p, ndim, shape));
}

static PyObject *do_categorical(cx_call *c, cx_fn fn)
{
    const cbx_array *key = cx_array_arg(c, 0), *logits = key ? cx_array_arg(c, 1) : NULL;
    size_t shape[CBX_MAX_RANK];
    int ndim, axis = -1;

    (void)fn;
    if (!logits || !shape_arg(c, 2, &ndim, shape) || !cx_axis_arg(c, 3, &axis, NULL) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_random_categorical(c->ctx, key, logits, axis, ndim, shape));
}

static PyObject *do_choice(cx_call *c, cx_fn fn)
{
    const cbx_array *key = cx_array_arg(c, 0), *x = key ? cx_array_arg(c, 1) : NULL, *p = NULL;
    size_t shape[CBX_MAX_RANK];
    bool replace = true;
    int ndim, axis = 0;

    (void)fn;
    if (!x || !shape_arg(c, 2, &ndim, shape) || !cx_bool_arg(c, 3, &replace)) return NULL;
    if (c->arg[4] && c->arg[4] != Py_None && !(p = cx_array_arg(c, 4))) return NULL;
    if (!cx_axis_arg(c, 5, &axis, NULL) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_random_choice(c->ctx, key, x, axis, ndim, shape, replace, p));
}

static PyObject *do_permutation(cx_call *c, cx_fn fn)
{
    const cbx_array *key = cx_array_arg(c, 0), *x = NULL;
    int64_t n = 0;
    int axis = 0;

    (void)fn;
    if (!key || !cx_axis_arg(c, 2, &axis, NULL)) return NULL;
    if (PyLong_Check(c->arg[1]) ? !cx_int_arg(c, 1, &n) : !(x = cx_array_arg(c, 1))) return NULL;
    if (n < 0) return cx_raise(CBX_EINVAL, "permutation: the length is negative");
    if (!cx_begin(c)) return NULL;
    return cx_result(c, x ? cbx_random_permute(c->ctx, key, x, axis) : cbx_random_permutation(c->ctx, key, (size_t)n));
}

/* clang-format off */
#define DRAW "key, /, shape=(), *, dtype=None"
#define RANDOM(X) \
    X(bernoulli, "key, p, /, shape=()", do_bernoulli, 0, "True with probability p.") \
    X(bits, DRAW, do_bits, cbx_random_bits, "Random bits: uint8, uint16, uint32 or uint64.") \
    X(categorical, "key, logits, /, shape=(), *, axis=-1", do_categorical, 0, "Places with probabilities exp(logits).") \
    X(choice, "key, x, /, shape=(), *, replace=True, p=None, axis=0", do_choice, 0, "Slices of x.") \
    X(exponential, DRAW, draw, cbx_random_exponential, "Rate 1.") \
    X(fold_in, "key, data, /", do_fold_in, 0, "The key for a number.") \
    X(gamma, "key, alpha, /, shape=(), *, dtype=None", do_gamma, 0, "Gamma of shape alpha.") \
    X(gumbel, DRAW, draw, cbx_random_gumbel, "Gumbel.") \
    X(key, "seed, /", do_key, 0, "The key of a seed.") \
    X(normal, DRAW, draw, cbx_random_normal, "Mean 0, variance 1.") \
    X(permutation, "key, x, /, *, axis=0", do_permutation, 0, "0..x-1, or the array x, in random order.") \
    X(randint, "key, shape, low, high, /, *, dtype=None", do_randint, 0, "Whole numbers, low <= i < high.") \
    X(split, "key, num=2, /", do_split, 0, "Independent keys.") \
    X(uniform, "key, /, shape=(), *, dtype=None, low=0.0, high=1.0", do_uniform, 0, "Numbers low <= x < high.")
/* clang-format on */
CX_FUNCTIONS(cx_random_methods, RANDOM)
