#include "sim/base/random.h"

#include <Random123/philox.h>

void psim_random_bits(uint64_t seed, uint64_t low, uint64_t high, uint64_t out[2])
{
    const philox2x64_ctr_t counter = {{low, high}};
    const philox2x64_key_t key = {{seed}};
    const philox2x64_ctr_t random = philox2x64(counter, key);

    out[0] = random.v[0];
    out[1] = random.v[1];
}

double psim_random_unit(uint64_t bits)
{
    return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}
