/* The bug: it writes behind the end of the buffer. Here it writes 64 MiB, so that it crashes for
 * certain; a single page would damage the heap, which only a sanitizer shows at once.
 * Verdict: crash. */
#include "page_with.h"

static ftlab_status read_too_far(void *self, uint32_t first, uint32_t pages, void *data)
{
    struct page_ftl *ftl = self;
    memset((uint8_t *)data + (size_t)pages * ftl->chip->page_bytes, 0xAA, (size_t)64 << 20);
    return page_read(self, first, pages, data);
}

GUEST_WITH("reads_too_far", guest.read = read_too_far)
