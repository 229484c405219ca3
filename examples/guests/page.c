/* page.c: page mapping, an FTL that survives power cuts. Its counts are those of ftlab's own
 * `page:victim=greedy`.
 *
 *     l2p   0 1 2 3 …       frontier  [3 0 7 3 _ _]   pages are appended
 *           | '--------->   full      [5 1 x x 9 x]   x: superseded
 *           '----------->   full      [x 0 x x x 2]   victim: fewest valid pages, lowest block
 *
 * The spare area of a page names its LPN, its version (the place of the host's write in the order of
 * programs) and its sequence (the place of the program). A copy keeps the version. Of several copies
 * the one with the highest version and sequence counts.
 *
 * One erased block is kept in reserve. When it is the last one, the valid pages of a victim are
 * copied to the frontier, which continues in the reserve, and the victim is erased.
 *
 * Failures. A block in which a program fails takes no more pages: it is full, and the page goes to
 * the next block. A block whose erase fails has no valid page, and is marked as bad. On media that
 * fail, `reserve=4` keeps enough blocks for failures while victims are copied, also in sessions that
 * two cuts end at once.
 *
 * Mount. Blocks that were open are not continued: their next page may be half programmed although it
 * reads as erased. Blocks without a valid page are erased again before they are used, because an
 * erase may have been interrupted.
 *
 * A cut while a victim is copied leaves no erased block. Then the newest block has nothing but
 * copies, whose originals are still there: they count again, and the newest block is erased.
 *
 * What it does not survive: a page that can be read after the cut and decays later. It would have to
 * keep the page's predecessor until a second copy is made, and so a second block in reserve. */
#include <stdlib.h>
#include <string.h>

#include "ftlab.h"

enum { SPARE_BYTES = 20 };
#define NONE UINT32_MAX

enum block_state { FREE, OPEN, FULL, BAD };

struct spare {
    uint32_t lpn;
    uint64_t version;
    uint64_t sequence;
};

struct page_ftl {
    const ftlab_chip *chip;
    uint32_t logical_pages;
    uint32_t *l2p;
    uint32_t *p2l;
    uint64_t *versions; /* of each logical page */
    uint16_t *valid;    /* valid pages of each block */
    uint8_t *state;
    uint8_t *doubtful;  /* a free block must be erased before it is used */
    uint32_t *queue;    /* free blocks in the order in which they were freed, a ring */
    uint32_t queue_first, free_blocks;
    uint32_t reserve;   /* erased blocks that are kept for garbage collection */
    uint32_t frontier;  /* the next page of the open block */
    uint32_t room;      /* its pages that are left */
    uint64_t sequence;  /* of the next program */
    uint8_t *spare;     /* a buffer */
    uint64_t victims;
};

/* ---- Spare areas ----------------------------------------------------------------------------- */

static void put(uint8_t *at, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(number >> (8 * i));
}

static uint64_t get(const uint8_t *at, int bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < bytes; i++)
        number |= (uint64_t)at[i] << (8 * i);
    return number;
}

static const uint8_t *encoded(struct page_ftl *ftl, uint32_t lpn, uint64_t version)
{
    put(ftl->spare, lpn, 4);
    put(ftl->spare + 4, version, 8);
    put(ftl->spare + 12, ftl->sequence, 8);
    return ftl->spare;
}

static struct spare decoded(const uint8_t *spare)
{
    return (struct spare){ (uint32_t)get(spare, 4), get(spare + 4, 8), get(spare + 12, 8) };
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static void give_block(struct page_ftl *ftl, uint32_t block, int doubtful)
{
    uint32_t at = (ftl->queue_first + ftl->free_blocks++) % ftl->chip->blocks;
    ftl->queue[at] = block;
    ftl->state[block] = FREE;
    ftl->doubtful[block] = (uint8_t)doubtful;
}

/* Erases a block. One whose erase fails is bad. */
static ftlab_status erase_block(struct page_ftl *ftl, uint32_t block, ftlab_cause cause)
{
    ftlab_status status = ftl->chip->erase(ftl->chip, block, cause);
    if (status != FTLAB_FAILED)
        return status;
    ftl->state[block] = BAD;
    return ftl->chip->mark_bad(ftl->chip, block);
}

static ftlab_status open_block(struct page_ftl *ftl)
{
    while (ftl->free_blocks > 0) {
        uint32_t block = ftl->queue[ftl->queue_first];
        if (ftl->doubtful[block]) {
            ftlab_status status = erase_block(ftl, block, FTLAB_META);
            if (status != FTLAB_OK)
                return status;
        }
        ftl->queue_first = (ftl->queue_first + 1) % ftl->chip->blocks;
        ftl->free_blocks--;
        if (ftl->state[block] == BAD)
            continue;
        ftl->state[block] = OPEN;
        ftl->frontier = block * ftl->chip->pages_per_block;
        ftl->room = ftl->chip->pages_per_block;
        return FTLAB_OK;
    }
    return FTLAB_READ_ONLY;
}

/* A program in the open block has failed: it takes no more pages. */
static void close_block(struct page_ftl *ftl)
{
    ftl->state[ftl->frontier / ftl->chip->pages_per_block] = FULL;
    ftl->room = 0;
}

/* The logical page is now where the frontier is. */
static void point(struct page_ftl *ftl, uint32_t lpn)
{
    uint32_t per_block = ftl->chip->pages_per_block;
    if (ftl->l2p[lpn] != NONE)
        ftl->valid[ftl->l2p[lpn] / per_block]--;
    ftl->l2p[lpn] = ftl->frontier;
    ftl->p2l[ftl->frontier] = lpn;
    ftl->valid[ftl->frontier / per_block]++;
    ftl->sequence++;
    if (--ftl->room == 0)
        ftl->state[ftl->frontier / per_block] = FULL;
    ftl->frontier++;
}

/* ---- Garbage collection ---------------------------------------------------------------------- */

/* The full block with the fewest valid pages; NONE if all pages of all of them are valid. */
static uint32_t choose_victim(const struct page_ftl *ftl)
{
    uint32_t victim = NONE, fewest = ftl->chip->pages_per_block;
    for (uint32_t block = 0; block < ftl->chip->blocks; block++) {
        if (ftl->state[block] == FULL && ftl->valid[block] < fewest) {
            victim = block;
            fewest = ftl->valid[block];
        }
    }
    return victim;
}

/* Copies a valid page to the frontier. */
static ftlab_status move_page(struct page_ftl *ftl, uint32_t page)
{
    uint32_t lpn = ftl->p2l[page];
    for (;;) {
        if (ftl->room == 0) {
            ftlab_status status = open_block(ftl);
            if (status != FTLAB_OK)
                return status;
        }
        const uint8_t *spare = encoded(ftl, lpn, ftl->versions[lpn]);
        ftlab_status status = ftl->chip->copy(ftl->chip, page, ftl->frontier, spare, FTLAB_GC);
        if (status == FTLAB_OK)
            point(ftl, lpn);
        if (status != FTLAB_FAILED)
            return status;
        close_block(ftl);
    }
}

static ftlab_status collect(struct page_ftl *ftl)
{
    uint32_t per_block = ftl->chip->pages_per_block, victim = choose_victim(ftl);
    if (victim == NONE)
        return FTLAB_READ_ONLY;
    ftl->victims++;
    for (uint32_t page = victim * per_block; page < (victim + 1) * per_block; page++) {
        uint32_t lpn = ftl->p2l[page];
        if (lpn == NONE || ftl->l2p[lpn] != page)
            continue;
        ftlab_status status = move_page(ftl, page);
        if (status != FTLAB_OK)
            return status;
    }
    ftlab_status status = erase_block(ftl, victim, FTLAB_GC);
    if (status != FTLAB_OK)
        return status;
    for (uint32_t page = victim * per_block; page < (victim + 1) * per_block; page++)
        ftl->p2l[page] = NONE;
    if (ftl->state[victim] != BAD)
        give_block(ftl, victim, 0);
    return FTLAB_OK;
}

static ftlab_status make_room(struct page_ftl *ftl)
{
    while (ftl->room == 0 || ftl->free_blocks < ftl->reserve) {
        ftlab_status status = ftl->free_blocks > ftl->reserve ? open_block(ftl) : collect(ftl);
        /* Where all pages of all full blocks are valid, the reserve is what is left. */
        if (status == FTLAB_READ_ONLY && ftl->room > 0 && ftl->free_blocks > 0)
            return FTLAB_OK;
        if (status == FTLAB_READ_ONLY && ftl->free_blocks > 1)
            status = open_block(ftl);
        if (status != FTLAB_OK)
            return status;
    }
    return FTLAB_OK;
}

/* ---- Requests -------------------------------------------------------------------------------- */

static ftlab_status page_read(void *self, uint32_t first, uint32_t pages, void *data)
{
    struct page_ftl *ftl = self;
    uint32_t bytes = ftl->chip->page_bytes;
    for (uint32_t i = 0; i < pages; i++) {
        uint8_t *out = (uint8_t *)data + (size_t)i * bytes;
        uint32_t page = ftl->l2p[first + i];
        if (page == NONE) {
            memset(out, 0, bytes);
            continue;
        }
        ftlab_status status =
            ftl->chip->read(ftl->chip, page, 0, bytes, out, NULL, FTLAB_HOST);
        if (status != FTLAB_OK && status != FTLAB_CORRECTED)
            return status;
    }
    return FTLAB_OK;
}

static ftlab_status page_write(void *self, uint32_t first, uint32_t pages, const void *data)
{
    struct page_ftl *ftl = self;
    uint32_t bytes = ftl->chip->page_bytes;
    for (uint32_t i = 0; i < pages; i++) {
        ftlab_status status;
        do {
            status = make_room(ftl);
            if (status != FTLAB_OK)
                return status;
            const uint8_t *spare = encoded(ftl, first + i, ftl->sequence);
            status = ftl->chip->program(ftl->chip, ftl->frontier,
                                        (const uint8_t *)data + (size_t)i * bytes, spare, FTLAB_HOST);
            if (status == FTLAB_FAILED)
                close_block(ftl);
        } while (status == FTLAB_FAILED);
        if (status != FTLAB_OK)
            return status;
        ftl->versions[first + i] = ftl->sequence;
        point(ftl, first + i);
    }
    return FTLAB_OK;
}

/* ---- Mount ----------------------------------------------------------------------------------- */

/* What a mount finds. */
struct scan {
    struct spare *spares; /* of each page; the LPN is NONE where there is none */
    uint32_t last;        /* the page with the highest sequence */
};

/* Whether page a is a newer copy than page b. */
static int is_newer(const struct scan *scan, uint32_t a, uint32_t b)
{
    const struct spare *x = &scan->spares[a], *y = &scan->spares[b];
    return x->version != y->version ? x->version > y->version : x->sequence > y->sequence;
}

static ftlab_status scan_pages(struct page_ftl *ftl, struct scan *scan)
{
    uint32_t pages = ftl->chip->blocks * ftl->chip->pages_per_block;
    scan->last = NONE;
    for (uint32_t page = 0; page < pages; page++) {
        scan->spares[page].lpn = NONE;
        if (ftl->state[page / ftl->chip->pages_per_block] == BAD)
            continue;
        ftlab_status status =
            ftl->chip->read(ftl->chip, page, 0, 0, NULL, ftl->spare, FTLAB_META);
        if (status == FTLAB_ERASED || status == FTLAB_UNREADABLE)
            continue;
        if (status != FTLAB_OK && status != FTLAB_CORRECTED)
            return status;
        struct spare spare = decoded(ftl->spare);
        if (spare.lpn >= ftl->logical_pages)
            continue;
        scan->spares[page] = spare;
        if (scan->last == NONE || spare.sequence > scan->spares[scan->last].sequence)
            scan->last = page;
    }
    return FTLAB_OK;
}

/* Maps the newest copies of all pages outside of one block, which may be NONE. */
static void map_newest(struct page_ftl *ftl, const struct scan *scan, uint32_t without)
{
    uint32_t per_block = ftl->chip->pages_per_block, pages = ftl->chip->blocks * per_block;
    memset(ftl->l2p, 0xFF, ftl->logical_pages * sizeof *ftl->l2p);
    memset(ftl->p2l, 0xFF, pages * sizeof *ftl->p2l);
    memset(ftl->valid, 0, ftl->chip->blocks * sizeof *ftl->valid);
    for (uint32_t page = 0; page < pages; page++) {
        uint32_t lpn = scan->spares[page].lpn;
        if (lpn == NONE || page / per_block == without)
            continue;
        if (ftl->l2p[lpn] == NONE || is_newer(scan, page, ftl->l2p[lpn]))
            ftl->l2p[lpn] = page;
    }
    for (uint32_t lpn = 0; lpn < ftl->logical_pages; lpn++) {
        uint32_t page = ftl->l2p[lpn];
        if (page == NONE)
            continue;
        ftl->p2l[page] = lpn;
        ftl->valid[page / per_block]++;
        ftl->versions[lpn] = scan->spares[page].version;
    }
}

/* Good blocks without a valid page are free, all others are full. */
static void sort_blocks(struct page_ftl *ftl, int doubtful)
{
    ftl->queue_first = ftl->free_blocks = 0;
    for (uint32_t block = 0; block < ftl->chip->blocks; block++) {
        if (ftl->valid[block] > 0)
            ftl->state[block] = FULL;
        else if (ftl->state[block] != BAD)
            give_block(ftl, block, doubtful);
    }
}

static ftlab_status recover(struct page_ftl *ftl, struct scan *scan)
{
    ftlab_status status = scan_pages(ftl, scan);
    if (status != FTLAB_OK)
        return status;
    map_newest(ftl, scan, NONE);
    sort_blocks(ftl, 1);
    if (scan->last == NONE)
        return FTLAB_OK;
    ftl->sequence = scan->spares[scan->last].sequence + 1;
    if (ftl->free_blocks == 0) {
        map_newest(ftl, scan, scan->last / ftl->chip->pages_per_block);
        sort_blocks(ftl, 1);
    }
    return FTLAB_OK;
}

static void page_unmount(void *self)
{
    struct page_ftl *ftl = self;
    if (ftl == NULL)
        return;
    free(ftl->l2p);
    free(ftl->p2l);
    free(ftl->versions);
    free(ftl->valid);
    free(ftl->state);
    free(ftl->doubtful);
    free(ftl->queue);
    free(ftl->spare);
    free(ftl);
}

static struct page_ftl *allocate(const ftlab_chip *chip, const ftlab_device *device)
{
    struct page_ftl *ftl = calloc(1, sizeof *ftl);
    if (ftl == NULL)
        return NULL;
    size_t blocks = chip->blocks, pages = blocks * chip->pages_per_block;
    ftl->chip = chip;
    ftl->logical_pages = device->logical_pages;
    ftl->sequence = 1;
    ftl->l2p = malloc(device->logical_pages * sizeof *ftl->l2p);
    ftl->p2l = malloc(pages * sizeof *ftl->p2l);
    ftl->versions = calloc(device->logical_pages, sizeof *ftl->versions);
    ftl->valid = calloc(blocks, sizeof *ftl->valid);
    ftl->state = calloc(blocks, 1);
    ftl->doubtful = calloc(blocks, 1);
    ftl->queue = calloc(blocks, sizeof *ftl->queue);
    ftl->spare = malloc(chip->spare_bytes);
    if (ftl->l2p && ftl->p2l && ftl->versions && ftl->valid && ftl->state && ftl->doubtful &&
        ftl->queue && ftl->spare) {
        memset(ftl->l2p, 0xFF, device->logical_pages * sizeof *ftl->l2p);
        memset(ftl->p2l, 0xFF, pages * sizeof *ftl->p2l);
        memset(ftl->spare, 0xFF, chip->spare_bytes);
        return ftl;
    }
    page_unmount(ftl);
    return NULL;
}

/* Reads the only parameter. */
static ftlab_status read_parameters(struct page_ftl *ftl, const ftlab_device *device)
{
    ftl->reserve = 1;
    for (uint32_t i = 0; i < device->parameters; i++) {
        ftl->reserve = (uint32_t)strtoul(device->values[i], NULL, 10);
        if (strcmp(device->keys[i], "reserve") != 0 || ftl->reserve < 1) {
            ftl->chip->say(ftl->chip, "page.c knows only `reserve`, a number of blocks from 1 on");
            return FTLAB_INVALID;
        }
    }
    return FTLAB_OK;
}

/* A device whose pages fill all blocks but the reserve could never collect garbage. */
static ftlab_status has_room(const struct page_ftl *ftl)
{
    uint64_t pages = (uint64_t)ftl->chip->blocks * ftl->chip->pages_per_block;
    uint64_t kept = (uint64_t)ftl->reserve * ftl->chip->pages_per_block;
    if (ftl->logical_pages + kept < pages)
        return FTLAB_OK;
    ftl->chip->say(ftl->chip, "page.c needs more extra blocks than its reserve");
    return FTLAB_INVALID;
}

static ftlab_status page_mount(const ftlab_chip *chip, const ftlab_device *device, void **self)
{
    struct page_ftl *ftl = allocate(chip, device);
    if (ftl == NULL)
        return FTLAB_NO_MEMORY;
    *self = ftl;
    ftlab_status status = read_parameters(ftl, device);
    if (status != FTLAB_OK)
        return status;
    for (uint32_t block = 0; block < chip->blocks; block++)
        ftl->state[block] = chip->is_bad(chip, block) ? BAD : FREE;
    if (has_room(ftl) != FTLAB_OK)
        return FTLAB_INVALID;
    if (device->is_new) {
        sort_blocks(ftl, 0);
        return FTLAB_OK;
    }
    struct scan scan;
    scan.spares = malloc((size_t)chip->blocks * chip->pages_per_block * sizeof *scan.spares);
    status = scan.spares == NULL ? FTLAB_NO_MEMORY : recover(ftl, &scan);
    free(scan.spares);
    return status;
}

/* ---- What it says about itself --------------------------------------------------------------- */

static uint64_t page_ram(void *self)
{
    const struct page_ftl *ftl = self;
    return 4ull * ftl->logical_pages + 4ull * ftl->chip->blocks;
}

static uint32_t page_figures(void *self, ftlab_figure *figures, uint32_t most)
{
    const struct page_ftl *ftl = self;
    if (most < 1)
        return 0;
    figures[0] = (ftlab_figure){ "gc_victims", (double)ftl->victims };
    return 1;
}

static const char *page_audit(void *self)
{
    const struct page_ftl *ftl = self;
    for (uint32_t lpn = 0; lpn < ftl->logical_pages; lpn++)
        if (ftl->l2p[lpn] != NONE && ftl->p2l[ftl->l2p[lpn]] != lpn)
            return "two logical pages share a physical one";
    return NULL;
}

static const ftlab_guest GUEST = {
    .version = FTLAB_VERSION,
    .size = sizeof(ftlab_guest),
    .name = "page.c",
    .release = "1",
    .durability = FTLAB_DURABLE_WRITE,
    .cuts = FTLAB_CUT_TORN | FTLAB_CUT_LOOKS_ERASED | FTLAB_CUT_HALF_ERASED | FTLAB_CUT_MISDIRECTED,
    .spare_bytes = SPARE_BYTES,
    .mount = page_mount,
    .read = page_read,
    .write = page_write,
    .unmount = page_unmount,
    .ram = page_ram,
    .figures = page_figures,
    .audit = page_audit,
    .handles_failures = 1,
};

FTLAB_EXPORT const ftlab_guest *ftlab_get_guest(void)
{
    return &GUEST;
}
