/* Blocks of parts, compared with their checksums: below state_read and state_verify, and after a write. */
#pragma once

#include "state/state.h"

typedef struct state_look {
    int64_t every;     /* 1: all blocks; n: each n-th of the state, and each part's last of a field */
    bool fresh;        /* just written, perhaps by another host: what this host has cached of it is dropped */
    bool fingerprints; /* of what is read, added to .fingerprint */
    uint64_t fingerprint[STATE_FIELDS_MAX];
} state_look;

/* Reads the blocks [from, to) of the whole state that part k has, and compares the part's structure. What
 * differs, or is not there, is added to r (DAMAGED); IO with why. By one rank and any thread. */
state_status state_look_at(const state_info *s, int k, int64_t from, int64_t to, state_look *how,
                           state_report *r, sentence *why);
