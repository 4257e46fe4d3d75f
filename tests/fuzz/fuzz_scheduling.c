/*
 * Lists that name CPUs and devices: the first byte chooses the reader, the rest is text.
 *
 * What is read of a list of CPUs must read the same from its own numbers; what is chosen of four
 * devices is among them, each once.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/perf/schedule/cores.h"
#include "calibrax/perf/schedule/platforms.h"
#include "fuzz.h"

static void cpu_list(const char *text)
{
    int list[32], again[32];
    char written[32 * 12] = "";
    size_t n = cbx__cpu_list(text, list, CBX_LEN(list)), len = 0;

    if (n > CBX_LEN(list)) abort();
    for (size_t i = 0; i < n; i++) {
        if (list[i] < 0) abort();
        len += (size_t)snprintf(written + len, sizeof(written) - len, i ? ",%d" : "%d", list[i]);
    }
    if (cbx__cpu_list(written, again, CBX_LEN(again)) != n || memcmp(list, again, n * sizeof(*list))) abort();
}

/* Words separated by blanks. */
static void devices(char *text)
{
    cbx__accelerators all = { .n = 4 }, some;
    const char *words[8];
    unsigned seen = 0;
    size_t n = 0;
    char *save = NULL;

    for (unsigned i = 0; i < 4; i++) all.list[i].number = 2 * i; /* 0, 2, 4, 6: one that is another's is left out */
    for (char *w = strtok_r(text, " ", &save); w && n < CBX_LEN(words); w = strtok_r(NULL, " ", &save)) words[n++] = w;
    if (n == 0 || cbx__accelerators_choose("fake", &all, words, n, &some, NULL)) return;
    for (size_t i = 0; i < some.n; i++) {
        unsigned bit = 1u << some.list[i].number;
        if (some.list[i].number > 6 || some.list[i].number % 2 || (seen & bit)) abort();
        seen |= bit;
    }
}

FUZZ_ENTRY()
{
    char text[512];

    if (size < 1 || size > sizeof(text)) return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (data[0] & 1)
        cpu_list(text);
    else
        devices(text);
    return 0;
}
