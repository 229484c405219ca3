"use strict";
// The chip as a map of blocks on a canvas. Blocks with the same role stand together: data blocks in the order of their
// logical blocks, others in the order in which they were opened.
const filmMap = (function () {
  const { NONE, SYSTEM, VALID, ERASE, COPY, MEDIA_COPY, PROGRAM } = filmFlash;
  const TORN = 2;
  const TITLE = 18; // pixels of a section's title
  const LABEL = 11; // pixels of the line below a block
  const LABELLED = 30; // blocks from this width on have a label
  const [LETTER, LABEL_LETTER] = [7, 5]; // pixels of a letter in a title, and in a label, about
  const PAGE_MAX = 28; // pixels of a page at most, unless the reader zooms in
  const COLOURS = 64; // shades of a scale
  const [AGES, CAUSES] = [COLOURS, 2 * COLOURS]; // where colours begin in the palette, behind the hues
  const LETTERS = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";

  // What pages are coloured by, the default first. Pages of guests have no address and no role.
  function colourings(films) {
    const ofGuests = ["cause", "age", "stream"];
    const isOfGuests = films.every((film) => film.header.about.is_guest);
    return isOfGuests ? ofGuests : ["logical address", "age", "cause", "stream", "role"];
  }

  class ChipMap {
    constructor(canvas, overlay, flash) {
      Object.assign(this, { canvas, overlay, flash, pixels: new filmPixels.Pixels(canvas) });
      this.colouring = "";
      this.erasedName = flash.film.header.about.is_guest ? "erased" : "free";
      this.showsWear = false;
      this.isByRole = true;
      this.zoom = 1;
      this.origin = [0, 0];
      this.columns = 2 ** Math.ceil(Math.log2(Math.sqrt(flash.per)));
      this.rows = Math.ceil(flash.per / this.columns);
      this.x = new Float64Array(flash.blocks);
      this.y = new Float64Array(flash.blocks);
      this.before = { x: new Float64Array(flash.blocks), y: new Float64Array(flash.blocks), sections: "" };
      this.marked = new Uint8Array(flash.blocks); // blocks that are to be drawn
      this.logical = flash.film.header.about.logical_pages;
      this.selected = undefined;
      this.sections = [];
      this.most = new Map(); // the most blocks that each section had: it keeps their room
    }

    // ---- Layout --------------------------------------------------------------------------------

    // Fits the map into a width and at most this height.
    resize(width, height, colours) {
      Object.assign(this, { width, height, colours });
      this.palettes();
      this.fitting = this.largestPage(this.arrange());
    }

    fit(page) {
      this.fitting = page;
      this.place(this.arrange(), page);
    }

    // The height that the map takes, with room for a line of blocks more.
    neededHeight() {
      return Math.min(this.height, Math.ceil(this.contentHeight + this.blockHeight + LABEL));
    }

    setHeight(height) {
      this.height = height;
      const { pixels, overlay } = this;
      pixels.resize(this.width, height, this.colours.ground);
      [overlay.width, overlay.height] = [pixels.wide, pixels.high];
      overlay.getContext("2d").setTransform(pixels.ratio, 0, 0, pixels.ratio, 0, 0);
      for (const canvas of [this.canvas, overlay]) canvas.style.height = height + "px";
      this.flash.everything = this.flash.moved = true;
    }

    // The blocks by sections, in order.
    arrange() {
      const { flash } = this;
      const all = Array.from({ length: flash.blocks }, (_, block) => block);
      if (!this.isByRole) return [["all blocks", all]];
      const names = flash.film.header.roles;
      const sections = new Map([...names, this.erasedName].map((name) => [name, []]));
      const section = (block) => (flash.filled[block] === 0 ? this.erasedName : names[flash.role[block]]);
      for (const block of all) sections.get(section(block)).push(block);
      const key = (block) => (flash.of[block] === NONE ? flash.since[block] : flash.of[block]);
      for (const blocks of sections.values()) blocks.sort((one, other) => key(one) - key(other) || one - other);
      for (const [name, blocks] of sections) this.most.set(name, Math.max(this.most.get(name) || 0, blocks.length));
      return [...sections].filter(([name]) => this.most.get(name) > 0);
    }

    // Places all blocks. The size of a page stays as long as everything fits, so that nothing jumps.
    layOut() {
      const sections = this.arrange();
      if (this.place(sections, this.fitting) > this.height) {
        this.fitting = this.largestPage(sections);
      }
      this.place(sections, this.fitting * this.zoom);
    }

    // The largest size of a page with which everything fits, and some more.
    largestPage(sections) {
      const fits = (size) => this.place(sections, size) + this.blockHeight <= this.height;
      let page = PAGE_MAX;
      while (page > 1 && !fits(page)) page -= page > 4 ? 1 : 0.25;
      while (page > 0.1 && !fits(page)) page *= 0.9;
      return page;
    }

    // Places the blocks; returns the height of all.
    place(sections, page) {
      this.page = page;
      this.gap = Math.max(1, Math.min(7, page * 0.8));
      this.blockWidth = this.columns * page;
      const hasLabels = this.blockWidth >= LABELLED;
      this.blockHeight = this.rows * page + (this.showsWear ? 4 : 0);
      const [stepX, stepY] = [this.blockWidth + this.gap, this.blockHeight + this.gap + (hasLabels ? LABEL : 0)];
      this.step = [stepX, stepY];
      const width = this.width * Math.max(1, this.zoom);
      const perLine = Math.max(1, Math.floor((width + this.gap) / stepX));
      this.sections = [];
      let [x, y, below] = [0, 0, 0];
      for (const [name, blocks] of sections) {
        const note = "· " + blocks.length + (this.isByAge(name, blocks) ? ", oldest first" : "");
        const most = this.isByRole ? this.most.get(name) : blocks.length;
        // Sections of a single line stand side by side.
        const room = Math.max(Math.min(most, perLine) * stepX, (name.length + 18) * LETTER);
        if (x > 0 && (most > perLine || x + room > width)) [x, y] = [0, below];
        this.sections.push({ name, note, x, y, room: most > perLine ? width : room });
        blocks.forEach((block, index) => {
          this.x[block] = x + (index % perLine) * stepX;
          this.y[block] = y + TITLE + Math.floor(index / perLine) * stepY;
        });
        below = Math.max(below, y + TITLE + Math.ceil(Math.max(most, 1) / perLine) * stepY + 3);
        if (most > perLine) [x, y] = [0, below];
        else x += room + this.gap;
      }
      this.contentHeight = below;
      return below;
    }

    // Whether blocks stand in the order in which they were opened. It is not known of those opened before the film.
    isByAge(name, blocks) {
      const { of, since } = this.flash;
      const isKnown = blocks.every((block) => of[block] === NONE && since[block] > 0);
      return this.isByRole && name !== this.erasedName && blocks.length > 1 && isKnown;
    }

    // ---- Colours -------------------------------------------------------------------------------

    palettes() {
      const { colours } = this;
      const light = colours.isDark ? 62 : 52;
      const hue = (share) => "hsl(" + Math.round(share * 300) + " 68% " + light + "%)";
      const ramp = (share) => "hsl(" + Math.round(265 - share * 215) + " " + Math.round(30 + share * 50) + "% " +
        Math.round(colours.isDark ? 32 + share * 34 : 78 - share * 34) + "%)";
      const shades = (of) => Array.from({ length: COLOURS }, (_, at) => of(at / (COLOURS - 1)));
      this.palette = [...shades(hue), ...shades(ramp), ...colours.causes, colours.soft];
      this.solid = filmPixels.codes(this.palette);
      this.pale = filmPixels.codes(this.palette, colours.cell, 0.35);
      const names = ["cell", "text", "line", "bad"];
      const codes = filmPixels.codes(names.map((name) => colours[name]));
      this.codes = Object.fromEntries(names.map((name, at) => [name, codes[at]]));
    }

    // The colour of a page: its number in the palette.
    colourOf(ppn) {
      const { flash } = this;
      const kinds = this.colours.causes.length;
      if (this.colouring === "cause") return CAUSES + (flash.born[ppn] === 0 ? kinds : flash.cause[ppn] % kinds);
      if (this.colouring === "stream") return CAUSES + (flash.stream[ppn] % kinds);
      if (this.colouring === "role") return CAUSES + (flash.role[Math.floor(ppn / flash.per)] % kinds);
      if (this.colouring === "age") {
        const age = Math.max(0, flash.programs - flash.born[ppn]);
        const share = flash.born[ppn] === 0 ? 0 : 1 - Math.log2(age + 1) / Math.log2(flash.programs + 2);
        return AGES + Math.floor(Math.max(0, share) * (COLOURS - 1));
      }
      const [owner, logical] = [flash.owner[ppn], this.logical];
      return owner >= logical ? CAUSES + kinds : Math.floor((owner / logical) * COLOURS);
    }

    // What the colours mean: names with colours, and scales from a name until another one.
    legend() {
      const { colours, flash: { film } } = this;
      const named = (names) =>
        names.slice(0, colours.causes.length).map((name, at) => ({ name, colour: colours.causes[at] }));
      const scale = (shades) => "linear-gradient(to right," + shades.join(",") + ")";
      switch (this.colouring) {
        case "cause": {
          const seen = new Set([0, ...new Set(film.steps.cause)]);
          const causes = named(film.header.causes).filter((_, at) => seen.has(at));
          return [...causes, { name: "before the film", colour: colours.soft }];
        }
        case "role": return named(film.header.roles);
        case "stream": {
          const last = film.spans.stream.reduce((most, stream) => Math.max(most, stream), 0);
          return named(Array.from({ length: last + 1 }, (_, at) => "stream " + at));
        }
        case "age": {
          const colour = scale(this.palette.slice(AGES, CAUSES));
          return [{ name: "programmed long ago", colour, until: "just now" }];
        }
        default: {
          const last = "LPN " + filmCaptions.number(film.header.about.logical_pages - 1);
          return [{ name: "LPN 0", colour: scale(this.palette.slice(0, COLOURS)), until: last }];
        }
      }
    }

    // ---- Drawing -------------------------------------------------------------------------------

    // Draws what changed since the last picture.
    draw() {
      const { flash, marked } = this;
      const isMuch = flash.changed.length > flash.pages / 3;
      const isAll = flash.everything || isMuch || (this.colouring === "age" && flash.changed.length > 0);
      if (flash.moved || isAll) this.layOut();
      if (isAll || !this.clearMoved()) {
        this.pixels.clear();
        marked.fill(1);
      }
      for (const ppn of flash.changed) marked[(ppn / flash.per) | 0] = 1;
      if (flash.moved || isAll) this.drawTitles();
      for (let block = 0; block < flash.blocks; block++) if (marked[block] === 1) this.drawBlock(block);
      marked.fill(0);
      this.before.x.set(this.x);
      this.before.y.set(this.y);
      flash.changed.length = 0;
      flash.moved = flash.everything = false;
      this.pixels.show();
    }

    // Clears the places of blocks that moved, and marks these. Says no if the sections moved: then all has to be drawn.
    clearMoved() {
      if (!this.flash.moved) return true;
      const { x, y } = this.before;
      const sections = this.page + this.sections.map((section) => " " + section.x + " " + section.y).join();
      if (sections !== this.before.sections) {
        this.before.sections = sections;
        return false;
      }
      for (let block = 0; block < this.flash.blocks; block++) {
        if (x[block] === this.x[block] && y[block] === this.y[block]) continue;
        this.pixels.erase(x[block] - this.origin[0], y[block] - this.origin[1], this.step[0], this.step[1]);
        this.marked[block] = 1;
      }
      return true;
    }

    drawTitles() {
      for (const { name, note, x, y, room } of this.sections) {
        const [left, top] = [x + 1 - this.origin[0], y - this.origin[1] + 1];
        this.pixels.erase(left, top, room, TITLE - 2);
        const width = this.pixels.text(name + " ", left, top, "600 12px " + LETTERS, this.colours.text);
        this.pixels.text(note, left + width, top, "600 12px " + LETTERS, this.colours.soft);
      }
    }

    corner(block) {
      return [this.x[block] - this.origin[0], this.y[block] - this.origin[1]];
    }

    isVisible(x, y) {
      return x < this.width && y < this.height && x + this.blockWidth > 0 && y + this.blockHeight + LABEL > 0;
    }

    drawBlock(block) {
      const [x, y] = this.corner(block);
      if (!this.isVisible(x, y)) return;
      const height = this.rows * this.page;
      this.pixels.fill(x, y, this.blockWidth, height, this.codes.cell);
      if (this.page < 1) this.drawSmallBlock(block, x, y, height);
      else this.drawPages(block, x, y);
      if (this.showsWear) this.drawWear(block, x, y + height + 1);
      if (this.blockWidth >= LABELLED) this.label(block, x, y + this.blockHeight + 1);
    }

    drawPages(block, x, y) {
      const { flash, page } = this;
      const line = page >= 4 ? 1 : 0;
      for (let offset = 0; offset < flash.per; offset++) {
        const ppn = block * flash.per + offset;
        if (flash.owner[ppn] === NONE) continue;
        const [left, top] = [x + (offset % this.columns) * page, y + Math.floor(offset / this.columns) * page];
        this.drawPage(ppn, left, top, page - line);
      }
      const filled = flash.filled[block];
      if (filled > 0 && filled < flash.per && page >= 4) this.drawFrontier(block, x, y);
    }

    // A valid page is a square, a stale one a dot, a torn one a cross.
    drawPage(ppn, left, top, size) {
      const state = this.flash.state[ppn];
      if (state === TORN) return this.pixels.cross(left, top, size, this.codes.bad);
      const colour = this.colourOf(ppn);
      if (state === VALID) return this.pixels.fill(left, top, size, size, this.solid[colour]);
      // Whole pixels, so that all dots are squares of the same size.
      const dot = Math.max(1, Math.round(size * (size >= 4 ? 0.42 : 0.6)));
      const inset = Math.floor((size - dot) / 2);
      return this.pixels.fill(left + inset, top + inset, dot, dot, (size < 4 ? this.pale : this.solid)[colour]);
    }

    // The page that is programmed next.
    drawFrontier(block, x, y) {
      let offset = this.flash.per;
      while (offset > 0 && this.flash.owner[block * this.flash.per + offset - 1] === NONE) offset -= 1;
      if (offset === this.flash.per) return;
      const [left, top] = [offset % this.columns, Math.floor(offset / this.columns)];
      this.pixels.frame(x + left * this.page, y + top * this.page, this.page - 1, this.page - 1, this.codes.text);
    }

    drawSmallBlock(block, x, y, height) {
      const { flash } = this;
      const valid = flash.validPages(block) / flash.per;
      const filled = flash.filled[block] / flash.per;
      this.pixels.fill(x, y, this.blockWidth, height * filled, this.codes.line);
      const first = flash.owner[block * flash.per];
      const isOfHost = first !== NONE && first !== SYSTEM;
      const colour = isOfHost ? this.colourOf(block * flash.per) : this.palette.length - 1;
      this.pixels.fill(x, y, this.blockWidth, height * valid, this.solid[colour]);
    }

    drawWear(block, x, y) {
      const most = this.wearMax();
      this.pixels.fill(x, y, this.blockWidth, 3, this.codes.line);
      this.pixels.fill(x, y, most === 0 ? 0 : (this.blockWidth * this.flash.wear[block]) / most, 3, this.codes.bad);
    }

    wearMax() {
      let most = 0;
      for (const wear of this.flash.wear) if (wear > most) most = wear;
      return most;
    }

    label(block, x, y) {
      const { flash } = this;
      this.pixels.erase(x, y, this.blockWidth + this.gap - 1, LABEL);
      const hasNumber = this.isByRole && flash.filled[block] > 0 && flash.of[block] !== NONE;
      const [word, number] = hasNumber ? [flash.role[block] === 0 ? "LBN " : "of ", flash.of[block]] : ["block ", block];
      // All blocks have the word, or none.
      const letters = word.length + String(flash.blocks).length;
      const text = letters * LABEL_LETTER <= this.blockWidth + this.gap ? word + number : String(number);
      this.pixels.text(text, x, y, "9px " + LETTERS, this.colours.soft);
    }

    // ---- What happens now ----------------------------------------------------------------------

    // Marks the blocks of a scene, and the operations that were done since the last picture: `recent` are their numbers.
    drawOverlay(recent, scene) {
      const context = this.overlay.getContext("2d");
      context.clearRect(0, 0, this.width, this.height);
      const { steps } = this.flash.film;
      if (scene !== undefined) this.ringScene(context, scene);
      context.strokeStyle = this.colours.text;
      for (const at of recent.slice(-64)) {
        const [kind, place] = [steps.kind[at], steps.place[at]];
        if (kind === ERASE) this.ringBlock(context, place, this.colours.bad);
        else if (kind <= COPY) this.ringPage(context, place, kind === PROGRAM || kind === COPY ? 2 : 1);
        if (kind === COPY || kind === MEDIA_COPY) this.ringPage(context, steps.from[at], 1);
      }
      const last = recent[recent.length - 1];
      if (last !== undefined && steps.kind[last] === COPY) this.arrow(context, steps.from[last], steps.place[last]);
      if (this.selected !== undefined) this.ringBlock(context, this.selected, this.colours.text);
    }

    // The blocks from which a scene copies, and those that take pages.
    ringScene(context, scene) {
      const { per, film: { steps, requests } } = this.flash;
      const [from, to] = [new Set(), new Set()];
      const first = requests.steps[scene.request] + scene.first;
      for (let at = first; at < first + scene.steps; at++) {
        if (steps.kind[at] === COPY) from.add(Math.floor(steps.from[at] / per));
        if (steps.kind[at] === COPY || steps.kind[at] === PROGRAM) to.add(Math.floor(steps.place[at] / per));
      }
      context.setLineDash([3, 3]);
      for (const block of from) this.ringBlock(context, block, this.colours.accent);
      context.setLineDash([]);
      for (const block of to) this.ringBlock(context, block, this.colours.accent);
    }

    centre(ppn) {
      const block = Math.floor(ppn / this.flash.per);
      const [x, y] = this.corner(block);
      const offset = ppn % this.flash.per;
      const [left, top] = [offset % this.columns, Math.floor(offset / this.columns)];
      return [x + (left + 0.5) * this.page, y + (top + 0.5) * this.page];
    }

    ringPage(context, ppn, width) {
      const [x, y] = this.centre(ppn);
      const half = Math.max(2, this.page / 2);
      context.lineWidth = width;
      context.strokeRect(x - half, y - half, 2 * half - 1, 2 * half - 1);
    }

    ringBlock(context, block, colour) {
      const [x, y] = this.corner(block);
      context.save();
      context.strokeStyle = colour;
      context.lineWidth = 2;
      context.strokeRect(x - 1.5, y - 1.5, this.blockWidth + 3, this.rows * this.page + 3);
      context.restore();
    }

    arrow(context, from, to) {
      const [[x, y], [left, top]] = [this.centre(from), this.centre(to)];
      const lift = Math.min(60, Math.hypot(left - x, top - y) / 4);
      context.lineWidth = 1.5;
      context.beginPath();
      context.moveTo(x, y);
      context.quadraticCurveTo((x + left) / 2, (y + top) / 2 - lift, left, top);
      context.stroke();
      const angle = Math.atan2(top - (y + top) / 2 + lift, left - (x + left) / 2);
      context.beginPath();
      context.moveTo(left, top);
      for (const turn of [2.6, -2.6]) {
        context.lineTo(left + 8 * Math.cos(angle + turn), top + 8 * Math.sin(angle + turn));
      }
      context.closePath();
      context.fillStyle = this.colours.text;
      context.fill();
    }

    // ---- The reader's hand ---------------------------------------------------------------------

    blockAt(x, y) {
      const [left, top] = [x + this.origin[0], y + this.origin[1]];
      for (let block = 0; block < this.flash.blocks; block++) {
        const isIn = left >= this.x[block] && left < this.x[block] + this.blockWidth + this.gap;
        if (isIn && top >= this.y[block] && top < this.y[block] + this.blockHeight + LABEL) return block;
      }
      return undefined;
    }

    pageAt(x, y) {
      const block = this.blockAt(x, y);
      if (block === undefined) return undefined;
      const [left, top] = this.corner(block);
      const [column, row] = [Math.floor((x - left) / this.page), Math.floor((y - top) / this.page)];
      const offset = row * this.columns + column;
      return column < this.columns && offset < this.flash.per ? block * this.flash.per + offset : undefined;
    }

    zoomBy(factor, x = this.width / 2, y = this.height / 2) {
      const before = this.zoom;
      this.zoom = Math.min(24, Math.max(1, this.zoom * factor));
      const grown = this.zoom / before;
      this.pan((this.origin[0] + x) * (grown - 1), (this.origin[1] + y) * (grown - 1));
    }

    pan(x, y) {
      this.flash.moved = true;
      this.layOut();
      const most = [this.width * (Math.max(1, this.zoom) - 1), Math.max(0, this.contentHeight - this.height)];
      this.origin = [this.origin[0] + x, this.origin[1] + y].map((at, axis) => Math.max(0, Math.min(most[axis], at)));
    }

    // Selects the block that lies `by` blocks further on in the arrangement.
    select(by) {
      const order = this.arrange().flatMap(([, blocks]) => blocks);
      const at = this.selected === undefined ? -1 : order.indexOf(this.selected);
      this.selected = order[(at + by + order.length) % order.length];
      return this.selected;
    }

    // The whole map as SVG, as it looks now.
    svg(title) {
      const parts = [];
      const rect = (x, y, width, height, colour) => parts.push('<rect x="' + x.toFixed(1) + '" y="' + y.toFixed(1) +
        '" width="' + width.toFixed(1) + '" height="' + height.toFixed(1) + '" fill="' + colour + '"/>');
      const text = (words, x, y, size) => parts.push('<text x="' + x + '" y="' + y + '" font-size="' + size +
        '" fill="' + this.colours.text + '">' + escaped(words) + "</text>");
      const top = 40;
      text(title, 4, 18, 13);
      for (const { name, note, x, y } of this.sections) text(name + " " + note, x + 4, y + top + 12, 12);
      for (let block = 0; block < this.flash.blocks; block++) this.svgBlock(block, top, rect);
      const size = [Math.ceil(this.width * Math.max(1, this.zoom)) + 8, Math.ceil(this.contentHeight + top)];
      return '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ' + size.join(" ") + '" font-family="sans-serif">' +
        '<rect width="100%" height="100%" fill="' + this.colours.ground + '"/>' + parts.join("\n") + "</svg>\n";
    }

    svgBlock(block, top, rect) {
      const { flash, page } = this;
      const [x, y] = [this.x[block] + 4, this.y[block] + top];
      rect(x, y, this.blockWidth, this.rows * page, this.colours.cell);
      for (let offset = 0; offset < flash.per; offset++) {
        const ppn = block * flash.per + offset;
        if (flash.owner[ppn] === NONE) continue;
        const size = flash.state[ppn] === VALID ? page * 0.92 : page * 0.4;
        const colour = flash.state[ppn] === TORN ? this.colours.bad : this.palette[this.colourOf(ppn)];
        const inset = (page - size) / 2;
        const [left, down] = [(offset % this.columns) * page, Math.floor(offset / this.columns) * page];
        rect(x + left + inset, y + down + inset, size, size, colour);
      }
    }
  }

  function escaped(words) {
    return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  }

  return { ChipMap, colourings };
})();
