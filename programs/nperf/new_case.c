/*
 * nperf new-case: a whole case to begin with, as C for a plug-in, as a file with Python functions,
 * or as a file of commands.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/file.h"
#include "programs/nperf/nperf.h"
#include "programs/nperf/skeletons.h"

typedef struct new_case_args {
    bool python, commands, json;
    const char *dir;
} new_case_args;

#define AT(member) offsetof(new_case_args, member)

static const opt_spec new_case_options[] = {
    OPT_SWITCH("python", 0, python, "write a case file (JSON) with functions of a Python file"),
    OPT_SWITCH("commands", 0, commands, "write a case file (JSON) of commands"),
    OPT("dir", 0, STRING, dir, "DIR", ".", "output folder"),
    OPT_SWITCH("json", 0, json, "print the written files and the next command as one JSON document"),
};

static const opt_rule new_case_rules[] = { { "python", OPT_EXCLUDES, "commands" } };

/* A file to write: NAME and this ending. */
typedef struct skeleton {
    const char *ending;
    const char *const *lines;
} skeleton;

enum { IN_C, IN_PYTHON, IN_COMMANDS, FORMS, MAX_FILES = 2 };
static const skeleton forms[FORMS][MAX_FILES + 1] = {
    [IN_C] = { { ".c", nperf_skeleton_c } },
    [IN_PYTHON] = { { ".json", nperf_skeleton_json }, { ".py", nperf_skeleton_python } },
    [IN_COMMANDS] = { { ".json", nperf_skeleton_commands } },
};

static const char *path_of(const opt_run *run, const char *name, const char *ending)
{
    const new_case_args *a = run->args;
    const char *file = cbx_arena_printf(run->arena, "%s%s", name, ending);
    return a->dir ? cbx_path_join(run->arena, a->dir, file) : file;
}

static int write_one(const opt_run *run, const char *name, const skeleton *s)
{
    const new_case_args *a = run->args;
    const char *path = path_of(run, name, s->ending);

    SCOPED_TEXT(text, cbx_ctx_allocator(run->ctx));
    for (size_t i = 0; s->lines[i]; i++) {
        const char *line = s->lines[i]; /* in which NAME is replaced */
        for (const char *hit; (hit = strstr(line, "NAME")) != NULL; line = hit + 4)
            cbx_text_printf(&text, "%.*s%s", (int)(hit - line), line, name);
        cbx_text_puts(&text, line);
    }
    int status = opt_check(run, cbx_text_check(&text, run->err));
    if (!status) status = opt_check(run, cbx_file_write_atomic(run->ctx, path, text.data, text.len, run->err));
    if (!status && !a->json) printf("%s\n", path);
    return status;
}

/* The command that measures it. */
static const char *next_command(const opt_run *run, const char *name)
{
    const new_case_args *a = run->args;

    if (a->python || a->commands) return cbx_arena_printf(run->arena, "nperf --define %s", path_of(run, name, ".json"));
    return cbx_arena_printf(run->arena, "nperf --plugin ./%s.so --case %s", name, name);
}

/* The command that compiles a plug-in, with the headers of this very program: installed below its
 * prefix, or in the tree it was built from. */
static const char *compile_command(const opt_run *run, const char *name)
{
    static const char *const ups[] = { "../include", "../../../.." };
    const char *path = path_of(run, name, ".c"), *flags = "$(pkg-config --cflags calibrax)";
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

    for (size_t i = 0; n > 0 && i < CBX_LEN(ups); i++) {
        char folder[4200], header[4300];
        while (n && exe[n - 1] != '/') n--;
        snprintf(folder, sizeof folder, "%.*s%s", (int)n, exe, ups[i]);
        snprintf(header, sizeof header, "%s/calibrax/perf/case/plugin.h", folder);
        if (!cbx_path_exists(header)) continue;
        flags = cbx_arena_printf(run->arena, i ? "-I%s -I%.*s../.." : "-I%s", folder, (int)n, exe);
        break;
    }
    return cbx_arena_printf(run->arena, "cc -std=gnu17 -O3 -fPIC -shared %s -o %s.so %s", flags, name, path);
}

static int run_new_case(const opt_run *run)
{
    const new_case_args *a = run->args;
    const skeleton *files = forms[a->python ? IN_PYTHON : a->commands ? IN_COMMANDS : IN_C];
    const char *name = run->words->count ? run->words->items[0] : NULL;
    int status = EXIT_PASS;

    if (run->words->count != 1) return opt_fail(run, "new-case takes one name, such as 'nperf new-case row_norm'");
    /* it names a case, files, and what comes of them */
    if (*name < 'a' || *name > 'z' || strlen(name) > 60 || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")])
        return opt_fail(run,
                        "the name of a case must be a lower-case letter followed by letters, digits and _, at most 60 "
                        "characters, got '%s'",
                        name);
    for (size_t i = 0; files[i].ending; i++) {
        const char *path = path_of(run, name, files[i].ending);
        if (access(path, F_OK) == 0)
            return opt_fail(run, "'%s' exists already; choose another name, or another --dir", path);
    }
    for (size_t i = 0; files[i].ending && !status; i++) status = write_one(run, name, &files[i]);
    if (!status && a->json) {
        /* {"schema":"nperf-new-case","version":1,"name","files":[...],"next"} */
        cbx_json *o = cbx_json_document("nperf-new-case", J_TEXT("name", name)), *list = cbx_json_set_array(o, "files");
        for (size_t i = 0; files[i].ending; i++)
            cbx_json_push(list, cbx_json_new_string(path_of(run, name, files[i].ending)));
        cbx_json_set_string(o, "next", next_command(run, name));
        return print_json(run, o);
    }
    if (!status) {
        if (!a->python && !a->commands) fprintf(stderr, "next: %s\n", compile_command(run, name));
        fprintf(stderr, "next: %s\n", next_command(run, name));
    }
    return status;
}

const opt_command new_case_command = {
    .name = "new-case",
    .synopsis = "[--python | --commands] [--dir DIR] [--json] NAME",
    .summary = "write a new case from a template",
    .description =
        "Writes a complete case with that name, which builds and runs unchanged: C for a plug-in, with --python a case "
        "file and a Python file, or with --commands a case file of commands. Existing files are not overwritten.",
    OPT_OPTIONS_RULES(new_case),
    .flags = OPT_TAKES_WORDS,
};
