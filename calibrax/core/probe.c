/*
 * The machine probe.  Pipe rates and bandwidths are the roofs of the roofline: Williams, Waterman &
 * Patterson, Commun. ACM 52 (2009) 65-76; the cache-aware form, a roof per level: Ilic, Pratas &
 * Sousa, IEEE Comput. Archit. Lett. 13 (2014) 21-24.
 *
 * A roof is the best the machine does, so each rate is the best of many short slices.  The slices
 * of all rates take turns, a fraction of a millisecond each: a neighbour who takes the core away
 * for a while spoils some slices of every rate and not all slices of one.
 *
 * Memory is measured on a window whose lines were sent out of every cache first: virtual machines
 * show a last-level cache that they share with strangers, larger than any buffer one could fill in
 * the time.  Where a program may not flush, the window is larger.
 */
#include "calibrax/core/probe.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/pool.h"
#include "calibrax/core/machine.h"
#include "calibrax/core/probe_internal.h"

#define SLICE_NS       150000u    /* of a pipe or a level */
#define BUDGET_NS      160000000u /* no new turn after that ... */
#define MIN_TURNS      4          /* ... but for these */
#define MAX_TURNS      12
#define FITTING_TURNS  3 /* before them, until slices have their length: 64^3 is enough for any rate */
#define WINDOW_FLUSHED ((size_t)8 << 20)
#define WINDOW_LARGE   ((size_t)64 << 20)
#define NEAR_MAX       ((size_t)16 << 20)
#define STAGGER        1344 /* [bytes] between arrays, so that they do not begin at the same place of a page */

const char *cbx_pipe_name(cbx_pipe p)
{
    static const char *const names[CBX_PIPE_COUNT] = {
#define NAME(name, words) words,
        CBX_PIPE_MAP(NAME)
#undef NAME
    };
    return (unsigned)p < CBX_PIPE_COUNT ? names[p] : "?";
}

static const struct {
    const char *type, *unit;
} narrow_words[CBX_NARROW_COUNT] = {
#define WORDS(name, type, unit) { type, unit },
    CBX_NARROW_MAP(WORDS)
#undef WORDS
};

const char *cbx_narrow_type(cbx_narrow n) { return (unsigned)n < CBX_NARROW_COUNT ? narrow_words[n].type : "?"; }

const char *cbx_narrow_unit(cbx_narrow n) { return (unsigned)n < CBX_NARROW_COUNT ? narrow_words[n].unit : "?"; }

typedef enum task_kind { TASK_PIPE, TASK_READ, TASK_COPY, TASK_TRIAD, TASK_STREAM, TASK_KINDS } task_kind;

typedef struct task {
    task_kind kind;
    void (*pipe)(uint64_t rounds);
    size_t n;       /* doubles in each array of a bandwidth task */
    bool cold;      /* flushed before each slice */
    uint64_t turns; /* rounds or passes of a slice */
    double work;    /* operations or bytes of one round or pass */
    double *best;   /* [work/s] */
} task;

/* Arrays of a kind, and the bytes that an element of each adds to the traffic we count. */
static const struct {
    unsigned arrays, bytes;
} shape_of[TASK_KINDS] = {
    [TASK_READ] = { 1, 8 }, [TASK_COPY] = { 2, 16 }, [TASK_TRIAD] = { 3, 24 }, [TASK_STREAM] = { 3, 24 }
};

typedef struct bench {
    const cbx__probe_loops *loops;
    char *window; /* memory's working set */
    size_t window_bytes;
    char *near; /* the caches' working sets, which begin at the same place and which no flush touches */
    size_t near_bytes;
    task tasks[CBX_PIPE_COUNT * 2 + CBX_NARROW_COUNT + CBX_PROBE_MAX_LEVELS * 4];
    size_t ntasks;
} bench;

static const cbx__probe_loops *choose_loops(void)
{
#if defined(__x86_64__)
    const char *isa = cbx_machine_isa();
    if (strcmp(isa, cbx__probe_loops_avx512.name) == 0) return &cbx__probe_loops_avx512;
    if (strcmp(isa, cbx__probe_loops_avx2.name) == 0) return &cbx__probe_loops_avx2;
#endif
    return &cbx__probe_loops_plain;
}

static void run_task(const bench *b, const task *t, uint64_t turns)
{
    size_t step = t->n * sizeof(double) + STAGGER;
    char *base = t->cold ? b->window : b->near;
    double *p0 = (double *)base, *p1 = (double *)(base + step), *p2 = (double *)(base + 2 * step);

    switch (t->kind) {
    case TASK_PIPE: t->pipe(turns); break;
    case TASK_READ: b->loops->read(p0, t->n, turns); break;
    case TASK_COPY: b->loops->copy(p0, p1, t->n, turns); break;
    case TASK_TRIAD: b->loops->triad(p0, p1, p2, t->n, turns); break;
    case TASK_STREAM: b->loops->triad_stream(p0, p1, p2, t->n, turns); break;
    case TASK_KINDS: break;
    }
}

static uint64_t time_task(const bench *b, const task *t, uint64_t turns)
{
    uint64_t begin;

    if (t->cold && b->loops->flush) b->loops->flush(b->window, b->window_bytes);
    if (t->kind != TASK_PIPE && !t->cold) run_task(b, t, 2); /* into its level */
    begin = cbx_clock_ns();
    run_task(b, t, turns);
    uint64_t ns = cbx_clock_ns() - begin;
    return ns ? ns : 1;
}

/* One slice.  A short one was fitted while the core was busy: it counts, and the next one is
 * longer. */
static void take_slice(const bench *b, task *t)
{
    uint64_t ns = time_task(b, t, t->turns);
    double rate = t->work * (double)t->turns * 1e9 / (double)ns;

    if (rate > *t->best) *t->best = rate;
    if (!t->cold && ns < SLICE_NS / 4 * 3)
        t->turns = (uint64_t)((double)t->turns * fmin(SLICE_NS / (double)ns, 64)) + 1;
}

static void take_turns(bench *b, uint64_t begin)
{
    for (int turn = -FITTING_TURNS; turn < MAX_TURNS; turn++) {
        if (turn >= MIN_TURNS && cbx_clock_ns() - begin > BUDGET_NS) break;
        for (size_t i = 0; i < b->ntasks; i++)
            if (turn >= 0 || !b->tasks[i].cold) take_slice(b, &b->tasks[i]);
    }
}

/* @param set  [bytes] all arrays of a task together, at most */
static void add_level(bench *b, cbx_probe *out, const char *name, size_t bytes, size_t set)
{
    cbx_level_rate *l = &out->level[out->nlevels++];
    double *best[TASK_KINDS] = {
        [TASK_READ] = &l->read_bytes_per_s,
        [TASK_COPY] = &l->copy_bytes_per_s,
        [TASK_TRIAD] = &l->triad_bytes_per_s,
        [TASK_STREAM] = &l->triad_stream_bytes_per_s,
    };

    snprintf(l->name, sizeof(l->name), "%s", name);
    l->bytes = bytes;
    if (bytes > 0 && set > b->near_bytes) b->near_bytes = set;
    for (task_kind k = TASK_READ; k < TASK_KINDS; k++) {
        size_t each = (set - 2 * STAGGER) / shape_of[k].arrays / sizeof(double);
        task t = {
            .kind = k, .cold = bytes == 0, .turns = 1, .n = each / CBX__PROBE_STEP * CBX__PROBE_STEP, .best = best[k]
        };
        t.work = (double)(t.n * shape_of[k].bytes);
        b->tasks[b->ntasks++] = t;
    }
}

/* Half of the cache, and not more than four times the level below it; where that is too little to
 * leave that level, more. */
static size_t working_set(size_t bytes, size_t below)
{
    size_t set = bytes / 2;

    if (below > 0 && set > 4 * below) set = 4 * below;
    if (set < 2 * below) set = below + (bytes - below) / 2;
    return set < NEAR_MAX ? set : NEAR_MAX;
}

cbx_status cbx_probe_measure(cbx_ctx *ctx, cbx_probe *out, cbx_err *err)
{
    uint64_t begin = cbx_clock_ns();
    bench b = { .loops = choose_loops() };
    cbx_block block = { 0 };
    cbx_machine machine = { .ncaches = 0 };
    cbx_probe p = { .nlevels = 0 };

    /* without it the sizes of caches come from the C library */
    cbx_status st = cbx_machine_read(ctx, NULL, &machine, NULL);
    if (st == CBX_ENOMEM) return cbx_fail(err, st, "no memory to read the machine's caches");
    snprintf(p.instruction_set, sizeof(p.instruction_set), "%s", b.loops->name);
    b.window_bytes = b.loops->flush ? WINDOW_FLUSHED : WINDOW_LARGE;
    for (int i = 0; i < CBX_PIPE_COUNT; i++)
        for (int row = 0; row < 2; row++)
            b.tasks[b.ntasks++] = (task){ .kind = TASK_PIPE,
                                          .pipe = b.loops->pipe[i][row],
                                          .turns = 64,
                                          .work = b.loops->ops_per_round[row],
                                          .best = &p.pipe_ops_per_s[i][row] };
    for (int n = 0; n < CBX_NARROW_COUNT; n++) {
        cbx__narrow_loop loop = cbx__narrow_find((cbx_narrow)n);
        cbx_narrow_rate *r = &p.narrow[n];
        *r = (cbx_narrow_rate){ .ops_per_s = 0 };
        snprintf(r->by, sizeof r->by, "%s", loop.by ? loop.by : "");
        snprintf(r->why, sizeof r->why, "%s", loop.by ? "" : loop.why);
        if (loop.by)
            b.tasks[b.ntasks++] = (task){
                .kind = TASK_PIPE, .pipe = loop.run, .turns = 64, .work = loop.ops_per_round, .best = &r->ops_per_s
            };
    }
    size_t below = 0;
    for (int level = 1; level < CBX_PROBE_MAX_LEVELS; level++) {
        static const int names[] = { _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE,
                                     _SC_LEVEL4_CACHE_SIZE };
        uint64_t known = cbx_machine_cache_bytes(&machine, level);
        long guess = known ? 0 : sysconf(names[level - 1]);
        size_t bytes = known ? (size_t)known : guess > 0 ? (size_t)guess : 0;
        char name[8];
        if (bytes < 8192 || bytes <= below + below / 4) continue;
        snprintf(name, sizeof(name), "L%d", level);
        add_level(&b, &p, name, bytes, working_set(bytes, below));
        below = bytes;
    }
    add_level(&b, &p, "memory", 0, b.window_bytes);
    st = cbx_pool_get(cbx_ctx_pool(ctx), b.window_bytes + b.near_bytes, &block, err);
    if (st) return st;
    memset(block.data, 0, b.window_bytes + b.near_bytes);
    b.window = block.data;
    b.near = b.window + b.window_bytes;
    take_turns(&b, begin);
    cbx_pool_put(cbx_ctx_pool(ctx), block);
    p.measured_us = cbx_time_now_us();
    *out = p;
    return CBX_OK;
}

/* --- a node --- */

/* Memory whose pages lie on a node; NULL and errno: the kernel does not do so.  (<numaif.h> belongs
 * to libnuma.) */
static void *map_on_node(int node, size_t bytes)
{
    enum { BIND = 2, BITS = 8 * sizeof(unsigned long) };
    unsigned long mask[1024 / BITS] = { 0 };

    if (node < 0 || (size_t)node >= 1024) {
        errno = EINVAL;
        return NULL;
    }
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    mask[node / BITS] = 1ul << node % BITS;
    if (syscall(SYS_mbind, p, bytes, BIND, mask, 1024ul, 0u) == 0) return p;
    munmap(p, bytes);
    return NULL;
}

cbx_status cbx_probe_measure_node(cbx_ctx *ctx, int node, cbx_level_rate *out, cbx_err *err)
{
    bench b = { .loops = choose_loops() };
    cbx_probe p = { .nlevels = 0 };

    (void)ctx;
    b.window_bytes = b.loops->flush ? WINDOW_FLUSHED : WINDOW_LARGE;
    b.window = map_on_node(node, b.window_bytes);
    if (!b.window) {
        int why = errno;
        return cbx_fail(err, why == ENOMEM ? CBX_ENOMEM : CBX_EUNAVAILABLE, "no memory on NUMA node %d: %s", node,
                        strerror(why));
    }
    memset(b.window, 0, b.window_bytes);
    add_level(&b, &p, "memory", 0, b.window_bytes);
    take_turns(&b, cbx_clock_ns());
    munmap(b.window, b.window_bytes);
    snprintf(p.level[0].name, sizeof p.level[0].name, "node %d", node % 100);
    *out = p.level[0];
    return CBX_OK;
}

static double best_rate(const cbx_level_rate *l) { return fmax(l->read_bytes_per_s, l->copy_bytes_per_s); }

double cbx_probe_bound_seconds(const cbx_probe *p, cbx_pipe pipe, bool is_f64, double ops, double bytes,
                               double working_set_bytes)
{
    double rate = (unsigned)pipe < CBX_PIPE_COUNT ? p->pipe_ops_per_s[pipe][is_f64] : 0, moved = 0, bound = 0;

    if (pipe == CBX_PIPE_ADD_MAX) rate = fmax(rate, p->pipe_ops_per_s[CBX_PIPE_FMA_MAX][is_f64]);
    for (int i = 0; i < p->nlevels; i++) {
        const cbx_level_rate *l = &p->level[i];
        moved = best_rate(l);
        if (l->bytes > 0 && (double)l->bytes >= working_set_bytes) break;
    }
    if (rate > 0 && ops > 0) bound = ops / rate;
    if (moved > 0 && bytes > 0) bound = fmax(bound, bytes / moved);
    return bound;
}

double cbx_probe_min_seconds(const cbx_probe *p, double bytes, double working_set_bytes)
{
    double served = 0, seconds = 0, last = 0;

    for (int i = 0; i < p->nlevels && served < 1; i++) {
        const cbx_level_rate *l = &p->level[i];
        double upto = l->bytes > 0 ? fmin(1, (double)l->bytes / working_set_bytes) : 1;
        if (!(best_rate(l) > 0) || upto <= served) continue;
        last = best_rate(l);
        seconds += (upto - served) * bytes / last;
        served = upto;
    }
    return last > 0 ? seconds + (1 - served) * bytes / last : 0;
}
