/* Counters of the boundary: atomic numbers that contexts share by reference. */
#include "calibrax/array/io/counters.h"

#include <stdatomic.h>

#include "calibrax/array/io/boundary.h"
#include "calibrax/array/state.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/ctx_part.h"

typedef struct numbers {
    _Atomic uint64_t count, bytes, time_ns, failures;
} numbers;

struct cbx_io_counters {
    cbx_allocator al;
    atomic_size_t refs;
    numbers of[CBX_IO_FORMAT_COUNT][2];
};

cbx_status cbx_io_counters_create(cbx_ctx *ctx, cbx_io_counters **out, cbx_err *err)
{
    cbx_io_counters *c = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof(*c));

    if (!c) return cbx_fail(err, CBX_ENOMEM, "no memory to count what goes in and out");
    c->al = *cbx_ctx_allocator(ctx);
    atomic_init(&c->refs, 1);
    *out = c;
    return CBX_OK;
}

void cbx_io_counters_free(cbx_io_counters *c)
{
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
    cbx_allocator al = c->al;
    cbx_mem_free(&al, c, sizeof(*c));
}

cbx_status cbx_ctx_count_io(cbx_ctx *ctx, cbx_io_counters *c, cbx_err *err)
{
    cbx__state *s = cbx__state_get(ctx);

    if (!s) return cbx_fail(err, CBX_ENOMEM, "no memory to count what goes in and out");
    if (c) atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    cbx_io_counters_free(s->counters);
    s->counters = c;
    return CBX_OK;
}

static uint64_t read_number(const _Atomic uint64_t *n) { return atomic_load_explicit(n, memory_order_relaxed); }

void cbx_io_counters_get(const cbx_io_counters *c, cbx_io_format format, cbx_io_direction direction, cbx_io_stats *out)
{
    *out = (cbx_io_stats){ 0 };
    if ((unsigned)format >= CBX_IO_FORMAT_COUNT || (unsigned)direction > CBX_IO_OUT) return;
    const numbers *n = &c->of[format][direction];
    out->count = read_number(&n->count);
    out->bytes = read_number(&n->bytes);
    out->time_ns = read_number(&n->time_ns);
    out->failures = read_number(&n->failures);
    out->mean_ms = out->count ? (double)out->time_ns / 1e6 / (double)out->count : 0;
}

void cbx_io_counters_reset(cbx_io_counters *c)
{
    for (int format = 0; format < CBX_IO_FORMAT_COUNT; format++)
        for (int direction = 0; direction < 2; direction++) {
            numbers *n = &c->of[format][direction];
            atomic_store_explicit(&n->count, 0, memory_order_relaxed);
            atomic_store_explicit(&n->bytes, 0, memory_order_relaxed);
            atomic_store_explicit(&n->time_ns, 0, memory_order_relaxed);
            atomic_store_explicit(&n->failures, 0, memory_order_relaxed);
        }
}

const char *cbx_io_format_name(cbx_io_format format)
{
    static const char *const names[] = { "npy", "npz", "dlpack", "hdf5", "image" };

    return (unsigned)format < CBX_LEN(names) ? names[format] : "?";
}

/* --- inside the library --- */

cbx__io_call cbx__io_begin(cbx_ctx *ctx)
{
    const cbx__state *s = cbx__ctx_get_part(ctx)->state;
    cbx__io_call call = { s ? s->counters : NULL, 0 };

    if (call.counters) call.start_ns = cbx_clock_ns();
    return call;
}

static void add(_Atomic uint64_t *n, uint64_t by) { atomic_fetch_add_explicit(n, by, memory_order_relaxed); }

cbx_status cbx__io_end(cbx__io_call call, cbx_io_format format, cbx_io_direction direction, size_t count,
                       uint64_t bytes, cbx_status st)
{
    numbers *n = call.counters ? &call.counters->of[format][direction] : NULL;

    if (!n) return st;
    add(&n->time_ns, cbx_clock_ns() - call.start_ns);
    add(&n->count, st ? 0 : count);
    add(&n->bytes, st ? 0 : bytes);
    add(&n->failures, st ? 1 : 0);
    return st;
}

cbx_status cbx__io_came_in(cbx__io_call call, cbx_io_format format, cbx_status st, cbx_array *const *out)
{
    return cbx__io_end(call, format, CBX_IO_IN, 1, st ? 0 : cbx_array_bytes(*out), st);
}

cbx_status cbx__io_went_out(cbx__io_call call, cbx_io_format format, cbx_status st, const cbx_array *a)
{
    return cbx__io_end(call, format, CBX_IO_OUT, 1, st ? 0 : cbx_array_bytes(a), st);
}
