/* The context that many tests share. */
#include "counted.h"

#include "check.h"

cbx_ctx *ctx;
static cbx_test_alloc memory;

int counted_setup(void **state)
{
    (void)state;
    cbx_test_alloc_init(&memory);
    ctx = cbx_test_ctx(&memory);
    return 0;
}

int counted_teardown(void **state)
{
    (void)state;
    cbx_ctx_free(ctx);
    cbx_test_alloc_check(&memory, "after the tests");
    return 0;
}
