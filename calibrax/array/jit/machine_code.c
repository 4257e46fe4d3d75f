/*
 * Machine code in memory; see machine_code.h.
 *
 * One mapping holds the sections of an object and, behind them, a jump for each function elsewhere,
 * which may be further away than a call reaches.  It is written first and executable afterwards.
 * The relocations are those of x86-64 and AArch64 in small position-independent code (their psABI
 * documents have the formulas); every number that an object holds is checked against its length.
 */
#include "calibrax/array/jit/machine_code.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_SECTIONS 64
#define JUMP_BYTES   16

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

typedef struct object {
    const char *data;
    size_t len;
    Elf64_Half nsections;
    Elf64_Shdr sections[MAX_SECTIONS];
    size_t place[MAX_SECTIONS]; /* in memory; of sections that are in it */
    const char *symbols, *names;
    size_t nsymbols, names_len;
    uint32_t *jump; /* of a symbol: 1 + its number; 0: it is defined */
    size_t jumps;   /* where they begin in memory */
    char *memory;
    size_t size;
} object;

static bool within(size_t len, uint64_t offset, uint64_t size) { return offset <= len && size <= len - offset; }

static bool read_header(object *o)
{
    Elf64_Ehdr head;

    if (o->len < sizeof head) return false;
    memcpy(&head, o->data, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_type != ET_REL || head.e_machine != MACHINE)
        return false;
    if (head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shnum > MAX_SECTIONS ||
        !within(o->len, head.e_shoff, head.e_shnum * sizeof(Elf64_Shdr)))
        return false;
    o->nsections = head.e_shnum;
    memcpy(o->sections, o->data + head.e_shoff, o->nsections * sizeof(Elf64_Shdr));
    for (size_t i = 0; i < o->nsections; i++)
        if (o->sections[i].sh_type != SHT_NOBITS && !within(o->len, o->sections[i].sh_offset, o->sections[i].sh_size))
            return false;
    return true;
}

static bool is_loaded(const Elf64_Shdr *s) { return s->sh_flags & SHF_ALLOC && s->sh_type == SHT_PROGBITS; }

/* Where each section goes; code_bytes: of those with code. */
static bool place_sections(object *o, size_t *code_bytes)
{
    for (size_t i = 0; i < o->nsections; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        const size_t alignment = s->sh_addralign ? s->sh_addralign : 1;
        const bool ignored = s->sh_type == SHT_NOTE || s->sh_size == 0;
        if (s->sh_flags & SHF_ALLOC && !is_loaded(s) && !ignored) return false; /* variables, constructors */
        if (!is_loaded(s)) continue;
        if (alignment & (alignment - 1) || alignment > 4096) return false;
        o->place[i] = (o->size + alignment - 1) & ~(alignment - 1);
        o->size = o->place[i] + s->sh_size;
        if (s->sh_flags & SHF_EXECINSTR) *code_bytes += s->sh_size;
    }
    return true;
}

static Elf64_Sym symbol_at(const object *o, size_t i)
{
    Elf64_Sym s;
    memcpy(&s, o->symbols + i * sizeof s, sizeof s);
    return s;
}

/* NULL: not in the table of names. */
static const char *name_of(const object *o, const Elf64_Sym *s)
{
    if (s->st_name >= o->names_len || !memchr(o->names + s->st_name, 0, o->names_len - s->st_name)) return NULL;
    return o->names + s->st_name;
}

/* Finds the symbols, and numbers those that are elsewhere. */
static cbx_status read_symbols(object *o, cbx_err *err)
{
    uint32_t n = 0;

    for (size_t i = 0; i < o->nsections; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        if (s->sh_type != SHT_SYMTAB || s->sh_link >= o->nsections) continue;
        o->symbols = o->data + s->sh_offset;
        o->nsymbols = s->sh_size / sizeof(Elf64_Sym);
        o->names = o->data + o->sections[s->sh_link].sh_offset;
        o->names_len = o->sections[s->sh_link].sh_size;
    }
    o->jump = cbx_mem_calloc(cbx_allocator_default(), o->nsymbols + 1, sizeof *o->jump);
    if (!o->jump) return cbx_fail_nomem(err, "symbols of machine code");
    for (size_t i = 1; i < o->nsymbols; i++)
        if (symbol_at(o, i).st_shndx == SHN_UNDEF) o->jump[i] = ++n;
    o->jumps = (o->size + JUMP_BYTES - 1) / JUMP_BYTES * JUMP_BYTES;
    o->size = o->jumps + n * (size_t)JUMP_BYTES;
    return CBX_OK;
}

/* A jump to any address, which lies behind it. */
static void write_jump(char *to, uint64_t address)
{
#if defined(__aarch64__)
    static const uint32_t code[2] = { 0x58000050, 0xd61f0200 }; /* ldr x16, to + 8; br x16 */
    memcpy(to, code, sizeof code);
    memcpy(to + 8, &address, sizeof address);
#else
    static const uint8_t code[6] = { 0xff, 0x25 }; /* jmp *to + 6(%rip) */
    memcpy(to, code, sizeof code);
    memcpy(to + 6, &address, sizeof address);
#endif
}

static bool write_jumps(const object *o, uint64_t (*address)(const char *), const char **missing)
{
    for (size_t i = 1; i < o->nsymbols; i++) {
        const Elf64_Sym s = symbol_at(o, i);
        const char *name = name_of(o, &s);
        const uint64_t at = o->jump[i] && name ? address(name) : 0;
        if (!o->jump[i]) continue;
        *missing = name ? name : "?";
        if (!at) return false;
        write_jump(o->memory + o->jumps + (o->jump[i] - 1) * (size_t)JUMP_BYTES, at);
    }
    return true;
}

/* Address of a symbol in memory; 0: it has none. */
static uint64_t value_of(const object *o, size_t i)
{
    const Elf64_Sym s = i < o->nsymbols ? symbol_at(o, i) : (Elf64_Sym){ 0 };

    if (i == 0 || i >= o->nsymbols) return 0;
    if (o->jump[i]) return (uint64_t)(uintptr_t)(o->memory + o->jumps + (o->jump[i] - 1) * (size_t)JUMP_BYTES);
    if (s.st_shndx >= o->nsections || !is_loaded(&o->sections[s.st_shndx]) ||
        s.st_value > o->sections[s.st_shndx].sh_size)
        return 0;
    return (uint64_t)(uintptr_t)(o->memory + o->place[s.st_shndx] + s.st_value);
}

/* Sets the word at `at` to refer to address v; capacity: bytes from at to the end of its
 * section. */
#if defined(__aarch64__)
static bool relocate(char *at, size_t capacity, uint32_t type, uint64_t v)
{
    const uint64_t here = (uint64_t)(uintptr_t)at;
    const int64_t calls = (int64_t)(v - here), pages = (int64_t)((v >> 12) - (here >> 12));
    uint32_t word, low = (uint32_t)(v & 4095);

    if (capacity < sizeof word) return false;
    memcpy(&word, at, sizeof word);
    switch (type) {
    case R_AARCH64_ABS64:
        if (capacity < sizeof v) return false;
        memcpy(at, &v, sizeof v);
        return true;
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
        if (calls < -(INT64_C(1) << 27) || calls >= INT64_C(1) << 27 || calls % 4) return false;
        word = (word & 0xfc000000) | ((uint32_t)((uint64_t)calls >> 2) & 0x03ffffff);
        break;
    case R_AARCH64_ADR_PREL_PG_HI21:
        if (pages < -(INT64_C(1) << 20) || pages >= INT64_C(1) << 20) return false;
        word = (word & 0x9f00001f) | ((uint32_t)pages & 3) << 29 | ((uint32_t)((uint64_t)pages >> 2) & 0x7ffff) << 5;
        break;
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC: word = (word & 0xffc003ff) | low << 10; break;
    case R_AARCH64_LDST16_ABS_LO12_NC: word = (word & 0xffc003ff) | low >> 1 << 10; break;
    case R_AARCH64_LDST32_ABS_LO12_NC: word = (word & 0xffc003ff) | low >> 2 << 10; break;
    case R_AARCH64_LDST64_ABS_LO12_NC: word = (word & 0xffc003ff) | low >> 3 << 10; break;
    case R_AARCH64_LDST128_ABS_LO12_NC: word = (word & 0xffc003ff) | low >> 4 << 10; break;
    default: return false;
    }
    memcpy(at, &word, sizeof word);
    return true;
}
#else
static bool relocate(char *at, size_t capacity, uint32_t type, uint64_t v)
{
    const int64_t distance = (int64_t)(v - (uint64_t)(uintptr_t)at);
    const int32_t word = (int32_t)distance;

    if (type == R_X86_64_64 && capacity >= sizeof v) {
        memcpy(at, &v, sizeof v);
        return true;
    }
    if ((type != R_X86_64_PC32 && type != R_X86_64_PLT32) || capacity < sizeof word || word != distance) return false;
    memcpy(at, &word, sizeof word);
    return true;
}
#endif

static bool relocate_section(const object *o, const Elf64_Shdr *list)
{
    const size_t target = list->sh_info;

    if (target >= o->nsections) return false;
    if (!is_loaded(&o->sections[target])) return true;
    for (size_t i = 0; i < list->sh_size / sizeof(Elf64_Rela); i++) {
        Elf64_Rela r;
        memcpy(&r, o->data + list->sh_offset + i * sizeof r, sizeof r);
        const uint64_t v = value_of(o, ELF64_R_SYM(r.r_info));
        if (!v || r.r_offset >= o->sections[target].sh_size) return false;
        if (!relocate(o->memory + o->place[target] + r.r_offset, o->sections[target].sh_size - r.r_offset,
                      (uint32_t)ELF64_R_TYPE(r.r_info), v + (uint64_t)r.r_addend))
            return false;
    }
    return true;
}

static const void *find_symbol(const object *o, const char *symbol)
{
    for (size_t i = 1; i < o->nsymbols; i++) {
        const Elf64_Sym s = symbol_at(o, i);
        const char *name = name_of(o, &s);
        const uint64_t at = o->jump[i] ? 0 : value_of(o, i); /* 0 of a file of that name, too */
        if (at && name && strcmp(name, symbol) == 0) return (const void *)(uintptr_t)at;
    }
    return NULL;
}

static cbx_status fill(object *o, const char *symbol, uint64_t (*address)(const char *), const void **found,
                       cbx_err *err)
{
    const char *missing = NULL;

    for (size_t i = 0; i < o->nsections; i++)
        if (is_loaded(&o->sections[i]))
            memcpy(o->memory + o->place[i], o->data + o->sections[i].sh_offset, o->sections[i].sh_size);
    if (!write_jumps(o, address, &missing))
        return cbx_fail(err, CBX_EFORMAT, "machine code calls '%.60s', which is unknown", missing);
    for (size_t i = 0; i < o->nsections; i++)
        if (o->sections[i].sh_type == SHT_RELA && !relocate_section(o, &o->sections[i]))
            return cbx_fail(err, CBX_EFORMAT, "machine code has a reference that cannot be resolved");
    *found = find_symbol(o, symbol);
    if (!*found) return cbx_fail(err, CBX_EFORMAT, "machine code has no '%s'", symbol);
    return CBX_OK;
}

cbx_status cbx__machine_code_load(const char *data, size_t len, const char *symbol, uint64_t (*address)(const char *),
                                  cbx__machine_code *out, cbx_err *err)
{
    object o = { .data = data, .len = len };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t code_bytes = 0;
    const void *found = NULL;
    void *memory;
    cbx_status st;

    if (!read_header(&o) || !place_sections(&o, &code_bytes))
        return cbx_fail(err, CBX_EFORMAT, "machine code is not an object of this machine");
    st = read_symbols(&o, err);
    if (st) return st;
    o.size = (o.size + page) / page * page;
    memory = mmap(NULL, o.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        st = cbx_fail_nomem(err, "machine code");
    } else {
        o.memory = memory;
        st = fill(&o, symbol, address, &found, err);
        if (!st && mprotect(memory, o.size, PROT_READ | PROT_EXEC) != 0)
            st = cbx_fail(err, CBX_EUNSUPPORTED, "this system forbids programs to make machine code");
        if (st) munmap(memory, o.size);
    }
    cbx_mem_free(cbx_allocator_default(), o.jump, (o.nsymbols + 1) * sizeof *o.jump);
    if (st) return st;
    __builtin___clear_cache((char *)memory, (char *)memory + o.size);
    *out = (cbx__machine_code){ memory, o.size, code_bytes, found };
    return CBX_OK;
}

void cbx__machine_code_unload(cbx__machine_code *code)
{
    munmap(code->memory, code->size);
    *code = (cbx__machine_code){ 0 };
}
