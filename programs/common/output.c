/*
 * Results on standard output: JSON, and what a doctor has seen.
 */
#include "programs/common/output.h"

#include <stdio.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/base/text.h"
#include "calibrax/base/version.h"

#define JSON_FLAGS (CBX_JSON_COMPACT | CBX_JSON_NONFINITE_STRING | CBX_JSON_NO_CONTROL)
#define JSON_PIECE 65536

int write_text(const opt_run *run, const char *path, const cbx_text *text)
{
    cbx_status st = cbx_text_check(text, run->err);

    if (!st) st = cbx_dir_create_parent(run->ctx, path, run->err);
    if (!st) st = cbx_file_write_atomic(run->ctx, path, cbx_text_str(text), text->len, run->err);
    return st ? opt_fail(run, "%s", run->err->message) : EXIT_PASS;
}

static int print_document(const opt_run *run, cbx_json *document, bool painted)
{
    int status = EXIT_PASS;

    SCOPED_TEXT(text, cbx_allocator_default());
    cbx_json_write(document, JSON_FLAGS, &text);
    cbx_text_putc(&text, '\n');
    if (!document || text.status)
        status = opt_fail(run, "out of memory");
    else if (painted && terminal_has_colour())
        print_json_lines(text.data);
    else
        fwrite(text.data, 1, text.len, stdout);
    cbx_json_unref(document);
    return status;
}

int print_json(const opt_run *run, cbx_json *document) { return print_document(run, document, false); }

int print_json_line(const opt_run *run, cbx_json *document) { return print_document(run, document, true); }

/* --- documents too long to be held --- */

static void pour(json_stream *s, size_t minimum)
{
    if (s->text.len < minimum) return;
    fwrite(cbx_text_str(&s->text), 1, s->text.len, stdout);
    s->failed = s->failed || s->text.status;
    cbx_text_reset(&s->text);
}

/* The members of an object, which is taken over. */
static void put_members(json_stream *s, cbx_json *o)
{
    const char *key;
    cbx_json *value;

    s->failed = s->failed || cbx_json_check(o, NULL);
    for (size_t i = 0; cbx_json_member(o, i, &key, &value); i++) cbx_json_writer_add(&s->writer, key, value);
    cbx_json_unref(o);
}

void json_stream_open(json_stream *s, unsigned flags)
{
    *s = (json_stream){ .writer = { .out = &s->text, .flags = flags } };
    cbx_text_init(&s->text, cbx_allocator_default());
    cbx_json_writer_begin(&s->writer, NULL, '{');
}

int json_stream_close(json_stream *s, const opt_run *run)
{
    cbx_json_writer_end(&s->writer);
    cbx_text_putc(&s->text, '\n');
    pour(s, 0);
    cbx_text_clear(&s->text);
    return s->failed ? opt_fail(run, "out of memory") : EXIT_PASS;
}

void json_stream_begin(json_stream *s, cbx_json *head, const char *list)
{
    json_stream_open(s, JSON_FLAGS);
    put_members(s, head);
    cbx_json_writer_begin(&s->writer, list, '[');
}

void json_stream_add(json_stream *s, cbx_json *element)
{
    s->failed = s->failed || cbx_json_check(element, NULL);
    cbx_json_writer_add(&s->writer, NULL, element);
    pour(s, JSON_PIECE);
    cbx_json_unref(element);
}

void json_stream_next(json_stream *s, cbx_json *more, const char *list)
{
    cbx_json_writer_end(&s->writer);
    if (more) put_members(s, more);
    if (list) cbx_json_writer_begin(&s->writer, list, '[');
}

int json_stream_end(json_stream *s, const opt_run *run, cbx_json *tail)
{
    json_stream_next(s, tail, NULL);
    return json_stream_close(s, run);
}

/* Of the longest name in the group of item i. */
static int name_width(const cbx_doctor_report *r, size_t i)
{
    size_t maximum = 16;

    for (size_t k = 0; k < r->count; k++) {
        size_t n = strlen(r->items[k].name);
        if (!strcmp(r->items[k].group, r->items[i].group) && n > maximum) maximum = n;
    }
    return (int)maximum;
}

void print_doctor(const opt_run *run, const cbx_doctor_report *r)
{
    static const struct {
        const char *text;
        paint how;
    } marks[] = {
        [CBX_DOCTOR_HERE] = { "ok  ", PAINT_GOOD },
        [CBX_DOCTOR_FACT] = { "    ", PAINT_PLAIN },
        [CBX_DOCTOR_MISSING] = { "--  ", PAINT_FAINT },
        [CBX_DOCTOR_BROKEN] = { "FAIL", PAINT_BAD },
    };
    const char *group = "";

    printf("%s %s, revision %s, %s\n", run->program->name, cbx_version(), cbx_revision(), cbx_build());
    for (size_t i = 0; i < r->count; i++) {
        const cbx_doctor_item *it = &r->items[i];
        if (strcmp(group, it->group)) print_painted(PAINT_STRONG, "%s\n", it->group);
        group = it->group;
        printf("  ");
        print_painted(marks[it->state].how, "%s", marks[it->state].text);
        printf(" %-*s %s\n", name_width(r, i), it->name, it->text);
        if (it->remedy && !strstr(it->text, it->remedy))
            print_painted(PAINT_FAINT, "       %-*s add it: %s\n", name_width(r, i), "", it->remedy);
    }
}

cbx_json *doctor_json(const cbx_doctor_report *r, const char *schema)
{
    cbx_json *o = cbx_json_document(schema, J_TEXT("release", cbx_version()), J_TEXT("revision", cbx_revision()));
    cbx_json *list = cbx_json_set_array(o, "items");
    for (size_t i = 0; i < r->count; i++) {
        const cbx_doctor_item *it = &r->items[i];
        cbx_json_put(cbx_json_push_object(list), J_TEXT("group", it->group), J_TEXT("name", it->name),
                     J_TEXT("state", cbx_doctor_state_name(it->state)), J_TEXT("text", it->text),
                     J_TEXT("remedy", it->remedy));
    }
    return o;
}

int doctor_verdict(const opt_run *run, const cbx_doctor_report *r)
{
    char more[48] = "", named[96];

    if (r->broken > 1) snprintf(more, sizeof(more), " (and %zu more)", r->broken - 1);
    for (size_t i = 0; i < r->count; i++) {
        const cbx_doctor_item *it = &r->items[i];
        if (it->state != CBX_DOCTOR_BROKEN) continue;
        snprintf(named, sizeof(named), "'%s'", it->name);
        if (strstr(it->text, named)) return opt_fail(run, "%s%s", it->text, more);
        return opt_fail(run, "'%s' is missing or wrong%s: %s", it->name, more, it->text);
    }
    return EXIT_PASS;
}
