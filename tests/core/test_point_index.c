/* Points by name, scenario and tags: as a list of them that is searched would say, through many
 * widenings. */
#include "check.h"

#include <stdio.h>

#include "calibrax/core/point_index.h"
#include "fail_alloc.h"

#define MANY 3000

typedef struct made {
    char name[16], batch[16];
    cbx_tag tags[2];
    cbx_point p;
} made;

/* Every third has its tags in the other order. */
static const cbx_point *make(made *m, size_t i)
{
    snprintf(m->name, sizeof m->name, "p%zu", i % 50);
    snprintf(m->batch, sizeof m->batch, "%zu", i / 50);
    m->tags[i % 3 == 0] = (cbx_tag){ "framework", "flax" };
    m->tags[i % 3 != 0] = (cbx_tag){ "batch", m->batch };
    m->p = (cbx_point){ .name = m->name, .scenario = "train", .tags = m->tags, .ntags = 2 };
    return &m->p;
}

TEST(the_first_of_each_kind)
{
    static made points[MANY];
    made like;
    cbx_point_index ix;

    cbx_point_index_init(&ix, cbx_allocator_default(), NULL);
    CHECK(!cbx_point_index_find(&ix, make(&like, 0)), "nothing is there yet");
    for (size_t i = 0; i < MANY; i++) {
        const cbx_point_entry *e = cbx_point_index_add(&ix, make(&points[i], i), i);
        CHECK(e && e->point == &points[i].p && e->value == i, "new");
        make(&like, i);
        like.p.tags = (cbx_tag[]){ like.tags[1], like.tags[0] };
        e = cbx_point_index_add(&ix, &like.p, MANY);
        CHECK(e && e->point == &points[i].p && e->value == i, "the same with its tags in the other order");
    }
    CHECK_INT(ix.entries.n, MANY, "each once");
    for (size_t i = 0; i < MANY; i++) CHECK_INT(cbx_point_index_find(&ix, make(&like, i))->value, i, "found");
    like.p.ntags = 1;
    CHECK(!cbx_point_index_find(&ix, &like.p), "a tag fewer is another point");
    cbx_point_index_clear(&ix);
    CHECK(!cbx_point_index_find(&ix, make(&like, 0)), "cleared");
}

/* A label that does not count, one by one. */
TEST(labels_that_do_not_count)
{
    const cbx_tag flax[] = { { "framework", "flax" }, { "batch", "1" } },
                  jax[] = { { "batch", "1" }, { "framework", "jax" } };
    const cbx_point a = { .name = "p", .scenario = "s", .tags = flax, .ntags = 2 };
    const struct {
        cbx_point b;
        const char *but, *why;
        bool same;
    } cases[] = {
        { { .name = "p", .scenario = "s", .tags = jax, .ntags = 2 }, NULL, "another framework", false },
        { { .name = "p", .scenario = "s", .tags = jax, .ntags = 2 }, "framework", "which does not count", true },
        { { .name = "p", .scenario = "s", .tags = jax, .ntags = 1 }, "framework", "nor that there is none", true },
        { { .name = "p", .scenario = "s", .tags = jax, .ntags = 2 }, "batch", "another one does not", false },
        { { .name = "q", .scenario = "s", .tags = flax, .ntags = 2 }, NULL, "another name", false },
        { { .name = "q", .scenario = "s", .tags = flax, .ntags = 2 }, "point", "which does not count", true },
        { { .name = "p", .scenario = "t", .tags = flax, .ntags = 2 }, NULL, "another scenario", false },
        { { .name = "p", .scenario = "t", .tags = flax, .ntags = 2 }, "scenario", "which does not count", true },
        { { .name = "p", .scenario = "s", .tags = flax, .ntags = 0 }, NULL, "no tags", false },
    };

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_point_index ix;
        cbx_point_index_init(&ix, cbx_allocator_default(), cases[i].but);
        CHECK(cbx_point_same(&a, &cases[i].b, cases[i].but) == cases[i].same, cases[i].why);
        CHECK(cbx_point_same(&cases[i].b, &a, cases[i].but) == cases[i].same, cases[i].why);
        CHECK((cbx_point_hash(&a, cases[i].but) == cbx_point_hash(&cases[i].b, cases[i].but)) == cases[i].same,
              cases[i].why);
        CHECK(cbx_point_index_add(&ix, &a, 0) != NULL, "added");
        CHECK((cbx_point_index_find(&ix, &cases[i].b) != NULL) == cases[i].same, cases[i].why);
        cbx_point_index_clear(&ix);
    }
}

static cbx_status add_all(cbx_ctx *ctx, void *user)
{
    static made points[400];
    cbx_status st = CBX_OK;
    cbx_point_index ix;

    (void)user;
    cbx_point_index_init(&ix, cbx_ctx_allocator(ctx), NULL);
    for (size_t i = 0; i < CBX_LEN(points) && !st; i++)
        if (!cbx_point_index_add(&ix, make(&points[i], i), i)) st = CBX_ENOMEM;
    for (size_t i = 0; i < ix.entries.n; i++)
        CHECK_INT(cbx_point_index_find(&ix, &points[i].p)->value, i, "still there");
    cbx_point_index_clear(&ix);
    return st;
}

TEST(memory_runs_out) { CHECK_GT(cbx_test_fail_each(add_all, NULL, "point index"), 3, "something was allocated"); }

TESTS()
