/* A thread that calls a function at a set rate. */
#include "calibrax/profiling/ticker.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "calibrax/base/clock.h"

/* Until a time or until the thread is to stop, which it returns. */
static bool sleep_until(cbx__ticker *k, uint64_t then_ns)
{
    struct timespec t = { (time_t)(then_ns / 1000000000u), (long)(then_ns % 1000000000u) };

    pthread_mutex_lock(&k->lock);
    while (!k->stopping && pthread_cond_timedwait(&k->wake, &k->lock, &t) != ETIMEDOUT) {}
    bool stop = k->stopping;
    pthread_mutex_unlock(&k->lock);
    return stop;
}

static void *run(void *ticker)
{
    cbx__ticker *k = ticker;
    uint64_t next = k->first_ns + k->step_ns, now;
    bool alive = true, stop = false;
    struct timespec t;

    while (!stop) {
        stop = sleep_until(k, next);
        if (alive) alive = k->sample(k->user);
        now = cbx_clock_ns();
        if (!stop && alive && now > next + k->step_ns / 2) k->late++;
        for (next += k->step_ns; next <= now; next += k->step_ns) k->late += alive;
        if (!alive) next = now + 1000000000u;
    }
    k->cpu_s = clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) ? NAN : (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    return NULL;
}

cbx_status cbx__ticker_start(cbx__ticker *k, uint64_t first_ns, double interval_s, bool (*sample)(void *), void *user,
                             cbx_err *err)
{
    pthread_condattr_t attr;

    *k = (cbx__ticker){ .sample = sample, .user = user, .first_ns = first_ns, .step_ns = (uint64_t)(1e9 * interval_s) };
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&k->lock, NULL);
    pthread_cond_init(&k->wake, &attr);
    pthread_condattr_destroy(&attr);
    int fault = pthread_create(&k->thread, NULL, run, k);
    if (!fault) return CBX_OK;
    pthread_cond_destroy(&k->wake);
    pthread_mutex_destroy(&k->lock);
    return cbx_fail(err, CBX_EIO, "cannot start the sampling thread: %s", strerror(fault));
}

void cbx__ticker_stop(cbx__ticker *k)
{
    pthread_mutex_lock(&k->lock);
    k->stopping = true;
    pthread_cond_signal(&k->wake);
    pthread_mutex_unlock(&k->lock);
    pthread_join(k->thread, NULL);
    pthread_cond_destroy(&k->wake);
    pthread_mutex_destroy(&k->lock);
}

void *cbx__thinned_place(cbx__thinned *t)
{
    char *rows = t->rows;

    if (t->offered++ % t->stride) return NULL;
    if (t->n == t->capacity) {
        for (size_t i = 1; 2 * i < t->n; i++) memcpy(rows + i * t->size, rows + 2 * i * t->size, t->size);
        t->n = (t->n + 1) / 2;
        t->stride *= 2;
        if ((t->offered - 1) % t->stride) return NULL;
    }
    return rows + t->n++ * t->size;
}
