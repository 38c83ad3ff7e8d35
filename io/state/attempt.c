/* A part is made by HDF5 with its datasets allocated, and closed; then its cells are written where they
 * belong, with pwrite, and the index comes last. What a rank does here is its own: it costs a pass over its
 * cells for their checksums and one to read them back. */
#include "state/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/crc32c.h"
#include "files/replace.h"
#include "ranks/timer.h"

enum { WRITERS_MAX = 256, WRITER_BYTES = 64 << 20 };

/* ---- how many, how large ---- */

int state_writers(uint64_t bytes, int ranks, int asked, uint64_t one_file_bytes)
{
    if (asked > 0) return asked < ranks ? asked : ranks;
    if (bytes <= one_file_bytes) return 1;
    const uint64_t wanted = (bytes + WRITER_BYTES - 1) / WRITER_BYTES;
    const int most = ranks < WRITERS_MAX ? ranks : WRITERS_MAX;
    return wanted < (uint64_t)most ? (int)wanted : most;
}

/* Names a new attempt to write the level, and cuts it into parts. None is empty: fewer rows than writers are
 * a part each. */
static void plan(attempt *a, const state_level *l)
{
    state_info *s = &a->s;
    *s = state_of_level(l);
    a->bytes = 0;
    for (int i = 0; i < s->fields; i++)
        a->bytes += (uint64_t)s->field[i].nx * (uint64_t)s->field[i].ny * dtype_bytes(s->type);
    s->parts = state_writers(a->bytes, a->ranks, a->o.writers, a->o.one_file_bytes);
    for (int i = 0; i < s->fields; i++) {
        const int64_t rows = s->field[i].ny > 1 ? s->field[i].ny : s->field[i].nx;
        if (rows < s->parts) s->parts = (int)rows;
    }
    a->number = collect_cut(s, l, a->ranks, a->rank);
    if (a->o.file) snprintf(a->path, sizeof a->path, "%s", a->o.file);
    else state_path(a->path, sizeof a->path, a->o.folder, l->step);
    snprintf(s->folder, sizeof s->folder, "%.*s.%08" PRIx32, state_stem_bytes(a->path), basename(a->path),
             a->token++);
    snprintf(a->folder, sizeof a->folder, "%.4000s/%s", a->dir, s->folder);
    snprintf(a->index, sizeof a->index, "%.4380s/" STATE_INDEX, a->folder);
    snprintf(s->path, sizeof s->path, "%s", s->parts == 1 ? a->index : a->path);
    if (s->parts == 1) s->folder[0] = '\0';
}

static state_status failed(attempt *a, int code)
{
    return state_file_failed("write", a->path, code, &a->why);
}

/* Notes a part's length and structure for the index; one file has them in its trailer. 0 or errno. */
static int describe_part(attempt *a)
{
    state_part *p = &a->s.part[a->number];
    struct stat info;
    uint32_t crc;
    if (!a->s.folder[0]) return 0;
    if (fstat(a->fd, &info) != 0) return errno;
    const int code = state_structure_crc(&a->s, a->number, a->fd, info.st_size, &crc);
    p->bytes = info.st_size;
    p->structure_crc = crc;
    return code;
}

static state_status read_back(attempt *a)
{
    state_report r = { .damaged = 0 };
    sentence why;
    const double begin_s = timer_now_s();
    const state_status status = state_look_at(&a->s, a->number, a->sum[1], &r, &why);
    a->verify_s = timer_now_s() - begin_s;
    if (status == STATE_OK) return STATE_OK;
    return sentence_fail(status, &a->why,
                         "cannot write %s: rank %d read back other values than were written: %.600s", a->path,
                         a->rank, r.damaged ? r.first.text : why.text);
}

/* ---- begin, write, verify, publish ---- */

/* The first writer makes the folder. Each puts the mark there: so no host looks for a name that it may have
 * known as missing. */
state_status attempt_begin(attempt *a, const state_level *l)
{
    char part[STATE_PATH_BYTES];
    state_status status = STATE_OK;
    plan(a, l);
    a->fd = -1;
    a->verify_s = 0;
    memset(a->sum, 0, sizeof a->sum);
    if (a->rank == 0 && a->o.folder) status = state_set_aside(a->path, &a->s, &a->aside, &a->why);
    if (status != STATE_OK || a->number < 0) return status;
    const int code = mkdir(a->folder, 0777) != 0 && errno != EEXIST ? errno : state_put_mark(a->folder);
    if (code) return state_file_failed("make the folder", a->folder, code, &a->why);
    status = state_part_create(&a->s, a->number, &a->why);
    if (status != STATE_OK) return status;
    state_part_path(&a->s, a->number, part);
    a->fd = open(part, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    return a->fd < 0 ? failed(a, errno) : STATE_OK;
}

state_status attempt_write(attempt *a, const collect_window *v)
{
    const size_t word = dtype_bytes(a->s.type);
    const state_part *p = &a->s.part[a->number];
    const char *data = v->data;
    uint64_t at = (uint64_t)p->of[v->field].at_bytes +
                  (uint64_t)box_at(p->of[v->field].cells, v->cells.x0, v->cells.y0) * word;
    /* The mark is on disk before any cell: the next run finds what a power cut leaves, too. */
    int code = v->block == 0 ? replace_sync_folder(a->folder) : 0;
    for (int64_t n = 0; n < state_blocks(v->cells, a->s.type) && !code; n++) {
        const size_t bytes = (size_t)box_cells(state_piece(v->cells, a->s.type, 1, n)) * word;
        a->s.crc[p->block[v->field] + v->block + n] = crc32c(0, data, bytes);
        code = replace_pwrite(a->fd, data, bytes, at);
        /* the disk begins while the rest is still copied, so that fsync finds less to do */
        (void)sync_file_range(a->fd, (off_t)at, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
        data += bytes;
        at += bytes;
    }
    return code ? failed(a, code) : STATE_OK;
}

state_status attempt_verify(attempt *a)
{
    if (a->number < 0) return STATE_OK;
    int code = fsync(a->fd) != 0 ? errno : describe_part(a);
    if (close(a->fd) != 0 && !code) code = errno;
    a->fd = -1;
    if (code) return failed(a, code);
    return a->o.verify == STATE_VERIFY_FULL ? read_back(a) : STATE_OK;
}

state_status attempt_publish(attempt *a)
{
    if (a->rank != 0) return STATE_OK;
    int code = state_index_end(a->index, &a->s);
    if (!code) code = replace_sync_folder(a->folder);
    if (!code) code = replace_sync_folder(a->dir);
    if (!code && !lock_is_held(a->lock))
        return sentence_fail(STATE_IO, &a->why, "cannot write %s: another run has taken its place over",
                             a->path);
    if (!code) code = state_replace(a->path, a->index);
    if (code) return failed(a, code);
    state_remove_attempt(a->folder); /* of parts, its mark */
    if (a->o.verify == STATE_VERIFY_FULL) a->verified = a->s.step; /* read back before it got its name */
    if (a->o.folder) state_keep_apply(a->o.folder, a->o.keep, &a->s, a->verified);
    return STATE_OK;
}

void attempt_give_up(attempt *a)
{
    if (a->fd >= 0) (void)close(a->fd);
    if (a->rank == 0) state_remove_attempt(a->folder);
}
