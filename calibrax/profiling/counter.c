/*
 * Events.  Intel: FP_ARITH_INST_RETIRED (0xC7), Broadwell and later (Intel SDM volume 3, chapter on
 * performance monitoring events); its unit masks add up, so masks of the same number of lanes share
 * a counter.  AMD family 17h and later: RETIRED_SSE_AVX_FLOPS (0x03), which counts operations (AMD
 * PPR of the families, PMCx003).  PAPI's presets are made of the same.
 */
#include "calibrax/profiling/counter.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calibrax/base/library.h"

/* name, symbol, result, arguments: the part of PAPI that is used here. */
#define PAPI_CALLS(X)                                                                                                  \
    X(init, "PAPI_library_init", int, (int version))                                                                   \
    X(create, "PAPI_create_eventset", int, (int *set))                                                                 \
    X(add, "PAPI_add_named_event", int, (int set, const char *event))                                                  \
    X(start, "PAPI_start", int, (int set))                                                                             \
    X(read, "PAPI_read", int, (int set, long long *values))                                                            \
    X(stop, "PAPI_stop", int, (int set, long long *values))                                                            \
    X(cleanup, "PAPI_cleanup_eventset", int, (int set))                                                                \
    X(destroy, "PAPI_destroy_eventset", int, (int *set))                                                               \
    X(words, "PAPI_strerror", char *, (int fault))

typedef struct papi {
    PAPI_CALLS(CBX_CALL_MEMBER)
} papi;

struct cbx__counter {
    cbx_allocator al;
    char words[96];
    cbx_library *library; /* NULL: the kernel's */
    papi p;
    int set;
    size_t nevents;
    struct {
        int fd;
        double flop;
    } event[CBX__COUNTER_MAX_EVENTS];
};

/* --- PAPI --- */

/* The library expects the version of its header, major and minor. */
static bool start_papi(const papi *p)
{
    static const int versions[] = { 0x07000000, 0x07010000, 0x07020000, 0x06000000 };

    for (size_t i = 0; i < CBX_LEN(versions); i++)
        if (p->init(versions[i]) == versions[i]) return true;
    return false;
}

/* The machine's own library is started once a process: each start leaks a kilobyte in it. */
static bool start_own_papi(const papi *p)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static enum { UNKNOWN, STARTED, REFUSED } state;

    pthread_mutex_lock(&lock);
    if (state == UNKNOWN) state = start_papi(p) ? STARTED : REFUSED;
    bool started = state == STARTED;
    pthread_mutex_unlock(&lock);
    return started;
}

static int add_all(cbx__counter *c, const char *const *events, size_t n)
{
    c->set = -1;
    int fault = c->p.create(&c->set);
    for (size_t i = 0; i < n && !fault; i++) fault = c->p.add(c->set, events[i]);
    if (!fault) fault = c->p.start(c->set);
    if (fault && c->set != -1) {
        c->p.cleanup(c->set);
        c->p.destroy(&c->set);
    }
    return fault;
}

static cbx_status open_papi(cbx_ctx *ctx, const char *path, cbx__counter *c, cbx_err *err)
{
    static const char *const both[] = { "PAPI_DP_OPS", "PAPI_SP_OPS" }, *const one[] = { "PAPI_FP_OPS" };
    static const char *const names[] = { PAPI_CALLS(CBX_CALL_NAME) };
    cbx_status st = cbx_library_open_calls(ctx, CBX_LIBRARY_PAPI, path, names, CBX_LEN(names), &c->p, &c->library, err);

    if (st) return st;
    if (!(path ? start_papi(&c->p) : start_own_papi(&c->p)))
        return cbx_fail(err, CBX_EUNAVAILABLE, "'%s' is of an unknown version, or cannot start",
                        cbx_library_name(c->library));
    c->nevents = 2;
    int fault = add_all(c, both, 2);
    if (fault) {
        c->nevents = 1;
        fault = add_all(c, one, 1);
    }
    if (fault)
        return cbx_fail(err, CBX_EUNAVAILABLE, "PAPI does not count floating-point operations on this machine (%s)",
                        c->p.words(fault) ? c->p.words(fault) : "no reason given");
    snprintf(c->words, sizeof c->words, "%s", c->nevents == 2 ? "PAPI_DP_OPS + PAPI_SP_OPS" : "PAPI_FP_OPS");
    return CBX_OK;
}

/* --- the kernel --- */

size_t cbx__counter_events(const cbx_machine *m, cbx__counter_event out[CBX__COUNTER_MAX_EVENTS], cbx_err *why)
{
    static const cbx__counter_event intel[] = {
        { 0x03c7, 1 }, { 0x04c7, 2 }, { 0x18c7, 4 }, { 0x60c7, 8 }, { 0x80c7, 16 }
    };
    static const int without[] = { 0x3c, 0x3f, 0x45, 0x46, 0xbe, 0xaf, 0xb6, 0xdd }; /* Haswell, small cores */
    bool counts = true;
    size_t n = 0;

    for (size_t i = 0; i < CBX_LEN(without); i++) counts = counts && m->model != without[i];
    if (strcmp(m->vendor, "GenuineIntel") == 0 && m->family == 6 && cbx_machine_has(m, "fma") && counts) {
        n = cbx_machine_has(m, "avx512f") ? 5 : 4;
        memcpy(out, intel, n * sizeof *out);
    } else if (strcmp(m->vendor, "AuthenticAMD") == 0 && m->family >= 0x17) {
        bool first = m->family == 0x17 &&
                     m->model < 0x30; /* a bit for each type and operation, then for each operation */
        out[n++] = (cbx__counter_event){ first ? 0xff03 : 0x0f03, 1 };
    } else {
        cbx_fail(why, CBX_EUNAVAILABLE, "'%s' has no known counter of floating-point operations",
                 m->model_name[0] ? m->model_name : m->vendor);
    }
    return n;
}

static int open_event(uint64_t config)
{
    struct perf_event_attr a = { .size = sizeof a, .type = PERF_TYPE_RAW, .config = config };

    a.exclude_kernel = 1;
    a.exclude_hv = 1;
    a.inherit = 1;
    a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    long fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

static const char *remedy(int fault)
{
    if (fault == EACCES || fault == EPERM) return ": set /proc/sys/kernel/perf_event_paranoid to 2 or less";
    if (fault == ENOENT || fault == EOPNOTSUPP || fault == EINVAL) return ": virtual machines seldom have any";
    return "";
}

static cbx_status open_perf(cbx_ctx *ctx, const cbx__counter_opts *o, cbx__counter *c, cbx_err *err)
{
    cbx__counter_event events[CBX__COUNTER_MAX_EVENTS];
    cbx_machine own;
    const cbx_machine *m = o->machine ? o->machine : &own;

    if (!o->machine && cbx_machine_read(ctx, NULL, &own, err)) return CBX_EUNAVAILABLE;
    size_t n = cbx__counter_events(m, events, err);
    if (!n) return CBX_EUNAVAILABLE;
    for (c->nevents = 0; c->nevents < n; c->nevents++) {
        int fd = o->open ? o->open(events[c->nevents].config) : open_event(events[c->nevents].config);
        if (fd < 0)
            return cbx_fail(err, CBX_EUNAVAILABLE, "the kernel does not open a counter (%s)%s", strerror(-fd),
                            remedy(-fd));
        c->event[c->nevents].fd = fd;
        c->event[c->nevents].flop = events[c->nevents].flop;
    }
    snprintf(c->words, sizeof c->words, "%s", n == 1 ? "RETIRED_SSE_AVX_FLOPS" : "FP_ARITH_INST_RETIRED by lanes");
    return CBX_OK;
}

/* --- both --- */

const char *cbx__counter_source(const cbx__counter *c) { return c->library ? "papi" : "perf_event"; }
const char *cbx__counter_words(const cbx__counter *c) { return c->words; }

cbx_status cbx__counter_read(cbx__counter *c, double *flop, cbx_err *err)
{
    long long values[2] = { 0 };
    double sum = 0;

    if (c->library) {
        int fault = c->p.read(c->set, values);
        if (fault) return cbx_fail(err, CBX_EIO, "PAPI cannot read its counters: %s", c->p.words(fault));
        *flop = (double)values[0] + (double)values[1];
        return CBX_OK;
    }
    for (size_t i = 0; i < c->nevents; i++) {
        uint64_t v[3] = { 0 }; /* count, time enabled, time running */
        if (read(c->event[i].fd, v, sizeof v) != (ssize_t)sizeof v)
            return cbx_fail(err, CBX_EIO, "cannot read a counter: %s", strerror(errno));
        /* a counter that shared its place ran for a part of the time: its count is scaled to all
         * of it */
        double share = v[2] && v[2] < v[1] ? (double)v[1] / (double)v[2] : 1;
        sum += (double)v[0] * share * c->event[i].flop;
    }
    *flop = sum;
    return CBX_OK;
}

void cbx__counter_close(cbx__counter *c)
{
    long long values[2];

    if (!c) return;
    if (c->library && c->set != -1) {
        c->p.stop(c->set, values);
        c->p.cleanup(c->set);
        c->p.destroy(&c->set);
    }
    for (size_t i = 0; i < c->nevents && !c->library; i++) close(c->event[i].fd);
    cbx_library_close(c->library);
    cbx_mem_free(&c->al, c, sizeof *c);
}

cbx_status cbx__counter_open(cbx_ctx *ctx, const cbx__counter_opts *opts, cbx__counter **out, cbx_err *err)
{
    static const cbx__counter_opts none = { 0 };
    const cbx__counter_opts *o = opts ? opts : &none;
    cbx__counter *c = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *c);
    cbx_err papi_err = CBX_ERR_INIT, perf_err = CBX_ERR_INIT;
    cbx_status st = CBX_EUNAVAILABLE;

    if (!c) return cbx_fail_nomem(err, "a counter");
    c->al = *cbx_ctx_allocator(ctx);
    c->set = -1;
    if (!o->no_papi) st = open_papi(ctx, o->papi, c, &papi_err);
    if (st) {
        cbx_library_close(c->library);
        c->library = NULL;
        c->nevents = 0;
        if (st != CBX_ENOMEM && !o->no_perf) st = open_perf(ctx, o, c, &perf_err);
    }
    if (!st) {
        *out = c;
        return CBX_OK;
    }
    cbx__counter_close(c);
    return cbx_fail(err, st, "%s%s%s", papi_err.message, papi_err.message[0] && perf_err.message[0] ? "; " : "",
                    perf_err.message);
}
