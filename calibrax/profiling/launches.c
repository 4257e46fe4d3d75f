/*
 * First and later calls over launches.  A launch tells its times through a pipe; one that says less has died.
 */
#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrax/profiling/compilation.h"

typedef struct series {
    cbx_ctx *ctx;
    cbx_launch_fn measure;
    void *user;
    cbx_launches_opts o;
} series;

typedef struct answer {
    cbx_launch_times t;
    cbx_err err;
} answer;

/* --- one launch --- */

static bool write_all(int fd, const void *data, size_t n)
{
    const char *at = data;
    while (n) {
        ssize_t w = write(fd, at, n);
        if (w < 0 && errno == EINTR) continue;
        if (w <= 0) return false;
        at += w;
        n -= (size_t)w;
    }
    return true;
}

static bool read_all(int fd, void *data, size_t n)
{
    char *at = data;
    while (n) {
        ssize_t r = read(fd, at, n);
        if (r < 0 && errno == EINTR) continue;
        if (r <= 0) return false;
        at += r;
        n -= (size_t)r;
    }
    return true;
}

static void be_the_launch(const series *s, int fd)
{
    answer a = { .err = CBX_ERR_INIT };
    cbx_status st = s->measure(s->user, &a.t, &a.err);

    if (st) a.err.status = st;
    _exit(write_all(fd, &a, sizeof a) ? 0 : 1);
}

static cbx_status died(int status, cbx_err *err)
{
    if (WIFSIGNALED(status))
        return cbx_fail(err, CBX_ECHILD, "a launch died of signal %d (%s)", WTERMSIG(status),
                        strsignal(WTERMSIG(status)));
    return cbx_fail(err, CBX_ECHILD, "a launch ended with status %d before it told its times", WEXITSTATUS(status));
}

static cbx_status fork_launch(const series *s, cbx_launch_times *out, cbx_err *err)
{
    answer a;
    int fd[2], status = 0;
    bool told;
    pid_t pid;

    if (pipe(fd)) return cbx_fail(err, CBX_EIO, "no pipe for a launch: %s", strerror(errno));
    fflush(NULL); /* or the launch would write it, too */
    pid = fork();
    if (pid == 0) be_the_launch(s, fd[1]);
    close(fd[1]);
    told = pid > 0 && read_all(fd[0], &a, sizeof a);
    close(fd[0]);
    if (pid < 0) return cbx_fail(err, CBX_EIO, "no process for a launch: %s", strerror(errno));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (!told) return died(status, err);
    if (a.err.status) return cbx_fail(err, a.err.status, "%s", a.err.message);
    *out = a.t;
    return CBX_OK;
}

static bool is_time(double t) { return isfinite(t) && t >= 0; }

static cbx_status launch(const series *s, cbx_launch_times *out, cbx_err *err)
{
    cbx_status st = s->o.here ? s->measure(s->user, out, err) : fork_launch(s, out, err);

    if (!st && !(is_time(out->first_s) && is_time(out->steady_s)))
        st = cbx_fail(err, CBX_EDOM, "a launch took %g s, then %g s: no times", out->first_s, out->steady_s);
    return st;
}

/* --- caches --- */

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s, (void)kind, (void)at;
    remove(path);
    return 0;
}

typedef struct cache {
    const char *variable;
    char path[256];
    char *before; /* what the variable held; NULL: nothing */
} cache;

static cbx_status cache_begin(cache *c, const char *variable, cbx_err *err)
{
    const char *tmp = getenv("TMPDIR"), *held = getenv(variable);

    *c = (cache){ .variable = variable };
    if (snprintf(c->path, sizeof c->path, "%s/calibrax-cache-XXXXXX", tmp && tmp[0] ? tmp : "/tmp") >=
            (int)sizeof c->path ||
        !mkdtemp(c->path))
        return cbx_fail(err, CBX_EIO, "cannot make a folder for '%s': %s", variable, strerror(errno));
    c->before = held ? strdup(held) : NULL;
    if (setenv(variable, c->path, 1) == 0) return CBX_OK;
    rmdir(c->path);
    free(c->before);
    return cbx_fail(err, CBX_EINVAL, "'%s' is no name of a variable", variable);
}

static void cache_end(cache *c)
{
    if (c->before)
        setenv(c->variable, c->before, 1);
    else
        unsetenv(c->variable);
    free(c->before);
    nftw(c->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static cbx_status measure_cold(const series *s, cbx_launches *l, cbx_err *err)
{
    cbx_status st = CBX_OK;
    cache c;

    for (l->n = 0; !st && l->n < s->o.launches; l->n += !st) {
        if (s->o.cache_env) st = cache_begin(&c, s->o.cache_env, err);
        if (st) break;
        st = launch(s, &l->times[l->n], err);
        if (s->o.cache_env) cache_end(&c);
    }
    return st;
}

static cbx_status measure_warm(const series *s, cbx_launches *l, cbx_err *err)
{
    cbx_launch_times filling;
    cache c;
    cbx_status st = cache_begin(&c, s->o.cache_env, err);

    if (st) return st;
    st = launch(s, &filling, err);
    for (l->n = 0; !st && l->n < s->o.launches; l->n += !st) st = launch(s, &l->times[l->n], err);
    cache_end(&c);
    return st;
}

/* --- estimates --- */

static cbx_status estimate(const series *s, cbx_launches *l, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(s->ctx);
    double *x = cbx_mem_calloc(al, 3 * l->n + 1, sizeof *x);
    cbx_interval *to[] = { &l->first, &l->steady, &l->compile };
    cbx_status st = CBX_OK;

    if (!x) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu launches", l->n);
    for (size_t i = 0; i < l->n; i++) {
        x[i] = l->times[i].first_s;
        x[l->n + i] = l->times[i].steady_s;
        x[2 * l->n + i] = fmax(0, l->times[i].first_s - l->times[i].steady_s);
    }
    for (size_t k = 0; k < 3 && !st; k++)
        st = cbx_stat_median_interval(s->ctx, x + k * l->n, l->n, s->o.level, to[k], err);
    cbx_mem_free(al, x, (3 * l->n + 1) * sizeof *x);
    return st;
}

static cbx_status check_opts(const cbx_launches_opts *o, cbx_err *err)
{
    if (o->struct_size != sizeof *o) return cbx_fail(err, CBX_EINVAL, "cbx_launches_opts of another version");
    if (o->launches < 1 || o->launches > 4096)
        return cbx_fail(err, CBX_EINVAL, "%zu launches: say 1 to 4096", o->launches);
    if (!(o->level > 0 && o->level < 1))
        return cbx_fail(err, CBX_EINVAL, "level is %g: say more than 0, less than 1", o->level);
    return CBX_OK;
}

cbx_status cbx_launches_measure(cbx_ctx *ctx, cbx_launch_fn measure, void *user, const cbx_launches_opts *opts,
                                cbx_launches_report *out, cbx_err *err)
{
    series s = { ctx, measure, user, CBX_LAUNCHES_OPTS_INIT };
    cbx_launches_report r = { .saved_s = NAN, .al = *cbx_ctx_allocator(ctx) };
    cbx_status st;

    if (opts) s.o = *opts;
    st = measure ? check_opts(&s.o, err) : cbx_fail(err, CBX_EINVAL, "nothing to launch");
    if (st) return st;
    r.cold.times = cbx_mem_calloc(&r.al, 2 * s.o.launches, sizeof *r.cold.times);
    if (!r.cold.times) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu launches", s.o.launches);
    r.warm.times = r.cold.times + s.o.launches;
    st = measure_cold(&s, &r.cold, err);
    if (!st) st = estimate(&s, &r.cold, err);
    if (!st && s.o.cache_env) st = measure_warm(&s, &r.warm, err);
    if (!st && s.o.cache_env) st = estimate(&s, &r.warm, err);
    if (st) {
        cbx_mem_free(&r.al, r.cold.times, 2 * s.o.launches * sizeof *r.cold.times);
        return st;
    }
    if (r.warm.n) r.saved_s = r.cold.compile.value - r.warm.compile.value;
    *out = r;
    return CBX_OK;
}

void cbx_launches_report_clear(cbx_launches_report *r)
{
    if (!r || !r->cold.times) return;
    cbx_mem_free(&r->al, r->cold.times, 2 * r->cold.n * sizeof *r->cold.times);
    r->cold.times = r->warm.times = NULL;
    r->cold.n = r->warm.n = 0;
}
