/*
 * Benchmark of one training step of RevNet-18 (32x32, batch 64, 10 classes) beside PyTorch's;
 * prints one JSON object.
 *
 *   build/bench_step [--backend NAME] [--math MATH] [--threads N] [--runs N] [--net NAME]
 *                    [--size N] [--batch N] [--torch PYTHON]
 *
 * A step is forward, loss, backward and SGD with Nesterov momentum.  "stored" keeps the graphs, as
 * autograd does; "reversed" rebuilds the inputs of reversible stages.  With --torch PYTHON (the
 * interpreter that has the module) tests/bench/revnet18_torch.py does the same step of the same
 * network in another process with as many threads, and all are timed by turns, so that what else
 * the machine does falls on all alike.  The step of PyTorch is that of RevNet-18 at 32x32 only.
 */
#include "tests/bench/bench_common.h"
#include "tests/kernels/net/net_run.h"

#include <unistd.h>

#define RUNS_MAX 1000
#define CLASSES  10

struct values {
    const char *backend, *net, *torch;
    struct pk_options options;
    int runs, size, batch;
};

/* PyTorch's process: one line to it asks for a step, one line from it is that step's seconds. */
struct torch {
    FILE *to, *from;
    char greeting[256];
};

static bool torch_start(struct torch *torch, const struct values *values)
{
    int to[2], from[2];
    char threads[16], batch[16];
    pid_t pid;

    if (pipe(to) != 0 || pipe(from) != 0)
        return false;
    snprintf(threads, sizeof(threads), "%d", values->options.threads);
    snprintf(batch, sizeof(batch), "%d", values->batch);
    pid = fork();
    if (pid == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[1]);
        close(from[0]);
        execlp(values->torch, values->torch, PSIM_SOURCE_DIR "/tests/bench/revnet18_torch.py",
               "--serve", "--threads", threads, "--batch", batch, (char *)NULL);
        _exit(4);
    }
    close(to[0]);
    close(from[1]);
    torch->to = fdopen(to[1], "w");
    torch->from = fdopen(from[0], "r");
    if (pid < 0 || torch->to == NULL || torch->from == NULL ||
        fgets(torch->greeting, sizeof(torch->greeting), torch->from) == NULL)
        return false;
    torch->greeting[strcspn(torch->greeting, "\n")] = '\0';
    return true;
}

static double torch_step_s(struct torch *torch)
{
    char line[64];

    if (fputs("step\n", torch->to) < 0 || fflush(torch->to) != 0 ||
        fgets(line, sizeof(line), torch->from) == NULL) {
        fprintf(stderr, "bench_step: PyTorch's process ended\n");
        exit(1);
    }
    return strtod(line, NULL);
}

struct data {
    float *samples;
    int32_t *labels;
    double loss;
};

static double step_s(struct net_run *run, struct data *data, enum net_way way)
{
    struct psim_error err = PSIM_ERROR_INIT;
    const double start_s = bench_now_s();

    bench_need(net_run_step(run, data->samples, data->labels, way, &data->loss, &err), &err);
    for (int i = 0; i < run->count; i++) {
        const struct net_memory *memory = &run->memory[i];
        const struct pk_stage_update update = {.rate = 0.025F,
                                               .momentum = 0.9F,
                                               .weight_decay = 5e-4F,
                                               .gradient_scale = 1,
                                               .nesterov = true,
                                               .parameters = (float *)memory->call.parameters,
                                               .gradients = memory->call.gradients,
                                               .velocity = memory->velocity};

        bench_need(pk_stage_update(run->stages[i], &update, &err), &err);
    }
    bench_need(run->context->backend->wait(run->context, &err), &err);
    return bench_now_s() - start_s;
}

static double print_times(const char *name, double *times, int count)
{
    const double median_s = bench_median(times, count);

    printf("  \"%s\": {\"median_s\": %.4f, \"fastest_s\": %.4f, \"slowest_s\": %.4f},\n", name,
           median_s, times[0], times[count - 1]);
    return median_s;
}

static void print_ratio(const char *name, double torch_s, double ours_s, const char *end)
{
    printf("  \"%s\": %.3f%s\n", name, torch_s / ours_s, end);
}

static void measure(struct net_run *run, struct torch *torch, struct data *data, int runs)
{
    static double stored[RUNS_MAX], reversed[RUNS_MAX], theirs[RUNS_MAX];
    double stored_s, reversed_s, torch_s;

    for (int i = 0; i < 2; i++) {
        step_s(run, data, NET_STORED);
        step_s(run, data, NET_REVERSED);
    }
    for (int i = 0; i < runs; i++) {
        theirs[i] = torch == NULL ? 0 : torch_step_s(torch);
        stored[i] = step_s(run, data, NET_STORED);
        reversed[i] = step_s(run, data, NET_REVERSED);
    }
    stored_s = print_times("stored", stored, runs);
    reversed_s = print_times("reversed", reversed, runs);
    printf("  \"loss\": %.4f,\n  \"load_after\": %.2f,\n", data->loss, bench_load());
    if (torch == NULL) {
        printf("  \"torch\": null\n");
        return;
    }
    torch_s = print_times("torch", theirs, runs);
    printf("  \"torch_process\": %s,\n", torch->greeting);
    print_ratio("stored_speed_over_torch", torch_s, stored_s, ",");
    print_ratio("reversed_speed_over_torch", torch_s, reversed_s, "");
}

static bool read_arguments(int count, char **arguments, struct values *values)
{
    for (int i = 1; i + 1 < count; i += 2) {
        const char *name = arguments[i], *value = arguments[i + 1];

        if (strcmp(name, "--backend") == 0)
            values->backend = value;
        else if (strcmp(name, "--math") == 0 && pk_find_math(value, &values->options.math))
            continue;
        else if (strcmp(name, "--net") == 0)
            values->net = value;
        else if (strcmp(name, "--torch") == 0)
            values->torch = value;
        else if (strcmp(name, "--threads") == 0)
            values->options.threads = (int)strtol(value, NULL, 10);
        else if (strcmp(name, "--runs") == 0)
            values->runs = (int)strtol(value, NULL, 10);
        else if (strcmp(name, "--size") == 0)
            values->size = (int)strtol(value, NULL, 10);
        else if (strcmp(name, "--batch") == 0)
            values->batch = (int)strtol(value, NULL, 10);
        else
            return false;
    }
    return count % 2 == 1 && values->runs >= 1 && values->runs <= RUNS_MAX && values->batch >= 1 &&
           values->size >= 1 && values->options.threads >= 1;
}

int main(int count, char **arguments)
{
    struct values values = {.backend = "openblas",
                            .net = "revnet18",
                            .options = {.threads = 1},
                            .runs = 30,
                            .size = 32,
                            .batch = 64};
    struct psim_error err = PSIM_ERROR_INIT;
    struct pk_context *context = NULL;
    static struct pk_net net;
    static struct net_run run;
    struct torch torch;
    struct data data = {0};
    size_t sample_count;

    if (!read_arguments(count, arguments, &values)) {
        fprintf(stderr, "usage: bench_step [--backend NAME] [--math fp32|tf32|bf16] [--threads N] "
                        "[--runs N] [--net NAME] [--size N] [--batch N] [--torch PYTHON]\n");
        return 2;
    }
    if (values.torch != NULL && !torch_start(&torch, &values)) {
        fprintf(stderr, "bench_step: PyTorch does not start\n");
        return 4;
    }
    bench_need(pk_context_open(values.backend, &values.options, &context, &err), &err);
    bench_need(pk_net_build(values.net, values.size, CLASSES, &net, &err), &err);
    bench_need(net_run_new(context, &net, values.batch, PK_STATISTICS_PAPER, 1, &run, &err), &err);
    sample_count = (size_t)values.batch * 3 * (size_t)values.size * (size_t)values.size;
    data.samples = calloc(sample_count, sizeof(float));
    data.labels = calloc((size_t)values.batch, sizeof(int32_t));
    if (data.samples == NULL || data.labels == NULL)
        return 5;
    net_fill(data.samples, sample_count, 1, 1);
    for (int i = 0; i < values.batch; i++)
        data.labels[i] = i % CLASSES;
    printf("{\n  \"benchmark\": \"step\",\n  \"net\": \"%s\",\n  \"size\": %d,\n  \"batch\": %d,\n"
           "  \"runs\": %d,\n  \"peak_bytes\": %lld,\n",
           values.net, values.size, values.batch, values.runs,
           (long long)context->account.peak_total_bytes);
    bench_print_provenance(context);
    measure(&run, values.torch == NULL ? NULL : &torch, &data, values.runs);
    printf("}\n");
    net_run_release(&run);
    pk_context_close(context);
    free(data.samples);
    free(data.labels);
    return fflush(stdout) == 0 ? 0 : 1;
}
