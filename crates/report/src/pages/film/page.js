"use strict";
// The page of a film: it puts map, captions, curves and controls together.
(function () {
  const { number, real } = filmCaptions;
  const SPEEDS = [1, 4, 15, 60, 250, 1000, 6000]; // operations a second
  const SCENES_SHOWN = 7;
  const FIGURES_MS = 120; // the least time between two updates of figures while the film plays
  const FAST = 250; // operations a second from which on nobody can follow single ones: they are not marked
  const LEGENDS = 140; // pixels below the maps
  const REQUESTS = [["R read", 0], ["W write", 1], ["T trim", 2], ["F flush", 3], ["M mount", 4], ["× power cut", 5],
    ["C check", 6], ["· nothing", 7]];
  const CUT = 5;
  const element = (id) => document.getElementById(id);
  const isLive = document.body.dataset.live !== undefined;

  // A line of a legend: words behind a colour, or between the ends of a scale.
  function legendItem(words, colour, until) {
    const line = document.createElement("li");
    if (colour === undefined) line.append(words);
    else {
      const mark = document.createElement("i");
      mark.style.background = colour;
      if (until === undefined) line.append(mark, words);
      else {
        mark.className = "scale";
        line.append(words, mark, until);
      }
    }
    return line;
  }

  // A loop, because a function called for each letter took a third of the time to open a film of 2 MB.
  function packedIn(script) {
    const letters = atob(script.textContent.trim());
    const bytes = new Uint8Array(letters.length);
    for (let at = 0; at < bytes.length; at++) bytes[at] = letters.charCodeAt(at);
    return bytes;
  }

  async function filmOf(packed) {
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return filmFormat.read(new Uint8Array(await new Response(stream).arrayBuffer()));
  }

  class Page {
    constructor(player) {
      this.player = player;
      this.maps = player.flashes.map((flash, index) =>
        new filmMap.ChipMap(element("map-" + index), element("over-" + index), flash));
      this.curves = new filmCurves.Curves(element("curves"), player.films);
      this.strips = player.films.map((film, index) => new filmCurves.Strip(element("strip-" + index), film));
      this.isPlaying = false;
      this.speed = 4;
      this.recent = player.films.map(() => []);
      this.spoken = "";
      this.figuresAt = 0;
    }

    // Shows the end of another film of the same chip, with all operations of its last request.
    async renew(packed) {
      const player = new filmPlayer.Player([await filmOf(packed)]);
      this.player = player;
      this.maps[0].flash = player.flashes[0];
      this.strips[0].show(player.films[0]);
      this.curves = new filmCurves.Curves(element("curves"), player.films);
      this.listed = undefined;
      player.seek(player.end);
      this.recent = player.flashes.map((flash) => this.lastSteps(flash, flash.done));
      this.resize();
    }

    // ---- Drawing -------------------------------------------------------------------------------

    colours() {
      const style = getComputedStyle(document.documentElement);
      const colour = (name) => style.getPropertyValue(name).trim();
      const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
      const named = Object.fromEntries(["ground", "text", "soft", "line", "bad", "accent", "cell"]
        .map((name) => [name, colour("--" + name)]));
      const causes = ["#3d8fd1", "#7f8fa6", "#d55e00", "#b8860b", "#8a7fd1", "#009e73", "#cc79a7", "#8c8c8c", "#9c755f"];
      const films = [...document.querySelectorAll("figure.chip")].map((it) => it.dataset.colour);
      return { ...named, isDark, causes, films };
    }

    resize() {
      const colours = this.colours();
      const room = Math.round(this.room());
      for (const map of this.maps) map.resize(map.canvas.parentElement.clientWidth, room, colours);
      // Maps side by side have pages of the same size.
      const fitting = Math.min(...this.maps.map((map) => map.fitting));
      for (const map of this.maps) map.fit(fitting);
      const height = Math.max(...this.maps.map((map) => map.neededHeight()));
      for (const map of this.maps) map.setHeight(height);
      this.curves.resize(element("curves").parentElement.clientWidth, colours);
      for (const strip of this.strips) strip.resize(strip.canvas.parentElement.clientWidth, colours);
      this.legend(colours);
      this.scale();
      this.kinds();
      this.draw();
    }

    // The height for maps: they and their legends end above the controls, if the screen is high enough.
    room() {
      const top = element("map-0").getBoundingClientRect().top + window.scrollY;
      const below = document.querySelector(".transport").offsetHeight + LEGENDS;
      return Math.max(260, window.innerHeight / 2, window.innerHeight - top - below);
    }

    legend(colours) {
      const { films } = this.player;
      const requests = REQUESTS.filter(([, op]) => films.some((film) => film.requests.op.includes(op)));
      const seen = new Set(films.flatMap((film) => [...new Set(film.steps.cause)]));
      const causes = films[0].header.causes.map((name, at) => [name, at]).filter(([, at]) => seen.has(at));
      element("causes").replaceChildren(
        legendItem("Requests (" + requests.map(([words]) => words).join(", ") + "), and the operations that each caused:"),
        ...causes.map(([name, at]) => legendItem(name, colours.causes[at])));
      const hasTorn = ({ state }) => state.some((it) => (it & 3) === 2);
      element("torn").hidden = !films.some((film) => film.requests.op.includes(CUT) || film.frames.some(hasTorn));
    }

    // What the colours of pages mean.
    scale() {
      const items = this.maps[0].legend().map(({ name, colour, until }) => legendItem(name, colour, until));
      element("scale").replaceChildren(...items);
    }

    // Buttons that lead to the next scene of a kind.
    kinds() {
      const counts = new Map();
      for (const { name } of this.player.scenes) counts.set(name, (counts.get(name) || 0) + 1);
      // A button that is replaced loses the keyboard.
      const key = JSON.stringify([...counts]);
      if (key === this.counted) return;
      this.counted = key;
      element("kinds").replaceChildren(...[...counts].map(([name, count]) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = name + " · " + number(count);
        button.addEventListener("click", () => this.jump(this.player.nextNamed(name).tick));
        return button;
      }));
    }

    draw() {
      const isFast = this.isPlaying && this.speed >= FAST;
      this.maps.forEach((map, index) => {
        map.draw();
        map.overlay.hidden = isFast;
        if (!isFast) map.drawOverlay(this.recent[index], this.sceneOf(map.flash));
      });
      const now = performance.now();
      const isDue = !this.isPlaying || now - this.figuresAt > FIGURES_MS;
      if (isDue) this.figuresAt = now;
      const { request, flashes } = this.player;
      if (isDue) this.curves.note(flashes);
      this.curves.draw(request);
      if (isDue || !isFast) {
        this.strips.forEach((strip) => strip.draw(request));
        element("scrub").value = String(Math.round(this.player.share() * 10000));
      }
      if (isDue) this.tell();
    }

    sceneOf(flash) {
      return filmCaptions.sceneAt(flash.film, flash.request, flash.done);
    }

    // Captions and figures.
    tell() {
      const { player } = this;
      player.flashes.forEach((flash, index) => this.tellOne(flash, index));
      const { request, count } = player;
      const [first, pass] = [player.films[0].requests.number[request], player.films[0].header.requests];
      element("where").textContent = "request " + number(first) + (isLive ? "" : " of " + number(pass)) +
        (!isLive && count < pass ? " (" + number(count) + " filmed)" : "");
      element("scrub").setAttribute("aria-valuetext", "request " + number(first));
      this.listScenes();
      // A film that plays, or a disk at work, would drown what is said.
      if (!this.isPlaying && !this.live?.isFollowing) this.say();
      if (!this.isPlaying) element("curves").setAttribute("aria-description", this.curves.inWords(player.flashes));
    }

    tellOne(flash, index) {
      const { film } = flash;
      const scene = this.sceneOf(flash);
      const request = filmCaptions.requestOf(film, flash.request);
      element("scene-" + index).textContent = scene ? capital(filmCaptions.titleOf(film, scene)) : request;
      const waits = flash.done === flash.steps(flash.request) && this.player.done > flash.done;
      const operation = filmCaptions.operationOf(flash);
      const step = scene ? flash.done - scene.first + " of " + scene.steps + ". " : "";
      element("operation-" + index).textContent = (scene && operation !== "" ? step : "") +
        (waits ? "Has answered, and waits for the other FTL." : operation);
      element("says-" + index).textContent = filmCaptions.saysOf(film, scene, flash.request);
      this.figures(flash, index);
    }

    figures(flash, index) {
      const figures = flash.figures();
      const values = {
        amplification: figures.entered > 0 ? real(figures.programs / figures.entered) : "–",
        entered: number(figures.entered),
        programs: number(figures.programs),
        reads: number(figures.reads),
        erases: number(figures.erases),
        free: flash.film.header.about.is_guest ? "not known" : number(figures.free),
      };
      for (const [name, value] of Object.entries(values)) element(name + "-" + index).textContent = value;
      flash.film.header.gauges.forEach((_, at) => {
        // A disk without power, of which a page may have been made, has no gauges.
        const cell = element("gauge-" + index + "-" + at);
        if (cell !== null) cell.textContent = real(flash.gauges[at]);
      });
    }

    listScenes() {
      const { scenes, films } = this.player;
      const at = this.player.sceneIndex() - 1;
      const first = Math.max(0, Math.min(at - 2, scenes.length - SCENES_SHOWN));
      const key = first + ":" + at;
      if (key === this.listed) return;
      this.listed = key;
      const shown = scenes.slice(first, first + SCENES_SHOWN);
      const hadFocus = element("scenes").contains(document.activeElement);
      element("scenes").replaceChildren(...shown.map(({ scene, film, tick }, index) => {
        const item = document.createElement("li");
        const button = document.createElement("button");
        button.type = "button";
        const prefix = films.length > 1 ? films[film].header.about.scheme + ": " : "";
        button.textContent = prefix + filmCaptions.titleOf(films[film], scene);
        button.addEventListener("click", () => this.jump(tick));
        if (first + index === at) button.setAttribute("aria-current", "true");
        item.append(button);
        return item;
      }));
      if (hadFocus) element("scenes").querySelector("[aria-current]")?.focus({ preventScroll: true });
    }

    // Tells those who cannot see the map what is shown.
    say() {
      const parts = this.player.flashes.flatMap((_, index) =>
        ["scene-", "operation-"].map((id) => element(id + index).textContent));
      const words = parts.filter((part) => part !== "").join(" ");
      if (words === this.spoken) return;
      this.spoken = words;
      element("live").textContent = words;
    }

    // ---- Moving --------------------------------------------------------------------------------

    // Goes to a moment; the operations on the way are marked if there are few.
    jump(tick, marks = 1) {
      const before = this.player.tick;
      this.player.seek(tick);
      const moved = this.player.tick - before;
      this.recent = this.player.flashes.map((flash) => this.lastSteps(flash, moved > 0 ? Math.max(marks, 1) : 1));
      this.draw();
      if (!this.isPlaying) this.remember();
    }

    lastSteps(flash, most) {
      const end = flash.film.requests.steps[flash.request] + flash.done;
      const first = Math.max(flash.film.requests.steps[flash.request], end - most);
      return Array.from({ length: end - first }, (_, index) => first + index);
    }

    step(by) {
      this.pause();
      this.jump(this.player.tick + by);
    }

    scene(direction) {
      const found = direction > 0 ? this.player.nextScene() : this.player.previousScene();
      if (found !== undefined) this.jump(found.tick);
    }

    play() {
      if (this.player.tick >= this.player.end) this.player.seek(0);
      this.isPlaying = true;
      this.showState();
      let [last, left] = [performance.now(), 0];
      const picture = (now) => {
        if (!this.isPlaying) return;
        left += (Math.min(200, now - last) / 1000) * this.speed;
        last = now;
        const ticks = Math.floor(left);
        left -= ticks;
        if (ticks > 0) this.jump(this.player.tick + ticks, ticks);
        if (this.player.tick >= this.player.end) return this.pause();
        return requestAnimationFrame(picture);
      };
      requestAnimationFrame(picture);
    }

    pause() {
      if (!this.isPlaying) return;
      this.isPlaying = false;
      this.showState();
      this.tell();
      this.remember();
    }

    toggle() {
      if (this.isPlaying) this.pause();
      else this.play();
    }

    showState() {
      const button = element("play");
      button.textContent = this.isPlaying ? "Pause" : "Play";
    }

    // The link carries the moment.
    remember() {
      // In a notebook it has no address of its own, and what a disk does now has no moment to come back to.
      if (location.protocol === "about:" || isLive) return;
      const hash = "#" + this.player.moment();
      if (location.hash !== hash) history.replaceState(null, "", hash);
    }

    // ---- Controls ------------------------------------------------------------------------------

    listen() {
      const on = (id, type, handler) => element(id).addEventListener(type, handler);
      on("play", "click", () => this.toggle());
      on("back", "click", () => this.step(-1));
      on("forward", "click", () => this.step(1));
      on("previous", "click", () => this.scene(-1));
      on("next", "click", () => this.scene(1));
      on("speed", "change", (event) => { this.speed = Number(event.target.value); });
      on("scrub", "input", (event) => this.jump(this.player.tickAt(Number(event.target.value) / 10000)));
      on("colouring", "change", (event) => {
        this.each((map) => { map.colouring = event.target.value; });
        this.scale();
      });
      on("wear", "change", (event) => this.rearrange((map) => { map.showsWear = event.target.checked; }));
      on("arrange", "change", (event) => this.rearrange((map) => { map.isByRole = event.target.value === "role"; }));
      on("closer", "click", () => this.each((map) => map.zoomBy(1.5)));
      on("wider", "click", () => this.each((map) => map.zoomBy(1 / 1.5)));
      on("still", "click", () => this.save());
      on("curves", "click", (event) => this.jump(this.player.ticks[this.curves.requestAt(event.offsetX)]));
      this.strips.forEach((strip) => strip.canvas.addEventListener("click", (event) =>
        this.jump(this.player.ticks[strip.requestAt(event.offsetX, this.player.request)])));
      this.maps.forEach((map) => this.listenTo(map));
      document.addEventListener("keydown", (event) => this.key(event));
      window.addEventListener("hashchange", () => this.follow());
      window.addEventListener("resize", () => this.resize());
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.resize());
    }

    each(change) {
      for (const map of this.maps) {
        change(map);
        map.flash.everything = map.flash.moved = true;
      }
      this.draw();
    }

    rearrange(change) {
      this.maps.forEach(change);
      this.resize();
    }

    follow() {
      if (location.hash.length < 2) return;
      this.player.goTo(location.hash.slice(1));
      this.jump(this.player.tick);
    }

    key(event) {
      const isTyping = event.target.closest("select, input, summary, button, .layers canvas");
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const moves = {
        ArrowLeft: () => this.step(-1),
        ArrowRight: () => this.step(1),
        PageUp: () => this.scene(-1),
        PageDown: () => this.scene(1),
        Home: () => this.jump(0),
        End: () => this.jump(this.player.end),
        " ": () => this.toggle(),
        n: () => this.scene(1),
        p: () => this.scene(-1),
        "+": () => this.each((map) => map.zoomBy(1.5)),
        "-": () => this.each((map) => map.zoomBy(1 / 1.5)),
      };
      const isOurs = !isTyping || /^[np+-]$/.test(event.key);
      if (moves[event.key] === undefined || !isOurs) return;
      event.preventDefault();
      moves[event.key]();
    }

    listenTo(map) {
      const { canvas } = map;
      const tell = (block, ppn) => {
        if (block !== undefined) element("block").textContent = filmCaptions.blockOf(map.flash, block, ppn);
      };
      const point = (event) => tell(map.blockAt(event.offsetX, event.offsetY), map.pageAt(event.offsetX, event.offsetY));
      let drag;
      canvas.addEventListener("pointerdown", (event) => { drag = [event.offsetX, event.offsetY]; });
      window.addEventListener("pointerup", () => { drag = undefined; });
      canvas.addEventListener("pointermove", (event) => {
        if (drag === undefined) return point(event);
        map.pan(drag[0] - event.offsetX, drag[1] - event.offsetY);
        drag = [event.offsetX, event.offsetY];
        map.flash.everything = true;
        return this.draw();
      });
      canvas.addEventListener("click", (event) => {
        map.selected = map.blockAt(event.offsetX, event.offsetY);
        point(event);
        this.draw();
      });
      canvas.addEventListener("wheel", (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        map.zoomBy(event.deltaY < 0 ? 1.2 : 1 / 1.2, event.offsetX, event.offsetY);
        map.flash.everything = true;
        this.draw();
      }, { passive: false });
      canvas.addEventListener("keydown", (event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -8, ArrowDown: 8 }[event.key];
        if (by === undefined) return;
        event.preventDefault();
        tell(map.select(by));
        element("live").textContent = element("block").textContent;
        this.draw();
      });
    }

    // A still as SVG.
    save() {
      this.maps.forEach((map, index) => {
        const title = element("scene-" + index).textContent;
        const link = document.createElement("a");
        link.href = URL.createObjectURL(new Blob([map.svg(title)], { type: "image/svg+xml" }));
        link.download = map.flash.film.header.about.scheme + "-" + this.player.moment() + ".svg";
        link.click();
      });
    }
  }

  const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1);

  async function open() {
    const films = [];
    for (const script of document.querySelectorAll("script.film-data")) films.push(await filmOf(packedIn(script)));
    const page = new Page(new filmPlayer.Player(films));
    window.film = page;
    const speed = element("speed");
    for (const per of SPEEDS) speed.add(new Option(number(per) + " / s", per, per === 4, per === 4));
    for (const name of filmMap.colourings(films)) element("colouring").add(new Option(name, name));
    for (const map of page.maps) map.colouring = element("colouring").value;
    page.listen();
    page.resize();
    page.follow();
    if (isLive) filmLive.watch(page);
    document.body.dataset.done = String(films.length);
    document.body.dataset.opened = String(Math.round(performance.now()));
  }

  open().catch((error) => {
    element("scene-0").textContent = "This film cannot be shown: " + error.message;
    document.body.dataset.failed = error.message;
    console.error(error);
  });
})();
