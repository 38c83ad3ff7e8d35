/* The GPUs that this process sees: how many, and their UUIDs. No device is needed for it, and none is made. */
#include "device/device.h"

#if WEFT_CUDA

#include <cuda_runtime_api.h>
#include <stdio.h>

static int checked(cudaError_t e)
{
    if (e != cudaSuccess) (void)cudaGetLastError();
    return (int)e;
}

int device_cuda_count(const char **why)
{
    int count = 0, driver = 0;
    const cudaError_t e = cudaGetDeviceCount(&count);
    if (checked(e) == 0 && count > 0) return count;
    if (!why) return 0;
    if (checked(cudaDriverGetVersion(&driver)) == 0 && driver == 0) *why = "no NVIDIA driver is installed";
    else *why = e == cudaSuccess ? "no CUDA device is visible" : cudaGetErrorString(e);
    return 0;
}

/* "GPU-...", as nvidia-smi writes it. */
static void uuid_text(const cudaUUID_t *uuid, char *text, size_t text_bytes)
{
    const unsigned char *b = (const unsigned char *)uuid->bytes;
    snprintf(text, text_bytes, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

void device_cuda_uuid(int ordinal, char uuid[DEVICE_UUID_BYTES])
{
    struct cudaDeviceProp properties;
    uuid[0] = '\0';
    if (checked(cudaGetDeviceProperties(&properties, ordinal)) == 0)
        uuid_text(&properties.uuid, uuid, DEVICE_UUID_BYTES);
}

#else

int device_cuda_count(const char **why)
{
    if (why) *why = "built without CUDA";
    return 0;
}

void device_cuda_uuid(int ordinal, char uuid[DEVICE_UUID_BYTES])
{
    (void)ordinal;
    uuid[0] = '\0';
}

#endif
