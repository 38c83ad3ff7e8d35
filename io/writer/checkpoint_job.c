#include "writer/checkpoint_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ranks/fault.h"
#include "ranks/timer.h"
#include "state/checkpoint_rows.h"

enum { WRITEBACK_BYTES = 8 << 20 }; /* of the file, on their way to the disk at once */

checkpoint_status checkpoint_job_begin(checkpoint_job *j, int rank, const checkpoint_state *s,
                                       const char *path)
{
    *j = (checkpoint_job){ .rank = rank, .state = *s, .fd = -1 };
    checkpoint_status status = checkpoint_names_make(&j->names, path, &j->why);
    for (int i = 0; i < s->fields && status == CHECKPOINT_OK; i++)
        if (!checkpoint_sums_make(&j->share[i], &s->field[i], checkpoint_block_lines(&s->field[i], s->type)))
            status = checkpoint_fail(CHECKPOINT_IO, &j->why, "no memory for the checksums of a checkpoint");
    return j->status = status;
}

void checkpoint_job_end(checkpoint_job *j)
{
    for (int i = 0; i < CHECKPOINT_FIELDS_MAX; i++) checkpoint_sums_free(&j->share[i]);
    checkpoint_image_free(&j->image);
    if (j->fd >= 0) close(j->fd);
    j->fd = -1;
}

void checkpoint_job_phase(checkpoint_job *j)
{
    j->status = CHECKPOINT_OK;
    j->seconds = 0;
    memset(j->spent_s, 0, sizeof j->spent_s);
    j->flushed = false;
    j->window = NULL;
}

void checkpoint_job_run(void *job)
{
    checkpoint_job *j = job;
    const double begin_s = timer_now_s();
    j->status = j->work(j);
    j->seconds += timer_now_s() - begin_s;
    const bool published = j->work == checkpoint_job_publish && j->rank == 0 && j->status == CHECKPOINT_OK;
    /* which is no part of writing the file */
    if (published && j->dir) retain_apply(j->dir, j->rule, j->state.step, j->verified);
}

checkpoint_status checkpoint_job_failed(checkpoint_job *j, const char *what, int code)
{
    return checkpoint_file_failed(what, j->names.tmp, code, &j->why);
}

int checkpoint_job_parts(const checkpoint_job *j, int i, box part[WRITERS_PARTS])
{
    if (j->plan.count > 0) return writers_parts(&j->plan, &j->state, &j->layout, i, j->number, part);
    part[0] = j->state.field[i].own;
    return !box_empty(part[0]);
}

bool checkpoint_job_writes(const checkpoint_job *j) { return j->plan.count == 0 || j->number >= 0; }

/* ---- faults (fault.h) ---- */

/* checkpoint_write:RANK fails there, checkpoint_flip:RANK has written another byte in its last cell,
 * checkpoint_flip_always:RANK again when it writes once more, lost_page:RANK has a page of zeros before that
 * cell, checkpoint_slow:MS takes so long for every rank's write, checkpoint_memory:RANK has none to collect
 * in, checkpoint_structure:0 has the structure lose a byte after rank 0 compared it. */
static int act_faulty(const checkpoint_job *j, bool again)
{
    char byte = 0x55;
    static const char page[4096];
    box part[WRITERS_PARTS];
    const int parts = checkpoint_job_parts(j, 0, part);
    const box cells = parts > 0 ? part[parts - 1] : box_make(0, 1, 0, 1);
    const uint64_t last =
        (uint64_t)((cells.y1 - 1) * j->state.field[0].nx + cells.x1 - 1) * dtype_bytes(j->state.type);
    const int wait_ms = fault_asked("checkpoint_slow");
    const struct timespec wait = { wait_ms / 1000, wait_ms % 1000 * 1000000L };
    if (wait_ms > 0) nanosleep(&wait, NULL);
    if ((fault_asked("checkpoint_flip") == j->rank && !again) ||
        fault_asked("checkpoint_flip_always") == j->rank)
        return checkpoint_pwrite(j->fd, &byte, 1, j->layout.field_at_bytes[0] + last);
    if (fault_asked("lost_page") == j->rank && last > sizeof page)
        return checkpoint_pwrite(j->fd, page, sizeof page, j->layout.field_at_bytes[0] + last - sizeof page);
    return fault_asked("checkpoint_write") == j->rank ? EIO : 0;
}

/* ---- room ---- */

static checkpoint_status make_room(checkpoint_job *j)
{
    const uint64_t needed_bytes = checkpoint_needed_bytes(&j->state);
    checkpoint_status status = checkpoint_look_for_room(&j->names, needed_bytes, &j->why);
    if (status == CHECKPOINT_OK) status = checkpoint_create_tmp(&j->names, &j->fd, &j->id, &j->why);
    if (status == CHECKPOINT_OK) status = checkpoint_reserve(&j->names, j->fd, needed_bytes, &j->why);
    return status;
}

checkpoint_status checkpoint_job_room(checkpoint_job *j)
{
    j->file_system = writers_file_system(j->names.directory, &j->piece_bytes);
    return j->rank == 0 ? make_room(j) : CHECKPOINT_OK;
}

/* ---- data ---- */

/* The cells `part` of field i, dense rows at data. 0 or errno. */
static int write_part(checkpoint_job *j, int i, box part, const void *data)
{
    const double begin_s = timer_now_s();
    const int code = checkpoint_rows_write(j->fd, j->layout.field_at_bytes[i], &j->state.field[i],
                                           j->state.type, part, data);
    j->spent_s[CHECKPOINT_PWRITE] += timer_now_s() - begin_s;
    return code;
}

/* These were written: lets the disk begin while the rest is still copied, so that fsync finds less to do. A
 * hint, and of whole rows alone: of others the pages are not complete. */
static void start_writeback(checkpoint_job *j, int i, box part)
{
    const checkpoint_field *f = &j->state.field[i];
    const uint64_t cell_bytes = dtype_bytes(j->state.type);
    const uint64_t from = j->layout.field_at_bytes[i] + (uint64_t)(part.y0 * f->nx + part.x0) * cell_bytes;
    const bool dense =
        box_width(part) == f->nx || (box_height(part) == 1 && (f->ny == 1 || j->plan.count > 0));
    if (!dense || from != j->dense_to) j->dense_from = from;
    j->dense_to = dense ? from + (uint64_t)box_cells(part) * cell_bytes : from;
    if (j->dense_to - j->dense_from < WRITEBACK_BYTES) return;
    (void)sync_file_range(j->fd, (off_t)j->dense_from, (off_t)(j->dense_to - j->dense_from),
                          SYNC_FILE_RANGE_WRITE);
    j->dense_from = j->dense_to;
}

static int timed_fsync(checkpoint_job *j)
{
    const double begin_s = timer_now_s();
    const int code = fsync(j->fd) != 0 ? errno : 0;
    j->spent_s[CHECKPOINT_FSYNC] += timer_now_s() - begin_s;
    return code;
}

static void add_checksums(checkpoint_job *j, int i, box part, const void *data)
{
    const double begin_s = timer_now_s();
    checkpoint_sums_add(&j->share[i], j->state.type, data, part, &j->state.field[i]);
    j->spent_s[CHECKPOINT_CHECKSUMS] += timer_now_s() - begin_s;
}

/* Own cells of field i, band by band. */
static int write_own(checkpoint_job *j, int i, bool again)
{
    const checkpoint_field *f = &j->state.field[i];
    const size_t cell_bytes = dtype_bytes(j->state.type);
    const int64_t bands = checkpoint_bands(f->own, cell_bytes, CHECKPOINT_JOB_OWN_BYTES);
    const char *at = f->data;
    int code = 0;
    for (int64_t b = 0; b < bands && !code; b++) {
        const box band = checkpoint_band(f->own, cell_bytes, CHECKPOINT_JOB_OWN_BYTES, b);
        if (!again) add_checksums(j, i, band, at);
        code = write_part(j, i, band, at);
        start_writeback(j, i, band);
        at += (size_t)box_cells(band) * cell_bytes;
    }
    return code;
}

checkpoint_status checkpoint_job_write_all(checkpoint_job *j, bool again)
{
    int code = 0;
    for (int i = 0; i < j->state.fields && !code; i++) code = write_own(j, i, again);
    if (!code) code = act_faulty(j, again);
    if (code) return checkpoint_job_failed(j, "write", code);
    code = timed_fsync(j);
    return code ? checkpoint_job_failed(j, "fsync", code) : CHECKPOINT_OK;
}

checkpoint_status checkpoint_job_open(checkpoint_job *j, int flags, int *fd)
{
    return checkpoint_open_tmp(&j->names, flags, &j->id, j->same_host, j->rank, fd, &j->why);
}

/* By ranks that write: NAME.tmp, which rank 0 has open since it made it; it takes what the plan needs beyond
 * the estimate. */
static checkpoint_status open_file(checkpoint_job *j)
{
    checkpoint_status status = CHECKPOINT_OK;
    if (!checkpoint_job_writes(j)) return CHECKPOINT_OK;
    if (j->rank == 0) status = checkpoint_reserve(&j->names, j->fd, j->file_bytes, &j->why);
    else if (j->fd < 0) status = checkpoint_job_open(j, O_RDWR, &j->fd);
    return status == CHECKPOINT_OK && j->plan.rule == WRITERS_LOCKED ? checkpoint_job_lock(j) : status;
}

checkpoint_status checkpoint_job_write(checkpoint_job *j)
{
    const checkpoint_status status = open_file(j);
    return status == CHECKPOINT_OK ? checkpoint_job_write_all(j, false) : status;
}

/* ---- data that some collect and write ---- */

checkpoint_status checkpoint_job_other_fingerprint(checkpoint_job *j, int i, const char *where)
{
    return checkpoint_fail(
        CHECKPOINT_DAMAGED, &j->why,
        "cannot write %s: on rank %d the values of /fields/%s in %s differ from those on its device",
        j->names.path, j->rank, j->state.field[i].name, where);
}

static checkpoint_status look_at_source(checkpoint_job *j, int i)
{
    const checkpoint_field *f = &j->state.field[i];
    const double begin_s = timer_now_s();
    checkpoint_sums_add(&j->share[i], j->state.type, f->data, f->own, f);
    const bool same = j->state.verify != CHECKPOINT_VERIFY_FULL ||
                      checkpoint_fingerprint_share(j->state.type, f->data, f->own, f->nx) == f->fingerprint;
    j->spent_s[CHECKPOINT_CHECKSUMS] += timer_now_s() - begin_s;
    if (same) return CHECKPOINT_OK;
    return checkpoint_job_other_fingerprint(j, i, "its memory");
}

checkpoint_status checkpoint_job_source(checkpoint_job *j)
{
    checkpoint_status status = open_file(j);
    for (int i = 0; i < j->state.fields && !j->again && status == CHECKPOINT_OK; i++)
        status = look_at_source(j, i);
    return status;
}

static int write_window(checkpoint_job *j)
{
    const aggregate_window *w = j->window;
    const size_t cell_bytes = dtype_bytes(j->state.type);
    const int64_t bands = checkpoint_bands(w->cells, cell_bytes, CHECKPOINT_JOB_COLLECTED_BYTES);
    void *room = malloc(CHECKPOINT_JOB_COLLECTED_BYTES);
    int code = room ? 0 : ENOMEM;
    for (int64_t b = 0; b < bands && !code; b++) {
        const box band = checkpoint_band(w->cells, cell_bytes, CHECKPOINT_JOB_COLLECTED_BYTES, b);
        code = write_part(j, w->field, band, aggregate_rows(w, band, cell_bytes, room));
        start_writeback(j, w->field, band);
    }
    free(room);
    return code;
}

checkpoint_status checkpoint_job_window(checkpoint_job *j)
{
    const int code = j->status == CHECKPOINT_OK ? write_window(j) : 0;
    return code ? checkpoint_job_failed(j, "write", code) : j->status;
}

checkpoint_status checkpoint_job_flush(checkpoint_job *j)
{
    checkpoint_status status = j->status;
    if (checkpoint_job_writes(j) && status == CHECKPOINT_OK) {
        int code = act_faulty(j, j->again);
        if (code) status = checkpoint_job_failed(j, "write", code);
        else if ((code = timed_fsync(j)) != 0) status = checkpoint_job_failed(j, "fsync", code);
        if (j->plan.rule == WRITERS_LOCKED) checkpoint_job_unlock(j);
    }
    j->flushed = true;
    return status;
}

/* ---- structure and final name, by rank 0 ---- */

static int write_image(const checkpoint_job *j)
{
    const int code = checkpoint_image_write(&j->image, j->fd);
    if (code) return code;
    if (fsync(j->fd) != 0) return errno;
    return j->state.verify == CHECKPOINT_VERIFY_OFF ? 0 : checkpoint_image_compare(&j->image, j->fd);
}

static checkpoint_status close_file(checkpoint_job *j)
{
    const int code = j->fd >= 0 && close(j->fd) != 0 ? errno : 0;
    j->fd = -1;
    return code ? checkpoint_job_failed(j, "close", code) : CHECKPOINT_OK;
}

checkpoint_status checkpoint_job_structure(checkpoint_job *j)
{
    const int code = j->rank == 0 ? write_image(j) : 0;
    const checkpoint_status status =
        code ? checkpoint_job_failed(j, "write the structure of", code) : CHECKPOINT_OK;
    if (j->rank == 0 && fault_asked("checkpoint_structure") == 0) (void)checkpoint_pwrite(j->fd, "", 1, 8);
    return status == CHECKPOINT_OK ? close_file(j) : status;
}

static checkpoint_status look_at_structure(checkpoint_job *j)
{
    uint32_t crc = 0;
    int fd;
    const checkpoint_status status = checkpoint_job_open(j, O_RDONLY, &fd);
    if (status != CHECKPOINT_OK) return status;
    const int code = checkpoint_image_found_crc(&j->state, &j->layout, j->file_bytes, fd, &crc);
    close(fd);
    if (code) return checkpoint_job_failed(j, "read back the structure of", code);
    if (crc == j->image_crc) return CHECKPOINT_OK;
    return checkpoint_fail(
        CHECKPOINT_IO, &j->why,
        "cannot write %s: rank %d read back a structure that differs from what rank 0 wrote", j->names.path,
        j->rank);
}

checkpoint_status checkpoint_job_look(checkpoint_job *j)
{
    return writers_looks_at_structure(&j->plan) == j->rank ? look_at_structure(j) : CHECKPOINT_OK;
}

checkpoint_status checkpoint_job_publish(checkpoint_job *j)
{
    return j->rank == 0 ? checkpoint_publish(&j->names, &j->state, &j->why) : CHECKPOINT_OK;
}

checkpoint_status checkpoint_job_clean_up(checkpoint_job *j)
{
    if (j->fd >= 0) (void)close(j->fd);
    j->fd = -1;
    if (j->rank == 0) checkpoint_unlink_tmp(&j->names);
    return CHECKPOINT_OK;
}
