/*
 * PETRA's bottleneck: F = 1x1, 3x3, 1x1 convolutions, each with BN and ReLU, hidden width a
 * quarter; y = x~ + F(x), y~ = x.  Where stride or width change both streams pass a 1x1 convolution
 * and BN of their own: y = S(x~) + F(x), y~ = S'(x); not reversible. Source: arXiv:2406.02052
 * section 4.1; github.com/stephane-rivaud/PETRA.
 */
#include "kernels/net/residual.h"

static void build(struct pk_block_build *b)
{
    struct pk_program *p = b->program;
    const bool down = pk_residual_changes_shape(b);
    int base, other, f;

    if (!pk_residual_check(b, 2) || !pk_residual_check_hidden(b))
        return;
    p->inversion_counts = true;
    f = pk_residual_neck(b, true);
    base = down ? pk_residual_shortcut(b, "shortcut", b->x[1], true) : b->x[1];
    other = down ? pk_residual_shortcut(b, "shortcut2", b->x[0], true) : b->x[0];
    f = pk_program_norm(p, "bn3", f, true, base, true);
    if (!down)
        pk_program_couple(p);
    b->reversible = !down;
    b->x[0] = f;
    b->x[1] = other;
}

const struct pk_block_kind pk_block_kind_petra_bottleneck = {
    .name = "petra_bottleneck",
    .summary = "PETRA's block of 1x1, 3x3 and 1x1 convolutions",
    .build = build,
};
