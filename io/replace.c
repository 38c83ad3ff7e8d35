#include "replace.h"

#include <errno.h>
#include <unistd.h>

#include "checkpoint_part.h"

int replace_begin(replace *r, const char *path)
{
    if (snprintf(r->path, sizeof r->path, "%s", path) >= (int)sizeof r->path) return ENAMETOOLONG;
    if (!checkpoint_temporary(r->tmp, sizeof r->tmp, path, checkpoint_token())) return ENAMETOOLONG;
    const int fd = checkpoint_create_new(r->tmp);
    r->to = fd < 0 ? NULL : fdopen(fd, "wb");
    if (r->to) return 0;
    const int code = errno;
    if (fd >= 0) close(fd);
    return code;
}

/* A write that failed long ago has left no errno. */
static int flush_to_disk(FILE *to)
{
    if (ferror(to)) return EIO;
    return fflush(to) != 0 || fsync(fileno(to)) != 0 ? errno : 0;
}

int replace_end(replace *r, bool keep)
{
    char folder[sizeof r->path];
    int code = keep ? flush_to_disk(r->to) : 0;
    if (fclose(r->to) != 0 && !code) code = errno;
    r->to = NULL;
    if (keep && !code && rename(r->tmp, r->path) != 0) code = errno;
    if (!keep || code) {
        (void)unlink(r->tmp);
        return keep ? code : 0;
    }
    checkpoint_directory_of(folder, sizeof folder, r->path);
    code = checkpoint_sync_path(folder);
    return code == EINVAL || code == EACCES ? 0 : code; /* no fsync of folders here, or one that may be entered but not read */
}
