/* Attempts: the folders NAME.<8 hex digits> beside NAME.h5 that hold a state's parts, also while it is
 * written. By one rank, in any thread. */
#pragma once

#include "state/lock.h"
#include "state/state_write.h"

#define STATE_INDEX_NAME "index.h5" /* in an attempt's folder, before it is published */
#define STATE_XDMF_NAME "index.xmf"

/* NAME.6f2c9a01 of the state PATH = DIR/NAME.h5: out has STATE_NAME_BYTES. False: too long. */
bool state_attempt_name(char *out, const char *path, uint32_t token);
/* Deletes the attempt's folder in dir, unless the index of its name says that it has its parts there, or
 * cannot be read. Nothing else than parts and what is to be an index is deleted. False: some of it stays. */
bool state_attempt_remove(const char *dir, const char *name);
/* Deletes the state `path`, its index first; its attempt's name is in the lock file before. False: some of it
 * stays. */
bool state_remove(lock *l, const char *dir, const char *path);

enum { STATE_NONE_VERIFIED = -1 };
/* Deletes the states in dir up to step `last`, the one just written, that are not kept, but never that of
 * step `verified`, the last one known to be whole (or STATE_NONE_VERIFIED). Those of later steps are
 * another run's: they neither count nor go. False: some stays that should have gone. */
bool state_keep_apply(lock *l, const char *dir, state_keep keep, int64_t last, int64_t verified);
