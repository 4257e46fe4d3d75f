/* Reverse Cuthill-McKee: breadth-first search from a vertex of minimum degree, neighbours by
 * increasing degree, the order reversed. Each component has its own search; of vertices of equal
 * degree the smaller label comes first. */
#include <stdbool.h>
#include <stdlib.h>

#include "calibrax/base/idioms.h"
#include "suites/common/graph.h"

/* The graph as undirected: neighbours of i are to[start[i]] .. to[start[i + 1]]. */
typedef struct undirected {
    size_t n;
    size_t *start, *to;
    uint64_t *keys; /* capacity to sort a vertex's neighbours, or all vertices: degree, then label */
    bool *seen;
} undirected;

static size_t degree_of(const undirected *u, size_t i) { return u->start[i + 1] - u->start[i]; }

static uint64_t key_of(const undirected *u, size_t i) { return (uint64_t)degree_of(u, i) << 32 | (uint64_t)i; }

CBX_BY_VALUE(compare_keys, uint64_t)

static void count_both_ways(undirected *u, size_t k, const int32_t *indices, const int32_t *degree)
{
    for (size_t i = 0; i < u->n; i++) {
        for (size_t p = 0; p < (size_t)degree[i]; p++) {
            u->start[i + 1]++;
            u->start[(size_t)indices[i * k + p] + 1]++;
        }
    }
    for (size_t i = 0; i < u->n; i++) u->start[i + 1] += u->start[i];
}

/* start[i] moves to the end of i's neighbours, and back again. */
static void fill_both_ways(undirected *u, size_t k, const int32_t *indices, const int32_t *degree)
{
    for (size_t i = 0; i < u->n; i++) {
        for (size_t p = 0; p < (size_t)degree[i]; p++) {
            const size_t j = (size_t)indices[i * k + p];
            u->to[u->start[i]++] = j;
            u->to[u->start[j]++] = i;
        }
    }
    for (size_t i = u->n; i > 0; i--) u->start[i] = u->start[i - 1];
    u->start[0] = 0;
}

/* Adds the unseen neighbours of i to the order, by rising degree. */
static size_t visit(undirected *u, size_t i, size_t *order, size_t found)
{
    size_t fresh = 0;

    for (size_t e = u->start[i]; e < u->start[i + 1]; e++) {
        const size_t j = u->to[e];
        if (u->seen[j]) continue;
        u->seen[j] = true;
        u->keys[fresh++] = key_of(u, j);
    }
    qsort(u->keys, fresh, sizeof *u->keys, compare_keys);
    for (size_t f = 0; f < fresh; f++) order[found++] = (size_t)(u->keys[f] & UINT32_MAX);
    return found;
}

static void search(undirected *u, const uint64_t *by_degree, size_t *order)
{
    size_t found = 0, next = 0;

    for (size_t c = 0; c < u->n; c++) {
        const size_t root = (size_t)(by_degree[c] & UINT32_MAX);
        if (u->seen[root]) continue;
        u->seen[root] = true;
        order[found++] = root;
        while (next < found) found = visit(u, order[next++], order, found);
    }
    for (size_t i = 0; i < u->n / 2; i++) {
        const size_t other = order[u->n - 1 - i];
        order[u->n - 1 - i] = order[i];
        order[i] = other;
    }
}

cbx_status cbx__suite_rcm(cbx_ctx *ctx, size_t n, size_t k, const int32_t *indices, const int32_t *degree,
                          size_t *order, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    size_t edges = 0;
    undirected u = { .n = n };
    uint64_t *by_degree = cbx_arena_calloc(&arena, n, sizeof *by_degree);

    for (size_t i = 0; i < n; i++) edges += (size_t)degree[i];
    u.start = cbx_arena_calloc(&arena, n + 1, sizeof *u.start);
    u.to = cbx_arena_calloc(&arena, 2 * edges, sizeof *u.to);
    u.keys = cbx_arena_calloc(&arena, n, sizeof *u.keys);
    u.seen = cbx_arena_calloc(&arena, n, sizeof *u.seen);
    if (!u.start || !u.to || !u.keys || !u.seen || !by_degree)
        return cbx_fail(err, CBX_ENOMEM, "out of memory to order a graph of %zu vertices", n);
    count_both_ways(&u, k, indices, degree);
    fill_both_ways(&u, k, indices, degree);
    for (size_t i = 0; i < n; i++) by_degree[i] = key_of(&u, i);
    qsort(by_degree, n, sizeof *by_degree, compare_keys);
    search(&u, by_degree, order);
    return CBX_OK;
}
