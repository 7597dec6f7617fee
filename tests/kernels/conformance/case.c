/* Cases: their arrays, data and reference results. */
#include "tests/kernels/conformance/conformance.h"

#include "sim/base/memory.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

size_t conf_element_bytes(enum conf_kind kind)
{
    return kind == CONF_FLOAT   ? sizeof(float)
           : kind == CONF_INT32 ? sizeof(int32_t)
                                : sizeof(int64_t);
}

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014, doi:10.1145/2660193.2660195) of a counter. */
double conf_random(uint64_t seed, uint64_t index)
{
    uint64_t z = seed * UINT64_C(0xd1342543de82ef95) + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return (double)(z >> 11) * 0x1p-53;
}

/* Some of each: small, large, equal, and in between. */
static float random_value(uint64_t seed, uint64_t index)
{
    const double value = 2 * conf_random(seed, 2 * index) - 1;
    const double kind = conf_random(seed, 2 * index + 1);

    if (kind < 0.05)
        return (float)(value * 0x1p-8);
    if (kind < 0.1)
        return (float)(value * 0x1p3);
    if (kind < 0.15)
        return value < 0 ? -0.5F : 0.5F;
    return (float)value;
}

void conf_begin(struct conf_case *c, enum conf_operation operation, const void *op, size_t size,
                const char *format, ...)
{
    va_list arguments;

    PSIM_ASSERT(size <= sizeof(c->op));
    *c = (struct conf_case){.operation = operation};
    memcpy(c->op, op, size);
    va_start(arguments, format);
    vsnprintf(c->label, sizeof(c->label), format, arguments);
    va_end(arguments);
    c->seed = (uint64_t)operation;
    for (const char *p = c->label; *p != '\0'; p++)
        c->seed = c->seed * 131 + (unsigned char)*p;
}

/* NaN for floats; for integers something that no index is. */
static void poison(void *data, size_t bytes)
{
    const uint32_t word = UINT32_C(0x7fc0dead);

    for (size_t i = 0; i + sizeof(word) <= bytes; i += sizeof(word))
        memcpy((char *)data + i, &word, sizeof(word));
}

struct conf_array *conf_add(struct conf_case *c, const char *name, size_t offset, size_t count,
                            enum conf_kind kind, enum conf_role role)
{
    struct conf_array *array = &c->arrays[c->array_count];
    const size_t size = conf_element_bytes(kind);
    float *input;

    PSIM_ASSERT(c->array_count < CONF_ARRAYS);
    *array = (struct conf_array){
        .name = name,
        .offset = offset,
        .kind = kind,
        .role = role,
        .count = count,
        .input = psim_alloc(count, size),
        .want = psim_alloc(count, size),
        .bound = psim_alloc(count, sizeof(double)),
    };
    c->array_count++;
    if (array->input == NULL || array->want == NULL || array->bound == NULL) {
        fprintf(stderr, "conformance: out of memory\n");
        psim_bug("the conformance program needs more memory than there is");
    }
    input = array->input;
    if (role == CONF_WRITTEN)
        poison(array->input, count * size);
    else if (kind == CONF_FLOAT)
        for (size_t i = 0; i < count; i++)
            input[i] = random_value(c->seed + (uint64_t)c->array_count, i);
    return array;
}

void conf_in_place(struct conf_array *array, const char *name, size_t offset)
{
    array->also_name = name;
    array->also_offset = offset;
    array->role = CONF_BOTH;
}

struct conf_array *conf_find(struct conf_case *c, const char *name)
{
    for (int i = 0; i < c->array_count; i++)
        if (strcmp(c->arrays[i].name, name) == 0 ||
            (c->arrays[i].also_name != NULL && strcmp(c->arrays[i].also_name, name) == 0))
            return &c->arrays[i];
    return NULL;
}

const float *conf_input(struct conf_case *c, const char *name)
{
    const struct conf_array *array = conf_find(c, name);

    return array == NULL ? NULL : array->input;
}

void conf_release(struct conf_case *c)
{
    for (int i = 0; i < c->array_count; i++) {
        psim_free(c->arrays[i].input);
        psim_free(c->arrays[i].want);
        psim_free(c->arrays[i].bound);
    }
    c->array_count = 0;
}

struct conf_case conf_copy(const struct conf_case *c)
{
    struct conf_case copy = *c;

    copy.array_count = 0;
    for (int i = 0; i < c->array_count; i++) {
        const struct conf_array *from = &c->arrays[i];
        struct conf_array *to =
            conf_add(&copy, from->name, from->offset, from->count, from->kind, from->role);

        to->also_name = from->also_name;
        to->also_offset = from->also_offset;
        if (from->count > 0)
            memcpy(to->input, from->input, from->count * conf_element_bytes(from->kind));
    }
    return copy;
}

/* ref's operands are the case's arrays themselves: what is read is `input`, what is written
 * `want`, which starts as a copy of it. */
enum psim_status conf_run_ref(struct conf_run *run, struct conf_case *c, bool absolute,
                              struct psim_error *err)
{
    unsigned char *op = absolute ? c->absolute : c->op;
    struct pk_workspace workspace = {.bytes = conf_workspace(run->ref, c->operation, op)};
    enum psim_status status;

    for (int i = 0; i < c->array_count; i++) {
        const struct conf_array *a = &c->arrays[i];
        float *want = a->want;

        if (a->count > 0)
            memcpy(a->want, a->input, a->count * conf_element_bytes(a->kind));
        for (size_t e = 0; absolute && a->kind == CONF_FLOAT && e < a->count; e++)
            want[e] = fabsf(want[e]);
        memcpy(op + a->offset, &a->want, sizeof(a->want));
        if (a->also_name != NULL)
            memcpy(op + a->also_offset, &a->want, sizeof(a->want));
    }
    status = pk_allocate(run->ref, PK_WORKSPACE, workspace.bytes, &workspace.data, err);
    if (status == PSIM_OK)
        status = conf_call(run->ref, c->operation, op, &workspace, err);
    pk_release(run->ref, PK_WORKSPACE, workspace.bytes, workspace.data);
    return status;
}
