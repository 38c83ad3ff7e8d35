/* Of a checkpoint's jobs (checkpoint_job.h): the raw file system, that is the same requests for as many bytes, into blocks taken
 * before and on their way to the disk as early, and fsync. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint_job.h"
#include "timer.h"

/* This rank's part of raw_bytes, as large a part of what it writes as others'. */
static uint64_t raw_share(const checkpoint_job *j)
{
    uint64_t all = 0, mine = 0;
    for (int i = 0; i < j->state.fields; i++) {
        all += checkpoint_field_bytes(&j->state, i);
        mine += (uint64_t)box_cells(checkpoint_job_cells(j, i)) * dtype_bytes(j->state.type);
    }
    return all > j->raw_bytes ? (uint64_t)((double)mine * (double)j->raw_bytes / (double)all) : mine;
}

/* The requests for field i that writing it makes. Of a collected share no rank has all values: what is at `any` takes their
 * place. */
static int write_rows(checkpoint_job *j, int i, const char *any, uint64_t limit_bytes)
{
    const bool collected = j->writers > 0;
    const size_t request_bytes = collected ? CHECKPOINT_JOB_COLLECTED_BYTES : CHECKPOINT_JOB_OWN_BYTES;
    const size_t cell_bytes = dtype_bytes(j->state.type);
    const box cells = checkpoint_job_cells(j, i);
    const int64_t bands = checkpoint_bands(cells, cell_bytes, request_bytes);
    const char *at = collected ? any : j->state.field[i].data;
    int code = 0;
    for (int64_t b = 0; b < bands && !code && j->raw_done_bytes < limit_bytes && !atomic_load(&j->hurry); b++) {
        const box band = checkpoint_band(cells, cell_bytes, request_bytes, b);
        const size_t bytes = (size_t)box_cells(band) * cell_bytes;
        code = checkpoint_job_pwrite(j, i, band, at);
        checkpoint_job_start_writeback(j, i, band);
        if (!collected) at += bytes;
        j->raw_done_bytes += bytes;
    }
    return code;
}

static int write_all(checkpoint_job *j)
{
    char ignored[CHECKPOINT_SENTENCE_BYTES];
    const uint64_t limit_bytes = raw_share(j);
    if (j->rank == 0 && j->file_bytes <= j->raw_bytes) /* else blocks for more than is written */
        (void)checkpoint_reserve(&j->names, j->fd, j->file_bytes, ignored, sizeof ignored);
    char *any = malloc(CHECKPOINT_JOB_COLLECTED_BYTES);
    int code = any ? 0 : ENOMEM;
    if (any) memset(any, 0x55, CHECKPOINT_JOB_COLLECTED_BYTES);
    for (int i = 0; i < j->state.fields && !code; i++) code = write_rows(j, i, any, limit_bytes);
    if (!code && !atomic_load(&j->hurry)) code = checkpoint_job_fsync(j);
    free(any);
    return code;
}

/* Its failures are no failures of the checkpoint: then raw_done_bytes is 0. */
void checkpoint_job_raw(void *job)
{
    checkpoint_job *j = job;
    char ignored[CHECKPOINT_SENTENCE_BYTES];
    const double begin_s = timer_now_s();
    j->raw_done_bytes = 0;
    if (checkpoint_job_writes(j) && checkpoint_open_tmp(&j->names, j->rank, &j->fd, ignored, sizeof ignored) == CHECKPOINT_OK) {
        const int code = write_all(j);
        if (close(j->fd) != 0 || code) j->raw_done_bytes = 0;
        j->fd = -1;
    }
    checkpoint_job_finish(j, CHECKPOINT_OK, begin_s);
}
