/* A state's geometry, and its table: what an index says, behind HDF5's end, which HDF5 ignores. weft reads
 * the table alone, and compares its checksum before it uses a number of it; the datasets of an index are
 * other programs'. A program that changes the file, or copies its contents elsewhere, drops or breaks the
 * table, and weft then takes the file for a foreign one. */
#include "state/state_index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/crc32c.h"
#include "files/replace.h"
#include "ranks/check.h"
#include "ranks/ranks.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "files hold little-endian numbers, as memory has to");
_Static_assert(offsetof(state_info, path) == 496 && sizeof(state_part) == 112, "the table has no padding");

enum { STEP_DIGITS = 10, DECK_BYTES_MAX = 1 << 20 };

state_info state_of_level(const state_level *l)
{
    state_info s = { .type = l->type, .step = l->step, .fields = l->fields, .main_field = l->main_field };
    snprintf(s.kind, sizeof s.kind, "%s", l->kind);
    snprintf(s.version, sizeof s.version, "%s", l->version ? l->version : "unknown");
    for (int i = 0; i < l->fields; i++) {
        s.field[i] = (state_field){ .nx = l->field[i].nx, .ny = l->field[i].ny };
        snprintf(s.field[i].name, sizeof s.field[i].name, "%s", l->field[i].name);
    }
    return s;
}

/* ---- geometry ---- */

/* Sets the addresses of checksums and deck, which follow from the counts. */
static void find_rest(state_info *s)
{
    s->crc = (uint32_t *)(s->part + s->parts);
    s->deck = (char *)(s->crc + s->blocks);
}

void state_lay_out(state_info *s, const char *deck)
{
    s->blocks = 0;
    for (int k = 0; k < s->parts; k++)
        for (int i = 0; i < s->fields; i++) {
            s->part[k].block[i] = s->blocks;
            s->blocks += state_blocks(s->part[k].of[i].cells, s->type);
        }
    const size_t parts_bytes = (size_t)s->parts * sizeof *s->part,
                 crc_bytes = (size_t)s->blocks * sizeof *s->crc;
    s->rest_bytes = (int64_t)(parts_bytes + crc_bytes + strlen(deck));
    s->part = CHECK_ALLOC(realloc(s->part, (size_t)s->rest_bytes + 1));
    find_rest(s);
    memset(s->crc, 0, crc_bytes);
    strcpy(s->deck, deck);
}

int64_t state_block_bytes = STATE_BLOCK_BYTES;

static int64_t cells_most(dtype t) /* of a block */
{
    const int64_t cells = state_block_bytes / (int64_t)dtype_bytes(t);
    return cells > 0 ? cells : 1;
}

box state_piece(box all, dtype t, int blocks, int64_t n)
{
    const int64_t most = cells_most(t), width = box_width(all);
    if (box_empty(all)) return all;
    if (width > most) { /* pieces of a row */
        const int64_t cells = most * blocks, per_row = (width + cells - 1) / cells,
                      x = all.x0 + n % per_row * cells, y = all.y0 + n / per_row;
        return box_intersect(all, box_make(x, x + cells, y, y + 1));
    }
    const int64_t rows = most / width * blocks, y = all.y0 + n * rows;
    return box_intersect(all, box_make(all.x0, all.x1, y, y + rows));
}

int64_t state_blocks(box b, dtype t)
{
    const int64_t most = cells_most(t), width = box_width(b);
    if (box_empty(b)) return 0;
    if (width > most) return box_height(b) * ((width + most - 1) / most);
    return (box_height(b) + most / width - 1) / (most / width);
}

int state_stem_bytes(const char *path)
{
    const char *const name = basename(path);
    const int length = (int)strlen(name);
    return length > 3 && strcmp(name + length - 3, ".h5") == 0 ? length - 3 : length;
}

void state_part_path(const state_info *s, int k, char out[STATE_PATH_BYTES])
{
    const int beside = (int)(basename(s->path) - s->path);
    if (!s->folder[0]) snprintf(out, STATE_PATH_BYTES, "%s", s->path);
    else snprintf(out, STATE_PATH_BYTES, "%.*s%s/%d.h5", beside, s->path, s->folder, k);
}

void state_path(char *out, size_t out_bytes, const char *dir, int64_t step)
{
    snprintf(out, out_bytes, "%s/step_%0*" PRId64 ".h5", dir, STEP_DIGITS, step);
}

int64_t state_step_of(const char *path)
{
    const char *const name = basename(path);
    if (strncmp(name, "step_", 5) != 0 || strspn(name + 5, "0123456789") != STEP_DIGITS ||
        strcmp(name + 5 + STEP_DIGITS, ".h5") != 0)
        return -1;
    return strtoll(name + 5, NULL, 10);
}

/* ---- what a file has besides cells ---- */

static int crc_of_run(int fd, int64_t from, int64_t to, uint32_t *crc)
{
    static _Thread_local char buffer[64 << 10];
    for (int64_t at = from; at < to;) {
        const size_t bytes = to - at < (int64_t)sizeof buffer ? (size_t)(to - at) : sizeof buffer;
        const int code = replace_pread(fd, buffer, bytes, (uint64_t)at);
        if (code) return code;
        *crc = crc32c(*crc, buffer, bytes);
        at += (int64_t)bytes;
    }
    return 0;
}

int state_structure_crc(const state_info *s, int k, int fd, int64_t bytes, uint32_t *crc)
{
    int64_t at = 0;
    int code = 0;
    *crc = 0;
    for (int i = 0; i < s->fields && k >= 0 && !code; i++) {
        if (box_empty(s->part[k].of[i].cells)) continue;
        code = crc_of_run(fd, at, s->part[k].of[i].at_bytes, crc);
        at = s->part[k].of[i].at_bytes + box_cells(s->part[k].of[i].cells) * (int64_t)dtype_bytes(s->type);
    }
    return code ? code : crc_of_run(fd, at, bytes, crc);
}

/* ---- the table, and a line of text that ends the file ---- */

#define TRAILER "weft state trailer 3 table=%016" PRIx64 " crc32c=%08" PRIx32 " structure=%08" PRIx32 "\n"
enum { TRAILER_BYTES = 79, HEAD_BYTES = offsetof(state_info, path) };

/* Head, parts, checksums of blocks, and the deck, as they lie in memory. */
static uint32_t table_crc(const state_info *s)
{
    return crc32c(crc32c(0, s, HEAD_BYTES), s->part, (size_t)s->rest_bytes);
}

/* The cells of an index over parts are not in it. */
static int cells_in_index(const state_info *s) { return s->folder[0] ? -1 : 0; }

/* The table at [at, end). 0, errno, or EBADMSG: it has not that length. */
static int read_table(int fd, int64_t at, int64_t end, state_info *s)
{
    s->rest_bytes = end - at - HEAD_BYTES;
    const int code = s->rest_bytes < 0 ? EBADMSG : replace_pread(fd, s, HEAD_BYTES, (uint64_t)at);
    if (code) return code;
    if (s->parts < 1 || s->parts > s->rest_bytes / (int64_t)sizeof *s->part) return EBADMSG;
    const int64_t left = s->rest_bytes - s->parts * (int64_t)sizeof *s->part;
    if (s->blocks < 0 || s->blocks > left / (int64_t)sizeof *s->crc) return EBADMSG;
    if (left - s->blocks * (int64_t)sizeof *s->crc > DECK_BYTES_MAX) return EBADMSG;
    s->part = CHECK_CALLOC(s->rest_bytes + 1, 1);
    find_rest(s);
    return replace_pread(fd, s->part, (size_t)s->rest_bytes, (uint64_t)at + HEAD_BYTES);
}

static state_status read_from(int fd, state_info *s, sentence *why)
{
    struct stat info;
    char found[TRAILER_BYTES + 1] = "", line[TRAILER_BYTES + 1];
    uint64_t at = 0;
    uint32_t table = 0, structure = 0, found_structure = 0;
    if (fstat(fd, &info) != 0) return state_file_failed("read", s->path, errno, why);
    const int64_t end = info.st_size - TRAILER_BYTES;
    int code = end < 0 ? 0 : replace_pread(fd, found, TRAILER_BYTES, (uint64_t)end);
    (void)sscanf(found, TRAILER, &at, &table, &structure);
    snprintf(line, sizeof line, TRAILER, at, table, structure);
    if (!code && strcmp(line, found) != 0)
        return sentence_fail(
            STATE_DAMAGED, why,
            "%s is not a whole state of weft: it does not end in a state's trailer (jobs/state makes "
            "one of an older version's file, or of one that another program changed)",
            s->path);
    if (!code) code = at > (uint64_t)end ? EBADMSG : read_table(fd, (int64_t)at, end, s);
    if (!code && (table_crc(s) != table || strchr(s->folder, '/'))) code = EBADMSG;
    if (!code) code = state_structure_crc(s, cells_in_index(s), fd, (int64_t)at, &found_structure);
    if (code && code != EBADMSG) return state_file_failed("read", s->path, code, why);
    if (!code && found_structure == structure) return STATE_OK;
    return sentence_fail(STATE_DAMAGED, why,
                         "%s is damaged: its index has another CRC-32C than its trailer says", s->path);
}

/* s is to be closed in any case. */
static state_status read_index(const char *path, state_info *s, sentence *why)
{
    int fd;
    memset(s, 0, sizeof *s);
    if (readlink(path, s->path, 1) < 0 || !realpath(path, s->path)) /* a link's parts are where it leads to */
        snprintf(s->path, sizeof s->path, "%s", path);
    state_status status = state_file_open(path, &fd, why);
    if (status != STATE_OK) return status;
    status = read_from(fd, s, why);
    close(fd);
    return status;
}

state_status state_index_head(const char *path, state_info *s)
{
    sentence unused;
    const state_status status = read_index(path, s, &unused);
    state_close(s);
    return status;
}

int state_index_end(const char *path, state_info *s)
{
    struct stat info = { .st_size = 0 };
    char line[TRAILER_BYTES + 1];
    uint32_t structure = 0;
    state_info found;
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    int code = fd < 0 || fstat(fd, &info) != 0 ? errno : 0;
    const uint64_t at = (uint64_t)info.st_size, rest_at = at + HEAD_BYTES,
                   rest_bytes = (uint64_t)s->rest_bytes;
    if (!code) code = state_structure_crc(s, cells_in_index(s), fd, info.st_size, &structure);
    snprintf(line, sizeof line, TRAILER, at, table_crc(s), structure);
    if (!code) code = replace_pwrite(fd, s, HEAD_BYTES, at);
    if (!code) code = replace_pwrite(fd, s->part, rest_bytes, rest_at);
    if (!code) code = replace_pwrite(fd, line, TRAILER_BYTES, rest_at + rest_bytes);
    if (!code && fsync(fd) != 0) code = errno;
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* read from where it was written to */
    if (fd >= 0 && close(fd) != 0 && !code) code = errno;
    if (code) return code;
    return state_index_head(path, &found) == STATE_OK ? 0 : EIO;
}

/* ---- opening ---- */

bool state_is_alike(const state_info *a, const state_info *b)
{
    bool alike = strcmp(a->kind, b->kind) == 0 && a->type == b->type && a->fields == b->fields;
    for (int i = 0; i < a->fields && alike; i++)
        alike = strcmp(a->field[i].name, b->field[i].name) == 0 && a->field[i].nx == b->field[i].nx &&
                a->field[i].ny == b->field[i].ny;
    return alike;
}

state_status state_open(MPI_Comm comm, const char *path, state_info *s, sentence *why)
{
    const bool reads = ranks_mine(comm) == 0;
    const int64_t named = state_step_of(path);
    memset(s, 0, sizeof *s);
    state_status status = reads ? read_index(path, s, why) : STATE_OK;
    if (reads && status == STATE_OK && named >= 0 && named != s->step)
        status = sentence_fail(STATE_DAMAGED, why,
                               "%s is damaged: it holds step %" PRId64 " under the name of step %" PRId64,
                               path, s->step, named);
    status = state_agree(comm, status, why);
    if (status != STATE_OK) return status;
    state_part *const part = s->part;
    MPI_CHECK(ranks_bcast(s, sizeof *s, MPI_BYTE, 0, comm));
    s->part = reads ? part : CHECK_CALLOC(s->rest_bytes + 1, 1);
    find_rest(s);
    MPI_CHECK(ranks_bcast(s->part, (int)s->rest_bytes, MPI_BYTE, 0, comm));
    return STATE_OK;
}

void state_close(state_info *s)
{
    free(s->part);
    s->part = NULL;
}
