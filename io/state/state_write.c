/* Ranks go through the same phases: BEGIN, WRITE with the read-back, PUBLISH, and TELL after a failure. In a
 * phase HDF5 makes files in the main thread, and a job in a thread of each rank, which calls neither MPI nor
 * HDF5, does the rest; then all agree on how it went, by non-blocking collectives. The thread gets no signals
 * and has a team of one where a job meets an OpenMP pragma: the cores are the time steps'. Where none can be
 * started, the job is done in its place. */
#include "state/state_write.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/fp.h"
#include "files/crc32c.h"
#include "files/replace.h"
#include "ranks/check.h"
#include "ranks/decomp.h"
#include "ranks/fault.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "state/collect.h"
#include "state/state_folder.h"
#include "state/state_index.h"

#if WEFT_SIM
/* A non-blocking collective of SMPI sends P^2 messages: 256 ranks came to no end. Its blocking ones are
 * trees, and all simulated ranks come to the same ones in the same order. */
#define MPI_Iallreduce(mine, all, count, type, op, comm, request) \
    (*(request) = MPI_REQUEST_NULL, MPI_Allreduce(mine, all, count, type, op, comm))
#endif

enum { WRITERS_MAX = 256, WRITER_BYTES = 64 << 20, SAMPLED = 16 };

typedef enum phase { IDLE, BEGIN, WRITE, PUBLISH, TELL } phase;

/* Numbers of which all ranks learn the largest. WORST: status * ranks, and more for lower ranks, of which the
 * lowest speaks. */
enum { WORST, JOB_S, VERIFY_S, AGREED };
struct state_writer {
    MPI_Comm comm; /* owned */
    int rank, ranks;
    state_writer_options o;
    char dir[STATE_PATH_BYTES];
    lock *lock;
    uint32_t token; /* of the next attempt; the same on all ranks */
    int64_t verified;
    state_stats stats;
    /* ---- the write under way; a job's while it runs ---- */
    phase phase;
    bool agreeing; /* the phase's work is done */
    state_request request;
    state_level level;
    bool has_level; /* the snapshot is there */
    state_info s;
    int number; /* of this rank's part; -1: it writes none */
    char attempt[STATE_NAME_BYTES];
    collect *collected; /* NULL: each rank writes its own cells */
    const collect_window *window;
    int fd;
    int64_t cells[STATE_FIELDS_MAX], block[STATE_FIELDS_MAX]; /* written of each field of the part */
    int64_t in_block;                                         /* cells, of the block begun last */
    state_status (*job)(state_writer *w); /* the last one of the phase, or one before it */
    pthread_t thread;
    bool job_runs, has_thread, finished; /* finished: the phase's last job is begun */
    atomic_bool job_done;
    double mine[AGREED], all[AGREED];
    uint64_t sum[2][STATE_FIELDS_MAX]; /* of fingerprints: on the device, and as they were read back */
    MPI_Request pending[4];
    int pending_count;
    state_status status; /* of this phase on this rank */
    sentence why;
    state_status ended; /* how the last write ended, and then its sentence is in why */
    bool heard;
};

/* ---- how many, how large ---- */

int state_writers(uint64_t bytes, int ranks, int asked, uint64_t one_file_bytes)
{
    if (asked > 0) return asked < ranks ? asked : ranks;
    if (bytes <= one_file_bytes) return 1;
    const uint64_t wanted = (bytes + WRITER_BYTES - 1) / WRITER_BYTES;
    const int most = ranks < WRITERS_MAX ? ranks : WRITERS_MAX;
    return wanted < 1 ? 1 : wanted < (uint64_t)most ? (int)wanted : most;
}

static uint64_t cells_bytes(const state_level *l)
{
    uint64_t bytes = 0;
    for (int i = 0; i < l->fields; i++)
        bytes += (uint64_t)l->field[i].nx * (uint64_t)l->field[i].ny * dtype_bytes(l->type);
    return bytes;
}

static state_status failed(state_writer *w, const char *what, int code)
{
    return state_file_failed(what, w->s.path, code, &w->why);
}

static void attempt_path(const state_writer *w, const char *name, char out[STATE_PATH_BYTES])
{
    snprintf(out, STATE_PATH_BYTES, "%.3900s/%s%s%s", w->dir, w->attempt, name[0] ? "/" : "", name);
}

/* ---- begin: rank 0 makes the attempt's folder ---- */

static state_status make_attempt(state_writer *w)
{
    char path[STATE_PATH_BYTES];
    if (w->rank != 0) return STATE_OK;
    attempt_path(w, "", path);
    const int code = mkdir(path, 0777) != 0 ? errno : state_attempt_mark(w->dir, w->attempt);
    return code ? state_file_failed("make the folder", path, code, &w->why) : STATE_OK;
}

/* ---- write: a part's file, then its cells in the order of the file ---- */

/* A client of a network file system may for some seconds not know the folder. */
static state_status make_part(state_writer *w)
{
    char path[STATE_PATH_BYTES], host[STATE_HOST_BYTES];
    if (w->number < 0) return STATE_OK;
    attempt_path(w, "", path);
    int code = state_look_for(path);
    if (code)
        return state_fail(STATE_IO, &w->why, "rank %d on %s does not see %s, which rank 0 made: %s", w->rank,
                          state_host(host), path, strerror(code));
    const state_status status = state_part_create(&w->s, w->number, &w->why);
    if (status != STATE_OK) return status;
    state_part_path(&w->s, w->number, path);
    w->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    return w->fd < 0 ? failed(w, "write", errno) : STATE_OK;
}

/* The next cells of field i. 0 or errno. */
static int write_cells(state_writer *w, int i, const char *data, int64_t cells)
{
    const size_t word = dtype_bytes(w->s.type);
    const state_part *p = &w->s.part[w->number];
    int code = 0;
    while (cells > 0 && !code) { /* up to the end of a block */
        const int64_t block = box_cells(state_block(&w->s, w->number, i, w->block[i])),
                      left = block - w->in_block, now = cells < left ? cells : left;
        const size_t bytes = (size_t)now * word;
        const uint64_t at = (uint64_t)p->of[i].at_bytes + (uint64_t)w->cells[i] * word;
        uint32_t *const crc = &w->s.crc[p->block[i] + w->block[i]];
        *crc = crc32c(*crc, data, bytes);
        code = replace_pwrite(w->fd, data, bytes, at);
        /* the disk begins while the rest is still copied, so that fsync finds less to do */
        (void)sync_file_range(w->fd, (off_t)at, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
        data += bytes;
        cells -= now;
        w->cells[i] += now;
        w->in_block = now < left ? w->in_block + now : 0;
        w->block[i] += now == left;
    }
    return code;
}

/* fault.h: checkpoint_write:RANK fails there, checkpoint_flip:RANK has written another byte into its part's
 * last cell, checkpoint_slow:MS takes so long for every write. */
static int act_faulty(const state_writer *w)
{
    const int wait_ms = fault_asked("checkpoint_slow");
    const struct timespec wait = { wait_ms / 1000, wait_ms % 1000 * 1000000L };
    if (wait_ms > 0) nanosleep(&wait, NULL);
    if (fault_asked("checkpoint_write") == w->rank) return EIO;
    if (w->number < 0) return 0;
    const uint64_t cells = (uint64_t)w->s.part[w->number].of[0].at_bytes,
                   end = cells + (uint64_t)w->cells[0] * dtype_bytes(w->s.type);
    return fault_asked("checkpoint_flip") == w->rank ? replace_pwrite(w->fd, "\x55", 1, end - 1) : 0;
}

/* 0 or errno. */
static int flush(state_writer *w)
{
    uint32_t crc = 0;
    int code = fsync(w->fd) != 0 ? errno : 0;
    if (!code) code = state_structure_crc(&w->s, w->number, w->fd, w->s.part[w->number].bytes, &crc);
    if (close(w->fd) != 0 && !code) code = errno;
    w->fd = -1;
    w->s.part[w->number].structure_crc = crc;
    return code;
}

/* Past the page cache. */
static state_status read_back(state_writer *w)
{
    state_report r = { .damaged = 0 };
    sentence why;
    const double begin_s = timer_now_s();
    const int64_t every = w->o.verify == STATE_VERIFY_FULL ? 1 : SAMPLED;
    const state_status status = state_look_at(&w->s, w->number, 0, w->s.blocks, every, w->sum[1], &r, &why);
    const double took_s = timer_now_s() - begin_s;
    w->mine[VERIFY_S] += took_s;
    w->mine[JOB_S] -= took_s;
    if (status == STATE_OK) return STATE_OK;
    return state_fail(status, &w->why,
                      "cannot write %s: rank %d read back other values than were written: %.600s", w->s.path,
                      w->rank, r.damaged ? r.first.text : why.text);
}

static state_status write_window(state_writer *w)
{
    const int code = write_cells(w, w->window->field, w->window->data, w->window->cells);
    return code ? failed(w, "write", code) : STATE_OK;
}

/* Own cells where none are collected; then all goes to disk and is read back. */
static state_status finish_part(state_writer *w)
{
    int code = 0;
    for (int i = 0; i < w->s.fields && !w->collected && !code; i++)
        code = write_cells(w, i, w->level.field[i].data, box_cells(w->level.field[i].own));
    if (!code) code = act_faulty(w);
    if (!code && w->number >= 0) code = flush(w);
    if (code) return failed(w, "write", code);
    return w->number < 0 || w->o.verify == STATE_VERIFY_OFF ? STATE_OK : read_back(w);
}

/* ---- publish ---- */

static bool is_one_file(const state_writer *w) { return w->s.parts == 1; }

static state_status make_index(state_writer *w)
{
    char path[STATE_PATH_BYTES];
    if (w->rank != 0) return STATE_OK;
    attempt_path(w, STATE_INDEX_NAME, path);
    if (is_one_file(w)) { /* whose trailer has the checksum of its structure */
        w->s.folder[0] = '\0';
        w->s.part[0].bytes = 0;
        w->s.part[0].structure_crc = 0;
    }
    return state_index_create(path, &w->s, &w->why);
}

/* From here on the state has its name; what fails costs it nothing. */
static void make_way(state_writer *w, const char *older)
{
    state_attempt_remove(w->dir, w->attempt); /* of parts, its mark */
    if (older[0]) state_attempt_remove(w->dir, older);
    if (w->o.verify != STATE_VERIFY_OFF) w->verified = w->s.step; /* read back before it got its name */
    if (w->o.folder) state_keep_apply(w->dir, w->o.keep, &w->s, w->verified);
}

/* On disk under its name in the attempt's folder: the index with its table. 0 or errno. */
static int complete(state_writer *w, const char *index)
{
    char folder[STATE_PATH_BYTES];
    attempt_path(w, "", folder);
    int code = state_index_end(index, &w->s);
    if (!code) code = replace_sync_folder(folder);
    return code ? code : replace_sync_folder(w->dir);
}

/* The attempt of the state that has the name, if it has parts, has a mark before they lose it. */
static int mark_older(const state_writer *w, char older[STATE_NAME_BYTES])
{
    state_info s;
    sentence unused;
    const bool of_this = state_index_read(w->s.path, &s, &unused) == STATE_OK && s.folder[0] &&
                         state_attempt_is_of(s.folder, w->s.path); /* else a copy of another */
    snprintf(older, STATE_NAME_BYTES, "%s", of_this ? s.folder : "");
    state_close(&s);
    return older[0] ? state_attempt_mark(w->dir, older) : 0;
}

static state_status publish(state_writer *w)
{
    char index[STATE_PATH_BYTES], older[STATE_NAME_BYTES];
    if (w->rank != 0) return STATE_OK;
    attempt_path(w, STATE_INDEX_NAME, index);
    int code = complete(w, index);
    if (!code) code = mark_older(w, older);
    if (code) return failed(w, "write", code);
    if (!lock_is_held(w->lock))
        return state_fail(STATE_IO, &w->why, "cannot write %s: another run has taken its place over",
                          w->s.path);
    if (rename(index, w->s.path) != 0) return failed(w, "rename to", errno);
    code = replace_sync_folder(w->dir);
    if (code) return state_file_failed("fsync", w->dir, code, &w->why);
    make_way(w, older);
    return STATE_OK;
}

/* ---- a phase ---- */

static void *run_job(void *writer)
{
    state_writer *w = writer;
    const int threads = omp_get_max_threads();
    (void)fp_default(); /* before the first number */
    const double begin_s = timer_now_s();
    omp_set_num_threads(1);
    if (w->status == STATE_OK) w->status = w->job(w); /* after a failure messages go on, but nothing else */
    omp_set_num_threads(threads);
    w->mine[JOB_S] += timer_now_s() - begin_s;
    atomic_store(&w->job_done, true);
    return NULL;
}

/* A thread inherits the mask: signals stay the main thread's, whose system calls restart. SIGXFSZ, which a
 * thread gets of its own writes, becomes the error EFBIG. */
static void start_job(state_writer *w, state_status (*job)(state_writer *w))
{
    sigset_t all, old;
    w->job = job;
    w->job_runs = true;
    atomic_store(&w->job_done, false);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    w->has_thread = w->o.async && pthread_create(&w->thread, NULL, run_job, w) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!w->has_thread) run_job(w);
}

static bool job_is_done(state_writer *w)
{
    if (!w->job_runs) return true;
    if (!atomic_load(&w->job_done)) return false;
    if (w->has_thread) pthread_join(w->thread, NULL);
    w->job_runs = false;
    return true;
}

static bool snapshot_is_there(state_writer *w)
{
    double held_s = 0;
    if (w->has_level) return true;
    if (w->request.ready && !w->request.ready(w->request.owner, &w->level, &held_s)) return false;
    w->stats.snapshot_s += held_s;
    w->stats.stall_s += held_s;
    w->has_level = true;
    return true;
}

/* One window after another, while the messages of the next go on. False: some are left. */
static bool windows_are_written(state_writer *w)
{
    if (w->window) collect_release(w->collected);
    w->window = collect_next(w->collected);
    if (w->window) start_job(w, write_window);
    return !w->window && collect_done(w->collected);
}

/* Begins what comes next in this phase. False: something is still to be done, or to be waited for. */
static bool phase_is_done(state_writer *w)
{
    if (!job_is_done(w)) {
        if (w->phase == WRITE && w->collected) (void)collect_next(w->collected);
        return false;
    }
    if (w->finished) return true;
    if (w->phase == WRITE && !snapshot_is_there(w)) return false;
    if (w->phase == WRITE && w->collected && !windows_are_written(w)) return false;
    w->finished = true;
    start_job(w, w->phase == BEGIN ? make_attempt : w->phase == WRITE ? finish_part : publish);
    return job_is_done(w);
}

static void begin_phase(state_writer *w, phase next)
{
    const double begin_s = timer_now_s();
    w->phase = next;
    w->agreeing = w->finished = false;
    w->status = STATE_OK;
    memset(w->mine, 0, sizeof w->mine);
    if (next == WRITE) {
        w->status = make_part(w);
        if (w->s.parts < w->ranks) w->collected = collect_begin(w->comm, &w->s, &w->level, w->number);
    }
    if (next == PUBLISH) w->status = make_index(w);
    w->mine[JOB_S] = timer_now_s() - begin_s;
}

static MPI_Request *next_pending(state_writer *w) { return &w->pending[w->pending_count++]; }

static void agree(state_writer *w)
{
    const int numbers = w->s.parts * (int)(sizeof *w->s.part / sizeof(int64_t));
    w->agreeing = true;
    w->mine[WORST] = (int)w->status * w->ranks + w->ranks - 1 - w->rank;
    MPI_CHECK(MPI_Iallreduce(w->mine, w->all, AGREED, MPI_DOUBLE, MPI_MAX, w->comm, next_pending(w)));
    if (w->phase != WRITE) return;
    /* what a rank does not know of a part or a block is 0 there, and what all know is the same */
    MPI_CHECK(
        MPI_Iallreduce(MPI_IN_PLACE, w->s.part, numbers, MPI_INT64_T, MPI_MAX, w->comm, next_pending(w)));
    MPI_CHECK(MPI_Iallreduce(MPI_IN_PLACE, w->s.crc, (int)w->s.blocks, MPI_UINT32_T, MPI_MAX, w->comm,
                             next_pending(w)));
    for (int i = 0; i < w->s.fields; i++) w->sum[0][i] = w->level.field[i].fingerprint;
    MPI_CHECK(MPI_Iallreduce(MPI_IN_PLACE, w->sum, 2 * STATE_FIELDS_MAX, MPI_UINT64_T, MPI_SUM, w->comm,
                             next_pending(w)));
}

static bool agreed(state_writer *w)
{
    int complete = 1;
    MPI_CHECK(MPI_Testall(w->pending_count, w->pending, &complete, MPI_STATUSES_IGNORE));
    if (complete) w->pending_count = 0;
    return complete;
}

/* ---- what all ranks know once they have agreed ---- */

/* Compares the fingerprints of the cells that were read back with those of the device. */
static state_status learn_fingerprints(state_writer *w)
{
    for (int i = 0; i < w->s.fields; i++) {
        w->s.field[i].fingerprint = w->sum[0][i];
        if (w->o.verify == STATE_VERIFY_FULL && w->sum[1][i] != w->sum[0][i])
            return state_fail(STATE_DAMAGED, &w->why,
                              "cannot write %s: /fields/%s was read back with fingerprint %016" PRIx64
                              ", but had %016" PRIx64 " on its device",
                              w->s.path, w->s.field[i].name, w->sum[1][i], w->sum[0][i]);
    }
    return STATE_OK;
}

static void end(state_writer *w)
{
    if (w->ended == STATE_OK) {
        w->stats.count++;
        w->stats.newest_step = w->s.step;
        w->stats.bytes += (int64_t)cells_bytes(&w->level);
        w->stats.parts = w->s.parts;
    } else {
        w->stats.failed++;
    }
    collect_end(&w->collected);
    state_close(&w->s);
    w->heard = w->ended == STATE_OK;
    w->phase = IDLE;
}

/* Nothing has a name yet. Once all have rank `speaker`'s sentence, what was half written is deleted. */
static void give_up(state_writer *w, state_status status, int speaker)
{
    w->ended = status;
    w->phase = TELL;
    w->agreeing = true;
    if (w->fd >= 0) (void)close(w->fd);
    w->fd = -1;
    if (w->rank == 0) state_attempt_remove(w->dir, w->attempt);
    MPI_CHECK(MPI_Ibcast(w->why.text, SENTENCE_BYTES, MPI_BYTE, speaker, w->comm, next_pending(w)));
    MPI_CHECK(MPI_Ibarrier(w->comm, next_pending(w)));
}

static void go_on(state_writer *w)
{
    if (w->phase == TELL) {
        end(w);
        return;
    }
    const int worst = (int)w->all[WORST];
    state_status status = (state_status)(worst / w->ranks);
    w->stats.write_s += w->all[JOB_S];
    w->stats.verify_s += w->all[VERIFY_S];
    if (status == STATE_OK && w->phase == WRITE) status = learn_fingerprints(w);
    if (status != STATE_OK) {
        give_up(w, status, w->ranks - 1 - worst % w->ranks);
    } else if (w->phase == BEGIN) {
        begin_phase(w, WRITE);
    } else if (w->phase == WRITE) {
        begin_phase(w, PUBLISH);
    } else {
        end(w);
    }
}

/* Goes on as far as it can without waiting. */
static void advance(state_writer *w)
{
    while (w->phase != IDLE) {
        if (!w->agreeing) {
            if (!phase_is_done(w)) return;
            agree(w);
        }
        if (!agreed(w)) return;
        go_on(w);
    }
}

/* ---- begin, poll, wait ---- */

/* The writers' rectangles: own cells of each rank, or whole rows of all ranks. */
static void make_parts(state_writer *w)
{
    state_info *s = &w->s;
    int parts = state_writers(cells_bytes(&w->level), w->ranks, w->o.writers, w->o.one_file_bytes);
    for (int i = 0; i < s->fields && parts < w->ranks; i++) {
        const int64_t lines = s->field[i].ny > 1 ? s->field[i].ny : s->field[i].nx;
        if (parts > lines) parts = (int)lines;
    }
    s->parts = parts;
    s->part = CHECK_ALLOC(calloc((size_t)parts, sizeof *s->part));
    w->number = -1;
    for (int k = 0; k < parts; k++) {
        if (collect_rank(parts, w->ranks, k) == w->rank) w->number = k;
        for (int i = 0; i < s->fields; i++)
            s->part[k].of[i].cells = parts == w->ranks
                                         ? collect_box(&w->level.field[i], w->ranks, k)
                                         : decomp_share(s->field[i].nx, s->field[i].ny, parts, k);
    }
    state_number_blocks(s);
    s->crc = CHECK_ALLOC(calloc((size_t)s->blocks, sizeof *s->crc));
}

static void describe(state_writer *w, const state_level *l)
{
    state_info *s = &w->s;
    memset(s, 0, sizeof *s);
    if (w->o.file) snprintf(s->path, sizeof s->path, "%s", w->o.file);
    else state_path(s->path, sizeof s->path, w->o.folder, l->step);
    snprintf(s->kind, sizeof s->kind, "%s", l->kind);
    snprintf(s->version, sizeof s->version, "%s", l->version ? l->version : "unknown");
    s->type = l->type;
    s->step = l->step;
    snprintf(s->deck, sizeof s->deck, "%s", l->deck ? l->deck : "");
    s->fields = l->fields;
    s->main_field = l->main_field;
    for (int i = 0; i < l->fields; i++) {
        snprintf(s->field[i].name, sizeof s->field[i].name, "%s", l->field[i].name);
        s->field[i].nx = l->field[i].nx;
        s->field[i].ny = l->field[i].ny;
    }
}

state_status state_writer_begin(state_writer *w, const state_request *r, sentence *why)
{
    assert(w->phase == IDLE);
    const double begin_s = timer_now_s();
    w->request = *r;
    w->level = *r->level;
    w->has_level = false;
    w->heard = true;
    w->ended = STATE_OK;
    w->fd = -1;
    w->window = NULL;
    w->in_block = 0;
    memset(w->sum, 0, sizeof w->sum);
    memset(w->cells, 0, sizeof w->cells);
    memset(w->block, 0, sizeof w->block);
    describe(w, &w->level);
    state_attempt_name(w->attempt, w->s.path, w->token++);
    snprintf(w->s.folder, sizeof w->s.folder, "%s", w->attempt);
    make_parts(w);
    begin_phase(w, BEGIN);
    advance(w);
    if (!r->idle || r->idle(r->owner)) w->stats.stall_s += timer_now_s() - begin_s;
    return w->stats.async ? STATE_OK : state_writer_wait(w, why);
}

static state_status tell(state_writer *w, sentence *why)
{
    if (w->phase != IDLE || w->heard) return STATE_OK;
    *why = w->why;
    w->heard = true;
    return w->ended;
}

state_status state_writer_poll(state_writer *w, sentence *why)
{
    advance(w);
    return tell(w, why);
}

state_status state_writer_wait(state_writer *w, sentence *why)
{
    const struct timespec pause = { .tv_nsec = 100 * 1000 }; /* threads that write need processors */
    double idle_since_s = NAN;
    for (advance(w); w->phase != IDLE; advance(w)) {
        if (isnan(idle_since_s) && (!w->request.idle || w->request.idle(w->request.owner)))
            idle_since_s = timer_now_s();
        nanosleep(&pause, NULL);
    }
    if (!isnan(idle_since_s)) w->stats.stall_s += timer_now_s() - idle_since_s;
    return tell(w, why);
}

bool state_writer_busy(const state_writer *w) { return w->phase != IDLE; }
state_stats state_writer_stats(const state_writer *w) { return w->stats; }
void state_writer_trust(state_writer *w, int64_t step) { w->verified = step; }

/* ---- create and destroy ---- */

state_writer *state_writer_create(MPI_Comm comm, const state_writer_options *o, state_status *status,
                                  sentence *note, sentence *why)
{
    char path[STATE_PATH_BYTES + 16];
    state_writer *w = CHECK_ALLOC(calloc(1, sizeof *w));
    w->o = *o;
    w->verified = STATE_NONE_VERIFIED;
    note->text[0] = '\0';
    if (o->folder) snprintf(w->dir, sizeof w->dir, "%s", o->folder);
    else replace_directory_of(w->dir, sizeof w->dir, o->file);
    if (o->folder) snprintf(path, sizeof path, "%s/" LOCK_NAME, o->folder);
    else snprintf(path, sizeof path, "%s.lock", o->file);
    *status = o->folder ? state_make_folder(comm, o->folder, why) : STATE_OK;
    if (*status == STATE_OK) w->lock = lock_take(comm, path, status, note, why);
    if (*status == STATE_OK && o->folder && ranks_mine(comm) == 0)
        *status = state_names_are_free(o->folder, why);
    *status = state_agree(comm, *status, why);
    if (*status != STATE_OK) {
        lock_release(&w->lock);
        free(w);
        return NULL;
    }
    MPI_CHECK(ranks_dup(comm, &w->comm));
    w->rank = ranks_mine(comm);
    w->ranks = ranks_count(comm);
    if (w->rank == 0) state_attempts_tidy(w->dir, o->file); /* under the lock, and before any rank goes on */
    w->token = (uint32_t)replace_token();
    MPI_CHECK(ranks_bcast(&w->token, 1, MPI_UINT32_T, 0, comm));
    w->stats.async = o->async;
    return w;
}

void state_writer_destroy(state_writer **w)
{
    if (!w || !*w) return;
    sentence ignored;
    (void)state_writer_wait(*w, &ignored);
    MPI_CHECK(MPI_Comm_free(&(*w)->comm));
    lock_release(&(*w)->lock);
    free(*w);
    *w = NULL;
}
