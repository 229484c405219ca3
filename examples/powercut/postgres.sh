#!/bin/sh
# PostgreSQL: each row that was committed is there after a power cut. Needs the user `postgres` and its programs.
#
#   ftlab-powercut --serve '--ftl page --buffer 1MiB --capacity 256MiB' --setup 'examples/powercut/postgres.sh open' \
#       --check 'examples/powercut/postgres.sh check' -- examples/powercut/postgres.sh work
set -eu
for programs in /usr/lib/postgresql/*/bin; do PATH=$PATH:$programs; done
data=$FTLAB_PLACE/data
sockets=$(dirname "$FTLAB_OUTPUT")/sockets

as_postgres() { (cd / && runuser -u postgres -- "$@"); }
sql() { as_postgres psql -h "$sockets" -qAt -v ON_ERROR_STOP=1 "$@" postgres; }

start() {
    install -d -o postgres "$sockets"
    # Processes of the server that the power cut left may still be ending.
    for _ in 1 2 3 4 5 6 7 8; do
        as_postgres pg_ctl -D "$data" -w -l "$sockets/log" -o "-k $sockets -c listen_addresses=" start >/dev/null && return
        sleep 0.5
    done
    tail -n 20 "$sockets/log" >&2
    exit 1
}

case $1 in
open)
    install -d -o postgres "$data"
    as_postgres initdb -k -A trust -D "$data" >/dev/null
    start
    sql -c 'CREATE TABLE seen (id BIGINT PRIMARY KEY)'
    as_postgres pg_ctl -D "$data" -m fast -w stop >/dev/null
    ;;
work)
    start
    for number in $(seq 3000); do echo "INSERT INTO seen VALUES ($number) RETURNING id;"; done | sql
    ;;
check)
    start
    found=$(sql -c 'SELECT count(*), coalesce(max(id), 0) FROM seen')
    as_postgres pg_ctl -D "$data" -m immediate stop >/dev/null
    promised=$(wc -l < "$FTLAB_OUTPUT")
    last=${found#*|}
    [ "$last" -ge "$promised" ] && [ "${found%|*}" = "$last" ] && exit
    echo "$promised rows were committed; found count|largest: $found"
    exit 1
    ;;
esac
