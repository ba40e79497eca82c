/* Calls of compiled functions from Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>

/* numbers(function, count, type, *given): what a function of numbers writes, `count` of
 * them, each as `type`; None if one of those given is no float
 *
 * function  the address of a void (const double *given, double *found)
 */
static PyObject *numbers(PyObject *module, PyObject *const *given, Py_ssize_t many)
{
    (void)module;
    void (*function)(const double *, double *);
    *(void **)&function = PyLong_AsVoidPtr(given[0]);
    const Py_ssize_t count = PyLong_AsSsize_t(given[1]);
    PyObject *type = given[2];
    if (PyErr_Occurred()) {
        return NULL;
    }
    for (Py_ssize_t k = 3; k < many; ++k) {
        if (!PyFloat_Check(given[k])) {
            Py_RETURN_NONE;
        }
    }
    double *memory = PyMem_Malloc((size_t)(many - 3 + count) * sizeof *memory);
    if (memory == NULL) {
        return PyErr_NoMemory();
    }
    double *found = memory + (many - 3);
    for (Py_ssize_t k = 3; k < many; ++k) {
        memory[k - 3] = PyFloat_AS_DOUBLE(given[k]);
    }
    for (Py_ssize_t k = 0; k < count; ++k) {
        found[k] = NAN; /* what is not written is seen */
    }
    Py_BEGIN_ALLOW_THREADS
    function(memory, found);
    Py_END_ALLOW_THREADS
    PyObject *results = PyTuple_New(count);
    for (Py_ssize_t k = 0; results != NULL && k < count; ++k) {
        PyObject *value = PyFloat_FromDouble(found[k]);
        PyObject *typed = value ? PyObject_CallOneArg(type, value) : NULL;
        Py_XDECREF(value);
        if (typed == NULL) {
            Py_CLEAR(results);
        } else {
            PyTuple_SET_ITEM(results, k, typed);
        }
    }
    PyMem_Free(memory);
    return results;
}

/* address(array): where its elements begin, one behind the other */
static PyObject *address(PyObject *module, PyObject *array)
{
    (void)module;
    Py_buffer view;
    if (PyObject_GetBuffer(array, &view, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    PyObject *found = PyLong_FromVoidPtr(view.buf);
    PyBuffer_Release(&view);
    return found;
}

static PyMethodDef functions[] = {
    {"numbers", (PyCFunction)(void (*)(void))numbers, METH_FASTCALL, NULL},
    {"address", address, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "symgrad_calls", NULL, -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_symgrad_calls(void)
{
    return PyModule_Create(&definition);
}
