/* What a plan leaves beside its answer: scenarios, and a picture by gnuplot. */
#include "sim/cli/plan_files.h"

#include "sim/cli/picture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static enum psim_exit write_scenario(const struct psim_plan *plan, int64_t point,
                                     const char *folder, const char *name, int number)
{
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_text text = PSIM_TEXT_INIT, path = PSIM_TEXT_INIT;
    enum psim_exit code = PSIM_EXIT_OK;

    psim_text_printf(&path, "%s/%s-%d.json", folder, name, number);
    if (path.failed || psim_plan_scenario_text(plan, point, &text, &err) != PSIM_OK ||
        psim_output_write(path.data, text.data, text.length, &err) != PSIM_OK) {
        psim_cli_complain(&err);
        code = PSIM_EXIT_FAILED;
    }
    psim_text_release(&text);
    psim_text_release(&path);
    return code;
}

static enum psim_exit write_list(const struct psim_plan *plan, const int64_t *points, int count,
                                 const char *folder, const char *name)
{
    enum psim_exit code = PSIM_EXIT_OK;

    for (int i = 0, number = 1; i < count && code == PSIM_EXIT_OK; i++) {
        if (points[i] >= 0)
            code = write_scenario(plan, points[i], folder, name, number++);
    }
    return code;
}

enum psim_exit psim_plan_files_scenarios(const struct psim_plan *plan, const char *folder)
{
    enum psim_exit code;

    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "petrasim: %s: cannot be made: %s\n", folder, strerror(errno));
        return PSIM_EXIT_FAILED;
    }
    code = write_list(plan, plan->best, plan->best_count, folder, "plan");
    if (code == PSIM_EXIT_OK)
        code =
            write_list(plan, plan->best_of_method, plan->goal->base.method_count, folder, "method");
    if (code == PSIM_EXIT_OK)
        code = write_list(plan, plan->front, plan->front_count, folder, "front");
    if (code == PSIM_EXIT_OK)
        code = write_list(plan, &plan->nearest, 1, folder, "nearest");
    return code;
}

/* ---- The picture ---- */

static void put_front(struct psim_text *out, const struct psim_plan *plan)
{
    const bool priced = psim_plan_is_priced(plan);

    psim_text_printf(out, "$front << E\n");
    for (int i = 0; i < plan->front_count; i++) {
        const struct psim_plan_figures *f = psim_plan_figures_of(plan, plan->front[i]);

        psim_text_printf(out, "%.9g %.9g %.9g\n", 1 / f->seconds_per_sample,
                         1e6 *
                             (priced ? f->usd_per_sample : f->seconds_per_sample * f->gpus / 3600),
                         f->memory_bytes / 0x1p30);
    }
    psim_text_printf(out, "E\n$gpus << E\n");
    for (int i = 0; i < plan->by_gpus_count; i++) {
        const struct psim_plan_figures *f = psim_plan_figures_of(plan, plan->by_gpus[i]);

        psim_text_printf(out, "%.0f %.9g\n", f->gpus, 1 / f->seconds_per_sample);
    }
    psim_text_printf(out, "E\n");
}

static void put_script(struct psim_text *out, const struct psim_plan *plan)
{
    put_front(out, plan);
    psim_text_printf(
        out,
        "set multiplot layout 1,2\nset grid\n"
        "set xlabel 'samples per second'\nset ylabel '%s a million samples'\n"
        "set cblabel 'fullest device (GiB)'\nset title 'front of time, money and memory'\n"
        "plot $front using 1:2:3 with points pt 7 palette notitle\n"
        "set xlabel 'GPUs'\nset ylabel 'samples per second'\nset yrange [0:*]\n"
        "set title 'fastest feasible plan for so many GPUs'\n"
        "plot $gpus using 1:2 with linespoints pt 7 notitle\nunset multiplot\n",
        psim_plan_is_priced(plan) ? "USD" : "GPU hours");
}

enum psim_exit psim_plan_files_picture(const struct psim_plan *plan, const char *path)
{
    struct psim_text script = PSIM_TEXT_INIT;
    enum psim_exit code;

    if (plan->front_count == 0) {
        fprintf(stderr, "petrasim: --plot: there is no feasible plan to show\n");
        return psim_picture_is_named(path) ? PSIM_EXIT_OK : PSIM_EXIT_USAGE;
    }
    put_script(&script, plan);
    code = psim_picture_draw(path, "1200,500", &script);
    psim_text_release(&script);
    return code;
}
