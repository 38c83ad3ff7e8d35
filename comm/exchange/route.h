/* Which transport serves each neighbour: the candidates are tried on small exchanges of known cells, timed on the halo's
 * own sizes, and the fastest that brought every cell is taken.
 *
 *   route_create     who are this halo's neighbours, and which of them are on this host
 *   route_try        one candidate: made, probed, timed; or it is left out, with the reason (also route_leave_out)
 *   route_decide     the choice
 * All collective, with the same results on all ranks except the choice itself, which is the same at both ends of a link.
 *
 * Links are of two kinds, inside a host and between hosts; a candidate may pass for one and not for the other. A link
 * takes the transport that is cheapest on its kind of link for the slowest rank, unless another one is cheaper by more than a
 * tenth on this link at its slower end: a halo of several transports packs and unpacks once for each, which noise is not worth. */
#ifndef ROUTE_H
#define ROUTE_H

#include <mpi.h>

#include "device/device.h"
#include "exchange/halo.h"
#include "ranks/decomp.h"

typedef enum route_kind { ROUTE_INSIDE, ROUTE_BETWEEN, ROUTE_KINDS } route_kind;
extern const char *const route_kind_name[ROUTE_KINDS]; /* "inside a host", "between hosts" */

/* One transport on one kind of link. */
typedef struct route_trial {
    bool tried;      /* or left out before it was tried: then why says so */
    char why[256];   /* a part of a sentence; "" if it passed */
    double seconds;  /* an exchange over this rank's links of the kind; infinite unless it passed */
    double slowest_s; /* ... of the slowest rank */
} route_trial;

typedef struct route {
    const decomp *dec; /* not owned, as are the next three */
    device *d;
    const field_shape *shape;
    void *field; /* of that shape; its values are lost */
    int depth;
    bool corners;
    MPI_Comm comm;
    int kind[DECOMP_NEIGHBOURS];  /* of the link in that direction; -1: no link */
    int links[ROUTE_KINDS];       /* of all ranks */
    double begin_s, budget_s;
    route_trial trial[TRANSPORT_KINDS][ROUTE_KINDS];

    transport_choice choice;                         /* from here on route_decide's */
    transport_kind favourite[ROUTE_KINDS];      /* what most links of the kind take */
    int used[TRANSPORT_KINDS];                  /* links of all ranks by transport */
    double seconds;                             /* what choosing took */
} route;

/* comm: the decomposition's ranks; used for route_*'s own messages, no other may be in flight. budget_s: about how long all
 * trials may take; a candidate that comes too late is left out. */
route route_create(const decomp *dec, device *d, const field_shape *shape, void *field, int depth, bool corners, double budget_s,
                   MPI_Comm comm);
void route_try(route *r, transport_kind t);
void route_leave_out(route *r, transport_kind t, const char *why);
/* asked is taken wherever it passed; TRANSPORT_KINDS: nothing was asked. Staged serves where nothing passed. */
void route_decide(route *r, transport_kind asked);

/* The same decision for another halo over the same ranks: the favourite of each kind of link. */
transport_choice route_for(const route *r, const decomp *dec);

bool route_has_links(const route *r);
/* Did it pass on every kind of link there is? If not, why gets the reason. */
bool route_passed(const route *r, transport_kind t, char *why, size_t why_bytes);
/* The transport of most links; staged if there are none. */
transport_kind route_main(const route *r);

/* ---- the decision by itself ---- */

/* The fastest, peer's time counted half (a whole step hides an exchange over peer but for the stores); staged if all are
 * infinite. */
transport_kind route_cheapest(const double seconds[TRANSPORT_KINDS]);
/* The favourite, or another that is cheaper by more than a tenth. */
transport_kind route_pick(const double seconds[TRANSPORT_KINDS], transport_kind favourite);

#endif
