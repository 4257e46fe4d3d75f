/*
 * Options as tables: one table a command, from which parsing (popt), --help, the manual page and the shell completion come.
 *
 * A command keeps what it was told in a struct of its own; an option names its member by offset, so the tables are constant.
 * Members of kinds: FLAG bool; STRING const char *; COUNT size_t; INT int; NUMBER double; SIZE uint64_t (bytes, "512M", "2G");
 * LIST opt_list (comma-separated, adds up when repeated); EACH opt_list (one a use); WORDS opt_list (all words up to the next option);
 * MAYBE const char * (its argument may be left out: then the option's fallback).
 */
#ifndef CALIBRAX_PROGRAMS_OPTIONS_H
#define CALIBRAX_PROGRAMS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "calibrax/base/arena.h"

typedef enum opt_kind {
    OPT_FLAG,
    OPT_STRING,
    OPT_COUNT,
    OPT_INT,
    OPT_NUMBER,
    OPT_SIZE,
    OPT_LIST,
    OPT_EACH,
    OPT_WORDS,
    OPT_MAYBE
} opt_kind;

typedef struct opt_list {
    const char *const *items;
    size_t count;
} opt_list;

typedef struct opt_spec {
    const char *name; /* without the dashes */
    char letter;      /* 0: none */
    opt_kind kind;
    size_t offset;   /* of the member that it sets */
    const char *arg; /* word for its argument; NULL for a flag */
    const char
        *fallback; /* what holds without it, for people; NULL: nothing to say.  MAYBE: the value without an argument */
    const char *help;
} opt_spec;

struct opt_program;

typedef struct opt_command {
    const char *name; /* "" for what the program does without a command word */
    const char *synopsis, *summary, *description;
    const opt_spec *options;
    size_t noptions;
    int (*run)(const struct opt_program *program, const struct opt_command *command, int argc, const char **argv);
} opt_command;

/* Rows of two columns for the manual: exit codes, environment, examples. */
typedef struct opt_note {
    const char *what, *text;
} opt_note;

typedef struct opt_program {
    const char *name, *summary;
    const opt_command *commands;
    size_t ncommands;
    const opt_note *exits, *environment, *examples; /* each ends with a NULL row */
} opt_program;

/* What parsing came to. */
typedef enum opt_result { OPT_GO, OPT_STOP, OPT_BAD } opt_result;

/*
 * Runs the command that argv asks for and returns its exit status.  Sees to --version, --man and --completion SHELL first.
 * Standard output that cannot be written makes it 2.
 */
int opt_main(const opt_program *program, int argc, const char **argv);
/*
 * Sets members of target; argv[0] is the command's own word.  --help prints and gives OPT_STOP; a fault prints one sentence and gives
 * OPT_BAD.  Texts live in the arena.  rest: words that are no options; NULL if the command takes none, then one is a fault.
 */
opt_result opt_parse(const opt_program *program, const opt_command *command, int argc, const char **argv, void *target,
                     cbx_arena *arena, opt_list *rest);
/* Splits at commas, adding to the list; empty parts are left out.  false: out of memory. */
bool opt_split(cbx_arena *arena, const char *text, opt_list *list);
/* Adds one word.  false: out of memory. */
bool opt_append(cbx_arena *arena, const char *word, opt_list *list);
/* "nperf: message" on standard error; always 2. */
int opt_fail(const opt_program *program, const char *fmt, ...) CBX_PRINTF(2, 3);

void opt_print_help(const opt_program *program, const opt_command *command, FILE *out);
void opt_print_man(const opt_program *program, FILE *out);
void opt_print_completion(const opt_program *program, FILE *out);

#endif
