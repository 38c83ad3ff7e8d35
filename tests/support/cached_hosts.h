/* Hosts that share files and cache them as Linux's NFS client does: state files below one folder go to a
 * server in memory that all ranks share, through a cache of pages and one of names for each host. libc's
 * calls are taken over by functions of their names, also for libraries that call them; include in one source
 * of a test. What was measured with Debian's 6.1 kernel (tests/long/nfs) is modelled:
 *
 *   pages   A write stays in pages of its host and goes to the server at any time, at the latest with fsync
 *           or close. Where the host believes to know what else the page holds (it has read it, or the page
 *           lies behind the file's end as it knows it) the whole page goes; not so under O_DSYNC or while the
 *           file is locked (the kernel's nfs_can_extend_write).
 *   length  What a host believes of a file, its length too, is as old as its last look at it. It looks when
 *           it opens or locks the file, and at times of its own; if the file has changed meanwhile it drops
 *           its pages.
 *   names   A name that was looked up may mean the same file for a while, whatever has that name now;
 *           likewise a name's absence. Names with O_CREAT | O_EXCL, rename and unlink always go to the
 *           server.
 *
 * Pages have 64 KiB, as arm64's kernels may have them. Chance, from a seed, decides what caches do, and
 * whether a rank lets others go first after a call. Not modelled: delegations, mmap, listings of directories.
 * */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "support/libc_call.h"

enum {
    CACHED_PAGE_BYTES = 64 << 10,
    CACHED_PAGES = 64,
    CACHED_FILES = 8,
    CACHED_HOSTS = 4,
    CACHED_NAMES = 48,
    CACHED_NAME_BYTES = 80,
    CACHED_FDS = 4096,
    CACHED_FILE_BYTES = CACHED_PAGES * CACHED_PAGE_BYTES,
    CACHED_NFS_MAGIC = 0x6969
};

typedef struct cached_page { /* of one host */
    bool whole;   /* every byte of it is believed to be known */
    int from, to; /* not yet sent; from == to: nothing */
    char bytes[CACHED_PAGE_BYTES];
} cached_page;

typedef struct cached_view { /* what a host knows of a file */
    uint64_t change; /* the counter when it looked last */
    int64_t bytes;
    int locks;
    cached_page page[CACHED_PAGES];
} cached_view;

typedef struct cached_file { /* on the server */
    bool used, named, published; /* published: under a name without .tmp */
    int opens, late_writes;      /* the latter since it was published */
    uint64_t number, change;
    int64_t bytes;
    char data[CACHED_FILE_BYTES];
    cached_view of[CACHED_HOSTS];
} cached_file;

typedef struct cached_name {
    char name[CACHED_NAME_BYTES]; /* below the folder; "": unused */
    int file;                     /* -1: known not to be there */
    uint64_t number;              /* of the file then */
    int lookups;
} cached_name;

typedef struct cached_server { /* in memory of all ranks */
    pthread_mutex_t lock;
    uint64_t random, numbers;
    int version; /* 3 or 4, of NFS */
    cached_file file[CACHED_FILES];
    cached_name name[CACHED_NAMES], known[CACHED_HOSTS][CACHED_NAMES];
} cached_server;

static struct {
    cached_server *server; /* NULL: calls go to libc */
    int host;              /* of this process, 0 .. CACHED_HOSTS-1 */
    char folder[CACHED_NAME_BYTES];
    struct {
        int file; /* and 1 more; 0: none of ours */
        int flags;
    } fd[CACHED_FDS];
} cached;

/* ---- chance ---- */

/* Once in n. */
static bool cached_chance(int n)
{
    uint64_t *r = &cached.server->random;
    *r = *r * 6364136223846793005u + 1442695040888963407u;
    return (*r >> 33) % (uint64_t)n == 0;
}

/* ---- pages ---- */

static cached_view *cached_view_of(cached_file *f) { return &f->of[cached.host]; }

static int cached_send(cached_file *f, cached_view *v, int p)
{
    cached_page *g = &v->page[p];
    if (g->from == g->to) return 0;
    const int64_t end = (int64_t)p * CACHED_PAGE_BYTES + g->to;
    const bool gone = !f->named && cached.server->version == 3;
    if (!gone) {
        memcpy(f->data + (size_t)p * CACHED_PAGE_BYTES + g->from, g->bytes + g->from,
               (size_t)(g->to - g->from));
        if (end > f->bytes) f->bytes = end;
        /* it may take others' changes for its own */
        if (v->change == f->change || cached_chance(2)) v->change = f->change + 1;
        f->change++;
        f->late_writes += f->published;
        if (f->bytes > v->bytes) v->bytes = f->bytes; /* the answer tells */
    }
    g->from = g->to = 0;
    return gone ? ESTALE : 0;
}

static int cached_send_all(cached_file *f, cached_view *v)
{
    int code = 0;
    for (int p = 0; p < CACHED_PAGES; p++) {
        const int sent = cached_send(f, v, p);
        if (sent) code = sent;
    }
    return code;
}

static void cached_drop(cached_view *v)
{
    for (int p = 0; p < CACHED_PAGES; p++)
        if (v->page[p].from == v->page[p].to) v->page[p].whole = false;
}

static void cached_look(cached_file *f, cached_view *v)
{
    if (v->change == f->change) return;
    (void)cached_send_all(f, v);
    cached_drop(v);
    v->change = f->change;
    v->bytes = f->bytes;
}

static void cached_fill(cached_file *f, cached_view *v, int p)
{
    (void)cached_send(f, v, p);
    memcpy(v->page[p].bytes, f->data + (size_t)p * CACHED_PAGE_BYTES, CACHED_PAGE_BYTES);
    v->page[p].whole = true;
}

static void cached_write_page(cached_file *f, cached_view *v, int flags, int p, int from, int to,
                              const char *data)
{
    cached_page *g = &v->page[p];
    const int64_t rest = v->bytes - (int64_t)p * CACHED_PAGE_BYTES;
    const int known = rest < 0 ? 0 : rest < CACHED_PAGE_BYTES ? (int)rest : CACHED_PAGE_BYTES;
    const bool unsent = g->from < g->to, partial = to - from < CACHED_PAGE_BYTES;
    if (unsent && (to < g->from || from > g->to)) (void)cached_send(f, v, p);
    if (!g->whole && partial && known > 0 && !unsent && (flags & O_ACCMODE) == O_RDWR) cached_fill(f, v, p);
    memcpy(g->bytes + from, data, (size_t)(to - from));
    if (!g->whole && from > 0 && known == 0) memset(g->bytes, 0, (size_t)from);
    if (!g->whole && (known == 0 || (from == 0 && to >= known))) {
        memset(g->bytes + to, 0, (size_t)(CACHED_PAGE_BYTES - to));
        g->whole = true;
    }
    if (g->whole && v->locks == 0 && !(flags & O_DSYNC)) {
        from = 0;
        if (known > to) to = known;
    }
    const bool joins = g->from < g->to;
    g->from = joins && g->from < from ? g->from : from;
    g->to = joins && g->to > to ? g->to : to;
    if ((int64_t)p * CACHED_PAGE_BYTES + to > v->bytes) v->bytes = (int64_t)p * CACHED_PAGE_BYTES + to;
    if (flags & O_DSYNC) (void)cached_send(f, v, p);
}

/* What caches do when nobody asks. */
static void cached_by_itself(void)
{
    cached_server *const s = cached.server;
    for (int i = 0; i < CACHED_FILES; i++)
        for (int h = 0; h < CACHED_HOSTS && s->file[i].used && s->file[i].opens > 0; h++) {
            cached_view *v = &s->file[i].of[h];
            if (cached_chance(16)) cached_look(&s->file[i], v);
            if (cached_chance(32)) cached_drop(v);
            for (int p = 0; p < CACHED_PAGES && p * CACHED_PAGE_BYTES < v->bytes; p++)
                if (cached_chance(16)) (void)cached_send(&s->file[i], v, p);
        }
}

static void cached_enter(void)
{
    pthread_mutex_lock(&cached.server->lock);
    cached_by_itself();
}

static void cached_leave(void)
{
    const int yields = cached_chance(2) ? 0 : cached_chance(2) ? 1 : 4;
    pthread_mutex_unlock(&cached.server->lock);
    for (int i = 0; i < yields; i++) sched_yield();
}

/* ---- names ---- */

/* Where `name` is, or a place for it. */
static cached_name *cached_name_at(cached_name *list, const char *name, bool make)
{
    cached_name *unused = NULL;
    for (int i = 0; i < CACHED_NAMES; i++) {
        if (strcmp(list[i].name, name) == 0) return &list[i];
        if (!list[i].name[0]) unused = &list[i];
    }
    if (!make) return NULL;
    if (!unused && list == cached.server->name) abort();
    if (!unused) unused = &list[cached.server->random % CACHED_NAMES];
    *unused = (cached_name){ .file = -1 };
    strcpy(unused->name, name);
    return unused;
}

static void cached_know(const char *name, int file)
{
    cached_name *n = cached_name_at(cached.server->known[cached.host], name, true);
    const uint64_t number = file < 0 ? 0 : cached.server->file[file].number;
    n->lookups = n->file == file && n->number == number ? n->lookups + 1 : 1;
    n->file = file;
    n->number = number;
}

/* Of this host; -1: not there. */
static int cached_lookup(const char *name)
{
    cached_server *const s = cached.server;
    cached_name *known = cached_name_at(s->known[cached.host], name, false);
    if (known && known->file < 0 && cached_chance(4)) return -1;
    if (known && known->file >= 0 && s->file[known->file].number == known->number &&
        s->file[known->file].named) {
        const bool trusted = s->version > 3 || known->lookups > 1 ? !cached_chance(10) : cached_chance(10);
        if (trusted) {
            known->lookups++;
            return known->file;
        }
    }
    const cached_name *n = cached_name_at(s->name, name, false);
    cached_know(name, n ? n->file : -1);
    return n ? n->file : -1;
}

static int cached_new_file(const char *name)
{
    cached_server *const s = cached.server;
    int i = 0;
    while (i < CACHED_FILES && (s->file[i].named || s->file[i].opens > 0)) i++;
    if (i == CACHED_FILES) abort();
    cached_file *const f = &s->file[i];
    memset(f->data, 0, (size_t)f->bytes);
    for (int h = 0; h < CACHED_HOSTS; h++) {
        cached_view *v = &f->of[h];
        for (int p = 0; p < CACHED_PAGES; p++) v->page[p].from = v->page[p].to = 0;
        cached_drop(v);
        v->change = 0;
        v->bytes = v->locks = 0;
    }
    f->used = f->named = true;
    f->published = false;
    f->opens = f->late_writes = 0;
    f->number = ++s->numbers;
    f->change = 0;
    f->bytes = 0;
    cached_name_at(s->name, name, true)->file = i;
    cached_know(name, i);
    return i;
}

static bool cached_forget(const char *name)
{
    cached_name *n = cached_name_at(cached.server->name, name, false);
    if (!n) return false;
    cached.server->file[n->file].named = false;
    n->name[0] = '\0';
    return true;
}

/* ---- the test's ---- */

/* A server without files, for the processes that map *s; by one of them. */
static void cached_empty(cached_server *s, int version, uint64_t seed)
{
    pthread_mutexattr_t shared;
    memset(s, 0, sizeof *s);
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&s->lock, &shared);
    pthread_mutexattr_destroy(&shared);
    s->version = version;
    s->random = seed;
}

/* In a file of folder, which all ranks map: one and the same server. NULL: that failed. */
static cached_server *cached_map(const char *folder)
{
    char path[512];
    snprintf(path, sizeof path, "%s/server", folder);
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(cached_server)) != 0) return NULL;
    void *const server = mmap(NULL, sizeof(cached_server), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return server == MAP_FAILED ? NULL : server;
}

/* From here on this process's files below folder are its. NULL: no more. */
static void cached_start(cached_server *s, const char *folder, int host)
{
    if (strlen(folder) >= CACHED_NAME_BYTES) abort();
    cached.server = s;
    cached.host = host;
    strcpy(cached.folder, folder);
}

/* A state file of our own? Then its name. */
static const char *cached_path(const char *path)
{
    const size_t length = strlen(cached.folder);
    if (!cached.server || strncmp(path, cached.folder, length) != 0 || !strstr(path, ".h5")) return NULL;
    return path + length;
}

static cached_file *cached_fd(int fd)
{
    return cached.server && fd >= 0 && fd < CACHED_FDS && cached.fd[fd].file > 0
               ? &cached.server->file[cached.fd[fd].file - 1]
               : NULL;
}

static int cached_result(int code)
{
    errno = code;
    return code ? -1 : 0;
}

/* ---- libc's ---- */

static int cached_open(const char *name, int flags)
{
    int file;
    if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) {
        if (cached_name_at(cached.server->name, name, false)) return cached_result(EEXIST);
        file = cached_new_file(name);
    } else {
        file = cached_lookup(name);
        if (file < 0) return cached_result(ENOENT);
    }
    const int fd = LIBC_CALL(open)("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0 || fd >= CACHED_FDS) abort();
    cached_look(&cached.server->file[file], cached_view_of(&cached.server->file[file]));
    cached.server->file[file].opens++;
    cached.fd[fd].file = file + 1;
    cached.fd[fd].flags = flags;
    return fd;
}

#define CACHED_OPEN_AS(NAME)                                                 \
    int NAME(const char *path, int flags, ...)                               \
    {                                                                        \
        LIBC_OPEN_MODE(mode, flags)                                          \
        const char *const name = cached_path(path);                          \
        if (!name) return LIBC_CALL(NAME)(path, flags, mode);                \
        cached_enter();                                                      \
        const int fd = cached_open(name, flags);                             \
        cached_leave();                                                      \
        return fd;                                                           \
    }
CACHED_OPEN_AS(open)
CACHED_OPEN_AS(open64)

/* Caches here grow old with each look, not with time: no rank needs to wait for them. */
int nanosleep(const struct timespec *pause, struct timespec *left)
{
    static const struct timespec shortest = { 0, 200 * 1000 };
    const bool waits = cached.server && (pause->tv_sec > 0 || pause->tv_nsec > shortest.tv_nsec);
    return LIBC_CALL(nanosleep)(waits ? &shortest : pause, left);
}

/* A page at a time, as other ranks' may come between. */
static ssize_t cached_pwrite(int fd, const char *data, size_t bytes, off_t at)
{
    if (at + (off_t)bytes > CACHED_FILE_BYTES) abort();
    for (size_t done = 0; done < bytes;) {
        const int p = (int)((at + (off_t)done) / CACHED_PAGE_BYTES),
                  from = (int)((at + (off_t)done) % CACHED_PAGE_BYTES);
        const size_t left = bytes - done;
        const int to = left < (size_t)(CACHED_PAGE_BYTES - from) ? from + (int)left : CACHED_PAGE_BYTES;
        cached_enter();
        cached_write_page(cached_fd(fd), cached_view_of(cached_fd(fd)), cached.fd[fd].flags, p, from, to,
                          data + done);
        cached_leave();
        done += (size_t)(to - from);
    }
    return (ssize_t)bytes;
}

static ssize_t cached_pread(int fd, char *data, size_t bytes, off_t at)
{
    size_t done = 0;
    cached_enter();
    cached_file *f = cached_fd(fd);
    cached_view *v = cached_view_of(f);
    while (done < bytes && at + (off_t)done < v->bytes) {
        const int p = (int)((at + (off_t)done) / CACHED_PAGE_BYTES),
                  from = (int)((at + (off_t)done) % CACHED_PAGE_BYTES);
        int64_t n = CACHED_PAGE_BYTES - from;
        if (n > v->bytes - at - (off_t)done) n = v->bytes - at - (off_t)done;
        if (n > (int64_t)(bytes - done)) n = (int64_t)(bytes - done);
        if (!v->page[p].whole) cached_fill(f, v, p);
        memcpy(data + done, v->page[p].bytes + from, (size_t)n);
        done += (size_t)n;
    }
    cached_leave();
    return (ssize_t)done;
}

#define CACHED_TRANSFER_AS(NAME, OWN, CONST)                                 \
    ssize_t NAME(int fd, CONST void *data, size_t bytes, off_t at)           \
    {                                                                        \
        return cached_fd(fd) ? OWN(fd, data, bytes, at) : LIBC_CALL(NAME)(fd, data, bytes, at); \
    }
CACHED_TRANSFER_AS(pwrite, cached_pwrite, const)
CACHED_TRANSFER_AS(pwrite64, cached_pwrite, const)
CACHED_TRANSFER_AS(pread, cached_pread, )
CACHED_TRANSFER_AS(pread64, cached_pread, )

static int cached_fsync(int fd)
{
    cached_enter();
    const int code = cached_send_all(cached_fd(fd), cached_view_of(cached_fd(fd)));
    cached_leave();
    return cached_result(code);
}

#define CACHED_FSYNC_AS(NAME)                                                \
    int NAME(int fd) { return cached_fd(fd) ? cached_fsync(fd) : LIBC_CALL(NAME)(fd); }
CACHED_FSYNC_AS(fsync)
CACHED_FSYNC_AS(fdatasync)

int close(int fd)
{
    int code = 0;
    if (cached_fd(fd)) {
        cached_enter();
        code = cached_send_all(cached_fd(fd), cached_view_of(cached_fd(fd)));
        cached_fd(fd)->opens--;
        cached_leave();
        cached.fd[fd].file = 0;
    }
    return LIBC_CALL(close)(fd) != 0 ? -1 : cached_result(code);
}

static int cached_ftruncate(int fd, off_t bytes)
{
    if (bytes > CACHED_FILE_BYTES) abort();
    cached_enter();
    cached_file *f = cached_fd(fd);
    (void)cached_send_all(f, cached_view_of(f));
    if (bytes < f->bytes) memset(f->data + bytes, 0, (size_t)(f->bytes - bytes));
    f->late_writes += f->published && f->bytes != bytes;
    f->bytes = bytes;
    f->change++;
    cached_look(f, cached_view_of(f));
    cached_leave();
    return 0;
}

#define CACHED_FTRUNCATE_AS(NAME)                                                        \
    int NAME(int fd, off_t bytes)                                                        \
    {                                                                                    \
        return cached_fd(fd) ? cached_ftruncate(fd, bytes) : LIBC_CALL(NAME)(fd, bytes); \
    }
CACHED_FTRUNCATE_AS(ftruncate)
CACHED_FTRUNCATE_AS(ftruncate64)

/* A network file system has a device number of each host's own. */
#define CACHED_FSTAT_AS(NAME, INFO)                                          \
    int NAME(int fd, struct INFO *info)                                      \
    {                                                                        \
        const int code = LIBC_CALL(NAME)(fd, info);                          \
        const cached_file *const f = cached_fd(fd);                          \
        if (code != 0 || !f) return code;                                    \
        info->st_ino = (ino_t)f->number;                                     \
        info->st_dev = (dev_t)(100 + cached.host);                           \
        info->st_size = f->of[cached.host].bytes;                            \
        info->st_mode = S_IFREG | 0644;                                      \
        return 0;                                                            \
    }
CACHED_FSTAT_AS(fstat, stat)
CACHED_FSTAT_AS(fstat64, stat64)

int posix_fadvise(int fd, off_t from, off_t bytes, int advice)
{
    if (!cached_fd(fd)) return LIBC_CALL(posix_fadvise)(fd, from, bytes, advice);
    if (advice != POSIX_FADV_DONTNEED) return 0;
    cached_enter();
    cached_drop(cached_view_of(cached_fd(fd)));
    cached_leave();
    return 0;
}

/* Every lock is granted: how long one waits is no matter here. */
#define CACHED_FCNTL_AS(NAME)                                                \
    int NAME(int fd, int command, ...)                                       \
    {                                                                        \
        va_list args;                                                        \
        va_start(args, command);                                             \
        void *const arg = va_arg(args, void *);                              \
        va_end(args);                                                        \
        if (!cached_fd(fd) || !cached_lock(fd, command, arg)) return LIBC_CALL(NAME)(fd, command, arg); \
        return 0;                                                            \
    }
static bool cached_lock(int fd, int command, const struct flock *range)
{
    if (command != F_SETLK && command != F_SETLKW && command != F_OFD_SETLK && command != F_OFD_SETLKW)
        return false;
    cached_enter();
    cached_file *f = cached_fd(fd);
    cached_view *v = cached_view_of(f);
    (void)cached_send_all(f, v);
    cached_look(f, v);
    cached_drop(v);
    v->locks += range->l_type == F_UNLCK ? -1 : 1;
    cached_leave();
    return true;
}
CACHED_FCNTL_AS(fcntl)
CACHED_FCNTL_AS(fcntl64)

int rename(const char *from, const char *to)
{
    const char *const name = cached_path(from), *const other = cached_path(to);
    if (!name || !other) return LIBC_CALL(rename)(from, to);
    cached_enter();
    const cached_name *n = cached_name_at(cached.server->name, name, false);
    const int file = n ? n->file : -1;
    if (file >= 0) {
        (void)cached_forget(other);
        (void)cached_forget(name);
        cached.server->file[file].named = true;
        cached.server->file[file].published = !strstr(other, ".tmp");
        cached_name_at(cached.server->name, other, true)->file = file;
        cached_know(name, -1);
        cached_know(other, file);
    }
    cached_leave();
    return cached_result(file < 0 ? ENOENT : 0);
}

int unlink(const char *path)
{
    const char *const name = cached_path(path);
    if (!name) return LIBC_CALL(unlink)(path);
    cached_enter();
    const bool was = cached_forget(name);
    cached_know(name, -1);
    cached_leave();
    return cached_result(was ? 0 : ENOENT);
}

/* The folder is of a file system that several hosts share. */
#define CACHED_STATFS_AS(NAME, INFO)                                                   \
    int NAME(const char *path, struct INFO *info)                                      \
    {                                                                                  \
        const int code = LIBC_CALL(NAME)(path, info);                                  \
        if (cached.server && strncmp(path, cached.folder, strlen(cached.folder)) == 0) \
            info->f_type = CACHED_NFS_MAGIC;                                           \
        return code;                                                                   \
    }
CACHED_STATFS_AS(statfs, statfs)
CACHED_STATFS_AS(statfs64, statfs64)
