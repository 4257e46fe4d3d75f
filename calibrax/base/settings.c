/*
 * Settings from the environment: one table, one parser a kind of value.
 *
 * Letters are compared as ASCII and numbers read in the C locale, whatever the program's locale is.
 */
#include "calibrax/base/settings.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/cpu.h"
#include "calibrax/base/settings_internal.h"
#include "calibrax/base/text.h"

#define BACKEND_WORDS  "auto, reference or jit"
#define BOOL_WORDS     "true, false, 1, 0, yes, no, on or off"
#define FRACTION_WORDS "a number above 0, at most 1"

typedef enum kind { BACKEND, USE_JAX, SWITCH, FRACTION } kind;

static bool same_word(const char *a, const char *b)
{
    for (;; a++, b++) {
        char x = *a >= 'A' && *a <= 'Z' ? (char)(*a - 'A' + 'a') : *a;
        if (x != *b) return false;
        if (!x) return true;
    }
}

/* The number of a word, in any case; -1: another one. */
static int find_word(const char *const *words, size_t n, const char *text)
{
    int i = (int)n;

    while (--i >= 0 && !same_word(text, words[i])) {}
    return i;
}

static bool is_fraction(double v) { return v > 0 && v <= 1; }

static bool parse_fraction(const char *text, double *out)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    bool plain = c && *text && !text[strspn(text, "0123456789.eE+-")]; /* neither "nan" nor "0x1" nor blanks */
    char *end = NULL;
    double v = plain ? strtod_l(text, &end, c) : 0;

    if (c) freelocale(c);
    if (!plain || *end || !is_fraction(v)) return false;
    *out = v;
    return true;
}

/* Sets the member that it is given; false: not one of the words. */
static bool parse(kind k, const char *text, void *member)
{
    static const char *const switches[] = { "false", "true", "0", "1", "no", "yes", "off", "on" };
    static const char *const backends[] = { "auto", "reference", "jit" };
    int at;

    if (k == FRACTION) return parse_fraction(text, member);
    at = k == BACKEND ? find_word(backends, CBX_LEN(backends), text) : find_word(switches, CBX_LEN(switches), text);
    if (k == USE_JAX) /* whether the compiling backend is required */
        at = at >= 0 ? 1 + (at & 1) : same_word(text, "auto") ? 0 : -1;
    if (at < 0) return false;
    if (k == SWITCH)
        *(bool *)member = at & 1;
    else
        *(const char **)member = backends[at];
    return true;
}

static const struct row {
    cbx_setting_info info;
    kind kind, alias_kind;
    const char *name; /* of the option */
    size_t offset, option_offset;
} rows[CBX_SETTING_COUNT] = {
#define MEMBER(member) #member, offsetof(cbx_settings, member), offsetof(cbx_ctx_opts, member)
    [CBX_SETTING_BACKEND] = { { "CALIBRAX_BACKEND", "XPCS_USE_JAX", BACKEND_WORDS, "auto, " BOOL_WORDS, "auto",
                                "which backend computes on arrays" },
                              BACKEND,
                              USE_JAX,
                              MEMBER(backend) },
    [CBX_SETTING_USE_GPU] = { { "CALIBRAX_USE_GPU", "XPCS_USE_GPU", BOOL_WORDS, BOOL_WORDS, "false",
                                "whether a GPU is used" },
                              SWITCH,
                              SWITCH,
                              MEMBER(use_gpu) },
    [CBX_SETTING_GPU_FALLBACK] = { { "CALIBRAX_GPU_FALLBACK", "XPCS_GPU_FALLBACK", BOOL_WORDS, BOOL_WORDS, "true",
                                     "whether the CPU will do where no GPU can be had" },
                                   SWITCH,
                                   SWITCH,
                                   MEMBER(gpu_fallback) },
    [CBX_SETTING_GPU_MEMORY_FRACTION] = { { "CALIBRAX_GPU_MEMORY_FRACTION", "XPCS_GPU_MEMORY_FRACTION", FRACTION_WORDS,
                                            FRACTION_WORDS, "0.9", "share of a GPU's memory to use" },
                                          FRACTION,
                                          FRACTION,
                                          MEMBER(gpu_memory_fraction) },
#undef MEMBER
};

/* An option of cbx_ctx_create; *given: whether there is one, which then is in the member. */
static cbx_status take_option(const struct row *r, const cbx_ctx_opts *opts, bool *given, void *member, cbx_err *err)
{
    const void *option = (const char *)opts + r->option_offset;
    const char *word;
    cbx_choice choice;
    double v;

    switch (r->kind) {
    case SWITCH:
        choice = *(const cbx_choice *)option;
        *given = choice != CBX_CHOICE_UNSET;
        *(bool *)member = choice == CBX_CHOICE_ON;
        if ((unsigned)choice <= CBX_CHOICE_ON) return CBX_OK;
        return cbx_fail(err, CBX_EINVAL, "'%s' of the context options must be CBX_CHOICE_OFF or CBX_CHOICE_ON, got %u",
                        r->name, (unsigned)choice);
    case FRACTION:
        v = *(double *)member = *(const double *)option;
        *given = v != 0;
        if (!*given || is_fraction(v)) return CBX_OK;
        return cbx_fail(err, CBX_EINVAL, "'%s' of the context options must be " FRACTION_WORDS ", got %g", r->name, v);
    default:
        word = *(const char *const *)option;
        *given = word != NULL;
        if (!word || parse(BACKEND, word, member)) return CBX_OK;
        return cbx_fail(err, CBX_EINVAL, "'%s' of the context options must be " BACKEND_WORDS ", got '%.80s'", r->name,
                        word);
    }
}

const cbx_setting_info *cbx_setting_get_info(cbx_setting which)
{
    return (unsigned)which < CBX_SETTING_COUNT ? &rows[which].info : NULL;
}

const char *cbx_setting_text(const cbx_settings *s, cbx_setting which, char buf[CBX_SETTING_TEXT_SIZE])
{
    const void *member = (unsigned)which < CBX_SETTING_COUNT ? (const char *)s + rows[which].offset : NULL;

    *buf = 0;
    if (!member) return buf;
    if (rows[which].kind == FRACTION) return cbx_format_double(*(const double *)member, buf);
    if (rows[which].kind == SWITCH) return strcpy(buf, *(const bool *)member ? "true" : "false");
    snprintf(buf, CBX_SETTING_TEXT_SIZE, "%s", *(const char *const *)member);
    return buf;
}

static const char *value_of(const char *variable)
{
    const char *text = getenv(variable);
    return text && *text ? text : NULL;
}

/* *s gets the value that the text says. */
static cbx_status take(const struct row *r, kind k, const char *variable, const char *words, const char *text,
                       cbx_settings *s, cbx_err *err)
{
    if (!parse(k, text, (char *)s + r->offset))
        return cbx_fail(err, CBX_EINVAL, "'%s' must be %s, got '%.80s'", variable, words, text);
    s->origin[r - rows] = variable;
    return CBX_OK;
}

cbx_status cbx_setting_read(cbx_setting which, cbx_settings *out, cbx_err *err)
{
    const struct row *r = rows;
    cbx_settings named = *out, aliased = *out;
    cbx_status st = CBX_OK;

    if ((unsigned)which >= CBX_SETTING_COUNT)
        return cbx_fail(err, CBX_EINVAL, "no setting has the number %u", (unsigned)which);
    r += which;
    const char *text = value_of(r->info.variable);
    const char *alias_text = value_of(r->info.alias);
    parse(r->kind, r->info.fallback, (char *)&named + r->offset);
    named.origin[which] = "default";
    if (text) st = take(r, r->kind, r->info.variable, r->info.words, text, &named, err);
    if (!st && alias_text) st = take(r, r->alias_kind, r->info.alias, r->info.alias_words, alias_text, &aliased, err);
    if (st) return st;
    char x[CBX_SETTING_TEXT_SIZE], y[CBX_SETTING_TEXT_SIZE];
    if (text && alias_text && strcmp(cbx_setting_text(&named, which, x), cbx_setting_text(&aliased, which, y)) != 0)
        return cbx_fail(err, CBX_EINVAL, "'%s' is '%.80s' and its alias '%s' is '%.80s': unset one of them",
                        r->info.variable, text, r->info.alias, alias_text);
    *out = text || !alias_text ? named : aliased;
    return CBX_OK;
}

/* --- variables that are read where they are needed --- */

static bool is_isa(const char *text)
{
    for (int i = 0; i < CBX_ISA_COUNT; i++)
        if (strcmp(text, cbx_isa_name((cbx_isa)i)) == 0) return true;
    return false;
}

static bool is_count(const char *text)
{
    errno = 0;
    (void)strtoull(text, NULL, 10);
    return errno == 0 && !text[strspn(text, "0123456789")];
}

cbx_status cbx__setting_check(size_t i, const char **variable, cbx_err *err)
{
    static const struct {
        const char *variable, *words;
        bool (*allows)(const char *text);
    } checked[] = { { "CALIBRAX_ISA", "plain, avx2 or avx512", is_isa },
                    { "CALIBRAX_JIT_CACHE_BYTES", "a number of bytes, 0 for no cache", is_count } };
    const char *text;

    *variable = i < CBX_LEN(checked) ? checked[i].variable : NULL;
    text = *variable ? value_of(*variable) : NULL;
    if (!text || checked[i].allows(text)) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL, "'%s' must be %s, got '%.80s'", *variable, checked[i].words, text);
}

cbx_status cbx__settings_resolve(const cbx_ctx_opts *opts, cbx_settings *out, cbx_err *err)
{
    cbx_settings s = { 0 };
    const char *variable = NULL;

    for (int i = 0; i < CBX_SETTING_COUNT; i++) {
        bool given = false;
        const struct row *r = &rows[i];
        cbx_status st = take_option(r, opts, &given, (char *)&s + r->offset, err);
        if (!st && !given) st = cbx_setting_read((cbx_setting)i, &s, err);
        if (st) return st;
        if (given)
            s.origin[i] = "option";
        else
            variable = s.origin[i]; /* the environment counts */
    }
    for (size_t i = 0; variable; i++)
        if (cbx__setting_check(i, &variable, err)) return CBX_EINVAL;
    *out = s;
    return CBX_OK;
}
