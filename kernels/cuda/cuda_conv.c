/*
 * Convolutions: by a library where it serves the pass, else as matrix products on column matrices.
 *
 * A pass is done in pieces, of several images or of some output pixels of one image, so that the
 * columns of a piece stay within the context's limit.  Per image, with W [k, c kernel^2]:
 *     y = W columns(x),   columns(dx) = W^T dy,   dW += dy columns(x)^T
 * and the last sum runs over the images of a piece in one product, for which columns and dy are
 * laid out [rows, images, pixels].  A 1x1 window with stride 1 makes x its own column matrix.
 */
#include "kernels/cuda/cuda_image.h"

#define MOST_IMAGES 32768 /* of a batch of products, whose grids end at 65535 */

/** How a pass is cut. */
struct pieces {
    int images, pixels, all_pixels;
};

/* @param[in] per_pixel  values that each output pixel of an image takes */
static struct pieces pieces_of(const struct cuda_context *context, const struct pk_conv_shape *s,
                               size_t per_pixel)
{
    const int pixels = pk_window_out(s->h, s) * pk_window_out(s->w, s);
    const size_t image = (size_t)pixels * per_pixel, limit = context->column_limit;
    struct pieces pieces = {1, pixels, pixels};

    if (image <= limit)
        pieces.images = limit / image < (size_t)s->n ? (int)(limit / image) : s->n;
    else
        pieces.pixels = limit / per_pixel < 1 ? 1 : (int)(limit / per_pixel);
    if (pieces.images > MOST_IMAGES)
        pieces.images = MOST_IMAGES;
    return pieces;
}

/* Values of a column matrix of a piece that has `rows` rows. */
static size_t piece_values(const struct pieces *pieces, size_t rows)
{
    return rows * (size_t)pieces->images * (size_t)pieces->pixels;
}

/** One piece on its way. */
struct piece {
    int image, images, pixel, pixels;
};

static bool next_piece(struct piece *piece, const struct pieces *pieces, int images)
{
    piece->pixel += piece->pixels;
    if (piece->pixel >= pieces->all_pixels) {
        piece->pixel = 0;
        piece->image += piece->images;
    }
    piece->images = images - piece->image < pieces->images ? images - piece->image : pieces->images;
    piece->pixels = pieces->all_pixels - piece->pixel < pieces->pixels
                        ? pieces->all_pixels - piece->pixel
                        : pieces->pixels;
    return piece->image < images;
}

#define FIRST_PIECE                                                                                \
    {                                                                                              \
        0, 0, 0, 0                                                                                 \
    }

static size_t taps_of(const struct pk_conv_shape *s)
{
    return (size_t)s->c * (size_t)s->kernel * (size_t)s->kernel;
}

static bool direct(const struct cuda_context *context, const struct pk_conv_shape *s)
{
    return s->kernel == 1 && s->stride == 1 && !cuda_rounds(context);
}

static size_t element_bytes(const struct cuda_context *context)
{
    return cuda_rounds(context) ? sizeof(uint16_t) : sizeof(float);
}

/* The shape whose columns are the array [n, channels, pixels] itself. */
static struct pk_conv_shape plain_shape(int n, int channels, int pixels)
{
    return (struct pk_conv_shape){
        .n = n, .c = channels, .h = 1, .w = pixels, .k = 1, .kernel = 1, .stride = 1};
}

/* Columns of a piece into `target`, each image by itself or [rows, images, pixels]. */
static enum psim_status make_columns(struct cuda_context *context, const struct pk_conv_shape *s,
                                     const float *x, const struct piece *piece, bool side_by_side,
                                     void *target, struct cuda_factor *factor,
                                     struct psim_error *err)
{
    const size_t rows = taps_of(s), pixels = (size_t)piece->pixels;
    const size_t line = side_by_side ? (size_t)piece->images * pixels : pixels;
    const bool rounds = cuda_rounds(context);
    const struct cuda_columns columns = {.window = cuda_window_of(s),
                                         .area = cuda_divider_of((uint32_t)(s->kernel * s->kernel)),
                                         .images = piece->images,
                                         .first = (uint32_t)piece->pixel,
                                         .rows = cuda_divider_of((uint32_t)rows),
                                         .pixels = cuda_divider_of((uint32_t)pixels),
                                         .row_stride = line,
                                         .image_stride = side_by_side ? pixels : rows * pixels,
                                         .x = x + (size_t)piece->image * (size_t)s->c *
                                                      (size_t)s->h * (size_t)s->w,
                                         .target = rounds ? NULL : target,
                                         .rounded = rounds ? target : NULL};

    factor->data = target;
    factor->rounded = rounds;
    factor->row = (int)line;
    factor->stride = columns.image_stride;
    return cuda_launch_columns(context, cuda_blocks(context, rows * pixels * (size_t)piece->images),
                               &columns, err);
}

/* The weight as a factor [k, c kernel^2], the same for all images. */
static enum psim_status weight_factor(struct cuda_context *context, const struct pk_conv_shape *s,
                                      const float *weight, struct cuda_scratch *scratch,
                                      struct cuda_factor *factor, struct psim_error *err)
{
    factor->row = (int)taps_of(s);
    factor->stride = 0;
    return cuda_operand(context, scratch, weight, (size_t)s->k * taps_of(s), factor, err);
}

static size_t weight_bytes(const struct cuda_context *context, const struct pk_conv_shape *s)
{
    return cuda_operand_bytes(context, (size_t)s->k * taps_of(s));
}

/* Whether the library has the pass.  It needs arrays that start at multiples of 16 bytes. */
static bool library_plans(const struct cuda_context *context, enum cuda_pass pass,
                          const struct pk_conv_shape *s, size_t *bytes)
{
    *bytes = 0;
    return context->convolver != NULL && !cuda_rounds(context) &&
           context->convolver->plan(context, pass, s, bytes);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t cuda_workspace_conv_forward(const struct pk_context *base, const struct pk_conv_forward *op)
{
    const struct cuda_context *context = cuda_context_read(base);
    const struct pieces pieces = pieces_of(context, &op->shape, taps_of(&op->shape));
    size_t library, own = weight_bytes(context, &op->shape);

    if (!direct(context, &op->shape))
        own += pk_padded(piece_values(&pieces, taps_of(&op->shape)) * element_bytes(context));
    library_plans(context, CUDA_FORWARD, &op->shape, &library);
    return larger(library, own);
}

static enum psim_status forward_products(struct cuda_context *context,
                                         const struct pk_conv_forward *op, char *workspace,
                                         struct psim_error *err)
{
    const struct pk_conv_shape *s = &op->shape;
    const struct pieces pieces = pieces_of(context, s, taps_of(s));
    const size_t pixels = (size_t)pieces.all_pixels;
    struct cuda_scratch scratch = {workspace};
    struct cuda_product product = {
        .m = s->k, .k = (int)taps_of(s), .c_row = (int)pixels, .alpha = 1};
    struct piece piece = FIRST_PIECE;
    enum psim_status status = weight_factor(context, s, op->weight, &scratch, &product.a, err);

    product.c_stride = (size_t)s->k * pixels;
    while (status == PSIM_OK && next_piece(&piece, &pieces, s->n)) {
        product.n = piece.pixels;
        product.batch = piece.images;
        product.c = op->y + (size_t)piece.image * product.c_stride + piece.pixel;
        if (direct(context, s))
            product.b = (struct cuda_factor){
                .data = op->x + ((size_t)piece.image * (size_t)s->c) * pixels + piece.pixel,
                .row = (int)pixels,
                .stride = (size_t)s->c * pixels};
        else
            status = make_columns(context, s, op->x, &piece, false, scratch.next, &product.b, err);
        if (status == PSIM_OK)
            status = cuda_multiply(context, &product, err);
    }
    return status;
}

enum psim_status cuda_run_conv_forward(struct pk_context *base, const struct pk_conv_forward *op,
                                       const struct pk_workspace *workspace, struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    const struct pk_conv_shape *s = &op->shape;
    const struct pk_workspace none = {NULL, 0};
    const size_t pixels = (size_t)pk_window_out(s->h, s) * (size_t)pk_window_out(s->w, s);
    enum psim_status status;
    size_t bytes;

    workspace = workspace == NULL ? &none : workspace;
    if (CUDA_ALIGNED(op->x, op->weight, op->y) && library_plans(context, CUDA_FORWARD, s, &bytes) &&
        bytes <= workspace->bytes)
        status = context->convolver->run(context, CUDA_FORWARD, s, op->x, op->weight, op->y, false,
                                         workspace, err);
    else
        status = forward_products(context, op, workspace->data, err);
    if (status != PSIM_OK)
        return status;
    return cuda_add_bias(context, op->y, op->bias, (size_t)s->n * (size_t)s->k * pixels,
                         (size_t)s->k, pixels, op->relu, err);
}

/* Values per output pixel: those of the columns, and of dy where it is rounded. */
static size_t backward_per_pixel(const struct pk_conv_shape *s)
{
    return taps_of(s) + (size_t)s->k;
}

size_t cuda_workspace_conv_backward_data(const struct pk_context *base,
                                         const struct pk_conv_backward_data *op)
{
    const struct cuda_context *context = cuda_context_read(base);
    const struct pk_conv_shape *s = &op->shape;
    const struct pieces pieces = pieces_of(context, s, backward_per_pixel(s));
    size_t library, own = weight_bytes(context, s);

    if (!direct(context, s))
        own += pk_padded(piece_values(&pieces, taps_of(s)) * sizeof(float));
    own += cuda_operand_bytes(context, piece_values(&pieces, (size_t)s->k));
    library_plans(context, CUDA_BACKWARD_DATA, s, &library);
    return larger(library, own);
}

static enum psim_status add_columns(struct cuda_context *context, const struct pk_conv_shape *s,
                                    const struct piece *piece, const float *columns, float *dx,
                                    bool accumulate, struct psim_error *err)
{
    const size_t image = (size_t)s->c * (size_t)s->h * (size_t)s->w;
    const struct cuda_scatter scatter = {.window = cuda_window_of(s),
                                         .images = piece->images,
                                         .first = (uint32_t)piece->pixel,
                                         .end = (uint32_t)(piece->pixel + piece->pixels),
                                         .channels = cuda_divider_of((uint32_t)s->c),
                                         .plane = cuda_divider_of((uint32_t)s->h * (uint32_t)s->w),
                                         .width = cuda_divider_of((uint32_t)s->w),
                                         .columns = columns,
                                         .dx = dx + (size_t)piece->image * image,
                                         .accumulate = accumulate || piece->pixel > 0};

    return cuda_launch_scatter(context, cuda_blocks(context, image * (size_t)piece->images),
                               &scatter, err);
}

/* dy of a piece as a factor [k, pixels] for each image. */
static enum psim_status gradient_factor(struct cuda_context *context, const struct pk_conv_shape *s,
                                        const float *dy, const struct piece *piece, int all_pixels,
                                        void *target, struct cuda_factor *factor,
                                        struct psim_error *err)
{
    const struct pk_conv_shape plain = plain_shape(s->n, s->k, all_pixels);

    if (cuda_rounds(context))
        return make_columns(context, &plain, dy, piece, false, target, factor, err);
    *factor = (struct cuda_factor){
        .data = dy + (size_t)piece->image * (size_t)s->k * (size_t)all_pixels + piece->pixel,
        .row = all_pixels,
        .stride = (size_t)s->k * (size_t)all_pixels};
    return PSIM_OK;
}

static enum psim_status backward_data_products(struct cuda_context *context,
                                               const struct pk_conv_backward_data *op,
                                               char *workspace, struct psim_error *err)
{
    const struct pk_conv_shape *s = &op->shape;
    const struct pieces pieces = pieces_of(context, s, backward_per_pixel(s));
    const size_t taps = taps_of(s), pixels = (size_t)pieces.all_pixels;
    const bool in_place = direct(context, s);
    struct cuda_scratch scratch = {workspace};
    struct cuda_product product = {.m = (int)taps, .k = s->k, .alpha = 1};
    struct piece piece = FIRST_PIECE;
    float *columns = NULL;
    enum psim_status status = weight_factor(context, s, op->weight, &scratch, &product.a, err);

    product.a.transposed = true;
    if (!in_place)
        columns = cuda_take(&scratch, piece_values(&pieces, taps) * sizeof(float));
    while (status == PSIM_OK && next_piece(&piece, &pieces, s->n)) {
        product.n = piece.pixels;
        product.batch = piece.images;
        product.c = in_place ? op->dx + (size_t)piece.image * taps * pixels + piece.pixel : columns;
        product.c_row = in_place ? (int)pixels : piece.pixels;
        product.c_stride = taps * (size_t)product.c_row;
        product.beta = in_place && op->accumulate ? 1 : 0;
        status = gradient_factor(context, s, op->dy, &piece, pieces.all_pixels, scratch.next,
                                 &product.b, err);
        if (status == PSIM_OK)
            status = cuda_multiply(context, &product, err);
        if (status == PSIM_OK && !in_place)
            status = add_columns(context, s, &piece, columns, op->dx, op->accumulate, err);
    }
    return status;
}

enum psim_status cuda_run_conv_backward_data(struct pk_context *base,
                                             const struct pk_conv_backward_data *op,
                                             const struct pk_workspace *workspace,
                                             struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    const struct pk_workspace none = {NULL, 0};
    size_t bytes;

    workspace = workspace == NULL ? &none : workspace;
    if (CUDA_ALIGNED(op->dy, op->weight, op->dx) &&
        library_plans(context, CUDA_BACKWARD_DATA, &op->shape, &bytes) && bytes <= workspace->bytes)
        return context->convolver->run(context, CUDA_BACKWARD_DATA, &op->shape, op->dy, op->weight,
                                       op->dx, op->accumulate, workspace, err);
    return backward_data_products(context, op, workspace->data, err);
}

size_t cuda_workspace_conv_backward_weight(const struct pk_context *base,
                                           const struct pk_conv_backward_weight *op)
{
    const struct cuda_context *context = cuda_context_read(base);
    const struct pk_conv_shape *s = &op->shape;
    const struct pieces pieces = pieces_of(context, s, backward_per_pixel(s));
    const size_t bytes = element_bytes(context);
    size_t library, own;

    own = pk_padded(piece_values(&pieces, taps_of(s)) * bytes) +
          pk_padded(piece_values(&pieces, (size_t)s->k) * bytes);
    library_plans(context, CUDA_BACKWARD_WEIGHT, s, &library);
    return larger(library,
                  larger(own, cuda_channel_totals_bytes(context, s->n, s->k, pieces.all_pixels)));
}

static enum psim_status backward_weight_products(struct cuda_context *context,
                                                 const struct pk_conv_backward_weight *op,
                                                 char *workspace, struct psim_error *err)
{
    const struct pk_conv_shape *s = &op->shape;
    const struct pieces pieces = pieces_of(context, s, backward_per_pixel(s));
    const struct pk_conv_shape plain = plain_shape(s->n, s->k, pieces.all_pixels);
    const int taps = (int)taps_of(s);
    struct cuda_scratch scratch = {workspace};
    void *columns = cuda_take(&scratch, piece_values(&pieces, taps_of(s)) * element_bytes(context));
    struct cuda_product product = {
        .m = s->k, .n = taps, .batch = 1, .c = op->dweight, .c_row = taps, .alpha = 1, .beta = 1};
    struct piece piece = FIRST_PIECE;
    enum psim_status status = PSIM_OK;

    product.b.transposed = true;
    while (status == PSIM_OK && next_piece(&piece, &pieces, s->n)) {
        product.k = piece.images * piece.pixels;
        status = make_columns(context, &plain, op->dy, &piece, true, scratch.next, &product.a, err);
        if (status == PSIM_OK)
            status = make_columns(context, s, op->x, &piece, true, columns, &product.b, err);
        if (status == PSIM_OK)
            status = cuda_multiply(context, &product, err);
    }
    return status;
}

enum psim_status cuda_run_conv_backward_weight(struct pk_context *base,
                                               const struct pk_conv_backward_weight *op,
                                               const struct pk_workspace *workspace,
                                               struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    const struct pk_conv_shape *s = &op->shape;
    struct cuda_scratch scratch = {workspace->data};
    const struct cuda_channel_totals totals = {.n = s->n,
                                               .c = s->k,
                                               .hw =
                                                   pk_window_out(s->h, s) * pk_window_out(s->w, s),
                                               .in = {.dy = op->dy},
                                               .dshift = op->dbias};
    enum psim_status status;
    size_t bytes;

    if (CUDA_ALIGNED(op->x, op->dy, op->dweight) &&
        library_plans(context, CUDA_BACKWARD_WEIGHT, s, &bytes) && bytes <= workspace->bytes)
        status = context->convolver->run(context, CUDA_BACKWARD_WEIGHT, s, op->x, op->dy,
                                         op->dweight, true, workspace, err);
    else
        status = backward_weight_products(context, op, workspace->data, err);
    if (status != PSIM_OK || op->dbias == NULL)
        return status;
    return cuda_channel_totals(context, &totals, &scratch, err);
}
