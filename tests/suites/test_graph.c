/*
 * Graphs of the cases: degrees and indices are what their words say, orders and relabellings keep
 * the graph, and reverse Cuthill-McKee brings a shuffled mesh together again.
 */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/base/idioms.h"
#include "suites/common/arrays.h"
#include "suites/common/graph.h"

#define MAX 4096

/* Largest |i - j| over edges. */
static size_t bandwidth_of(size_t n, size_t k, const int32_t *indices, const int32_t *degree)
{
    size_t max = 0;

    for (size_t i = 0; i < n; i++) {
        for (size_t p = 0; p < (size_t)degree[i]; p++) {
            const size_t j = (size_t)indices[i * k + p], far = i > j ? i - j : j - i;
            max = far > max ? far : max;
        }
    }
    return max;
}

static int32_t indices[MAX * 64], degree[MAX], other[MAX * 64], other_degree[MAX];

static void make(cbx_ctx *ctx, const cbx__suite_graph *g)
{
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx__suite_graph_make(ctx, g, indices, degree, &err), &err, "graph");
}

TEST(graphs_are_what_they_say)
{
    cbx_ctx *ctx = cbx_test_context();

    for (int kind = 0; cbx__suite_graph_words[kind]; kind++) {
        for (int order = 0; cbx__suite_order_words[order]; order++) {
            const cbx__suite_graph g = { (cbx__suite_graph_kind)kind, (cbx__suite_graph_order)order, 400, 16, 3 };
            size_t edges = 0, full = 0, empty = 0;
            make(ctx, &g);
            for (size_t i = 0; i < g.n; i++) {
                CHECK(degree[i] >= 0 && degree[i] <= 16, "a degree");
                edges += (size_t)degree[i];
                full += degree[i] == 16;
                empty += degree[i] == 0;
                for (size_t p = 0; p < g.k; p++) {
                    const int32_t j = indices[i * g.k + p];
                    CHECK(j >= 0 && j < 400, "an index");
                    if (p >= (size_t)degree[i]) CHECK((size_t)j == i, "padding points at its own row");
                }
            }
            CHECK_INT(edges, cbx__suite_graph_edges(&g), "edges are counted without making the graph");
            if (kind == CBX__SUITE_UNIFORM) CHECK_INT(full, 400, "uniform rows are full");
            if (kind == CBX__SUITE_SKEWED) CHECK_INT(full, 7, "one row in 64 is full");
            if (kind == CBX__SUITE_EMPTY_ROWS) CHECK(empty > 60 && empty < 140, "a quarter is empty");
            if (kind == CBX__SUITE_EMPTY_ROWS) CHECK_INT(full + empty, 400, "the others are full");
            if (kind == CBX__SUITE_POWER_LAW) CHECK(empty == 0 && full > 2 && full < 60, "few have many neighbours");
            if (kind == CBX__SUITE_MESH2D) CHECK(full > 200 && full < 400, "the border has fewer");
        }
    }
    cbx_ctx_free(ctx);
}

TEST(a_mesh_is_a_mesh)
{
    cbx_ctx *ctx = cbx_test_context();
    const cbx__suite_graph g = { CBX__SUITE_MESH2D, CBX__SUITE_NATURAL, 12, 5, 0 }; /* 3 by 4 */
    static const int32_t corner[] = { 0, 1, 4 }, inner[] = { 5, 1, 4, 6, 9 };

    make(ctx, &g);
    CHECK_INT(degree[0], 3, "a corner has two neighbours and itself");
    CHECK_INT(degree[5], 5, "an inner point four");
    for (size_t p = 0; p < 3; p++) CHECK_INT(indices[p], corner[p], "nearest first, then up, then left");
    for (size_t p = 0; p < 5; p++) CHECK_INT(indices[5 * 5 + p], inner[p], "nearest first, then up, then left");
    cbx_ctx_free(ctx);
}

/* Edges i -> j of vertices with a mark each, added over: the same for every labelling. */
static double invariant(size_t n, size_t k, const int32_t *idx, const int32_t *deg, const double *mark)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t p = 0; p < (size_t)deg[i]; p++) sum += mark[i] * mark[idx[i * k + p]] * mark[idx[i * k + p]];
    return sum;
}

TEST(other_names_keep_the_graph)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    double mark[400], moved[400];

    for (int kind = 0; cbx__suite_graph_words[kind]; kind++) {
        const cbx__suite_graph g = { (cbx__suite_graph_kind)kind, CBX__SUITE_NATURAL, 400, 16, 9 };
        CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
        size_t *order = NULL, far;
        make(ctx, &g);
        CHECK_OK(cbx__suite_graph_rotate(&arena, &g, 2, &order, &err), &err, "turn");
        for (size_t i = 0; i < 400; i++) mark[i] = (double)((i * 7919) % 401);
        for (size_t i = 0; i < 400; i++) moved[i] = mark[order[i]];
        CHECK_OK(cbx__suite_graph_relabel(ctx, 400, 16, order, indices, degree, other, other_degree, &err), &err,
                 "relabel");
        CHECK(invariant(400, 16, indices, degree, mark) == invariant(400, 16, other, other_degree, moved), "the graph");
        CHECK(memcmp(indices, other, 400 * 16 * sizeof *indices) != 0, "under other names");
        mark[5] += 1;
        CHECK(invariant(400, 16, indices, degree, mark) != invariant(400, 16, other, other_degree, moved),
              "the check sees another graph");
        far = 0; /* edges that leave their neighbourhood */
        for (size_t i = 0; i < 400; i++)
            for (size_t p = 0; p < (size_t)other_degree[i]; p++)
                far += llabs((long long)other[i * 16 + p] - (long long)i) > 60;
        if (kind == CBX__SUITE_MESH2D) CHECK(far < 400 * 16 / 8, "a mesh stays local under its turns");
        if (kind == CBX__SUITE_UNIFORM) CHECK(far > 400 * 16 / 2, "a uniform graph is local nowhere");
    }
    cbx_ctx_free(ctx);
}

/* SciPy's reverse_cuthill_mckee gives shuffled 9-point meshes of 20, 32 and 64 squared bandwidths
 * of 39, 63 and 127. */
TEST(cuthill_mckee_finds_the_mesh_again)
{
    cbx_ctx *ctx = cbx_test_context();
    static const size_t sizes[] = { 400, 1024, 4096 };

    for (size_t s = 0; s < CBX_LEN(sizes); s++) {
        cbx__suite_graph g = { CBX__SUITE_MESH2D, CBX__SUITE_NATURAL, sizes[s], 9, 1 };
        size_t natural, shuffled, rcm;
        make(ctx, &g);
        natural = bandwidth_of(g.n, g.k, indices, degree);
        g.order = CBX__SUITE_SHUFFLED;
        make(ctx, &g);
        shuffled = bandwidth_of(g.n, g.k, indices, degree);
        g.order = CBX__SUITE_RCM;
        make(ctx, &g);
        rcm = bandwidth_of(g.n, g.k, indices, degree);
        CHECK_INT(natural, (size_t)sqrt((double)sizes[s]) + 1, "a 9-point mesh reaches one row and one place");
        CHECK_GT((double)shuffled, 0.8 * (double)g.n, "shuffled labels are far apart");
        CHECK_LE((double)rcm, 2.0 * (double)natural, "and near again");
    }
    cbx_ctx_free(ctx);
}

TESTS()
