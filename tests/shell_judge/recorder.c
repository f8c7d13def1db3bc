/* Loaded into every program inside the fence: records that it started, with its words, and each socket it makes.

A record is a kind with a number, then that many texts, each ended by NUL. One write() appends it as a whole. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOG "/judge/run/log"
#define MOST 65536

static void append(const char *record, size_t length)
{
    int log = syscall(SYS_openat, AT_FDCWD, LOG, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (log < 0)
        return;
    if (write(log, record, length) < 0)
        _exit(125);
    close(log);
}

__attribute__((constructor)) static void started(int count, char **words)
{
    static char record[MOST];
    const char *file = (const char *)getauxval(AT_EXECFN);
    size_t length = 1 + snprintf(record, sizeof record, "E%d", count);
    for (int each = 0; each < count; each++) {
        const char *word = each || !file ? words[each] : file;
        size_t size = strlen(word) + 1;
        if (length + size > sizeof record)
            break;
        memcpy(record + length, word, size);
        length += size;
    }
    append(record, length);
}

int socket(int domain, int type, int protocol)
{
    char record[32];
    append(record, 1 + snprintf(record, sizeof record, "S%d", domain));
    return syscall(SYS_socket, domain, type, protocol);
}
