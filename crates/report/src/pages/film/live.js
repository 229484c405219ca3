"use strict";
// The page of a disk at work: again and again it shows a film of the newest requests, until the reader takes the controls
// to look closer. A film after which the power failed stays, too.
const filmLive = (function () {
  const BETWEEN_MS = 250; // from one picture to the next
  const AGAIN_MS = 2000; // until the server is asked again after an error
  const POWER_CUT = 5; // the number of its kind among the requests
  const CONTROLS = ".transport, .kinds, .scenes, .curves, .strip";
  const KEYS = /^(Arrow|Page|Home$|End$| $|[np]$)/;
  const element = (id) => document.getElementById(id);
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));

  class Live {
    constructor(page) {
      this.page = page;
      this.isFollowing = true;
      this.pictures = 0;
      const isOwn = (event) => event.target.closest("#follow") !== null;
      element("follow").addEventListener("click", () => this.set(!this.isFollowing, "stopped"));
      for (const type of ["click", "input"]) {
        document.addEventListener(type, (event) => {
          if (event.target.closest(CONTROLS) && !isOwn(event)) this.set(false, "stopped");
        }, true);
      }
      document.addEventListener("keydown", (event) => {
        if (KEYS.test(event.key) && !isOwn(event)) this.set(false, "stopped");
      }, true);
    }

    set(isFollowing, why) {
      this.isFollowing = isFollowing;
      element("follow").textContent = isFollowing ? "Stop" : "Follow";
      this.tell(isFollowing ? "live" : why);
    }

    tell(words) {
      if (element("link").textContent !== words) element("link").textContent = words;
    }

    async run() {
      this.page.jump(this.page.player.end);
      this.set(!this.hasFailed(), "the power failed");
      for (;;) {
        const began = performance.now();
        let rest = BETWEEN_MS;
        if (this.isFollowing && !document.hidden) {
          await this.picture().catch((error) => {
            this.tell(error.message);
            rest = AGAIN_MS;
          });
        }
        await pause(Math.max(0, rest - (performance.now() - began)));
      }
    }

    async picture() {
      const lost = () => { throw new Error("the server does not answer"); };
      const answer = await fetch(document.body.dataset.live + "/film", { cache: "no-store" }).catch(lost);
      if (!answer.ok) throw new Error(await answer.text());
      const packed = new Uint8Array(await answer.arrayBuffer());
      if (!this.isFollowing) return;
      this.tell("live");
      if (packed.length === 0) return; // nothing has happened
      await this.page.renew(packed);
      document.body.dataset.pictures = String(++this.pictures);
      if (this.hasFailed()) this.set(false, "the power failed");
    }

    // Whether the film that is shown ends with a power cut.
    hasFailed() {
      const { op, count } = this.page.player.films[0].requests;
      return op[count - 1] === POWER_CUT;
    }
  }

  function watch(page) {
    page.live = new Live(page);
    page.live.run();
  }

  return { watch };
})();
