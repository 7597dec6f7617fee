/* ResNet's bottleneck: y = ReLU(x' + F(x)), F = 1x1, 3x3 (with the stride), 1x1 convolutions with
 * BN, hidden width a quarter; no biases.  Source: arXiv:1512.03385 section 4.1; stride as
 * torchvision. */
#include "kernels/net/residual.h"

static void build(struct pk_block_build *b)
{
    struct pk_program *p = b->program;
    const bool down = pk_residual_changes_shape(b);
    int base, f;

    if (!pk_residual_check(b, 1) || !pk_residual_check_hidden(b))
        return;
    f = pk_residual_neck(b, false);
    base = down ? pk_residual_shortcut(b, "shortcut", b->x[0], false) : b->x[0];
    b->x[0] = pk_program_relu(p, pk_program_norm(p, "bn3", f, false, base, true));
}

const struct pk_block_kind pk_block_kind_bottleneck = {
    .name = "bottleneck",
    .summary = "ResNet's block of 1x1, 3x3 and 1x1 convolutions",
    .build = build,
};
