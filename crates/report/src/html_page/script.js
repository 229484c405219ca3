"use strict";
// Draws every figure of the page, in light or dark colours as the reader prefers, and offers its data as csv.
(function () {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const specs = new Map();
  for (const element of document.querySelectorAll("script.spec")) {
    specs.set(element.dataset.figure, JSON.parse(element.textContent));
  }

  function config() {
    const [text, soft, line] = dark.matches
      ? ["#e6e8ea", "#9aa4af", "#343b43"]
      : ["#1c2024", "#5d6570", "#d7dce2"];
    const font = 'system-ui, "Segoe UI", "DejaVu Sans", sans-serif';
    return {
      background: "transparent",
      font,
      axis: { labelColor: text, titleColor: text, gridColor: line, domainColor: soft, tickColor: soft,
              labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", labelLimit: 300 },
      legend: { labelColor: text, titleColor: soft, labelFontSize: 12, labelLimit: 400,
                orient: "bottom", columns: 4, symbolLimit: 60 },
      header: { labelColor: text, titleColor: text, labelFontSize: 12, labelLimit: 300 },
      view: { stroke: null },
      range: { category: ["#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#76b7b2",
                          "#edc948", "#ff9da7", "#9c755f", "#7f8fa6"] },
      bar: { color: "#4e79a7" },
      line: { strokeWidth: 2 },
    };
  }

  async function draw(element) {
    const id = element.dataset.figure;
    const options = {
      config: config(),
      renderer: "svg",
      actions: { export: true, source: true, compiled: false, editor: false },
      downloadFileName: id,
    };
    try {
      await vegaEmbed(element, specs.get(id), options);
      element.dataset.drawn = element.querySelectorAll(".marks path, .marks text").length;
    } catch (error) {
      element.textContent = "This figure cannot be drawn: " + error.message;
      element.classList.add("failed");
      console.error(id, error);
    }
  }

  function drawAll() {
    const charts = [...document.querySelectorAll(".chart")];
    return Promise.all(charts.map(draw)).then(() => { document.body.dataset.done = charts.length; });
  }

  function csv(id) {
    const values = specs.get(id).data.values;
    const columns = [...new Set(values.flatMap(Object.keys))];
    const cell = (value) => {
      const text = value === null || value === undefined ? "" : String(value);
      return /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
    };
    const lines = values.map((row) => columns.map((column) => cell(row[column])).join(","));
    return [columns.map(cell).join(","), ...lines, ""].join("\n");
  }

  for (const button of document.querySelectorAll("button.csv")) {
    button.addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([csv(button.dataset.figure)], { type: "text/csv" }));
      link.download = button.dataset.figure + ".csv";
      link.click();
      URL.revokeObjectURL(link.href);
    });
  }

  dark.addEventListener("change", drawAll);
  drawAll();
})();
