//! Films of disks at work.

use film::HostOp;
use film::take::TakenRequest;
use nand::Op;
use nbd::device::recorder::Recorder;
use nbd::device::watch::Filmed;
use nbd::server::engine::Limits;

use crate::clients::{Client, Operator};
use crate::conversation::*;
use crate::running::Running;

fn serving(scheme: &'static str) -> Running {
    let device = move || {
        let device = device(scheme, &[]);
        served(disk::Disk::in_memory(device).unwrap(), Recorder::idle())
    };
    Running::new(move || vec![device()], Limits::default())
}

/// The requests of a film, as their numbers and kinds.
fn requests(filmed: &Filmed) -> Vec<(u64, HostOp)> {
    let takes = filmed.footage.cutting.takes();
    let all = takes.iter().flat_map(|take| &take.requests);
    all.map(|TakenRequest { number, op, .. }| (*number, *op)).collect()
}

/// Films while a client writes these pages, one each request.
fn filmed_while_writing(server: &mut Running, client: &mut Client, pages: u64) -> Filmed {
    let write = || (0..pages).for_each(|page| client.write(0, 2048 * page, &[1; 2048]));
    server.viewer.film_while(0, write).unwrap()
}

#[test]
fn a_film_of_a_disk_at_work_has_its_requests_and_counters() {
    let mut server = serving("fast");
    let (mut client, mut operator) = (Client::agreed(&server), Operator::of(&server));
    (0..40).for_each(|page| client.write(0, 2048 * page, &[1; 2048]));
    assert_eq!(client.read(0, 4096), [1; 4096]);
    let filmed = filmed_while_writing(&mut server, &mut client, 10);
    assert!(filmed.has_requests);
    let expected: Vec<_> = (42..52).map(|number| (number, HostOp::Write)).collect();
    assert_eq!(requests(&filmed), expected);
    let end = filmed.footage.course.last().unwrap();
    let flash = &operator.ask(r#"{"stats":true}"#)["flash"];
    for (kind, op) in [("reads", Op::Read), ("programs", Op::Program), ("erases", Op::Erase)] {
        assert_eq!(flash[kind], end.tally.total(op), "{kind}");
    }
    assert_eq!(end.entered, 50);
    let operations = |filmed: &Filmed| -> u64 {
        filmed.footage.cutting.takes().iter().map(|take| take.steps()).sum()
    };
    assert!(operations(&filmed) >= 10);
    // What is done between two films is in neither.
    (0..30).for_each(|page| client.write(0, 2048 * page, &[2; 2048]));
    let next = filmed_while_writing(&mut server, &mut client, 70);
    let expected: Vec<_> = (82..146).map(|number| (number, HostOp::Write)).collect();
    assert_eq!(requests(&next), expected, "at most 64 requests");
}

#[test]
fn a_film_of_a_disk_at_rest_shows_what_it_holds() {
    let mut server = serving("page");
    Client::agreed(&server).write(0, 0, &[1; 2048]);
    let filmed = server.viewer.film(0).unwrap();
    assert!(!filmed.has_requests);
    assert_eq!(requests(&filmed), [(2, HostOp::Idle)]);
    let blocks = &filmed.footage.cutting.takes()[0].blocks;
    assert_eq!(blocks.iter().map(|block| block.programmed).sum::<u32>(), 1);
    server.stop(|_, mut devices| {
        let nand = devices[0].store.disk.nand_mut().unwrap();
        let is_recording = nand.sink_mut::<drive::recorded::OperationSink>().is_some();
        assert!(!is_recording, "nothing is recorded when nobody watches");
    });
}

#[test]
fn whoever_watches_sees_what_a_power_cut_left() {
    let mut server = serving("page");
    let mut operator = Operator::of(&server);
    Client::agreed(&server).write(0, 0, &[1; 4096]);
    server.viewer.film(0).unwrap();
    operator.ask(r#"{"cut":"now"}"#);
    let filmed = server.viewer.film(0).unwrap();
    assert!(filmed.has_requests);
    assert_eq!(requests(&filmed), [(2, HostOp::Cut)]);
    Client::agreed(&server).write(0, 0, &[2; 2048]);
    let after = server.viewer.film(0).unwrap();
    assert_eq!(requests(&after).last().unwrap().1, HostOp::Idle, "it works again");
    // Without power there is the flash to see.
    operator.ask(r#"{"cut":"now","stay_down":true}"#);
    let kept = server.viewer.film(0).unwrap();
    assert_eq!(requests(&kept).last().unwrap().1, HostOp::Cut);
    assert!(requests(&server.viewer.film(0).unwrap()).last().unwrap().1 == HostOp::Idle);
}

#[test]
fn a_cut_that_nobody_watches_is_not_filmed() {
    let mut server = serving("page");
    Operator::of(&server).ask(r#"{"cut":"now"}"#);
    let filmed = server.viewer.film(0).unwrap();
    assert!(!filmed.has_requests, "nobody watched when the power failed");
}

#[test]
fn a_viewer_leaves_the_disk_alone_between_two_films() {
    let mut server = serving("page");
    let began = std::time::Instant::now();
    (0..3).for_each(|_| drop(server.viewer.film(0).unwrap()));
    assert!(began.elapsed().as_millis() >= 2 * 250 + 200, "{:?}", began.elapsed());
}
