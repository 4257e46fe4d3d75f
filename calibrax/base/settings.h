/**
 * Settings that a user makes with environment variables: which backend, and how devices are chosen.
 *
 *   variable                      alias                     words                        without it
 *   CALIBRAX_BACKEND              XPCS_USE_JAX (true: jit,  auto, reference, jit         auto
 *                                 false: reference, auto)
 *   CALIBRAX_USE_GPU              XPCS_USE_GPU              true false 1 0 yes no on off false
 *   CALIBRAX_GPU_FALLBACK         XPCS_GPU_FALLBACK         true false 1 0 yes no on off true
 *   CALIBRAX_GPU_MEMORY_FRACTION  XPCS_GPU_MEMORY_FRACTION  a number above 0, at most 1  0.9
 *
 * Words are read in any case; an empty variable counts as not set.  Another word is CBX_EINVAL with
 * a sentence that names variable, value and words, and so is a variable that disagrees with its
 * alias.  A context reads the environment once, when it is created; options given there win, and
 * the variable of such an option is not looked at.  CALIBRAX_ISA (cpu.h) and
 * CALIBRAX_JIT_CACHE_BYTES (docs/jit.md) are checked at the same time, unless options give all four
 * settings.
 */
#ifndef CALIBRAX_BASE_SETTINGS_H
#define CALIBRAX_BASE_SETTINGS_H

#include <stdbool.h>

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

typedef enum cbx_setting {
    CBX_SETTING_BACKEND,
    CBX_SETTING_USE_GPU,
    CBX_SETTING_GPU_FALLBACK,
    CBX_SETTING_GPU_MEMORY_FRACTION,
    CBX_SETTING_COUNT
} cbx_setting;

/** What there is to know of a setting without reading it; all constant strings. */
typedef struct cbx_setting_info {
    const char *variable, *alias;
    const char *words, *alias_words; /* what each may say, for a sentence: "auto, reference or jit" */
    const char *fallback;            /* what holds when neither is set */
    const char *meaning;             /* a few words for a manual */
} cbx_setting_info;

typedef struct cbx_settings {
    const char *backend; /* "auto", "reference", "jit": a constant string */
    bool use_gpu;
    bool gpu_fallback;          /* the CPU will do where no GPU can be had */
    double gpu_memory_fraction; /* share of a GPU's memory to use, in (0, 1] */
    /** Where each value comes from: the variable's or alias's name, "option", or "default";
     * constant strings. */
    const char *origin[CBX_SETTING_COUNT];
} cbx_settings;

/** @return NULL for a number that is no setting */
CBX_API const cbx_setting_info *cbx_setting_get_info(cbx_setting which);

/**
 * Reads one setting from the environment; the others in out stay as they are.
 * @param out  its member and origin are written on success only
 * @return CBX_OK; CBX_EINVAL (a word that is not allowed; variable and alias disagree; no such
 *   setting)
 * Allocates nothing.  Safe from any thread as long as none changes the environment.
 */
CBX_API cbx_status cbx_setting_read(cbx_setting which, cbx_settings *out, cbx_err *err);

#define CBX_SETTING_TEXT_SIZE 32
/** The value of a setting in the words of its variable; returns buf. */
CBX_API const char *cbx_setting_text(const cbx_settings *s, cbx_setting which, char buf[CBX_SETTING_TEXT_SIZE]);

/** What holds in a context: its options, else the environment at its creation.  Lives as long as
 * the context. */
CBX_API const cbx_settings *cbx_ctx_settings(const cbx_ctx *ctx);

CBX_END_DECLS
#endif
