/*
 * Options as tables: one table a command, from which parsing (popt), --help, the manual page and the shell completion come.
 *
 * A command keeps what it was told in a struct of its own; an option names its member by offset, so the tables are constant.
 * Members of kinds: FLAG bool; STRING const char *; COUNT size_t; INT int; NUMBER double, 0 or more; REAL double; SIZE uint64_t (bytes, "512M", "2G");
 * LIST opt_list (comma-separated, adds up when repeated); EACH opt_list (one a use); WORDS opt_list (all words up to the next option);
 * MAYBE const char * (its argument may be left out: then the option's fallback).
 */
#ifndef CALIBRAX_PROGRAMS_OPTIONS_H
#define CALIBRAX_PROGRAMS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/settings.h"

typedef enum opt_kind {
    OPT_FLAG,
    OPT_STRING,
    OPT_COUNT,
    OPT_POSITIVE,
    OPT_INT,
    OPT_NUMBER,
    OPT_REAL,
    OPT_SIZE,
    OPT_LIST,
    OPT_EACH,
    OPT_WORDS,
    OPT_MAYBE
} opt_kind;

typedef struct opt_list {
    const char *const *items;
    size_t count;
    const char **room; /* the same, for opt_append; shared by copies, so only one of them is appended to */
} opt_list;

typedef struct opt_spec {
    const char *name; /* without the dashes */
    char letter;      /* 0: none */
    opt_kind kind;
    size_t offset;   /* of the member that it sets */
    const char *arg; /* word for its argument; NULL for a flag */
    const char
        *fallback; /* what holds without it, for people; NULL: nothing to say.  MAYBE: the value without an argument */
    const char *help; /* NULL: another spelling of an option, taken and not shown */
} opt_spec;

struct opt_program;
struct opt_command;

/* What a command runs with; all of it ends with the run. */
typedef struct opt_run {
    const struct opt_program *program;
    const struct opt_command *command;
    void *args;            /* the command's struct, filled */
    const opt_list *words; /* those that are no options */
    cbx_arena *arena;
    cbx_ctx *ctx;
} opt_run;

enum {
    OPT_TAKES_WORDS = 1,    /* words that are no options are no fault */
    OPT_ANY_ENVIRONMENT = 2 /* runs with a wrong environment, too: the context has the defaults of all settings */
};

typedef struct opt_command {
    const char *name; /* one word or two ("store verify"); "" for what the program does without a command word */
    const char *synopsis, *summary, *description;
    const opt_spec *options;
    size_t noptions;
    size_t args_size;     /* of the struct that the options set */
    const void *defaults; /* what it holds at first; NULL: zeroes */
    unsigned flags;
    int (*run)(const opt_run *run); /* returns the exit status */
} opt_command;

/* Rows of two columns for the manual: exit codes, environment, examples. */
typedef struct opt_note {
    const char *what, *text;
} opt_note;

/* The rows of a manual for the settings of the library (calibrax/base/settings.h), with the texts they point to. */
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
    const opt_note *exits, *environment, *examples; /* each ends with a NULL row */
} opt_program;

/* Exit status of every program (DESIGN.md section 1). */
enum { EXIT_PASS = 0, EXIT_CHECK = 1, EXIT_ERROR = 2, EXIT_UNDECIDED = 3, EXIT_STOPPED = 130 };

/*
 * Runs the command that argv asks for and returns its exit status: parses its options, makes a context, calls it.  Sees to
 * --version, --man, --completion SHELL and --help first.  A fault is one sentence and 2; so is standard output that cannot
 * be written.
 */
int opt_main(const opt_program *program, int argc, const char **argv);
/* Splits at commas, adding to the list; empty parts are left out.  false: out of memory. */
bool opt_split(cbx_arena *arena, const char *text, opt_list *list);
/* Adds one word.  false: out of memory. */
bool opt_append(cbx_arena *arena, const char *word, opt_list *list);
enum { OPT_OF_PROGRAM = 3 };
/* What a program takes as its first word instead of a command or options: version, man, completion. */
extern const opt_spec opt_of_program[OPT_OF_PROGRAM];
/* "nperf: message" on standard error; always 2. */
int opt_fail(const opt_program *program, const char *fmt, ...) CBX_PRINTF(2, 3);

void opt_print_help(const opt_program *program, const opt_command *command, FILE *out);
void opt_print_man(const opt_program *program, FILE *out);
/* For "bash", "zsh" or "fish"; false: another shell. */
bool opt_print_completion(const opt_program *program, const char *shell, FILE *out);

#endif
