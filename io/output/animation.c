/* A PNG is a row of chunks: length, name, data, checksum. An animation has one that counts the frames (acTL) in front of the
 * image's data, and behind them, for each frame, how it is shown (fcTL) and its own data (fdAT, which is IDAT behind a sequence
 * number). The frames share size, colours and palette, so that their data are taken over as they are. */
#include "output/animation.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>

#include "files/replace.h"

enum {
    HEADER_BYTES = 13,           /* of IHDR */
    CONTROL_BYTES = 26,          /* of fcTL */
    CHUNK_BYTES_MAX = 64 << 20,  /* a frame's data may be one chunk; libpng's have 8 KiB */
    PATH_BYTES = 4400,
    FRAME_DIGITS = 10
};

static const unsigned char signature[8] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };

typedef struct chunk {
    char name[5];
    uint32_t bytes;
    unsigned char *data; /* with 4 bytes of room in front; owned */
    size_t room;
} chunk;

typedef struct film {
    const char *picture;
    unsigned char header[HEADER_BYTES]; /* of the picture, and so of every frame */
    replace file;
    int code; /* errno of the first write that failed */
    uint32_t sequence;
    chunk c;
    char *why;
    size_t why_bytes;
} film;

static uint32_t load_u32(const unsigned char *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void store_u32(unsigned char *b, uint32_t v)
{
    for (int i = 0; i < 4; i++) b[i] = (unsigned char)(v >> (24 - 8 * i));
}

static bool fail(film *f, const char *path, const char *reason)
{
    snprintf(f->why, f->why_bytes, "cannot animate the picture %.1000s: %.1000s: %s", f->picture, path, reason);
    return false;
}

/* ---- chunks ---- */

static bool read_chunk(FILE *from, chunk *c)
{
    unsigned char head[8], sum[4];
    if (fread(head, 1, sizeof head, from) != sizeof head) return false;
    c->bytes = load_u32(head);
    memcpy(c->name, head + 4, 4);
    if (c->bytes > CHUNK_BYTES_MAX) return false;
    if (c->bytes + 4 > c->room) {
        unsigned char *larger = realloc(c->data, c->bytes + 4);
        if (!larger) return false;
        c->data = larger;
        c->room = c->bytes + 4;
    }
    if (fread(c->data + 4, 1, c->bytes, from) != c->bytes || fread(sum, 1, sizeof sum, from) != sizeof sum) return false;
    const uLong found = crc32(crc32(0, head + 4, 4), c->data + 4, c->bytes);
    return found == load_u32(sum);
}

static void put_bytes(film *f, const void *bytes, size_t count)
{
    if (!f->code && fwrite(bytes, 1, count, f->file.to) != count) f->code = errno;
}

static void put_chunk(film *f, const char *name, const unsigned char *data, uint32_t bytes)
{
    unsigned char head[8], sum[4];
    store_u32(head, bytes);
    memcpy(head + 4, name, 4);
    uLong checksum = crc32(0, head + 4, 4);
    if (bytes > 0) checksum = crc32(checksum, data, bytes); /* of no data at all it would begin anew */
    store_u32(sum, (uint32_t)checksum);
    put_bytes(f, head, sizeof head);
    if (bytes > 0) put_bytes(f, data, bytes);
    put_bytes(f, sum, sizeof sum);
}

/* A PNG, read as far as its header; NULL: no such file, or none. */
static FILE *open_png(const char *path, unsigned char header[HEADER_BYTES], chunk *c)
{
    unsigned char start[sizeof signature];
    FILE *from = fopen(path, "rb");
    if (!from) return NULL;
    const bool ok = fread(start, 1, sizeof start, from) == sizeof start && memcmp(start, signature, sizeof start) == 0
                    && read_chunk(from, c) && strcmp(c->name, "IHDR") == 0 && c->bytes == HEADER_BYTES;
    if (ok) {
        memcpy(header, c->data + 4, HEADER_BYTES);
        return from;
    }
    fclose(from);
    errno = EINVAL;
    return NULL;
}

/* ---- frames ---- */

/* Bytes in front of the ending; 0: another ending, or nothing but it. */
static size_t stem_bytes(const char *picture)
{
    const char *const name = strrchr(picture, '/') ? strrchr(picture, '/') + 1 : picture, *const dot = strrchr(name, '.');
    const bool png = dot && dot > name && (strcasecmp(dot, ".png") == 0 || strcasecmp(dot, ".apng") == 0);
    return png ? (size_t)(dot - picture) : 0;
}

bool animation_is_png(const char *picture) { return stem_bytes(picture) > 0; }

bool animation_folder(char *out, size_t out_bytes, const char *picture)
{
    const size_t stem = stem_bytes(picture);
    return snprintf(out, out_bytes, "%.*s.frames", (int)(stem ? stem : strlen(picture)), picture) < (int)out_bytes;
}

void animation_frame(char *out, size_t out_bytes, const char *folder, int64_t step)
{
    snprintf(out, out_bytes, "%s/%010lld.png", folder, (long long)step);
}

/* NNNNNNNNNN.png, or what a dead run called it while it wrote it. -1: no frame. */
static int64_t step_of_frame(const char *name)
{
    if (strspn(name, "0123456789") != FRAME_DIGITS || strncmp(name + FRAME_DIGITS, ".png", 4) != 0) return -1;
    const char *const behind = name + FRAME_DIGITS + 4;
    return *behind == '\0' ? strtoll(name, NULL, 10) : strncmp(behind, ".tmp", 4) == 0 ? INT64_MAX : -1;
}

int animation_clear(const char *folder, int64_t last)
{
    DIR *const all = opendir(folder);
    int code = all ? 0 : errno;
    for (const struct dirent *e; all && (e = readdir(all));)
        if (step_of_frame(e->d_name) > last && unlinkat(dirfd(all), e->d_name, 0) != 0 && !code) code = errno;
    if (all) closedir(all);
    return code;
}

static FILE *open_frame(film *f, const char *folder, int64_t step)
{
    char path[PATH_BYTES + 32];
    unsigned char header[HEADER_BYTES];
    animation_frame(path, sizeof path, folder, step);
    FILE *from = open_png(path, header, &f->c);
    if (!from || memcmp(header, f->header, HEADER_BYTES) == 0) return from;
    fclose(from); /* left by another run */
    return NULL;
}

static void put_control(film *f)
{
    unsigned char control[CONTROL_BYTES] = { 0 }; /* at 0, 0; what was there before is painted over */
    store_u32(control, f->sequence++);
    memcpy(control + 4, f->header, 8); /* width and height */
    control[21] = 1;
    control[23] = ANIMATION_FRAMES_A_SECOND;
    put_chunk(f, "fcTL", control, CONTROL_BYTES);
}

static bool put_frame(film *f, FILE *from)
{
    put_control(f);
    while (read_chunk(from, &f->c)) {
        if (strcmp(f->c.name, "IEND") == 0) return true;
        if (strcmp(f->c.name, "IDAT") != 0) continue;
        store_u32(f->c.data, f->sequence++);
        put_chunk(f, "fdAT", f->c.data, f->c.bytes + 4);
    }
    return false;
}

/* The picture as it was, but for its end and for the count of frames in front of its data; of an animation, without its frames. */
static bool put_picture(film *f, FILE *from, int64_t frames)
{
    unsigned char count[8] = { 0 }; /* the second half: shown for ever */
    store_u32(count, (uint32_t)frames);
    put_bytes(f, signature, sizeof signature);
    put_chunk(f, "IHDR", f->header, HEADER_BYTES);
    put_chunk(f, "acTL", count, sizeof count);
    while (read_chunk(from, &f->c)) {
        if (strcmp(f->c.name, "IEND") == 0) return true;
        if (strcmp(f->c.name, "acTL") == 0 || strcmp(f->c.name, "fcTL") == 0 || strcmp(f->c.name, "fdAT") == 0) continue;
        put_chunk(f, f->c.name, f->c.data + 4, f->c.bytes);
    }
    return false;
}

static int64_t count_frames(film *f, const char *folder, int64_t every, int64_t last)
{
    int64_t frames = 0;
    for (int64_t step = 0; step <= last; step += every) {
        FILE *from = open_frame(f, folder, step);
        if (!from) continue;
        frames++;
        fclose(from);
    }
    return frames;
}

/* Until a write fails. */
static bool put_frames(film *f, const char *folder, int64_t every, int64_t last)
{
    char path[PATH_BYTES + 32];
    for (int64_t step = 0; step <= last && !f->code; step += every) {
        FILE *from = open_frame(f, folder, step);
        if (!from) continue;
        const bool whole = put_frame(f, from);
        fclose(from);
        animation_frame(path, sizeof path, folder, step);
        if (!whole) return fail(f, path, "a damaged frame");
    }
    return true;
}

static bool put_all(film *f, FILE *from, const char *folder, int64_t every, int64_t last, int64_t frames)
{
    f->code = replace_begin(&f->file, f->picture);
    if (f->code) return fail(f, f->picture, strerror(f->code));
    bool read = put_picture(f, from, frames) || fail(f, f->picture, "a damaged picture");
    if (read) read = put_frames(f, folder, every, last);
    put_chunk(f, "IEND", NULL, 0);
    const int end_code = replace_end(&f->file, read && !f->code);
    if (!f->code) f->code = end_code;
    return read && (!f->code || fail(f, f->file.tmp, strerror(f->code)));
}

bool animation_write(const char *picture, int64_t every, int64_t last, int64_t *frames, char *why, size_t why_bytes)
{
    char folder[PATH_BYTES];
    film f = { .picture = picture, .why = why, .why_bytes = why_bytes };
    *frames = 0;
    FILE *from = open_png(picture, f.header, &f.c);
    bool ok = from || fail(&f, picture, strerror(errno));
    if (ok && animation_folder(folder, sizeof folder, picture)) {
        *frames = count_frames(&f, folder, every, last);
        if (*frames > 0) ok = put_all(&f, from, folder, every, last, *frames);
    }
    if (from) fclose(from);
    free(f.c.data);
    return ok;
}
