/* Functions ahead of time: built by a compiler that sees the pair alone, and held to the bits of
 * the reference backend. */
#include "check.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/array/aot.h"
#include "calibrax/array/ops.h"
#include "calibrax/array/transform.h"
#include "calibrax/base/file.h"
#include "calibrax/base/process.h"
#include "calibrax/base/rng.h"
#include "counted.h"
#include "graphs_random.h"

#define MAX_ARRAYS 8

/* ---- building ---- */

/* All C files of a folder as one shared object; NULL: the compiler's last words are in why. */
static void *build(const char *folder, const char *flags, char why[1000])
{
    char command[512], library[128];
    const char *const argv[] = { "sh", "-c", command, NULL };
    cbx__process_opts how = CBX__PROCESS_OPTS_INIT;
    cbx__process p;
    cbx_err err;

    snprintf(library, sizeof library, "%s/all.so", folder);
    snprintf(command, sizeof command,
             "cd %s && exec ${CC:-cc} -std=c17 -Wall -Wextra -pedantic -Werror %s -shared -fPIC -o all.so *.c -lm",
             folder, flags);
    how.argv = argv;
    how.errors = CBX__FD_TAIL;
    cbx__process_init(&p);
    CHECK_OK(cbx__process_start(&how, &p, &err), &err, "the compiler");
    cbx__process_wait(&p, UINT64_MAX);
    cbx__process_finish(&p);
    cbx__process_tail(&p, why, 1000);
    return cbx__process_exit_status(&p) == 0 ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* The function on nin + nout arrays and a workspace. */
static void call(void *f, size_t n, void *const *p, void *work)
{
    switch (n) { /* an argument too many is not read */
    case 1: ((void (*)(void *, void *))f)(p[0], work); break;
    case 2: ((void (*)(void *, void *, void *))f)(p[0], p[1], work); break;
    case 3: ((void (*)(void *, void *, void *, void *))f)(p[0], p[1], p[2], work); break;
    case 4: ((void (*)(void *, void *, void *, void *, void *))f)(p[0], p[1], p[2], p[3], work); break;
    case 5: ((void (*)(void *, void *, void *, void *, void *, void *))f)(p[0], p[1], p[2], p[3], p[4], work); break;
    case 6:
        ((void (*)(void *, void *, void *, void *, void *, void *, void *))f)(p[0], p[1], p[2], p[3], p[4], p[5], work);
        break;
    case 7:
        ((void (*)(void *, void *, void *, void *, void *, void *, void *, void *))f)(p[0], p[1], p[2], p[3], p[4],
                                                                                      p[5], p[6], work);
        break;
    default: fail_msg("%zu arrays", n);
    }
}

static bool is_nan(cbx_dtype t, const char *at)
{
    double d;
    float f;
    memcpy(&d, at, t == CBX_F64 ? sizeof d : 0);
    memcpy(&f, at, t == CBX_F32 ? sizeof f : 0);
    return t == CBX_F64 ? d != d : t == CBX_F32 && f != f;
}

/* The first element that differs, any NaN being equal to any; -1: none. */
static long first_difference(const cbx_array *wanted, const char *got)
{
    const cbx_array_desc *d = cbx_array_get_desc(wanted);
    const size_t size = cbx_dtype_size(d->dtype), bytes = cbx_array_bytes(wanted);
    char *w = malloc(bytes + 16);
    long at = -1;

    CHECK(!cbx_array_read(wanted, w, bytes, NULL), "read");
    for (size_t i = 0; i < bytes / size && at < 0; i++)
        if (memcmp(w + i * size, got + i * size, size) != 0 &&
            !(is_nan(d->dtype, w + i * size) && is_nan(d->dtype, got + i * size)))
            at = (long)i;
    free(w);
    return at;
}

/* Bytes of a workspace, as the header states. */
static size_t work_bytes(const char *header)
{
    const char *at = strstr(header, "_WORK_BYTES ");
    return at ? strtoull(at + strlen("_WORK_BYTES "), NULL, 10) : 0;
}

typedef struct written {
    char name[32];
    size_t nin, nout, work;
    cbx_array *in[MAX_ARRAYS], *out[MAX_ARRAYS]; /* out: as the reference backend has them */
} written;

/* Runs the built function on the operands; -1 or the number of a result that differs, and where. */
static int differs(void *library, const written *w, long *where)
{
    void *f = dlsym(library, w->name), *p[2 * MAX_ARRAYS], *work = malloc(w->work + 1);
    int found = -1;

    CHECK(f && work, w->name);
    memset(work, 0xa5, w->work);
    for (size_t i = 0; i < w->nin + w->nout; i++) {
        const cbx_array *a = i < w->nin ? w->in[i] : w->out[i - w->nin];
        p[i] = malloc(cbx_array_bytes(a) + 16);
        memset(p[i], 0x5a, cbx_array_bytes(a) + 16);
        if (i < w->nin) CHECK(!cbx_array_read(a, p[i], cbx_array_bytes(a), NULL), "read");
    }
    call(f, w->nin + w->nout, p, work);
    for (size_t i = 0; i < w->nout && found < 0; i++) {
        const char *got = p[w->nin + i];
        *where = first_difference(w->out[i], got);
        if (*where >= 0) found = (int)i;
        for (size_t b = 0; b < 16; b++)
            CHECK(got[cbx_array_bytes(w->out[i]) + b] == 0x5a, "nothing behind a result is written");
    }
    for (size_t i = 0; i < w->nin + w->nout; i++) free(p[i]);
    free(work);
    return found;
}

/* ---- functions ---- */

#define FUNCTION(name)                                                                                                 \
    static cbx_status name(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
#define UNUSED (void)nin, (void)nout, (void)user

FUNCTION(decay)
{
    UNUSED;
    out[0] = cbx_exp(c, cbx_negative(c, cbx_multiply(c, in[0], in[1])));
    return CBX_OK;
}
FUNCTION(functions)
{
    UNUSED;
    out[0] = cbx_add(c, cbx_log(c, in[0]), cbx_pow(c, cbx_abs(c, in[0]), in[1]));
    out[1] = cbx_atan2(c, cbx_sin(c, in[0]), cbx_erf(c, in[1]));
    return CBX_OK;
}
FUNCTION(turned) /* a transposed matrix by a vector, element by element, and the sums of rows */
{
    UNUSED;
    out[0] = cbx_multiply(c, cbx_matrix_transpose(c, in[0]), in[1]);
    out[1] = cbx_sum(c, out[0], CBX_AXIS(1));
    return CBX_OK;
}

FUNCTION(softmax)
{
    UNUSED;
    cbx_array *e = cbx_exp(c, cbx_subtract(c, in[0], cbx_max(c, in[0], CBX_AXIS_KEEP(1))));
    out[0] = cbx_divide(c, e, cbx_sum(c, e, CBX_AXIS_KEEP(1)));
    return CBX_OK;
}
FUNCTION(folds)
{
    UNUSED;
    out[0] = cbx_mean(c, in[0], CBX_AXIS(0));
    out[1] = cbx_sum(c, in[0], NULL);
    out[2] = cbx_nanmin(c, in[0], CBX_AXIS_KEEP(0));
    out[3] = cbx_any(c, cbx_greater_scalar(c, in[0], 1.5), CBX_AXIS(0));
    return CBX_OK;
}
FUNCTION(loss)
{
    UNUSED;
    cbx_array *r = cbx_subtract(c, cbx_tanh(c, cbx_multiply(c, in[0], in[1])), in[2]);
    out[0] = cbx_sum(c, cbx_multiply(c, r, r), NULL);
    return CBX_OK;
}
/* An operand, a view, a value that is two results, an array from outside. */
FUNCTION(copies)
{
    UNUSED;
    out[0] = in[0];
    out[1] = cbx_permute_dims(c, in[0], (const int[]){ 1, 0 });
    out[2] = cbx_add(c, in[0], cbx_linspace(c, -1, INFINITY, 7, true, CBX_F64));
    out[3] = out[2];
    return CBX_OK;
}
FUNCTION(integers)
{
    UNUSED;
    cbx_array *q = cbx_floor_divide(c, in[0], in[1]);
    out[0] = cbx_add(c, cbx_multiply(c, q, in[1]), cbx_remainder(c, in[0], in[1]));
    out[1] = cbx_sum(c, cbx_bitwise_xor(c, in[0], cbx_bitwise_left_shift(c, in[1], in[0])), CBX_AXIS(0));
    return CBX_OK;
}
FUNCTION(nothing)
{
    UNUSED;
    out[0] = cbx_exp(c, in[0]);
    out[1] = cbx_sum(c, in[0], NULL);
    return CBX_OK;
}

/* An average that moves, from the last row to the first, and its steps. */
FUNCTION(average_step)
{
    UNUSED;
    out[0] = cbx_add(c, cbx_multiply_scalar(c, in[0], 0.9),
                     cbx_multiply_scalar(c, cbx_log1p(c, cbx_abs(c, in[1])), 0.1));
    out[1] = cbx_negative(c, out[0]);
    return CBX_OK;
}
FUNCTION(average)
{
    UNUSED;
    return cbx_scan(c, CBX_FN(average_step, NULL, 2, 2), 1, &in[0], 1, &in[1], CBX_LENGTH_OF_XS, true, out);
}

static const struct {
    const char *name;
    cbx_array_fn f;
    size_t nin, nout;
    cbx_array_desc in[3];
} cases[] = {
    { "decay", decay, 2, 1, { { CBX_F64, 1, { 1001 } }, { CBX_F64, 0, { 0 } } } },
    { "functions64", functions, 2, 2, { { CBX_F64, 1, { 3001 } }, { CBX_F64, 1, { 3001 } } } },
    { "functions32", functions, 2, 2, { { CBX_F32, 2, { 7, 301 } }, { CBX_F32, 1, { 301 } } } },
    { "turned", turned, 2, 2, { { CBX_F64, 2, { 400, 350 } }, { CBX_F64, 1, { 400 } } } },
    { "softmax", softmax, 1, 1, { { CBX_F64, 2, { 19, 33 } } } },
    { "folds", folds, 1, 4, { { CBX_F64, 2, { 1003, 21 } } } },
    { "folds_long", folds, 1, 4, { { CBX_F32, 1, { 20000 } } } },
    { "folds_cube", folds, 1, 4, { { CBX_F32, 3, { 5, 6, 40 } } } },
    { "copies", copies, 1, 4, { { CBX_F64, 2, { 4, 7 } } } },
    { "integers", integers, 2, 2, { { CBX_I32, 1, { 100 } }, { CBX_I32, 1, { 100 } } } },
    { "integers8", integers, 2, 2, { { CBX_U8, 2, { 3, 50 } }, { CBX_U8, 0, { 0 } } } },
    { "average", average, 2, 2, { { CBX_F64, 1, { 21 } }, { CBX_F64, 2, { 100, 21 } } } },
    { "average_one", average, 2, 2, { { CBX_F32, 0, { 0 } }, { CBX_F32, 1, { 9 } } } },
    { "nothing", nothing, 1, 2, { { CBX_F64, 2, { 0, 3 } } } },
};

/* Numbers of both signs, with zeros, infinities and NaN among those of floats. */
static cbx_array *operand(const cbx_array_desc *d, uint64_t seed)
{
    cbx_rng r = cbx_rng_make(seed, 3);
    cbx_array *a;
    size_t count;
    cbx_err err;

    CHECK_OK(cbx_array_create(ctx, d, &a, &err), &err, "operand");
    count = cbx_array_count(a);
    for (size_t i = 0; i < count; i++) {
        const double few[] = { 0, -0.0, 1, -1, (double)NAN, HUGE_VAL, -HUGE_VAL, 1e-310 };
        const double x = cbx_rng_below(&r, 12) ? 6 * cbx_rng_uniform(&r) - 3 : few[cbx_rng_below(&r, CBX_LEN(few))];
        char *at = (char *)cbx_array_data_mut(a) + i * cbx_dtype_size(d->dtype);
        if (d->dtype == CBX_F64)
            memcpy(at, &x, sizeof x);
        else if (d->dtype == CBX_F32)
            memcpy(at, &(float){ (float)x }, sizeof(float));
        else
            memcpy(at, &(int64_t){ (int64_t)cbx_rng_below(&r, 9) - (d->dtype <= CBX_I64 ? 4 : 0) },
                   cbx_dtype_size(d->dtype));
    }
    return a;
}

static void write_case(const char *folder, const char *name, const cbx_fn *f, const cbx_array_desc *in, written *w)
{
    char path[128];
    char *header;
    size_t len;
    cbx_err err;

    *w = (written){ .nin = f->nin, .nout = f->nout };
    snprintf(w->name, sizeof w->name, "%s", name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(cbx_aot_write(ctx, f, in, path, &err), &err, name);
    strcat(path, ".h");
    CHECK_OK(cbx_file_read(ctx, path, 1 << 20, &header, &len, &err), &err, name);
    w->work = work_bytes(header);
    cbx_mem_free(cbx_ctx_allocator(ctx), header, len + 1);
    for (size_t i = 0; i < f->nin; i++) w->in[i] = operand(&in[i], i + 1);
    CHECK_OK(cbx_fn_run(ctx, f, f->nin, w->in, f->nout, w->out, &err), &err, name);
}

static void clear_case(written *w)
{
    for (size_t i = 0; i < w->nin; i++) cbx_array_free(w->in[i]);
    for (size_t i = 0; i < w->nout; i++) cbx_array_free(w->out[i]);
}

/* Where gcc would round products and sums once; and without vectors. */
static const char *const builds[] = { "-O3 -march=native -std=gnu17", "-O1 -mfma -std=gnu17" };

TEST(pairs_give_the_bits_of_the_reference)
{
    static written w[CBX_LEN(cases) + 1];
    char folder[64], why[1000];
    cbx_fn *gradient;
    cbx_err err;

    cbx_test_folder(folder);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const cbx_fn f = { cases[i].name, cases[i].f, NULL, cases[i].nin, cases[i].nout, NULL };
        write_case(folder, cases[i].name, &f, cases[i].in, &w[i]);
    }
    CHECK_OK(cbx_value_and_grad(ctx, CBX_FN(loss, NULL, 3, 1), 2, NULL, &gradient, &err), &err, "gradient");
    const cbx_array_desc in[] = { { CBX_F64, 0, { 0 } }, { CBX_F64, 1, { 777 } }, { CBX_F64, 1, { 777 } } };
    write_case(folder, "gradient", gradient, in, &w[CBX_LEN(cases)]);
    cbx_fn_free(gradient);
    for (size_t b = 0; b < CBX_LEN(builds); b++) {
        void *library = build(folder, builds[b], why);
        CHECK(library, why);
        for (size_t i = 0; i < CBX_LEN(w); i++) {
            long where;
            const int result = differs(library, &w[i], &where);
            if (result >= 0)
                fail_msg("%s built with %s: result %d differs at %ld", w[i].name, builds[b], result, where);
        }
        dlclose(library);
    }
    for (size_t i = 0; i < CBX_LEN(w); i++) clear_case(&w[i]);
    cbx_test_folder_remove(folder);
}

/* CALIBRAX_TEST_GRAPHS, up to 1000: how many random functions; those with an operation that has
 * no form in C are left out. */
TEST(random_functions_can_be_written)
{
    enum { MAX = 1000 };
    static written w[MAX];
    const char *asked = getenv("CALIBRAX_TEST_GRAPHS");
    const size_t all = asked ? strtoull(asked, NULL, 10) : 50, trials = all < MAX ? all : MAX;
    char folder[64], why[1000];
    size_t n = 0;
    cbx_err err;
    void *library;

    cbx_test_folder(folder);
    for (uint64_t seed = 1; seed <= trials; seed++) {
        graph_trial t = { seed, 2 + (unsigned)(seed % 19) };
        const cbx_fn f = { "random", graph_function, &t, GRAPH_INPUTS, GRAPH_OUTPUTS, NULL };
        cbx_array_desc in[GRAPH_INPUTS];
        char path[128];
        cbx_text texts[2];
        graph_inputs(ctx, &t, w[n].in);
        for (size_t i = 0; i < GRAPH_INPUTS; i++) in[i] = *cbx_array_get_desc(w[n].in[i]);
        snprintf(w[n].name, sizeof w[n].name, "random%d", (int)seed);
        for (int i = 0; i < 2; i++) cbx_text_init(&texts[i], cbx_ctx_allocator(ctx));
        w[n].nin = GRAPH_INPUTS, w[n].nout = 0;
        const cbx_status st = cbx_aot_text(ctx, &f, in, w[n].name, &texts[0], &texts[1], &err);
        if (st != CBX_EUNSUPPORTED) CHECK_OK(st, &err, w[n].name);
        for (int i = 0; !st && i < 2; i++) {
            snprintf(path, sizeof path, "%s/%s.%c", folder, w[n].name, "hc"[i]);
            CHECK_OK(cbx_file_write_atomic(ctx, path, texts[i].data, texts[i].len, &err), &err, path);
        }
        if (!st) {
            w[n].nout = GRAPH_OUTPUTS;
            w[n].work = work_bytes(cbx_text_str(&texts[0]));
            CHECK_OK(cbx_fn_run(ctx, &f, GRAPH_INPUTS, w[n].in, GRAPH_OUTPUTS, w[n].out, &err), &err, "reference");
            n++;
        } else {
            clear_case(&w[n]);
        }
        for (int i = 0; i < 2; i++) cbx_text_clear(&texts[i]);
    }
    library = build(folder, "-O1 -mfma", why);
    CHECK(library, why);
    for (size_t i = 0; i < n; i++) {
        long where;
        const int result = differs(library, &w[i], &where);
        if (result >= 0) fail_msg("%s: result %d differs at %ld; see %s", w[i].name, result, where, folder);
        clear_case(&w[i]);
    }
    print_message("# %zu of %zu functions have a form in C\n", n, trials);
    CHECK_GT(n, trials / 4, "functions");
    dlclose(library);
    cbx_test_folder_remove(folder);
}

/* Sums in another order; and a user's file that includes the header. */
TEST(a_fault_is_seen)
{
    static const char wanted[] = "n < 8 ? 0 : n - n % 8", wrong[] = "n < 9 ? 0 : 0         ";
    const cbx_fn f = { "softmax", softmax, NULL, 1, 1, NULL };
    const cbx_array_desc in = { CBX_F64, 2, { 19, 33 } };
    char folder[64], path[128], why[1000], *source, *at;
    cbx_err err;
    written w;
    size_t len;
    long where;
    void *library;

    cbx_test_folder(folder);
    write_case(folder, "softmax", &f, &in, &w);
    snprintf(path, sizeof path, "%s/softmax.c", folder);
    CHECK_OK(cbx_file_read(ctx, path, 1 << 20, &source, &len, &err), &err, path);
    at = strstr(source, wanted);
    CHECK(at, "the leaves of sums");
    memcpy(at, wrong, strlen(wanted));
    CHECK_OK(cbx_file_write_atomic(ctx, path, source, len, &err), &err, path);
    cbx_mem_free(cbx_ctx_allocator(ctx), source, len + 1);
    library = build(folder, "-O1", why);
    CHECK(library, why);
    CHECK_INT(differs(library, &w, &where), 0, "a result that differs");
    dlclose(library);
    snprintf(path, sizeof path, "%s/user.c", folder);
    static const char user[] = "#include \"softmax.h\"\nvoid (*use)(const double *, double *, void *) = softmax;\n"
                               "char work[SOFTMAX_WORK_BYTES];\n";
    CHECK_OK(cbx_file_write_atomic(ctx, path, user, strlen(user), &err), &err, path);
    library = build(folder, "-O1", why);
    CHECK(library, why);
    dlclose(library);
    clear_case(&w);
    cbx_test_folder_remove(folder);
}

/* ---- refusals ---- */

FUNCTION(product)
{
    UNUSED;
    out[0] = cbx_exp(c, cbx_tensordot(c, in[0], in[0], 1, (const int[]){ 1 }, (const int[]){ 0 }));
    return CBX_OK;
}
FUNCTION(sorted)
{
    UNUSED;
    out[0] = cbx_sort(c, in[0], 0, false);
    return CBX_OK;
}

FUNCTION(scanned_step)
{
    UNUSED;
    out[0] = cbx_sort(c, cbx_add(c, in[0], in[1]), 0, false);
    return CBX_OK;
}
FUNCTION(scanned)
{
    cbx_array *sum = cbx_sum(c, in[0], CBX_AXIS(0));
    UNUSED;
    return cbx_scan(c, CBX_FN(scanned_step, NULL, 2, 1), 1, &sum, 1, &in[0], CBX_LENGTH_OF_XS, false, out);
}

TEST(what_has_no_form_is_named)
{
    static const struct {
        cbx_array_fn f;
        cbx_dtype dtype;
        const char *name;
        cbx_status status;
        const char *message;
    } refused[] = {
        { product, CBX_F64, "f", CBX_EUNSUPPORTED, "'f' cannot be written as C: it has no form for 'matmul'" },
        { sorted, CBX_F64, "f", CBX_EUNSUPPORTED, "'f' cannot be written as C: it has no form for 'sort'" },
        { scanned, CBX_F64, "f", CBX_EUNSUPPORTED, "'f' cannot be written as C: it has no form for 'scan'" },
        { nothing, CBX_C128, "f", CBX_EUNSUPPORTED, "'f' cannot be written as C: operand 0 has dtype complex128" },
        { nothing, CBX_F64, "2f", CBX_EINVAL,
          "'2f' cannot be the name of a function in C: use letters, digits and '_'" },
        { nothing, CBX_F64, "", CBX_EINVAL, "'' cannot be the name of a function in C: use letters, digits and '_'" },
        { nothing, CBX_F64, "for", CBX_EINVAL,
          "'for' cannot be the name of a function: C or its headers have that name, choose another one" },
        { nothing, CBX_F64, "kernel0", CBX_EINVAL,
          "'kernel0' cannot be the name of a function: its own file defines that name, choose another one" },
        { NULL, CBX_F64, "f", CBX_EINVAL, "the function passed to 'aot' has no code" },
    };
    for (size_t i = 0; i < CBX_LEN(refused); i++) {
        const cbx_fn f = { "f", refused[i].f, NULL, 1, refused[i].f == nothing ? 2 : 1, NULL };
        const cbx_array_desc in = { refused[i].dtype, 2, { 3, 3 } };
        cbx_text texts[2];
        cbx_err err;
        for (int t = 0; t < 2; t++) cbx_text_init(&texts[t], cbx_ctx_allocator(ctx));
        CHECK_STATUS(cbx_aot_text(ctx, &f, &in, refused[i].name, &texts[0], &texts[1], &err), refused[i].status,
                     refused[i].message);
        CHECK_STR(err.message, refused[i].message, "message");
        for (int t = 0; t < 2; t++) CHECK_INT(texts[t].len, 0, "nothing is written");
    }
    cbx_err err;
    CHECK_STATUS(cbx_aot_write(ctx, CBX_FN(nothing, NULL, 1, 2), cases[0].in, "/no/such/folder/f", &err), CBX_ENOENT,
                 "no folder");
}

/* Writes `nothing` under a name; false: the name is refused, which must be all that is wrong. */
static bool takes_name(const char *folder, const char *name)
{
    const cbx_array_desc in = { CBX_F64, 2, { 3, 3 } };
    char path[256];
    cbx_err err;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    const cbx_status st = cbx_aot_write(ctx, CBX_FN(nothing, NULL, 1, 2), &in, path, &err);
    if (st) CHECK_STATUS(st, CBX_EINVAL, err.message);
    if (st) CHECK(strstr(err.message, "cannot be the name of a function"), err.message);
    return !st;
}

TEST(names_are_refused_or_build)
{
    static const char
        *const refused[] = { "sinf",     "_Bool",  "__x",    "_x",   "size_t",  "my_t",     "NAN",
                             "INT8_MAX", "memcpy", "finite", "math", "kernel1", "sum_leaf", "fast_exp_f64" },
               *const taken[] = { "kernel9", "x",     "p",     "in0",     "out0", "work", "loss_f64", "exp_f64",
                                  "first",   "folds", "outer", "produce", "e",    "NORM", "text" };
    char folder[64], why[1000];
    void *library;

    cbx_test_folder(folder);
    for (size_t i = 0; i < CBX_LEN(refused); i++) CHECK(!takes_name(folder, refused[i]), refused[i]);
    for (size_t i = 0; i < CBX_LEN(taken); i++) CHECK(takes_name(folder, taken[i]), taken[i]);
    library = build(folder, "-O0 -std=gnu17", why);
    CHECK(library, why);
    dlclose(library);
    cbx_test_folder_remove(folder);
}

#define LETTERS "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* What a compiler sees of the headers that the pair includes: macros and words of declarations. */
TEST(names_of_headers_are_refused_or_build)
{
    static const char command[] = "cd %s && printf '#include <math.h>\\n#include <stdbool.h>\\n#include <stdint.h>\\n"
                                  "#include <string.h>\\n' > all.h && ${CC:-cc} -std=gnu17 -E -dM -x c all.h | "
                                  "sed 's/^#define \\([A-Za-z0-9_]*\\).*/\\1/' > names && "
                                  "${CC:-cc} -std=gnu17 -E -P -x c all.h >> names && rm all.h";
    char folder[64], text[1024], why[1000], name[64], *words;
    size_t refused = 0, taken = 0, len, n;
    void *library;
    cbx_err err;

    cbx_test_folder(folder);
    snprintf(text, sizeof text, command, folder);
    CHECK_INT(system(text), 0, "the preprocessor");
    snprintf(text, sizeof text, "%s/names", folder);
    CHECK_OK(cbx_file_read(ctx, text, 16 << 20, &words, &len, &err), &err, "names");
    for (const char *at = words; *(at += strcspn(at, LETTERS)); at += n) {
        n = strspn(at, LETTERS "0123456789");
        if (*at == '_' || n >= sizeof name) continue;
        memcpy(name, at, n), name[n] = '\0';
        snprintf(text, sizeof text, "%s/%s.c", folder, name);
        if (access(text, F_OK) == 0) continue; /* seen */
        *(takes_name(folder, name) ? &taken : &refused) += 1;
    }
    cbx_mem_free(cbx_ctx_allocator(ctx), words, len + 1);
    print_message("# %zu words are refused, %zu build\n", refused, taken);
    CHECK_GT(refused, 500, "names");
    library = taken ? build(folder, "-O0 -std=gnu17", why) : NULL;
    CHECK(library || !taken, why);
    if (library) dlclose(library);
    cbx_test_folder_remove(folder);
}

static cbx_status write_gradient(cbx_ctx *c, void *user)
{
    const cbx_array_desc in[] = { { CBX_F64, 0, { 0 } }, { CBX_F64, 1, { 7 } }, { CBX_F64, 1, { 7 } } };
    cbx_text texts[2];
    cbx_err err;
    cbx_status st;

    (void)user;
    for (int t = 0; t < 2; t++) cbx_text_init(&texts[t], cbx_ctx_allocator(c));
    st = cbx_aot_text(c, CBX_FN(loss, NULL, 3, 1), in, "f", &texts[0], &texts[1], &err);
    for (int t = 0; t < 2; t++) {
        if (!st) st = cbx_text_check(&texts[t], &err);
        cbx_text_clear(&texts[t]);
    }
    return st;
}
TEST(memory_may_end) { CHECK_GT(cbx_test_fail_each(write_gradient, NULL, "cbx_aot_text"), 0, "it allocates"); }

TESTS(.seconds = 600, .before = counted_setup, .after = counted_teardown)
