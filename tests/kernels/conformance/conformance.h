/**
 * @file tests/kernels/conformance/conformance.h
 * Holds a backend's operations against those of "ref", shape by shape.
 *
 * Used by the program `conformance` and by the test of the checker itself.  A case is one
 * operation with its arrays.  It runs on ref in fp32; on the backend with outputs poisoned with
 * NaN and guard words round every array and the workspace; and again with other numbers of
 * threads, where the bytes must be the same.  Arrays that are only read must stay as they were.
 *
 * An error is judged by a bound that follows from the data.  For sums of products it is
 * gamma_k sum |a| |b| with gamma_k = k u / (1 - k u), which holds for any order of summation
 * (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1 and eq. 3.5); the
 * other operations carry the same rule through their formulas, beside which it is written.
 * A backend whose description names Winograd's F(2x2, 3x3) is allowed, for windows of 3 with stride
 * 1, what the transforms err by as well (winograd.c); other transforms are not covered.
 */
#ifndef PSIM_TESTS_KERNELS_CONFORMANCE_H
#define PSIM_TESTS_KERNELS_CONFORMANCE_H

#include "kernels/pk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONF_ARRAYS    16
#define CONF_OPERATION 512 /* bytes that hold any operation's struct */

enum conf_kind { CONF_FLOAT, CONF_INT32, CONF_INT64 };
/** Bytes of one element. */
size_t conf_element_bytes(enum conf_kind kind);

enum conf_role { CONF_READ, CONF_WRITTEN, CONF_BOTH };

/** One array of a case, on the host. */
struct conf_array {
    const char *name, *also_name; /**< members that point to it; the second in place, or NULL */
    size_t offset, also_offset;   /**< of these members in the struct */
    enum conf_kind kind;
    enum conf_role role;
    bool spoil; /**< a NaN or an infinity in it must show in the outputs */
    size_t count;
    void *input;   /**< before the operation; poison where it is only written */
    void *want;    /**< after it, by ref */
    double *bound; /**< of |got - want|, per element; floats that are written */
};

/** Rounding that the bound must allow. */
struct conf_limits {
    double unit;    /**< relative, of one fp32 operation */
    double operand; /**< relative, of an operand of a product; 0 in fp32 */
};

enum conf_operation {
#define CONF_ENUM(name, type) CONF_##name,
    PK_OPERATION_MAP(CONF_ENUM)
#undef CONF_ENUM
        CONF_OPERATIONS
};

struct conf_run;
struct conf_case;

/** Fills the bounds of a case whose `want` is known. */
typedef void conf_bound(struct conf_case *c, const struct conf_limits *limits);

struct conf_case {
    char label[160]; /**< shape and flags */
    enum conf_operation operation;
    _Alignas(max_align_t) unsigned char op[CONF_OPERATION];
    struct conf_array arrays[CONF_ARRAYS];
    int array_count;
    bool empty;   /**< a dimension is 0: nothing may change */
    bool product; /**< its operands are rounded under TF32 and BF16 */
    bool local;   /**< an output element depends on the inputs of its own place alone */
    /** The bound: `terms` roundings of what ref gives for `absolute` (the same operation with its
     *  factors made positive and no ReLU) on the inputs' absolute values; or `bound` where set. */
    _Alignas(max_align_t) unsigned char absolute[CONF_OPERATION];
    double terms;
    conf_bound *bound;
    uint64_t seed;
};

/** What came out for one operation. */
struct conf_result {
    bool missing; /**< the backend does not have it */
    int cases, failures;
    double worst_ratio; /**< largest error / bound */
    char worst[160];    /**< the case of it */
    char first_failure[512];
};

/** How contexts of the backend under test are opened. */
typedef enum psim_status conf_open(void *state, const struct pk_options *options,
                                   struct pk_context **context, struct psim_error *err);

#define CONF_CONTEXTS 3 /* with 1, 2 and 3 threads; of a device, all the same */

struct conf_run {
    struct pk_context *ref;
    struct pk_context *contexts[CONF_CONTEXTS];
    int context_count;
    struct conf_limits limits;
    bool winograd; /**< the backend says that it uses it */
    struct conf_result results[CONF_OPERATIONS];
    const char *only; /**< the one operation to run, or NULL */
};

/** Names of the operations, in the order of the map. */
extern const char *const conf_operation_names[];

/**
 * Opens ref and the backend's contexts.
 * @return as pk_context_open; closed with conf_close, also after a failure
 */
enum psim_status conf_start(struct conf_run *run, conf_open *open, void *state,
                            const struct pk_options *options, struct psim_error *err) PSIM_CHECKED;

/** Runs all cases of all operations (of `only`); what came out is in `results`. */
void conf_run_all(struct conf_run *run);
void conf_close(struct conf_run *run);

/** Runs a case, and spoiled copies of it where arrays are marked so; releases it. */
void conf_run_case(struct conf_run *run, struct conf_case *c);

/* Building a case: begin, add arrays, run. */

/** @param[in] op  copied, its pointers are filled in by the arrays */
void conf_begin(struct conf_case *c, enum conf_operation operation, const void *op, size_t size,
                const char *format, ...) PSIM_PRINTF(5, 6);

#define CONF_BEGIN(c, name, op, ...) conf_begin((c), CONF_##name, &(op), sizeof(op), __VA_ARGS__)

/** Random values in [-1, 1], some of them small or large, some equal. */
struct conf_array *conf_add(struct conf_case *c, const char *name, size_t offset, size_t count,
                            enum conf_kind kind, enum conf_role role);

#define CONF_ADD(c, type, member, count, role)                                                     \
    conf_add((c), #member, offsetof(struct type, member), (count), CONF_FLOAT, CONF_##role)
#define CONF_ADD_INT(c, type, member, count, role)                                                 \
    conf_add((c), #member, offsetof(struct type, member), (count), CONF_INT32, CONF_##role)

/** Lets another member point to the array, which becomes read and written. */
#define CONF_IN_PLACE(array, type, member)                                                         \
    conf_in_place((array), #member, offsetof(struct type, member))
void conf_in_place(struct conf_array *array, const char *name, size_t offset);

/** The array of a member, NULL where the case has none; its input as floats. */
struct conf_array *conf_find(struct conf_case *c, const char *name);
const float *conf_input(struct conf_case *c, const char *name);
void conf_release(struct conf_case *c);

/** The same shape with other data in one array, see `spoil`; `c` is left as it is. */
struct conf_case conf_copy(const struct conf_case *c);

/** Uniform in [0, 1), by counter. */
double conf_random(uint64_t seed, uint64_t index);

/** Runs ref on the case's own arrays: fills `want`.
 *  @param[in] absolute  the operation `absolute` on absolute values, into `want` */
enum psim_status conf_run_ref(struct conf_run *run, struct conf_case *c, bool absolute,
                              struct psim_error *err) PSIM_CHECKED;

/** An operation by number, as pk_X and pk_X_workspace. */
enum psim_status conf_call(struct pk_context *context, enum conf_operation operation,
                           const void *op, const struct pk_workspace *workspace,
                           struct psim_error *err) PSIM_CHECKED;
size_t conf_workspace(const struct pk_context *context, enum conf_operation operation,
                      const void *op);

/* Bounds. */

/** gamma_k = k u / (1 - k u); infinite where k u >= 1. */
double conf_gamma(double k, double unit);

/** Relative to sum |a| |b|: k roundings and those of the two operands. */
double conf_product(double k, const struct conf_limits *limits);

/** Bounds of a sum: see struct conf_case; called where `bound` is NULL. */
enum psim_status conf_bound_sum(struct conf_run *run, struct conf_case *c,
                                struct psim_error *err) PSIM_CHECKED;

/** Adds what Winograd's F(2x2, 3x3) may err by, where the case is a convolution it may serve. */
void conf_bound_winograd(struct conf_case *c, const struct conf_limits *limits);

/** Sets the bound of one element; what is too small for a normal float may become 0. */
void conf_set_bound(struct conf_array *array, size_t i, double bound);

/** |got - want| <= bound; NaN wants NaN, an infinity wants itself. */
bool conf_agrees(double got, double want, double bound);

#define CONF_CASES(name, type) void conf_cases_##name(struct conf_run *run);
PK_OPERATION_MAP(CONF_CASES)
#undef CONF_CASES

#endif
