/*
 * Compiled kernels on an emulated machine against the interpreter there, byte for byte: the code is
 * that of emit_kernels.c, and the kernels and data are made again from the same seeds.
 */
#include <stdlib.h>

#include "check.h"
#include "kernels_random.h"

extern const cbx__kernel_fn kernels_table[];
extern const unsigned long kernels_count;
extern const unsigned long long kernels_hash[];

static void release(cbx__code *c)
{
    free(c->fn);
    free(c->self);
    free(c);
}

/* What was compiled before; a kernel that was not, as one that is made smaller, is unsupported. */
static cbx_status find_code(cbx_ctx *ctx, size_t n, const cbx__kernel *const *kernels, cbx__code **out, cbx_err *err)
{
    cbx__code *c = calloc(1, sizeof *c);

    (void)ctx;
    CHECK(c, "memory");
    *c = (cbx__code){ .n = n, .fn = calloc(n, sizeof *c->fn), .self = calloc(n, sizeof *c->self), .release = release };
    CHECK(c->fn && c->self, "memory");
    for (size_t i = 0; i < n; i++) {
        const unsigned long long hash = kernel_hash(kernels[i]);
        unsigned long at = 0;
        while (at < kernels_count && kernels_hash[at] != hash) at++;
        if (at == kernels_count) {
            release(c);
            return cbx_fail(err, CBX_EUNSUPPORTED, "there is no code of this kernel");
        }
        c->fn[i] = kernels_table[at];
    }
    *out = c;
    return CBX_OK;
}

static const cbx__emitter before = { "before", find_code };

static void code_gives_the_interpreters_bytes(void **state)
{
    const char *report = NULL;
    cbx_ctx *ctx = NULL;

    (void)state;
    CHECK_STATUS(cbx_ctx_create(NULL, &ctx, NULL), CBX_OK, "a context");
    CHECK(!kernels_differ(ctx, &cbx__emitter_interpreter, &before, KERNELS_ALL, 1, kernels_count, &report), report);
    cbx_ctx_free(ctx);
}

TEST_FILE(.seconds = 600)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(code_gives_the_interpreters_bytes) };
    return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}
