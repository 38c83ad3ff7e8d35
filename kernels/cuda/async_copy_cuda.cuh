/* Asynchronous copies of 16 bytes from global into shared memory; bytes in flight cost no registers. A commit
 * makes a group of the copies that the thread has requested; a wait covers all but the LATER latest groups.
 * Addresses in shared memory are the 32-bit ones of __cvta_generic_to_shared. */
#pragma once

static __device__ __forceinline__ void async_copy16(unsigned to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

/* Copies if at < end, without a branch. */
static __device__ __forceinline__ void async_copy16_if(unsigned to, const void *from, unsigned at,
                                                       unsigned end)
{
    asm volatile("{\n.reg .pred there;\nsetp.lt.u32 there, %2, %3;\n@there cp.async.cg.shared.global [%0], "
                 "[%1], 16;\n}" ::"r"(to),
                 "l"(from), "r"(at), "r"(end)
                 : "memory");
}

static __device__ __forceinline__ void async_copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int LATER> static __device__ __forceinline__ void async_copy_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
}
static __device__ __forceinline__ void async_copy_wait_all()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}
