/* The kernels as a Python module. Included are, for each kernel: what it is called, a function that converts its
   arguments, and one symbol for each level of processors (glue.py). The stable ABI of Python 3.10 serves all later ones;
   an array is read through the fields of numpy's objects, which are part of numpy's ABI, since asking for its buffer
   takes longer than most kernels. */

#define Py_LIMITED_API 0x030A0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/ndarraytypes.h>

enum type { INT16, INT32, UINT32, INT64 };
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
    case INT16: return number == NPY_SHORT;
    case INT32: return number == NPY_INT || (sizeof(long) == 4 && number == NPY_LONG);
    case UINT32: return number == NPY_UINT || (sizeof(long) == 4 && number == NPY_ULONG);
    default: return number == NPY_LONGLONG || (sizeof(long) == 8 && number == NPY_LONG);
    }
}

static int array(const char *name, int place, PyObject *object, enum type type, int dimensions, Array *found)
{
    if (Py_TYPE(object) == ndarray || PyType_IsSubtype(Py_TYPE(object), ndarray)) {
        PyArrayObject *it = (PyArrayObject *)object;
        if (is_of(type, PyArray_DESCR(it)->type_num) && PyArray_ISNBO(PyArray_DESCR(it)->byteorder)
            && PyArray_NDIM(it) == dimensions
            && (PyArray_FLAGS(it) & NPY_ARRAY_CARRAY) == NPY_ARRAY_CARRAY) {
            found->data = PyArray_DATA(it);
            found->bytes = type == INT16 ? 2 : type == INT64 ? 8 : 4;
            found->items = 1;
            for (int d = 0; d < dimensions; d++) {
                found->shape[d] = PyArray_DIMS(it)[d];
                found->strides[d] = PyArray_STRIDES(it)[d];
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
    return module;
}
