/*
 * Options as tables: one table a command, from which parsing (popt), --help, the manual page and
 * the shell completion come.
 *
 * The options of a command set members of one struct, each named by its offset, so the tables are
 * constant.  Members of kinds: FLAG bool; STRING const char *; CHOICE int, the index of the word in
 * `values`; COUNT size_t; INT int; NUMBER double, at least 0; ABOVE double above 0; SHARE double
 * between 0 and 1; REAL double; SIZE uint64_t (bytes, "512M", "2G"); LIST opt_list
 * (comma-separated, adds up when repeated); EACH opt_list (one a use); WORDS opt_list (all
 * arguments up to the next option); MAYBE const char * (its argument is optional: without one it is
 * the option's fallback); TUPLE opt_list (one a use: as many arguments as `arg` has words,
 * separated by '\n').  GROUP sets nothing: its name is the heading of the options below it, and
 * `arg` lists the options (separated by blanks) of which they need one; options below one whose
 * fallback is OPT_RARE are printed by --help-all only.
 */
#ifndef CALIBRAX_PROGRAMS_OPTIONS_H
#define CALIBRAX_PROGRAMS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/settings.h"
#include "programs/common/scoped.h"

#define OPT_RARE "--help-all"

typedef enum opt_kind {
    OPT_FLAG,
    OPT_STRING,
    OPT_CHOICE,
    OPT_COUNT,
    OPT_POSITIVE,
    OPT_INT,
    OPT_NUMBER,
    OPT_ABOVE,
    OPT_SHARE,
    OPT_REAL,
    OPT_SIZE,
    OPT_LIST,
    OPT_EACH,
    OPT_WORDS,
    OPT_MAYBE,
    OPT_TUPLE,
    OPT_GROUP
} opt_kind;

typedef struct opt_list {
    const char *const *items; /* NULL behind the last one */
    size_t count;
    const char **capacity; /* the same, for opt_append; shared by copies, so only one of them is appended to */
} opt_list;

typedef struct opt_spec {
    const char *name; /* without the dashes */
    char letter;      /* 0: none */
    opt_kind kind;
    size_t offset;        /* of the member that it sets */
    const char *arg;      /* name of its argument in help; NULL for a flag */
    const char *fallback; /* the default as text; NULL: not shown.  MAYBE: the value without an argument */
    const char *help;     /* NULL: another spelling of an option, accepted and not shown */
    const char *
        values; /* words that completion offers, separated by blanks, "@KIND" asked of the program; of CHOICE the legal ones */
} opt_spec;

/* Rows of a table in a file that defines AT(member), the offset of a member of the
 * command's struct. */
#define OPT(name, letter, kind, member, arg, fallback, ...)                                                            \
    {                                                                                                                  \
        name, letter, OPT_##kind, AT(member), arg, fallback, __VA_ARGS__                                               \
    }
#define OPT_SWITCH(name, letter, member, help) OPT(name, letter, FLAG, member, NULL, NULL, help)
/* @param needs  as `arg` of a GROUP */
#define OPT_HEADING(text, needs)                                                                                       \
    {                                                                                                                  \
        .name = text, .kind = OPT_GROUP, .arg = needs                                                                  \
    }
#define OPT_RARE_HEADING(text)                                                                                         \
    {                                                                                                                  \
        .name = text, .kind = OPT_GROUP, .fallback = OPT_RARE                                                          \
    }

/* What must hold between options; checked before the command runs. */
typedef struct opt_rule {
    const char *option; /* where it is given; "": always; "a,b": where a is, and where b is */
    enum { OPT_NEEDS, OPT_EXCLUDES } relation;
    const char *
        others; /* of OPT_NEEDS one is enough; separated by blanks; "NAME=VALUE": with this value, "@": arguments that are no options */
} opt_rule;

struct opt_program;
struct opt_command;

/* What a command runs with; all of it ends with the run. */
typedef struct opt_run {
    const struct opt_program *program;
    const struct opt_command *command;
    void *args;            /* the command's struct, filled */
    const opt_list *words; /* those that are no options */
    cbx_arena *arena;      /* never returns NULL: without memory the program ends with a message */
    cbx_ctx *ctx;
    cbx_err *err;       /* for calls of the library, whose result opt_check reports */
    const char **given; /* the last text of each option of the command, "" of a flag; NULL: not given */
} opt_run;

enum {
    OPT_TAKES_WORDS = 1,    /* words that are no options are no fault */
    OPT_ANY_ENVIRONMENT = 2 /* runs with a wrong environment, too: the context has the defaults of all settings */
};

typedef struct opt_command {
    const char *name;     /* one word or two ("store verify"); "" for what the program does without a command word */
    const char *synopsis; /* what comes behind the name; NULL: nothing */
    const char *summary, *description;
    const opt_spec *options;
    size_t noptions;
    size_t args_size;     /* of the struct that the options set */
    const void *defaults; /* what it holds at first; NULL: zeroes */
    unsigned flags;
    int (*run)(const opt_run *run); /* returns the exit status */
    const opt_rule *rules;
    size_t nrules;
    const char *word;  /* name of an argument that is no option in messages; NULL: it takes none */
    const char *words; /* as `values` of an option, for those arguments */
} opt_command;

/* The members of an opt_command for run_NAME and its tables: NAME_options, which set a NAME_args,
 * and NAME_rules. */
#define OPT_OPTIONS(name)                                                                                              \
    .options = name##_options, .noptions = CBX_LEN(name##_options), .args_size = sizeof(name##_args), .run = run_##name
#define OPT_RULES(name)         .rules = name##_rules, .nrules = CBX_LEN(name##_rules)
#define OPT_OPTIONS_RULES(name) OPT_OPTIONS(name), OPT_RULES(name)

/* Rows of two columns for the manual: exit status, environment, examples. */
typedef struct opt_note {
    const char *what, *text;
} opt_note;

/* The rows of a manual for the settings of the library (calibrax/base/settings.h), with the texts
 * they point to. */
typedef struct opt_settings {
    opt_note notes[CBX_SETTING_COUNT + 1];
    char what[CBX_SETTING_COUNT][80], text[CBX_SETTING_COUNT][240];
} opt_settings;

/* Fills s and returns its rows. */
const opt_note *opt_note_settings(opt_settings *s);

typedef struct opt_program {
    const char *name, *summary;
    const opt_command *commands;
    size_t ncommands;
    const opt_note *environment, *examples; /* each ends with a NULL row */
    const opt_note *removed; /* names that commands had, and what to use instead; ends with a NULL row; NULL: none */
    /* Calls put for each word of "@KIND", for completion.  data: the argument of --data so far, or
     * NULL.  NULL: there are no kinds. */
    void (*complete)(const opt_run *run, const char *kind, const char *data, void (*put)(void *user, const char *word),
                     void *user);
} opt_program;

/* Exit status of every command of every program; opt_exits is the table that --help prints. */
enum { EXIT_PASS = 0, EXIT_CHECK = 1, EXIT_ERROR = 2, EXIT_UNDECIDED = 3, EXIT_STOPPED = 130 };
extern const opt_note opt_exits[];

/*
 * Runs the command that argv names and returns its exit status: parses its options, checks its
 * rules, makes a context, calls it.  Handles --version, --man, --completion SHELL, help and --help
 * itself.  A fault is one sentence and 2; so is standard output that cannot be written.
 */
int opt_main(const opt_program *program, int argc, const char **argv);
/* EXIT_PASS; else EXIT_ERROR after the message in run->err, or EXIT_STOPPED without one where the
 * user interrupted. */
int opt_check(const opt_run *run, cbx_status st);
/* The text of an option of the running command; "" of a flag; NULL: it is not given.  Other
 * spellings of the option count. */
const char *opt_given(const opt_run *run, const char *name);
/* A finite number in decimal notation and nothing else: no hexadecimal digits, blanks or words. */
bool opt_number(const char *text, double *out);
/* Splits at commas, adding to the list; empty parts are left out.  The arena is a run's. */
void opt_split(cbx_arena *arena, const char *text, opt_list *list);
/* Adds one word. */
void opt_append(cbx_arena *arena, const char *word, opt_list *list);
enum { OPT_OF_PROGRAM = 3 };
/* What a program accepts as its first argument instead of a command or options: version, man,
 * completion. */
extern const opt_spec opt_of_program[OPT_OF_PROGRAM];
/* An allocator that ends the program with a message where there is no memory; for what lives as
 * long as the run. */
cbx_allocator opt_allocator(const opt_program *program);
/* The option of the running command that is the remedy in a message of the library; NULL: there is
 * no such option. */
const char *opt_hint(const char *message);
/* "nperf: message" on standard error, followed by the option that is its remedy; always 2. */
#define opt_fail(run, ...) opt_fail_of((run)->program, __VA_ARGS__)
int opt_fail_of(const opt_program *program, const char *fmt, ...) CBX_PRINTF(2, 3);

/* all: --help-all. */
void opt_print_help(const opt_program *program, const opt_command *command, bool all, FILE *out);
/* Whether --help leaves some options out. */
bool opt_has_rare(const opt_command *command);
void opt_print_man(const opt_program *program, FILE *out);
/* For "bash", "zsh" or "fish"; false: another shell. */
bool opt_print_completion(const opt_program *program, const char *shell, FILE *out);
/* Candidates for the last word of a command line, one a line: the word, a tab, its meaning. */
void opt_print_candidates(const opt_program *program, size_t n, const char *const *words, FILE *out);
/* Arguments that name this command, 1 or 2 ("store verify"); 0: they name another.  words[0] is the
 * first one behind the program's name. */
size_t opt_names_command(const opt_command *c, size_t n, const char *const *words);

#endif
