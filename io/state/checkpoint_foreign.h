/* Files of other programs: what reading one and looking at it first have in common. Reading stands in
 * checkpoint.h. */
#pragma once

#include <hdf5.h>
#include <stdbool.h>

#include "core/sentence.h"

/* For H5Lexists and H5Dopen2 of another program's file: external links are followed only to files beside the
 * one that they are in; where to another, or none, they fail and why has the end of a sentence, else "". The
 * caller's to close; why outlives it. */
hid_t checkpoint_elsewhere_access(sentence *why);
/* Do all its values lie in its file, or in files beside that which are there and hold them? */
bool checkpoint_elsewhere_lies_beside(hid_t dataset, sentence *why);

/* Of another program's dataset: twice the largest that a compiler has. HDF5 holds several while it converts
 * them. */
enum { CHECKPOINT_NUMBER_BYTES_MAX = 32 };

enum { CHECKPOINT_LISTED_BYTES = 240 };
/* The paths of the first datasets that the file has, as many as there is room for. */
void checkpoint_foreign_list_datasets(hid_t file, char list[CHECKPOINT_LISTED_BYTES]);
