#include "tests/support/importing.h"

#include "tests/support/check.h"
#include "tests/support/json_values.h"
#include "tests/support/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct psim_catalogue test_catalogue = {PSIM_SOURCE_DIR "/platforms"};

struct test_imported test_import(const char *kind, const char *device, const char *text,
                                 size_t length)
{
    const struct psim_importer *importer = psim_importer_find(kind);
    const struct psim_import_input input = {"given", device, text, length};
    struct test_imported r = {.text = PSIM_TEXT_INIT, .list = PSIM_DIAGNOSTICS_INIT};

    assert_non_null(importer);
    r.status = psim_import_text(importer, &input, &r.text, &r.list);
    return r;
}

void test_imported_release(struct test_imported *r)
{
    psim_text_release(&r->text);
    psim_diagnostics_release(&r->list);
}

/* The test fails with what was reported. */
void test_imported_check(struct test_imported *r)
{
    if (r->status != PSIM_OK)
        fail_msg("%s", r->list.count == 0 ? "?" : psim_diagnostic_line(&r->list, 0));
    assert_non_null(r->text.data);
}

struct psim_platform test_platform_of(const char *text)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_platform platform;

    test_file_write(TEST_IMPORTED, text);
    if (psim_platform_read(TEST_IMPORTED, &test_catalogue, &platform, &list) != PSIM_OK)
        fail_msg("%s\n%s", psim_diagnostic_line(&list, 0), text);
    psim_diagnostics_release(&list);
    return platform;
}

struct psim_platform test_import_platform(const char *kind, const char *device, const char *text)
{
    struct test_imported r = test_import(kind, device, text, strlen(text));
    struct psim_platform platform;

    test_imported_check(&r);
    platform = test_platform_of(r.text.data);
    test_imported_release(&r);
    return platform;
}

char *test_import_example(const char *kind)
{
    char path[512];

    snprintf(path, sizeof path, TEST_IMPORT_DATA "%s", psim_importer_find(kind)->example);
    return test_file_read(path, NULL);
}

struct psim_scenario test_scenario_of(const char *model)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_text text = PSIM_TEXT_INIT;
    struct psim_scenario scenario;
    json_t *root = test_json_parse(model);
    char *inside = json_dumps(json_object_get(root, "model"), 0);

    psim_text_printf(&text,
                     "{\"petrasim\":\"scenario/1\",\"model\":%s,\"platform\":\"" PSIM_SOURCE_DIR
                     "/platforms/clusters/8x-a100-nvswitch.json\",\"methods\":[\"backprop\"],"
                     "\"batch\":{\"microbatch\":1}}",
                     inside);
    test_file_write("scenario.json", text.data);
    if (psim_scenario_read("scenario.json", &test_catalogue, &scenario, &list) != PSIM_OK)
        fail_msg("%s\n%s", psim_diagnostic_line(&list, 0), text.data);
    psim_diagnostics_release(&list);
    psim_text_release(&text);
    free(inside);
    json_decref(root);
    return scenario;
}
