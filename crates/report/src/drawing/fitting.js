"use strict";
// How a figure fits a width: fewer panels and columns of legends, fewer numbers on axes, long titles and labels in several
// lines. Pages and prints draw what this gives.
const figures = (function () {
  // What all figures have in common, in these colours of text, of ticks and axes, and of the grid, and in this font.
  function config([text, soft, line], font) {
    // Blue, vermilion, green and purple can be told apart by colour-blind readers, on both grounds.
    const colours = ["#3d8fd1", "#d55e00", "#009e73", "#cc79a7", "#8a7fd1", "#b8860b", "#7f8fa6", "#9c755f"];
    return {
      background: "transparent",
      font,
      padding: { left: 5, top: 5, right: 24, bottom: 5 },
      axis: { labelColor: text, titleColor: text, gridColor: line, domainColor: soft, tickColor: soft,
              labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", labelLimit: 0, titleLimit: 0,
              labelSeparation: 5 },
      // Half the space between panels: numbers at their ends do not meet.
      axisX: { labelFlush: false, labelBound: 10 },
      legend: { labelColor: text, titleColor: soft, labelFontSize: 12, labelLimit: 0, orient: "top",
                symbolLimit: 0 },
      header: { labelColor: text, titleColor: text, labelFontSize: 12, labelLimit: 0 },
      text: { color: text, fontSize: 12 },
      rule: { color: soft },
      view: { stroke: null },
      range: { category: colours },
      bar: { color: colours[0] },
      line: { color: colours[0], strokeWidth: 2 },
      area: { color: colours[0] },
      point: { color: colours[0] },
      circle: { color: colours[0] },
    };
  }

  // ---- a figure as wide as the page ----

  const LETTER = 6.9; // mean width of a letter, in pixels
  const LINE = 14; // height of a line of text
  const SPACE = 20; // between panels

  // The text in lines of at most `characters` letters, broken behind spaces and punctuation.
  function lines(text, characters) {
    const broken = [""];
    for (const part of text.match(/[^\s,;:=_/-]*[\s,;:=_/-]?/g)) {
      const last = broken.length - 1;
      if (broken[last] !== "" && (broken[last] + part).trimEnd().length > characters) broken.push(part);
      else broken[last] += part;
    }
    return broken.map((line) => line.trim());
  }

  // Breaks the values of a field, wherever the spec names them. Returns the largest number of lines.
  function breakField(spec, channel, characters) {
    const broken = (value) => (typeof value === "string" ? lines(value, characters).join("\n") : value);
    for (const value of spec.data.values) value[channel.field] = broken(value[channel.field]);
    if (Array.isArray(channel.sort)) channel.sort = channel.sort.map(broken);
    if (channel.scale?.domain) channel.scale.domain = channel.scale.domain.map(broken);
    return Math.max(...spec.data.values.map((value) => String(value[channel.field]).split("\n").length));
  }

  function longest(spec, field) {
    const all = spec.data.values.flatMap((value) => String(value[field]).split("\n"));
    return Math.max(...all.map((line) => line.length));
  }
  const SPLIT = "split(datum.label, '\\n')";

  // All views of the spec: the whole, the view in the panels, the layers.
  function views(spec) {
    return [spec, spec.spec, ...(spec.layer ?? []), ...(spec.spec?.layer ?? [])].filter((view) => view?.encoding);
  }

  // The number of panels side by side, and the width of one, which is an estimate before it is drawn.
  function panels(spec, width, panelWidth) {
    const narrowest = 0.6 * spec.spec.width;
    const fit = Math.floor((width + SPACE) / (narrowest + SPACE));
    const all = new Set(spec.data.values.map((value) => value[spec.facet.field])).size;
    spec.columns = Math.max(1, Math.min(spec.columns ?? 1, fit, all));
    spec.spec.width = panelWidth ?? Math.floor((width - 60) / spec.columns - SPACE);
    breakField(spec, spec.facet, Math.floor(spec.spec.width / LETTER));
    spec.facet.header = { ...spec.facet.header, labelExpr: SPLIT, labelLineHeight: LINE };
  }

  // Few numbers below a view, and fewer below a narrow panel: vega lets the last two touch each other.
  function fitTicks(x, width) {
    if (x?.type !== "quantitative" || x.axis?.values || x.scale?.type === "log") return;
    x.axis = { ...x.axis, tickCount: Math.max(1, Math.floor(width / 80)) };
  }

  function breakTitle(channel, length) {
    if (typeof channel?.title === "string") channel.title = lines(channel.title, Math.floor(length / LETTER));
  }

  function fitLegend(spec, channel, width) {
    if (channel?.legend === null || channel?.type !== "nominal") return;
    breakField(spec, channel, Math.floor((width - 100) / LETTER));
    const columns = Math.floor((width - 80) / (LETTER * longest(spec, channel.field) + 45));
    channel.legend = { ...channel.legend, columns: Math.max(1, Math.min(columns, 4)), labelExpr: SPLIT };
  }

  // A copy of the spec for a page of this width: fewer panels side by side and fewer columns of legends if the page is
  // narrow, and long titles and labels in several lines.
  function fitted(original, width, panelWidth) {
    const spec = structuredClone(original);
    if (spec.facet) panels(spec, width, panelWidth);
    const inner = spec.facet ? spec.spec : spec;
    const height = typeof inner.height === "number" ? inner.height : 200;
    // Names of rows take up to two fifths of the width; titles below have the rest.
    const names = views(spec).some((view) => view.encoding.y?.type === "nominal" && view.encoding.y.axis !== null);
    const titleWidth = spec.facet ? spec.spec.width : names ? 0.6 * width - 50 : width - 80;
    for (const view of views(spec)) {
      const { x, y, text, color, shape, strokeDash } = view.encoding;
      breakTitle(x, titleWidth);
      breakTitle(y, height);
      fitTicks(x, spec.facet ? spec.spec.width : 1.4 * titleWidth);
      for (const channel of [color, shape, strokeDash]) fitLegend(spec, channel, width);
      if (view.mark?.lineBreak) breakField(spec, text, Math.max(18, Math.floor((0.3 * width) / LETTER)));
      if (y?.type === "nominal" && y.axis !== null) {
        const most = breakField(spec, y, Math.max(8, Math.floor((0.4 * width) / LETTER)));
        y.axis = { ...y.axis, labelExpr: SPLIT, labelLineHeight: LINE };
        const rows = new Set(spec.data.values.map((value) => value[y.field])).size;
        inner.height = Math.max(height, rows * (most * LINE + 8));
      }
    }
    return spec;
  }

  // Draws a spec at this width. `draw` draws a copy that fits, and returns the width that it took.
  async function drawn(original, width, draw) {
    let spec = fitted(original, width);
    let room = width - (await draw(spec));
    // Only a drawn figure shows how much room the axes of panels take.
    for (let trial = 0; spec.facet && trial < 3 && (room < 0 || room >= SPACE); trial++) {
      const panelWidth = spec.spec.width + Math.floor((room - SPACE / 2) / spec.columns);
      spec = fitted(original, width, Math.max(60, panelWidth));
      room = width - (await draw(spec));
    }
  }

  return { config, drawn };
})();
