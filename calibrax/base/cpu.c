/*
 * Which CPUs OpenBLAS 0.3.21 misjudges.  Its dynamic.c (get_coretype) gives SkylakeX or better kernels to a list of Intel
 * models of family 6 and to no AMD CPU; any other CPU gets Haswell kernels, whatever instructions it has.
 */
#include "calibrax/base/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Skylake-X to Cooper Lake, Cannon Lake, Ice Lake (server, client), Tiger Lake, Sapphire Rapids, Rocket Lake. */
static const int known_models[] = { 0x55, 0x66, 0x6a, 0x6c, 0x7e, 0x8c, 0x8d, 0x8f, 0xa7 };

/* Text behind "key\t: " in the first processor's part; NULL if the key is not there. */
static const char *value_of(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (strncmp(line, key, n) != 0 || (line[n] != '\t' && line[n] != ' ' && line[n] != ':')) continue;
        const char *colon = line + n + strspn(line + n, " \t"); /* "model" is not "model name" */
        if (*colon == ':') return colon + 1 + strspn(colon + 1, " ");
    }
    return NULL;
}

static bool has_flag(const char *flags, const char *flag)
{
    size_t n = strlen(flag), line = flags ? strcspn(flags, "\n") : 0;
    for (const char *at = flags; at && (at = strstr(at, flag)) && at < flags + line; at += n) {
        if ((at == flags || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\n' || at[n] == '\0')) return true;
    }
    return false;
}

cbx__cpu cbx__cpu_parse(const char *cpuinfo)
{
    static const char *const needed[] = { "avx512f", "avx512bw", "avx512dq", "avx512vl" };
    const char *flags = value_of(cpuinfo, "flags"), *vendor = value_of(cpuinfo, "vendor_id");
    const char *family = value_of(cpuinfo, "cpu family"), *model = value_of(cpuinfo, "model");
    cbx__cpu cpu = { .avx512 = true };
    bool known = false;
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) cpu.avx512 = cpu.avx512 && has_flag(flags, needed[i]);
    if (vendor && strncmp(vendor, "GenuineIntel", 12) == 0 && family && atoi(family) == 6 && model) {
        for (size_t i = 0; i < sizeof known_models / sizeof known_models[0]; i++)
            known = known || atoi(model) == known_models[i];
    }
    cpu.openblas_misjudges = cpu.avx512 && !known;
    return cpu;
}

const cbx__cpu *cbx__cpu_read(void)
{
    static _Thread_local cbx__cpu cpu;
    char text[8192];
    FILE *fp = fopen("/proc/cpuinfo", "re");
    size_t n = fp ? fread(text, 1, sizeof text - 1, fp) : 0;
    if (fp) fclose(fp);
    text[n] = '\0';
    cpu = cbx__cpu_parse(text);
    return &cpu;
}
