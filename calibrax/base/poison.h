/*
 * Inside the library: memory that is kept for re-use is unused; built with AddressSanitizer,
 * touching it is reported.
 */
#ifndef CALIBRAX_BASE_POISON_H
#define CALIBRAX_BASE_POISON_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define CBX__POISON(p, n)   __asan_poison_memory_region(p, n)
#define CBX__UNPOISON(p, n) __asan_unpoison_memory_region(p, n)
#else
#define CBX__POISON(p, n)   ((void)(p), (void)(n))
#define CBX__UNPOISON(p, n) ((void)(p), (void)(n))
#endif

#endif
