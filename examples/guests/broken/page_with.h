/* Page mapping, of which a guest with a bug replaces a part: GUEST_WITH exports the table of page.c
 * with another name and with these changes. */
#define ftlab_get_guest page_get_guest
#include "../page.c"
#undef ftlab_get_guest

#define GUEST_WITH(bug_name, ...)                                                                  \
    FTLAB_EXPORT const ftlab_guest *ftlab_get_guest(void)                                          \
    {                                                                                              \
        static ftlab_guest guest;                                                                  \
        guest = GUEST;                                                                             \
        guest.name = bug_name;                                                                     \
        __VA_ARGS__;                                                                               \
        return &guest;                                                                             \
    }
