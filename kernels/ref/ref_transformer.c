/* Softmax attention (arXiv:1706.03762 section 3.2) and the embedding of tokens. */
#include "kernels/ref/ref.h"

/* Row `token` of q (0), k (1) or v (2) of one head, in an array [n, tokens, 3, heads, d]. */
static size_t row_of(int n, int token, int part, int head, int tokens, int heads, int d)
{
    return ((((size_t)n * (size_t)tokens + (size_t)token) * 3 + (size_t)part) * (size_t)heads +
            (size_t)head) *
           (size_t)d;
}

static double dot(const float *a, const float *b, int count, enum pk_math math)
{
    double sum = 0;

    for (int i = 0; i < count; i++)
        sum += ref_operand(a[i], math) * ref_operand(b[i], math);
    return sum;
}

/* Row i of one head's probabilities; keys after the query are left out where causal. */
static void attend(const struct pk_attention_forward *op, int n, int head, int i, float *row,
                   enum pk_math math)
{
    const float *q = op->qkv + row_of(n, i, 0, head, op->tokens, op->heads, op->d);
    const int keys = op->causal ? i + 1 : op->tokens;
    const double scale = 1 / sqrt(op->d);
    double largest = -INFINITY, sum = 0;

    for (int pass = 0; pass < 3; pass++)
        for (int j = 0; j < keys; j++) {
            const float *k = op->qkv + row_of(n, j, 1, head, op->tokens, op->heads, op->d);
            const double score = scale * dot(q, k, op->d, math);

            if (pass == 0)
                largest = score > largest ? score : largest;
            else if (pass == 1)
                sum += exp(score - largest);
            else
                row[j] = (float)(exp(score - largest) / sum);
        }
    for (int j = keys; j < op->tokens; j++)
        row[j] = 0;
}

enum psim_status ref_attention_forward(struct pk_context *context,
                                       const struct pk_attention_forward *op,
                                       const struct pk_workspace *workspace, struct psim_error *err)
{
    const enum pk_math math = context->options.math;
    float *row = op->probabilities;

    (void)workspace;
    (void)err;
    for (int n = 0; n < op->n; n++)
        for (int head = 0; head < op->heads; head++)
            for (int i = 0; i < op->tokens; i++, row += op->tokens) {
                float *y =
                    op->y + (((size_t)n * (size_t)op->tokens + (size_t)i) * (size_t)op->heads +
                             (size_t)head) *
                                (size_t)op->d;

                attend(op, n, head, i, row, math);
                for (int e = 0; e < op->d; e++) {
                    const int keys = op->causal ? i + 1 : op->tokens;
                    double sum = 0;

                    for (int j = 0; j < keys; j++)
                        sum += ref_operand(row[j], math) *
                               ref_operand(
                                   op->qkv[row_of(n, j, 2, head, op->tokens, op->heads, op->d) +
                                           (size_t)e],
                                   math);
                    y[e] = (float)sum;
                }
            }
    return PSIM_OK;
}

size_t ref_attention_backward_workspace(const struct pk_context *context,
                                        const struct pk_attention_backward *op)
{
    (void)context;
    return (size_t)op->tokens * (size_t)op->tokens * sizeof(double);
}

/* One head.  Its rows of qkv and dqkv are `stride` apart, those of dy `dy_stride`. */
struct head {
    const float *q, *k, *v, *p, *dy;
    float *dq, *dk, *dv;
    size_t stride, dy_stride;
    int tokens, d;
    bool causal;
};

static struct head head_of(const struct pk_attention_backward *op, int n, int head)
{
    const size_t plane = (size_t)op->tokens * (size_t)op->tokens, d = (size_t)op->d;
    const size_t q = row_of(n, 0, 0, head, op->tokens, op->heads, op->d);
    const size_t k = row_of(n, 0, 1, head, op->tokens, op->heads, op->d);
    const size_t v = row_of(n, 0, 2, head, op->tokens, op->heads, op->d);
    const size_t heads = (size_t)op->heads;

    return (struct head){
        .q = op->qkv + q,
        .k = op->qkv + k,
        .v = op->qkv + v,
        .p = op->probabilities + ((size_t)n * heads + (size_t)head) * plane,
        .dy = op->dy + ((size_t)n * (size_t)op->tokens * heads + (size_t)head) * d,
        .dq = op->dqkv + q,
        .dk = op->dqkv + k,
        .dv = op->dqkv + v,
        .stride = 3 * heads * d,
        .dy_stride = heads * d,
        .tokens = op->tokens,
        .d = op->d,
        .causal = op->causal,
    };
}

/* ds = p (dp - sum_j p dp), dp = dy v^T: the gradient of the scores; 0 where p is masked. */
static void scores_backward(const struct head *h, double *ds, enum pk_math math)
{
    for (int i = 0; i < h->tokens; i++, ds += h->tokens) {
        const float *p = h->p + (size_t)i * (size_t)h->tokens;
        const int keys = h->causal ? i + 1 : h->tokens;
        double sum = 0;

        for (int j = 0; j < keys; j++) {
            ds[j] = dot(h->dy + (size_t)i * h->dy_stride, h->v + (size_t)j * h->stride, h->d, math);
            sum += p[j] * ds[j];
        }
        for (int j = 0; j < h->tokens; j++)
            ds[j] = j < keys ? p[j] * (ds[j] - sum) : 0;
    }
}

/* dq = ds k / sqrt(d), dk = ds^T q / sqrt(d), dv = p^T dy */
static void rows_backward(const struct head *h, const double *ds, enum pk_math math)
{
    const double scale = 1 / sqrt(h->d);

    for (int i = 0; i < h->tokens; i++)
        for (int e = 0; e < h->d; e++) {
            double dq = 0, dk = 0, dv = 0;

            for (int j = 0; j < h->tokens; j++) {
                const size_t ij = (size_t)i * (size_t)h->tokens + (size_t)j;
                const size_t ji = (size_t)j * (size_t)h->tokens + (size_t)i;
                const size_t at_j = (size_t)j * h->stride + (size_t)e;

                if (!h->causal || j <= i)
                    dq += ref_operand((float)ds[ij], math) * ref_operand(h->k[at_j], math);
                if (h->causal && j < i)
                    continue;
                dk += ref_operand((float)ds[ji], math) * ref_operand(h->q[at_j], math);
                dv += ref_operand(h->p[ji], math) *
                      ref_operand(h->dy[(size_t)j * h->dy_stride + (size_t)e], math);
            }
            h->dq[(size_t)i * h->stride + (size_t)e] = (float)(scale * dq);
            h->dk[(size_t)i * h->stride + (size_t)e] = (float)(scale * dk);
            h->dv[(size_t)i * h->stride + (size_t)e] = (float)dv;
        }
}

enum psim_status ref_attention_backward(struct pk_context *context,
                                        const struct pk_attention_backward *op,
                                        const struct pk_workspace *workspace,
                                        struct psim_error *err)
{
    double *ds = workspace->data;

    (void)err;
    for (int n = 0; n < op->n; n++)
        for (int head = 0; head < op->heads; head++) {
            const struct head h = head_of(op, n, head);

            scores_backward(&h, ds, context->options.math);
            rows_backward(&h, ds, context->options.math);
        }
    return PSIM_OK;
}

enum psim_status ref_embedding_forward(struct pk_context *context,
                                       const struct pk_embedding_forward *op,
                                       const struct pk_workspace *workspace, struct psim_error *err)
{
    const size_t columns = (size_t)op->columns;

    (void)context;
    (void)workspace;
    (void)err;
    for (size_t row = 0; row < (size_t)op->rows; row++) {
        const int32_t index = op->index[row];

        for (size_t i = 0; i < columns; i++) {
            double value = NAN;

            if (index >= 0 && index < op->entries)
                value = op->table[(size_t)index * columns + i];
            if (op->position != NULL)
                value += op->position[row % (size_t)op->tokens * columns + i];
            op->y[row * columns + i] = (float)value;
        }
    }
    return PSIM_OK;
}

enum psim_status ref_embedding_backward(struct pk_context *context,
                                        const struct pk_embedding_backward *op,
                                        const struct pk_workspace *workspace,
                                        struct psim_error *err)
{
    const size_t columns = (size_t)op->columns, rows = (size_t)op->rows;

    (void)context;
    (void)workspace;
    (void)err;
    for (int entry = 0; entry < op->entries; entry++)
        for (size_t i = 0; i < columns; i++) {
            double sum = 0;

            for (size_t row = 0; row < rows; row++)
                if (op->index[row] == entry)
                    sum += op->dy[row * columns + i];
            op->dtable[(size_t)entry * columns + i] =
                (float)(op->dtable[(size_t)entry * columns + i] + sum);
        }
    for (size_t token = 0; op->dposition != NULL && token < (size_t)op->tokens; token++)
        for (size_t i = 0; i < columns; i++) {
            double sum = 0;

            for (size_t row = token; row < rows; row += (size_t)op->tokens)
                if (op->index[row] >= 0 && op->index[row] < op->entries)
                    sum += op->dy[row * columns + i];
            op->dposition[token * columns + i] = (float)(op->dposition[token * columns + i] + sum);
        }
    return PSIM_OK;
}
