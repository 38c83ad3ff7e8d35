#include "transports/transport.h"

const char *const transport_kind_words[] = { "auto", "staged", "aware", "mapped", "peer", "nccl", NULL };

const char *transport_kind_name(transport_kind k) { return transport_kind_words[k + 1]; }

const transport_traits *transport_traits_of(transport_kind t)
{
    static const transport_traits row[TRANSPORT_KINDS] = {
        [TRANSPORT_STAGED] = { transport_message_create, .needs_host = true },
        [TRANSPORT_AWARE] = { transport_message_create, .needs_host = true },
        [TRANSPORT_MAPPED] = { transport_message_create, .needs_host = true },
        [TRANSPORT_PEER] = { transport_peer_create, .one_host = true },
        [TRANSPORT_NCCL] = { transport_message_create,
                             .left_out = "its set-up alone exceeds the time for trials; run.transport = nccl "
                                         "asks for it" },
    };
    return &row[t];
}

const transport_kind transport_turns[] = { TRANSPORT_PEER, TRANSPORT_AWARE, TRANSPORT_STAGED,
                                           TRANSPORT_MAPPED, TRANSPORT_AUTO };

transport_choice transport_choice_of_all(transport_kind k)
{
    transport_choice c;
    for (int n = 0; n < DECOMP_NEIGHBOURS; n++) c.toward[n] = k;
    return c;
}
