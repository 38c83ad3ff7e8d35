/* A state file by name while it is written: room, creation, reservation, the final name. By one rank and
 * without HDF5 and MPI, so that a thread may. */
#pragma once

#include "state/checkpoint_directory.h"
#include "state/checkpoint_state.h"

/* NAME.h5, NAME.xmf, what they are called while they are written, and their folder */
typedef struct checkpoint_names {
    char path[CHECKPOINT_PATH_BYTES], tmp[CHECKPOINT_PATH_BYTES];
    char xdmf[CHECKPOINT_PATH_BYTES], xdmf_tmp[CHECKPOINT_PATH_BYTES];
    char directory[CHECKPOINT_PATH_BYTES];
} checkpoint_names;
checkpoint_status checkpoint_names_make(checkpoint_names *n, const char *path, sentence *why);
void checkpoint_names_token(checkpoint_names *n, uint64_t token); /* tmp and xdmf_tmp: for one write */

/* The steps of a write, each by one rank, without HDF5 and MPI; see checkpoint_job.h for what they guard
 * against. */
/* of a file; a network file system has another device number on each host */
typedef struct checkpoint_identity {
    uint64_t inode, device;
} checkpoint_identity;
/* Makes NAME.tmp, empty, for reading and writing; *fd < 0 on failure. */
checkpoint_status checkpoint_create_tmp(const checkpoint_names *n, int *fd, checkpoint_identity *id,
                                        sentence *why);
/* Is there room for needed_bytes beside what is there? */
checkpoint_status checkpoint_look_for_room(const checkpoint_names *n, uint64_t needed_bytes, sentence *why);
/* NAME.tmp, with flags O_RDWR or O_RDONLY, which rank 0 has made and which is the file *id: a name may be
 * unknown on another host for some seconds, or known as another file's. same_host: the device is compared
 * too. *fd < 0 on failure. */
checkpoint_status checkpoint_open_tmp(const checkpoint_names *n, int flags, const checkpoint_identity *id,
                                      bool same_host, int rank, int *fd, sentence *why);
/* Blocks for [0, bytes) of NAME.tmp: unlike statvfs this knows of quotas and limits, and what it gets stays
 * ours. */
checkpoint_status checkpoint_reserve(const checkpoint_names *n, int fd, uint64_t bytes, sentence *why);
/* Gives NAME.tmp its name, and an XDMF file beside it. */
checkpoint_status checkpoint_publish(const checkpoint_names *n, const checkpoint_state *s, sentence *why);
void checkpoint_unlink_tmp(const checkpoint_names *n);

/* What a file of s takes, and a little more. */
uint64_t checkpoint_needed_bytes(const checkpoint_state *s);
