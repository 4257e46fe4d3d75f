/* HLO of XLA: the shares that the Python package tells, what is inside fusions, and text that
 * is none. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/base/file.h"
#include "calibrax/base/json.h"
#include "calibrax/profiling/hlo.h"
#include "fail_alloc.h"

static const char *const names[] = { "product", "softmax", "powers", "solve" };

static char *fixture(cbx_ctx *ctx, const char *name, size_t *len)
{
    const char *path = cbx_test_source("tests/fixtures/hlo/%s", name);
    char *text = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_file_read(ctx, path, 1 << 20, &text, len, &err), &err, path);
    return text;
}

TEST(shares_of_the_package)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_json *answers = NULL;
    size_t len;
    char *text = fixture(ctx, "answers.json", &len);

    CHECK_OK(cbx_json_parse(text, len, "answers", &answers, &err), &err, "answers");
    cbx_mem_free(cbx_ctx_allocator(ctx), text, len + 1);
    for (size_t i = 0; i < CBX_LEN(names); i++) {
        const cbx_json *a = cbx_json_get(answers, names[i]);
        cbx_hlo_report r;
        char file[64];
        snprintf(file, sizeof file, "%s.txt", names[i]);
        text = fixture(ctx, file, &len);
        CHECK_OK(cbx_hlo_read(ctx, text, len, file, &r, &err), &err, file);
        CHECK_INT(r.instructions, cbx_json_get_int(a, "instructions", 0), file);
        CHECK_LE(fabs(r.fusion_ratio - cbx_json_get_double(a, "fusion", NAN)), 1e-15, file);
        CHECK_LE(fabs(r.memory_ratio - cbx_json_get_double(a, "memory", NAN)), 1e-15, file);
        CHECK_LE(fabs(r.arithmetic_ratio - cbx_json_get_double(a, "arithmetic", NAN)), 1e-15, file);
        CHECK_LE(fabs(r.score - cbx_json_get_double(a, "score", NAN)), 1e-15, file);
        cbx_mem_free(cbx_ctx_allocator(ctx), text, len + 1);
    }
    cbx_json_unref(answers);
    cbx_ctx_free(ctx);
}

#define HEAD "HloModule m, is_scheduled=true\n\n"
#define BODY                                                                                                           \
    "%f (p: f32[8]) -> f32[8] {\n  %p = f32[8]{0} parameter(0)\n  %fusion_add = f32[8]{0} tanh(%p)\n"                  \
    "  ROOT %a = f32[8]{0} add(%fusion_add, %p), metadata={op_name=\"copy = copy(\"}\n}\n\n"
#define ENTRY                                                                                                          \
    "ENTRY %main (x: f32[8]) -> (f32[8], s32[]) {\n  %x = f32[8]{0} parameter(0)\n"                                    \
    "  %k = f32[8]{0} fusion(%x), kind=kLoop, calls=%f\n  w = (f32[8]{0}, (s32[], f32[2,2]{1,0})) while(%k), "         \
    "condition=%c, body=%b\n  c = f32[8]{0:T(8,128)} custom-call(w), custom_call_target=\"lapack\"\n"                  \
    "  ROOT t = (f32[8]) tuple(c)\n}\n"

TEST(counted)
{
    const char *text = HEAD BODY ENTRY;
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_hlo_report r;

    CHECK_OK(cbx_hlo_read(ctx, text, strlen(text), "m", &r, &err), &err, "a module");
    CHECK_INT(r.computations, 2, "a body and the entry");
    CHECK_INT(r.instructions, 8, "all of them");
    CHECK_INT(r.fusions, 1, "by opcode, not by name");
    CHECK_INT(r.memory_ops, 0, "nor by metadata");
    CHECK_INT(r.arithmetic_ops, 1, "add");
    CHECK(r.loops == 1 && r.custom_calls == 1, "whose work an operation count misses, behind shapes of every form");
    CHECK_INT(r.working, 4, "tanh, add, while, custom-call");
    CHECK_INT(r.fused, 2, "tanh and add");
    CHECK_INT(r.nadvice, 2, "loops and library calls");
    cbx_ctx_free(ctx);
}

TEST(what_is_none)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        { "", "is not HLO" },
        { "module @jit_f {\n  func.func public @main() {\n  }\n}\n", "is not HLO" },
        { HEAD, "has no instruction" },
        { HEAD "ENTRY %m () -> f32[] {\n  %a = f32[]\n}\n", "line 4: an instruction without an opcode" },
        { HEAD "ENTRY %m () -> f32[] {\n  %a = f32[] add\n}\n", "without an opcode" },
        { HEAD "ENTRY %m () -> f32[] {\n  %a = (f32[] add(\n}\n", "without an opcode" },
        { HEAD BODY "ENTRY %m () -> f32[] {\n", "ends inside a computation" },
    };
    cbx_ctx *ctx = cbx_test_context();
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_err err = CBX_ERR_INIT;
        cbx_hlo_report r;
        CHECK_STATUS(cbx_hlo_read(ctx, cases[i].text, strlen(cases[i].text), "t", &r, &err), CBX_EFORMAT,
                     cases[i].part);
        CHECK(strstr(err.message, cases[i].part), err.message);
    }
    {
        const char *text = HEAD BODY ENTRY;
        for (size_t n = 0; n < strlen(text); n++) { /* in a block of its own, so that a read past its end is seen */
            char *cut = malloc(n + 1);
            cbx_hlo_report r;
            assert_non_null(cut);
            memcpy(cut, text, n);
            (void)cbx_hlo_read(ctx, cut, n, "cut", &r, NULL);
            free(cut);
        }
    }
    cbx_ctx_free(ctx);
}

static cbx_status read_it(cbx_ctx *ctx, void *user)
{
    cbx_hlo_report r;
    return cbx_hlo_read(ctx, user, strlen(user), "m", &r, NULL);
}

TEST(memory_that_runs_out)
{
    static char text[] = HEAD BODY ENTRY;
    CHECK_GT(cbx_test_fail_each(read_it, text, "cbx_hlo_read"), 0, "allocations");
}

TESTS()
