/*
 * Any bytes as a command line: words parted by NUL bytes, for a command that has an option of every
 * kind.  What is taken is within what the kind says; what is not is a sentence and exit status 2;
 * help, manual and completion come out whatever stands beside them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "program.h"

typedef struct all_kinds {
    bool flag;
    const char *string, *maybe;
    size_t count, positive;
    int whole;
    double number, real, share;
    int choice;
    uint64_t bytes;
    opt_list list, each, words;
} all_kinds;

#define AT(member) offsetof(all_kinds, member)

static const opt_spec options[] = {
    { "flag", 'f', OPT_FLAG, AT(flag), NULL, NULL, "a flag" },
    { "string", 's', OPT_STRING, AT(string), "TEXT", NULL, "a text" },
    { "maybe", 0, OPT_MAYBE, AT(maybe), "TEXT", "there", "a text or none" },
    { "count", 'c', OPT_COUNT, AT(count), "N", "0", "a count" },
    { "positive", 'p', OPT_POSITIVE, AT(positive), "N", "1", "a count that is not 0" },
    { "whole", 'i', OPT_INT, AT(whole), "N", NULL, "a whole number" },
    { "number", 'n', OPT_NUMBER, AT(number), "X", NULL, "0 or more" },
    { "share", 0, OPT_SHARE, AT(share), "P", NULL, "between 0 and 1" },
    { "choice", 0, OPT_CHOICE, AT(choice), "WORD", NULL, "one of three", "one two three" },
    { "A group", 0, OPT_GROUP, 0, "flag", NULL, "what needs the flag" },
    { "real", 'r', OPT_REAL, AT(real), "X", NULL, "any number" },
    { "bytes", 'b', OPT_SIZE, AT(bytes), "SIZE", NULL, "bytes" },
    { "list", 'l', OPT_LIST, AT(list), "A,B", NULL, "a list" },
    { "each", 'e', OPT_EACH, AT(each), "A", NULL, "a list, too" },
    { "words", 'w', OPT_WORDS, AT(words), "A", NULL, "all words" },
};

static void check_list(const opt_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        if (!l->items[i]) abort();
}

static int run(const opt_run *r)
{
    const all_kinds *a = r->args;

    if (a->positive == 0 || !(a->number >= 0) || !isfinite(a->number) || isnan(a->real)) abort();
    if (!(a->share >= 0 && a->share < 1) || a->choice < 0 || a->choice > 2) abort();
    check_list(&a->list);
    check_list(&a->each);
    check_list(&a->words);
    check_list(r->words);
    return EXIT_PASS;
}

static const all_kinds defaults = { .positive = 1 };

FUZZ_ENTRY()
{
    static const opt_command command = {
        "run",
        "[OPTIONS] [WORD...]",
        "all kinds",
        "An option of every kind.",
        options,
        CBX_LEN(options),
        sizeof(all_kinds),
        &defaults,
        OPT_TAKES_WORDS,
        run,
    };
    const char *argv[FUZZ_WORDS_MOST + 1] = { "run" };
    char said[4096], *text;
    int n = 1, status;

    if (size > 4096) return 0;
    text = malloc(size + 1);
    if (!text) abort();
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    for (size_t at = 0; at < size && n < FUZZ_WORDS_MOST; at += strlen(text + at) + 1) argv[n++] = text + at;
    argv[n] = NULL;
    status = fuzz_command(&command, argv, NULL, 0, said, sizeof said);
    if (status != EXIT_PASS && status != EXIT_ERROR) abort();
    if (status == EXIT_ERROR) fuzz_need_sentence(said);
    free(text);
    return 0;
}
