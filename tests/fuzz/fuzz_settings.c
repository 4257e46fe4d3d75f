/*
 * Settings from the environment: the first byte chooses the variable, the rest is its value.
 *
 * Whatever is accepted must read back from its own words as the same value.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/settings_internal.h"
#include "fuzz.h"

static void set(const char *variable, const char *value)
{
    if (value)
        setenv(variable, value, 1);
    else
        unsetenv(variable);
}

/* All of them, as a context without options reads them. */
static cbx_status read_all(cbx_settings *out, cbx_err *err)
{
    static const cbx_ctx_opts none = CBX_CTX_OPTS_INIT;

    return cbx__settings_resolve(&none, out, err);
}

FUZZ_ENTRY()
{
    char value[256], text[CBX_SETTING_TEXT_SIZE], again[CBX_SETTING_TEXT_SIZE];
    const cbx_setting_info *info;
    cbx_settings s, t;
    cbx_setting which;

    if (size < 1 || size > sizeof value) return 0;
    which = (cbx_setting)(data[0] / 2 % CBX_SETTING_COUNT);
    info = cbx_setting_get_info(which);
    memcpy(value, data + 1, size - 1);
    value[size - 1] = 0;
    for (int i = 0; i < CBX_SETTING_COUNT; i++) {
        set(cbx_setting_get_info((cbx_setting)i)->variable, NULL);
        set(cbx_setting_get_info((cbx_setting)i)->alias, NULL);
    }
    set(data[0] & 1 ? info->alias : info->variable, value);
    if (read_all(&s, NULL)) return 0;
    set(info->alias, NULL);
    set(info->variable, cbx_setting_text(&s, which, text));
    if (read_all(&t, NULL) || strcmp(cbx_setting_text(&t, which, again), text) != 0) __builtin_trap();
    return 0;
}
