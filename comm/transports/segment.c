/* A rank opens what a neighbour made through /proc/PID/fd, where the kernel tells the name that the maker
 * gave. In another container that number stands for something else, or nothing, and the name differs: so
 * nothing foreign is ever opened. */
#include "transports/message.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "ranks/check.h"
#include "ranks/ranks.h"

/* The offer of a rank to the neighbour of a link; plain bytes, all 0 for no segment. */
typedef struct offer {
    int64_t bytes; /* of both sides */
    int64_t at;    /* of the link's cells in a side */
    int pid, fd;
    uint64_t token; /* in the name */
} offer;

enum { NAME_BYTES = 32 };

static void name_of(uint64_t token, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "weft.%016llx", (unsigned long long)token);
}

static segment map(device *d, int fd, int64_t bytes)
{
    void *p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) return (segment){ 0 };
    if (d->pin(d, p, (size_t)bytes) == 0) return (segment){ p, bytes };
    (void)munmap(p, (size_t)bytes);
    return (segment){ 0 };
}

static void unmap(device *d, segment *s)
{
    if (!s->base) return;
    DEVICE_CALL(d, unpin, s->base);
    (void)munmap(s->base, (size_t)s->bytes);
    s->base = NULL;
}

/* The file stays open until all have mapped it; -1, and no segment, where there is none to be had. */
static int make(device *d, int64_t bytes, segment *out, offer *to_all)
{
    char name[NAME_BYTES];
    uint64_t token;
    if (getrandom(&token, sizeof token, 0) != sizeof token) return -1;
    name_of(token, name);
    const int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0) return -1;
    if (ftruncate(fd, bytes) == 0) *out = map(d, fd, bytes);
    if (out->base) *to_all = (offer){ .bytes = bytes, .pid = (int)getpid(), .fd = fd, .token = token };
    return fd;
}

static segment open_there(device *d, const offer *o)
{
    char path[64], name[NAME_BYTES], wanted[64], found[64] = "";
    if (o->bytes == 0) return (segment){ 0 };
    snprintf(path, sizeof path, "/proc/%d/fd/%d", o->pid, o->fd);
    name_of(o->token, name);
    snprintf(wanted, sizeof wanted, "/memfd:%s (deleted)", name);
    if (readlink(path, found, sizeof found - 1) < 0 || strcmp(found, wanted) != 0) return (segment){ 0 };
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return (segment){ 0 };
    const segment s = map(d, fd, o->bytes);
    (void)close(fd);
    return s;
}

/* The neighbour's segment, which is opened for the first of its links. */
static const char *opened(segments *s, const transport_links *on, int i, const offer *theirs)
{
    int first = 0;
    while (on->link[first].rank != on->link[i].rank) first++;
    if (first == i) s->opened[i] = open_there(s->d, theirs);
    return s->opened[first].base;
}

/* Which links stay on this host; returns how many. */
static int find_near(const transport_links *on, int *near)
{
    hosts *h = hosts_create(on->comm);
    int nears = 0;
    for (int i = 0; i < on->count; i++)
        nears += near[i] = h->of[on->link[i].rank] == h->of[ranks_mine(on->comm)];
    hosts_destroy(&h);
    return nears;
}

segments segments_create(const transport_links *on, const int64_t *at, int64_t side_bytes, bool wanted)
{
    segments s = { .d = on->d };
    offer own = { 0 }, mine[PACK_PIECES_MAX] = { 0 }, theirs[PACK_PIECES_MAX];
    int near[PACK_PIECES_MAX], works[PACK_PIECES_MAX] = { 0 }, works_there[PACK_PIECES_MAX], fd = -1;
    if (!agree_any(wanted, on->comm)) return s; /* short messages: no need to know who is near */
    if (find_near(on, near) > 0 && wanted) fd = make(s.d, 2 * side_bytes, &s.own, &own);
    for (int i = 0; i < on->count && s.own.base; i++) {
        if (near[i]) mine[i] = own;
        mine[i].at = at[i];
    }
    message_swap(on, mine, theirs, sizeof *mine);
    for (int i = 0; i < on->count && s.own.base; i++) {
        const char *base = near[i] ? opened(&s, on, i, &theirs[i]) : NULL;
        works[i] = base != NULL;
        for (int side = 0; side < 2 && base; side++)
            s.there[i][side] = base + side * (theirs[i].bytes / 2) + theirs[i].at;
    }
    message_swap(on, works, works_there, sizeof *works);
    for (int i = 0; i < on->count; i++)
        if (!works_there[i]) s.there[i][0] = s.there[i][1] = NULL;
    if (fd >= 0) (void)close(fd);
    return s;
}

void segments_destroy(segments *s)
{
    for (int i = 0; i < PACK_PIECES_MAX; i++) unmap(s->d, &s->opened[i]);
    unmap(s->d, &s->own);
}
