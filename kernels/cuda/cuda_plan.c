/* What the operations share: sizes of grids, walks through workspaces, sums, biases. */
#include "kernels/cuda/cuda.h"

#define BLOCKS_EACH 32 /* blocks of a loop for each multiprocessor: some waves, to level them */
#define MOST_SPLITS 64

size_t cuda_blocks(const struct cuda_context *context, size_t items)
{
    const size_t all = (items + PK_THREADS - 1) / PK_THREADS;
    const size_t most = (size_t)context->processors * BLOCKS_EACH;

    return all < 1 ? 1 : all < most ? all : most;
}

uint32_t cuda_lanes(size_t columns)
{
    return columns <= PK_THREADS ? 32 : PK_THREADS;
}

size_t cuda_row_blocks(size_t rows, uint32_t lanes)
{
    const size_t each = PK_THREADS / lanes;

    return (rows + each - 1) / each;
}

int cuda_splits(const struct cuda_context *context, size_t parallel, size_t values)
{
    const size_t wanted = ((size_t)context->processors * 8 + parallel - 1) / parallel;
    const size_t most =
        values / context->grain < MOST_SPLITS ? values / context->grain : (size_t)MOST_SPLITS;
    const size_t splits = wanted < most ? wanted : most;

    return splits < 1 ? 1 : (int)splits;
}

bool cuda_aligned(const void *const *arrays, int count)
{
    for (int i = 0; i < count; i++)
        if ((uintptr_t)arrays[i] % (4 * sizeof(float)) != 0)
            return false;
    return true;
}

void *cuda_take(struct cuda_scratch *scratch, size_t bytes)
{
    void *piece = scratch->next;

    scratch->next += pk_padded(bytes);
    return piece;
}

bool cuda_rounds(const struct cuda_context *context)
{
    return context->base.options.math == PK_MATH_BF16;
}

size_t cuda_operand_bytes(const struct cuda_context *context, size_t count)
{
    return cuda_rounds(context) ? pk_padded(count * sizeof(uint16_t)) : 0;
}

enum psim_status cuda_operand(struct cuda_context *context, struct cuda_scratch *scratch,
                              const float *data, size_t count, struct cuda_factor *factor,
                              struct psim_error *err)
{
    struct cuda_rounding rounding = {.count = count, .x = data, .wide = CUDA_ALIGNED(data)};

    factor->data = data;
    factor->rounded = cuda_rounds(context);
    if (!factor->rounded)
        return PSIM_OK;
    rounding.y = cuda_take(scratch, count * sizeof(uint16_t));
    factor->data = rounding.y;
    return cuda_launch_rounding(context, cuda_blocks(context, count / 4 + 1), &rounding, err);
}

/* A block has 32 columns and reads 8 rows at a time. */
static int row_splits(const struct cuda_context *context, size_t rows, size_t columns)
{
    return cuda_splits(context, (columns + 31) / 32, rows * 32);
}

size_t cuda_row_sums_bytes(const struct cuda_context *context, size_t rows, size_t columns)
{
    return pk_padded(2 * columns * (size_t)row_splits(context, rows, columns) * sizeof(float));
}

enum psim_status cuda_row_sums(struct cuda_context *context, const struct cuda_row_sums *sums,
                               struct cuda_scratch *scratch, struct psim_error *err)
{
    const int splits = row_splits(context, sums->rows, sums->columns);
    float *partial = cuda_take(scratch, cuda_row_sums_bytes(context, sums->rows, sums->columns));
    const struct cuda_column_sums shares = {.rows = (uint32_t)sums->rows,
                                            .columns = (uint32_t)sums->columns,
                                            .splits = (uint32_t)splits,
                                            .x = sums->x,
                                            .dy = sums->dy,
                                            .mean = sums->mean,
                                            .inv_std = sums->inv_std,
                                            .partial = partial};
    const struct cuda_sums_finish finish = {.columns = (int)sums->columns,
                                            .splits = splits,
                                            .partial = partial,
                                            .dshift = sums->dshift,
                                            .dscale = sums->dscale};
    const enum psim_status status =
        cuda_launch_column_sums(context, (sums->columns + 31) / 32 * (size_t)splits, &shares, err);

    if (status != PSIM_OK)
        return status;
    return cuda_launch_sums_finish(context, (sums->columns + PK_THREADS - 1) / PK_THREADS, &finish,
                                   err);
}

enum psim_status cuda_add_bias(struct cuda_context *context, float *y, const float *bias,
                               size_t count, size_t channels, size_t inner, bool relu,
                               struct psim_error *err)
{
    const struct cuda_bias add = {.count = count,
                                  .channels = cuda_divider_of((uint32_t)channels),
                                  .inner = cuda_divider_of((uint32_t)inner),
                                  .bias = bias,
                                  .y = y,
                                  .relu = relu,
                                  .wide = CUDA_ALIGNED(y)};

    if (bias == NULL && !relu)
        return PSIM_OK;
    return cuda_launch_bias(context, cuda_blocks(context, count / 4 + 1), &add, err);
}
