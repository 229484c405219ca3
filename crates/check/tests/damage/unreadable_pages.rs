//! Pages whose data are lost: every scheme, alone and under layers, lives on with them.
//!
//! Random requests of a host run on a device while pages lose their data. Garbage collection,
//! merges and mounts move these pages like all others. Every read of them fails until the host
//! writes them whole or trims them; everything else is as the oracle says, and audits hold. Without
//! layers, the same requests take the same operations as on a whole chip.

use check::case::Case;
use check::device_model::DEVICE_MODELS;
use check::rng::Rng;
use check::subject::Subject;
use ftl::{Durability, LAYERS, Layers, SCHEMES};
use nand::{Cause, Op};

use crate::host::{Answer, Host, Request};
use crate::models;

/// Runs random requests while `lose` takes data from pages. Returns the host and its requests,
/// without those that failed and had no effect.
fn run<'a>(
    case: &'a Case,
    rng: &mut Rng,
    requests: u32,
    lose: impl Fn(&mut Host<'a>, &mut Rng),
) -> (Host<'a>, Vec<Request>) {
    let mut host = Host::new(case);
    let mut done = Vec::new();
    for number in 0..requests {
        let fill = number < host.pages();
        let request = if fill { Request::fill(number) } else { host.draw(rng, number) };
        if !fill && rng.one_in(40) {
            lose(&mut host, rng);
        }
        if host.perform(&request) == Answer::Done {
            done.push(request);
        }
        if number % 8 == 0 {
            host.audit();
        }
    }
    host.compare();
    (host, done)
}

/// The same requests on a chip that loses nothing.
fn run_whole<'a>(case: &'a Case, requests: &[Request]) -> Host<'a> {
    let mut host = Host::new(case);
    for request in requests {
        assert_eq!(host.perform(request), Answer::Done);
    }
    host.compare();
    host
}

/// Compares the operations of two devices. Each write that was refused has read the page that it
/// needs.
fn compare_counts(case: &Case, lost: &Host, whole: &Host) {
    for (op, cause) in Op::ALL.iter().flat_map(|&op| Cause::ALL.map(|it| (op, it))) {
        let more = if (op, cause) == (Op::Read, Cause::Rmw) { lost.refused } else { 0 };
        let [one, other] = [lost, whole].map(|host| host.nand.tally().count(op, cause));
        let (name, model) = (case.subject.name(), case.model.name);
        assert_eq!(one, other + more, "{name} on {model}: {op:?} for {cause:?}");
    }
}

#[test]
fn every_scheme_lives_on_with_unreadable_pages() {
    let (mut failed_reads, mut refused) = (0, 0);
    for subject in SCHEMES.iter().flat_map(|scheme| Subject::single_changes(scheme)) {
        for model in models() {
            let made = Case::new(&subject, model, "random", 1, Durability::Full);
            let Ok(case) = made else { continue };
            let (lost, requests) = run(&case, &mut Rng::new(7), 900, Host::lose_a_page);
            let whole = run_whole(&case, &requests);
            compare_counts(&case, &lost, &whole);
            failed_reads += lost.failed_reads;
            refused += lost.refused;
        }
    }
    println!("{failed_reads} reads failed, {refused} writes were refused");
    assert!(failed_reads > 15_000 && refused > 5_000);
}

#[test]
fn every_scheme_lives_on_with_unreadable_pages_under_layers() {
    let chip = DEVICE_MODELS[0].chip();
    let corners = LAYERS.iter().flat_map(|layer| layer.corners);
    let corners = corners.map(|corner| Layers::from_texts(corner).unwrap());
    let mut failed_reads = 0;
    for layers in corners {
        for scheme in SCHEMES.iter().filter(|scheme| layers.check(scheme, &[], &chip).is_ok()) {
            let subject = Subject::of(scheme, &[]).unwrap().under(&layers);
            for model in models() {
                let made = Case::new(&subject, model, "random", 1, Durability::Full);
                let Ok(case) = made else { continue };
                for seed in 1..3 {
                    let (host, _) = run(&case, &mut Rng::new(seed), 800, |host, rng| {
                        host.lose_a_page(rng);
                        if rng.one_in(2) {
                            host.lose_a_log_page();
                        }
                    });
                    failed_reads += host.failed_reads;
                }
            }
        }
    }
    println!("{failed_reads} reads failed");
    assert!(failed_reads > 7_000);
}

/// The entries of a lost translation page are found in the spare areas, so no read fails.
#[test]
fn dftl_needs_no_translation_page_to_be_readable() {
    let dftl = SCHEMES.iter().find(|scheme| scheme.name == "dftl").unwrap();
    for subject in Subject::single_changes(dftl) {
        for model in models() {
            let case = Case::new(&subject, model, "random", 1, Durability::Full).unwrap();

            let (host, _) = run(&case, &mut Rng::new(7), 3000, |host, _| {
                host.lose_a_translation_page();
            });
            assert_eq!((host.failed_reads, host.refused), (0, 0));
        }
    }
}
