/* Handles and their memory: re-used by a context, freed by whoever is last, wherever that is. */
#include "check.h"

#include <pthread.h>

#include "calibrax/array/ops.h"
#include "fail_alloc.h"

#define MANY 700 /* more than a context keeps */

static cbx_array *numbers(cbx_ctx *c, size_t n) { return cbx_arange_int(c, 0, (int64_t)n, 1, CBX_F64); }

static void close_scope(cbx_scope *s)
{
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_scope_close(s, &err), &err, "close");
}

TEST(a_second_round_allocates_nothing)
{
    static const struct {
        size_t n;
        const char *why;
    } cases[] = { { 0, "no elements" }, { 10, "behind the handle" }, { 32, "just so" }, { 33, "in a block" } };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_test_alloc al;
        cbx_scope outer, scope;
        size_t before = 0;
        cbx_test_alloc_init(&al);
        cbx_ctx *c = cbx_test_ctx(&al);
        cbx_scope_open(c, &outer);
        cbx_array *x = numbers(c, cases[i].n);
        for (int round = 0; round < 3; round++) {
            if (round == 1) before = al.calls;
            cbx_scope_open(c, &scope);
            for (int k = 0; k < 50; k++) {
                const cbx_array *r = cbx_add(c, x, x);
                CHECK((uintptr_t)cbx_array_data(r) % 64 == 0, "aligned");
                for (size_t e = 0; e < cases[i].n; e++)
                    CHECK(((const double *)cbx_array_data(r))[e] == 2.0 * (double)e, cases[i].why);
            }
            close_scope(&scope);
        }
        CHECK_INT(al.calls, before, cases[i].why);
        close_scope(&outer);
        cbx_ctx_free(c);
        cbx_test_alloc_check(&al, cases[i].why);
    }
}

TEST(more_than_a_context_keeps)
{
    cbx_test_alloc al;
    cbx_scope scope;
    size_t kept;

    cbx_test_alloc_init(&al);
    cbx_ctx *c = cbx_test_ctx(&al);
    cbx_scope_open(c, &scope);
    const cbx_array *x = numbers(c, 10);
    for (int i = 0; i < MANY; i++) cbx_permute_dims(c, cbx_add(c, x, x), NULL);
    kept = al.live_blocks;
    close_scope(&scope);
    CHECK_LE((double)al.live_blocks, (double)kept / 2, "the rest is freed");
    cbx_ctx_free(c);
    cbx_test_alloc_check(&al, "many");
}

/* Held by a scope of another context, whose allocator it does not come from. */
TEST(handles_go_back_to_their_allocator)
{
    cbx_test_alloc al[2];
    cbx_ctx *c[2];
    cbx_scope scope[2];

    for (int i = 0; i < 2; i++) {
        cbx_test_alloc_init(&al[i]);
        c[i] = cbx_test_ctx(&al[i]);
        cbx_scope_open(c[i], &scope[i]);
    }
    cbx_array *x = numbers(c[0], 5), *view = cbx_flip(c[0], x, 0);
    cbx_scope_hold(c[1], cbx_array_ref(view));
    close_scope(&scope[0]);
    CHECK(((const double *)cbx_array_data(view))[0] == 4.0, "the other scope keeps the view, the view its base");
    close_scope(&scope[1]);
    for (int i = 0; i < 2; i++) {
        cbx_ctx_free(c[i]);
        cbx_test_alloc_check(&al[i], "two allocators");
    }
}

static void *drop_all(void *user)
{
    cbx_array **a = user;
    for (int i = 0; i < MANY; i++) cbx_array_free(a[i]);
    return NULL;
}

TEST(another_thread_drops_while_the_context_works)
{
    static cbx_array *a[MANY];
    cbx_test_alloc al;
    cbx_scope scope;
    pthread_t thread;

    cbx_test_alloc_init(&al);
    cbx_ctx *c = cbx_test_ctx(&al);
    cbx_scope_open(c, &scope);
    const cbx_array *x = numbers(c, 10), *big = numbers(c, 100);
    for (int i = 0; i < MANY; i++) a[i] = cbx_array_ref(i % 2 ? cbx_add(c, x, x) : cbx_add(c, big, big));
    CHECK_INT(pthread_create(&thread, NULL, drop_all, a), 0, "thread");
    close_scope(&scope); /* whichever of the two is last frees */
    cbx_scope_open(c, &scope);
    x = numbers(c, 10);
    for (int i = 0; i < MANY; i++) cbx_add(c, x, x);
    close_scope(&scope);
    pthread_join(thread, NULL);
    cbx_ctx_free(c);
    cbx_test_alloc_check(&al, "two threads");
}

TEST(arrays_outlive_their_context)
{
    static cbx_array *a[MANY];
    cbx_test_alloc al;
    pthread_t thread;

    cbx_test_alloc_init(&al);
    cbx_ctx *c = cbx_test_ctx(&al);
    const cbx_array *x = numbers(c, 10);
    for (int i = 0; i < MANY; i++) a[i] = cbx_array_ref(i % 2 ? cbx_add(c, x, x) : cbx_flip(c, x, 0));
    cbx_ctx_free(c);
    CHECK(((const double *)cbx_array_data(a[1]))[9] == 18.0, "still there");
    CHECK_INT(pthread_create(&thread, NULL, drop_all, a), 0, "thread");
    pthread_join(thread, NULL);
    cbx_test_alloc_check(&al, "after the context");
}

enum { WRITERS = 3, EACH = 4096, ROUNDS = 20 };

typedef struct writer {
    cbx_array *shared;
    int number;
    cbx_status st;
} writer;

/* Every WRITERS-th element from its own on, the value of the round after the other, in a context of
 * its own. */
static void *write_own(void *arg)
{
    writer *w = arg;
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *c = NULL;
    cbx_scope scope;

    w->st = cbx_ctx_create(NULL, &c, &err);
    for (int round = 1; !w->st && round <= ROUNDS; round++) {
        cbx_scope_open(c, &scope);
        cbx_array *own = cbx_slice(c, w->shared, 0, w->number, CBX_OPEN, WRITERS);
        w->st = cbx_array_assign(c, own, cbx_full(c, 0, NULL, CBX_U8, cbx_int(10 * round + w->number)), &err);
        if (!w->st) w->st = cbx_scope_close(&scope, &err);
    }
    cbx_ctx_free(c);
    return NULL;
}

/* Elements of one byte, so that those of three threads share each word. */
TEST(threads_that_write_their_own_elements_lose_none)
{
    const cbx_array_desc d = { CBX_U8, 1, { WRITERS * EACH } };
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *c = cbx_test_context();
    cbx_array *shared = NULL;
    writer w[WRITERS];
    pthread_t thread[WRITERS];

    CHECK_OK(cbx_array_create(c, &d, &shared, &err), &err, "array");
    memset(cbx_array_data_mut(shared), 0, WRITERS * EACH);
    for (int i = 0; i < WRITERS; i++) {
        w[i] = (writer){ shared, i, CBX_OK };
        CHECK_INT(pthread_create(&thread[i], NULL, write_own, &w[i]), 0, "thread");
    }
    for (int i = 0; i < WRITERS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < WRITERS; i++) CHECK_INT(w[i].st, CBX_OK, "assignments");
    for (int i = 0; i < WRITERS * EACH; i++)
        if (((const uint8_t *)cbx_array_data(shared))[i] != 10 * ROUNDS + i % WRITERS)
            fail_msg("element %d of thread %d has a value of another round or thread", i, i % WRITERS);
    cbx_array_free(shared);
    cbx_ctx_free(c);
}

static cbx_status add_and_view(cbx_ctx *c, void *user)
{
    cbx_scope scope;
    cbx_err err = CBX_ERR_INIT;

    (void)user;
    for (int round = 0; round < 2; round++) {
        cbx_scope_open(c, &scope);
        const cbx_array *x = numbers(c, 10), *big = numbers(c, 100);
        cbx_multiply_scalar(c, cbx_flip(c, cbx_add(c, x, x), 0), 3);
        cbx_sqrt(c, cbx_add(c, big, big));
        const cbx_status st = cbx_scope_close(&scope, &err);
        if (st) return st;
    }
    return CBX_OK;
}

TEST(no_memory) { CHECK_GT(cbx_test_fail_each(add_and_view, NULL, "handles"), 5, "allocations were made to fail"); }

TESTS(.seconds = 600)
