/* `show platform --expanded`: the free graph of a short form is valid and has the same routes. */
#include "sim/cli/listing.h"
#include "tests/support/check.h"
#include "tests/support/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA PSIM_SOURCE_DIR "/tests/data/config"

/* Short forms without rules that a free graph cannot have, and two free graphs. */
static const char *const names[] = {"nodes.json", "mesh.json",  "fat_tree.json", "pods.json",
                                    "torus.json", "relay.json", "graph.json"};

#define NAMES (sizeof names / sizeof names[0])

static const struct psim_catalogue catalogue = {DATA "/catalogue"};

static struct psim_platform read_platform(const char *path)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_platform platform;

    if (psim_platform_read(path, &catalogue, &platform, &list) != PSIM_OK)
        fail_msg("%s: %s", path, psim_diagnostic_line(&list, 0));
    psim_diagnostics_release(&list);
    return platform;
}

/* Expands a file of the corpus into `into`, with the program. */
static void expand(const char *name, const char *into)
{
    char path[512];
    struct test_output output;

    snprintf(path, sizeof path, DATA "/valid/%s", name);
    output = test_petrasim("show", "platform", path, "--expanded", "--catalogue", DATA "/catalogue",
                           "--out", into);
    check_code(&output, 0);
    assert_string_equal(output.err, "");
    test_output_free(&output);
}

/* Same devices, and the same latency and bandwidth between any two, or no path between them. */
static bool same_routes(const struct psim_platform *a, const struct psim_platform *b)
{
    bool same = a->device_count == b->device_count;

    for (int i = 0; same && i < a->device_count * a->device_count; i++) {
        const int from = i / a->device_count, to = i % a->device_count;
        struct psim_route one = {.hops = NULL}, other = {.hops = NULL};
        enum psim_status status;

        same = strcmp(psim_platform_device_name(a, from), psim_platform_device_name(b, from)) == 0;
        if (from == to)
            continue;
        status = psim_platform_route(a, from, to, &one, NULL);
        same = same && psim_platform_route(b, from, to, &other, NULL) == status &&
               psim_near(one.latency_s, other.latency_s, 1e-12) &&
               one.bandwidth_bytes_per_s == other.bandwidth_bytes_per_s;
        psim_route_release(&one);
        psim_route_release(&other);
    }
    return same;
}

static void expansion_has_the_same_routes(void **state)
{
    (void)state;
    for (size_t i = 0; i < NAMES; i++) {
        char path[512];
        struct psim_platform given, expanded;

        expand(names[i], "expanded.json");
        snprintf(path, sizeof path, DATA "/valid/%s", names[i]);
        given = read_platform(path);
        expanded = read_platform("expanded.json");
        if (!same_routes(&given, &expanded))
            fail_msg("%s has other routes when it is expanded", names[i]);
        psim_platform_release(&given);
        psim_platform_release(&expanded);
    }
}

static void checker_rejects_another_platform(void **state)
{
    struct psim_platform torus = read_platform(DATA "/valid/torus.json");
    struct psim_platform dragonfly = read_platform(DATA "/valid/dragonfly.json");
    struct psim_platform rails = read_platform(DATA "/valid/fat_tree.json");

    (void)state;
    assert_true(same_routes(&torus, &torus));
    assert_false(same_routes(&torus, &dragonfly));
    assert_false(same_routes(&torus, &rails));
    psim_platform_release(&torus);
    psim_platform_release(&dragonfly);
    psim_platform_release(&rails);
}

static void expansion_is_valid_and_expands_to_itself(void **state)
{
    (void)state;
    for (size_t i = 0; i < NAMES; i++) {
        struct test_output checked, again;
        char *first;

        expand(names[i], "expanded.json");
        first = test_file_read("expanded.json", NULL);
        checked = test_petrasim("check", "expanded.json", "--catalogue", DATA "/catalogue");
        check_code(&checked, 0);
        again = test_petrasim("show", "platform", "./expanded.json", "--expanded", "--catalogue",
                              DATA "/catalogue");
        check_code(&again, 0);
        assert_string_equal(again.out, first);
        test_output_free(&checked);
        test_output_free(&again);
        free(first);
    }
}

static void expansion_keeps_names_quantities_and_rules(void **state)
{
    char *text;

    (void)state;
    expand("relay.json", "expanded.json");
    text = test_file_read("expanded.json", NULL);
    check_contains(text, "{ \"name\": \"a \\\"1\\\"\", \"device\": \"gpu\" }");
    check_contains(text, "{ \"name\": \"t\", \"peering\": false }");
    check_contains(text, "\"between\": [\"a \\\"1\\\"\", \"t\"], \"bandwidth\": \"unlimited\", "
                         "\"latency\": \"0 us\", \"sharing\": \"duplex\"");
    check_contains(text, "\"bandwidth\": \"12.3456789012345 GB/s\", \"latency\": \"0.1 us\"");
    check_contains(text, "\"latency\": \"0.007 us\", \"sharing\": \"shared\"");
    check_contains(text, "\"relay\": false");
    free(text);
    expand("pods.json", "expanded.json");
    text = test_file_read("expanded.json", NULL);
    check_contains(text, "\"use\": 15");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expansion_has_the_same_routes),
        cmocka_unit_test(checker_rejects_another_platform),
        cmocka_unit_test(expansion_is_valid_and_expands_to_itself),
        cmocka_unit_test(expansion_keeps_names_quantities_and_rules),
    };

    return cmocka_run_group_tests_name("expansion", tests, test_scratch_enter, test_scratch_leave);
}
