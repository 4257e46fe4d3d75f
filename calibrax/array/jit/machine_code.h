/*
 * Inside the compiler: machine code in memory, from the ELF objects that a compiler writes for this
 * machine.
 */
#ifndef CALIBRAX_ARRAY_JIT_MACHINE_CODE_H
#define CALIBRAX_ARRAY_JIT_MACHINE_CODE_H

#include "calibrax/base/ctx.h"

typedef struct cbx__machine_code {
    void *memory; /* mapped: code, constants, and jumps to functions elsewhere; not writable */
    size_t size;
    size_t code_bytes;  /* of the object's code alone */
    const void *symbol; /* address of the symbol that was asked for */
} cbx__machine_code;

/**
 * Places the sections of a relocatable object, for code compiled as position-independent without
 * unwind tables.
 * @param address  of a symbol that the object does not define; 0: unknown
 * @return CBX_OK; CBX_EFORMAT: no such object, damaged, or with what it does not know;
 *   CBX_EUNSUPPORTED:
 *         the system forbids executable memory; CBX_ENOMEM
 */
cbx_status cbx__machine_code_load(const char *object, size_t len, const char *symbol, uint64_t (*address)(const char *),
                                  cbx__machine_code *out, cbx_err *err);
void cbx__machine_code_unload(cbx__machine_code *code);

#endif
