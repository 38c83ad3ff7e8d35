/* Which transport serves each neighbour: the candidates are tried on small exchanges of known cells, timed on the halo's
 * own sizes, and the fastest that brought every cell is taken.
 *
 *   transport_selection_create     who are this halo's neighbours, and which of them are on this host
 *   transport_selection_try        one candidate: made, probed, timed; or it is left out, with the reason
 *   transport_selection_leave_out  the same without a trial, with a given reason
 *   transport_selection_decide     the choice
 * All collective, with the same results on all ranks except the choice itself, which is the same at both ends of a link.
 *
 * Links are of two kinds, inside a host and between hosts; a candidate may pass for one and not for the other. A link
 * takes the transport that is cheapest on its kind of link for the slowest rank, unless another one is cheaper by more than a
 * tenth on this link at its slower end: a halo of several transports packs and unpacks once for each, which noise is not worth. */
#ifndef TRANSPORT_SELECTION_H
#define TRANSPORT_SELECTION_H

#include <mpi.h>

#include "device/device.h"
#include "exchange/halo.h"
#include "ranks/decomp.h"

typedef enum link_kind { LINK_INSIDE_HOST, LINK_BETWEEN_HOSTS, LINK_KINDS } link_kind;
extern const char *const link_kind_name[LINK_KINDS]; /* "inside a host", "between hosts" */

/* One transport on one kind of link. */
typedef struct transport_selection_trial {
    bool tried;       /* or left out before it was tried: then why says so */
    sentence why;    /* a part of a sentence; "" if it passed */
    double seconds;   /* an exchange over this rank's links of the kind; infinite unless it passed */
    double slowest_s; /* ... of the slowest rank */
} transport_selection_trial;

typedef struct transport_selection {
    const decomp *dec; /* not owned, as are the next three */
    device *d;
    const field_shape *shape;
    void *field; /* of that shape; its values are lost */
    int depth;
    bool corners;
    MPI_Comm comm;
    int kind[DECOMP_NEIGHBOURS]; /* of the link in that direction; -1: no link */
    int links[LINK_KINDS];       /* of all ranks */
    double begin_s, budget_s;
    transport_selection_trial trial[TRANSPORT_KINDS][LINK_KINDS];

    transport_choice choice;              /* from here on transport_selection_decide's */
    transport_kind favourite[LINK_KINDS]; /* what most links of the kind take */
    int used[TRANSPORT_KINDS];            /* links of all ranks by transport */
    double seconds;                       /* what choosing took */
} transport_selection;

/* comm: the decomposition's ranks; used for the trials' own messages, no other may be in flight. budget_s: about how long all
 * trials may take; a candidate that comes too late is left out. */
transport_selection transport_selection_create(const decomp *dec, device *d, const field_shape *shape, void *field, int depth,
                                               bool corners, double budget_s, MPI_Comm comm);
void transport_selection_try(transport_selection *sel, transport_kind t);
void transport_selection_leave_out(transport_selection *sel, transport_kind t, const char *why);
/* asked is taken wherever it passed; TRANSPORT_AUTO: nothing was asked. Staged serves where nothing passed. */
void transport_selection_decide(transport_selection *sel, transport_kind asked);

/* The same decision for another halo over the same ranks: the favourite of each kind of link. */
transport_choice transport_selection_for(const transport_selection *sel, const decomp *dec);

bool transport_selection_has_links(const transport_selection *sel);
/* Did it pass on every kind of link there is? If not, why gets the reason. */
bool transport_selection_passed(const transport_selection *sel, transport_kind t, sentence *why);
/* The transport of most links; staged if there are none. */
transport_kind transport_selection_main(const transport_selection *sel);

/* ---- the decision by itself ---- */

/* The fastest, peer's time counted half (in-kernel exchange hides all of it but the stores); staged if all are
 * infinite. */
transport_kind transport_selection_cheapest(const double seconds[TRANSPORT_KINDS]);
/* The favourite, or another that is cheaper by more than a tenth. */
transport_kind transport_selection_pick(const double seconds[TRANSPORT_KINDS], transport_kind favourite);

#endif
