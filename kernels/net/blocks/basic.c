/* ResNet's basic block: y = ReLU(x' + F(x)), F = conv3x3, BN, ReLU, conv3x3, BN; x' is x, or its
 * 1x1 convolution and BN where the shape changes; no biases.  Source: arXiv:1512.03385 section 3.3.
 */
#include "kernels/net/residual.h"

static void build(struct pk_block_build *b)
{
    struct pk_program *p = b->program;
    const bool down = pk_residual_changes_shape(b);
    int base, f;

    if (!pk_residual_check(b, 1))
        return;
    f = pk_residual_unit(p, b->x[0],
                         &(struct pk_unit){"1", b->spec->width, 3, b->spec->stride, 1, false});
    f = pk_program_conv(p, f, &(struct pk_unit){"conv2", b->spec->width, 3, 1, 1, false});
    base = down ? pk_residual_shortcut(b, "shortcut", b->x[0], false) : b->x[0];
    b->x[0] = pk_program_relu(p, pk_program_norm(p, "bn2", f, false, base, true));
}

const struct pk_block_kind pk_block_kind_basic = {
    .name = "basic",
    .summary = "ResNet's block of two 3x3 convolutions",
    .build = build,
};
