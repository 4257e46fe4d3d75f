/*
 * Trees: tuples, lists, dicts, named tuples, data classes, None and registered types, nested;
 * everything else is a leaf.
 *
 * The structure of a tree is a value that can be hashed and compared: `...` for a leaf, None for
 * None, and for a node the tuple (type, what the type keeps apart from its children, children...).
 * Keys of dicts are sorted.
 * Source of names and rules: JAX 0.10 (jax.tree), where data classes are registered by hand; here
 * each is a node, whose fields with metadata={"static": True} belong to the structure.
 */
#include <string.h>

#include "python/objects.h"
#include "python/transforms.h"

typedef struct flattening {
    cx_state *st;
    PyObject *leaves, *is_leaf; /* is_leaf may be NULL */
} flattening;

static PyObject *structure_of(flattening *f, PyObject *o);

static PyObject *leaf(flattening *f, PyObject *o)
{
    return PyList_Append(f->leaves, o) < 0 ? NULL : Py_NewRef(Py_Ellipsis);
}

/* (type, kept, structures of n children); the references to type and kept are the caller's. */
static PyObject *node(flattening *f, PyObject *type, PyObject *kept, Py_ssize_t n, PyObject *of)
{
    PyObject *(*const item)(PyObject *, Py_ssize_t) = PyTuple_Check(of) ? PyTuple_GetItem : PyList_GetItem;
    PyObject *s = PyTuple_New(n + 2);

    if (!s || PyTuple_SetItem(s, 0, Py_NewRef(type)) < 0 || PyTuple_SetItem(s, 1, Py_NewRef(kept)) < 0) Py_CLEAR(s);
    for (Py_ssize_t i = 0; s && i < n; i++) {
        CX_OWN PyObject *o = Py_XNewRef(item(of, i));
        PyObject *inner = o ? structure_of(f, o) : NULL;
        if (!inner || PyTuple_SetItem(s, i + 2, inner) < 0) Py_CLEAR(s);
    }
    return s;
}

static PyObject *dict_structure(flattening *f, PyObject *o)
{
    CX_OWN PyObject *keys = PyDict_Keys(o), *kept = NULL, *values = NULL;
    Py_ssize_t n = PyDict_Size(o);

    if (keys && PyList_Sort(keys) == 0) kept = PyList_AsTuple(keys);
    if (!kept && PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "the keys of a dict in a tree must be sortable, got %R", keys ? keys : Py_None);
    if (kept) values = CX_TUPLE(n, Py_XNewRef(PyDict_GetItemWithError(o, PyTuple_GetItem(kept, (Py_ssize_t)i))));
    return values ? node(f, (PyObject *)&PyDict_Type, kept, n, values) : NULL;
}

/*
 * The registered pair (flatten, unflatten) of a type, that of a data class or a dict of collections
 * made on first use; borrowed, NULL without an exception: none.
 */
static PyObject *registered(cx_state *st, PyObject *type)
{
    PyObject *pair = PyDict_GetItemWithError(st->nodes, type);

    if (pair || PyErr_Occurred()) return pair;
    if (!PyObject_HasAttrString(type, "__dataclass_fields__") && !PyType_IsSubtype((PyTypeObject *)type, &PyDict_Type))
        return NULL;
    CX_OWN PyObject *found = cx_python("_tracing", "node_of_type", "O", type);
    return found && found != Py_None && PyDict_SetItem(st->nodes, type, found) == 0 ? found : NULL;
}

static PyObject *registered_structure(flattening *f, PyObject *o, PyObject *pair)
{
    CX_OWN PyObject *both = PyObject_CallFunctionObjArgs(PyTuple_GetItem(pair, 0), o, NULL), *children = NULL;

    if (both && PyTuple_Check(both) && PyTuple_Size(both) == 2) children = PySequence_Tuple(PyTuple_GetItem(both, 0));
    if (children) return node(f, (PyObject *)Py_TYPE(o), PyTuple_GetItem(both, 1), PyTuple_Size(children), children);
    if (both && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "the flatten function of %R must return (children, what is kept), got %R",
                     (PyObject *)Py_TYPE(o), both);
    return NULL;
}

/* The named results of array functions (svd, unique_size ...): tuples of arrays. */
static bool is_named_result(cx_state *st, const PyObject *type)
{
    for (int k = CX_UNIQUE_ALL; k <= CX_LSTSQ; k++)
        if (type == (const PyObject *)st->answers[k]) return true;
    return false;
}

static PyObject *nested_structure(flattening *f, PyObject *o)
{
    PyObject *type = (PyObject *)Py_TYPE(o), *pair;

    if (PyTuple_CheckExact(o)) return node(f, type, Py_None, PyTuple_Size(o), o);
    if (PyList_CheckExact(o)) return node(f, type, Py_None, PyList_Size(o), o);
    if (PyDict_CheckExact(o)) return dict_structure(f, o);
    pair = registered(f->st, type);
    if (pair) return registered_structure(f, o, pair);
    if (PyErr_Occurred()) return NULL;
    if (PyTuple_Check(o) && (is_named_result(f->st, type) || PyObject_HasAttrString(o, "_fields")))
        return node(f, type, Py_None, PyTuple_Size(o), o);
    return leaf(f, o);
}

static PyObject *structure_of(flattening *f, PyObject *o)
{
    PyObject *s;

    if (f->is_leaf) {
        CX_OWN PyObject *answer = PyObject_CallFunctionObjArgs(f->is_leaf, o, NULL);
        const int yes = answer ? PyObject_IsTrue(answer) : -1;
        if (yes < 0) return NULL;
        if (yes) return leaf(f, o);
    }
    if (o == Py_None) return Py_NewRef(o);
    if (cx_is_array(f->st, o) || PyFloat_CheckExact(o) || PyLong_CheckExact(o)) return leaf(f, o);
    if (Py_EnterRecursiveCall(" in a tree")) return NULL;
    s = nested_structure(f, o);
    Py_LeaveRecursiveCall();
    return s;
}

PyObject *cx_tree_flatten(cx_state *st, PyObject *o, PyObject *is_leaf, PyObject *leaves)
{
    flattening f = { st, leaves, is_leaf };
    return structure_of(&f, o);
}

/* ---- back ---- */

static PyObject *build(cx_state *st, PyObject *structure, PyObject *leaves, Py_ssize_t *at);

static PyObject *build_node(cx_state *st, PyObject *s, PyObject *leaves, Py_ssize_t *at)
{
    PyObject *type = PyTuple_GetItem(s, 0), *kept = PyTuple_GetItem(s, 1), *pair;
    const Py_ssize_t n = PyTuple_Size(s) - 2;
    CX_OWN PyObject *children = CX_TUPLE(n, build(st, PyTuple_GetItem(s, (Py_ssize_t)i + 2), leaves, at));

    if (!children || type == (PyObject *)&PyTuple_Type) return Py_XNewRef(children);
    if (type == (PyObject *)&PyList_Type) return PySequence_List(children);
    if (type == (PyObject *)&PyDict_Type) {
        PyObject *r = PyDict_New();
        for (Py_ssize_t i = 0; r && i < n; i++)
            if (PyDict_SetItem(r, PyTuple_GetItem(kept, i), PyTuple_GetItem(children, i)) < 0) Py_CLEAR(r);
        return r;
    }
    pair = registered(st, type);
    if (pair) return PyObject_CallFunctionObjArgs(PyTuple_GetItem(pair, 1), kept, children, NULL);
    if (PyErr_Occurred()) return NULL;
    return is_named_result(st, type) ? PyObject_CallFunctionObjArgs(type, children, NULL)
                                     : PyObject_CallMethod(type, "_make", "(O)", children);
}

static PyObject *build(cx_state *st, PyObject *structure, PyObject *leaves, Py_ssize_t *at)
{
    PyObject *r;

    if (structure == Py_None) return Py_NewRef(structure);
    if (structure == Py_Ellipsis) return Py_XNewRef(PyList_GetItem(leaves, (*at)++));
    if (Py_EnterRecursiveCall(" in a tree")) return NULL;
    r = build_node(st, structure, leaves, at);
    Py_LeaveRecursiveCall();
    return r;
}

PyObject *cx_tree_build(cx_state *st, PyObject *structure, PyObject *leaves)
{
    Py_ssize_t at = 0;
    return build(st, structure, leaves, &at);
}

/* ---- structures as objects: what is kept is the nested tuples ---- */

static Py_ssize_t count_leaves(PyObject *structure)
{
    Py_ssize_t n = structure == Py_Ellipsis;

    for (Py_ssize_t i = 2; PyTuple_Check(structure) && i < PyTuple_Size(structure); i++)
        n += count_leaves(PyTuple_GetItem(structure, i));
    return n;
}

/* Takes the reference over; NULL gives NULL. */
static PyObject *structure_object(cx_state *st, PyObject *structure)
{
    cx_object *o = structure ? cx_object_new(st, CX_STRUCTURE) : NULL;

    if (o)
        o->kept = structure;
    else
        Py_XDECREF(structure);
    return (PyObject *)o;
}

static PyObject *value_of(PyObject *self) { return ((cx_object *)self)->kept; }

static PyObject *structure_compare(PyObject *a, PyObject *b, int op)
{
    if (Py_TYPE(a) != Py_TYPE(b) || (op != Py_EQ && op != Py_NE)) return Py_NewRef(Py_NotImplemented);
    return PyObject_RichCompare(value_of(a), value_of(b), op);
}

static Py_hash_t structure_hash(PyObject *self) { return PyObject_Hash(value_of(self)); }

static PyObject *structure_repr(PyObject *self)
{
    CX_OWN PyObject *text = cx_python("_tracing", "structure_text", "O", value_of(self));
    return text ? PyUnicode_FromFormat("Structure(%U)", text) : NULL;
}

#define MEMBERS(X)                                                                                                     \
    X(num_leaves, "int: number of leaves", PyLong_FromSsize_t(count_leaves(value_of(self))))                           \
    X(_value, "Any: as nested tuples", Py_NewRef(value_of(self)))
CX_GETTERS(structure_members, MEMBERS)

const cx_object_type cx_structure_object_type = {
    .name = "calibrax_c.tree.Structure",
    .doc = "What a tree is without its leaves; equal structures hash equal.",
    .bare = true,
    .members = structure_members,
    .repr = structure_repr,
    .compare = structure_compare,
    .hash = structure_hash,
};

/* ---- functions ---- */

/* The argument tree taken apart: its structure as an object, and its leaves in a list; NULL with an
 * exception. */
static PyObject *apart(cx_call *c, PyObject **leaves)
{
    PyObject *is_leaf = cx_parameter_of(c, "is_leaf") ? cx_arg(c, "is_leaf") : NULL, *s;

    *leaves = PyList_New(0);
    s = *leaves ? cx_tree_flatten(c->st, cx_arg(c, "tree"), is_leaf, *leaves) : NULL;
    return structure_object(c->st, s);
}

/* flatten, leaves and structure: both parts, the leaves alone, the structure alone. */
CX_RETURN(do_flatten, (CX_OWN PyObject *leaves = NULL, *structure = apart(c, &leaves)), structure != NULL,
          PyTuple_Pack(2, leaves, structure))

CX_RETURN(do_leaves, (CX_OWN PyObject *leaves = NULL, *structure = apart(c, &leaves)), structure != NULL,
          Py_NewRef(leaves))

CX_VALUE(do_structure, (CX_OWN PyObject *leaves = NULL), apart(c, &leaves))

static PyObject *do_unflatten(cx_call *c)
{
    PyObject *s = cx_arg(c, "structure") ? cx_arg(c, "structure") : Py_None;

    if (Py_TYPE(s) != c->st->objects[CX_STRUCTURE])
        return cx_refuse(c, "structure", PyExc_TypeError, "a Structure", s), NULL;
    CX_OWN PyObject *leaves = PySequence_List(cx_arg(c, "leaves"));
    if (!leaves) return NULL;
    if (PyList_Size(leaves) == count_leaves(value_of(s))) return cx_tree_build(c->st, value_of(s), leaves);
    return PyErr_Format(PyExc_ValueError, "unflatten: the structure has %zd leaves, got %zd", count_leaves(value_of(s)),
                        PyList_Size(leaves));
}

CX_VALUE(do_map, (PyObject *is_leaf = cx_arg(c, "is_leaf")),
         cx_python("_tracing", "map_trees", "OONO", cx_arg(c, "fun"), cx_arg(c, "tree"), cx_rest_tuple(c),
                   is_leaf ? is_leaf : Py_None))

static PyObject *do_register(cx_call *c)
{
    PyObject *type = cx_arg(c, "nodetype");
    int has;

    if (!PyType_Check(type)) return cx_refuse(c, "nodetype", PyExc_TypeError, "a class", type), NULL;
    has = PyDict_Contains(c->st->nodes, type);
    if (has) return has < 0 ? NULL : PyErr_Format(PyExc_ValueError, "register: %R is registered already", type);
    CX_OWN PyObject *pair = PyTuple_Pack(2, cx_arg(c, "flatten"), cx_arg(c, "unflatten"));
    return pair && PyDict_SetItem(c->st->nodes, type, pair) == 0 ? Py_NewRef(type) : NULL;
}

/* clang-format off */
#define TREES(X) \
    X(flatten, "tree: Any, is_leaf: Callable[[Any], bool] | None = None", "tuple[list[Any], Structure]", do_flatten, 0, "The leaves of a tree in their order, and its structure.\n\n>>> cx.tree.flatten({'b': (1, 2), 'a': [3, None]})\n([3, 1, 2], Structure({'a': [*, None], 'b': (*, *)}))") \
    X(leaves, "tree: Any, is_leaf: Callable[[Any], bool] | None = None", "list[Any]", do_leaves, 0, "The leaves of a tree in their order.\n\n>>> cx.tree.leaves([1, (2, None), {'x': 3}])\n[1, 2, 3]") \
    X(map, "fun: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None", "Any", do_map, 0, "A tree of the results of a function of the leaves of a tree, and of those of more trees of its structure.\n\n>>> cx.tree.map(lambda a, b: a + b, {'x': 1, 'y': (2,)}, {'x': 10, 'y': (20,)})\n{'x': 11, 'y': (22,)}") \
    X(register, "nodetype: type, flatten: Callable[[Any], tuple[Any, Any]], unflatten: Callable[[Any, Any], Any]", "type", do_register, 0, "Makes a class a node of trees: flatten(object) gives (children, kept), where what is kept can be hashed and compared, unflatten(kept, children) an object.\n\n>>> class Pair:\n...     def __init__(self, a, b): self.a, self.b = a, b\n>>> _ = cx.tree.register(Pair, lambda p: ((p.a, p.b), None), lambda kept, children: Pair(*children))\n>>> cx.tree.leaves([Pair(1, 2), 3])\n[1, 2, 3]") \
    X(structure, "tree: Any, is_leaf: Callable[[Any], bool] | None = None", "Structure", do_structure, 0, "The structure of a tree.\n\n>>> cx.tree.structure((1, [2, 3]))\nStructure((*, [*, *]))") \
    X(unflatten, "structure: Structure, leaves: Iterable[Any]", "Any", do_unflatten, 0, "A tree of a structure with other leaves.\n\n>>> cx.tree.unflatten(cx.tree.structure((1, [2, 3])), 'abc')\n('a', ['b', 'c'])")
/* clang-format on */
CX_FUNCTIONS(cx_tree_methods, TREES, LIGHT)
