/*
 * One simulation, one forked child: SimGrid's state is once per process and it ends the process
 * on what it refuses.  The child writes one record to a pipe and leaves through _exit; whatever
 * else ends it is that simulation's error alone.
 */
#include "sim/engine/child.h"

#include "sim/base/memory.h"
#include "sim/engine/engine.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What precedes the stages in the pipe. */
struct record {
    enum psim_status status;
    struct psim_error error;
    struct psim_simulation simulation;
};

struct child {
    pid_t pid; /* 0: none */
    int pipe;
    int job;
    char *bytes;
    size_t length, capacity;
    bool lost; /* no memory for what it wrote */
};

void psim_child_write(int file, const void *bytes, size_t length)
{
    const char *next = bytes;

    while (length > 0) {
        const ssize_t n = write(file, next, length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(1);
        next += n;
        length -= (size_t)n;
    }
}

static void run_in_child(const struct psim_engine *engine, const struct psim_program *program,
                         const struct psim_observer *observer, int pipe)
{
    struct record record = {.error = PSIM_ERROR_INIT};

    record.status = engine->run(program, observer, &record.simulation, &record.error);
    psim_child_write(pipe, &record, sizeof record);
    if (record.status == PSIM_OK)
        psim_child_write(pipe, record.simulation.stages,
                         (size_t)record.simulation.stage_count * sizeof *record.simulation.stages);
    fflush(NULL);
    _exit(0);
}

static enum psim_status start(const struct psim_engine *engine, const struct psim_program *program,
                              const struct psim_observer *observer, struct child *child,
                              struct psim_error *err)
{
    int ends[2];
    pid_t pid;

    if (pipe(ends) != 0)
        return psim_fail(err, PSIM_ERR_IO, "simulation", "no pipe for a child: %s",
                         strerror(errno));
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        run_in_child(engine, program, observer, ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return psim_fail(err, PSIM_ERR_NOMEM, "simulation", "no child process: %s",
                         strerror(errno));
    }
    child->pid = pid;
    child->pipe = ends[0];
    child->bytes = NULL;
    child->length = child->capacity = 0;
    child->lost = false;
    return PSIM_OK;
}

/* Reads what is there; true at the end of the pipe. */
static bool read_some(struct child *child)
{
    char bytes[65536];
    const ssize_t n = read(child->pipe, bytes, sizeof bytes);

    if (n < 0)
        return errno != EINTR;
    if (n == 0)
        return true;
    if (child->length + (size_t)n > child->capacity) {
        const size_t capacity = 2 * (child->length + (size_t)n);
        char *grown = psim_realloc(child->bytes, capacity, 1);

        if (grown == NULL) {
            child->lost = true;
            return false;
        }
        child->bytes = grown;
        child->capacity = capacity;
    }
    memcpy(child->bytes + child->length, bytes, (size_t)n);
    child->length += (size_t)n;
    return false;
}

enum psim_status psim_child_explain(int wait_status, struct psim_error *err)
{
    if (WIFSIGNALED(wait_status))
        return psim_fail(err, PSIM_ERR_CHILD, "simulation",
                         "its process was ended by signal %d (%s)", WTERMSIG(wait_status),
                         strsignal(WTERMSIG(wait_status)));
    return psim_fail(err, PSIM_ERR_CHILD, "simulation", "its process ended with status %d",
                     WEXITSTATUS(wait_status));
}

static enum psim_status unpack(const struct child *child, struct psim_simulation *out,
                               struct psim_error *err)
{
    struct record record;
    size_t stages_bytes;

    if (child->length < sizeof record)
        return psim_fail(err, PSIM_ERR_CHILD, "simulation", "its process wrote no result");
    memcpy(&record, child->bytes, sizeof record);
    if (record.status != PSIM_OK)
        return psim_fail(err, record.status, record.error.where, "%s", record.error.message);
    stages_bytes = (size_t)record.simulation.stage_count * sizeof *record.simulation.stages;
    if (child->length != sizeof record + stages_bytes)
        return psim_fail(err, PSIM_ERR_CHILD, "simulation", "its process wrote half a result");
    record.simulation.stages =
        psim_alloc((size_t)record.simulation.stage_count, sizeof *record.simulation.stages);
    if (record.simulation.stages == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "simulation", "out of memory for a result");
    memcpy(record.simulation.stages, child->bytes + sizeof record, stages_bytes);
    *out = record.simulation;
    return PSIM_OK;
}

/* Collects a child whose pipe has ended. */
static enum psim_status reap(struct child *child, struct psim_simulation *out,
                             struct psim_error *err)
{
    enum psim_status status;
    int wait_status = 0;

    while (waitpid(child->pid, &wait_status, 0) < 0 && errno == EINTR)
        continue;
    if (child->lost)
        status = psim_fail(err, PSIM_ERR_NOMEM, "simulation", "out of memory for a result");
    else if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0)
        status = psim_child_explain(wait_status, err);
    else
        status = unpack(child, out, err);
    close(child->pipe);
    psim_free(child->bytes);
    child->pid = 0;
    return status;
}

enum psim_status psim_engine_run(const struct psim_engine *engine,
                                 const struct psim_program *program,
                                 const struct psim_observer *observer, struct psim_simulation *out,
                                 struct psim_error *err)
{
    struct child child = {0};
    enum psim_status status;

    if (!engine->needs_child)
        return engine->run(program, observer, out, err);
    status = start(engine, program, observer, &child, err);
    if (status != PSIM_OK)
        return status;
    while (!read_some(&child))
        continue;
    return reap(&child, out, err);
}

/* Starts the next job in a free place; a job that cannot start carries its error. */
static bool start_next(const struct psim_engine *engine, struct psim_job *jobs, int *next,
                       int count, struct child *child)
{
    while (*next < count) {
        struct psim_job *job = &jobs[*next];

        child->job = (*next)++;
        job->error = (struct psim_error)PSIM_ERROR_INIT;
        job->status = start(engine, job->program, NULL, child, &job->error);
        if (job->status == PSIM_OK)
            return true;
    }
    return false;
}

enum psim_status psim_engine_run_all(const struct psim_engine *engine, struct psim_job *jobs,
                                     int count, int workers, struct psim_error *err)
{
    struct child *children = psim_alloc((size_t)workers, sizeof *children);
    struct pollfd *polls = psim_alloc((size_t)workers, sizeof *polls);
    enum psim_status status = PSIM_OK;
    int next = 0, alive = 0;

    if (children == NULL || polls == NULL) {
        status = psim_fail(err, PSIM_ERR_NOMEM, "workers", "out of memory for %d workers", workers);
        goto out;
    }
    for (int i = 0; i < workers; i++)
        alive += start_next(engine, jobs, &next, count, &children[i]) ? 1 : 0;
    while (alive > 0) {
        for (int i = 0; i < workers; i++)
            polls[i] = (struct pollfd){.fd = children[i].pid > 0 ? children[i].pipe : -1,
                                       .events = POLLIN};
        if (poll(polls, (nfds_t)workers, -1) < 0)
            continue;
        for (int i = 0; i < workers; i++) {
            struct psim_job *job = &jobs[children[i].job];

            if (polls[i].revents == 0 || !read_some(&children[i]))
                continue;
            job->status = reap(&children[i], &job->simulation, &job->error);
            alive += start_next(engine, jobs, &next, count, &children[i]) ? 0 : -1;
        }
    }
out:
    psim_free(children);
    psim_free(polls);
    return status;
}
