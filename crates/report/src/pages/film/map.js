"use strict";
// The chip as a map of blocks on a canvas. Blocks with the same role stand together: data blocks in the order of their
// logical blocks, others in the order in which they were opened.
const filmMap = (function () {
  const { NONE, SYSTEM, VALID, ERASE, COPY, PROGRAM } = filmFlash;
  const TORN = 2;
  const TITLE = 18; // pixels of a section's title
  const LABEL = 11; // pixels of the line below a block
  const LABELLED = 30; // blocks from this width on have a label
  const PAGE_MAX = 22; // pixels of a page at most, unless the reader zooms in
  const COLOURS = 64; // shades of a scale

  // What pages are coloured by, the default first. Pages of guests have no address and no role.
  function colourings(films) {
    const ofGuests = ["cause", "age", "stream"];
    const isOfGuests = films.every((film) => film.header.about.is_guest);
    return isOfGuests ? ofGuests : ["logical address", "age", "cause", "stream", "role"];
  }

  class ChipMap {
    constructor(canvas, overlay, flash) {
      Object.assign(this, { canvas, overlay, flash });
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
      this.selected = undefined;
      this.sections = [];
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
      const ratio = window.devicePixelRatio || 1;
      for (const canvas of [this.canvas, this.overlay]) {
        canvas.width = Math.round(this.width * ratio);
        canvas.height = Math.round(height * ratio);
        canvas.style.height = height + "px";
        canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
      }
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
      return [...sections].filter(([, blocks]) => blocks.length > 0);
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
      const stepX = this.blockWidth + this.gap;
      const stepY = this.blockHeight + this.gap + (hasLabels ? LABEL : 0);
      const width = this.width * Math.max(1, this.zoom);
      const perLine = Math.max(1, Math.floor((width + this.gap) / stepX));
      this.sections = [];
      let y = 0;
      for (const [name, blocks] of sections) {
        const note = "· " + blocks.length + (this.isByAge(name, blocks) ? ", oldest first" : "");
        this.sections.push({ name, note, y });
        y += TITLE;
        blocks.forEach((block, index) => {
          this.x[block] = (index % perLine) * stepX;
          this.y[block] = y + Math.floor(index / perLine) * stepY;
        });
        y += Math.ceil(blocks.length / perLine) * stepY + 3;
      }
      this.contentHeight = y;
      return y;
    }

    // Whether blocks stand in the order in which they were opened. It is not known of those opened before the film.
    isByAge(name, blocks) {
      const { of, since } = this.flash;
      const isKnown = blocks.every((block) => of[block] === NONE && since[block] > 0);
      return this.isByRole && name !== this.erasedName && blocks.length > 1 && isKnown;
    }

    // ---- Colours -------------------------------------------------------------------------------

    palettes() {
      const { isDark } = this.colours;
      const light = isDark ? 62 : 52;
      const hue = (share) => "hsl(" + Math.round(share * 300) + " 68% " + light + "%)";
      const ramp = (share) => "hsl(" + Math.round(265 - share * 215) + " " + Math.round(30 + share * 50) + "% " +
        Math.round(isDark ? 32 + share * 34 : 78 - share * 34) + "%)";
      const shades = (of) => Array.from({ length: COLOURS }, (_, at) => of(at / (COLOURS - 1)));
      this.hues = shades(hue);
      this.ages = shades(ramp);
    }

    colourOf(ppn) {
      const { flash, colours } = this;
      const owner = flash.owner[ppn];
      if (this.colouring === "cause") return colours.causes[flash.cause[ppn] % colours.causes.length];
      if (this.colouring === "stream") return colours.causes[flash.stream[ppn] % colours.causes.length];
      if (this.colouring === "role") {
        return colours.causes[flash.role[Math.floor(ppn / flash.per)] % colours.causes.length];
      }
      if (this.colouring === "age") {
        const age = Math.max(0, flash.programs - flash.born[ppn]);
        const share = flash.born[ppn] === 0 ? 0 : 1 - Math.log2(age + 1) / Math.log2(flash.programs + 2);
        return this.ages[Math.floor(Math.max(0, share) * (COLOURS - 1))];
      }
      const logical = flash.film.header.about.logical_pages;
      if (owner >= logical) return colours.soft;
      return this.hues[Math.floor((owner / logical) * COLOURS)];
    }

    // ---- Drawing -------------------------------------------------------------------------------

    // Draws what changed since the last picture.
    draw() {
      const { flash } = this;
      const { changed } = flash;
      const isMuch = changed.length > flash.pages / 3;
      const before = [this.x.slice(), this.y.slice()];
      if (flash.moved) this.layOut();
      if (flash.everything || isMuch || (this.colouring === "age" && changed.length > 0)) {
        this.layOut();
        this.drawAll();
      } else {
        const blocks = new Set(changed.map((ppn) => Math.floor(ppn / flash.per)));
        if (flash.moved) this.clearMoved(before, blocks);
        for (const block of blocks) this.drawBlock(block);
      }
      flash.changed = [];
      flash.moved = flash.everything = false;
    }

    // Clears the places of blocks that moved, and adds these to those that are drawn.
    clearMoved([x, y], blocks) {
      const context = this.canvas.getContext("2d");
      const [width, height] = [this.blockWidth + this.gap, this.blockHeight + this.gap + LABEL];
      for (let block = 0; block < this.flash.blocks; block++) {
        if (x[block] === this.x[block] && y[block] === this.y[block]) continue;
        context.clearRect(x[block] - this.origin[0] - 1, y[block] - this.origin[1] - 1, width, height);
        blocks.add(block);
      }
      for (const { y: top } of this.sections) context.clearRect(0, top - this.origin[1], this.width, TITLE - 2);
      this.drawTitles();
    }

    drawAll() {
      this.canvas.getContext("2d").clearRect(0, 0, this.width, this.height);
      this.drawTitles();
      for (let block = 0; block < this.flash.blocks; block++) this.drawBlock(block);
    }

    drawTitles() {
      const context = this.canvas.getContext("2d");
      context.font = "600 12px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";
      context.textBaseline = "top";
      for (const { name, note, y } of this.sections) {
        context.fillStyle = this.colours.text;
        context.fillText(name, 1, y - this.origin[1] + 2);
        const width = context.measureText(name + " ").width;
        context.fillStyle = this.colours.soft;
        context.fillText(note, width + 2, y - this.origin[1] + 2);
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
      const context = this.canvas.getContext("2d");
      const height = this.rows * this.page;
      context.clearRect(x - 1, y - 1, this.blockWidth + 2, this.blockHeight + 2);
      context.fillStyle = this.colours.cell;
      context.fillRect(x, y, this.blockWidth, height);
      if (this.page < 1) this.drawSmallBlock(context, block, x, y, height);
      else this.drawPages(context, block, x, y);
      if (this.showsWear) this.drawWear(context, block, x, y + height + 1);
      if (this.blockWidth >= LABELLED) this.label(context, block, x, y + this.blockHeight + 1);
    }

    drawPages(context, block, x, y) {
      const { flash, page } = this;
      const line = page >= 4 ? 1 : 0;
      for (let offset = 0; offset < flash.per; offset++) {
        const ppn = block * flash.per + offset;
        if (flash.owner[ppn] === NONE) continue;
        const [left, top] = [x + (offset % this.columns) * page, y + Math.floor(offset / this.columns) * page];
        this.drawPage(context, ppn, left, top, page - line);
      }
      const filled = flash.filled[block];
      if (filled > 0 && filled < flash.per && page >= 4) this.drawFrontier(context, block, x, y);
    }

    // A valid page is a square, a stale one a dot, a torn one a cross.
    drawPage(context, ppn, left, top, size) {
      const { flash } = this;
      const state = flash.state[ppn];
      context.fillStyle = context.strokeStyle = this.colourOf(ppn);
      if (state === VALID) return context.fillRect(left, top, size, size);
      if (state === TORN) {
        context.strokeStyle = this.colours.bad;
        context.lineWidth = Math.max(1, size / 6);
        context.beginPath();
        context.moveTo(left, top);
        context.lineTo(left + size, top + size);
        context.moveTo(left + size, top);
        context.lineTo(left, top + size);
        return context.stroke();
      }
      const dot = size * (size >= 4 ? 0.36 : 0.6);
      if (size < 4) context.globalAlpha = 0.35;
      context.fillRect(left + (size - dot) / 2, top + (size - dot) / 2, dot, dot);
      context.globalAlpha = 1;
      return undefined;
    }

    // The page that is programmed next.
    drawFrontier(context, block, x, y) {
      let offset = this.flash.per;
      while (offset > 0 && this.flash.owner[block * this.flash.per + offset - 1] === NONE) offset -= 1;
      if (offset === this.flash.per) return;
      context.strokeStyle = this.colours.text;
      context.lineWidth = 1;
      const [left, top] = [offset % this.columns, Math.floor(offset / this.columns)];
      context.strokeRect(x + left * this.page + 0.5, y + top * this.page + 0.5, this.page - 2, this.page - 2);
    }

    drawSmallBlock(context, block, x, y, height) {
      const { flash } = this;
      const valid = flash.validPages(block) / flash.per;
      const filled = flash.filled[block] / flash.per;
      context.fillStyle = this.colours.line;
      context.fillRect(x, y, this.blockWidth, height * filled);
      const first = flash.owner[block * flash.per];
      context.fillStyle = first === NONE || first === SYSTEM ? this.colours.soft : this.colourOf(block * flash.per);
      context.fillRect(x, y, this.blockWidth, height * valid);
    }

    drawWear(context, block, x, y) {
      const most = this.wearMax();
      context.fillStyle = this.colours.line;
      context.fillRect(x, y, this.blockWidth, 3);
      context.fillStyle = this.colours.bad;
      context.fillRect(x, y, most === 0 ? 0 : (this.blockWidth * this.flash.wear[block]) / most, 3);
    }

    wearMax() {
      let most = 0;
      for (const wear of this.flash.wear) if (wear > most) most = wear;
      return most;
    }

    label(context, block, x, y) {
      const { flash } = this;
      context.clearRect(x, y, this.blockWidth + this.gap - 1, LABEL);
      context.font = "9px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";
      context.fillStyle = this.colours.soft;
      context.textBaseline = "top";
      const hasNumber = this.isByRole && flash.filled[block] > 0 && flash.of[block] !== NONE;
      const text = hasNumber ? (flash.role[block] === 0 ? "LBN " : "of ") + flash.of[block] : "block " + block;
      context.fillText(text, x, y + 1, this.blockWidth + this.gap);
    }

    // ---- What happens now ----------------------------------------------------------------------

    // Marks the operations that were done since the last picture: `recent` are their numbers.
    drawOverlay(recent) {
      const context = this.overlay.getContext("2d");
      context.clearRect(0, 0, this.width, this.height);
      const { steps } = this.flash.film;
      context.strokeStyle = this.colours.text;
      for (const at of recent.slice(-64)) {
        const [kind, place] = [steps.kind[at], steps.place[at]];
        if (kind === ERASE) this.ringBlock(context, place, this.colours.bad);
        else this.ringPage(context, place, kind === PROGRAM || kind === COPY ? 2 : 1);
        if (kind === COPY) this.ringPage(context, steps.from[at], 1);
      }
      const last = recent[recent.length - 1];
      if (last !== undefined && steps.kind[last] === COPY) this.arrow(context, steps.from[last], steps.place[last]);
      if (this.selected !== undefined) this.ringBlock(context, this.selected, this.colours.accent);
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
      for (const { name, note, y } of this.sections) text(name + " " + note, 4, y + top + 12, 12);
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
        const colour = flash.state[ppn] === TORN ? this.colours.bad : this.colourOf(ppn);
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
