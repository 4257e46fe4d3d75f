/**
 * What counts as a path in a sentence, and how it is taken out; see public.h.
 */
#include "calibrax/perf/sweep/public.h"

#include <stdbool.h>
#include <string.h>

static bool begins_word(const char *s, size_t i) { return i == 0 || strchr(" \t\n\r\"'`(=:,;[", s[i - 1]) != NULL; }

size_t cbx__path_length(const char *s, size_t i)
{
    size_t n = strcspn(s + i, " \t\n\r\"'`),;>]");
    bool path = s[i] == '/' || (s[i] == '~' && s[i + 1] == '/');
    return path && n > 1 && begins_word(s, i) ? n : 0;
}

void cbx__public_message(char *message)
{
    size_t out = 0, n;

    for (size_t i = 0; message[i]; i += n) {
        size_t path = cbx__path_length(message, i), from = i;
        n = path ? path : 1;
        for (size_t k = i; k + 1 < i + path; k++)
            if (message[k] == '/') from = k + 1;
        memmove(message + out, message + from, i + n - from);
        out += i + n - from;
    }
    message[out] = 0;
}
