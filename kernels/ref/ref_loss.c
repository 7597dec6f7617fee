/* Softmax and cross-entropy. */
#include "kernels/ref/ref.h"

static int largest_of(const float *x, int count)
{
    int best = 0;

    for (int i = 1; i < count; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

enum psim_status ref_cross_entropy(struct pk_context *context, const struct pk_cross_entropy *op,
                                   const struct pk_workspace *workspace, struct psim_error *err)
{
    (void)context;
    (void)workspace;
    (void)err;
    for (int row = 0; row < op->rows; row++) {
        const size_t start = (size_t)row * (size_t)op->classes;
        const float *logits = op->logits + start;
        const int label = op->labels[row], predicted = largest_of(logits, op->classes);
        const bool known = label >= 0 && label < op->classes;
        /* Less the largest: exp cannot overflow, and the sum is at least 1. */
        const double largest = logits[predicted];
        double sum = 0;

        for (int i = 0; i < op->classes; i++)
            sum += exp(logits[i] - largest);
        if (op->predicted != NULL)
            op->predicted[row] = predicted;
        if (op->loss != NULL)
            op->loss[row] = known ? (float)(log(sum) + largest - logits[label]) : NAN;
        for (int i = 0; op->dlogits != NULL && i < op->classes; i++) {
            const double softmax = exp(logits[i] - largest) / sum;

            op->dlogits[start + (size_t)i] =
                known ? (float)(op->gradient_scale * (softmax - (i == label))) : NAN;
        }
    }
    return PSIM_OK;
}
