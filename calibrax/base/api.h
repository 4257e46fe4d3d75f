/**
 * What every public header needs: visibility, C++ linkage, printf checking, array length, initial
 * options.
 *
 * API numbers: CBX_API_VERSION rises with each incompatible change of a public declaration,
 * apart from the release number in calibrax/base/version.h.
 */
#ifndef CALIBRAX_BASE_API_H
#define CALIBRAX_BASE_API_H

#define CBX_API_VERSION 1

#ifdef __cplusplus
#define CBX_BEGIN_DECLS extern "C" {
#define CBX_END_DECLS   }
#else
#define CBX_BEGIN_DECLS
#define CBX_END_DECLS
#endif

#define CBX_API               __attribute__((visibility("default")))
#define CBX_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/** Number of elements of a true array (not a pointer). */
#define CBX_LEN(a) (sizeof(a) / sizeof((a)[0]))

/** Initial value of a struct of options, which begins with struct_size; the values of the other
 * members follow in order. */
#define CBX_OPTS(type, ...)                                                                                            \
    {                                                                                                                  \
        sizeof(type), __VA_ARGS__                                                                                      \
    }

#endif
