"use strict";
// Curves along the film, and the strip of requests: both lead to the moment at which they are clicked.
const filmCurves = (function () {
  const HEIGHT = 46; // pixels of a curve
  const TITLE = 16;
  const CURVES_MAX = 6;
  const COLUMN = 18; // pixels of a request in the strip
  const STRIP = 78;

  // The quantities that have curves: for each its name, its value before the first request and at the end of each, and
  // that of a moment.
  function quantities(film) {
    const { requests, header, steps } = film;
    const [before] = header.takes;
    const programs = new Float64Array(requests.count);
    let sum = 0;
    for (let request = 0; request < requests.count; request++) {
      const take = requests.take[request];
      if (request === 0 || requests.take[request - 1] !== take) sum = header.takes[take].tally[2].reduce((a, b) => a + b);
      for (let at = requests.steps[request]; at < requests.steps[request + 1]; at++) {
        if (filmFlash.isProgram(steps.kind[at])) sum += 1;
      }
      programs[request] = sum;
    }
    const amplification = programs.map((count, at) => (requests.entered[at] > 0 ? count / requests.entered[at] : NaN));
    const gauges = header.gauges.map((name, at) => ({
      name: name.replaceAll("_", " "),
      first: before.gauges[at],
      values: requests.gauges[at],
      now: (flash) => flash.gauges[at],
    }));
    // How many blocks are free, only a guest knows.
    const blocks = { name: "free blocks", first: before.free_blocks, values: requests.free, now: (flash) => flash.free };
    const free = header.about.is_guest ? [] : [blocks];
    const now = (flash) => (flash.entered > 0 ? flash.figures().programs / flash.entered : NaN);
    return [{ name: "write amplification", first: 0, values: amplification, now }, ...free, ...gauges].slice(0, CURVES_MAX);
  }

  class Curves {
    constructor(canvas, films) {
      this.canvas = canvas;
      const all = films.map(quantities);
      const names = [...new Set(all.flatMap((list) => list.map((it) => it.name)))];
      this.rows = names.map((name) => {
        const found = all.map((list) => list.find((it) => it.name === name));
        const first = Math.max(...found.map((it) => it?.first || 0));
        return { name, first, values: found.map((it) => it?.values), now: found.map((it) => it?.now) };
      });
      // A quantity that never changes needs no curve.
      const isMoving = (values) => values !== undefined && values.some((value) => value !== values[0]);
      this.rows = this.rows.filter((row, at) => at === 0 || row.values.some(isMoving));
      this.film = films[0];
      this.count = films[0].requests.count;
    }

    resize(width, colours) {
      this.colours = colours;
      this.width = width;
      this.columns = width < 560 ? 1 : 2;
      this.rowsHigh = Math.ceil(this.rows.length / this.columns);
      this.panel = (width - (this.columns - 1) * 24) / this.columns;
      this.height = this.rowsHigh * (HEIGHT + TITLE + 8);
      this.still = document.createElement("canvas");
      this.ratio = window.devicePixelRatio || 1;
      for (const canvas of [this.canvas, this.still]) {
        canvas.width = Math.round(width * this.ratio);
        canvas.height = Math.round(this.height * this.ratio);
      }
      this.canvas.style.height = this.height + "px";
      const context = this.still.getContext("2d");
      context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      this.rows.forEach((row, index) => this.drawRow(context, row, index));
    }

    corner(index) {
      const [column, line] = [index % this.columns, Math.floor(index / this.columns)];
      return [column * (this.panel + 24), line * (HEIGHT + TITLE + 8) + TITLE];
    }

    drawRow(context, row, index) {
      const [left, top] = this.corner(index);
      this.gaps(context, left, top);
      const [low, high] = range(row.values, index === 0 ? Math.floor(this.count / 20) : 0, row.first);
      row.high = high;
      row.scale = (value) => top + HEIGHT - 2 - (Math.min(value - low, high - low) / (high - low || 1)) * (HEIGHT - 4);
      context.lineWidth = 1.4;
      row.values.forEach((values, film) => {
        if (values === undefined) return;
        context.strokeStyle = this.colours.films[film];
        context.beginPath();
        this.trace(context, values, left, row.scale);
        context.stroke();
      });
      context.font = "10px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";
      context.fillStyle = this.colours.soft;
      context.textAlign = "right";
      context.fillText(filmCaptions.real(high), left + this.panel, top - 4);
      context.textAlign = "left";
    }

    // Places at which the film leaves something out.
    gaps(context, left, top) {
      context.strokeStyle = this.colours.line;
      context.lineWidth = 1;
      context.strokeRect(left + 0.5, top + 0.5, this.panel - 1, HEIGHT - 1);
      const { take } = this.film.requests;
      const { takes } = this.film.header;
      let x = -9;
      for (let request = 1; request < this.count; request++) {
        if (take[request] === take[request - 1]) continue;
        const before = takes[take[request - 1]];
        if (before.before + before.requests === takes[take[request]].before) continue;
        const at = left + (request / this.count) * this.panel;
        if (at - x < 3) continue;
        x = at;
        context.beginPath();
        context.moveTo(at, top);
        context.lineTo(at, top + HEIGHT);
        context.stroke();
      }
    }

    // For each pixel the lowest and the highest value.
    trace(context, values, left, scale) {
      const pixels = Math.ceil(this.panel);
      let isDrawing = false;
      for (let pixel = 0; pixel < pixels; pixel++) {
        const from = Math.floor((pixel * this.count) / pixels);
        const to = Math.max(from + 1, Math.floor(((pixel + 1) * this.count) / pixels));
        let [low, high] = [Infinity, -Infinity];
        for (let at = from; at < to; at++) {
          if (values[at] < low) low = values[at];
          if (values[at] > high) high = values[at];
        }
        if (low === Infinity) continue;
        const x = left + pixel;
        if (isDrawing) context.lineTo(x, scale(values[from]));
        else context.moveTo(x, scale(values[from]));
        if (high > low) {
          context.lineTo(x, scale(low));
          context.lineTo(x, scale(high));
        }
        isDrawing = true;
      }
    }

    // Takes the values of the moment, which the titles show.
    note(flashes) {
      for (const row of this.rows) row.title = row.name + "  " + this.valuesOf(row, flashes);
    }

    draw(request) {
      const context = this.canvas.getContext("2d");
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, this.canvas.width, this.canvas.height);
      context.drawImage(this.still, 0, 0);
      context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      context.font = "600 11px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";
      this.rows.forEach((row, index) => {
        const [left, top] = this.corner(index);
        const x = left + ((request + 0.5) / this.count) * this.panel;
        context.strokeStyle = context.fillStyle = this.colours.text;
        context.lineWidth = 1;
        context.beginPath();
        context.moveTo(x, top);
        context.lineTo(x, top + HEIGHT);
        context.stroke();
        context.fillText(row.title, left, top - 4);
      });
    }

    valuesOf(row, flashes) {
      return row.now.map((of, at) => of && filmCaptions.real(of(flashes[at]))).filter((it) => it !== undefined).join(" / ");
    }

    // The curves in words, for those who cannot see them.
    inWords(flashes) {
      return this.rows.map((row) => row.name + " now " + this.valuesOf(row, flashes) + ", drawn up to " +
        filmCaptions.real(row.high)).join("; ");
    }

    // The request at a point.
    requestAt(x) {
      const inPanel = x % (this.panel + 24);
      return Math.max(0, Math.min(this.count - 1, Math.floor((inPanel / this.panel) * this.count)));
    }
  }

  // From 0 to the highest value from a request on. Write amplification starts with peaks of the first few requests, which
  // would leave no room for the rest.
  function range(lists, first, before) {
    let [low, high] = [0, before];
    for (const values of lists.filter((it) => it !== undefined)) {
      for (let at = first; at < values.length; at++) if (values[at] > high) high = values[at];
    }
    if (!(high > low)) high = 1;
    return [low, high];
  }

  // Requests of the host in their order, each with the operations that it caused.
  class Strip {
    constructor(canvas, film) {
      this.canvas = canvas;
      this.show(film);
    }

    show(film) {
      this.film = film;
      const { requests, steps } = film;
      this.causes = film.header.causes.length;
      this.counts = new Uint32Array(requests.count * this.causes);
      for (let request = 0; request < requests.count; request++) {
        for (let at = requests.steps[request]; at < requests.steps[request + 1]; at++) {
          this.counts[request * this.causes + steps.cause[at]] += 1;
        }
      }
    }

    resize(width, colours) {
      this.colours = colours;
      this.width = width;
      const ratio = window.devicePixelRatio || 1;
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(STRIP * ratio);
      this.canvas.style.height = STRIP + "px";
      this.canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }

    first(request) {
      return request - Math.floor(this.width / COLUMN / 2);
    }

    draw(request) {
      const context = this.canvas.getContext("2d");
      context.clearRect(0, 0, this.width, STRIP);
      context.textAlign = "center";
      const first = this.first(request);
      for (let at = Math.max(0, first); at < this.film.requests.count; at++) {
        const x = (at - first) * COLUMN;
        if (x > this.width) break;
        this.column(context, at, x, at === request);
      }
      context.textAlign = "left";
    }

    column(context, request, x, isCurrent) {
      const { requests } = this.film;
      const bottom = STRIP - 20;
      context.fillStyle = isCurrent ? this.colours.text : this.colours.cell;
      context.fillRect(x + 1, bottom + 2, COLUMN - 2, 16);
      context.fillStyle = isCurrent ? this.colours.ground : this.colours.soft;
      context.font = "600 11px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";
      context.fillText("RWTFM×C·"[requests.op[request]], x + COLUMN / 2, bottom + 14);
      // The height grows with the logarithm, so that one program and a thousand copies are both seen.
      const counts = this.counts.subarray(request * this.causes, (request + 1) * this.causes);
      const all = counts.reduce((sum, count) => sum + count, 0);
      if (all === 0) return;
      const height = Math.min(bottom - 12, 6 * Math.log2(all + 1));
      let y = bottom;
      counts.forEach((count, cause) => {
        const part = (height * count) / all;
        context.fillStyle = this.colours.causes[cause];
        context.fillRect(x + 2, y - part, COLUMN - 4, part);
        y -= part;
      });
      if (all > 1) {
        context.fillStyle = this.colours.soft;
        context.font = "9px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";
        context.fillText(all > 999 ? Math.round(all / 1000) + "k" : all, x + COLUMN / 2, y - 3);
      }
    }

    requestAt(x, request) {
      const at = this.first(request) + Math.floor(x / COLUMN);
      return Math.max(0, Math.min(this.film.requests.count - 1, at));
    }
  }

  return { Curves, Strip };
})();
