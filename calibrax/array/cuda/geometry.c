/* How work is laid over blocks and threads; see geometry.h. */
#include "calibrax/array/cuda/geometry.h"

static const struct {
    int bits;
    int64_t rows, cols;
    unsigned threads;
} tiles[] = {
#define TILE(size, bits, rows, cols, deep, trows, tcols) { bits, rows, cols, (rows / trows) * (cols / tcols) },
    CBX__CUDA_TILES(TILE)
#undef TILE
};

cbx__cuda_tiling cbx__cuda_tile(int bits, size_t m, size_t n, size_t batches, int multiprocessors)
{
    const size_t first = bits == 64 ? CBX__CUDA_SIZES : 0;
    cbx__cuda_tiling t = { CBX__CUDA_LARGE, 0, 0, 0, 0 };

    for (size_t size = 0; size < CBX__CUDA_SIZES; size++) {
        t.size = (cbx__cuda_size)size;
        t.tiles_m = cbx__cuda_parts((int64_t)m, tiles[first + size].rows);
        t.tiles_n = cbx__cuda_parts((int64_t)n, tiles[first + size].cols);
        t.threads = tiles[first + size].threads;
        if (__builtin_mul_overflow(t.tiles_m, t.tiles_n, &t.blocks) ||
            __builtin_mul_overflow(t.blocks, (int64_t)batches, &t.blocks))
            t.blocks = INT64_MAX;
        if (t.blocks >= multiprocessors) break;
    }
    return t;
}

cbx__cuda_split cbx__cuda_split_k(int bits, size_t m, size_t k, size_t n)
{
    const size_t smallest = (bits == 64 ? CBX__CUDA_SIZES : 0) + CBX__CUDA_SMALL;
    const int64_t down = cbx__cuda_parts((int64_t)m, tiles[smallest].rows),
                  across = cbx__cuda_parts((int64_t)n, tiles[smallest].cols), steps = (int64_t)k;
    cbx__cuda_split s = { 1, steps };

    if (down == 0 || across == 0 || down > CBX__CUDA_ENOUGH || across > CBX__CUDA_ENOUGH) return s;
    const int64_t enough = CBX__CUDA_ENOUGH / (down * across), max = steps / CBX__CUDA_SHORTEST;
    const int64_t wanted = enough < max ? enough : max;
    if (wanted < 2) return s;
    s.chunk = cbx__cuda_parts(cbx__cuda_parts(steps, wanted), CBX__CUDA_STEP) * CBX__CUDA_STEP;
    s.parts = cbx__cuda_parts(steps, s.chunk);
    return s;
}

cbx__cuda_rows cbx__cuda_row_groups(size_t rows, size_t d, size_t wide)
{
    const int64_t needed = cbx__cuda_parts((int64_t)d, (int64_t)wide);
    cbx__cuda_rows g = { 0, 0, 0 };
    int64_t groups;

    while (g.lanes_log < 5 && (int64_t)1 << g.lanes_log < needed) g.lanes_log++;
    g.parts = cbx__cuda_parts(needed, (int64_t)1 << g.lanes_log);
    if (__builtin_mul_overflow((int64_t)rows, g.parts, &groups)) groups = INT64_MAX;
    g.blocks = cbx__cuda_parts(groups, CBX__CUDA_BLOCK >> g.lanes_log);
    return g;
}
