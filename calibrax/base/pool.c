/*
 * Block pool.
 *
 * Size classes: four an octave (1, 1.25, 1.5, 1.75 times a power of two), so a block is at most 25
 * % larger than asked for. Below 2 MiB a class is a multiple of 64 bytes and its memory comes from
 * the allocator; from 2 MiB on it is a multiple of 2 MiB, mapped on such a boundary with
 * MADV_HUGEPAGE, so that one fault brings 512 pages. Kept blocks hold their own list node in their
 * last bytes (they are unused memory); the one given back last is handed out first, being warm in
 * the caches, and the one kept longest goes first when the limit is passed. Built with
 * AddressSanitizer a kept block is poisoned but for its node: using it after giving it back is
 * reported.
 */
#include "calibrax/base/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>

#include "calibrax/base/poison.h"
#include "calibrax/base/pool_internal.h"

#define ALIGNMENT ((size_t)64)
#define HUGE      ((size_t)2 << 20)
#define LARGEST   (SIZE_MAX / 4)
#define NCLASSES  256 /* 4 * 64 octaves */

typedef struct kept_node {
    TAILQ_ENTRY(kept_node) same, all; /* of its class; of all classes; the one kept last is first */
    void *data;
    size_t capacity;
} kept_node;
typedef TAILQ_HEAD(kept_list, kept_node) kept_list;
_Static_assert(sizeof(kept_node) <= ALIGNMENT, "the smallest block holds a node");

struct cbx_pool {
    cbx_allocator al;
    atomic_size_t refs;
    pthread_mutex_t lock;
    size_t keep_bytes;
    kept_list same[NCLASSES], all;
    cbx_pool_stats stats;
};

static unsigned log2_floor(size_t n) { return 63u - (unsigned)__builtin_clzll(n); }

static size_t round_up(size_t n, size_t step) { return (n + step - 1) / step * step; }

size_t cbx__pool_class(size_t size)
{
    if (size > LARGEST) return 0;
    if (size <= 4 * ALIGNMENT) return round_up(size ? size : 1, ALIGNMENT);
    size_t capacity = round_up(size, (size_t)1 << (log2_floor(size - 1) - 2));
    return capacity < HUGE ? capacity : round_up(capacity, HUGE);
}

/* The octave and the two bits behind the leading one: different for every class. */
static unsigned class_index(size_t capacity)
{
    unsigned octave = log2_floor(capacity);
    return 4 * octave + (unsigned)((capacity >> (octave - 2)) & 3);
}

static void *huge_map(size_t capacity)
{
    size_t span = capacity + HUGE;
    char *p = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    char *start = (char *)round_up((size_t)p, HUGE);
    if (start > p) munmap(p, (size_t)(start - p));
    if (p + span > start + capacity) munmap(start + capacity, (size_t)(p + span - (start + capacity)));
    madvise(start, capacity, MADV_HUGEPAGE); /* advice: a kernel without it still serves */
    return start;
}

/* Below 2 MiB: the allocator aligns for 16 bytes, so the distance to its pointer fits before the
 * block. */
static void *small_alloc(cbx_pool *pool, size_t capacity)
{
    char *raw = cbx_mem_alloc(&pool->al, capacity + ALIGNMENT);
    if (!raw) return NULL;
    char *data = (char *)(((size_t)raw + ALIGNMENT) / ALIGNMENT * ALIGNMENT);
    size_t distance = (size_t)(data - raw);
    memcpy(data - sizeof distance, &distance, sizeof distance);
    return data;
}

static void block_release(cbx_pool *pool, void *data, size_t capacity)
{
    size_t distance;
    if (capacity >= HUGE) {
        munmap(data, capacity);
        return;
    }
    memcpy(&distance, (char *)data - sizeof distance, sizeof distance);
    cbx_mem_free(&pool->al, (char *)data - distance, capacity + ALIGNMENT);
}

/* Takes a block out of both lists; its bytes are the caller's again. */
static void *kept_take(cbx_pool *pool, kept_node *node)
{
    TAILQ_REMOVE(&pool->same[class_index(node->capacity)], node, same);
    TAILQ_REMOVE(&pool->all, node, all);
    pool->stats.bytes_kept -= node->capacity;
    CBX__UNPOISON(node->data, node->capacity);
    return node->data;
}

/* Frees the blocks kept longest until at most `limit` bytes are kept. */
static void kept_shrink(cbx_pool *pool, size_t limit)
{
    while (pool->stats.bytes_kept > limit && !TAILQ_EMPTY(&pool->all)) {
        kept_node *node = TAILQ_LAST(&pool->all, kept_list);
        size_t capacity = node->capacity;
        block_release(pool, kept_take(pool, node), capacity);
    }
}

cbx_status cbx__pool_create(const cbx_allocator *al, size_t keep_bytes, cbx_pool **out, cbx_err *err)
{
    cbx_pool *pool = cbx_mem_zalloc(al, sizeof *pool);
    if (!pool) return cbx_fail_nomem(err, "a block pool");
    pool->al = *al;
    pool->keep_bytes = keep_bytes;
    TAILQ_INIT(&pool->all);
    for (size_t i = 0; i < NCLASSES; i++) TAILQ_INIT(&pool->same[i]);
    atomic_init(&pool->refs, 1);
    pthread_mutex_init(&pool->lock, NULL);
    *out = pool;
    return CBX_OK;
}

void cbx__pool_close(cbx_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->keep_bytes = 0;
    kept_shrink(pool, 0);
    pthread_mutex_unlock(&pool->lock);
}

cbx_pool *cbx_pool_ref(cbx_pool *pool)
{
    atomic_fetch_add_explicit(&pool->refs, 1, memory_order_relaxed);
    return pool;
}

void cbx_pool_unref(cbx_pool *pool)
{
    if (!pool || atomic_fetch_sub_explicit(&pool->refs, 1, memory_order_acq_rel) != 1) return;
    kept_shrink(pool, 0);
    pthread_mutex_destroy(&pool->lock);
    cbx_mem_free(&pool->al, pool, sizeof *pool);
}

cbx_status cbx_pool_get(cbx_pool *pool, size_t size, cbx_block *out, cbx_err *err)
{
    if (size == 0) {
        *out = (cbx_block){ NULL, 0 };
        return CBX_OK;
    }
    size_t capacity = cbx__pool_class(size);
    if (capacity == 0) return cbx_fail(err, CBX_ENOMEM, "a block of %zu bytes is larger than the address space", size);
    pthread_mutex_lock(&pool->lock);
    kept_node *kept = TAILQ_FIRST(&pool->same[class_index(capacity)]);
    void *data = kept ? kept_take(pool, kept) : capacity >= HUGE ? huge_map(capacity) : small_alloc(pool, capacity);
    if (data) {
        cbx_pool_stats *s = &pool->stats;
        s->requests++;
        s->reused += kept != NULL;
        s->bytes_in_use += capacity;
        if (s->bytes_in_use > s->bytes_in_use_peak) s->bytes_in_use_peak = s->bytes_in_use;
    }
    pthread_mutex_unlock(&pool->lock);
    if (!data) return cbx_fail_nomem(err, "a block of bytes");
    *out = (cbx_block){ data, capacity };
    return CBX_OK;
}

void cbx_pool_put(cbx_pool *pool, cbx_block block)
{
    if (!block.data) return;
    pthread_mutex_lock(&pool->lock);
    pool->stats.bytes_in_use -= block.capacity;
    if (block.capacity > pool->keep_bytes) {
        block_release(pool, block.data, block.capacity);
    } else {
        kept_node *node = (kept_node *)(void *)((char *)block.data + block.capacity - sizeof *node);
        node->data = block.data;
        node->capacity = block.capacity;
        TAILQ_INSERT_HEAD(&pool->same[class_index(block.capacity)], node, same);
        TAILQ_INSERT_HEAD(&pool->all, node, all);
        pool->stats.bytes_kept += block.capacity;
        CBX__POISON(block.data, block.capacity - sizeof *node);
        kept_shrink(pool, pool->keep_bytes);
    }
    pthread_mutex_unlock(&pool->lock);
}

void cbx_pool_trim(cbx_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    kept_shrink(pool, 0);
    pthread_mutex_unlock(&pool->lock);
}

void cbx_pool_get_stats(cbx_pool *pool, cbx_pool_stats *out)
{
    pthread_mutex_lock(&pool->lock);
    *out = pool->stats;
    pthread_mutex_unlock(&pool->lock);
}
