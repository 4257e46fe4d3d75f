/*
 * Completion.  The scripts of bash, zsh and fish pass the words on the line to `PROGRAM
 * --complete`, which prints the candidates for the last one; where nothing is printed the shells
 * complete file names.
 */
#include <string.h>

#include "programs/common/options.h"

/* What is offered, and how far the word that is completed has come. */
typedef struct offer {
    FILE *out;
    const char *word;
    size_t kept; /* bytes of the word that stay: earlier elements of a list */
} offer;

/* A candidate that begins as the word does, with its meaning. */
static void put(const offer *o, const char *dashes, const char *candidate, size_t len, const char *meaning)
{
    char whole[256];

    snprintf(whole, sizeof whole, "%s%.*s", dashes, (int)len, candidate);
    if (strncmp(whole, o->word + o->kept, strlen(o->word + o->kept))) return;
    fprintf(o->out, "%.*s%s\t", (int)o->kept, o->word, whole);
    fprintf(o->out, "%.*s\n", meaning ? (int)strcspn(meaning, "\n") : 0, meaning ? meaning : "");
}

static void put_word(void *user, const char *word)
{
    if (!strpbrk(word, "\t\n")) put(user, "", word, strlen(word), NULL);
}

/* Words of a `values` list. */
static void put_values(const opt_program *program, const char *values, const char *data, offer *o)
{
    for (size_t n; values && *values; values += n + strspn(values + n, " ")) {
        static const opt_list none = { NULL, 0, NULL };
        const cbx_allocator al = opt_allocator(program);
        CBX_SCOPED(cbx_arena, arena, &al);
        opt_run run = { .program = program, .command = &program->commands[0], .words = &none, .arena = &arena };
        char kind[32];
        n = strcspn(values, " ");
        if (*values != '@') put(o, "", values, n, NULL);
        if (*values != '@' || !program->complete) continue;
        snprintf(kind, sizeof kind, "%.*s", (int)n - 1, values + 1);
        if (!cbx_ctx_create(NULL, &run.ctx, NULL)) program->complete(&run, kind, data, put_word, o);
        cbx_ctx_free(run.ctx);
    }
}

static void put_options(const opt_spec *s, size_t n, const offer *o)
{
    for (size_t i = 0; i < n; i++)
        if (s[i].kind != OPT_GROUP && s[i].help) put(o, "--", s[i].name, strlen(s[i].name), s[i].help);
}

/* Commands whose names are longer than the words before the last one, which they begin with: the
 * next word of their names. */
static void put_commands(const opt_program *program, const char *first, const offer *o)
{
    size_t len = first ? strlen(first) : 0;

    for (size_t i = 0; i < program->ncommands; i++) {
        const char *name = program->commands[i].name, *blank = strchr(name, ' ');
        size_t known = 0, n = blank ? (size_t)(blank - name) : strlen(name);
        if (first && blank && n == len && !strncmp(name, first, len))
            put(o, "", blank + 1, strlen(blank + 1), program->commands[i].summary);
        while (known < i &&
               (strncmp(program->commands[known].name, name, n) || strcspn(program->commands[known].name, " ") != n))
            known++;
        if (!first && n && known == i) put(o, "", name, n, blank ? NULL : program->commands[i].summary);
    }
    if (!first) put(o, "", "help", 4, "show the help of a command");
}

/* The option that the word is the argument of; NULL: of none. */
static const opt_spec *option_before(const opt_command *c, const char *word)
{
    for (size_t i = 0; i < c->noptions; i++) {
        const opt_spec *s = &c->options[i];
        if (s->kind == OPT_GROUP || s->kind == OPT_FLAG) continue;
        if (!strncmp(word, "--", 2) ? !strcmp(word + 2, s->name)
                                    : word[0] == '-' && s->letter && word[1] == s->letter && !word[2])
            return s;
    }
    return NULL;
}

void opt_print_candidates(const opt_program *program, size_t n, const char *const *words, FILE *out)
{
    offer o = { .out = out, .word = n ? words[n - 1] : "" };
    const opt_command *c = &program->commands[0];
    const char *data = NULL, *comma = strrchr(o.word, ',');
    size_t named = 0;

    if (!n) return;
    for (size_t i = 0; i < OPT_OF_PROGRAM; i++) {
        if (strncmp(words[0], "--", 2) || strcmp(words[0] + 2, opt_of_program[i].name) || n == 1) continue;
        if (opt_of_program[i].arg && n == 2) put_values(program, opt_of_program[i].values, NULL, &o);
        return;
    }
    if (!strcmp(words[0], "help") && n > 1) {
        put_commands(program, n > 2 ? words[1] : NULL, &o);
        return;
    }
    for (size_t i = 0; i < program->ncommands && !named; i++) {
        named = opt_names_command(&program->commands[i], n - 1, words);
        if (named) c = &program->commands[i];
    }
    for (size_t i = named; i + 1 < n; i++)
        if (!strcmp(words[i], "--data")) data = words[i + 1];
    const opt_spec *s = n - 1 > named ? option_before(c, words[n - 2]) : NULL;
    if (s) {
        if (s->kind == OPT_LIST && comma) o.kept = (size_t)(comma + 1 - o.word);
        put_values(program, s->values, data, &o);
    } else if (*o.word == '-') {
        put_options(c->options, c->noptions, &o);
        put(&o, "--", "help", 4, "print this help and stop");
        if (n == 1) put_options(opt_of_program, OPT_OF_PROGRAM, &o);
    } else if (named) {
        put_values(program, c->words, data, &o);
    } else {
        put_commands(program, n > 1 ? words[0] : NULL, &o);
    }
}

bool opt_print_completion(const opt_program *program, const char *shell, FILE *out)
{
    const char *p = program->name;

    if (!strcmp(shell, "bash"))
        fprintf(out,
                "# bash completion of %s\n_%s()\n{\n    mapfile -t COMPREPLY < <(\"${COMP_WORDS[0]}\" --complete "
                "\"${COMP_WORDS[@]:1:COMP_CWORD}\" 2> /dev/null | cut -f 1)\n}\ncomplete -o default -F _%s %s\n",
                p, p, p, p);
    else if (!strcmp(shell, "zsh"))
        fprintf(
            out,
            "#compdef %s\n# zsh completion of %s\n_%s()\n{\n    local -a found\n"
            "    found=(\"${(@f)$(\"${words[1]}\" --complete \"${(@)words[2,CURRENT]}\" 2> /dev/null | cut -f 1)}\")\n"
            "    if [[ -n \"$found\" ]]; then\n        compadd -- \"${(@)found}\"\n    elif [[ $words[2] != "
            "--(version|man|completion) ]]; then\n        _files\n    fi\n}\n_%s \"$@\"\n",
            p, p, p, p);
    else if (!strcmp(shell, "fish"))
        fprintf(out,
                "# fish completion of %s\nfunction __%s_complete\n    set -l line (commandline -opc)\n"
                "    $line[1] --complete $line[2..-1] (commandline -ct) 2> /dev/null\nend\n"
                "complete -c %s -n 'count (__%s_complete) > /dev/null' -f -a '(__%s_complete)'\n"
                "complete -c %s -n 'string match -qr -- \"^--(version|man|completion)\\$\" (commandline -opc)[2]' -f\n",
                p, p, p, p, p, p);
    else
        return false;
    return true;
}
