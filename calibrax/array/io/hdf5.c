/* HDF5: the library itself (1.10 or newer; BSD-3-Clause), loaded on first use, its errors, and
 * files.
 *
 * libhdf5 is a state of its own in the process: H5open fills it, one lock guards it, nothing
 * unloads it.  Every public function puts the thread's printing of errors aside on entry and back
 * on its way out, since other code of the process may use HDF5, too. */
#include "calibrax/array/io/hdf5.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/array/io/hdf5_calls.h"

#define MAX_BYTES_DEFAULT ((uint64_t)4 << 30)
#define COPY_BYTES        ((size_t)1 << 20)

/* --- the library --- */

static cbx_status load(cbx_ctx *ctx, h5_calls *c, cbx_library **lib, cbx_err *err)
{
    const cbx_library_symbol symbols[] = {
#define H5_SYMBOL(name, result, args) { "H5" #name, (void **)(void *)&c->name },
        H5_CALLS(H5_SYMBOL)
#undef H5_SYMBOL
#define H5_SYMBOL(name) { "H5" #name "_g", (void **)(void *)&c->name },
            H5_IDS(H5_SYMBOL)
#undef H5_SYMBOL
    };
    cbx_library_spec spec = cbx_library_known(CBX_LIBRARY_HDF5);
    cbx_status st;

    spec.symbols = symbols;
    spec.nsymbols = CBX_LEN(symbols);
    st = cbx_library_open(ctx, &spec, lib, err);
    if (st) return st;
    if (c->open() < 0) {
        st = cbx_fail(err, CBX_EUNAVAILABLE, "'%s' does not start", cbx_library_name(*lib));
        cbx_library_close(*lib);
        *lib = NULL;
        return st;
    }
    return CBX_OK;
}

h5_entered cbx__h5_enter(const cbx_h5 *h)
{
    h5_entered before = { NULL, NULL };

    if (h->c.Eget_auto2(H5E_DEFAULT, &before.function, &before.data) < 0) before = (h5_entered){ NULL, NULL };
    h->c.Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return before;
}

void cbx__h5_leave(const cbx_h5 *h, h5_entered before)
{
    h->c.Eclear2(H5E_DEFAULT);
    h->c.Eset_auto2(H5E_DEFAULT, before.function, before.data);
}

/* --- errors --- */

typedef struct found {
    char text[256];
    cbx_status status;
} found;

/* The first entry is the bottom of the stack: what happened.  Those above say who had asked. */
static herr_t take_first(unsigned n, const H5E_error2_t *e, void *user)
{
    found *f = user;

    if (n > 0) return 0;
    snprintf(f->text, sizeof(f->text), "%s", e->desc ? e->desc : "");
    for (char *p = f->text; *p; p++)
        if ((unsigned char)*p < ' ') *p = ' ';
    return 0;
}

cbx_status cbx__h5_fail(const cbx_h5 *h, cbx_err *err, const char *doing, const char *what)
{
    static const struct {
        const char *words;
        cbx_status status;
    } others[] = { { "No space left on device", CBX_ENOSPC }, { "errno = 28", CBX_ENOSPC },
                   { "File too large", CBX_ENOSPC },          { "memory allocation failed", CBX_ENOMEM },
                   { "Permission denied", CBX_EPERM },        { "Input/output error", CBX_EIO } };
    found f = { "", CBX_EFORMAT };

    h->c.Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, &f);
    for (size_t i = 0; i < CBX_LEN(others); i++)
        if (strstr(f.text, others[i].words)) f.status = others[i].status;
    if (strstr(f.text, "signature not found")) snprintf(f.text, sizeof(f.text), "it is no HDF5 file");
    if (!f.text[0]) snprintf(f.text, sizeof(f.text), "HDF5 gives no reason");
    if (!what) return cbx_fail(err, f.status, "cannot %s '%s': %s", doing, h->name, f.text);
    return cbx_fail(err, f.status, "cannot %s '%s' of '%s': %s", doing, what, h->name, f.text);
}

cbx_status cbx__h5_check_writable(const cbx_h5 *h, const char *what, cbx_err *err)
{
    if (h->replacement) return CBX_OK;
    return cbx_fail(err, CBX_EPERM, "cannot write '%s': '%s' is open for reading", what, h->name);
}

bool cbx__h5_exists(const cbx_h5 *h, const char *path)
{
    char part[1024];
    size_t n = strlen(path);

    if (n >= sizeof(part)) return true; /* left to HDF5 */
    for (size_t i = 0; i <= n; i++) {
        if (path[i] != '/' && path[i]) continue;
        if (i == 0 || path[i - 1] == '/') continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (h->c.Lexists(h->file, part, H5P_DEFAULT) <= 0) return false;
    }
    return true;
}

/* --- files --- */

static void handle_free(cbx_h5 *h)
{
    cbx_allocator al = h->al;

    cbx_replacement_discard(h->replacement);
    cbx_library_close(h->lib);
    cbx_mem_free(&al, h, sizeof(*h));
}

void cbx_h5_close(cbx_h5 *h)
{
    if (!h) return;
    h5_entered before = cbx__h5_enter(h);
    if (h->file >= 0) h->c.Fclose(h->file);
    cbx__h5_leave(h, before);
    handle_free(h);
}

cbx_status cbx_h5_commit(cbx_h5 *h, cbx_err *err)
{
    cbx_status st = CBX_OK;
    h5_entered before = cbx__h5_enter(h);

    if (h->replacement && h->c.Fflush(h->file, H5F_SCOPE_LOCAL) < 0) st = cbx__h5_fail(h, err, "write", NULL);
    if (h->c.Fclose(h->file) < 0 && !st) st = cbx__h5_fail(h, err, "close", NULL);
    cbx__h5_leave(h, before);
    if (!st && h->replacement) {
        st = cbx_replacement_commit(h->replacement, err);
        h->replacement = NULL;
    }
    handle_free(h);
    return st;
}

static cbx_status handle_create(cbx_ctx *ctx, const char *path, const cbx_h5_opts *opts, cbx_h5 **out, cbx_err *err)
{
    if (opts && opts->struct_size != sizeof(*opts))
        return cbx_fail(
            err, CBX_EINVAL,
            "'struct_size' of the file's options is %u, this library knows %zu: rebuild against its headers",
            opts->struct_size, sizeof(*opts));
    cbx_h5 *h = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof(*h));
    if (!h) return cbx_fail(err, CBX_ENOMEM, "no memory to open '%s'", path);
    h->ctx = ctx;
    h->al = *cbx_ctx_allocator(ctx);
    h->file = -1;
    h->max_bytes = opts && opts->max_array_bytes ? opts->max_array_bytes : MAX_BYTES_DEFAULT;
    snprintf(h->name, sizeof(h->name), "%s", path);
    cbx_status st = load(ctx, &h->c, &h->lib, err);
    if (st)
        handle_free(h);
    else
        *out = h;
    return st;
}

static cbx_status check_regular(const char *path, cbx_err *err)
{
    struct stat s;

    if (stat(path, &s)) return cbx_fail_errno(err, errno, "cannot open '%s'", path);
    if (!S_ISREG(s.st_mode)) return cbx_fail(err, CBX_EINVAL, "cannot open '%s': it is no regular file", path);
    return CBX_OK;
}

/* All bytes of one descriptor into another, by the kernel where it can. */
static bool copy_all(int from, int to, char *buf)
{
    ssize_t n;

    while ((n = copy_file_range(from, NULL, to, NULL, (size_t)1 << 30, 0)) > 0) continue;
    if (n == 0) return true;
    while ((n = read(from, buf, COPY_BYTES)) != 0) { /* goes on where the kernel stopped */
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        for (ssize_t done = 0, w; done < n; done += w) {
            w = write(to, buf + done, (size_t)(n - done));
            if (w < 0 && errno == EINTR) w = 0;
            if (w < 0) return false;
        }
    }
    return true;
}

static cbx_status copy_file(cbx_h5 *h, const char *path, cbx_err *err)
{
    cbx_status st = CBX_OK;
    char *buf = cbx_mem_alloc(&h->al, COPY_BYTES);
    int from = open(path, O_RDONLY | O_CLOEXEC), to = open(cbx_replacement_path(h->replacement), O_WRONLY | O_CLOEXEC);

    if (!buf)
        st = cbx_fail(err, CBX_ENOMEM, "no memory to copy '%s'", path);
    else if (from < 0 || to < 0 || !copy_all(from, to, buf))
        st = cbx_fail_errno(err, errno, "cannot copy '%s'", path);
    if (from >= 0) close(from);
    if (to >= 0) close(to);
    cbx_mem_free(&h->al, buf, COPY_BYTES);
    return st;
}

static cbx_status open_mode(cbx_h5 *h, const char *path, cbx_h5_mode mode, cbx_err *err)
{
    bool fresh = mode == CBX_H5_CREATE || (mode == CBX_H5_APPEND && !cbx_path_exists(path));
    cbx_status st = fresh ? CBX_OK : check_regular(path, err);

    if (!st && mode != CBX_H5_READ) st = cbx_replacement_begin(h->ctx, path, &h->replacement, err);
    if (!st && mode == CBX_H5_APPEND && !fresh) st = copy_file(h, path, err);
    if (st) return st;
    h5_entered before = cbx__h5_enter(h);
    if (fresh)
        h->file = h->c.Fcreate(cbx_replacement_path(h->replacement), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    else if (mode == CBX_H5_APPEND)
        h->file = h->c.Fopen(cbx_replacement_path(h->replacement), H5F_ACC_RDWR, H5P_DEFAULT);
    else
        h->file = h->c.Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (h->file < 0) st = cbx__h5_fail(h, err, "open", NULL);
    cbx__h5_leave(h, before);
    return st;
}

cbx_status cbx_h5_open(cbx_ctx *ctx, const char *path, cbx_h5_mode mode, const cbx_h5_opts *opts, cbx_h5 **out,
                       cbx_err *err)
{
    cbx_h5 *h = NULL;
    cbx_status st = handle_create(ctx, path, opts, &h, err);

    if (st) return st;
    st = open_mode(h, path, mode, err);
    if (st)
        cbx_h5_close(h);
    else
        *out = h;
    return st;
}
