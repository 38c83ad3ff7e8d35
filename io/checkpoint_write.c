/* Writing a state file while the steps wait, or at a run's end: room, structure, rows, fsync, read back, final name; agreement
 * after each, so that an error on one rank is an error on all before anything has its name.
 *
 * Every rank writes its own cells, or some what they collect (aggregate.h), by pwrite: it tells each rank of its own errors, and
 * none waits inside a call for another. Parallel HDF5 did not, all measured on Open MPI 4.1.4 with HDF5 1.10.8:
 * - Strided collective writes (a 2D block in global order) with two or more aggregators were corrupt, unsaid, in up to 7 of 15.
 * - A full disk was not reported by collective writes; where one rank's part of one failed, the others did not return from it.
 * - What H5Dclose could not write any more was lost unsaid where nobody looked at what it returned, and after an H5Fclose that
 *   failed HDF5 keeps the identifier of freed memory and crashes in MPI_Finalize.
 * So HDF5 makes the structure alone, in a scratch file (checkpoint_image.c), and the space is asked for (statvfs) and taken
 * (fallocate, where the file system has it) before. All is read back as s->verify asks, by ranges of whole rows; a file that
 * differs is written once more. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "aggregate.h"
#include "check.h"
#include "checkpoint_part.h"

typedef struct writing {
    MPI_Comm comm;
    int rank, ranks, writers; /* writers 0: all ranks write their own cells */
    bool writes;
    box *boxes;               /* of all ranks, field after field; owned */
    aggregate *collected;     /* owned */
    void *window;             /* room for one; owned */
    const checkpoint_state *s;
    checkpoint_sums sums[CHECKPOINT_FIELDS_MAX];
    checkpoint_image image;   /* of rank 0; owned */
    checkpoint_layout layout;
    checkpoint_names names;
    int fd;                   /* of NAME.tmp; -1: none */
    char *why;
    size_t why_bytes;
} writing;

static checkpoint_status agree(writing *w, checkpoint_status mine)
{
    return checkpoint_agree(w->comm, mine, w->why, w->why_bytes);
}

static checkpoint_status failed(writing *w, const char *what, int code)
{
    return code ? checkpoint_file_failed(what, w->names.tmp, code, w->why, w->why_bytes) : CHECKPOINT_OK;
}

/* ---- room ---- */

static checkpoint_status create_empty(writing *w)
{
    return w->rank == 0 ? checkpoint_create_empty(&w->names, w->why, w->why_bytes) : CHECKPOINT_OK;
}

static checkpoint_status open_file(writing *w)
{
    return checkpoint_open_tmp(&w->names, w->rank, &w->fd, w->why, w->why_bytes);
}

static checkpoint_status look_for_room(writing *w)
{
    return checkpoint_look_for_room(&w->names, checkpoint_needed_bytes(w->s), w->why, w->why_bytes);
}

/* ---- structure, by rank 0 alone ---- */

static checkpoint_status put_structure(writing *w)
{
    char reason[512];
    checkpoint_image_free(&w->image);
    if (checkpoint_image_make(&w->image, w->s, w->sums, reason, sizeof reason) != CHECKPOINT_OK)
        return checkpoint_fail(CHECKPOINT_IO, w->why, w->why_bytes, "cannot write %s: %s", w->names.path, reason);
    w->layout = w->image.layout;
    return failed(w, "write the structure of", checkpoint_image_write(&w->image, w->fd));
}

static checkpoint_status create_structure(writing *w)
{
    if (w->rank != 0) return CHECKPOINT_OK;
    checkpoint_status status = checkpoint_reserve(&w->names, w->fd, checkpoint_needed_bytes(w->s), w->why, w->why_bytes);
    if (status == CHECKPOINT_OK) status = put_structure(w);
    return status == CHECKPOINT_OK ? checkpoint_reserve(&w->names, w->fd, w->layout.end_bytes, w->why, w->why_bytes) : status;
}

static checkpoint_status compare_structure(writing *w)
{
    if (w->rank != 0 || w->s->verify == CHECKPOINT_VERIFY_OFF) return CHECKPOINT_OK;
    const int code = checkpoint_image_compare(&w->image, w->fd);
    (void)failed(w, "read back the structure of", code);
    return code ? CHECKPOINT_DAMAGED : CHECKPOINT_OK;
}

/* ---- data, by all ranks ---- */

static int write_cells(const writing *w, int i, box part, const void *data)
{
    return checkpoint_rows_write(w->fd, w->layout.field_at_bytes[i], &w->s->field[i], w->s->type, part, data);
}

/* After a failure the rest is collected and dropped: others send it. */
static int write_collected(writing *w)
{
    int code = 0;
    while (!aggregate_done(w->collected)) {
        const aggregate_window *window = aggregate_next(w->collected);
        if (!window) {
            nanosleep(&(struct timespec){ 0, 50 * 1000 }, NULL);
            continue;
        }
        const void *rows = aggregate_rows(window, window->cells, dtype_bytes(w->s->type), w->window);
        if (!code) code = write_cells(w, window->field, window->cells, rows);
        aggregate_release(w->collected);
    }
    aggregate_again(w->collected); /* should it be asked for */
    return code;
}

static checkpoint_status write_fields(writing *w)
{
    int code = 0;
    MPI_CHECK(MPI_Bcast(&w->layout, sizeof w->layout, MPI_BYTE, 0, w->comm));
    if (w->writers > 0) return failed(w, "write", write_collected(w));
    for (int i = 0; i < w->s->fields && !code; i++) code = write_cells(w, i, w->s->field[i].own, w->s->field[i].data);
    return failed(w, "write", code);
}

/* On every rank that wrote: rank 0's fsync does not flush another host's cache. */
static checkpoint_status flush(writing *w) { return failed(w, "fsync", w->writes && fsync(w->fd) != 0 ? errno : 0); }

static checkpoint_status write_open_file(writing *w)
{
    checkpoint_status status = agree(w, look_for_room(w));
    if (status == CHECKPOINT_OK) status = agree(w, create_structure(w));
    if (status == CHECKPOINT_OK) status = agree(w, write_fields(w));
    if (status == CHECKPOINT_OK) status = agree(w, flush(w));
    return status == CHECKPOINT_OK ? agree(w, compare_structure(w)) : status;
}

static checkpoint_status write_file(writing *w)
{
    checkpoint_status status = agree(w, create_empty(w));
    if (status == CHECKPOINT_OK) status = agree(w, open_file(w));
    if (status == CHECKPOINT_OK) status = write_open_file(w);
    const int code = w->fd >= 0 && close(w->fd) != 0 ? errno : 0;
    w->fd = -1;
    return status == CHECKPOINT_OK ? agree(w, failed(w, "close", code)) : status;
}

static checkpoint_status write_and_read_back(writing *w)
{
    const checkpoint_status status = write_file(w);
    if (status != CHECKPOINT_OK) return status;
    return checkpoint_read_back(w->comm, w->names.tmp, w->names.path, w->s, w->sums, w->why, w->why_bytes);
}

/* ---- who writes ---- */

static checkpoint_status no_memory(writing *w)
{
    return checkpoint_fail(CHECKPOINT_IO, w->why, w->why_bytes, "cannot write %s: rank %d has no memory to collect in",
                           w->names.path, w->rank);
}

static checkpoint_status gather_boxes(writing *w)
{
    const size_t ranks = (size_t)w->ranks;
    w->boxes = malloc(ranks * (size_t)w->s->fields * sizeof *w->boxes);
    const checkpoint_status status = agree(w, w->boxes ? CHECKPOINT_OK : no_memory(w));
    for (int i = 0; i < w->s->fields && status == CHECKPOINT_OK; i++)
        MPI_CHECK(MPI_Allgather(&w->s->field[i].own, sizeof(box), MPI_BYTE, w->boxes + (size_t)i * ranks, sizeof(box), MPI_BYTE,
                                w->comm));
    return status;
}

static checkpoint_status choose_writers(writing *w)
{
    checkpoint_status status = gather_boxes(w);
    if (status != CHECKPOINT_OK) return status;
    w->collected = aggregate_create(w->comm);
    status = agree(w, w->collected ? CHECKPOINT_OK : no_memory(w));
    if (status != CHECKPOINT_OK) return status;
    w->writers = aggregate_writers(w->s, w->boxes, w->ranks, aggregate_one_host(w->collected), aggregate_short_bytes);
    w->writes = w->writers == 0 || aggregate_number(w->ranks, w->writers, w->rank) >= 0;
    if (w->writers == 0) return CHECKPOINT_OK;
    if (w->writes) w->window = malloc(aggregate_window_bytes);
    const bool made = (!w->writes || w->window) && aggregate_begin(w->collected, w->s, w->boxes, w->writers);
    return agree(w, made ? CHECKPOINT_OK : no_memory(w));
}

static void free_writers(writing *w)
{
    aggregate_destroy(&w->collected);
    free(w->window);
    free(w->boxes);
}

/* ---- all of it ---- */

static checkpoint_status write_until_whole(writing *w)
{
    checkpoint_status status = choose_writers(w);
    if (status == CHECKPOINT_OK) status = checkpoint_sums_of_state(w->comm, w->s, w->sums, w->why, w->why_bytes);
    if (status == CHECKPOINT_OK) status = write_and_read_back(w);
    if (status == CHECKPOINT_DAMAGED) status = write_and_read_back(w);
    for (int i = 0; i < w->s->fields; i++) checkpoint_sums_free(&w->sums[i]);
    checkpoint_image_free(&w->image);
    free_writers(w);
    return status == CHECKPOINT_OK ? status : CHECKPOINT_IO; /* twice DAMAGED: this file system does not keep what it is given */
}

checkpoint_status checkpoint_write(MPI_Comm comm, const char *path, const checkpoint_state *s, int *aggregators, char *why,
                                   size_t why_bytes)
{
    writing w = { .comm = comm, .s = s, .fd = -1, .why = why, .why_bytes = why_bytes };
    MPI_CHECK(MPI_Comm_rank(comm, &w.rank));
    MPI_CHECK(MPI_Comm_size(comm, &w.ranks));
    checkpoint_h5_quiet();
    checkpoint_status status = checkpoint_names_make(&w.names, path, why, why_bytes);
    if (status != CHECKPOINT_OK) return status;
    status = write_until_whole(&w);
    if (status == CHECKPOINT_OK)
        status = agree(&w, w.rank == 0 ? checkpoint_publish(&w.names, s, why, why_bytes) : CHECKPOINT_OK);
    if (aggregators) *aggregators = w.writers;
    if (status == CHECKPOINT_OK) return status;
    if (w.rank == 0) checkpoint_unlink_tmp(&w.names);
    MPI_CHECK(MPI_Barrier(comm)); /* gone for every rank, not only for rank 0 */
    return status;
}
