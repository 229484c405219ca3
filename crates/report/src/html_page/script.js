"use strict";
// Draws every figure of the page, in light or dark colours as the reader prefers and as wide as the page, and offers
// its data as csv.
(function () {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const specs = new Map();
  for (const element of document.querySelectorAll("script.spec")) {
    specs.set(element.dataset.figure, JSON.parse(element.textContent));
  }

  const NARROWEST = 240; // a page that is not shown yet has no width

  function config() {
    const [text, soft, line] = dark.matches
      ? ["#e6e8ea", "#9aa4af", "#343b43"]
      : ["#1c2024", "#5d6570", "#d7dce2"];
    return figures.config([text, soft, line], 'system-ui, "Segoe UI", "DejaVu Sans", sans-serif');
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
      await figures.drawn(specs.get(id), Math.max(element.clientWidth, NARROWEST), async (spec) => {
        await vegaEmbed(element, spec, options);
        return element.querySelector("svg.marks").getBoundingClientRect().width;
      });
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

  // A table that is wider than the page says so.
  function markWide() {
    for (const box of document.querySelectorAll(".scroll")) {
      box.classList.toggle("wider", box.scrollWidth > box.clientWidth + 1);
    }
  }
  for (const details of document.querySelectorAll("details.table")) details.addEventListener("toggle", markWide);

  // What is folded away on a screen is shown in print.
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details.table")) details.open = true;
  });

  let [width, waiting] = [document.body.clientWidth, 0];
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (document.body.clientWidth !== width) {
        width = document.body.clientWidth;
        markWide();
        drawAll();
      }
    }, 200);
  });
  dark.addEventListener("change", drawAll);
  markWide();
  drawAll();
})();
