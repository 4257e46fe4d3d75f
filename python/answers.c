/* Answers: the library's structs as tuples with names, by the table in answer_rows.inc. */
#include "python/answers.h"

#include <stddef.h>
#include <string.h>

#include "python/objects.h"

/* ---- the table ---- */

typedef enum member_kind {
    CX_AS_NUMBER,     /* double */
    CX_AS_MAYBE,      /* double; NaN is None */
    CX_AS_WHOLE,      /* unsigned, of width bytes */
    CX_AS_INT,        /* signed, of width bytes */
    CX_AS_FLAG,       /* bool */
    CX_AS_TEXT,       /* const char *; NULL is None */
    CX_AS_CHARS,      /* char[] */
    CX_AS_WORD,       /* an enumeration, named by word() */
    CX_AS_PART,       /* another struct of the table */
    CX_AS_PARTS,      /* a pointer to several, their number at count */
    CX_AS_PARTS_IN,   /* several inside, their number at count; fixed if count is SIZE_MAX: then width / size of them */
    CX_AS_NUMBERS,    /* a pointer to doubles, their number at count; NULL is None */
    CX_AS_NUMBERS_IN, /* doubles inside, as CX_AS_PARTS_IN */
    CX_AS_WHOLES_IN,  /* size_t inside, their number at count */
    CX_AS_LINES,      /* char[][width], their number at count */
    CX_AS_DTYPE,      /* cbx_dtype */
    CX_AS_ARRAY       /* an array, which cx_record puts in */
} member_kind;

typedef struct member {
    const char *name;
    member_kind kind;
    size_t at, width, count;
    cx_answer_kind of;
    const char *(*word)(int v);
    const char *doc;
} member;

enum { CX_MAX_MEMBERS = 40 };

typedef struct answer_type {
    const char *name, *doc;
    size_t size;
    const member *members; /* the first without a name ends them */
} answer_type;

/* Words of enumerations, by functions of one type. */
#define WORDS(name, function, type)                                                                                    \
    static const char *name(int v) { return function((type)v); }
WORDS(w_steady, cbx_steady_name, cbx_steady_class)
WORDS(w_complexity, cbx_complexity_name, cbx_complexity)
WORDS(w_direction, cbx_direction_name, cbx_direction)
WORDS(w_flops, cbx_flops_source_name, cbx_flops_source)
WORDS(w_severity, cbx_severity_name, cbx_severity)
WORDS(w_health, cbx_health_state_name, cbx_health_state)
WORDS(w_accuracy, cbx_accuracy_outcome_name, cbx_accuracy_outcome)
WORDS(w_tolerance, cbx_tolerance_outcome_name, cbx_tolerance_outcome)
WORDS(w_compile, cbx_compile_level_name, cbx_compile_level)
WORDS(w_bisect, cbx_bisect_outcome_name, cbx_bisect_outcome)
WORDS(w_doctor, cbx_doctor_state_name, cbx_doctor_state)
WORDS(w_convergence, cbx_convergence_outcome_name, cbx_convergence_outcome)
static const char *w_bound(int v) { return v == CBX_BOUND_COMPUTE ? "compute" : "memory"; }
static const char *w_tendency(int v) { return cbx_tendency_name((cbx_tendency_kind)v, CBX_DIRECTION_INFO); }
static const char *w_energy(int v)
{
    static const char *const words[] = { "package", "dram", "platform", "part" };
    return (size_t)v < CBX_LEN(words) ? words[v] : "?";
}

/* clang-format off */
/* Members in parentheses: the macro that describes one of the struct T, then its arguments
 * but T. */
#define WIDTH(T, m)                           sizeof(((T *)0)->m)
#define OF(T, name, m, kind, of, word, doc)   { #name, kind, offsetof(T, m), WIDTH(T, m), 0, of, word, doc }
#define LIST(T, name, m, kind, w, n, of, doc) { #name, kind, offsetof(T, m), WIDTH(T, w), offsetof(T, n), of, NULL, doc }
#define ALL(T, m, kind, of, doc)              { #m, kind, offsetof(T, m), WIDTH(T, m), SIZE_MAX, of, NULL, doc }
#define NAMED(T, name, doc)                   { #name, CX_AS_ARRAY, 0, 0, 0, 0, NULL, doc }
#define AS(name, m, kind, doc)                (OF, name, m, kind, 0, NULL, doc)
#define AS_WORD(name, m, f, doc)              (OF, name, m, CX_AS_WORD, 0, f, doc)
#define NUMBER(m, doc)                        AS(m, m, CX_AS_NUMBER, doc)
#define MAYBE(m, doc)                         AS(m, m, CX_AS_MAYBE, doc)
#define WHOLE(m, doc)                         AS(m, m, CX_AS_WHOLE, doc)
#define INT(m, doc)                           AS(m, m, CX_AS_INT, doc)
#define FLAG(m, doc)                          AS(m, m, CX_AS_FLAG, doc)
#define TEXT(m, doc)                          AS(m, m, CX_AS_TEXT, doc)
#define CHARS(m, doc)                         AS(m, m, CX_AS_CHARS, doc)
#define ARRAY(name, doc)                      (NAMED, name, doc)
#define WORD(m, f, doc)                       AS_WORD(m, m, f, doc)
#define PART(m, kind, doc)                    (OF, m, m, CX_AS_PART, CX_##kind, NULL, doc)
#define PARTS(m, kind, n, doc)                (LIST, m, m, CX_AS_PARTS, m, n, CX_##kind, doc)
#define PARTS_IN(m, kind, n, doc)             (LIST, m, m, CX_AS_PARTS_IN, m, n, CX_##kind, doc)
#define PARTS_ALL(m, kind, doc)               (ALL, m, CX_AS_PARTS_IN, CX_##kind, doc)
#define AS_LIST(name, m, kind, n, doc)        (LIST, name, m, kind, m, n, 0, doc)
#define NUMBERS(m, n, doc)                    (LIST, m, m, CX_AS_NUMBERS, m, n, 0, doc)
#define NUMBERS_IN(m, n, doc)                 (LIST, m, m, CX_AS_NUMBERS_IN, m, n, 0, doc)
#define NUMBERS_ALL(m, doc)                   (ALL, m, CX_AS_NUMBERS_IN, 0, doc)
#define AS_LINES(name, m, n, doc)             (LIST, name, m, CX_AS_LINES, m[0], n, 0, doc)
#define LINES(m, n, doc)                      AS_LINES(m, m, n, doc)
/* The members of T, one after the other, as CX_EACH. */
#define MEMBERS(T, ...)                       CX_EXPAND(MEMBERS_STEP(T, __VA_ARGS__))
#define MEMBERS_STEP(T, member, ...)          MEMBER(T, CX_BARE member), __VA_OPT__(MEMBERS_AGAIN CX_PARENS(T, __VA_ARGS__))
#define MEMBERS_AGAIN()                       MEMBERS_STEP
#define MEMBER(...)                           MEMBER_BY(__VA_ARGS__)
#define MEMBER_BY(T, macro, ...)              macro(T, __VA_ARGS__)
#define TYPE(T, kind, name, doc, ...)         [CX_##kind] = { "calibrax_c." name, doc, sizeof(T), (const member[]){ MEMBERS(T, __VA_ARGS__){ 0 } } }

static const answer_type types[CX_ANSWER_COUNT] = {
#include "python/answer_rows.inc"
};
/* clang-format on */

static size_t nmembers(const answer_type *t)
{
    size_t n = 0;
    while (t->members[n].name) n++;
    return n;
}

/* ---- lists ---- */

PyObject *cx_numbers_object(const double *x, size_t n) { return CX_TUPLE(n, PyFloat_FromDouble(x[i])); }

PyObject *cx_wholes_object(const size_t *x, size_t n) { return CX_TUPLE(n, PyLong_FromSize_t(x[i])); }

PyObject *cx_places_object(cx_call *c, const bool *mask, size_t n)
{
    size_t *at = cx_alloc(c, n, sizeof *at), k = 0;

    for (size_t i = 0; at && i < n; i++)
        if (mask[i]) at[k++] = i;
    return at ? cx_wholes_object(at, k) : NULL;
}

PyObject *cx_answer_list(cx_state *st, cx_answer_kind kind, const void *from, size_t n)
{
    return CX_TUPLE(n, cx_answer_object(st, kind, (const char *)from + i * types[kind].size));
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

static size_t count_of(const member *m, const char *from, size_t each)
{
    return m->count == SIZE_MAX ? m->width / each : (size_t)whole_at(from + m->count, sizeof(size_t));
}

static PyObject *list_member(cx_state *st, const member *m, const char *from)
{
    const char *at = from + m->at;
    size_t size = types[m->of].size;

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

static PyObject *member_object(cx_state *st, const member *m, const char *from)
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
    const answer_type *t = &types[kind];
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

static PyTypeObject *make_type(const answer_type *t)
{
    PyStructSequence_Field fields[CX_MAX_MEMBERS + 1] = { { 0 } };
    PyStructSequence_Desc desc = { t->name, t->doc, fields, (int)nmembers(t) };

    for (size_t i = 0; i < nmembers(t); i++)
        fields[i] = (PyStructSequence_Field){ t->members[i].name, t->members[i].doc };
    return PyStructSequence_NewType(&desc);
}

/* "name: type, name: type" of the members, for the stubs. */
static PyObject *members_text(const answer_type *t)
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

    for (const member *m = t->members; text && m->name; m++) {
        PyUnicode_AppendAndDel(&text, PyUnicode_FromFormat(m == t->members ? "%s: " : ", %s: ", m->name));
        if (text)
            PyUnicode_AppendAndDel(&text, PyUnicode_FromFormat(types_of[m->kind], strchr(types[m->of].name, '.') + 1));
    }
    return text;
}

/* "calibrax_c.statistics.Interval" belongs to the namespace before the last dot,
 * "calibrax_c.DoctorItem" to the module. */
bool cx_place_type(cx_state *st, const char *name, PyTypeObject *type)
{
    const char *last = strrchr(name, '.');
    CX_OWN PyObject *space = PyUnicode_FromStringAndSize(name, last - name);
    PyObject *into = !space                      ? NULL
                     : strchr(name, '.') == last ? st->core
                                                 : PyDict_GetItemWithError(PyImport_GetModuleDict(), space);

    return into && PyModule_AddObjectRef(into, last + 1, (PyObject *)type) == 0;
}

/* Types of array functions belong to no namespace. */
bool cx_add_answers(cx_state *st)
{
    for (int k = 0; k < CX_ANSWER_COUNT; k++) {
        const answer_type *t = &types[k];
        if (!cx_put(st->signatures, strchr(t->name, '.') + 1, members_text(t))) return false;
        if (!(st->answers[k] = make_type(t))) return false;
        if (k > CX_LSTSQ && !cx_place_type(st, t->name, st->answers[k])) return false;
    }
    return true;
}
