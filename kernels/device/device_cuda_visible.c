/* The GPUs that this process sees: their number and UUIDs, without opening a device. */
#include "device/device.h"

#include <string.h>

bool device_cuda_none_named(const char *shown)
{
    return !*shown || strcmp(shown, "-1") == 0 || strcmp(shown, "NoDevFiles") == 0;
}

#if WEFT_CUDA

#include <stdlib.h>

#include "device/device_cuda.h"

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
        device_cuda_uuid_text(&properties.uuid, uuid);
}

#else

int device_cuda_count(const char **why)
{
    if (why) *why = "built without CUDA";
    return 0;
}

void device_cuda_uuid(int ordinal, char uuid[DEVICE_UUID_BYTES])
{
    uuid[0] = '\0';
}

#endif
