/*
 * Help and manual page (man(7) macros) from the option tables.
 */
#include <string.h>

#include "calibrax/base/version.h"
#include "programs/common/options.h"

const opt_note *opt_note_settings(opt_settings *s)
{
    for (int i = 0; i < CBX_SETTING_COUNT; i++) {
        const cbx_setting_info *info = cbx_setting_get_info((cbx_setting)i);
        snprintf(s->what[i], sizeof(s->what[i]), "%s, %s", info->variable, info->alias);
        snprintf(s->text[i], sizeof(s->text[i]), "%s: %s (default: %s); the second name is an alias%s%s", info->meaning,
                 info->words, info->fallback, strcmp(info->words, info->alias_words) ? " that says " : "",
                 strcmp(info->words, info->alias_words) ? info->alias_words : "");
        s->notes[i] = (opt_note){ s->what[i], s->text[i] };
    }
    s->notes[CBX_SETTING_COUNT] = (opt_note){ NULL, NULL };
    return s->notes;
}

const opt_note opt_exits[] = {
    { "0", "done, or passed: no regression" },
    { "1", "a check failed: a regression, a wrong answer, a missed target or an alert" },
    { "2", "no answer: wrong usage, missing or damaged data, a missing key, or a command or worker that failed" },
    { "3", "undecided: more launches are needed" },
    { "130", "interrupted; finished work is kept" },
    { NULL, NULL },
};

/* --- help --- */

/* Text from column `indent` on, broken before column 100. */
static void print_wrapped(FILE *out, const char *text, size_t indent, size_t column)
{
    while (*text) {
        size_t n = strcspn(text, " ");
        if (column > indent && column + 1 + n > 100) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", (int)n, text);
        column += n;
        text += n;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void print_option(const opt_spec *s, FILE *out)
{
    enum { INDENT = 32 };
    const char *open = s->kind == OPT_MAYBE ? " [" : s->arg ? " " : "";
    char words[80], letter[8] = "    ", text[1024];

    if (s->letter) snprintf(letter, sizeof(letter), "-%c, ", s->letter);
    snprintf(words, sizeof words, "  %s--%s%s%s%s", letter, s->name, open, s->arg ? s->arg : "",
             s->kind == OPT_MAYBE   ? "]"
             : s->kind == OPT_WORDS ? "..."
                                    : "");
    if (strlen(words) + 2 > INDENT)
        fprintf(out, "%s\n%*s", words, INDENT, "");
    else
        fprintf(out, "%-*s", INDENT, words);
    snprintf(text, sizeof(text), "%s%s%s%s", s->help, s->fallback ? " (default: " : "", s->fallback ? s->fallback : "",
             s->fallback ? ")" : "");
    print_wrapped(out, text, INDENT, INDENT);
}

const opt_spec opt_of_program[OPT_OF_PROGRAM] = {
    { .name = "version", .help = "print release, revision and build, and stop" },
    { .name = "man", .help = "print the manual page, and stop" },
    { .name = "completion",
      .kind = OPT_MAYBE,
      .arg = "SHELL",
      .fallback = "bash",
      .values = "bash zsh fish",
      .help = "print the completion for bash, zsh or fish, and stop" },
};

static bool is_rare(const opt_spec *s) { return s->kind == OPT_GROUP && s->fallback && !strcmp(s->fallback, OPT_RARE); }

bool opt_has_rare(const opt_command *command)
{
    for (size_t i = 0; i < command->noptions; i++)
        if (is_rare(&command->options[i])) return true;
    return false;
}

void opt_print_help(const opt_program *program, const opt_command *command, bool all, FILE *out)
{
    static const opt_spec help = { .name = "help", .letter = 'h', .help = "print this help and stop" };
    static const opt_spec help_all = { .name = "help-all", .help = "print the help with all options and stop" };
    bool left_out = false;

    fprintf(out, "Usage: %s%s%s%s%s\n\n", program->name, command->name[0] ? " " : "", command->name,
            command->synopsis ? " " : "", command->synopsis ? command->synopsis : "");
    print_wrapped(out, command->description, 0, 0);
    if (!command->name[0]) {
        fprintf(out, "\nCommands:\n");
        for (size_t i = 0; i < program->ncommands; i++)
            if (program->commands[i].name[0])
                fprintf(out, "  %-14s %s\n", program->commands[i].name, program->commands[i].summary);
        fprintf(out, "  %-14s %s\n", "help", "show the help of a command: 'help COMMAND'");
    }
    if (!command->noptions || command->options[0].kind != OPT_GROUP) fprintf(out, "\nOptions:\n");
    for (size_t i = 0; i < command->noptions; i++) {
        const opt_spec *s = &command->options[i];
        if (s->kind == OPT_GROUP) left_out = is_rare(s) && !all;
        if (left_out) continue;
        if (s->kind != OPT_GROUP && s->help) print_option(s, out);
        if (s->kind != OPT_GROUP) continue;
        fprintf(out, "\n%s:\n", s->name);
        if (s->help) fprintf(out, "  ");
        if (s->help) print_wrapped(out, s->help, 2, 2);
    }
    if (opt_has_rare(command)) fprintf(out, "\nHelp:\n");
    print_option(&help, out);
    if (opt_has_rare(command)) print_option(&help_all, out);
    for (size_t i = 0; i < OPT_OF_PROGRAM && !command->name[0]; i++) print_option(&opt_of_program[i], out);
    fprintf(out, "\nExit status:\n");
    for (const opt_note *n = opt_exits; n->what; n++) fprintf(out, "  %-4s %s\n", n->what, n->text);
    if (command->name[0]) return;
    fprintf(out, "\nExamples:\n");
    for (const opt_note *n = program->examples; n && n->what; n++) fprintf(out, "  %s\n      %s\n", n->what, n->text);
}

/* --- manual page --- */

/* Escapes what roff would take as its own: backslashes, dashes, and control characters at the start
 * of a line. */
static void put_roff(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'') fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
    }
}

static void put_heading(FILE *out, const char *macro, const char *text) { fprintf(out, "%s \"%s\"\n", macro, text); }

static void man_option(const opt_spec *s, FILE *out)
{
    if (s->kind == OPT_GROUP) {
        put_heading(out, ".SS", s->name);
        if (s->help) put_roff(out, s->help);
        if (s->help) fputc('\n', out);
        return;
    }
    fputs(".TP\n", out);
    if (s->letter) fprintf(out, "\\fB\\-%c\\fR, ", s->letter);
    fputs("\\fB\\-\\-", out);
    put_roff(out, s->name);
    fputs("\\fR", out);
    if (s->arg) fprintf(out, s->kind == OPT_MAYBE ? " [\\fI%s\\fR]" : " \\fI%s\\fR", s->arg);
    if (s->kind == OPT_WORDS) fputs(" ...", out);
    fputc('\n', out);
    put_roff(out, s->help);
    fputs(".\n", out);
    if (s->fallback) {
        fputs("Default: ", out);
        put_roff(out, s->fallback);
        fputs(".\n", out);
    }
}

static void man_notes(FILE *out, const char *heading, const opt_note *notes)
{
    if (!notes) return;
    put_heading(out, ".SH", heading);
    for (; notes->what; notes++) {
        fputs(".TP\n\\fB", out);
        put_roff(out, notes->what);
        fputs("\\fR\n", out);
        put_roff(out, notes->text);
        fputc('\n', out);
    }
}

void opt_print_man(const opt_program *program, FILE *out)
{
    fputs(".TH ", out);
    for (const char *c = program->name; *c; c++) fputc(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c, out);
    fprintf(out, " 1 \"\" \"calibrax %s\" \"User Commands\"\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", cbx_version(),
            program->name, program->summary);
    for (size_t i = 0; i < program->ncommands; i++) {
        const opt_command *c = &program->commands[i];
        fprintf(out, "%s\\fB%s%s%s\\fR ", i ? ".br\n" : "", program->name, c->name[0] ? " " : "", c->name);
        if (c->synopsis) put_roff(out, c->synopsis);
        fputc('\n', out);
    }
    put_heading(out, ".SH", "COMMANDS AND OPTIONS");
    for (size_t i = 0; i < program->ncommands; i++) {
        const opt_command *c = &program->commands[i];
        fprintf(out, ".SS \"%s%s%s\"\n", program->name, c->name[0] ? " " : "", c->name);
        put_roff(out, c->description);
        fputc('\n', out);
        for (size_t k = 0; k < c->noptions; k++)
            if (c->options[k].help || c->options[k].kind == OPT_GROUP) man_option(&c->options[k], out);
    }
    man_notes(out, "EXIT STATUS", opt_exits);
    man_notes(out, "ENVIRONMENT", program->environment);
    man_notes(out, "EXAMPLES", program->examples);
}
