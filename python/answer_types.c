/* The table of answers, from answer_rows.inc. */
#include "python/answer_types.h"

#include <stddef.h>

/* Words of enumerations, by functions of one type. */
#define WORDS(name, function, type)                                                                                    \
    static const char *name(int v) { return function((type)v); }
WORDS(w_steady, cbx_steady_name, cbx_steady_class)
WORDS(w_complexity, cbx_complexity_name, cbx_complexity)
WORDS(w_direction, cbx_direction_name, cbx_direction)
WORDS(w_flops, cbx_flops_source_name, cbx_flops_source)
WORDS(w_severity, cbx_severity_name, cbx_severity)
WORDS(w_health, cbx_health_state_name, cbx_health_state)
WORDS(w_accuracy, cbx_accuracy_outcome_name, cbx_accuracy_outcome)
WORDS(w_tolerance, cbx_tolerance_outcome_name, cbx_tolerance_outcome)
WORDS(w_compile, cbx_compile_level_name, cbx_compile_level)
WORDS(w_bisect, cbx_bisect_outcome_name, cbx_bisect_outcome)
WORDS(w_doctor, cbx_doctor_state_name, cbx_doctor_state)
WORDS(w_convergence, cbx_convergence_outcome_name, cbx_convergence_outcome)
static const char *w_bound(int v) { return v == CBX_BOUND_COMPUTE ? "compute" : "memory"; }
static const char *w_tendency(int v) { return cbx_tendency_name((cbx_tendency_kind)v, CBX_DIRECTION_INFO); }
static const char *w_energy(int v)
{
    static const char *const words[] = { "package", "dram", "platform", "part" };
    return (size_t)v < CBX_LEN(words) ? words[v] : "?";
}

/* clang-format off */
/* Members in parentheses: the macro that describes one of the struct T, then its arguments but T. */
#define WIDTH(T, m)                           sizeof(((T *)0)->m)
#define OF(T, name, m, kind, of, word, doc)   { #name, kind, offsetof(T, m), WIDTH(T, m), 0, of, word, doc }
#define LIST(T, name, m, kind, w, n, of, doc) { #name, kind, offsetof(T, m), WIDTH(T, w), offsetof(T, n), of, NULL, doc }
#define ALL(T, m, kind, of, doc)              { #m, kind, offsetof(T, m), WIDTH(T, m), SIZE_MAX, of, NULL, doc }
#define NAMED(T, name, doc)                   { #name, CX_AS_ARRAY, 0, 0, 0, 0, NULL, doc }
#define AS(name, m, kind, doc)                (OF, name, m, kind, 0, NULL, doc)
#define AS_WORD(name, m, f, doc)              (OF, name, m, CX_AS_WORD, 0, f, doc)
#define NUMBER(m, doc)                        AS(m, m, CX_AS_NUMBER, doc)
#define MAYBE(m, doc)                         AS(m, m, CX_AS_MAYBE, doc)
#define WHOLE(m, doc)                         AS(m, m, CX_AS_WHOLE, doc)
#define INT(m, doc)                           AS(m, m, CX_AS_INT, doc)
#define FLAG(m, doc)                          AS(m, m, CX_AS_FLAG, doc)
#define TEXT(m, doc)                          AS(m, m, CX_AS_TEXT, doc)
#define CHARS(m, doc)                         AS(m, m, CX_AS_CHARS, doc)
#define ARRAY(name, doc)                      (NAMED, name, doc)
#define WORD(m, f, doc)                       AS_WORD(m, m, f, doc)
#define PART(m, kind, doc)                    (OF, m, m, CX_AS_PART, CX_##kind, NULL, doc)
#define PARTS(m, kind, n, doc)                (LIST, m, m, CX_AS_PARTS, m, n, CX_##kind, doc)
#define PARTS_IN(m, kind, n, doc)             (LIST, m, m, CX_AS_PARTS_IN, m, n, CX_##kind, doc)
#define PARTS_ALL(m, kind, doc)               (ALL, m, CX_AS_PARTS_IN, CX_##kind, doc)
#define AS_LIST(name, m, kind, n, doc)        (LIST, name, m, kind, m, n, 0, doc)
#define NUMBERS(m, n, doc)                    (LIST, m, m, CX_AS_NUMBERS, m, n, 0, doc)
#define NUMBERS_IN(m, n, doc)                 (LIST, m, m, CX_AS_NUMBERS_IN, m, n, 0, doc)
#define NUMBERS_ALL(m, doc)                   (ALL, m, CX_AS_NUMBERS_IN, 0, doc)
#define AS_LINES(name, m, n, doc)             (LIST, name, m, CX_AS_LINES, m[0], n, 0, doc)
#define LINES(m, n, doc)                      AS_LINES(m, m, n, doc)
/* The members of T, one after the other, as CX_EACH. */
#define MEMBERS(T, ...)                       CX_EXPAND(MEMBERS_STEP(T, __VA_ARGS__))
#define MEMBERS_STEP(T, member, ...)          MEMBER(T, CX_BARE member), __VA_OPT__(MEMBERS_AGAIN CX_PARENS(T, __VA_ARGS__))
#define MEMBERS_AGAIN()                       MEMBERS_STEP
#define MEMBER(...)                           MEMBER_BY(__VA_ARGS__)
#define MEMBER_BY(T, macro, ...)              macro(T, __VA_ARGS__)
#define TYPE(T, kind, name, doc, ...)         [CX_##kind] = { "calibrax_c." name, doc, sizeof(T), (const cx_member[]){ MEMBERS(T, __VA_ARGS__){ 0 } } }

const cx_answer_type cx_answer_types[CX_ANSWER_COUNT] = {
#include "python/answer_rows.inc"
};
/* clang-format on */
