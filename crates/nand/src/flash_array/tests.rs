//! What only the array can show: exchanged numbers without the media above.

use super::*;
use crate::payload::{Content, Data};

const PAGES: u32 = 4;

/// Four blocks, of which the first two have exchanged their numbers.
fn exchanged() -> FlashArray {
    let geometry = Geometry::new(512, 64, PAGES, 4, ProgramOrder::Any).unwrap();
    let lives = BlockLives::new(vec![10; 4]);
    let mut array = FlashArray::on_media(geometry, geometry, Mode::Stamps, lives);
    array.exchange(BlockId(0), BlockId(1));
    array
}

fn program(array: &mut FlashArray, ppn: Ppn) {
    let content = Content::Host { data: Data::Stamp(7), mask: 1, base: None };
    let page = Page { owner: Lpn(3), kind: 1, extra: &[], content };
    array.program(ppn, &page, 1, 1, false).unwrap();
}

/// Number 0 stands for block 1, and number 1 for block 0. A page for block 1 lies in block 0 then:
/// its header names another place, whatever the numbers say.
#[test]
fn a_page_that_goes_astray_between_exchanged_blocks_is_found_out() {
    let mut array = exchanged();
    program(&mut array, Ppn(0));
    assert!(matches!(array.state(Ppn(0)).unwrap(), PageState::Programmed(_)));
    array.misdirect(Ppn(0)).unwrap();
    assert_eq!(array.state(Ppn(0)).unwrap(), PageState::Erased);
    assert_eq!(array.state(Ppn(PAGES)).unwrap(), PageState::Unreadable);
}

/// It moves to the very place that its header names, where a store in bytes would read it.
#[test]
fn a_page_that_went_astray_stays_unreadable_where_it_moves() {
    let mut array = exchanged();
    program(&mut array, Ppn(0));
    array.misdirect(Ppn(0)).unwrap();
    array.move_page(Ppn(PAGES), Ppn(0)).unwrap();
    assert_eq!(array.spare(Ppn(0)).unwrap().health, Health::Torn);
    assert_eq!(array.owner(Ppn(0)), Lpn::SYSTEM);
}

#[test]
fn a_flipped_bit_in_an_exchanged_block_damages_that_page() {
    let mut array = exchanged();
    [0, PAGES].into_iter().for_each(|ppn| program(&mut array, Ppn(ppn)));
    array.flip_bit(Ppn(0)).unwrap();
    assert_eq!(array.state(Ppn(0)).unwrap(), PageState::Unreadable);
    assert!(matches!(array.state(Ppn(PAGES)).unwrap(), PageState::Programmed(_)));
}

#[test]
fn erases_are_those_of_the_block_behind_a_number() {
    let mut array = exchanged();
    [0, 0, 2].into_iter().for_each(|block| array.erase(BlockId(block)).unwrap());
    assert_eq!(array.erases_of_blocks(), [2, 0, 1, 0]);
    array.forget_moves();
    assert_eq!(array.erases_of_blocks(), [0, 2, 1, 0]);
    assert_eq!(array.wear(), [2, 0, 1, 0], "by number, as the FTL counts them");
}
