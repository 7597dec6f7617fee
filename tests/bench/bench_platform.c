/*
 * Benchmark of platforms: reading a file of 1344 nodes of 8 devices and 8 NICs, and finding routes
 * in it; prints one JSON object.
 *
 *   build/bench_platform
 *
 * Every network has its own process, so that its resident set is its own.  Neighbours are the
 * 10,751 pairs of devices that follow each other; far pairs are 10,000 that a fixed stride picks.
 * Figures are of whatever machine this is; nothing here is asserted.
 */
#include "sim/cli/cli.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FAR_PAIRS 10000

static const struct {
    const char *name, *network;
} cases[] = {
    {"switch", "\"kind\": \"switch\", \"latency\": \"1 us\""},
    {"rails", "\"kind\": \"fat_tree\", \"nodes_per_leaf\": 32, \"spines\": 32, "
              "\"rail_optimised\": true, \"latency\": \"0.3 us\""},
    {"pods", "\"kind\": \"fat_tree\", \"nodes_per_leaf\": 4, \"spines\": 16, \"uplinks\": 32, "
             "\"pods\": 42, \"cores\": 64, \"latency\": \"0.3 us\""},
    {"torus", "\"kind\": \"torus\", \"dims\": [12, 14, 8], \"latency\": \"0.3 us\""},
    {"dragonfly", "\"kind\": \"dragonfly\", \"groups\": 42, \"routers_per_group\": 8, "
                  "\"nodes_per_router\": 4, \"latency\": \"0.3 us\""},
};

static double wall_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "bench_platform: %s\n", what);
    exit(1);
}

static void write_cluster(const char *path, const char *network)
{
    FILE *file = fopen(path, "w");

    if (file == NULL)
        die("no file for the cluster");
    fprintf(file,
            "{ \"petrasim\": \"platform/1\", \"name\": \"bench\",\n"
            "  \"devices\": { \"gpu\": { \"catalogue\": \"H100-SXM\" } },\n"
            "  \"nodes\": [ { \"name\": \"node\", \"count\": 1344,\n"
            "    \"devices\": [ { \"type\": \"gpu\", \"count\": 8 } ],\n"
            "    \"interconnect\": { \"kind\": \"switch\", \"bandwidth\": \"450 GB/s\", "
            "\"latency\": \"2 us\" },\n"
            "    \"nics\": { \"count\": 8, \"bandwidth\": \"400 Gb/s\", \"latency\": \"2 us\" } } "
            "],\n  \"network\": { %s } }\n",
            network);
    if (fclose(file) != 0)
        die("the cluster cannot be written");
}

/* Routes per second: of neighbours for stride 1, of far pairs for any other. */
static double routes_per_s(const struct psim_platform *platform, int count, int stride)
{
    const int devices = platform->device_count;
    const double start_s = wall_s();

    for (int i = 0; i < count; i++) {
        const int from = i % devices;
        int to = (int)((from + (long long)stride * (i + 1)) % devices);
        struct psim_route route;

        if (stride == 1)
            to = from + 1;
        if (from == to)
            continue;
        if (psim_platform_route(platform, from, to, &route, NULL) != PSIM_OK)
            die("no route");
        psim_route_release(&route);
    }
    return count / (wall_s() - start_s);
}

static void measure(const char *path, const char *name, const char *network, const char *end)
{
    const struct psim_cli_values values = {.catalogue = NULL};
    const struct psim_catalogue catalogue = psim_cli_catalogue(&values);
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_platform platform = {0};
    struct rusage usage;
    double start_s, build_s, near_per_s, far_per_s;

    write_cluster(path, network);
    start_s = wall_s();
    if (psim_platform_read(path, &catalogue, &platform, &list) != PSIM_OK) {
        psim_cli_diagnose(&(struct psim_cli_values){0}, &list);
        die("the cluster cannot be read");
    }
    build_s = wall_s() - start_s;
    near_per_s = routes_per_s(&platform, platform.device_count - 1, 1);
    far_per_s = routes_per_s(&platform, FAR_PAIRS, 4099);
    getrusage(RUSAGE_SELF, &usage);
    printf("    {\"network\": \"%s\", \"devices\": %d, \"vertices\": %d, \"links\": %d, "
           "\"build_seconds\": %.4f, \"resident_mb\": %.1f, \"neighbour_routes_per_s\": %.0f, "
           "\"far_routes_per_s\": %.0f}%s\n",
           name, platform.device_count, platform.vertex_count, platform.link_count, build_s,
           (double)usage.ru_maxrss * 1024 / 1e6, near_per_s, far_per_s, end);
    psim_platform_release(&platform);
}

int main(void)
{
    const size_t count = sizeof cases / sizeof cases[0];
    char path[] = "bench_platform_XXXXXX";
    const int file = mkstemp(path);

    if (file < 0)
        die("no file for the cluster");
    close(file);
    printf("{ \"benchmark\": \"platform\",\n  \"runs\": [\n");
    for (size_t i = 0; i < count; i++) {
        int status;
        pid_t pid;

        fflush(NULL);
        pid = fork();
        if (pid == 0) {
            measure(path, cases[i].name, cases[i].network, i + 1 < count ? "," : "");
            exit(fflush(stdout) == 0 ? 0 : 1);
        }
        if (waitpid(pid, &status, 0) != pid || status != 0) {
            unlink(path);
            die("a run failed");
        }
    }
    unlink(path);
    printf("  ] }\n");
    return fflush(stdout) == 0 ? 0 : 1;
}
