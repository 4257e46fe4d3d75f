/*
 * Completion for bash, zsh and fish, all from the option tables.  Words that are no options complete to file names.
 */
#include <string.h>

#include "programs/common/options.h"

/* --- what all shells are told --- */

/* First word of a command's name. */
static int first_word(const opt_command *c) { return (int)strcspn(c->name, " "); }

/* Whether an earlier command begins with the same word. */
static bool word_is_known(const opt_program *program, size_t at)
{
    const char *name = program->commands[at].name;
    int len = first_word(&program->commands[at]);

    for (size_t i = 0; i < at; i++) {
        if (first_word(&program->commands[i]) == len && !strncmp(program->commands[i].name, name, (size_t)len))
            return true;
    }
    return false;
}

/* Second words of the commands that begin as this one does; nothing if it has one word. */
static void second_words(const opt_program *program, const opt_command *c, FILE *out)
{
    size_t len = (size_t)first_word(c);

    for (size_t i = 0; i < program->ncommands; i++) {
        const char *name = program->commands[i].name;
        if (!strncmp(name, c->name, len) && name[len] == ' ') fprintf(out, " %s", name + len + 1);
    }
}

/* Text between single quotes; what would end them, or begin a sense of its own in zsh, is left out. */
static void put_quoted(FILE *out, const char *text)
{
    putc('\'', out);
    for (; *text; text++) {
        if (!strchr("'[]:\\", *text)) putc(*text, out);
    }
    putc('\'', out);
}

#define SHELLS "bash zsh fish" /* what comes behind the one of opt_of_program that has an argument */

/* --- bash --- */

static void bash_words(const opt_command *c, FILE *out)
{
    for (size_t i = 0; i < c->noptions; i++)
        if (c->options[i].help) fprintf(out, "--%s ", c->options[i].name);
    fputs("--help", out);
}

/* Behind a word that stops the program nothing comes, but its value. */
static void bash_own(FILE *out)
{
    fprintf(out, "    if [ \"$COMP_CWORD\" -gt 1 ]; then\n        case \"${COMP_WORDS[1]}\" in\n");
    for (size_t i = 0; i < OPT_OF_PROGRAM; i++) {
        fprintf(out, "        --%s)", opt_of_program[i].name);
        if (opt_of_program[i].arg)
            fprintf(out, " [ \"$COMP_CWORD\" -gt 2 ] || COMPREPLY=($(compgen -W \"" SHELLS "\" -- \"$word\"));");
        fprintf(out, " return ;;\n");
    }
    fprintf(out, "        esac\n    fi\n");
}

static void print_bash(const opt_program *program, FILE *out)
{
    fprintf(
        out,
        "# bash completion of %s\n_%s()\n{\n    local word=\"${COMP_WORDS[COMP_CWORD]}\" words=\n    COMPREPLY=()\n",
        program->name, program->name);
    bash_own(out);
    fprintf(out, "    case \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n");
    for (size_t i = 0; i < program->ncommands; i++) {
        const opt_command *c = &program->commands[i];
        if (!c->name[0]) continue;
        fprintf(out, strchr(c->name, ' ') ? "    '%s') words=\"" : "    '%s '*) words=\"", c->name);
        bash_words(c, out);
        fprintf(out, "\" ;;\n");
    }
    for (size_t i = 0; i < program->ncommands; i++) {
        const opt_command *c = &program->commands[i];
        if (!strchr(c->name, ' ') || word_is_known(program, i)) continue;
        fprintf(out, "    '%.*s '*) words=\"", first_word(c), c->name);
        second_words(program, c, out);
        fprintf(out, "\" ;;\n");
    }
    fprintf(out, "    *) words=\"");
    bash_words(&program->commands[0], out);
    fprintf(out, "\" ;;\n    esac\n    if [ \"$COMP_CWORD\" -eq 1 ]; then words=\"$words");
    for (size_t i = 0; i < OPT_OF_PROGRAM; i++) fprintf(out, " --%s", opt_of_program[i].name);
    for (size_t i = 0; i < program->ncommands; i++) {
        const opt_command *c = &program->commands[i];
        if (c->name[0] && !word_is_known(program, i)) fprintf(out, " %.*s", first_word(c), c->name);
    }
    fprintf(out, "\"; fi\n    if [ \"${word#-}\" != \"$word\" ] || [ \"$COMP_CWORD\" -le 2 ]; then\n");
    fprintf(out, "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n    fi\n");
    fprintf(out, "    if [ \"${word#-}\" = \"$word\" ] && [ ${#COMPREPLY[@]} -eq 0 ]; then\n");
    fprintf(out, "        COMPREPLY=($(compgen -f -- \"$word\"))\n    fi\n}\n");
    fprintf(out, "complete -F _%s %s\n", program->name, program->name);
}

/* --- zsh --- */

static void zsh_command(const opt_command *c, const char *more, FILE *out)
{
    fprintf(out, "        _arguments '--help[print this and stop]'%s", more);
    for (size_t i = 0; i < c->noptions; i++) {
        const opt_spec *s = &c->options[i];
        if (!s->help) continue;
        fprintf(out, " \\\n            ");
        if (s->kind == OPT_LIST || s->kind == OPT_EACH || s->kind == OPT_WORDS) putc('*', out);
        fprintf(out, "--%s'['", s->name);
        put_quoted(out, s->help);
        fprintf(out, "']'");
        if (s->arg) fprintf(out, "':%s:_files'", s->arg);
    }
    fprintf(out, " \\\n            '*:file:_files' ;;\n");
}

static void zsh_own(FILE *out)
{
    fprintf(out, "    local -a own\n    if (( CURRENT > 2 )); then\n        case \"$words[2]\" in\n");
    for (size_t i = 0; i < OPT_OF_PROGRAM; i++) {
        fprintf(out, "        (--%s)", opt_of_program[i].name);
        if (opt_of_program[i].arg) fprintf(out, " (( CURRENT > 3 )) || compadd -- " SHELLS ";");
        fprintf(out, " return ;;\n");
    }
    fprintf(out, "        esac\n    else\n        own=(");
    for (size_t i = 0; i < OPT_OF_PROGRAM; i++)
        fprintf(out, " '--%s[%s]'", opt_of_program[i].name, opt_of_program[i].help);
    fprintf(out, " )\n    fi\n");
}

static void print_zsh(const opt_program *program, FILE *out)
{
    fprintf(out, "#compdef %s\n# zsh completion of %s\n_%s()\n{\n", program->name, program->name, program->name);
    fprintf(out, "    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n        compadd --");
    for (size_t i = 0; i < program->ncommands; i++) {
        const opt_command *c = &program->commands[i];
        if (c->name[0] && !word_is_known(program, i)) fprintf(out, " %.*s", first_word(c), c->name);
    }
    fprintf(out, "\n        return\n    fi\n");
    zsh_own(out);
    fprintf(out, "    case \"$words[2] $words[3]\" in\n");
    for (size_t i = 0; i < program->ncommands; i++) {
        const opt_command *c = &program->commands[i];
        if (!c->name[0]) continue;
        fprintf(out, strchr(c->name, ' ') ? "    ('%s')\n" : "    ('%s '*)\n", c->name);
        zsh_command(c, "", out);
    }
    for (size_t i = 0; i < program->ncommands; i++) {
        const opt_command *c = &program->commands[i];
        if (!strchr(c->name, ' ') || word_is_known(program, i)) continue;
        fprintf(out, "    ('%.*s '*) compadd --", first_word(c), c->name);
        second_words(program, c, out);
        fprintf(out, " ;;\n");
    }
    fprintf(out, "    (*)\n");
    zsh_command(&program->commands[0], " $own", out);
    fprintf(out, "    esac\n}\n_%s \"$@\"\n", program->name);
}

/* --- fish --- */

static void fish_options(const opt_program *program, const opt_command *c, FILE *out)
{
    for (size_t i = 0; i < c->noptions; i++) {
        const opt_spec *s = &c->options[i];
        if (!s->help) continue;
        fprintf(out, "complete -c %s -n ", program->name);
        if (!c->name[0])
            fprintf(out, "__fish_use_subcommand");
        else if (strchr(c->name, ' '))
            fprintf(out, "'__fish_seen_subcommand_from %.*s; and __fish_seen_subcommand_from %s'", first_word(c),
                    c->name, strchr(c->name, ' ') + 1);
        else
            fprintf(out, "'__fish_seen_subcommand_from %s'", c->name);
        fprintf(out, " -l %s", s->name);
        if (s->letter) fprintf(out, " -s %c", s->letter);
        if (s->arg && s->kind != OPT_MAYBE) fprintf(out, " -r");
        fprintf(out, " -d ");
        put_quoted(out, s->help);
        putc('\n', out);
    }
}

#define FISH_FIRST "'test (count (commandline -opc)) -eq 1'" /* nothing but the program stands before the cursor */

static void fish_own(const opt_program *program, FILE *out)
{
    for (size_t i = 0; i < OPT_OF_PROGRAM; i++) {
        const char *name = opt_of_program[i].name;
        fprintf(out, "complete -c %s -n " FISH_FIRST " -l %s -d '%s'\n", program->name, name, opt_of_program[i].help);
        fprintf(out, "complete -c %s -n '__fish_seen_argument -l %s' -f\n", program->name, name);
        if (opt_of_program[i].arg)
            fprintf(
                out,
                "complete -c %s -n '__fish_seen_argument -l %s; and test (count (commandline -opc)) -eq 2' -a '" SHELLS
                "'\n",
                program->name, name);
    }
}

static void print_fish(const opt_program *program, FILE *out)
{
    fprintf(out, "# fish completion of %s\ncomplete -c %s -l help -d 'print this and stop'\n", program->name,
            program->name);
    fish_own(program, out);
    for (size_t i = 0; i < program->ncommands; i++) {
        const opt_command *c = &program->commands[i];
        const char *second = strchr(c->name, ' ');
        fish_options(program, c, out);
        if (!c->name[0]) continue;
        if (!word_is_known(program, i))
            fprintf(out, "complete -c %s -n " FISH_FIRST " -a %.*s\n", program->name, first_word(c), c->name);
        if (!second) continue;
        fprintf(out, "complete -c %s -n '__fish_seen_subcommand_from %.*s' -f -a %s -d ", program->name, first_word(c),
                c->name, second + 1);
        put_quoted(out, c->summary);
        putc('\n', out);
    }
}

bool opt_print_completion(const opt_program *program, const char *shell, FILE *out)
{
    static const struct {
        const char *shell;
        void (*print)(const opt_program *program, FILE *out);
    } shells[] = { { "bash", print_bash }, { "zsh", print_zsh }, { "fish", print_fish } };

    for (size_t i = 0; i < CBX_LEN(shells); i++) {
        if (strcmp(shell, shells[i].shell) != 0) continue;
        shells[i].print(program, out);
        return true;
    }
    return false;
}
