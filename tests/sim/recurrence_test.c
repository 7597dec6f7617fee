/*
 * Uneven pipelines with communication against max-plus recurrences written here, event by event:
 * a typed closed formula would not pass.  The recurrences follow the methods' definitions
 * (docs/model.md, sections "Rounds" and "Flushed steps") and share nothing with the executor.
 */
#include "tests/support/check.h"
#include "tests/support/pipeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STAGES_MAX 8
#define ROUNDS_MAX 4096

/* A small fixed generator: the tests' pipelines are the same everywhere. */
static uint64_t seed_state;

static double draw(double low, double high)
{
    seed_state = seed_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (high - low) * (double)(seed_state >> 33) / (double)(UINT64_C(1) << 31);
}

struct uneven {
    int stages;
    struct test_stage stage[STAGES_MAX];
    double hop[2][STAGES_MAX]; /* seconds of a message between j and j + 1: forward, back */
    struct test_pipeline pipeline;
};

static void make_uneven(struct uneven *u, int stages, bool reversible, bool activation_back,
                        double update)
{
    const double latency_s = 0.01, bandwidth = 1e6;

    u->stages = stages;
    for (int j = 0; j < stages; j++) {
        u->stage[j] = (struct test_stage){
            .forward = draw(0.5, 1.5),
            .reconstruct = draw(0.5, 1.5),
            .backward = draw(1, 3),
            .update = update,
            .message = (int64_t)draw(1e3, 4e5),
            .reversible = reversible && draw(0, 1) < 0.7,
        };
        if (j > 0) {
            u->hop[0][j - 1] = latency_s + (double)u->stage[j].message / bandwidth;
            u->hop[1][j - 1] =
                latency_s + (activation_back ? 2 : 1) * (double)u->stage[j].message / bandwidth;
        }
    }
    u->stage[0].reversible = reversible;
    test_pipeline_init(&u->pipeline, u->stage, stages, bandwidth, latency_s, 0);
}

/* Ends of forwards and backwards, [stage][micro-batch]. */
struct dates {
    double forward[STAGES_MAX][ROUNDS_MAX], backward[STAGES_MAX][ROUNDS_MAX];
};

static double forward_arrival(const struct uneven *u, const struct dates *d, int j, int n)
{
    return j == 0 ? 0 : d->forward[j - 1][n] + u->hop[0][j - 1];
}

static double backward_arrival(const struct uneven *u, const struct dates *d, int j, int n)
{
    return d->backward[j + 1][n] + u->hop[1][j];
}

/*
 * Rounds: round t of stage j is forward t and, once t >= d_j, backward t - d_j; both halves of
 * round t - 1 and its update come first.  A backward of stage j in round t belongs to round t - 2
 * of stage j + 1, so rounds in ascending order see everything they need.
 */
static void rounds_recurrence(const struct uneven *u, const double *half, bool serial, int k,
                              int rounds, struct dates *d)
{
    double ready[STAGES_MAX] = {0};

    for (int t = 0; t < rounds; t++) {
        for (int j = 0; j < u->stages; j++) {
            const bool last = j == u->stages - 1;
            const int delay = 2 * (u->stages - 1 - j), n = t - delay;
            const double forward_start = fmax(ready[j], forward_arrival(u, d, j, t));
            double end = forward_start + u->stage[j].forward;

            d->forward[j][t] = end;
            if (n >= 0) {
                double start = last || serial ? end : ready[j];

                if (!last)
                    start = fmax(start, backward_arrival(u, d, j, n));
                d->backward[j][n] = start + (last ? u->stage[j].backward : half[j]);
                end = fmax(end, d->backward[j][n]);
                if ((n + 1) % k == 0)
                    end += u->stage[j].update;
            }
            ready[j] = end;
        }
    }
}

static void compare_log(const struct test_log *log, const struct uneven *u, const struct dates *d,
                        int limit)
{
    int compared = 0;

    for (int i = 0; i < log->count; i++) {
        const struct test_event *e = &log->events[i];

        if (e->direction >= 0 || e->microbatch < 0 || e->microbatch >= limit)
            continue;
        if (e->passes & PSIM_FORWARD)
            check_near(e->end_s, d->forward[e->stage][e->microbatch], 1e-12);
        else if (e->passes & PSIM_BACKWARD)
            check_near(e->end_s, d->backward[e->stage][e->microbatch], 1e-12);
        compared++;
    }
    assert_true(compared > 20 * u->stages);
}

struct round_case {
    const char *method;
    int rebuild; /* 0 none, 1 one evaluation, 2 naive */
    const char *overlap, *backward;
};

static const struct round_case round_cases[] = {
    {"delayed_gradients", 0, "ideal", NULL},
    {"delayed_gradients", 0, "serial", NULL},
    {"delayed_gradients_checkpoint", 1, "ideal", NULL},
    {"delayed_gradients_checkpoint", 1, "serial", NULL},
    {"petra", 1, "ideal", "fused"},
    {"petra", 1, "serial", "fused"},
    {"petra", 2, "ideal", "naive"},
};

static void one_round_pipeline(const struct round_case *c, int stages, int k,
                               const struct psim_engine *engine)
{
    const struct psim_method *method = psim_method_find(c->method);
    struct psim_shape shape = test_shape(method, k);
    struct dates *dates = calloc(1, sizeof *dates);
    struct test_log *log;
    struct uneven u;
    double half[STAGES_MAX];

    test_set(method, &shape, "overlap", c->overlap);
    if (c->backward != NULL)
        test_set(method, &shape, "backward", c->backward);
    make_uneven(&u, stages, true, method->sends_activation_back, k > 1 ? 0.3 : 0);
    for (int j = 0; j < stages; j++) {
        half[j] = u.stage[j].backward;
        if (c->rebuild > 0)
            half[j] += u.stage[j].reconstruct;
        if (c->rebuild > 1 && u.stage[j].reversible)
            half[j] += u.stage[j].forward;
    }
    rounds_recurrence(&u, half, strcmp(c->overlap, "serial") == 0, k, ROUNDS_MAX, dates);
    log = test_run_logged(&u.pipeline, method, &shape, engine, 100000);
    compare_log(log, &u, dates, ROUNDS_MAX - 2 * STAGES_MAX);
    test_log_free(log);
    test_pipeline_release(&u.pipeline);
    free(dates);
}

static void round_methods_follow_their_recurrence(void **state)
{
    (void)state;
    seed_state = 1;
    for (size_t i = 0; i < sizeof round_cases / sizeof round_cases[0]; i++) {
        for (int stages = 2; stages <= STAGES_MAX; stages++) {
            for (int k = 1; k <= 4; k += 3)
                one_round_pipeline(&round_cases[i], stages, k, &psim_engine_replay);
        }
        one_round_pipeline(&round_cases[i], 5, 2, &psim_engine_simgrid);
    }
}

/* The measured period is the recurrence's slope over many rounds. */
static void the_steady_period_is_the_slope_of_the_recurrence(void **state)
{
    (void)state;
    seed_state = 7;
    for (int i = 0; i < 40; i++) {
        const struct psim_method *method = psim_method_find("petra");
        struct psim_shape shape = test_shape(method, 1);
        struct dates *dates = calloc(1, sizeof *dates);
        struct psim_simulation got;
        struct uneven u;
        double half[STAGES_MAX], slope;

        test_set(method, &shape, "overlap", "ideal");
        make_uneven(&u, 2 + i % 7, true, true, 0);
        for (int j = 0; j < u.stages; j++)
            half[j] = u.stage[j].backward + u.stage[j].reconstruct;
        rounds_recurrence(&u, half, false, 1, ROUNDS_MAX, dates);
        /* 2520 = lcm(1..9): whole periods whatever the critical circuit. */
        slope = (dates->backward[0][4000] - dates->backward[0][4000 - 2520]) / 2520;
        got = test_run(&u.pipeline, method, &shape, &psim_engine_replay);
        check_near(got.time_per_microbatch_s, slope, 1e-9);
        for (int j = 0; j < u.stages; j++) {
            assert_int_equal(got.stages[j].staleness_microbatches, 2 * (u.stages - 1 - j));
            assert_int_equal(got.stages[j].staleness_min_microbatches, 2 * (u.stages - 1 - j));
            assert_int_equal(got.stages[j].carried_microbatches, 2 * (u.stages - 1 - j));
            assert_int_equal(got.stages[j].carried_min_microbatches, 2 * (u.stages - 1 - j));
        }
        psim_simulation_release(&got);
        test_pipeline_release(&u.pipeline);
        free(dates);
    }
}

/* Unequal updates give long transients in which the first stage alone already looks steady. */
static void a_transient_is_not_taken_for_the_steady_state(void **state)
{
    int steady = 0;

    (void)state;
    seed_state = 17;
    for (int i = 0; i < 1000; i++) {
        const struct psim_method *method = psim_method_find("delayed_gradients");
        const int k = 1 << i % 3;
        struct psim_shape shape = test_shape(method, k);
        struct dates *dates = calloc(1, sizeof *dates);
        struct psim_simulation got;
        struct uneven u;
        double half[STAGES_MAX], slope;

        test_set(method, &shape, "overlap", "ideal");
        make_uneven(&u, 2 + i % 7, false, false, 0);
        for (int j = 0; j < u.stages; j++) {
            /* Whole quarters, so that many circuits are nearly critical. */
            u.stage[j].forward = floor(draw(1, 40)) / 4;
            u.stage[j].backward = floor(draw(1, 40)) / 4;
            u.stage[j].update = floor(draw(0, 20)) / 4;
            u.pipeline.workload.stages[j].forward_s = u.stage[j].forward;
            u.pipeline.workload.stages[j].backward_input_s = u.stage[j].backward / 2;
            u.pipeline.workload.stages[j].backward_weight_s = u.stage[j].backward / 2;
            u.pipeline.workload.stages[j].update_s = u.stage[j].update;
            half[j] = u.stage[j].backward;
        }
        rounds_recurrence(&u, half, false, k, ROUNDS_MAX, dates);
        slope = (dates->backward[0][4000] - dates->backward[0][4000 - 2520]) / 2520;
        got = test_run(&u.pipeline, method, &shape, &psim_engine_replay);
        /* 2520 rounds are whole periods up to five stages; beyond, the slope is off by part of one.
         */
        if (got.steady)
            check_near(got.time_per_microbatch_s, slope, u.stages <= 5 ? 1e-9 : 2e-3);
        steady += got.steady ? 1 : 0;
        psim_simulation_release(&got);
        test_pipeline_release(&u.pipeline);
        free(dates);
    }
    assert_true(steady >= 990);
}

/* Order of one stage in a flushed step: +n + 1 for forward n, -n - 1 for backward n. */
static int order_1f1b(int stages, int j, int m, int *order)
{
    int forward = 0, backward = 0, count = 0;

    while (backward < m) {
        if (forward < m && forward - backward <= stages - 1 - j)
            order[count++] = ++forward;
        else
            order[count++] = -(++backward);
    }
    return count;
}

static int order_gpipe(int stages, int j, int m, int *order)
{
    int count = 0;

    (void)stages, (void)j;
    for (int n = 1; n <= m; n++)
        order[count++] = n;
    for (int n = m; n >= 1; n--)
        order[count++] = -n;
    return count;
}

static int order_chain(int stages, int j, int m, int *order)
{
    (void)stages, (void)j;
    for (int n = 1; n <= m; n++) {
        order[2 * n - 2] = n;
        order[2 * n - 1] = -n;
    }
    return 2 * m;
}

/* Plays the orders until nothing moves: a list scheduler without events. */
static double play(const struct uneven *u, int m, bool rebuild,
                   int (*make_order)(int, int, int, int *), struct dates *d)
{
    int order[STAGES_MAX][64], at[STAGES_MAX] = {0}, count[STAGES_MAX];
    double ready[STAGES_MAX] = {0}, end = 0;
    bool done_forward[STAGES_MAX][32] = {{0}}, done_backward[STAGES_MAX][32] = {{0}};

    for (int j = 0; j < u->stages; j++)
        count[j] = make_order(u->stages, j, m, order[j]);
    for (bool moved = true; moved;) {
        moved = false;
        for (int j = 0; j < u->stages; j++) {
            const int what = at[j] < count[j] ? order[j][at[j]] : 0, n = abs(what) - 1;

            if (what > 0 && (j == 0 || done_forward[j - 1][n])) {
                ready[j] = fmax(ready[j], forward_arrival(u, d, j, n)) + u->stage[j].forward;
                d->forward[j][n] = ready[j];
                done_forward[j][n] = true;
            } else if (what < 0 && (j == u->stages - 1 || done_backward[j + 1][n])) {
                if (j < u->stages - 1)
                    ready[j] = fmax(ready[j], backward_arrival(u, d, j, n));
                ready[j] += u->stage[j].backward + (rebuild ? u->stage[j].reconstruct : 0);
                d->backward[j][n] = ready[j];
                done_backward[j][n] = true;
            } else {
                continue;
            }
            at[j]++;
            moved = true;
        }
    }
    for (int j = 0; j < u->stages; j++) {
        assert_int_equal(at[j], count[j]);
        end = fmax(end, ready[j] + u->stage[j].update);
    }
    return end;
}

static void flushed_methods_follow_their_order(void **state)
{
    static const struct {
        const char *method;
        bool rebuild;
        int (*order)(int, int, int, int *);
    } cases[] = {
        {"one_f_one_b", false, order_1f1b},
        {"gpipe", false, order_gpipe},
        {"backprop", false, order_chain},
        {"reversible_backprop", true, order_chain},
    };

    (void)state;
    seed_state = 3;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int stages = 1; stages <= STAGES_MAX; stages++) {
            for (int m = 1; m <= 16; m += 5) {
                const struct psim_method *method = psim_method_find(cases[i].method);
                const struct psim_shape shape = test_shape(method, m);
                struct dates *dates = calloc(1, sizeof *dates);
                struct psim_simulation got;
                struct uneven u;
                double end;

                make_uneven(&u, stages, true, method->sends_activation_back, 0.4);
                end = play(&u, m, cases[i].rebuild, cases[i].order, dates);
                got = test_run(&u.pipeline, method, &shape, &psim_engine_replay);
                check_near(got.time_per_update_s, end, 1e-12);
                psim_simulation_release(&got);
                test_pipeline_release(&u.pipeline);
                free(dates);
            }
        }
    }
}

/* PipeDream without communication is as slow as its slowest stage, uneven or not. */
static void pipedream_runs_at_the_pace_of_its_slowest_stage(void **state)
{
    (void)state;
    seed_state = 11;
    for (int i = 0; i < 20; i++) {
        const struct psim_method *method = psim_method_find("pipedream");
        const struct psim_shape shape = test_shape(method, 4);
        struct psim_simulation got;
        struct uneven u;
        double slowest = 0;

        make_uneven(&u, 1 + i % STAGES_MAX, false, false, 0.1);
        for (int j = 0; j + 1 < u.stages; j++)
            u.pipeline.workload.stages[j + 1].input_bytes = 0;
        for (int j = 0; j < u.stages; j++)
            slowest = fmax(slowest, u.stage[j].forward + u.stage[j].backward + u.stage[j].update);
        got = test_run(&u.pipeline, method, &shape, &psim_engine_replay);
        /* The messages' latency, 0.01 s a hop, may show on a pipeline this tight. */
        assert_true(got.time_per_microbatch_s >= slowest * (1 - 1e-12));
        assert_true(got.time_per_microbatch_s <= slowest + 0.02);
        psim_simulation_release(&got);
        test_pipeline_release(&u.pipeline);
    }
}

/* The comparison itself must be able to fail: a recurrence with another latency is rejected. */
static void a_wrong_recurrence_is_told_apart(void **state)
{
    const struct psim_method *method = psim_method_find("petra");
    struct psim_shape shape = test_shape(method, 1);
    struct dates *dates = calloc(1, sizeof *dates);
    struct psim_simulation got;
    struct uneven u;
    double half[STAGES_MAX], slope;

    (void)state;
    seed_state = 5;
    test_set(method, &shape, "overlap", "ideal");
    make_uneven(&u, 6, true, true, 0);
    for (int j = 0; j < u.stages; j++)
        half[j] = u.stage[j].backward + u.stage[j].reconstruct;
    for (int j = 0; j < u.stages; j++)
        u.hop[0][j] += 30;
    rounds_recurrence(&u, half, false, 1, ROUNDS_MAX, dates);
    slope = (dates->backward[0][4000] - dates->backward[0][4000 - 2520]) / 2520;
    got = test_run(&u.pipeline, method, &shape, &psim_engine_replay);
    assert_false(psim_near(got.time_per_microbatch_s, slope, 1e-9));
    psim_simulation_release(&got);
    test_pipeline_release(&u.pipeline);
    free(dates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_methods_follow_their_recurrence),
        cmocka_unit_test(the_steady_period_is_the_slope_of_the_recurrence),
        cmocka_unit_test(a_transient_is_not_taken_for_the_steady_state),
        cmocka_unit_test(flushed_methods_follow_their_order),
        cmocka_unit_test(pipedream_runs_at_the_pace_of_its_slowest_stage),
        cmocka_unit_test(a_wrong_recurrence_is_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
