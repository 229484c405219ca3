/* The bug: a trim changes only the map in RAM. After a power cut, the newest copy on flash comes
 * back, although the trim was answered and every answered request is said to be durable.
 * Verdict: data lost (a trimmed sector reads old data). */
#include "page_with.h"

static ftlab_status trim_in_ram(void *self, uint32_t first, uint32_t pages)
{
    struct page_ftl *ftl = self;
    for (uint32_t lpn = first; lpn < first + pages; lpn++) {
        if (ftl->l2p[lpn] == NONE)
            continue;
        ftl->valid[ftl->l2p[lpn] / ftl->chip->pages_per_block]--;
        ftl->l2p[lpn] = NONE;
    }
    return FTLAB_OK;
}

GUEST_WITH("forgets_trims", guest.trim = trim_in_ram)
