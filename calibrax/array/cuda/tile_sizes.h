/* The tile in its three sizes; included once an element type, with what tile.h expects but the
 * size, and WIDTH, its bits. */
#define TILE_OF(size, what) PASTE(PASTE(PASTE(CBX__CUDA_, size), PASTE(_, WIDTH)), PASTE(_, what))

#define SIZE   large
#define BM     TILE_OF(large, ROWS)
#define BN     TILE_OF(large, COLS)
#define BK     TILE_OF(large, DEEP)
#define TM     TILE_OF(large, TROWS)
#define TN     TILE_OF(large, TCOLS)
#define BLOCKS 2
#include "calibrax/array/cuda/tile.h"

#define SIZE   middle
#define BM     TILE_OF(middle, ROWS)
#define BN     TILE_OF(middle, COLS)
#define BK     TILE_OF(middle, DEEP)
#define TM     TILE_OF(middle, TROWS)
#define TN     TILE_OF(middle, TCOLS)
#define BLOCKS 2
#include "calibrax/array/cuda/tile.h"

#define SIZE   small
#define BM     TILE_OF(small, ROWS)
#define BN     TILE_OF(small, COLS)
#define BK     TILE_OF(small, DEEP)
#define TM     TILE_OF(small, TROWS)
#define TN     TILE_OF(small, TCOLS)
#define BLOCKS 8
#include "calibrax/array/cuda/tile.h"

#undef TILE_OF
