/* Device memory that other processes map. DEVICE_MEMORY_SHARED uses the driver's virtual memory functions: an
 * allocation has a handle, and each process maps it at an address range of its own. The handle travels as a
 * file descriptor inside a host. Where the GPUs share an NVLink domain (an IMEX channel permits it), it also
 * travels as a fabric handle, to the domain's other hosts too; the process that opens it finds out which of
 * the two serves. DEVICE_MEMORY_DEVICE travels as a handle of CUDA IPC, which names a whole allocation and
 * carries its place in the block that cudaMalloc cut it from; the driver counts how often it is open. A
 * process that drives the same GPU is reached like any other.
 *
 * No record of a mapping is kept: it holds the memory by itself, and the driver knows its size. Codes of the
 * driver are those of the runtime. The driver's library is the one that the runtime has opened. */
#if WEFT_CUDA

#include "device/device_cuda.h"

#include <cuda.h>
#include <dlfcn.h>
#include <unistd.h>

#include "device/passed_fd.h"

#define FUNCTIONS(X)                                                                                  \
    X(cuDeviceGetAttribute)                                                                           \
    X(cuMemAddressFree) X(cuMemAddressReserve) X(cuMemCreate) X(cuMemExportToShareableHandle)         \
        X(cuMemGetAddressRange_v2) X(cuMemGetAllocationGranularity) X(cuMemImportFromShareableHandle) \
            X(cuMemMap) X(cuMemRelease) X(cuMemRetainAllocationHandle) X(cuMemSetAccess) X(cuMemUnmap)
#define MEMBER(name) __typeof__(&name) name;
#define LOAD(name) && (*(void **)&loaded.name = dlsym(library, #name))

/* NULL: the driver lacks one of the functions. */
static const struct driver { FUNCTIONS(MEMBER) } *driver(void)
{
    static struct driver loaded;
    static bool opened, works;
    if (!opened) {
        void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        works = library FUNCTIONS(LOAD);
        opened = true;
    }
    return works ? &loaded : NULL;
}

/* named in CUDA 12.3 and newer */
enum { HANDLE_TYPE_FABRIC = 8, ATTRIBUTE_FABRIC_SUPPORTED = 128 };
_Static_assert(sizeof(cudaIpcMemHandle_t) == DEVICE_HANDLE_BYTES, "a handle travels as it is");

/* Allocates memory, with the size rounded up, and returns its handle. */
static CUresult create(const device *d, bool fabric, size_t *bytes, CUmemGenericAllocationHandle *out)
{
    size_t unit_bytes = 1;
    const CUmemAllocationProp kind = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = (CUmemAllocationHandleType)(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR |
                                                            (fabric ? HANDLE_TYPE_FABRIC : 0)),
        .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->ordinal },
    };
    const CUresult e =
        driver()->cuMemGetAllocationGranularity(&unit_bytes, &kind, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    *bytes = (*bytes + unit_bytes - 1) / unit_bytes * unit_bytes;
    return e ? e : driver()->cuMemCreate(out, *bytes, &kind, 0);
}

/* Maps the memory of a handle, and releases the handle in any case. */
static CUresult map(const device *d, CUmemGenericAllocationHandle handle, size_t bytes, void **out)
{
    const CUmemAccessDesc both = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->ordinal },
                                   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUdeviceptr at = 0;
    CUresult e = driver()->cuMemAddressReserve(&at, bytes, 0, 0, 0);
    const bool reserved = e == CUDA_SUCCESS;
    if (!e) e = driver()->cuMemMap(at, bytes, 0, handle, 0);
    const bool mapped = e == CUDA_SUCCESS;
    if (!e) e = driver()->cuMemSetAccess(at, bytes, &both, 1);
    (void)driver()->cuMemRelease(handle);
    if (e && mapped) (void)driver()->cuMemUnmap(at, bytes);
    if (e && reserved) (void)driver()->cuMemAddressFree(at, bytes);
    if (!e) *out = (void *)at;
    return e;
}

const char *memory_cuda_no_fabric(const device *d)
{
    int supported = 0;
    size_t bytes = 1;
    CUmemGenericAllocationHandle handle;
    if (!driver() ||
        driver()->cuDeviceGetAttribute(&supported, (CUdevice_attribute)ATTRIBUTE_FABRIC_SUPPORTED,
                                       d->ordinal) ||
        !supported)
        return "the GPU has none";
    if (access("/dev/nvidia-caps-imex-channels", F_OK) != 0)
        return "there is no IMEX channel (/dev/nvidia-caps-imex-channels)";
    CUresult e = create(d, true, &bytes, &handle);
    if (!e) e = driver()->cuMemRelease(handle);
    return e ? cudaGetErrorString((cudaError_t)e) : NULL;
}

int memory_cuda_alloc_shared(device *d, size_t bytes, void **out)
{
    CUmemGenericAllocationHandle handle;
    if (!driver()) return cudaErrorNotSupported;
    const CUresult e = create(d, !d->no_fabric, &bytes, &handle);
    return (int)(e ? e : map(d, handle, bytes, out));
}

/* The memory is freed with the last mapping of any process. */
int memory_cuda_unmap(void *p)
{
    size_t bytes;
    CUresult e = driver()->cuMemGetAddressRange_v2(NULL, &bytes, (CUdeviceptr)p);
    if (!e) e = driver()->cuMemUnmap((CUdeviceptr)p, bytes);
    return (int)(e ? e : driver()->cuMemAddressFree((CUdeviceptr)p, bytes));
}

static CUresult make_shared(const device *d, void *allocation, device_handle *h)
{
    CUmemGenericAllocationHandle handle;
    int fd = -1;
    CUresult e = driver()->cuMemGetAddressRange_v2(NULL, &h->mapped_bytes, (CUdeviceptr)allocation);
    if (!e) e = driver()->cuMemRetainAllocationHandle(&handle, allocation);
    if (e) return e;
    e = driver()->cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    h->fd = passed_fd_offer(fd);
    h->has_fabric = !d->no_fabric;
    if (!e && h->has_fabric)
        e = driver()->cuMemExportToShareableHandle(h->bytes, handle,
                                                   (CUmemAllocationHandleType)HANDLE_TYPE_FABRIC, 0);
    (void)driver()->cuMemRelease(handle);
    return e;
}

static CUresult open_shared(const device *d, const device_handle *h, void **out)
{
    CUmemGenericAllocationHandle handle;
    CUresult e = CUDA_ERROR_NOT_PERMITTED;
    const int fd = passed_fd_take(&h->fd);
    if (fd >= 0) {
        e = driver()->cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd,
                                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        (void)close(fd);
    }
    if (e && h->has_fabric)
        e = driver()->cuMemImportFromShareableHandle(&handle, (void *)h->bytes,
                                                     (CUmemAllocationHandleType)HANDLE_TYPE_FABRIC);
    return e ? e : map(d, handle, h->mapped_bytes, out);
}

int memory_cuda_handle_make(device *d, device_memory where, void *allocation, device_handle *out)
{
    *out = (device_handle){ .fd.fd = -1 };
    if (where == DEVICE_MEMORY_SHARED) return (int)make_shared(d, allocation, out);
    return device_cuda_checked(cudaIpcGetMemHandle((cudaIpcMemHandle_t *)out->bytes, allocation));
}

void memory_cuda_handle_done(device *d, device_handle *made)
{
    passed_fd_done(&made->fd);
}

int memory_cuda_handle_open(device *d, device_memory where, const device_handle *h, void **out)
{
    *out = NULL;
    if (where == DEVICE_MEMORY_SHARED) return (int)open_shared(d, h, out);
    return device_cuda_checked(
        cudaIpcOpenMemHandle(out, *(const cudaIpcMemHandle_t *)h->bytes, cudaIpcMemLazyEnablePeerAccess));
}

int memory_cuda_handle_close(device *d, device_memory where, void *opened)
{
    return where == DEVICE_MEMORY_SHARED ? memory_cuda_unmap(opened)
                                         : device_cuda_checked(cudaIpcCloseMemHandle(opened));
}

#endif
