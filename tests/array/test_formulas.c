/* Formulas of the compiler: they have the bits of the loops wherever they say so. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/array/jit/emitter.h"
#include "calibrax/array/kernels/loops.h"
#include "calibrax/base/rng.h"
#include "counted.h"
#include "kernels_random.h"

#define N 40000

static const double specials[] = {
    0.0,
    -0.0,
    1.0,
    -1.0,
    INFINITY,
    -INFINITY,
    NAN,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    0x1p-1074,
    -0x1p-1074,
    0x1p-149,
    0x1p-126,
    0x1p-1022,
    -0x1p-1022,
    0x1.fffffffffffffp1023,
    -0x1.fffffffffffffp1023,
    0x1.fffffep127,
    709.7827128933841,
    709.78,
    -745.13,
    -745.14,
    -708.4,
    88.7228,
    88.7229,
    -103.97,
    -103.98,
    -87.4,
    1024.0,
    -1075.0,
    0x1p20,
    0x1p13,
    1.5707963267948966,
    3.141592653589793,
    0x1.fffffffffffffp-1,
    0x1.0000000000001p0,
    0x1.fffffep-1,
    1e300,
    1e-300,
    1e18,
    1e150,
    1e-18,
    700.0,
    -700.0,
    85.0,
    22.0,
    10.0,
    26.5433,
    27.2,
    10.05,
    -6.0,
};

static double sample(cbx_rng *r, size_t i, bool wide)
{
    const double u = 2 * cbx_rng_uniform(r) - 1;
    double d;

    switch (i % 6) {
    case 0: return u;
    case 1: return 30 * u;
    case 2: return 1000 * u;
    case 3: return rint(20 * u) / 2;
    case 4: return exp((wide ? 700 : 80) * u) * (cbx_rng_below(r, 4) ? 1 : -1);
    default: memcpy(&d, &(uint64_t){ cbx_rng_u64(r) }, sizeof d); return d;
    }
}

static void fill(void *out, cbx_dtype t, cbx_prim p, size_t operand)
{
    cbx_rng r = cbx_rng_make(17 + operand, (uint64_t)p);

    for (size_t i = 0; i < N; i++) {
        const size_t s = operand ? i / CBX_LEN(specials) : i;
        const bool special = i < CBX_LEN(specials) * CBX_LEN(specials);
        const double x = special ? specials[s % CBX_LEN(specials)] : sample(&r, i, t == CBX_F64);
        if (t == CBX_F64)
            ((double *)out)[i] = x;
        else
            ((float *)out)[i] = (float)x;
    }
}

/* Streams: the result, whether it is inside, operands. */
static void formula_kernel(cbx__kernel *k, cbx_prim p, cbx_dtype t, size_t spoiled)
{
    const cbx__kformula *f = cbx__kernel_formula(p, t);
    const size_t operands = strlen(cbx_prim_get_info(p)->operands);
    cbx__kid to[400];

    CHECK_LE(f->n, CBX_LEN(to), "length");
    cbx__kernel_init(k, cbx_allocator_default());
    k->nout = 2;
    for (size_t s = 0; s < 2 + operands; s++)
        CHECK(cbx_list_push(&k->al, &k->streams, (cbx__kstream){ .dtype = (uint8_t)(s == 1 ? CBX_BOOL : t) }),
              "memory");
    for (cbx__kid i = 0; i < f->n; i++) {
        cbx__kinstr x = f->instr[i];
        const int n = cbx__kernel_operands(&x);
        if (x.op == CBX__K_LOAD) CHECK(x.a < operands, "an operand");
        if (x.op == CBX__K_LOAD) x.a += 2;
        if (n > 0) x.a = to[x.a];
        if (n > 1) x.b = to[x.b];
        if (n > 2) x.c = to[x.c];
        if (x.op == CBX__K_CONST && spoiled-- == 0) x.bits ^= 1; /* the lowest bit of a constant */
        to[i] = cbx__kernel_add(k, x);
    }
    k->streams.items[0].value = to[f->result];
    k->streams.items[1].value = to[f->inside];
    cbx__kernel_finish(k);
}

typedef struct sampled {
    size_t inside, wrong;
} sampled;

static sampled run(cbx_prim p, cbx_dtype t, size_t spoiled)
{
    const size_t size = cbx_dtype_size(t), operands = strlen(cbx_prim_get_info(p)->operands);
    const cbx__loops *loops = cbx__loops_get();
    const ptrdiff_t step[3] = { (ptrdiff_t)size, (ptrdiff_t)size, (ptrdiff_t)size };
    const int64_t zero[4] = { 0 };
    char *x = malloc(N * size), *y = malloc(N * size), *got = malloc(N * size), *wanted = malloc(N * size);
    bool *inside = malloc(N);
    sampled out = { 0 };
    cbx__kernel k;
    const cbx__kernel *kernels[1] = { &k };
    cbx__code *code;
    cbx_err err;

    fill(x, t, p, 0);
    fill(y, t, p, 1);
    formula_kernel(&k, p, t, spoiled);
    CHECK_OK(kernel_check(&k, &err), &err, cbx_prim_name(p));
    CHECK_OK(cbx__emitter_interpreter.compile(ctx, 1, kernels, &code, &err), &err, cbx_prim_name(p));
    code->fn[0](code->self[0], 1, N, (char *const[]){ got, (char *)inside, x, y }, zero, zero);
    (operands == 1 ? loops->unary(p, t) : loops->binary(p, t))(N, (char *const[]){ wanted, x, y }, step);
    for (size_t i = 0; i < N; i++) {
        const bool nan = t == CBX_F64 ? isnan(((double *)got)[i]) && isnan(((double *)wanted)[i])
                                      : isnan(((float *)got)[i]) && isnan(((float *)wanted)[i]);
        out.inside += inside[i];
        out.wrong += inside[i] && !nan && memcmp(got + i * size, wanted + i * size, size) != 0;
    }
    cbx__code_free(code);
    cbx__kernel_clear(&k);
    free(x), free(y), free(got), free(wanted), free(inside);
    return out;
}

TEST(formulas_have_the_bits_of_loops)
{
    size_t formulas = 0;
    for (int p = 0; p < CBX_PRIM_LIMIT; p++) {
        for (cbx_dtype t = CBX_F32; t <= CBX_F64; t++) {
            if (!cbx__kernel_formula((cbx_prim)p, t)) continue;
            const sampled s = run((cbx_prim)p, t, SIZE_MAX);
            CHECK_INT(s.wrong, 0, cbx_prim_name((cbx_prim)p));
            CHECK_GT(s.inside, N / 8, cbx_prim_name((cbx_prim)p));
            CHECK_LE(s.inside, p == CBX_PRIM_EXP || p == CBX_PRIM_ERFC ? N : N - 1, cbx_prim_name((cbx_prim)p));
            formulas++;
        }
    }
    CHECK_INT(formulas, 2 * 27, "formulas");
    CHECK(!cbx__kernel_formula(CBX_PRIM_ERF, CBX_F64) && !cbx__kernel_formula(CBX_PRIM_EXP, CBX_C128),
          "others have none");
}

/* The result takes the place of an operand, also of rare ones, which are read again. */
TEST(loops_may_write_over_an_operand)
{
    const cbx__loops *loops = cbx__loops_get();
    double *x[2] = { malloc(N * sizeof **x), malloc(N * sizeof **x) }, *wanted = malloc(N * sizeof *wanted);

    for (int p = 0; p < CBX_PRIM_LIMIT; p++)
        for (cbx_dtype t = CBX_F32; t <= CBX_F64; t++) {
            const size_t size = cbx_dtype_size(t);
            const ptrdiff_t step[3] = { (ptrdiff_t)size, (ptrdiff_t)size, (ptrdiff_t)size };
            if (!cbx__kernel_formula((cbx_prim)p, t)) continue;
            const size_t operands = strlen(cbx_prim_get_info((cbx_prim)p)->operands);
            const cbx__loop loop = operands == 1 ? loops->unary((cbx_prim)p, t) : loops->binary((cbx_prim)p, t);
            for (size_t over = 0; over < operands; over++) {
                for (size_t o = 0; o < 2; o++) fill(x[o], t, (cbx_prim)p, o);
                loop(N, (char *const[]){ (char *)wanted, (char *)x[0], (char *)x[1] }, step);
                loop(N, (char *const[]){ (char *)x[over], (char *)x[0], (char *)x[1] }, step);
                CHECK(memcmp(x[over], wanted, N * size) == 0, cbx_prim_name((cbx_prim)p));
            }
        }
    free(x[0]), free(x[1]), free(wanted);
}

/* What the table of primitives says is a vector function has a formula. */
TEST(vector_functions_have_formulas)
{
#define IS_libm                               false
#define IS_libm_cx                            false
#define IS_own                                false
#define IS_vector                             true
#define IS_vector_cx                          true
#define IS_edge                               true
#define IS_FLOAT(P, g, kind)                  IS_##kind
#define IS_ROUND                              IS_FLOAT
#define IS_KEEP                               IS_FLOAT
#define IS_BINARY(P, g)                       false
#define IS_NO                                 false
#define IS_BINARY_FLOAT                       IS_BINARY
#define IS_BINARY_WIDE                        IS_BINARY
#define IS_COMPARE                            IS_BINARY
#define IS(name, number, word, function, ...) { CBX_PRIM_##name, IS_##function },
    static const struct {
        cbx_prim prim;
        bool is_vector;
    } prims[] = { CBX_PRIM_MAP(IS) };
    for (size_t i = 0; i < CBX_LEN(prims); i++)
        if (prims[i].is_vector) CHECK(cbx__kernel_formula(prims[i].prim, CBX_F64), cbx_prim_name(prims[i].prim));
}

/* One bit of one constant. */
TEST(a_wrong_constant_is_seen)
{
    size_t seen = 0, all = 0;
    for (int p = 0; p < CBX_PRIM_LIMIT; p++) {
        for (size_t spoiled = 0; cbx__kernel_formula((cbx_prim)p, CBX_F64) && spoiled < 3; spoiled++, all++)
            seen += run((cbx_prim)p, CBX_F64, spoiled).wrong > 0;
    }
    CHECK_GT((double)seen, 0.5 * (double)all, "most constants");
}

TESTS(.seconds = 600, .before = counted_setup, .after = counted_teardown)
