/* Writing a state file: room, structure, reservation, data, close, fsync, read back, rename; agreement after each.
 *
 * What this guards against, all measured on Open MPI 4.1.4 with HDF5 1.10.8:
 * - Strided collective writes (a 2D block in global order) with two or more aggregators were silently corrupt in up to
 *   7 of 15 files: data sieving reads, modifies and writes back ranges that another aggregator writes at the same time.
 *   checkpoint_before_mpi_init turns it off; and files are read back as s->verify asks before they get their name, by
 *   ranges of whole rows with POSIX calls, so that a fault of the write path cannot hide itself. A file that differs is
 *   written once more, independently. Where some ranks collect whole rows (aggregate.h) they write them on a communicator of
 *   their own, each by itself: no request is strided, and nothing has to be collected once more by MPI-IO.
 * - A full disk is not reported by collective writes, and where HDF5 then cannot write its own structures in parallel, one
 *   rank returns from H5Fflush and the others wait in it for ever. So rank 0 alone makes the file with all its structure
 *   through POSIX calls, the space is asked for (statvfs) and taken (fallocate, where the file system has it), and the
 *   parallel part writes nothing but the data.
 * - After an H5Fclose that failed, HDF5 1.10 keeps the identifier of freed memory and crashes in MPI_Finalize: the space
 *   is tried on the empty file, before HDF5 sees it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "aggregate.h"
#include "check.h"
#include "checkpoint_part.h"

typedef struct writing {
    MPI_Comm comm, data_comm; /* data_comm: of the ranks that write; MPI_COMM_NULL: this one does not. Owned where some collect */
    int rank, ranks, writers; /* writers 0: all ranks write their own cells */
    box *boxes;               /* of all ranks, field after field; owned */
    aggregate *collected;     /* owned */
    void *window;             /* room for one; owned */
    const checkpoint_state *s;
    checkpoint_sums sums[CHECKPOINT_FIELDS_MAX];
    checkpoint_names names;
    hid_t file, dataset[CHECKPOINT_FIELDS_MAX];
    char *why;
    size_t why_bytes;
} writing;

void checkpoint_before_mpi_init(void) { setenv("OMPI_MCA_fbtl_posix_write_datasieving", "0", 0); }

static checkpoint_status agree(writing *w, checkpoint_status mine)
{
    return checkpoint_agree(w->comm, mine, w->why, w->why_bytes);
}

static bool writes(const writing *w) { return w->data_comm != MPI_COMM_NULL; }

static checkpoint_status h5_failed(writing *w, const char *what)
{
    return checkpoint_fail(CHECKPOINT_IO, w->why, w->why_bytes, "cannot write %s: %s: %s", w->names.path, what,
                           checkpoint_h5_reason());
}

/* ---- room ---- */

static checkpoint_status create_empty(writing *w)
{
    return w->rank == 0 ? checkpoint_create_empty(&w->names, w->why, w->why_bytes) : CHECKPOINT_OK;
}

static checkpoint_status look_for_room(writing *w)
{
    int fd;
    const checkpoint_status status = checkpoint_open_tmp(&w->names, w->rank, &fd, w->why, w->why_bytes);
    if (status != CHECKPOINT_OK) return status;
    close(fd);
    return checkpoint_look_for_room(&w->names, checkpoint_needed_bytes(w->s), w->why, w->why_bytes);
}

static checkpoint_status reserve(writing *w, uint64_t bytes)
{
    int fd;
    checkpoint_status status = checkpoint_open_tmp(&w->names, w->rank, &fd, w->why, w->why_bytes);
    if (status == CHECKPOINT_OK) status = checkpoint_reserve(&w->names, fd, bytes, w->why, w->why_bytes);
    if (fd >= 0) close(fd);
    return status;
}

/* ---- structure, by rank 0 alone ---- */

static checkpoint_status create_structure(writing *w)
{
    if (w->rank != 0) return CHECKPOINT_OK;
    checkpoint_status status = reserve(w, checkpoint_needed_bytes(w->s));
    if (status != CHECKPOINT_OK) return status;
    checkpoint_layout layout;
    status = checkpoint_structure_write(w->names.tmp, w->s, w->sums, &layout, w->why, w->why_bytes);
    return status == CHECKPOINT_OK ? reserve(w, layout.end_bytes) : status;
}

/* ---- data, by all ranks ---- */

static checkpoint_status open_parallel(writing *w)
{
    if (!writes(w)) return CHECKPOINT_OK;
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, w->data_comm, MPI_INFO_NULL);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    w->file = H5Fopen(w->names.tmp, H5F_ACC_RDWR, access);
    checkpoint_status status = w->file < 0 ? h5_failed(w, "H5Fopen") : CHECKPOINT_OK;
    H5Pclose(access);
    return status;
}

static checkpoint_status open_datasets(writing *w)
{
    char name[64];
    for (int i = 0; i < w->s->fields && writes(w); i++) {
        snprintf(name, sizeof name, "/fields/%s", w->s->field[i].name);
        w->dataset[i] = H5Dopen2(w->file, name, H5P_DEFAULT);
        if (w->dataset[i] < 0) return h5_failed(w, name);
    }
    return CHECKPOINT_OK;
}

/* The cells `part`, dense rows at data; empty: this rank takes part in the call and no more. */
static checkpoint_status write_part(writing *w, int i, box part, const void *data, H5FD_mpio_xfer_t transfer)
{
    const hid_t how = H5Pcreate(H5P_DATASET_XFER), space = H5Dget_space(w->dataset[i]);
    const hsize_t cells = (hsize_t)box_cells(part), extent = cells ? cells : 1;
    const hid_t memory = H5Screate_simple(1, &extent, NULL);
    checkpoint_status status = CHECKPOINT_OK;
    H5Pset_dxpl_mpio(how, transfer);
    if (!cells) H5Sselect_none(memory);
    checkpoint_h5_select(space, part);
    if (H5Dwrite(w->dataset[i], checkpoint_h5_memory_type(w->s->type), memory, space, how, data) < 0)
        status = h5_failed(w, w->s->field[i].name);
    H5Sclose(memory);
    H5Sclose(space);
    H5Pclose(how);
    return checkpoint_agree(w->data_comm, status, w->why, w->why_bytes);
}

/* All ranks call H5Dwrite equally often: those with fewer bands write nothing in the last calls. */
static checkpoint_status write_own(writing *w, int i, H5FD_mpio_xfer_t transfer)
{
    const checkpoint_field *f = &w->s->field[i];
    const size_t cell_bytes = dtype_bytes(w->s->type);
    const int64_t mine = checkpoint_bands(f->own, cell_bytes, checkpoint_band_bytes);
    int64_t calls;
    MPI_CHECK(MPI_Allreduce(&mine, &calls, 1, MPI_INT64_T, MPI_MAX, w->comm));
    checkpoint_status status = CHECKPOINT_OK;
    for (int64_t c = 0; c < calls && status == CHECKPOINT_OK; c++) {
        const box part = c < mine ? checkpoint_band(f->own, cell_bytes, checkpoint_band_bytes, c) : box_make(0, 0, 0, 0);
        const int64_t first = box_empty(part) ? 0 : (part.y0 - f->own.y0) * box_width(f->own) + part.x0 - f->own.x0;
        status = write_part(w, i, part, (const char *)f->data + (size_t)first * cell_bytes, transfer);
    }
    return status;
}

/* All writers have equally many windows. After a failure, of which all of them know, the rest is collected and dropped: others
 * send it. */
static checkpoint_status write_collected(writing *w)
{
    checkpoint_status status = CHECKPOINT_OK;
    while (!aggregate_done(w->collected)) {
        const aggregate_window *window = aggregate_next(w->collected);
        if (!window) {
            nanosleep(&(struct timespec){ 0, 50 * 1000 }, NULL);
            continue;
        }
        if (status == CHECKPOINT_OK) {
            const void *rows = aggregate_rows(window, window->cells, dtype_bytes(w->s->type), w->window);
            status = write_part(w, window->field, window->cells, rows, H5FD_MPIO_INDEPENDENT);
        }
        aggregate_release(w->collected);
    }
    aggregate_again(w->collected); /* should it be asked for */
    return agree(w, status);
}

static checkpoint_status write_fields(writing *w, H5FD_mpio_xfer_t transfer)
{
    checkpoint_status status = CHECKPOINT_OK;
    if (w->writers > 0) return write_collected(w);
    for (int i = 0; i < w->s->fields && status == CHECKPOINT_OK; i++) status = write_own(w, i, transfer);
    return status;
}

/* Collective, in every case once the file is open on all ranks that write. */
static checkpoint_status close_parallel(writing *w)
{
    checkpoint_status status = CHECKPOINT_OK;
    if (!writes(w)) return status;
    for (int i = 0; i < w->s->fields; i++)
        if (w->dataset[i] >= 0 && H5Dclose(w->dataset[i]) < 0) status = h5_failed(w, "H5Dclose");
    if (H5Fclose(w->file) < 0) status = h5_failed(w, "H5Fclose");
    return status;
}

static checkpoint_status write_file(writing *w, H5FD_mpio_xfer_t transfer)
{
    for (int i = 0; i < CHECKPOINT_FIELDS_MAX; i++) w->dataset[i] = H5I_INVALID_HID;
    checkpoint_status status = agree(w, create_empty(w));
    if (status == CHECKPOINT_OK) status = agree(w, look_for_room(w));
    if (status == CHECKPOINT_OK) status = agree(w, create_structure(w));
    if (status == CHECKPOINT_OK) status = agree(w, open_parallel(w));
    if (status != CHECKPOINT_OK) return status;
    status = agree(w, open_datasets(w));
    if (status == CHECKPOINT_OK) status = write_fields(w, transfer);
    /* What went wrong first is the news: the sentence of the close is kept only where all went well before. */
    char first_why[CHECKPOINT_SENTENCE_BYTES];
    snprintf(first_why, sizeof first_why, "%s", status == CHECKPOINT_OK ? "" : w->why);
    const checkpoint_status closed = agree(w, close_parallel(w));
    if (status != CHECKPOINT_OK) {
        snprintf(w->why, w->why_bytes, "%s", first_why);
        return status;
    }
    if (closed != CHECKPOINT_OK) return closed;
    /* On every rank that wrote: rank 0's fsync does not flush another host's cache. */
    const int code = writes(w) ? checkpoint_sync_path(w->names.tmp) : 0;
    return agree(w, code ? checkpoint_file_failed("fsync", w->names.tmp, code, w->why, w->why_bytes) : CHECKPOINT_OK);
}

static checkpoint_status write_and_read_back(writing *w, H5FD_mpio_xfer_t transfer)
{
    const checkpoint_status status = write_file(w, transfer);
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

/* Ranks that collect, and a communicator of theirs. */
static checkpoint_status choose_writers(writing *w)
{
    checkpoint_status status = gather_boxes(w);
    if (status != CHECKPOINT_OK) return status;
    w->collected = aggregate_create(w->comm);
    status = agree(w, w->collected ? CHECKPOINT_OK : no_memory(w));
    if (status != CHECKPOINT_OK) return status;
    /* On one host MPI-IO collects as well as we do. */
    w->writers = aggregate_writers(w->s, w->boxes, w->ranks, aggregate_one_host(w->collected), 0);
    if (w->writers == 0) return CHECKPOINT_OK;
    const bool writes = aggregate_number(w->ranks, w->writers, w->rank) >= 0;
    MPI_CHECK(MPI_Comm_split(w->comm, writes ? 0 : MPI_UNDEFINED, w->rank, &w->data_comm));
    if (writes) MPI_CHECK(MPI_Comm_set_errhandler(w->data_comm, MPI_ERRORS_RETURN));
    if (writes) w->window = malloc(aggregate_window_bytes);
    const bool made = (!writes || w->window) && aggregate_begin(w->collected, w->s, w->boxes, w->writers);
    return agree(w, made ? CHECKPOINT_OK : no_memory(w));
}

static void free_writers(writing *w)
{
    if (w->writers > 0 && writes(w)) MPI_CHECK(MPI_Comm_free(&w->data_comm));
    aggregate_destroy(&w->collected);
    free(w->window);
    free(w->boxes);
}

/* ---- all of it ---- */

static checkpoint_status write_until_whole(writing *w)
{
    checkpoint_status status = choose_writers(w);
    if (status == CHECKPOINT_OK) status = checkpoint_sums_of_state(w->comm, w->s, w->sums, w->why, w->why_bytes);
    if (status == CHECKPOINT_OK) status = write_and_read_back(w, H5FD_MPIO_COLLECTIVE);
    if (status == CHECKPOINT_DAMAGED) status = write_and_read_back(w, H5FD_MPIO_INDEPENDENT);
    for (int i = 0; i < w->s->fields; i++) checkpoint_sums_free(&w->sums[i]);
    free_writers(w);
    return status == CHECKPOINT_OK ? status : CHECKPOINT_IO; /* twice DAMAGED: this file system does not keep what it is given */
}

checkpoint_status checkpoint_write(MPI_Comm comm, const char *path, const checkpoint_state *s, int *aggregators, char *why,
                                   size_t why_bytes)
{
    writing w = { .comm = comm, .data_comm = comm, .s = s, .why = why, .why_bytes = why_bytes };
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
