/* Finds in a compiler's log what makes a kernel slow: spilled registers, and warnings of
 * ptxas. */
#include <stdio.h>
#include <string.h>

#include "device/device.h"

/* "    0 bytes stack frame, 24 bytes spill stores, 16 bytes spill loads" */
static long spilled(const char *line)
{
    const char *comma = strchr(line, ',');
    long bytes = 0;
    if (!comma || sscanf(comma, ", %ld bytes spill stores", &bytes) != 1)
        return 0;
    return bytes;
}

static bool warns(const char *line, char why[256])
{
    const char *number = strstr(line, "(C75");
    long bytes = spilled(line);
    if (bytes)
        snprintf(why, 256, "a thread has %ld bytes more than its registers hold", bytes);
    else if (number)
        snprintf(why, 256, "the compiler warns: %.*s", (int) strcspn(number, "\n"),
                 number);
    return bytes || number;
}

bool mmt_log_warns(const char *log, char why[256])
{
    char line[1024];
    while (log && *log) {
        size_t length = strcspn(log, "\n");
        snprintf(line, sizeof(line), "%.*s", (int) (length < 1000 ? length : 1000), log);
        if (warns(line, why))
            return true;
        log += length + (log[length] == '\n');
    }
    return false;
}
