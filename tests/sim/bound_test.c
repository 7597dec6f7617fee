/*
 * The bounds of plans: never above what either engine simulates, for every method, option and many
 * uneven pipelines; equal to it where that is proved; and a bound that is too high is found out.
 */
#include "sim/plan/bound.h"
#include "tests/support/check.h"
#include "tests/support/pipeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state_of_random = 1;

static double random_share(void)
{
    state_of_random =
        state_of_random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state_of_random >> 11) / 9007199254740992.0;
}

static int random_below(int n)
{
    return (int)(random_share() * n);
}

/* Amounts of every kind, so that no category hides behind another. */
static void fill_bytes(struct psim_stage *s)
{
    s->parameter_bytes = 4 * random_below(3000000);
    s->gradient_bytes = s->parameter_bytes;
    s->optimizer_bytes = s->parameter_bytes;
    s->buffer_bytes = random_below(1000);
    s->graph_input_bytes = s->input_bytes / 2;
    s->graph_bytes = s->graph_input_bytes + random_below(50000000);
    s->recompute_graph_bytes = s->graph_input_bytes + random_below(30000000);
    s->forward_work_bytes = random_below(5000000);
    s->backward_work_bytes = random_below(5000000);
    s->workspace_bytes = 1000;
    s->context_bytes = 70000;
    s->fragmentation = 0.1;
    s->memory_bytes = 100000000;
}

static void make_pipeline(struct test_pipeline *pipeline, int stages, bool equal, bool free_network)
{
    struct test_stage list[12];
    const double network = free_network ? INFINITY : 1e6 + 1e9 * random_share();

    for (int j = 0; j < stages; j++) {
        list[j] = (struct test_stage){.forward = 0.01 + random_share(),
                                      .reconstruct = 0.01 + random_share(),
                                      .backward = 0.01 + random_share(),
                                      .update = random_share() < 0.5 ? 0 : random_share(),
                                      .message = 2 * random_below(10000000),
                                      .reversible = random_share() < 0.7};
        if (equal && j > 0)
            list[j] = list[0];
        if (equal)
            list[j] = (struct test_stage){1, 1, 2, 0, 1, true};
    }
    list[stages - 1].reversible = list[stages - 1].reversible || stages == 1;
    list[0].reversible = true; /* one reversible block, so that every method runs */
    test_pipeline_init(pipeline, list, stages, network, free_network ? 0 : 0.001 * random_share(),
                       random_share());
    for (int j = 0; j < stages; j++)
        fill_bytes(&pipeline->workload.stages[j]);
    pipeline->workload.element_bytes = 4;
}

struct answer {
    double simulated_s, bound_s;
    int64_t needed, bound_needed;
};

static struct psim_bound_hop *hops_of(const struct psim_program *program)
{
    struct psim_bound_hop *hops = calloc((size_t)program->shape.stages, sizeof *hops);

    for (int j = 0; j + 1 < program->shape.stages; j++) {
        const struct psim_hop *hop = &program->hops[j];

        hops[j].forward_s =
            hop->route[0].latency_s + (double)hop->bytes[0] / hop->route[0].bandwidth_bytes_per_s;
        hops[j].backward_s =
            hop->route[1].latency_s + (double)hop->bytes[1] / hop->route[1].bandwidth_bytes_per_s;
    }
    return hops;
}

static int64_t needed_of(const struct psim_program *program, const struct psim_simulation *run)
{
    int64_t most = 0;

    for (int j = 0; j < run->stage_count; j++) {
        struct psim_fit_stage stage;

        psim_fit_stage_judge(program, j, &run->stages[j], &psim_fit_reserve_default, &stage);
        if (stage.views[stage.worst].device_bytes > most)
            most = stage.views[stage.worst].device_bytes;
    }
    return most;
}

static struct answer ask(const struct test_pipeline *pipeline, const struct psim_method *method,
                         const struct psim_shape *shape, const struct psim_engine *engine)
{
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_program program;
    struct psim_order order;
    struct psim_simulation run = {0};
    struct answer answer;
    double gains[12];
    struct psim_stage_times times[12];
    struct psim_bound_hop *hops;

    assert_int_equal(psim_program_build(method, shape, &pipeline->workload, &pipeline->platform,
                                        PSIM_ACCOUNTING_FULL, &program, &err),
                     PSIM_OK);
    psim_fit_prepare(&program, &psim_fit_reserve_default);
    assert_int_equal(psim_engine_run(engine, &program, NULL, &run, &err), PSIM_OK);
    assert_int_equal(psim_order_read(method, &program.shape, &order, &err), PSIM_OK);
    hops = hops_of(&program);
    for (int j = 0; j < program.shape.stages; j++)
        gains[j] = pipeline->gain;
    const struct psim_bound_input input = {.order = &order,
                                           .method = method,
                                           .overlap = program.overlap,
                                           .accumulation = program.shape.accumulation,
                                           .shape = &program.shape,
                                           .times = times,
                                           .stages = program.places,
                                           .gains = gains,
                                           .hops = hops,
                                           .sends_activation_back = method->sends_activation_back,
                                           .sends = program.shape.stages > 1,
                                           .element_bytes = 4,
                                           .reserve = &psim_fit_reserve_default};

    answer.simulated_s = run.time_per_microbatch_s;
    answer.bound_s = psim_bound_time(&input);
    answer.needed = needed_of(&program, &run);
    (void)psim_bound_memory(&input, &answer.bound_needed);
    free(hops);
    psim_order_release(&order);
    psim_simulation_release(&run);
    psim_program_release(&program);
    return answer;
}

/* Every choice of every option in turn. */
static void vary(const struct psim_method *method, struct psim_shape *shape)
{
    for (size_t i = 0; method->options != NULL && method->options[i] != NULL; i++) {
        const struct psim_option *option = method->options[i];
        int choices = 2;

        if (option->kind == PSIM_OPTION_COUNT)
            continue;
        if (option->kind == PSIM_OPTION_CHOICE)
            for (choices = 0; option->choices[choices] != NULL;)
                choices++;
        shape->options[i] = random_below(choices);
    }
}

static void no_run_is_below_its_bounds(void **state)
{
    double closest = 0;
    int exact_memory = 0, cases = 0;

    (void)state;
    for (int round = 0; round < 400; round++) {
        const struct psim_engine *engine =
            round % 20 == 0 ? &psim_engine_simgrid : &psim_engine_replay;
        struct test_pipeline pipeline;

        make_pipeline(&pipeline, 1 + random_below(9), false, round % 3 == 0);
        for (int m = 0; psim_method_table[m] != NULL; m++) {
            struct psim_shape shape = test_shape(psim_method_table[m], 1 + random_below(9));
            struct answer answer;

            vary(psim_method_table[m], &shape);
            answer = ask(&pipeline, psim_method_table[m], &shape, engine);
            if (!(answer.bound_s > 0) || !(answer.bound_s <= answer.simulated_s))
                fail_msg("round %d, %s: bound %.17g s, simulated %.17g s", round,
                         psim_method_table[m]->name, answer.bound_s, answer.simulated_s);
            if (answer.bound_needed > answer.needed)
                fail_msg("round %d, %s: bound %lld B, simulated %lld B", round,
                         psim_method_table[m]->name, (long long)answer.bound_needed,
                         (long long)answer.needed);
            closest += answer.bound_s / answer.simulated_s;
            exact_memory += answer.bound_needed * 100 >= answer.needed * 99 ? 1 : 0;
            cases++;
        }
        test_pipeline_release(&pipeline);
    }
    printf("bounds over simulated times: %.3f on the mean; memory within 1 %% in %d of %d\n",
           closest / cases, exact_memory, cases);
}

/* Without communication and with equal stages the bounds are the closed forms. */
static void bounds_are_reached_on_equal_stages(void **state)
{
    static const char *const names[] = {"backprop",         "reversible_backprop", "gpipe",
                                        "one_f_one_b",      "pipedream",           "petra",
                                        "delayed_gradients"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct psim_method *method = psim_method_find(names[i]);
        const struct psim_shape shape = test_shape(method, 8);
        struct test_pipeline pipeline;
        struct answer answer;

        make_pipeline(&pipeline, 5, true, true);
        answer = ask(&pipeline, method, &shape, &psim_engine_replay);
        check_near(answer.bound_s, answer.simulated_s, 2e-9);
        test_pipeline_release(&pipeline);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_run_is_below_its_bounds),
        cmocka_unit_test(bounds_are_reached_on_equal_stages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
