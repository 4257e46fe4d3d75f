/*
 * Bytes as several files below a folder, for entries whose reader wants files: byte 0xff parts
 * them, in the order of the list, and an empty part is no file.
 */
#ifndef CALIBRAX_TESTS_FUZZ_FILES_H
#define CALIBRAX_TESTS_FUZZ_FILES_H

#include <stddef.h>
#include <stdint.h>

/*
 * A folder, in memory where the machine has such, with the folders of the names made; the same one
 * for the whole process, which removes it at its end with all that is in it.
 * @param names  below the folder; the list must outlive the process
 */
const char *fuzz_files_folder(const char *const *names, size_t n);
/* Writes the parts, and removes the files that have none. */
void fuzz_files_put(const uint8_t *data, size_t size);

#endif
