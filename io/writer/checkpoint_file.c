/* A checkpoint's files by name: room, creation, reservation, the final name. By one rank and without HDF5 and
 * MPI, so that a thread may; the sentences of what fails are those of every path that writes. */
#include "writer/checkpoint_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "files/bytes.h"
#include "files/replace.h"
#include "state/checkpoint_structure.h"
#include "state/checkpoint_xdmf.h"

enum { SUFFIX_BYTES = 32 }; /* what a temporary name needs beyond NAME */

uint64_t checkpoint_needed_bytes(const checkpoint_state *s)
{
    uint64_t needed = 128 << 10; /* HDF5's own structures and the XDMF file take under 64 KiB with any deck */
    for (int i = 0; i < s->fields; i++)
        needed += checkpoint_field_bytes(s, i) +
                  (uint64_t)checkpoint_blocks(&s->field[i], s->type) * sizeof(uint32_t);
    return needed;
}

checkpoint_status checkpoint_names_make(checkpoint_names *n, const char *path, sentence *why)
{
    if (snprintf(n->path, sizeof n->path, "%s", path) >= (int)(sizeof n->path - SUFFIX_BYTES)
        || !checkpoint_xdmf_path(n->xdmf, sizeof n->xdmf - SUFFIX_BYTES, path))
        return checkpoint_fail(CHECKPOINT_IO, why,
                               "cannot write a checkpoint: its path is too long, %zu characters",
                               strlen(path));
    n->tmp[0] = n->xdmf_tmp[0] = '\0';
    replace_directory_of(n->directory, sizeof n->directory, path);
    return CHECKPOINT_OK;
}

void checkpoint_names_token(checkpoint_names *n, uint64_t token)
{
    (void)replace_temporary(n->tmp, sizeof n->tmp, n->path, token);
    (void)replace_temporary(n->xdmf_tmp, sizeof n->xdmf_tmp, n->xdmf, token);
}

static int identify(int fd, checkpoint_identity *id)
{
    struct stat info;
    if (fstat(fd, &info) != 0) return errno;
    *id = (checkpoint_identity){ .inode = (uint64_t)info.st_ino, .device = (uint64_t)info.st_dev };
    return 0;
}

checkpoint_status checkpoint_create_tmp(const checkpoint_names *n, int *fd, checkpoint_identity *id,
                                        sentence *why)
{
    *fd = replace_create_new(n->tmp);
    const int code = *fd < 0 ? errno : identify(*fd, id);
    return code ? checkpoint_file_failed("create", n->tmp, code, why) : CHECKPOINT_OK;
}

checkpoint_status checkpoint_look_for_room(const checkpoint_names *n, uint64_t needed_bytes, sentence *why)
{
    struct statvfs room;
    if (statvfs(n->directory, &room) != 0)
        return checkpoint_file_failed("determine the free space of", n->directory, errno, why);
    const uint64_t available = (uint64_t)room.f_bavail * room.f_frsize;
    char need[32], found[32];
    if (room.f_blocks && available < needed_bytes) /* some network file systems report no sizes at all */
        return checkpoint_fail(CHECKPOINT_IO, why, "cannot write %s: it needs %s, but %s has only %s free",
                               n->path, bytes_text(need, sizeof need, (double)needed_bytes), n->directory,
                               bytes_text(found, sizeof found, (double)available));
    return CHECKPOINT_OK;
}

/* 0, or errno: ENOENT for a name that is not there, ESTALE for another file's. */
static int open_this(const char *path, int flags, const checkpoint_identity *id, bool same_host, int *fd)
{
    checkpoint_identity found = { .inode = 0 };
    *fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW);
    int code = *fd < 0 ? errno : identify(*fd, &found);
    if (!code && (found.inode != id->inode || (same_host && found.device != id->device))) code = ESTALE;
    if (code && *fd >= 0) close(*fd);
    if (code) *fd = -1;
    return code;
}

checkpoint_status checkpoint_open_tmp(const checkpoint_names *n, int flags, const checkpoint_identity *id,
                                      bool same_host, int rank, int *fd, sentence *why)
{
    char host[CHECKPOINT_HOST_BYTES];
    int code, tries = 0;
    do code = open_this(n->tmp, flags, id, same_host, fd);
    while (!same_host && checkpoint_look_again(code, &tries));
    if (!code) return CHECKPOINT_OK;
    if (code != ENOENT && code != ESTALE) return checkpoint_file_failed("open", n->tmp, code, why);
    return checkpoint_fail(
        CHECKPOINT_IO, why,
        "rank %d on %s %s %s, which rank 0 made: checkpoints need a file system that all hosts share", rank,
        checkpoint_host(host), code == ENOENT ? "does not see" : "sees a different file in place of", n->tmp);
}

checkpoint_status checkpoint_reserve(const checkpoint_names *n, int fd, uint64_t bytes, sentence *why)
{
    if (bytes == 0) return CHECKPOINT_OK;
    const int code = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) != 0 ? errno : 0;
    if (code == ENOSPC || code == EDQUOT || code == EFBIG || code == EIO)
        return checkpoint_file_failed("reserve space for", n->path, code, why);
    return CHECKPOINT_OK; /* no fallocate here: the look at the free space and the comparison remain */
}

checkpoint_status checkpoint_publish(const checkpoint_names *n, const checkpoint_state *s, sentence *why)
{
    int code = checkpoint_xdmf_write(n->xdmf_tmp, n->path, s);
    if (code) return checkpoint_file_failed("write", n->xdmf_tmp, code, why);
    if (rename(n->tmp, n->path) != 0) return checkpoint_file_failed("rename to", n->path, errno, why);
    if (rename(n->xdmf_tmp, n->xdmf) != 0) return checkpoint_file_failed("rename to", n->xdmf, errno, why);
    code = replace_sync_path(n->directory);
    return code ? checkpoint_file_failed("fsync", n->directory, code, why) : CHECKPOINT_OK;
}

void checkpoint_unlink_tmp(const checkpoint_names *n)
{
    unlink(n->tmp);
    unlink(n->xdmf_tmp);
}
