/**
 * Tables of numbers in text: CSV with commas, tabs or semicolons (RFC 4180), and files by the
 * ending of their name.
 *
 * The first line is a header if one of its cells is not a number.  Cells of columns that are read
 * are numbers in decimal notation, inf, nan, true, false; an empty one is NaN.  Blank lines are
 * skipped, quoted cells are read without their quotes.  Columns of integers alone are int64, every
 * digit of them, of true and false alone bool, others float64.  Since 0.1.
 */
#ifndef CALIBRAX_ARRAY_IO_CSV_H
#define CALIBRAX_ARRAY_IO_CSV_H

#include "calibrax/array/array.h"
#include "calibrax/base/arena.h"

CBX_BEGIN_DECLS

/**
 * A table in memory.
 * @param what    names the text in messages
 * @param column  a name of the header, or a number from 1; NULL: all columns, which meet in one
 *   dtype
 * @param out     (rows) of one column or a table of one, else (rows, columns); the caller's to free
 * @return CBX_OK; CBX_EFORMAT (a cell that is not a number, a row of another length, no rows: named
 *         by line; integers that the dtype does not hold: named by column); CBX_ENOENT (no such
 *         column); CBX_ENOMEM
 */
CBX_API cbx_status cbx_csv_decode(cbx_ctx *ctx, const char *text, size_t len, const char *what, const char *column,
                                  cbx_array **out, cbx_err *err);

/**
 * The cells of a column as text: labels, for example.  A first line with a word in it is the header
 * here, too: words without a header lose their first row.
 * @param column  as above; NULL: the only one
 * @param arena   owns the words
 * @param out     n words, a row each, without quotes
 * @return CBX_OK; as cbx_csv_decode; CBX_EINVAL (no column of several)
 */
CBX_API cbx_status cbx_csv_words(cbx_ctx *ctx, const char *text, size_t len, const char *what, const char *column,
                                 cbx_arena *arena, const char ***out, size_t *n, cbx_err *err);

/**
 * An array of a file, whose format follows from the end of its name: FILE.npy, FILE.npz:MEMBER,
 * FILE.h5:/DATASET (.hdf5), FILE.csv[:COLUMN] (.tsv, .txt).  Without a member it must hold one
 * array.
 * @return CBX_OK; CBX_EINVAL (another ending, several members); as the readers of the formats
 */
CBX_API cbx_status cbx_array_load(cbx_ctx *ctx, const char *source, cbx_array **out, cbx_err *err);
/**
 * The words of a column of a file, FILE.csv[:COLUMN].
 * @return CBX_OK; as cbx_csv_words and cbx_array_load; CBX_EINVAL (a file of another format)
 */
CBX_API cbx_status cbx_words_load(cbx_ctx *ctx, const char *source, cbx_arena *arena, const char ***out, size_t *n,
                                  cbx_err *err);

CBX_END_DECLS
#endif
