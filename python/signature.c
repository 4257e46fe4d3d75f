/* Signatures: parsed into parameters, and stripped of their annotations for inspect, which does not read them. */
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

bool cx_parse(cx_function *f)
{
    const char *end = f->signature + strlen(f->signature), *at = f->signature;
    cx_parameter *list = PyMem_Calloc(CX_MAX_ARGS + 1, sizeof *list);
    bool keyword = false;
    int n = 0;

    if (!list) return PyErr_NoMemory() != NULL;
    for (const char *stop; at < end; at = stop + 1) {
        stop = find_outside(at, end, ",");
        const char *equals = find_outside(at, stop, "="), *colon = find_outside(at, equals, ":");
        cx_parameter p = { .how = keyword ? CX_BY_NAME : CX_BY_EITHER };
        p.name = trim(at, colon, &p.name_length);
        if (!p.name) continue;
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
        if (colon < equals) p.annotation = trim(colon + 1, equals, &p.annotation_length);
        if (equals < stop) p.fallback = trim(equals + 1, stop, &p.fallback_length);
        assert(n < CX_MAX_ARGS);
        if (p.name_length == 6 && memcmp(p.name, "device", 6) == 0) f->device = n;
        list[n++] = p;
    }
    f->parameters = list;
    f->nparameters = n;
    return true;
}

/*
 * The docstring of a function: name(signature) without annotations, for inspect; what it does; its parameters with their annotations;
 * rules; its example, from the first '>>>' on.  As memory that is never freed; NULL with an exception.
 */
static char *docstring(const char *doc, const char *arrow, const char *rules)
{
    const char *open = strchr(doc, '('), *body = strstr(arrow, "\n--\n\n"), *example = strstr(body, "\n\n>>> ");
    CX_ENDED_BY(cbx_text_clear) cbx_text plain, list;
    char *out = NULL;
    bool any = false;

    cbx_text_init(&plain, cbx_allocator_default());
    cbx_text_init(&list, cbx_allocator_default());
    cbx_text_printf(&plain, "%.*s", (int)(open + 1 - doc), doc);
    for (const char *at = open + 1, *stop; at < arrow; at = stop + 1) {
        stop = find_outside(at, arrow, ",");
        const char *equals = find_outside(at, stop, "="), *colon = find_outside(at, equals, ":"), *text;
        size_t n, nfallback, nannotation = 0, stars;
        const char *name = trim(at, colon, &n), *fallback = trim(equals + 1, stop, &nfallback);
        const char *annotation = colon < equals ? trim(colon + 1, equals, &nannotation) : NULL;
        if (!name) continue;
        cbx_text_printf(&plain, "%s%.*s", at > open + 1 ? ", " : "", (int)n, name);
        if (equals < stop) cbx_text_printf(&plain, "=%.*s", (int)nfallback, fallback);
        stars = strspn(name, "*/$");
        if (name[0] == '$' || stars >= n) continue;
        text = cx_parameter_text(name + stars, n - stars);
        cbx_text_printf(&list, "%s    %.*s", any ? "\n" : "\n\nParameters:\n", (int)n, name);
        if (annotation) cbx_text_printf(&list, " (%.*s)", (int)nannotation, annotation);
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
