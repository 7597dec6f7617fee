/* One step of a plan as an operation of the backend: run, or asked for its scratch memory. */
#include "kernels/net/passes.h"

#include <math.h>

struct issue {
    const struct pk_run *run; /**< NULL: only measure */
    struct pk_context *context;
    const struct pk_program *program;
    const struct pk_step *step;
    struct psim_error *err;
    struct pk_workspace workspace;
    size_t bytes; /**< measured */
};

static enum psim_status measure(struct issue *q, size_t bytes)
{
    if (bytes > q->bytes)
        q->bytes = bytes;
    return PSIM_OK;
}

#define ISSUE(q, name, op)                                                                         \
    ((q)->run == NULL ? measure((q), pk_##name##_workspace((q)->context, &(op)))                   \
                      : pk_##name((q)->context, &(op), &(q)->workspace, (q)->err))

/* Stands for every operand while sizes are asked: only NULL or not is looked at then. */
static float nowhere;

static void *at(const struct issue *q, struct pk_ref ref)
{
    if (ref.area == PK_AREA_NONE)
        return NULL;
    return q->run == NULL ? (void *)&nowhere : q->run->areas[ref.area] + ref.offset;
}

/* A part of a block, `count` values into it. */
static float *after(const struct issue *q, struct pk_ref ref, size_t count)
{
    float *start = at(q, ref);

    return q->run == NULL ? start : start + count;
}

static const float *parameter(const struct issue *q, size_t offset)
{
    if (offset == PK_NO_OFFSET)
        return NULL;
    return q->run == NULL ? &nowhere : q->run->parameters + offset;
}

static float *gradient(const struct issue *q, size_t offset)
{
    if (offset == PK_NO_OFFSET)
        return NULL;
    return q->run == NULL ? &nowhere : q->run->gradients + offset;
}

/* Running mean of a norm, or its variance; NULL where this pass leaves them. */
static float *running(const struct issue *q, int which)
{
    const struct pk_node *node = q->step->node;

    if (q->run == NULL)
        return &nowhere;
    if (q->run->running == NULL || (q->run->inversion && !node->inversion_counts))
        return NULL;
    return q->run->running + node->statistics + (size_t)which * (size_t)node->c;
}

static enum psim_status norm_forward(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_node *node = s->node;
    const struct pk_norm_forward op = {.n = node->n,
                                       .c = node->c,
                                       .hw = node->hw,
                                       .x = at(q, s->x[0]),
                                       .scale = parameter(q, node->weight),
                                       .shift = parameter(q, node->bias),
                                       .epsilon = q->program->epsilon,
                                       .mean = at(q, s->aux[0]),
                                       .inv_std = at(q, s->aux[1]),
                                       .running_mean = running(q, 0),
                                       .running_variance = running(q, 1),
                                       .momentum = q->program->momentum,
                                       .relu = node->relu,
                                       .base = at(q, s->base),
                                       .base_sign = s->sign,
                                       .y = at(q, s->y[0])};

    return ISSUE(q, norm_forward, op);
}

static enum psim_status norm_infer(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_node *node = s->node;
    const struct pk_norm_inference op = {.n = node->n,
                                         .c = node->c,
                                         .hw = node->hw,
                                         .x = at(q, s->x[0]),
                                         .scale = parameter(q, node->weight),
                                         .shift = parameter(q, node->bias),
                                         .running_mean = running(q, 0),
                                         .running_variance = running(q, 1),
                                         .epsilon = q->program->epsilon,
                                         .relu = node->relu,
                                         .base = at(q, s->base),
                                         .base_sign = s->sign,
                                         .y = at(q, s->y[0])};

    return ISSUE(q, norm_inference, op);
}

static enum psim_status norm_data(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_node *node = s->node;
    const struct pk_norm_backward op = {.n = node->n,
                                        .c = node->c,
                                        .hw = node->hw,
                                        .x = at(q, s->x[0]),
                                        .dy = at(q, s->dy[0]),
                                        .scale = parameter(q, node->weight),
                                        .shift = parameter(q, node->bias),
                                        .mean = at(q, s->aux[0]),
                                        .inv_std = at(q, s->aux[1]),
                                        .relu = node->relu,
                                        .dscale = gradient(q, node->weight),
                                        .dshift = gradient(q, node->bias),
                                        .dx = at(q, s->dx)};

    return ISSUE(q, norm_backward, op);
}

static enum psim_status conv_forward(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_conv_forward op = {.shape = s->node->conv,
                                       .x = at(q, s->x[0]),
                                       .weight = parameter(q, s->node->weight),
                                       .bias = parameter(q, s->node->bias),
                                       .y = at(q, s->y[0])};

    return ISSUE(q, conv_forward, op);
}

static enum psim_status conv_weight(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_conv_backward_weight op = {.shape = s->node->conv,
                                               .x = at(q, s->x[0]),
                                               .dy = at(q, s->dy[0]),
                                               .dweight = gradient(q, s->node->weight),
                                               .dbias = gradient(q, s->node->bias)};

    return ISSUE(q, conv_backward_weight, op);
}

static enum psim_status conv_data(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_conv_backward_data op = {.shape = s->node->conv,
                                             .dy = at(q, s->dy[0]),
                                             .weight = parameter(q, s->node->weight),
                                             .dx = at(q, s->dx),
                                             .accumulate = s->accumulate};

    return ISSUE(q, conv_backward_data, op);
}

static enum psim_status linear_forward(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_node *node = s->node;
    const struct pk_linear_forward op = {.rows = node->rows,
                                         .in = node->in,
                                         .out = node->out,
                                         .x = at(q, s->x[0]),
                                         .weight = parameter(q, node->weight),
                                         .bias = parameter(q, node->bias),
                                         .y = at(q, s->y[0])};

    return ISSUE(q, linear_forward, op);
}

static enum psim_status linear_weight(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_node *node = s->node;
    const struct pk_linear_backward_weight op = {.rows = node->rows,
                                                 .in = node->in,
                                                 .out = node->out,
                                                 .x = at(q, s->x[0]),
                                                 .dy = at(q, s->dy[0]),
                                                 .dweight = gradient(q, node->weight),
                                                 .dbias = gradient(q, node->bias)};

    return ISSUE(q, linear_backward_weight, op);
}

static enum psim_status linear_data(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_node *node = s->node;
    const struct pk_linear_backward_data op = {.rows = node->rows,
                                               .in = node->in,
                                               .out = node->out,
                                               .dy = at(q, s->dy[0]),
                                               .weight = parameter(q, node->weight),
                                               .dx = at(q, s->dx),
                                               .accumulate = s->accumulate};

    return ISSUE(q, linear_backward_data, op);
}

static enum psim_status layer_norm_forward(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_node *node = s->node;
    const struct pk_layer_norm_forward op = {.rows = node->rows,
                                             .columns = node->in,
                                             .x = at(q, s->x[0]),
                                             .scale = parameter(q, node->weight),
                                             .shift = parameter(q, node->bias),
                                             .epsilon = q->program->epsilon,
                                             .mean = at(q, s->aux[0]),
                                             .inv_std = at(q, s->aux[1]),
                                             .y = at(q, s->y[0])};

    return ISSUE(q, layer_norm_forward, op);
}

static enum psim_status layer_norm_data(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_node *node = s->node;
    const struct pk_layer_norm_backward op = {.rows = node->rows,
                                              .columns = node->in,
                                              .x = at(q, s->x[0]),
                                              .dy = at(q, s->dy[0]),
                                              .scale = parameter(q, node->weight),
                                              .mean = at(q, s->aux[0]),
                                              .inv_std = at(q, s->aux[1]),
                                              .dscale = gradient(q, node->weight),
                                              .dshift = gradient(q, node->bias),
                                              .dx = at(q, s->dx)};

    return ISSUE(q, layer_norm_backward, op);
}

static size_t count_of(const struct issue *q, int value)
{
    return q->program->values[value].bytes / sizeof(float);
}

static enum psim_status element_forward(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_node *node = s->node;
    const size_t count = count_of(q, node->x[0]);

    if (node->kind == PK_NODE_RELU) {
        const struct pk_relu_forward op = {count, at(q, s->x[0]), at(q, s->y[0])};

        return ISSUE(q, relu_forward, op);
    }
    if (node->kind == PK_NODE_GELU) {
        const struct pk_gelu_forward op = {count, at(q, s->x[0]), at(q, s->y[0])};

        return ISSUE(q, gelu_forward, op);
    }
    {
        const struct pk_add op = {.count = count,
                                  .alpha = 1,
                                  .beta = s->sign,
                                  .a = at(q, s->base),
                                  .b = at(q, s->x[0]),
                                  .y = at(q, s->y[0])};

        return ISSUE(q, add, op);
    }
}

static enum psim_status element_data(struct issue *q)
{
    const struct pk_step *s = q->step;
    const size_t count = count_of(q, s->node->x[0]);

    if (s->node->kind == PK_NODE_RELU) {
        const struct pk_relu_backward op = {count, at(q, s->y[0]), at(q, s->dy[0]), at(q, s->dx),
                                            s->accumulate};

        return ISSUE(q, relu_backward, op);
    }
    {
        const struct pk_gelu_backward op = {count, at(q, s->x[0]), at(q, s->dy[0]), at(q, s->dx)};

        return ISSUE(q, gelu_backward, op);
    }
}

static enum psim_status pool_forward(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_pool_forward op = {s->node->conv, at(q, s->x[0]), at(q, s->y[0]),
                                       at(q, s->aux[0])};

    return ISSUE(q, pool_forward, op);
}

static enum psim_status pool_data(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_pool_backward op = {s->node->conv, at(q, s->dy[0]), at(q, s->aux[0]),
                                        at(q, s->dx)};

    return ISSUE(q, pool_backward, op);
}

/* Each stream fills its part of a row. */
static enum psim_status average_forward(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_node *node = s->node;
    const int streams = node->x[1] >= 0 ? 2 : 1;
    enum psim_status status = PSIM_OK;

    for (int i = 0; i < streams && status == PSIM_OK; i++) {
        const struct pk_average_forward op = {.n = node->n,
                                              .c = node->c,
                                              .hw = node->hw,
                                              .x = at(q, s->x[i]),
                                              .y = after(q, s->y[0], (size_t)i * (size_t)node->c),
                                              .y_stride = (size_t)streams * (size_t)node->c};

        status = ISSUE(q, average_forward, op);
    }
    return status;
}

static enum psim_status average_data(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_node *node = s->node;
    const struct pk_average_backward op = {
        .n = node->n,
        .c = node->c,
        .hw = node->hw,
        .dy = after(q, s->dy[0], (size_t)s->part * (size_t)node->c),
        .dy_stride = (size_t)(node->x[1] >= 0 ? 2 : 1) * (size_t)node->c,
        .dx = at(q, s->dx)};

    return ISSUE(q, average_backward, op);
}

static enum psim_status attention_forward(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_node *node = s->node;
    const struct pk_attention_forward op = {.n = node->n,
                                            .tokens = node->rows,
                                            .heads = node->heads,
                                            .d = node->head_width,
                                            .causal = node->causal,
                                            .qkv = at(q, s->x[0]),
                                            .probabilities = at(q, s->aux[0]),
                                            .y = at(q, s->y[0])};

    return ISSUE(q, attention_forward, op);
}

static enum psim_status attention_data(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_node *node = s->node;
    const struct pk_attention_backward op = {.n = node->n,
                                             .tokens = node->rows,
                                             .heads = node->heads,
                                             .d = node->head_width,
                                             .causal = node->causal,
                                             .qkv = at(q, s->x[0]),
                                             .probabilities = at(q, s->aux[0]),
                                             .dy = at(q, s->dy[0]),
                                             .dqkv = at(q, s->dx)};

    return ISSUE(q, attention_backward, op);
}

static enum psim_status embedding_forward(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_node *node = s->node;
    const struct pk_embedding_forward op = {.rows = node->rows,
                                            .entries = node->c,
                                            .columns = node->out,
                                            .tokens = node->in,
                                            .index = at(q, s->x[0]),
                                            .table = parameter(q, node->weight),
                                            .position = parameter(q, node->bias),
                                            .y = at(q, s->y[0])};

    return ISSUE(q, embedding_forward, op);
}

static enum psim_status embedding_weight(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_node *node = s->node;
    const struct pk_embedding_backward op = {.rows = node->rows,
                                             .entries = node->c,
                                             .columns = node->out,
                                             .tokens = node->in,
                                             .index = at(q, s->x[0]),
                                             .dy = at(q, s->dy[0]),
                                             .dtable = gradient(q, node->weight),
                                             .dposition = gradient(q, node->bias)};

    return ISSUE(q, embedding_backward, op);
}

/* Between a half and its part of the whole's rows. */
static enum psim_status copy_half(struct issue *q, struct pk_ref whole, struct pk_ref half,
                                  int part, bool to_whole)
{
    const struct pk_node *node = q->step->node;
    const size_t columns = (size_t)node->out;
    float *rows = after(q, whole, (size_t)part * columns);
    const struct pk_copy_rows op = {.rows = (size_t)node->rows,
                                    .columns = columns,
                                    .source = to_whole ? at(q, half) : rows,
                                    .source_stride = to_whole ? columns : 2 * columns,
                                    .target = to_whole ? rows : at(q, half),
                                    .target_stride = to_whole ? 2 * columns : columns,
                                    .accumulate = q->step->accumulate};

    return ISSUE(q, copy_rows, op);
}

static enum psim_status halves(struct issue *q)
{
    const struct pk_step *s = q->step;
    const bool split = s->node->kind == PK_NODE_SPLIT;
    enum psim_status status = PSIM_OK;

    if (s->kind == PK_STEP_DATA && !split)
        return copy_half(q, s->dy[0], s->dx, s->part, false);
    for (int i = 0; i < 2 && status == PSIM_OK; i++) {
        if (s->kind == PK_STEP_DATA)
            status = copy_half(q, s->dx, s->dy[i], i, true);
        else if (split)
            status = copy_half(q, s->x[0], s->y[i], i, false);
        else
            status = copy_half(q, s->y[0], s->x[i], i, true);
    }
    return status;
}

static enum psim_status loss(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_node *node = s->node;
    const struct pk_run *run = q->run;
    const struct pk_cross_entropy op = {
        .rows = node->rows,
        .classes = node->out,
        .logits = at(q, s->x[0]),
        .labels = run == NULL ? (const int32_t *)(const void *)&nowhere : run->labels,
        .gradient_scale = 1.0F / (float)node->rows,
        .loss = run == NULL ? &nowhere : run->loss,
        .predicted = run == NULL ? NULL : run->predicted,
        .dlogits = at(q, s->aux[0])};

    return ISSUE(q, cross_entropy, op);
}

typedef enum psim_status issue_f(struct issue *);

static const struct {
    issue_f *forward, *weight, *data;
} issues[] = {
    [PK_NODE_CONV] = {conv_forward, conv_weight, conv_data},
    [PK_NODE_NORM] = {norm_forward, NULL, norm_data},
    [PK_NODE_RELU] = {element_forward, NULL, element_data},
    [PK_NODE_ADD] = {element_forward, NULL, NULL},
    [PK_NODE_POOL] = {pool_forward, NULL, pool_data},
    [PK_NODE_AVERAGE] = {average_forward, NULL, average_data},
    [PK_NODE_LINEAR] = {linear_forward, linear_weight, linear_data},
    [PK_NODE_LAYER_NORM] = {layer_norm_forward, NULL, layer_norm_data},
    [PK_NODE_GELU] = {element_forward, NULL, element_data},
    [PK_NODE_ATTENTION] = {attention_forward, NULL, attention_data},
    [PK_NODE_EMBEDDING] = {embedding_forward, embedding_weight, NULL},
    [PK_NODE_SPLIT] = {halves, NULL, halves},
    [PK_NODE_JOIN] = {halves, NULL, halves},
    [PK_NODE_LOSS] = {loss, NULL, NULL},
};

static enum psim_status sum(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_add op = {.count = s->bytes / sizeof(float),
                              .alpha = 1,
                              .beta = 1,
                              .a = at(q, s->x[0]),
                              .b = at(q, s->x[1]),
                              .y = at(q, s->y[0])};

    return ISSUE(q, add, op);
}

static enum psim_status issue(struct issue *q)
{
    const struct pk_step *s = q->step;
    const struct pk_backend *backend = q->context->backend;

    switch (s->kind) {
    case PK_STEP_FORWARD:
        return issues[s->node->kind].forward(q);
    case PK_STEP_WEIGHT:
        return issues[s->node->kind].weight(q);
    case PK_STEP_DATA:
        return issues[s->node->kind].data(q);
    case PK_STEP_INFER:
        return norm_infer(q);
    case PK_STEP_SUM:
        return sum(q);
    case PK_STEP_COPY:
        return q->run == NULL
                   ? PSIM_OK
                   : backend->copy(q->context, at(q, s->y[0]), at(q, s->x[0]), s->bytes, q->err);
    case PK_STEP_CLEAR:
        return q->run == NULL ? PSIM_OK
                              : backend->clear(q->context, at(q, s->y[0]), s->bytes, q->err);
    }
    return PSIM_OK;
}

size_t pk_step_workspace(struct pk_context *context, const struct pk_program *program,
                         const struct pk_step *step)
{
    struct issue q = {.context = context, .program = program, .step = step};

    (void)issue(&q);
    return q.bytes;
}

enum psim_status pk_plan_run(const struct pk_plan *plan, const struct pk_run *run,
                             struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    for (int i = 0; i < plan->step_count && status == PSIM_OK; i++) {
        const struct pk_step *step = &plan->steps[i];
        struct issue q = {
            .run = run, .context = run->context, .program = run->program, .step = step, .err = err};

        q.workspace.bytes = step->work_bytes;
        q.workspace.data = at(&q, step->work);
        status = issue(&q);
    }
    return status;
}
