/* The bug: it clears one page more than the host has asked for, behind the end of the buffer. Under
 * AddressSanitizer the first read shows it; without, the heap is damaged, and the process crashes
 * sooner or later.
 * Verdict: crash. */
#include "page_with.h"

static ftlab_status read_too_far(void *self, uint32_t first, uint32_t pages, void *data)
{
    struct page_ftl *ftl = self;
    memset((uint8_t *)data + (size_t)pages * ftl->chip->page_bytes, 0xAA, (size_t)64 << 20);
    return page_read(self, first, pages, data);
}

GUEST_WITH("reads_too_far", guest.read = read_too_far)
