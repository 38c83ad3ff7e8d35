/* Datasets of a state file: opened where all their values lie in the file itself, and looked at before
 * anything is allocated or read. By one rank; what is opened is the caller's to close. */
#pragma once

#include <hdf5.h>

#include "state/checkpoint_state.h"
#include "state/checkpoint_status.h"

enum { CHECKPOINT_FINGERPRINT_DIGITS = 16 };

/* Opens GROUP/NAME of a state file: negative with the end of a sentence in *why, a literal, where one of both
 * is missing or a link, or the values lie elsewhere. */
hid_t checkpoint_dataset_open_inside(hid_t file, const char *group, const char *name, const char **why);
/* Are its values in the file itself, and in this dataset? */
bool checkpoint_dataset_is_inside(hid_t dataset);
/* Opens /fields/NAME and checks that it is what `f` needs; reads its fingerprint attribute into *fingerprint.
 * */
checkpoint_status checkpoint_dataset_open(hid_t file, const char *path, const checkpoint_field *f, dtype type,
                                          hid_t *dataset, uint64_t *fingerprint, sentence *why);
bool checkpoint_parse_fingerprint(const char *text, uint64_t *fingerprint);
