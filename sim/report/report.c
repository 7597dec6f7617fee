#include "sim/report/report.h"

#include "sim/report/format.h"

#include <locale.h>
#include <string.h>

const char *const psim_format_names[] = {
#define PSIM_FORMAT_NAME(name, text, render) text,
    PSIM_FORMAT_MAP(PSIM_FORMAT_NAME)
#undef PSIM_FORMAT_NAME
        NULL,
};

static psim_render *const renderers[PSIM_FORMATS] = {
#define PSIM_FORMAT_RENDER(name, text, render) render,
    PSIM_FORMAT_MAP(PSIM_FORMAT_RENDER)
#undef PSIM_FORMAT_RENDER
};

const char *psim_report_file_name(const struct psim_comparison *comparison)
{
    const char *slash = strrchr(comparison->scenario_file, '/');

    return slash == NULL ? comparison->scenario_file : slash + 1;
}

enum psim_status psim_report_with_plain_locale(psim_report_work *work, void *user,
                                               struct psim_text *out, struct psim_error *err)
{
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    struct psim_text text = PSIM_TEXT_INIT;
    enum psim_status status;
    locale_t before;

    if (plain == (locale_t)0)
        return psim_fail(err, PSIM_ERR_NOMEM, "report", "no memory for a locale");
    before = uselocale(plain);
    status = work(user, &text, err);
    uselocale(before);
    freelocale(plain);
    if (status == PSIM_OK && text.failed)
        status = psim_fail(err, PSIM_ERR_NOMEM, "report", "no memory for the text");
    if (status != PSIM_OK) {
        psim_text_release(&text);
        return status;
    }
    psim_text_release(out);
    *out = text;
    return PSIM_OK;
}

struct comparison_work {
    const struct psim_comparison *comparison;
    enum psim_format format;
    enum psim_view view;
};

static enum psim_status render_comparison(void *user, struct psim_text *out, struct psim_error *err)
{
    const struct comparison_work *work = user;

    return renderers[work->format](work->comparison, work->view, out, err);
}

enum psim_status psim_report_render(const struct psim_comparison *comparison,
                                    enum psim_format format, enum psim_view view,
                                    struct psim_text *out, struct psim_error *err)
{
    struct comparison_work work = {comparison, format, view};

    return psim_report_with_plain_locale(render_comparison, &work, out, err);
}
