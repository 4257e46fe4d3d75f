/* The namespace random: draws by explicit key or seed, equal for equal keys
 * (calibrax/array/random.h). */
#include "python/state.h"

const cbx_array *cx_key_from(cx_call *c, PyObject *o)
{
    unsigned long long seed;
    cbx_array *key;

    if (!PyLong_Check(o)) return cx_array_from(c, o, "key", "a key, or a seed from 0 to 2**64 - 1");
    seed = PyLong_AsUnsignedLongLong(o);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return cx_refuse(c, "key", PyExc_ValueError, "a key, or a seed from 0 to 2**64 - 1", o), NULL;
    }
    CX_ENDED_BY(cx_call_done) cx_call inner;
    cx_call_init(&inner, c->st, c->name);
    if (!cx_begin(&inner)) return NULL;
    key = cbx_random_key(inner.ctx, seed);
    return cx_keep(&inner, 1, &key) && cx_hold(c, key) ? key : NULL;
}

static PyObject *do_key(cx_call *c)
{
    CX_OWN PyObject *index = PyNumber_Index(cx_arg(c, "seed")), *zero = PyLong_FromLong(0);
    const int negative = index && zero ? PyObject_RichCompareBool(index, zero, Py_LT) : -1;
    unsigned long long seed = 0;

    if (negative >= 0) /* of a negative seed the bits */
        seed = negative ? (unsigned long long)PyLong_AsLongLong(index) : PyLong_AsUnsignedLongLong(index);
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError))
        cx_refuse(c, "seed", PyExc_ValueError, "at least -2**63 and below 2**64", index);
    return !PyErr_Occurred() && cx_begin(c) ? cx_result(c, cbx_random_key(c->ctx, seed)) : NULL;
}

#define OR_F64   (dtype == CBX_DTYPE_COUNT ? CBX_F64 : dtype)
#define DRAWN(t) CX_FN(const cbx_array *, int, const size_t *, cbx_dtype)(c->ctx, key, shape.ndim, shape.of, t)
CX_FORMULA(draw, DRAWN(OR_F64), key, shape, dtype)
CX_FORMULA(do_bits, DRAWN(dtype == CBX_DTYPE_COUNT ? CBX_U32 : dtype), key, shape, dtype)
CX_FORMULA(do_fold_in, cbx_random_fold_in_array(c->ctx, key, data), key, data)
CX_FORMULA(do_gamma, cbx_random_gamma(c->ctx, key, alpha, shape.ndim, shape.of, OR_F64), key, alpha, shape, dtype)
CX_FORMULA(do_bernoulli, cbx_random_bernoulli(c->ctx, key, p, shape.ndim, shape.of), key, p, shape)
CX_FORMULA(do_categorical, cbx_random_categorical(c->ctx, key, logits, axis.value, shape.ndim, shape.of), key, logits,
           shape, axis)

/* An integer n stands for the values below it. */
static const cbx_array *values(cbx_ctx *ctx, const cbx_array *x)
{
    int64_t n = 0;

    if (cbx_array_ndim(x) || cbx_array_dtype(x) != CBX_I64 || cbx_array_is_abstract(x)) return x;
    return cbx_array_read(x, &n, sizeof n, NULL) ? x : cbx_arange_int(ctx, 0, n, 1, CBX_I64);
}
CX_FORMULA(do_choice, cbx_random_choice(c->ctx, key, values(c->ctx, x), axis.value, shape.ndim, shape.of, replace, p),
           key, x, shape, replace, p, axis)
CX_FORMULA(do_randint,
           cbx_random_randint(c->ctx, key, shape.ndim, shape.of, low, high, dtype == CBX_DTYPE_COUNT ? CBX_I64 : dtype),
           key, shape, low, high, dtype)

CX_RETURN(do_split, (const cbx_array *key; size_t num), CX_GET(c, key, num) && cx_begin(c),
          cx_result(c, cbx_random_split(c->ctx, key, num)))

CX_RETURN(do_uniform, (cbx_dtype dtype = CBX_F64; const cbx_array *key; double low, high; cx_shape shape),
          CX_GET(c, key, shape, dtype, low, high) && cx_begin(c),
          cx_result(c, cbx_random_uniform(c->ctx, key, shape.ndim, shape.of, dtype, low, high)))

CX_RETURN(do_permutation, (const cbx_array *key, *x = NULL; size_t n = 0; int axis),
          CX_GET(c, key, axis) && (PyLong_Check(cx_arg(c, "x")) ? CX_GET_AS(c, "x", n) : CX_GET(c, x)) && cx_begin(c),
          cx_result(c, x ? cbx_random_permute(c->ctx, key, x, axis) : cbx_random_permutation(c->ctx, key, n)))

/* clang-format off */
#define DRAW "key: Key, /, shape: int | Sequence[int] = (), *, dtype: DType | None = None"
#define RANDOM(X) \
    X(bernoulli, "key: Key, p: Operand, /, shape: int | Sequence[int] = ()", "Array", do_bernoulli, 0, "True with probability p, else False.\n\n>>> xp.random.bernoulli(42, 1.0)\nArray(True, dtype=bool)") \
    X(bits, DRAW, "Array", do_bits, cbx_random_bits, "Random bits: uint8, uint16, uint32 or uint64.\n\n>>> xp.random.bits(42, (2, 3)).shape\n(2, 3)") \
    X(categorical, "key: Key, logits: Array, /, shape: int | Sequence[int] = (), *, axis: int = -1", "Array", do_categorical, 0, "Random indices with probabilities proportional to exp(logits).\n\n>>> xp.random.categorical(42, xp.asarray([0.0, -xp.inf]))\nArray(0, dtype=int64)") \
    X(choice, "key: Key, x: int | Array, /, shape: int | Sequence[int] = (), *, replace: bool = True, p: Array | None = None, axis: int = 0", "Array", do_choice, 0, "Random elements of x along an axis, or of the integers below x.\n\n>>> xp.random.choice(42, xp.asarray([7]), (2,))\nArray([7, 7], dtype=int64)") \
    X(exponential, DRAW, "Array", draw, cbx_random_exponential, "Exponential distribution of rate 1.\n\n>>> xp.random.exponential(42, (2, 3)).shape\n(2, 3)") \
    X(fold_in, "key: Key, data: int, /", "Array", do_fold_in, 0, "A key made of a key and an integer.\n\n>>> xp.random.fold_in(42, 1).shape\n(2,)") \
    X(gamma, "key: Key, alpha: Operand, /, shape: int | Sequence[int] = (), *, dtype: DType | None = None", "Array", do_gamma, 0, "Gamma distribution of shape alpha.\n\n>>> xp.random.gamma(42, 2.0, (3,)).shape\n(3,)") \
    X(gumbel, DRAW, "Array", draw, cbx_random_gumbel, "Standard Gumbel distribution.\n\n>>> xp.random.gumbel(42, (2, 3)).shape\n(2, 3)") \
    X(key, "seed: int, /", "Array", do_key, 0, "A key made of a seed.\n\n>>> xp.random.key(42).shape\n(2,)") \
    X(normal, DRAW, "Array", draw, cbx_random_normal, "Standard normal distribution.\n\n>>> xp.random.normal(42, (2, 3)).shape\n(2, 3)") \
    X(permutation, "key: Key, x: int | Array, /, *, axis: int = 0", "Array", do_permutation, 0, "The integers below x, or the array x, in random order.\n\n>>> xp.sort(xp.random.permutation(42, 3))\nArray([0, 1, 2], dtype=int64)") \
    X(randint, "key: Key, shape: int | Sequence[int], low: int, high: int, /, *, dtype: DType | None = None", "Array", do_randint, 0, "Random integers, low <= i < high.\n\n>>> xp.random.randint(42, (2,), 5, 6)\nArray([5, 5], dtype=int64)") \
    X(split, "key: Key, num: int = 2, /", "Array", do_split, 0, "Independent keys.\n\n>>> xp.random.split(42, 3).shape\n(3, 2)") \
    X(uniform, "key: Key, /, shape: int | Sequence[int] = (), *, dtype: DType | None = None, low: float = 0.0, high: float = 1.0", "Array", do_uniform, 0, "Uniform distribution: low <= x < high.\n\n>>> xp.random.uniform(42, (2, 3)).shape\n(2, 3)")
/* clang-format on */
CX_FUNCTIONS(cx_random_methods, RANDOM, LIGHT)
