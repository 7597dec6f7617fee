#include "sim/engine/monitor.h"
#include "sim/engine/tagring.h"
#include "tests/support/check.h"

/* Feeds ends whose intervals repeat every `period`; returns the measured time per micro-batch. */
static double feed(const double *intervals, int period, int stages, int64_t base,
                   struct psim_monitor *monitor)
{
    double now = 0, opened = 0;

    psim_monitor_init(monitor, stages, base);
    for (int64_t n = 0; n < 1000000; n++) {
        now += intervals[n % period];
        switch (psim_monitor_backward(monitor, now)) {
        case PSIM_MONITOR_WINDOW_OPENS:
            opened = now;
            break;
        case PSIM_MONITOR_WINDOW_ENDS:
            return (now - opened) / (double)(monitor->ends - monitor->opens);
        case PSIM_MONITOR_GO_ON:
            break;
        case PSIM_MONITOR_FAILED:
            fail();
        }
    }
    fail();
    return 0;
}

static void a_period_is_found_and_measured_whole(void **state)
{
    static const double intervals[] = {1, 2, 4, 1.5, 0.5};
    struct psim_monitor monitor;

    (void)state;
    check_near(feed(intervals, 5, 4, 1, &monitor), 9.0 / 5, 1e-12);
    assert_true(monitor.steady);
    assert_int_equal((monitor.ends - monitor.opens) % 5, 0);
    assert_true(monitor.opens >= 16);
    psim_monitor_release(&monitor);
}

static void a_window_is_whole_optimizer_steps(void **state)
{
    static const double intervals[] = {3, 3, 3, 3.5};
    struct psim_monitor monitor;

    (void)state;
    check_near(feed(intervals, 4, 3, 4, &monitor), 12.5 / 4, 1e-12);
    assert_int_equal((monitor.ends - monitor.opens) % 4, 0);
    psim_monitor_release(&monitor);
}

/* The first stage repeats, another one drifts: the candidate is refuted, again and again, and the
 * run ends all the same. */
static void a_drifting_stage_refutes_the_period(void **state)
{
    struct psim_monitor monitor;
    enum psim_monitor_event event = PSIM_MONITOR_GO_ON;
    int64_t n;

    (void)state;
    psim_monitor_init(&monitor, 2, 1);
    for (n = 0; event != PSIM_MONITOR_WINDOW_ENDS && n < 1000000; n++) {
        psim_monitor_end(&monitor, 1, false, n, 1.001 * (double)n);
        psim_monitor_end(&monitor, 0, true, n, (double)(n + 1));
        event = psim_monitor_backward(&monitor, (double)(n + 1));
    }
    assert_int_equal(event, PSIM_MONITOR_WINDOW_ENDS);
    assert_false(monitor.steady);
    psim_monitor_release(&monitor);
}

/* A transient of the first stage that looks steady is outlived. */
static void a_period_that_holds_everywhere_is_proved(void **state)
{
    struct psim_monitor monitor;
    enum psim_monitor_event event = PSIM_MONITOR_GO_ON;
    double other = 0;
    int64_t n;

    (void)state;
    psim_monitor_init(&monitor, 2, 1);
    for (n = 0; event != PSIM_MONITOR_WINDOW_ENDS && n < 1000000; n++) {
        other += n < 100 ? 1.25 : 1;
        psim_monitor_end(&monitor, 1, true, n, other);
        psim_monitor_end(&monitor, 0, true, n, (double)(n + 1));
        event = psim_monitor_backward(&monitor, (double)(n + 1));
    }
    assert_true(monitor.steady);
    assert_true(monitor.opens >= 100);
    psim_monitor_release(&monitor);
}

static void what_never_repeats_is_said_to_be_unsteady(void **state)
{
    struct psim_monitor monitor;
    double now = 0;
    enum psim_monitor_event event = PSIM_MONITOR_GO_ON;

    (void)state;
    psim_monitor_init(&monitor, 2, 1);
    for (int n = 1; event != PSIM_MONITOR_WINDOW_ENDS && n < 1000000; n++) {
        now += 1 + 1.0 / n;
        event = psim_monitor_backward(&monitor, now);
    }
    assert_int_equal(event, PSIM_MONITOR_WINDOW_ENDS);
    assert_false(monitor.steady);
    psim_monitor_release(&monitor);
}

static void a_ring_finds_what_is_in_flight_and_grows(void **state)
{
    struct psim_tagring ring;

    (void)state;
    assert_true(psim_tagring_init(&ring));
    for (int64_t n = 0; n < 1000; n++)
        assert_non_null(psim_tagring_insert(&ring, 1000000 + n));
    assert_int_equal(ring.count, 1000);
    assert_null(psim_tagring_find(&ring, 999999));
    for (int64_t n = 0; n < 1000; n++) {
        struct psim_entry *entry = psim_tagring_find(&ring, 1000000 + n);

        assert_non_null(entry);
        assert_int_equal(entry->microbatch, 1000000 + n);
        psim_tagring_remove(&ring, entry);
        assert_null(psim_tagring_find(&ring, 1000000 + n));
    }
    assert_int_equal(ring.count, 0);
    psim_tagring_release(&ring);
}

/* A window of micro-batches that moves on for ever does not make the ring grow. */
static void a_moving_window_keeps_the_ring_small(void **state)
{
    struct psim_tagring ring;

    (void)state;
    assert_true(psim_tagring_init(&ring));
    for (int64_t n = 0; n < 100000; n++) {
        assert_non_null(psim_tagring_insert(&ring, n));
        if (n >= 5)
            psim_tagring_remove(&ring, psim_tagring_find(&ring, n - 5));
    }
    assert_true(ring.mask < 16);
    psim_tagring_release(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_period_is_found_and_measured_whole),
        cmocka_unit_test(a_window_is_whole_optimizer_steps),
        cmocka_unit_test(a_drifting_stage_refutes_the_period),
        cmocka_unit_test(a_period_that_holds_everywhere_is_proved),
        cmocka_unit_test(what_never_repeats_is_said_to_be_unsteady),
        cmocka_unit_test(a_ring_finds_what_is_in_flight_and_grows),
        cmocka_unit_test(a_moving_window_keeps_the_ring_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
