/* The functions of the ICD loader, libOpenCL, which is opened at run time: a machine
 * without it has no OpenCL devices, and all else works. A function that is not among
 * these does not link: name it in opencl.fn and below. */
#ifndef MMT_DEVICE_OPENCL_API_H
#define MMT_DEVICE_OPENCL_API_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <stdbool.h>

struct mmt_opencl_api {
#define FN(name) __typeof__(name) *name;
#include "device/opencl.fn"
#undef FN
};

/* Filled once mmt_opencl_api_open has returned NULL. */
extern struct mmt_opencl_api mmt_opencl_api;

/* Opens libOpenCL where that is not done yet; any thread may ask. Returns NULL, or why it
 * cannot be opened, a sentence without its stop. */
const char *mmt_opencl_api_open(void);

#ifndef MMT_OPENCL_API_BARE
/* clang-format off */
#define clBuildProgram               mmt_opencl_api.clBuildProgram
#define clCreateBuffer               mmt_opencl_api.clCreateBuffer
#define clCreateCommandQueue         mmt_opencl_api.clCreateCommandQueue
#define clCreateContext              mmt_opencl_api.clCreateContext
#define clCreateKernel               mmt_opencl_api.clCreateKernel
#define clCreateProgramWithBinary    mmt_opencl_api.clCreateProgramWithBinary
#define clCreateProgramWithSource    mmt_opencl_api.clCreateProgramWithSource
#define clEnqueueBarrierWithWaitList mmt_opencl_api.clEnqueueBarrierWithWaitList
#define clEnqueueMarkerWithWaitList  mmt_opencl_api.clEnqueueMarkerWithWaitList
#define clEnqueueNDRangeKernel       mmt_opencl_api.clEnqueueNDRangeKernel
#define clEnqueueReadBuffer          mmt_opencl_api.clEnqueueReadBuffer
#define clEnqueueReadBufferRect      mmt_opencl_api.clEnqueueReadBufferRect
#define clEnqueueWriteBuffer         mmt_opencl_api.clEnqueueWriteBuffer
#define clEnqueueWriteBufferRect     mmt_opencl_api.clEnqueueWriteBufferRect
#define clFinish                     mmt_opencl_api.clFinish
#define clGetCommandQueueInfo        mmt_opencl_api.clGetCommandQueueInfo
#define clGetContextInfo             mmt_opencl_api.clGetContextInfo
#define clGetDeviceIDs               mmt_opencl_api.clGetDeviceIDs
#define clGetDeviceInfo              mmt_opencl_api.clGetDeviceInfo
#define clGetEventInfo               mmt_opencl_api.clGetEventInfo
#define clGetEventProfilingInfo      mmt_opencl_api.clGetEventProfilingInfo
#define clGetKernelWorkGroupInfo     mmt_opencl_api.clGetKernelWorkGroupInfo
#define clGetMemObjectInfo           mmt_opencl_api.clGetMemObjectInfo
#define clGetPlatformIDs             mmt_opencl_api.clGetPlatformIDs
#define clGetPlatformInfo            mmt_opencl_api.clGetPlatformInfo
#define clGetProgramBuildInfo        mmt_opencl_api.clGetProgramBuildInfo
#define clGetProgramInfo             mmt_opencl_api.clGetProgramInfo
#define clReleaseCommandQueue        mmt_opencl_api.clReleaseCommandQueue
#define clReleaseContext             mmt_opencl_api.clReleaseContext
#define clReleaseEvent               mmt_opencl_api.clReleaseEvent
#define clReleaseKernel              mmt_opencl_api.clReleaseKernel
#define clReleaseMemObject           mmt_opencl_api.clReleaseMemObject
#define clReleaseProgram             mmt_opencl_api.clReleaseProgram
#define clRetainContext              mmt_opencl_api.clRetainContext
#define clRetainEvent                mmt_opencl_api.clRetainEvent
#define clSetKernelArg               mmt_opencl_api.clSetKernelArg
#define clWaitForEvents              mmt_opencl_api.clWaitForEvents
/* clang-format on */
#endif

#endif
