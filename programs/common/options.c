/*
 * Parsing by table, over popt (MIT licence), which is seen only here.
 *
 * popt has no options with optional or several arguments, so those are rewritten first: `--site
 * DIR` becomes `--site=DIR`, `--render-from A B` becomes `--render-from=A --render-from=B`.
 */
#include "programs/common/options.h"

#include <errno.h>
#include <math.h>
#include <popt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/text.h"
#include "calibrax/base/version.h"

enum { CODE_HELP = 1, CODE_HELP_ALL, CODE_FIRST };

/* Remedies in messages of the library, which has no options, and the option of each. */
static const struct {
    const char *remedy, *option;
} hints[] = {
    { "allow it to be replaced", "replace" }, { "allow other machines", "allow-other-machine" },
    { "wait longer for locks", "lock-wait" }, { "choose another folder for results", "out" },
    { "choose another store", "store" },      { "name another state file", "state" },
};
static const opt_command *running; /* for those; NULL: none */

static const opt_spec *option_named(const opt_command *command, const char *name, size_t len)
{
    for (size_t k = 0; command && k < command->noptions; k++) {
        const char *option = command->options[k].name;
        size_t i = 0;
        while (i < len && option[i] == (name[i] == '_' ? '-' : name[i])) i++;
        if (i == len && !option[len] && command->options[k].kind != OPT_GROUP) return &command->options[k];
    }
    return NULL;
}

const char *opt_hint(const char *message)
{
    for (size_t i = 0; i < CBX_LEN(hints); i++)
        if (strstr(message, hints[i].remedy) && option_named(running, hints[i].option, strlen(hints[i].option)))
            return hints[i].option;
    return NULL;
}

int opt_fail_of(const opt_program *program, const char *fmt, ...)
{
    char message[2048];
    const char *text = message, *quote;
    const opt_spec *option = NULL;
    bool control;
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    fprintf(stderr, "%s: ", program->name);
    /* "'lock_wait' must be ..." of the library, where an option sets it: "'--lock-wait' must be
     * ..." */
    quote = *text == '\'' ? strchr(text + 1, '\'') : NULL;
    if (quote && !strncmp(quote, "' must ", 7)) option = option_named(running, text + 1, (size_t)(quote - text) - 1);
    if (option) {
        fprintf(stderr, "'--%s", option->name);
        text = quote;
    }
    /* Text from files may hold anything: a message stays one line, without control characters. */
    for (size_t n; (n = cbx_text_char(text, &control)) != 0; text += n)
        fwrite(control ? "?" : text, 1, control ? 1 : n, stderr);
    if (opt_hint(message)) fprintf(stderr, " (--%s)", opt_hint(message));
    fputc('\n', stderr);
    return 2;
}

int opt_check(const opt_run *run, cbx_status st)
{
    if (st == CBX_EINTERRUPTED) return EXIT_STOPPED;
    return st ? opt_fail(run, "%s", run->err->message) : EXIT_PASS;
}

static void *resize_or_exit(void *user, void *ptr, size_t old_size, size_t new_size)
{
    const cbx_allocator *al = cbx_allocator_default();
    void *grown = al->resize(al->user, ptr, old_size, new_size);

    if (!grown && new_size) exit(opt_fail_of(user, "out of memory"));
    return grown;
}

cbx_allocator opt_allocator(const opt_program *program)
{
    return (cbx_allocator){ resize_or_exit, (void *)(uintptr_t)program };
}

/* Capacity doubles: ten thousand files are ten thousand words.  What follows the last one is
 * NULL. */
void opt_append(cbx_arena *arena, const char *word, opt_list *list)
{
    const char **items = list->capacity;

    if (!(list->count & (list->count + 1))) {
        items = cbx_arena_calloc(arena, 2 * (list->count + 1), sizeof(*items));
        if (list->count) memcpy(items, list->items, list->count * sizeof(*items));
    }
    items[list->count++] = word;
    list->items = list->capacity = items;
}

void opt_split(cbx_arena *arena, const char *text, opt_list *list)
{
    while (*text) {
        size_t n = strcspn(text, ",");
        if (n) opt_append(arena, cbx_arena_strndup(arena, text, n), list);
        text += n + (text[n] == ',');
    }
}

#define PARSE_ON (-1) /* what parsing comes to; else the exit status with which it ends */

/* --- rewriting --- */

/* argv with every MAYBE and WORDS option carrying its arguments behind `=`. */
static void rewrite(const opt_command *command, int argc, const char **argv, cbx_arena *arena, opt_list *out)
{
    for (int i = 0; i < argc; i++) {
        const opt_spec *s = NULL;
        bool some, taken = false;

        if (i && !strcmp(argv[i], "--")) {
            for (; i < argc; i++) opt_append(arena, argv[i], out);
            return;
        }
        for (size_t k = 0; i && !strncmp(argv[i], "--", 2) && !s && k < command->noptions; k++)
            if (!strcmp(argv[i] + 2, command->options[k].name)) s = &command->options[k];
        for (size_t k = 0; i && argv[i][0] == '-' && argv[i][1] && !argv[i][2] && !s && k < command->noptions; k++)
            if (argv[i][1] == command->options[k].letter && command->options[k].kind == OPT_TUPLE)
                s = &command->options[k];
        if (s && s->kind == OPT_TUPLE) {
            const char *text = "", *rest = s->arg;
            for (; rest && i + 1 < argc; rest = strchr(rest + 1, ' '))
                text = cbx_arena_printf(arena, "%s%s%s", text, *text ? "\n" : "", argv[++i]);
            opt_append(arena, cbx_arena_printf(arena, "--%s=%s", s->name, text), out);
            continue;
        }
        some = s && (s->kind == OPT_MAYBE || s->kind == OPT_WORDS);
        while (some && i + 1 < argc && !(argv[i + 1][0] == '-' && argv[i + 1][1]) && !(taken && s->kind == OPT_MAYBE)) {
            opt_append(arena, cbx_arena_printf(arena, "--%s=%s", s->name, argv[++i]), out);
            taken = true;
        }
        if (taken) continue;
        opt_append(arena,
                   some && s->kind == OPT_MAYBE ? cbx_arena_printf(arena, "--%s=%s", s->name, s->fallback) : argv[i],
                   out);
    }
}

/* --- values --- */

bool opt_number(const char *text, double *out)
{
    char *end;

    if (!*text || text[strspn(text, "+-.0123456789eE")]) return false;
    double v = strtod(text, &end);
    if (*end || !isfinite(v)) return false;
    *out = v;
    return true;
}

static bool integer(const char *text, long long minimum, long long maximum, long long *out)
{
    if (!*text || text[strspn(text, "0123456789")]) return false;
    errno = 0;
    *out = strtoll(text, NULL, 10);
    return errno == 0 && *out >= minimum && *out <= maximum;
}

/* "1500", "512K", "512M", "2G": bytes, in powers of 1024. */
static bool byte_count(const char *text, uint64_t *out)
{
    static const char units[] = "KMGT";
    size_t digits = strspn(text, ".0123456789");
    const char *end = text + digits, *unit = *end ? strchr(units, *end) : NULL;
    char *stop;
    double v = strtod(text, &stop), scale = unit ? pow(1024, (double)(unit - units) + 1) : 1;

    if (!digits || stop != end) return false;
    if (unit) end += strcmp(end + 1, "iB") && strcmp(end + 1, "B") ? 1 : strlen(end);
    if (*end || v * scale > 9e18) return false;
    *out = (uint64_t)(v * scale);
    return true;
}

/* The place of a word in a list that blanks separate.  NULL: it is there; else "a, b or c" of "a
 * b c". */
static const char *choose(const char *words, const char *word, int *place, cbx_arena *arena)
{
    const char *text = "";

    for (size_t n, len = strlen(word); *words; ++*place, words += n + strspn(words + n, " ")) {
        n = strcspn(words, " ");
        if (n == len && !strncmp(words, word, n)) return NULL;
        text = cbx_arena_printf(arena, "%s%s%.*s", text, !*text ? "" : !words[n] ? " or " : ", ", (int)n, words);
    }
    return text;
}

/* NULL: set; else what the value must be. */
static const char *set_value(const opt_spec *s, const char *text, void *target, cbx_arena *arena)
{
    void *member = (char *)target + s->offset;
    double *x = member;
    long long n = 0;

    switch (s->kind) {
    case OPT_FLAG: *(bool *)member = true; return NULL;
    case OPT_STRING:
    case OPT_MAYBE: *(const char **)member = text; return NULL;
    case OPT_LIST: opt_split(arena, text, member); return NULL;
    case OPT_EACH:
    case OPT_TUPLE:
    case OPT_WORDS: opt_append(arena, text, member); return NULL;
    case OPT_CHOICE: *(int *)member = 0; return choose(s->values, text, member, arena);
    case OPT_COUNT:
    case OPT_POSITIVE:
        if (!integer(text, s->kind == OPT_POSITIVE, INT64_MAX, &n))
            return s->kind == OPT_POSITIVE ? "an integer of at least 1" : "an integer of at least 0";
        *(size_t *)member = (size_t)n;
        return NULL;
    case OPT_INT:
        if (!integer(text, 0, 1000000000, &n)) return "an integer of at least 0";
        *(int *)member = (int)n;
        return NULL;
    case OPT_NUMBER: return opt_number(text, x) && *x >= 0 ? NULL : "a number of at least 0";
    case OPT_ABOVE: return opt_number(text, x) && *x > 0 ? NULL : "a number above 0";
    case OPT_SHARE: return opt_number(text, x) && *x > 0 && *x < 1 ? NULL : "a number between 0 and 1";
    case OPT_REAL: return opt_number(text, x) ? NULL : "a number";
    case OPT_SIZE: return byte_count(text, member) ? NULL : "a size such as 512M or 2G";
    case OPT_GROUP: break;
    }
    return "an option of another kind";
}

/* --- rules --- */

const char *opt_given(const opt_run *run, const char *name)
{
    for (size_t i = 0; i < run->command->noptions; i++)
        if (run->command->options[i].kind != OPT_GROUP && !strcmp(run->command->options[i].name, name))
            return run->given[i];
    return NULL;
}

/* Whether one of these others holds; *found is then the first one that does. */
static bool one_holds(const opt_run *run, const char *others, const char **found)
{
    for (size_t n; *others; others += n + strspn(others + n, " ")) {
        char name[128], *value;
        n = strcspn(others, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, others);
        value = strchr(name, '=');
        if (value) *value++ = '\0';
        const char *text = opt_given(run, name);
        if (strcmp(name, "@") ? text && (!value || !strcmp(text, value)) : run->words->count) {
            if (value) value[-1] = ' ';
            *found = cbx_arena_strdup(run->arena, name);
            return true;
        }
    }
    return false;
}

/* "'--a', '--b b' or an argument" of "a b=b @". */
static const char *others_text(const opt_run *run, const char *others)
{
    const char *text = "";

    for (size_t n; *others; others += n + strspn(others + n, " ")) {
        const char *link = !*text ? "" : others[strcspn(others, " ")] ? ", " : " or ";
        size_t name = strcspn(others, " =");
        n = strcspn(others, " ");
        if (*others == '@')
            text = cbx_arena_printf(run->arena, "%s%s%s", text, link, run->command->word);
        else
            text = cbx_arena_printf(run->arena, "%s%s'--%.*s%s%.*s'", text, link, (int)name, others,
                                    name < n ? " " : "", name < n ? (int)(n - name - 1) : 0, others + name + 1);
    }
    return text;
}

static int check_rules(const opt_run *run)
{
    const opt_command *c = run->command;
    const opt_spec *group = NULL;
    const char *other;

    for (size_t i = 0; i < c->noptions; i++) {
        if (c->options[i].kind == OPT_GROUP) group = &c->options[i];
        if (run->given[i] && group && group->arg && !one_holds(run, group->arg, &other))
            return opt_fail(run, "'--%s' needs %s", c->options[i].name, others_text(run, group->arg));
    }
    for (size_t i = 0; i < c->nrules; i++) {
        const opt_rule *r = &c->rules[i];
        const bool holds = one_holds(run, r->others, &other);
        opt_list options = { NULL, 0, NULL };
        if (!*r->option && r->relation == OPT_NEEDS && !holds)
            return opt_fail(run, "'%s %s' needs %s", run->program->name, c->name, others_text(run, r->others));
        opt_split(run->arena, r->option, &options);
        for (size_t k = 0; k < options.count; k++) {
            const char *option = options.items[k];
            if (!opt_given(run, option)) continue;
            if (r->relation == OPT_EXCLUDES && holds)
                return *other == '@' ? opt_fail(run, "'--%s' and %s exclude each other", option, c->word)
                                     : opt_fail(run, "'--%s' and '--%s' exclude each other", option, other);
            if (r->relation == OPT_NEEDS && !holds)
                return opt_fail(run, "'--%s' needs %s", option, others_text(run, r->others));
        }
    }
    return EXIT_PASS;
}

/* --- parsing --- */

static int bad_option(const opt_program *program, const opt_command *command, const char *word, int code)
{
    const char *names[128] = { "help", "version", "man", "completion" };
    size_t n = 4, dashes = strspn(word, "-"), len = strcspn(word + dashes, "=");
    char bare[128];

    for (size_t i = 0; i < command->noptions && n < CBX_LEN(names); i++)
        if (command->options[i].help && command->options[i].kind != OPT_GROUP) names[n++] = command->options[i].name;
    if (code == POPT_ERROR_NOARG) return opt_fail_of(program, "option '%s' needs a value", word);
    snprintf(bare, sizeof(bare), "%.*s", (int)(len < sizeof(bare) ? len : sizeof(bare) - 1), word + dashes);
    const char *near = cbx_nearest_word(bare, names, n);
    if (code != POPT_ERROR_BADOPT) return opt_fail_of(program, "option '%s': %s", word, poptStrerror(code));
    if (near && strcmp(near, bare) == 0)
        return opt_fail_of(program, "option '--%s' must be the only one: '%s --%s'", near, program->name, near);
    if (near)
        return opt_fail_of(program, "unknown option '%.*s'; did you mean '--%s'?", (int)(dashes + len), word, near);
    return opt_fail_of(program, "unknown option '%s'; '%s%s%s --help' lists them", word, program->name,
                       command->name[0] ? " " : "", command->name);
}

static int take_option(const opt_run *run, poptContext con, int code)
{
    const opt_command *c = run->command;

    if (code == CODE_HELP || code == CODE_HELP_ALL) {
        opt_print_help(run->program, c, code == CODE_HELP_ALL || !opt_has_rare(c), stdout);
        return EXIT_PASS;
    }
    const opt_spec *s = &c->options[code - CODE_FIRST];
    char *text = poptGetOptArg(con);
    const char *kept = text ? cbx_arena_strdup(run->arena, text) : NULL;
    free(text);
    const char *wanted = s->kind == OPT_FLAG || kept ? set_value(s, kept, run->args, run->arena) : "given a value";
    for (size_t i = 0; i < c->noptions; i++)
        if (c->options[i].kind != OPT_GROUP && c->options[i].offset == s->offset) run->given[i] = kept ? kept : "";
    if (!wanted) return PARSE_ON;
    return opt_fail(run, "'--%s' must be %s, got '%s'", s->name, wanted, kept ? kept : "");
}

/* Sets members of run->args; argv[0] is the command's own word.  Texts live in the arena. */
static int parse(const opt_run *run, int argc, const char **argv, opt_list *rest)
{
    const opt_program *program = run->program;
    const opt_command *command = run->command;
    struct poptOption *table = cbx_arena_calloc(run->arena, command->noptions + 3, sizeof(*table)), *t = table;
    opt_list words = { NULL, 0 };
    const char *word;
    int code, result = PARSE_ON;

    rewrite(command, argc, argv, run->arena, &words);
    for (size_t i = 0; i < command->noptions; i++) {
        const opt_spec *s = &command->options[i];
        if (s->kind == OPT_GROUP) continue;
        *t++ = (struct poptOption){ .longName = s->name,
                                    .shortName = s->letter,
                                    .val = (int)i + CODE_FIRST,
                                    .argInfo = s->kind == OPT_FLAG ? POPT_ARG_NONE : POPT_ARG_STRING };
    }
    *t++ = (struct poptOption){ .longName = "help-all", .argInfo = POPT_ARG_NONE, .val = CODE_HELP_ALL };
    *t = (struct poptOption){ .longName = "help", .shortName = 'h', .argInfo = POPT_ARG_NONE, .val = CODE_HELP };
    poptContext con = poptGetContext(program->name, (int)words.count, (const char **)words.items, table, 0);
    while (result == PARSE_ON && (code = poptGetNextOpt(con)) != -1)
        result = code < -1 ? bad_option(program, command, poptBadOption(con, 0), code) : take_option(run, con, code);
    while (result == PARSE_ON && (word = poptGetArg(con)) != NULL) {
        opt_append(run->arena, cbx_arena_strdup(run->arena, word), rest);
        if (!(command->flags & OPT_TAKES_WORDS))
            result = opt_fail_of(program, "unexpected argument '%s'; '%s%s%s --help' lists the options", word,
                                 program->name, command->name[0] ? " " : "", command->name);
    }
    poptFreeContext(con);
    return result == PARSE_ON && check_rules(run) ? EXIT_ERROR : result;
}

/* --- the program --- */

static int start(const opt_program *program, const opt_command *command, int argc, const char **argv)
{
    const cbx_allocator al = opt_allocator(program);
    CBX_SCOPED(cbx_arena, arena, &al);
    opt_list words = { NULL, 0 };
    cbx_err err = CBX_ERR_INIT;
    opt_run run = { program, command, NULL, &words, &arena, NULL, &err, NULL };
    cbx_ctx_opts o = CBX_CTX_OPTS_INIT;

    run.args = cbx_arena_alloc(&arena, command->args_size);
    run.given = cbx_arena_calloc(&arena, command->noptions + 1, sizeof *run.given);
    if (command->defaults) memcpy(run.args, command->defaults, command->args_size);
    int status = parse(&run, argc, argv, &words);
    if (status != PARSE_ON) return status;
    if (command->flags & OPT_ANY_ENVIRONMENT) {
        o.backend = "auto";
        o.use_gpu = CBX_CHOICE_OFF;
        o.gpu_fallback = CBX_CHOICE_ON;
        o.gpu_memory_fraction = 0.9;
    }
    running = command;
    status = opt_check(&run, cbx_ctx_create(&o, &run.ctx, &err));
    if (!status) status = command->run(&run);
    cbx_ctx_free(run.ctx);
    return status;
}

size_t opt_names_command(const opt_command *c, size_t n, const char *const *words)
{
    const char *blank = strchr(c->name, ' ');
    size_t first = blank ? (size_t)(blank - c->name) : strlen(c->name);

    if (!first || !n || strlen(words[0]) != first || strncmp(words[0], c->name, first)) return 0;
    if (!blank) return 1;
    return n > 1 && !strcmp(words[1], blank + 1) ? 2 : 0;
}

/* Words that name no command: the nearest one, or what to use instead of one that was removed. */
static int unknown_command(const opt_program *program, size_t n, const char *const *words)
{
    const char *names[64], *seconds[16], *near, *all = "";
    size_t nnames = 0, nseconds = 0, len = strlen(words[0]);
    const cbx_allocator al = opt_allocator(program);
    CBX_SCOPED(cbx_arena, arena, &al);

    for (const opt_note *r = program->removed; r && r->what; r++)
        if (!strcmp(words[0], r->what))
            return opt_fail_of(program, "'%s %s' has a new name: use '%s %s'", program->name, r->what, program->name,
                               r->text);
    for (size_t i = 0; i < program->ncommands; i++) {
        const char *name = program->commands[i].name;
        if (*name && nnames < CBX_LEN(names)) names[nnames++] = name;
        if (strncmp(name, words[0], len) || name[len] != ' ' || nseconds == CBX_LEN(seconds)) continue;
        seconds[nseconds++] = name + len + 1;
        all = cbx_arena_printf(&arena, "%s%s%s", all, *all ? ", " : "", name + len + 1);
    }
    if (!nseconds) {
        near = cbx_nearest_word(words[0], names, nnames);
        return near ? opt_fail_of(program, "unknown command '%s'; did you mean '%s'?", words[0], near)
                    : opt_fail_of(program, "unknown command '%s'; '%s --help' lists them", words[0], program->name);
    }
    near = n > 1 && *words[1] != '-' ? cbx_nearest_word(words[1], seconds, nseconds) : NULL;
    return near ? opt_fail_of(program, "unknown command '%s %s'; did you mean '%s %s'?", words[0], words[1], words[0],
                              near)
                : opt_fail_of(program, "'%s' needs one of these words after it: %s", words[0], all);
}

/* Help of the command that the words name, or of those of two words that begin with the first
 * one. */
static int print_help_of(const opt_program *program, size_t n, const char *const *words)
{
    bool any = false;

    for (size_t i = 0; i < program->ncommands; i++)
        if (!n || opt_names_command(&program->commands[i], n, words)) {
            opt_print_help(program, &program->commands[i], false, stdout);
            return EXIT_PASS;
        }
    for (size_t i = 0; n == 1 && i < program->ncommands; i++) {
        const opt_command *c = &program->commands[i];
        size_t len = strlen(words[0]);
        if (strncmp(c->name, words[0], len) || c->name[len] != ' ') continue;
        if (!any)
            printf("Usage: %s %s WORD [OPTION]...; '%s help %s WORD' lists the options\n\n", program->name, words[0],
                   program->name, words[0]);
        any = true;
        printf("  %s %-10s %s\n", words[0], c->name + len + 1, c->summary);
    }
    return any ? EXIT_PASS : unknown_command(program, n, words);
}

int opt_main(const opt_program *program, int argc, const char **argv)
{
    const char *const *words = argv + 1;
    const char *first = argc > 1 ? argv[1] : "-";
    size_t n = argc > 1 ? (size_t)argc - 1 : 0;
    int status = 0;

    /* a file that may not grow further is a failed write, reported by name, not the end of the
     * program */
    signal(SIGXFSZ, SIG_IGN);
    if (!strcmp(first, "--version")) {
        printf("%s %s\nrevision %s\nbuild %s\n", program->name, cbx_version(), cbx_revision(), cbx_build());
    } else if (!strcmp(first, "--man")) {
        opt_print_man(program, stdout);
    } else if (!strcmp(first, "--complete")) {
        opt_print_candidates(program, n - 1, words + 1, stdout);
    } else if (!strcmp(first, "--completion")) {
        if (!opt_print_completion(program, n > 1 ? words[1] : "bash", stdout))
            return opt_fail_of(program, "'--completion' must be bash, zsh or fish, got '%s'", words[1]);
    } else if (!strcmp(first, "help")) {
        status = print_help_of(program, n - 1, words + 1);
    } else if (n == 2 && (!strcmp(words[1], "--help") || !strcmp(words[1], "-h")) && *first != '-') {
        status = print_help_of(program, 1, words);
    } else {
        const opt_command *c = *first == '-' ? &program->commands[0] : NULL;
        size_t named = 0;
        for (size_t i = 0; !c && i < program->ncommands; i++) {
            named = opt_names_command(&program->commands[i], n, words);
            if (named) c = &program->commands[i];
        }
        status = c ? start(program, c, argc - (int)named, argv + named) : unknown_command(program, n, words);
    }
    if (fflush(stdout) || ferror(stdout)) {
        int saved = errno;
        return opt_fail_of(program, "cannot write standard output: %s", strerror(saved));
    }
    return status;
}
