/* What the file system says of its room, and what it gives: by rank 0 alone. A small one is filled, others
 * are asked to reserve what a checkpoint takes, as weft does before it writes. Holes and O_DIRECT, which weft
 * does not use, for who compares with other programs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "check_fs/fs_trials.h"
#include "files/bytes.h"
#include "files/replace.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "files/transfer.h"

enum { PIECE_BYTES = 1 << 20, SMALL_BYTES = 64 << 20, ALIGNED_BYTES = 64 << 10, TEXT_BYTES = 32 };

/* What rank 0 found, for all. */
static void add_of_first(fs_world *w, const char *key, fs_line *l)
{
    MPI_CHECK(ranks_bcast(l, sizeof *l, MPI_BYTE, 0, w->comm));
    fs_add(w, key, l->word, l->means.text, "%s", l->found.text);
}

static double free_bytes(const fs_world *w, double *all)
{
    struct statvfs room;
    if (statvfs(w->folder, &room) != 0) return 0;
    *all = (double)room.f_blocks * (double)room.f_frsize;
    return (double)room.f_bavail * (double)room.f_frsize;
}

/* ---- full ---- */

/* Pieces until one is refused; 0: the file system took `most`. *call: which call refused. */
static int fill(int fd, double most, double *written, const char **call)
{
    static char piece[PIECE_BYTES];
    int code = 0;
    memset(piece, 'f', sizeof piece);
    *call = "pwrite";
    for (*written = 0; !code && *written < most && !fs_is_stopped();) {
        const ssize_t n = pwrite(fd, piece, sizeof piece, (off_t)*written);
        if (n <= 0) code = n < 0 ? errno : ENOSPC;
        else *written += (double)n;
    }
    if (!code) *call = "fsync";
    if (!code && fsync(fd) != 0) code = errno;
    return code;
}

static void find_end(const fs_world *w, const char *path, double said_bytes, fs_line *l)
{
    char a[TEXT_BYTES], b[TEXT_BYTES];
    const char *call;
    double written = 0;
    const int fd = replace_create_new(path);
    int code = fd < 0 ? errno : fill(fd, 2.0 * SMALL_BYTES, &written, &call);
    if (fd < 0) call = "open";
    if (fd >= 0 && close(fd) != 0 && !code) {
        call = "close";
        code = errno;
    }
    (void)unlink(path);
    const bool as_said = written <= 1.1 * said_bytes && written >= 0.9 * said_bytes;
    l->word = !code ? FS_BROKEN : as_said ? FS_KEPT : FS_NOTE;
    sentence_set(&l->found, "of %s that were said to be free %s could be written; %s told the end%s%s",
                 bytes_text(a, sizeof a, said_bytes), bytes_text(b, sizeof b, written),
                 code ? call : "no call", code ? ": " : "", code ? strerror(code) : "");
    if (l->word == FS_BROKEN) sentence_set(&l->means, "weft cannot know that a disk is full");
    if (l->word == FS_NOTE)
        sentence_set(&l->means,
                     "a look at the free space before a write tells little here; weft believes the calls");
}

/* ---- not full ---- */

static void reserve(const fs_world *w, const char *path, double said_bytes, fs_line *l)
{
    char a[TEXT_BYTES], b[TEXT_BYTES];
    struct stat info = { .st_blocks = 0 };
    const int fd = replace_create_new(path);
    const int code = fd < 0 || fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)w->bytes) != 0 ? errno : 0;
    if (fd >= 0 && fstat(fd, &info) == 0) (void)close(fd);
    (void)unlink(path);
    const bool full = code == ENOSPC || code == EDQUOT,
               taken = (double)info.st_blocks * 512 >= 0.9 * (double)w->bytes;
    bytes_text(a, sizeof a, said_bytes);
    bytes_text(b, sizeof b, (double)w->bytes);
    l->word = !code && taken ? FS_KEPT : FS_NOTE;
    if (l->word == FS_KEPT) sentence_set(&l->found, "%s are free, of which %s can be reserved", a, b);
    else if (full && said_bytes < (double)w->bytes)
        sentence_set(&l->found, "%s are free, less than the %s that were asked for by bytes=", a, b);
    else if (full)
        sentence_set(&l->found, "%s are said to be free, but %s of these are refused: %s", a, b,
                     strerror(code));
    else
        sentence_set(&l->found, "%s are free, but nothing can be reserved%s%s", a, code ? ": " : "",
                     code ? strerror(code) : "");
    if (full) sentence_set(&l->means, "a checkpoint of that size is refused before it is written");
    else if (l->word == FS_NOTE)
        sentence_set(&l->means,
                     "a disk that others fill meanwhile is told while weft writes, and the older files stay");
}

static void try_room(fs_world *w)
{
    fs_line l = { .word = FS_KEPT };
    char path[STATE_PATH_BYTES];
    double all = 0;
    const double said_bytes = w->rank == 0 ? free_bytes(w, &all) : 0;
    fs_name(w, "room", path);
    if (w->rank == 0) (all <= SMALL_BYTES ? find_end : reserve)(w, path, said_bytes, &l);
    add_of_first(w, "free space", &l);
}

/* ---- holes, O_DIRECT ---- */

static void find_holes(const char *path, fs_line *l)
{
    struct stat info = { .st_blocks = 0 };
    char zeros[2] = { 1, 1 };
    const int fd = replace_create_new(path);
    int code = fd < 0 ? errno : transfer_pwrite(fd, "e", 1, 4 * PIECE_BYTES);
    if (!code && (fsync(fd) != 0 || fstat(fd, &info) != 0)) code = errno;
    if (!code) code = transfer_pread(fd, zeros, sizeof zeros, PIECE_BYTES);
    if (fd >= 0) close(fd);
    (void)unlink(path);
    const bool holes = !code && (double)info.st_blocks * 512 < PIECE_BYTES,
               right = !code && zeros[0] == 0 && zeros[1] == 0;
    l->word = right ? FS_KEPT : code ? FS_FAILED : FS_BROKEN;
    if (code) sentence_set(&l->found, "cannot be tried: %s", strerror(code));
    else
        sentence_set(&l->found, "%s, and %s", holes ? "take no room" : "take as much room as data",
                     right ? "read as zeros" : "do not read as zeros");
}

/* One call for `bytes` from an aligned place, and the same bytes read back through the cache. */
static bool direct_works(int fd, const char *path, const char *data, char *found, size_t bytes)
{
    const int again = open(path, O_RDONLY | O_CLOEXEC);
    const bool same = again >= 0 && pwrite(fd, data, bytes, (off_t)bytes) == (ssize_t)bytes
                      && transfer_pread(again, found, bytes, bytes) == 0 && memcmp(found, data, bytes) == 0;
    if (again >= 0) close(again);
    return same;
}

static void find_direct(const char *path, fs_line *l)
{
    enum { MOST_BYTES = 16 << 20 };
    char a[TEXT_BYTES], b[TEXT_BYTES];
    char *const data = CHECK_ALLOC(aligned_alloc(ALIGNED_BYTES, MOST_BYTES));
    char *const found = CHECK_ALLOC(malloc(MOST_BYTES));
    const int made = fs_make(path, 0), fd = made ? -1 : open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
    size_t least = 512, most;
    memset(data, 'd', MOST_BYTES);
    while (fd >= 0 && least <= ALIGNED_BYTES && !direct_works(fd, path, data, found, least)) least *= 2;
    for (most = MOST_BYTES; fd >= 0 && most > least && !direct_works(fd, path, data, found, most);) most /= 2;
    const bool works = fd >= 0 && least <= ALIGNED_BYTES;
    l->word = works ? FS_KEPT : FS_NOTE;
    if (works)
        sentence_set(&l->found, "works in multiples of %s, up to %s%s in one call",
                     bytes_text(a, sizeof a, (double)least), bytes_text(b, sizeof b, (double)most),
                     most == MOST_BYTES ? " (no more was tried)" : "");
    else sentence_set(&l->found, "cannot be had");
    if (!works) sentence_set(&l->means, "weft writes through the page cache");
    if (fd >= 0) close(fd);
    (void)unlink(path);
    free(data);
    free(found);
}

void fs_room(fs_world *w)
{
    static const struct {
        const char *key;
        void (*find)(const char *path, fs_line *l);
    } other[] = { { "holes", find_holes }, { "O_DIRECT", find_direct } };
    try_room(w);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        fs_line l = { .word = FS_KEPT };
        char path[STATE_PATH_BYTES];
        fs_name(w, "room", path);
        if (w->rank == 0) other[i].find(path, &l);
        add_of_first(w, other[i].key, &l);
    }
}
