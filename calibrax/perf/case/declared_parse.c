/*
 * Reading a case file: every member is known, of the right kind, and goes with the others; else a sentence that names it.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/file.h"
#include "calibrax/base/hash.h"
#include "calibrax/perf/case/declared_reader.h"
#include "calibrax/perf/case/provider.h"

#define MAX_FILE_BYTES (1u << 20)

/* --- functions and files --- */

static cbx_status need_file(cbx__case_reader *r, const char *path)
{
    cbx_declared *d = r->d;

    if (d->nfiles == d->files_room) {
        const size_t room = d->files_room ? 2 * d->files_room : 16;
        const char **files = cbx_arena_calloc(&d->arena, room, sizeof *files);
        if (!files) return cbx__case_no_memory(r);
        if (d->nfiles) memcpy(files, d->files, d->nfiles * sizeof *files);
        d->files = files;
        d->files_room = room;
    }
    d->files[d->nfiles++] = path;
    return CBX_OK;
}

/* "file.py:function" of a member, with its file in the case's folder. */
static cbx_status split_function(cbx__case_reader *r, const char *text, const char **file, const char **function)
{
    const char *colon = strrchr(text, ':');
    const char *name;

    if (!colon || colon == text || !colon[1])
        return cbx__case_fault(r, "'%.80s' names no function: 'file.py:function' is expected", text);
    name = cbx_arena_strndup(&r->d->arena, text, (size_t)(colon - text));
    if (!name) return cbx__case_no_memory(r);
    *file = *name == '/' ? name : cbx_path_join(&r->d->arena, r->d->folder, name);
    *function = colon + 1;
    if (!*file) return cbx__case_no_memory(r);
    return need_file(r, *file);
}

static bool set_names(cbx_json *o, const char *key, const char *const *names, size_t n)
{
    cbx_json *list = cbx_json_new_array();
    bool ok = list != NULL;

    for (size_t i = 0; i < n && ok; i++) ok = cbx_json_push(list, cbx_json_new_string(names[i]));
    return cbx_json_set(o, key, list) && ok;
}

/* What the worker is told of a function: see workers/python/cases/declared.py. */
static cbx_status define(cbx__case_reader *r, const cbx_json *v, bool reference, const char **out)
{
    const cbx_case_ops *c = &r->d->ops;
    const char *python = NULL, *setup = NULL, *file = NULL, *function = NULL;
    double rtol = 0, atol = 0;
    cbx_json *o = NULL;
    cbx_text t;
    bool ok;
    cbx_status st = cbx__case_text(r, v, "python", true, &python);

    if (!st) st = cbx__case_text(r, v, "setup", false, &setup);
    if (!st) st = split_function(r, python, &file, &function);
    if (!st && reference) st = cbx__case_number(r, v, "rtol", &rtol);
    if (!st && reference) st = cbx__case_number(r, v, "atol", &atol);
    if (st) return st;
    o = cbx_json_new_object();
    ok = o && cbx_json_set_string(o, "file", file) && cbx_json_set_string(o, "call", function) &&
         (!setup || cbx_json_set_string(o, "setup", setup)) && set_names(o, "inputs", c->input_names, c->ninputs) &&
         set_names(o, "outputs", c->output_names, c->noutputs);
    if (ok && reference) ok = cbx_json_set_double(o, "rtol", rtol) && cbx_json_set_double(o, "atol", atol);
    cbx_text_init(&t, cbx_ctx_allocator(r->ctx));
    if (ok) cbx_json_write(o, CBX_JSON_COMPACT, &t);
    *out = ok && !t.status ? cbx_arena_strdup(&r->d->arena, cbx_text_str(&t)) : NULL;
    cbx_text_clear(&t);
    cbx_json_unref(o);
    return *out ? CBX_OK : cbx__case_no_memory(r);
}

static cbx_status read_provider(cbx__case_reader *r, const cbx_json *v, const char **out)
{
    const cbx_provider_ops *p;
    cbx_status st = cbx__case_text(r, v, "provider", true, out);

    if (st) return st;
    p = cbx_provider_find(*out);
    return p && p->python
               ? CBX_OK
               : cbx__case_fault(r, "'%.40s' is no provider of Python functions: 'nperf doctor' lists them", *out);
}

static cbx_status read_reference(cbx__case_reader *r, const cbx_json *root)
{
    cbx_json *v = cbx_json_get(root, "reference");
    cbx_case_ops *c = &r->d->ops;
    double rtol = 0, atol = 0;
    cbx_status st;

    if (!v) return cbx__case_fault(r, "member 'reference' is missing: a case is nothing without its right answer");
    snprintf(r->where, sizeof r->where, "reference");
    st = CBX__CASE_KNOWN(r, v, "provider", "python", "setup", "rtol", "atol");
    if (!st) st = cbx__case_number(r, v, "rtol", &rtol);
    if (!st) st = cbx__case_number(r, v, "atol", &atol);
    if (!st && (rtol < 0 || atol < 0)) st = cbx__case_fault(r, "'rtol' and 'atol' must not be negative");
    if (!st) st = read_provider(r, v, &c->oracle_provider);
    if (!st) st = define(r, v, true, &c->oracle_definition);
    r->where[0] = 0;
    return st;
}

/* --- baselines --- */

static cbx_status read_baseline(cbx__case_reader *r, const cbx_json *v, size_t i)
{
    cbx_declared *d = r->d;
    cbx_baseline_ops *b = &d->baselines[i];
    const bool python = d->kind == CBX_DECLARED_PYTHON;
    cbx_status st = python ? CBX__CASE_KNOWN(r, v, "name", "summary", "provider", "python", "setup", "slow", "mutant",
                                             "must_fail")
                           : CBX__CASE_KNOWN(r, v, "name", "summary", "command", "slow");

    b->struct_size = sizeof *b;
    b->abi = CBX_CASE_ABI;
    b->summary = "";
    b->provider = "command";
    if (!st) st = cbx__case_name(r, v, &b->name);
    if (!st) st = cbx__case_text(r, v, "summary", false, &b->summary);
    if (!st) st = cbx__case_text(r, v, "slow", false, &b->slow_reason);
    for (size_t k = 0; k < i && !st; k++)
        if (!strcmp(d->baselines[k].name, b->name)) st = cbx__case_fault(r, "another baseline is called '%s'", b->name);
    if (!python) return st ? st : cbx__case_text(r, v, "command", true, &d->commands[i]);
    if (!st) st = cbx__case_text(r, v, "mutant", false, &b->mutant_reason);
    if (!st) st = cbx__case_text(r, v, "must_fail", false, &b->must_fail);
    if (!st && i && d->baselines[i - 1].mutant_reason && !b->mutant_reason)
        st = cbx__case_fault(r, "mutants come last");
    if (!st) st = read_provider(r, v, &b->provider);
    return st ? st : define(r, v, false, &b->definition);
}

static cbx_status read_baselines(cbx__case_reader *r, const cbx_json *root)
{
    cbx_declared *d = r->d;
    const cbx_baseline_ops **table;
    const cbx_json *list;
    size_t n;
    cbx_status st = cbx__case_list(r, root, "baselines", 1, 64, &list, &n);

    if (st) return st;
    d->baselines = cbx_arena_calloc(&d->arena, n, sizeof *d->baselines);
    d->commands = cbx_arena_calloc(&d->arena, n, sizeof *d->commands);
    table = cbx_arena_calloc(&d->arena, n, sizeof *table);
    if (!d->baselines || !d->commands || !table) return cbx__case_no_memory(r);
    for (size_t i = 0; i < n && !st; i++) {
        cbx__case_at(r, "baselines", i);
        st = read_baseline(r, cbx_json_at(list, i), i);
        table[i] = &d->baselines[i];
    }
    d->ops.baselines = table;
    d->ops.nbaselines = n;
    r->where[0] = 0;
    return st;
}

/* --- what is only of one kind --- */

static cbx_status read_work(cbx__case_reader *r, const cbx_json *root)
{
    static const char *const names[] = { "macs", "flop", "bytes" };
    const char **const places[] = { &r->d->macs, &r->d->flop, &r->d->bytes };
    const cbx_json *v = cbx_json_get(root, "work");
    cbx_status st;

    if (!v) return CBX_OK;
    snprintf(r->where, sizeof r->where, "work");
    st = cbx__case_known(r, v, names, CBX_LEN(names));
    for (size_t i = 0; i < CBX_LEN(names) && !st; i++)
        if (cbx_json_has(v, names[i])) st = cbx__case_formula(r, cbx_json_get(v, names[i]), places[i]);
    r->where[0] = 0;
    return st;
}

static cbx_status read_python(cbx__case_reader *r, const cbx_json *root)
{
    cbx_declared *d = r->d;
    cbx_case_ops *c = &d->ops;
    cbx_status st = CBX__CASE_KNOWN(r, root, "schema", "version", "name", "kind", "summary", "params", "points",
                                    "representative", "inputs", "outputs", "permute", "reference", "work", "setup",
                                    "baselines");

    if (!st) st = cbx__case_arrays(r, root, "inputs", true, d->inputs, &c->input_names, &c->ninputs);
    if (!st) st = cbx__case_arrays(r, root, "outputs", false, d->outputs, &c->output_names, &c->noutputs);
    if (!st) st = cbx__case_groups(r, root);
    if (!st) st = read_work(r, root);
    if (!st) st = read_reference(r, root);
    if (!st) st = read_baselines(r, root);
    if (st) return st;
    cbx__declared_fill_ops(d);
    return CBX_OK;
}

static cbx_status read_check(cbx__case_reader *r, const cbx_json *v, cbx__declared_check *c)
{
    cbx_status st = CBX__CASE_KNOWN(r, v, "command", "file", "same_as", "numbers", "rtol", "atol");

    if (!st) st = cbx__case_text(r, v, "command", false, &c->command);
    if (!st) st = cbx__case_text(r, v, "file", false, &c->file);
    if (!st) st = cbx__case_text(r, v, "same_as", false, &c->same_as);
    if (!st) st = cbx__case_text(r, v, "numbers", false, &c->numbers);
    if (!st) st = cbx__case_number(r, v, "rtol", &c->rtol);
    if (!st) st = cbx__case_number(r, v, "atol", &c->atol);
    if (st) return st;
    if (c->command ? c->file || c->same_as || c->numbers : !c->file || !c->same_as == !c->numbers)
        return cbx__case_fault(r, "a check has 'command', or 'file' and one of 'same_as' and 'numbers'");
    if (c->rtol < 0 || c->atol < 0) return cbx__case_fault(r, "'rtol' and 'atol' must not be negative");
    return CBX_OK;
}

static cbx_status read_commands(cbx__case_reader *r, const cbx_json *root)
{
    cbx_declared *d = r->d;
    const cbx_json *list;
    size_t n;
    cbx_status st = CBX__CASE_KNOWN(r, root, "schema", "version", "name", "kind", "summary", "params", "points",
                                    "representative", "setup", "prepare", "check", "baselines");

    if (!st) st = cbx__case_text(r, root, "prepare", false, &d->prepare);
    if (!st) st = read_baselines(r, root);
    if (!st) st = cbx__case_list(r, root, "check", 0, CBX__DECLARED_MAX_CHECKS, &list, &n);
    for (size_t i = 0; !st && i < n; i++) {
        cbx__case_at(r, "check", i);
        st = read_check(r, cbx_json_at(list, i), &d->checks[i]);
        d->nchecks = i + 1;
    }
    r->where[0] = 0;
    if (st) return st;
    cbx__declared_fill_ops(d);
    return CBX_OK;
}

static cbx_status read_head(cbx__case_reader *r, const cbx_json *root)
{
    cbx_declared *d = r->d;
    const cbx_json *version = cbx_json_get(root, "version");
    const char *kind = NULL, *schema = cbx_json_get_string(root, "schema", "");
    cbx_status st;

    if (cbx_json_typeof(root) != CBX_JSON_OBJECT || strcmp(schema, "nperf-case"))
        return cbx__case_fault(r, "no case file: \"schema\": \"nperf-case\" is expected");
    if (cbx_json_typeof(version) != CBX_JSON_INT || cbx_json_int_value(version) < 1)
        return cbx__case_fault(r, "\"version\": 1 is expected");
    if (cbx_json_int_value(version) > 1)
        return cbx_fail(r->err, CBX_EVERSION, "'%s' is of version %lld of case files, and this program reads 1",
                        d->what, (long long)cbx_json_int_value(version));
    st = cbx__case_name(r, root, &d->ops.name);
    d->ops.summary = "";
    if (!st) st = cbx__case_text(r, root, "summary", false, &d->ops.summary);
    if (!st) st = cbx__case_text(r, root, "setup", false, &d->setup);
    if (!st) st = cbx__case_text(r, root, "kind", true, &kind);
    if (st) return st;
    if (strcmp(kind, "python") && strcmp(kind, "commands"))
        return cbx__case_fault(r, "'kind' may be python or commands");
    d->kind = strcmp(kind, "python") ? CBX_DECLARED_COMMANDS : CBX_DECLARED_PYTHON;
    return CBX_OK;
}

/* --- the whole --- */

static cbx_status create(cbx_ctx *ctx, const char *what, const char *folder, cbx_declared **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_declared *d = cbx_mem_zalloc(al, sizeof *d);

    if (!d) return cbx_fail(err, CBX_ENOMEM, "out of memory for '%s'", what);
    d->al = *al;
    cbx_arena_init(&d->arena, al);
    d->what = cbx_arena_strdup(&d->arena, what);
    d->folder = cbx_arena_strdup(&d->arena, folder);
    if (!d->what || !d->folder) {
        cbx_declared_free(d);
        return cbx_fail(err, CBX_ENOMEM, "out of memory for '%s'", what);
    }
    *out = d;
    return CBX_OK;
}

cbx_status cbx_declared_parse(cbx_ctx *ctx, const char *text, size_t len, const char *what, const char *folder,
                              cbx_declared **out, cbx_err *err)
{
    cbx_json *root = NULL;
    cbx_err why = CBX_ERR_INIT;
    cbx_declared *d = NULL;
    cbx__case_reader r = { .ctx = ctx, .err = err };
    cbx_status st = create(ctx, what, folder, &d, err);

    if (st) return st;
    r.d = d;
    st = cbx_json_parse(text, len, what, &root, &why);
    if (st) st = cbx_fail(err, st, "%s", why.message);
    if (!st) st = read_head(&r, root);
    if (!st) st = cbx__case_params(&r, root);
    if (!st) st = d->kind == CBX_DECLARED_PYTHON ? read_python(&r, root) : read_commands(&r, root);
    if (!st) st = cbx__case_points(&r, root);
    cbx_json_unref(root);
    if (st)
        cbx_declared_free(d);
    else
        *out = d;
    return st;
}

/* Files that must be there; and their hashes, on which the answer depends. */
static cbx_status see_files(cbx_ctx *ctx, cbx_declared *d, const char *own_hash, cbx_err *err)
{
    const char *key = own_hash;

    for (size_t i = 0; i < d->nfiles; i++) {
        char hash[CBX_HASH_SIZE];
        cbx_status st;
        if (access(d->files[i], R_OK))
            return cbx_fail(err, CBX_ENOENT, "'%s' names '%s': %s", d->what, d->files[i], strerror(errno));
        st = cbx_hash_file(ctx, d->files[i], hash, err);
        if (st) return st;
        key = cbx_arena_printf(&d->arena, "%s %s", key, hash);
        if (!key) return cbx_fail(err, CBX_ENOMEM, "out of memory for '%s'", d->what);
    }
    d->ops.oracle_key = key;
    return CBX_OK;
}

cbx_status cbx_declared_read(cbx_ctx *ctx, const char *path, cbx_declared **out, cbx_err *err)
{
    char *data = NULL, *folder, own[CBX_HASH_SIZE];
    const char *kept;
    size_t len = 0;
    cbx_declared *d = NULL;
    cbx_status st = cbx_file_read(ctx, path, MAX_FILE_BYTES, &data, &len, err);

    if (st) return st;
    folder = realpath(path, NULL);
    if (!folder) {
        st = cbx_fail_errno(err, errno, "cannot read '%s'", path);
    } else {
        *(strrchr(folder, '/') + (strrchr(folder, '/') == folder)) = 0;
        st = cbx_declared_parse(ctx, data, len, path, folder, &d, err);
    }
    if (!st) {
        cbx_hash_bytes(data, len, own);
        kept = cbx_arena_strdup(&d->arena, own);
        st = kept ? see_files(ctx, d, kept, err) : cbx_fail(err, CBX_ENOMEM, "out of memory for '%s'", path);
    }
    if (st)
        cbx_declared_free(d);
    else
        *out = d;
    free(folder);
    cbx_mem_free(cbx_ctx_allocator(ctx), data, len + 1);
    return st;
}

void cbx_declared_free(cbx_declared *d)
{
    if (!d) return;
    const cbx_allocator al = d->al;
    cbx_arena_clear(&d->arena);
    cbx_mem_free(&al, d, sizeof *d);
}

cbx_declared_kind cbx_declared_get_kind(const cbx_declared *d) { return d->kind; }
const cbx_case_ops *cbx_declared_case(const cbx_declared *d) { return &d->ops; }
