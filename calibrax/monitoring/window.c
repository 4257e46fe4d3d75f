/* A ring of the last values, and a scratch array of the same size for sorting. */
#include "calibrax/monitoring/window.h"

#include <math.h>

#include "calibrax/base/idioms.h"
#include "calibrax/base/together.h"
#include "calibrax/statistics/estimate.h"

typedef struct entry {
    double value; /* NaN: a failure without one */
    uint64_t time_ns : 63, failed : 1;
} entry;

struct cbx_window {
    cbx_arena arena;
    size_t capacity, count, next;
    uint64_t age_ns;
    entry *ring;
    double *scratch;
};

cbx_status cbx_window_create(cbx_ctx *ctx, size_t capacity, uint64_t age_ns, cbx_window **out, cbx_err *err)
{
    if (capacity < 1 || capacity > CBX_WINDOW_MAX)
        return cbx_fail(err, CBX_EINVAL, "a window must have 1 to %d values, got %zu", CBX_WINDOW_MAX, capacity);
    cbx_window *w = CBX_ARENA_OBJECT(cbx_window, cbx_ctx_allocator(ctx));
    if (!w) return cbx_fail_nomem(err, "a window");
    w->capacity = capacity;
    w->age_ns = age_ns;
    bool good = cbx_arena_arrays(&w->arena, CBX_ARRAY(w->ring, capacity), CBX_ARRAY(w->scratch, capacity));
    cbx_status st = good ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "no memory for a window of %zu values", capacity);
    return CBX_FINISH(st, *out = w, cbx_window_free(w));
}

void cbx_window_free(cbx_window *w)
{
    if (w) cbx_arena_end(&w->arena);
}

void cbx_window_add(cbx_window *w, double value, bool failed, uint64_t now_ns)
{
    w->ring[w->next] = (entry){ value, now_ns, failed || !isfinite(value) };
    w->next = (w->next + 1) % w->capacity;
    if (w->count < w->capacity) w->count++;
}

/* i-th newest. */
static const entry *back(const cbx_window *w, size_t i)
{
    return &w->ring[(w->next + w->capacity - 1 - i) % w->capacity];
}

static bool in_age(const cbx_window *w, const entry *e, uint64_t now_ns)
{
    return w->age_ns == 0 || e->time_ns >= now_ns || now_ns - e->time_ns <= w->age_ns;
}

void cbx_window_read(cbx_window *w, uint64_t now_ns, cbx_window_facts *out)
{
    size_t n = 0;
    double sum = 0;

    *out = (cbx_window_facts){ 0, 0, NAN, NAN, NAN, NAN, NAN, NAN };
    for (size_t i = 0; i < w->count; i++) {
        const entry *e = back(w, i);
        if (!in_age(w, e, now_ns)) continue;
        if (out->count++ == 0) out->last = e->value;
        out->failures += e->failed;
        if (!e->failed) w->scratch[n++] = e->value;
    }
    if (out->count) out->failure_rate = (double)out->failures / (double)out->count;
    if (n == 0) return;
    cbx_stat_sort(w->scratch, n);
    for (size_t i = 0; i < n; i++) sum += w->scratch[i] / (double)n;
    out->mean = sum;
    out->min = w->scratch[0];
    out->max = w->scratch[n - 1];
    out->p95 = cbx_stat_quantile_sorted(w->scratch, n, 0.95);
}

size_t cbx_window_values(const cbx_window *w, uint64_t now_ns, double *out, size_t capacity)
{
    size_t n = 0;

    for (size_t i = w->count; i-- > 0 && n < capacity;) {
        const entry *e = back(w, i);
        if (!e->failed && in_age(w, e, now_ns)) out[n++] = e->value;
    }
    return n;
}
