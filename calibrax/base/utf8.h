/* Inside the library: characters of UTF-8. */
#ifndef CALIBRAX_BASE_UTF8_H
#define CALIBRAX_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#define CBX__UTF8_REPLACEMENT 0xFFFDu

/**
 * Code point of the UTF-8 sequence at s (left >= 1 bytes) and its length; the replacement character
 * with *used 1 where none begins: stray, missing or overlong bytes, surrogates, beyond U+10FFFF.
 */
uint32_t cbx__utf8_decode(const char *s, size_t left, size_t *used);

#endif
