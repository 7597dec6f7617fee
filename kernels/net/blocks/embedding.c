/* Embedding of token indices plus a learnt position; both streams start as the same values.
 * Source: arXiv:1706.03762 section 3.4; the doubling: arXiv:2001.04451 section 3. */
#include "kernels/net/nodes.h"

static void build(struct pk_block_build *b)
{
    if (b->streams != 1) {
        pk_program_fail(b->program, PSIM_ERR_RANGE, "input", "needs one stream of indices");
        return;
    }
    b->x[0] = pk_program_embedding(b->program, "table", b->x[0], b->spec->entries, b->spec->width);
    b->x[1] = b->x[0];
    b->streams = 2;
}

const struct pk_block_kind pk_block_kind_embedding = {
    .name = "embedding",
    .summary = "embedding and position of tokens, on both streams",
    .build = build,
};
