#!/bin/sh
# A file system in a virtual machine: each number that the guest has synced is there after a power cut. Its kernel loses its
# own page cache, as a real machine does. Needs qemu-system-x86_64, busybox (static), cpio, kmod, and a kernel in /boot that
# may be read. ACCEL=kvm makes it faster where there is one.
#
#   ftlab-powercut --filesystem none --setup 'examples/powercut/vm.sh open' \
#       --check 'examples/powercut/vm.sh check' -- examples/powercut/vm.sh work
#
# `work unsynced` promises numbers that are not safe yet.
set -eu
PATH=$PATH:/usr/sbin:/sbin
release=${KERNEL_RELEASE:-$(ls /lib/modules | sort -V | tail -n 1)}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The first files of the guest: busybox, the modules that its disk needs, and what it does.
initramfs() {
    mkdir -p "$folder/root/bin" "$folder/root/dev" "$folder/root/disk"
    cp "$(command -v busybox)" "$folder/root/bin/busybox"
    for module in virtio_pci virtio_blk ext4; do
        modprobe --set-version "$release" --show-depends "$module"
    done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r file; do
        cp "$file" "$folder/root"
        echo "insmod /${file##*/}" >>"$folder/modules"
    done
    {
        echo '#!/bin/busybox sh'
        echo '/bin/busybox --install -s /bin'
        echo 'mount -t devtmpfs none /dev'
        cat "$folder/modules"
        echo 'exec >/dev/ttyS1 2>&1 </dev/null'
        cat "$folder/steps"
        echo 'poweroff -f'
    } >"$folder/root/init"
    chmod +x "$folder/root/init"
    (cd "$folder/root" && find . | cpio --quiet -o -H newc) >"$folder/initramfs"
}

# Runs the steps on standard input in a guest with the disk; what they print is printed.
guest() {
    cat >"$folder/steps"
    initramfs
    qemu-system-x86_64 -accel "${ACCEL:-tcg}" -m 192 -nodefaults -display none -no-reboot \
        -kernel "/boot/vmlinuz-$release" -initrd "$folder/initramfs" -append 'console=ttyS0 panic=-1' \
        -drive "file=$FTLAB_PLACE,format=raw,if=virtio,cache=writeback" \
        -serial "file:$folder/kernel.log" -serial stdio </dev/null 2>"$folder/qemu.log" | tr -d '\r'
}

case $1 in
open)
    mke2fs -q -F -t ext4 "$FTLAB_PLACE"
    ;;
work)
    sync='sync -d /disk/book'
    [ "${2-synced}" = unsynced ] && sync=:
    guest <<STEPS
mount -t ext4 /dev/vda /disk
number=0
while echo \$number >>/disk/book && $sync; do
    echo \$number
    number=\$((number + 1))
done
STEPS
    ;;
check)
    guest >"$folder/found" <<'STEPS'
mount -t ext4 /dev/vda /disk && { cat /disk/book; umount /disk && echo end; }
STEPS
    if [ "$(tail -n 1 "$folder/found")" != end ]; then
        echo 'the guest cannot use its disk:'
        tail -n 5 "$folder/found" "$folder/kernel.log" "$folder/qemu.log"
        exit 1
    fi
    e2fsck -f -n "$FTLAB_PLACE" >"$folder/e2fsck.log" 2>&1 || { cat "$folder/e2fsck.log"; exit 1; }
    # The last line of what was printed may have been cut.
    sed '$d' "$FTLAB_OUTPUT" >"$folder/promised"
    lost=$(grep -vxFf "$folder/found" "$folder/promised" | wc -l)
    [ "$lost" -eq 0 ] && exit
    echo "$(wc -l <"$folder/promised") numbers were promised, $lost are lost"
    exit 1
    ;;
esac
