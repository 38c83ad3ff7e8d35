/* Graphs: streams captured by one thread, without effect on other threads' streams. A device_graph is the
 * executable graph. */
#include "device/device_cuda.h"

const char *graph_cuda_refusal(device *) { return nullptr; }

int graph_cuda_begin(device *, device_stream *s)
{
    return device_cuda_checked(
        cudaStreamBeginCapture(device_cuda_stream(s), cudaStreamCaptureModeThreadLocal));
}

int graph_cuda_end(device *, device_stream *s, device_graph **out)
{
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    cudaError_t e = cudaStreamEndCapture(device_cuda_stream(s), &graph);
    /* with the priorities of its streams: without them an exchange waited behind the interior beside it */
    if (e == cudaSuccess)
        e = cudaGraphInstantiateWithFlags(&executable, graph, cudaGraphInstantiateFlagUseNodePriority);
    /* otherwise the first launch uploads it */
    if (e == cudaSuccess) e = cudaGraphUpload(executable, device_cuda_stream(s));
    if (graph) (void)cudaGraphDestroy(graph);
    *out = (device_graph *)executable;
    return device_cuda_checked(e);
}

int graph_cuda_launch(device *, device_graph *g, device_stream *s)
{
    return device_cuda_checked(cudaGraphLaunch((cudaGraphExec_t)g, device_cuda_stream(s)));
}

int graph_cuda_destroy(device *, device_graph **g)
{
    const cudaError_t e = *g ? cudaGraphExecDestroy((cudaGraphExec_t)*g) : cudaSuccess;
    *g = nullptr;
    return device_cuda_checked(e);
}
