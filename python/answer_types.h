/* Inside answers: the table of the library's structs (answer_types.c), read by answers.c. */
#ifndef CALIBRAX_PYTHON_ANSWER_TYPES_H
#define CALIBRAX_PYTHON_ANSWER_TYPES_H

#include "python/answers.h"

typedef enum cx_member_kind {
    CX_AS_NUMBER,     /* double */
    CX_AS_MAYBE,      /* double; NaN is None */
    CX_AS_WHOLE,      /* unsigned, of width bytes */
    CX_AS_INT,        /* signed, of width bytes */
    CX_AS_FLAG,       /* bool */
    CX_AS_TEXT,       /* const char *; NULL is None */
    CX_AS_CHARS,      /* char[] */
    CX_AS_WORD,       /* an enumeration, named by word() */
    CX_AS_PART,       /* another struct of the table */
    CX_AS_PARTS,      /* a pointer to several, their number at count */
    CX_AS_PARTS_IN,   /* several inside, their number at count; fixed if count is SIZE_MAX: then width / size of them */
    CX_AS_NUMBERS,    /* a pointer to doubles, their number at count; NULL is None */
    CX_AS_NUMBERS_IN, /* doubles inside, as CX_AS_PARTS_IN */
    CX_AS_WHOLES_IN,  /* size_t inside, their number at count */
    CX_AS_LINES,      /* char[][width], their number at count */
    CX_AS_DTYPE,      /* cbx_dtype */
    CX_AS_ARRAY       /* an array, which cx_record puts in */
} cx_member_kind;

typedef struct cx_member {
    const char *name;
    cx_member_kind kind;
    size_t at, width, count;
    cx_answer_kind of;
    const char *(*word)(int v);
    const char *doc;
} cx_member;

enum { CX_MAX_MEMBERS = 40 };

typedef struct cx_answer_type {
    const char *name, *doc;
    size_t size;
    const cx_member *members; /* the first without a name ends them */
} cx_answer_type;

extern const cx_answer_type cx_answer_types[CX_ANSWER_COUNT];

#endif
