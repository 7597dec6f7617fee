/*
 * PETRA's basic block: F = conv3x3, BN, ReLU, conv3x3, BN, ReLU; y = x~ + F(x), y~ = x.
 * Where stride or width change: y = BN(conv1x1(x~)) + F(x), y~ = F's first ReLU; not reversible.
 * Source: arXiv:2406.02052 section 4.1; github.com/stephane-rivaud/PETRA.
 */
#include "kernels/net/residual.h"

static void build(struct pk_block_build *b)
{
    struct pk_program *p = b->program;
    const bool down = pk_residual_changes_shape(b);
    int first, base, f;

    if (!pk_residual_check(b, 2))
        return;
    first = pk_residual_unit(p, b->x[0],
                             &(struct pk_unit){"1", b->spec->width, 3, b->spec->stride, 1, true});
    base = down ? pk_residual_shortcut(b, "shortcut", b->x[1], true) : b->x[1];
    f = pk_program_conv(p, first, &(struct pk_unit){"conv2", b->spec->width, 3, 1, 1, true});
    f = pk_program_norm(p, "bn2", f, true, base, true);
    if (!down)
        pk_program_couple(p);
    b->reversible = !down;
    b->x[1] = down ? first : b->x[0];
    b->x[0] = f;
}

const struct pk_block_kind pk_block_kind_petra_basic = {
    .name = "petra_basic",
    .summary = "PETRA's block of two 3x3 convolutions",
    .build = build,
};
