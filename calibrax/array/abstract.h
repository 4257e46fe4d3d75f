/* Inside the library: what an abstract array keeps beside the flags of internal.h. */
#ifndef CALIBRAX_ARRAY_ABSTRACT_H
#define CALIBRAX_ARRAY_ABSTRACT_H

enum { CBX__WAS_READ = 64 }; /* cbx_array_read was refused: the function that did it fails when it ends */

#endif
