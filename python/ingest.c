/* Files of other benchmark tools as runs: read into Python, or taken into a store as they come. */
#include <string.h>

#include "python/store.h"

/* Options of importing; machine 'here' becomes the fingerprint of this machine. */
static bool import_opts(cx_call *c, cbx_import_opts *o, cbx_machine *machine)
{
    cbx_status status;
    cbx_ctx *ctx;

    if (!CX_GET(c, o->format, o->commit, o->branch, o->machine)) return false;
    if (!o->machine || strcmp(o->machine, "here") != 0) return true;
    if (!(ctx = cx_ctx_borrow(c->st))) return false;
    status = cbx_machine_read(ctx, NULL, machine, &c->err);
    cx_ctx_return(c->st, ctx);
    o->machine = machine->id;
    return cx_fine(c, status);
}

static PyObject *note_object(cx_state *st, const char *file, const char *entry, const char *message)
{
    return cx_record_new(st, CX_IMPORT_NOTE, "(Nzs)", PyUnicode_DecodeFSDefault(file), entry, message);
}

/* A record of three lists that become tuples. */
typedef struct lists {
    PyObject *first, *second, *notes;
} lists;

static bool lists_new(cx_call *c, lists *l)
{
    return cx_keep_object(c, l->first = PyList_New(0)) && cx_keep_object(c, l->second = PyList_New(0)) &&
           cx_keep_object(c, l->notes = PyList_New(0));
}

static PyObject *lists_record(cx_call *c, cx_record_kind kind, const lists *l)
{
    return cx_record_new(c->st, kind, "(NNN)", PySequence_Tuple(l->first), PySequence_Tuple(l->second),
                         PySequence_Tuple(l->notes));
}

static bool add_notes(cx_call *c, PyObject *list, const char *file, const cbx_import *import)
{
    for (size_t i = 0; i < import->nnotes; i++)
        if (!cx_append(list, note_object(c->st, file, import->notes[i].entry, import->notes[i].message))) return false;
    if (import->nnotes_left_out) {
        const char *text = cbx_arena_printf(cx_arena(c), "%zu more notes of this kind are not shown",
                                            import->nnotes_left_out);
        return text ? cx_append(list, note_object(c->st, file, NULL, text)) : PyErr_NoMemory() != NULL;
    }
    return true;
}

/* Reads a file without the interpreter's lock. */
static cbx_status import_file(cx_call *c, cbx_ctx *ctx, const char *file, const cbx_import_opts *o, cbx_import *out)
{
    PyThreadState *t = PyEval_SaveThread();
    cbx_status status = cbx_import_file(ctx, file, o, out, &c->err);

    PyEval_RestoreThread(t);
    return status;
}

/* ---- one path: into the lists, or into a store ---- */

static bool skip(cx_call *c, const lists *l, const char *file, const char *message)
{
    return cx_append(l->second, note_object(c->st, file, NULL, message));
}

static bool keep(cx_call *c, const lists *l, const char *file, const cbx_import *import, size_t i, bool replace)
{
    cbx_status status;

    CX_IN_STORE(c, status, cbx_store_save(CX_STORE(c), import->runs[i], replace, &c->err));
    if (status == CBX_ENOMEM) return PyErr_NoMemory() != NULL;
    if (status) return skip(c, l, file, c->err.message);
    return cx_append(l->first, cx_record_new(c->st, CX_INGESTED_RUN, "(snNs)", cbx_run_id(import->runs[i]),
                                             (Py_ssize_t)cbx_run_npoints(import->runs[i]),
                                             PyUnicode_DecodeFSDefault(file), import->format));
}

static bool take_path(cx_call *c, const lists *l, const char *path, const cbx_import_opts *o, bool store, bool replace)
{
    const char *const *files = NULL;
    size_t n = 0;
    cbx_status status = cbx_import_files(c->ctx, path, cx_arena(c), &files, &n, &c->err);

    if (status) return store ? skip(c, l, path, c->err.message) : cx_fine(c, status);
    for (size_t i = 0; i < n; i++) {
        CX_ENDED_BY(cbx_import_clear) cbx_import import = { 0 };
        status = import_file(c, c->ctx, files[i], o, &import);
        if (status && store && status != CBX_ENOMEM && skip(c, l, files[i], c->err.message)) continue;
        if (!cx_fine(c, status) || !add_notes(c, l->notes, files[i], &import)) return false;
        for (size_t k = 0; k < import.nruns; k++)
            if (!(store ? keep(c, l, files[i], &import, k, replace)
                        : cx_append(l->first, cx_run_object(c->st, cbx_run_ref(import.runs[k]))) &&
                              cx_append(l->second, PyUnicode_FromString(import.format))))
                return false;
        if (PyErr_CheckSignals() < 0) return false;
    }
    return true;
}

CX_RETURN(do_import, (cbx_import_opts o = CBX_IMPORT_OPTS_INIT; cbx_machine machine; const char *path; lists l),
          import_opts(c, &o, &machine) && CX_GET(c, path) && lists_new(c, &l) && cx_begin(c) &&
              take_path(c, &l, path, &o, false, false),
          lists_record(c, CX_IMPORTED, &l))

static PyObject *do_formats(cx_call *c)
{
    (void)c;
    return CX_DICT(cbx_importers_count(), cbx_importers_at(i).name, PyUnicode_FromString(cbx_importers_at(i).summary));
}

/* clang-format off */
#define INGEST(X) \
    X(import_runs, "path: Path, /, *, format: str | None = None, commit: str | None = None, branch: str | None = None, machine: str | None = None", "Imported", do_import, 0, "Runs from a file of another tool or of Calibrax, or from a folder of them. format None: detected from the content; commit, branch, machine: used for files that do not name them, machine 'here' for this machine.\n\n>>> r = cx.Run([cx.Point('p', '', {}, {'t': 1.0})], id='a', detect=False)\n>>> r.write(os.path.join(folder, 'r.json'))\n>>> cx.import_runs(os.path.join(folder, 'r.json')).formats\n('calibrax',)") \
    X(import_formats, "", "dict[str, str]", do_formats, 0, "Names of the supported formats, with a description of each.\n\n>>> 'hyperfine' in cx.import_formats()\nTrue")
/* clang-format on */
CX_FUNCTIONS(cx_ingest_methods, INGEST, LIGHT)

PyObject *cx_store_ingest(cx_call *c)
{
    cbx_import_opts o = CBX_IMPORT_OPTS_INIT;
    cbx_machine machine;
    cbx_status status;
    bool replace;
    lists l;

    if (!import_opts(c, &o, &machine) || !CX_GET(c, replace)) return NULL;
    if (!c->nrest)
        return PyErr_SetString(PyExc_TypeError, "ingest: 'paths' must name a file or a folder: ingest('results.json')"),
               NULL;
    CX_IN_STORE(c, status, CBX_OK);
    if (!cx_fine(c, status) || !lists_new(c, &l) || !cx_begin(c)) return NULL;
    for (Py_ssize_t i = 0; i < c->nrest; i++) {
        CX_OWN PyObject *bytes = NULL;
        if (!PyUnicode_FSConverter(c->rest[i], &bytes) || !take_path(c, &l, PyBytes_AsString(bytes), &o, true, replace))
            return NULL;
    }
    return lists_record(c, CX_INGESTED, &l);
}
