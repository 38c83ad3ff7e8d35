/* A state file's structure as bytes: HDF5 makes it in a scratch file (in /dev/shm; the fields' data are
 * holes, which take nothing), and what lies between the fields' data is read out of it. So the file system of
 * the checkpoints is touched by no HDF5 call, and whoever writes the bytes need not know HDF5. HDF5 wants a
 * name: it refuses /proc/self/fd of a nameless file.
 *
 * The seal, a state file's last bytes, behind what HDF5 calls its end: a checksum over all that is no field's
 * data. It is compared before HDF5 sees the file, which trusts its input. HDF5 reads only up to its own end,
 * so that every program reads a sealed file; one that HDF5 changes is cut there and has no seal any more,
 * like files of older versions.
 *
 *    0  "WEFTSEAL"
 *    8  version, 1; number of ranges, at most 3
 *   16  three times offset and length of a range: the file from its first byte to the seal, without the
 *       fields' data
 *   64  CRC-32C of the ranges' bytes, one range after another
 *   68  CRC-32C of the 68 bytes before
 *
 * Numbers are little-endian, of 8 bytes offsets and lengths, of 4 bytes the others. */
#include "state/checkpoint_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/crc32c.h"
#include "state/checkpoint_directory.h"
#include "state/checkpoint_h5.h"
#include "state/checkpoint_rows.h"

enum { RANGES = CHECKPOINT_FIELDS_MAX + 1, VERSION = 1, SUPERBLOCK_BYTES = 48, BAND_BYTES = 1 << 20 };

static const char magic[8] = { 'W', 'E', 'F', 'T', 'S', 'E', 'A', 'L' };

typedef struct seal_block { /* as it lies in the file; memory is little-endian too (checkpoint_rows.c) */
    char magic[8];
    uint32_t version, ranges;
    checkpoint_gap range[RANGES];
    uint32_t crc, own_crc;
} seal_block;
_Static_assert(sizeof(seal_block) == CHECKPOINT_SEAL_BYTES && offsetof(seal_block, crc) == 64,
               "the layout above");

static uint32_t own_crc(const seal_block *s) { return crc32c(0, s, offsetof(seal_block, own_crc)); }

/* Its own checksum is right, and it is one that this program knows. */
static bool is_seal(const seal_block *s)
{
    return memcmp(s->magic, magic, sizeof magic) == 0 && s->own_crc == own_crc(s) && s->version == VERSION &&
           s->ranges <= RANGES;
}

/* The end that HDF5 has noted in the first bytes of a file such as weft writes; 0: it is none. */
static uint64_t noted_end(int fd)
{
    static const unsigned char signature[] = { 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n' };
    unsigned char first[SUPERBLOCK_BYTES];
    uint64_t base, end;
    if (checkpoint_pread(fd, first, sizeof first, 0) != 0 || memcmp(first, signature, sizeof signature) != 0)
        return 0;
    memcpy(&base, first + 12, sizeof base);
    memcpy(&end, first + 28, sizeof end);
    return (first[8] == 2 || first[8] == 3) && first[9] == 8 && base == 0 ? end : 0;
}

static int add_range(int fd, uint64_t at, uint64_t bytes, void *room, uint32_t *crc)
{
    int code = 0;
    for (uint64_t done = 0; done < bytes && !code; done += BAND_BYTES) {
        const size_t band = bytes - done < BAND_BYTES ? (size_t)(bytes - done) : BAND_BYTES;
        code = checkpoint_pread(fd, room, band, at + done);
        *crc = crc32c(*crc, room, band);
    }
    return code;
}

/* The checksum of the ranges' bytes as the file has them: 0 or errno; EILSEQ: the ranges do not fit the file.
 * */
static int ranges_crc(int fd, const seal_block *s, uint64_t end, uint32_t *crc)
{
    void *room = malloc(BAND_BYTES);
    uint64_t reached = 0;
    int code = room ? 0 : ENOMEM;
    *crc = 0;
    for (uint32_t i = 0; i < s->ranges && !code; i++) {
        const uint64_t at = s->range[i].at_bytes, bytes = s->range[i].bytes;
        if (at < reached || at > end || bytes > end - at) code = EILSEQ;
        else code = add_range(fd, at, bytes, room, crc);
        reached = at + bytes;
    }
    free(room);
    return code || reached == end ? code : EILSEQ;
}

static checkpoint_status look(int fd, uint64_t file_bytes, const char *path, bool *sealed, sentence *why)
{
    seal_block seal = { .version = 0 };
    uint32_t crc;
    if (file_bytes > sizeof seal) {
        const int code = checkpoint_pread(fd, &seal, sizeof seal, file_bytes - sizeof seal);
        if (code) return checkpoint_file_failed("read", path, code, why);
    }
    if (!is_seal(&seal)) {
        const uint64_t end = noted_end(fd);
        if (end == 0 || end >= file_bytes || file_bytes - end > sizeof seal) return CHECKPOINT_OK;
        return checkpoint_fail(
            CHECKPOINT_DAMAGED, why,
            "%s is damaged: its last %d bytes, the checksum of its structure, are incomplete", path,
            CHECKPOINT_SEAL_BYTES);
    }
    const int code = ranges_crc(fd, &seal, file_bytes - sizeof seal, &crc);
    if (code && code != EILSEQ) return checkpoint_file_failed("read", path, code, why);
    if (code || crc != seal.crc)
        return checkpoint_fail(CHECKPOINT_DAMAGED, why,
                               "%s is damaged: its structure (all but the fields' values) has checksum %08x, "
                               "but the file records %08x",
                               path, crc, seal.crc);
    *sealed = true;
    return CHECKPOINT_OK;
}

checkpoint_status checkpoint_seal_check(const char *path, bool *sealed, sentence *why)
{
    struct stat info;
    checkpoint_status status = CHECKPOINT_OK;
    *sealed = false;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return CHECKPOINT_OK;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
        status = look(fd, (uint64_t)info.st_size, path, sealed, why);
    close(fd);
    return status;
}

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
static int each_gap(const checkpoint_image *image, int fd,
                    int (*take)(int fd, char *of_image, size_t bytes, uint64_t at_bytes))
{
    char *of_image = image->bytes;
    int code = 0;
    for (int i = 0; i <= CHECKPOINT_FIELDS_MAX && !code; i++) {
        code = take(fd, of_image, image->gap[i].bytes, image->gap[i].at_bytes);
        of_image += image->gap[i].bytes;
    }
    return code;
}

static int read_gap(int fd, char *to, size_t bytes, uint64_t at_bytes)
{
    return checkpoint_pread(fd, to, bytes, at_bytes);
}

static int read_gaps(checkpoint_image *image, int fd)
{
    image->bytes = malloc(image_bytes(image) + CHECKPOINT_SEAL_BYTES);
    return image->bytes ? each_gap(image, fd, read_gap) : ENOMEM;
}

/* Behind the last gap. */
static void add_seal(checkpoint_image *image, int fields)
{
    seal_block s = { .version = VERSION, .ranges = (uint32_t)fields + 1, .crc = checkpoint_image_crc(image) };
    memcpy(s.magic, magic, sizeof magic);
    memcpy(s.range, image->gap, sizeof s.range);
    s.own_crc = own_crc(&s);
    memcpy(image->bytes + image_bytes(image), &s, sizeof s);
    image->gap[fields].bytes += sizeof s;
    image->file_bytes += sizeof s;
}

/* In a scratch file in that folder. */
static checkpoint_status make_in(const char *folder, checkpoint_image *image, const checkpoint_state *s,
                                 const checkpoint_sums *sums, sentence *why)
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

checkpoint_status checkpoint_image_make(checkpoint_image *image, const checkpoint_state *s,
                                        const checkpoint_sums *sums, sentence *why)
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

static int write_gap(int fd, char *from, size_t bytes, uint64_t at_bytes)
{
    return checkpoint_pwrite(fd, from, bytes, at_bytes);
}

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

int checkpoint_image_compare(const checkpoint_image *image, int fd)
{
    return each_gap(image, fd, compare_gap);
}

uint32_t checkpoint_image_crc(const checkpoint_image *image)
{
    return crc32c(0, image->bytes, image_bytes(image));
}

int checkpoint_image_found_crc(const checkpoint_state *s, const checkpoint_layout *l, uint64_t file_bytes,
                               int fd, uint32_t *crc)
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
