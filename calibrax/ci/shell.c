/*
 * Commands run as users write them, through sh; their standard output goes to a file in memory and
 * is read afterwards, of their standard error the end is kept while they run.
 */
#include "calibrax/ci/shell.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/base/file.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/process.h"
#include "calibrax/base/temporary.h"
#include "calibrax/base/together.h"

#define OUTPUT_MAX ((size_t)64 << 20)

/* --- the folder --- */

#define WORD  "search"
#define NEW_S 60 /* one that was made just now may not hold its lock yet */

static const char *lock_of(cbx_arena *arena, const char *folder) { return cbx_arena_printf(arena, "%s/.lock", folder); }

/* Removes what killed searches left: whoever lives holds its lock.  What cannot be removed
 * stays. */
static cbx_status remove_left(cbx_ctx *ctx, cbx_arena *arena, const char *scratch, cbx_err *err)
{
    const char *const *names;
    size_t n = 0;
    cbx_status st = cbx_dir_list(ctx, scratch, NULL, arena, &names, &n, err);

    for (size_t i = 0; !st && i < n; i++) {
        const char *folder, *path;
        struct stat info;
        cbx_lock *lock = NULL;
        if (strncmp(names[i], WORD "-", strlen(WORD "-")) != 0) continue;
        folder = cbx_path_join(arena, scratch, names[i]);
        path = folder ? lock_of(arena, folder) : NULL;
        if (!path) return cbx_fail(err, CBX_ENOMEM, "no memory for the folders in '%s'", scratch);
        if (stat(path, &info) || info.st_mtime + NEW_S > time(NULL)) continue;
        if (cbx_lock_take(ctx, path, 0, &lock, NULL)) continue;
        cbx__temporary_remove(folder);
        cbx_lock_release(lock);
    }
    return st == CBX_ENOMEM ? st : CBX_OK;
}

cbx_status cbx__shell_open(cbx_ctx *ctx, const char *repository, const char *scratch, const cbx_stop_flag *stop,
                           cbx_arena *arena, cbx__shell *out, cbx_err *err)
{
    cbx__shell sh = { .ctx = ctx, .arena = arena, .stop = stop };
    char *whole = realpath(repository ? repository : ".", NULL);
    const char *path;
    cbx_status st = CBX_OK;

    if (!whole) return cbx_fail(err, CBX_ENOENT, "the folder '%s' does not exist", repository ? repository : ".");
    sh.repository = cbx_arena_strdup(arena, whole);
    free(whole);
    if (!sh.repository) return cbx_fail_nomem(err, "a command or a worktree");
    if (!scratch) st = cbx_cache_dir(ctx, "bisect", arena, &scratch, err);
    if (!st) st = remove_left(ctx, arena, scratch, err);
    if (!st) st = cbx__temporary_make_in(ctx, scratch, WORD, arena, &sh.folder, err);
    if (st) return st;
    path = lock_of(arena, sh.folder);
    st = path ? cbx_lock_take(ctx, path, 0, &sh.lock, err) : cbx_fail_nomem(err, "a command or a worktree");
    return CBX_FINISH(st, *out = sh, cbx__shell_close(&sh));
}

void cbx__shell_close(cbx__shell *sh)
{
    if (sh->folder) cbx__temporary_remove(sh->folder);
    cbx_lock_release(sh->lock);
    if (sh->output) close(sh->output);
    *sh = (cbx__shell){ .ctx = NULL };
}

cbx_status cbx__shell_run(cbx__shell *sh, const cbx__shell_job *job, cbx__shell_end *end, cbx_err *err)
{
    const cbx_env_setting env[] = { { "GIT_DIR", NULL },
                                    { "GIT_WORK_TREE", NULL },
                                    { "GIT_INDEX_FILE", NULL },
                                    { "GIT_PREFIX", NULL },
                                    { "GIT_COMMON_DIR", NULL },
                                    { "GIT_OBJECT_DIRECTORY", NULL },
                                    { "CALIBRAX_BISECT_COMMIT", job->commit } };
    cbx_command_opts opts = { .struct_size = sizeof opts,
                              .timeout_s = job->timeout_s,
                              .env_pad_bytes = job->env_pad_bytes,
                              .stack_pad_bytes = job->stack_pad_bytes,
                              .stop = sh->stop,
                              .claim = job->claim,
                              .folder = job->dir ? job->dir : sh->folder,
                              .env = env,
                              .nenv = CBX_LEN(env) - !job->commit };
    cbx_command_record r;

    if (sh->stop && *sh->stop) return cbx_fail(err, CBX_EINTERRUPTED, "interrupted");
    if (sh->output) close(sh->output);
    sh->output = 0;
    cbx_status st = cbx__memory_file("output", &sh->output, err);
    opts.output = sh->output;
    if (!st) st = cbx_command_run(sh->ctx, job->command, &opts, &r, err);
    if (st) return st;
    if (r.failure == CBX_FAILURE_INTERRUPTED) return cbx_fail(err, CBX_EINTERRUPTED, "interrupted");
    *end = (cbx__shell_end){ .failure = r.failure, .exit_code = r.exit_code, .wall_s = 1e-9 * r.wall_ns };
    if (r.failure)
        snprintf(end->message, sizeof end->message, "%.200s%s%.200s", r.message, *r.last_words ? ": " : "",
                 r.last_words);
    return CBX_OK;
}

cbx_status cbx__git(cbx__shell *sh, const char *dir, const char **output, int *exit_code, cbx_err *err, ...)
{
    cbx__shell_end end;
    va_list words;

    CBX_SCOPED(cbx_text, line, cbx_ctx_allocator(sh->ctx));
    cbx__put_mixed(&line, cbx__put_quoted, "git -C ", dir, NULL);
    va_start(words, err);
    for (const char *word; (word = va_arg(words, const char *)) != NULL;)
        cbx__put_mixed(&line, cbx__put_quoted, " ", word, NULL);
    va_end(words);
    cbx_status st = cbx_text_check(&line, err);
    if (!st) st = cbx__shell_run(sh, &(cbx__shell_job){ .command = cbx_text_str(&line) }, &end, err);
    if (st) return st;
    if (exit_code) *exit_code = end.exit_code;
    if (end.failure && (!exit_code || end.failure != CBX_FAILURE_EXITED))
        return cbx_fail(err, CBX_ECHILD, "git failed in '%s': %s", dir, end.message);
    if (!output) return CBX_OK;
    st = cbx__memory_file_text(sh->output, "standard output", OUTPUT_MAX, &line, err);
    if (st) return st;
    *output = cbx_arena_strndup(sh->arena, line.data, line.len);
    return *output ? CBX_OK : cbx_fail_nomem(err, "a command or a worktree");
}

static bool word_char(char c) { return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.'; }

bool cbx__metric_scan(const char *text, const char *name, double *value)
{
    size_t len = strlen(name);
    bool found = false;

    for (const char *at = text; len > 0 && (at = strstr(at, name)); at += len) {
        const char *number = at + len;
        char *end;
        double v;
        if ((at > text && word_char(at[-1])) || word_char(*number)) continue;
        number += strspn(number, "\"' \t:=");
        v = strtod(number, &end);
        if (end == number || number == at + len) continue;
        found = isfinite(v);
        *value = v;
    }
    return found;
}

cbx_status cbx__shell_measure(cbx__shell *sh, const cbx__shell_job *job, const char *metric, double *value,
                              cbx__shell_end *end, cbx_err *err)
{
    cbx_status st = cbx__shell_run(sh, job, end, err);

    if (st || end->failure) return st;
    *value = end->wall_s;
    if (!metric) return CBX_OK;
    CBX_SCOPED(cbx_text, text, cbx_ctx_allocator(sh->ctx));
    st = cbx__memory_file_text(sh->output, "standard output", OUTPUT_MAX, &text, err);
    if (st) return st;
    if (!cbx__metric_scan(text.data, metric, value))
        snprintf(end->message, sizeof end->message, "no number after '%s' in the output of the benchmark", metric);
    return CBX_OK;
}

/* --- revisions in folders of their own --- */

cbx_status cbx__repository_resolve(cbx__shell *sh, const char *rev, const char *what, const char **hash, cbx_err *err)
{
    const char *wanted = cbx_arena_printf(sh->arena, "%s^{commit}", rev), *out;
    int code = 0;

    if (!wanted) return cbx_fail_nomem(err, "a command or a worktree");
    const cbx_status st = cbx__git(sh, sh->repository, &out, &code, err, "rev-parse", "--verify", "--quiet",
                                   "--end-of-options", wanted, NULL);
    if (st) return st;
    if (code == 127) return cbx_fail(err, CBX_EUNAVAILABLE, "%s needs git: apt-get install git", what);
    if (code == 128) return cbx_fail(err, CBX_ENOENT, "'%s' is not in a git repository", sh->repository);
    if (code != 0)
        return cbx_fail(err, CBX_ENOENT, "'%s' is not a commit of the repository at '%s'", rev, sh->repository);
    *hash = cbx_arena_strndup(sh->arena, out, strcspn(out, "\n"));
    return *hash ? CBX_OK : cbx_fail_nomem(err, "a command or a worktree");
}

cbx_status cbx__mirror_make(cbx__shell *sh, cbx_err *err)
{
    const char *place;
    cbx_status st = cbx__git(sh, sh->repository, &place, NULL, err, "rev-parse", "--path-format=absolute",
                             "--git-common-dir", NULL);

    if (st) return st;
    place = cbx_arena_strndup(sh->arena, place, strcspn(place, "\n"));
    sh->mirror = cbx_path_join(sh->arena, sh->folder, "mirror");
    if (!place || !sh->mirror) return cbx_fail_nomem(err, "a command or a worktree");
    return cbx__git(sh, sh->repository, NULL, NULL, err, "clone", "--quiet", "--shared", "--no-checkout", place,
                    sh->mirror, NULL);
}

cbx_status cbx__worktree_add(cbx__shell *sh, const char *name, const char *hash, const char **path, cbx_err *err)
{
    *path = cbx_path_join(sh->arena, sh->folder, name);
    if (!*path) return cbx_fail_nomem(err, "a command or a worktree");
    return cbx__git(sh, sh->mirror, NULL, NULL, err, "-c", "core.hooksPath=/dev/null", "worktree", "add", "--quiet",
                    "--force", "--detach", *path, hash, NULL);
}

void cbx__worktree_remove(cbx__shell *sh, const char *path)
{
    cbx__temporary_remove(path);
    (void)cbx__git(sh, sh->mirror, NULL, NULL, NULL, "worktree", "prune", NULL);
}
