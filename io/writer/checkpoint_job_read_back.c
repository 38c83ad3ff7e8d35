/* Of a checkpoint's jobs (checkpoint_job.h): what is in the file against what was to be written, before it
 * gets its name. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/cell.h"
#include "state/checkpoint_rows.h"
#include "writer/checkpoint_job.h"

enum { READ_BYTES = 1 << 20, /* memory that it takes */ SAMPLED_OF = 16 };

/* A sixteenth of the blocks, others each time. The last block, where a file cut short ends, is always one. */
static bool is_sampled(const checkpoint_state *s, int64_t blocks, int64_t block)
{
    const int64_t first = (int64_t)(cell_random(SAMPLED_OF, (uint64_t)s->step) * SAMPLED_OF);
    return block % SAMPLED_OF == first || block == blocks - 1;
}

/* Adds the cells `part` of field i, as the file has them, to sums and *fingerprint. */
static int scan(const checkpoint_job *j, int i, int fd, box part, void *buffer, checkpoint_sums *sums,
                uint64_t *fingerprint)
{
    const checkpoint_field *f = &j->state.field[i];
    const size_t cell_bytes = dtype_bytes(j->state.type);
    const int64_t bands = checkpoint_bands(part, cell_bytes, READ_BYTES);
    int code = 0;
    for (int64_t b = 0; b < bands && !code; b++) {
        const box band = checkpoint_band(part, cell_bytes, READ_BYTES, b);
        code = checkpoint_rows_read(fd, j->layout.field_at_bytes[i], f, j->state.type, band, buffer);
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
    return checkpoint_fail(
        CHECKPOINT_DAMAGED, &j->why,
        "cannot write %s: rank %d read back values of /fields/%s that differ from those it %s, in %s",
        j->names.path, j->rank, j->state.field[i].name, j->plan.count > 0 ? "was given" : "wrote", where);
}

/* On one host a share is one part: whole blocks, or the own cells. */
static box cells_of(const checkpoint_job *j, int i)
{
    box part[WRITERS_PARTS];
    return checkpoint_job_parts(j, i, part) > 0 ? part[0] : box_make(0, 0, 0, 0);
}

static checkpoint_status compare_field(checkpoint_job *j, int i, int fd, void *buffer, checkpoint_sums *found)
{
    const checkpoint_field *f = &j->state.field[i];
    const checkpoint_sums *wanted = j->joined ? &j->joined[i] : &j->share[i];
    const bool full = j->state.verify == CHECKPOINT_VERIFY_FULL;
    const box cells = cells_of(j, i);
    uint64_t fingerprint = 0;
    int code = full ? scan(j, i, fd, cells, buffer, found, &fingerprint) : 0;
    for (int64_t b = 0; b < wanted->blocks && !full && !code; b++)
        if (is_sampled(&j->state, wanted->blocks, b))
            code = scan(j, i, fd, box_intersect(checkpoint_block(f, wanted->lines, b), cells), buffer, found,
                        &fingerprint);
    if (code) return checkpoint_job_failed(j, "read back", code);
    for (int64_t b = 0; b < wanted->blocks; b++) {
        const bool read = full || is_sampled(&j->state, wanted->blocks, b);
        if (read && !box_empty(box_intersect(checkpoint_block(f, wanted->lines, b), cells)) &&
            found->crc[b] != wanted->crc[b])
            return differs(j, i, b);
    }
    return full && !j->joined && fingerprint != f->fingerprint
               ? checkpoint_job_other_fingerprint(j, i, "the file")
               : CHECKPOINT_OK;
}

typedef checkpoint_status (*compare_one)(checkpoint_job *j, int i, int fd, void *buffer,
                                         checkpoint_sums *found);

static checkpoint_status compare_fields(checkpoint_job *j, int fd, compare_one compare)
{
    checkpoint_status status = CHECKPOINT_OK;
    void *buffer = malloc(READ_BYTES);
    /* Advice: what is read then comes from where it was written to, and the cache is left to those who need
     * it. */
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    for (int i = 0; i < j->state.fields && status == CHECKPOINT_OK; i++) {
        checkpoint_sums found;
        if (!buffer || !checkpoint_sums_make(&found, &j->state.field[i], j->share[i].lines)) {
            status = checkpoint_job_failed(j, "read back", ENOMEM);
        } else {
            status = compare(j, i, fd, buffer, &found);
            checkpoint_sums_free(&found);
        }
    }
    free(buffer);
    return status;
}

/* ---- several hosts: what another one wrote ---- */

static bool is_mine(const checkpoint_job *j, int i, int64_t blocks, int64_t block)
{
    bool border;
    if (!writers_read_back(&j->plan, &j->state, &j->layout, i, block, j->rank, &border)) return false;
    return border || j->state.verify == CHECKPOINT_VERIFY_FULL
           || (j->state.verify == CHECKPOINT_VERIFY_SAMPLE && is_sampled(&j->state, blocks, block));
}

static checkpoint_status look_at_field(checkpoint_job *j, int i, int fd, void *buffer, checkpoint_sums *found)
{
    const checkpoint_field *f = &j->state.field[i];
    const checkpoint_sums *wanted = &j->joined[i];
    uint64_t unused = 0;
    for (int64_t b = 0; b < wanted->blocks; b++) {
        if (!is_mine(j, i, wanted->blocks, b)) continue;
        const int code = scan(j, i, fd, checkpoint_block(f, wanted->lines, b), buffer, found, &unused);
        if (code) return checkpoint_job_failed(j, "read back", code);
        if (found->crc[b] != wanted->crc[b]) return differs(j, i, b);
    }
    return CHECKPOINT_OK;
}

/* Opened anew after all ranks' fsync: then a network file system asks whether what it has cached is still
 * true. */
static checkpoint_status look(checkpoint_job *j)
{
    int fd;
    checkpoint_status status = checkpoint_job_open(j, O_RDONLY, &fd);
    if (status != CHECKPOINT_OK) return status;
    status = compare_fields(j, fd, look_at_field);
    close(fd);
    return status;
}

checkpoint_status checkpoint_job_read_back(checkpoint_job *j)
{
    if (j->plan.hosts && j->plan.hosts->count > 1) return look(j);
    if (!checkpoint_job_writes(j) || j->state.verify == CHECKPOINT_VERIFY_OFF) return CHECKPOINT_OK;
    const checkpoint_status status = compare_fields(j, j->fd, compare_field);
    if (status != CHECKPOINT_DAMAGED || j->joined) return status;
    const checkpoint_status again = checkpoint_job_write_all(j, true);
    return again == CHECKPOINT_OK ? compare_fields(j, j->fd, compare_field) : again;
}

