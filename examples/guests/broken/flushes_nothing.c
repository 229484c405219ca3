/* The bug: the last page that was written waits in RAM for a neighbour, and a flush leaves it there.
 * Verdict: data lost. */
#include "page_with.h"

static uint8_t *waiting;
static uint32_t waiting_lpn = NONE;

static ftlab_status write_later(void *self, uint32_t first, uint32_t pages, const void *data)
{
    struct page_ftl *ftl = self;
    uint32_t bytes = ftl->chip->page_bytes;
    for (uint32_t i = 0; i < pages; i++) {
        if (waiting_lpn != NONE) {
            ftlab_status status = page_write(self, waiting_lpn, 1, waiting);
            if (status != FTLAB_OK)
                return status;
        }
        waiting = waiting ? waiting : malloc(bytes);
        memcpy(waiting, (const uint8_t *)data + (size_t)i * bytes, bytes);
        waiting_lpn = first + i;
    }
    return FTLAB_OK;
}

static ftlab_status read_newest(void *self, uint32_t first, uint32_t pages, void *data)
{
    struct page_ftl *ftl = self;
    ftlab_status status = page_read(self, first, pages, data);
    if (status == FTLAB_OK && waiting_lpn != NONE && waiting_lpn >= first && waiting_lpn - first < pages)
        memcpy((uint8_t *)data + (size_t)(waiting_lpn - first) * ftl->chip->page_bytes, waiting,
               ftl->chip->page_bytes);
    return status;
}

static ftlab_status flush_nothing(void *self)
{
    (void)self;
    return FTLAB_OK;
}

GUEST_WITH("flushes_nothing", guest.durability = FTLAB_DURABLE_FLUSH; guest.write = write_later;
           guest.read = read_newest; guest.flush = flush_nothing)
