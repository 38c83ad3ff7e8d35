#include "transports/transport.h"

const char *const transport_kind_words[] = {
    "auto", "staged", "aware", "mapped", "peer", "copy", "nccl", NULL
};

const char *transport_kind_name(transport_kind k) { return transport_kind_words[k + 1]; }

const transport_traits *transport_traits_of(transport_kind t)
{
    static const transport_traits row[TRANSPORT_KINDS] = {
        [TRANSPORT_STAGED] = { transport_message_create, .needs_host = true, .turn = 3 },
        [TRANSPORT_AWARE] = { transport_message_create, .needs_host = true, .turn = 2 },
        [TRANSPORT_MAPPED] = { transport_message_create, .needs_host = true, .turn = 4 },
        [TRANSPORT_PEER] = { transport_peer_create, .one_host = true, .turn = 1 },
        [TRANSPORT_COPY] = { transport_copy_create, .one_host = true,
                             .left_out = "it pays off for large faces only; run.transport = copy asks for "
                                         "it" },
        [TRANSPORT_NCCL] = { transport_nccl_create,
                             .left_out = "its set-up alone exceeds the time for trials; run.transport = nccl "
                                         "asks for it" },
    };
    return &row[t];
}

transport_kind transport_kind_in_turn(int turn)
{
    for (transport_kind t = 0; t < TRANSPORT_KINDS; t++)
        if (transport_traits_of(t)->turn == turn) return t;
    return TRANSPORT_AUTO;
}

transport_choice transport_choice_of_all(transport_kind k)
{
    transport_choice c;
    for (int n = 0; n < DECOMP_NEIGHBOURS; n++) c.toward[n] = k;
    return c;
}
