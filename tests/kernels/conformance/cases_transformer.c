/* Cross-entropy, GELU, attention and embedding.  u: unit roundoff, 2^-24 in fp32. */
#include "tests/kernels/conformance/conformance.h"

#include "sim/base/memory.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* A softmax over x, whose largest is subtracted: exp of a rounded difference d is off by |d| u,
 * and by two units in the last place, 4 u, of its own; errors of x itself come on top. */
static double exp_error(double x, double largest, double u)
{
    return u * (fabs(x - largest) + 4);
}

/* log(sum): the sum's relative error, log's own, and the three terms of the loss. */
static void cross_entropy_row(struct conf_case *c, const struct pk_cross_entropy *op, size_t row,
                              double u)
{
    const size_t classes = (size_t)op->classes;
    const float *x = conf_input(c, "logits") + row * classes;
    const int label = ((const int32_t *)conf_find(c, "labels")->input)[row];
    const bool known = label >= 0 && label < op->classes;
    struct conf_array *loss = conf_find(c, "loss"), *dx = conf_find(c, "dlogits");
    double largest = x[0], sum = 0, error = 0;

    for (size_t i = 1; i < classes; i++)
        largest = x[i] > largest ? x[i] : largest;
    for (size_t i = 0; i < classes; i++) {
        sum += exp(x[i] - largest);
        error += exp(x[i] - largest) * exp_error(x[i], largest, u);
    }
    error = error / sum + conf_gamma((double)classes, u); /* of the sum, relative */
    if (loss != NULL)
        conf_set_bound(loss, row,
                       1.01 * error + 4 * u * log(sum) +
                           4 * u * (fabs(largest) + (known ? fabs((double)x[label]) : 0)));
    for (size_t i = 0; dx != NULL && i < classes; i++) {
        const double p = exp(x[i] - largest) / sum;
        const double relative = 1.01 * (error + exp_error(x[i], largest, u)) + 2 * u;
        const double one_hot = known && (size_t)label == i;

        conf_set_bound(dx, row * classes + i,
                       fabs((double)op->gradient_scale) * (p * relative + 3 * u * (p + one_hot)));
    }
}

static void cross_entropy_bound(struct conf_case *c, const struct conf_limits *limits)
{
    struct pk_cross_entropy op;

    memcpy(&op, c->op, sizeof(op));
    for (size_t row = 0; row < (size_t)op.rows; row++)
        cross_entropy_row(c, &op, row, limits->unit);
}

static void cross_entropy_case(struct conf_run *run, const int *s, int variant)
{
    const struct pk_cross_entropy op = {
        .rows = s[0], .classes = s[1], .gradient_scale = s[0] == 0 ? 1 : 1 / (float)s[0]};
    const size_t count = (size_t)s[0] * (size_t)s[1];
    const bool in_place = variant == 1;
    struct conf_array *logits;
    struct conf_case c;
    int32_t *labels;

    CONF_BEGIN(&c, cross_entropy, op, "[%d,%d] variant %d", s[0], s[1], variant);
    c.bound = cross_entropy_bound;
    c.empty = count == 0;
    logits = CONF_ADD(&c, pk_cross_entropy, logits, count, READ);
    logits->spoil = s[0] == 7;
    /* Larger than exp can take in float, where not subtracted. */
    for (size_t i = 0; variant == 3 && i < count; i++)
        ((float *)logits->input)[i] = 40 * ((float *)logits->input)[i] + 100;
    labels = CONF_ADD_INT(&c, pk_cross_entropy, labels, (size_t)s[0], READ)->input;
    for (int i = 0; i < s[0]; i++)
        labels[i] = (int32_t)(conf_random(c.seed, (uint64_t)i) * s[1]);
    if (variant == 2 && s[0] > 2) {
        labels[0] = -1;
        labels[1] = s[1];
        labels[2] = INT32_MIN;
    }
    if (variant != 3)
        CONF_ADD(&c, pk_cross_entropy, loss, (size_t)s[0], WRITTEN);
    if (variant != 2)
        CONF_ADD_INT(&c, pk_cross_entropy, predicted, (size_t)s[0], WRITTEN);
    if (in_place)
        CONF_IN_PLACE(logits, pk_cross_entropy, dlogits);
    else if (variant != 4)
        CONF_ADD(&c, pk_cross_entropy, dlogits, count, WRITTEN);
    conf_run_case(run, &c);
}

void conf_cases_cross_entropy(struct conf_run *run)
{
    static const int shapes[][2] = {{0, 5},    {5, 0},     {1, 1},   {7, 10},  {3, 2},
                                    {5, 31},   {16, 32},   {17, 33}, {64, 10}, {3, 1000},
                                    {2, 1025}, {130, 128}, {1, 4099}};

    for (int i = 0; i < COUNT(shapes); i++)
        for (int variant = 0; variant < 5; variant++)
            cross_entropy_case(run, shapes[i], variant);
}

/* y = x Phi(x), Phi = (1 + erf) / 2 in absolute terms: erf is off by 2 units in the last place of
 * 1, the sum and the products by one each: 8 u |x|. */
static void gelu_forward_bound(struct conf_case *c, const struct conf_limits *limits)
{
    const struct conf_array *x = conf_find(c, "x");

    for (size_t i = 0; i < x->count; i++)
        conf_set_bound(conf_find(c, "y"), i,
                       8 * limits->unit * fabs((double)((const float *)x->input)[i]));
}

/* Phi as above, 5 u; x phi(x) with the rounded exponent x^2 / 2 and exp's own 4 u. */
static void gelu_backward_bound(struct conf_case *c, const struct conf_limits *limits)
{
    const float *x = conf_input(c, "x"), *dy = conf_input(c, "dy");
    struct conf_array *dx = conf_find(c, "dx");

    for (size_t i = 0; i < dx->count; i++) {
        const double square = (double)x[i] * x[i];
        const double density = 0.3989422804014327 /* 1 / sqrt(2 pi) */ * exp(-square / 2);

        conf_set_bound(dx, i,
                       limits->unit * fabs((double)dy[i]) *
                           (8 + fabs((double)x[i]) * density * (2 * square + 12)));
    }
}

static const size_t counts[] = {0, 1, 7, 15, 16, 17, 255, 256, 257, 1025, 70001};

void conf_cases_gelu_forward(struct conf_run *run)
{
    struct conf_case c;

    for (int i = 0; i < COUNT(counts); i++) {
        const struct pk_gelu_forward op = {.count = counts[i]};

        CONF_BEGIN(&c, gelu_forward, op, "count %zu", op.count);
        c.bound = gelu_forward_bound;
        c.empty = op.count == 0;
        c.local = true;
        CONF_ADD(&c, pk_gelu_forward, x, op.count, READ)->spoil = true;
        CONF_ADD(&c, pk_gelu_forward, y, op.count, WRITTEN);
        conf_run_case(run, &c);
    }
}

void conf_cases_gelu_backward(struct conf_run *run)
{
    struct conf_array *dy;
    struct conf_case c;

    for (int i = 0; i < COUNT(counts) * 2; i++) {
        const struct pk_gelu_backward op = {.count = counts[i / 2]};

        CONF_BEGIN(&c, gelu_backward, op, "count %zu%s", op.count, i % 2 == 1 ? " in place" : "");
        c.bound = gelu_backward_bound;
        c.empty = op.count == 0;
        c.local = true;
        CONF_ADD(&c, pk_gelu_backward, x, op.count, READ);
        dy = CONF_ADD(&c, pk_gelu_backward, dy, op.count, READ);
        dy->spoil = true;
        if (i % 2 == 1)
            CONF_IN_PLACE(dy, pk_gelu_backward, dx);
        else
            CONF_ADD(&c, pk_gelu_backward, dx, op.count, WRITTEN);
        conf_run_case(run, &c);
    }
}

/* One head: element (token, e) of q, k, v, and of y or dy. */
struct head {
    int tokens, d;
    bool causal;
    size_t parts[3], stride, y, y_stride, p;
};

static struct head head_of(int n, int head, int tokens, int heads, int d, bool causal)
{
    const size_t sample = (size_t)n * (size_t)tokens, width = (size_t)heads * (size_t)d;
    const size_t first = sample * 3 * width + (size_t)head * (size_t)d;

    return (struct head){
        .tokens = tokens,
        .d = d,
        .causal = causal,
        .parts = {first, first + width, first + 2 * width},
        .stride = 3 * width,
        .y = sample * width + (size_t)head * (size_t)d,
        .y_stride = width,
        .p = ((size_t)n * (size_t)heads + (size_t)head) * (size_t)tokens * (size_t)tokens,
    };
}

/* Element e of row `token` in part 0 (q), 1 (k) or 2 (v). */
static size_t part_at(const struct head *h, int part, int token, int e)
{
    return h->parts[part] + (size_t)token * h->stride + (size_t)e;
}

static size_t y_at(const struct head *h, int token, int e)
{
    return h->y + (size_t)token * h->y_stride + (size_t)e;
}

static int keys_of(const struct head *h, int query)
{
    return h->causal ? query + 1 : h->tokens;
}

struct score {
    double value, error;
};

/* A product of d terms, scaled. */
static struct score score_of(const float *qkv, const struct head *h, int i, int j,
                             const struct conf_limits *l)
{
    double sum = 0, absolute = 0;

    for (int e = 0; e < h->d; e++) {
        const double term = (double)qkv[part_at(h, 0, i, e)] * qkv[part_at(h, 1, j, e)];

        sum += term / sqrt(h->d);
        absolute += fabs(term) / sqrt(h->d);
    }
    return (struct score){sum, conf_product(h->d + 3, l) * absolute};
}

/* A probability is off by the errors of its own score and exponential, of those in the sum, and of
 * the sum; an implementation in one pass may rescale the sum at every key. */
static void attention_row(struct conf_case *c, const struct head *h, int i,
                          const struct conf_limits *l)
{
    const float *qkv = conf_input(c, "qkv");
    struct conf_array *p = conf_find(c, "probabilities"), *y = conf_find(c, "y");
    const size_t first = h->p + (size_t)i * (size_t)h->tokens;
    const float *want = (const float *)p->want + first;
    double worst = 0, largest = -INFINITY, smallest = INFINITY;

    for (int j = 0; j < keys_of(h, i); j++) {
        const struct score s = score_of(qkv, h, i, j, l);

        worst = fmax(worst, s.error);
        largest = fmax(largest, s.value);
        smallest = fmin(smallest, s.value);
    }
    for (int j = 0; j < keys_of(h, i); j++) {
        const struct score s = score_of(qkv, h, i, j, l);
        const double sum = worst + l->unit * (largest - smallest + 4 * h->tokens);

        conf_set_bound(p, first + (size_t)j,
                       want[j] * (expm1(s.error + exp_error(s.value, largest, l->unit) + sum) +
                                  conf_gamma(2 * h->tokens + 8, l->unit)));
    }
    for (int e = 0; e < h->d; e++) {
        double error = 0;

        for (int j = 0; j < keys_of(h, i); j++)
            error += fabs((double)qkv[part_at(h, 2, j, e)]) *
                     (p->bound[first + (size_t)j] +
                      conf_product(2 * h->tokens + 8, l) * (want[j] + p->bound[first + (size_t)j]));
        conf_set_bound(y, y_at(h, i, e), error);
    }
}

static void attention_forward_bound(struct conf_case *c, const struct conf_limits *limits)
{
    struct pk_attention_forward op;

    memcpy(&op, c->op, sizeof(op));
    for (int n = 0; n < op.n; n++)
        for (int k = 0; k < op.heads; k++) {
            const struct head h = head_of(n, k, op.tokens, op.heads, op.d, op.causal);

            for (int i = 0; i < op.tokens; i++)
                attention_row(c, &h, i, limits);
        }
}

/* ds = p (dp - sum p dp) of one query, and its error; dp is a product of d terms. */
static void scores_row(struct conf_case *c, const struct head *h, int i, double *ds, double *error,
                       const struct conf_limits *l)
{
    const float *qkv = conf_input(c, "qkv"), *dy = conf_input(c, "dy");
    const float *p = conf_input(c, "probabilities") + h->p + (size_t)i * (size_t)h->tokens;
    const int keys = keys_of(h, i);
    double sum = 0, sum_error = 0;

    for (int j = 0; j < h->tokens; j++) {
        double absolute = 0;

        ds[j] = error[j] = 0;
        for (int e = 0; j < keys && e < h->d; e++) {
            const double term = (double)dy[y_at(h, i, e)] * qkv[part_at(h, 2, j, e)];

            ds[j] += term;
            absolute += fabs(term);
        }
        error[j] = conf_product(h->d + 1, l) * absolute;
        sum += p[j] * ds[j];
        sum_error +=
            p[j] * (error[j] + conf_gamma(h->tokens + 1, l->unit) * (fabs(ds[j]) + error[j]));
    }
    for (int j = 0; j < keys; j++) {
        error[j] = p[j] * (error[j] + sum_error + 3 * l->unit * (fabs(ds[j]) + fabs(sum)));
        ds[j] = p[j] * (ds[j] - sum);
    }
}

static void head_backward_bound(struct conf_case *c, const struct head *h, const double *ds,
                                const double *error, const struct conf_limits *l)
{
    const float *qkv = conf_input(c, "qkv"), *dy = conf_input(c, "dy");
    const float *p = conf_input(c, "probabilities") + h->p;
    struct conf_array *dqkv = conf_find(c, "dqkv");
    const double factor = conf_product(h->tokens + 4, l), scale = 1 / sqrt(h->d);

    for (int i = 0; i < h->tokens; i++)
        for (int e = 0; e < h->d; e++) {
            double dq = 0, dk = 0, dv = 0;

            for (int j = 0; j < h->tokens; j++) {
                const size_t ij = (size_t)i * (size_t)h->tokens + (size_t)j;
                const size_t ji = (size_t)j * (size_t)h->tokens + (size_t)i;
                const double k = fabs((double)qkv[part_at(h, 1, j, e)]);
                const double q = fabs((double)qkv[part_at(h, 0, j, e)]);

                dq += k * (error[ij] + factor * (fabs(ds[ij]) + error[ij]));
                dk += q * (error[ji] + factor * (fabs(ds[ji]) + error[ji]));
                dv += factor * p[ji] * fabs((double)dy[y_at(h, j, e)]);
            }
            conf_set_bound(dqkv, part_at(h, 0, i, e), scale * dq);
            conf_set_bound(dqkv, part_at(h, 1, i, e), scale * dk);
            conf_set_bound(dqkv, part_at(h, 2, i, e), dv + (double)h->tokens * FLT_MIN);
        }
}

static void attention_backward_bound(struct conf_case *c, const struct conf_limits *limits)
{
    struct pk_attention_backward op;
    double *ds, *error;

    memcpy(&op, c->op, sizeof(op));
    ds = psim_alloc((size_t)op.tokens * (size_t)op.tokens, sizeof(*ds));
    error = psim_alloc((size_t)op.tokens * (size_t)op.tokens, sizeof(*error));
    PSIM_ASSERT(ds != NULL && error != NULL);
    for (int n = 0; n < op.n; n++)
        for (int k = 0; k < op.heads; k++) {
            const struct head h = head_of(n, k, op.tokens, op.heads, op.d, op.causal);

            for (int i = 0; i < op.tokens; i++)
                scores_row(c, &h, i, ds + (size_t)i * (size_t)op.tokens,
                           error + (size_t)i * (size_t)op.tokens, limits);
            head_backward_bound(c, &h, ds, error, limits);
        }
    psim_free(ds);
    psim_free(error);
}

/* n, tokens, heads, d */
static const int attentions[][4] = {{0, 3, 2, 4},   {2, 0, 2, 4},   {2, 3, 0, 4},   {2, 3, 2, 0},
                                    {1, 1, 1, 1},   {2, 7, 3, 5},   {1, 15, 2, 16}, {1, 16, 1, 17},
                                    {2, 17, 2, 8},  {1, 31, 1, 32}, {1, 33, 2, 31}, {2, 64, 2, 16},
                                    {1, 65, 1, 64}, {1, 130, 1, 7}};

static size_t attention_rows(const int *s)
{
    return (size_t)s[0] * (size_t)s[1] * (size_t)s[2] * (size_t)s[3];
}

static size_t attention_pairs(const int *s)
{
    return (size_t)s[0] * (size_t)s[2] * (size_t)s[1] * (size_t)s[1];
}

void conf_cases_attention_forward(struct conf_run *run)
{
    struct conf_case c;

    for (int i = 0; i < COUNT(attentions) * 2; i++) {
        const int *s = attentions[i / 2];
        const struct pk_attention_forward op = {
            .n = s[0], .tokens = s[1], .heads = s[2], .d = s[3], .causal = i % 2 == 1};

        CONF_BEGIN(&c, attention_forward, op, "[%d,%d,3,%d,%d]%s", s[0], s[1], s[2], s[3],
                   op.causal ? " causal" : "");
        c.bound = attention_forward_bound;
        c.empty = attention_rows(s) == 0;
        CONF_ADD(&c, pk_attention_forward, qkv, 3 * attention_rows(s), READ)->spoil = s[1] == 7;
        CONF_ADD(&c, pk_attention_forward, probabilities, attention_pairs(s), WRITTEN);
        CONF_ADD(&c, pk_attention_forward, y, attention_rows(s), WRITTEN);
        conf_run_case(run, &c);
    }
}

/* Rows that sum to 1, of the keys that a query may see. */
static void make_probabilities(struct conf_array *array, int tokens, bool causal)
{
    for (size_t row = 0; row < array->count / (size_t)tokens; row++) {
        float *p = (float *)array->input + row * (size_t)tokens;
        const int keys = causal ? (int)(row % (size_t)tokens) + 1 : tokens;
        double sum = 0;

        for (int j = 0; j < tokens; j++) {
            p[j] = j < keys ? fabsf(p[j]) + 0.01F : 0.0F;
            sum += p[j];
        }
        for (int j = 0; j < tokens; j++)
            p[j] = (float)(p[j] / sum);
    }
}

void conf_cases_attention_backward(struct conf_run *run)
{
    struct conf_case c;

    for (int i = 0; i < COUNT(attentions) * 2; i++) {
        const int *s = attentions[i / 2];
        const struct pk_attention_backward op = {
            .n = s[0], .tokens = s[1], .heads = s[2], .d = s[3], .causal = i % 2 == 1};
        struct conf_array *p;

        CONF_BEGIN(&c, attention_backward, op, "[%d,%d,3,%d,%d]%s", s[0], s[1], s[2], s[3],
                   op.causal ? " causal" : "");
        c.bound = attention_backward_bound;
        c.empty = attention_rows(s) == 0;
        CONF_ADD(&c, pk_attention_backward, qkv, 3 * attention_rows(s), READ);
        p = CONF_ADD(&c, pk_attention_backward, probabilities, attention_pairs(s), READ);
        if (p->count > 0)
            make_probabilities(p, op.tokens, op.causal);
        CONF_ADD(&c, pk_attention_backward, dy, attention_rows(s), READ)->spoil = s[1] == 7;
        CONF_ADD(&c, pk_attention_backward, dqkv, 3 * attention_rows(s), WRITTEN);
        conf_run_case(run, &c);
    }
}

/* rows, entries, columns, tokens; 0 tokens: no positions */
static const int embeddings[][4] = {
    {0, 5, 4, 3},  {5, 0, 4, 3},   {5, 4, 0, 3},   {1, 1, 1, 1},     {7, 5, 3, 0},
    {12, 7, 5, 4}, {13, 3, 17, 5}, {64, 1, 16, 8}, {64, 97, 33, 16}, {130, 11, 257, 65}};

/* Valid indices but for two rows, where there are that many. */
static void fill_tokens(struct conf_array *index, int entries)
{
    int32_t *values = index->input;

    for (size_t i = 0; i < index->count; i++)
        values[i] = (int32_t)(conf_random((uint64_t)entries, i) * entries);
    if (index->count > 8) {
        values[3] = -1;
        values[6] = entries;
    }
}

static void set_embedding(struct conf_case *c, const void *op, size_t size, const int *s,
                          double terms)
{
    memcpy(c->absolute, op, size);
    c->terms = terms;
    c->empty = s[0] == 0 || s[1] == 0 || s[2] == 0;
}

void conf_cases_embedding_forward(struct conf_run *run)
{
    struct conf_case c;

    for (int i = 0; i < COUNT(embeddings); i++) {
        const int *s = embeddings[i];
        const struct pk_embedding_forward op = {
            .rows = s[0], .entries = s[1], .columns = s[2], .tokens = s[3]};
        const size_t columns = (size_t)s[2];

        CONF_BEGIN(&c, embedding_forward, op, "rows %d entries %d columns %d tokens %d", s[0], s[1],
                   s[2], s[3]);
        set_embedding(&c, &op, sizeof(op), s, 1);
        fill_tokens(CONF_ADD_INT(&c, pk_embedding_forward, index, (size_t)s[0], READ), s[1]);
        CONF_ADD(&c, pk_embedding_forward, table, (size_t)s[1] * columns, READ)->spoil = s[1] == 3;
        if (s[3] > 0)
            CONF_ADD(&c, pk_embedding_forward, position, (size_t)s[3] * columns, READ);
        CONF_ADD(&c, pk_embedding_forward, y, (size_t)s[0] * columns, WRITTEN);
        conf_run_case(run, &c);
    }
}

void conf_cases_embedding_backward(struct conf_run *run)
{
    struct conf_case c;

    for (int i = 0; i < COUNT(embeddings); i++) {
        const int *s = embeddings[i];
        const struct pk_embedding_backward op = {
            .rows = s[0], .entries = s[1], .columns = s[2], .tokens = s[3]};
        const size_t columns = (size_t)s[2];

        CONF_BEGIN(&c, embedding_backward, op, "rows %d entries %d columns %d tokens %d", s[0],
                   s[1], s[2], s[3]);
        set_embedding(&c, &op, sizeof(op), s, s[0] + 1);
        fill_tokens(CONF_ADD_INT(&c, pk_embedding_backward, index, (size_t)s[0], READ), s[1]);
        CONF_ADD(&c, pk_embedding_backward, dy, (size_t)s[0] * columns, READ)->spoil = s[1] == 3;
        CONF_ADD(&c, pk_embedding_backward, dtable, (size_t)s[1] * columns, BOTH);
        if (s[3] > 0)
            CONF_ADD(&c, pk_embedding_backward, dposition, (size_t)s[3] * columns, BOTH);
        conf_run_case(run, &c);
    }
}
