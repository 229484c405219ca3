"use strict";
// Time in a film: requests one after the other, and in each the operations of all films side by side. A film whose
// request needs fewer operations waits for the other one. Needs no browser.
const filmPlayer = (function () {
  class Player {
    constructor(films) {
      this.films = films;
      this.flashes = films.map((film) => new filmFlash.Flash(film));
      const { count } = films[0].requests;
      // The ticks before each request: one at its arrival, and one for each operation.
      this.ticks = new Float64Array(count + 1);
      for (let request = 0; request < count; request++) {
        let longest = 0;
        for (const { requests: { steps } } of films) longest = Math.max(longest, steps[request + 1] - steps[request]);
        this.ticks[request + 1] = this.ticks[request] + 1 + longest;
      }
      this.count = count;
      this.end = this.ticks[count] - 1;
      this.scenes = this.allScenes();
      this.seek(0);
    }

    // The scenes of all films with the ticks at which they begin, in order.
    allScenes() {
      const all = this.films.flatMap((film, index) =>
        film.scenes.map((scene) => ({
          scene,
          film: index,
          name: film.header.scenes[scene.kind].name,
          tick: this.ticks[scene.request] + scene.first + 1,
        })));
      return all.sort((one, other) => one.tick - other.tick);
    }

    seek(tick) {
      this.tick = Math.max(0, Math.min(this.end, tick));
      this.request = this.requestAt(this.tick);
      this.done = this.tick - this.ticks[this.request];
      for (const flash of this.flashes) flash.seek(this.request, this.done);
    }

    requestAt(tick) {
      let [low, high] = [0, this.count - 1];
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (this.ticks[middle] <= tick) low = middle;
        else high = middle - 1;
      }
      return low;
    }

    // How far the film is, as the curves have it: every request is as long as any other.
    share() {
      const length = this.ticks[this.request + 1] - this.ticks[this.request];
      return this.tick === this.end ? 1 : (this.request + this.done / length) / this.count;
    }

    tickAt(share) {
      const at = Math.min(share * this.count, this.count - 1e-9);
      const request = Math.floor(at);
      return this.ticks[request] + Math.floor((at - request) * (this.ticks[request + 1] - this.ticks[request]));
    }

    // The request with this number in the pass, or the first one after it that the film has.
    requestOf(number) {
      const { number: numbers } = this.films[0].requests;
      const at = numbers.findIndex((it) => it >= number);
      return at < 0 ? this.count - 1 : at;
    }

    // The moment as text, for a link: request and operations done.
    moment() {
      return this.films[0].requests.number[this.request] + "." + this.done;
    }

    goTo(moment) {
      const [request, done] = moment.split(".").map(Number);
      if (Number.isFinite(request)) this.seek(this.ticks[this.requestOf(request)] + (done || 0));
    }

    // The first scene behind the moment.
    nextScene() {
      return this.scenes[this.sceneIndex()];
    }

    // The first scene of a kind behind the moment, or in the film.
    nextNamed(name) {
      const isOf = (scene) => scene.name === name;
      return this.scenes.slice(this.sceneIndex()).find(isOf) || this.scenes.find(isOf);
    }

    // The number of scenes that begin at the moment or before.
    sceneIndex() {
      let [low, high] = [0, this.scenes.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.scenes[middle].tick <= this.tick) low = middle + 1;
        else high = middle;
      }
      return low;
    }

    // The scene that begins last before the moment.
    previousScene() {
      let at = this.sceneIndex() - 1;
      while (at >= 0 && this.scenes[at].tick >= this.tick) at -= 1;
      return this.scenes[at];
    }
  }

  return { Player };
})();
