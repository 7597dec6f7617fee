#define _XOPEN_SOURCE 700 /* realpath */

#include "sim/base/memory.h"
#include "sim/report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_TRIES 100

static enum psim_status fail_io(struct psim_error *err, const char *where, int code)
{
    return psim_fail(err, PSIM_ERR_IO, where, "cannot be written: %s", strerror(code));
}

static enum psim_status write_stdout(const char *text, size_t length, struct psim_error *err)
{
    errno = 0;
    if (fwrite(text, 1, length, stdout) != length || fflush(stdout) != 0)
        return fail_io(err, "standard output", errno == 0 ? EIO : errno);
    return PSIM_OK;
}

/* Returns 0 or the error number. */
static int write_all(int file, const char *text, size_t length)
{
    while (length > 0) {
        const ssize_t written = write(file, text, length);

        if (written < 0 && errno != EINTR)
            return errno;
        if (written > 0) {
            text += written;
            length -= (size_t)written;
        }
    }
    return 0;
}

static enum psim_status write_device(const char *path, const char *text, size_t length,
                                     struct psim_error *err)
{
    const int file = open(path, O_WRONLY);
    int code;

    if (file < 0)
        return fail_io(err, path, errno);
    code = write_all(file, text, length);
    if (close(file) != 0 && code == 0)
        code = errno;
    return code == 0 ? PSIM_OK : fail_io(err, path, code);
}

/* A new file in the folder of `target`; its name is in `name`.  Returns -1 with errno set. */
static int open_beside(const char *target, char *name, size_t size)
{
    const char *slash = strrchr(target, '/');
    const int folder_length = slash == NULL ? 0 : (int)(slash - target) + 1;

    for (int i = 0; i < NAME_TRIES; i++) {
        int file;

        snprintf(name, size, "%.*s.petrasim-%ld-%d.tmp", folder_length, target, (long)getpid(), i);
        file = open(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

/* `old` is what stands at `target` now, or NULL. */
static enum psim_status replace_file(const char *path, const char *target, const struct stat *old,
                                     const char *text, size_t length, struct psim_error *err)
{
    const size_t size = strlen(target) + 64;
    char *name = psim_alloc(size, 1);
    int file = -1;
    int code = 0;

    if (name == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, path, "no memory for a file name");
    file = open_beside(target, name, size);
    if (file < 0) {
        code = errno;
        goto out;
    }
    if (old != NULL && fchmod(file, old->st_mode & 07777) != 0)
        code = errno;
    if (code == 0)
        code = write_all(file, text, length);
    if (code == 0 && fsync(file) != 0)
        code = errno;
    if (close(file) != 0 && code == 0)
        code = errno;
    if (code == 0 && rename(name, target) != 0)
        code = errno;
    if (code != 0)
        unlink(name);
out:
    psim_free(name);
    return code == 0 ? PSIM_OK : fail_io(err, path, code);
}

enum psim_status psim_output_write(const char *path, const char *text, size_t length,
                                   struct psim_error *err)
{
    char target[PATH_MAX];
    struct stat old;

    if (path == NULL)
        return write_stdout(text, length, err);
    if (stat(path, &old) != 0)
        return errno == ENOENT ? replace_file(path, path, NULL, text, length, err)
                               : fail_io(err, path, errno);
    if (S_ISDIR(old.st_mode))
        return fail_io(err, path, EISDIR);
    if (!S_ISREG(old.st_mode))
        return write_device(path, text, length, err);
    if (access(path, W_OK) != 0 || realpath(path, target) == NULL)
        return fail_io(err, path, errno);
    return replace_file(path, target, &old, text, length, err);
}
