/*
 * calibrax ingest: files of Calibrax and of other benchmark tools into a store.
 *
 * Each file is taken whole or not at all; what is not taken is named with its reason, does not
 * affect the others, and makes the exit status 2.
 */
#include "calibrax/storage/import.h"

#include <string.h>

#include "calibrax/core/machine.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"

typedef struct ingest_args {
    select_args select;
    opt_list input;
    const char *format, *commit, *branch, *machine;
    bool replace, list;
} ingest_args;

#define AT(member) offsetof(ingest_args, member)

static const opt_spec ingest_options[] = {
    SELECT_STORE_ROWS,
    OPT("input", 0, WORDS, input, "FILE", NULL, "files, or folders of files; several may follow"),
    OPT("format", 0, STRING, format, "NAME", "detected from the content",
        "format of all files; --list-formats lists the formats", "@formats"),
    OPT("commit", 0, STRING, commit, "HASH", NULL, "commit of files that do not name one"),
    OPT("branch", 0, STRING, branch, "NAME", NULL, "branch of files that do not name one"),
    OPT("machine", 0, STRING, machine, "ID", NULL,
        "machine of files that do not name one: a fingerprint as 'calibrax doctor --machine' prints it, or 'here' for "
        "this machine"),
    OPT_SWITCH("replace", 0, replace,
               "replace a run of the same id and different content instead of skipping the file"),
    OPT_SWITCH("list-formats", 0, list, "list the supported formats, and stop"),
    SELECT_JSON_ROW,
};

/* What comes of all files. */
typedef struct ingest {
    const opt_run *run;
    cbx_store *store;
    cbx_json *runs, *skipped, *notes;
    size_t nskipped;
    const char *machine; /* NULL: as the files say */
} ingest;

static void push_sentence(cbx_json *list, const char *file, const char *entry, const char *message)
{
    cbx_json_put(cbx_json_push_object(list), J_TEXT("file", file), J_GIVEN("entry", entry), J_TEXT("message", message));
}

static void skip_file(ingest *in, const char *file, const char *message)
{
    push_sentence(in->skipped, file, NULL, message);
    in->nskipped++;
    opt_fail(in->run, "%s", message);
}

static void ingest_file(ingest *in, const char *file)
{
    const ingest_args *a = in->run->args;
    cbx_import_opts opts = CBX_IMPORT_OPTS_INIT;
    cbx_import import;

    opts.format = a->format;
    opts.commit = a->commit;
    opts.branch = a->branch;
    opts.machine = in->machine;
    if (cbx_import_file(in->run->ctx, file, &opts, &import, in->run->err)) {
        skip_file(in, file, in->run->err->message);
        return;
    }
    for (size_t i = 0; i < import.nnotes; i++) {
        const cbx_import_note *n = &import.notes[i];
        push_sentence(in->notes, file, n->entry, n->message);
        opt_fail(in->run, "note: '%s': '%s': %s", file, n->entry, n->message);
    }
    if (import.nnotes_left_out)
        opt_fail(in->run, "note: '%s': %zu more notes of this kind are not shown", file, import.nnotes_left_out);
    for (size_t i = 0; i < import.nruns; i++) {
        const cbx_run *r = import.runs[i];
        if (cbx_store_save(in->store, r, a->replace, in->run->err)) {
            skip_file(in, file, cbx_arena_printf(in->run->arena, "'%s': %s", file, in->run->err->message));
            continue;
        }
        if (!a->select.json)
            printf("Ingested run %s (%zu point%s)\n", cbx_run_id(r), cbx_run_npoints(r),
                   cbx_run_npoints(r) == 1 ? "" : "s");
        cbx_json *o = run_head(r);
        cbx_json_put(o, J_INT("points", cbx_run_npoints(r)), J_TEXT("file", file), J_TEXT("format", import.format));
        cbx_json_push(in->runs, o);
    }
    cbx_import_clear(&import);
}

static int list_formats(const opt_run *run)
{
    const ingest_args *a = run->args;
    SCOPED(cbx_json) *o = cbx_json_new_document("calibrax-formats");
    cbx_json *list = cbx_json_set_array(o, "formats");

    for (size_t i = 0; i < cbx_importers_count(); i++)
        list_format(list, a->select.json, 18, cbx_importers_at(i).name, cbx_importers_at(i).summary);
    return a->select.json ? print_json(run, cbx_json_ref(o)) : EXIT_PASS;
}

static int run_ingest(const opt_run *run)
{
    const ingest_args *a = run->args;
    ingest in = { .run = run, .machine = a->machine };
    cbx_machine machine;
    SCOPED(cbx_json) *o = NULL;
    int status = EXIT_PASS;

    if (a->list) return list_formats(run);
    if (a->machine && !strcmp(a->machine, "here")) {
        status = opt_check(run, cbx_machine_read(run->ctx, NULL, &machine, run->err));
        in.machine = machine.id;
    }
    if (!status) status = select_open(run, &a->select, true, &in.store);
    if (status) return status;
    o = cbx_json_new_document("calibrax-ingest");
    in.runs = cbx_json_set_array(o, "runs");
    in.skipped = cbx_json_set_array(o, "skipped");
    in.notes = cbx_json_set_array(o, "notes");
    for (size_t i = 0; i < a->input.count; i++) { /* a file, or all files of a folder */
        const char *const *files = NULL;
        size_t n = 0;
        if (cbx_import_files(run->ctx, a->input.items[i], run->arena, &files, &n, run->err))
            skip_file(&in, a->input.items[i], run->err->message);
        for (size_t k = 0; k < n; k++) ingest_file(&in, files[k]);
    }
    if (a->select.json) status = print_json(run, cbx_json_ref(o));
    cbx_store_close(in.store);
    return status ? status : in.nskipped ? EXIT_ERROR : EXIT_PASS;
}

static const opt_rule ingest_rules[] = {
    { "", OPT_NEEDS, "input list-formats" },
    { "list-formats", OPT_EXCLUDES, "input" },
};

const opt_command ingest_command = {
    .name = "ingest",
    .synopsis = "--data DIR --input FILE...",
    .summary = "read files of measurements into a store",
    .description = "Reads run files of Calibrax and of the Python package, and files of other benchmark tools; the "
                   "format is detected from the content. A folder may be a store of runs, results of asv, a store of "
                   "nperf, target/criterion, or a folder of such files. A file is read as a whole or not at all; a "
                   "file that cannot be read is reported with the reason, does not affect the others, and makes the "
                   "exit status 2. Reading the same file again gives the same run.",
    OPT_OPTIONS_RULES(ingest),
};
