/* The bug: once it has run, it believes its globals, and scans nothing. A RAM simulator that keeps
 * the process alive does not show it; a reset does.
 * Verdict: data lost. */
#include "page_with.h"

static struct page_ftl *kept;

static ftlab_status mount_once(const ftlab_chip *chip, const ftlab_device *device, void **self)
{
    ftlab_device as_new = *device;
    as_new.is_new = 1;
    if (kept == NULL) {
        ftlab_status status = page_mount(chip, &as_new, (void **)&kept);
        if (status != FTLAB_OK)
            return status;
        for (uint32_t block = 0; block < chip->blocks; block++)
            kept->doubtful[block] = 1;
    }
    *self = kept;
    return FTLAB_OK;
}

GUEST_WITH("trusts_globals", guest.mount = mount_once)
