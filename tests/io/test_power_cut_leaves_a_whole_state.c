/* Whenever the power fails, what then has a state's name is whole, and the newest is not older than what was
 * promised. No file is written by two ranks, and none has a name that one had before; marks go last. And
 * whichever call fails while a state is written, with what a full quota says: every rank hears one sentence,
 * the older state is whole, nothing half-written is left, and the next one is written as if nothing had been.
 *
 * libc's calls in the test's folder are taken over here, also for the libraries that call them. They are
 * recorded, and gone through one after another. What was fsynced is on disk; of all else any part may be
 * there, each write by itself and each name. So whatever may be found under a state's name must have been
 * fsynced before it got that name, and whatever an index needs must stay until no index that needs it can be
 * found. An fsync counts for the bytes that its own rank had written, and a name is there for certain only
 * once its folder was fsynced. ranks: 1 2 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "files/replace.h"
#include "support/state_tests.h"

/* ---- what this process does to files of the folder ---- */

enum { STEPS = 2, RANKS_MAX = 2, FILES = 160, NOTES = 8192, NAME_BYTES = FIXTURE_PATH_BYTES + 32 };
enum { CELLS_AT = 4096 }; /* in a part: before it is what HDF5 writes first */
enum { CALLS_MAX = 2000 };

enum { DISK_NAME_BYTES = 200 };
typedef enum disk_what {
    DISK_OPEN, DISK_WRITE, DISK_TRUNCATE, DISK_FSYNC, DISK_RENAME, DISK_UNLINK, DISK_MKDIR, DISK_PROMISE
} disk_what;
typedef enum disk_verdict { DISK_AS_EVER, DISK_FAILS, DISK_LIES /* says that it is done */ } disk_verdict;

typedef struct disk_call {
    disk_what what;
    const char *call;                                /* "pwrite64" */
    char name[DISK_NAME_BYTES], to[DISK_NAME_BYTES]; /* below the folder; "" is the folder itself */
    int flags;                                       /* of an open */
    int64_t bytes, at; /* of a write; of a truncate the new length */
} disk_call;

static atomic_bool disk_watched;

/* The record: by all ranks in one order, in memory that they share. */
static struct disk {
    atomic_int notes;
    struct note { /* of a call, or of a promise: step `bytes` is on disk whatever happens now */
        disk_call call;
        int rank;
    } note[NOTES];
} * disk;

/* Which call fails: one rank's n-th of those that could ask for more blocks; it and all that follow; or its
 * n-th write says that it is done and is not. */
static atomic_int calls_left = -1; /* that are as ever; -1: all */
static enum { ALONE, AND_ALL_AFTER, A_LIE } how;
static _Atomic(const char *) failed_call;

static void take_note(const disk_call *c)
{
    const int n = atomic_fetch_add(&disk->notes, 1) % NOTES;
    disk->note[n] = (struct note){ *c, rank };
}

/* Sets errno where the call fails. An fsync is noted when it begins, all else when it is done: it promises
 * what was done by then, and no more. */
static disk_verdict disk_before(const disk_call *c)
{
    const bool asks_for_blocks = c->what != DISK_UNLINK && (c->what != DISK_OPEN || c->flags & O_CREAT);
    if (c->what == DISK_FSYNC) take_note(c);
    if (!asks_for_blocks || atomic_load(&calls_left) < 0) return DISK_AS_EVER;
    if (how == A_LIE && (c->what != DISK_WRITE || !strstr(c->name, ".h5"))) return DISK_AS_EVER;
    if (atomic_load(&calls_left) > 0) {
        atomic_fetch_sub(&calls_left, 1);
        return DISK_AS_EVER;
    }
    if (!atomic_load(&failed_call)) atomic_store(&failed_call, c->call);
    else if (how != AND_ALL_AFTER) return DISK_AS_EVER;
    errno = EDQUOT;
    return how == A_LIE ? DISK_LIES : DISK_FAILS;
}

static void disk_after(const disk_call *c)
{
    if (c->what != DISK_FSYNC && (c->what != DISK_OPEN || c->flags & O_CREAT)) take_note(c);
}

static bool disk_below(const char *path, char name[DISK_NAME_BYTES])
{
    const size_t length = strlen(folder);
    if (!atomic_load(&disk_watched) || strncmp(path, folder, length) != 0 ||
        (path[length] && path[length] != '/'))
        return false;
    const char *const rest = path + length + (path[length] == '/');
    must(snprintf(name, DISK_NAME_BYTES, "%s", rest) < DISK_NAME_BYTES, path);
    return true;
}

static bool disk_of(int fd, const char *below, char name[DISK_NAME_BYTES])
{
    char link[64], path[4096] = "";
    const int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t bytes = atomic_load(&disk_watched) ? readlink(link, path, sizeof path - 256) : 0;
    errno = before;
    if (*below && bytes > 0) snprintf(path + bytes, 256, "/%s", below);
    return bytes > 0 && disk_below(path, name);
}

/* libc's own. */
#define DISK_LIBC(NAME) ((__typeof__(&NAME))dlsym(RTLD_NEXT, #NAME))

/* OURS: is it a file of the folder, with its name in c; behind it what else c has. */
#define DISK_BODY(TYPE, NAME, ARGUMENTS, OURS, ...)                                                         \
    {                                                                                                       \
        disk_call c = { .call = #NAME, .what = __VA_ARGS__ };                                               \
        const bool ours = OURS;                                                                             \
        const disk_verdict verdict = ours ? disk_before(&c) : DISK_AS_EVER;                                 \
        if (verdict != DISK_AS_EVER) return verdict == DISK_LIES ? (TYPE)c.bytes : -1;                      \
        const TYPE result = DISK_LIBC(NAME) ARGUMENTS;                                                      \
        if (ours && result >= 0) disk_after(&c);                                                            \
        return result;                                                                                      \
    }

#define DISK_OPEN_AS(NAME)                                                                                  \
    int NAME(const char *path, int flags, ...)                                                              \
    {                                                                                                       \
        va_list args;                                                                                       \
        va_start(args, flags);                                                                              \
        const mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;                                     \
        va_end(args);                                                                                       \
        DISK_BODY(int, NAME, (path, flags, mode), disk_below(path, c.name), DISK_OPEN, .flags = flags)      \
    }
DISK_OPEN_AS(open)
DISK_OPEN_AS(open64)
/* The name that -D_FORTIFY_SOURCE gives a call of open whose flags the compiler does not know. */
int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags) { return open(path, flags); }

#define DISK_PWRITE_AS(NAME)                                                                                \
    ssize_t NAME(int fd, const void *data, size_t bytes, off_t at)                                          \
        DISK_BODY(ssize_t, NAME, (fd, data, bytes, at), disk_of(fd, "", c.name), DISK_WRITE,                \
                  .bytes = (int64_t)bytes, .at = at)
DISK_PWRITE_AS(pwrite)
DISK_PWRITE_AS(pwrite64)

#define DISK_FTRUNCATE_AS(NAME)                                                                             \
    int NAME(int fd, off_t bytes)                                                                           \
        DISK_BODY(int, NAME, (fd, bytes), disk_of(fd, "", c.name), DISK_TRUNCATE, .bytes = bytes)
DISK_FTRUNCATE_AS(ftruncate)
DISK_FTRUNCATE_AS(ftruncate64)

int fsync(int fd) DISK_BODY(int, fsync, (fd), disk_of(fd, "", c.name), DISK_FSYNC)
int fdatasync(int fd) DISK_BODY(int, fdatasync, (fd), disk_of(fd, "", c.name), DISK_FSYNC)
int unlink(const char *path) DISK_BODY(int, unlink, (path), disk_below(path, c.name), DISK_UNLINK)
int rmdir(const char *path) DISK_BODY(int, rmdir, (path), disk_below(path, c.name), DISK_UNLINK)
int unlinkat(int fd, const char *name, int flags)
    DISK_BODY(int, unlinkat, (fd, name, flags), disk_of(fd, name, c.name), DISK_UNLINK)
int mkdir(const char *path, mode_t mode)
    DISK_BODY(int, mkdir, (path, mode), disk_below(path, c.name), DISK_MKDIR)
int rename(const char *path, const char *to)
    DISK_BODY(int, rename, (path, to), disk_below(path, c.name) && disk_below(to, c.to), DISK_RENAME)

/* ---- power cuts: what is recorded ---- */

static void record(bool on)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (on) disk->notes = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    atomic_store(&disk_watched, on);
}

/* Checkpoints 1 .. STEPS, of which the newest stays, and the last once more, as after a restart from the one
 * before. */
static void record_run(const char *run, bool async)
{
    char dir[NAME_BYTES];
    snprintf(dir, sizeof dir, "%s/%s", folder, run);
    record(true);
    const int writers = async ? ranks : 1;
    state_writer *w = fixture_writer(
        &(state_writer_options){ .folder = dir, .keep = { 1, 0 }, .async = async, .writers = writers });
    for (int64_t i = 1; i <= STEPS + 1; i++) {
        state_level s = fixture_state(251, 11, DTYPE_F64, i <= STEPS ? i : STEPS);
        must(fixture_go(w, &s) == STATE_OK, why.text);
        take_note(&(disk_call){ .what = DISK_PROMISE, .bytes = s.step });
        free(s.field[0].data);
    }
    state_writer_destroy(&w);
    record(false);
}

/* ---- what a power cut may leave of it ---- */

typedef struct thing { /* a file or a folder */
    char name[DISK_NAME_BYTES];
    const struct thing *home; /* the folder it was made in */
    bool gone;                /* it has that name no more */
    bool unsure;              /* the last change of its name may be lost */
    bool dirty[RANKS_MAX];    /* bytes that this rank wrote may be lost */
    int writer;               /* -1: none yet */
} thing;
static thing all[FILES];
static int things;

static thing *find(const char *name)
{
    for (int i = 0; i < things; i++)
        if (!all[i].gone && strcmp(all[i].name, name) == 0) return &all[i];
    return NULL;
}

/* The thing beside a name; "": the folder itself. */
static thing *beside(const char *name, const char *other)
{
    char path[2 * DISK_NAME_BYTES];
    const char *const slash = strrchr(name, '/');
    const int length = slash ? (int)(slash - name) : 0;
    snprintf(path, sizeof path, "%.*s%s%s", length, name, *other ? "/" : "", other);
    return find(path);
}

static bool is_state(const thing *t) { return state_step_of(t->name) >= 0; }
static bool is_part(const thing *t) { return strstr(t->name, ".h5") && !is_state(t); }
static bool is_clean(const thing *t) { return !t->dirty[0] && !t->dirty[1]; }

/* May an index be found whose parts were made in this folder? */
static bool is_needed(const thing *home)
{
    bool needed = false;
    for (int i = 0; i < things; i++)
        needed |= is_state(&all[i]) && all[i].home == home && (!all[i].gone || all[i].unsure);
    return needed;
}

/* Are the index and its parts on disk, with their names? */
static bool is_whole(const thing *index)
{
    bool whole = is_clean(index), has_parts = false;
    for (const thing *t = all; t < all + things; t++) {
        if (t == index || t->gone || !is_part(t) || t->home != index->home) continue;
        whole = whole && is_clean(t) && !t->unsure;
        has_parts = true;
    }
    return whole && (!has_parts || !index->home->unsure);
}

static void take_fsync(const struct note *n)
{
    thing *const of = find(n->call.name);
    if (of) of->dirty[n->rank] = false;
    for (int i = 0; i < things; i++)
        if (of && beside(all[i].name, "") == of) all[i].unsure = false;
}

/* An index may go once a newer one is on disk. */
static bool has_newer(const thing *index)
{
    bool newer = false;
    for (int i = 0; i < things; i++)
        newer |= !all[i].gone && !all[i].unsure && state_step_of(all[i].name) > state_step_of(index->name);
    return newer;
}

/* The newest step was promised: its name is on disk, and so are those of the folders above. */
static void take_promise(const char *run, int64_t step)
{
    char name[DISK_NAME_BYTES];
    snprintf(name, sizeof name, "%s/step_%010lld.h5", run, (long long)step);
    for (const thing *t = find(name); t != all; t = beside(t->name, "")) must(t && !t->unsure, name);
}

static void take(const char *run, const struct note *n)
{
    const disk_call *c = &n->call;
    thing *t = find(c->name), *const other = c->what == DISK_RENAME ? find(c->to) : NULL;
    const thing *const mark = beside(c->name, "unfinished");
    switch (c->what) {
    case DISK_PROMISE: take_promise(run, c->bytes); return;
    case DISK_FSYNC: take_fsync(n); return;
    case DISK_OPEN:
    case DISK_MKDIR:
        for (int i = 0; i < things; i++) /* but the lock and the mark, which is empty */
            must(strcmp(all[i].name, c->name) != 0 || strstr(c->name, ".lock") ||
                     strstr(c->name, "/unfinished"),
                 "a name that was there before");
        if (t) return;
        t = &all[things++];
        *t = (thing){ .home = beside(c->name, ""), .unsure = true, .writer = -1 };
        strcpy(t->name, c->name);
        must(things < FILES && !is_state(t), "a state that has its name before it is whole");
        return;
    case DISK_WRITE:
    case DISK_TRUNCATE:
        must(!is_state(t) && !is_needed(t->home), "what has a name is written");
        must(t->writer < 0 || t->writer == n->rank, "two ranks write into a file");
        t->writer = n->rank;
        t->dirty[n->rank] = true;
        must(!is_part(t) || c->at < CELLS_AT || (mark && !mark->unsure), "cells before their mark");
        return;
    case DISK_RENAME:
        must(is_whole(t), "a name for what may be lost");
        if (other) other->gone = other->unsure = true;
        strcpy(t->name, c->to);
        break;
    case DISK_UNLINK:
        must(!is_state(t) || has_newer(t), "what was promised is deleted");
        must(!is_part(t) || !is_needed(t->home), "a part goes that is needed");
        must(!is_part(t) || mark, "a part goes behind its mark");
        t->gone = true;
        break;
    }
    t->unsure = true;
}

static void cut_anywhere(void **async)
{
    const char *const run = *async ? "back/run" : "fore/run";
    record_run(run, *async != NULL);
    assert_true(disk->notes >= 30 && disk->notes <= NOTES);
    things = 1;
    all[0] = (thing){ .writer = -1 }; /* the folder */
    for (int i = 0; i < disk->notes; i++) take(run, &disk->note[i]);
}

/* Pictures and traces: stdio writes them, so that of their bytes the order of the calls must do. */
static void what_is_replaced_is_on_disk_before_it_is_named(void **unused)
{
    static const disk_what wanted[] = { DISK_OPEN, DISK_FSYNC, DISK_RENAME, DISK_FSYNC };
    char path[NAME_BYTES];
    replace r;
    snprintf(path, sizeof path, "%s/picture.png", folder);
    record(true);
    if (rank == 0)
        must(replace_begin(&r, path) == 0 && fputs("it", r.to) >= 0 && replace_end(&r, true) == 0, path);
    record(false);
    assert_int_equal(disk->notes, sizeof wanted / sizeof *wanted);
    for (int i = 0; i < disk->notes; i++) assert_int_equal(disk->note[i].call.what, wanted[i]);
    assert_string_equal(disk->note[2].call.to, "picture.png");
    assert_string_equal(disk->note[3].call.name, ""); /* the folder */
}

/* ---- calls that fail ---- */

static state_status write_step(state_writer *w, int64_t step)
{
    state_level s = fixture_state(60, 50, DTYPE_F64, step);
    const state_status status = fixture_go(w, &s);
    free(s.field[0].data);
    return status;
}

/* True while there was a call to fail. */
static bool with_a_failure(state_writer *w, const char *name, int victim, int n)
{
    char path[FIXTURE_STEP_BYTES];
    state_report r;
    why.text[0] = '\0';
    if (rank == victim) atomic_store(&calls_left, n);
    const state_status status = write_step(w, 2);
    atomic_store(&calls_left, -1);
    const char *const call = atomic_exchange(&failed_call, NULL);
    int failed = call != NULL;
    MPI_Bcast(&failed, 1, MPI_INT, victim, MPI_COMM_WORLD);
    fixture_step(path, name, 1);
    const bool older = fixture_verify(path, &r) == STATE_OK, there = fixture_step(path, name, 2),
               half = fixture_left(name) != 0;
    const bool done = status == STATE_OK && there; /* what is only tidied up behind a state may fail */
    const state_status due = how == A_LIE && status == STATE_DAMAGED ? STATE_DAMAGED : STATE_IO;
    const bool told = failed && status == due && strstr(why.text, name) && !strchr(why.text, '\n');
    const bool whole = older && (!on_all(there) || fixture_verify(path, &r) == STATE_OK);
    if (!on_all((done || told) && !half && whole))
        fail_msg("call %d of rank %d, %s: status %d, %s%s%s", n, victim, call ? call : "another rank's",
                 (int)status, why.text, half ? ", half a file left" : "",
                 whole ? "" : ", a file that is not whole");
    fixture_shell(folder, "rm -rf %s/step_%010d.*", name, 2);
    return failed;
}

static void every_call(void **unused)
{
    static const char *const names[] = { "wait", "wait_on", "wait_lie", "beside", "beside_on", "beside_lie" };
    for (int i = 0; i < 6; i++) {
        const int writers = i < 3 ? 1 : ranks;
        char dir[FIXTURE_STEP_BYTES];
        snprintf(dir, sizeof dir, "%s/%s", folder, names[i]);
        state_writer *w =
            fixture_writer(&(state_writer_options){ .folder = dir, .async = i >= 3, .writers = writers });
        assert_int_equal(write_step(w, 1), STATE_OK);
        how = (__typeof__(how))(i % 3);
        atomic_store(&disk_watched, true);
        for (int victim = 0; victim < ranks; victim++) {
            int n = 0;
            while (n < CALLS_MAX && with_a_failure(w, names[i], victim, n)) n++;
            assert_true((n >= 1 || victim >= writers) && n < CALLS_MAX);
        }
        assert_int_equal(write_step(w, 2), STATE_OK);
        state_writer_destroy(&w);
    }
}

static int set_up(void **unused)
{
    char path[NAME_BYTES];
    snprintf(path, sizeof path, "%s/notes", folder);
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    must(fd >= 0 && ftruncate(fd, sizeof *disk) == 0, path); /* all ranks the same length */
    disk = mmap(NULL, sizeof *disk, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    must(disk != MAP_FAILED, path);
    return close(fd);
}

STATE_TESTS(set_up, cmocka_unit_test_prestate(cut_anywhere, "beside the steps"),
            cmocka_unit_test_prestate(cut_anywhere, NULL),
            cmocka_unit_test(what_is_replaced_is_on_disk_before_it_is_named), cmocka_unit_test(every_call))
