/* Kernels of the compiler: what they may be, and every emitter against plain C over random ones. */
#include "check.h"

#include <stdlib.h>

#include "calibrax/array/jit/ctext.h"
#include "calibrax/array/jit/emitter.h"
#include "counted.h"
#include "kernels_random.h"

/* CALIBRAX_TEST_KERNELS: how many random kernels. */
static size_t kernels_asked(size_t usual)
{
    const char *asked = getenv("CALIBRAX_TEST_KERNELS");
    return asked ? strtoull(asked, NULL, 10) : usual;
}

/* ---- the interpreter ---- */

TEST(the_interpreter_is_plain)
{
    const char *report;
    CHECK(!kernels_differ(ctx, &cbx__emitter_interpreter, &plain_emitter, KERNELS_ALL, 1, kernels_asked(4000), &report),
          report);
}

/* An emitter with a fault: one operation is another. */
static cbx__kop wrong_from, wrong_to;
static cbx_status compile_wrong(cbx_ctx *c, size_t n, const cbx__kernel *const *kernels, cbx__code **out, cbx_err *err)
{
    cbx__kernel copies[64];
    const cbx__kernel *pointers[64] = { 0 };
    cbx_status st;

    for (size_t i = 0; i < n; i++) {
        copies[i] = (cbx__kernel){ .al = kernels[i]->al, .nout = kernels[i]->nout };
        copies[i].streams = kernels[i]->streams;
        copies[i].carries = kernels[i]->carries;
        copies[i].single = kernels[i]->single;
        for (size_t q = 0; q < kernels[i]->instr.n; q++) {
            cbx__kinstr x = kernels[i]->instr.items[q];
            if (x.op == wrong_from && (wrong_from != CBX__K_LOAD || x.dtype == CBX_I64)) x.op = (uint8_t)wrong_to;
            CHECK(cbx_list_push(&copies[i].al, &copies[i].instr, x), "memory");
        }
        pointers[i] = &copies[i];
    }
    st = cbx__emitter_interpreter.compile(c, n, pointers, out, err);
    for (size_t i = 0; i < n; i++) cbx_list_clear(&copies[i].al, &copies[i].instr);
    return st;
}
static const cbx__emitter wrong_emitter = { "wrong", compile_wrong };

TEST(a_fault_is_seen_and_shrunk)
{
    static const struct {
        cbx__kop from, to;
        const char *word;
    } faults[] = {
        { CBX__K_ADD, CBX__K_SUB, "= add." },     { CBX__K_LT, CBX__K_LE, "= lt.bool" },
        { CBX__K_SHR, CBX__K_SHL, "= shr." },     { CBX__K_FLOOR, CBX__K_TRUNC, "= floor." },
        { CBX__K_RINT, CBX__K_FLOOR, "= rint." }, { CBX__K_REM, CBX__K_FLOOR_DIV, "= rem." },
    };
    for (size_t i = 0; i < CBX_LEN(faults); i++) {
        const char *report;
        size_t lines = 0;
        wrong_from = faults[i].from, wrong_to = faults[i].to;
        CHECK(kernels_differ(ctx, &wrong_emitter, &plain_emitter, KERNELS_ALL, 1, 3000, &report), faults[i].word);
        CHECK(strstr(report, faults[i].word), report);
        for (const char *c = report; *c; c++) lines += *c == '\n';
        CHECK_LE(lines, 7, report); /* the reason, an output, at most two inputs and an operation on them */
    }
}

/* ---- what stands around it ---- */

/* a * x + y of float64, of which y may be the result. */
static void make_axpy(cbx__kernel *k, const cbx_allocator *al)
{
    cbx__kid v[3];

    cbx__kernel_init(k, al);
    k->nout = 1;
    for (size_t s = 0; s < 4; s++)
        (void)!cbx_list_push(
            &k->al, &k->streams,
            (cbx__kstream){ .dtype = CBX_F64, .kind = s == 1 ? CBX__STREAM_SCALAR : CBX__STREAM_DENSE });
    for (cbx__kid s = 1; s < 4; s++)
        v[s - 1] = cbx__kernel_add(k, (cbx__kinstr){ .op = CBX__K_LOAD, .dtype = CBX_F64, .a = s });
    const cbx__kid sum = cbx__k2(k, CBX__K_ADD, CBX_F64, cbx__k2(k, CBX__K_MUL, CBX_F64, v[0], v[1]), v[2]);
    if (k->streams.n > 0) k->streams.items[0].value = sum;
    if (!k->failed && k->streams.n == 4) cbx__kernel_finish(k);
}

static const cbx__emitter *to_compile;
static cbx_status compile_axpy(cbx_ctx *c, void *user)
{
    const cbx__kernel *kernels[2] = { user, user };
    cbx__code *code = NULL;
    cbx_err err;
    const cbx_status st = to_compile->compile(c, 2, kernels, &code, &err);

    cbx__code_free(code);
    return st;
}

TEST(memory_may_end)
{
    cbx__kernel k;

    make_axpy(&k, cbx_allocator_default());
    to_compile = &cbx__emitter_interpreter;
    CHECK_GT(cbx_test_fail_each(compile_axpy, &k, "the interpreter"), 0, "it allocates");
    cbx__kernel_clear(&k);
}

/* Threads share the code, each with a part of the elements. */
TEST(threads_share_code)
{
    enum { N = 100000, PARTS = 64 };
    double *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y), a = 0.5;
    cbx__kernel k;
    const cbx__kernel *kernels[1] = { &k };
    cbx__code *code;
    cbx_err err;
    size_t wrong = 0;

    make_axpy(&k, cbx_allocator_default());
    CHECK_OK(cbx__emitter_interpreter.compile(ctx, 1, kernels, &code, &err), &err, "compile");
    for (size_t i = 0; i < N; i++) x[i] = (double)i, y[i] = 1;
#pragma omp parallel for num_threads(8) schedule(dynamic)
    for (int part = 0; part < PARTS; part++) {
        const int64_t first = (int64_t)part * N / PARTS, behind = (int64_t)(part + 1) * N / PARTS, zero[4] = { 0 };
        char *const p[4] = { (char *)(y + first), (char *)&a, (char *)(x + first), (char *)(y + first) };
        code->fn[0](code->self[0], 1, behind - first, p, zero, zero);
    }
    for (size_t i = 0; i < N; i++) wrong += y[i] != 0.5 * (double)i + 1;
    CHECK_INT(wrong, 0, "elements");
    cbx__code_free(code);
    cbx__kernel_clear(&k);
    free(x);
    free(y);
}

TEST(kernels_are_checked)
{
    static const struct {
        size_t at;
        cbx__kinstr instr;
        const char *message;
    } cases[] = {
        { 3, { .op = CBX__K_ADD, .dtype = CBX_BOOL }, "v3 = add.bool does not give this dtype" },
        { 3, { .op = CBX__K_ADD, .dtype = CBX_F64, .b = 3 }, "v3 = add.float64 reads a higher number" },
        { 2,
          { .op = CBX__K_LOAD, .dtype = CBX_F32, .a = 3 },
          "v2 = load.float32 reads another dtype than the stream's" },
        { 2,
          { .op = CBX__K_LOAD, .dtype = CBX_F64, .a = 4 },
          "v2 = load.float64 reads another dtype than the stream's" },
        { 3, { .op = CBX__K_BITS, .dtype = CBX_F32 }, "v3 = bits.float32 has an operand of another size" },
        { 3, { .op = CBX__K_SELECT, .dtype = CBX_F64 }, "v3 = select.float64 has a condition that is no bool" },
        { 3, { .op = CBX__K_SQRT, .dtype = CBX_F32 }, "v3 = sqrt.float32 has operands of another dtype" },
        { 4, { .op = CBX__K_EQ, .dtype = CBX_BOOL }, "stream 0 is an output of another dtype than its value" },
    };
    cbx_err err;
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx__kernel k;
        make_axpy(&k, cbx_allocator_default());
        CHECK_OK(kernel_check(&k, &err), &err, "as it is");
        k.instr.items[cases[i].at] = cases[i].instr;
        CHECK_STATUS(kernel_check(&k, &err), CBX_EINVAL, cases[i].message);
        CHECK_STR(err.message, cases[i].message, "message");
        cbx__kernel_clear(&k);
    }
}

/* All of many values are read at the end, the first one last. */
TEST(many_values_at_once)
{
    static const size_t numbers[] = { 30, 40, 600, 8191, 8193 };

    for (size_t c = 0; c < CBX_LEN(numbers); c++) {
        const size_t n = numbers[c];
        const bool fits = n < 8192;
        double x[50], y[50];
        char *const p[2] = { (char *)y, (char *)x };
        const int64_t zero[2] = { 0 };
        cbx__kernel k;
        const cbx__kernel *kernels[1] = { &k };
        cbx__code *code;
        cbx_err err;

        cbx__kernel_init(&k, cbx_allocator_default());
        k.nout = 1;
        for (size_t s = 0; s < 2; s++)
            CHECK(cbx_list_push(&k.al, &k.streams, (cbx__kstream){ .dtype = CBX_F64 }), "memory");
        CHECK(cbx_list_push(&k.al, &k.instr, (cbx__kinstr){ .op = CBX__K_LOAD, .dtype = CBX_F64, .a = 1 }), "memory");
        for (cbx__kid i = 1; i < n; i++)
            CHECK(cbx_list_push(&k.al, &k.instr, (cbx__kinstr){ .op = CBX__K_ADD, .dtype = CBX_F64, .a = i - 1 }),
                  "memory");
        for (cbx__kid i = (cbx__kid)n; i < 2 * n; i++)
            CHECK(cbx_list_push(
                      &k.al, &k.instr,
                      (cbx__kinstr){ .op = CBX__K_ADD, .dtype = CBX_F64, .a = i - 1, .b = (cbx__kid)(2 * n - 1 - i) }),
                  "memory");
        k.streams.items[0].value = (cbx__kid)(2 * n - 1);
        for (size_t i = 0; i < 50; i++) x[i] = (double)i;
        if (fits) {
            CHECK_OK(cbx__emitter_interpreter.compile(ctx, 1, kernels, &code, &err), &err, "compile");
            code->fn[0](code->self[0], 1, 50, p, zero, zero);
            CHECK(y[49] == 49 * ((double)n + (double)n * ((double)n + 1) / 2), "sum of 1 .. n, and the last of them");
            cbx__code_free(code);
        } else {
            CHECK_STATUS(cbx__emitter_interpreter.compile(ctx, 1, kernels, &code, &err), CBX_EOVERFLOW, "too many");
            CHECK_STR(err.message, "a kernel has 8193 values at once, more than the 8192 that the interpreter keeps",
                      "message");
        }
        cbx__kernel_clear(&k);
    }
}

/* ---- C ---- */

TEST(c_is_the_interpreter)
{
    const char *report;
    CHECK(
        !kernels_differ(ctx, &compiled_emitter, &cbx__emitter_interpreter, KERNELS_ALL, 1, kernels_asked(256), &report),
        report);
}

TEST(c_is_readable)
{
    static const char wanted[] = "\nvoid kernel0(const void *self, int64_t m, int64_t n, char *const *p, const int64_t "
                                 "*outer, const int64_t *inner)\n"
                                 "{\n"
                                 "    (void)self, (void)inner;\n"
                                 "    for (int64_t j = 0; j < m && n > 0; j++) {\n"
                                 "        double *p0 = (double *)(p[0] + j * outer[0]);\n"
                                 "        const double p1 = *(const double *)(p[1] + j * outer[1]);\n"
                                 "        const double *p2 = (const double *)(p[2] + j * outer[2]);\n"
                                 "        const double *p3 = (const double *)(p[3] + j * outer[3]);\n"
                                 "        CBX_INDEPENDENT\n"
                                 "        for (int64_t i = 0; i < n; i++) {\n"
                                 "            const double v0 = p1;\n"
                                 "            const double v1 = p2[i];\n"
                                 "            const double v2 = p3[i];\n"
                                 "            const double v3 = v0 * v1;\n"
                                 "            const double v4 = v3 + v2;\n"
                                 "            p0[i] = v4;\n"
                                 "        }\n"
                                 "    }\n"
                                 "}\n";
    cbx__kernel k;
    const cbx__kernel *kernels[1] = { &k };
    cbx_text text;
    cbx_err err;

    make_axpy(&k, cbx_allocator_default());
    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    cbx__ctext_put(&text, "kernel", false, 1, kernels);
    CHECK_OK(cbx_text_check(&text, &err), &err, "text");
    CHECK_STR(strstr(cbx_text_str(&text), "\nvoid kernel0"), wanted, "the function");
    cbx_text_clear(&text);
    cbx__kernel_clear(&k);
}

TESTS(.seconds = 600, .before = counted_setup, .after = counted_teardown)
