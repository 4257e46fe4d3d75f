/*
 * The LLVM emitter: compiled code by content, in this process and on disk.
 *
 * Equal kernels have one piece of code however often they are compiled: the code is counted, and
 * its memory goes with the last one that uses it.  It is found by a key that holds all that an
 * object depends on, which is also the key of the cache on disk.  LLVM cannot be interrupted within
 * an object: of many or large kernels several objects are made, between which a context may stop.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "calibrax/array/jit/cache.h"
#include "calibrax/array/jit/llvm.h"
#include "calibrax/array/jit/machine_code.h"
#include "calibrax/array/state.h"
#include "calibrax/base/build_id.h"
#include "calibrax/base/ctx.h"
#include "calibrax/base/hash.h"
#include "calibrax/base/hash_table.h"
#include "calibrax/base/text.h"

#define BUCKETS     256
#define NAME_SIZE   (CBX_HASH_SIZE + 16)
#define OBJECT_WORK 2048 /* instructions, functions counted as 20, behind which an object ends */

/* Code in memory.  It belongs to the process: contexts that share it come and go. */
typedef struct shared {
    struct shared *next; /* in its bucket */
    size_t bucket, users;
    char *key;
    size_t key_len;
    cbx__machine_code code;
    bool from_cache;
} shared;

typedef struct handle {
    cbx__code code;
    cbx_allocator al;
    size_t size, nparts;
    shared **parts; /* objects */
} handle;

static shared *buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for buckets; taken before LLVM's */

/* ---- keys ---- */

static void put(cbx_text *t, const void *bytes, size_t n) { cbx_text_add(t, bytes, n); }
static void put_number(cbx_text *t, uint64_t v) { put(t, &v, sizeof v); }

static void put_instruction(cbx_text *t, const cbx__kinstr *x)
{
    put_number(t, (uint64_t)x->op << 32 | (uint64_t)x->dtype << 16 | x->prim);
    put_number(t, (uint64_t)x->a << 32 | x->b);
    put_number(t, x->c);
    put_number(t, x->bits);
}

void cbx__llvm_put_kernel(cbx_text *t, const cbx__kernel *k)
{
    put_number(t, k->nout);
    put_number(t, k->streams.n);
    for (size_t s = 0; s < k->streams.n; s++) {
        const cbx__kstream *x = &k->streams.items[s];
        put_number(t, (uint64_t)x->beside << 24 | (uint64_t)x->dtype << 16 | (uint64_t)x->kind << 8 |
                          (uint64_t)x->final << 1 | x->nontemporal);
        put_number(t, s < k->nout ? x->value : 0);
    }
    put_number(t, (uint64_t)k->carries.n << 1 | k->single);
    for (size_t c = 0; c < k->carries.n; c++)
        put_number(t, (uint64_t)k->carries.items[c].first << 32 | k->carries.items[c].next);
    put_number(t, k->instr.n);
    for (size_t i = 0; i < k->instr.n; i++) {
        const cbx__kinstr *x = &k->instr.items[i];
        const cbx__kformula *f = cbx__formula_of(x);
        put_instruction(t, x);
        put_number(t, f ? f->n : 0);
        for (uint32_t j = 0; f && j < f->n; j++) put_instruction(t, &f->instr[j]);
    }
}

/*
 * The CPU as its instructions describe it, so that code which exists is found without LLVM, whose
 * loading takes longer than the rest of a program's start.  Asked once: a virtual machine takes
 * microseconds to answer.
 */
static uint32_t cpu[20];
static pthread_once_t cpu_known = PTHREAD_ONCE_INIT;

static void describe_cpu(void)
{
#if defined(__x86_64__)
    static const unsigned leaves[][2] = { { 1, 0 }, { 7, 0 }, { 7, 1 }, { 0x80000001, 0 } };

    for (size_t i = 0; i < CBX_LEN(leaves); i++) {
        uint32_t *r = cpu + 4 * i;
        __get_cpuid_count(leaves[i][0], leaves[i][1], &r[0], &r[1], &r[2], &r[3]);
    }
    cpu[1] = 0; /* which core this is */
    if (cpu[2] & bit_OSXSAVE) __asm__ volatile("xgetbv" : "=a"(cpu[16]), "=d"(cpu[17]) : "c"(0));
#else
    const uint64_t sets[2] = { getauxval(AT_HWCAP), getauxval(AT_HWCAP2) };
    memcpy(cpu, sets, sizeof sets);
#endif
}

/* All that an object depends on: the code of this library, too, since other code makes other
 * objects of a kernel. */
static cbx_status make_key(cbx_isa isa, size_t n, const cbx__kernel *const *kernels, cbx_text *t, cbx_err *err)
{
    cbx_text_printf(t, "object of %s, LLVM 19, %s", cbx__build_id(), cbx_isa_name(isa));
    pthread_once(&cpu_known, describe_cpu);
    put(t, cpu, sizeof cpu);
    put_number(t, n);
    for (size_t i = 0; i < n; i++) cbx__llvm_put_kernel(t, kernels[i]);
    return cbx_text_check(t, err);
}

/* The symbol that an object with this key has. */
static const char *symbol_name(char buf[NAME_SIZE], const char *key, size_t key_len)
{
    char hash[CBX_HASH_SIZE];

    cbx_hash_bytes(key, key_len, hash);
    snprintf(buf, NAME_SIZE, "cbx_code_%s", hash);
    return buf;
}

/* ---- objects ---- */

cbx_status cbx__llvm_image(cbx_ctx *ctx, cbx__llvm_machine machine, cbx_isa isa, const char *symbol, size_t n,
                           const cbx__kernel *const *kernels, int kind, cbx_text *out, cbx_err *err)
{
    const cbx__llvm_target *target = NULL;
    LLVMContextRef context = NULL;
    LLVMModuleRef module = NULL;
    LLVMMemoryBufferRef image = NULL;
    cbx__llvm *l = NULL;
    cbx_status st = cbx__llvm_enter(ctx, &l, err);

    if (st) return st;
    st = machine == CBX__LLVM_HOST ? cbx__llvm_target_get(l, isa, &target, err)
                                   : cbx__llvm_target_other(ctx, l, machine, &target, err);
    if (!st) st = cbx__llvm_module(ctx, l, target, symbol, n, kernels, &context, &module, err);
    if (!st && kind == LLVM_MODULE_TEXT) {
        char *all = l->c.PrintModuleToString(module);
        cbx_text_puts(out, all);
        l->c.DisposeMessage(all);
    } else if (!st) {
        st = cbx__llvm_emit(l, target, module, kind, &image, err);
    }
    if (image) {
        cbx_text_add(out, l->c.GetBufferStart(image), l->c.GetBufferSize(image));
        l->c.DisposeMemoryBuffer(image);
    }
    if (module) {
        l->c.DisposeModule(module);
        l->c.ContextDispose(context);
    }
    cbx__llvm_leave();
    return st ? st : cbx_text_check(out, err);
}

static cbx_status compile_object(cbx_ctx *ctx, cbx_isa isa, const char *symbol, size_t n,
                                 const cbx__kernel *const *kernels, const cbx_text *key, cbx__machine_code *out,
                                 cbx_err *err)
{
    cbx_text object;
    cbx_status st;

    cbx_text_init(&object, cbx_ctx_allocator(ctx));
    st = cbx__llvm_image(ctx, CBX__LLVM_HOST, isa, symbol, n, kernels, LLVM_OBJECT_FILE, &object, err);
    if (!st) st = cbx__jit_cache_store(ctx, key->data, key->len, object.data, object.len, err);
    if (!st) st = cbx__machine_code_load(object.data, object.len, symbol, cbx__llvm_address, out, err);
    cbx_text_clear(&object);
    return st;
}

/* Code from the disk, or compiled now. */
static cbx_status get_code(cbx_ctx *ctx, cbx_isa isa, const char *symbol, const cbx_text *key, size_t n,
                           const cbx__kernel *const *kernels, cbx__machine_code *out, bool *from_cache, cbx_err *err)
{
    char *data = NULL;
    size_t len = 0;
    cbx_status st = cbx__jit_cache_load(ctx, key->data, key->len, from_cache, &data, &len, err);

    if (st) return st;
    if (*from_cache) {
        st = cbx__machine_code_load(data, len, symbol, cbx__llvm_address, out, err);
        cbx_mem_free(cbx_ctx_allocator(ctx), data, len);
        if (st != CBX_EFORMAT) return st;
        *from_cache = false; /* as one that is damaged */
    }
    return compile_object(ctx, isa, symbol, n, kernels, key, out, err);
}

/* ---- code that is shared ---- */

static shared *find_shared(size_t bucket, const cbx_text *key)
{
    shared *s = buckets[bucket];

    while (s && (s->key_len != key->len || memcmp(s->key, key->data, key->len) != 0)) s = s->next;
    return s;
}

static cbx_status make_shared(cbx_ctx *ctx, cbx_isa isa, const char *symbol, size_t bucket, const cbx_text *key,
                              size_t n, const cbx__kernel *const *kernels, shared **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_allocator_default();
    shared *s = cbx_mem_zalloc(al, sizeof *s);
    cbx_status st;

    if (s) s->key = cbx_mem_alloc(al, key->len);
    if (!s || !s->key) {
        cbx_mem_free(al, s, sizeof *s);
        return cbx_fail_nomem(err, "compiled code");
    }
    memcpy(s->key, key->data, key->len);
    s->key_len = key->len;
    s->bucket = bucket;
    st = get_code(ctx, isa, symbol, key, n, kernels, &s->code, &s->from_cache, err);
    if (st) {
        cbx_mem_free(al, s->key, s->key_len);
        cbx_mem_free(al, s, sizeof *s);
        return st;
    }
    s->next = buckets[bucket];
    buckets[bucket] = s;
    *out = s;
    return CBX_OK;
}

static void release_part(shared *s)
{
    const cbx_allocator *ours = cbx_allocator_default();
    shared **at = &buckets[s->bucket];

    pthread_mutex_lock(&lock);
    if (--s->users == 0) {
        while (*at != s) at = &(*at)->next;
        *at = s->next;
        cbx__machine_code_unload(&s->code);
        cbx_mem_free(ours, s->key, s->key_len);
        cbx_mem_free(ours, s, sizeof *s);
    }
    pthread_mutex_unlock(&lock);
}

static void release(cbx__code *code)
{
    handle *h = (handle *)code;
    const cbx_allocator al = h->al;

    for (size_t i = 0; i < h->nparts; i++) release_part(h->parts[i]);
    cbx_mem_free(&al, h, h->size);
}

/* ---- the emitter ---- */

static handle *create_handle(cbx_ctx *ctx, size_t n)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const size_t size = sizeof(handle) + n * (sizeof(shared *) + sizeof(cbx__kernel_fn) + sizeof(void *));
    handle *h = cbx_mem_zalloc(al, size);

    if (!h) return NULL;
    h->al = *al;
    h->size = size;
    h->code.n = n;
    h->code.release = release;
    h->code.from_cache = n > 0;
    h->parts = (shared **)(h + 1);
    h->code.self = (const void **)(h->parts + n);
    h->code.fn = (cbx__kernel_fn *)(h->code.self + n);
    return h;
}

/* The kernels of the next object. */
static size_t object_length(size_t n, const cbx__kernel *const *kernels)
{
    size_t length = 0;
    for (uint64_t work = 0; length < n && work < OBJECT_WORK; length++) work += cbx__kernel_work(kernels[length]);
    return length;
}

static cbx_status check_stop(cbx_ctx *ctx, cbx_err *err)
{
    const cbx__state *s = cbx__state_peek(ctx);
    return s && s->stop && *s->stop ? cbx_fail(err, CBX_EINTERRUPTED, "a compilation was interrupted") : CBX_OK;
}

/* An object of n kernels, the functions of which are fn[]. */
static cbx_status add_part(cbx_ctx *ctx, cbx_isa isa, size_t n, const cbx__kernel *const *kernels, handle *h,
                           cbx__kernel_fn *fn, cbx_err *err)
{
    char symbol[NAME_SIZE];
    shared *s = NULL;
    size_t bucket;
    cbx_text key;
    cbx_status st = check_stop(ctx, err);

    if (st) return st;
    cbx_text_init(&key, cbx_ctx_allocator(ctx));
    st = make_key(isa, n, kernels, &key, err);
    bucket = cbx_hash_text(CBX_HASH_START, symbol_name(symbol, key.data, key.len)) % BUCKETS;
    pthread_mutex_lock(&lock);
    if (!st) s = find_shared(bucket, &key);
    if (!st && !s) st = make_shared(ctx, isa, symbol, bucket, &key, n, kernels, &s, err);
    if (!st) s->users++;
    pthread_mutex_unlock(&lock);
    cbx_text_clear(&key);
    if (st) return st;
    h->parts[h->nparts++] = s;
    h->code.bytes += s->code.code_bytes;
    h->code.from_cache &= s->from_cache;
    memcpy(fn, s->code.symbol, n * sizeof *fn);
    return CBX_OK;
}

cbx_status cbx__llvm_compile(cbx_ctx *ctx, cbx_isa isa, size_t n, const cbx__kernel *const *kernels, cbx__code **out,
                             cbx_err *err)
{
    handle *h = create_handle(ctx, n);
    cbx_status st = h ? CBX_OK : cbx_fail_nomem(err, "compiled code");

    for (size_t at = 0, length; !st && at < n; at += length) {
        length = object_length(n - at, kernels + at);
        st = add_part(ctx, isa, length, kernels + at, h, h->code.fn + at, err);
    }
    if (st && h) release(&h->code);
    if (!st) *out = &h->code;
    return st;
}

static cbx_status compile(cbx_ctx *ctx, size_t n, const cbx__kernel *const *kernels, cbx__code **out, cbx_err *err)
{
    return cbx__llvm_compile(ctx, cbx_isa_best(), n, kernels, out, err);
}

cbx_status cbx__llvm_text(cbx_ctx *ctx, int kind, size_t n, const cbx__kernel *const *kernels, cbx_text *out,
                          cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (size_t at = 0, length; !st && at < n; at += length) {
        length = object_length(n - at, kernels + at);
        st = check_stop(ctx, err);
        if (!st)
            st = cbx__llvm_image(ctx, CBX__LLVM_HOST, cbx_isa_best(), "kernels", length, kernels + at, kind, out, err);
    }
    return st;
}

const cbx__emitter cbx__emitter_llvm = { "llvm", compile };
