/* The build ID, from the notes of the object that holds this code. */
#include "calibrax/base/build_id.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/version.h"

static char id[80];
static pthread_once_t known = PTHREAD_ONCE_INIT;

/* True if the note is there; lengths of names and descriptions are multiples of 4. */
static bool read_notes(const char *at, size_t n)
{
    while (n >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const void *)at;
        const size_t name = ((size_t)note->n_namesz + 3) & ~(size_t)3, desc = ((size_t)note->n_descsz + 3) & ~(size_t)3;
        const unsigned char *bytes = (const unsigned char *)at + sizeof *note + name;

        if (name + desc > n - sizeof *note) return false;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(at + sizeof *note, "GNU", 4) == 0) {
            for (size_t i = 0; i < note->n_descsz && 2 * i + 2 < sizeof id; i++)
                snprintf(id + 2 * i, sizeof id - 2 * i, "%02x", bytes[i]);
            return note->n_descsz > 0;
        }
        at += sizeof *note + name + desc;
        n -= sizeof *note + name + desc;
    }
    return false;
}

static int read_object(struct dl_phdr_info *object, size_t size, void *user)
{
    const uintptr_t here = (uintptr_t)&known;
    bool ours = false, found = false;

    (void)size, (void)user;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        ours |= p->p_type == PT_LOAD && here - object->dlpi_addr - p->p_vaddr < p->p_memsz;
    }
    for (int i = 0; ours && !found && i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        found = p->p_type == PT_NOTE && read_notes((const char *)(object->dlpi_addr + p->p_vaddr), p->p_memsz);
    }
    return ours;
}

static void find(void)
{
    dl_iterate_phdr(read_object, NULL);
    if (!id[0]) snprintf(id, sizeof id, "%s", cbx_revision());
}

const char *cbx__build_id(void)
{
    pthread_once(&known, find);
    return id;
}
