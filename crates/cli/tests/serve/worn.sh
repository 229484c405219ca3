# A file system on the disk at the address $1, whose flash fails 200 times and is worn out then.
#   sh worn.sh URI FTLAB SOCKET        in a folder with the file `data` of 3 MiB
set -eu
ftlab=$2 control=$3
mkdir fuse root kept out
nbdfuse fuse/disk.img "$1" &
loop=
leave() {
    umount root 2>/dev/null || umount -l root 2>/dev/null || true
    [ -z "$loop" ] || losetup -d "$loop" 2>/dev/null || true
    umount -l fuse 2>/dev/null || true
    wait
}
trap leave EXIT
for _ in $(seq 200); do [ -e fuse/disk.img ] && break; sleep 0.02; done
loop=$(losetup -f --show fuse/disk.img)
mkfs.ext4 -F -q "$loop"
mount -o errors=remount-ro "$loop" root
mkdir root/kept
for round in $(seq 200); do
    case $((round % 10)) in
        3) failure="\"fail_erase\":$((round % 3))" ;;
        7) failure="\"wear_out\":$((round % 500))" ;;
        *) failure="\"fail_program\":$((round % 5))" ;;
    esac
    "$ftlab" ctl "$control" "{\"media\":{$failure}}" >/dev/null
    name=$((round % 23))
    tail -c +$((round * 10000)) data | head -c $((20000 + round * 100)) >kept/$name
    cp kept/$name root/kept/$name
    sync -f root
done
umount root
mount -o errors=remount-ro "$loop" root
diff -r kept root/kept
"$ftlab" ctl "$control" '{"media":{"fail_program":1000000000}}' '{"media":{"leave":0}}' >/dev/null
cp data root/late && sync -f root && { echo "a worn out disk takes data"; exit 1; }
diff -r kept root/kept
umount root
# What the system does at boot, on a copy: the disk takes no change any more.
cp fuse/disk.img copy
e2fsck -p copy >/dev/null || [ $? = 1 ]
e2fsck -f -n copy >/dev/null
debugfs -R "rdump kept out" copy 2>/dev/null
diff -r kept out/kept
echo all right
