/* Convolution, BN and ReLU on images, a max-pool of stride 2 where asked; two streams are the
 * halves of the channels.  Source: arXiv:1512.03385 table 1, arXiv:2406.02052 section 4.1. */
#include "kernels/net/residual.h"

static void build(struct pk_block_build *b)
{
    const struct pk_block_spec *spec = b->spec;
    struct pk_program *p = b->program;
    int x;

    if (b->streams != 1 || (spec->streams != 1 && spec->streams != 2)) {
        pk_program_fail(p, PSIM_ERR_RANGE, "streams",
                        "a stem makes one or two streams of one, not %d of %d", spec->streams,
                        b->streams);
        return;
    }
    x = pk_residual_unit(p, b->x[0],
                         &(struct pk_unit){"", spec->width * spec->streams, spec->kernel,
                                           spec->stride, spec->kernel / 2, spec->bias});
    if (spec->pool_kernel > 0)
        x = pk_program_pool(p, x, spec->pool_kernel, 2, spec->pool_pad);
    b->x[0] = x;
    b->streams = spec->streams;
    if (spec->streams == 2)
        pk_program_split(p, x, b->x);
}

const struct pk_block_kind pk_block_kind_stem = {
    .name = "stem",
    .summary = "convolution, BN, ReLU and perhaps a max-pool",
    .build = build,
};
