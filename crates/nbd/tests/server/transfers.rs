//! Large transfers, parts of which threads beside the loop carry. Sizes, orders and pauses are
//! drawn.

use std::io::{Read, Write};
use std::time::Duration;

use nbd::server::engine::Limits;

use crate::clients::{Client, Operator};
use crate::conversation::*;
use crate::running::Running;

const CLIENTS: u64 = 4;
/// Bytes of the range of each client.
const RANGE: u64 = 4 << 20;

fn serve() -> Running {
    let blocks = CLIENTS * RANGE / (128 << 10);
    Running::new(move || vec![live(device_of_blocks("page", &[], blocks))], Limits::default())
}

/// A generator of numbers that follow no pattern.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040);
        (self.0 >> 33) % end
    }
}

#[test]
fn transfers_of_any_size_stay_whole_and_in_order() {
    let server = serve();
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let client = Client::agreed(&server);
            scope.spawn(move || transfer(client, number));
        }
    });
}

/// Says requests in one go, with a pause here and there, and compares the answers with what was
/// written.
fn transfer(mut client: Client, number: u64) {
    let (mut draw, mut model) = (Draw(number), vec![0; RANGE as usize]);
    for round in 0..16 {
        let (mut script, mut answers) = (Script::default(), Vec::new());
        for _ in 0..=draw.below(8) {
            let bytes = [1, 4096, 300 << 10, 1 << 20][draw.below(4) as usize] + draw.below(700);
            let offset = draw.below(RANGE - bytes);
            let part = offset as usize..(offset + bytes) as usize;
            let place = number * RANGE + offset;
            if draw.below(2) == 0 {
                let seed = draw.below(251);
                let byte = |(at, byte): (u64, &mut u8)| *byte = ((at + seed) % 251) as u8;
                (0..).zip(&mut model[part.clone()]).for_each(byte);
                script = script.write(0, place, &model[part]);
                answers.push((WRITE, Vec::new()));
            } else {
                script = script.request(READ, 0, place, bytes as u32);
                answers.push((READ, model[part].to_vec()));
            }
        }
        let mut sender = client.0.try_clone().unwrap();
        let at = draw.below(script.0.len() as u64) as usize;
        let pause = Duration::from_micros(draw.below(3000));
        let sends = std::thread::spawn(move || {
            sender.write_all(&script.0[..at]).unwrap();
            std::thread::sleep(pause);
            sender.write_all(&script.0[at..]).unwrap();
        });
        for (index, (command, data)) in answers.iter().enumerate() {
            assert_eq!(client.reply(), (0, (*command).into()));
            let is_same = client.take(data.len()) == *data;
            assert!(is_same, "client {number}, round {round}, answer {index}");
        }
        sends.join().unwrap();
    }
}

#[test]
fn a_cut_amid_large_transfers_drops_all_clients_and_the_server_goes_on() {
    let server = serve();
    let mut draw = Draw(7);
    for _ in 0..12 {
        std::thread::scope(|scope| {
            for number in 0..CLIENTS {
                let client = Client::agreed(&server);
                scope.spawn(move || writes_and_reads(client, number * RANGE));
            }
            std::thread::sleep(Duration::from_micros(draw.below(20_000)));
            Operator::of(&server).ask(r#"{"cut":"now"}"#);
        });
        let mut client = Client::agreed(&server);
        client.write(0, 4096, &[5; 4096]);
        assert_eq!(client.read(4096, 4096), [5; 4096]);
    }
}

/// Writes and reads until the connection ends.
fn writes_and_reads(mut client: Client, place: u64) {
    let data = vec![9; 1 << 20];
    let script = Script::default().write(0, place, &data).request(READ, 0, place, 1 << 20);
    let mut answers = vec![0; 16 + 16 + data.len()];
    while client.0.write_all(&script.0).is_ok() && client.0.read_exact(&mut answers).is_ok() {
        assert!(answers[32..] == data, "other data were read than written");
    }
}
