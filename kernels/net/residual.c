#include "kernels/net/residual.h"

#include <stdio.h>

bool pk_residual_check(struct pk_block_build *build, int streams)
{
    const struct pk_block_spec *spec = build->spec;
    struct pk_program *program = build->program;

    if (build->streams != streams)
        pk_program_fail(program, PSIM_ERR_RANGE, "input", "needs %d stream%s, not %d", streams,
                        streams == 1 ? "" : "s", build->streams);
    if (spec->width < 1)
        pk_program_fail(program, PSIM_ERR_RANGE, "width", "must be at least 1, not %d",
                        spec->width);
    if (spec->stride != 1 && spec->stride != 2)
        pk_program_fail(program, PSIM_ERR_RANGE, "stride", "must be 1 or 2, not %d", spec->stride);
    return program->status == PSIM_OK;
}

bool pk_residual_check_hidden(struct pk_block_build *build)
{
    if (build->spec->width % 4 != 0)
        pk_program_fail(build->program, PSIM_ERR_RANGE, "width",
                        "of a bottleneck must be a multiple of 4, not %d", build->spec->width);
    return build->program->status == PSIM_OK;
}

bool pk_residual_changes_shape(const struct pk_block_build *build)
{
    return build->spec->stride != 1 ||
           pk_program_shape(build->program, build->x[0])->channels != build->spec->width;
}

int pk_residual_unit(struct pk_program *program, int x, const struct pk_unit *unit)
{
    struct pk_unit convolution = *unit;
    char name[32];
    int value;

    snprintf(name, sizeof(name), "conv%s", unit->name);
    convolution.name = name;
    value = pk_program_conv(program, x, &convolution);
    snprintf(name, sizeof(name), "bn%s", unit->name);
    return pk_program_norm(program, name, value, true, PK_NO_VALUE, false);
}

int pk_residual_neck(struct pk_block_build *build, bool bias)
{
    const int width = build->spec->width, hidden = width / 4;
    const struct pk_unit units[] = {{"1", hidden, 1, 1, 0, bias},
                                    {"2", hidden, 3, build->spec->stride, 1, bias},
                                    {"conv3", width, 1, 1, 0, bias}};
    int value = pk_residual_unit(build->program, build->x[0], &units[0]);

    value = pk_residual_unit(build->program, value, &units[1]);
    return pk_program_conv(build->program, value, &units[2]);
}

int pk_residual_shortcut(struct pk_block_build *build, const char *name, int x, bool bias)
{
    char part[32];
    int value;

    snprintf(part, sizeof(part), "%s.conv", name);
    value = pk_program_conv(
        build->program, x,
        &(struct pk_unit){part, build->spec->width, 1, build->spec->stride, 0, bias});
    snprintf(part, sizeof(part), "%s.bn", name);
    return pk_program_norm(build->program, part, value, false, PK_NO_VALUE, false);
}
