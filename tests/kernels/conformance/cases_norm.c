/*
 * Batch and layer normalisation.  u: unit roundoff; m: values per channel or row.
 *
 * Mean: gamma_(m+1) sum |x| / m.  Variance: what a two-pass or an updating algorithm keeps to,
 * gamma_m kappa variance with kappa^2 = 1 + mean^2 / variance (Chan, Golub, LeVeque, Amer. Stat.
 * 37(3), 1983, doi:10.1080/00031305.1983.10483115, table 1), plus the square of the mean's error;
 * the mean of squares less the square of the mean, whose error goes with kappa^2, does not pass.
 */
#include "tests/kernels/conformance/conformance.h"

#include <math.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* The values of one channel lie in runs; those of one row in one run. */
struct slice {
    size_t start, runs, length, stride;
};

#define FOR_SLICE(i, s)                                                                            \
    for (size_t run_ = 0; run_ < (s).runs; run_++)                                                 \
        for (size_t i = (s).start + run_ * (s).stride, end_ = i + (s).length; i < end_; i++)

static struct slice channel(int n, int c, int hw, size_t which)
{
    return (struct slice){which * (size_t)hw, (size_t)n, (size_t)hw, (size_t)c * (size_t)hw};
}

static struct slice row(int columns, size_t which)
{
    return (struct slice){which * (size_t)columns, 1, (size_t)columns, 0};
}

/* Statistics with their errors: of the mean and variance absolute, of inv_std relative. */
struct statistics {
    double mean, mean_error, variance, variance_error, inv, inv_error;
};

static struct statistics given(double mean, double inv, double inv_error)
{
    return (struct statistics){.mean = mean, .inv = inv, .inv_error = inv_error};
}

static struct statistics statistics_of(const float *x, struct slice slice, double epsilon, double u)
{
    const double m = (double)(slice.runs * slice.length);
    struct statistics s = {0};
    double absolute = 0, gain, relative;

    FOR_SLICE(i, slice)
    {
        s.mean += x[i] / m;
        absolute += fabs((double)x[i]) / m;
    }
    FOR_SLICE(i, slice) s.variance += (x[i] - s.mean) * (x[i] - s.mean) / m;
    s.mean_error = conf_gamma(m + 1, u) * absolute + u * fabs(s.mean);
    gain = sqrt(s.variance * (s.variance + s.mean * s.mean)); /* kappa variance */
    s.variance_error = conf_gamma(2 * m + 8, u) * gain + s.mean_error * s.mean_error;
    s.inv = 1 / sqrt(s.variance + epsilon);
    relative = s.variance_error / (s.variance + epsilon);
    s.inv_error = (relative < 1 ? 1 / sqrt(1 - relative) - 1 : INFINITY) + 5 * u;
    return s;
}

/* Of z = (x - mean) inv, or of x inv - mean inv. */
static double z_error(double x, const struct statistics *s, double u)
{
    return s->inv * ((1 + s->inv_error) * (s->mean_error + 3 * u * (fabs(x) + fabs(s->mean))) +
                     fabs(x - s->mean) * (s->inv_error + 2 * u));
}

/* Of f = scale z + shift, before the ReLU, which makes no error larger. */
static double f_error(double x, const struct statistics *s, double scale, double shift, double u)
{
    return fabs(scale) * z_error(x, s, u) +
           3 * u * (fabs(scale * (x - s->mean) * s->inv) + fabs(shift));
}

/* y = base + f: the bounds of y, and of f where it is kept too. */
static void set_output(struct conf_case *c, size_t i, double error, double f, double u)
{
    struct conf_array *y = conf_find(c, "y"), *kept = conf_find(c, "f");
    const float *base = conf_input(c, "base");

    conf_set_bound(y, i, error + 2 * u * (fabs(f) + (base == NULL ? 0 : fabs((double)base[i]))));
    if (kept != NULL)
        conf_set_bound(kept, i, error + u * fabs(f));
}

static void set_running(struct conf_case *c, size_t k, const struct statistics *s, double m,
                        double momentum, double u)
{
    struct conf_array *mean = conf_find(c, "running_mean");
    struct conf_array *variance = conf_find(c, "running_variance");
    const double unbiased = m / (m - 1);

    if (mean == NULL)
        return;
    conf_set_bound(mean, k,
                   momentum * s->mean_error +
                       4 * u * (fabs((double)((float *)mean->input)[k]) + fabs(s->mean)));
    conf_set_bound(variance, k,
                   momentum * s->variance_error * unbiased +
                       6 * u *
                           (fabs((double)((float *)variance->input)[k]) + s->variance * unbiased));
}

static void forward_bound(struct conf_case *c, const struct conf_limits *limits)
{
    const float *x = conf_input(c, "x"), *scale = conf_input(c, "scale");
    const float *shift = conf_input(c, "shift");
    const double u = limits->unit;
    struct pk_norm_forward op;

    memcpy(&op, c->op, sizeof(op));
    for (size_t k = 0; k < (size_t)op.c; k++) {
        const struct slice slice = channel(op.n, op.c, op.hw, k);
        const struct statistics s = statistics_of(x, slice, op.epsilon, u);

        conf_set_bound(conf_find(c, "mean"), k, s.mean_error);
        conf_set_bound(conf_find(c, "inv_std"), k, s.inv * (s.inv_error + u));
        set_running(c, k, &s, (double)op.n * op.hw, op.momentum, u);
        FOR_SLICE(i, slice)
        {
            const double f = scale[k] * (x[i] - s.mean) * s.inv + shift[k];

            set_output(c, i, f_error(x[i], &s, scale[k], shift[k], u), f, u);
        }
    }
}

static void inference_bound(struct conf_case *c, const struct conf_limits *limits)
{
    const float *x = conf_input(c, "x"), *scale = conf_input(c, "scale");
    const float *shift = conf_input(c, "shift"), *mean = conf_input(c, "running_mean");
    const float *variance = conf_input(c, "running_variance");
    const double u = limits->unit;
    struct pk_norm_inference op;

    memcpy(&op, c->op, sizeof(op));
    for (size_t k = 0; k < (size_t)op.c; k++) {
        const struct statistics s =
            given(mean[k], 1 / sqrt((double)variance[k] + op.epsilon), 5 * u);

        FOR_SLICE(i, channel(op.n, op.c, op.hw, k))
        {
            const double f = scale[k] * (x[i] - s.mean) * s.inv + shift[k];

            set_output(c, i, f_error(x[i], &s, scale[k], shift[k], u), f, u);
        }
    }
}

/* sum g and sum g z with their errors. */
struct sums {
    double g, g_error, z, z_error;
};

static void sums_add(struct sums *sums, double g, double g_error, double z, double error_z,
                     double k, double u)
{
    const double largest = fabs(g) + g_error;

    sums->g += g;
    sums->z += g * z;
    sums->g_error += g_error + conf_gamma(k, u) * largest;
    sums->z_error += g_error * (fabs(z) + error_z) + fabs(g) * error_z +
                     conf_gamma(k + 2, u) * largest * (fabs(z) + error_z);
}

/* Of inv (g - sum g / m - z sum(g z) / m). */
static double dx_error(const struct sums *sums, double m, double g, double g_error, double z,
                       double error_z, double inv, double u)
{
    const double terms = fabs(g) + fabs(sums->g) / m + fabs(z * sums->z) / m;

    return inv * (g_error + sums->g_error / m + (fabs(z) + error_z) * sums->z_error / m +
                  error_z * fabs(sums->z) / m + 8 * u * terms);
}

static void add_gradient_bound(struct conf_array *array, size_t k, double error, double sum,
                               double u)
{
    conf_set_bound(array, k,
                   error + 2 * u * (fabs((double)((float *)array->input)[k]) + fabs(sum)));
}

/* The gradient behind the ReLU at one element.  Where f is within its error of 0, the mask may fall
 * either way, and the whole of dy is in doubt. */
static double masked(const struct pk_norm_backward *op, double x, double dy,
                     const struct statistics *s, double scale, double shift, double u,
                     double *error)
{
    const double f = scale * (x - s->mean) * s->inv + shift;

    *error = op->relu && fabs(f) <= f_error(x, s, scale, shift, u) ? fabs(dy) : 0;
    return op->relu && !(f > 0) ? 0 : dy;
}

static void backward_bound(struct conf_case *c, const struct conf_limits *limits)
{
    const float *x = conf_input(c, "x"), *dy = conf_input(c, "dy");
    const float *scale = conf_input(c, "scale"), *shift = conf_input(c, "shift");
    const float *mean = conf_input(c, "mean"), *inv = conf_input(c, "inv_std");
    const double u = limits->unit;
    struct conf_array *dx = conf_find(c, "dx");
    struct pk_norm_backward op;
    double m, doubt;

    memcpy(&op, c->op, sizeof(op));
    m = (double)op.n * op.hw;
    for (size_t k = 0; k < (size_t)op.c; k++) {
        const struct slice slice = channel(op.n, op.c, op.hw, k);
        const struct statistics s = given(mean[k], inv[k], 0);
        struct sums sums = {0};

        FOR_SLICE(i, slice)
        {
            const double g = masked(&op, x[i], dy[i], &s, scale[k], shift[k], u, &doubt);

            sums_add(&sums, g, doubt, (x[i] - s.mean) * s.inv, z_error(x[i], &s, u), m, u);
        }
        add_gradient_bound(conf_find(c, "dshift"), k, sums.g_error, sums.g, u);
        add_gradient_bound(conf_find(c, "dscale"), k, sums.z_error, sums.z, u);
        if (dx == NULL)
            continue;
        FOR_SLICE(i, slice)
        {
            const double g = masked(&op, x[i], dy[i], &s, scale[k], shift[k], u, &doubt);

            conf_set_bound(dx, i,
                           fabs((double)scale[k]) * dx_error(&sums, m, g, doubt,
                                                             (x[i] - s.mean) * s.inv,
                                                             z_error(x[i], &s, u), s.inv, u));
        }
    }
}

static void layer_forward_bound(struct conf_case *c, const struct conf_limits *limits)
{
    const float *x = conf_input(c, "x"), *scale = conf_input(c, "scale");
    const float *shift = conf_input(c, "shift");
    const double u = limits->unit;
    struct pk_layer_norm_forward op;

    memcpy(&op, c->op, sizeof(op));
    for (size_t r = 0; r < (size_t)op.rows; r++) {
        const struct slice slice = row(op.columns, r);
        const struct statistics s = statistics_of(x, slice, op.epsilon, u);

        conf_set_bound(conf_find(c, "mean"), r, s.mean_error);
        conf_set_bound(conf_find(c, "inv_std"), r, s.inv * (s.inv_error + u));
        FOR_SLICE(i, slice)
        {
            const size_t k = i - slice.start;
            const double f = scale[k] * (x[i] - s.mean) * s.inv + shift[k];

            set_output(c, i, f_error(x[i], &s, scale[k], shift[k], u), f, u);
        }
    }
}

static void layer_parameter_bound(struct conf_case *c, int rows, int columns, double u)
{
    const float *x = conf_input(c, "x"), *dy = conf_input(c, "dy");
    const float *mean = conf_input(c, "mean"), *inv = conf_input(c, "inv_std");

    for (size_t k = 0; k < (size_t)columns; k++) {
        struct sums sums = {0};

        for (size_t r = 0; r < (size_t)rows; r++) {
            const size_t i = r * (size_t)columns + k;
            const struct statistics s = given(mean[r], inv[r], 0);

            sums_add(&sums, dy[i], 0, (x[i] - s.mean) * s.inv, z_error(x[i], &s, u), rows, u);
        }
        add_gradient_bound(conf_find(c, "dshift"), k, sums.g_error, sums.g, u);
        add_gradient_bound(conf_find(c, "dscale"), k, sums.z_error, sums.z, u);
    }
}

static void layer_backward_bound(struct conf_case *c, const struct conf_limits *limits)
{
    const float *x = conf_input(c, "x"), *dy = conf_input(c, "dy");
    const float *scale = conf_input(c, "scale");
    const float *mean = conf_input(c, "mean"), *inv = conf_input(c, "inv_std");
    const double u = limits->unit;
    struct pk_layer_norm_backward op;

    memcpy(&op, c->op, sizeof(op));
    layer_parameter_bound(c, op.rows, op.columns, u);
    for (size_t r = 0; r < (size_t)op.rows; r++) {
        const struct slice slice = row(op.columns, r);
        const struct statistics s = given(mean[r], inv[r], 0);
        struct sums sums = {0};

        for (int pass = 0; pass < 2; pass++)
            FOR_SLICE(i, slice)
            {
                const double g = (double)scale[i - slice.start] * dy[i], g_error = u * fabs(g);
                const double z = (x[i] - s.mean) * s.inv, error = z_error(x[i], &s, u);

                if (pass == 0)
                    sums_add(&sums, g, g_error, z, error, op.columns, u);
                else
                    conf_set_bound(conf_find(c, "dx"), i,
                                   dx_error(&sums, op.columns, g, g_error, z, error, s.inv, u));
            }
    }
}

/* n, c, hw */
static const int images[][3] = {{0, 3, 4},  {3, 0, 4},   {3, 4, 0},    {1, 1, 1},    {1, 3, 2},
                                {2, 1, 1},  {7, 5, 3},   {2, 3, 49},   {3, 16, 64},  {4, 17, 63},
                                {2, 2, 65}, {5, 3, 257}, {1, 3, 1024}, {9, 4, 1025}, {64, 33, 16}};

/* Away from 0, the difference between a stable variance and another shows. */
static const float offsets[] = {0, 8, 300};

static void shift_by(struct conf_array *array, float offset)
{
    float *values = array->input;

    for (size_t i = 0; i < array->count; i++)
        values[i] += offset;
}

static void make_positive(struct conf_array *array)
{
    float *values = array->input;

    for (size_t i = 0; i < array->count; i++)
        values[i] = fabsf(values[i]) + 0.25F;
}

/* Where the result goes: flags of one case. */
enum place { SEPARATE, ONTO_X, ONTO_BASE, PLACES };

#define ADD_OUTPUT(c, type, x, count, with_base, place)                                            \
    do {                                                                                           \
        struct conf_array *base_ = NULL;                                                           \
        if ((with_base) || (place) == ONTO_BASE)                                                   \
            base_ = CONF_ADD(c, type, base, count, READ);                                          \
        if ((place) == SEPARATE)                                                                   \
            CONF_ADD(c, type, y, count, WRITTEN);                                                  \
        else                                                                                       \
            CONF_IN_PLACE((place) == ONTO_X ? (x) : base_, type, y);                               \
    } while (0)

static size_t product3(const int *s)
{
    return (size_t)s[0] * (size_t)s[1] * (size_t)s[2];
}

static void forward_case(struct conf_run *run, const int *s, int variant)
{
    const struct pk_norm_forward op = {.n = s[0],
                                       .c = s[1],
                                       .hw = s[2],
                                       .epsilon = 1e-5F,
                                       .momentum = 0.1F,
                                       .relu = variant % 2 == 1,
                                       .base_sign = variant % 4 < 2 ? 1 : -1};
    const enum place place = (enum place)(variant % PLACES);
    const bool with_base = variant % 5 < 3, running = variant % 2 == 0 && s[0] * s[2] != 1;
    const size_t count = product3(s), channels = (size_t)op.c;
    struct conf_array *x;
    struct conf_case c;

    CONF_BEGIN(&c, norm_forward, op, "[%d,%d,%d] variant %d", s[0], s[1], s[2], variant);
    c.bound = forward_bound;
    c.empty = count == 0;
    x = CONF_ADD(&c, pk_norm_forward, x, count, READ);
    shift_by(x, offsets[variant % COUNT(offsets)]);
    x->spoil = s[0] == 7;
    CONF_ADD(&c, pk_norm_forward, scale, channels, READ);
    CONF_ADD(&c, pk_norm_forward, shift, channels, READ)->spoil = s[0] == 7;
    CONF_ADD(&c, pk_norm_forward, mean, channels, WRITTEN);
    CONF_ADD(&c, pk_norm_forward, inv_std, channels, WRITTEN);
    if (running) {
        CONF_ADD(&c, pk_norm_forward, running_mean, channels, BOTH);
        make_positive(CONF_ADD(&c, pk_norm_forward, running_variance, channels, BOTH));
    }
    ADD_OUTPUT(&c, pk_norm_forward, x, count, with_base, place);
    if (conf_find(&c, "base") != NULL && variant % 7 < 4)
        CONF_ADD(&c, pk_norm_forward, f, count, WRITTEN);
    conf_run_case(run, &c);
}

void conf_cases_norm_forward(struct conf_run *run)
{
    for (int i = 0; i < COUNT(images); i++)
        for (int variant = 0; variant < 20; variant++)
            forward_case(run, images[i], variant);
}

static void inference_case(struct conf_run *run, const int *s, int variant)
{
    const struct pk_norm_inference op = {.n = s[0],
                                         .c = s[1],
                                         .hw = s[2],
                                         .epsilon = 1e-5F,
                                         .relu = variant % 2 == 1,
                                         .base_sign = variant % 4 < 2 ? 1 : -1};
    const size_t count = product3(s), channels = (size_t)op.c;
    struct conf_array *x;
    struct conf_case c;

    CONF_BEGIN(&c, norm_inference, op, "[%d,%d,%d] variant %d", s[0], s[1], s[2], variant);
    c.bound = inference_bound;
    c.empty = count == 0;
    x = CONF_ADD(&c, pk_norm_inference, x, count, READ);
    x->spoil = s[0] == 7;
    CONF_ADD(&c, pk_norm_inference, scale, channels, READ);
    CONF_ADD(&c, pk_norm_inference, shift, channels, READ);
    CONF_ADD(&c, pk_norm_inference, running_mean, channels, READ);
    make_positive(CONF_ADD(&c, pk_norm_inference, running_variance, channels, READ));
    ADD_OUTPUT(&c, pk_norm_inference, x, count, variant % 5 < 3, (enum place)(variant % PLACES));
    conf_run_case(run, &c);
}

void conf_cases_norm_inference(struct conf_run *run)
{
    for (int i = 0; i < COUNT(images); i++)
        for (int variant = 0; variant < 6; variant++)
            inference_case(run, images[i], variant);
}

static void backward_case(struct conf_run *run, const int *s, int variant)
{
    static const char *const places[] = {"", " dx onto dy", " no dx"};
    const struct pk_norm_backward op = {.n = s[0], .c = s[1], .hw = s[2], .relu = variant % 2 == 1};
    const size_t count = product3(s), channels = (size_t)op.c;
    struct conf_array *dy;
    struct conf_case c;

    CONF_BEGIN(&c, norm_backward, op, "[%d,%d,%d]%s%s", s[0], s[1], s[2], op.relu ? " relu" : "",
               places[variant / 2]);
    c.bound = backward_bound;
    c.empty = count == 0;
    CONF_ADD(&c, pk_norm_backward, x, count, READ);
    dy = CONF_ADD(&c, pk_norm_backward, dy, count, READ);
    dy->spoil = s[0] == 7;
    CONF_ADD(&c, pk_norm_backward, scale, channels, READ);
    CONF_ADD(&c, pk_norm_backward, shift, channels, READ);
    CONF_ADD(&c, pk_norm_backward, mean, channels, READ);
    make_positive(CONF_ADD(&c, pk_norm_backward, inv_std, channels, READ));
    CONF_ADD(&c, pk_norm_backward, dscale, channels, BOTH);
    CONF_ADD(&c, pk_norm_backward, dshift, channels, BOTH);
    if (variant / 2 == 0)
        CONF_ADD(&c, pk_norm_backward, dx, count, WRITTEN);
    else if (variant / 2 == 1)
        CONF_IN_PLACE(dy, pk_norm_backward, dx);
    conf_run_case(run, &c);
}

void conf_cases_norm_backward(struct conf_run *run)
{
    for (int i = 0; i < COUNT(images); i++)
        for (int variant = 0; variant < 6; variant++)
            backward_case(run, images[i], variant);
}

static const int matrices[][2] = {{0, 5},   {5, 0},   {1, 1},    {7, 2},    {3, 7},    {15, 31},
                                  {16, 32}, {17, 33}, {2, 1023}, {3, 1024}, {2, 1025}, {131, 64}};

void conf_cases_layer_norm_forward(struct conf_run *run)
{
    for (int i = 0; i < COUNT(matrices) * COUNT(offsets); i++) {
        const int *s = matrices[i / COUNT(offsets)];
        const struct pk_layer_norm_forward op = {.rows = s[0], .columns = s[1], .epsilon = 1e-5F};
        const size_t count = (size_t)s[0] * (size_t)s[1];
        struct conf_array *x;
        struct conf_case c;

        CONF_BEGIN(&c, layer_norm_forward, op, "[%d,%d] + %g", s[0], s[1],
                   (double)offsets[i % COUNT(offsets)]);
        c.bound = layer_forward_bound;
        c.empty = count == 0;
        x = CONF_ADD(&c, pk_layer_norm_forward, x, count, READ);
        shift_by(x, offsets[i % COUNT(offsets)]);
        x->spoil = s[0] == 7;
        CONF_ADD(&c, pk_layer_norm_forward, scale, (size_t)s[1], READ)->spoil = s[0] == 7;
        CONF_ADD(&c, pk_layer_norm_forward, shift, (size_t)s[1], READ);
        CONF_ADD(&c, pk_layer_norm_forward, mean, (size_t)s[0], WRITTEN);
        CONF_ADD(&c, pk_layer_norm_forward, inv_std, (size_t)s[0], WRITTEN);
        CONF_ADD(&c, pk_layer_norm_forward, y, count, WRITTEN);
        conf_run_case(run, &c);
    }
}

void conf_cases_layer_norm_backward(struct conf_run *run)
{
    for (int i = 0; i < COUNT(matrices) * 2; i++) {
        const int *s = matrices[i / 2];
        const struct pk_layer_norm_backward op = {.rows = s[0], .columns = s[1]};
        const size_t count = (size_t)s[0] * (size_t)s[1];
        struct conf_array *dy;
        struct conf_case c;

        CONF_BEGIN(&c, layer_norm_backward, op, "[%d,%d]%s", s[0], s[1],
                   i % 2 == 1 ? " in place" : "");
        c.bound = layer_backward_bound;
        c.empty = count == 0;
        CONF_ADD(&c, pk_layer_norm_backward, x, count, READ);
        dy = CONF_ADD(&c, pk_layer_norm_backward, dy, count, READ);
        dy->spoil = s[0] == 7;
        CONF_ADD(&c, pk_layer_norm_backward, scale, (size_t)s[1], READ);
        CONF_ADD(&c, pk_layer_norm_backward, mean, (size_t)s[0], READ);
        make_positive(CONF_ADD(&c, pk_layer_norm_backward, inv_std, (size_t)s[0], READ));
        CONF_ADD(&c, pk_layer_norm_backward, dscale, (size_t)s[1], BOTH);
        CONF_ADD(&c, pk_layer_norm_backward, dshift, (size_t)s[1], BOTH);
        if (i % 2 == 1)
            CONF_IN_PLACE(dy, pk_layer_norm_backward, dx);
        else
            CONF_ADD(&c, pk_layer_norm_backward, dx, count, WRITTEN);
        conf_run_case(run, &c);
    }
}
