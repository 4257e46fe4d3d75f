/* Growing arrays: contents kept through every growth, old sizes reported to the allocator, memory
 * that runs out. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/list.h"
#include "fail_alloc.h"

typedef struct pair {
    int a;
    double b;
} pair;
typedef CBX_LIST(pair) pairs;

static cbx_status add_all(cbx_ctx *ctx, void *user)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_status st = CBX_OK;
    pairs l = { 0 };

    (void)user;
    for (int i = 0; i < 1000 && !st; i++)
        if (!cbx_list_push(al, &l, (pair){ i, i / 2.0 })) st = CBX_ENOMEM;
    for (size_t i = 0; i < l.n; i++) {
        CHECK_INT(l.items[i].a, i, "kept through growth");
        CHECK(l.items[i].b == (double)i / 2, "kept through growth");
    }
    if (!st) CHECK_INT(l.n, 1000, "all are there");
    cbx_list_clear(al, &l);
    CHECK(!l.items && l.n == 0 && l.capacity == 0, "cleared");
    return st;
}

TEST(grows) { CHECK_LE(cbx_test_fail_each(add_all, NULL, "list"), 10, "the capacity doubles"); }

TEST(capacities)
{
    const cbx_allocator *al = cbx_allocator_default();
    CBX_LIST(double) l = { 0 };

    CHECK(cbx_list_reserve(al, &l, 0) && !l.items, "nothing is asked for");
    CHECK(cbx_list_reserve(al, &l, 100) && l.capacity == 100, "what is asked for");
    CHECK(cbx_list_reserve(al, &l, 101) && l.capacity == 200, "at least twice as much");
    CHECK(!cbx_list_reserve(al, &l, SIZE_MAX / 4) && l.capacity == 200, "more bytes than a size_t counts");
    CHECK(!cbx_list_reserve(al, &l, SIZE_MAX) && l.capacity == 200, "nor as many items");
    cbx_list_clear(al, &l);
}

TEST(in_an_arena)
{
    cbx_arena arena;
    cbx_arena_init(&arena, cbx_allocator_default());
    const cbx_allocator al = cbx_arena_allocator(&arena);
    CBX_LIST(size_t) l = { 0 };

    for (size_t i = 0; i < 3000; i++) CHECK(cbx_list_push(&al, &l, i), "room");
    for (size_t i = 0; i < 3000; i++) CHECK_INT(l.items[i], i, "kept through growth");
    cbx_list_clear(&al, &l);
    cbx_arena_clear(&arena);
}

TEST(orders)
{
    const char *words[] = { "b", "", "ab", "a" }, *sorted[] = { "", "a", "ab", "b" };
    double x[] = { NAN, 2, -INFINITY, 1 };

    qsort(words, CBX_LEN(words), sizeof *words, cbx_compare_texts);
    for (size_t i = 0; i < CBX_LEN(words); i++) CHECK_STR(words[i], sorted[i], "texts");
    qsort(x, CBX_LEN(x), sizeof *x, cbx_compare_doubles);
    CHECK(x[0] == -INFINITY && x[1] == 1 && x[2] == 2 && isnan(x[3]), "NaN last");
}

TESTS()
