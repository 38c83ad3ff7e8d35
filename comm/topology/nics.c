#include "topology/nics.h"

#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t counter(const char *text) { return strtoull(text, NULL, 10); }

static void read_rdma(nic *n, const char *at)
{
    enum { WORD_BYTES = 4 }; /* what port_xmit_data counts */
    char text[64];
    if (sysfs_read(text, sizeof text, "%s/ports/1/state", at) && !strstr(text, "ACTIVE"))
        snprintf(n->link, sizeof n->link, "down");
    else (void)sysfs_read(n->link, sizeof n->link, "%s/ports/1/rate", at);
    for (int port = 1; sysfs_read(text, sizeof text, "%s/ports/%d/counters/port_xmit_data", at, port); port++)
        n->sent_bytes += WORD_BYTES * counter(text);
}

static void read_net(nic *n, const char *at)
{
    char text[64];
    if (sysfs_read(text, sizeof text, "%s/operstate", at) && strcmp(text, "down") == 0)
        snprintf(n->link, sizeof n->link, "down");
    else if (sysfs_read(text, sizeof text, "%s/speed", at) && atoi(text) > 0)
        snprintf(n->link, sizeof n->link, "%d Mb/s", atoi(text));
    if (sysfs_read(text, sizeof text, "%s/statistics/tx_bytes", at)) n->sent_bytes = counter(text);
}

static void add_nic(nics *all, const nic *n)
{
    for (int i = 0; i < all->count; i++) {
        nic *const twin = &all->nic[i];
        if (strcmp(twin->path, n->path) != 0) continue;
        /* what goes over both is counted by both */
        if (n->sent_bytes > twin->sent_bytes) twin->sent_bytes = n->sent_bytes;
        return;
    }
    if (all->count < NICS_MAX) all->nic[all->count++] = *n;
}

static void read_class(nics *all, const char *sysfs, const char *class, void (*read)(nic *n, const char *at))
{
    char pattern[PATH_MAX], text[16];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/class/%s/*/device", sysfs, class);
    if (glob(pattern, 0, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        nic n = { .node = -1 };
        char *const at = dirname(found.gl_pathv[i]);
        snprintf(n.name, sizeof n.name, "%.31s", strrchr(at, '/') + 1);
        if (!sysfs_resolve(n.path, at, "device")) continue;
        if (sysfs_read(text, sizeof text, "%s/numa_node", n.path)) n.node = atoi(text);
        read(&n, at);
        add_nic(all, &n);
    }
    globfree(&found);
}

void nics_read(nics *n, const char *sysfs)
{
    n->count = 0;
    read_class(n, sysfs, "infiniband", read_rdma);
    read_class(n, sysfs, "net", read_net);
}

/* Folders that both paths begin with. */
static int shared_folders(const char *a, const char *b)
{
    int shared = 0;
    size_t i = 0;
    for (; a[i] && a[i] == b[i]; i++) shared += a[i] == '/';
    return shared + ((a[i] == '\0' || a[i] == '/') && (b[i] == '\0' || b[i] == '/'));
}

static int closeness(const nic *n, const char *path, int node)
{
    return 2 * shared_folders(n->path, path) + (node >= 0 && n->node == node);
}

void nics_nearest(const nics *n, const char *path, int node, char *out, size_t bytes)
{
    int best = 0;
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < n->count; i++)
        if (closeness(&n->nic[i], path, node) > best) best = closeness(&n->nic[i], path, node);
    for (int i = 0; i < n->count; i++) {
        const nic *const at = &n->nic[i];
        const char *const mark = strcmp(at->link, "down") == 0 ? " (down)" : "";
        if (closeness(at, path, node) < best || used + strlen(at->name) + strlen(mark) + 2 > bytes) continue;
        used += (size_t)snprintf(out + used, bytes - used, "%s%s%s", used ? "," : "", at->name, mark);
    }
}

void nics_add(nics *sum, const nics *before, const nics *after)
{
    for (int i = 0; i < after->count && i < before->count; i++) {
        const uint64_t sent_bytes = i < sum->count ? sum->nic[i].sent_bytes : 0;
        sum->nic[i] = after->nic[i];
        sum->nic[i].sent_bytes = sent_bytes + after->nic[i].sent_bytes - before->nic[i].sent_bytes;
    }
    sum->count = after->count < before->count ? after->count : before->count;
}

/* The one with an equal link that sent most. */
static const nic *busiest_like(const nics *n, const nic *like)
{
    const nic *most = like;
    for (int i = 0; i < n->count; i++)
        if (strcmp(n->nic[i].link, like->link) == 0 && n->nic[i].sent_bytes > most->sent_bytes)
            most = &n->nic[i];
    return most;
}

bool nics_idle(const nics *sent, sentence *words)
{
    static const uint64_t much_bytes = 1 << 20, little = 100; /* a hundredth */
    const nic *busy = NULL;
    words->text[0] = '\0';
    for (int i = 0; i < sent->count; i++) {
        const nic *const n = &sent->nic[i], *const most = busiest_like(sent, n);
        if (!n->link[0] || strcmp(n->link, "down") == 0) continue;
        if (most->sent_bytes < much_bytes || n->sent_bytes > most->sent_bytes / little) continue;
        sentence_add(words, "%s%s", busy ? ", " : "", n->name);
        busy = most;
    }
    if (busy)
        sentence_add(words, " sent next to nothing, while %s with an equal link (%s) sent much", busy->name,
                     busy->link);
    return busy != NULL;
}
