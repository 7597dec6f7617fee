/*
 * S4U without actors: maestro starts timers and Comms; their completion calls back into C.
 *
 * Measured on 3.32 (docs/design.md): a kernel timer costs about 0.5 us, a Comm 2 to 5 us, an
 * activity is created only when it is ready, because 3.32 keeps live activities in a list that a
 * completion scans.  API differences from 3.34 on are behind the version checks below.
 */
#include "sim/engine/simgrid_shim.h"

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

#if SIMGRID_VERSION_MAJOR > 3 || SIMGRID_VERSION_MINOR >= 34
#define PSIM_SIMGRID_334 1
#else
#define PSIM_SIMGRID_334 0
#endif
#if SIMGRID_VERSION_MAJOR > 3 || SIMGRID_VERSION_MINOR >= 36
#define PSIM_SIMGRID_336 1
#else
#define PSIM_SIMGRID_336 0
#endif
#if SIMGRID_VERSION_MAJOR >= 4
#define PSIM_SIMGRID_400 1
#else
#define PSIM_SIMGRID_400 0
#endif

namespace
{

/* An activity in flight: the handle keeps it alive, the token goes back to C. */
struct Slot {
    sg4::ActivityPtr activity;
    uint64_t token = 0;
};

struct Shim {
    psim_shim_complete *complete = nullptr;
    void *user = nullptr;
    bool stopped = false;
    std::unique_ptr<sg4::Engine> engine;
    sg4::NetZone *zone = nullptr;
    std::vector<sg4::NetZone *> way_zones;
    int ways = 0;
    std::vector<sg4::Host *> hosts;
    std::vector<sg4::Link *> links;
    std::vector<bool> duplex;
    std::vector<Slot> slots;
    std::vector<uint32_t> free_slots;
    int64_t ending = -1; /* slot whose activity is still inside its own completion */
    std::string text;
};

Shim shim;

uint32_t take_slot()
{
    if (shim.free_slots.empty()) {
        shim.slots.emplace_back();
        return static_cast<uint32_t>(shim.slots.size() - 1);
    }
    const uint32_t index = shim.free_slots.back();

    shim.free_slots.pop_back();
    return index;
}

void report(uint64_t token)
{
    if (!shim.stopped)
        shim.complete(shim.user, token);
}

/* An activity carries the number of its slot + 1 in its user data.  Its slot may be used again,
 * which drops the activity, only after its own completion has returned: from the next one on. */
void finish(const void *data)
{
    const auto index = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(data) - 1);
    const uint64_t token = shim.slots[index].token;

    if (shim.ending >= 0)
        shim.free_slots.push_back(static_cast<uint32_t>(shim.ending));
    shim.ending = index;
    report(token);
}

template <class Activity> void launch(Activity activity, uint64_t token)
{
    const uint32_t index = take_slot();

    shim.slots[index].token = token;
    activity->set_data(reinterpret_cast<void *>(static_cast<uintptr_t>(index) + 1));
    shim.slots[index].activity = activity;
#if PSIM_SIMGRID_334
    activity->start();
#else
    activity->vetoable_start();
#endif
}

void watch_completions()
{
#if PSIM_SIMGRID_334
    sg4::Comm::on_completion_cb([](sg4::Comm const &comm) { finish(comm.get_data<void>()); });
#else
    sg4::Activity::on_completion_cb(
        [](sg4::Activity const &activity) { finish(activity.get_data<void>()); });
#endif
}

const char *const options[] = {
    "network/model:CM02",     "network/crosstraffic:0", "network/TCP-gamma:1e300",
    "network/weight-S:0",     "network/loopback-lat:0", "network/loopback-bw:1e300",
    "debug/clean-atexit:0",
#if PSIM_SIMGRID_334
    "precision/timing:1e-12",
#else
    "surf/precision:1e-12",
#endif
};

} // namespace

extern "C" bool psim_shim_open(psim_shim_complete *complete, void *user, const char **why)
try {
    static char name[] = "petrasim", quiet[] = "--log=root.thres:error";
    static char *arguments[] = {name, quiet, nullptr};
    int count = 2;

    shim.complete = complete;
    shim.user = user;
    shim.engine = std::make_unique<sg4::Engine>(&count, arguments);
    for (const char *option : options)
        sg4::Engine::set_config(option);
#if PSIM_SIMGRID_400
    shim.zone = shim.engine->get_netzone_root()->add_netzone_full("cluster");
#else
    shim.zone = sg4::create_full_zone("cluster");
#endif
    watch_completions();
    return true;
} catch (const std::exception &problem) {
    shim.text = problem.what();
    *why = shim.text.c_str();
    return false;
}

static int add_host(sg4::NetZone *zone, const std::string &name, double speed)
{
#if PSIM_SIMGRID_400
    shim.hosts.push_back(zone->add_host(name, speed));
#else
    shim.hosts.push_back(zone->create_host(name, speed));
#endif
    return static_cast<int>(shim.hosts.size()) - 1;
}

extern "C" int psim_shim_add_host(const char *name, double speed)
{
    return add_host(shim.zone, name, speed);
}

extern "C" int psim_shim_add_link(const char *name, double bandwidth_bytes_per_s, bool duplex)
{
    sg4::Link *link;

    if (duplex)
#if PSIM_SIMGRID_400
        link = shim.zone->add_split_duplex_link(name, bandwidth_bytes_per_s);
    else
        link = shim.zone->add_link(name, bandwidth_bytes_per_s);
#else
        link = shim.zone->create_split_duplex_link(name, bandwidth_bytes_per_s);
    else
        link = shim.zone->create_link(name, bandwidth_bytes_per_s);
#endif
    link->set_latency(0)->seal();
    shim.links.push_back(link);
    shim.duplex.push_back(duplex);
    return static_cast<int>(shim.links.size()) - 1;
}

static void add_route(sg4::NetZone *zone, int from, int to, const int *links, const bool *forward,
                      int count)
{
    std::vector<sg4::LinkInRoute> route;

    for (int i = 0; i < count; i++) {
        if (!shim.duplex[links[i]])
            route.emplace_back(shim.links[links[i]]);
        else
            route.emplace_back(shim.links[links[i]], forward[i]
                                                         ? sg4::LinkInRoute::Direction::UP
                                                         : sg4::LinkInRoute::Direction::DOWN);
    }
#if PSIM_SIMGRID_336
    zone->add_route(shim.hosts[from], shim.hosts[to], route, false);
#else
    zone->add_route(shim.hosts[from]->get_netpoint(), shim.hosts[to]->get_netpoint(), nullptr,
                    nullptr, route, false);
#endif
}

extern "C" void psim_shim_add_route(int from, int to, const int *links, const bool *forward,
                                    int count)
{
    add_route(shim.zone, from, to, links, forward, count);
}

/* A full zone's table grows with the square of its hosts. */
static sg4::NetZone *zone_of_next_way()
{
    const int ways_per_zone = 32;

    if (shim.ways++ % ways_per_zone == 0) {
        const std::string name = "ways" + std::to_string(shim.way_zones.size());

#if PSIM_SIMGRID_400
        shim.way_zones.push_back(shim.zone->add_netzone_full(name));
#else
        shim.way_zones.push_back(sg4::create_full_zone(name)->set_parent(shim.zone));
#endif
    }
    return shim.way_zones.back();
}

extern "C" int psim_shim_add_way(const int *links, const bool *forward, int count)
{
    sg4::NetZone *zone = zone_of_next_way();
    const std::string name = "way" + std::to_string(shim.ways);
    const int from = add_host(zone, name + ".from", 1), to = add_host(zone, name + ".to", 1);

    add_route(zone, from, to, links, forward, count);
    return from;
}

extern "C" void psim_shim_seal(void)
{
    for (sg4::NetZone *zone : shim.way_zones)
        zone->seal();
    shim.zone->seal();
}

extern "C" double psim_shim_now(void)
{
    return sg4::Engine::get_clock();
}

extern "C" void psim_shim_timer(double delay_s, uint64_t token)
{
    simgrid::kernel::timer::Timer::set(sg4::Engine::get_clock() + delay_s,
                                       [token] { report(token); });
}

static void start_flow(int from, int to, uint64_t bytes, uint64_t token)
{
    auto comm = sg4::Comm::sendto_init(shim.hosts[from], shim.hosts[to]);

    comm->set_payload_size(bytes);
    launch(comm, token);
}

extern "C" void psim_shim_flow(int from, int to, double latency_s, uint64_t bytes, uint64_t token)
{
    if (latency_s > 0)
        simgrid::kernel::timer::Timer::set(
            sg4::Engine::get_clock() + latency_s,
            [from, to, bytes, token] { start_flow(from, to, bytes, token); });
    else
        start_flow(from, to, bytes, token);
}

extern "C" void psim_shim_set_bandwidth(int link, double bandwidth_bytes_per_s)
{
    shim.links[link]->set_bandwidth(bandwidth_bytes_per_s);
}

extern "C" bool psim_shim_run(const char **why)
try {
    shim.engine->run();
    return true;
} catch (const std::exception &problem) {
    shim.text = problem.what();
    *why = shim.text.c_str();
    return false;
}

extern "C" void psim_shim_stop(void)
{
    shim.stopped = true;
}

extern "C" const char *psim_shim_version(void)
{
    static const std::string text =
        std::to_string(SIMGRID_VERSION_MAJOR) + "." + std::to_string(SIMGRID_VERSION_MINOR);

    return text.c_str();
}
