/*
 * Any bytes into the JSON parser.  json-c must accept or refuse them as we do and read the same.
 * What parses is written in two forms; each must parse again to an equal value, and the first form
 * must be a fixed point of parse and write.  What is read in pieces is what is read at once, with
 * the same fault at the same place.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/json_stream.h"
#include "fuzz.h"
#include "tests/support/json_oracle.h"

static void require(int good)
{
    if (!good) abort();
}

static void write_and_read_back(const cbx_json *v, unsigned flags)
{
    cbx_text first, second;
    cbx_json *again = NULL;
    cbx_text_init(&first, cbx_allocator_default());
    cbx_text_init(&second, cbx_allocator_default());
    cbx_json_write(v, flags, &first);
    require(first.status == CBX_OK &&
            cbx_json_parse(cbx_text_str(&first), first.len, "written", &again, NULL) == CBX_OK);
    cbx_json_write(again, flags, &second);
    require(first.len == second.len && memcmp(cbx_text_str(&first), cbx_text_str(&second), first.len) == 0);
    if (!(flags & CBX_JSON_NONFINITE_STRING)) require(cbx_json_equal(v, again));
    cbx_json_unref(again);
    cbx_text_clear(&first);
    cbx_text_clear(&second);
}

/* A text in pieces of 1 to 7 bytes. */
typedef struct feed {
    const uint8_t *data;
    size_t size, at;
} feed;

static cbx_status give(void *user, char *to, size_t capacity, size_t *got, cbx_err *err)
{
    feed *f = user;
    size_t n = f->size - f->at, piece = 1 + f->at % 7;

    (void)err;
    if (n > piece) n = piece;
    if (n > capacity) n = capacity;
    if (n) memcpy(to, f->data + f->at, n);
    f->at += n;
    *got = n;
    return CBX_OK;
}

static void read_in_pieces(const uint8_t *data, size_t size, cbx_status wanted, const cbx_json *whole,
                           const cbx_err *reported)
{
    feed f = { data, size, 0 };
    cbx_err err = CBX_ERR_INIT;
    cbx_json *v = NULL;
    cbx_status st = cbx__json_stream(&(cbx__json_source){ give, &f }, NULL, "input", &v, &err);

    require(st == wanted && (!st || strcmp(err.message, reported->message) == 0));
    require(st || cbx_json_equal(v, whole));
    cbx_json_unref(v);
}

FUZZ_ENTRY()
{
    cbx_json *v = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_json_parse((const char *)data, size, "input", &v, &err);
    const char *differs = cbx_test_json_differs((const char *)data, size, st == CBX_OK, v);
    read_in_pieces(data, size, st, v, &err);
    if (differs) fprintf(stderr, "%s\n", differs);
    require(!differs);
    if (st) {
        require(err.message[0] != 0 && v == NULL);
        return 0;
    }
    write_and_read_back(v, CBX_JSON_COMPACT);
    write_and_read_back(v, CBX_JSON_INDENT2 | CBX_JSON_ASCII | CBX_JSON_SORT_KEYS | CBX_JSON_NONFINITE_STRING);
    cbx_json *copy = cbx_json_copy(v);
    if (v) require(copy && cbx_json_equal(v, copy));
    cbx_json_unref(copy);
    cbx_json_unref(v);
    return 0;
}
