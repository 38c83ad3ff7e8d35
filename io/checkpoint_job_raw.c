/* Of a checkpoint's jobs (checkpoint_job.h): the raw file system, that is the same requests for as many bytes by nothing but pwrite
 * and fsync. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint_job.h"
#include "timer.h"

enum { REQUEST_BYTES = 1 << 20 }; /* as a writer's of collected rows */

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

/* Of a collected share no rank has all values: some bytes take their place. */
static int write_any(checkpoint_job *j, int i, uint64_t limit_bytes, uint64_t *done_bytes)
{
    const box cells = checkpoint_job_cells(j, i);
    const size_t cell_bytes = dtype_bytes(j->state.type);
    const int64_t bands = checkpoint_bands(cells, cell_bytes, REQUEST_BYTES);
    void *any = malloc(REQUEST_BYTES);
    int code = any ? 0 : ENOMEM;
    if (any) memset(any, 0x55, REQUEST_BYTES);
    for (int64_t b = 0; b < bands && !code && *done_bytes < limit_bytes; b++) {
        const box band = checkpoint_band(cells, cell_bytes, REQUEST_BYTES, b);
        code = checkpoint_job_pwrite(j, i, band, any);
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
    if (checkpoint_job_writes(j) && checkpoint_open_tmp(&j->names, j->rank, &j->fd, ignored, sizeof ignored) == CHECKPOINT_OK) {
        for (int i = 0; i < j->state.fields && !code; i++)
            code = j->writers > 0 ? write_any(j, i, limit_bytes, &j->raw_done_bytes)
                                  : checkpoint_job_write_own(j, i, true, limit_bytes, &j->raw_done_bytes);
        if (!code) code = checkpoint_job_fsync(j);
        if (close(j->fd) != 0 || code) j->raw_done_bytes = 0;
        j->fd = -1;
    }
    checkpoint_job_finish(j, CHECKPOINT_OK, begin_s);
}

