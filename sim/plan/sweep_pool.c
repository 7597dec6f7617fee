/*
 * Forked workers.  Each waits for points at one pipe and answers at another; it reads the end of
 * its pipe when this process is gone, however that ended, and leaves.  Workers are groups of their
 * own, so that an interrupt at the terminal reaches this process alone, which then sends them home.
 */
#include "sim/plan/sweep_crew.h"

#include "sim/base/memory.h"
#include "sim/engine/child.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct worker {
    pid_t pid; /* 0: none */
    int jobs, answers;
    int64_t point; /* under way; -1: idle */
    struct psim_text bytes;
};

struct pool {
    const struct psim_sweep_task *task;
    struct worker *workers;
    struct pollfd *polls;
    void (*old_pipe)(int);
};

/* ---- In the worker ---- */

static bool read_all(int file, void *out, size_t length)
{
    char *to = out;

    while (length > 0) {
        const ssize_t n = read(file, to, length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        to += n;
        length -= (size_t)n;
    }
    return true;
}

/* The first fault of a list as one line: what a point that cannot be run says. */
static void first_fault(struct psim_diagnostics *list, char out[512])
{
    const char *line = NULL;

    for (size_t i = 0; line == NULL && i < list->count; i++) {
        if (list->items[i].severity == PSIM_SEVERITY_ERROR)
            line = psim_diagnostic_line(list, i);
    }
    snprintf(out, 512, "%s", line == NULL ? "out of memory" : line);
}

static void run_point(const struct psim_sweep_task *task, int64_t point,
                      struct psim_sweep_record *record)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_scenario scenario = {.arena = PSIM_ARENA_INIT};
    char cause[512] = "";
    enum psim_point_status outcome = PSIM_POINT_OK;

    psim_sweep_record_begin(record, point);
    if (psim_sweep_point(task->sweep, point, task->catalogue, &scenario, &list) != PSIM_OK ||
        (task->run(task->context, &scenario, record, &list, &err) != PSIM_OK && list.errors > 0)) {
        outcome = list.status == PSIM_ERR_NOMEM ? PSIM_POINT_FAILED : PSIM_POINT_INVALID;
        first_fault(&list, cause);
    } else if (err.status != PSIM_OK) {
        outcome = PSIM_POINT_FAILED;
        snprintf(cause, sizeof cause, "%s", err.message);
    } else if (record->status != PSIM_POINT_OK) {
        outcome = PSIM_POINT_FAILED;
    }
    psim_sweep_record_end(record, outcome, cause, scenario.inputs_sha256);
    psim_scenario_release(&scenario);
    psim_diagnostics_release(&list);
}

static void serve(const struct psim_sweep_task *task, int jobs, int answers)
{
    int64_t point;

    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    while (read_all(jobs, &point, sizeof point)) {
        struct psim_sweep_record record;

        run_point(task, point, &record);
        if (record.bytes.failed)
            _exit(1);
        psim_child_write(answers, &record.bytes.length, sizeof record.bytes.length);
        psim_child_write(answers, record.bytes.data, record.bytes.length);
        psim_sweep_record_release(&record);
    }
    fflush(NULL);
    _exit(0);
}

/* ---- In the sweep ---- */

static void close_all(const struct pool *pool, int count)
{
    for (int i = 0; i < count; i++) {
        if (pool->workers[i].pid > 0) {
            close(pool->workers[i].jobs);
            close(pool->workers[i].answers);
        }
    }
}

static enum psim_status hire(struct psim_crew *crew, int index, struct psim_error *err)
{
    struct pool *pool = crew->own;
    struct worker *worker = &pool->workers[index];
    int jobs[2], answers[2];
    pid_t pid;

    if (pipe(jobs) != 0)
        return psim_fail(err, PSIM_ERR_NOMEM, "sweep", "no pipe for a worker: %s", strerror(errno));
    if (pipe(answers) != 0) {
        close(jobs[0]);
        close(jobs[1]);
        return psim_fail(err, PSIM_ERR_NOMEM, "sweep", "no pipe for a worker: %s", strerror(errno));
    }
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        close_all(pool, crew->workers);
        close(jobs[1]);
        close(answers[0]);
        serve(pool->task, jobs[0], answers[1]);
    }
    close(jobs[0]);
    close(answers[1]);
    if (pid < 0) {
        close(jobs[1]);
        close(answers[0]);
        return psim_fail(err, PSIM_ERR_NOMEM, "sweep", "no process for a worker: %s",
                         strerror(errno));
    }
    setpgid(pid, pid); /* whoever of both comes first */
    *worker = (struct worker){
        .pid = pid, .jobs = jobs[1], .answers = answers[0], .point = -1, .bytes = PSIM_TEXT_INIT};
    return PSIM_OK;
}

/* Collects a worker; how it ended. */
static int let_go(struct worker *worker)
{
    int wait_status = 0;

    close(worker->jobs);
    close(worker->answers);
    while (waitpid(worker->pid, &wait_status, 0) < 0 && errno == EINTR)
        continue;
    psim_text_release(&worker->bytes);
    worker->pid = 0;
    return wait_status;
}

static enum psim_status pool_start(struct psim_crew *crew, int index, int64_t point,
                                   struct psim_error *err)
{
    struct worker *worker = &((struct pool *)crew->own)->workers[index];
    enum psim_status status = worker->pid > 0 ? PSIM_OK : hire(crew, index, err);
    ssize_t written;

    if (status != PSIM_OK)
        return status;
    worker->point = point;
    /* Eight bytes fit in a pipe at once. Where nobody reads, `wait` finds the worker gone. */
    do {
        written = write(worker->jobs, &point, sizeof point);
    } while (written < 0 && errno == EINTR);
    return PSIM_OK;
}

/* A worker that is gone: its point has failed, with the cause. */
static enum psim_status take_loss(struct worker *worker, int index, psim_crew_take *take,
                                  void *context, struct psim_error *err)
{
    struct psim_error why = PSIM_ERROR_INIT;
    struct psim_sweep_record record;
    enum psim_status status = psim_child_explain(let_go(worker), &why);

    PSIM_ASSERT(status == PSIM_ERR_CHILD);
    psim_sweep_record_begin(&record, worker->point);
    psim_sweep_record_end(&record, PSIM_POINT_FAILED, why.message, "");
    status = record.bytes.failed
                 ? psim_fail(err, PSIM_ERR_NOMEM, "sweep", "out of memory")
                 : take(context, index, record.bytes.data, record.bytes.length, err);
    psim_sweep_record_release(&record);
    return status;
}

/* Reads what is there, and takes the answer when it is whole. */
static enum psim_status listen_to(struct worker *worker, int index, psim_crew_take *take,
                                  void *context, struct psim_error *err)
{
    char bytes[65536];
    const ssize_t n = read(worker->answers, bytes, sizeof bytes);
    enum psim_status status;
    size_t length;

    if (n < 0 && errno == EINTR)
        return PSIM_OK;
    if (n <= 0)
        return take_loss(worker, index, take, context, err);
    psim_text_append(&worker->bytes, bytes, (size_t)n);
    if (worker->bytes.failed)
        return psim_fail(err, PSIM_ERR_NOMEM, "sweep", "out of memory");
    if (worker->bytes.length < sizeof length)
        return PSIM_OK;
    memcpy(&length, worker->bytes.data, sizeof length);
    if (worker->bytes.length < sizeof length + length)
        return PSIM_OK;
    worker->point = -1;
    status = take(context, index, worker->bytes.data + sizeof length, length, err);
    worker->bytes.length = 0;
    return status;
}

static enum psim_status pool_wait(struct psim_crew *crew, int timeout_ms, psim_crew_take *take,
                                  void *context, struct psim_error *err)
{
    struct pool *pool = crew->own;
    enum psim_status status = PSIM_OK;

    for (int i = 0; i < crew->workers; i++) {
        const struct worker *worker = &pool->workers[i];

        pool->polls[i] = (struct pollfd){
            .fd = worker->pid > 0 && worker->point >= 0 ? worker->answers : -1, .events = POLLIN};
    }
    if (poll(pool->polls, (nfds_t)crew->workers, timeout_ms) <= 0)
        return PSIM_OK; /* nothing yet, or a signal */
    for (int i = 0; status == PSIM_OK && i < crew->workers; i++) {
        if (pool->polls[i].revents != 0)
            status = listen_to(&pool->workers[i], i, take, context, err);
    }
    return status;
}

static void pool_end(struct psim_crew *crew, bool at_once)
{
    struct pool *pool = crew->own;

    for (int i = 0; i < crew->workers; i++) {
        struct worker *worker = &pool->workers[i];

        if (worker->pid == 0)
            continue;
        if (at_once)
            kill(-worker->pid, SIGKILL); /* and what it runs */
        (void)let_go(worker);
    }
    signal(SIGPIPE, pool->old_pipe);
    psim_free(pool->workers);
    psim_free(pool->polls);
    psim_free(pool);
}

enum psim_status psim_pool_begin(const struct psim_sweep_task *task, int workers,
                                 struct psim_crew *out, struct psim_error *err)
{
    struct pool *pool = psim_alloc(1, sizeof *pool);

    if (pool != NULL) {
        pool->task = task;
        pool->workers = psim_alloc((size_t)workers, sizeof *pool->workers);
        pool->polls = psim_alloc((size_t)workers, sizeof *pool->polls);
    }
    if (pool == NULL || pool->workers == NULL || pool->polls == NULL) {
        if (pool != NULL) {
            psim_free(pool->workers);
            psim_free(pool->polls);
        }
        psim_free(pool);
        return psim_fail(err, PSIM_ERR_NOMEM, "workers", "out of memory for %d workers", workers);
    }
    /* A worker that is gone is found when its answers end, not by a signal. */
    pool->old_pipe = signal(SIGPIPE, SIG_IGN);
    *out = (struct psim_crew){
        .own = pool, .workers = workers, .start = pool_start, .wait = pool_wait, .end = pool_end};
    return PSIM_OK;
}
