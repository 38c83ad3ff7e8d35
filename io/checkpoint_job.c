#include "checkpoint_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "timer.h"

enum {
    WRITE_BYTES = 256 << 10, /* checksummed and at once written, while it is in a core's own cache */
    COLLECTED_BYTES = 1 << 20, /* of a window, put together and written */
    READ_BYTES = 1 << 20,    /* memory that reading back takes */
};

checkpoint_status checkpoint_job_begin(checkpoint_job *j, int rank, const checkpoint_state *s, const char *path)
{
    *j = (checkpoint_job){ .rank = rank, .state = *s, .fd = -1 };
    checkpoint_status status = checkpoint_names_make(&j->names, path, j->why, sizeof j->why);
    for (int i = 0; i < s->fields && status == CHECKPOINT_OK; i++)
        if (!checkpoint_sums_make(&j->share[i], &s->field[i], checkpoint_block_lines(&s->field[i], s->type)))
            status = checkpoint_fail(CHECKPOINT_IO, j->why, sizeof j->why, "no memory for the checksums of a checkpoint");
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
    j->flushed = false;
    j->window = NULL;
}

static void finish(checkpoint_job *j, checkpoint_status status, double begin_s)
{
    j->status = status;
    j->seconds += timer_now_s() - begin_s;
}

static checkpoint_status failed(checkpoint_job *j, const char *what, int code)
{
    return checkpoint_file_failed(what, j->names.tmp, code, j->why, sizeof j->why);
}

/* Of field i, what this rank writes and reads back. */
static box written_cells(const checkpoint_job *j, int i)
{
    if (j->writers == 0) return j->state.field[i].own;
    if (j->number < 0) return box_make(0, 0, 0, 0);
    return aggregate_share(&j->state.field[i], j->state.type, j->writers, j->number);
}

static bool writes(const checkpoint_job *j) { return j->writers == 0 || j->number >= 0; }

/* ---- debug builds: WEFT_FAULT=NAME:NUMBER ---- */

/* The number, -1 without that fault. checkpoint_write:RANK fails there, checkpoint_flip:RANK has written another byte in its
 * last cell, checkpoint_flip_always:RANK again when it writes once more, checkpoint_slow:MS takes so long for every rank's
 * write. */
static int fault(const char *name)
{
#ifdef WEFT_DEBUG
    const char *asked = getenv("WEFT_FAULT");
    const size_t length = strlen(name);
    if (asked && strncmp(asked, name, length) == 0 && asked[length] == ':') return atoi(asked + length + 1);
#else
    (void)name;
#endif
    return -1;
}

static int act_faulty(const checkpoint_job *j, bool again)
{
    char byte = 0x55;
    const box cells = written_cells(j, 0);
    const uint64_t last = (uint64_t)((cells.y1 - 1) * j->state.field[0].nx + cells.x1 - 1) * dtype_bytes(j->state.type);
    const int wait_ms = fault("checkpoint_slow");
    if (wait_ms > 0) nanosleep(&(struct timespec){ wait_ms / 1000, wait_ms % 1000 * 1000000L }, NULL);
    if ((fault("checkpoint_flip") == j->rank && !again) || fault("checkpoint_flip_always") == j->rank)
        return checkpoint_pwrite(j->fd, &byte, 1, j->layout.field_at_bytes[0] + last);
    return fault("checkpoint_write") == j->rank ? EIO : 0;
}

/* ---- room ---- */

void checkpoint_job_room(void *job)
{
    checkpoint_job *j = job;
    const double begin_s = timer_now_s();
    checkpoint_status status =
        checkpoint_look_for_room(&j->names, checkpoint_needed_bytes(&j->state), j->why, sizeof j->why);
    if (status == CHECKPOINT_OK && j->rank == 0) status = checkpoint_create_empty(&j->names, j->why, sizeof j->why);
    finish(j, status, begin_s);
}

/* ---- data ---- */

/* Own cells of field i, band by band. sums: gets their share; NULL: nothing but the writing. Ends behind limit_bytes. */
static int write_field(const checkpoint_job *j, int i, checkpoint_sums *sums, uint64_t limit_bytes, uint64_t *done_bytes)
{
    const checkpoint_field *f = &j->state.field[i];
    const size_t cell_bytes = dtype_bytes(j->state.type);
    const int64_t bands = checkpoint_bands(f->own, cell_bytes, WRITE_BYTES);
    const char *at = f->data;
    int code = 0;
    for (int64_t b = 0; b < bands && !code && *done_bytes < limit_bytes; b++) {
        const box band = checkpoint_band(f->own, cell_bytes, WRITE_BYTES, b);
        if (sums) checkpoint_sums_add(sums, j->state.type, at, band, f);
        code = checkpoint_rows_write(j->fd, j->layout.field_at_bytes[i], f, j->state.type, band, at);
        at += (size_t)box_cells(band) * cell_bytes;
        *done_bytes += (uint64_t)box_cells(band) * cell_bytes;
    }
    return code;
}

static checkpoint_status write_fields(checkpoint_job *j, bool again)
{
    uint64_t done_bytes = 0;
    int code = 0;
    for (int i = 0; i < j->state.fields && !code; i++)
        code = write_field(j, i, again ? NULL : &j->share[i], UINT64_MAX, &done_bytes);
    if (!code) code = act_faulty(j, again);
    if (code) return failed(j, "write", code);
    return fsync(j->fd) != 0 ? failed(j, "fsync", errno) : CHECKPOINT_OK;
}

/* By ranks that write: NAME.tmp, and by rank 0 its blocks. */
static checkpoint_status open_file(checkpoint_job *j)
{
    if (!writes(j) || j->fd >= 0) return CHECKPOINT_OK;
    const checkpoint_status status = checkpoint_open_tmp(&j->names, j->rank, &j->fd, j->why, sizeof j->why);
    if (status != CHECKPOINT_OK || j->rank != 0) return status;
    return checkpoint_reserve(&j->names, j->fd, j->file_bytes, j->why, sizeof j->why);
}

void checkpoint_job_write(void *job)
{
    checkpoint_job *j = job;
    const double begin_s = timer_now_s();
    checkpoint_status status = open_file(j);
    if (status == CHECKPOINT_OK) status = write_fields(j, false);
    finish(j, status, begin_s);
}

/* ---- data that some collect and write ---- */

static checkpoint_status other_fingerprint(checkpoint_job *j, int i, const char *where)
{
    return checkpoint_fail(CHECKPOINT_DAMAGED, j->why, sizeof j->why,
                           "cannot write %s: rank %d has other values of /fields/%s in %s than its device had", j->names.path,
                           j->rank, j->state.field[i].name, where);
}

static checkpoint_status look_at_source(checkpoint_job *j, int i)
{
    const checkpoint_field *f = &j->state.field[i];
    checkpoint_sums_add(&j->share[i], j->state.type, f->data, f->own, f);
    if (j->state.verify != CHECKPOINT_VERIFY_FULL
        || checkpoint_fingerprint_share(j->state.type, f->data, f->own, f->nx) == f->fingerprint)
        return CHECKPOINT_OK;
    return other_fingerprint(j, i, "its memory");
}

void checkpoint_job_source(void *job)
{
    checkpoint_job *j = job;
    const double begin_s = timer_now_s();
    checkpoint_status status = open_file(j);
    for (int i = 0; i < j->state.fields && !j->again && status == CHECKPOINT_OK; i++) status = look_at_source(j, i);
    finish(j, status, begin_s);
}

static int write_window(const checkpoint_job *j)
{
    const aggregate_window *w = j->window;
    const checkpoint_field *f = &j->state.field[w->field];
    const size_t cell_bytes = dtype_bytes(j->state.type);
    const int64_t bands = checkpoint_bands(w->cells, cell_bytes, COLLECTED_BYTES);
    void *room = malloc(COLLECTED_BYTES);
    int code = room ? 0 : ENOMEM;
    for (int64_t b = 0; b < bands && !code; b++) {
        const box band = checkpoint_band(w->cells, cell_bytes, COLLECTED_BYTES, b);
        const void *rows = aggregate_rows(w, band, cell_bytes, room);
        code = checkpoint_rows_write(j->fd, j->layout.field_at_bytes[w->field], f, j->state.type, band, rows);
    }
    free(room);
    return code;
}

void checkpoint_job_window(void *job)
{
    checkpoint_job *j = job;
    const double begin_s = timer_now_s();
    const int code = j->status == CHECKPOINT_OK ? write_window(j) : 0;
    finish(j, code ? failed(j, "write", code) : j->status, begin_s);
}

void checkpoint_job_flush(void *job)
{
    checkpoint_job *j = job;
    const double begin_s = timer_now_s();
    checkpoint_status status = j->status;
    if (writes(j) && status == CHECKPOINT_OK) {
        const int code = act_faulty(j, j->again);
        if (code) status = failed(j, "write", code);
        else if (fsync(j->fd) != 0) status = failed(j, "fsync", errno);
    }
    j->flushed = true;
    finish(j, status, begin_s);
}

/* ---- read back ---- */

/* Adds the cells `part` of field i, as the file has them, to sums and *fingerprint. */
static int scan(const checkpoint_job *j, int i, box part, void *buffer, checkpoint_sums *sums, uint64_t *fingerprint)
{
    const checkpoint_field *f = &j->state.field[i];
    const size_t cell_bytes = dtype_bytes(j->state.type);
    const int64_t bands = checkpoint_bands(part, cell_bytes, READ_BYTES);
    int code = 0;
    for (int64_t b = 0; b < bands && !code; b++) {
        const box band = checkpoint_band(part, cell_bytes, READ_BYTES, b);
        code = checkpoint_rows_read(j->fd, j->layout.field_at_bytes[i], f, j->state.type, band, buffer);
        if (code) break;
        checkpoint_sums_add(sums, j->state.type, buffer, band, f);
        *fingerprint += checkpoint_fingerprint_share(j->state.type, buffer, band, f->nx);
    }
    return code;
}

static checkpoint_status differs(checkpoint_job *j, int i, int64_t block)
{
    char where[CHECKPOINT_WHERE_BYTES];
    checkpoint_say_block(where, &j->state.field[i], j->share[i].lines, block);
    return checkpoint_fail(CHECKPOINT_DAMAGED, j->why, sizeof j->why,
                           "cannot write %s: rank %d reads back other values of /fields/%s than it %s in %s", j->names.path,
                           j->rank, j->state.field[i].name, j->writers > 0 ? "was given" : "wrote", where);
}

static checkpoint_status compare_field(checkpoint_job *j, int i, void *buffer, checkpoint_sums *found)
{
    const checkpoint_field *f = &j->state.field[i];
    const checkpoint_sums *wanted = j->joined ? &j->joined[i] : &j->share[i];
    const bool full = j->state.verify == CHECKPOINT_VERIFY_FULL;
    const box cells = written_cells(j, i);
    uint64_t fingerprint = 0;
    int code = full ? scan(j, i, cells, buffer, found, &fingerprint) : 0;
    for (int64_t b = 0; b < wanted->blocks && !full && !code; b++)
        if (checkpoint_sampled(&j->state, wanted->blocks, b))
            code = scan(j, i, box_intersect(checkpoint_block(f, wanted->lines, b), cells), buffer, found, &fingerprint);
    if (code) return failed(j, "read back", code);
    for (int64_t b = 0; b < wanted->blocks; b++) {
        const bool read = full || checkpoint_sampled(&j->state, wanted->blocks, b);
        if (read && !box_empty(box_intersect(checkpoint_block(f, wanted->lines, b), cells)) && found->crc[b] != wanted->crc[b])
            return differs(j, i, b);
    }
    return full && !j->joined && fingerprint != f->fingerprint ? other_fingerprint(j, i, "the file") : CHECKPOINT_OK;
}

static checkpoint_status compare(checkpoint_job *j)
{
    checkpoint_status status = CHECKPOINT_OK;
    void *buffer = malloc(READ_BYTES);
    /* Advice: what is read then comes from where it was written to, and the cache is left to those who need it. */
    (void)posix_fadvise(j->fd, 0, 0, POSIX_FADV_DONTNEED);
    for (int i = 0; i < j->state.fields && status == CHECKPOINT_OK; i++) {
        checkpoint_sums found;
        if (!buffer || !checkpoint_sums_make(&found, &j->state.field[i], j->share[i].lines)) {
            status = failed(j, "read back", ENOMEM);
        } else {
            status = compare_field(j, i, buffer, &found);
            checkpoint_sums_free(&found);
        }
    }
    free(buffer);
    return status;
}

void checkpoint_job_read_back(void *job)
{
    checkpoint_job *j = job;
    const double begin_s = timer_now_s();
    checkpoint_status status = CHECKPOINT_OK;
    if (writes(j) && j->state.verify != CHECKPOINT_VERIFY_OFF) {
        status = compare(j);
        if (status == CHECKPOINT_DAMAGED && !j->joined) {
            status = write_fields(j, true);
            if (status == CHECKPOINT_OK) status = compare(j);
        }
    }
    finish(j, status, begin_s);
}

/* ---- structure and final name, by rank 0 ---- */

static int compare_gap(int fd, const char *wanted, uint64_t at_bytes, size_t bytes)
{
    char *found = malloc(bytes ? bytes : 1);
    int code = found ? checkpoint_pread(fd, found, bytes, at_bytes) : ENOMEM;
    if (!code && memcmp(found, wanted, bytes) != 0) code = EIO;
    free(found);
    return code;
}

/* All gaps of the image written, or compared with what the file has. */
static int each_gap(const checkpoint_job *j, bool compares)
{
    const checkpoint_image *image = &j->image;
    const char *memory = image->bytes;
    int code = 0;
    for (int i = 0; i <= j->state.fields && !code; i++) {
        const size_t bytes = image->gap[i].bytes;
        code = compares ? compare_gap(j->fd, memory, image->gap[i].at_bytes, bytes)
                        : checkpoint_pwrite(j->fd, memory, bytes, image->gap[i].at_bytes);
        memory += bytes;
    }
    return code;
}

static int write_image(const checkpoint_job *j)
{
    if (ftruncate(j->fd, (off_t)j->image.file_bytes) != 0) return errno;
    const int code = each_gap(j, false);
    if (code) return code;
    if (fsync(j->fd) != 0) return errno;
    return j->state.verify == CHECKPOINT_VERIFY_OFF ? 0 : each_gap(j, true);
}

void checkpoint_job_publish(void *job)
{
    checkpoint_job *j = job;
    const double begin_s = timer_now_s();
    checkpoint_status status = CHECKPOINT_OK;
    int code = 0;
    if (j->rank == 0) {
        code = write_image(j);
        if (code) status = failed(j, "write the structure of", code);
    }
    if (j->fd >= 0 && close(j->fd) != 0 && status == CHECKPOINT_OK) status = failed(j, "close", errno);
    j->fd = -1;
    if (j->rank == 0 && status == CHECKPOINT_OK) status = checkpoint_publish(&j->names, &j->state, j->why, sizeof j->why);
    finish(j, status, begin_s); /* the file is there; what follows is no part of writing it */
    if (j->rank == 0 && status == CHECKPOINT_OK) {
        retain_apply(j->dir, j->rule, j->state.step, j->verified);
        /* Without room for a checkpoint there is no raw file, no rate of it, and no harm. */
        char ignored[CHECKPOINT_SENTENCE_BYTES];
        if (j->raw_bytes > 0
            && checkpoint_look_for_room(&j->names, checkpoint_needed_bytes(&j->state), ignored, sizeof ignored) == CHECKPOINT_OK)
            (void)checkpoint_create_empty(&j->names, ignored, sizeof ignored);
    }
}

/* ---- the raw file system ---- */

/* This rank's part of raw_bytes, as large a part of what it writes as others'. */
static uint64_t raw_share(const checkpoint_job *j)
{
    uint64_t all = 0, mine = 0;
    for (int i = 0; i < j->state.fields; i++) {
        all += checkpoint_field_bytes(&j->state, i);
        mine += (uint64_t)box_cells(written_cells(j, i)) * dtype_bytes(j->state.type);
    }
    return all > j->raw_bytes ? (uint64_t)((double)mine * (double)j->raw_bytes / (double)all) : mine;
}

/* Of a collected share no rank has all values: some bytes take their place. */
static int write_any(const checkpoint_job *j, int i, uint64_t limit_bytes, uint64_t *done_bytes)
{
    const box cells = written_cells(j, i);
    const size_t cell_bytes = dtype_bytes(j->state.type);
    const int64_t bands = checkpoint_bands(cells, cell_bytes, COLLECTED_BYTES);
    void *any = malloc(COLLECTED_BYTES);
    int code = any ? 0 : ENOMEM;
    if (any) memset(any, 0x55, COLLECTED_BYTES);
    for (int64_t b = 0; b < bands && !code && *done_bytes < limit_bytes; b++) {
        const box band = checkpoint_band(cells, cell_bytes, COLLECTED_BYTES, b);
        code = checkpoint_rows_write(j->fd, j->layout.field_at_bytes[i], &j->state.field[i], j->state.type, band, any);
        *done_bytes += (uint64_t)box_cells(band) * cell_bytes;
    }
    free(any);
    return code;
}

/* Its failures are no failures of the checkpoint: then raw_done_bytes is 0. */
void checkpoint_job_raw(void *job)
{
    checkpoint_job *j = job;
    char ignored[CHECKPOINT_SENTENCE_BYTES];
    const double begin_s = timer_now_s();
    const uint64_t limit_bytes = raw_share(j);
    int code = 0;
    j->raw_done_bytes = 0;
    if (writes(j) && checkpoint_open_tmp(&j->names, j->rank, &j->fd, ignored, sizeof ignored) == CHECKPOINT_OK) {
        for (int i = 0; i < j->state.fields && !code; i++)
            code = j->writers > 0 ? write_any(j, i, limit_bytes, &j->raw_done_bytes)
                                  : write_field(j, i, NULL, limit_bytes, &j->raw_done_bytes);
        if (!code && fsync(j->fd) != 0) code = errno;
        if (close(j->fd) != 0 || code) j->raw_done_bytes = 0;
        j->fd = -1;
    }
    finish(j, CHECKPOINT_OK, begin_s);
}

void checkpoint_job_clean_up(void *job)
{
    checkpoint_job *j = job;
    const double begin_s = timer_now_s();
    if (j->fd >= 0) (void)close(j->fd);
    j->fd = -1;
    if (j->rank == 0) checkpoint_unlink_tmp(&j->names);
    finish(j, CHECKPOINT_OK, begin_s);
}
