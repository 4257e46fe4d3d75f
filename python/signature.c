/* Signatures: parsed into parameters, and stripped of their annotations for inspect, which does not
 * read them. */
#include <assert.h>
#include <string.h>

#include "python/state.h"

/* A view of the text between two places, without blanks at its ends; NULL if nothing is left. */
static const char *trim(const char *from, const char *to, size_t *length)
{
    while (from < to && *from == ' ') from++;
    while (to > from && to[-1] == ' ') to--;
    *length = (size_t)(to - from);
    return from < to ? from : NULL;
}

/* The first of the characters in stop outside brackets and quotes, or end. */
static const char *find_outside(const char *at, const char *end, const char *stop)
{
    int depth = 0;
    char quote = 0;

    for (; at < end; at++) {
        if (quote) {
            quote = *at == quote ? 0 : quote;
            continue;
        }
        if (depth == 0 && strchr(stop, *at)) break;
        if (*at == '\'') quote = *at;
        depth += (*at == '[' || *at == '(') - (*at == ']' || *at == ')');
    }
    return at;
}

/* The next part of a signature, its name with its stars, that has a name; *at moves on.  false: no
 * part is left. */
static bool next_part(const char **at, const char *end, cx_parameter *p)
{
    *p = (cx_parameter){ 0 };
    while (!p->name && *at < end) {
        const char *stop = find_outside(*at, end, ","), *equals = find_outside(*at, stop, "=");
        const char *colon = find_outside(*at, equals, ":");
        p->name = trim(*at, colon, &p->name_length);
        if (colon < equals) p->annotation = trim(colon + 1, equals, &p->annotation_length);
        if (equals < stop) p->fallback = trim(equals + 1, stop, &p->fallback_length);
        *at = stop + 1;
    }
    return p->name != NULL;
}

bool cx_parse(cx_function *f)
{
    const char *end = f->signature + strlen(f->signature), *at = f->signature;
    cx_parameter *list = PyMem_Calloc(CX_MAX_ARGS + 1, sizeof *list), p;
    bool keyword = false;
    int n = 0;

    if (!list) return PyErr_NoMemory() != NULL;
    while (next_part(&at, end, &p)) {
        p.how = keyword ? CX_BY_NAME : CX_BY_EITHER;
        if (p.name[0] == '/') {
            for (int i = 0; i < n; i++) list[i].how = CX_BY_POSITION;
            continue;
        }
        if (p.name[0] == '*') {
            const size_t stars = p.name[1] == '*' ? 2 : 1;
            keyword = true;
            if (p.name_length == 1) continue;
            p.name += stars, p.name_length -= stars;
            p.how = stars > 1 ? CX_BY_KEYWORDS : CX_BY_REST;
        }
        assert(n < CX_MAX_ARGS);
        if (p.name_length == 6 && memcmp(p.name, "device", 6) == 0) f->device = n;
        list[n++] = p;
    }
    f->parameters = list;
    f->nparameters = n;
    return true;
}

/*
 * The docstring of a function: name(signature) without annotations, for inspect; what it does; its
 * parameters with their annotations; rules; its example, from the first '>>>' on.  As memory that
 * is never freed; NULL with an exception.
 */
static char *docstring(const char *doc, const char *arrow, const char *rules)
{
    const char *open = strchr(doc, '('), *body = strstr(arrow, "\n--\n\n"), *example = strstr(body, "\n\n>>> "),
               *at = open + 1;
    cx_parameter p;
    CX_TEXT(plain);
    CX_TEXT(list);
    char *out = NULL;
    bool any = false;

    cbx_text_printf(&plain, "%.*s", (int)(open + 1 - doc), doc);
    for (bool first = true; next_part(&at, arrow, &p); first = false) {
        const size_t stars = strspn(p.name, "*/$"), n = p.name_length;
        cbx_text_printf(&plain, "%s%.*s", first ? "" : ", ", (int)n, p.name);
        if (p.fallback) cbx_text_printf(&plain, "=%.*s", (int)p.fallback_length, p.fallback);
        if (p.name[0] == '$' || stars >= n) continue;
        const char *text = cx_parameter_text(p.name + stars, n - stars);
        cbx_text_printf(&list, "%s    %.*s", any ? "\n" : "\n\nParameters:\n", (int)n, p.name);
        if (p.annotation) cbx_text_printf(&list, " (%.*s)", (int)p.annotation_length, p.annotation);
        if (text) cbx_text_printf(&list, ": %s", text);
        any = true;
    }
    cbx_text_printf(&plain, ")%.*s%s", (int)(example ? (size_t)(example - body) : strlen(body)), body,
                    cbx_text_str(&list));
    if (rules) cbx_text_printf(&plain, "\n\n%s", rules);
    if (example) cbx_text_printf(&plain, "%s", example);
    if (!plain.status && !list.status && (out = PyMem_Malloc(plain.len + 1)))
        memcpy(out, cbx_text_str(&plain), plain.len + 1);
    return out ? out : (char *)PyErr_NoMemory();
}

/* The docstring; its signature is added to the dict of all.  NULL with an exception. */
static const char *document(PyObject *signatures, const char *prefix, const char *name, const char *doc,
                            const char *rules)
{
    const char *open = doc ? strchr(doc, '(') : NULL, *arrow = open ? strstr(open, ") -> ") : NULL;
    const char *end = arrow ? strstr(arrow, "\n--\n\n") : NULL;

    if (!end) return doc ? doc : "";
    CX_OWN PyObject *key = PyUnicode_FromFormat("%s%s", prefix, name);
    CX_OWN PyObject *text = key ? PyUnicode_FromStringAndSize(open, end - open) : NULL;
    return text && PyDict_SetItem(signatures, key, text) == 0 ? docstring(doc, arrow, rules) : NULL;
}

PyMethodDef *cx_methods(PyMethodDef *table, PyObject *signatures, const char *prefix)
{
    const char *rules = cx_rules_of(table);

    for (PyMethodDef *m = table; m->ml_name; m++)
        if (m->ml_doc && !(m->ml_doc = document(signatures, prefix, m->ml_name, m->ml_doc, rules))) return NULL;
    return table;
}

PyTypeObject *cx_type(cx_state *st, PyType_Spec *spec)
{
    const char *name = strchr(spec->name, '.') + 1;
    CX_OWN PyObject *dotted = PyUnicode_FromFormat("%s.", name);
    const char *prefix = dotted ? PyUnicode_AsUTF8AndSize(dotted, NULL) : NULL;
    CX_OWN PyObject *signatures = name[0] == '_' ? PyDict_New() /* private ones are not published */
                                                 : Py_NewRef(st->signatures);
    bool fine = prefix && signatures;

    for (PyType_Slot *s = spec->slots; fine && s->slot; s++) {
        if (s->slot == Py_tp_methods) fine = cx_methods(s->pfunc, signatures, prefix) != NULL;
        if (s->slot != Py_tp_doc) continue;
        s->pfunc = (void *)(uintptr_t)document(signatures, "", name, s->pfunc, NULL);
        fine = s->pfunc != NULL;
    }
    return fine ? (PyTypeObject *)PyType_FromModuleAndSpec(st->core, spec, NULL) : NULL;
}
