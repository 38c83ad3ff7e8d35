/* A state file's structure as bytes: HDF5 makes it in a scratch file (in /dev/shm; the fields' data are holes, which take
 * nothing), and what lies between the fields' data is read out of it. So the file system of the checkpoints is touched by no
 * HDF5 call, and whoever writes the bytes need not know HDF5. HDF5 wants a name: it refuses /proc/self/fd of a nameless file. */
#include "state/checkpoint_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/crc32c.h"
#include "state/checkpoint_directory.h"
#include "state/checkpoint_h5.h"
#include "state/checkpoint_rows.h"

/* Datasets are allocated in the order of the fields: checked here, relied on below. */
static bool find_gaps(checkpoint_image *image, const checkpoint_state *s)
{
    uint64_t at = 0;
    for (int i = 0; i <= s->fields; i++) {
        const uint64_t next = i < s->fields ? image->layout.field_at_bytes[i] : image->file_bytes;
        if (next < at) return false;
        image->gap[i].at_bytes = at;
        image->gap[i].bytes = next - at;
        if (i < s->fields) at = next + checkpoint_field_bytes(s, i);
    }
    return true;
}

static size_t image_bytes(const checkpoint_image *image)
{
    size_t bytes = 0;
    for (int i = 0; i <= CHECKPOINT_FIELDS_MAX; i++) bytes += image->gap[i].bytes;
    return bytes;
}

/* 0 or errno, of the first that fails. */
static int each_gap(const checkpoint_image *image, int fd, int (*take)(int fd, char *of_image, size_t bytes, uint64_t at_bytes))
{
    char *of_image = image->bytes;
    int code = 0;
    for (int i = 0; i <= CHECKPOINT_FIELDS_MAX && !code; i++) {
        code = take(fd, of_image, image->gap[i].bytes, image->gap[i].at_bytes);
        of_image += image->gap[i].bytes;
    }
    return code;
}

static int read_gap(int fd, char *to, size_t bytes, uint64_t at_bytes) { return checkpoint_pread(fd, to, bytes, at_bytes); }

static int read_gaps(checkpoint_image *image, int fd)
{
    image->bytes = malloc(image_bytes(image) + CHECKPOINT_SEAL_BYTES);
    return image->bytes ? each_gap(image, fd, read_gap) : ENOMEM;
}

/* Behind the last gap. */
static void add_seal(checkpoint_image *image, int fields)
{
    checkpoint_seal_put((unsigned char *)image->bytes + image_bytes(image), image->gap, fields + 1, image->bytes);
    image->gap[fields].bytes += CHECKPOINT_SEAL_BYTES;
    image->file_bytes += CHECKPOINT_SEAL_BYTES;
}

/* In a scratch file in that folder. */
static checkpoint_status make_in(const char *folder, checkpoint_image *image, const checkpoint_state *s, const checkpoint_sums *sums,
                                 sentence *why)
{
    char name[CHECKPOINT_PATH_BYTES];
    struct stat info;
    snprintf(name, sizeof name, "%s/weft_structure_XXXXXX", folder);
    const int fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0) return checkpoint_file_failed("make a scratch file in", folder, errno, why);
    checkpoint_status status = checkpoint_structure_write(name, s, sums, &image->layout, why);
    unlink(name);
    if (status == CHECKPOINT_OK) {
        int code = fstat(fd, &info) != 0 ? errno : 0;
        image->file_bytes = code ? 0 : (uint64_t)info.st_size;
        if (!code) code = find_gaps(image, s) ? read_gaps(image, fd) : EINVAL;
        if (code) status = checkpoint_file_failed("copy", "HDF5's structure", code, why);
        else add_seal(image, s->fields);
    }
    close(fd);
    if (status != CHECKPOINT_OK) checkpoint_image_free(image);
    return status;
}

checkpoint_status checkpoint_image_make(checkpoint_image *image, const checkpoint_state *s, const checkpoint_sums *sums, sentence *why)
{
    const char *const folder[] = { "/dev/shm", "/tmp", getenv("TMPDIR") }; /* one may be full or read-only */
    checkpoint_status status = CHECKPOINT_IO;
    checkpoint_h5_quiet();
    for (size_t i = 0; i < sizeof folder / sizeof *folder && status != CHECKPOINT_OK; i++) {
        *image = (checkpoint_image){ .bytes = NULL };
        if (folder[i]) status = make_in(folder[i], image, s, sums, why);
    }
    return status;
}

void checkpoint_image_free(checkpoint_image *image)
{
    free(image->bytes);
    image->bytes = NULL;
}

static int write_gap(int fd, char *from, size_t bytes, uint64_t at_bytes) { return checkpoint_pwrite(fd, from, bytes, at_bytes); }

static int compare_gap(int fd, char *wanted, size_t bytes, uint64_t at_bytes)
{
    char *found = malloc(bytes ? bytes : 1);
    int code = found ? checkpoint_pread(fd, found, bytes, at_bytes) : ENOMEM;
    if (!code && memcmp(found, wanted, bytes) != 0) code = EIO;
    free(found);
    return code;
}

int checkpoint_image_write(const checkpoint_image *image, int fd)
{
    return ftruncate(fd, (off_t)image->file_bytes) != 0 ? errno : each_gap(image, fd, write_gap);
}

int checkpoint_image_compare(const checkpoint_image *image, int fd) { return each_gap(image, fd, compare_gap); }

uint32_t checkpoint_image_crc(const checkpoint_image *image) { return crc32c(0, image->bytes, image_bytes(image)); }

int checkpoint_image_found_crc(const checkpoint_state *s, const checkpoint_layout *l, uint64_t file_bytes, int fd, uint32_t *crc)
{
    checkpoint_image found;
    memset(&found, 0, sizeof found);
    found.layout = *l;
    found.file_bytes = file_bytes;
    const int code = find_gaps(&found, s) ? read_gaps(&found, fd) : EINVAL;
    if (!code) *crc = checkpoint_image_crc(&found);
    checkpoint_image_free(&found);
    return code;
}
