/* The types below are cuBLAS's binary interface (v2): enums and status codes are ints, handles are pointers. */
#include "ladder/ladder_cublas.h"

#include <dlfcn.h>
#include <stdio.h>

namespace {

void *library()
{
    static void *opened = nullptr;
    static bool tried = false;
    if (!tried) {
        char name[64];
        tried = true;
        snprintf(name, sizeof name, "libcublas.so.%d", CUDART_VERSION / 1000);
        opened = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    return opened;
}

} // namespace

const char *ladder_cublas_missing(device *) { return library() ? nullptr : "no libcublas of this CUDA version is found"; }

void *ladder_cublas_function(const char *name) { return library() ? dlsym(library(), name) : nullptr; }

void *ladder_cublas_handle(cudaStream_t stream)
{
    static void *handle = nullptr;
    const auto create = (int (*)(void **))ladder_cublas_function("cublasCreate_v2");
    const auto set_stream = (int (*)(void *, cudaStream_t))ladder_cublas_function("cublasSetStream_v2");
    if (!create || !set_stream || (!handle && create(&handle) != 0)) return nullptr;
    return set_stream(handle, stream) == 0 ? handle : nullptr;
}
