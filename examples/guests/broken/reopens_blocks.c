/* The bug: after a mount it goes on in the block that was open, at the first page that reads as
 * erased. An interrupted program may have left that page so.
 * Verdict: illegal command, after cuts that leave a page which only looks erased. */
#include "page_with.h"

static ftlab_status mount_and_reopen(const ftlab_chip *chip, const ftlab_device *device, void **self)
{
    ftlab_status status = page_mount(chip, device, self);
    if (status != FTLAB_OK || device->is_new)
        return status;
    struct page_ftl *ftl = *self;
    for (uint32_t block = 0; block < chip->blocks; block++) {
        uint32_t used = 0, first = block * chip->pages_per_block;
        while (used < chip->pages_per_block &&
               chip->read(chip, first + used, 0, 0, NULL, ftl->spare, FTLAB_META) != FTLAB_ERASED)
            used++;
        if (ftl->state[block] == FULL && used < chip->pages_per_block) {
            ftl->state[block] = OPEN;
            ftl->frontier = first + used;
            ftl->room = chip->pages_per_block - used;
            break;
        }
    }
    return FTLAB_OK;
}

GUEST_WITH("reopens_blocks", guest.mount = mount_and_reopen)
