"use strict";
// Draws figures without a browser, for papers. `draw` writes the SVG, or why there is none, to `drawing`.
globalThis.console = { log() {}, warn() {}, error() {} };
globalThis.structuredClone = (value) => (value === undefined ? value : JSON.parse(JSON.stringify(value)));

// The widths of Helvetica's letters from the space to the tilde, in thousandths of the size of the font. Arial, Liberation
// Sans and Nimbus Sans have the same.
const WIDTHS = [
  278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556, 556,
  556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
  667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556,
  556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];
const OTHER = 556;
const FONT = 'Helvetica, Arial, "Liberation Sans", "Nimbus Sans", sans-serif';

// The only canvas that vega needs without a browser: one that measures texts.
const ruler = {
  font: "",
  measureText(text) {
    const size = parseFloat(/([\d.]+)px/.exec(this.font)?.[1] ?? "12");
    const width = (character) => WIDTHS[character.codePointAt(0) - 32] ?? OTHER;
    return { width: ([...String(text)].reduce((sum, character) => sum + width(character), 0) * size) / 1000 };
  },
};
globalThis.document = { createElement: () => ({ getContext: () => ruler }) };

globalThis.drawing = "";
// Draws a spec, given as JSON, in this width in pixels.
globalThis.draw = (json, width) => {
  const config = figures.config(["#000000", "#404040", "#d8d8d8"], FONT);
  config.padding = { left: 4, top: 2, right: 12, bottom: 2 };
  const svg = async (spec) => {
    const sized = spec.width === "container" ? { ...spec, width } : spec;
    const parsed = vega.parse(vegaLite.compile(sized, { config }).spec);
    drawing = await new vega.View(parsed, { renderer: "none" }).toSVG();
    return parseFloat(/ width="([\d.]+)"/.exec(drawing)[1]);
  };
  figures.drawn(JSON.parse(json), width, svg).catch((error) => { drawing = "Error: " + error.message; });
};
