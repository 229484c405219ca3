//! Requests and the answers to them.

use crate::conversation::*;
use nbd::device::live::Live;
use nbd::device::recorder::Recorder;

const EPERM: u32 = 1;
const EIO: u32 = 5;
const EINVAL: u32 = 22;
const ENOSPC: u32 = 28;
const ENOTSUP: u32 = 95;

/// Reads bytes of a disk on a connection of its own.
fn read(live: &mut Live, offset: u64, bytes: u32) -> Vec<u8> {
    let mut answers = Script::agreed(false).request(READ, 0, offset, bytes).say_to(live);
    assert_eq!(answers.agreed().simple(), (0, READ.into()));
    answers.take(bytes as usize)
}

fn pattern(bytes: usize, seed: u8) -> Vec<u8> {
    (0..bytes).map(|at| (at as u8).wrapping_mul(31).wrapping_add(seed)).collect()
}

/// The numbers are those that nbdkit answers with.
#[test]
fn requests_that_make_no_sense_are_refused_and_the_next_one_is_served() {
    let mut live = live(device("page", &[]));
    let end = live.export().bytes;
    let refused: [(u16, u16, u64, u32, u32); 19] = [
        (READ, 0, end - 512, 513, EINVAL),
        (READ, 0, u64::MAX, 1, EINVAL),
        (READ, 0, 0, 0, EINVAL),
        (READ, 0, 0, (64 << 20) + 1, EINVAL),
        (READ, 4, 0, 512, EINVAL),
        (READ, FAST_ZERO, 0, 512, EINVAL),
        (WRITE_ZEROES, 0, end, 1, ENOSPC),
        (WRITE_ZEROES, 0, 0, 0, EINVAL),
        (WRITE_ZEROES, FAST_ZERO, 1, 4096, ENOTSUP),
        (WRITE_ZEROES, FAST_ZERO | NO_HOLE, 0, 4096, ENOTSUP),
        (TRIM, 0, end - 1, 2, EINVAL),
        (TRIM, NO_HOLE, 0, 512, EINVAL),
        (CACHE, 0, end, 1, EINVAL),
        (FLUSH, 0, 512, 0, EINVAL),
        (FLUSH, 0, 0, 512, EINVAL),
        (FLUSH, 2, 0, 0, EINVAL),
        (BLOCK_STATUS, 0, 0, 512, EINVAL),
        (8, 0, 0, 0, EINVAL),
        (0x7777, 0, 0, 512, EINVAL),
    ];
    let script = refused.iter().fold(Script::agreed(false), |script, request| {
        let (command, flags, offset, bytes, _) = *request;
        script.request(command, flags, offset, bytes)
    });
    let script = script.write(0, end - 4, &[1; 8]).write(0x80, 0, &[1; 512]);
    let mut answers = script.request(CACHE, 0, 0, 4096).say_to(&mut live);
    answers.agreed();
    for (command, flags, offset, bytes, error) in refused {
        let expected = (error, command.into());
        assert_eq!(answers.simple(), expected, "{command} {flags} {offset} {bytes}");
    }
    assert_eq!(answers.simple(), (ENOSPC, WRITE.into()));
    assert_eq!(answers.simple(), (EINVAL, WRITE.into()));
    assert_eq!(answers.simple(), (0, CACHE.into()));
    assert!(answers.0.is_empty());
    assert!(read(&mut live, 0, 4096).iter().all(|byte| *byte == 0));
}

#[test]
fn a_payload_that_is_too_long_is_dropped_and_the_next_request_is_served() {
    let mut live = live(device("page", &[]));
    let mut script = Script::agreed(false).request(WRITE, 0, 0, (64 << 20) + 5);
    script.0.resize(script.0.len() + (64 << 20) + 5, 9);
    let mut answers = script.request(READ, 0, 0, 512).say_to(&mut live);
    assert_eq!(answers.agreed().simple(), (EINVAL, WRITE.into()));
    assert_eq!(answers.simple(), (0, READ.into()));
    assert_eq!(answers.take(512), [0; 512]);
}

#[test]
fn any_range_can_be_written_and_read() {
    let mut live = live(device("page", &[]));
    let mut expected = pattern(64 << 10, 3);
    Script::agreed(false).write(0, 0, &expected).say_to(&mut live);
    let ranges =
        [(0, 1), (1, 1), (511, 2), (1000, 100), (512, 512), (5000, 9999), (2047, 1), (8192, 2048)];
    for (seed, (offset, bytes)) in ranges.into_iter().enumerate() {
        let data = pattern(bytes, 100 + seed as u8);
        expected[offset..offset + bytes].copy_from_slice(&data);
        let mut answers = Script::agreed(true).write(FUA, offset as u64, &data).say_to(&mut live);
        let chunk = answers.agreed().chunk();
        assert_eq!((chunk.is_last, chunk.kind, chunk.data), (true, 0, vec![]));
        assert!(read(&mut live, 0, 64 << 10) == expected, "{bytes} bytes at {offset}");
        assert_eq!(read(&mut live, offset as u64, bytes as u32), data);
    }
}

#[test]
fn zeroes_and_trims_leave_all_other_bytes() {
    for (command, flags) in [(WRITE_ZEROES, 0), (WRITE_ZEROES, NO_HOLE | FUA), (TRIM, FUA)] {
        let mut live = live(device("fast", &[]));
        let mut expected = pattern(64 << 10, 1);
        Script::agreed(false).write(0, 0, &expected).say_to(&mut live);
        for (offset, bytes) in [(0_usize, 2048), (3000, 10_000), (20_000, 100), (40_959, 4098)] {
            let script = Script::agreed(false);
            let script = script.request(command, flags, offset as u64, bytes as u32);
            assert_eq!(script.say_to(&mut live).agreed().simple(), (0, command.into()));
            let zeroed = match command {
                TRIM => offset.next_multiple_of(2048)..(offset + bytes) / 2048 * 2048,
                _ => offset..offset + bytes,
            };
            if zeroed.start < zeroed.end {
                expected[zeroed].fill(0);
            }
            assert!(read(&mut live, 0, 64 << 10) == expected, "{command}: {bytes} at {offset}");
        }
    }
}

#[test]
fn a_structured_read_has_its_offset_and_an_error_its_place() {
    let mut live = live(device("page", &[]));
    let data = pattern(8192, 1);
    let script = Script::agreed(true).write(0, 2048, &data).request(READ, 4, 2148, 300);
    let mut answers = script.say_to(&mut live);
    assert_eq!(answers.agreed().chunk().cookie, u64::from(WRITE));
    let chunk = answers.chunk();
    assert_eq!((chunk.is_last, chunk.kind, chunk.cookie), (true, 1, READ.into()));
    assert_eq!(chunk.data, [&2148_u64.to_be_bytes()[..], &data[100..400]].concat());

    lose_page(&mut live, 2);
    let mut answers = Script::agreed(true).request(READ, 0, 2048, 8192).say_to(&mut live);
    let chunk = answers.agreed().chunk();
    assert_eq!((chunk.is_last, chunk.kind), (true, (1 << 15) + 2));
    assert_eq!(chunk.data[..4], EIO.to_be_bytes());
    assert!(chunk.data.ends_with(&4096_u64.to_be_bytes()), "the second page is lost: {chunk:?}");
    assert_eq!(read(&mut live, 6144, 4096), data[4096..], "other pages can be read");
    let mut answers = Script::agreed(false)
        .request(READ, 0, 4096, 512)
        .write(0, 4096, &[5; 2048])
        .request(READ, 0, 4096, 512)
        .say_to(&mut live);
    assert_eq!(answers.agreed().simple(), (EIO, READ.into()));
    assert_eq!(answers.simple(), (0, WRITE.into()));
    assert_eq!(answers.simple(), (0, READ.into()));
    assert_eq!(answers.take(512), [5; 512]);
}

/// Makes the data of a logical page unreadable.
fn lose_page(live: &mut Live, lpn: u32) {
    let nand = live.store.disk.nand().unwrap();
    let ppn = live.store.disk.ftl().unwrap().place(nand, nand::Lpn(lpn)).unwrap();
    live.store.disk.nand_mut().unwrap().power().lose_data(ppn).unwrap();
}

#[test]
fn the_state_of_bytes_is_that_of_their_pages() {
    for layers in [&[][..], &[("buffer", "64KiB")], &[("sector_log", "1MiB")]] {
        let mut live = live(device("page", layers));
        Script::agreed(false)
            .write(0, 4096, &[1; 4096])
            .write(0, 10_240, &[1; 512])
            .request(TRIM, 0, 4096, 2048)
            .say_to(&mut live);
        let script = Script::flags(FIXED)
            .option(STRUCTURED, b"")
            .option(SET_CONTEXTS, &contexts("", &["base:allocation"]))
            .option(GO, &wanted("", &[]));
        let script = script.request(BLOCK_STATUS, 0, 100, 16_284).request(
            BLOCK_STATUS,
            REQ_ONE,
            6144,
            65_536,
        );
        let mut answers = script.say_to(&mut live);
        answers.greeting().option();
        let chunk = answers.agreed_from_go().chunk();
        let extents = extents(&chunk.data[4..]);
        assert_eq!(extents, [(6044, 3), (2048, 0), (2048, 3), (2048, 0), (4096, 3)], "{layers:?}");
        assert_eq!(self::extents(&answers.chunk().data[4..]), [(2048, 0)]);
    }
}

fn extents(data: &[u8]) -> Vec<(u32, u32)> {
    let number = |at: &[u8]| u32::from_be_bytes(at.try_into().unwrap());
    data.chunks(8).map(|it| (number(&it[..4]), number(&it[4..]))).collect()
}

#[test]
fn blocks_and_their_wear_are_told() {
    let mut live = live(device("page", &[]));
    Script::agreed(false).write(0, 0, &[1; 196_608]).say_to(&mut live);
    let script = Script::flags(FIXED)
        .option(STRUCTURED, b"")
        .option(SET_CONTEXTS, &contexts("", &["ftlab:block", "ftlab:wear"]))
        .option(GO, &wanted("", &[]))
        .request(BLOCK_STATUS, 0, 192_512, 8192);
    let mut answers = script.say_to(&mut live);
    answers.greeting().option();
    let (block, wear) = {
        let answers = answers.agreed_from_go();
        (answers.chunk(), answers.chunk())
    };
    assert!(!block.is_last && wear.is_last);
    let nand = live.store.disk.nand().unwrap();
    let ppn = live.store.disk.ftl().unwrap().place(nand, nand::Lpn(95)).unwrap();
    let place = nand.geometry().block_of(ppn);
    assert_eq!(extents(&block.data[4..]), [(4096, place.0), (4096, u32::MAX)]);
    let erases = nand.array().wear()[place.0 as usize];
    assert_ne!(erases, place.0);
    assert_eq!(extents(&wear.data[4..]), [(4096, erases), (4096, u32::MAX)]);
}

#[test]
fn a_client_that_hangs_up_within_a_write_has_written_nothing() {
    let before = pattern(6000, 1);
    let whole = Script::agreed(false).write(0, 1000, &pattern(6000, 2)).0;
    let write_at = whole.len() - 6028;
    let mut live = live(device("page", &[]));
    Script::agreed(false).write(0, 1000, &before).say_to(&mut live);
    for end in write_at..whole.len() {
        Script(whole[..end].to_vec()).say_to(&mut live);
        assert!(read(&mut live, 1000, 6000) == before, "{} bytes were sent", end - write_at);
    }
    Script(whole).say_to(&mut live);
    assert_eq!(read(&mut live, 1000, 6000), pattern(6000, 2));
}

#[test]
fn nothing_is_taken_after_a_disconnect() {
    let mut live = live(device("page", &[]));
    let script = Script::agreed(false).write(0, 0, &[7; 512]).request(DISCONNECT, 0, 0, 0);
    let mut answers = script.write(0, 0, &[8; 512]).say_to(&mut live);
    assert_eq!(answers.agreed().simple(), (0, WRITE.into()));
    assert!(answers.0.is_empty());
    assert_eq!(read(&mut live, 0, 512), [7; 512]);
}

#[test]
fn a_disk_that_can_only_be_read_refuses_changes() {
    let device = device("page", &[]);
    let export =
        nbd::export::Export { is_read_only: true, ..live(device.clone()).export().clone() };
    let disk = disk::Disk::in_memory(device).unwrap();
    let mut live = Live::new(disk, export, None, Recorder::idle());
    let script = Script::agreed(false)
        .write(0, 0, &[7; 512])
        .request(TRIM, 0, 0, 4096)
        .request(WRITE_ZEROES, 0, 0, 4096)
        .request(READ, 0, 0, 4)
        .request(FLUSH, 0, 0, 0);
    let mut answers = script.say_to(&mut live);
    answers.agreed();
    for command in [WRITE, TRIM, WRITE_ZEROES] {
        assert_eq!(answers.simple(), (EPERM, command.into()));
    }
    assert_eq!(answers.simple(), (0, READ.into()));
    assert_eq!(answers.take(4), [0; 4]);
    assert_eq!(answers.simple(), (0, FLUSH.into()));
}

/// The third page cannot be read. An error names the first byte of the request that cannot.
#[test]
fn a_read_that_fails_tells_where() {
    let media = nand::MediaModel::parse("real:factory_bad=0%", 3000).unwrap().unwrap();
    let mut live = live(device("page", &[]).on_media(media, 20).unwrap());
    live.store.disk.fail(disk::FlashFailure::LostPage { after: 2 }).unwrap();
    let script = Script::agreed(true);
    (0..4_u64)
        .fold(script, |script, page| script.write(0, page * 2048, &[1; 2048]))
        .say_to(&mut live);
    for (offset, bytes, first) in [
        (0, 8192, 4096),
        (3584, 1024, 4096),
        (4096, 2048, 4096),
        (4608, 3000, 4608),
        (6143, 1, 6143),
    ] {
        let mut answers = Script::agreed(true).request(READ, 0, offset, bytes).say_to(&mut live);
        let told = answers.agreed().chunk();
        assert_eq!(told.kind, 1 << 15 | 2, "an error with an offset");
        let (errno, place) = (&told.data[..4], &told.data[told.data.len() - 8..]);
        assert_eq!(errno, EIO.to_be_bytes());
        assert_eq!(place, u64::to_be_bytes(first), "{offset} {bytes}");
    }
}
