/*
 * A point made ready to measure.  The parent makes the inputs once, so every framework reads the
 * same bytes; a worker gets them as sealed memory files and can change neither its own nor
 * another's.  The answer stays in the parent's memory.
 */
#include "calibrax/perf/launch/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "calibrax/array/io/npy.h"
#include "calibrax/base/json_put.h"
#include "calibrax/base/process.h"
#include "calibrax/base/rng.h"
#include "calibrax/core/owned.h"
#include "calibrax/perf/launch/policy.h"

/* Of one answer by the oracle: every invocation needs the answers to its own held-back inputs,
 * which no cache may hold. */
#define FRESH_QUICK_S   0.25 /* up to here as many as there may be */
#define FRESH_MAX_S     10.0 /* beyond: none, rotations of the point's own must do */
#define FRESH_MAX_BYTES 64e6
#define SEALS           (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static void free_arrays(cbx_array **a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cbx_array_free(a[i]);
        a[i] = NULL;
    }
}

static cbx_status seal_array(cbx_ctx *ctx, const char *name, const cbx_array *a, int *fd, cbx_err *err)
{
    int made = -1;
    if (!a) return cbx_fail(err, CBX_EINTERNAL, "no array was made for input '%s'", name);
    cbx_status st = cbx__memory_file(name, &made, err);
    if (!st) st = cbx_npy_write_fd(ctx, made, a, err);
    if (!st && fcntl(made, F_ADD_SEALS, SEALS) != 0)
        st = cbx_fail_errno(err, errno, "cannot seal the memory file of '%s'", name);
    if (st && made >= 0) close(made);
    if (!st) *fd = made;
    return st;
}

static cbx_status seal_set(cbx_ctx *ctx, cbx_workload *w, size_t set, cbx_array *const *in, cbx_err *err)
{
    cbx_status st = CBX_OK;
    for (size_t i = 0; !st && i < w->c->ninputs; i++)
        st = seal_array(ctx, w->c->input_names[i], in[i], &w->input_fds[set * w->c->ninputs + i], err);
    return st;
}

/* Of each input its description, and the hash of the list of these with the hashes of the elements;
 * then every set, sealed. */
static cbx_status make_inputs(cbx_ctx *ctx, cbx_workload *w, cbx_err *err)
{
    cbx_array *in[CBX_CASE_MAX_ARRAYS] = { 0 }, *turned[CBX_CASE_MAX_ARRAYS] = { 0 };
    char all[CBX_CASE_MAX_ARRAYS * (CBX_HASH_SIZE + 64) + 1];
    size_t len = 0;
    cbx_status st = w->c->make_inputs(ctx, w->point, in, err);
    for (size_t i = 0; !st && i < w->c->ninputs; i++) {
        char one[CBX_HASH_SIZE], desc[64];
        if (!in[i] || !cbx_array_is_contiguous(in[i])) {
            st = cbx_fail(err, CBX_EINTERNAL, "case '%s' made no row-major array for input '%s'", w->c->name,
                          w->c->input_names[i]);
            break;
        }
        w->inputs[i] = *cbx_array_get_desc(in[i]);
        w->set_bytes += (double)cbx_array_bytes(in[i]);
        cbx_hash_bytes(cbx_array_data(in[i]), cbx_array_bytes(in[i]), one);
        cbx_array_desc_text(cbx_array_get_desc(in[i]), desc, sizeof desc);
        int n = snprintf(all + len, sizeof all - len, "%s %s\n", desc, one);
        if (n > 0 && (size_t)n < sizeof all - len) len += (size_t)n;
    }
    if (!st) cbx_hash_bytes(all, len, w->hash);
    if (!st) st = seal_set(ctx, w, 0, in, err);
    for (size_t r = 1; !st && r < w->nsets; r++) {
        st = w->c->rotate_inputs(ctx, w->point, r, in, turned, err);
        if (!st) st = seal_set(ctx, w, r, turned, err);
        free_arrays(turned, w->c->ninputs);
    }
    free_arrays(in, w->c->ninputs);
    return st;
}

/* The answers and bounds of rotation r, of those of the workload. */
static cbx_status rotate_answers(cbx_ctx *ctx, const cbx_workload *w, uint64_t r, cbx_array **answers,
                                 cbx_array **bounds, cbx_err *err)
{
    cbx_status st = CBX_OK;
    for (size_t o = 0; !st && o < w->c->noutputs; o++) {
        st = w->c->rotate_output(ctx, w->point, r, o, w->answers[o], &answers[o], err);
        if (!st) st = w->c->rotate_output(ctx, w->point, r, o, w->bounds[o], &bounds[o], err);
    }
    return st;
}

static cbx_status allocate(cbx_workload *w, const cbx_workload_opts *opts, cbx_err *err)
{
    const cbx_case_ops *c = w->c;
    size_t max_sets = (128 - c->noutputs) / (c->ninputs ? c->ninputs : 1);
    w->nsets = c->rotate_inputs && c->rotate_output ? 1 + opts->rotations : 1;
    if (w->nsets > max_sets)
        return cbx_fail(err, CBX_EINVAL, "%zu rotations are too many for case '%s': at most %zu", opts->rotations,
                        c->name, max_sets - 1);
    w->input_fds = cbx_mem_calloc(&w->al, w->nsets * c->ninputs + 1, sizeof *w->input_fds);
    w->answers = cbx_mem_calloc(&w->al, w->nsets * c->noutputs, sizeof *w->answers);
    w->bounds = cbx_mem_calloc(&w->al, w->nsets * c->noutputs, sizeof *w->bounds);
    if (!w->input_fds || !w->answers || !w->bounds)
        return cbx_fail(err, CBX_ENOMEM, "no memory for a workload of case '%s'", c->name);
    for (size_t i = 0; i < w->nsets * c->ninputs; i++) w->input_fds[i] = -1;
    c->outputs(w->point, w->outputs);
    return CBX_OK;
}

/* --- inputs that nothing was learnt of --- */

static bool same_forms(const cbx_workload *a, const cbx_workload *b)
{
    for (size_t i = 0; i < a->c->ninputs; i++)
        if (!cbx_array_desc_equal(&a->inputs[i], &b->inputs[i])) return false;
    for (size_t i = 0; i < a->c->noutputs; i++)
        if (!cbx_array_desc_equal(&a->outputs[i], &b->outputs[i])) return false;
    return true;
}

/* A seed that no worker can foresee and none knows. */
static cbx_status draw_seed(const cbx_param_def *def, cbx__seeds *seeds, int64_t *seed, cbx_err *err)
{
    uint64_t bits;
    size_t i;
    do {
        if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
            return cbx_fail_errno(err, errno, "the kernel has no random numbers for a seed");
        cbx_rng rng = cbx_rng_make(bits, seeds->n);
        *seed = def->min + (int64_t)cbx_rng_below(&rng, (uint64_t)def->max - (uint64_t)def->min);
        for (i = 0; i < seeds->n && seeds->taken[i] != *seed;) i++;
    } while (i < seeds->n);
    seeds->taken[seeds->n++] = *seed;
    return CBX_OK;
}

/* NULL: the case has no seed, or one of so few values that they would repeat. */
static const cbx_param_def *seed_of(const cbx_case_ops *c, size_t wanted)
{
    for (const cbx_param_def *d = c->params; d < c->params + c->nparams; d++)
        if (!strcmp(d->name, "seed") && d->kind == CBX_PARAM_INT && (uint64_t)d->max - (uint64_t)d->min > 4 * wanted)
            return d;
    return NULL;
}

cbx_status cbx__workload_other(cbx_ctx *ctx, const cbx_workload *w, cbx__seeds *seeds, cbx_workload **out, cbx_err *err)
{
    const cbx_param_def *def = seed_of(w->c, seeds->n > CBX__FRESH_MAX ? seeds->n : CBX__FRESH_MAX);
    const char *text = cbx_params_json(w->point);
    cbx_workload_opts o = w->opts;
    cbx_params *point = NULL;
    CBX_OWNED(cbx_json) *other = NULL;
    int64_t seed = 0;

    *out = NULL;
    if (!def || seeds->n == CBX__SEEDS_MAX) return CBX_OK;
    o.rotations = 0;
    o.cache_dir = NULL;
    o.secret = true;
    CBX_SCOPED(cbx_text, t, cbx_ctx_allocator(ctx));
    cbx_status st = draw_seed(def, seeds, &seed, err);
    if (!st) st = cbx_json_parse(text, strlen(text), "point", &other, err);
    if (!st) {
        cbx_json_set_int(other, "seed", seed);
        cbx_json_write(other, CBX_JSON_COMPACT, &t);
        st = cbx_text_check(&t, err);
    }
    if (!st) st = cbx_case_point(ctx, w->c, cbx_text_str(&t), "seed", &point, err);
    if (!st) st = cbx_workload_create(ctx, w->c, point, &o, out, err);
    if (st) {
        cbx_params_free(point);
        return st;
    }
    (*out)->own_point = point;
    if (same_forms(w, *out)) return CBX_OK;
    cbx_workload_free(*out);
    *out = NULL;
    return CBX_OK;
}

/* Further input sets make a single reading surer; each costs another run of the oracle, and the
 * memory of the inputs.  None if the oracle takes too long, or if shapes depend on the draw. */
static cbx_status make_fresh(cbx_ctx *ctx, cbx_workload *w, cbx_err *err)
{
    const bool few = w->set_bytes > FRESH_MAX_BYTES || w->oracle_s > 4 * FRESH_QUICK_S;
    size_t n = few ? 1 : w->oracle_s > FRESH_QUICK_S ? 2 : CBX__FRESH_MAX;
    if (w->nsets < 2 || w->oracle_s > FRESH_MAX_S) n = 0;
    if (seed_of(w->c, CBX__FRESH_MAX)) w->seeds = (cbx__seeds){ { cbx_params_int(w->point, "seed") }, 1 };
    for (; w->nfresh < n; w->nfresh++) {
        cbx_status st = cbx__workload_other(ctx, w, &w->seeds, &w->fresh[w->nfresh], err);
        if (st || !w->fresh[w->nfresh]) return st;
    }
    return CBX_OK;
}

cbx_status cbx_workload_create(cbx_ctx *ctx, const cbx_case_ops *c, const cbx_params *point,
                               const cbx_workload_opts *opts, cbx_workload **out, cbx_err *err)
{
    static const cbx_workload_opts defaults = CBX_WORKLOAD_OPTS_INIT;
    const cbx_allocator *al = cbx_ctx_allocator(ctx);

    if (!opts) opts = &defaults;
    if (opts->struct_size != sizeof *opts) return cbx_fail(err, CBX_EINVAL, "cbx_workload_opts of another version");
    if (c->ninputs > CBX_CASE_MAX_ARRAYS || c->noutputs > CBX_CASE_MAX_ARRAYS || c->noutputs == 0)
        return cbx_fail(err, CBX_EINVAL, "case '%s' has a number of arrays outside 1..%d", c->name,
                        CBX_CASE_MAX_ARRAYS);
    cbx_workload *w = cbx_mem_zalloc(al, sizeof *w);
    if (!w) return cbx_fail(err, CBX_ENOMEM, "no memory for a workload of case '%s'", c->name);
    w->al = *al;
    w->c = c;
    w->point = point;
    w->opts = *opts;
    cbx_status st = allocate(w, opts, err);
    if (!st) st = make_inputs(ctx, w, err);
    if (!st) st = cbx__oracle_get(ctx, w, opts, err);
    for (size_t r = 1, n = c->noutputs; !st && r < w->nsets; r++)
        st = rotate_answers(ctx, w, r, &w->answers[r * n], &w->bounds[r * n], err);
    if (!st) st = make_fresh(ctx, w, err);
    return CBX_FINISH(st, *out = w, cbx_workload_free(w));
}

void cbx_workload_free(cbx_workload *w)
{
    if (!w) return;
    for (size_t i = 0; i < w->nfresh; i++) cbx_workload_free(w->fresh[i]);
    cbx__oracle_give_back(w);
    size_t inputs = w->nsets * w->c->ninputs, outputs = w->nsets * w->c->noutputs;
    for (size_t i = 0; w->input_fds && i < inputs; i++)
        if (w->input_fds[i] >= 0) close(w->input_fds[i]);
    if (w->answers) free_arrays(w->answers, outputs);
    if (w->bounds) free_arrays(w->bounds, outputs);
    cbx_mem_free(&w->al, w->input_fds, (inputs + 1) * sizeof *w->input_fds);
    cbx_mem_free(&w->al, w->answers, outputs * sizeof *w->answers);
    cbx_mem_free(&w->al, w->bounds, outputs * sizeof *w->bounds);
    cbx_params_free(w->own_point);
    cbx_allocator al = w->al;
    cbx_mem_free(&al, w, sizeof *w);
}

const char *cbx_workload_hash(const cbx_workload *w) { return w->hash; }
bool cbx_workload_oracle_cached(const cbx_workload *w) { return w->oracle_cached; }

static void put_parsed(cbx_json *m, const char *key, const char *text)
{
    cbx_json *o = NULL; /* stays so on a failure, which makes the message fail */
    (void)cbx_json_parse(text, strlen(text), key, &o, NULL);
    cbx_json_set(m, key, o);
}

/* Names of the inputs of sets first .. first + nsets - 1. */
static void put_arrays(const cbx_workload *w, size_t first, size_t nsets, cbx_json *m)
{
    cbx_json *arrays = cbx_json_set_array(m, "arrays");
    for (size_t i = 0; i < nsets * w->c->ninputs; i++) {
        cbx_json_put(cbx_json_push_object(arrays), J_TEXT("name", w->c->input_names[i % w->c->ninputs]),
                     J_INT("set", first + i / w->c->ninputs));
    }
}

/* The message `load`; NULL, or failed: no memory. */
static cbx_json *load_message(const cbx_workload *w, size_t nsets, const cbx_baseline_ops *baseline,
                              const cbx_launch_opts *opts)
{
    const char *definition = baseline ? baseline->definition : w->c->oracle_definition;
    cbx_json *m = cbx_json_object(J_TEXT("op", "load"), J_TEXT("case", w->c->name),
                                  J_GIVEN("baseline", baseline ? baseline->name : NULL));
    put_parsed(m, "point", cbx_params_json(w->point));
    if (definition) put_parsed(m, "definition", definition);
    if (opts) {
        const char *precision = opts->precision ? opts->precision : "full";
        cbx_json_put(
            m, J_TEXT("platform", opts->platform), J_INT("threads", opts->threads),
            J_INT("heap_pad", opts->heap_pad_bytes),
            J_JSON("policy", cbx__policy_json(baseline->provider, opts->platform, opts->threads, precision, false)));
        if (opts->cold) cbx_json_set_int(m, "flush_bytes", (int64_t)opts->flush_bytes);
    }
    put_arrays(w, 0, nsets, m);
    cbx_json_put(m, J_TEXTS("outputs", w->c->output_names, w->c->noutputs));
    return m;
}

static cbx_status reopen(int fd, size_t i, int *out, cbx_err *err)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    *out = open(path, O_RDONLY | O_CLOEXEC);
    return *out >= 0 ? CBX_OK : cbx_fail_errno(err, errno, "cannot open the memory file of input %zu again", i);
}

/* --- the set that is held back --- */

cbx_status cbx__held_make(cbx_ctx *ctx, const cbx_workload *w, uint64_t r, size_t set, cbx__held *out, cbx_err *err)
{
    cbx__held h = { .set = set, .message = cbx_json_object(J_TEXT("op", "inputs"), J_INT("set", set)) };
    cbx_array *in[CBX_CASE_MAX_ARRAYS] = { 0 }, *turned[CBX_CASE_MAX_ARRAYS] = { 0 };
    put_arrays(w, set, 1, h.message);
    cbx_status st = cbx_json_check(h.message, err);
    for (size_t i = 0; !st && i < w->c->ninputs; i++) st = cbx_npy_map_fd(ctx, w->input_fds[i], &in[i], err);
    if (!st) st = w->c->rotate_inputs(ctx, w->point, r, in, turned, err);
    for (size_t i = 0; !st && i < w->c->ninputs; i++) {
        int fd = -1;
        st = seal_array(ctx, w->c->input_names[i], turned[i], &fd, err);
        if (!st) st = reopen(fd, i, &h.fds[i], err);
        if (fd >= 0) close(fd);
        h.nfds += !st;
    }
    free_arrays(turned, w->c->ninputs);
    free_arrays(in, w->c->ninputs);
    if (!st) st = rotate_answers(ctx, w, r, h.answers, h.bounds, err);
    return CBX_FINISH(st, *out = h, cbx__held_clear(&h));
}

void cbx__held_clear(cbx__held *h)
{
    for (size_t i = 0; i < h->nfds; i++) close(h->fds[i]);
    cbx_json_unref(h->message);
    free_arrays(h->answers, CBX_CASE_MAX_ARRAYS);
    free_arrays(h->bounds, CBX_CASE_MAX_ARRAYS);
    memset(h, 0, sizeof *h);
}

cbx_status cbx__load_make(const cbx_workload *w, size_t nsets, const cbx_baseline_ops *baseline,
                          const cbx_launch_opts *opts, const int *output_fds, size_t noutput_fds, cbx__load *out,
                          cbx_err *err)
{
    *out = (cbx__load){ .message = load_message(w, nsets, baseline, opts) };
    cbx_status st = cbx_json_check(out->message, err);
    for (size_t i = 0; !st && i < nsets * w->c->ninputs; i++) {
        st = reopen(w->input_fds[i], i, &out->fds[i], err);
        out->ninputs += !st;
    }
    if (st) {
        cbx__load_clear(out);
        return st;
    }
    memcpy(out->fds + out->ninputs, output_fds, noutput_fds * sizeof *output_fds);
    out->nfds = out->ninputs + noutput_fds;
    return CBX_OK;
}

void cbx__load_clear(cbx__load *load)
{
    for (size_t i = 0; i < load->ninputs; i++) close(load->fds[i]);
    cbx_json_unref(load->message);
    memset(load, 0, sizeof *load);
}
