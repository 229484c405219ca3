/* ftlab has found: @FOUND@
 *
 * This program shows it. It has a chip, a host, and what must happen, and needs ftlab.h:
 *
 *     cc -I include -o repro repro.c && ./repro @LIBRARY@
 *     cc -g -fsanitize=address -I include -o repro repro.c mine.c && ./repro
 *     gdb --args ./repro @LIBRARY@ @LAST@
 *
 * The second form links the FTL, for a sanitizer; one in C++ needs -lstdc++ as well. The third one
 * runs the last session, from power-on to the failure, in the debugged process. After a power cut
 * the flash is as this build of the FTL left it, so ask the replay line whether a change of the FTL
 * has mended it:
 *
 *     @REPLAY@
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ftlab.h"

/* ---- The chip, and what the host knows -------------------------------------------------------- */

@SIZES@

/* States of a page, as the tables after power cuts have them. */
enum { ERASED = '.', GOOD = '+', TORN = 'x', LOOKS_ERASED = '?', WEAK = '~' };
/* How a session ends, unless the guest ends it. */
enum { ENDED = 90, POWER_LOST, FOUND };
#define NEVER UINT64_MAX

/* What outlives the power. All sessions share it. */
static struct world {
    char state[PAGES];
    char must_erase[BLOCKS]; /* its erase was interrupted */
    uint8_t data[PAGES][PAGE_BYTES];
    uint8_t spare[PAGES][SPARE_BYTES];
    /* Writes whose data a sector may have after a power cut, the newest last; 0 is zero. */
    struct { uint32_t count, may_be[WRITES + 1]; } sector[SECTORS];
    int is_flushing;
    uint32_t sessions;
} *world;

static const ftlab_guest *guest;
static void *ftl;
static char said[200];
/* The session that runs in this process; 0 if all run in processes of their own. */
static size_t debugged;
static int is_child;
static uint64_t cut_after = NEVER, decay_after = NEVER;
static const char *const *after_cut;
static uint64_t changes, operations, operations_of_call;
static int unmounts;

static void verdict(const char *name, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    printf("%s: ", name);
    vprintf(format, values);
    va_end(values);
    printf("\n");
    fflush(stdout);
    _exit(is_child ? FOUND : 1);
}

/* ---- The chip ---------------------------------------------------------------------------------- */

/* Pages that a power cut left weak cannot be read any more. */
static void decay(void)
{
    for (uint32_t page = 0; page < PAGES; page++)
        if (world->state[page] == WEAK)
            world->state[page] = TORN;
}

static void begin_operation(void)
{
    if (unmounts)
        verdict("contract broken", "called the chip in `unmount`");
    if (++operations_of_call > OPERATIONS_MAX)
        verdict("hang", "a call makes flash operations without end");
    if (operations++ == decay_after)
        decay();
}

/* The power fails during the program or erase that comes after `cut_after` others. */
static void change_flash(void)
{
    if (changes++ != cut_after)
        return;
    for (uint32_t block = 0; block < BLOCKS; block++) {
        memcpy(world->state + block * PER_BLOCK, after_cut[block], PER_BLOCK);
        world->must_erase[block] = after_cut[block][PER_BLOCK] == '!';
    }
    if (!is_child)
        exit(printf("session %zu ends with the power cut, as it must\n", debugged) < 0);
    _exit(POWER_LOST);
}

static void check_target(uint32_t page)
{
    if (page >= PAGES)
        verdict("illegal command", "programmed page %u; the chip has %u pages", page, PAGES);
    uint32_t block = page / PER_BLOCK;
    if (world->state[page] != ERASED)
        verdict("illegal command", "programmed page %u, which is not erased", page);
    if (world->must_erase[block])
        verdict("illegal command", "programmed page %u, and the erase of its block was interrupted", page);
    for (uint32_t other = block * PER_BLOCK; other < (block + 1) * PER_BLOCK; other++)
        if ((ORDER != FTLAB_ANY_ORDER && other > page && world->state[other] != ERASED) ||
            (ORDER == FTLAB_SEQUENTIAL && other < page && world->state[other] == ERASED))
            verdict("illegal command", "programmed page %u out of order", page);
}

static void store(uint32_t page, const void *data, const void *spare)
{
    memcpy(world->data[page], data, PAGE_BYTES);
    memcpy(world->spare[page], spare, SPARE_BYTES);
    change_flash();
    world->state[page] = GOOD;
}

static void check_cause(ftlab_cause cause)
{
    if ((unsigned)cause > FTLAB_META)
        verdict("illegal command", "named the cause %u of an operation, which does not exist", (unsigned)cause);
}

static ftlab_status chip_read(const ftlab_chip *chip, uint32_t page, uint32_t offset, uint32_t bytes,
                              void *data, void *spare, ftlab_cause cause)
{
    (void)chip;
    check_cause(cause);
    begin_operation();
    if (page >= PAGES || (uint64_t)offset + bytes > PAGE_BYTES || (bytes > 0 && data == NULL))
        verdict("illegal command", "read %u bytes from byte %u of page %u", bytes, offset, page);
    char state = world->state[page];
    int is_erased = state == ERASED || state == LOOKS_ERASED;
    if (state == TORN)
        return FTLAB_UNREADABLE;
    if (bytes > 0)
        is_erased ? memset(data, 0xFF, bytes) : memcpy(data, world->data[page] + offset, bytes);
    if (spare != NULL)
        is_erased ? memset(spare, 0xFF, SPARE_BYTES) : memcpy(spare, world->spare[page], SPARE_BYTES);
    return is_erased ? FTLAB_ERASED : FTLAB_OK;
}

static ftlab_status chip_program(const ftlab_chip *chip, uint32_t page, const void *data, const void *spare,
                                 ftlab_cause cause)
{
    static const uint8_t zeroes[PAGE_BYTES];
    uint8_t ones[SPARE_BYTES];
    (void)chip;
    check_cause(cause);
    begin_operation();
    check_target(page);
    memset(ones, 0xFF, SPARE_BYTES);
    store(page, data ? data : zeroes, spare ? spare : ones);
    return FTLAB_OK;
}

static ftlab_status chip_copy(const ftlab_chip *chip, uint32_t from, uint32_t to, const void *spare,
                              ftlab_cause cause)
{
    (void)chip;
    check_cause(cause);
    if (from >= PAGES)
        verdict("illegal command", "copied page %u; the chip has %u pages", from, PAGES);
    if (world->state[from] == ERASED)
        return FTLAB_ERASED;
    check_target(to);
    if (world->state[from] == LOOKS_ERASED)
        return FTLAB_ERASED;
    if (world->state[from] == TORN)
        return FTLAB_UNREADABLE;
    begin_operation();
    if (world->state[from] == TORN)
        return FTLAB_UNREADABLE;
    store(to, world->data[from], spare ? spare : world->spare[from]);
    return FTLAB_OK;
}

static ftlab_status chip_erase(const ftlab_chip *chip, uint32_t block, ftlab_cause cause)
{
    (void)chip;
    check_cause(cause);
    begin_operation();
    if (block >= BLOCKS)
        verdict("illegal command", "erased block %u; the chip has %u blocks", block, BLOCKS);
    change_flash();
    memset(world->state + block * PER_BLOCK, ERASED, PER_BLOCK);
    world->must_erase[block] = 0;
    return FTLAB_OK;
}

static ftlab_status chip_barrier(const ftlab_chip *chip)
{
    (void)chip;
    return FTLAB_OK;
}

static int chip_is_bad(const ftlab_chip *chip, uint32_t block)
{
    (void)chip;
    if (block >= BLOCKS)
        verdict("illegal command", "asked about block %u; the chip has %u blocks", block, BLOCKS);
    return 0;
}

static ftlab_status chip_mark_bad(const ftlab_chip *chip, uint32_t block)
{
    (void)chip;
    verdict("illegal command", "marked block %u as bad, and none of its operations has failed", block);
    return FTLAB_ILLEGAL;
}

static void chip_say(const ftlab_chip *chip, const char *sentence)
{
    (void)chip;
    snprintf(said, sizeof said, ": %s", sentence ? sentence : "");
}

static const ftlab_chip chip = {
    FTLAB_VERSION, sizeof(ftlab_chip), NULL, BLOCKS, PER_BLOCK, PAGE_BYTES, SPARE_BYTES, DIES,
    BITS_PER_CELL, PAIR_DISTANCE, ORDER, chip_read, chip_program, chip_copy, chip_erase, chip_barrier,
    chip_is_bad, chip_mark_bad, chip_say,
};

/* ---- The host ---------------------------------------------------------------------------------- */

/* Sectors of a page of the guest. */
static uint32_t unit(void)
{
    return (guest->host_page_bytes ? guest->host_page_bytes : PAGE_BYTES) / 512;
}

/* `loses`: whether it is a loss of data if the guest cannot read. */
static void judge(const char *call, uint32_t answer, int loses)
{
    static const char *const names[] = {
        "ok", "erased", "corrected", "unreadable", "failed", "power lost", "illegal", "read-only",
        "invalid", "corrupt", "no memory", "endless",
    };
    operations_of_call = 0;
    if (answer > FTLAB_ENDLESS)
        verdict("contract broken", "%s answered %u, which is no status", call, answer);
    if (answer != FTLAB_OK)
        verdict(answer == FTLAB_UNREADABLE && loses ? "data lost" : "service refused",
                "%s answered with `%s`%s", call, names[answer], said);
}

/* The data of a sector: its own number and that of the write, again and again. */
static void fill(uint8_t *out, uint32_t sector, uint32_t write)
{
    uint32_t words[2] = { write ? sector : 0, write };
    for (int at = 0; at < 512; at += 8)
        memcpy(out + at, words, 8);
}

static int has(const uint8_t *data, uint32_t sector, uint32_t write)
{
    uint8_t expected[512];
    fill(expected, sector, write);
    return memcmp(data, expected, 512) == 0;
}

/* The newest values of these sectors are durable. */
static void settle(uint32_t first, uint32_t sectors)
{
    for (uint32_t sector = first; sector < first + sectors; sector++) {
        world->sector[sector].may_be[0] = world->sector[sector].may_be[world->sector[sector].count - 1];
        world->sector[sector].count = 1;
    }
}

static void note_change(uint32_t first, uint32_t sectors, uint32_t write)
{
    for (uint32_t sector = first; sector < first + sectors; sector++)
        world->sector[sector].may_be[world->sector[sector].count++] = write;
}

/* Writes whole pages of the guest; those that are covered in part are read first. */
static void put(uint32_t first, uint32_t sectors, uint32_t write)
{
    uint32_t end = first + sectors, start_page = first / unit(), end_page = (end + unit() - 1) / unit();
    uint32_t pages = end_page - start_page, bytes = unit() * 512;
    uint8_t *data = calloc(pages, bytes), *last = data + (size_t)(pages - 1) * bytes;
    if (first % unit() || (pages == 1 && end % unit()))
        judge("read", guest->read(ftl, start_page, 1, data), 0);
    if (end % unit() && pages > 1)
        judge("read", guest->read(ftl, end_page - 1, 1, last), 0);
    for (uint32_t sector = first; sector < end; sector++)
        fill(data + (size_t)(sector - start_page * unit()) * 512, sector, write);
    judge("write", guest->write(ftl, start_page, pages, data), 0);
    for (uint32_t sector = first; sector < end; sector++)
        if (!has(data + (size_t)(sector - start_page * unit()) * 512, sector, write))
            verdict("contract broken", "changed the host's data in the buffer of a write");
    free(data);
}

static void write_answered(uint32_t first, uint32_t sectors)
{
    if (guest->durability == FTLAB_DURABLE_WRITE)
        settle(first, sectors);
}

static void write_sectors(uint32_t first, uint32_t sectors, uint32_t write)
{
    note_change(first, sectors, write);
    put(first, sectors, write);
    write_answered(first, sectors);
}

static void flush_device(void)
{
    world->is_flushing = 1;
    if (guest->flush)
        judge("flush", guest->flush(ftl), 0);
    settle(0, SECTORS);
    world->is_flushing = 0;
}

/* Writes sectors and flushes them, and perhaps others. */
static void force_sectors(uint32_t first, uint32_t sectors, uint32_t write)
{
    world->is_flushing = 1;
    note_change(first, sectors, write);
    put(first, sectors, write);
    if (guest->flush)
        judge("flush", guest->flush(ftl), 0);
    if (guest->durability == FTLAB_DURABLE_SNAPSHOT)
        settle(0, SECTORS);
    settle(first, sectors);
    world->is_flushing = 0;
}

/* Trims whole pages of the guest; the rest is written as zero. */
static void trim_sectors(uint32_t first, uint32_t sectors)
{
    uint32_t end = first + sectors, start_page = (first + unit() - 1) / unit(), end_page = end / unit();
    if (guest->trim == NULL)
        return;
    note_change(first, sectors, 0);
    if (start_page >= end_page) {
        put(first, sectors, 0);
    } else {
        if (first % unit())
            put(first, start_page * unit() - first, 0);
        if (end % unit())
            put(end_page * unit(), end % unit(), 0);
        judge("trim", guest->trim(ftl, start_page, end_page - start_page), 0);
    }
    write_answered(first, sectors);
}

static void read_sectors(uint32_t first, uint32_t sectors, uint8_t *out)
{
    uint32_t start_page = first / unit(), end_page = (first + sectors + unit() - 1) / unit();
    uint8_t *data = calloc(end_page - start_page, unit() * 512);
    judge("read", guest->read(ftl, start_page, end_page - start_page, data), 1);
    memcpy(out, data + (size_t)(first - start_page * unit()) * 512, (size_t)sectors * 512);
    free(data);
}

/* Whether all sectors have their oldest possible value, or their newest one. */
static int is_as_at_flush(const uint8_t *data, int newest)
{
    for (uint32_t sector = 0; sector < SECTORS; sector++) {
        uint32_t at = newest ? world->sector[sector].count - 1 : 0;
        if (!has(data + sector * 512, sector, world->sector[sector].may_be[at]))
            return 0;
    }
    return 1;
}

/* Compares sectors with what they may be. `recovers`: after a power cut; what is found then is the
 * device's state from now on. */
static void compare(uint32_t first, uint32_t sectors, int recovers)
{
    static uint8_t data[SECTORS * 512];
    read_sectors(first, sectors, data);
    if (recovers && guest->durability == FTLAB_DURABLE_SNAPSHOT && !is_as_at_flush(data, 0) &&
        !(world->is_flushing && is_as_at_flush(data, 1)))
        verdict("data lost", "the device is not as it was at a flush");
    for (uint32_t sector = first; sector < first + sectors; sector++) {
        const uint8_t *found = data + (sector - first) * 512;
        uint32_t count = world->sector[sector].count, at = recovers ? 0 : count - 1;
        while (at < count && !has(found, sector, world->sector[sector].may_be[at]))
            at++;
        if (at == count) {
            uint32_t words[2];
            memcpy(words, found, 8);
            verdict("data lost", "sector %u reads as write %u of sector %u; its newest write is %u", sector,
                    words[1], words[0], world->sector[sector].may_be[count - 1]);
        }
        if (recovers) {
            world->sector[sector].may_be[0] = world->sector[sector].may_be[at];
            world->sector[sector].count = 1;
        }
    }
}

static void audit(void)
{
    const char *wrong = guest->audit ? guest->audit(ftl) : NULL;
    if (wrong != NULL)
        verdict("contract broken", "its own audit: %s", wrong);
}

static void compare_all(void)
{
    compare(0, SECTORS, 0);
    audit();
}

static void mount(void)
{
    static const char *const keys[] = { @KEYS@ NULL };
    static const char *const values[] = { @VALUES@ NULL };
    ftlab_device device = {
        sizeof(ftlab_device), world->sessions == 1, (SECTORS + unit() - 1) / unit(), unit() * 512, SEED,
        sizeof keys / sizeof *keys - 1, keys, values,
    };
    judge("mount", guest->mount(&chip, &device, &ftl), 0);
    compare(0, SECTORS, 1);
    world->is_flushing = 0;
    audit();
}

static void power_off(void)
{
    unmounts = 1;
    if (guest->unmount)
        guest->unmount(ftl);
}

/* ---- What happens ------------------------------------------------------------------------------ */

@SESSIONS@

/* The guest that is linked with this program, else that in a shared object. */
#pragma weak ftlab_get_guest
static const ftlab_guest *loaded(const char *path)
{
    const ftlab_guest *(*get)(void) = ftlab_get_guest;
    if (get == NULL) {
        char here[4096];
        snprintf(here, sizeof here, "%s%s", strchr(path, '/') ? "" : "./", path);
        void *object = dlopen(here, RTLD_NOW);
        if (object != NULL)
            *(void **)&get = dlsym(object, "ftlab_get_guest");
    }
    if (get == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return get();
}

/* Each session is a process, so that the guest begins with fresh memory. The one that the second
 * argument numbers is this process, for a debugger. */
int main(int argc, char **argv)
{
    debugged = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    if (argc > 2 && (debugged == 0 || debugged > sizeof sessions / sizeof *sessions)) {
        printf("there is no session %s: they are 1 to %zu\n", argv[2], sizeof sessions / sizeof *sessions);
        return 2;
    }
    world = mmap(NULL, sizeof *world, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(world->state, ERASED, PAGES);
    for (uint32_t sector = 0; sector < SECTORS; sector++)
        world->sector[sector].count = 1;
    for (size_t at = 0; at < sizeof sessions / sizeof *sessions; at++) {
        int status = 0;
        world->sessions++;
        pid_t child = at + 1 == debugged ? 0 : fork();
        if (child == 0) {
            guest = loaded(argc > 1 ? argv[1] : LIBRARY);
            is_child = at + 1 != debugged;
            alarm(is_child ? PATIENCE : 0);
            sessions[at]();
            if (!is_child)
                exit(printf("nothing was found in session %zu\n", debugged) < 0);
            _exit(ENDED);
        }
        waitpid(child, &status, 0);
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
        if (code == ENDED || code == POWER_LOST)
            continue;
        if (WIFSIGNALED(status))
            printf("%s: signal %d in session %zu\n", WTERMSIG(status) == SIGALRM ? "hang" : "crash",
                   WTERMSIG(status), at + 1);
        else if (code != FOUND && code != 2)
            printf("crash: the guest ended the process with exit code %d in session %zu\n", code, at + 1);
        return 1;
    }
    printf("nothing was found\n");
    return 0;
}
