/**
 * @file tests/bench/bench_common.h
 * What the benchmarks of kernels share: time, medians, where and with what a figure was made.
 *
 * For programs of tests/bench only: a failure prints one line and ends the program with 4, or 1.
 */
#ifndef PSIM_TESTS_BENCH_COMMON_H
#define PSIM_TESTS_BENCH_COMMON_H

#include "kernels/pk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double bench_now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline int bench_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/** Sorts `values` and returns the middle one. */
static inline double bench_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(*values), bench_compare);
    return 0.5 * (values[count / 2] + values[(count - 1) / 2]);
}

/** Ends the program unless all is well: 4 for what this machine or build lacks. */
static inline void bench_need(enum psim_status status, const struct psim_error *err)
{
    if (status == PSIM_OK)
        return;
    fprintf(stderr, "benchmark: %s: %s\n", err->where, err->message);
    exit(status == PSIM_ERR_UNSUPPORTED ? 4 : 1);
}

/** A seeded value in [-1, 1): the upper bits of Knuth's MMIX generator (The Art of Computer
 *  Programming, vol. 2, 3rd ed., section 3.3.4, table 1). */
static inline float bench_random(uint64_t *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (float)((double)(*state >> 40) / (double)(1 << 23) - 1.0);
}

/** `text` as a JSON string. */
static inline void bench_print_text(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        if ((unsigned char)*text >= ' ')
            putchar(*text);
    }
    putchar('"');
}

static inline void bench_print_member(const char *name, const char *text)
{
    printf("  \"%s\": ", name);
    bench_print_text(text);
    printf(",\n");
}

/** What the environment asks of a library; null where it asks nothing. */
static inline void bench_print_setting(const char *name)
{
    const char *value = getenv(name);

    if (value != NULL)
        bench_print_member(name, value);
    else
        printf("  \"%s\": null,\n", name);
}

/** "unknown" where the sources are in no repository. */
static inline void bench_commit(char *commit, size_t size)
{
    FILE *git = popen("git -C '" PSIM_SOURCE_DIR "' rev-parse --short=12 HEAD 2>/dev/null", "r");

    snprintf(commit, size, "unknown");
    if (git == NULL)
        return;
    if (fgets(commit, (int)size, git) != NULL)
        commit[strcspn(commit, "\n")] = '\0';
    pclose(git);
}

/** Load of the machine over the last minute; below 0 where it cannot be told. */
static inline double bench_load(void)
{
    FILE *file = fopen("/proc/loadavg", "r");
    double load = -1;

    if (file != NULL && fscanf(file, "%lf", &load) != 1)
        load = -1;
    if (file != NULL)
        fclose(file);
    return load;
}

/** The members that say where, when and with what; the object goes on after them. */
static inline void bench_print_provenance(struct pk_context *context)
{
    struct pk_description d;
    const time_t now = time(NULL);
    char date[32], commit[64];

    context->backend->describe(context, &d);
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    bench_commit(commit, sizeof(commit));
    bench_print_member("date", date);
    bench_print_member("commit", commit);
    bench_print_member("compiler", __VERSION__);
    bench_print_member("backend", context->backend->name);
    bench_print_member("math", pk_math_names[context->options.math]);
    bench_print_member("device", d.device);
    bench_print_member("driver", d.driver);
    bench_print_member("libraries", d.libraries);
    bench_print_member("convolution", d.convolution);
    bench_print_setting("OPENBLAS_CORETYPE");
    bench_print_setting("OPENBLAS_L2_SIZE");
    printf("  \"threads\": %d,\n  \"load_before\": %.2f,\n", d.threads, bench_load());
}

#endif
