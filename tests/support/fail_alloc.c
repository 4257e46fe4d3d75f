/* The counting, checking, failing allocator; a block is preceded by its size, and moves whenever it
 * is resized. */
#include "fail_alloc.h"

#include <ftw.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

#define MAX_CALLS 100000

typedef struct header {
    alignas(max_align_t) size_t size;
} header;

static void *grow_into(cbx_test_alloc *t, void *ptr, size_t old_size, size_t new_size)
{
    t->calls++;
    if (t->fail_at && (t->calls == t->fail_at || (t->fail_after && t->calls > t->fail_at))) {
        t->failures++;
        return NULL;
    }
    header *h = malloc(sizeof *h + new_size);
    if (!h) return NULL;
    h->size = new_size;
    if (ptr) memcpy(h + 1, ptr, old_size < new_size ? old_size : new_size);
    t->live_bytes += new_size;
    t->live_blocks++;
    return h + 1;
}

static void *test_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    cbx_test_alloc *t = user;
    header *old = ptr ? (header *)ptr - 1 : NULL;
    size_t true_size = old ? old->size : 0;
    void *result = NULL;
    pthread_mutex_lock(&t->lock);
    if (old_size != true_size) t->wrong_sizes++;
    if (new_size) result = grow_into(t, ptr, true_size, new_size);
    if (t->live_bytes > t->peak_bytes) t->peak_bytes = t->live_bytes;
    if (old && (result || !new_size)) {
        t->live_bytes -= true_size;
        t->live_blocks--;
        memset(ptr, 0xDD, true_size);
        free(old);
    }
    pthread_mutex_unlock(&t->lock);
    return result;
}

void cbx_test_alloc_init(cbx_test_alloc *t)
{
    *t = (cbx_test_alloc){ .al = { test_resize, t } };
    pthread_mutex_init(&t->lock, NULL);
}

cbx_ctx *cbx_test_ctx(cbx_test_alloc *t)
{
    cbx_ctx_opts opts = CBX_CTX_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *ctx = NULL;
    opts.allocator = t->al;
    CHECK_OK(cbx_ctx_create(&opts, &ctx, &err), &err, "a context for a test");
    return ctx;
}

void cbx_test_alloc_check(const cbx_test_alloc *t, const char *why)
{
    if (t->live_bytes || t->live_blocks)
        fail_msg("%s: %zu bytes in %zu blocks were not freed (failed call %zu)", why, t->live_bytes, t->live_blocks,
                 t->fail_at);
    if (t->wrong_sizes) fail_msg("%s: %zu old sizes were wrong (failed call %zu)", why, t->wrong_sizes, t->fail_at);
}

size_t cbx_test_fail_each(cbx_test_fn fn, void *user, const char *why)
{
#ifdef __SANITIZE_ADDRESS__
    const size_t first = 1;
#else
    const size_t first = 0; /* no call fails: what a failure leaves behind is for AddressSanitizer to find */
#endif

    for (size_t n = first; n < MAX_CALLS; n++) {
        cbx_test_alloc t;
        cbx_test_alloc_init(&t);
        cbx_ctx *ctx = cbx_test_ctx(&t);
        const size_t before = t.calls;
        t.fail_at = n ? before + n : 0;
        cbx_status st = fn(ctx, user);
        cbx_ctx_free(ctx);
        cbx_test_alloc_check(&t, why);
        pthread_mutex_destroy(&t.lock);
        CHECK_STATUS(st, t.failures ? CBX_ENOMEM : CBX_OK, why);
        if (!t.failures) return t.calls - before;
    }
    fail_msg("%s: more than %d allocations", why, MAX_CALLS);
    return 0;
}

char *cbx_test_folder(char path[64])
{
    const char *tmp = getenv("TMPDIR");
    int n = snprintf(path, 64, "%s/cbx-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (n >= 64) strcpy(path, "/tmp/cbx-test-XXXXXX");
    if (!mkdtemp(path)) fail_msg("cannot make a folder for the test: '%s'", path);
    return path;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

void cbx_test_folder_remove(const char *path) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }
