/* Classifier with its loss: both streams side by side, global average pool, linear, cross-entropy;
 * over tokens a layer norm instead of the pool, and one prediction per token. */
#include "kernels/net/nodes.h"

static void build(struct pk_block_build *b)
{
    struct pk_program *p = b->program;
    int x = b->x[0];

    if (pk_program_shape(p, x)->tokens) {
        if (b->streams == 2)
            x = pk_program_join(p, x, b->x[1]);
        x = pk_program_layer_norm(p, "norm", x);
    } else {
        x = pk_program_average(p, x, b->streams == 2 ? b->x[1] : PK_NO_VALUE);
    }
    pk_program_loss(p, pk_program_linear(p, "linear", x, b->spec->classes, true));
}

const struct pk_block_kind pk_block_kind_head = {
    .name = "head",
    .summary = "average pool, linear layer and cross-entropy",
    .build = build,
};
