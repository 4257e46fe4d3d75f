/*
 * The product around the register tile for booleans: bytes to bits, bits to bytes.  Included behind semiring_tile.h.
 */

/* 8 bytes (any non-zero byte is true) to 8 bits, lowest byte first. */
static inline uint32_t bits_of_bytes(const uint8_t *x)
{
    uint64_t v;
    memcpy(&v, x, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    v |= (v & 0x7f7f7f7f7f7f7f7fu) + 0x7f7f7f7f7f7f7f7fu; /* bit 7 of a byte is set if the byte is not 0 */
    v = (v >> 7) & 0x0101010101010101u;
    return (uint32_t)((v * 0x0102040810204080u) >> 56);
}

/* 32 columns of a row of B from x, of which `live` exist. */
static inline uint32_t word_of_bytes(const uint8_t *x, size_t live)
{
    uint8_t tail[32] = { 0 };
    if (live < 32) {
        memcpy(tail, x, live);
        x = tail;
    }
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)x);
    return _mm256_test_epi8_mask(v, v);
#elif defined(__AVX2__)
    const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)x);
    return ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_setzero_si256()));
#else
    return bits_of_bytes(x) | bits_of_bytes(x + 8) << 8 | bits_of_bytes(x + 16) << 16 | bits_of_bytes(x + 24) << 24;
#endif
}

static void pack_a_bit(const cbx_matmul *p, uint32_t *restrict a, size_t i0, size_t mc, size_t k0, size_t kc)
{
    for (size_t r = 0; r < round_up(mc, MR); r++) {
        uint32_t *restrict out = a + r * KA;
        if (r >= mc) {
            for (size_t kk = 0; kk < kc; kk++) out[kk] = 0;
            continue;
        }
        const uint8_t *restrict in = (const uint8_t *)p->a + (i0 + r) * p->lda + k0;
        for (size_t kk = 0; kk < kc; kk++) out[kk] = in[kk] ? UINT32_MAX : 0;
    }
}

static void pack_b_bit(const cbx_matmul *p, uint32_t *restrict out, size_t k0, size_t kc, size_t w0, size_t nc)
{
    for (size_t wb = 0; wb < nc; wb += NR) {
        for (size_t kk = 0; kk < kc; kk++, out += NR) {
            const uint8_t *row = (const uint8_t *)p->b + (k0 + kk) * p->ldb;
            for (size_t w = 0; w < NR; w++) {
                const size_t j = (w0 + wb + w) * 32;
                out[w] = j < p->n ? word_of_bytes(row + j, min_size(32, p->n - j)) : 0;
            }
        }
    }
}

/* A row of a tile into bytes of C. */
static void store_row_bit(const cbx_matmul *p, const uint32_t *tile, size_t i, size_t w0, bool first)
{
    uint8_t *restrict c = (uint8_t *)p->c + i * p->ldc;
    for (size_t w = 0; w < NR && (w0 + w) * 32 < p->n; w++) {
        const size_t j0 = (w0 + w) * 32, live = min_size(32, p->n - j0);
        const uint32_t word = tile[w];
        if (first) {
            for (size_t j = 0; j < live; j++) c[j0 + j] = (word >> j) & 1;
        } else {
            for (size_t j = 0; j < live; j++) c[j0 + j] |= (word >> j) & 1;
        }
    }
}

static size_t lanes_of(const cbx_matmul *p) { return (p->n + 31) / 32; }

static size_t workspace_bit(const cbx_matmul *p) { return layout_bit(p, lanes_of(p), NULL).bytes; }

static void run_bit(const cbx_matmul *p)
{
    const room_bit room = layout_bit(p, lanes_of(p), p->workspace);
    const size_t lanes = lanes_of(p);
    uint32_t tile[MR * NR] __attribute__((aligned(64)));
    for (size_t w0 = 0; w0 < lanes; w0 += NC) {
        const size_t nc = min_size(NC, lanes - w0);
        for (size_t k0 = 0; k0 < p->k; k0 += KC) {
            const size_t kc = min_size(KC, p->k - k0);
            pack_b_bit(p, room.b, k0, kc, w0, nc);
            for (size_t i0 = 0; i0 < p->m; i0 += MC) {
                const size_t mc = min_size(MC, p->m - i0);
                pack_a_bit(p, room.a, i0, mc, k0, kc);
                for (size_t wb = 0; wb < nc; wb += NR) {
                    for (size_t ib = 0; ib < mc; ib += MR) {
                        micro_bit(STEP_OR, kc, room.a + ib * KA, room.b + wb * kc, 0, tile);
                        for (size_t r = 0; r < min_size(MR, mc - ib); r++)
                            store_row_bit(p, tile + r * NR, i0 + ib + r, w0 + wb, k0 == 0);
                    }
                }
            }
        }
    }
}
