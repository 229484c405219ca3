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
    return new Set(new Uint32Array(data.buffer)).size > 2;
  };
  seen.drawn = ["map-0", "strip-0", "curves"].map(drawn);
  // What is drawn bit by bit is what is drawn at once.
  const { player } = window.film;
  const [from, by] = [player.end - 2000, [1, 3, 64, 7, 500]];
  window.film.jump(from);
  seen.strayed = by.map((ticks) => {
    window.film.jump(player.tick + ticks, ticks);
    const { all } = window.film.maps[0].pixels;
    const before = all.slice();
    player.flashes[0].everything = true;
    window.film.draw();
    return all.reduce((sum, pixel, at) => sum + (pixel === before[at] ? 0 : 1), 0);
  });
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

/// What a screen reader is told: names and roles as the browser computes them, and how often
/// something is said while the film plays.
const LISTEN: &str = r#"<script>(async function () {
  const { body } = document;
  while (body.dataset.done === undefined) await new Promise((go) => setTimeout(go, 50));
  const all = (which) => [...document.querySelectorAll(which)];
  const element = (id) => document.getElementById(id);
  const controls = "a, button, input, select, summary, textarea, [tabindex]";
  const places = "aside, canvas, ul, ol, section, [role]";
  const isSilent = (it) => it.closest("[aria-hidden=true]") !== null || it.role === "status";
  const named = all(controls + ", " + places).filter((it) => !isSilent(it));
  const words = (it) => it.outerHTML.slice(0, 80);
  const seen = { controls: all(controls).length };
  seen.unnamed = named.filter((it) => it.computedName.trim() === "").map(words);
  const noRoles = ["", "generic", "none"];
  const hasRole = (it) => it.tagName === "SUMMARY" || !noRoles.includes(it.computedRole);
  seen.roleless = named.filter((it) => !hasRole(it)).map(words);
  const shown = ["map-0", "strip-0", "curves", "live", "scrub"];
  seen.roles = shown.map((id) => element(id).computedRole);
  seen.map = element(element("map-0").getAttribute("aria-describedby")).textContent;
  seen.curves = element("curves").getAttribute("aria-description");
  seen.moment = element("scrub").getAttribute("aria-valuetext");
  let said = 0;
  new MutationObserver(() => { said += 1; }).observe(element("live"), { childList: true });
  // A browser that only dumps its document draws no pictures.
  window.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 16);
  window.film.speed = 60;
  window.film.play();
  const began = window.film.player.tick;
  for (let picture = 0; picture < 20; picture++) await new Promise(requestAnimationFrame);
  seen.played = window.film.player.tick - began;
  await 0;
  seen.saidWhilePlaying = said;
  window.film.pause();
  await 0;
  seen.said = said;
  window.film.live = { isFollowing: true };
  window.film.jump(window.film.player.tick + 1);
  await 0;
  seen.saidAtWork = said;
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
        assert_eq!(seen["strayed"], serde_json::json!([0, 0, 0, 0, 0]), "pixels");
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
fn a_screen_reader_is_told_what_everything_is() {
    let place = Place(tempfile::tempdir().unwrap());
    run(&place, "compare skew:writes=1K,pages=700 --ftl fast --ftl faster");
    let Some(seen) = after(&place, LISTEN, false) else { return };
    assert!(seen["controls"].as_u64() > Some(25), "{seen}");
    assert_eq!(seen["unnamed"], serde_json::json!([]));
    assert_eq!(seen["roleless"], serde_json::json!([]));
    let roles = ["application", "image", "image", "status", "slider"];
    assert_eq!(seen["roles"], serde_json::json!(roles));
    let says = |field: &str, words: &str| {
        assert!(seen[field].as_str().is_some_and(|it| it.contains(words)), "{field}: {seen}");
    };
    says("map", "arrow keys");
    says("curves", "write amplification now ");
    says("moment", "request 1");
    assert!(seen["played"].as_u64() > Some(0), "{seen}");
    assert_eq!(seen["saidWhilePlaying"], 0, "a film that plays does not flood its reader");
    assert_eq!(seen["said"], 1, "a film that stops says where");
    assert_eq!(seen["saidAtWork"], 1, "a disk at work does not flood its reader either");
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
