/**
 * @file kernels/cuda/body_row.h
 * Kernels that reduce over rows: softmax, cross-entropy, layer norm, sums of columns, embedding.
 *
 * A group of 32 or 256 threads has a row, by its length.  The row is read once per phase; after
 * the first time it is in the cache.
 */
#ifndef PK_CUDA_BODY_ROW_H
#define PK_CUDA_BODY_ROW_H

#include "kernels/cuda/body.h"
#include "kernels/pk.h"

struct cuda_row_shared {
    float first[PK_THREADS], second[PK_THREADS], kept[PK_THREADS];
    int32_t index[PK_THREADS];
};

/* The row of this thread's group. */
PK_BODY size_t cuda_row_of(struct cuda_at at, uint32_t lanes)
{
    return (size_t)at.block * (PK_THREADS / lanes) + at.thread / lanes;
}

/** Softmax in place of each row of [rows, tokens]; where causal, row i knows keys 0 to i alone. */
struct cuda_softmax {
    size_t rows;
    uint32_t tokens, lanes;
    bool causal;
    float *scores;
};

PK_BODY void cuda_softmax_body(const struct cuda_softmax *a, struct cuda_at at,
                               struct cuda_row_shared *shared, int phase)
{
    const struct cuda_group g = cuda_group_of(at.thread, a->lanes);
    const size_t row = cuda_row_of(at, a->lanes);
    const uint32_t keys = a->causal ? (uint32_t)(row % a->tokens) + 1 : a->tokens;
    float *scores = a->scores + row * a->tokens;
    float largest = -INFINITY, sum = 0;

    if (row >= a->rows)
        return;
    if (phase == 0) {
        for (uint32_t i = g.lane; i < keys; i += g.lanes)
            largest = scores[i] > largest ? scores[i] : largest;
        shared->first[at.thread] = largest;
    } else if (phase == 1) {
        cuda_fold_largest(shared->first, g);
    } else if (phase == 2) {
        largest = cuda_folded_largest(shared->first, g);
        for (uint32_t i = g.lane; i < keys; i += g.lanes)
            sum += expf(scores[i] - largest);
        shared->second[at.thread] = sum;
    } else if (phase == 3) {
        cuda_fold(shared->second, g);
    } else {
        largest = cuda_folded_largest(shared->first, g);
        sum = cuda_folded(shared->second, g);
        for (uint32_t i = g.lane; i < a->tokens; i += g.lanes)
            scores[i] = i < keys ? expf(scores[i] - largest) / sum : 0;
    }
}

/** ds = p (dp - sum p dp) in place of dp, and 0 behind the causal mask. */
struct cuda_softmax_gradient {
    size_t rows;
    uint32_t tokens, lanes;
    bool causal;
    const float *p;
    float *dp;
};

PK_BODY void cuda_softmax_gradient_body(const struct cuda_softmax_gradient *a, struct cuda_at at,
                                        struct cuda_row_shared *shared, int phase)
{
    const struct cuda_group g = cuda_group_of(at.thread, a->lanes);
    const size_t row = cuda_row_of(at, a->lanes);
    const uint32_t keys = a->causal ? (uint32_t)(row % a->tokens) + 1 : a->tokens;
    const float *p = a->p + row * a->tokens;
    float *dp = a->dp + row * a->tokens, sum = 0;

    if (row >= a->rows)
        return;
    if (phase == 0) {
        for (uint32_t i = g.lane; i < keys; i += g.lanes)
            sum += p[i] * dp[i];
        shared->first[at.thread] = sum;
    } else if (phase == 1) {
        cuda_fold(shared->first, g);
    } else {
        sum = cuda_folded(shared->first, g);
        for (uint32_t i = g.lane; i < a->tokens; i += g.lanes)
            dp[i] = i < keys ? p[i] * (dp[i] - sum) : 0;
    }
}

struct cuda_entropy {
    struct pk_cross_entropy op;
    uint32_t lanes;
};

/* The first largest of two candidates; index -1: none yet. */
PK_BODY void cuda_prefer(float *best, int32_t *at_best, float value, int32_t index)
{
    if (index >= 0 && (*at_best < 0 || value > *best || (value == *best && index < *at_best))) {
        *best = value;
        *at_best = index;
    }
}

PK_BODY void cuda_fold_first_largest(struct cuda_row_shared *shared, struct cuda_group g)
{
    float best = shared->first[g.first + g.lane];
    int32_t at_best = shared->index[g.first + g.lane];

    if (g.lane >= g.kept)
        return;
    for (uint32_t j = g.lane + g.kept; j < g.lanes; j += g.kept)
        cuda_prefer(&best, &at_best, shared->first[g.first + j], shared->index[g.first + j]);
    shared->first[g.first + g.lane] = best;
    shared->index[g.first + g.lane] = at_best;
}

PK_BODY int32_t cuda_folded_first_largest(const struct cuda_row_shared *shared, struct cuda_group g,
                                          float *best)
{
    int32_t at_best = shared->index[g.first];

    *best = shared->first[g.first];
    for (uint32_t j = 1; j < g.kept; j++)
        cuda_prefer(best, &at_best, shared->first[g.first + j], shared->index[g.first + j]);
    return at_best;
}

/* A thread's first largest; a NaN is passed over. */
PK_BODY void cuda_entropy_scan(const float *logits, uint32_t classes, struct cuda_group g,
                               float *best, int32_t *at_best)
{
    *best = -INFINITY;
    *at_best = -1;
    for (uint32_t i = g.lane; i < classes; i += g.lanes)
        if (logits[i] == logits[i])
            cuda_prefer(best, at_best, logits[i], (int32_t)i);
}

/* The label's logit is kept before any gradient is written: dlogits may be logits. */
PK_BODY void cuda_entropy_body(const struct cuda_entropy *a, struct cuda_at at,
                               struct cuda_row_shared *shared, int phase)
{
    const struct cuda_group g = cuda_group_of(at.thread, a->lanes);
    const size_t row = cuda_row_of(at, a->lanes);
    const uint32_t classes = (uint32_t)a->op.classes;
    const float *logits = a->op.logits + row * classes;
    float best, sum = 0;
    int32_t predicted, label;
    bool known;

    if (row >= (size_t)a->op.rows)
        return;
    if (phase == 0) {
        cuda_entropy_scan(logits, classes, g, &shared->first[at.thread], &shared->index[at.thread]);
        return;
    }
    if (phase == 1) {
        cuda_fold_first_largest(shared, g);
        return;
    }
    if (phase == 3) {
        cuda_fold(shared->second, g);
        return;
    }
    predicted = cuda_folded_first_largest(shared, g, &best);
    label = a->op.labels[row];
    known = label >= 0 && label < a->op.classes;
    if (phase == 2) {
        for (uint32_t i = g.lane; i < classes; i += g.lanes)
            sum += expf(logits[i] - best);
        shared->second[at.thread] = sum;
        shared->kept[at.thread] = known && g.lane == 0 ? logits[label] : 0;
        return;
    }
    sum = cuda_folded(shared->second, g);
    if (g.lane == 0 && a->op.predicted != NULL)
        a->op.predicted[row] = predicted < 0 ? 0 : predicted;
    if (g.lane == 0 && a->op.loss != NULL)
        a->op.loss[row] = known ? logf(sum) + (best - shared->kept[at.thread]) : NAN;
    for (uint32_t i = g.lane; a->op.dlogits != NULL && i < classes; i += g.lanes) {
        const float softmax = expf(logits[i] - best) / sum;

        a->op.dlogits[row * classes + i] =
            known ? a->op.gradient_scale * (softmax - ((int32_t)i == label ? 1.0f : 0.0f)) : NAN;
    }
}

struct cuda_layer {
    struct pk_layer_norm_forward op;
    uint32_t lanes;
};

/* Two passes: the mean, then the distances from it. */
PK_BODY void cuda_layer_body(const struct cuda_layer *a, struct cuda_at at,
                             struct cuda_row_shared *shared, int phase)
{
    const struct cuda_group g = cuda_group_of(at.thread, a->lanes);
    const size_t row = cuda_row_of(at, a->lanes);
    const uint32_t columns = (uint32_t)a->op.columns;
    const float *x = a->op.x + row * columns;
    float mean = 0, inv_std, sum = 0;

    if (row >= (size_t)a->op.rows)
        return;
    if (phase >= 2)
        mean = cuda_folded(shared->first, g) / (float)columns;
    if (phase == 0) {
        for (uint32_t i = g.lane; i < columns; i += g.lanes)
            sum += x[i];
        shared->first[at.thread] = sum;
    } else if (phase == 1) {
        cuda_fold(shared->first, g);
    } else if (phase == 2) {
        for (uint32_t i = g.lane; i < columns; i += g.lanes)
            sum += (x[i] - mean) * (x[i] - mean);
        shared->second[at.thread] = sum;
    } else if (phase == 3) {
        cuda_fold(shared->second, g);
    } else {
        inv_std = 1 / sqrtf(cuda_folded(shared->second, g) / (float)columns + a->op.epsilon);
        for (uint32_t i = g.lane; i < columns; i += g.lanes)
            a->op.y[row * columns + i] =
                a->op.scale[i] * ((x[i] - mean) * inv_std) + a->op.shift[i];
        if (g.lane == 0) {
            a->op.mean[row] = mean;
            a->op.inv_std[row] = inv_std;
        }
    }
}

struct cuda_layer_gradient {
    struct pk_layer_norm_backward op;
    uint32_t lanes;
};

/* dx = inv_std (g - sum g / m - z sum(g z) / m), g = scale dy. */
PK_BODY void cuda_layer_gradient_body(const struct cuda_layer_gradient *a, struct cuda_at at,
                                      struct cuda_row_shared *shared, int phase)
{
    const struct cuda_group g = cuda_group_of(at.thread, a->lanes);
    const size_t row = cuda_row_of(at, a->lanes);
    const uint32_t columns = (uint32_t)a->op.columns;
    const float *x = a->op.x + row * columns, *dy = a->op.dy + row * columns;
    float sum = 0, sum_z = 0, mean, inv_std;

    if (row >= (size_t)a->op.rows)
        return;
    mean = a->op.mean[row];
    inv_std = a->op.inv_std[row];
    if (phase == 0) {
        for (uint32_t i = g.lane; i < columns; i += g.lanes) {
            const float scaled = a->op.scale[i] * dy[i];

            sum += scaled;
            sum_z += scaled * ((x[i] - mean) * inv_std);
        }
        shared->first[at.thread] = sum;
        shared->second[at.thread] = sum_z;
    } else if (phase == 1) {
        cuda_fold(shared->first, g);
        cuda_fold(shared->second, g);
    } else {
        sum = cuda_folded(shared->first, g) / (float)columns;
        sum_z = cuda_folded(shared->second, g) / (float)columns;
        for (uint32_t i = g.lane; i < columns; i += g.lanes)
            a->op.dx[row * columns + i] =
                inv_std * (a->op.scale[i] * dy[i] - sum - (x[i] - mean) * inv_std * sum_z);
    }
}

/**
 * Sums over the rows of dy, and of dy z where x is given, z = (x - mean) inv_std by row: partial
 * [splits, 2, columns].  A block has 32 columns and a share of the rows.
 */
struct cuda_column_sums {
    uint32_t rows, columns, splits;
    const float *x, *dy, *mean, *inv_std;
    float *partial;
};

PK_BODY void cuda_column_sums_body(const struct cuda_column_sums *a, struct cuda_at at,
                                   struct cuda_row_shared *shared, int phase)
{
    const uint32_t lines = PK_THREADS / 32;
    const uint32_t split = at.block % a->splits;
    const uint32_t column = at.block / a->splits * 32 + at.thread % 32;
    const uint32_t share = (a->rows + a->splits - 1) / a->splits;
    const uint32_t end = a->rows < (split + 1) * share ? a->rows : (split + 1) * share;
    float sum = 0, sum_z = 0;

    if (column >= a->columns)
        return;
    if (phase == 0) {
        for (uint32_t row = split * share + at.thread / 32; row < end; row += lines) {
            const size_t i = (size_t)row * a->columns + column;

            sum += a->dy[i];
            if (a->x != NULL)
                sum_z += a->dy[i] * ((a->x[i] - a->mean[row]) * a->inv_std[row]);
        }
        shared->first[at.thread] = sum;
        shared->second[at.thread] = sum_z;
    } else if (at.thread < 32) {
        for (uint32_t j = 0; j < lines; j++) {
            sum += shared->first[at.thread + 32 * j];
            sum_z += shared->second[at.thread + 32 * j];
        }
        a->partial[2 * (size_t)split * a->columns + column] = sum;
        a->partial[(2 * (size_t)split + 1) * a->columns + column] = sum_z;
    }
}

struct cuda_lookup {
    struct pk_embedding_forward op;
    struct cuda_divider columns;
};

PK_BODY void cuda_lookup_body(const struct cuda_lookup *a, struct cuda_at at,
                              struct cuda_unshared *shared, int phase)
{
    const size_t count = (size_t)a->op.rows * a->columns.divisor;
    const size_t step = (size_t)at.blocks * PK_THREADS, columns = a->columns.divisor;

    (void)shared;
    (void)phase;
    for (size_t i = (size_t)at.block * PK_THREADS + at.thread; i < count; i += step) {
        const uint32_t row = cuda_quotient((uint32_t)i, a->columns);
        const size_t column = i - row * columns;
        const int32_t index = a->op.index[row];
        float value = NAN;

        if (index >= 0 && index < a->op.entries)
            value = a->op.table[(size_t)index * columns + column];
        if (a->op.position != NULL)
            value += a->op.position[row % (uint32_t)a->op.tokens * columns + column];
        a->op.y[i] = value;
    }
}

struct cuda_lookup_gradient {
    struct pk_embedding_backward op;
};

/* A block is a row.  The first row with an index adds up all rows with it, in their order; the
 * others do nothing.  This compares each pair of rows, which for some thousand tokens is cheap
 * beside sorting them. */
PK_BODY void cuda_lookup_gradient_body(const struct cuda_lookup_gradient *a, struct cuda_at at,
                                       struct cuda_row_shared *shared, int phase)
{
    const uint32_t mine = at.block, rows = (uint32_t)a->op.rows;
    const int32_t index = a->op.index[mine];
    const size_t columns = (size_t)a->op.columns;
    int32_t earlier = 0;

    if (index < 0 || index >= a->op.entries)
        return;
    if (phase == 0) {
        for (uint32_t row = at.thread; row < mine; row += PK_THREADS)
            earlier |= a->op.index[row] == index ? 1 : 0;
        shared->index[at.thread] = earlier;
    } else if (phase == 1 && at.thread < 16) {
        for (uint32_t j = at.thread; j < PK_THREADS; j += 16)
            earlier |= shared->index[j];
        shared->index[at.thread] = earlier;
    } else if (phase == 2) {
        for (uint32_t j = 0; j < 16; j++)
            earlier |= shared->index[j];
        for (size_t i = at.thread; earlier == 0 && i < columns; i += PK_THREADS) {
            float sum = 0;

            for (size_t row = mine; row < rows; row++)
                if (a->op.index[row] == index)
                    sum += a->op.dy[row * columns + i];
            a->op.dtable[(size_t)index * columns + i] += sum;
        }
    }
}

/** dposition [tokens, columns] += the rows at each position. */
struct cuda_position_gradient {
    struct pk_embedding_backward op;
    struct cuda_divider columns;
};

PK_BODY void cuda_position_gradient_body(const struct cuda_position_gradient *a, struct cuda_at at,
                                         struct cuda_unshared *shared, int phase)
{
    const size_t columns = a->columns.divisor, count = (size_t)a->op.tokens * columns;
    const size_t step = (size_t)at.blocks * PK_THREADS;

    (void)shared;
    (void)phase;
    for (size_t i = (size_t)at.block * PK_THREADS + at.thread; i < count; i += step) {
        const uint32_t token = cuda_quotient((uint32_t)i, a->columns);
        const size_t column = i - token * columns;
        float sum = 0;

        for (size_t row = token; row < (size_t)a->op.rows; row += (size_t)a->op.tokens)
            if (a->op.index[row] >= 0 && a->op.index[row] < a->op.entries)
                sum += a->op.dy[row * columns + column];
        a->op.dposition[i] += sum;
    }
}

#endif
