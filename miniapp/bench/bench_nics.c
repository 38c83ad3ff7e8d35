#include "bench/bench_report.h"

#include <stdio.h>

#include "base/cmd.h"
#include "files/figure.h"
#include "ranks/check.h"
#include "ranks/ranks.h"

static int leader_of(const hosts *w, int host) { return w->rank[w->begin[host]]; }

static bool leads(const topology *t)
{
    return t->hosts > 1 && t->rank == leader_of(t->where, t->where->of[t->rank]);
}

void bench_nics_begin(bench_nics *n)
{
    n->counted = true;
    if (leads(n->top)) nics_read(&n->before, sysfs_root());
}

void bench_nics_end(bench_nics *n)
{
    nics after;
    if (!leads(n->top)) return;
    nics_read(&after, sysfs_root());
    nics_add(&n->sent, &n->before, &after);
}

static void set_line(const bench_nics *n, sentence *line)
{
    sentence_set(line, "NICs of %s %s", n->top->host,
                 n->sent.count > 0 ? "sent" : "are unknown: /sys/class names none");
    for (int i = 0; i < n->sent.count; i++)
        sentence_add(line, "%s %s %s", i ? "," : "", n->sent.nic[i].name,
                     figure_bytes((double)n->sent.nic[i].sent_bytes).text);
}

static void print_line(const topology *t, int leader, sentence *line)
{
    if (t->rank == leader && leader > 0) MPI_CHECK(MPI_Send(line, sizeof *line, MPI_BYTE, 0, 0, t->comm));
    if (t->rank > 0) return;
    if (leader > 0) MPI_CHECK(MPI_Recv(line, sizeof *line, MPI_BYTE, leader, 0, t->comm, MPI_STATUS_IGNORE));
    printf("%s\n", line->text);
}

void bench_nics_report(const bench_nics *n, bool quiet)
{
    enum { HOSTS_PRINTED = 16 };
    const topology *t = n->top;
    sentence line, idle, words;
    if (t->hosts == 1 || !n->counted) return;
    set_line(n, &line);
    for (int h = 0; h < t->hosts && h < HOSTS_PRINTED && !quiet; h++)
        print_line(t, leader_of(t->where, h), &line);
    const bool some = leads(t) && nics_idle(&n->sent, &words);
    if (some)
        sentence_set(&idle, "on %s %s: UCX_NET_DEVICES, btl_tcp_if_include and NCCL_IB_HCA choose NICs",
                     t->host, words.text);
    if (!agree_or_say(!some, &idle, t->comm)) (void)cmd_say(0, "%s", idle.text);
}
