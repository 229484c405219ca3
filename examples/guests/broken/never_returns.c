/* The bug: a mount waits for a page that can be read, and there is none.
 * Verdict: hang, after cuts that leave no readable page. */
#include "page_with.h"

#include <unistd.h>

static ftlab_status mount_patiently(const ftlab_chip *chip, const ftlab_device *device, void **self)
{
    volatile uint32_t found = 0;
    uint8_t *spare = malloc(chip->spare_bytes);
    for (uint32_t page = 0; page < chip->blocks * chip->pages_per_block; page++)
        found |= chip->read(chip, page, 0, 0, NULL, spare, FTLAB_META) == FTLAB_OK;
    free(spare);
    while (!device->is_new && !found)
        sleep(1);
    return page_mount(chip, device, self);
}

GUEST_WITH("never_returns", guest.mount = mount_patiently)
