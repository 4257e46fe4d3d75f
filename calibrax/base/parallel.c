/* The place of a result depends on its piece only, so results do not depend on the number of
 * threads. */
#include "calibrax/base/parallel.h"

#include <pthread.h>
#include <sched.h>

enum { MAX_WORKERS = 64 };

size_t cbx__workers(size_t asked, size_t pieces)
{
    cpu_set_t cpus;

    if (asked == 0) asked = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? (size_t)CPU_COUNT(&cpus) : 1;
    if (asked > MAX_WORKERS) asked = MAX_WORKERS;
    if (asked > pieces) asked = pieces;
    return asked ? asked : 1;
}

typedef struct share {
    cbx__piece_fn fn;
    void *user;
    size_t worker, begin, end;
} share;

static void *run_share(void *arg)
{
    const share *s = arg;
    s->fn(s->user, s->worker, s->begin, s->end);
    return NULL;
}

void cbx__parallel(size_t workers, size_t pieces, cbx__piece_fn fn, void *user)
{
    pthread_t threads[MAX_WORKERS];
    share shares[MAX_WORKERS];
    size_t started = 1;

    for (size_t w = 0; w < workers; w++)
        shares[w] = (share){ fn, user, w, pieces / workers * w + (w < pieces % workers ? w : pieces % workers),
                             pieces / workers * (w + 1) + (w + 1 < pieces % workers ? w + 1 : pieces % workers) };
    while (started < workers && pthread_create(&threads[started], NULL, run_share, &shares[started]) == 0) started++;
    run_share(&shares[0]);
    for (size_t w = started; w < workers; w++) run_share(&shares[w]);
    for (size_t w = 1; w < started; w++) pthread_join(threads[w], NULL);
}
