// Put into a page by a test: tells the page around it what of the page does not fit its width.
(async function () {
  while (document.body.dataset.done === undefined) await new Promise((go) => setTimeout(go, 50));
  const faults = [];
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) faults.push("the page is wider than the screen");
  const outside = (inner, outer) =>
    inner.left < outer.left - 2 || inner.right > outer.right + 2 ||
    inner.top < outer.top - 2 || inner.bottom > outer.bottom + 2;
  const overlap = (one, other) =>
    Math.min(one.right, other.right) - Math.max(one.left, other.left) > 2 &&
    Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 3;
  // A word is what stands between blanks and the places at which a line may break.
  for (const element of document.querySelectorAll("h1, h2, h3, p, li, dt, dd, th, td, figcaption")) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (const { 0: word, index } of node.data.matchAll(/[^\s\-–−/?…\u00a0]+/g)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        const tops = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
        if (tops.size > 1) faults.push("the word " + word + " is broken");
      }
    }
  }
  for (const chart of document.querySelectorAll(".chart")) {
    const name = chart.dataset.figure;
    const frame = chart.querySelector("svg.marks").getBoundingClientRect();
    if (frame.right > chart.getBoundingClientRect().right + 4) faults.push(name + " is wider than the page");
    const shown = (text) => text.textContent !== "" && text.getAttribute("opacity") !== "0";
    const texts = [...chart.querySelectorAll("svg.marks text")].filter(shown);
    const boxes = texts.map((text) => [text.textContent, text.getBoundingClientRect()]);
    for (const [at, [text, box]] of boxes.entries()) {
      if (text.endsWith("…")) faults.push(name + " cuts the text " + text);
      if (outside(box, frame)) faults.push(name + " clips the text " + text);
      for (const [other, otherBox] of boxes.slice(at + 1)) {
        if (overlap(box, otherBox)) faults.push(name + " draws " + text + " over " + other);
      }
    }
  }
  parent.postMessage("looked" + faults.map((fault) => "; " + fault).join(""), "*");
})();
