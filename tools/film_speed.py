#!/usr/bin/env python3
"""Measures how fast a film opens and plays in headless Chromium.

    ftlab run oltp:writes=40K --capacity 64MiB --fit wrap --ftl page --quiet --film film.html
    python3 tools/film_speed.py film.html

The film is opened in a browser that shows an empty page, and plays 100,000 operations, or all it has, at 6,000 a second.
Prints the time until the page is usable, counted from when the browser was sent there, the pictures a second on the way,
how long the page's scripts worked on each, and the processor time of all processes of the browser for each. Chromium is
the one on the path, or the one that FTLAB_CHROMIUM names. Without a display it draws at most 60 pictures a second. With
several films, or several times the same one, each is played in turn.
"""

import http.server
import json
import os
import pathlib
import queue
import shutil
import subprocess
import sys
import tempfile
import threading

OPERATIONS, SPEED = 100_000, 6_000
EMPTY = b"<!doctype html><script>setTimeout(() => location.replace('/film'), 1000)</script>"
TICKS = os.sysconf("SC_CLK_TCK")
PROBE = """<script>(async function () {
  while (document.body.dataset.done === undefined) await new Promise((go) => setTimeout(go, 5));
  const { player } = window.film;
  const most = Math.min(OPERATIONS, player.end);
  window.film.speed = SPEED;
  const show = window.film.jump.bind(window.film);
  let worked = 0;
  window.film.jump = (...to) => {
    const began = performance.now();
    show(...to);
    worked += performance.now() - began;
  };
  const say = (what) => fetch("/", { method: "POST", body: JSON.stringify(what) });
  await say("playing");
  const [times, from] = [[], performance.now()];
  const look = (now) => {
    times.push(now);
    if (player.tick < most && window.film.isPlaying) return requestAnimationFrame(look);
    const gaps = times.slice(1).map((time, at) => time - times[at]).sort((one, other) => one - other);
    say({
      opened_ms: Number(document.body.dataset.opened),
      ticks: player.tick,
      seconds: (performance.now() - from) / 1000,
      pictures: gaps.length,
      script_ms: worked / gaps.length,
      median_gap_ms: gaps[gaps.length >> 1],
      p99_gap_ms: gaps[Math.floor(gaps.length * 0.99)],
    });
  };
  window.film.play();
  requestAnimationFrame(look);
})();</script>"""


def server(page: bytes, seen: queue.Queue) -> http.server.HTTPServer:
    """A server on the loopback that shows an empty page, then the film, and takes what it measured."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page if self.path == "/film" else EMPTY)

        def do_POST(self) -> None:
            seen.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    return http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)


def processor_seconds(session: int) -> float:
    """Processor time of all processes of a session so far."""
    spent = 0
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has just ended
        if int(fields[3]) == session:
            spent += int(fields[11]) + int(fields[12])
    return spent / TICKS


def main(page: str) -> None:
    names = ["chromium", "chromium-browser", "google-chrome", "chrome"]
    browser = os.environ.get("FTLAB_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        sys.exit("no Chromium on the path")
    probe = PROBE.replace("OPERATIONS", str(OPERATIONS)).replace("SPEED", str(SPEED))
    seen: queue.Queue = queue.Queue()
    shown = server((pathlib.Path(page).read_text() + probe).encode(), seen)
    threading.Thread(target=shown.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000"]
        url = f"http://127.0.0.1:{shown.server_port}/"
        command = [browser, *options, "--remote-debugging-port=0", f"--user-data-dir={profile}", url]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
        with subprocess.Popen(command, **quiet) as running:
            try:
                seen.get(timeout=60)
                before = processor_seconds(running.pid)
                speed = seen.get(timeout=OPERATIONS / SPEED + 60)
                spent = processor_seconds(running.pid) - before
            except queue.Empty:
                sys.exit("the film did not play to its end")
            finally:
                running.terminate()
    print(f"usable after {speed['opened_ms']} ms")
    print(f"{speed['ticks']:,} operations and requests in {speed['seconds']:.1f} s")
    rate = speed["pictures"] / speed["seconds"]
    print(f"{rate:.1f} pictures a second; gap: median {speed['median_gap_ms']:.1f} ms, p99 {speed['p99_gap_ms']:.1f} ms")
    each = 1000 * spent / speed["pictures"]
    print(f"each picture: {speed['script_ms']:.1f} ms of scripts, {each:.1f} ms of all processes of the browser")


if __name__ == "__main__":
    for film in sys.argv[1:]:
        main(film)
