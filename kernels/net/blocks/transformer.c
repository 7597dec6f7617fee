/* A reversible transformer block: y1 = x1 + F(x2), y2 = x2 + G(y1); F is attention and G the MLP,
 * both over a layer norm.  Source: arXiv:2302.04869 section 3.2 (arXiv:2001.04451 eq. 9). */
#include "kernels/net/residual.h"

static int attend(struct pk_block_build *b, int x, int width)
{
    struct pk_program *p = b->program;

    x = pk_program_layer_norm(p, "norm1", x);
    x = pk_program_linear(p, "qkv", x, 3 * width, true);
    x = pk_program_attention(p, x, b->spec->heads, b->spec->causal);
    return pk_program_linear(p, "projection", x, width, true);
}

static int perceive(struct pk_block_build *b, int x, int width)
{
    struct pk_program *p = b->program;

    x = pk_program_layer_norm(p, "norm2", x);
    x = pk_program_linear(p, "mlp1", x, b->spec->hidden, true);
    return pk_program_linear(p, "mlp2", pk_program_gelu(p, x), width, true);
}

static void build(struct pk_block_build *b)
{
    struct pk_program *p = b->program;
    const struct pk_shape *shape = pk_program_shape(p, b->x[0]);
    const int width = shape->width;

    if (b->streams != 2 || !shape->tokens) {
        pk_program_fail(p, PSIM_ERR_RANGE, "input", "needs two streams of tokens");
        return;
    }
    b->x[0] = pk_program_add(p, b->x[0], attend(b, b->x[1], width));
    pk_program_couple(p);
    b->x[1] = pk_program_add(p, b->x[1], perceive(b, b->x[0], width));
    pk_program_couple(p);
    b->reversible = true;
}

const struct pk_block_kind pk_block_kind_transformer = {
    .name = "transformer",
    .summary = "reversible transformer block: attention and MLP",
    .build = build,
};
