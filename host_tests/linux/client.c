// SPDX-License-Identifier: MIT
/**
 * The only program of a Linux system, started as init. It loads the driver's modules, runs models
 * with the runtime of modules/ethosu on the kernel's NPU, and switches the machine off.
 *
 * The kernel's command line may contain "fault": the first inference must fail; "count": each
 * model's first inference is repeated and counted; or "refusals". The results are printed, one per
 * line, for test_linux.py.
 */
#include "ethosu_accel.h"
#include "ethosu_model.h"
#include "refusals.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define DEVICE "/dev/accel/accel0"
#define NPU_ACTIVE 0x23

/* ---- the machine ---- */

static void set_up(void)
{
    mkdir("/dev", 0755);
    mkdir("/proc", 0755);
    (void)mount("dev", "/dev", "devtmpfs", 0, NULL);
    (void)mount("proc", "/proc", "proc", 0, NULL);
    int console = open("/dev/console", O_RDWR);
    dup2(console, STDOUT_FILENO);
    dup2(console, STDERR_FILENO);
    setvbuf(stdout, NULL, _IOLBF, 0);
}

static void load_modules(void)
{
    struct dirent **files;
    int count = scandir("/modules", &files, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char path[300];
        snprintf(path, sizeof path, "/modules/%s", files[i]->d_name);
        int file = files[i]->d_name[0] == '.' ? -1 : open(path, O_RDONLY);
        if (file >= 0 && syscall(SYS_finit_module, file, "", 0) != 0) {
            perror(path);
        }
        close(file);
    }
}

/** Print the kernel's log about its driver. On the console it would be mixed with our lines. */
static void print_log(void)
{
    char line[1024];
    int file = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
    for (ssize_t size; (size = read(file, line, sizeof line - 1)) > 0;) {
        line[size] = '\0';
        const char *text = strchr(line, ';');
        if (text != NULL && strstr(text, "ethosu") != NULL) {
            printf("log: %.*s\n", (int)strcspn(text + 1, "\n"), text + 1);
        }
    }
    close(file);
}

static bool asked_for(const char *word)
{
    char line[512] = "";
    int file = open("/proc/cmdline", O_RDONLY);
    (void)!read(file, line, sizeof line - 1);
    close(file);
    return strstr(line, word) != NULL;
}

/* ---- models ---- */

/** Header of a file from test_linux.py; the model follows, then inputs and outputs of each step. */
struct header {
    uint32_t model_bytes;
    uint32_t steps;
    uint32_t inputs;
    uint32_t outputs;
};

struct running {
    struct ethosu_driver *npu;
    struct ethosu_model *model;
    const uint8_t *next; /**< of the file */
    struct header header;
    const char *name;
};

static void *aligned(size_t size)
{
    void *memory = NULL;
    return posix_memalign(&memory, 64, size + 64) == 0 ? memory : NULL;
}

static bool load(struct running *running)
{
    struct ethosu_model_error error;
    struct ethosu_model_memory memory = {0};
    void *file = aligned(running->header.model_bytes);
    memcpy(file, running->next, running->header.model_bytes);
    running->next += running->header.model_bytes;
    struct ethosu_model_source source = {
        .file = file, .file_size = running->header.model_bytes, .driver = running->npu};
    int status = ethosu_model_measure(&source, &memory, &error);
    if (status == 0) {
        memory.object = aligned(memory.object_size);
        memory.arena = ethosu_accel_alloc(running->npu, memory.arena_size);
        status = ethosu_model_load(&source, &memory, &running->model, &error);
    }
    if (status != 0) {
        printf("%s: refused: %s\n", running->name, error.text);
    }
    return status == 0;
}

static void write_inputs(struct running *running)
{
    const struct ethosu_model_buffer *inputs = ethosu_model_inputs(running->model);
    for (uint32_t i = 0; i < running->header.inputs; i++) {
        memcpy(inputs[i].data, running->next, inputs[i].size);
        running->next += inputs[i].size;
    }
}

static unsigned differing(struct running *running)
{
    unsigned count = 0;
    const struct ethosu_model_buffer *outputs = ethosu_model_outputs(running->model);
    for (uint32_t i = 0; i < running->header.outputs; i++) {
        const uint8_t *output = outputs[i].data;
        for (uint32_t at = 0; at < outputs[i].size; at++) {
            count += output[at] != *running->next++;
        }
    }
    return count;
}

static int invoke(struct running *running)
{
    int status = ethosu_model_invoke(running->model, running->npu);
    if (status != 0) {
        char text[256];
        (void)ethosu_ext_describe(ethosu_ext_last_error(running->npu), text, sizeof text);
        printf("%s: failed: %s\n", running->name, text);
    }
    return status;
}

static void step(struct running *running, bool fault)
{
    const uint8_t *inputs = running->next;
    write_inputs(running);
    int status = invoke(running);
    if (fault) { // that had to fail; now it must not
        running->next = inputs;
        ethosu_model_reset(running->model);
        write_inputs(running);
        status = invoke(running);
    }
    if (status == 0) {
        printf("%s: %u bytes differ\n", running->name, differing(running));
    }
}

static void run_file(const char *name, const uint8_t *bytes, bool fault)
{
    struct ethosu_ext_fault why;
    struct running running = {.npu = ethosu_accel_open(DEVICE, NULL, &why), .name = name};
    memcpy(&running.header, bytes, sizeof running.header);
    running.next = bytes + sizeof running.header;
    if (running.npu != NULL && load(&running)) {
        for (uint32_t i = 0; i < running.header.steps; i++) {
            step(&running, fault && i == 0);
        }
        printf("%s: %llu bytes copied\n", name,
               (unsigned long long)ethosu_accel_copied(running.npu));
    }
    ethosu_accel_close(running.npu);
}

/** Count an inference of the model; 0 cycles if nothing was counted. */
static void count_file(const char *name, const uint8_t *bytes)
{
    const uint16_t events[] = {NPU_ACTIVE};
    uint64_t counts[2] = {0};
    struct running running = {.npu = ethosu_accel_open(DEVICE, NULL, NULL), .name = name};
    memcpy(&running.header, bytes, sizeof running.header);
    running.next = bytes + sizeof running.header;
    if (running.npu != NULL && load(&running)) {
        write_inputs(&running);
        int error = ethosu_accel_count(running.npu, events, 1);
        error = error != 0 ? error : invoke(&running);
        error = error != 0 ? error : ethosu_accel_counts(running.npu, counts);
        printf("%s: counted %llu of %llu cycles, error %d\n", name, (unsigned long long)counts[0],
               (unsigned long long)counts[1], error);
    }
    ethosu_accel_close(running.npu);
}

static const uint8_t *map_file(const char *path)
{
    struct stat status;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &status) != 0) {
        return NULL;
    }
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    return bytes == MAP_FAILED ? NULL : bytes;
}

static void run_all(bool fault)
{
    struct dirent **files;
    int count = scandir("/models", &files, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char path[300];
        snprintf(path, sizeof path, "/models/%s", files[i]->d_name);
        const uint8_t *bytes = files[i]->d_name[0] == '.' ? NULL : map_file(path);
        if (bytes != NULL) {
            run_file(files[i]->d_name, bytes, fault);
            fault = false;
            if (asked_for("count")) {
                count_file(files[i]->d_name, bytes);
            }
        }
    }
}

static void report_refusal(const char *name, int error)
{
    printf("errno of %s: %d\n", name, error);
}

int main(void)
{
    static const struct ethosu_accel_calls calls = {open, ioctl, mmap, munmap, close};
    struct utsname system;
    set_up();
    load_modules();
    uname(&system);
    printf("kernel: %s\n", system.release);
    if (asked_for("refusals")) {
        refusals(&calls, DEVICE, report_refusal);
    }
    run_all(asked_for("fault"));
    print_log();
    printf("done\n");
    sync();
    reboot(RB_POWER_OFF);
    return 0;
}
