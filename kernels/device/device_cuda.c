/* The CUDA device: memory, streams, events, graphs and copies of one GPU, over the CUDA runtime. Kernels are
 * in the *_cuda.cu files.
 *
 * A device_stream is the CUDA stream itself and a device_event the CUDA event. All streams are non-blocking
 * and the legacy default stream is never used, so no call waits for another stream's work by accident. The
 * runtime keeps the last error of a thread until it is read; a call that fails here reads it, so that the
 * next launcher does not report it as its own. Codes are cudaError_t.
 *
 * Without CUDA only the functions at the end remain, which say so. */
#include "device/device.h"

#include <string.h>

bool device_cuda_none_named(const char *shown)
{
    return !*shown || strcmp(shown, "-1") == 0 || strcmp(shown, "NoDevFiles") == 0;
}

#if WEFT_CUDA

#include <stdio.h>
#include <stdlib.h>

#include "device/device_cuda.h"
#include "device/sysfs.h"

_Static_assert(sizeof(cudaIpcMemHandle_t) == DEVICE_HANDLE_BYTES, "a handle travels as it is");

static device_cuda *cuda_of(device *d) { return (device_cuda *)d; }
static cudaEvent_t event_of(device_event *e) { return (cudaEvent_t)e; }

static int bind_thread(device *d) { return device_cuda_checked(cudaSetDevice(d->ordinal)); }

static int memory_info(device *d, size_t *free_bytes, size_t *total_bytes)
{
    return device_cuda_checked(cudaMemGetInfo(free_bytes, total_bytes));
}

static int synchronize(device *d) { return device_cuda_checked(cudaDeviceSynchronize()); }

/* ---- memory ---- */

/* The byte of new device memory. Debug builds use 0xff, NaN in both types, so that a ghost that was never
 * filled shows in the answer. Other builds use 0: bulk copies and trial launches carry padding and ghosts
 * along that are not written yet, and reads stay defined. */
#ifdef WEFT_DEBUG
static const int new_memory_byte = 0xff;
#else
static const int new_memory_byte = 0;
#endif

static int cuda_alloc(device *d, device_memory where, size_t bytes, void **out)
{
    cudaError_t e = cudaErrorInvalidValue;
    *out = NULL;
    switch (where) {
    case DEVICE_MEMORY_DEVICE: e = cudaMalloc(out, bytes); break; /* starts on 256 bytes */
    case DEVICE_MEMORY_PINNED: e = cudaHostAlloc(out, bytes, cudaHostAllocPortable); break; /* on a page */
    }
    if (e == cudaSuccess && where == DEVICE_MEMORY_DEVICE && bytes > 0) {
        e = cudaMemsetAsync(*out, new_memory_byte, bytes, cuda_of(d)->setup);
        if (e == cudaSuccess) e = cudaStreamSynchronize(cuda_of(d)->setup);
    }
    return device_cuda_checked(e);
}

static int cuda_free(device *d, device_memory where, void *p)
{
    return device_cuda_checked(where == DEVICE_MEMORY_PINNED ? cudaFreeHost(p) : cudaFree(p));
}

static int pin(device *d, void *p, size_t bytes)
{
    return device_cuda_checked(cudaHostRegister(p, bytes, cudaHostRegisterPortable));
}

static int unpin(device *d, void *p) { return device_cuda_checked(cudaHostUnregister(p)); }

/* A handle of CUDA IPC names a whole allocation and its place in the block that cudaMalloc cut it from. The
 * driver counts how often it is open. */
static int handle_make(device *d, void *allocation, device_handle *out)
{
    return device_cuda_checked(cudaIpcGetMemHandle((cudaIpcMemHandle_t *)out->bytes, allocation));
}

static int handle_open(device *d, const device_handle *h, void **out)
{
    *out = NULL;
    return device_cuda_checked(
        cudaIpcOpenMemHandle(out, *(const cudaIpcMemHandle_t *)h->bytes, cudaIpcMemLazyEnablePeerAccess));
}

static int handle_close(device *d, void *opened)
{
    return device_cuda_checked(cudaIpcCloseMemHandle(opened));
}

/* ---- streams and events ---- */

static int stream_create(device *d, bool high_priority, device_stream **out)
{
    int lowest = 0, highest = 0; /* a smaller number is a higher priority */
    cudaStream_t stream = NULL;
    cudaError_t e = cudaDeviceGetStreamPriorityRange(&lowest, &highest);
    if (e == cudaSuccess)
        e = cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, high_priority ? highest : lowest);
    *out = (device_stream *)stream;
    return device_cuda_checked(e);
}

static int stream_destroy(device *d, device_stream **s)
{
    const cudaError_t e = *s ? cudaStreamDestroy(device_cuda_stream(*s)) : cudaSuccess;
    *s = NULL;
    return device_cuda_checked(e);
}

static int stream_sync(device *d, device_stream *s)
{
    return device_cuda_checked(cudaStreamSynchronize(device_cuda_stream(s)));
}

static int event_create(device *d, bool timed, device_event **out)
{
    cudaEvent_t event = NULL;
    const cudaError_t e = cudaEventCreateWithFlags(&event, timed ? cudaEventDefault : cudaEventDisableTiming);
    *out = (device_event *)event;
    return device_cuda_checked(e);
}

static int event_destroy(device *d, device_event **ev)
{
    const cudaError_t e = *ev ? cudaEventDestroy(event_of(*ev)) : cudaSuccess;
    *ev = NULL;
    return device_cuda_checked(e);
}

static int event_record(device *d, device_event *e, device_stream *s)
{
    return device_cuda_checked(cudaEventRecord(event_of(e), device_cuda_stream(s)));
}

static int event_wait(device *d, device_event *e, device_stream *s)
{
    return device_cuda_checked(cudaStreamWaitEvent(device_cuda_stream(s), event_of(e), 0));
}

static int event_sync(device *d, device_event *e)
{
    return device_cuda_checked(cudaEventSynchronize(event_of(e)));
}

/* "Not ready" is no failure. */
static int event_done(device *d, device_event *ev, bool *done)
{
    const cudaError_t e = cudaEventQuery(event_of(ev));
    const int code = device_cuda_checked(e);
    *done = e == cudaSuccess;
    return e == cudaErrorNotReady ? cudaSuccess : code;
}

static int event_seconds(device *d, device_event *from, device_event *to, double *seconds)
{
    float ms = 0;
    const cudaError_t e = cudaEventElapsedTime(&ms, event_of(from), event_of(to));
    *seconds = (double)ms * 1e-3;
    return device_cuda_checked(e);
}

/* ---- graphs: streams captured by one thread, without effect on other threads' streams. A device_graph is
 * the executable graph ---- */

static int graph_begin(device *d, device_stream *s)
{
    return device_cuda_checked(
        cudaStreamBeginCapture(device_cuda_stream(s), cudaStreamCaptureModeThreadLocal));
}

static int graph_end(device *d, device_stream *s, device_graph **out)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t executable = NULL;
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

static int graph_launch(device *d, device_graph *g, device_stream *s)
{
    return device_cuda_checked(cudaGraphLaunch((cudaGraphExec_t)g, device_cuda_stream(s)));
}

static int graph_destroy(device *d, device_graph **g)
{
    const cudaError_t e = *g ? cudaGraphExecDestroy((cudaGraphExec_t)*g) : cudaSuccess;
    *g = NULL;
    return device_cuda_checked(e);
}

/* ---- copies ---- */

static int cuda_copy(device *d, void *to, const void *from, size_t bytes, device_stream *s)
{
    if (bytes == 0) return cudaSuccess;
    return device_cuda_checked(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, device_cuda_stream(s)));
}

static int cuda_copy_rows(device *d, void *to, size_t to_pitch_bytes, const void *from,
                          size_t from_pitch_bytes, size_t row_bytes, size_t rows, device_stream *s)
{
    if (row_bytes == 0 || rows == 0) return cudaSuccess;
    if (rows == 1 || (to_pitch_bytes == row_bytes && from_pitch_bytes == row_bytes))
        return cuda_copy(d, to, from, row_bytes * rows, s);
    return device_cuda_checked(cudaMemcpy2DAsync(to, to_pitch_bytes, from, from_pitch_bytes, row_bytes, rows,
                                                 cudaMemcpyDefault, device_cuda_stream(s)));
}

static int cuda_fill_bytes(device *d, void *to, int byte, size_t bytes, device_stream *s)
{
    if (bytes == 0) return cudaSuccess;
    return device_cuda_checked(cudaMemsetAsync(to, byte, bytes, device_cuda_stream(s)));
}

/* ---- the device ---- */

/* "580.95.05, CUDA 13.0": the kernel driver, where it can be read, and the newest CUDA that it runs. */
static void driver_text(char *text, size_t text_bytes)
{
    char version[32];
    int cuda = 0;
    const bool known = sysfs_read(version, sizeof version, "/sys/module/nvidia/version");
    (void)device_cuda_checked(cudaDriverGetVersion(&cuda));
    snprintf(text, text_bytes, "%s%sCUDA %d.%d", version, known ? ", " : "", cuda / 1000, cuda % 1000 / 10);
}

static int clock_mhz(enum cudaDeviceAttr clock, int ordinal)
{
    int khz = 0;
    return device_cuda_checked(cudaDeviceGetAttribute(&khz, clock, ordinal)) == 0 ? khz / 1000 : 0;
}

static void destroy(device **self)
{
    if (!*self) return;
    (void)device_cuda_checked(cudaStreamDestroy(cuda_of(*self)->setup));
    free(*self);
    *self = NULL;
}

static const device functions = {
    .kind = DEVICE_CUDA,
    .error_text = device_cuda_error_text,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .copy = cuda_copy,
    .copy_rows = cuda_copy_rows,
    .fill_bytes = cuda_fill_bytes,
    DEVICE_OWN(destroy) DEVICE_OWN(bind_thread) DEVICE_OWN(memory_info) DEVICE_OWN(synchronize)
    DEVICE_OWN(pin) DEVICE_OWN(unpin) DEVICE_OWN(handle_make) DEVICE_OWN(handle_open) DEVICE_OWN(handle_close)
    DEVICE_OWN(stream_create) DEVICE_OWN(stream_destroy) DEVICE_OWN(stream_sync)
    DEVICE_OWN(event_create) DEVICE_OWN(event_destroy) DEVICE_OWN(event_record) DEVICE_OWN(event_wait)
    DEVICE_OWN(event_sync) DEVICE_OWN(event_done) DEVICE_OWN(event_seconds)
    DEVICE_OWN(graph_begin) DEVICE_OWN(graph_end) DEVICE_OWN(graph_launch) DEVICE_OWN(graph_destroy)
    DEVICE_KERNELS(DEVICE_SET, cuda) DEVICE_CUDA_KERNELS(DEVICE_SET, cuda)
};

/* "GPU-...", as nvidia-smi writes it. */
static void uuid_text(const cudaUUID_t *uuid, char text[DEVICE_UUID_BYTES])
{
    const unsigned char *b = (const unsigned char *)uuid->bytes;
    snprintf(text, DEVICE_UUID_BYTES,
             "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2],
             b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

device *device_cuda_create(int ordinal, int *code)
{
    struct cudaDeviceProp properties;
    device_cuda *self = calloc(1, sizeof *self);
    cudaError_t e = self ? cudaSetDevice(ordinal) : cudaErrorMemoryAllocation;
    if (e == cudaSuccess) e = cudaGetDeviceProperties(&properties, ordinal);
    if (e == cudaSuccess) e = cudaStreamCreateWithFlags(&self->setup, cudaStreamNonBlocking);
    *code = device_cuda_checked(e);
    if (e != cudaSuccess) {
        free(self);
        return NULL;
    }
    self->base = functions;
    self->base.ordinal = ordinal;
    self->processors = properties.multiProcessorCount;
    self->shared_bytes = properties.sharedMemPerBlockOptin;
    self->follows = properties.major >= 9;
    snprintf(self->base.name, sizeof self->base.name, "%s", properties.name);
    uuid_text(&properties.uuid, self->base.uuid);
    self->base.sm_clock_mhz = clock_mhz(cudaDevAttrClockRate, ordinal);
    self->base.mem_clock_mhz = clock_mhz(cudaDevAttrMemoryClockRate, ordinal);
    snprintf(self->base.pci, sizeof self->base.pci, "%04x:%02x:%02x.0", (unsigned)properties.pciDomainID,
             (unsigned)properties.pciBusID, (unsigned)properties.pciDeviceID);
    driver_text(self->base.driver, sizeof self->base.driver);
    return &self->base;
}

/* ---- visible GPUs, without opening a device ---- */

int device_cuda_count(const char **why)
{
    const char *const shown = getenv("CUDA_VISIBLE_DEVICES");
    int count = 0, driver = 0;
    /* saves the driver's start, during which processes of a node wait for each other */
    if (shown && device_cuda_none_named(shown)) {
        if (why) *why = "CUDA_VISIBLE_DEVICES hides all";
        return 0;
    }
    const cudaError_t e = cudaGetDeviceCount(&count);
    if (device_cuda_checked(e) == 0 && count > 0) return count;
    if (!why) return 0;
    if (device_cuda_checked(cudaDriverGetVersion(&driver)) == 0 && driver == 0)
        *why = "no NVIDIA driver is installed";
    else *why = e == cudaSuccess ? "no CUDA device is visible" : device_cuda_error_text(e);
    return 0;
}

void device_cuda_uuid(int ordinal, char uuid[DEVICE_UUID_BYTES])
{
    struct cudaDeviceProp properties;
    uuid[0] = '\0';
    if (device_cuda_checked(cudaGetDeviceProperties(&properties, ordinal)) == 0)
        uuid_text(&properties.uuid, uuid);
}

/* ---- errors ---- */

const char *device_cuda_error_text(int code)
{
    static _Thread_local char text[256];
    const char *const said = cudaGetErrorString((cudaError_t)code);
    int driver = 0;
    if (code != cudaErrorInsufficientDriver || cudaDriverGetVersion(&driver) != cudaSuccess) return said;
    snprintf(text, sizeof text, "%s: the driver is of CUDA %d.%d, weft is built with CUDA %d.%d", said,
             driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    return text;
}

int device_cuda_built(void) { return CUDART_VERSION; }

#else

int device_cuda_count(const char **why)
{
    if (why) *why = "built without CUDA";
    return 0;
}

void device_cuda_uuid(int ordinal, char uuid[DEVICE_UUID_BYTES]) { uuid[0] = '\0'; }

device *device_cuda_create(int ordinal, int *code)
{
    *code = 1;
    return NULL;
}

const char *device_cuda_error_text(int code) { return code ? "built without CUDA" : "no error"; }

int device_cuda_built(void) { return 0; }

#endif
