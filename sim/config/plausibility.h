/**
 * @file sim/config/plausibility.h
 * Warnings about inputs that are well-formed and probably not what was meant.
 *
 * Private to sim/config; called by the readers once a device, platform or scenario is sound.  A
 * warning stands at the value that it is about, quotes its rule, and never makes an input invalid.
 */
#ifndef PSIM_CONFIG_PLAUSIBILITY_H
#define PSIM_CONFIG_PLAUSIBILITY_H

#include "sim/config/reader.h"

/** Sparse peaks for dense ones, GB for GiB: known figures, and the catalogue's device of the same
 *  name or alias where the reader has a catalogue. */
void psim_judge_device(struct psim_reader *reader, const struct psim_node *root,
                       const struct psim_device *device);

/** Bytes for bits at NICs, both directions of NVLink, milliseconds inside a node. */
void psim_judge_platform(struct psim_reader *reader, const struct psim_node *root,
                         const struct psim_platform *platform);

/** Inputs that change no answer: links, conditions, batch and stage figures that nothing uses.
 *  @param[in] stages  of the longest pipeline */
void psim_judge_scenario(struct psim_reader *reader, const struct psim_node *root,
                         const struct psim_scenario *scenario, int stages);

#endif
