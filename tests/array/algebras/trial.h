/* The lines that algebra.h would have, of algebras that are built into one test alone. */
#include "algebras/bottleneck.h"
#include "algebras/manhattan.h"
