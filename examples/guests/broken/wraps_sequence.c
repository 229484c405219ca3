/* The bug: versions and sequences on flash have 6 bits. After 64 programs old copies look newer.
 * Verdict: data lost (a mount finds old data). */
#include "page_with.h"

static const ftlab_chip *real;

static const uint8_t *shortened(const uint8_t *spare)
{
    static uint8_t bytes[SPARE_BYTES];
    memcpy(bytes, spare, SPARE_BYTES);
    put(bytes + 4, get(bytes + 4, 8) % 64, 8);
    put(bytes + 12, get(bytes + 12, 8) % 64, 8);
    return bytes;
}

static ftlab_status program_short(const ftlab_chip *chip, uint32_t page, const void *data,
                                  const void *spare, ftlab_cause cause)
{
    (void)chip;
    return real->program(real, page, data, shortened(spare), cause);
}

static ftlab_status copy_short(const ftlab_chip *chip, uint32_t from, uint32_t to, const void *spare,
                               ftlab_cause cause)
{
    (void)chip;
    return real->copy(real, from, to, shortened(spare), cause);
}

static ftlab_status mount_short(const ftlab_chip *chip, const ftlab_device *device, void **self)
{
    ftlab_status status = page_mount(chip, device, self);
    static ftlab_chip changed;
    real = chip;
    changed = *chip;
    changed.program = program_short;
    changed.copy = copy_short;
    if (status == FTLAB_OK)
        ((struct page_ftl *)*self)->chip = &changed;
    return status;
}

GUEST_WITH("wraps_sequence", guest.mount = mount_short)
