/* The tile in its three sizes; included once an element type, with what tile.h expects but the
 * size. */
#define SIZE   large
#define BLOCKS 2
#include "calibrax/array/cuda/tile.h"

#define SIZE   middle
#define BLOCKS 2
#include "calibrax/array/cuda/tile.h"

#define SIZE   small
#define BLOCKS 8
#include "calibrax/array/cuda/tile.h"
