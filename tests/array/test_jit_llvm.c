/* The LLVM emitter: random kernels against the interpreter, and what stands around
 * compiled code. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrax/array/doctor.h"
#include "calibrax/array/jit/cache.h"
#include "calibrax/array/jit/llvm.h"
#include "calibrax/array/transform.h"
#include "calibrax/base/build_id.h"
#include "calibrax/base/file.h"
#include "counted.h"
#include "kernels_random.h"

static char folder[64]; /* of the cache */

/* ---- kernels ---- */

/* out = (x * number + y) of float64, and the MATH of a primitive of it if that is not 0. */
static void make_kernel(cbx__kernel *k, double number, cbx_prim prim)
{
    cbx__kinstr factor = { .op = CBX__K_CONST, .dtype = CBX_F64 };
    cbx__kid v[2];

    memcpy(&factor.bits, &number, sizeof number);
    cbx__kernel_init(k, cbx_allocator_default());
    k->nout = 1;
    for (size_t s = 0; s < 3; s++)
        CHECK(cbx_list_push(&k->al, &k->streams, (cbx__kstream){ .dtype = CBX_F64 }), "memory");
    for (cbx__kid s = 1; s < 3; s++)
        v[s - 1] = cbx__kernel_add(k, (cbx__kinstr){ .op = CBX__K_LOAD, .dtype = CBX_F64, .a = s });
    cbx__kid r = cbx__k2(k, CBX__K_MUL, CBX_F64, v[0], cbx__kernel_add(k, factor));
    r = cbx__k2(k, CBX__K_ADD, CBX_F64, r, v[1]);
    if (prim)
        r = cbx__kernel_add(k, (cbx__kinstr){ .op = CBX__K_MATH, .dtype = CBX_F64, .prim = (uint16_t)prim, .a = r });
    k->streams.items[0].value = r;
    cbx__kernel_finish(k);
}

static cbx__code *compile(cbx_ctx *c, const cbx__kernel *k)
{
    cbx__code *code = NULL;
    cbx_err err;

    CHECK_OK(cbx__emitter_llvm.compile(c, 1, &k, &code, &err), &err, "compile");
    return code;
}

static size_t wrong_elements(const cbx__code *code, double number)
{
    enum { N = 101 };
    double out[N], x[N], y[N];
    char *const p[3] = { (char *)out, (char *)x, (char *)y };
    const int64_t zero[3] = { 0 };
    size_t wrong = 0;

    for (size_t i = 0; i < N; i++) x[i] = (double)i, y[i] = 1;
    code->fn[0](code->self[0], 1, N, p, zero, zero);
    for (size_t i = 0; i < N; i++) wrong += out[i] != (double)i * number + 1;
    return wrong;
}

/* ---- the library; first, before it is loaded ---- */

/* A process that has LLVM compiles, this one has the code from the disk. */
static void code_on_disk_needs_no_llvm(void **state)
{
    (void)state;
    cbx__kernel k;
    int status = 0;

    make_kernel(&k, 9, CBX_PRIM_LGAMMA);
    const pid_t child = fork();
    if (child == 0) {
        const cbx__kernel *kernels[1] = { &k };
        cbx__code *code = NULL;
        _exit(cbx__emitter_llvm.compile(ctx, 1, kernels, &code, NULL) != CBX_OK);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the child");
    setenv("CALIBRAX_LLVM", "libnowhere.so", 1);
    cbx__code *code = compile(ctx, &k);
    unsetenv("CALIBRAX_LLVM");
    CHECK(code->from_cache, "loaded");
    double out[3], x[3] = { 0, 1, 2 }, y[3] = { 1, 1, 1 };
    char *const p[3] = { (char *)out, (char *)x, (char *)y };
    const int64_t zero[3] = { 0 };
    code->fn[0](code->self[0], 1, 3, p, zero, zero);
    for (int i = 0; i < 3; i++) CHECK(out[i] == lgamma(x[i] * 9 + 1), "it calls lgamma");
    cbx__code_free(code);
    cbx__kernel_clear(&k);
}

static void a_missing_library_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *library, *message;
    } cases[] = {
        { "libnowhere.so", "no 'libnowhere.so' for compiling array functions: run 'apt-get install libllvm19'" },
        { "libm.so.6", "'libm.so.6' has no 'LLVMGetVersion', needed for compiling array functions: run 'apt-get "
                       "install libllvm19' for a newer one" },
    };
    cbx__kernel k;
    const cbx__kernel *kernels[1] = { &k };
    cbx__code *code = NULL;
    cbx_err err;

    make_kernel(&k, 2, (cbx_prim)0);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        setenv("CALIBRAX_LLVM", cases[i].library, 1);
        CHECK_STATUS(cbx__emitter_llvm.compile(ctx, 1, kernels, &code, &err), CBX_EUNAVAILABLE, cases[i].library);
        CHECK_STR(err.message, cases[i].message, "message");
        CHECK(!code, "no code");
        CHECK_STATUS(cbx_jit_check(&err), CBX_EUNAVAILABLE, "functions are interpreted");
        CHECK_STR(err.message, cases[i].message, "the reason");
    }
    unsetenv("CALIBRAX_LLVM");
    cbx__code_free(compile(ctx, &k));
    CHECK_OK(cbx_jit_check(&err), &err, "LLVM is loaded");
    cbx__kernel_clear(&k);
}

/* A library that has all the names, and is another version. */
static void another_version_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {
#define NAME(name, result, args) "LLVM" #name,
        LLVM_CALLS(NAME)
#undef NAME
    };
    char path[96], command[300], message[200];
    cbx__kernel k;
    const cbx__kernel *kernels[1] = { &k };
    cbx__code *code = NULL;
    cbx_err err;

    snprintf(path, sizeof path, "%s/other.c", folder);
    FILE *f = fopen(path, "w");
    CHECK(f, "a source file");
    for (size_t i = 0; i < CBX_LEN(names); i++)
        if (strcmp(names[i], "LLVMGetVersion") != 0) fprintf(f, "int %s;\n", names[i]);
    fputs("void LLVMGetVersion(unsigned *a, unsigned *b, unsigned *c) { *a = 18, *b = 1, *c = 8; }\n", f);
    fclose(f);
    snprintf(command, sizeof command, "cc -shared -fPIC -o %s/other.so %s", folder, path);
    CHECK_INT(system(command), 0, "the C compiler");
    snprintf(path, sizeof path, "%s/other.so", folder);
    snprintf(message, sizeof message, "'%s' is LLVM 18, and 19 is needed: run 'apt-get install libllvm19'", path);
    make_kernel(&k, 2.5, (cbx_prim)0);
    setenv("CALIBRAX_LLVM", path, 1);
    CHECK_STATUS(cbx__emitter_llvm.compile(ctx, 1, kernels, &code, &err), CBX_EUNAVAILABLE, "LLVM 18");
    CHECK_STR(err.message, message, "message");
    unsetenv("CALIBRAX_LLVM");
    cbx__kernel_clear(&k);
}

/* ---- the same bits as the interpreter ---- */

static cbx_isa compiled_for;
static cbx_status compile_for(cbx_ctx *c, size_t n, const cbx__kernel *const *kernels, cbx__code **out, cbx_err *err)
{
    return cbx__llvm_compile(c, compiled_for, n, kernels, out, err);
}

static void random_kernels_are_as_interpreted(void **state)
{
    (void)state;
    const char *report, *count = getenv("CBX_TEST_KERNELS");
    const size_t n = count ? strtoul(count, NULL, 10) : 500;

    setenv("CALIBRAX_JIT_CACHE_BYTES", "0", 1);
    for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
        const cbx__emitter emitter = { cbx_isa_name((cbx_isa)isa), compile_for };
        if (!cbx_isa_available((cbx_isa)isa)) continue;
        compiled_for = (cbx_isa)isa;
        CHECK(!kernels_differ(ctx, &emitter, &cbx__emitter_interpreter, KERNELS_ALL, 1, n, &report), report);
    }
    unsetenv("CALIBRAX_JIT_CACHE_BYTES");
}

/* ---- each operation on operands at which it is difficult ---- */

#define DIFFICULT 48 /* each meets each */
#define PAIRS     (DIFFICULT * DIFFICULT)

static bool is_float(cbx_dtype t) { return t == CBX_F32 || t == CBX_F64; }

/* Limits of all integers and their neighbours, powers of 2 and theirs, small ones. */
static uint64_t difficult_bits(cbx_dtype t, int i)
{
    static const double floats[] = { 0.0,  -0.0,      1,         -1,         0.5,   -0.5,         1.5,      2.5,
                                     1e10, -1e10,     NAN,       INFINITY,   1e300, -INFINITY,    0x1p-149, 0x1p-1074,
                                     7,    -7.000001, 8388609.5, 0x1p52 + 1, 3,     -0x1.8p-1022, 0x1p64,   0x1p24 };
    const int bits = 8 * (int)cbx_dtype_size(t);
    uint64_t out = 0;

    if (t == CBX_BOOL) return (uint64_t)i & 1;
    if (is_float(t)) {
        const double limits[] = { -ldexp(1, i % 4 * 8 + 7),
                                  ldexp(1, i % 4 * 8 + 7),
                                  ldexp(1, i % 4 * 8 + 8),
                                  ldexp(1, 63),
                                  -ldexp(1, 63),
                                  ldexp(1, 64) };
        double x = i < (int)CBX_LEN(floats) ? floats[i] : limits[i % CBX_LEN(limits)];
        if (i >= 30) x = i % 3 == 0 ? nextafter(x, 0) : i % 3 == 1 ? x - 1 : x + 0.75;
        const float single = t == CBX_F32 && i >= 30 && i % 3 == 0 ? nextafterf((float)limits[i % CBX_LEN(limits)], 0)
                                                                   : (float)x;
        memcpy(&out, t == CBX_F64 ? (const void *)&x : (const void *)&single, cbx_dtype_size(t));
        return out;
    }
    const int power = (i / 3 * 5) % bits;
    out = i < 8 ? (uint64_t)i - 2 : i == 8 ? UINT64_C(1) << (bits - 1) : (UINT64_C(1) << power) * (i & 1 ? 1 : 3);
    return out + (uint64_t)(i % 3) - 1;
}

static void fill(char *to, cbx_dtype t, int operand, int which)
{
    const size_t size = cbx_dtype_size(t);

    for (int e = 0; e < PAIRS; e++) {
        const int i = operand == 0 ? e / DIFFICULT : operand == 1 ? e % DIFFICULT : (e * 7 + which) % DIFFICULT;
        uint64_t v = difficult_bits(t, i);
        /* A multiple of the other operand and its neighbours, for quotients. */
        if (operand == 0 && which == 1 && !is_float(t) && t != CBX_BOOL)
            v = v * difficult_bits(t, e % DIFFICULT) + (uint64_t)(e % 3) - 1;
        /* Quotients that float64 rounds to the next integer, in all lanes. */
        if (which == 2 && size == 8 && !is_float(t)) {
            const uint64_t y = 2 + (uint64_t)e % 7;
            v = operand == 0 ? y * ((UINT64_C(1) << 52) + (uint64_t)e) - 1 : y;
        }
        memcpy(to + (size_t)e * size, &v, size);
    }
}

typedef struct one_operation {
    cbx__kernel k;
    cbx_dtype in[3], out;
} one_operation;

/* Of operands of dtype t, and of CAST and BITS to dtype to.  false: there is none. */
static bool make_operation(one_operation *o, cbx__kop op, cbx_dtype t, cbx_dtype to)
{
    const bool converts = op == CBX__K_CAST || op == CBX__K_BITS, compares = op >= CBX__K_EQ && op <= CBX__K_GE;
    cbx__kinstr x = { .op = (uint8_t)op };
    cbx__kid v[3] = { 0 };

    o->out = compares ? CBX_BOOL : converts ? to : t;
    x.dtype = (uint8_t)o->out;
    if (!cbx__kernel_gives(op, o->out) || (!converts && to != CBX_BOOL)) return false;
    if (op == CBX__K_BITS && (t == CBX_BOOL || cbx_dtype_size(t) != cbx_dtype_size(to))) return false;
    for (int i = 0; i < 3; i++) o->in[i] = op == CBX__K_SELECT && i == 0 ? CBX_BOOL : t;
    cbx__kernel_init(&o->k, cbx_allocator_default());
    o->k.nout = 1;
    CHECK(cbx_list_push(&o->k.al, &o->k.streams, (cbx__kstream){ .dtype = (uint8_t)o->out }), "memory");
    for (int i = 0; i < cbx__kernel_operands(&x); i++) {
        const uint8_t dtype = (uint8_t)o->in[i];
        CHECK(cbx_list_push(&o->k.al, &o->k.streams, (cbx__kstream){ .dtype = dtype }), "memory");
        v[i] = cbx__kernel_add(&o->k, (cbx__kinstr){ .op = CBX__K_LOAD, .dtype = dtype, .a = (cbx__kid)i + 1 });
    }
    x.a = v[0], x.b = v[1], x.c = v[2];
    o->k.streams.items[0].value = cbx__kernel_add(&o->k, x);
    return true;
}

static void same_results(const one_operation *o, const cbx__code *x, const cbx__code *y, size_t number, int which)
{
    static char in[3][8 * PAIRS], out[2][8 * PAIRS];
    const size_t size = cbx_dtype_size(o->out);
    const int64_t zero[4] = { 0 };
    cbx_text text;

    /* In one row, or in rows so short that none of it goes through the wide body. */
    const int64_t columns = which / 3 ? 6 : PAIRS, rows = PAIRS / columns;
    const int64_t outer[4] = { columns * (int64_t)size, columns * (int64_t)cbx_dtype_size(o->in[0]),
                               columns * (int64_t)cbx_dtype_size(o->in[1]),
                               columns * (int64_t)cbx_dtype_size(o->in[2]) };
    which %= 3;
    for (int i = 0; i < 3; i++) fill(in[i], o->in[i], i, which);
    /* The sign of NaN is unspecified. */
    for (size_t e = 0; o->k.instr.items[o->k.instr.n - 1].op == CBX__K_COPYSIGN && e < PAIRS; e++)
        if (e % DIFFICULT == 10) memset(in[1] + e * size, 0, size);
    for (int i = 0; i < 2; i++) {
        char *const p[4] = { out[i], in[0], in[1], in[2] };
        const cbx__code *code = i ? y : x;
        code->fn[number](code->self[number], rows, columns, p, outer, zero);
    }
    cbx_text_init(&text, cbx_allocator_default());
    for (size_t e = 0; e < PAIRS; e++) {
        double d[2] = { 0 };
        for (int i = 0; i < 2 && o->out == CBX_F64; i++) memcpy(&d[i], out[i] + e * size, size);
        for (int i = 0; i < 2 && o->out == CBX_F32; i++) d[i] = (double)((float *)(void *)out[i])[e];
        if (memcmp(out[0] + e * size, out[1] + e * size, size) == 0 || (d[0] != d[0] && d[1] != d[1])) continue;
        cbx__kernel_text(&o->k, &text);
        uint64_t bits[5] = { 0 };
        for (int i = 0; i < 2; i++) memcpy(&bits[i], out[i] + e * size, size);
        for (int i = 0; i < 3; i++)
            memcpy(&bits[2 + i], in[i] + e * cbx_dtype_size(o->in[i]), cbx_dtype_size(o->in[i]));
        fail_msg("element %zu: 0x%llx, not 0x%llx, of 0x%llx, 0x%llx, 0x%llx: %s", e, (unsigned long long)bits[0],
                 (unsigned long long)bits[1], (unsigned long long)bits[2], (unsigned long long)bits[3],
                 (unsigned long long)bits[4], cbx_text_str(&text));
    }
    cbx_text_clear(&text);
}

static void operations_are_right_on_difficult_operands(void **state)
{
    (void)state;
    enum { LIMIT = 512 };
    static one_operation o[LIMIT];
    static const cbx__kernel *kernels[LIMIT];
    cbx__code *interpreted, *code;
    size_t n = 0;
    cbx_err err;

    for (int op = CBX__K_ADD; op < CBX__K_MATH; op++)
        for (int t = CBX_BOOL; t <= CBX_F64; t++)
            for (int to = CBX_BOOL; to <= CBX_F64; to++)
                if (n < LIMIT && make_operation(&o[n], (cbx__kop)op, (cbx_dtype)t, (cbx_dtype)to))
                    kernels[n] = &o[n].k, n++;
    CHECK_GT(n, 300, "operations");
    CHECK_LE(n, LIMIT - 1, "operations");
    CHECK_OK(cbx__emitter_interpreter.compile(ctx, n, kernels, &interpreted, &err), &err, "compile");
    setenv("CALIBRAX_JIT_CACHE_BYTES", "0", 1);
    for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
        if (!cbx_isa_available((cbx_isa)isa)) continue;
        CHECK_OK(cbx__llvm_compile(ctx, (cbx_isa)isa, n, kernels, &code, &err), &err, "compile");
        for (size_t i = 0; i < 6 * n; i++) same_results(&o[i / 6], code, interpreted, i / 6, (int)(i % 6));
        cbx__code_free(code);
    }
    unsetenv("CALIBRAX_JIT_CACHE_BYTES");
    cbx__code_free(interpreted);
    for (size_t i = 0; i < n; i++) cbx__kernel_clear(&o[i].k);
}

/* So many that few lanes go at a time: sums of strided and numbered elements, all of which are
 * read again. */
static void many_values_live_at_once(void **state)
{
    (void)state;
    enum { N = 45, VALUES = 40 };
    static const int64_t outer[3] = { 0 }, inner[3] = { 8, 16, 3 };
    double out[N], wanted[N], x[2 * N];
    char *const p[2][3] = { { (char *)out, (char *)x, (char *)7 }, { (char *)wanted, (char *)x, (char *)7 } };
    cbx__kernel k;
    const cbx__kernel *kernels[1] = { &k };
    cbx__kid v[VALUES];
    cbx__code *code[2];
    cbx_err err;

    cbx__kernel_init(&k, cbx_allocator_default());
    k.nout = 1;
    for (size_t s = 0; s < 3; s++)
        CHECK(cbx_list_push(&k.al, &k.streams,
                            (cbx__kstream){ .dtype = s == 2 ? CBX_I64 : CBX_F64,
                                            .kind = s == 2 ? CBX__STREAM_INDEX : CBX__STREAM_STRIDED }),
              "memory");
    v[0] = cbx__kernel_add(&k, (cbx__kinstr){ .op = CBX__K_LOAD, .dtype = CBX_F64, .a = 1 });
    v[1] = cbx__kernel_add(&k, (cbx__kinstr){ .op = CBX__K_LOAD, .dtype = CBX_I64, .a = 2 });
    v[1] = cbx__k1(&k, CBX__K_CAST, CBX_F64, v[1]);
    for (int i = 2; i < VALUES; i++) v[i] = cbx__k2(&k, i % 3 ? CBX__K_ADD : CBX__K_SUB, CBX_F64, v[i - 2], v[i - 1]);
    cbx__kid sum = v[VALUES - 1];
    for (int i = VALUES - 1; i-- > 0;) sum = cbx__k2(&k, CBX__K_ADD, CBX_F64, sum, v[i]);
    k.streams.items[0].value = sum;
    cbx__kernel_finish(&k);
    for (int i = 0; i < 2 * N; i++) x[i] = i * 0.37;
    CHECK_OK(cbx__emitter_interpreter.compile(ctx, 1, kernels, &code[1], &err), &err, "compile");
    for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
        if (!cbx_isa_available((cbx_isa)isa)) continue;
        CHECK_OK(cbx__llvm_compile(ctx, (cbx_isa)isa, 1, kernels, &code[0], &err), &err, "compile");
        for (int i = 0; i < 2; i++) code[i]->fn[0](code[i]->self[0], 1, N, p[i], outer, inner);
        CHECK(memcmp(out, wanted, sizeof out) == 0, cbx_isa_name((cbx_isa)isa));
        cbx__code_free(code[0]);
    }
    cbx__code_free(code[1]);
    cbx__kernel_clear(&k);
}

/* ---- what code is shared, and where it is kept ---- */

static void equal_kernels_share_code(void **state)
{
    (void)state;
    cbx__kernel k, same;
    cbx_ctx *other = NULL;
    cbx_err err;

    make_kernel(&k, 3, (cbx_prim)0);
    make_kernel(&same, 3, (cbx_prim)0);
    CHECK_OK(cbx_ctx_create(NULL, &other, &err), &err, "a second context");
    cbx__code *a = compile(ctx, &k), *b = compile(other, &same);
    CHECK(a->fn[0] == b->fn[0], "one piece of code");
    CHECK_GT(a->bytes, 30, "machine code");
    CHECK_LE(a->bytes, 4000, "machine code");
    cbx__code_free(a);
    CHECK_INT(wrong_elements(b, 3), 0, "it lives on");
    cbx__code_free(b);
    cbx_ctx_free(other);
    cbx__kernel_clear(&same);
    cbx__kernel_clear(&k);
}

static void code_comes_from_the_disk(void **state)
{
    (void)state;
    cbx__kernel k;

    make_kernel(&k, 4, (cbx_prim)0);
    cbx__code *code = compile(ctx, &k);
    CHECK(!code->from_cache, "compiled");
    CHECK_INT(wrong_elements(code, 4), 0, "compiled");
    cbx__code_free(code);
    code = compile(ctx, &k);
    CHECK(code->from_cache, "loaded");
    CHECK_INT(wrong_elements(code, 4), 0, "loaded");
    cbx__code_free(code);
    cbx__kernel_clear(&k);
}

/* The path of the only file in the cache. */
static const char *only_entry(void)
{
    static char path[200];
    char jit[96];
    const char *const *names;
    size_t n = 0;
    cbx_arena arena;
    cbx_err err;

    snprintf(jit, sizeof jit, "%s/jit", folder);
    cbx_arena_init(&arena, cbx_allocator_default());
    CHECK_OK(cbx_dir_list(ctx, jit, NULL, &arena, &names, &n, &err), &err, jit);
    CHECK_INT(n, 1, "entries");
    snprintf(path, sizeof path, "%s/%s", jit, names[0]);
    cbx_arena_clear(&arena);
    return path;
}

/* An entry that is whole, of this key, and no object: what is in a file behind the key, cache.c
 * describes. */
static void what_does_not_load_is_compiled_again(void **state)
{
    (void)state;
    static const char before[] = "object of ";
    char cache[64], *file = NULL;
    size_t len = 0;
    uint64_t key_len;
    cbx__kernel k;
    cbx_err err;

    snprintf(cache, sizeof cache, "%s", folder);
    setenv("CALIBRAX_CACHE_DIR", cbx_test_folder(folder), 1);
    make_kernel(&k, 4.5, (cbx_prim)0);
    cbx__code_free(compile(ctx, &k));
    CHECK_OK(cbx_file_read(ctx, only_entry(), 0, &file, &len, &err), &err, "the entry");
    memcpy(&key_len, file + 16, sizeof key_len);
    char *key = file + 72;
    CHECK(memcmp(key, before, sizeof before - 1) == 0, "the key");
    CHECK(strncmp(key + sizeof before - 1, cbx__build_id(), strlen(cbx__build_id())) == 0, "it has the build");
    CHECK_OK(cbx__jit_cache_store(ctx, key, key_len, "no object", 9, &err), &err, "another content");
    cbx__code *code = compile(ctx, &k);
    CHECK(!code->from_cache, "compiled again");
    CHECK_INT(wrong_elements(code, 4.5), 0, "and right");
    cbx__code_free(code);
    code = compile(ctx, &k);
    CHECK(code->from_cache, "the entry was replaced");
    cbx__code_free(code);
    cbx_mem_free(cbx_ctx_allocator(ctx), file, len + 1);
    cbx__kernel_clear(&k);
    cbx_test_folder_remove(folder);
    snprintf(folder, sizeof folder, "%s", cache);
    setenv("CALIBRAX_CACHE_DIR", folder, 1);
}

static void code_is_released(void **state)
{
    (void)state;
    size_t wrong = 0;

    for (int i = 0; i < 200; i++) {
        cbx__kernel k;
        make_kernel(&k, i, (cbx_prim)0);
        cbx__code *code = compile(ctx, &k);
        wrong += wrong_elements(code, i);
        cbx__code_free(code);
        cbx__kernel_clear(&k);
    }
    CHECK_INT(wrong, 0, "elements");
}

static void threads_compile_and_run(void **state)
{
    (void)state;
    size_t wrong = 0;

#pragma omp parallel for num_threads(8) schedule(dynamic) reduction(+ : wrong)
    for (int i = 0; i < 64; i++) {
        cbx__kernel k;
        cbx_ctx *own = NULL;
        cbx_err err;
        make_kernel(&k, i % 8, (cbx_prim)0);
        CHECK_OK(cbx_ctx_create(NULL, &own, &err), &err, "a context");
        cbx__code *code = compile(own, &k);
        cbx_ctx_free(own);
        wrong += wrong_elements(code, i % 8);
        cbx__code_free(code);
        cbx__kernel_clear(&k);
    }
    CHECK_INT(wrong, 0, "elements");
}

/* ---- text ---- */

static void code_can_be_read(void **state)
{
    (void)state;
    static const struct {
        int kind;
        const char *part;
    } cases[] = { { LLVM_MODULE_TEXT, "define internal void @kernel(" },
                  { LLVM_MODULE_TEXT, " = fmul <" },
                  { LLVM_ASSEMBLY_FILE, "kernels:" } };
    cbx__kernel k;
    const cbx__kernel *kernels[1] = { &k };
    cbx_text text;
    cbx_err err;

    make_kernel(&k, 5, (cbx_prim)0);
    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_text_reset(&text);
        CHECK_OK(cbx__llvm_text(ctx, cases[i].kind, 1, kernels, &text, &err), &err, cases[i].part);
        CHECK(strstr(cbx_text_str(&text), cases[i].part), cases[i].part);
    }
    cbx_text_clear(&text);
    cbx__kernel_clear(&k);
}

/* exp selects among 8 numbers: with AVX-512 by one instruction. */
static void a_table_is_one_permutation(void **state)
{
    (void)state;
    cbx__kernel k;
    const cbx__kernel *kernels[1] = { &k };
    cbx_text text;
    cbx_err err;

    make_kernel(&k, 5, CBX_PRIM_EXP);
    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    CHECK_OK(cbx__llvm_text(ctx, LLVM_MODULE_TEXT, 1, kernels, &text, &err), &err, "text");
    CHECK((strstr(cbx_text_str(&text), "avx512.permvar") != NULL) == (cbx_isa_best() == CBX_ISA_AVX512),
          "a permutation of 8 numbers");
    cbx_text_clear(&text);
    cbx__kernel_clear(&k);
}

/* ---- what goes wrong ---- */

static void a_primitive_without_loop_is_refused(void **state)
{
    (void)state;
    cbx__kernel k;
    const cbx__kernel *kernels[1] = { &k };
    cbx__code *code = NULL;
    cbx_err err;

    make_kernel(&k, 2, CBX_PRIM_POLYGAMMA);
    CHECK_STATUS(cbx__emitter_llvm.compile(ctx, 1, kernels, &code, &err), CBX_EUNSUPPORTED, "polygamma");
    CHECK_STR(err.message, "primitive 'polygamma' has no loop for float64", "message");
    cbx__kernel_clear(&k);
}

static cbx_status compile_once(cbx_ctx *c, void *user)
{
    const cbx__kernel *kernels[2] = { user, user };
    cbx__code *code = NULL;
    cbx_err err;
    const cbx_status st = cbx__emitter_llvm.compile(c, 2, kernels, &code, &err);

    cbx__code_free(code);
    return st;
}

static cbx_status write_once(cbx_ctx *c, void *user)
{
    const cbx__kernel *kernels[1] = { user };
    cbx_text text;
    cbx_err err;

    cbx_text_init(&text, cbx_ctx_allocator(c));
    const cbx_status st = cbx__llvm_text(c, LLVM_MODULE_TEXT, 1, kernels, &text, &err);
    cbx_text_clear(&text);
    return st;
}

static void memory_may_end(void **state)
{
    (void)state;
    cbx__kernel k;

    make_kernel(&k, 6, CBX_PRIM_LGAMMA);
    setenv("CALIBRAX_JIT_CACHE_BYTES", "0", 1);
    CHECK_GT(cbx_test_fail_each(compile_once, &k, "compiling"), 2, "it allocates");
    unsetenv("CALIBRAX_JIT_CACHE_BYTES");
    CHECK_GT(cbx_test_fail_each(compile_once, &k, "compiling, storing and loading"), 2, "it allocates");
    CHECK_GT(cbx_test_fail_each(write_once, &k, "text"), 1, "it allocates");
    cbx__kernel_clear(&k);
}

/* An object ends behind a kernel of 2,048 instructions; a context that is to stop makes no
 * other one. */
static void a_context_may_stop_between_objects(void **state)
{
    (void)state;
    enum { LONG = 2100 };
    static volatile sig_atomic_t stop = 1;
    cbx__kernel k[4];
    const cbx__kernel *const kernels[] = { &k[0], &k[1], &k[2], &k[3] };
    cbx__code *code, *single;
    cbx_err err;

    for (int i = 0; i < 4; i++) {
        make_kernel(&k[i], 30 + i, (cbx_prim)0);
        cbx__kid r = k[i].streams.items[0].value;
        for (int n = 0; i < 2 && n < LONG; n += 2)
            r = cbx__k1(&k[i], CBX__K_NEG, CBX_F64, cbx__k1(&k[i], CBX__K_NEG, CBX_F64, r));
        k[i].streams.items[0].value = r;
        cbx__kernel_finish(&k[i]);
    }
    CHECK_OK(cbx__emitter_llvm.compile(ctx, 4, kernels, &code, &err), &err, "compile");
    for (int i = 0; i < 4; i++) {
        CHECK_INT(wrong_elements(&(cbx__code){ .fn = code->fn + i, .self = code->self + i }, 30 + i), 0, "elements");
        single = compile(ctx, &k[i]);
        CHECK((single->fn[0] == code->fn[i]) == (i < 2), "a long kernel has an object of its own");
        cbx__code_free(single);
    }
    cbx__code_free(code);
    cbx_ctx_set_stop(ctx, &stop);
    CHECK_STATUS(cbx__emitter_llvm.compile(ctx, 4, kernels, &code, &err), CBX_EINTERRUPTED, "it stops");
    CHECK_STR(err.message, "a compilation was interrupted", "message");
    stop = 0;
    CHECK_OK(cbx__emitter_llvm.compile(ctx, 4, kernels, &code, &err), &err, "it goes on");
    cbx__code_free(code);
    cbx_ctx_set_stop(ctx, NULL);
    for (int i = 0; i < 4; i++) cbx__kernel_clear(&k[i]);
}

static int setup(void **state)
{
    setenv("CALIBRAX_CACHE_DIR", cbx_test_folder(folder), 1);
    return counted_setup(state);
}

static int teardown(void **state)
{
    cbx_test_folder_remove(folder);
    return counted_teardown(state);
}

TEST_FILE(.seconds = 600)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_on_disk_needs_no_llvm),
        cmocka_unit_test(another_version_is_refused),
        cmocka_unit_test(a_missing_library_is_named),
        cmocka_unit_test(random_kernels_are_as_interpreted),
        cmocka_unit_test(operations_are_right_on_difficult_operands),
        cmocka_unit_test(many_values_live_at_once),
        cmocka_unit_test(equal_kernels_share_code),
        cmocka_unit_test(code_comes_from_the_disk),
        cmocka_unit_test(what_does_not_load_is_compiled_again),
        cmocka_unit_test(code_is_released),
        cmocka_unit_test(threads_compile_and_run),
        cmocka_unit_test(code_can_be_read),
        cmocka_unit_test(a_table_is_one_permutation),
        cmocka_unit_test(a_context_may_stop_between_objects),
        cmocka_unit_test(memory_may_end),
        cmocka_unit_test(a_primitive_without_loop_is_refused),
    };
    return cmocka_run_group_tests_name("array/jit_llvm", tests, setup, teardown);
}
