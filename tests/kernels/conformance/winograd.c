/*
 * What Winograd's F(2x2, 3x3) may err by, on top of the bound of the direct sum.
 *
 *     Y = A' [(G g G') . (B' d B)] A
 *
 * is trilinear.  In one dimension output o takes input d times filter tap g with the weight
 * sum_l A'[o,l] G[l,g] B'[l,d]; the rounding of the terms that cancel on paper does not cancel, so
 * the error goes with W[o,d,g] = sum_l |A'[o,l]| |G[l,g]| |B'[l,d]| (Higham, section 3.5, for each
 * of the three matrices).  The gradients of input and filter are the same form, solved for another
 * of its three sides.  Matrices: arXiv:1509.09308 section 4.1.
 */
#include "tests/kernels/conformance/conformance.h"

#include "sim/base/memory.h"

#include <math.h>
#include <string.h>

/* Roundings of the three transforms and of the scaling by 1/2, in both dimensions. */
#define TRANSFORMS 16

static double weight_of(int output, int input, int tap)
{
    static const double a[2][4] = {{1, 1, 1, 0}, {0, 1, 1, 1}};
    static const double g[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}, {0, 0, 1}};
    static const double b[4][4] = {{1, 0, 1, 0}, {0, 1, 1, 0}, {0, 1, 1, 0}, {0, 1, 0, 1}};
    double sum = 0;

    for (int l = 0; l < 4; l++)
        sum += a[output][l] * g[l][tap] * b[l][input];
    return sum;
}

/* A convolution: input d [n, c, h, w], filter g, output y [n, k, p, q]; the side that is asked for
 * is the one whose values are NULL.  Turned: the filter is [c, k, 3, 3], back to front. */
struct form {
    int n, c, h, w, k, p, q, pad;
    const float *d, *g, *y;
    bool turned;
};

static size_t filter_at(const struct form *f, int k, int c, int r, int t)
{
    return f->turned ? (size_t)(((c * f->k + k) * 3 + 2 - r) * 3 + 2 - t)
                     : (size_t)(((k * f->c + c) * 3 + r) * 3 + t);
}

/* One output and channel: adds the terms to its own side or to the filter's. */
static void add_terms(const struct form *f, int n, int k, int c, int p, int q, double *sums)
{
    const size_t at_y = (size_t)(((n * f->k + k) * f->p + p) * f->q + q);

    for (int i = 0; i < 16; i++) {
        const int y = p - p % 2 - f->pad + i / 4, x = q - q % 2 - f->pad + i % 4;
        double d;

        if (y < 0 || y >= f->h || x < 0 || x >= f->w)
            continue;
        d = fabs((double)f->d[((n * f->c + c) * f->h + y) * f->w + x]);
        for (int tap = 0; tap < 9; tap++) {
            const size_t at_g = filter_at(f, k, c, tap / 3, tap % 3);
            const double term =
                d * weight_of(p % 2, i / 4, tap / 3) * weight_of(q % 2, i % 4, tap % 3);

            if (f->g == NULL)
                sums[at_g] += term * fabs((double)f->y[at_y]);
            else
                sums[at_y] += term * fabs((double)f->g[at_g]);
        }
    }
}

static void add_bound(const struct form *f, struct conf_array *result, double terms,
                      const struct conf_limits *l)
{
    double *sums = psim_alloc(result->count, sizeof(*sums));

    PSIM_ASSERT(sums != NULL);
    for (int n = 0; n < f->n; n++)
        for (int k = 0; k < f->k; k++)
            for (int c = 0; c < f->c; c++)
                for (int i = 0; i < f->p * f->q; i++)
                    add_terms(f, n, k, c, i / f->q, i % f->q, sums);
    for (size_t i = 0; i < result->count; i++)
        result->bound[i] += conf_product(terms + TRANSFORMS, l) * sums[i];
    psim_free(sums);
}

static bool has_tiles(const struct pk_conv_shape *s)
{
    return s->kernel == 3 && s->stride == 1;
}

void conf_bound_winograd(struct conf_case *c, const struct conf_limits *limits)
{
    struct pk_conv_shape s;
    struct form f;

    if (c->operation != CONF_conv_forward && c->operation != CONF_conv_backward_data &&
        c->operation != CONF_conv_backward_weight)
        return;
    memcpy(&s, c->op, sizeof(s)); /* the first member of all three */
    if (!has_tiles(&s))
        return;
    f = (struct form){.n = s.n,
                      .c = s.c,
                      .h = s.h,
                      .w = s.w,
                      .k = s.k,
                      .p = pk_window_out(s.h, &s),
                      .q = pk_window_out(s.w, &s),
                      .pad = s.pad,
                      .d = conf_input(c, "x"),
                      .g = conf_input(c, "weight"),
                      .y = conf_input(c, "dy")};
    if (c->operation == CONF_conv_backward_data)
        f = (struct form){.n = s.n,
                          .c = s.k,
                          .h = f.p,
                          .w = f.q,
                          .k = s.c,
                          .p = s.h,
                          .q = s.w,
                          .pad = 2 - s.pad,
                          .d = f.y,
                          .g = f.g,
                          .turned = true};
    add_bound(&f,
              conf_find(c, c->operation == CONF_conv_forward         ? "y"
                           : c->operation == CONF_conv_backward_data ? "dx"
                                                                     : "dweight"),
              c->terms, limits);
}
