/* A rank's cells in a contiguous dataset in global order: one run of bytes where the rank owns whole rows (or there is one row),
 * else a piece of every row. */
#include "state/checkpoint_rows.h"

#include <errno.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files hold little-endian numbers, as memory has to");

/* writes: from data, which stays as it is; else into it. */
static int transfer(int fd, bool writes, void *data, size_t bytes, uint64_t at_bytes)
{
    for (size_t done = 0; done < bytes;) {
        char *const from = (char *)data + done;
        const off_t at = (off_t)(at_bytes + done);
        const ssize_t n = writes ? pwrite(fd, from, bytes - done, at) : pread(fd, from, bytes - done, at);
        if (n == 0) return EIO;
        if (n < 0 && errno != EINTR) return errno;
        if (n > 0) done += (size_t)n;
    }
    return 0;
}

int checkpoint_pwrite(int fd, const void *data, size_t bytes, uint64_t at_bytes)
{
    return transfer(fd, true, (void *)data, bytes, at_bytes);
}

int checkpoint_pread(int fd, void *data, size_t bytes, uint64_t at_bytes) { return transfer(fd, false, data, bytes, at_bytes); }

/* A run of bytes in the file for each row of `part`, or one for all where the rank owns whole rows. */
static int transfer_rows(int fd, bool writes, uint64_t field_at_bytes, const checkpoint_field *f, dtype type, box part, void *data)
{
    const uint64_t cell_bytes = dtype_bytes(type), row_bytes = (uint64_t)f->nx * cell_bytes;
    const uint64_t at_bytes = field_at_bytes + (uint64_t)(part.y0 * f->nx + part.x0) * cell_bytes;
    const bool dense = box_width(part) == f->nx;
    const size_t run_bytes = (size_t)(dense ? box_cells(part) : box_width(part)) * cell_bytes;
    const int64_t runs = box_empty(part) ? 0 : dense ? 1 : box_height(part);
    int code = 0;
    for (int64_t i = 0; i < runs && !code; i++)
        code = transfer(fd, writes, (char *)data + (size_t)i * run_bytes, run_bytes, at_bytes + (uint64_t)i * row_bytes);
    return code;
}

int checkpoint_rows_write(int fd, uint64_t field_at_bytes, const checkpoint_field *f, dtype type, box part, const void *data)
{
    return transfer_rows(fd, true, field_at_bytes, f, type, part, (void *)data);
}

int checkpoint_rows_read(int fd, uint64_t field_at_bytes, const checkpoint_field *f, dtype type, box part, void *data)
{
    return transfer_rows(fd, false, field_at_bytes, f, type, part, data);
}
