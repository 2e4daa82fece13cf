// Helpers of kernels for CPUs, of which a work-item is one core at work: vectors of real numbers.

#ifndef VECTOR
#define VECTOR 8              // elements in a vector
#endif

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)
#if defined(TYPE_F64)
typedef PASTE(double, VECTOR) vec;
#elif defined(TYPE_I32) || defined(TYPE_I8)
typedef PASTE(uint, VECTOR) vec;
#else
typedef PASTE(float, VECTOR) vec;
#endif
#define LOAD_VECTOR(p)     PASTE(vload, VECTOR)(0, p)
#define STORE_VECTOR(v, p) PASTE(vstore, VECTOR)(v, 0, p)
