/* Boolean products on bits: 512 columns of C are one block of words, and a fold is an OR of rows of
 * B.
 *
 * Four rows of B at a time become a table of the ORs of all their subsets, of which four bits of A
 * pick one (Arlazarov, Dinic, Kronrod & Faradzev, Soviet Math. Dokl. 11 (1970) 1209-1210).  Tables
 * of four and not of eight: those of 128 rows fit in a first-level cache, and cost little where C
 * has few rows.  Where A is sparse, the rows of B that its bits name are joined themselves.  A row
 * of C that is all ones needs no more terms; where the first ones of A and B are dense enough to
 * fill C, the others are not even read. */

#define BLOCK_COLUMNS 512
#define BLOCK_WORDS   (BLOCK_COLUMNS / 64)
#define WORD_TABLES   16 /* of 16 entries each */
#define ENTRIES       16
#define CHUNK_ROWS    4096
#define GROUP         8                   /* blocks of a task: a row of theirs is a page of C */
#define CHUNK_BYTES   ((size_t)512 << 10) /* of its rows as bits, in a second-level cache */
#define TASKS         8                   /* of each thread, if there are that many */
#define MIN_ROWS      512
#define PACKED_AHEAD  4096 /* bytes that packing asks for ahead: the hardware's own reading ahead ends with each page */
#define FEW_WORDS     32   /* rows of a word: fewer are done before tables are made */
#define LOOK_WORDS    2    /* of a row of A, with the rows of B that they meet, looked at before all others */
#define LOOK_MIN      16   /* of rows that have this many words */
#define PACK_ROWS     64   /* packed at a time */

/* A product larger than a second-level cache; what was stored past the caches is seen by others
 * behind STREAMED. */
#define STREAMED_BYTES ((size_t)4 << 20)
#if defined(__AVX512BW__)
#define STREAMED() _mm_sfence()
#else
#define STREAMED() ((void)0)
#endif

typedef uint64_t bits __attribute__((vector_size(VECTOR_BYTES), may_alias, aligned(8)));
#define BITS_WORDS (VECTOR_BYTES / 8)
#define BITS_PARTS (BLOCK_WORDS / BITS_WORDS)
typedef struct row_bits {
    bits part[BITS_PARTS];
} row_bits;

/* One product under way; shared by its threads. */
typedef struct job_bool {
    const cbx_matmul *p;
    size_t a_words, k64;          /* words of a row of A; k rounded up to words of bits */
    size_t blocks, group, groups; /* blocks of columns; those of a task; tasks side by side */
    size_t chunk;                 /* rows of a task */
    uint64_t *a;                  /* [m][a_words] */
    uint64_t *b;                  /* [block][k64][BLOCK_WORDS] */
    uint8_t *done;                /* of each task: finished by the first look */
    char *own;                    /* of each thread: tables, rows of C, which of these are done */
    size_t own_bytes, bytes;
    /* in the first look and after it: ones that were packed, what to pack and to make next; tasks
     * that the first finished */
    atomic_size_t ones_a[2], ones_b[2], pack[2], next[2], finished;
} job_bool;

static size_t tasks_down(const job_bool *j) { return (j->p->m + j->chunk - 1) / j->chunk; }

/* Rows of a task where threads share them: some tasks for each, so that none waits long for the
 * last, of rows that are worth their tables. */
static size_t shared_chunk(size_t m, size_t groups, size_t nt)
{
    const size_t even = (m + nt - 1) / nt, down = (TASKS * nt + groups - 1) / groups, rows = (m + down - 1) / down;
    return min_size(even, rows < MIN_ROWS ? MIN_ROWS : rows);
}

static job_bool layout_bool(const cbx__semiring_plan *plan, char *base)
{
    const cbx_matmul *p = plan->p;
    job_bool j = { .p = p, .a_words = (p->k + 63) / 64, .k64 = round_up(p->k, 64) };
    const size_t nt = (size_t)plan->threads;
    size_t at = 0;

    j.blocks = (p->n + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS;
    j.group = min_size(j.blocks, GROUP);
    j.groups = (j.blocks + j.group - 1) / j.group;
    j.chunk = min_size(CHUNK_ROWS, nt == 1 ? p->m : shared_chunk(p->m, j.groups, nt));
    j.chunk = min_size(j.chunk, CHUNK_BYTES / (j.group * (BLOCK_COLUMNS / 8)));
    j.own_bytes = WORD_TABLES * ENTRIES * (BLOCK_COLUMNS / 8) + j.chunk * j.group * (BLOCK_COLUMNS / 8) +
                  round_up(j.chunk, 64);
    j.a = base ? (uint64_t *)(void *)base : NULL;
    at += round_up(p->m * j.a_words * 8, 64);
    j.b = base ? (uint64_t *)(void *)(base + at) : NULL;
    at += j.blocks * j.k64 * (BLOCK_COLUMNS / 8);
    j.done = base ? (uint8_t *)base + at : NULL;
    at += round_up(tasks_down(&j) * j.groups, 64);
    j.own = base ? base + at : NULL;
    j.bytes = at + nt * j.own_bytes;
    return j;
}

/* Strides, which decide between the two, are not known yet. */
static size_t workspace_bool(const cbx__semiring_plan *plan)
{
    const size_t with_bits = layout_bool(plan, NULL).bytes,
                 with_digits = fits_digits(plan->p) ? layout_digits(plan, NULL).bytes : 0;
    return with_bits > with_digits ? with_bits : with_digits;
}

/* --- rows of bits --- */

INLINE row_bits load_row(const uint64_t *x)
{
    row_bits r;
    UNROLL for (int v = 0; v < BITS_PARTS; v++) r.part[v] = *(const bits *)(x + v * BITS_WORDS);
    return r;
}
INLINE void store_row(uint64_t *x, row_bits r)
{
    UNROLL for (int v = 0; v < BITS_PARTS; v++) * (bits *)(x + v * BITS_WORDS) = r.part[v];
}
INLINE row_bits either(row_bits x, row_bits y)
{
    UNROLL for (int v = 0; v < BITS_PARTS; v++) x.part[v] |= y.part[v];
    return x;
}

/* --- bytes to bits --- */

/* 8 bytes (any non-zero byte is true) to 8 bits, lowest byte first. */
static inline uint64_t bits_of_bytes(const uint8_t *x)
{
    uint64_t v;
    memcpy(&v, x, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    v |= (v & 0x7f7f7f7f7f7f7f7fu) + 0x7f7f7f7f7f7f7f7fu; /* bit 7 of a byte is set if the byte is not 0 */
    v = (v >> 7) & 0x0101010101010101u;
    return (v * 0x0102040810204080u) >> 56;
}

/* The lowest `live` of 64 bits, live > 0. */
static inline uint64_t lanes_of(size_t live) { return UINT64_MAX >> (64 - live); }

/* The next `live` <= 64 elements as bits. */
static inline uint64_t word_of(const uint8_t *x, size_t live, ptrdiff_t apart)
{
    uint64_t word = 0;

    if (apart != 1) {
        for (size_t i = 0; i < live; i++) word |= (uint64_t)(x[(ptrdiff_t)i * apart] != 0) << i;
        return word;
    }
#if defined(__AVX512BW__)
    const __m512i v = live == 64 ? _mm512_loadu_si512((const void *)x)
                                 : _mm512_maskz_loadu_epi8(lanes_of(live), (const void *)x);
    word = _mm512_test_epi8_mask(v, v);
#else
    uint8_t tail[64] = { 0 };
    if (live < 64) {
        memcpy(tail, x, live);
        x = tail;
    }
#if defined(__AVX2__)
    for (int half = 0; half < 2; half++) {
        const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(x + 32 * half));
        const uint32_t zero = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_setzero_si256()));
        word |= (uint64_t)(uint32_t)~zero << (32 * half);
    }
#else
    for (int i = 0; i < 8; i++) word |= bits_of_bytes(x + 8 * i) << (8 * i);
#endif
#endif
    return word;
}

/* The next n elements as words of bits; the ones in them. */
static inline size_t pack_row(const uint8_t *x, size_t n, ptrdiff_t apart, uint64_t *to)
{
    size_t ones = 0;

    for (; n >= 64; n -= 64, x += 64 * apart, to++) {
        __builtin_prefetch(x + PACKED_AHEAD);
        *to = word_of(x, 64, apart);
        ones += (size_t)__builtin_popcountll(*to);
    }
    if (!n) return ones;
    *to = word_of(x, n, apart);
    return ones + (size_t)__builtin_popcountll(*to);
}

/* Words [w0, w1) of rows [i0, i1) of A; the ones in them. */
static size_t pack_bits_of_a(job_bool *j, size_t i0, size_t i1, size_t w0, size_t w1)
{
    const cbx_matmul *p = j->p;
    const uint8_t *a = (const uint8_t *)p->a + (ptrdiff_t)(64 * w0) * p->a_step;
    size_t ones = 0;

    for (size_t i = i0; i < i1; i++)
        ones += pack_row(a + (ptrdiff_t)i * p->lda, min_size(64 * w1, p->k) - 64 * w0, p->a_step,
                         j->a + i * j->a_words + w0);
    return ones;
}

/* Rows [from, upto) of B, zeros past the last one. */
static size_t pack_bits_of_b(job_bool *j, size_t from, size_t upto)
{
    const cbx_matmul *p = j->p;
    size_t ones = 0;

    for (size_t kk = from; kk < upto; kk++)
        for (size_t g = 0; g < j->blocks; g++) {
            uint64_t *row = j->b + (g * j->k64 + kk) * BLOCK_WORDS;
            const size_t live = kk < p->k ? min_size(BLOCK_COLUMNS, p->n - g * BLOCK_COLUMNS) : 0;
            if (live < BLOCK_COLUMNS) store_row(row, (row_bits){ .part = { { 0 } } });
            ones += pack_row((const uint8_t *)p->b + (ptrdiff_t)kk * p->ldb +
                                 (ptrdiff_t)(g * BLOCK_COLUMNS) * p->b_step,
                             live, p->b_step, row);
        }
    return ones;
}

/* Words [w0, w1) of rows of A and the rows of B that they meet; shared by rows.  after: the first
 * look. */
static void pack_bool(job_bool *j, bool after, size_t w0, size_t w1)
{
    const size_t of_a = (j->p->m + PACK_ROWS - 1) / PACK_ROWS, of_b = (64 * (w1 - w0) + PACK_ROWS - 1) / PACK_ROWS;

    for (size_t t; (t = atomic_fetch_add(&j->pack[after], 1)) < of_a + of_b;) {
        const size_t i = t * PACK_ROWS, kk = 64 * w0 + (t - of_a) * PACK_ROWS;
        if (t < of_a)
            atomic_fetch_add(&j->ones_a[after], pack_bits_of_a(j, i, min_size(i + PACK_ROWS, j->p->m), w0, w1));
        else
            atomic_fetch_add(&j->ones_b[after], pack_bits_of_b(j, kk, min_size(kk + PACK_ROWS, 64 * w1)));
    }
}

/* --- what is full, tables --- */

/* The columns of a block that do not exist. */
static row_bits past(size_t live)
{
    uint64_t x[BLOCK_WORDS];

    for (size_t w = 0; w < BLOCK_WORDS; w++)
        x[w] = live <= 64 * w ? UINT64_MAX : live - 64 * w < 64 ? UINT64_MAX << (live - 64 * w) : 0;
    return load_row(x);
}

/* True if no bit is left open. */
INLINE bool is_full(row_bits x)
{
    bits all = x.part[0];

    for (int v = 1; v < BITS_PARTS; v++) all &= x.part[v];
#if defined(__AVX512F__)
    return _mm512_cmpneq_epi64_mask((__m512i)all, _mm512_set1_epi64(-1)) == 0;
#else
    uint64_t min = all[0];
    for (int i = 1; i < BITS_WORDS; i++) min &= all[i];
    return min == UINT64_MAX;
#endif
}

/* Table of the ORs of all subsets of four rows. */
static void make_table(uint64_t *table, const uint64_t *b)
{
    memset(table, 0, BLOCK_COLUMNS / 8);
    for (int r = 0; r < 4; r++) {
        const row_bits x = load_row(b + r * BLOCK_WORDS);
        for (size_t i = 0; i < (size_t)1 << r; i++)
            store_row(table + (((size_t)1 << r) + i) * BLOCK_WORDS, either(load_row(table + i * BLOCK_WORDS), x));
    }
}

/* The entries that the 16 digits of a word of A name, of its 16 tables. */
INLINE row_bits join_word(const uint64_t *tables, uint64_t word)
{
    row_bits sum[2] = { { .part = { { 0 } } }, { .part = { { 0 } } } };

    UNROLL for (int t = 0; t < WORD_TABLES; t++)
    {
        const size_t digit = (size_t)(word >> 4 * t) & 15;
        sum[t % 2] = either(sum[t % 2], load_row(tables + ((size_t)t * ENTRIES + digit) * BLOCK_WORDS));
    }
    return either(sum[0], sum[1]);
}

/* Likewise of a word whose upper half has no terms. */
INLINE row_bits join_half(const uint64_t *tables, uint64_t word)
{
    row_bits sum = { .part = { { 0 } } };

    for (; word; word >>= 4, tables += ENTRIES * BLOCK_WORDS)
        sum = either(sum, load_row(tables + (word & 15) * BLOCK_WORDS));
    return sum;
}

/* Rows [i0, i0 + rows) of block cb by tables, into rows of acc `across` words apart, of `words` of
 * each row of A; how many of them are not full.  A word has its tables at a time, so that they and
 * the rows under way share a first-level cache. */
static size_t by_tables(const job_bool *j, size_t cb, size_t i0, size_t rows, size_t words, uint64_t *tables,
                        uint64_t *acc, size_t across, uint8_t *done)
{
    const row_bits beyond = past(min_size(BLOCK_COLUMNS, j->p->n - cb * BLOCK_COLUMNS));
    size_t open = rows;

    memset(done, 0, rows);
    for (size_t w = 0; w < words && open > 0; w++) {
        const size_t terms = j->p->k - w * 64;
        const bool half = terms <= 32;
        for (size_t t = 0; t < (half ? (terms + 3) / 4 : WORD_TABLES); t++)
            make_table(tables + t * ENTRIES * BLOCK_WORDS, j->b + (cb * j->k64 + w * 64 + t * 4) * BLOCK_WORDS);
        for (size_t r = 0; r < rows; r++) {
            const uint64_t word = j->a[(i0 + r) * j->a_words + w];
            if (done[r] || !word) continue;
            const row_bits sum = either(load_row(acc + r * across),
                                        half ? join_half(tables, word) : join_word(tables, word));
            store_row(acc + r * across, sum);
            done[r] = is_full(either(sum, beyond));
            open -= done[r];
        }
    }
    return open;
}

/* Likewise by the rows of B that the bits of A name. */
static void by_bits(const job_bool *j, size_t cb, size_t i0, size_t rows, uint64_t *acc, size_t across)
{
    const uint64_t *b = j->b + cb * j->k64 * BLOCK_WORDS;

    for (size_t r = 0; r < rows; r++) {
        const uint64_t *a = j->a + (i0 + r) * j->a_words;
        row_bits sum = load_row(acc + r * across);
        for (size_t w = 0; w < j->a_words; w++)
            for (uint64_t left = a[w]; left; left &= left - 1)
                sum = either(sum, load_row(b + (64 * w + (size_t)__builtin_ctzll(left)) * BLOCK_WORDS));
        store_row(acc + r * across, sum);
    }
}

/* --- bits to bytes --- */

INLINE void bytes_of(uint64_t word, uint8_t out[64])
{
#if defined(__AVX512BW__)
    _mm512_storeu_si512((void *)out, _mm512_maskz_set1_epi8(word, 1));
#else
    for (int i = 0; i < 8; i++) {
        const uint64_t spread = ((word >> (8 * i) & 0xff) * 0x0101010101010101u) & 0x8040201008040201u;
        uint64_t v = ((spread + 0x00406070787c7e7fu) >> 7) & 0x0101010101010101u;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        v = __builtin_bswap64(v);
#endif
        memcpy(out + 8 * i, &v, 8);
    }
#endif
}

static void finish_bool(const cbx_matmul *p, size_t i, size_t col, size_t live, uint8_t *x)
{
    const uint8_t *d = p->d, *m = p->mask;

    for (size_t l = 0; d && l < live; l++) x[l] |= d[(ptrdiff_t)i * p->ldd + (ptrdiff_t)(col + l) * p->d_step] != 0;
    for (size_t l = 0; m && l < live; l++)
        if ((m[(ptrdiff_t)i * p->ldm + (ptrdiff_t)(col + l) * p->m_step] != 0) == p->mask_complement) x[l] = 0;
}

#if defined(__AVX512BW__)
/* The first n elements of a block, one after the other.  A last word that is not whole begins where
 * it ends whole: stores by masks are slow where they cross a line. */
static void unpack_bytes(uint8_t *c, size_t n, const uint64_t *words, bool streams)
{
    const size_t whole = n / 64, left = n % 64;

    for (size_t w = 0; w < whole; w++) {
        const __m512i v = _mm512_maskz_set1_epi8(words[w], 1);
        if (streams && (uintptr_t)(c + 64 * w) % 64 == 0)
            _mm512_stream_si512((void *)(c + 64 * w), v);
        else
            _mm512_storeu_si512((void *)(c + 64 * w), v);
    }
    if (!left) return;
    if (!whole) {
        _mm512_mask_storeu_epi8((void *)c, lanes_of(left), _mm512_maskz_set1_epi8(words[0], 1));
        return;
    }
    uint64_t last = words[whole - 1] >> left | words[whole] << (64 - left);
    _mm512_storeu_si512((void *)(c + n - 64), _mm512_maskz_set1_epi8(last, 1));
}
#endif

/* streams: past the caches, so that lines that are written whole are not read first. */
static void unpack_bool(const cbx_matmul *p, bool streams, size_t i, size_t col0, const uint64_t *words)
{
    uint8_t buffer[64];

    (void)streams;
#if defined(__AVX512BW__)
    if (p->c_step == 1 && !p->d && !p->mask) {
        unpack_bytes((uint8_t *)p->c + (ptrdiff_t)i * p->ldc + (ptrdiff_t)col0, min_size(BLOCK_COLUMNS, p->n - col0),
                     words, streams);
        return;
    }
#endif
    for (size_t w = 0; w < BLOCK_WORDS && col0 + 64 * w < p->n; w++) {
        const size_t col = col0 + 64 * w, live = min_size(64, p->n - col);
        uint8_t *c = (uint8_t *)p->c + (ptrdiff_t)i * p->ldc + (ptrdiff_t)col * p->c_step;
        const bool direct = live == 64 && p->c_step == 1;
        uint8_t *to = direct ? c : buffer;
        bytes_of(words[w], to);
        if (p->d || p->mask) finish_bool(p, i, col, live, to);
        for (size_t l = 0; !direct && l < live; l++) c[(ptrdiff_t)l * p->c_step] = to[l];
    }
}

/* --- the loops --- */

/* The first look goes over the first words of A; by tables, or by the rows of B that bits of A
 * name, is all of it. */
typedef enum way { BY_LOOK, BY_TABLES, BY_BITS } way;

/* The blocks of a group, one after the other, then its rows as bytes, one after the other.  False:
 * the first look has left rows open, and nothing is written. */
static bool task_bool(const job_bool *j, way how, size_t first, size_t i0, size_t rows, char *own)
{
    const cbx_matmul *p = j->p;
    const bool streams = p->m * p->n > STREAMED_BYTES;
    const size_t here = min_size(j->group, j->blocks - first), across = here * BLOCK_WORDS;
    uint64_t *tables = (uint64_t *)(void *)own, *acc = tables + WORD_TABLES * ENTRIES * BLOCK_WORDS;
    uint8_t *done = (uint8_t *)(acc + j->chunk * j->group * BLOCK_WORDS);

    memset(acc, 0, rows * across * sizeof *acc);
    for (size_t g = 0; g < here; g++) {
        if (how == BY_BITS)
            by_bits(j, first + g, i0, rows, acc + g * BLOCK_WORDS, across);
        else if (by_tables(j, first + g, i0, rows, how == BY_LOOK ? LOOK_WORDS : j->a_words, tables,
                           acc + g * BLOCK_WORDS, across, done) > 0 &&
                 how == BY_LOOK)
            return false;
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t g = 0; g < here; g++)
            unpack_bool(p, streams, i0 + r, (first + g) * BLOCK_COLUMNS, acc + r * across + g * BLOCK_WORDS);
    return true;
}

static void tasks_bool(job_bool *j, way how, size_t id)
{
    const size_t down = tasks_down(j);

    for (size_t t; (t = atomic_fetch_add(&j->next[how != BY_LOOK], 1)) < down * j->groups;) {
        const size_t i0 = t % down * j->chunk;
        if (how != BY_LOOK && j->done[t]) continue;
        j->done[t] = task_bool(j, how, t / down * j->group, i0, min_size(j->chunk, j->p->m - i0),
                               j->own + id * j->own_bytes);
        if (how == BY_LOOK && j->done[t]) atomic_fetch_add(&j->finished, 1);
    }
}

/* Whether ones as dense as those that were packed leave less than one element of C open, were they
 * random. */
static bool fills(const job_bool *j, size_t terms)
{
    const double m = (double)j->p->m, n = (double)j->p->n,
                 of_a = (double)atomic_load(&j->ones_a[0]) / (m * (double)terms),
                 of_b = (double)atomic_load(&j->ones_b[0]) / (n * (double)terms);
    return (double)terms * of_a * of_b > log(m * n);
}

/* The first look: true if it was enough. */
static bool look_bool(job_bool *j, size_t id, size_t nt)
{
    pack_bool(j, false, 0, LOOK_WORDS);
    cbx__team_wait(nt);
    if (!fills(j, 64 * LOOK_WORDS)) return false;
    tasks_bool(j, BY_LOOK, id);
    cbx__team_wait(nt);
    return atomic_load(&j->finished) == tasks_down(j) * j->groups;
}

static void work_bool(void *job, size_t id, size_t nt)
{
    job_bool *j = job;
    const size_t looked = j->a_words >= LOOK_MIN ? LOOK_WORDS : 0;

    if (!looked || !look_bool(j, id, nt)) {
        pack_bool(j, true, looked, j->a_words);
        cbx__team_wait(nt);
        const size_t ones = atomic_load(&j->ones_a[0]) + atomic_load(&j->ones_a[1]);
        /* a bit costs about what eight digits do */
        tasks_bool(j, ones < j->p->m * (j->k64 / 64) * 2 ? BY_BITS : BY_TABLES, id);
    }
    STREAMED();
}

/* Matrices a word of bits wide: a row of C is the OR of the words of B that the bits of A name. */
static void run_words(const cbx_matmul *p)
{
    uint64_t b[64], row[BLOCK_WORDS] = { 0 };

    for (size_t kk = 0; kk < p->k; kk++)
        b[kk] = word_of((const uint8_t *)p->b + (ptrdiff_t)kk * p->ldb, p->n, p->b_step);
    for (size_t i = 0; i < p->m; i++) {
        row[0] = 0;
        for (uint64_t left = word_of((const uint8_t *)p->a + (ptrdiff_t)i * p->lda, p->k, p->a_step); left;
             left &= left - 1)
            row[0] |= b[__builtin_ctzll(left)];
        unpack_bool(p, false, i, 0, row);
    }
}

static void run_bool(const cbx__semiring_plan *plan)
{
    if (plan->p->m <= FEW_WORDS && plan->p->k <= 64 && plan->p->n <= 64) {
        run_words(plan->p);
        return;
    }
    if (run_digits(plan)) return;
    job_bool job = layout_bool(plan, plan->p->workspace);

    memset(job.done, 0, tasks_down(&job) * job.groups);
    cbx__team_run(plan->threads, work_bool, &job);
}
