//! Layers above a page that has lost its data: what they hold of it leaves as a lost page, and the
//! next flush says so.

use ftl::layer::Layers;
use ftl::{Error, Run};
use nand::{Data, Lpn, Mode, Nand, Ppn, Sink, Stamp};

use crate::device::{LOGICAL_BLOCKS, PAGE_BYTES, Real, chip, mount_under};

/// Page mapping with all pages written, under these layers. The data of page 5 are lost.
fn with_lost_page(layers: &[(&str, &str)]) -> Real {
    let layers = Layers::from_texts(layers).unwrap();
    let mut nand = Nand::new(chip().geometry(LOGICAL_BLOCKS + 8).unwrap(), Mode::Stamps);
    let ftl = mount_under("page", &layers, &mut nand).unwrap();
    let mut real = Real { nand, ftl, writes: 0 };
    real.write(0, 10);
    real.flush();
    let mut pages = (0..real.nand.geometry().pages()).map(Ppn);
    let lost = pages.find(|&ppn| real.nand.owner(ppn) == Lpn(5));
    real.nand.power().lose_data(lost.unwrap()).unwrap();
    real
}

fn read(real: &mut Real, page: u32) -> ftl::Result<Vec<u32>> {
    let mut found = [Stamp::default(); 4];
    let mut sink = Sink::Stamps { first: Lpn(page), out: &mut found };
    let run = Run::whole(Lpn(page), 1, PAGE_BYTES, Data::None);
    real.ftl.read(&mut real.nand, &run, &mut sink)?;
    real.ftl.audit(&real.nand).unwrap();
    Ok(found.iter().map(|stamp| stamp.write()).collect())
}

/// Writes part of page 5, lets the sectors leave the layers, and heals the page.
fn loses_and_heals(layers: &[(&str, &str)], make_leave: impl Fn(&mut Real)) {
    let mut real = with_lost_page(layers);
    real.patch(5, 0b0010);
    assert_eq!(real.read(5, 0b0010), [0, 2, 0, 0], "the layer holds this sector");
    assert!(read(&mut real, 5).unwrap_err().is_of_request());
    make_leave(&mut real);
    assert_eq!(real.ftl.flush(&mut real.nand, None), Err(Error::Lost(Lpn(5))));
    real.flush();
    assert!(read(&mut real, 5).unwrap_err().is_of_request());
    assert_eq!(read(&mut real, 6).unwrap(), [1; 4]);
    real.write(5, 1);
    real.flush();
    let last = real.writes;
    assert_eq!(read(&mut real, 5).unwrap(), [last; 4]);
}

#[test]
fn a_buffer_reports_what_it_lost_at_the_next_flush() {
    loses_and_heals(&[("buffer", "8KiB")], |_| {});
    loses_and_heals(&[("buffer", "2KiB")], |real| real.write_each(&[7, 8, 9]));
}

/// The neighbours of the page leave with it as one run, and are not lost.
#[test]
fn an_evicted_run_loses_only_the_page_that_cannot_be_read() {
    loses_and_heals(&[("buffer", "8KiB,evict=run")], |real| real.write(4, 1));
    let mut real = with_lost_page(&[("buffer", "8KiB,evict=run")]);
    real.write(4, 1);
    real.patch(5, 0b0010);
    assert_eq!(real.ftl.flush(&mut real.nand, None), Err(Error::Lost(Lpn(5))));
    assert_eq!(read(&mut real, 4).unwrap(), [2; 4]);
}

#[test]
fn a_sector_log_loses_a_page_when_it_is_cleaned() {
    loses_and_heals(&[("sector_log", "16KiB")], |real| {
        for _ in 0..20 {
            for page in 0..4 {
                real.patch(page, 0b0111);
            }
        }
    });
}

#[test]
fn a_read_that_fails_leaves_no_page_in_the_buffer() {
    let mut real = with_lost_page(&[("buffer", "8KiB,reads=true")]);
    for _ in 0..5 {
        assert!(read(&mut real, 5).unwrap_err().is_of_request());
        real.ftl.audit(&real.nand).unwrap();
    }
    assert_eq!(read(&mut real, 6).unwrap(), [1; 4]);
}
