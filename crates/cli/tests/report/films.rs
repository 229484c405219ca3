//! Films in a real browser: they open in light and dark, obey the keyboard, and end with the
//! numbers of the JSON.

use serde_json::Value;

use crate::browser::{Place, Seen, chromium, fits_phone_and_desk};

const DEVICE: &str = "--chip slc-fast2010:pages_per_block=16 --capacity 2MiB --extra 12blocks \
                      --quiet --film film.html";

/// Presses keys as a reader would, and leaves what the page shows on its body.
const PRESS: &str = r#"<script>(async function () {
  const { body } = document;
  while (body.dataset.done === undefined) await new Promise((go) => setTimeout(go, 50));
  const text = (id) => document.getElementById(id).textContent;
  const keydown = (key) => new KeyboardEvent("keydown", { key, bubbles: true });
  const press = (key) => body.dispatchEvent(keydown(key));
  const seen = {};
  press("n");
  seen.scene = text("scene-0");
  seen.spoken = text("live");
  seen.at = location.hash;
  press("ArrowRight");
  seen.next = location.hash;
  press("ArrowLeft");
  seen.back = location.hash;
  press(" ");
  seen.play = text("play");
  press(" ");
  seen.pause = text("play");
  press("End");
  seen.amplification = text("amplification-0");
  seen.erases = text("erases-0");
  document.getElementById("map-0").dispatchEvent(keydown("ArrowRight"));
  seen.block = text("block");
  const drawn = (id) => {
    const canvas = document.getElementById(id);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.some((value) => value !== 0);
  };
  seen.drawn = ["map-0", "strip-0", "curves"].map(drawn);
  seen.svg = window.film.maps[0].svg("a <still>").slice(0, 5000);
  body.dataset.seen = JSON.stringify(seen);
})();</script>"#;

/// Goes to the power cut, and leaves what the page shows then.
const CUT: &str = r#"<script>(async function () {
  const { body } = document;
  while (body.dataset.done === undefined) await new Promise((go) => setTimeout(go, 50));
  const { player } = window.film;
  const [flash] = player.flashes;
  const isTorn = (state, ppn) => state === 2 && flash.owner[ppn] !== 0xffffffff;
  const torn = () => flash.state.filter(isTorn).length;
  const seen = { before: torn() };
  const cut = player.films[0].requests.op.indexOf(5);
  window.film.jump(player.ticks[cut]);
  seen.scene = document.getElementById("scene-0").textContent;
  seen.torn = torn();
  window.film.jump(player.ticks[cut + 1]);
  seen.mount = document.getElementById("scene-0").textContent;
  body.dataset.seen = JSON.stringify(seen);
})();</script>"#;

/// What the page shows after a script.
fn after(place: &Place, script: &str, is_dark: bool) -> Option<Value> {
    let browser = chromium()?;
    let page = std::fs::read_to_string(place.path("film.html")).unwrap();
    std::fs::write(place.path("pressed.html"), page + script).unwrap();
    let seen = Seen::of(&browser, &place.path("pressed.html"), is_dark);
    assert_eq!(seen.console, [""; 0]);
    let text = seen.document.split("data-seen=\"").nth(1).expect("the page was used");
    let text = text.split('"').next().unwrap().replace("&quot;", "\"").replace("&lt;", "<");
    Some(serde_json::from_str(&text.replace("&gt;", ">").replace("&amp;", "&")).unwrap())
}

fn run(place: &Place, words: &str) {
    let words = format!("{words} {DEVICE}");
    place.ftlab(&words.split_whitespace().collect::<Vec<_>>());
}

#[test]
fn a_film_obeys_the_keyboard_and_ends_with_the_numbers_of_the_result() {
    let place = Place(tempfile::tempdir().unwrap());
    let ftl = "faster:as=table2,isolation_blocks=3";
    run(&place, &format!("run skew:writes=3K,pages=700 --ftl {ftl} --json result.json"));
    let result = std::fs::read(place.path("result.json")).unwrap();
    let result: Value = serde_json::from_slice(&result).unwrap();
    for is_dark in [false, true] {
        let Some(seen) = after(&place, PRESS, is_dark) else { return };
        let is = |field: &str, text: &str| {
            let shown = seen[field].as_str().unwrap();
            assert!(shown.contains(text), "{field}: {shown} has no {text}");
        };
        is("scene", "Isolation: 1 copy from 1 block to block ");
        is("spoken", seen["scene"].as_str().unwrap());
        assert_ne!(seen["at"], seen["next"], "a step leads to another moment");
        assert_eq!(seen["at"], seen["back"], "a step back leads back");
        assert_eq!((seen["play"].as_str(), seen["pause"].as_str()), (Some("Pause"), Some("Play")));
        is("block", " valid, ");
        is("svg", "a &lt;still>");
        assert!(seen["drawn"].as_array().unwrap().iter().all(|it| it == true), "{seen}");
        let shown = |field: &str| -> f64 {
            seen[field].as_str().unwrap().replace(',', "").parse().unwrap()
        };
        let amplification = result["write_amplification"].as_f64().unwrap();
        assert!((shown("amplification") - amplification).abs() < 0.001 * amplification, "{seen}");
        assert_eq!(shown("erases"), result["erases"]["total"].as_f64().unwrap());
    }
    fits_phone_and_desk(&chromium().unwrap(), &place.path("film.html"));
}

#[test]
fn a_film_of_a_power_cut_shows_the_torn_page_and_the_mount() {
    let place = Place(tempfile::tempdir().unwrap());
    let words = "check --ftl fast --geometry tiny --workload hot --seed 7 --cut 31 --outcome torn \
                 --quiet --film film.html";
    place.ftlab(&words.split_whitespace().collect::<Vec<_>>());
    let Some(seen) = after(&place, CUT, false) else { return };
    assert_eq!((seen["before"].as_u64(), seen["torn"].as_u64()), (Some(0), Some(1)), "{seen}");
    assert!(seen["scene"].as_str().unwrap().starts_with("The power fails."), "{seen}");
    assert!(seen["mount"].as_str().unwrap().starts_with("The power returns"), "{seen}");
}

#[test]
fn a_film_needs_no_network() {
    let place = Place(tempfile::tempdir().unwrap());
    run(&place, "run uniform:writes=300 --ftl page");
    let html = std::fs::read_to_string(place.path("film.html")).unwrap();
    for loading in ["src=\"http", "href=\"http", "@import", "url(http", "fetch("] {
        assert!(!html.contains(loading), "{loading}");
    }
}

#[test]
fn two_ftls_are_shown_side_by_side_and_three_are_refused() {
    let place = Place(tempfile::tempdir().unwrap());
    run(&place, "compare skew:writes=3K,pages=700 --ftl bast --ftl fast");
    let Some(browser) = chromium() else { return };
    let seen = Seen::of(&browser, &place.path("film.html"), false);
    assert_eq!(seen.console, [""; 0]);
    assert!(seen.document.contains("data-done=\"2\""), "both films are open");
    fits_phone_and_desk(&browser, &place.path("film.html"));
    let three = "compare uniform:writes=300 --ftl page --ftl fast --ftl bast --film f.html";
    let refused = place.command(&three.split(' ').collect::<Vec<_>>());
    assert_eq!(refused.status.code(), Some(2));
    let says = String::from_utf8(refused.stderr).unwrap();
    assert!(says.contains("two FTLs side by side, and these are 3; give `--ftl` twice"), "{says}");
}
