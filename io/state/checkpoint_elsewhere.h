/* Values of another program's dataset that lie in other files: behind external links, in external storage, in the sources of virtual
 * datasets. */
#pragma once

#include <hdf5.h>
#include <stdbool.h>

#include "core/sentence.h"

/* For H5Lexists and H5Dopen2 of another program's file: external links are followed only to files beside the one that they are in;
 * where to another, or none, they fail and why has the end of a sentence, else "". The caller's to close; why outlives it. */
hid_t checkpoint_elsewhere_access(sentence *why);
/* Do all its values lie in its file, or in files beside that which are there and hold them? */
bool checkpoint_elsewhere_lies_beside(hid_t dataset, sentence *why);
