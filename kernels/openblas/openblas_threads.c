/*
 * Threads of one context.
 *
 * The caller works too; the others wait for a job and take its tasks one by one from a counter, so
 * that a thread that the machine holds up delays its own task only.  A step has hundreds of jobs of
 * well under a millisecond, so a thread looks for the next one for a short while before it sleeps.
 */
#include "kernels/openblas/openblas.h"

#include "sim/base/memory.h"

#include <pthread.h>
#include <stdatomic.h>

/* Looks at the job's number before sleeping: some 20 microseconds. */
#define LOOKS 2000

struct ob_pool {
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    atomic_ulong number; /* of the job; written under the lock */
    atomic_int busy;     /* helpers at work on it; rises under the lock only */
    bool open, stop;     /* a helper may join; there will be no more jobs */
    ob_task *task;
    const void *job;
    int64_t tasks;
    atomic_llong next;
    int helpers;
    struct helper {
        struct ob_pool *pool;
        pthread_t thread;
        int index;
    } helper[];
};

static void look_again(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void take_tasks(struct ob_pool *pool, int thread)
{
    int64_t task;

    while ((task = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed)) < pool->tasks)
        pool->task(pool->job, task, thread);
}

/* False when there will be no more jobs.  A helper that comes too late for a job lets it be: the
 * caller waits for those at work, not for those that the machine has not let run yet. */
static bool join_job(struct ob_pool *pool, unsigned long *seen)
{
    bool stop;

    for (int i = 0; i < LOOKS && atomic_load(&pool->number) == *seen; i++)
        look_again();
    pthread_mutex_lock(&pool->lock);
    while (!pool->stop && !(pool->open && atomic_load(&pool->number) != *seen))
        pthread_cond_wait(&pool->wake, &pool->lock);
    *seen = atomic_load(&pool->number);
    stop = pool->stop;
    if (!stop)
        atomic_fetch_add(&pool->busy, 1);
    pthread_mutex_unlock(&pool->lock);
    return !stop;
}

static void *help(void *argument)
{
    const struct helper *self = argument;
    struct ob_pool *pool = self->pool;
    unsigned long seen = 0;

    while (join_job(pool, &seen)) {
        take_tasks(pool, self->index);
        pthread_mutex_lock(&pool->lock);
        if (atomic_fetch_sub(&pool->busy, 1) == 1)
            pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->lock);
    }
    return NULL;
}

enum psim_status ob_pool_open(int threads, struct ob_pool **pool, struct psim_error *err)
{
    struct ob_pool *made =
        psim_alloc(1, sizeof(*made) + (size_t)(threads - 1) * sizeof(struct helper));

    if (made == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "threads", "out of memory");
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->wake, NULL);
    pthread_cond_init(&made->done, NULL);
    for (int i = 0; i < threads - 1; i++) {
        made->helper[i] = (struct helper){.pool = made, .index = i + 1};
        if (pthread_create(&made->helper[i].thread, NULL, help, &made->helper[i]) != 0) {
            ob_pool_close(made);
            return psim_fail(err, PSIM_ERR_NOMEM, "threads",
                             "the system gives no more than %d of %d threads", i + 1, threads);
        }
        made->helpers++;
    }
    *pool = made;
    return PSIM_OK;
}

void ob_pool_close(struct ob_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->helpers; i++)
        pthread_join(pool->helper[i].thread, NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    psim_free(pool);
}

static void close_job(struct ob_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->open = false;
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < LOOKS && atomic_load(&pool->busy) > 0; i++)
        look_again();
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->busy) > 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

void ob_run(struct pk_context *context, ob_task *task, const void *job, int64_t tasks)
{
    struct ob_pool *pool = ((struct ob_context *)context)->pool;

    if (pool->helpers == 0 || tasks <= 1) {
        for (int64_t i = 0; i < tasks; i++)
            task(job, i, 0);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->task = task;
    pool->job = job;
    pool->tasks = tasks;
    atomic_store(&pool->next, 0);
    pool->open = true;
    atomic_fetch_add(&pool->number, 1);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    take_tasks(pool, 0);
    close_job(pool);
}

struct rows_job {
    ob_row *row;
    const void *job;
    int64_t rows, each;
};

static void rows_task(const void *argument, int64_t task, int thread)
{
    const struct rows_job *job = argument;
    const int64_t first = task * job->each, end = ob_min(first + job->each, job->rows);

    (void)thread;
    for (int64_t row = first; row < end; row++)
        job->row(job->job, row);
}

void ob_run_rows(struct pk_context *context, ob_row *row, const void *job, int64_t rows,
                 int64_t each)
{
    const struct rows_job rows_job = {.row = row, .job = job, .rows = rows, .each = each};

    ob_run(context, rows_task, &rows_job, ob_ceil(rows, each));
}

int ob_threads(const struct pk_context *context)
{
    return ((const struct ob_context *)context)->threads;
}
