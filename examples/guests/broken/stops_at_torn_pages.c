/* The bug: it refuses every write while a block has a page that cannot be read, although nothing in
 * that page counts.
 * Verdict: service refused, after cuts that tear a page. Data that were written can still be read. */
#include "page_with.h"

static uint8_t *has_torn_page;

static ftlab_status mount_and_remember(const ftlab_chip *chip, const ftlab_device *device, void **self)
{
    ftlab_status status = page_mount(chip, device, self);
    struct page_ftl *ftl = *self;
    if (status != FTLAB_OK)
        return status;
    has_torn_page = calloc(chip->blocks, 1);
    for (uint32_t page = 0; page < chip->blocks * chip->pages_per_block; page++)
        if (chip->read(chip, page, 0, 0, NULL, ftl->spare, FTLAB_META) == FTLAB_UNREADABLE)
            has_torn_page[page / chip->pages_per_block] = 1;
    return FTLAB_OK;
}

static ftlab_status write_without_torn_blocks(void *self, uint32_t first, uint32_t pages,
                                              const void *data)
{
    struct page_ftl *ftl = self;
    for (uint32_t block = 0; block < ftl->chip->blocks; block++)
        if (has_torn_page[block] && ftl->state[block] == FULL)
            return FTLAB_READ_ONLY;
    return page_write(self, first, pages, data);
}

GUEST_WITH("stops_at_torn_pages", guest.mount = mount_and_remember;
           guest.write = write_without_torn_blocks)
