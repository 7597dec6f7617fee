/**
 * @file sim/collective/protocol.h
 * What a communication library really reaches, from measurements, as a correction of messages.
 *
 * A curve holds measured times of one operation on one group against its size.  An operation of
 * any size is then run with its messages scaled so that they take what was measured, after a base
 * latency that stands for all latencies of the algorithm; because the messages are still sent,
 * they share links with whatever else is there.  Filled by sim/config.
 *
 * Does not know: devices, links, files.
 */
#ifndef PSIM_COLLECTIVE_PROTOCOL_H
#define PSIM_COLLECTIVE_PROTOCOL_H

#include "sim/collective/collective.h"

struct psim_rate_curve {
    enum psim_collective_kind kind;
    const struct psim_collective *algorithm; /**< whose messages are scaled */
    int nodes, ranks;                        /**< of the group that was measured */
    double base_s;                           /**< what the smallest message takes */
    /** Bus bandwidth that unscaled messages without latency reach on the measured platform's
     *  links: what the measured ones are a fraction of. */
    double reference_bytes_per_s;
    const char *source; /**< of the measurements */
    int points;
    const double *bytes; /**< [points], rising */
    const double *rate;  /**< [points], bus bandwidth in bytes per second */
};

/** Curves that hold for some platforms; everything is borrowed. */
struct psim_protocol {
    const char *name;
    const char *const *platforms; /**< names, NULL-ended; NULL where curves were brought together */
    const struct psim_rate_curve *curves;
    int curve_count;
};

/** How the messages of one operation differ from what its algorithm says. */
struct psim_collective_terms {
    bool measured;      /**< false: run as the algorithm says, the rest does not matter */
    double base_s;      /**< before the messages, in place of their latencies */
    double byte_factor; /**< bytes sent for one of the algorithm's */
};

/** How an operation on a group is run. */
struct psim_collective_choice {
    const struct psim_collective *algorithm;
    const struct psim_rate_curve *curve; /**< NULL: nothing measured, or by another algorithm */
    bool in_switch;                      /**< for psim_group.in_switch */
};

/**
 * The algorithm asked for; else the one that was measured on the group most like this one, else
 * "ring", as also where the measured one does not run on this group.
 * @param[in] protocol   NULL: nothing was measured
 * @param[in] algorithm  NULL: none was asked for.  Whether it runs on the group is not asked.
 */
struct psim_collective_choice psim_protocol_choose(const struct psim_protocol *protocol,
                                                   enum psim_collective_kind kind,
                                                   const struct psim_group *group,
                                                   const struct psim_collective *algorithm);

/** What a choice means for the messages of an operation; not measured where no curve is. */
struct psim_collective_terms psim_collective_choice_terms(const struct psim_collective_choice *c,
                                                          int ranks, double bytes);

/** The curve of the operation that was measured on the group most like this one: of as many nodes
 *  if there is one, then with the least ratio of ranks; NULL: none of one node for one node, or of
 *  several for several. */
const struct psim_rate_curve *psim_protocol_curve(const struct psim_protocol *protocol,
                                                  enum psim_collective_kind kind, int nodes,
                                                  int ranks);

/** Bus bandwidth at a size: between points log(rate) is linear in log(size), outside it is that of
 *  the nearest point. */
double psim_rate_curve_at(const struct psim_rate_curve *curve, double bytes);

/** @param[in] ranks  of the group that the operation runs on */
struct psim_collective_terms psim_rate_curve_terms(const struct psim_rate_curve *curve, int ranks,
                                                   double bytes);

#endif
