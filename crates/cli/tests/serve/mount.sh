# Mounts the disk at the address $1, copies a tree to it, trims it, and checks it.
#   sh mount.sh URI        in a folder with `tree`
set -eu
mkdir fuse root
nbdfuse fuse/disk.img "$1" &
loop=
leave() {
    umount root 2>/dev/null || true
    [ -z "$loop" ] || losetup -d "$loop" 2>/dev/null || true
    umount -l fuse 2>/dev/null || true
    wait
}
trap leave EXIT
for _ in $(seq 200); do [ -e fuse/disk.img ] && break; sleep 0.02; done
loop=$(losetup -f --show fuse/disk.img)
mkfs.ext4 -F -q "$loop"
mount "$loop" root
cp -r tree root/tree
sync -f root
umount root
mount "$loop" root
diff -r tree root/tree
cp tree/large root/again
rm root/again
fstrim root
umount root
e2fsck -f -n "$loop" >/dev/null
echo all right
