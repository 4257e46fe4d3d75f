/*
 * Any bytes as what an MLflow server, or a proxy before it, answers, and as what wandb_files.py
 * does.  The first byte chooses the call, the second one the status of HTTP.  What is accepted has
 * what the call defines; a failure is a sentence; of two runs every reader chooses the same one.
 */
#include <stdlib.h>
#include <string.h>

#include "calibrax/exporters/mlflow_answer.h"
#include "calibrax/exporters/wandb_answer.h"
#include "fuzz.h"

static const char *const calls[] = {
    "runs/search", "runs/create", "runs/log-batch",     "runs/update",
    "runs/delete", "artifacts",   "experiments/create", "experiments/get-by-name?experiment_name=%61",
};
static const long codes[] = { 200, 200, 200, 201, 204, 302, 400, 401, 404, 407, 413, 429, 500, 502 };

static void require(bool good)
{
    if (!good) abort();
}

static bool is_sentence(const cbx_err *err) { return err->message[0] && !strchr(err->message, '\n'); }

static void runs(const cbx_json *list)
{
    cbx__mlflow_remote before = { NULL }, run;
    cbx_arena arena;

    cbx_arena_init(&arena, cbx_allocator_default());
    for (size_t i = 0; i < cbx_json_length(list); i++) {
        require(cbx__mlflow_remote_read(&arena, cbx_json_at(list, i), &run));
        require(run.id[0] && run.artifacts);
        if (i && strcmp(run.id, before.id) != 0)
            require(cbx__mlflow_remote_precedes(&run, &before) != cbx__mlflow_remote_precedes(&before, &run));
        require(!cbx__mlflow_remote_precedes(&run, &run));
        before = run;
    }
    cbx_arena_clear(&arena);
}

static void server(const char *call, long code, const char *text, size_t len)
{
    cbx_json *answer = NULL;
    cbx_err err = CBX_ERR_INIT;
    bool again = true;
    cbx_status st = cbx__mlflow_answer_read("http://a", call, code, text, len, &again, &answer, &err);

    require(st == CBX_OK || (is_sentence(&err) && !answer));
    require(st != CBX_OK || (code < 300 && !again));
    require(again == (code == 429 || code >= 500));
    if (!st && !strcmp(call, "runs/search")) runs(cbx_json_get(answer, "runs"));
    if (!st && !strcmp(call, "runs/create"))
        require(*cbx_json_get_string(cbx_json_get(cbx_json_get(answer, "run"), "info"), "run_id", ""));
    cbx_json_unref(answer);
}

static void script(const char *text, size_t len)
{
    cbx_json *files = NULL;
    cbx_err err = CBX_ERR_INIT;

    if (cbx__wandb_answer_read(text, len, &files, &err)) {
        require(is_sentence(&err) && !files);
        return;
    }
    require(cbx_json_length(files) > 0);
    for (size_t i = 0; i < cbx_json_length(files); i++) require(cbx_json_string_value(cbx_json_at(files, i))[0]);
    cbx_json_unref(files);
}

FUZZ_ENTRY()
{
    const size_t n = sizeof calls / sizeof *calls;
    char *text;

    if (size < 2 || size > 65536) return 0;
    text = malloc(size - 1); /* NUL-terminated, as answers are read */
    require(text != NULL);
    memcpy(text, data + 2, size - 2);
    text[size - 2] = '\0';
    if (data[0] % (n + 1) == n)
        script(text, size - 2);
    else
        server(calls[data[0] % (n + 1)], codes[data[1] % (sizeof codes / sizeof *codes)], text, size - 2);
    free(text);
    return 0;
}
