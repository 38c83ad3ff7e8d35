/* What the host device lacks: its work runs when it is called, so there is nothing to keep for later. */
#include <errno.h>

#include "device/device_host.h"

static const char *refusal(device *d)
{
    (void)d;
    return "the host device runs work at once and has no graphs";
}

static int no_begin(device *d, device_stream *s)
{
    (void)d, (void)s;
    return ENOTSUP;
}

static int no_end(device *d, device_stream *s, device_graph **out)
{
    (void)d, (void)s;
    *out = NULL;
    return ENOTSUP;
}

static int no_launch(device *d, device_graph *g, device_stream *s)
{
    (void)d, (void)g, (void)s;
    return ENOTSUP;
}

static int destroy_none(device *d, device_graph **g)
{
    (void)d;
    *g = NULL;
    return 0;
}

void graph_host_refuse(device *d)
{
    d->graph_refusal = refusal;
    d->graph_begin = no_begin;
    d->graph_end = no_end;
    d->graph_launch = no_launch;
    d->graph_destroy = destroy_none;
}
