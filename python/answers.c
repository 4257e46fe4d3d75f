/* Answers: the library's structs as tuples with names, by the table in answer_types.c. */
#include "python/answers.h"

#include <string.h>

#include "python/answer_types.h"
#include "python/objects.h"

static size_t nmembers(const cx_answer_type *t)
{
    size_t n = 0;
    while (t->members[n].name) n++;
    return n;
}

/* ---- lists ---- */

PyObject *cx_numbers_object(const double *x, size_t n) { return CX_TUPLE(n, PyFloat_FromDouble(x[i])); }

PyObject *cx_wholes_object(const size_t *x, size_t n) { return CX_TUPLE(n, PyLong_FromSize_t(x[i])); }

PyObject *cx_answer_list(cx_state *st, cx_answer_kind kind, const void *from, size_t n)
{
    return CX_TUPLE(n, cx_answer_object(st, kind, (const char *)from + i * cx_answer_types[kind].size));
}

/* ---- members ---- */

/* What is at a place, as a T. */
#define READ(T, at)                                                                                                    \
    ({                                                                                                                 \
        T v_;                                                                                                          \
        memcpy(&v_, at, sizeof v_);                                                                                    \
        v_;                                                                                                            \
    })

static uint64_t whole_at(const char *at, size_t width)
{
    if (width == sizeof(uint64_t)) return READ(uint64_t, at);
    return width == sizeof(uint8_t) ? READ(uint8_t, at) : READ(uint32_t, at);
}

static double number_at(const char *at) { return READ(double, at); }
static int int_at(const char *at) { return READ(int, at); }
static const void *pointer_at(const char *at) { return READ(const void *, at); }

static size_t count_of(const cx_member *m, const char *from, size_t each)
{
    return m->count == SIZE_MAX ? m->width / each : (size_t)whole_at(from + m->count, sizeof(size_t));
}

static PyObject *list_member(cx_state *st, const cx_member *m, const char *from)
{
    const char *at = from + m->at;
    size_t size = cx_answer_types[m->of].size;

    switch (m->kind) {
    case CX_AS_PARTS: return cx_answer_list(st, m->of, pointer_at(at), count_of(m, from, size));
    case CX_AS_PARTS_IN: return cx_answer_list(st, m->of, at, count_of(m, from, size));
    case CX_AS_NUMBERS_IN:
        return cx_numbers_object((const double *)(const void *)at, count_of(m, from, sizeof(double)));
    case CX_AS_NUMBERS:
        if (!pointer_at(at)) Py_RETURN_NONE;
        return cx_numbers_object(pointer_at(at), count_of(m, from, 1));
    case CX_AS_WHOLES_IN: return cx_wholes_object((const size_t *)(const void *)at, count_of(m, from, 1));
    default: return CX_TUPLE(count_of(m, from, 1), PyUnicode_FromString(at + i * m->width));
    }
}

static PyObject *member_object(cx_state *st, const cx_member *m, const char *from)
{
    const char *at = from + m->at;

    switch (m->kind) {
    case CX_AS_NUMBER: return PyFloat_FromDouble(number_at(at));
    case CX_AS_MAYBE: return cx_number_or_none(number_at(at));
    case CX_AS_WHOLE: return PyLong_FromUnsignedLongLong(whole_at(at, m->width));
    case CX_AS_INT: return PyLong_FromLongLong(m->width == sizeof(int) ? int_at(at) : (int64_t)whole_at(at, m->width));
    case CX_AS_DTYPE: return cx_dtype_object(st, (cbx_dtype)int_at(at));
    case CX_AS_FLAG: return PyBool_FromLong((long)whole_at(at, 1));
    case CX_AS_TEXT: return cx_text_or_none(pointer_at(at));
    case CX_AS_CHARS: return PyUnicode_FromString(at);
    case CX_AS_WORD: return PyUnicode_FromString(m->word(int_at(at)));
    case CX_AS_PART: return cx_answer_object(st, m->of, at);
    default: return list_member(st, m, from);
    }
}

PyObject *cx_answer_object(cx_state *st, cx_answer_kind kind, const void *from)
{
    const cx_answer_type *t = &cx_answer_types[kind];
    PyObject *tuple = PyStructSequence_New(st->answers[kind]);

    for (size_t i = 0; tuple && i < nmembers(t); i++) {
        PyObject *v = member_object(st, &t->members[i], from);
        if (v)
            PyStructSequence_SetItem(tuple, (Py_ssize_t)i, v);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* ---- the end of a call ---- */

PyObject *cx_record(cx_call *c, cx_answer_kind kind, size_t n, cbx_array **arrays)
{
    CX_OWN PyObject *all = cx_results(c, n, arrays, true);
    return all ? PyObject_CallFunctionObjArgs((PyObject *)c->st->answers[kind], all, NULL) : NULL;
}

PyObject *cx_answer(cx_call *c, cbx_status status, cx_answer_kind kind, const void *from)
{
    return cx_fine(c, status) ? cx_answer_object(c->st, kind, from) : NULL;
}

PyObject *cx_answer_called(cx_call *c, cx_callback *cb, cbx_status status, cx_answer_kind kind, const void *from)
{
    cx_lock(c);
    return cx_callback_done(cb) ? NULL : cx_answer(c, status, kind, from);
}

/* ---- types ---- */

static PyTypeObject *make_type(const cx_answer_type *t)
{
    PyStructSequence_Field fields[CX_MAX_MEMBERS + 1] = { { 0 } };
    PyStructSequence_Desc desc = { t->name, t->doc, fields, (int)nmembers(t) };

    for (size_t i = 0; i < nmembers(t); i++)
        fields[i] = (PyStructSequence_Field){ t->members[i].name, t->members[i].doc };
    return PyStructSequence_NewType(&desc);
}

/* "name: type, name: type" of the members, for the stubs. */
static PyObject *members_text(const cx_answer_type *t)
{
    static const char *const types_of[] = { [CX_AS_NUMBER] = "float",
                                            [CX_AS_MAYBE] = "float | None",
                                            [CX_AS_WHOLE] = "int",
                                            [CX_AS_INT] = "int",
                                            [CX_AS_FLAG] = "bool",
                                            [CX_AS_TEXT] = "str | None",
                                            [CX_AS_CHARS] = "str",
                                            [CX_AS_WORD] = "str",
                                            [CX_AS_PART] = "%s",
                                            [CX_AS_PARTS] = "tuple[%s, ...]",
                                            [CX_AS_PARTS_IN] = "tuple[%s, ...]",
                                            [CX_AS_NUMBERS] = "tuple[float, ...] | None",
                                            [CX_AS_NUMBERS_IN] = "tuple[float, ...]",
                                            [CX_AS_WHOLES_IN] = "tuple[int, ...]",
                                            [CX_AS_LINES] = "tuple[str, ...]",
                                            [CX_AS_DTYPE] = "dtype",
                                            [CX_AS_ARRAY] = "Array" };
    PyObject *text = PyUnicode_FromString("");

    for (const cx_member *m = t->members; text && m->name; m++) {
        PyUnicode_AppendAndDel(&text, PyUnicode_FromFormat(m == t->members ? "%s: " : ", %s: ", m->name));
        if (text)
            PyUnicode_AppendAndDel(
                &text, PyUnicode_FromFormat(types_of[m->kind], strchr(cx_answer_types[m->of].name, '.') + 1));
    }
    return text;
}

bool cx_add_answers(cx_state *st)
{
    for (int k = 0; k < CX_ANSWER_COUNT; k++) {
        const char *name = strchr(cx_answer_types[k].name, '.') + 1;
        if (!cx_put(st->signatures, name, members_text(&cx_answer_types[k]))) return false;
        if (!(st->answers[k] = make_type(&cx_answer_types[k]))) return false;
    }
    return true;
}

/* "calibrax_c.statistics.Interval" belongs to the namespace before the last dot, "calibrax_c.DoctorItem" to the module, and types
 * of array functions to none. */
static bool place(PyObject *module, const char *name, PyTypeObject *type)
{
    const char *last = strrchr(name, '.');
    CX_OWN PyObject *space = PyUnicode_FromStringAndSize(name, last - name);
    PyObject *into = !space                      ? NULL
                     : strchr(name, '.') == last ? module
                                                 : PyDict_GetItemWithError(PyImport_GetModuleDict(), space);

    return into && PyModule_AddObjectRef(into, last + 1, (PyObject *)type) == 0;
}

bool cx_place_types(cx_state *st, PyObject *module)
{
    for (int k = 0; k < CX_ANSWER_COUNT; k++)
        if (k > CX_LSTSQ && !place(module, cx_answer_types[k].name, st->answers[k])) return false;
    for (int k = 0; k < CX_OBJECT_COUNT; k++)
        if (!place(module, cx_object_type_name((cx_object_kind)k), st->objects[k])) return false;
    return true;
}
