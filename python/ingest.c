/* Files of other benchmark tools as runs: read into Python, or taken into a store as they come. */
#include <stdlib.h>
#include <string.h>

#include "python/answers.h"
#include "python/store.h"

/* ---- what is wished, what comes of it ---- */

typedef struct wish {
    cbx_import_opts o;
    cbx_machine machine; /* for 'here' */
} wish;

/* 'here' becomes the fingerprint of this machine. */
static bool find_machine(cx_state *st, wish *w)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_status status;
    cbx_ctx *ctx;

    if (!w->o.machine || strcmp(w->o.machine, "here") != 0) return true;
    ctx = cx_ctx_borrow(st);
    if (!ctx) return false;
    status = cbx_machine_read(ctx, NULL, &w->machine, &err);
    cx_ctx_return(st, ctx);
    w->o.machine = w->machine.id;
    return status ? cx_raise(status, err.message) != NULL : true;
}

static bool append(PyObject *list, PyObject *v)
{
    bool fine = v && PyList_Append(list, v) == 0;
    Py_XDECREF(v);
    return fine;
}

static PyObject *note_object(cx_state *st, const char *file, const char *entry, const char *message)
{
    return cx_record_new(
        st, CX_IMPORT_NOTE,
        (PyObject *[]){ PyUnicode_DecodeFSDefault(file), cx_text_or_none(entry), PyUnicode_FromString(message) });
}

static bool add_notes(cx_state *st, PyObject *list, const char *file, const cbx_import *import)
{
    bool fine = true;

    for (size_t i = 0; fine && i < import->nnotes; i++)
        fine = append(list, note_object(st, file, import->notes[i].entry, import->notes[i].message));
    if (fine && import->nnotes_left_out) {
        PyObject *text = PyUnicode_FromFormat("%zu more notes of this kind are left out", import->nnotes_left_out);
        const char *words = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
        fine = words && append(list, note_object(st, file, NULL, words));
        Py_XDECREF(text);
    }
    return fine;
}

/* Three lists as the tuples of a record, which takes them over. */
static PyObject *three_tuples(cx_state *st, cx_record_kind kind, PyObject *const lists[3])
{
    PyObject *fields[3];

    for (int i = 0; i < 3; i++) fields[i] = PySequence_Tuple(lists[i]);
    return cx_record_new(st, kind, fields);
}

static bool three_lists(PyObject *lists[3])
{
    bool fine = true;
    for (int i = 0; i < 3; i++) fine = (lists[i] = PyList_New(0)) && fine;
    return fine;
}

static void drop_lists(PyObject *lists[3])
{
    for (int i = 0; i < 3; i++) Py_XDECREF(lists[i]);
}

/* ---- into Python ---- */

enum { RUNS, FORMATS, NOTES };

static bool import_file(cx_call *c, const char *file, const wish *w, PyObject *lists[3])
{
    cx_state *st = c->st;
    cbx_ctx *ctx = cx_ctx_borrow(st);
    cbx_import import;
    cbx_status status;
    bool fine = true;

    if (!ctx) return false;
    Py_BEGIN_ALLOW_THREADS status = cbx_import_file(ctx, file, &w->o, &import, &c->err);
    Py_END_ALLOW_THREADS if (!status)
    {
        for (size_t i = 0; fine && i < import.nruns; i++)
            fine = append(lists[RUNS], cx_run_object(st, cbx_run_ref(import.runs[i]))) &&
                   append(lists[FORMATS], PyUnicode_FromString(import.format));
        fine = fine && add_notes(st, lists[NOTES], file, &import);
        cbx_import_clear(&import);
    }
    cx_ctx_return(st, ctx);
    return status ? cx_raise(status, c->err.message) != NULL : fine;
}

static PyObject *do_import(cx_call *c)
{
    wish w = { .o = CBX_IMPORT_OPTS_INIT };
    PyObject *lists[3] = { 0 }, *bytes = NULL, *r = NULL;
    const char *path, *const *files = NULL;
    cbx_arena arena;
    size_t n = 0;
    bool fine;

    if (!CX_GET(c, w.o.format, w.o.commit, w.o.branch, w.o.machine) || !find_machine(c->st, &w) ||
        !cx_path_from(cx_arg(c, "path"), &bytes, &path))
        return NULL;
    cbx_arena_init(&arena, cbx_allocator_default());
    fine = three_lists(lists) && cx_begin(c) && cx_fine(c, cbx_import_files(c->ctx, path, &arena, &files, &n, &c->err));
    for (size_t i = 0; fine && i < n; i++) fine = import_file(c, files[i], &w, lists);
    if (fine) r = three_tuples(c->st, CX_IMPORTED, lists);
    drop_lists(lists);
    cbx_arena_clear(&arena);
    Py_DECREF(bytes);
    return r;
}

static PyObject *do_formats(cx_call *c)
{
    PyObject *dict = PyDict_New();

    (void)c;
    for (size_t i = 0; dict && i < cbx_importers_count(); i++) {
        cbx_importer_info info = cbx_importers_at(i);
        PyObject *v = PyUnicode_FromString(info.summary);
        if (!v || PyDict_SetItemString(dict, info.name, v) < 0) Py_CLEAR(dict);
        Py_XDECREF(v);
    }
    return dict;
}

/* clang-format off */
#define INGEST(X) \
    X(import_runs, "path: Path, /, *, format: str | None = None, commit: str | None = None, branch: str | None = None, machine: str | None = None", "Imported", do_import, 0, "Runs of a file of another tool (or of ours), or of a folder of them: an Imported. format None: found out from the content; commit, branch, machine: of files that name none, machine 'here' for this one.") \
    X(import_formats, "", "dict[str, str]", do_formats, 0, "Names of the formats that are known, with a sentence each.")
/* clang-format on */
CX_FUNCTIONS(cx_ingest_methods, INGEST)

/* ---- into a store ---- */

enum { TAKEN, SKIPPED, SAID };

/* The work on one file goes on without the interpreter's lock; its outcomes become objects behind it. */
typedef struct taking {
    PyObject *self;
    cx_state *st;
    wish w;
    int replace;
    PyObject *lists[3];
} taking;

static bool skip(taking *k, const char *file, const char *message)
{
    return append(k->lists[SKIPPED], note_object(k->st, file, NULL, message));
}

static bool keep(taking *k, const char *file, const cbx_import *import, size_t i)
{
    cbx_err err = CBX_ERR_INIT;
    PyThreadState *t = cx_store_enter(k->self);
    cbx_status status = cx_store_closed(k->self, &err);

    if (!status) status = cbx_store_save(cx_store_of(k->self)->store, import->runs[i], k->replace, &err);
    cx_store_leave(k->self, t);
    if (status == CBX_ENOMEM) return PyErr_NoMemory() != NULL;
    if (status) return skip(k, file, err.message);
    return append(k->lists[TAKEN], cx_record_new(k->st, CX_INGESTED_RUN,
                                                 (PyObject *[]){ PyUnicode_FromString(cbx_run_id(import->runs[i])),
                                                                 PyLong_FromSize_t(cbx_run_npoints(import->runs[i])),
                                                                 PyUnicode_DecodeFSDefault(file),
                                                                 PyUnicode_FromString(import->format) }));
}

static bool take_file(taking *k, cbx_ctx *ctx, const char *file)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_import import;
    cbx_status status;
    bool fine;

    Py_BEGIN_ALLOW_THREADS status = cbx_import_file(ctx, file, &k->w.o, &import, &err);
    Py_END_ALLOW_THREADS if (status == CBX_ENOMEM) return PyErr_NoMemory() != NULL;
    if (status) return skip(k, file, err.message);
    fine = add_notes(k->st, k->lists[SAID], file, &import);
    for (size_t i = 0; fine && i < import.nruns; i++) fine = keep(k, file, &import, i);
    cbx_import_clear(&import);
    return fine && PyErr_CheckSignals() == 0;
}

static bool take_path(taking *k, cbx_ctx *ctx, PyObject *o)
{
    PyObject *bytes = NULL;
    const char *path, *const *files = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_arena arena;
    bool fine = true;
    size_t n = 0;

    if (!cx_path_from(o, &bytes, &path)) return false;
    cbx_arena_init(&arena, cbx_allocator_default());
    if (cbx_import_files(ctx, path, &arena, &files, &n, &err)) fine = skip(k, path, err.message);
    for (size_t i = 0; fine && i < n; i++) fine = take_file(k, ctx, files[i]);
    cbx_arena_clear(&arena);
    Py_DECREF(bytes);
    return fine;
}

static bool is_open(const taking *k)
{
    PyThreadState *t = cx_store_enter(k->self);
    cbx_err err = CBX_ERR_INIT;
    cbx_status status = cx_store_closed(k->self, &err);

    cx_store_leave(k->self, t);
    return status ? cx_raise(status, err.message) != NULL : true;
}

PyObject *cx_store_ingest(PyObject *self, PyObject *args, PyObject *kw)
{
    static char *names[] = { "format", "commit", "branch", "machine", "replace", NULL };
    taking k = { .self = self, .st = PyType_GetModuleState(Py_TYPE(self)), .w = { .o = CBX_IMPORT_OPTS_INIT } };
    PyObject *none = PyTuple_New(0), *r = NULL;
    cbx_ctx *ctx = NULL;
    bool fine = none && PyArg_ParseTupleAndKeywords(none, kw, "|$zzzzp:ingest", names, &k.w.o.format, &k.w.o.commit,
                                                    &k.w.o.branch, &k.w.o.machine, &k.replace);

    Py_XDECREF(none);
    if (fine && !PyTuple_Size(args)) {
        PyErr_SetString(PyExc_TypeError, "ingest takes the files or folders to take: ingest('results.json')");
        fine = false;
    }
    fine = fine && find_machine(k.st, &k.w) && is_open(&k) && three_lists(k.lists) && (ctx = cx_ctx_borrow(k.st));
    for (Py_ssize_t i = 0; fine && i < PyTuple_Size(args); i++) fine = take_path(&k, ctx, PyTuple_GetItem(args, i));
    if (fine) r = three_tuples(k.st, CX_INGESTED, k.lists);
    if (ctx) cx_ctx_return(k.st, ctx);
    drop_lists(k.lists);
    return r;
}
