/* Where this code stands once it is installed, so that what was installed with it is
 * found wherever the whole was moved to: a prefix that was copied, a package of Python.
 */
#ifndef MMT_BASE_PLACE_H
#define MMT_BASE_PLACE_H

#include <stdbool.h>

#include "base/text.h"

/* Adds the prefix below which this code was installed, as an absolute path without links:
 * its library's file stands in lib there, or the program in bin (as Meson was told to
 * call them). False, and adds nothing, where it stands elsewhere, as in a folder where it
 * was built, and in a program that is setuid. */
bool mmt_place_prefix(struct mmt_text *prefix);

#endif
