#include "check/lifeline.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ranks/check.h"
#include "ranks/timer.h"

/* ms: a stranger that says nothing holds rank 0 up for HELLO_MS */
enum { ADDRESSES = 6, CONNECT_MS = 500, HELLO_MS = 200, ECHO_MS = 5000 };
/* bytes on a connection; what is less is a status to leave with */
enum { ASK = 0x80, ANSWER, END, STOP, STOP_AT_ONCE };

typedef struct place { /* where a rank listens: whoever runs sees its kernel accept a connection there */
    uint32_t address[ADDRESSES]; /* 0: none; the last ones reach it from its own host alone */
    uint16_t port;
} place;

typedef struct hello {
    uint64_t token; /* of the job: strangers, and other jobs' ranks behind an address that many hosts have,
                     * do not know it */
    int64_t rank;
} hello;

typedef struct news { /* of a rank */
    bool lost, answered;
} news;

struct lifeline {
    int rank, ranks;
    uint64_t token;
    place *place; /* [ranks] */
    int listens;  /* a descriptor, or -1 */
    struct pollfd *to; /* [ranks]: on rank 0 to each rank, and the first one listens; on the others to rank
                        * 0 alone; fd -1: there is none */
    news *of;     /* [ranks], on rank 0 */
    int stop;     /* on rank 0: what a rank asked for, or 0 */
    bool tried;   /* to connect, on the others; */
    int said;     /* by rank 0 */
};

/* ---- sockets ---- */

static struct sockaddr_in name_of(uint32_t address, uint16_t port)
{
    return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = address };
}

/* This host's addresses, those of the loopback last. */
static void find_addresses(place *p)
{
    struct ifaddrs *all = NULL;
    int count = 0;
    if (getifaddrs(&all) != 0) return;
    for (int loopback = 0; loopback < 2; loopback++)
        for (const struct ifaddrs *i = all; i && count < (loopback ? ADDRESSES : ADDRESSES - 1);
             i = i->ifa_next) {
            if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || !(i->ifa_flags & IFF_UP)) continue;
            if (!!(i->ifa_flags & IFF_LOOPBACK) != loopback) continue;
            p->address[count++] = ((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr.s_addr;
        }
    freeifaddrs(all);
}

/* A descriptor, or -1. */
static int listen_at(place *p)
{
    struct sockaddr_in name = name_of(htonl(INADDR_ANY), 0);
    socklen_t bytes = sizeof name;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    find_addresses(p);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&name, bytes) == 0 && listen(fd, SOMAXCONN) == 0 &&
        getsockname(fd, (struct sockaddr *)&name, &bytes) == 0) {
        p->port = name.sin_port;
        return fd;
    }
    if (fd >= 0) close(fd);
    return -1;
}

static bool comes(int fd, short what, int wait_ms)
{
    struct pollfd one = { .fd = fd, .events = what };
    int code;
    do code = poll(&one, 1, wait_ms);
    while (code < 0 && errno == EINTR);
    return code == 1;
}

/* A descriptor, or -1. */
static int connect_to(uint32_t address, uint16_t port)
{
    const struct sockaddr_in name = name_of(address, port);
    int error = 0;
    socklen_t bytes = sizeof error;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    if (connect(fd, (const struct sockaddr *)&name, sizeof name) == 0) return fd;
    if (errno == EINPROGRESS && comes(fd, POLLOUT, CONNECT_MS) &&
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 && !error)
        return fd;
    close(fd);
    return -1;
}

static bool say(int fd, const void *what, size_t bytes)
{
    return send(fd, what, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;
}
static bool hear(int fd, void *what, size_t bytes, int wait_ms)
{
    return comes(fd, POLLIN, wait_ms) && recv(fd, what, bytes, 0) == (ssize_t)bytes;
}

static void say_byte(int fd, int byte)
{
    const unsigned char b = (unsigned char)byte;
    if (fd >= 0) (void)say(fd, &b, 1);
}

static void drop(struct pollfd *p)
{
    if (p->fd >= 0) close(p->fd);
    p->fd = -1;
}

/* ---- rank 0 ---- */

static void join(lifeline *l, int rank, int fd)
{
    l->to[rank].fd = fd;
    l->of[rank].answered = true;
}

static void accept_all(lifeline *l)
{
    int fd;
    while ((fd = accept4(l->listens, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        hello h;
        if (hear(fd, &h, sizeof h, HELLO_MS) && h.token == l->token && h.rank > 0 && h.rank < l->ranks &&
            l->to[h.rank].fd < 0 && say(fd, &h, sizeof h))
            join(l, (int)h.rank, fd);
        else close(fd);
    }
}

static void hear_rank(lifeline *l, int rank)
{
    unsigned char byte;
    const ssize_t got = recv(l->to[rank].fd, &byte, 1, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got == 1) {
        l->of[rank].answered = true;
        if ((byte == STOP || byte == STOP_AT_ONCE) && byte > l->stop) l->stop = byte;
    } else {
        l->of[rank].lost = true;
        drop(&l->to[rank]);
    }
}

static void look_as_rank_0(lifeline *l, int wait_ms)
{
    if (poll(l->to, (nfds_t)l->ranks, wait_ms) <= 0) return;
    for (int r = 1; r < l->ranks; r++)
        if (l->to[r].revents) hear_rank(l, r);
    if (l->to[0].revents) accept_all(l);
}

bool lifeline_stop(const lifeline *l, bool at_once) { return l->stop >= (at_once ? STOP_AT_ONCE : STOP); }
bool lifeline_lost(const lifeline *l, int rank) { return l->of[rank].lost; }
bool lifeline_answered(const lifeline *l, int rank) { return rank == 0 || l->of[rank].answered; }

void lifeline_ask(lifeline *l)
{
    for (int r = 1; r < l->ranks; r++) {
        l->of[r].answered = false;
        say_byte(l->to[r].fd, ASK);
    }
}

/* Who closes while something was not read takes back what it said last: so the others close first, or have
 * had their time. */
void lifeline_farewell(lifeline *l, int status)
{
    static const double patience_s = 0.3;
    const double end_s = timer_now_s() + patience_s;
    for (int r = 1; r < l->ranks; r++) say_byte(l->to[r].fd, status == LIFELINE_END ? END : status);
    for (int r = 1; r < l->ranks; r++) {
        unsigned char byte;
        double left_s;
        while (l->to[r].fd >= 0 && (left_s = end_s - timer_now_s()) > 0 &&
               comes(l->to[r].fd, POLLIN, (int)(1e3 * left_s)) && recv(l->to[r].fd, &byte, 1, 0) > 0) {}
    }
}

/* ---- the others ---- */

/* A descriptor, or -1. */
static int connect_to_rank_0(const lifeline *l)
{
    const place *const p = &l->place[0];
    const hello mine = { .token = l->token, .rank = l->rank };
    hello theirs;
    for (int i = 0; i < ADDRESSES && p->address[i]; i++) {
        const int fd = connect_to(p->address[i], p->port);
        if (fd < 0) continue;
        if (say(fd, &mine, sizeof mine) && hear(fd, &theirs, sizeof theirs, ECHO_MS) &&
            theirs.token == l->token)
            return fd;
        close(fd);
    }
    return -1;
}

static void hear_rank_0(lifeline *l)
{
    unsigned char byte;
    const ssize_t got = recv(l->to->fd, &byte, 1, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got == 1 && byte == ASK) {
        say_byte(l->to->fd, ANSWER);
        return;
    }
    l->said = got != 1 ? LIFELINE_LOST : byte == END ? LIFELINE_END : byte;
    drop(l->to);
}

static bool look_as_another(lifeline *l, int wait_ms)
{
    if (!l->tried) l->to->fd = connect_to_rank_0(l);
    l->tried = true;
    if (l->to->fd >= 0 && poll(l->to, 1, wait_ms) > 0) hear_rank_0(l);
    return l->to->fd >= 0;
}

void lifeline_ask_to_stop(lifeline *l, bool at_once) { say_byte(l->to->fd, at_once ? STOP_AT_ONCE : STOP); }
int lifeline_said(const lifeline *l) { return l->said; }

static bool lives(const place *p)
{
    for (int i = 0; i < ADDRESSES && p->address[i]; i++) {
        const int fd = connect_to(p->address[i], p->port);
        if (fd >= 0) close(fd);
        if (fd >= 0) return true;
    }
    return false;
}

bool lifeline_lower_lives(const lifeline *l)
{
    for (int r = 1; r < l->rank; r++)
        if (lives(&l->place[r])) return true;
    return false;
}

/* ---- both ---- */

bool lifeline_look(lifeline *l, int wait_ms)
{
    if (l->rank != 0) return look_as_another(l, wait_ms);
    look_as_rank_0(l, wait_ms);
    return true;
}

/* As many as the user may have, where there would be too few. */
static void allow_descriptors(int ranks)
{
    enum { OTHERS = 256 };
    struct rlimit most;
    if (getrlimit(RLIMIT_NOFILE, &most) != 0 || most.rlim_cur >= (rlim_t)ranks + OTHERS) return;
    most.rlim_cur = most.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &most);
}

lifeline *lifeline_create(MPI_Comm comm)
{
    lifeline *l = CHECK_ALLOC(calloc(1, sizeof *l));
    place mine = { .port = 0 };
    MPI_CHECK(MPI_Comm_rank(comm, &l->rank));
    MPI_CHECK(MPI_Comm_size(comm, &l->ranks));
    l->said = LIFELINE_END;
    l->of = CHECK_ALLOC(calloc((size_t)l->ranks, sizeof *l->of));
    l->place = CHECK_ALLOC(calloc((size_t)l->ranks, sizeof *l->place));
    l->to = CHECK_ALLOC(calloc((size_t)l->ranks, sizeof *l->to));
    for (int r = 0; r < l->ranks; r++) l->to[r] = (struct pollfd){ .fd = -1, .events = POLLIN };
    if (l->rank == 0) allow_descriptors(l->ranks);
    l->listens = listen_at(&mine);
    if (l->rank == 0 && getrandom(&l->token, sizeof l->token, 0) != sizeof l->token)
        l->token = (uint64_t)getpid();
    MPI_CHECK(MPI_Bcast(&l->token, sizeof l->token, MPI_BYTE, 0, comm));
    MPI_CHECK(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, l->place, sizeof mine, MPI_BYTE, comm));
    if (l->rank == 0) l->to[0].fd = l->listens;
    return l;
}

void lifeline_destroy(lifeline **l)
{
    if (!*l) return;
    for (int r = 0; r < (*l)->ranks; r++) drop(&(*l)->to[r]);
    if ((*l)->rank != 0 && (*l)->listens >= 0) close((*l)->listens);
    free((*l)->to);
    free((*l)->of);
    free((*l)->place);
    free(*l);
    *l = NULL;
}
