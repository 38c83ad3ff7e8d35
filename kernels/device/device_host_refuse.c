/* What the host device lacks. Its memory comes from the heap, which no other process can map, so nothing goes from rank to rank but
 * messages; its work runs when it is called, so there is nothing to keep for later. */
#include <errno.h>

#include "device/device_host.h"

/* ---- memory of other processes ---- */

static int no_handle_make(device *d, void *allocation, device_handle *out)
{
    (void)d, (void)allocation, (void)out;
    return ENOTSUP;
}

static int no_handle_open(device *d, const device_handle *h, void **out)
{
    (void)d, (void)h;
    *out = NULL;
    return ENOTSUP;
}

static int no_handle_close(device *d, void *opened)
{
    (void)d, (void)opened;
    return ENOTSUP;
}

static const char *reach_refusal(device *d, const char *uuid)
{
    (void)d, (void)uuid;
    return "the host device shares no memory between ranks";
}

static bool no_inkernel(device *d, bool change)
{
    (void)d, (void)change;
    return false;
}

static int no_peer_exchange(device *d, const field_shape *f, void *field, const device_link *links, int count, device_stream *s)
{
    (void)d, (void)f, (void)field, (void)links, (void)count, (void)s;
    return ENOTSUP;
}

static int no_ranks_meet(device *d, const device_meeting *m, device_stream *s)
{
    (void)d, (void)m, (void)s;
    return ENOTSUP;
}

static int no_transpose_parts(device *d, dtype t, const transpose_call *call, int flags, device_stream *s)
{
    (void)d, (void)t, (void)call, (void)flags, (void)s;
    return ENOTSUP;
}

/* ---- graphs ---- */

static const char *graph_refusal(device *d)
{
    (void)d;
    return "the host device runs work at once and has no graphs";
}

static int no_graph_begin(device *d, device_stream *s)
{
    (void)d, (void)s;
    return ENOTSUP;
}

static int no_graph_end(device *d, device_stream *s, device_graph **out)
{
    (void)d, (void)s;
    *out = NULL;
    return ENOTSUP;
}

static int no_graph_launch(device *d, device_graph *g, device_stream *s)
{
    (void)d, (void)g, (void)s;
    return ENOTSUP;
}

static int destroy_no_graph(device *d, device_graph **g)
{
    (void)d;
    *g = NULL;
    return 0;
}

void device_host_refuse(device *d)
{
    d->handle_make = no_handle_make;
    d->handle_open = no_handle_open;
    d->handle_close = no_handle_close;
    d->reach_refusal = reach_refusal;
    d->stencil_inkernel_can = no_inkernel;
    d->peer_exchange = no_peer_exchange;
    d->ranks_meet = no_ranks_meet;
    d->transpose_parts = no_transpose_parts;
    d->graph_refusal = graph_refusal;
    d->graph_begin = no_graph_begin;
    d->graph_end = no_graph_end;
    d->graph_launch = no_graph_launch;
    d->graph_destroy = destroy_no_graph;
}
