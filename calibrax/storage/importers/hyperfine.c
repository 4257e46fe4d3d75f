/*
 * hyperfine, JSON (--export-json): a result is a point "hyperfine", whose tags are the command and
 * its parameters, so that commands can be compared and ranked; seconds and bytes.
 *
 * A command of which a run failed has the time NaN, so that no gate passes it: the time until a
 * command fails is no measurement.
 */
#include <math.h>
#include <string.h>

#include "calibrax/storage/importers/importer.h"

static const cbx__import_def memory = CBX__DEF("memory", "B", LOWER, SECONDARY);

static const cbx__import_field cpu[] = {
    { "user", CBX__DEF("user_time", "s", INFO, SECONDARY), 1 },
    { "system", CBX__DEF("system_time", "s", INFO, SECONDARY), 1 },
};

/* The command with {n} where the value of the parameter n is in it: the file has only commands with
 * their values. */
static const char *command_template(cbx__import_job *job, const char *command, const cbx_json *parameters)
{
    cbx_allocator al = cbx__import_allocator(job);
    cbx_text out;

    cbx_text_init(&out, &al);
    while (command && *command) {
        const char *key;
        cbx_json *value;
        size_t n = 0;
        for (size_t i = 0; !n && cbx_json_member(parameters, i, &key, &value); i++) {
            const char *text = cbx_json_string_value(value);
            n = text && !strncmp(command, text, strlen(text)) ? strlen(text) : 0;
        }
        if (n)
            cbx_text_printf(&out, "{%s}", key);
        else
            cbx_text_putc(&out, *command);
        command += n ? n : 1;
    }
    if (out.status) cbx__import_fail(job, out.status, "out of memory");
    return cbx_text_str(&out);
}

static void read_file(cbx__import_job *job)
{
    const cbx_json *results = cbx__import_array(job, cbx__import_source_of(job)->json, "results"), *item;

    for (size_t i = 0; cbx__import_element(job, results, "results", i, &item); i++) {
        const char *command = cbx__import_string(job, item, "command");
        const cbx_json *codes = cbx_json_get(item, "exit_codes");
        size_t failed = 0;

        for (size_t k = 0; k < cbx_json_length(codes); k++) { /* the code of a run that a signal ended is null */
            const cbx_json *code = cbx_json_at(codes, k);
            failed += cbx_json_typeof(code) != CBX_JSON_INT || cbx_json_int_value(code) != 0;
        }
        cbx__import_point_begin(job, "hyperfine", "");
        cbx__import_tag(job, "command", command_template(job, command, cbx_json_get(item, "parameters")));
        cbx__import_tags_of(job, cbx_json_get(item, "parameters"));
        if (failed) {
            cbx__import_metric(job, &cbx__import_time, cbx_metric_of(NAN));
            cbx__import_note(job, command, "%zu of %zu runs failed, so its time is not a number", failed,
                             cbx_json_length(codes));
        } else {
            cbx__samples times = { 0 }, bytes = { 0 };

            cbx__import_member_samples(job, item, "times", 1, &times);
            if (times.n) {
                cbx__import_metric_samples(job, &cbx__import_time, &times);
            } else {
                const char *key = cbx_json_get(item, "median") ? "median" : "mean";
                cbx__import_metric(job, &cbx__import_time, cbx_metric_of(cbx__import_number(job, item, key)));
                cbx__import_spread(job, item);
            }
            cbx__import_fields(job, item, cpu, CBX_LEN(cpu));
            cbx__import_member_samples(job, item, "memory_usage_byte", 1, &bytes);
            cbx__import_metric_samples(job, &memory, &bytes);
        }
        cbx__import_point_end(job);
    }
}

const cbx__importer cbx__importer_hyperfine = {
    .name = "hyperfine",
    .summary = "hyperfine --export-json",
    .marks = { "results.0.command" },
    .read = read_file,
};
