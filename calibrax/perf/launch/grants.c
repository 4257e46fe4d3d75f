/*
 * The list of what a worker may read.  A system is not asked what a framework will want: its
 * folders for programs and settings are open, a user's are closed, but for the interpreter's
 * environment and what the case needs.
 *
 * Landlock can allow a folder, and not forbid a part of it again.  Where something hidden lies in a
 * folder that is granted, the folder's other entries are granted one by one, and its names for
 * listing.
 */
#include "calibrax/perf/launch/grants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/base/json.h"
#include "calibrax/base/list.h"
#include "calibrax/base/path.h"
#include "calibrax/base/temporary.h"

#define LINKS_MAX   16
#define ENTRIES_MAX 4096 /* of a folder that is granted in parts */

static const char READ[] = "--read", WRITE[] = "--write", DEVICE[] = "--device", LIST[] = "--list";

/* Also for the systems that keep their programs elsewhere. */
/* clang-format off */
static const char *const system_folders[] = { "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc",
                                              "/opt", "/nix", "/proc", "/gnu/store", "/run/current-system",
                                              "/run/opengl-driver", "/sys" };
/* clang-format on */
static const char *const plain_devices[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom" };

/* --- paths --- */

/* True for the folder itself, too. */
static bool is_beneath(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/') n--;
    return strncmp(path, folder, n) == 0 && (path[n] == '\0' || path[n] == '/' || (n == 1 && folder[0] == '/'));
}

/* Without links, as far as it exists. */
static const char *canonical(cbx_arena *arena, const char *path)
{
    char head[PATH_MAX], real[PATH_MAX];
    size_t n = strlen(path);

    if (n == 0 || n + 2 >= sizeof head) return cbx_arena_strdup(arena, path);
    if (path[0] == '/')
        memcpy(head, path, n + 1);
    else
        snprintf(head, sizeof head, "./%s", path);
    for (char *cut = head + strlen(head); cut > head;) {
        char kept = *cut;
        *cut = '\0';
        if (realpath(*head ? head : "/", real)) {
            *cut = kept;
            while (*cut == '/') cut++;
            return *cut ? cbx_arena_printf(arena, "%s%s%s", real, strcmp(real, "/") ? "/" : "", cut)
                        : cbx_arena_strdup(arena, real);
        }
        *cut = kept;
        while (cut > head && *--cut != '/') {}
    }
    return cbx_arena_strdup(arena, path);
}

/* --- the list --- */

static void push(cbx__grants *g, const char *option, const char *path)
{
    const cbx_allocator al = cbx_arena_allocator(g->arena);
    if (!path || !cbx_grow(&al, &g->list, &g->capacity, g->count + 1, sizeof *g->list)) g->failed = true;
    if (!g->failed) g->list[g->count++] = (cbx__grant){ option, path };
}

static bool has(const cbx__grants *g, const char *option, const char *path)
{
    for (size_t i = 0; i < g->count; i++)
        if (!strcmp(g->list[i].option, option) && is_beneath(path, g->list[i].path)) return true;
    return false;
}

/* A folder that something hidden lies in is granted as its parts. */
static void add(cbx__grants *g, const char *option, const char *path, const char *const *hidden, size_t nhidden)
{
    const char *real = path ? canonical(g->arena, path) : NULL;
    bool holds = false, is_hidden = false;

    if (!real) g->failed = true;
    for (size_t i = 0; i < nhidden && !g->failed; i++) {
        holds = holds || is_beneath(hidden[i], real);
        is_hidden = is_hidden || is_beneath(real, hidden[i]);
    }
    if (g->failed || is_hidden || has(g, option, real)) return;
    push(g, holds ? LIST : option, real);
    DIR *dir = holds ? opendir(real) : NULL;
    struct dirent *e;
    for (size_t n = 0; dir && n < ENTRIES_MAX && !g->failed && (e = readdir(dir)); n++)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            add(g, option, cbx_arena_printf(g->arena, "%s%s%s", real, strcmp(real, "/") ? "/" : "", e->d_name), hidden,
                nhidden);
    if (dir) closedir(dir);
}

/* --- who needs what --- */

typedef struct maker {
    const cbx__grants_for *f;
    cbx__grants *g;
    const char **hidden;
    size_t nhidden;
} maker;

static void read_too(maker *m, const char *path) { add(m->g, READ, path, m->hidden, m->nhidden); }

static void read_list(maker *m, const char *paths)
{
    for (const char *from = paths; from && *from;) {
        size_t len = strcspn(from, ":");
        if (len) read_too(m, cbx_arena_strndup(m->g->arena, from, len));
        from += len + (from[len] == ':');
    }
}

/* An interpreter at PREFIX/bin comes with PREFIX, and so does one that it is a link to. */
static void read_interpreter(maker *m, const char *path)
{
    for (int i = 0; i < LINKS_MAX && !m->g->failed && *path; i++) {
        const char *folder = cbx_path_parent(m->g->arena, path), *name = folder ? cbx_path_base(folder) : "";
        char to[PATH_MAX];
        if (!folder) m->g->failed = true;
        if (!strcmp(name, "bin") || !strcmp(name, "shims")) {
            const char *prefix = cbx_path_parent(m->g->arena, folder);
            read_too(m, prefix);
            /* "home = /usr/bin" of a virtual environment: where the interpreter that it was made
             * with lies. */
            const char *settings = prefix ? cbx_arena_printf(m->g->arena, "%s/pyvenv.cfg", prefix) : NULL;
            FILE *fp = settings ? fopen(settings, "re") : NULL;
            char line[PATH_MAX], home[PATH_MAX];
            if (!settings) m->g->failed = true;
            while (fp && fgets(line, sizeof line, fp))
                if (sscanf(line, "home = %4000[^\n]", home) == 1) read_too(m, cbx_path_parent(m->g->arena, home));
            if (fp) fclose(fp);
        } else {
            read_too(m, path);
        }
        ssize_t n = readlink(path, to, sizeof to - 1);
        if (n <= 0) return;
        to[n] = '\0';
        path = to[0] == '/' ? cbx_arena_strdup(m->g->arena, to) : cbx_arena_printf(m->g->arena, "%s/%s", folder, to);
        if (!path) m->g->failed = true;
    }
}

/* The Python file of a case, and what is imported from beside it. */
static void read_definition(maker *m, const char *definition)
{
    cbx_json *o = NULL;
    cbx_status st = definition ? cbx_json_parse(definition, strlen(definition), "definition", &o, NULL) : CBX_OK;

    if (st == CBX_ENOMEM) m->g->failed = true;
    if (!o) return;
    const char *file = cbx_json_get_string(o, "file", NULL);
    if (file) read_too(m, cbx_path_parent(m->g->arena, file));
    cbx_json_unref(o);
}

/* Libraries that this process found will be looked for by the worker as well. */
static int read_object(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    if (info->dlpi_name && info->dlpi_name[0] == '/') read_too(user, info->dlpi_name);
    return 0;
}

/* All but the folders of one launch; out->failed: no memory. */
static void make_lasting(const cbx__grants_for *f, cbx_arena *arena, cbx__grants *out)
{
    static const cbx_sandbox none = { .nhidden = 0 };
    const cbx_sandbox *p = f->policy ? f->policy : &none;
    maker m = { f, out, cbx_arena_calloc(arena, p->nhidden + 1, sizeof *m.hidden), 0 };

    *out = (cbx__grants){ .arena = arena, .failed = !m.hidden };
    for (size_t i = 0; i <= p->nhidden && !out->failed; i++) {
        const char *path = i < p->nhidden ? p->hidden[i] : f->oracle_dir;
        if (!path && i == p->nhidden) break;
        m.hidden[m.nhidden] = canonical(arena, path);
        out->failed = !m.hidden[m.nhidden++];
    }
    for (size_t i = 0; i < CBX_LEN(system_folders) && !out->failed; i++) read_too(&m, system_folders[i]);
    if (!out->failed) {
        bool cuda = m.f->platform && !strncmp(m.f->platform, "cuda", 4);
        DIR *dir = cuda ? opendir("/dev") : NULL;
        struct dirent *e;
        for (size_t i = 0; i < CBX_LEN(plain_devices); i++) push(m.g, DEVICE, plain_devices[i]);
        while (dir && (e = readdir(dir)))
            if (!strncmp(e->d_name, "nvidia", 6) || !strcmp(e->d_name, "dri") || !strcmp(e->d_name, "dxg"))
                push(m.g, DEVICE, cbx_arena_printf(m.g->arena, "/dev/%s", e->d_name));
        if (dir) closedir(dir);
        if (cuda) push(m.g, DEVICE, "/proc/self/task"); /* cuInit writes the names of its threads there, or fails */
    }
    if (!out->failed) {
        const char *home = getenv("HOME");
        if (m.f->interpreter) read_interpreter(&m, m.f->interpreter);
        for (size_t i = 0; m.f->program[i]; i++) {
            const char *place = m.f->program[i];
            if (place[0] != '/' && !strchr(place, '/')) continue;
            read_too(&m, strstr(place, ".py") ? cbx_path_parent(m.g->arena, place) : place);
        }
        if (home && home[0] == '/') read_too(&m, cbx_arena_printf(m.g->arena, "%s/.local/lib", home));
        read_list(&m, getenv("LD_LIBRARY_PATH"));
        read_list(&m, getenv("NPERF_PLUGINS"));
        dl_iterate_phdr(read_object, &m);
    }
    for (size_t i = 0; i < CBX_LEN(f->definitions) && !out->failed; i++) read_definition(&m, f->definitions[i]);
    for (size_t i = 0; i < p->nreadable && !out->failed; i++) read_too(&m, p->readable[i]);
    for (size_t i = 0; i < p->nwritable && !out->failed; i++) add(out, WRITE, p->writable[i], m.hidden, m.nhidden);
}

/* --- kept ones --- */

typedef struct kept_list kept_list;
struct kept_list {
    const char *asked; /* by whom, as one text */
    cbx__grants grants;
    kept_list *next;
};

struct cbx__grants_kept {
    pthread_mutex_t lock; /* guards all below, and their arena */
    cbx_allocator al;
    cbx_arena arena;
    kept_list *first;
};

cbx__grants_kept *cbx__grants_keep(const cbx_allocator *al)
{
    cbx__grants_kept *kept = cbx_mem_zalloc(al, sizeof *kept);

    if (!kept) return NULL;
    kept->al = *al;
    cbx_arena_init(&kept->arena, &kept->al);
    pthread_mutex_init(&kept->lock, NULL);
    return kept;
}

void cbx__grants_forget(cbx__grants_kept *kept)
{
    if (!kept) return;
    cbx_allocator al = kept->al;
    pthread_mutex_destroy(&kept->lock);
    cbx_arena_clear(&kept->arena);
    cbx_mem_free(&al, kept, sizeof *kept);
}

/* All that decides what is granted, but the policy, which is one. */
static const char *asked_by(const cbx__grants_for *f, cbx_arena *arena)
{
    const char *const words[] = { f->oracle_dir, f->interpreter, f->definitions[0], f->definitions[1], f->platform };
    const char *text = "";

    for (size_t i = 0; f->program[i] && text; i++) text = cbx_arena_printf(arena, "%s%s\n", text, f->program[i]);
    for (size_t i = 0; i < CBX_LEN(words) && text; i++)
        text = cbx_arena_printf(arena, "%s%s%s\n", text, words[i] ? "=" : "", words[i] ? words[i] : "");
    return text;
}

cbx_status cbx__grants_find(cbx__grants_kept *kept, const cbx__grants_for *f, cbx_arena *arena, cbx__grants *out,
                            cbx_err *err)
{
    const char *asked = kept ? asked_by(f, arena) : NULL;
    kept_list *k = NULL;

    *out = (cbx__grants){ .arena = arena };
    if (!kept) make_lasting(f, arena, out);
    if (asked) {
        pthread_mutex_lock(&kept->lock);
        for (k = kept->first; k && strcmp(k->asked, asked) != 0;) k = k->next;
        if (!k && (k = cbx_arena_calloc(&kept->arena, 1, sizeof *k))) {
            k->asked = cbx_arena_strdup(&kept->arena, asked);
            make_lasting(f, &kept->arena, &k->grants);
            k->next = kept->first;
            if (k->asked && !k->grants.failed)
                kept->first = k;
            else
                k = NULL;
        }
        pthread_mutex_unlock(&kept->lock);
    }
    if (kept) out->failed = !k;
    for (size_t i = 0; k && i < k->grants.count; i++) push(out, k->grants.list[i].option, k->grants.list[i].path);
    if (f->scratch) push(out, WRITE, f->scratch);
    if (f->jit_cache) push(out, WRITE, f->jit_cache);
    return out->failed ? cbx_fail(err, CBX_ENOMEM, "no memory for what a worker may read") : CBX_OK;
}

/* --- a folder for one launch ---
 *
 * Its user's lock marks it as in use: a folder without one was left
 * behind by a program that was killed, and the next one takes it away.
 */
#define PREFIX     "nperf-scratch-"
#define MAKE_TRIES 10

static const char *base_folder(void)
{
    const char *base = getenv("TMPDIR");
    return base && base[0] == '/' && strlen(base) < sizeof(((cbx__scratch_folder *)0)->path) - 32 ? base : "/tmp";
}

void cbx__scratch_folder_init(cbx__scratch_folder *s)
{
    s->path[0] = '\0';
    s->lock = -1;
}

static int open_folder(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

cbx_status cbx__scratch_folder_make(cbx__scratch_folder *s, cbx_err *err)
{
    struct stat info;

    cbx__scratch_folder_init(s);
    for (int i = 0; i < MAKE_TRIES; i++) {
        snprintf(s->path, sizeof s->path, "%s/" PREFIX "XXXXXX", base_folder());
        if (!mkdtemp(s->path)) break;
        const int fd = open_folder(AT_FDCWD, s->path);
        /* a sweeper may have come between the making and the locking */
        if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0 && fstat(fd, &info) == 0 && info.st_nlink > 0) {
            s->lock = fd;
            return CBX_OK;
        }
        if (fd >= 0) close(fd);
    }
    cbx_status st = cbx_fail_errno(err, errno, "cannot make a scratch folder for a worker in '%s'", base_folder());
    cbx__scratch_folder_init(s);
    return st;
}

void cbx__scratch_folder_remove(cbx__scratch_folder *s)
{
    if (!s->path[0]) return;
    cbx__temporary_remove(s->path);
    if (s->lock >= 0) close(s->lock);
    cbx__scratch_folder_init(s);
}

size_t cbx__scratch_folder_sweep(void)
{
    DIR *dir = opendir(base_folder());
    struct dirent *e;
    size_t n = 0;

    while (dir && (e = readdir(dir))) {
        char path[sizeof(((cbx__scratch_folder *)0)->path) + 256];
        struct stat info;
        if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) != 0) continue;
        const int fd = open_folder(dirfd(dir), e->d_name);
        const bool left = fd >= 0 && fstat(fd, &info) == 0 && info.st_uid == geteuid() &&
                          flock(fd, LOCK_EX | LOCK_NB) == 0;
        if (fd >= 0) close(fd);
        if (!left) continue;
        snprintf(path, sizeof path, "%s/%s", base_folder(), e->d_name);
        cbx__temporary_remove(path);
        n++;
    }
    if (dir) closedir(dir);
    return n;
}

/* --- the environment --- */

void cbx__scratch_folder_environment(cbx__environment *e, const char *path)
{
    static const char *const here[] = { "HOME",          "TMPDIR",         "TMP",
                                        "TEMP",          "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
                                        "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR" };
    const char *home = getenv("HOME");
    const char *user_base = home && home[0] == '/' ? cbx_arena_printf(e->arena, "%s/.local", home) : NULL;

    if (!user_base && home && home[0] == '/') e->failed = true;
    /* packages of `pip install --user` are still found */
    if (user_base) cbx__environment_set(e, "PYTHONUSERBASE", user_base);
    for (size_t i = 0; i < CBX_LEN(here); i++) cbx__environment_set(e, here[i], path);
}
