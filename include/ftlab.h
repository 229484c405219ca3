/* ftlab.h: a flash translation layer (FTL) from outside, and the chip it is lent.
 *
 *     host requests ──▶ ftlab ──▶ ftlab_guest  (your functions: mount, read, write, trim, flush)
 *                                     │
 *                       ftlab ◀── ftlab_chip   (our functions: read, program, copy, erase)
 *
 * Build a shared object that exports one function, ftlab_get_guest(), and name it wherever ftlab
 * takes an FTL:
 *
 *     cc -std=c11 -shared -fPIC -I include -o mine.so mine.c
 *     ftlab run trace.csv --ftl guest:lib=./mine.so
 *     ftlab check --ftl guest:lib=./mine.so
 *
 * There is nothing to link. docs/guests.md is the guide, examples/guests has complete FTLs.
 *
 * The chip
 *
 * A chip has `blocks` blocks of `pages_per_block` pages. Pages are numbered through: page p is in
 * block p / pages_per_block. A page has a data area of `page_bytes` and a spare area of
 * `spare_bytes`, which are programmed together. The rules of flash are:
 *
 *   - a page is programmed at most once between two erases of its block;
 *   - pages of a block are programmed in the order that `program_order` says;
 *   - a block is erased as a whole, and then reads as 0xFF everywhere.
 *
 * A call that breaks a rule changes nothing and returns FTLAB_ILLEGAL. `ftlab check` reports it as
 * an illegal command even if the FTL goes on.
 *
 * Power cuts
 *
 * When the power fails, the chip calls return FTLAB_POWER_LOST, and nothing more happens on flash.
 * The FTL returns as soon as it can; its answer is ignored. It is then loaded afresh: all globals
 * have their first values, and the heap is forgotten. Mount is called next. What an interrupted
 * operation leaves on flash is listed at ftlab_cut.
 *
 * Calls into the FTL
 *
 * ftlab makes one call at a time and waits for its return. The FTL calls the chip only while a call
 * into the FTL runs, from the same thread. Buffers belong to the caller and are valid until the
 * call returns. What a guest prints to standard output goes to standard error. Every function
 * pointer is required unless its comment says that it may be NULL. No exception of C++ may leave a
 * function.
 *
 * Version: the layout never changes within one FTLAB_VERSION, but structs may grow at their end.
 * `size` of a struct is what its maker compiled; ftlab and guests look at it before they use a
 * field that came later. A field that is zero is as if it were missing.
 */
#ifndef FTLAB_H
#define FTLAB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FTLAB_VERSION 1u

/* Results of all functions. From a call that failed because of the chip, a guest may return what the
 * chip returned; while the power is on, anything but OK refuses the request. */
typedef enum ftlab_status {
    FTLAB_OK = 0,
    /* Chip: the page is erased, or an interrupted program left it so that it reads as erased. The
     * buffers are filled with 0xFF. */
    FTLAB_ERASED = 1,
    /* Chip: the data are right, but error correction had to correct many bits: the page should be
     * moved. */
    FTLAB_CORRECTED = 2,
    /* Chip: error correction failed; the buffers are unchanged. Guest, from read: the data of this
     * request are lost; or from write, if it had to read them. The FTL goes on. */
    FTLAB_UNREADABLE = 3,
    /* Chip: the program or erase failed; the block should be retired. Of a block in which a program
     * failed, the pages programmed before can still be read, that page cannot, and no further
     * program or erase succeeds. Only a guest that handles_failures sees this. */
    FTLAB_FAILED = 4,
    /* Chip: the power is lost. */
    FTLAB_POWER_LOST = 5,
    /* Chip: the call breaks a rule of flash, or names a page, block or range that does not exist. */
    FTLAB_ILLEGAL = 6,
    /* Guest: no room can be made; the device takes no more writes, but can be read. */
    FTLAB_READ_ONLY = 7,
    /* Guest, from mount: a parameter is unknown or wrong, or the device has the wrong size. */
    FTLAB_INVALID = 8,
    /* Guest: what is on flash cannot be right. */
    FTLAB_CORRUPT = 9,
    /* Guest: malloc failed. */
    FTLAB_NO_MEMORY = 10,
    /* Chip: the call under way has made more flash operations than any call may: 64 for each page of
     * the chip plus 10,000. Return at once. */
    FTLAB_ENDLESS = 11
} ftlab_status;

/* The reason for a flash operation. Results count operations by their reason. Of an unnamed one it
 * is META during mount, HOST if the data are in the buffer of the host's request, and else GC. To
 * name a reason that is not here is an illegal command. */
typedef enum ftlab_cause {
    FTLAB_UNNAMED = 0,
    FTLAB_HOST = 1,      /* a page that the host reads or writes */
    FTLAB_GC = 2,        /* page-granular garbage collection: copies and erases */
    FTLAB_MERGE = 3,     /* merges of log blocks: copies, padding and erases */
    FTLAB_MAP = 4,       /* mapping pages and journals in flash */
    FTLAB_WEAR = 5,      /* wear levelling */
    FTLAB_META = 6       /* the price of surviving power cuts: checkpoints, mounts */
} ftlab_cause;

/* The order in which the pages of a block may be programmed. */
typedef enum ftlab_order {
    FTLAB_SEQUENTIAL = 0, /* every page, one after the other */
    FTLAB_ASCENDING = 1,  /* pages may be skipped */
    FTLAB_ANY_ORDER = 2
} ftlab_order;

/* The chip. ftlab fills this struct and lends it from mount until the FTL is dropped. */
typedef struct ftlab_chip ftlab_chip;
struct ftlab_chip {
    uint32_t version; /* FTLAB_VERSION of ftlab */
    uint32_t size;    /* sizeof(ftlab_chip) of ftlab */
    void *context;    /* for ftlab alone */

    uint32_t blocks;
    uint32_t pages_per_block;
    uint32_t page_bytes;    /* data area; a multiple of 512 */
    uint32_t spare_bytes;   /* bytes of the spare area: what the guest declares, else all but the 20
                             * that ftlab keeps for its own checks; may be 0 */
    uint32_t dies;          /* block b is on die b % dies */
    uint32_t bits_per_cell; /* above 1, an interrupted program can destroy earlier pages */
    uint32_t pair_distance; /* how far pages that share cells are apart; see docs/guests.md */
    uint32_t program_order; /* an ftlab_order */

    /* Reads `bytes` bytes from `offset` on of a page's data area, and the whole spare area. `data`
     * may be NULL if `bytes` is 0; `spare` may be NULL. A read of the spare area alone is counted
     * as such. Returns OK, ERASED, CORRECTED, UNREADABLE, POWER_LOST or ILLEGAL. */
    ftlab_status (*read)(const ftlab_chip *chip, uint32_t page, uint32_t offset, uint32_t bytes,
                         void *data, void *spare, ftlab_cause cause);

    /* Programs a page: `page_bytes` of data and `spare_bytes` of spare. With `data` NULL the data
     * area is zero; with `spare` NULL the spare area is 0xFF. When it returns OK, the page is
     * complete, or in flight on a chip with several dies (see barrier). Returns OK, FAILED,
     * POWER_LOST or ILLEGAL. */
    ftlab_status (*program)(const ftlab_chip *chip, uint32_t page, const void *data,
                            const void *spare, ftlab_cause cause);

    /* Copies a page inside the chip. `spare` replaces the spare area; with NULL it is copied too.
     * Returns as program does, or UNREADABLE or ERASED if the source is so; then nothing was
     * programmed. */
    ftlab_status (*copy)(const ftlab_chip *chip, uint32_t from, uint32_t to, const void *spare,
                         ftlab_cause cause);

    /* Erases a block. On a chip with several dies it begins when all are idle. Returns OK, FAILED,
     * POWER_LOST or ILLEGAL. */
    ftlab_status (*erase)(const ftlab_chip *chip, uint32_t block, ftlab_cause cause);

    /* Waits until all dies are idle. Programs on different dies end in any order if the power
     * fails; those before a barrier are complete. With one die it does nothing. In the clock of a
     * drive it takes no time of its own: the operations after it wait. */
    ftlab_status (*barrier)(const ftlab_chip *chip);

    /* Whether a block came bad from the factory or is marked as bad: 1 or 0. To program or erase it
     * is ILLEGAL. */
    int (*is_bad)(const ftlab_chip *chip, uint32_t block);

    /* Marks a block as bad for ever. Its first page cannot be read any more; move the data before.
     * A power cut finds the block marked or not. Nothing is counted. ILLEGAL if the guest does not
     * handle failures. Returns OK, POWER_LOST or ILLEGAL. */
    ftlab_status (*mark_bad)(const ftlab_chip *chip, uint32_t block);

    /* Says why the call under way will fail, in one sentence without a full stop, such as "key
     * `log` must be at least 2". ftlab shows it with the error. */
    void (*say)(const ftlab_chip *chip, const char *sentence);
};

/* The device that the FTL has to be. */
typedef struct ftlab_device {
    uint32_t size;          /* sizeof(ftlab_device) of ftlab */
    uint32_t is_new;        /* 1: the chip comes from the factory, erased everywhere. It is 0 after
                             * the first program or erase, also if the first mount was cut */
    uint32_t logical_pages; /* pages of the guest's host_page_bytes that the host sees. No request
                             * goes beyond them, also if the guest has a larger capacity */
    uint32_t host_page_bytes;
    uint64_t seed;          /* for everything that the FTL draws at random */
    /* What the user wrote after lib=…: `guest:lib=./mine.so,victim=fifo` gives victim and fifo. An
     * unknown key is an error that mount reports with say and FTLAB_INVALID. */
    uint32_t parameters;
    const char *const *keys;
    const char *const *values;
} ftlab_device;

/* What is durable after a power cut. */
typedef enum ftlab_durability {
    /* Writes and trims before the last answered flush; later ones may be there or not, each sector
     * for itself. */
    FTLAB_DURABLE_FLUSH = 0,
    /* Every answered write and trim. */
    FTLAB_DURABLE_WRITE = 1,
    /* The whole device is as it was at the last answered flush, or at the one under way; nothing in
     * between. */
    FTLAB_DURABLE_SNAPSHOT = 2
} ftlab_durability;

/* What a power cut may leave that the FTL means to survive. An operation is always either complete
 * or without effect; these come on top. docs/reliability.md describes them. */
typedef enum ftlab_cut {
    FTLAB_CUT_TORN = 1 << 0,         /* program: the page cannot be read */
    FTLAB_CUT_LOOKS_ERASED = 1 << 1, /* program: it reads as erased, and may not be programmed */
    FTLAB_CUT_UNSTABLE = 1 << 2,     /* program: it can be read until it decays */
    FTLAB_CUT_HALF_ERASED = 1 << 3,  /* erase: reads as erased, must be erased again */
    FTLAB_CUT_ERASE = 1 << 4,        /* erase: some or all pages can still be read, for a while */
    FTLAB_CUT_LASTING = 1 << 5,      /* unstable pages decay later, also during a mount */
    FTLAB_CUT_MISDIRECTED = 1 << 6,  /* program: as torn, or an erased page of another block is hit */
    FTLAB_CUT_PAIRED = 1 << 7,       /* program: pages that share cells with it are destroyed */
    FTLAB_CUT_REORDERED = 1 << 8,    /* dies: what is in flight ends in any order */
    FTLAB_CUT_BROWN_OUT = 1 << 9     /* dies: the same, and what was in flight is weak */
} ftlab_cut;

/* What most FTLs mean to survive. */
#define FTLAB_CUTS_BASIC                                                                           \
    (FTLAB_CUT_TORN | FTLAB_CUT_LOOKS_ERASED | FTLAB_CUT_UNSTABLE | FTLAB_CUT_HALF_ERASED)
#define FTLAB_CUTS_ALL 0x3FFu

/* A figure of the FTL's own, such as the number of its merges. */
typedef struct ftlab_figure {
    const char *name; /* lower_case; valid until the FTL is dropped */
    double value;
} ftlab_figure;

/* The FTL. A page of the host has `host_page_bytes`; they are numbered from 0 (LPN). */
typedef struct ftlab_guest {
    uint32_t version;         /* FTLAB_VERSION that the guest compiled */
    uint32_t size;            /* sizeof(ftlab_guest) that the guest compiled */
    const char *name;         /* such as "dhara" */
    const char *release;      /* its own version; may be NULL */
    uint32_t durability;      /* an ftlab_durability */
    uint32_t cuts;            /* FTLAB_CUT_… that it means to survive; 0: only atomic operations */
    uint32_t host_page_bytes; /* a multiple of 512; 0: the chip's page_bytes */
    uint32_t spare_bytes;     /* bytes of each spare area that it uses; 0: as many as there are */

    /* Recovers from any state of the flash; formats a chip that is new. `*ftl` is passed to all
     * other calls. Returns OK, INVALID, CORRUPT, NO_MEMORY, or what the chip returned. */
    ftlab_status (*mount)(const ftlab_chip *chip, const ftlab_device *device, void **ftl);

    /* Reads `pages` pages from `first` on. Pages that were never written, or were trimmed, read as
     * zero. */
    ftlab_status (*read)(void *ftl, uint32_t first, uint32_t pages, void *data);

    /* Writes `pages` pages from `first` on: one request of the host, or a part of one. When it
     * returns OK, read sees all of them. */
    ftlab_status (*write)(void *ftl, uint32_t first, uint32_t pages, const void *data);

    /* Forgets pages: they read as zero from now on. May be NULL: then trims change nothing. */
    ftlab_status (*trim)(void *ftl, uint32_t first, uint32_t pages);

    /* Makes all answered writes and trims durable. May be NULL if every write is durable. */
    ftlab_status (*flush)(void *ftl);

    /* The power goes off in an orderly way, or the FTL is not needed any more: frees its memory. It
     * may not call the chip, which does nothing and answers POWER_LOST: `check` finds that. A
     * flush need not have come before.
     * May be NULL. It comes only if every call so far returned OK: not before a power cut, and not
     * after a mount that failed. */
    void (*unmount)(void *ftl);

    /* Pages that the host can have, at least the device's logical_pages. May be NULL: then it is
     * as many. */
    uint32_t (*capacity)(void *ftl);

    /* Bytes of RAM that a controller would need now. May be NULL: then it is not known. */
    uint64_t (*ram)(void *ftl);

    /* Writes at most `most` figures and returns their number. May be NULL. */
    uint32_t (*figures)(void *ftl, ftlab_figure *figures, uint32_t most);

    /* Checks its own data structures: NULL if all is right, else a sentence. It makes no flash
     * operation. May be NULL. */
    const char *(*audit)(void *ftl);

    /* 1: on media that can fail, operations FAIL, blocks are bad, and the blocks in reserve are
     * among `blocks` of the chip, which does not say how many they are; when too few are left,
     * write returns READ_ONLY. 0: blocks that fail are replaced below the guest, which sees none
     * of it. */
    uint32_t handles_failures;
} ftlab_guest;

#if defined(_WIN32)
#define FTLAB_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define FTLAB_EXPORT __attribute__((visibility("default")))
#else
#define FTLAB_EXPORT
#endif

/* The one function that the shared object exports. */
FTLAB_EXPORT const ftlab_guest *ftlab_get_guest(void);

#ifdef __cplusplus
}
#endif
#endif
