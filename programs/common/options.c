/*
 * Parsing by table, over popt (MIT licence), which is seen only here.
 *
 * popt has no options with words that may be left out or many words, so those are rewritten first: `--site DIR` becomes `--site=DIR`,
 * `--render-from A B` becomes `--render-from=A --render-from=B`.
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

enum { CODE_HELP = 1, CODE_FIRST = 2 };

/* What comes from files may hold anything: a sentence stays one line, and says nothing to the terminal. */
static void put_plain(const char *text)
{
    bool control;

    for (size_t n; (n = cbx_text_char(text, &control)) != 0; text += n)
        fwrite(control ? "?" : text, 1, control ? 1 : n, stderr);
}

int opt_fail(const opt_program *program, const char *fmt, ...)
{
    char message[2048];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    fprintf(stderr, "%s: ", program->name);
    put_plain(message);
    fputc('\n', stderr);
    return 2;
}

/* Room doubles at powers of two: ten thousand files are ten thousand words. */
bool opt_append(cbx_arena *arena, const char *word, opt_list *list)
{
    bool full = (list->count & (list->count - 1)) == 0;
    const char **items = list->room;

    if (full) items = cbx_arena_calloc(arena, list->count ? 2 * list->count : 1, sizeof(*items));
    if (!items || !word) return false;
    if (full && list->count) memcpy(items, list->items, list->count * sizeof(*items));
    items[list->count++] = word;
    list->items = list->room = items;
    return true;
}

bool opt_split(cbx_arena *arena, const char *text, opt_list *list)
{
    while (*text) {
        size_t n = strcspn(text, ",");
        if (n && !opt_append(arena, cbx_arena_strndup(arena, text, n), list)) return false;
        text += n + (text[n] == ',');
    }
    return true;
}

/* What parsing came to. */
typedef enum opt_result { OPT_GO, OPT_STOP, OPT_BAD } opt_result;

/* --- rewriting --- */

static const opt_spec *find_spec(const opt_command *command, const char *word)
{
    if (strncmp(word, "--", 2)) return NULL;
    for (size_t i = 0; i < command->noptions; i++) {
        if (!strcmp(word + 2, command->options[i].name)) return &command->options[i];
    }
    return NULL;
}

static bool is_option(const char *word) { return word[0] == '-' && word[1] != 0; }

/* argv with every MAYBE and WORDS option carrying its words behind `=`. */
static bool rewrite(const opt_command *command, int argc, const char **argv, cbx_arena *arena, opt_list *out)
{
    for (int i = 0; i < argc; i++) {
        const opt_spec *s = i ? find_spec(command, argv[i]) : NULL;
        bool some = s && (s->kind == OPT_MAYBE || s->kind == OPT_WORDS);
        bool taken = false;

        if (i && !strcmp(argv[i], "--")) {
            for (; i < argc; i++) {
                if (!opt_append(arena, argv[i], out)) return false;
            }
            return true;
        }
        while (some && i + 1 < argc && !is_option(argv[i + 1]) && !(taken && s->kind == OPT_MAYBE)) {
            if (!opt_append(arena, cbx_arena_printf(arena, "--%s=%s", s->name, argv[++i]), out)) return false;
            taken = true;
        }
        if (taken) continue;
        if (some && s->kind == OPT_MAYBE &&
            !opt_append(arena, cbx_arena_printf(arena, "--%s=%s", s->name, s->fallback), out))
            return false;
        if ((!some || s->kind == OPT_WORDS) && !opt_append(arena, argv[i], out)) return false;
    }
    return true;
}

/* --- values --- */

static bool whole_number(const char *text, long long least, long long *out)
{
    char *end;

    errno = 0;
    *out = strtoll(text, &end, 10);
    return *text && *end == 0 && errno == 0 && *out >= least;
}

/* "1500", "512K", "512M", "2G": bytes, in powers of 1024. */
static bool byte_count(const char *text, uint64_t *out)
{
    static const char units[] = "KMGT";
    char *end;
    double v = strtod(text, &end), scale = 1;
    const char *unit = *end ? strchr(units, *end) : NULL;

    if (end == text || !(v >= 0) || strpbrk(text, "xX")) return false;
    if (unit) {
        scale = pow(1024, (double)(unit - units) + 1);
        end++;
        if (!strcmp(end, "iB") || !strcmp(end, "B")) end += strlen(end);
    }
    if (*end || v * scale > 9e18) return false;
    *out = (uint64_t)(v * scale);
    return true;
}

static const char *set_number(const char *text, double least, const char *expected, double *out)
{
    char *end;

    *out = strtod(text, &end);
    return end == text || strpbrk(text, "xX") || *end || !isfinite(*out) || *out < least ? expected : NULL;
}

/* NULL: set; else what is expected. */
static const char *set_value(const opt_spec *s, const char *text, void *target, cbx_arena *arena)
{
    void *member = (char *)target + s->offset;
    long long n = 0;

    switch (s->kind) {
    case OPT_FLAG: *(bool *)member = true; return NULL;
    case OPT_STRING:
    case OPT_MAYBE: *(const char **)member = text; return NULL;
    case OPT_LIST: return opt_split(arena, text, member) ? NULL : "memory";
    case OPT_EACH:
    case OPT_WORDS: return opt_append(arena, text, member) ? NULL : "memory";
    case OPT_COUNT:
        if (!whole_number(text, 0, &n)) return "a whole number, 0 or more";
        *(size_t *)member = (size_t)n;
        return NULL;
    case OPT_POSITIVE:
        if (!whole_number(text, 1, &n)) return "a whole number, 1 or more";
        *(size_t *)member = (size_t)n;
        return NULL;
    case OPT_INT:
        if (!whole_number(text, 0, &n) || n > 1000000000) return "a whole number, 0 or more";
        *(int *)member = (int)n;
        return NULL;
    case OPT_NUMBER: return set_number(text, 0, "a number, 0 or more", member);
    case OPT_REAL: return set_number(text, -INFINITY, "a number", member);
    case OPT_SIZE: return byte_count(text, member) ? NULL : "a size such as 512M or 2G";
    }
    return "an option of another kind";
}

/* --- parsing --- */

static struct poptOption *popt_table(const opt_command *command, cbx_arena *arena)
{
    struct poptOption *t = cbx_arena_calloc(arena, command->noptions + 2, sizeof(*t));

    if (!t) return NULL;
    for (size_t i = 0; i < command->noptions; i++) {
        const opt_spec *s = &command->options[i];
        t[i] = (struct poptOption){ .longName = s->name, .shortName = s->letter, .val = (int)i + CODE_FIRST };
        t[i].argInfo = s->kind == OPT_FLAG ? POPT_ARG_NONE : POPT_ARG_STRING;
    }
    t[command->noptions] = (struct poptOption){
        .longName = "help", .shortName = 'h', .argInfo = POPT_ARG_NONE, .val = CODE_HELP
    };
    return t;
}

static opt_result bad_option(const opt_program *program, const opt_command *command, const char *word, int code)
{
    const char *names[96] = { "help", "version", "man", "completion" };
    size_t n = 4, dashes = strspn(word, "-"), len = strcspn(word + dashes, "=");
    char bare[128];
    const char *near;

    for (size_t i = 0; i < command->noptions && n < CBX_LEN(names); i++)
        if (command->options[i].help) names[n++] = command->options[i].name;
    if (code == POPT_ERROR_NOARG) {
        opt_fail(program, "option '%s' needs a value", word);
        return OPT_BAD;
    }
    snprintf(bare, sizeof(bare), "%.*s", (int)(len < sizeof(bare) ? len : sizeof(bare) - 1), word + dashes);
    near = cbx_nearest_word(bare, names, n);
    if (code == POPT_ERROR_BADOPT && near && strcmp(near, bare) == 0) {
        opt_fail(program, "option '--%s' stands alone: '%s --%s'", near, program->name, near);
    } else if (code == POPT_ERROR_BADOPT && near) {
        opt_fail(program, "unknown option '%.*s'; did you mean '--%s'?", (int)(dashes + len), word, near);
    } else if (code == POPT_ERROR_BADOPT) {
        opt_fail(program, "unknown option '%s'; '%s%s%s --help' lists them", word, program->name,
                 command->name[0] ? " " : "", command->name);
    } else {
        opt_fail(program, "option '%s': %s", word, poptStrerror(code));
    }
    return OPT_BAD;
}

static opt_result take_option(const opt_program *program, const opt_command *command, poptContext con, int code,
                              void *target, cbx_arena *arena)
{
    const opt_spec *s;
    char *text;
    const char *kept, *wanted;

    if (code == CODE_HELP) {
        opt_print_help(program, command, stdout);
        return OPT_STOP;
    }
    s = &command->options[code - CODE_FIRST];
    text = poptGetOptArg(con);
    kept = text ? cbx_arena_strdup(arena, text) : NULL;
    free(text);
    wanted = s->kind == OPT_FLAG || kept ? set_value(s, kept, target, arena) : "a value";
    if (!wanted) return OPT_GO;
    opt_fail(program, "--%s: expected %s, found '%s'", s->name, wanted, kept ? kept : "");
    return OPT_BAD;
}

static opt_result take_rest(const opt_program *program, const opt_command *command, poptContext con, cbx_arena *arena,
                            opt_list *rest)
{
    const char *word;

    while ((word = poptGetArg(con)) != NULL) {
        if (!rest) {
            opt_fail(program, "unexpected word '%s'; '%s%s%s --help' tells the options", word, program->name,
                     command->name[0] ? " " : "", command->name);
            return OPT_BAD;
        }
        if (!opt_append(arena, cbx_arena_strdup(arena, word), rest)) {
            opt_fail(program, "out of memory");
            return OPT_BAD;
        }
    }
    return OPT_GO;
}

/* Sets members of target; argv[0] is the command's own word, rest NULL if it takes no others.  Texts live in the arena. */
static opt_result parse(const opt_program *program, const opt_command *command, int argc, const char **argv,
                        void *target, cbx_arena *arena, opt_list *rest)
{
    struct poptOption *table = popt_table(command, arena);
    opt_list words = { NULL, 0 };
    opt_result result = OPT_GO;
    poptContext con;
    int code;

    if (!table || !rewrite(command, argc, argv, arena, &words)) {
        opt_fail(program, "out of memory");
        return OPT_BAD;
    }
    con = poptGetContext(program->name, (int)words.count, (const char **)words.items, table, 0);
    while (result == OPT_GO && (code = poptGetNextOpt(con)) != -1) {
        if (code < -1)
            result = bad_option(program, command, poptBadOption(con, 0), code);
        else
            result = take_option(program, command, con, code, target, arena);
    }
    if (result == OPT_GO) result = take_rest(program, command, con, arena, rest);
    poptFreeContext(con);
    return result;
}

/* --- the program --- */

static int print_version(const opt_program *program)
{
    printf("%s %s\nrevision %s\nbuild %s\n", program->name, cbx_version(), cbx_revision(), cbx_build());
    return 0;
}

/* A context by the environment, or whatever the environment says; 2 with a sentence if there is none. */
static int make_context(const opt_program *program, const opt_command *command, cbx_ctx **out)
{
    cbx_ctx_opts o = CBX_CTX_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;

    if (command->flags & OPT_ANY_ENVIRONMENT) {
        o.backend = "auto";
        o.use_gpu = CBX_CHOICE_OFF;
        o.gpu_fallback = CBX_CHOICE_ON;
        o.gpu_memory_fraction = 0.9;
    }
    return cbx_ctx_create(&o, out, &err) ? opt_fail(program, "%s", err.message) : 0;
}

static int parse_and_run(const opt_program *program, const opt_command *command, int argc, const char **argv,
                         cbx_arena *arena)
{
    opt_list words = { NULL, 0 };
    opt_run run = { program, command, cbx_arena_alloc(arena, command->args_size), &words, arena, NULL };
    opt_result parsed;
    int status;

    if (!run.args) return opt_fail(program, "out of memory");
    if (command->defaults) memcpy(run.args, command->defaults, command->args_size);
    parsed = parse(program, command, argc, argv, run.args, arena, command->flags & OPT_TAKES_WORDS ? &words : NULL);
    if (parsed != OPT_GO) return parsed == OPT_STOP ? EXIT_PASS : EXIT_ERROR;
    status = make_context(program, command, &run.ctx);
    if (!status) status = command->run(&run);
    cbx_ctx_free(run.ctx);
    return status;
}

static int start(const opt_program *program, const opt_command *command, int argc, const char **argv)
{
    cbx_arena arena;
    int status;

    cbx_arena_init(&arena, cbx_allocator_default());
    status = parse_and_run(program, command, argc, argv, &arena);
    cbx_arena_clear(&arena);
    return status;
}

/* Words of argv that name this command, 1 or 2 ("store verify"); 0: it is another. */
static int names_command(const opt_command *c, int argc, const char **argv)
{
    const char *blank = strchr(c->name, ' ');
    size_t first = blank ? (size_t)(blank - c->name) : strlen(c->name);

    if (!first || argc < 2 || strlen(argv[1]) != first || strncmp(argv[1], c->name, first)) return 0;
    if (!blank) return 1;
    return argc > 2 && !strcmp(argv[2], blank + 1) ? 2 : 0;
}

/* A word that begins commands of two words, without a second one that is known. */
static int half_command(const opt_program *program, const char *first, const char *second)
{
    const char *names[32], *near;
    char all[200] = "";
    size_t n = 0, len = strlen(first), used = 0;

    for (size_t i = 0; i < program->ncommands && n < CBX_LEN(names); i++) {
        const char *name = program->commands[i].name;
        if (strncmp(name, first, len) || name[len] != ' ') continue;
        names[n++] = name + len + 1;
        used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", used ? ", " : "", name + len + 1);
    }
    if (!n) return 0;
    near = second ? cbx_nearest_word(second, names, n) : NULL;
    if (near) return opt_fail(program, "unknown command '%s %s'; did you mean '%s %s'?", first, second, first, near);
    return opt_fail(program, "'%s' needs one of these words behind it: %s", first, all);
}

/* --help behind a word that begins commands of two words: what there is, a line each.  false: the word begins none. */
static bool help_of_half(const opt_program *program, const char *first, const char *second)
{
    size_t len = strlen(first);
    bool any = false;

    if (strcmp(second, "--help") && strcmp(second, "-h")) return false;
    for (size_t i = 0; i < program->ncommands; i++) {
        const opt_command *c = &program->commands[i];
        if (strncmp(c->name, first, len) || c->name[len] != ' ') continue;
        if (!any)
            printf("Usage: %s %s WORD [OPTION]...; '--help' behind the word tells its options\n\n", program->name,
                   first);
        any = true;
        printf("  %s %-10s %s\n", first, c->name + len + 1, c->summary);
    }
    return any;
}

static int run_command(const opt_program *program, int argc, const char **argv)
{
    const char *names[32];
    const char *near;
    size_t n = 0;

    for (size_t i = 0; i < program->ncommands; i++) {
        const opt_command *c = &program->commands[i];
        int words = names_command(c, argc, argv);
        if (words) return start(program, c, argc - words, argv + words);
        if (c->name[0] && n < CBX_LEN(names)) names[n++] = c->name;
    }
    if (argc < 2 || argv[1][0] == '-') return start(program, &program->commands[0], argc, argv);
    if (argc > 2 && help_of_half(program, argv[1], argv[2])) return EXIT_PASS;
    if (half_command(program, argv[1], argc > 2 && argv[2][0] != '-' ? argv[2] : NULL)) return EXIT_ERROR;
    near = cbx_nearest_word(argv[1], names, n);
    if (near) return opt_fail(program, "unknown command '%s'; did you mean '%s'?", argv[1], near);
    return opt_fail(program, "unknown command '%s'; '%s --help' lists them", argv[1], program->name);
}

int opt_main(const opt_program *program, int argc, const char **argv)
{
    int status = 0;

    /* a file that may not grow further is a failed write, told by name, not the end of the program */
    signal(SIGXFSZ, SIG_IGN);
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        status = print_version(program);
    } else if (argc > 1 && !strcmp(argv[1], "--man")) {
        opt_print_man(program, stdout);
    } else if (argc > 1 && !strcmp(argv[1], "--completion")) {
        const char *shell = argc > 2 ? argv[2] : "bash";
        if (!opt_print_completion(program, shell, stdout))
            return opt_fail(program, "--completion: unknown shell '%s'; known: bash, zsh, fish", shell);
    } else {
        status = run_command(program, argc, argv);
    }
    if (fflush(stdout) || ferror(stdout)) {
        int saved = errno;
        return opt_fail(program, "cannot write standard output: %s", strerror(saved));
    }
    return status;
}
