/* Cells out of parts: a block at a time, each compared with its CRC-32C. */
#include "state/state_index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/device_host.h"
#include "files/crc32c.h"
#include "files/replace.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "state/state_folder.h"

enum { PART_BYTES = 512 }; /* of a part's name in a sentence */

/* ---- parts ---- */

/* "part 3 (PATH)", or of one file "it". */
static const char *say_part(const state_info *s, int k, char out[PART_BYTES])
{
    char path[STATE_PATH_BYTES];
    state_part_path(s, k, path);
    if (s->folder[0]) snprintf(out, PART_BYTES, "part %d (%.400s)", k, path);
    else snprintf(out, PART_BYTES, "it");
    return out;
}

/* Is this file the part that was written? NULL, or what it is not; also NULL where *code is errno of a read
 * that failed. Of one file the trailer has told. */
static const char *find_fault(const state_info *s, int k, int fd, int *code)
{
    const state_part *p = &s->part[k];
    struct stat info;
    uint32_t crc;
    if (!s->folder[0]) return NULL;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return "is no file";
    if (info.st_size != p->bytes) return "has another length than was written";
    *code = state_structure_crc(s, k, fd, p->bytes, &crc);
    return *code || crc == p->structure_crc ? NULL : "is another part, or its structure is damaged";
}

/* DAMAGED: it is not there or another; IO: it may be whole, but cannot be read. */
static state_status open_part(const state_info *s, int k, int *fd, sentence *why)
{
    char path[STATE_PATH_BYTES], part[PART_BYTES];
    state_part_path(s, k, path);
    *fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    int code = *fd < 0 ? errno : 0;
    const bool missing = code == ENOENT || code == ENOTDIR;
    if (missing && !s->folder[0]) /* rank 0 has read it */
        return sentence_fail(STATE_MISSING, why, "%s: no such file", path);
    const char *const fault = missing ? "is not there" : code ? NULL : find_fault(s, k, *fd, &code);
    if (!fault && !code) return STATE_OK;
    if (*fd >= 0) close(*fd);
    if (!fault)
        return sentence_fail(STATE_IO, why, "%.700s: %s cannot be read: %s", s->path, say_part(s, k, part),
                             strerror(code));
    return sentence_fail(STATE_DAMAGED, why, "%s %s", say_part(s, k, part), fault);
}

/* ---- blocks: rows of a part's rectangle, or a piece of one, which lie together in its file ---- */

static box block_of(const state_info *s, int k, int i, int64_t n)
{
    return state_piece(s->part[k].of[i].cells, s->type, 1, n);
}

/* Block n of field i in part k, into buffer, which has room for it. DAMAGED, or IO with why. */
static state_status read_block(const state_info *s, int k, int i, int64_t n, int fd, void *buffer,
                               sentence *why)
{
    const state_part *p = &s->part[k];
    const box cells = block_of(s, k, i, n);
    const size_t word = dtype_bytes(s->type), bytes = (size_t)box_cells(cells) * word;
    const uint64_t at =
        (uint64_t)p->of[i].at_bytes + (uint64_t)box_at(p->of[i].cells, cells.x0, cells.y0) * word;
    const uint32_t wanted = s->crc[p->block[i] + n];
    const bool rows = s->field[i].ny > 1;
    char part[PART_BYTES];
    const int code = replace_pread(fd, buffer, bytes, at);
    if (code)
        return sentence_fail(STATE_IO, why, "%.600s: %s cannot be read: %s", s->path, say_part(s, k, part),
                             strerror(code));
    const uint32_t crc = crc32c(0, buffer, bytes);
    if (crc == wanted) return STATE_OK;
    return sentence_fail(
        STATE_DAMAGED, why,
        "%s%sblock %" PRId64 ", %s %" PRId64 " .. %" PRId64 " of /fields/%s: CRC-32C %08x instead of %08x",
        s->folder[0] ? say_part(s, k, part) : "", s->folder[0] ? ", " : "", n, rows ? "rows" : "columns",
        rows ? cells.y0 : cells.x0, (rows ? cells.y1 : cells.x1) - 1, s->field[i].name, crc, wanted);
}

/* Copies the block's cells that are in `wanted`, whose dense rows are at data. */
static void copy_out(dtype t, box has, const char *buffer, box wanted, char *data)
{
    const int64_t word = (int64_t)dtype_bytes(t);
    const box both = box_intersect(has, wanted);
    for (int64_t y = both.y0; y < both.y1; y++)
        memcpy(data + box_at(wanted, both.x0, y) * word, buffer + box_at(has, both.x0, y) * word,
               (size_t)(box_width(both) * word));
}

/* ---- a rectangle ---- */

static state_status read_from_part(const state_info *s, int k, int i, box wanted, char *buffer, void *data,
                                   sentence *why)
{
    const box cells = s->part[k].of[i].cells, both = box_intersect(cells, wanted);
    int fd;
    if (box_empty(both)) return STATE_OK;
    state_status status = open_part(s, k, &fd, why);
    if (status != STATE_OK) return status;
    /* those of the rows in front, of which the last may have some of both, and those up to its end */
    const int64_t above = state_blocks(box_make(cells.x0, cells.x1, cells.y0, both.y0), s->type),
                  end = state_blocks(box_make(cells.x0, cells.x1, cells.y0, both.y1), s->type);
    for (int64_t n = above > 0 ? above - 1 : 0; n < end && status == STATE_OK; n++) {
        const box block = block_of(s, k, i, n);
        if (box_empty(box_intersect(block, both))) continue;
        status = read_block(s, k, i, n, fd, buffer, why);
        if (status == STATE_OK) copy_out(s->type, block, buffer, wanted, data);
    }
    close(fd);
    return status;
}

static state_status is_damaged(const state_info *s, sentence *why)
{
    const sentence copy = *why;
    return sentence_fail(STATE_DAMAGED, why, "%.600s is damaged: %s", s->path, copy.text);
}

state_status state_read(const state_info *s, int i, box cells, void *data, sentence *why)
{
    state_status status = STATE_OK;
    char *const buffer = CHECK_ALLOC(malloc(STATE_BLOCK_BYTES));
    for (int k = 0; k < s->parts && status == STATE_OK; k++)
        status = read_from_part(s, k, i, cells, buffer, data, why);
    free(buffer);
    return status == STATE_DAMAGED ? is_damaged(s, why) : status;
}

/* ---- a level ---- */

/* The part of a fingerprint that the cells `own` of a field nx cells wide add: a sum mod 2^64. */
static uint64_t fingerprint_share(dtype t, const void *data, box own, int64_t nx)
{
    enum { RUN_CELLS = 4096 }; /* threads share out pieces of rows: in 1D there is one row */
    const int64_t width = box_width(own), height = box_height(own);
    uint64_t sum = 0;
#pragma omp parallel for collapse(2) reduction(+ : sum)
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x += RUN_CELLS) {
            const char *const run = (const char *)data + (size_t)(y * width + x) * dtype_bytes(t);
            const uint64_t linear = (uint64_t)((own.y0 + y) * nx + own.x0 + x);
            sum += fingerprint_host_row(t, run, linear, width - x < RUN_CELLS ? width - x : RUN_CELLS);
        }
    return sum;
}

/* True: the sentence says which differs. */
static bool other_fingerprint(const state_info *s, const uint64_t found[STATE_FIELDS_MAX], sentence *what)
{
    for (int i = 0; i < s->fields; i++) {
        if (found[i] == s->field[i].fingerprint) continue;
        sentence_set(what, "/fields/%s has fingerprint %016" PRIx64 ", but the index records %016" PRIx64,
                     s->field[i].name, found[i], s->field[i].fingerprint);
        return true;
    }
    return false;
}

state_status state_load(MPI_Comm comm, const state_info *s, state_level *l, sentence *why)
{
    uint64_t found[STATE_FIELDS_MAX] = { 0 };
    const state_info wanted = state_of_level(l);
    if (!state_is_alike(s, &wanted))
        return sentence_fail(STATE_DAMAGED, why, "%s is damaged: its fields are not those of its deck",
                             s->path);
    state_status status = STATE_OK;
    for (int i = 0; i < l->fields && status == STATE_OK; i++) {
        const state_cells *f = &l->field[i];
        status = state_read(s, i, f->own, f->data, why);
        if (status == STATE_OK) found[i] = fingerprint_share(s->type, f->data, f->own, f->nx);
    }
    status = state_agree(comm, status, why);
    if (status != STATE_OK) return status;
    MPI_CHECK(ranks_allreduce(found, STATE_FIELDS_MAX, MPI_UINT64_T, MPI_SUM, comm));
    l->step = s->step;
    return other_fingerprint(s, found, why) ? is_damaged(s, why) : STATE_OK;
}

/* ---- all of it ---- */

static void add_damage(state_report *r, const char *text)
{
    if (r->damaged++ == 0) sentence_set(&r->first, "%s", text);
}

state_status state_look_at(const state_info *s, int k, uint64_t fingerprint[STATE_FIELDS_MAX],
                           state_report *r, sentence *why)
{
    int fd;
    state_status status = open_part(s, k, &fd, why);
    if (status == STATE_DAMAGED) add_damage(r, why->text);
    if (status != STATE_OK) return status;
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* read from where it was written to */
    char *const buffer = CHECK_ALLOC(malloc(STATE_BLOCK_BYTES));
    for (int i = 0; i < s->fields; i++)
        for (int64_t n = 0; n < state_blocks(s->part[k].of[i].cells, s->type) && status != STATE_IO; n++) {
            status = read_block(s, k, i, n, fd, buffer, why);
            if (status == STATE_DAMAGED) add_damage(r, why->text);
            if (status == STATE_OK)
                fingerprint[i] += fingerprint_share(s->type, buffer, block_of(s, k, i, n), s->field[i].nx);
        }
    free(buffer);
    close(fd);
    return status != STATE_IO && r->damaged ? STATE_DAMAGED : status;
}

state_status state_verify(MPI_Comm comm, const state_info *s, state_report *r, sentence *why)
{
    const int64_t rank = ranks_mine(comm), ranks = ranks_count(comm);
    uint64_t found[STATE_FIELDS_MAX] = { 0 };
    state_status status = STATE_OK;
    memset(r, 0, sizeof *r);
    for (int64_t k = s->parts * rank / ranks; k < s->parts * (rank + 1) / ranks; k++) {
        status = state_look_at(s, (int)k, found, r, why);
        if (status != STATE_OK && status != STATE_DAMAGED) break;
    }
    status = state_agree(comm, status == STATE_DAMAGED ? STATE_OK : status, why);
    if (status != STATE_OK) return status;
    (void)state_agree(comm, r->damaged ? STATE_DAMAGED : STATE_OK, &r->first); /* ranks have parts in order */
    MPI_CHECK(ranks_allreduce(&r->damaged, 1, MPI_INT64_T, MPI_SUM, comm));
    MPI_CHECK(ranks_allreduce(found, STATE_FIELDS_MAX, MPI_UINT64_T, MPI_SUM, comm));
    if (r->damaged == 0 && other_fingerprint(s, found, why)) add_damage(r, why->text);
    return r->damaged ? STATE_DAMAGED : STATE_OK;
}
