# A log of a small database on 128 MiB, for the guides in docs/guides:
#
#     awk -f examples/database.awk > db.csv          60,000 requests in five minutes
#
# The log has the columns that `ftlab trace convert --to csv` writes; ftlab knows them by their heading.
#
#     0 to 8 MiB       the write-ahead log: 8 KiB after 8 KiB, again and again, with flushes      stream 1
#     8 to 112 MiB     tables: pages of 8 KiB, 80 % of the accesses to 20 % of the pages          stream 2
#     112 to 128 MiB   files of 1 MiB for sorting: written, read, and discarded                   stream 3

function below(end) {            # The same numbers in every awk.
    state = (state * 16807) % 2147483647
    return int(state / 2147483647 * end)
}

function request(kind, offset, bytes, stream) {
    printf "%.0f,0,%s,%d,%d,%s\n", time, kind, offset, bytes, stream
    time += 5000000              # 5 ms in nanoseconds
    requests++
}

function table_page(   page) {   # Hot pages lie everywhere: 7919 and the number of pages share no factor.
    page = below(10) < 8 ? below(HOT) : HOT + below(PAGES - HOT)
    return 8 * MIB + (page * 7919 % PAGES) * 8192
}

function sort_file(   slot, at) {
    slot = 112 * MIB + below(16) * MIB
    for (at = 0; at < MIB; at += 131072) request("W", slot + at, 131072, 3)
    for (at = 0; at < MIB; at += 131072) request("R", slot + at, 131072, "-")
    request("D", slot, MIB, "-")
}

BEGIN {
    MIB = 1048576; PAGES = 104 * 128; HOT = int(PAGES / 5); state = 1
    print "time_ns,device,rwbs,offset,bytes,stream"
    while (requests < 60000) {
        request("W", log_end % (8 * MIB), 8192, 1); log_end += 8192
        if (log_end % 65536 == 0) request("F", 0, 0, "-")
        request("W", table_page(), 8192, 2)
        if (below(2)) request("R", table_page(), 8192, "-")
        else request("W", table_page(), 8192, 2)
        if (below(400) == 0) sort_file()
    }
}
