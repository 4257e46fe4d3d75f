/* Boolean products of not too many terms by digits: neither operand becomes bits, and no table is
 * looked up in memory.
 *
 * Four terms of a column of B are a digit, 0 to 15.  Eight rows of A make a byte of each digit, a
 * bit a row, so that 16 bytes are their table, which is in each lane of a register: one shuffle
 * of bytes joins four terms of eight rows with as many columns as a vector has bytes. Columns past
 * the last whole vector are done by one that reaches back, so nothing is masked. Included once,
 * before semiring_bool.h; without a shuffle of bytes nothing is taken. */
#if defined(__AVX512BW__) && VECTOR_BYTES == 64
#define PICK(table, digits) ((octets)_mm512_shuffle_epi8((__m512i)(table), (__m512i)(digits)))
#define SPREAD(x)           ((octets)_mm512_broadcast_i32x4(_mm_loadu_si128((const void *)(x))))
#define ONES_OF(x)          ((octets)_mm512_min_epu8((__m512i)(x), _mm512_set1_epi8(1)))
#elif defined(__AVX2__) && VECTOR_BYTES == 32
#define PICK(table, digits) ((octets)_mm256_shuffle_epi8((__m256i)(table), (__m256i)(digits)))
#define SPREAD(x)           ((octets)_mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)(x))))
#define ONES_OF(x)          ((octets)_mm256_min_epu8((__m256i)(x), _mm256_set1_epi8(1)))
#elif defined(__aarch64__) && VECTOR_BYTES == 16
#include <arm_neon.h>
#define PICK(table, digits) ((octets)vqtbl1q_u8((uint8x16_t)(table), (uint8x16_t)(digits)))
#define SPREAD(x)           ((octets)vld1q_u8(x))
#define ONES_OF(x)          ((octets)vminq_u8((uint8x16_t)(x), vdupq_n_u8(1)))
#else
#define HAS_NO_PICK
#endif

#define DIGIT_TERMS    4
#define TABLE_BYTES    16
#define OCTET          8                            /* rows of a table */
#define STRIP          (VECTOR_BYTES == 32 ? 3 : 5) /* vectors of columns, and octets of rows, held in registers */
#define STRIP_OCTETS   (VECTOR_BYTES == 32 ? 2 : 3)
#define DIGITS_TERMS   320 /* of more terms, rows that few bits name, or that are full early, take less */
#define DIGITS_OF_B    ((size_t)512 << 10) /* bytes, in a second-level cache */
#define DIGITS_WRITTEN ((size_t)4 << 20)   /* more of C goes past the caches */

/* One product under way; shared by its threads. */
typedef struct job_digits {
    const cbx_matmul *p;
    size_t digits;          /* of a column of B: an even number */
    size_t vectors, strips; /* of columns */
    size_t rows;            /* of a task */
    uint8_t *b;             /* [strip][digit][columns of the strip] */
    char *own;              /* of each thread: tables of STRIP_OCTETS octets of rows */
    size_t own_bytes, bytes;
    atomic_size_t pack, next;
} job_digits;

static job_digits layout_digits(const cbx__semiring_plan *plan, char *base)
{
    const cbx_matmul *p = plan->p;
    const size_t nt = (size_t)plan->threads, high = STRIP_OCTETS * OCTET;
    job_digits j = { .p = p, .digits = round_up((p->k + DIGIT_TERMS - 1) / DIGIT_TERMS, 2) };

    j.vectors = (p->n + VECTOR_BYTES - 1) / VECTOR_BYTES;
    j.strips = (j.vectors + STRIP - 1) / STRIP;
    j.rows = nt == 1 ? p->m : round_up((p->m + 4 * nt - 1) / (4 * nt), high);
    j.own_bytes = STRIP_OCTETS * round_up(j.digits * TABLE_BYTES, 64);
    j.b = (uint8_t *)base;
    j.own = base ? base + j.digits * j.vectors * VECTOR_BYTES : NULL;
    j.bytes = j.digits * j.vectors * VECTOR_BYTES + nt * j.own_bytes;
    return j;
}

/* Whether a product of these extents may go by digits. */
static bool fits_digits(const cbx_matmul *p)
{
#if defined(HAS_NO_PICK)
    (void)p;
    return false;
#else
    return p->n >= VECTOR_BYTES && p->k <= DIGITS_TERMS && p->n / DIGIT_TERMS * p->k <= DIGITS_OF_B &&
           p->m <= DIGITS_WRITTEN / p->n;
#endif
}

#if !defined(HAS_NO_PICK)
typedef uint8_t octets __attribute__((vector_size(VECTOR_BYTES), may_alias, aligned(1)));

/* The first column of a vector: the last one reaches back. */
static inline size_t column_of(const job_digits *j, size_t vector)
{
    return min_size(vector * VECTOR_BYTES, j->p->n - VECTOR_BYTES);
}
static inline size_t first_of_strip(const job_digits *j, size_t strip) { return j->vectors * strip / j->strips; }

/* Digits of the columns of a strip. */
static void digits_of_b(job_digits *j, size_t strip)
{
    const cbx_matmul *p = j->p;
    const size_t from = first_of_strip(j, strip), upto = first_of_strip(j, strip + 1);
    octets *to = (octets *)(void *)(j->b + from * VECTOR_BYTES * j->digits);

    for (size_t q = 0; q < j->digits; q++)
        for (size_t v = from; v < upto; v++) {
            const size_t terms = q * DIGIT_TERMS < p->k ? min_size(DIGIT_TERMS, p->k - q * DIGIT_TERMS) : 0;
            const uint8_t *x = (const uint8_t *)p->b + (ptrdiff_t)(q * DIGIT_TERMS) * p->ldb + column_of(j, v);
            octets sum = { 0 };
            for (size_t t = terms; t-- > 0;) sum = sum + sum + ONES_OF(*(const octets *)(x + (ptrdiff_t)t * p->ldb));
            *to++ = sum;
        }
}

/* The next elements of a row of A, zeros past its last one. */
INLINE octets row_of_a(const uint8_t *x, size_t live)
{
    if (live >= VECTOR_BYTES) return *(const octets *)x;
#if defined(__AVX512BW__) && VECTOR_BYTES == 64
    return (octets)_mm512_maskz_loadu_epi8(UINT64_MAX >> (64 - live), x);
#else
    octets v = { 0 };
    memcpy(&v, x, live);
    return v;
#endif
}

/* A bit for each of up to eight rows of A, of a vector of terms. */
INLINE octets octet_of_a(const uint8_t *a, ptrdiff_t lda, size_t rows, size_t live)
{
    octets sum = { 0 };
    UNROLL for (size_t r = rows; r-- > 0;) sum = sum + sum + ONES_OF(row_of_a(a + (ptrdiff_t)r * lda, live));
    return sum;
}

/* Where an entry of a table has term t from, among those of digits side by side, a lane each: 0
 * (bit 7) if it is without. */
INLINE octets has_term(size_t t)
{
    static const uint8_t entries[TABLE_BYTES] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    octets lane, entry = SPREAD(entries);
    for (size_t l = 0; l < VECTOR_BYTES; l++) lane[l] = (uint8_t)(l / TABLE_BYTES * DIGIT_TERMS);
    return lane + (uint8_t)t + (1 - (entry >> t & 1)) * 0x80;
}

/* Tables of the digits of which `rows` has the first `upto` terms, a bit for each of eight rows;
 * where the next ones go. */
static __attribute__((noinline)) uint8_t *tables_of_octet(const uint8_t *rows, size_t upto, uint8_t *tables)
{
    const octets pick[DIGIT_TERMS] = { has_term(0), has_term(1), has_term(2), has_term(3) };

    for (size_t q = 0; q < upto; q += VECTOR_BYTES / DIGIT_TERMS, tables += VECTOR_BYTES) {
        const octets x = SPREAD(rows + q);
        *(octets *)tables = (PICK(x, pick[0]) | PICK(x, pick[1])) | (PICK(x, pick[2]) | PICK(x, pick[3]));
    }
    return tables;
}

/* Tables of `high` rows of k terms, of which there are up to eight. */
static void tables_of_a(const uint8_t *a, ptrdiff_t lda, size_t k, size_t high, uint8_t *tables)
{
    uint8_t rows[VECTOR_BYTES + TABLE_BYTES] = { 0 };

    for (size_t kk = 0; kk < k; kk += VECTOR_BYTES, a += VECTOR_BYTES) {
        const size_t live = k - kk;
        *(octets *)rows = high < OCTET           ? octet_of_a(a, lda, high, live)
                          : live >= VECTOR_BYTES ? octet_of_a(a, lda, OCTET, VECTOR_BYTES)
                                                 : octet_of_a(a, lda, OCTET, live);
        tables = tables_of_octet(rows, min_size(VECTOR_BYTES, round_up(live, 2 * DIGIT_TERMS)), tables);
    }
}

/* Rows of C and the columns of a strip. */
typedef struct digits_out {
    uint8_t *c; /* of the first row */
    ptrdiff_t ldc;
    size_t live;      /* rows */
    size_t at[STRIP]; /* columns of its vectors */
} digits_out;

/* What `high` octets of rows make of nv vectors of columns, two digits at a time, and their rows as
 * bytes. */
INLINE void digits_tile(size_t high, size_t nv, size_t digits, const uint8_t *b, const uint8_t *tables, size_t apart,
                        digits_out out)
{
    octets sum[STRIP_OCTETS][STRIP];

    UNROLL for (size_t e = 0; e < high * nv; e++) sum[e / nv][e % nv] = (octets){ 0 };
    for (size_t q = 0; q < digits; q += 2, b += 2 * nv * VECTOR_BYTES) UNROLL for (size_t g = 0; g < high; g++)
        {
            const octets one = SPREAD(tables + g * apart + q * TABLE_BYTES),
                         two = SPREAD(tables + g * apart + (q + 1) * TABLE_BYTES);
            UNROLL for (size_t v = 0; v < nv; v++)
                sum[g][v] |= PICK(one, *(const octets *)(b + v * VECTOR_BYTES)) |
                             PICK(two, *(const octets *)(b + (nv + v) * VECTOR_BYTES));
        }
    UNROLL for (size_t g = 0; g < high; g++)
    {
        octets row = 1 + (octets){ 0 };
        for (size_t r = g * OCTET; r < min_size(out.live, (g + 1) * OCTET); r++, row += row, out.c += out.ldc)
            UNROLL for (size_t v = 0; v < nv; v++) * (octets *)(out.c + out.at[v]) = ONES_OF(sum[g][v] & row);
    }
}

#define TILE_OF_DIGITS(high, nv)                                                                                       \
    case (high)*STRIP + (nv)-1:                                                                                        \
        digits_tile(high, nv, digits, b, tables, apart, *out);                                                         \
        break
#define LOW_TILES(nv)                                                                                                  \
    TILE_OF_DIGITS(1, nv);                                                                                             \
    TILE_OF_DIGITS(2, nv)

static void some_digits(size_t high, size_t nv, size_t digits, const uint8_t *b, const uint8_t *tables, size_t apart,
                        const digits_out *out)
{
    switch (high * STRIP + nv - 1) {
        LOW_TILES(1);
        LOW_TILES(2);
        LOW_TILES(3);
#if VECTOR_BYTES != 32
        LOW_TILES(4);
        LOW_TILES(5);
        TILE_OF_DIGITS(3, 1);
        TILE_OF_DIGITS(3, 2);
        TILE_OF_DIGITS(3, 3);
        TILE_OF_DIGITS(3, 4);
        TILE_OF_DIGITS(3, 5);
#endif
    default: break;
    }
}

static void rows_by_digits(const job_digits *j, size_t i0, size_t i1, char *own)
{
    const cbx_matmul *p = j->p;
    const size_t apart = j->own_bytes / STRIP_OCTETS, max = STRIP_OCTETS * OCTET;
    uint8_t *tables = (uint8_t *)own;

    for (size_t i = i0; i < i1; i += max) {
        const size_t live = min_size(max, i1 - i), high = (live + OCTET - 1) / OCTET;
        digits_out out = { (uint8_t *)p->c + (ptrdiff_t)i * p->ldc, p->ldc, live, { 0 } };
        for (size_t g = 0; g < high; g++)
            tables_of_a((const uint8_t *)p->a + (ptrdiff_t)(i + g * OCTET) * p->lda, p->lda, p->k,
                        min_size(OCTET, live - g * OCTET), tables + g * apart);
        for (size_t s = 0; s < j->strips; s++) {
            const size_t from = first_of_strip(j, s), nv = first_of_strip(j, s + 1) - from;
            for (size_t v = 0; v < nv; v++) out.at[v] = column_of(j, from + v);
            some_digits(high, nv, j->digits, j->b + from * VECTOR_BYTES * j->digits, tables, apart, &out);
        }
    }
}

static void work_digits(void *job, size_t id, size_t nt)
{
    job_digits *j = job;

    for (size_t s; (s = atomic_fetch_add(&j->pack, 1)) < j->strips;) digits_of_b(j, s);
    cbx__team_wait(nt);
    for (size_t i; (i = atomic_fetch_add(&j->next, 1) * j->rows) < j->p->m;)
        rows_by_digits(j, i, min_size(i + j->rows, j->p->m), j->own + id * j->own_bytes);
}

static bool takes_digits(const cbx_matmul *p)
{
    return fits_digits(p) && p->a_step == 1 && p->b_step == 1 && p->c_step == 1 && !p->d && !p->mask;
}

/* False: not done. */
static bool run_digits(const cbx__semiring_plan *plan)
{
    if (!takes_digits(plan->p)) return false;
    job_digits job = layout_digits(plan, plan->p->workspace);
    cbx__team_run(plan->threads, work_digits, &job);
    return true;
}
#else
static bool run_digits(const cbx__semiring_plan *plan)
{
    (void)plan;
    return false;
}
#endif
