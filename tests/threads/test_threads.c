/*
 * What may be done from several threads at a time, done from several threads at a time.
 * ThreadSanitizer watches in the build kind "tsan"; elsewhere the answers are what is checked.
 *
 * A thread counts what went wrong and the test's own thread judges: cmocka's checks may not leave
 * another thread.
 */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/array/device/device.h"
#include "calibrax/array/ops.h"
#include "calibrax/array/scope.h"
#include "calibrax/base/pool.h"
#include "calibrax/base/settings.h"
#include "fail_alloc.h"

enum { THREADS = 8, ROUNDS = 40, SHARED = 16, LENGTH = 3000 };

typedef struct shared {
    pthread_barrier_t start;
    cbx_pool *pool;
    cbx_array *array[SHARED];
    _Atomic(cbx_array *) slot[SHARED];
    cbx_devices *devices;
    const char *driver;
    atomic_size_t wrong, next;
} shared;

typedef struct task {
    shared *s;
    size_t number;
    void (*body)(struct task *t, cbx_ctx *ctx);
} task;

static void *run_task(void *arg)
{
    task *t = arg;
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;

    pthread_barrier_wait(&t->s->start);
    if (cbx_ctx_create(NULL, &ctx, &err))
        t->s->wrong++;
    else
        t->body(t, ctx);
    cbx_ctx_free(ctx);
    return NULL;
}

static void hammer(shared *s, void (*body)(task *t, cbx_ctx *ctx), const char *why)
{
    pthread_t threads[THREADS];
    task tasks[THREADS];

    pthread_barrier_init(&s->start, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++) {
        tasks[i] = (task){ s, i, body };
        CHECK_INT(pthread_create(&threads[i], NULL, run_task, &tasks[i]), 0, "a thread");
    }
    for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&s->start);
    CHECK_INT(s->wrong, 0, why);
}

/* The value of a scalar float64; NaN if anything went wrong. */
static double value(cbx_ctx *ctx, cbx_scope *scope, cbx_array *a)
{
    double v = 0;
    cbx_array *kept = a;
    (void)ctx;
    if (cbx_scope_close_keep(scope, 1, &kept, NULL)) return 0.0 / 0.0;
    v = *(const double *)cbx_array_data(kept);
    cbx_array_free(kept);
    return v;
}

/* --- a context a thread --- */

static void compute_alone(task *t, cbx_ctx *ctx)
{
    for (size_t i = 0; i < ROUNDS; i++) {
        cbx_scope scope;
        cbx_scope_open(ctx, &scope);
        cbx_array *x = cbx_arange(ctx, 0, (double)LENGTH, 1, CBX_F64);
        cbx_array *y = cbx_multiply_scalar(ctx, x, (double)(t->number + 1));
        double wanted = (double)(t->number + 1) * LENGTH * (LENGTH - 1) / 2;
        t->s->wrong += value(ctx, &scope, cbx_sum(ctx, y, NULL)) != wanted;
    }
}

TEST(contexts_run_side_by_side)
{
    shared s = { 0 };
    hammer(&s, compute_alone, "each thread computes its own sum");
}

/* --- arrays in other threads' hands --- */

static void use_and_drop(task *t, cbx_ctx *ctx)
{
    for (size_t i = 0; i < SHARED; i++) {
        cbx_scope scope;
        cbx_array *a = t->s->array[(i + t->number) % SHARED];
        cbx_array *mine = cbx_array_ref(a);
        cbx_scope_open(ctx, &scope);
        double got = value(ctx, &scope, cbx_sum(ctx, cbx_add(ctx, mine, a), NULL));
        t->s->wrong += got != 2.0 * LENGTH;
        cbx_array_free(mine);
    }
    for (size_t i = 0; i < SHARED; i++) cbx_array_free(t->s->array[i]); /* the reference that is this thread's */
}

TEST(arrays_die_anywhere)
{
    shared s = { 0 };
    cbx_test_alloc alloc;
    cbx_test_alloc_init(&alloc);
    cbx_ctx *ctx = cbx_test_ctx(&alloc);
    cbx_err err = CBX_ERR_INIT;
    const size_t shape[] = { LENGTH };
    for (size_t i = 0; i < SHARED; i++) {
        cbx_scope scope;
        cbx_scope_open(ctx, &scope);
        s.array[i] = cbx_ones(ctx, 1, shape, CBX_F64);
        CHECK_OK(cbx_scope_close_keep(&scope, 1, &s.array[i], &err), &err, "an array");
        for (size_t k = 1; k < THREADS; k++) cbx_array_ref(s.array[i]);
    }
    cbx_ctx_free(ctx); /* its arrays live on, and their blocks come back to a pool that has closed */
    hammer(&s, use_and_drop, "each sum is right while others drop");
    cbx_test_alloc_check(&alloc, "the last one out frees");
}

/* Results go from the thread that makes them to one that frees them, while their pool is in use. */
static void pass_on(task *t, cbx_ctx *ctx)
{
    for (size_t i = 0; i < ROUNDS; i++) {
        const size_t shape[] = { LENGTH };
        cbx_scope scope;
        cbx_array *a, *old;
        cbx_scope_open(ctx, &scope);
        a = cbx_ones(ctx, 1, shape, CBX_F64);
        if (cbx_scope_close_keep(&scope, 1, &a, NULL)) {
            t->s->wrong++;
            continue;
        }
        old = atomic_exchange(&t->s->slot[t->s->next++ % SHARED], a);
        cbx_array_free(old);
    }
}

TEST(results_are_passed_on)
{
    shared s = { 0 };
    hammer(&s, pass_on, "every array was made");
    for (size_t i = 0; i < SHARED; i++) cbx_array_free(s.slot[i]);
}

/* --- one pool --- */

static void take_and_give(task *t, cbx_ctx *ctx)
{
    (void)ctx;
    for (size_t i = 0; i < ROUNDS; i++) {
        cbx_block b[4];
        for (size_t k = 0; k < CBX_LEN(b); k++) {
            t->s->wrong += cbx_pool_get(t->s->pool, 1000 << (2 * k), &b[k], NULL) != CBX_OK;
            memset(b[k].data, (int)t->number, 1000);
        }
        for (size_t k = 0; k < CBX_LEN(b); k++) {
            const unsigned char *bytes = b[k].data;
            for (size_t n = 0; n < 1000; n++) t->s->wrong += bytes[n] != t->number;
            cbx_pool_put(t->s->pool, b[k]);
        }
        if (i % 8 == t->number) cbx_pool_trim(t->s->pool);
    }
}

TEST(a_pool_serves_all)
{
    cbx_ctx *ctx = cbx_test_context();
    shared s = { .pool = cbx_pool_ref(cbx_ctx_pool(ctx)) };
    cbx_pool_stats stats;
    hammer(&s, take_and_give, "no block is handed out twice");
    cbx_pool_get_stats(s.pool, &stats);
    CHECK_INT(stats.bytes_in_use, 0, "all came back");
    CHECK_INT(stats.requests, THREADS * ROUNDS * 4, "all were counted");
    cbx_pool_unref(s.pool);
    cbx_ctx_free(ctx);
}

/* --- devices --- */

static void read_devices(task *t, cbx_ctx *ctx)
{
    cbx_device_config wish = { CBX_DEVICE_CUDA, true, 0.5 };
    const cbx_devices *seen = NULL;
    for (size_t i = 0; i < ROUNDS; i++) {
        cbx_device_choice c;
        cbx_device_memory m;
        t->s->wrong += cbx_ctx_set_devices(ctx, t->s->devices, NULL) != CBX_OK;
        t->s->wrong += cbx_ctx_devices(ctx, &seen, NULL) != CBX_OK || seen != t->s->devices;
        t->s->wrong += cbx_devices_choose(seen, &wish, &c, NULL) != CBX_OK || c.device != cbx_devices_at(seen, 1);
        t->s->wrong += cbx_devices_memory(ctx, seen, c.device, &m, NULL) != CBX_OK || m.available_bytes != 12ull << 30;
        t->s->wrong += cbx_devices_topology(seen)->threads < 1;
    }
    cbx_devices_free(t->s->devices); /* the reference that is this thread's */
}

static cbx_devices *probe(cbx_ctx *ctx, const char *driver, const char *hwloc)
{
    cbx_devices_opts o = CBX_DEVICES_OPTS_INIT;
    cbx_devices *d = NULL;
    o.cuda_driver = driver;
    o.hwloc = hwloc;
    return cbx_devices_probe(ctx, &o, &d, NULL) ? NULL : d;
}

static const char *fake_driver(void)
{
    static char path[4096];
    const char *root = getenv("CALIBRAX_BUILD_ROOT");
    snprintf(path, sizeof path, "%s/tests/array/device/libfake_cuda.so", root ? root : "build/release");
    return path;
}

TEST(devices_are_shared)
{
    cbx_ctx *ctx = cbx_test_context();
    shared s = { .devices = probe(ctx, fake_driver(), "") };
    CHECK(s.devices && cbx_devices_count(s.devices) == 3, "two GPUs");
    for (size_t k = 1; k < THREADS; k++) cbx_devices_ref(s.devices);
    cbx_ctx_free(ctx);
    hammer(&s, read_devices, "all see the same");
}

static void probe_again(task *t, cbx_ctx *ctx)
{
    for (size_t i = 0; i < 5; i++) {
        cbx_devices *d = probe(ctx, t->s->driver, t->number % 2 ? NULL : "");
        t->s->wrong += !d || cbx_devices_count(d) != 3;
        cbx_devices_free(d);
    }
}

TEST(everyone_may_look)
{
    shared s = { .driver = fake_driver() };
    hammer(&s, probe_again, "everyone finds what is there");
}

TESTS()
