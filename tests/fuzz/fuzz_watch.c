/*
 * Any bytes as what `calibrax watch` is told on standard input: values of a metric, or with
 * --health executions of pipelines.  The first byte chooses.  Every line is taken or passed over,
 * and the exit status is one of the documented ones.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "program.h"
#include "programs/calibrax/calibrax.h"

#define LINE_MOST ((size_t)1 << 20)

/* Lines that say something; *longest: of all. */
static size_t count_lines(const char *s, size_t n, size_t *longest)
{
    size_t lines = 0;

    *longest = 0;
    while (n > 0) {
        const char *end = memchr(s, '\n', n);
        size_t len = end ? (size_t)(end - s) : n, said = len;
        while (said > 0 && strchr(" \t\r", s[said - 1]) && s[said - 1]) said--;
        lines += said > 0;
        if (len > *longest) *longest = len;
        n -= end ? len + 1 : len;
        s += end ? len + 1 : len;
    }
    return lines;
}

/* What the last place says: others may quote a line that was read. */
static size_t number_before(const char *words, const char *what)
{
    const char *from = NULL;

    for (const char *at = strstr(words, what); at; at = strstr(at + 1, what)) from = at;
    while (from && from > words && from[-1] >= '0' && from[-1] <= '9') from--;
    return from ? strtoull(from, NULL, 10) : 0;
}

FUZZ_ENTRY()
{
    static const char *const argvs[][10] = {
        { "watch", "--metric", "m", "--warning", "1", "--critical", "1e3", NULL },
        { "watch", "--metric", "m", "--error", "0", "--lower", "--window", "4", "--json", NULL },
        { "watch", "--health", "--baseline", "p=0.5", "--least", "1", "--window", "4", NULL },
        { "watch", "--health", "--json", "--age", "1", NULL },
        { "watch", "--rule", "m:error=drift", "--rule", "n:warning=modes:0.2", "--window", "12", "--once", NULL },
    };
    char words[4096];
    size_t which, lines, longest;
    int status;

    if (size == 0 || size > 2 * LINE_MOST) return 0;
    which = data[0] == 'r' ? 4 : data[0] % 4;
    lines = count_lines((const char *)data + 1, size - 1, &longest);
    status = fuzz_command(&watch_command, argvs[which], data + 1, size - 1, words, sizeof words);
    if (status < 0 || status > 2) abort();
    fuzz_need_sentence(words);
    if (longest >= LINE_MOST) return 0; /* a line that long ends it */
    /* an execution that the book refuses is neither a value nor ignored */
    size_t reported = number_before(words, " values, ") + number_before(words, " value, ") +
                      number_before(words, " lines ignored") + number_before(words, " line ignored");
    if (reported > lines || (which < 2 && reported != lines)) abort();
    return 0;
}
