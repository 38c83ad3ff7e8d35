/* A checkpoint's files by name: room, creation, reservation, the final name. By one rank and without HDF5 and MPI, so that a
 * thread may; the sentences of what fails are those of every path that writes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "checkpoint_part.h"

checkpoint_status checkpoint_file_failed(const char *what, const char *path, int code, char *why, size_t why_bytes)
{
    return checkpoint_fail(CHECKPOINT_IO, why, why_bytes, "cannot %s %s: %s", what, path, strerror(code));
}

uint64_t checkpoint_field_bytes(const checkpoint_state *s, int i)
{
    return (uint64_t)s->field[i].nx * (uint64_t)s->field[i].ny * dtype_bytes(s->type);
}

uint64_t checkpoint_needed_bytes(const checkpoint_state *s)
{
    uint64_t needed = 128 << 10; /* HDF5's own structures and the XDMF file take under 64 KiB with any deck */
    for (int i = 0; i < s->fields; i++)
        needed += checkpoint_field_bytes(s, i) + (uint64_t)checkpoint_blocks(&s->field[i], s->type) * sizeof(uint32_t);
    return needed;
}

checkpoint_status checkpoint_names_make(checkpoint_names *n, const char *path, char *why, size_t why_bytes)
{
    if (snprintf(n->path, sizeof n->path, "%s", path) >= (int)sizeof n->path - 8
        || !checkpoint_xdmf_path(n->xdmf, sizeof n->xdmf - 8, path))
        return checkpoint_fail(CHECKPOINT_IO, why, why_bytes, "cannot write a checkpoint: its path has %zu characters",
                               strlen(path));
    snprintf(n->tmp, sizeof n->tmp, "%.*s.tmp", (int)sizeof n->tmp - 5, path);
    snprintf(n->xdmf_tmp, sizeof n->xdmf_tmp, "%.*s.tmp", (int)sizeof n->xdmf_tmp - 5, n->xdmf);
    checkpoint_directory_of(n->directory, sizeof n->directory, path);
    return CHECKPOINT_OK;
}

int checkpoint_create_new(const char *path)
{
    if (unlink(path) != 0 && errno != ENOENT) return -1;
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
}

checkpoint_status checkpoint_create_tmp(const checkpoint_names *n, int *fd, char *why, size_t why_bytes)
{
    *fd = checkpoint_create_new(n->tmp);
    return *fd < 0 ? checkpoint_file_failed("create", n->tmp, errno, why, why_bytes) : CHECKPOINT_OK;
}

checkpoint_status checkpoint_look_for_room(const checkpoint_names *n, uint64_t needed_bytes, char *why, size_t why_bytes)
{
    struct statvfs room;
    if (statvfs(n->directory, &room) != 0)
        return checkpoint_file_failed("look at the free space of", n->directory, errno, why, why_bytes);
    const uint64_t available = (uint64_t)room.f_bavail * room.f_frsize;
    if (room.f_blocks && available < needed_bytes) /* some network file systems report no sizes at all */
        return checkpoint_fail(CHECKPOINT_IO, why, why_bytes, "cannot write %s: it needs %.1f MB and %s has %.1f MB free",
                               n->path, (double)needed_bytes * 1e-6, n->directory, (double)available * 1e-6);
    return CHECKPOINT_OK;
}

checkpoint_status checkpoint_open_tmp(const checkpoint_names *n, int rank, int *fd, char *why, size_t why_bytes)
{
    *fd = open(n->tmp, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (*fd >= 0) return CHECKPOINT_OK;
    if (errno != ENOENT) return checkpoint_file_failed("open", n->tmp, errno, why, why_bytes);
    return checkpoint_fail(CHECKPOINT_IO, why, why_bytes,
                           "rank %d does not see %s that rank 0 made: checkpoints need a file system that all hosts share",
                           rank, n->tmp);
}

checkpoint_status checkpoint_reserve(const checkpoint_names *n, int fd, uint64_t bytes, char *why, size_t why_bytes)
{
    if (bytes == 0) return CHECKPOINT_OK;
    const int code = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) != 0 ? errno : 0;
    if (code == ENOSPC || code == EDQUOT || code == EFBIG || code == EIO)
        return checkpoint_file_failed("reserve the space of", n->path, code, why, why_bytes);
    return CHECKPOINT_OK; /* no fallocate here: the look at the free space and the comparison remain */
}

checkpoint_status checkpoint_publish(const checkpoint_names *n, const checkpoint_state *s, char *why, size_t why_bytes)
{
    int code = checkpoint_xdmf_write(n->xdmf_tmp, n->path, s);
    if (code) return checkpoint_file_failed("write", n->xdmf_tmp, code, why, why_bytes);
    if (rename(n->tmp, n->path) != 0) return checkpoint_file_failed("rename to", n->path, errno, why, why_bytes);
    if (rename(n->xdmf_tmp, n->xdmf) != 0) return checkpoint_file_failed("rename to", n->xdmf, errno, why, why_bytes);
    code = checkpoint_sync_path(n->directory);
    return code ? checkpoint_file_failed("fsync", n->directory, code, why, why_bytes) : CHECKPOINT_OK;
}

void checkpoint_unlink_tmp(const checkpoint_names *n)
{
    unlink(n->tmp);
    unlink(n->xdmf_tmp);
}
