/* Files of other programs: what reading one and looking at it first have in common. Reading stands in checkpoint.h. */
#pragma once

#include <hdf5.h>

/* Of another program's dataset: twice the largest that a compiler has. HDF5 holds several while it converts them. */
enum { CHECKPOINT_NUMBER_BYTES_MAX = 32 };

enum { CHECKPOINT_LISTED_BYTES = 240 };
/* The paths of the first datasets that the file has, as many as there is room for. */
void checkpoint_foreign_list_datasets(hid_t file, char list[CHECKPOINT_LISTED_BYTES]);
