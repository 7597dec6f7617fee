/* RevNet's block of two functions: y1 = x1 + F(x2), y2 = x2 + G(y1), each BN, ReLU, convolution
 * twice, without biases.  Source: arXiv:1707.04585 section 3.2, eq. 6. */
#include "kernels/net/residual.h"

#include <stdio.h>

static int function(struct pk_block_build *b, const char *name, int x, int base)
{
    const int kernel = b->spec->kernel;
    char part[32];

    for (int i = 1; i <= 2; i++) {
        snprintf(part, sizeof(part), "%s.bn%d", name, i);
        x = pk_program_norm(b->program, part, x, true, PK_NO_VALUE, false);
        snprintf(part, sizeof(part), "%s.conv%d", name, i);
        x = pk_program_conv(b->program, x,
                            &(struct pk_unit){part, b->spec->width, kernel, 1, kernel / 2, false});
    }
    x = pk_program_add(b->program, base, x);
    pk_program_couple(b->program);
    return x;
}

static void build(struct pk_block_build *b)
{
    if (!pk_residual_check(b, 2))
        return;
    if (b->spec->kernel != 1 && b->spec->kernel != 3)
        pk_program_fail(b->program, PSIM_ERR_RANGE, "kernel", "must be 1 or 3, not %d",
                        b->spec->kernel);
    if (pk_residual_changes_shape(b))
        pk_program_fail(b->program, PSIM_ERR_RANGE, "width",
                        "a block of two functions keeps its input's shape");
    b->x[0] = function(b, "f", b->x[1], b->x[0]);
    b->x[1] = function(b, "g", b->x[0], b->x[1]);
    b->reversible = true;
}

const struct pk_block_kind pk_block_kind_revnet = {
    .name = "revnet",
    .summary = "RevNet's block of two residual functions",
    .build = build,
};
