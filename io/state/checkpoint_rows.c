/* A rank's cells in a contiguous dataset in global order: one run of bytes where the rank owns whole rows (or there is one row),
 * else a piece of every row. */
#include "state/checkpoint_rows.h"

#include <errno.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files hold little-endian numbers, as memory has to");

int checkpoint_pwrite(int fd, const void *data, size_t bytes, uint64_t at_bytes)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = pwrite(fd, (const char *)data + done, bytes - done, (off_t)(at_bytes + done));
        if (n == 0) return EIO;
        if (n < 0 && errno != EINTR) return errno;
        if (n > 0) done += (size_t)n;
    }
    return 0;
}

int checkpoint_pread(int fd, void *data, size_t bytes, uint64_t at_bytes)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = pread(fd, (char *)data + done, bytes - done, (off_t)(at_bytes + done));
        if (n == 0) return EIO;
        if (n < 0 && errno != EINTR) return errno;
        if (n > 0) done += (size_t)n;
    }
    return 0;
}

typedef struct runs { /* of `part` in the file */
    int64_t count;
    size_t bytes;         /* of each */
    uint64_t at_bytes, stride_bytes;
} runs;

static runs runs_of(uint64_t field_at_bytes, const checkpoint_field *f, dtype type, box part)
{
    const uint64_t cell_bytes = dtype_bytes(type);
    const bool dense = box_width(part) == f->nx;
    return (runs){ .count = dense ? 1 : box_height(part),
                   .bytes = (size_t)(dense ? box_cells(part) : box_width(part)) * cell_bytes,
                   .at_bytes = field_at_bytes + (uint64_t)(part.y0 * f->nx + part.x0) * cell_bytes,
                   .stride_bytes = (uint64_t)f->nx * cell_bytes };
}

int checkpoint_rows_write(int fd, uint64_t field_at_bytes, const checkpoint_field *f, dtype type, box part, const void *data)
{
    if (box_empty(part)) return 0;
    const runs r = runs_of(field_at_bytes, f, type, part);
    int code = 0;
    for (int64_t i = 0; i < r.count && !code; i++)
        code = checkpoint_pwrite(fd, (const char *)data + (size_t)i * r.bytes, r.bytes, r.at_bytes + (uint64_t)i * r.stride_bytes);
    return code;
}

int checkpoint_rows_read(int fd, uint64_t field_at_bytes, const checkpoint_field *f, dtype type, box part, void *data)
{
    if (box_empty(part)) return 0;
    const runs r = runs_of(field_at_bytes, f, type, part);
    int code = 0;
    for (int64_t i = 0; i < r.count && !code; i++)
        code = checkpoint_pread(fd, (char *)data + (size_t)i * r.bytes, r.bytes, r.at_bytes + (uint64_t)i * r.stride_bytes);
    return code;
}
