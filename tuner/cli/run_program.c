/* Starting another program, and waiting for it as a shell does. */
#include "tuner/cli/run.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* ---- the file ---------------------------------------------------------------------- */

static bool is_program(const char *path)
{
    struct stat file;
    return !stat(path, &file) && S_ISREG(file.st_mode) && !access(path, X_OK);
}

void mmt_run_find_program(const char *name, struct mmt_text *path)
{
    const char *folders = secure_getenv("PATH");
    if (strchr(name, '/')) {
        mmt_text_add(path, name);
        return;
    }
    for (const char *at = folders ? folders : "/bin:/usr/bin"; at;) {
        const size_t length = strcspn(at, ":");
        struct mmt_text whole = { 0 };
        mmt_text_add_bytes(&whole, at, length);
        mmt_text_addf(&whole, "%s%s", length ? "/" : "", name);
        const bool found = is_program(mmt_text_string(&whole));
        if (found)
            mmt_text_add(path, mmt_text_string(&whole));
        mmt_text_finish(&whole);
        at = found || !at[length] ? NULL : at + length + 1;
    }
}

/* Whether an ELF file names no dynamic linker. */
static bool is_static(int fd)
{
    Elf64_Ehdr head;
    if (pread(fd, &head, sizeof head, 0) != sizeof head ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    for (int i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr part;
        const off_t at = (off_t) (head.e_phoff + (Elf64_Off) i * head.e_phentsize);
        if (pread(fd, &part, sizeof part, at) != sizeof part || part.p_type == PT_INTERP)
            return false;
    }
    return true;
}

const char *mmt_run_why_not(const char *path)
{
    struct stat file;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool linked = fd < 0 || !is_static(fd);
    if (fd >= 0)
        close(fd);
    if (!stat(path, &file) && file.st_mode & (S_ISUID | S_ISGID))
        return "it is setuid or setgid, and the dynamic linker preloads nothing there";
    if (getxattr(path, "security.capability", NULL, 0) > 0)
        return "it has file capabilities, and the dynamic linker preloads nothing there";
    return linked ? NULL : "it is linked statically";
}

/* ---- signals ----------------------------------------------------------------------- */

static const int passed_on[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                 SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT };
enum { NUM_PASSED = sizeof passed_on / sizeof *passed_on };

static volatile pid_t program;

/* What a terminal sends goes to the whole process group, so the program has it. What
 * stops the program stops this process. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    const int kept = errno;
    if (info->si_code != SI_KERNEL && program > 0)
        kill(program, number);
    if (number == SIGTSTP)
        raise(SIGSTOP);
    errno = kept;
}

/* What is ignored, as by nohup, stays so. */
static void answer_signals(void)
{
    struct sigaction action = { .sa_flags = SA_SIGINFO | SA_RESTART }, before;
    action.sa_sigaction = pass_on;
    for (int i = 0; i < NUM_PASSED; i++)
        if (!sigaction(passed_on[i], NULL, &before) && before.sa_handler != SIG_IGN)
            sigaction(passed_on[i], &action, NULL);
}

/* Once the program has ended, they end this one. */
static void stop_answering(void)
{
    struct sigaction now;
    program = 0;
    for (int i = 0; i < NUM_PASSED; i++)
        if (!sigaction(passed_on[i], NULL, &now) && now.sa_handler != SIG_IGN)
            signal(passed_on[i], SIG_DFL);
}

/* ---- the process ------------------------------------------------------------------- */

/* Becomes the program; tells errno to whom reads the pipe where it cannot. */
static _Noreturn void become(char *const argv[], int tell)
{
    execvp(argv[0], argv);
    const int code = errno;
    if (write(tell, &code, sizeof code) != sizeof code)
        _exit(MMT_EXIT_NO_PROGRAM);
    _exit(code == ENOENT ? MMT_EXIT_NO_PROGRAM : MMT_EXIT_NOT_EXECUTABLE);
}

/* The signals that `mask` held back until the program was known come now. */
static pid_t start(char *const argv[], const int pipes[2])
{
    sigset_t held, mask;
    sigemptyset(&held);
    for (int i = 0; i < NUM_PASSED; i++)
        sigaddset(&held, passed_on[i]);
    sigprocmask(SIG_BLOCK, &held, &mask);
    const pid_t pid = fork();
    if (!pid) {
        sigprocmask(SIG_SETMASK, &mask, NULL);
        become(argv, pipes[1]);
    }
    if (pid > 0) {
        program = pid;
        answer_signals();
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    return pid;
}

static int wait_for(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 1;
    stop_answering();
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The interpreter that a script's first line names; "" where the file is no script. */
static void read_interpreter(const char *name, char interpreter[256])
{
    struct mmt_text path = { 0 };
    char line[258] = "";
    mmt_run_find_program(name, &path);
    const int fd = open(mmt_text_string(&path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && read(fd, line, sizeof line - 1) < 3)
        line[0] = '\0';
    if (fd >= 0)
        close(fd);
    const char *at = line + 2 + strspn(line + 2, " \t");
    const int length = (int) strcspn(at, " \t\r\n");
    snprintf(interpreter, 256, "%.*s", strncmp(line, "#!", 2) ? 0 : length, at);
    mmt_text_finish(&path);
}

static int fail_start(const char *name, int code, mmt_error *err)
{
    char interpreter[256] = "";
    if (code == ENOENT)
        read_interpreter(name, interpreter);
    if (*interpreter) {
        mmt_fail_native(
            err, MMT_ERROR_NOT_FOUND, code,
            "'%s' cannot be started: its interpreter '%s' is missing; install "
            "it, or change the script's first line",
            name, interpreter);
        return MMT_EXIT_NOT_EXECUTABLE;
    }
    if (code == ENOENT) {
        mmt_fail_native(err, MMT_ERROR_NOT_FOUND, code,
                        "there is no program '%s'%s; name one behind --, such as "
                        "'mmtune run -- python serve.py'",
                        name, strchr(name, '/') ? "" : " in any folder of PATH");
        return MMT_EXIT_NO_PROGRAM;
    }
    mmt_fail_native(err, MMT_ERROR_IO, code, "'%s' cannot be started: %s", name,
                    strerror(code));
    return MMT_EXIT_NOT_EXECUTABLE;
}

int mmt_run_program(char *const argv[], mmt_error *err)
{
    int pipes[2], code = 0;
    if (pipe2(pipes, O_CLOEXEC))
        return fail_start(argv[0], errno, err);
    const pid_t pid = start(argv, pipes);
    if (pid < 0)
        code = errno;
    close(pipes[1]);
    const bool failed = pid < 0 || read(pipes[0], &code, sizeof code) == sizeof code;
    close(pipes[0]);
    const int status = pid < 0 ? 0 : wait_for(pid);
    return failed ? fail_start(argv[0], code, err) : status;
}
