#include "sim/engine/device_state.h"

#include <math.h>

static double rate(const struct psim_device_state *device)
{
    const bool both = device->runs[0] && device->runs[1];

    return device->speed * (both ? (1 + device->gain) / 2 : 1);
}

void psim_device_advance(struct psim_device_state *device, double now_s)
{
    const double done_s = (now_s - device->since_s) * rate(device);

    for (int slot = 0; slot < 2; slot++) {
        if (device->runs[slot])
            device->left_s[slot] = fmax(0, device->left_s[slot] - done_s);
    }
    device->since_s = now_s;
}

void psim_device_start(struct psim_device_state *device, int slot, double seconds, double now_s)
{
    psim_device_advance(device, now_s);
    device->runs[slot] = true;
    device->left_s[slot] = seconds;
    device->generation++;
}

bool psim_device_next_end(const struct psim_device_state *device, int *slot, double *delay_s)
{
    const bool second =
        device->runs[1] && (!device->runs[0] || device->left_s[1] < device->left_s[0]);

    if (!device->runs[0] && !device->runs[1])
        return false;
    *slot = second ? 1 : 0;
    *delay_s = device->left_s[*slot] / rate(device);
    return true;
}

void psim_device_finish(struct psim_device_state *device, int slot, double now_s)
{
    psim_device_advance(device, now_s);
    device->runs[slot] = false;
    device->generation++;
}

void psim_device_set_speed(struct psim_device_state *device, double speed, double now_s)
{
    psim_device_advance(device, now_s);
    device->speed = speed;
    device->generation++;
}
