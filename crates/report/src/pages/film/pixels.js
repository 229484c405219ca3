"use strict";
// A canvas as an array of pixels. To fill a rectangle in it costs no call of the browser; one call shows a whole picture.
const filmPixels = (function () {
  const WORDS_MAX = 4096; // texts that are kept as pixels

  // Colours of CSS as pixels; `share` of each on a ground.
  function codes(colours, ground = "#000", share = 1) {
    const context = scratch(colours.length, 1);
    context.fillStyle = ground;
    context.fillRect(0, 0, colours.length, 1);
    context.globalAlpha = share;
    colours.forEach((colour, at) => {
      context.fillStyle = colour;
      context.fillRect(at, 0, 1, 1);
    });
    return new Uint32Array(context.getImageData(0, 0, colours.length, 1).data.buffer);
  }

  function scratch(width, height) {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width, height];
    return canvas.getContext("2d", { willReadFrequently: true });
  }

  class Pixels {
    constructor(canvas) {
      this.canvas = canvas;
      this.context = canvas.getContext("2d", { alpha: false });
      this.words = new Map();
    }

    // The size of the canvas in pixels of the page, and its ground.
    resize(width, height, ground) {
      const ratio = window.devicePixelRatio || 1;
      const [wide, high] = [width, height].map((length) => Math.max(1, Math.round(length * ratio)));
      Object.assign(this, { ratio, wide, high, ground, groundCode: codes([ground])[0] });
      [this.canvas.width, this.canvas.height] = [wide, high];
      this.image = this.context.createImageData(wide, high);
      this.all = new Uint32Array(this.image.data.buffer);
      this.words.clear();
      this.clear();
    }

    clear() {
      this.all.fill(this.groundCode);
      [this.top, this.bottom] = [0, this.high];
    }

    // Fills a rectangle; what lies outside is cut off.
    fill(x, y, width, height, code) {
      const { ratio, wide, all } = this;
      const [left, right] = [Math.max(0, Math.round(x * ratio)), Math.min(wide, Math.round((x + width) * ratio))];
      const top = Math.max(0, Math.round(y * ratio));
      const bottom = Math.min(this.high, Math.round((y + height) * ratio));
      if (left >= right || top >= bottom) return;
      this.touch(top, bottom);
      for (let row = top * wide; row < bottom * wide; row += wide) {
        for (let at = row + left; at < row + right; at++) all[at] = code;
      }
    }

    erase(x, y, width, height) {
      this.fill(x, y, width, height, this.groundCode);
    }

    // The border of a rectangle.
    frame(x, y, width, height, code) {
      this.fill(x, y, width, 1, code);
      this.fill(x, y + height - 1, width, 1, code);
      this.fill(x, y, 1, height, code);
      this.fill(x + width - 1, y, 1, height, code);
    }

    cross(x, y, size, code) {
      const thick = Math.max(1, size / 6);
      for (let at = 0; at + thick <= size; at += 1 / this.ratio) {
        this.fill(x + at, y + at, thick, thick, code);
        this.fill(x + size - thick - at, y + at, thick, thick, code);
      }
    }

    // Writes words on the ground. Returns their width.
    text(words, x, y, font, colour) {
      const sprite = this.sprite(words, font, colour);
      const [left, top] = [Math.round(x * this.ratio), Math.round(y * this.ratio)];
      const [from, to] = [Math.max(0, -left), Math.min(sprite.wide, this.wide - left)];
      const [first, end] = [Math.max(0, -top), Math.min(sprite.high, this.high - top)];
      if (from < to && first < end) {
        this.touch(top + first, top + end);
        for (let row = first; row < end; row++) {
          const line = sprite.all.subarray(row * sprite.wide + from, row * sprite.wide + to);
          this.all.set(line, (top + row) * this.wide + left + from);
        }
      }
      return sprite.wide / this.ratio;
    }

    sprite(words, font, colour) {
      const key = font + colour + words;
      const known = this.words.get(key);
      if (known !== undefined) return known;
      if (this.words.size >= WORDS_MAX) this.words.clear();
      const measure = scratch(1, 1);
      measure.font = font;
      const size = measure.measureText(words);
      const wide = Math.max(1, Math.ceil(size.width * this.ratio));
      const high = Math.ceil((size.fontBoundingBoxAscent + size.fontBoundingBoxDescent) * this.ratio);
      const context = scratch(wide, high);
      context.fillStyle = this.ground;
      context.fillRect(0, 0, wide, high);
      context.scale(this.ratio, this.ratio);
      Object.assign(context, { font, fillStyle: colour, textBaseline: "alphabetic" });
      context.fillText(words, 0, size.fontBoundingBoxAscent);
      const sprite = { wide, high, all: new Uint32Array(context.getImageData(0, 0, wide, high).data.buffer) };
      this.words.set(key, sprite);
      return sprite;
    }

    touch(top, bottom) {
      if (top < this.top) this.top = top;
      if (bottom > this.bottom) this.bottom = bottom;
    }

    // Shows what has changed.
    show() {
      if (this.top >= this.bottom) return;
      this.context.putImageData(this.image, 0, 0, 0, this.top, this.wide, this.bottom - this.top);
      [this.top, this.bottom] = [this.high, 0];
    }
  }

  return { Pixels, codes };
})();
