/* A state file written by all ranks, in jobs that call neither MPI nor HDF5, so that a thread may. The caller
 * (phases.c) runs one job on every rank, has the ranks agree on how it went, and only then runs the next:
 *
 *   room       rank 0: statvfs; makes NAME.tmp and takes its blocks
 *   write      every rank writes its own rows, takes their checksums on the way, fsync
 *   read back  every rank its own rows, past the page cache where the kernel lets it, against those checksums
 *              and, in full, against the fingerprint that the device had computed. Rows that differ are
 *              written once more. Where there are several hosts: blocks that another host wrote, from the
 *              file opened anew, against the checksums that all ranks have joined; those at borders between
 *              writers whatever `verify` says. All is collected and written once more.
 *   source, window .., flush   instead of write, where some ranks write for all (aggregate.h): every rank
 *                              takes the checksums of
 *              its own rows, in full compares them with the device's fingerprint; then a writer writes
 *              windows of its share, which the main threads collect, and fsync. It reads its share back
 *              against the checksums that all ranks have joined by then; for a share that differs all is
 *              collected and written once more.
 *   structure  rank 0, whose main thread has joined the checksums and made an image of the structure with
 *              them: writes the image, reads it back, fsync; all close the file
 *   look       where there are several hosts: a rank of another one compares the structure
 *   publish    rank 0: final name, old checkpoints deleted; nothing is written into the file any more
 *   clean up   after a failure: rank 0 deletes what is left of NAME.tmp
 *
 * pwrite tells each rank of its own errors, and no rank waits inside a call for another. Parallel HDF5 did
 * not, all measured on Open MPI 4.1.4 with HDF5 1.10.8:
 * - Strided collective writes (a 2D block in global order) with two or more aggregators were corrupt, unsaid,
 * in up to 7 of 15.
 * - A full disk was not reported by collective writes; where one rank's part of one failed, the others did
 * not return from it.
 * - What H5Dclose could not write any more was lost unsaid where nobody looked at what it returned, and after
 * an H5Fclose that
 *   failed HDF5 keeps the identifier of freed memory and crashes in MPI_Finalize.
 * So HDF5 makes the structure alone, in a scratch file (checkpoint_image.c), and the space is asked for
 * (statvfs) and taken (fallocate, where the file system has it) before. */
#pragma once

#include "state/checkpoint_image.h"
#include "writer/aggregate.h"
#include "writer/checkpoint_file.h"
#include "writer/checkpoint_write.h"
#include "writer/retain.h"

enum {
    CHECKPOINT_JOB_OWN_BYTES = 256 << 10,      /* a request: checksummed and at once written, while it is
                                                * in a core's own cache */
    CHECKPOINT_JOB_COLLECTED_BYTES = 1 << 20,  /* of a window: put together and written */
};

typedef struct checkpoint_job checkpoint_job;
typedef checkpoint_status checkpoint_work(checkpoint_job *j); /* sets why where it fails */

struct checkpoint_job {
    /* ---- the caller's; jobs read them ---- */
    checkpoint_work *work;       /* what the next job does */
    int rank;
    checkpoint_state state;      /* field[].fingerprint: this rank's share. Text and data outlive the jobs */
    checkpoint_names names;      /* of a file that is written once: checkpoint_names_token, before room */
    checkpoint_identity id;      /* of NAME.tmp: room finds it on rank 0; all ranks have it before write */
    bool same_host;              /* as rank 0's */
    checkpoint_layout layout;    /* before write */
    uint64_t file_bytes;
    uint32_t image_crc;          /* of rank 0's image, before look */
    checkpoint_image image;      /* of rank 0, before structure; owned */
    const char *dir;             /* NULL: retain_apply deletes nothing */
    retain_rule rule;
    int64_t verified;            /* as retain_apply */
    writers plan;                /* who writes what; count 0: all their own cells */
    int number;                  /* this rank's among those that collect and write; -1: it does not */
    const checkpoint_sums *joined; /* where some collect: of all ranks' cells, before read back */
    const aggregate_window *window; /* for the next job; NULL: none yet */
    bool again;                  /* collected and written once more: checksums are there */
    /* ---- the jobs' ---- */
    checkpoint_sums share[CHECKPOINT_FIELDS_MAX]; /* of this rank's cells, to be joined by exclusive or,
                                                   * then finished */
    int fd;
    uint32_t file_system;        /* room: f_type of statfs as this rank sees it; 0: not known */
    uint64_t piece_bytes;        /* room, of rank 0: a block of it */
    uint64_t dense_from, dense_to; /* of the file: written in one run, and not yet on its way to the disk */
    bool flushed;
    checkpoint_status status;    /* of the phase: after a failure its other jobs do nothing */
    sentence why;
    double seconds; /* of the phase's jobs, until the file was as they leave it: not of deleting others */
    double spent_s[CHECKPOINT_SPENT]; /* of these */
};

/* A job for s, of which text and data must outlive it, under path. OK, or IO with why. */
checkpoint_status checkpoint_job_begin(checkpoint_job *j, int rank, const checkpoint_state *s,
                                       const char *path);
void checkpoint_job_end(checkpoint_job *j);

/* A new phase, whose jobs follow. */
void checkpoint_job_phase(checkpoint_job *j);
/* Does the work of a checkpoint_job: sets its status, and adds to its seconds. */
void checkpoint_job_run(void *job);
checkpoint_work checkpoint_job_room, checkpoint_job_write, checkpoint_job_source, checkpoint_job_window,
    checkpoint_job_flush, checkpoint_job_read_back, checkpoint_job_structure, checkpoint_job_look,
    checkpoint_job_publish, checkpoint_job_clean_up;

/* ---- what the jobs share ---- */

/* Of field i, what this rank writes; returns how many parts. */
int checkpoint_job_parts(const checkpoint_job *j, int i, box part[WRITERS_PARTS]);
/* Does it write at all? */
bool checkpoint_job_writes(const checkpoint_job *j);
/* Own cells of all fields, and fsync; again: without checksums. */
checkpoint_status checkpoint_job_write_all(checkpoint_job *j, bool again);
/* NAME.tmp, opened by a rank that did not make it. */
checkpoint_status checkpoint_job_open(checkpoint_job *j, int flags, int *fd);
/* As checkpoint_file_failed, of NAME.tmp. */
checkpoint_status checkpoint_job_failed(checkpoint_job *j, const char *what, int code);
checkpoint_status checkpoint_job_other_fingerprint(checkpoint_job *j, int i, const char *where);
/* The bytes that this rank writes, for other hosts as well, until unlock: LOCK_WITHIN_S at most is waited
 * for. */
checkpoint_status checkpoint_job_lock(checkpoint_job *j);
void checkpoint_job_unlock(checkpoint_job *j);
