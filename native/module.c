/* The kernels as a Python module. Included are, for each kernel: what it is called, a function that converts its
   arguments, and one symbol for each level of processors (glue.py). The stable ABI of Python 3.10 serves all later ones;
   an array is read through the fields of numpy's objects, which are part of numpy's ABI, since asking for its buffer
   takes longer than most kernels. */

#include <pyconfig.h>
#ifndef Py_GIL_DISABLED /* free-threaded interpreters have no stable ABI, up to 3.14 */
#define Py_LIMITED_API 0x030A0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif
#ifdef _WIN32
#include <windows.h>
#else
#include <time.h>
#endif

/* The beginnings of PyArrayObject_fields and PyArray_Descr (numpy/ndarraytypes.h, alike in numpy 1 and 2), of type
   numbers and of flags. numpy's own header says what the machine that builds is like, not the one it is built for. */
typedef struct {
    PyObject_HEAD
    PyTypeObject *scalar;
    char kind, type, byteorder, former_flags;
    int type_num;
} Descr;

typedef struct {
    PyObject_HEAD
    char *data;
    int nd;
    Py_ssize_t *dimensions, *strides;
    PyObject *base;
    Descr *descr;
    int flags;
} Fields;

enum { NPY_SHORT = 3, NPY_INT = 5, NPY_UINT = 6, NPY_LONG = 7, NPY_ULONG = 8, NPY_LONGLONG = 9 };
enum { CARRAY = 0x1 | 0x100 | 0x400 }; /* contiguous, aligned, writable */

enum type { OF_INT16, OF_INT32, OF_UINT32, OF_INT64 };
static const char *const TYPES[] = {"int16", "int32", "uint32", "int64"};

typedef struct {
    void *data;
    int64_t items, bytes;
    int64_t shape[2], strides[2];
} Array;

#define VECTOR void *, void *, int64_t, int64_t, void *, int64_t, int64_t
#define MATRIX void *, void *, int64_t, int64_t, void *, int64_t, int64_t, int64_t, int64_t
#define PASS_VECTOR(a) NULL, NULL, a.items, a.bytes, a.data, a.shape[0], a.strides[0]
#define PASS_MATRIX(a) NULL, NULL, a.items, a.bytes, a.data, a.shape[0], a.shape[1], a.strides[0], a.strides[1]

static PyTypeObject *ndarray;

static int is_of(enum type type, int number)
{
    switch (type) {
    case OF_INT16: return number == NPY_SHORT;
    case OF_INT32: return number == NPY_INT || (sizeof(long) == 4 && number == NPY_LONG);
    case OF_UINT32: return number == NPY_UINT || (sizeof(long) == 4 && number == NPY_ULONG);
    default: return number == NPY_LONGLONG || (sizeof(long) == 8 && number == NPY_LONG);
    }
}

static int array(const char *name, int place, PyObject *object, enum type type, int dimensions, Array *found)
{
    if (Py_TYPE(object) == ndarray || PyType_IsSubtype(Py_TYPE(object), ndarray)) {
        Fields *it = (Fields *)object;
        if (is_of(type, it->descr->type_num) && it->descr->byteorder != '>' && it->nd == dimensions
            && (it->flags & CARRAY) == CARRAY) { /* all machines that there are kernels for are little-endian */
            found->data = it->data;
            found->bytes = type == OF_INT16 ? 2 : type == OF_INT64 ? 8 : 4;
            found->items = 1;
            for (int d = 0; d < dimensions; d++) {
                found->shape[d] = it->dimensions[d];
                found->strides[d] = it->strides[d];
                found->items *= found->shape[d];
            }
            return 1;
        }
    }
    PyErr_Format(PyExc_TypeError, "argument %d of %s is a contiguous, aligned, writable array of %s with %d dimension%s",
                 place + 1, name, TYPES[type], dimensions, dimensions == 1 ? "" : "s");
    return 0;
}

static int integer(PyObject *object, int64_t *found)
{
    *found = PyLong_AsLongLong(object);
    return *found != -1 || !PyErr_Occurred();
}

static int count(const char *name, Py_ssize_t given, int wanted)
{
    if (given == wanted)
        return 1;
    PyErr_Format(PyExc_TypeError, "%s takes %d arguments, not %zd", name, wanted, given);
    return 0;
}

typedef struct {
    const char *module, *name, *message;
} Error;

static const Error ERRORS[];

static PyObject *failed(int32_t code)
{
    const Error *error = &ERRORS[code - 1];
    PyObject *module = PyImport_ImportModule(error->module);
    PyObject *type = module ? PyObject_GetAttrString(module, error->name) : NULL;
    Py_XDECREF(module);
    if (type && error->message)
        PyErr_SetString(type, error->message);
    else if (type)
        PyErr_SetNone(type);
    Py_XDECREF(type);
    return NULL;
}

/* The CPU time of this thread, as clock_gettime(CLOCK_THREAD_CPUTIME_ID) gives it: seconds and nanoseconds. Kernels
   call it, and know neither the number of that clock nor the systems that have none. */
int32_t thread_time(int32_t clock, int64_t *time)
{
    (void)clock;
#ifdef _WIN32
    FILETIME begun, ended, kernel, user;
    if (!GetThreadTimes(GetCurrentThread(), &begun, &ended, &kernel, &user))
        return -1;
    uint64_t spent = (((uint64_t)kernel.dwHighDateTime << 32) | kernel.dwLowDateTime)
        + (((uint64_t)user.dwHighDateTime << 32) | user.dwLowDateTime);
    time[0] = (int64_t)(spent / 10000000);
    time[1] = (int64_t)(spent % 10000000) * 100;
#else
    struct timespec now;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now))
        return -1;
    time[0] = now.tv_sec;
    time[1] = now.tv_nsec;
#endif
    return 0;
}

#ifdef __x86_64__
/* The level of this processor: x86-64 psABI, section 3.1.1; Intel's manual, volume 2, CPUID. 0: below 2. Compilers have
   __builtin_cpu_supports for this, which with zig knows no processor. */
static int x86_level(void)
{
    enum { SSE3 = 1 << 0, SSSE3 = 1 << 9, FMA = 1 << 12, CX16 = 1 << 13, SSE41 = 1 << 19, SSE42 = 1 << 20,
           MOVBE = 1 << 22, POPCNT = 1 << 23, OSXSAVE = 1 << 27, AVX = 1 << 28, F16C = 1 << 29 };
    enum { BMI1 = 1 << 3, AVX2 = 1 << 5, BMI2 = 1 << 8, LAHF = 1 << 0, LZCNT = 1 << 5, XMM_AND_YMM = 6 };
    const unsigned second = SSE3 | SSSE3 | CX16 | SSE41 | SSE42 | POPCNT, third = FMA | MOVBE | OSXSAVE | AVX | F16C;
    unsigned a, b, c, d, basic, extended, saved;
    if (!__get_cpuid(1, &a, &b, &basic, &d) || (basic & second) != second)
        return 0;
    if (!__get_cpuid(0x80000001, &a, &b, &extended, &d) || !(extended & LAHF))
        return 0;
    if ((basic & third) != third || !(extended & LZCNT) || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return 2;
    __asm__("xgetbv" : "=a"(saved), "=d"(d) : "c"(0)); /* what the operating system saves of a thread */
    return (b & BMI1) && (b & AVX2) && (b & BMI2) && (saved & XMM_AND_YMM) == XMM_AND_YMM ? 3 : 2;
}
#endif

#include "kernels.h"

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "Kernels that were compiled when the package was built.", -1, METHODS,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void)
{
    const char *level = choose();
    if (!level) {
        PyErr_SetString(PyExc_ImportError, "this processor is older than those that they are made for");
        return NULL;
    }
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (!numpy)
        return NULL;
    ndarray = (PyTypeObject *)PyObject_GetAttrString(numpy, "ndarray");
    Py_DECREF(numpy);
    if (!ndarray)
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (!module || PyModule_AddStringConstant(module, "STAMP", STAMP) < 0
        || PyModule_AddStringConstant(module, "LEVEL", level) < 0) {
        Py_XDECREF(module);
        return NULL;
    }
#ifdef Py_GIL_DISABLED /* else importing it would give all threads one lock again */
    if (PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED) < 0) {
        Py_DECREF(module);
        return NULL;
    }
#endif
    return module;
}
