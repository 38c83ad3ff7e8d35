#include "transports/transport_kind.h"

const char *transport_kind_name(transport_kind k)
{
    static const char *const name[TRANSPORT_KINDS] = {
        [TRANSPORT_STAGED] = "staged", [TRANSPORT_AWARE] = "aware", [TRANSPORT_MAPPED] = "mapped",
        [TRANSPORT_PEER] = "peer",     [TRANSPORT_COPY] = "copy",   [TRANSPORT_NCCL] = "nccl",
    };
    return name[k];
}

transport_choice transport_choice_of_all(transport_kind k)
{
    transport_choice c;
    for (int n = 0; n < DECOMP_NEIGHBOURS; n++) c.toward[n] = k;
    return c;
}
