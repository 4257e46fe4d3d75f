/*
 * How work is laid over blocks and threads: every element of C has one tile, tiles fit their
 * threads and their loads, groups of threads cover every row; and what is too large is reported,
 * not wrapped.
 */
#include "check.h"

#include "calibrax/array/cuda/geometry.h"

/* The tile's own conditions (tile.h): loads are whole, and a load steps along k or along lines by a
 * constant. */
TEST(tiles_fit)
{
    static const struct {
        int bits, rows, cols, deep, trows, tcols;
    } tiles[] = {
#define TILE(size, bits, rows, cols, deep, trows, tcols) { bits, rows, cols, deep, trows, tcols },
        CBX__CUDA_TILES(TILE)
    };
    for (size_t i = 0; i < CBX_LEN(tiles); i++) {
        const int threads = tiles[i].rows / tiles[i].trows * (tiles[i].cols / tiles[i].tcols), size = tiles[i].bits / 8,
                  vector = 16 / size;
        CHECK(threads % 32 == 0 && threads <= CBX__CUDA_BLOCK, "whole warps");
        CHECK_INT(tiles[i].rows * tiles[i].deep % threads, 0, "whole loads of A");
        CHECK_INT(tiles[i].cols * tiles[i].deep % threads, 0, "whole loads of B");
        CHECK(threads % tiles[i].rows == 0 && threads % tiles[i].cols == 0 && threads % tiles[i].deep == 0,
              "loads step by a constant");
        CHECK(tiles[i].trows % vector == 0 && tiles[i].tcols % vector == 0, "whole vectors of shared memory");
        CHECK_LE(2 * tiles[i].deep * (tiles[i].rows + tiles[i].cols + 2 * vector) * size, 48 * 1024,
                 "panels fit in shared memory");
    }
}

TEST(tiles_cover)
{
    static const int rows[2][3] = { { 128, 64, 32 }, { 64, 32, 16 } }, cols[2][3] = { { 64, 64, 32 }, { 64, 32, 16 } };
    for (int wide = 0; wide < 2; wide++)
        for (size_t m = 1; m < 400; m += 13)
            for (size_t n = 1; n < 400; n += 17)
                for (int processors = 1; processors < 200; processors += 33) {
                    const cbx__cuda_tiling t = cbx__cuda_tile(wide ? 64 : 32, m, n, 3, processors);
                    const int r = rows[wide][t.size], c = cols[wide][t.size];
                    CHECK(t.tiles_m * r >= (int64_t)m && (t.tiles_m - 1) * r < (int64_t)m, "rows");
                    CHECK(t.tiles_n * c >= (int64_t)n && (t.tiles_n - 1) * c < (int64_t)n, "columns");
                    CHECK_INT(t.blocks, t.tiles_m * t.tiles_n * 3, "a block for each tile of each product");
                    CHECK(t.size == CBX__CUDA_SMALL || t.blocks >= processors, "no larger than fills the device");
                }
    CHECK_GT(cbx__cuda_tile(32, SIZE_MAX / 4, SIZE_MAX / 4, 9, 100).blocks, 0x7fffffffLL, "too large, and not wrapped");
}

/* Parts cover k, none is shorter than is worth it, and there are only as many as a device needs. */
TEST(splits_cover)
{
    static const int rows[2] = { 32, 16 };
    for (int wide = 0; wide < 2; wide++)
        for (size_t m = 1; m < 2000; m = m * 3 + 1)
            for (size_t n = 1; n < 2000; n = n * 2 + 5)
                for (size_t k = 0; k < 3000000; k = k * 2 + 33) {
                    const cbx__cuda_split s = cbx__cuda_split_k(wide ? 64 : 32, m, k, n);
                    const int64_t blocks = cbx__cuda_parts((int64_t)m, rows[wide]) *
                                           cbx__cuda_parts((int64_t)n, rows[wide]);
                    CHECK(s.parts >= 1 && s.parts * s.chunk >= (int64_t)k, "all of k");
                    CHECK(s.parts == 1 || (s.parts - 1) * s.chunk < (int64_t)k, "no part in vain");
                    if (s.parts == 1) {
                        CHECK(k < 2 * CBX__CUDA_SHORTEST || blocks > CBX__CUDA_ENOUGH / 2, "none where it would help");
                        CHECK_INT(s.chunk, (int64_t)k, "one part is all");
                        continue;
                    }
                    CHECK_INT(s.chunk % CBX__CUDA_STEP, 0, "whole panels");
                    CHECK(s.chunk >= CBX__CUDA_SHORTEST, "not too short");
                    CHECK(s.parts * blocks <= CBX__CUDA_ENOUGH, "not too many");
                }
    CHECK_INT(cbx__cuda_split_k(32, SIZE_MAX / 4, 1 << 20, SIZE_MAX / 4).parts, 1, "too large, and not wrapped");
    CHECK_INT(cbx__cuda_split_k(64, 8, 100000, 8).parts, 368, "tall and thin");
}

TEST(groups_cover)
{
    for (size_t d = 1; d < 300; d++)
        for (size_t rows = 1; rows < 100; rows += 7)
            for (size_t wide = 1; wide <= 4; wide *= 2) {
                const cbx__cuda_rows g = cbx__cuda_row_groups(rows, d, wide);
                const int64_t lanes = (int64_t)1 << g.lanes_log, covered = g.parts * lanes * (int64_t)wide;
                CHECK(g.lanes_log <= 5, "a group is within a warp");
                CHECK(covered >= (int64_t)d && covered - lanes * (int64_t)wide < (int64_t)d, "columns");
                CHECK(g.blocks * (CBX__CUDA_BLOCK / lanes) >= (int64_t)rows * g.parts, "rows");
                CHECK((g.blocks - 1) * (CBX__CUDA_BLOCK / lanes) < (int64_t)rows * g.parts, "no block in vain");
            }
    CHECK_GT(cbx__cuda_row_groups(SIZE_MAX / 4, 4096, 1).blocks, 0x7fffffffLL, "too large, and not wrapped");
}

TESTS()
