/*
 * Any bytes as the file of `calibrax check --series`: the exit status is a documented one, what
 * cannot be read is a sentence with status 2, and what passes ends at or below the tolerance.
 */
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/json.h"
#include "fuzz.h"
#include "program.h"
#include "programs/calibrax/calibrax.h"

static const char *const argv[] = { "check", "--series", FUZZ_FILE, "--tolerance", "0.5,1e-6", "--hold", "2", NULL };

/* The rule of the manual in its plainest form: the last two values, which are there, are at or
 * below the smallest tolerance. */
static void need_convergence(const uint8_t *data, size_t size)
{
    cbx_json *root = NULL, *list;
    const char *name;

    if (cbx_json_parse((const char *)data, size, "input", &root, NULL)) abort();
    for (size_t i = 0; cbx_json_member(root, i, &name, &list); i++) {
        size_t n = cbx_json_length(list);
        if (cbx_json_typeof(list) != CBX_JSON_ARRAY || n < 2) abort();
        for (size_t k = n - 2; k < n; k++) {
            if (!(cbx_json_double_value(cbx_json_at(list, k)) <= 1e-6)) abort();
        }
    }
    cbx_json_unref(root);
}

FUZZ_ENTRY()
{
    char words[4096];
    int status = fuzz_command(&check_command, argv, data, size, words, sizeof words);

    if (status < EXIT_PASS || status > EXIT_UNDECIDED) abort();
    if (words[0]) fuzz_need_sentence(words);
    if (status == EXIT_PASS) need_convergence(data, size);
    return 0;
}
