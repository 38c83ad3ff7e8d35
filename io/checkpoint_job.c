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

static void finish(checkpoint_job *j, checkpoint_status status, double begin_s)
{
    j->status = status;
    j->seconds = timer_now_s() - begin_s;
}

static checkpoint_status failed(checkpoint_job *j, const char *what, int code)
{
    return checkpoint_file_failed(what, j->names.tmp, code, j->why, sizeof j->why);
}

/* ---- debug builds: WEFT_FAULT=NAME:NUMBER ---- */

/* The number, -1 without that fault. checkpoint_write:RANK fails there, checkpoint_flip:RANK has written another byte in its
 * last cell, checkpoint_flip_always:RANK again when it writes once more, checkpoint_slow:MS takes so long for every rank's write. */
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
    const checkpoint_field *f = &j->state.field[0];
    const uint64_t last = (uint64_t)((f->own.y1 - 1) * f->nx + f->own.x1 - 1) * dtype_bytes(j->state.type);
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

void checkpoint_job_write(void *job)
{
    checkpoint_job *j = job;
    const double begin_s = timer_now_s();
    checkpoint_status status = checkpoint_open_tmp(&j->names, j->rank, &j->fd, j->why, sizeof j->why);
    if (status == CHECKPOINT_OK && j->rank == 0)
        status = checkpoint_reserve(&j->names, j->fd, j->file_bytes, j->why, sizeof j->why);
    if (status == CHECKPOINT_OK) status = write_fields(j, false);
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
                           "cannot write %s: rank %d reads back other values of /fields/%s than it wrote in %s", j->names.path,
                           j->rank, j->state.field[i].name, where);
}

static checkpoint_status compare_field(checkpoint_job *j, int i, void *buffer, checkpoint_sums *found)
{
    const checkpoint_field *f = &j->state.field[i];
    const checkpoint_sums *written = &j->share[i];
    const bool full = j->state.verify == CHECKPOINT_VERIFY_FULL;
    uint64_t fingerprint = 0;
    int code = full ? scan(j, i, f->own, buffer, found, &fingerprint) : 0;
    for (int64_t b = 0; b < written->blocks && !full && !code; b++)
        if (checkpoint_sampled(&j->state, written->blocks, b))
            code = scan(j, i, box_intersect(checkpoint_block(f, written->lines, b), f->own), buffer, found, &fingerprint);
    if (code) return failed(j, "read back", code);
    for (int64_t b = 0; b < written->blocks; b++)
        if ((full || checkpoint_sampled(&j->state, written->blocks, b)) && found->crc[b] != written->crc[b])
            return differs(j, i, b);
    if (full && fingerprint != f->fingerprint)
        return checkpoint_fail(CHECKPOINT_DAMAGED, j->why, sizeof j->why,
                               "cannot write %s: rank %d has other values of /fields/%s in the file than its device had",
                               j->names.path, j->rank, f->name);
    return CHECKPOINT_OK;
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
    if (j->state.verify != CHECKPOINT_VERIFY_OFF) {
        status = compare(j);
        if (status == CHECKPOINT_DAMAGED) {
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
    if (close(j->fd) != 0 && status == CHECKPOINT_OK) status = failed(j, "close", errno);
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

/* Its failures are no failures of the checkpoint: then raw_done_bytes is 0. */
void checkpoint_job_raw(void *job)
{
    checkpoint_job *j = job;
    char ignored[CHECKPOINT_SENTENCE_BYTES];
    const double begin_s = timer_now_s();
    int code = 0;
    j->raw_done_bytes = 0;
    if (checkpoint_open_tmp(&j->names, j->rank, &j->fd, ignored, sizeof ignored) == CHECKPOINT_OK) {
        for (int i = 0; i < j->state.fields && !code; i++) code = write_field(j, i, NULL, j->raw_bytes, &j->raw_done_bytes);
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
