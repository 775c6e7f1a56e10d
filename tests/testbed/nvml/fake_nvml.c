/* A libnvidia-ml.so.1 that answers from a text file named by BERTH_FAKE_NVML and reads it again when it changes.
 *
 * Lines before the first card: driver TEXT, nvml TEXT, cuda NUMBER, init CODE (what nvmlInit returns),
 * error CODE (what every other call returns), delay MILLISECONDS (how long every call takes).
 * `card UUID` begins a card. Its lines: name TEXT, pci BUS_ID, link NUMBER REMOTE_BUS_ID, xid SEQUENCE CODE,
 * process PID MIB KIND (C or G), and KEY NUMBER for each key of the table below; a number that is not
 * given is "not supported", and `error 15` is a card that fell off the bus. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, UNINITIALIZED = 1, ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, SMALL = 7,
       NO_DRIVER = 9, TIMEOUT = 10, LOST = 15, MANY = 64, LINKS = 18, XID = 8 };
enum { ERROR, TOTAL, USED, NUMA, POWER, LIMIT, MOST, ENERGY, GPU, MEMORY, HEAT, PERSISTENCE, MODE,
       CORRECTED, UNCORRECTED, MAJOR, MINOR, BRAND, KEYS };
static const char *const KEY[KEYS] = {
    "error", "total_mib", "used_mib", "numa", "power_mw", "limit_mw", "max_limit_mw", "energy_mj", "gpu_percent",
    "memory_percent", "celsius", "persistence", "compute_mode", "ecc_corrected", "ecc_uncorrected",
    "capability_major", "capability_minor", "brand" };

typedef unsigned long long u64;
typedef struct { char uuid[96]; } Device;          /* a handle: it keeps its UUID through all changes of the file */
typedef struct { unsigned pid; u64 mib; char kind; } Process;
typedef struct { u64 sequence; unsigned code; } Xid;
typedef struct {
    char uuid[96], name[96], pci[32], link[LINKS][32];
    long long number[KEYS];
    Process process[MANY];
    Xid xid[MANY];
    int processes, xids;
} Card;
typedef struct { Device *device[MANY]; int devices; u64 seen; } EventSet;
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } Pci;
typedef struct { unsigned pid; u64 bytes; unsigned gi, ci; } ProcessInfo;
typedef struct { unsigned pid; u64 bytes; } ProcessInfoV1;
typedef struct { Device *device; u64 type, data; unsigned gi, ci; } EventData;

static struct { char driver[80], nvml[80]; int cuda, init, error, delay, cards; Card card[MANY]; } state;
static Device handles[MANY];
static struct stat read_last;
static int started;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void card_line(Card *card, const char *key, char *rest) {
    unsigned link, code;
    u64 sequence;
    char bus[32];
    if (!strcmp(key, "name")) snprintf(card->name, sizeof card->name, "%s", rest);
    else if (!strcmp(key, "pci")) snprintf(card->pci, sizeof card->pci, "%.31s", rest);
    else if (!strcmp(key, "link")) {
        if (sscanf(rest, "%u %31s", &link, bus) == 2 && link < LINKS) strcpy(card->link[link], bus);
    } else if (!strcmp(key, "process") && card->processes < MANY) {
        Process *process = &card->process[card->processes];
        card->processes += sscanf(rest, "%u %llu %c", &process->pid, &process->mib, &process->kind) == 3;
    } else if (!strcmp(key, "xid") && card->xids < MANY && sscanf(rest, "%llu %u", &sequence, &code) == 2)
        card->xid[card->xids++] = (Xid){sequence, code};
    else
        for (int number = 0; number < KEYS; number++)
            if (!strcmp(key, KEY[number])) card->number[number] = atoll(rest);
}

static void system_line(const char *key, char *rest) {
    if (!strcmp(key, "driver")) snprintf(state.driver, sizeof state.driver, "%s", rest);
    else if (!strcmp(key, "nvml")) snprintf(state.nvml, sizeof state.nvml, "%s", rest);
    else if (!strcmp(key, "cuda")) state.cuda = atoi(rest);
    else if (!strcmp(key, "init")) state.init = atoi(rest);
    else if (!strcmp(key, "error")) state.error = atoi(rest);
    else if (!strcmp(key, "delay")) state.delay = atoi(rest);
}

/* Reads the file when it is another one than last time; without a file there is no driver. */
static void refresh(void) {
    struct stat now;
    const char *path = getenv("BERTH_FAKE_NVML");
    FILE *file = path && !stat(path, &now) ? fopen(path, "r") : NULL;
    if (!file) {
        memset(&state, 0, sizeof state);
        memset(&read_last, 0, sizeof read_last);
        state.init = state.error = NO_DRIVER;
        return;
    }
    if (now.st_ino != read_last.st_ino || memcmp(&now.st_mtim, &read_last.st_mtim, sizeof now.st_mtim)) {
        char line[256], key[32];
        Card *card = NULL;
        int at;
        memset(&state, 0, sizeof state);
        while (fgets(line, sizeof line, file)) {
            line[strcspn(line, "\n")] = 0;
            if (sscanf(line, "%31s %n", key, &at) < 1) continue;
            if (!strcmp(key, "card") && state.cards < MANY) {
                card = &state.card[state.cards++];
                memset(card->number, -1, sizeof card->number);
                card->number[ERROR] = 0;
                snprintf(card->uuid, sizeof card->uuid, "%.95s", line + at);
            } else if (card) card_line(card, key, line + at);
            else system_line(key, line + at);
        }
        read_last = now;
    }
    fclose(file);
}

static void leave(void) { pthread_mutex_unlock(&lock); }

/* Begins each call: takes the lock, with the file's present content; `leave` ends it. */
static int enter(void) {
    pthread_mutex_lock(&lock);
    refresh();
    if (state.delay) {
        int delay = state.delay;
        leave();
        usleep(delay * 1000);
        pthread_mutex_lock(&lock);
    }
    return !started ? UNINITIALIZED : state.error;
}

static Card *card_of(const Device *device) {
    for (int index = 0; index < state.cards; index++)
        if (!strcmp(state.card[index].uuid, device->uuid)) return &state.card[index];
    return NULL;
}

static int enter_card(Device *device, Card **card) {
    int code = enter();
    if (code) return code;
    if (!device) return ARGUMENT;
    *card = card_of(device);
    return *card ? (int)(*card)->number[ERROR] : LOST;
}

static int handle(Card *card, Device **device) {
    for (int index = 0; index < MANY; index++) {
        if (!handles[index].uuid[0]) strcpy(handles[index].uuid, card->uuid);
        if (!strcmp(handles[index].uuid, card->uuid)) {
            *device = &handles[index];
            return (int)card->number[ERROR];
        }
    }
    return ARGUMENT;
}

static int copy(char *target, unsigned size, const char *text) {
    return strlen(text) >= size ? SMALL : (strcpy(target, text), OK);
}

static void fill_pci(const char *bus_id, Pci *pci) {
    unsigned function;
    memset(pci, 0, sizeof *pci);
    if (sscanf(bus_id, "%x:%x:%x.%x", &pci->domain, &pci->bus, &pci->device, &function) < 3) return;
    snprintf(pci->legacy, sizeof pci->legacy, "%04X:%02X:%02X.0", pci->domain & 0xffff, pci->bus & 0xff, pci->device & 0xff);
    snprintf(pci->bus_id, sizeof pci->bus_id, "%08X:%02X:%02X.0", pci->domain, pci->bus & 0xff, pci->device & 0xff);
    pci->id = 0x1DB110DE;
}

#define SYSTEM(name, params, ...) int name params { int code = enter(); if (!code) { __VA_ARGS__; } leave(); return code; }
#define CARD(name, params, ...) int name params { \
    Card *card = NULL; int code = enter_card(device, &card); if (!code) { __VA_ARGS__; } leave(); return code; }
#define GIVEN(key) if (card->number[key] < 0) code = NOT_SUPPORTED; else
#define NUMBER(name, type, key) CARD(name, (Device *device, type *out), GIVEN(key) *out = (type)card->number[key])
#define INDEX (int)(card - state.card)

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    enter();
    int code = state.init;
    started += !code;
    leave();
    return code;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
SYSTEM(nvmlShutdown, (void), started--)
SYSTEM(nvmlSystemGetDriverVersion, (char *text, unsigned size), code = copy(text, size, state.driver))
SYSTEM(nvmlSystemGetNVMLVersion, (char *text, unsigned size), code = copy(text, size, state.nvml))
SYSTEM(nvmlSystemGetCudaDriverVersion, (int *version), *version = state.cuda)
SYSTEM(nvmlSystemGetCudaDriverVersion_v2, (int *version), *version = state.cuda)
SYSTEM(nvmlDeviceGetCount_v2, (unsigned *count), *count = state.cards)
SYSTEM(nvmlDeviceGetHandleByIndex_v2, (unsigned index, Device **device),
       code = index < (unsigned)state.cards ? handle(&state.card[index], device) : ARGUMENT)

SYSTEM(nvmlDeviceGetHandleByUUID, (const char *uuid, Device **device),
       code = NOT_FOUND;
       for (int index = 0; index < state.cards; index++)
           if (!strcmp(state.card[index].uuid, uuid)) code = handle(&state.card[index], device))

SYSTEM(nvmlDeviceGetHandleByPciBusId_v2, (const char *bus_id, Device **device),
       Pci wanted, found; code = NOT_FOUND; fill_pci(bus_id, &wanted);
       for (int index = 0; index < state.cards; index++) {
           fill_pci(state.card[index].pci, &found);
           if (!strcmp(found.bus_id, wanted.bus_id)) code = handle(&state.card[index], device);
       })

CARD(nvmlDeviceGetName, (Device *device, char *text, unsigned size), code = copy(text, size, card->name))
CARD(nvmlDeviceGetUUID, (Device *device, char *text, unsigned size), code = copy(text, size, card->uuid))
CARD(nvmlDeviceGetIndex, (Device *device, unsigned *index), *index = INDEX)
CARD(nvmlDeviceGetMinorNumber, (Device *device, unsigned *minor), *minor = INDEX)
CARD(nvmlDeviceGetPciInfo_v2, (Device *device, Pci *pci), fill_pci(card->pci, pci))
CARD(nvmlDeviceGetPciInfo_v3, (Device *device, Pci *pci), fill_pci(card->pci, pci))
CARD(nvmlDeviceGetMemoryInfo, (Device *device, u64 *out),
     out[0] = (u64)card->number[TOTAL] << 20; out[2] = (u64)card->number[USED] << 20; out[1] = out[0] - out[2])
CARD(nvmlDeviceGetMemoryInfo_v2, (Device *device, u64 *out), /* out[0] holds the version, out[2] what the driver keeps */
     out[1] = (u64)card->number[TOTAL] << 20; out[2] = 0; out[4] = (u64)card->number[USED] << 20; out[3] = out[1] - out[4])
CARD(nvmlDeviceGetMemoryAffinity, (Device *device, unsigned size, unsigned long *set, unsigned scope),
     (void)scope; memset(set, 0, size * sizeof *set);
     GIVEN(NUMA) if (card->number[NUMA] / 64 < size) set[card->number[NUMA] / 64] |= 1UL << card->number[NUMA] % 64)
CARD(nvmlDeviceGetNumaNodeId, (Device *device, int *node), (void)node; code = NOT_SUPPORTED) /* as on any x86 server */

NUMBER(nvmlDeviceGetPowerUsage, unsigned, POWER)
NUMBER(nvmlDeviceGetPowerManagementLimit, unsigned, LIMIT)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned, LIMIT)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, unsigned, MOST)
NUMBER(nvmlDeviceGetTotalEnergyConsumption, u64, ENERGY)
NUMBER(nvmlDeviceGetPersistenceMode, unsigned, PERSISTENCE)
NUMBER(nvmlDeviceGetComputeMode, unsigned, MODE)
NUMBER(nvmlDeviceGetBrand, unsigned, BRAND)
CARD(nvmlDeviceGetPowerManagementLimitConstraints, (Device *device, unsigned *least, unsigned *most),
     GIVEN(MOST) { *most = (unsigned)card->number[MOST]; *least = *most / 3; })
CARD(nvmlDeviceGetUtilizationRates, (Device *device, unsigned *out),
     GIVEN(GPU) { out[0] = (unsigned)card->number[GPU]; out[1] = (unsigned)card->number[MEMORY]; })
CARD(nvmlDeviceGetTemperature, (Device *device, int sensor, unsigned *out),
     (void)sensor; GIVEN(HEAT) *out = (unsigned)card->number[HEAT])
CARD(nvmlDeviceGetTemperatureV, (Device *device, int *out), GIVEN(HEAT) out[2] = (int)card->number[HEAT])
CARD(nvmlDeviceGetCudaComputeCapability, (Device *device, int *major, int *minor),
     GIVEN(MAJOR) { *major = (int)card->number[MAJOR]; *minor = (int)card->number[MINOR]; })
CARD(nvmlDeviceGetEccMode, (Device *device, unsigned *now, unsigned *next), GIVEN(CORRECTED) *now = *next = 1)
CARD(nvmlDeviceGetTotalEccErrors, (Device *device, unsigned kind, unsigned counter, u64 *count),
     (void)counter; GIVEN(CORRECTED) *count = (u64)card->number[kind ? UNCORRECTED : CORRECTED])
CARD(nvmlDeviceGetMigMode, (Device *device, unsigned *now, unsigned *next), (void)now; (void)next; code = NOT_SUPPORTED)
CARD(nvmlDeviceGetMaxMigDeviceCount, (Device *device, unsigned *count), *count = 0)
CARD(nvmlDeviceIsMigDeviceHandle, (Device *device, unsigned *is), *is = 0)

#define LINK(...) if (link >= LINKS) code = ARGUMENT; else if (!card->link[link][0]) code = NOT_SUPPORTED; else __VA_ARGS__
CARD(nvmlDeviceGetNvLinkState, (Device *device, unsigned link, unsigned *active), LINK(*active = 1))
CARD(nvmlDeviceGetNvLinkVersion, (Device *device, unsigned link, unsigned *version), LINK(*version = 2))
CARD(nvmlDeviceGetNvLinkRemotePciInfo_v2, (Device *device, unsigned link, Pci *pci), LINK(fill_pci(card->link[link], pci)))

#define PROCESSES(name, type, letter) CARD(name, (Device *device, unsigned *count, type *out), \
    unsigned room = *count; *count = 0; \
    for (int at = 0; at < card->processes; at++) { \
        const Process *process = &card->process[at]; \
        if (process->kind == letter && (*count)++ < room) { \
            memset(&out[*count - 1], -1, sizeof *out); \
            out[*count - 1].pid = process->pid; out[*count - 1].bytes = process->mib << 20; } } \
    if (*count > room) code = SMALL)
PROCESSES(nvmlDeviceGetComputeRunningProcesses, ProcessInfoV1, 'C')
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, ProcessInfo, 'C')
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, ProcessInfo, 'C')
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses, ProcessInfoV1, 'G')
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, ProcessInfo, 'G')
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, ProcessInfo, 'G')

SYSTEM(nvmlEventSetCreate, (EventSet **set),
       *set = calloc(1, sizeof **set);
       for (int index = 0; index < state.cards; index++)
           for (int at = 0; at < state.card[index].xids; at++)
               if (state.card[index].xid[at].sequence > (*set)->seen) (*set)->seen = state.card[index].xid[at].sequence)
SYSTEM(nvmlEventSetFree, (EventSet *set), free(set))
CARD(nvmlDeviceGetSupportedEventTypes, (Device *device, u64 *types), *types = XID)
CARD(nvmlDeviceRegisterEvents, (Device *device, u64 types, EventSet *set),
     if (types & ~(u64)XID) code = NOT_SUPPORTED;
     else if (set->devices < MANY) set->device[set->devices++] = device)

/* Finds the oldest Xid that this set has not told; a card that is lost is told when nothing else is left. */
static int next_event(EventSet *set, EventData *data) {
    int code = enter();
    u64 oldest = ~0ULL;
    for (int at = 0; !code && at < set->devices; at++) {
        Card *card = card_of(set->device[at]);
        for (int number = 0; card && number < card->xids; number++)
            if (card->xid[number].sequence > set->seen && card->xid[number].sequence < oldest) {
                oldest = card->xid[number].sequence;
                *data = (EventData){set->device[at], XID, card->xid[number].code, ~0U, ~0U};
            }
    }
    for (int at = 0; !code && oldest == ~0ULL && at < set->devices; at++) {
        Card *card = card_of(set->device[at]);
        code = card ? (int)card->number[ERROR] : LOST;
    }
    leave();
    if (oldest != ~0ULL) set->seen = oldest;
    return code ? code : oldest != ~0ULL ? OK : TIMEOUT;
}

int nvmlEventSetWait_v2(EventSet *set, EventData *data, unsigned milliseconds) {
    int code;
    for (unsigned waited = 0; (code = next_event(set, data)) == TIMEOUT && waited < milliseconds; waited += 10) usleep(10000);
    return code;
}

const char *nvmlErrorString(int code) {
    static const char *const said[] = {
        "Success", "Uninitialized", "Invalid Argument", "Not Supported", "Insufficient Permissions", "Already Initialized",
        "Not Found", "Insufficient Size", "Insufficient External Power", "Driver Not Loaded", "Timeout", "Interrupt Request Issue",
        "NVML Shared Library Not Found", "Function Not Found", "Corrupted infoROM", "GPU is lost", "GPU requires restart",
        "The operating system has blocked the request", "Driver/library version mismatch" };
    return code >= 0 && code < (int)(sizeof said / sizeof *said) ? said[code] : "Unknown Error";
}
