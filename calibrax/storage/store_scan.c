/*
 * Run files as the index needs them: which exist, what each holds.
 *
 * Parsing is nine tenths of making a new index, so a window of files is parsed by all cores while
 * the caller, who alone touches the database, takes them in order.
 */
#include "calibrax/storage/store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/file.h"
#include "calibrax/base/parallel.h"
#include "calibrax/core/run_file.h"

#define WINDOW      64
#define BATCH       16 /* files for which the caller is woken, while there are more to come */
#define NONE        SIZE_MAX
#define MANY        (SIZE_MAX - 1)
#define THREADS_MAX 8

/* --- tags as text --- */

/* Separators of tags, and what comes before one of these three within a tag, which then is MOVED
 * further on. */
#define KEY_END   '\x1f'
#define VALUE_END '\x1e'
#define ESCAPE    '\x1d'
#define MOVED     0x40

static bool is_mark(char c) { return c == KEY_END || c == VALUE_END || c == ESCAPE; }

static size_t part_size(const char *s)
{
    size_t n = 1;

    for (; *s; s++) n += is_mark(*s) ? 2 : 1;
    return n;
}

static char *put_part(char *at, const char *s, char end)
{
    for (; *s; s++) {
        if (is_mark(*s)) *at++ = ESCAPE;
        *at++ = is_mark(*s) ? (char)(*s + MOVED) : *s;
    }
    *at++ = end;
    return at;
}

/* In place. */
static const char *read_part(char *s)
{
    char *to = s;

    for (const char *from = s; *from; from++) {
        bool moved = *from == ESCAPE && from[1];
        *to++ = moved ? (char)(*++from - MOVED) : *from;
    }
    *to = '\0';
    return s;
}

const char *cbx__tags_text(cbx_arena *arena, const cbx_tag *tags, size_t n)
{
    cbx_tag *sorted = cbx_arena_calloc(arena, n, sizeof *sorted);
    size_t size = 1;
    char *text, *at;

    if (!sorted) return NULL;
    if (n) memcpy(sorted, tags, n * sizeof *sorted);
    if (n > 1) qsort(sorted, n, sizeof *sorted, cbx_tag_compare);
    for (size_t i = 0; i < n; i++) size += part_size(sorted[i].key) + part_size(sorted[i].value);
    at = text = cbx_arena_alloc(arena, size);
    for (size_t i = 0; text && i < n; i++)
        at = put_part(put_part(at, sorted[i].key, KEY_END), sorted[i].value, VALUE_END);
    if (at) *at = '\0';
    return text;
}

cbx_status cbx__tags_parse(cbx_arena *arena, const char *text, const cbx_tag **tags, size_t *n, cbx_err *err)
{
    char *copy = cbx_arena_strdup(arena, text);
    size_t count = 0;
    cbx_tag *out;

    for (const char *c = text; *c; c++) count += *c == VALUE_END;
    out = cbx_arena_calloc(arena, count, sizeof *out);
    if (!copy || !out) return cbx_fail_nomem(err, "the tags of a series");
    for (size_t i = 0; i < count; i++) {
        char *end = strchr(copy, VALUE_END), *middle = strchr(copy, KEY_END);
        if (!middle || middle > end)
            return cbx_fail(err, CBX_EINTERNAL, "the index of the store has damaged tags; it may be deleted");
        *middle = *end = '\0';
        out[i] = (cbx_tag){ read_part(copy), read_part(middle + 1) };
        copy = end + 1;
    }
    *tags = out;
    *n = count;
    return CBX_OK;
}

/* --- the folder --- */

static void stamp_files(void *user, size_t worker, size_t begin, size_t end)
{
    const cbx__scan *s = user;

    (void)worker;
    for (size_t i = begin; i < end; i++) cbx__index_stamp(s->dir, s->files[i].name, &s->files[i]);
}

/* To ask for stamps is two thirds of a look at an index of many runs: all cores ask, each for so
 * many that a thread pays. */
#define STAMPS_A_THREAD 512

cbx_status cbx__scan_folder(cbx_ctx *ctx, const char *folder, cbx_arena *arena, cbx__scan *out, cbx_err *err)
{
    const char *const *names;
    size_t n;
    cbx_status st = cbx_dir_list(ctx, folder, ".json", arena, &names, &n, err);

    if (st) return st;
    *out = (cbx__scan){ .ctx = ctx, .folder = folder, .files = cbx_arena_calloc(arena, n, sizeof *out->files) };
    if (!out->files) return cbx_fail(err, CBX_ENOMEM, "no memory for the %zu files of '%s'", n, folder);
    for (size_t i = 0; i < n; i++)
        if (names[i][0] != '.') out->files[out->count++].name = names[i]; /* '.': a temporary being written */
    out->dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (out->dir < 0) return cbx_fail_errno(err, errno, "cannot open '%s'", folder);
    cbx__parallel(cbx__workers(0, out->count / STAMPS_A_THREAD), out->count, stamp_files, out);
    close(out->dir);
    n = 0;
    for (size_t i = 0; i < out->count; i++)
        if (out->files[i].stamp.size >= 0) out->files[n++] = out->files[i];
    out->count = n;
    return CBX_OK;
}

/* --- one file --- */

#define PART_BYTES ((size_t)256 << 10) /* of values and their text that are held of a file */

/* What a reader made of a file, with all that it needs to live. */
typedef struct reading {
    cbx__scan_file file;
    cbx_arena arena; /* of the values and texts of the file */
    cbx_run *run;
    CBX_LIST(cbx__scan_value) values;
    size_t bytes;
    char hash[CBX_HASH_SIZE];
    bool gone, no_memory;
    bool many;       /* more values than are held */
    cbx__scan_fn fn; /* that takes a part; NULL: parts are not taken */
    void *user;
    cbx_status refused; /* by fn */
} reading;

static const char *keep(reading *r, const char *text, const char *before)
{
    const char *kept = NULL;

    cbx__keep_text(&r->arena, text, before, &kept);
    if (kept && kept != before) r->bytes += strlen(kept);
    return kept;
}

static bool take_values(reading *r, const cbx_point *p)
{
    static const cbx__scan_value none = { 0 };
    const cbx_allocator al = cbx_arena_allocator(&r->arena);
    cbx__scan_value v = r->values.n ? r->values.items[r->values.n - 1] : none;

    v.point = keep(r, p->name, v.point);
    v.scenario = keep(r, p->scenario, v.scenario);
    v.tags = cbx__tags_text(&r->arena, p->tags, p->ntags);
    if (!v.point || !v.scenario || !v.tags) return false;
    r->bytes += strlen(v.tags);
    for (size_t i = 0; i < p->nmetrics; i++) {
        const cbx_metric *m = &p->metrics[i].metric;
        v.metric = keep(r, p->metrics[i].name, v.metric);
        v.value = m->value;
        v.lower = m->lower;
        v.upper = m->upper;
        if (!v.metric || !cbx_list_push(&al, &r->values, v)) return false;
        r->bytes += sizeof v;
    }
    r->file.values = r->values.items;
    r->file.nvalues = r->values.n;
    return true;
}

/* A part goes out where the values are many, or the file is left to who can take it in parts. */
static cbx_status take_point(void *user, const cbx_point *p, cbx_err *err)
{
    reading *r = user;

    r->file.npoints++;
    if (!take_values(r, p)) return cbx_fail_nomem(err, "the store");
    if (r->bytes < PART_BYTES) return CBX_OK;
    r->many = !r->fn;
    if (r->many) return CBX_EOVERFLOW;
    r->refused = r->fn(r->user, &r->file, err);
    r->file.first += r->file.nvalues;
    cbx_arena_clear(&r->arena);
    r->values.items = NULL;
    r->file.values = NULL;
    r->file.nvalues = r->values.n = r->values.capacity = r->bytes = 0;
    return r->refused;
}

/* false: out of memory. */
static bool take_run(reading *r)
{
    const cbx_run *run = r->run;
    size_t stem = (size_t)(strrchr(r->file.name, '.') - r->file.name), n = cbx_run_nmetric_defs(run);
    cbx_metric_def *defs = cbx_arena_calloc(&r->arena, n, sizeof *defs);

    if (strlen(cbx_run_id(run)) != stem || strncmp(cbx_run_id(run), r->file.name, stem) != 0) {
        r->file.problem = cbx_arena_printf(&r->arena, "holds the run '%s': a run belongs into the file of its id",
                                           cbx_run_id(run));
        return r->file.problem != NULL;
    }
    for (size_t i = 0; defs && i < n; i++) defs[i] = *cbx_run_metric_def(run, i);
    r->file.id = cbx_run_id(run);
    r->file.commit = cbx_run_commit(run);
    r->file.branch = cbx_run_branch(run);
    r->file.machine = cbx_json_get_string(cbx_run_environment(run), "machine", NULL);
    r->file.timestamp_us = cbx_run_timestamp_us(run);
    r->file.defs = defs;
    r->file.ndefs = n;
    return defs != NULL;
}

static void read_one(cbx_ctx *ctx, const char *folder, const cbx__index_file *f, cbx__scan_fn fn, void *user,
                     reading *r, cbx_err *refusal)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    CBX_SCOPED(cbx_arena, paths, al);
    const char *path = cbx_path_join(&paths, folder, f->name);
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    *r = (reading){ .file = { .name = f->name, .stamp = f->stamp }, .fn = fn, .user = user };
    cbx_arena_init(&r->arena, al);
    if (f->problem)
        st = cbx_fail(&err, CBX_EIO, "'%s': %s", f->name, f->problem);
    else
        st = path ? cbx__run_stream_file(al, path, f->name, take_point, r, r->hash, &r->run, &err) : CBX_ENOMEM;
    if (*r->hash) r->file.hash = r->hash;
    if (r->refused) *refusal = err;
    if (r->refused || r->many) return;
    r->file.whole = true;
    r->gone = st == CBX_ENOENT;
    if (!st)
        r->no_memory = !take_run(r);
    else
        r->no_memory = st == CBX_ENOMEM || !(r->file.problem = cbx_arena_strdup(&r->arena, err.message));
    if (r->file.problem) r->file.nvalues = r->file.npoints = 0;
}

static void reading_clear(reading *r)
{
    cbx_run_free(r->run);
    r->run = NULL;
    cbx_arena_clear(&r->arena);
}

static cbx_status hand_out(const reading *r, cbx__scan_fn fn, void *user, cbx_err *err)
{
    if (r->no_memory) return cbx_fail_nomem(err, "read the runs of the store");
    return r->gone ? CBX_OK : fn(user, &r->file, err);
}

/* In the calling thread, in parts if need be. */
static cbx_status read_and_hand_out(const cbx__scan *scan, size_t i, cbx__scan_fn fn, void *user, cbx_err *err)
{
    cbx_err refusal = CBX_ERR_INIT;
    reading r;
    cbx_status st;

    read_one(scan->ctx, scan->folder, &scan->files[i], fn, user, &r, &refusal);
    st = r.refused ? cbx_fail(err, r.refused, "%s", refusal.message) : hand_out(&r, fn, user, err);
    reading_clear(&r);
    return st;
}

/* --- several at a time --- */

/*
 * Reader t of n, a power of two, reads every n-th file from the t-th on, into slots that no other
 * reader uses: who filled a slot also clears it, since memory that one thread takes and another
 * gives back makes both wait in malloc.
 */
typedef struct crew {
    const cbx__scan *scan;
    const size_t *queued;  /* indices of files to read */
    size_t nqueued, taken; /* to read; handed out already */
    size_t nthreads;
    reading window[WINDOW];
    bool ready[WINDOW];
    size_t nready;  /* of them */
    size_t awaited; /* file that the caller waits for, NONE or MANY */
    bool stop;
    pthread_mutex_t lock;
    pthread_cond_t slot_free, filled;
} crew;

typedef struct reader {
    crew *crew;
    size_t number;
    pthread_t thread;
} reader;

/* Waits until the slot of file i is free; false: it is no longer wanted. */
static bool wait_for_slot(crew *c, size_t i)
{
    bool wanted;

    pthread_mutex_lock(&c->lock);
    while (!c->stop && i >= c->taken + WINDOW) pthread_cond_wait(&c->slot_free, &c->lock);
    wanted = !c->stop;
    pthread_mutex_unlock(&c->lock);
    return wanted;
}

static void *read_files(void *user)
{
    const reader *self = user;
    crew *c = self->crew;
    cbx_ctx *ctx = NULL;
    bool usable = cbx_ctx_create(NULL, &ctx, NULL) == CBX_OK; /* of its own: a context serves one thread at a time */

    for (size_t i = self->number; i < c->nqueued && wait_for_slot(c, i); i += c->nthreads) {
        reading *r = &c->window[i % WINDOW];
        reading_clear(r);
        if (usable)
            read_one(ctx, c->scan->folder, &c->scan->files[c->queued[i]], NULL, NULL, r, NULL);
        else
            r->no_memory = true;
        pthread_mutex_lock(&c->lock);
        c->ready[i % WINDOW] = true;
        c->nready++;
        if (c->awaited == i || (c->awaited == MANY && c->nready >= BATCH)) pthread_cond_signal(&c->filled);
        pthread_mutex_unlock(&c->lock);
    }
    cbx_ctx_free(ctx);
    return NULL;
}

static cbx_status take_in_order(crew *c, cbx__scan_fn fn, void *user, cbx_err *err)
{
    cbx_status st = CBX_OK;

    pthread_mutex_lock(&c->lock);
    while (!st && c->taken < c->nqueued) {
        size_t slot = c->taken % WINDOW;
        if (!c->ready[slot]) {
            /* Until a file is there; not for each alone, since to be woken costs as much as to take
             * a few.  Under the lock. */
            c->awaited = MANY;
            while (!c->ready[slot] && c->nready < BATCH && c->taken + BATCH <= c->nqueued)
                pthread_cond_wait(&c->filled, &c->lock);
            c->awaited = c->taken;
            while (!c->ready[slot]) pthread_cond_wait(&c->filled, &c->lock);
            c->awaited = NONE;
        }
        pthread_mutex_unlock(&c->lock);
        if (c->window[slot].many)
            st = read_and_hand_out(c->scan, c->queued[c->taken], fn, user, err);
        else
            st = hand_out(&c->window[slot], fn, user, err);
        pthread_mutex_lock(&c->lock);
        c->ready[slot] = false;
        c->nready--;
        if (++c->taken % (WINDOW / 4) == 0) pthread_cond_broadcast(&c->slot_free);
    }
    pthread_mutex_unlock(&c->lock);
    return st;
}

cbx_status cbx__scan_read(cbx__scan *scan, cbx__scan_fn fn, void *user, cbx_err *err)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t nthreads = 1, n = 0;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(scan->ctx));
    size_t *queued = cbx_arena_calloc(&arena, scan->count, sizeof *queued), started = 0;
    crew *c = cbx_arena_alloc(&arena, sizeof *c);
    reader readers[THREADS_MAX];
    cbx_status st = CBX_OK;

    /* the largest power of two that is no more than the CPUs */
    while (2 * nthreads <= THREADS_MAX && 2 * (long)nthreads <= cpus) nthreads *= 2;
    if (!queued || !c)
        return cbx_fail(err, CBX_ENOMEM, "no memory for the %zu files of '%s'", scan->count, scan->folder);
    for (size_t i = 0; i < scan->count; i++)
        if (!scan->files[i].known) queued[n++] = i;
    if (n < WINDOW || nthreads == 1) {
        for (size_t i = 0; !st && i < n; i++) st = read_and_hand_out(scan, queued[i], fn, user, err);
        return st;
    }
    *c = (crew){ .scan = scan, .queued = queued, .nqueued = n, .nthreads = nthreads, .awaited = NONE };
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->slot_free, NULL);
    pthread_cond_init(&c->filled, NULL);
    for (size_t i = 0; i < WINDOW; i++) cbx_arena_init(&c->window[i].arena, cbx_allocator_default());
    for (; started < nthreads; started++) {
        readers[started] = (reader){ .crew = c, .number = started };
        if (pthread_create(&readers[started].thread, NULL, read_files, &readers[started]) != 0) break;
    }
    st = started == nthreads ? take_in_order(c, fn, user, err)
                             : cbx_fail(err, CBX_ENOMEM, "cannot start a thread to read the store");
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_broadcast(&c->slot_free);
    pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; i < started; i++) pthread_join(readers[i].thread, NULL);
    for (size_t i = 0; i < WINDOW; i++) reading_clear(&c->window[i]);
    pthread_cond_destroy(&c->filled);
    pthread_cond_destroy(&c->slot_free);
    pthread_mutex_destroy(&c->lock);
    return st;
}
