/* An attempt's folder holds its parts 0.h5, 1.h5 .. and, until it is published, the index and the mark. */
#include "state/attempt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "files/crc32c.h"
#include "files/replace.h"
#include "ranks/fault.h"
#include "ranks/timer.h"
#include "state/state_folder.h"

#define INDEX "index.h5"
#define MARK "unfinished"
enum { DIGITS = 8 };

/* ---- attempts by their folders, DIR/NAME.<8 hex digits>, and their marks ---- */

static void path_in(char out[STATE_PATH_BYTES], const char *folder, const char *file)
{
    snprintf(out, STATE_PATH_BYTES, "%.4000s/%s", folder, file);
}

static bool is_attempt(const char *folder)
{
    const size_t length = strlen(folder);
    return length > DIGITS + 1 && folder[length - DIGITS - 1] == '.' &&
           strspn(folder + length - DIGITS, "0123456789abcdef") == DIGITS;
}

/* Is the attempt one of the state `file`, or, NULL, of a step? */
static bool is_of(const char *folder, const char *file)
{
    const char *const name = state_name(folder);
    const int stem = (int)strlen(name) - DIGITS - 1;
    char index[STATE_NAME_BYTES];
    snprintf(index, sizeof index, "%.*s.h5", stem, name);
    return file ? stem == state_stem_bytes(file) && strncmp(name, state_name(file), (size_t)stem) == 0
                : state_step_of(index) >= 0;
}

/* 0 or errno. */
static int put_mark(const char *folder)
{
    char path[STATE_PATH_BYTES];
    path_in(path, folder, MARK);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    return fd < 0 || close(fd) != 0 ? errno : 0;
}

/* May an index still need the attempt: does it name the attempt, whose mark then goes, or cannot be read? */
static bool is_needed(const char *folder)
{
    char path[STATE_PATH_BYTES];
    state_info s;
    sentence why;
    bool needed = false;
    for (int i = 0; i < 2 && !needed; i++) { /* output.final may have any name */
        snprintf(path, sizeof path, "%.*s%s", (int)strlen(folder) - DIGITS - 1, folder, i == 0 ? ".h5" : "");
        const state_status status = state_index_read(path, &s, &why);
        const bool named = status == STATE_OK && strcmp(s.folder, state_name(folder)) == 0;
        needed = named || (status != STATE_OK && status != STATE_MISSING);
        path_in(path, folder, MARK);
        if (named) (void)unlink(path);
        state_close(&s);
    }
    return needed;
}

/* The names that weft gives, but the mark. */
static bool is_ours(const char *name)
{
    const size_t digits = strspn(name, "0123456789");
    return (digits > 0 && strcmp(name + digits, ".h5") == 0) || strcmp(name, INDEX) == 0;
}

/* Unless an index needs it. What cannot be deleted, or is not weft's, keeps a mark. */
static void remove_attempt(const char *folder)
{
    if (!is_attempt(folder) || is_needed(folder)) return;
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *const d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) return;
    for (const struct dirent *e; (e = readdir(d));)
        if (is_ours(e->d_name)) (void)unlinkat(fd, e->d_name, 0);
    (void)unlinkat(fd, MARK, 0); /* last: the next run finds what a kill leaves */
    closedir(d);
    if (rmdir(folder) != 0 && put_mark(folder) == 0) (void)replace_sync_folder(folder);
}

void attempts_tidy(const char *dir, const char *file)
{
    char folder[STATE_PATH_BYTES], mark[STATE_PATH_BYTES];
    DIR *const d = opendir(dir);
    for (const struct dirent *e; d && (e = readdir(d));) {
        if (!is_attempt(e->d_name) || !is_of(e->d_name, file)) continue;
        path_in(folder, dir, e->d_name);
        path_in(mark, folder, MARK);
        (void)rmdir(folder); /* empty: killed before the mark */
        if (access(mark, F_OK) == 0) remove_attempt(folder);
    }
    if (d) closedir(d);
}

/* The attempt of the state that has the name gets a mark before it loses its index. 0 or errno. */
static int mark_older(const char *path, char older[STATE_PATH_BYTES])
{
    char dir[STATE_PATH_BYTES];
    state_info s;
    sentence unused;
    const bool of_this = state_index_read(path, &s, &unused) == STATE_OK && s.folder[0] &&
                         is_of(s.folder, path); /* else a copy of another */
    state_close(&s);
    older[0] = '\0';
    if (!of_this) return 0;
    replace_directory_of(dir, sizeof dir, path);
    path_in(older, dir, s.folder);
    int code = put_mark(older);
    if (!code) code = replace_sync_folder(older);
    return code == ENOENT || code == ENOTDIR ? 0 : code; /* no folder: nothing to be found */
}

void attempt_delete_state(const char *path)
{
    char dir[STATE_PATH_BYTES], older[STATE_PATH_BYTES];
    replace_directory_of(dir, sizeof dir, path);
    if (mark_older(path, older) != 0 || unlink(path) != 0 || !older[0]) return;
    /* an index whose parts are gone is no state: its name goes first on disk, too */
    if (replace_sync_folder(dir) == 0) remove_attempt(older);
}

/* ---- begin ---- */

static state_status failed(attempt *a, const char *what, int code)
{
    return state_file_failed(what, a->path, code, &a->why);
}

void attempt_init(attempt *a, const char *path, const state_level *l, int parts, uint32_t token)
{
    state_info *s = &a->s;
    memset(s, 0, sizeof *s);
    memset(a->sum, 0, sizeof a->sum);
    a->fd = -1;
    a->marked = false;
    a->verify_s = 0;
    snprintf(a->path, sizeof a->path, "%s", path);
    snprintf(a->folder, sizeof a->folder, "%.4000s/%.*s.%08" PRIx32, a->dir, state_stem_bytes(path),
             state_name(path), token);
    path_in(a->index, a->folder, INDEX);
    snprintf(s->path, sizeof s->path, "%s", parts == 1 ? a->index : path);
    if (parts > 1) snprintf(s->folder, sizeof s->folder, "%s", state_name(a->folder));
    snprintf(s->kind, sizeof s->kind, "%s", l->kind);
    snprintf(s->version, sizeof s->version, "%s", l->version ? l->version : "unknown");
    snprintf(s->deck, sizeof s->deck, "%s", l->deck ? l->deck : "");
    s->type = l->type;
    s->step = l->step;
    s->parts = parts;
    s->fields = l->fields;
    s->main_field = l->main_field;
    for (int i = 0; i < l->fields; i++) {
        snprintf(s->field[i].name, sizeof s->field[i].name, "%s", l->field[i].name);
        s->field[i].nx = l->field[i].nx;
        s->field[i].ny = l->field[i].ny;
    }
}

/* ---- write ---- */

/* The first writer makes the folder. Each puts the mark there: so no host looks for a name that it may have
 * known as missing. */
state_status attempt_make_part(attempt *a)
{
    char path[STATE_PATH_BYTES];
    if (a->number < 0) return STATE_OK;
    const int code = mkdir(a->folder, 0777) != 0 && errno != EEXIST ? errno : put_mark(a->folder);
    if (code) return state_file_failed("make the folder", a->folder, code, &a->why);
    const state_status status = state_part_create(&a->s, a->number, &a->why);
    if (status != STATE_OK) return status;
    state_part_path(&a->s, a->number, path);
    a->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    return a->fd < 0 ? failed(a, "write", errno) : STATE_OK;
}

state_status attempt_write(attempt *a, const collect_window *v)
{
    const size_t word = dtype_bytes(a->s.type);
    const state_part *p = &a->s.part[a->number];
    const char *data = v->data;
    uint64_t at = (uint64_t)p->of[v->field].at_bytes +
                  (uint64_t)box_at(p->of[v->field].cells, v->cells.x0, v->cells.y0) * word;
    /* The mark is on disk before any cell: the next run finds what a power cut leaves, too. */
    int code = a->marked ? 0 : replace_sync_folder(a->folder);
    a->marked = true;
    for (int64_t n = 0; n < state_blocks(v->cells, a->s.type) && !code; n++) {
        const size_t bytes = (size_t)box_cells(state_piece(v->cells, a->s.type, 1, n)) * word;
        a->s.crc[p->block[v->field] + v->block + n] = crc32c(0, data, bytes);
        code = replace_pwrite(a->fd, data, bytes, at);
        /* the disk begins while the rest is still copied, so that fsync finds less to do */
        (void)sync_file_range(a->fd, (off_t)at, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
        data += bytes;
        at += bytes;
    }
    return code ? failed(a, "write", code) : STATE_OK;
}

/* fault.h: checkpoint_write:RANK fails there, checkpoint_flip:RANK has written another byte into its part's
 * last cell, checkpoint_slow:MS takes so long for every write. */
static int act_faulty(const attempt *a)
{
    const int wait_ms = fault_asked("checkpoint_slow");
    const struct timespec wait = { wait_ms / 1000, wait_ms % 1000 * 1000000L };
    if (wait_ms > 0) nanosleep(&wait, NULL);
    if (fault_asked("checkpoint_write") == a->rank) return EIO;
    if (a->number < 0 || fault_asked("checkpoint_flip") != a->rank) return 0;
    const state_part *p = &a->s.part[a->number];
    return replace_pwrite(a->fd, "\x55", 1,
                          (uint64_t)p->of[0].at_bytes +
                              (uint64_t)box_cells(p->of[0].cells) * dtype_bytes(a->s.type) - 1);
}

/* ---- verify ---- */

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
    return state_fail(status, &a->why,
                      "cannot write %s: rank %d read back other values than were written: %.600s", a->path,
                      a->rank, r.damaged ? r.first.text : why.text);
}

state_status attempt_finish_part(attempt *a, bool verify)
{
    int code = act_faulty(a);
    if (a->number >= 0) {
        if (!code && fsync(a->fd) != 0) code = errno;
        if (!code) code = describe_part(a);
        if (close(a->fd) != 0 && !code) code = errno;
        a->fd = -1;
    }
    if (code) return failed(a, "write", code);
    return verify && a->number >= 0 ? read_back(a) : STATE_OK;
}

/* ---- publish ---- */

state_status attempt_make_index(attempt *a)
{
    return a->rank == 0 ? state_index_create(a->index, &a->s, &a->why) : STATE_OK;
}

state_status attempt_publish(attempt *a, const lock *l)
{
    char older[STATE_PATH_BYTES];
    if (a->rank != 0) return STATE_OK;
    int code = state_index_end(a->index, &a->s);
    if (!code) code = replace_sync_folder(a->folder);
    if (!code) code = replace_sync_folder(a->dir);
    if (!code) code = mark_older(a->path, older);
    if (code) return failed(a, "write", code);
    if (!lock_is_held(l))
        return state_fail(STATE_IO, &a->why, "cannot write %s: another run has taken its place over",
                          a->path);
    if (rename(a->index, a->path) != 0) return failed(a, "rename to", errno);
    code = replace_sync_folder(a->dir);
    if (code) return state_file_failed("fsync", a->dir, code, &a->why);
    remove_attempt(a->folder); /* of parts, its mark */
    remove_attempt(older);
    return STATE_OK;
}

void attempt_give_up(attempt *a)
{
    if (a->fd >= 0) (void)close(a->fd);
    a->fd = -1;
    if (a->rank == 0) remove_attempt(a->folder);
}
